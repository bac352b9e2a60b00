"""Rows: what a table says of calibration, checked, a batch at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.core.diagram import Diagram
from abers.errors import InvalidParameter, InvalidWeights
from abers.tables.columns import column
from abers.tables.gaps import Gaps
from abers.tables.values import ABSENT, Groups, Labels, masses, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from abers.tables.reading import Batch, Progress, Table
    from abers.validation import FloatArray, IntArray

    Mask = NDArray[np.bool_]


class Rows(NamedTuple):
    """Calibration rows: observations, or counts of them."""

    scores: FloatArray
    positives: Mask | FloatArray  # labels of observations, or how many of the counts
    counts: FloatArray | None = None
    groups: IntArray | None = None  # codes

    def where(self, mask: Mask | IntArray) -> Rows:
        """Return some of the rows."""
        some: Any = (None if column is None else column[mask] for column in self)
        return Rows(*some)

    def diagram(self) -> Diagram:
        """Count the rows, whatever their group."""
        if self.counts is None:
            return Diagram.from_observations(self.scores, self.positives)
        return Diagram.from_counts(self.scores, self.counts, self.positives)


def joined(parts: Sequence[Rows]) -> Rows:
    """Put rows together."""
    columns: Any = (
        None if column[0] is None else np.concatenate(column)
        for column in zip(*parts, strict=True)
    )
    return Rows(*columns)


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold what."""

    score: str
    label: str | None = None
    weight: str | None = None
    count: str | None = None
    positives: str | None = None
    group: str | None = None

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        every = (getattr(self, role) for role in self.__slots__)
        return list(dict.fromkeys(name for name in every if name is not None))


def chosen(
    table: Table,
    *,
    score: str | None,
    label: str | None,
    weight: str | None,
    count: str | None,
    positives: str | None,
    by: str | None,
) -> Columns:
    """Find the columns of a fit: those named, and the usual ones for the rest."""
    if (count is None) != (positives is None):
        msg = "--count and --positives must come together; got one of them."
        raise InvalidParameter(msg)
    if count is not None and (label is not None or weight is not None):
        msg = "--count and --positives must stand instead of --label and --weight."
        raise InvalidParameter(msg)
    named = {"weight": weight, "count": count, "positives": positives, "group": by}
    return Columns(
        score=column(table, score, "score"),
        label=column(table, label, "label") if count is None else None,
        **{
            role: None if name is None else column(table, name, role)
            for role, name in named.items()
        },
    )


@dataclass(slots=True)
class CalibrationRows:
    """The rows of a table to calibrate with; iterate once, then ask what was seen."""

    table: Table
    columns: Columns
    positive: str | None = None
    drop_missing: bool = False
    progress: Progress | None = None
    n_rows: int = 0
    n_missing: int = 0  # rows that lack a value
    groups: Groups | None = None
    _labels: Labels | None = None
    _gaps: Gaps = field(default_factory=Gaps)

    def __post_init__(self) -> None:
        if self.columns.label is not None:
            self._labels = Labels(self.columns.label, self.positive)
        if self.columns.group is not None:
            self.groups = Groups(self.columns.group)

    def __iter__(self) -> Iterator[tuple[IntArray, Rows]]:
        """Yield rows that lack nothing, with their numbers in the table, from 0."""
        for batch in self.table.batches(self.columns.names, progress=self.progress):
            self.n_rows += len(batch)
            lacking = np.zeros(len(batch), dtype=np.bool_)
            rows = self._read(batch, lacking)
            self.n_missing += int(lacking.sum())
            kept = ~lacking
            if rows.counts is not None:
                kept &= rows.counts > 0  # as if they were not there
            row_numbers = batch.row_number + np.flatnonzero(kept)
            yield row_numbers, rows if kept.all() else rows.where(kept)
        if not self.drop_missing:
            self._gaps.refuse(self.n_rows, "fit")
        if self._labels:
            self._labels.check_seen()

    def _read(self, batch: Batch, lacking: Mask) -> Rows:
        """Read a batch; mark the rows that lack something."""
        scores = self._numbers(batch, self.columns.score, lacking) + 0.0  # one zero
        groups = None
        if self.groups:
            groups = self.groups.codes(batch)
            self._gaps.note(batch, self.groups.column, groups == ABSENT, lacking)
        if self._labels is None:
            counts = self._masses(batch, self.columns.count, lacking)
            positives = self._masses(batch, self.columns.positives, lacking)
            self._check_shares(batch, counts, positives)
            return Rows(scores, positives, counts, groups)
        codes = self._labels.codes(batch)
        self._gaps.note(batch, self._labels.column, codes == ABSENT, lacking)
        ones = codes == 1
        if self.columns.weight is None:
            return Rows(scores, ones, None, groups)
        weights = self._masses(batch, self.columns.weight, lacking)
        return Rows(scores, np.where(ones, weights, 0.0), weights, groups)

    def _numbers(self, batch: Batch, name: str, lacking: Mask) -> FloatArray:
        values = numbers(batch, name)
        self._gaps.note(batch, name, np.isnan(values), lacking)
        return values

    def _masses(self, batch: Batch, name: str | None, lacking: Mask) -> FloatArray:
        """Return weights or counts, 0 where they are missing."""
        assert name is not None  # noqa: S101 (chosen() has seen to it)
        values = masses(batch, name)
        missing = np.isnan(values)
        self._gaps.note(batch, name, missing, lacking)
        return np.where(missing, 0.0, values)

    def _check_shares(
        self, batch: Batch, counts: FloatArray, positives: FloatArray
    ) -> None:
        if (positives > counts).any():
            row = int((positives > counts).argmax())
            msg = (
                f"column {self.columns.positives!r} must not exceed column "
                f"{self.columns.count!r}; got {positives[row].item()!r} of "
                f"{counts[row].item()!r} in {batch.place(row)}."
            )
            raise InvalidWeights(msg)
