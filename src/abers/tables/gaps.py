"""Gaps: values that are missing, how often, and where first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from abers.errors import InvalidScores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from abers.tables.reading import Batch

    Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Gap:
    """How often a value was missing, and where first."""

    count: int
    first: str


class Gaps:
    """What is missing, by column, in the order in which it was noticed."""

    def __init__(self) -> None:
        self._columns: dict[str, Gap] = {}

    def note(self, batch: Batch, name: str, missing: Mask, lacking: Mask) -> None:
        """Take note of missing values, and mark the rows that lack them."""
        if missing.any():
            first = batch.place(int(missing.argmax()))
            gap = self._columns.setdefault(name, Gap(0, first))
            gap.count += int(missing.sum())
            lacking |= missing

    def refuse(self, n_rows: int, purpose: str) -> None:
        """Raise if anything is missing: what, how often, where, and what to do."""
        for name, gap in self._columns.items():
            msg = (
                f"column {name!r} must not be empty, null or NaN to {purpose}; it is "
                f"in {gap.count} of {n_rows} rows, first in {gap.first}. "
                "Fill it in, or leave such rows out with --drop-missing."
            )
            raise InvalidScores(msg)
