"""Splits: which training rows train and which calibrate, for each ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import KFold

from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from abers.validation import IntArray

ALL = "all"
RATIOS = ("1:1", "2:1", "3:1", "4:1", ALL)
WIDE_RATIOS = (
    *(f"1:{b}" for b in range(9, 1, -1)),
    *(f"{a}:1" for a in range(1, 10)),
)


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Rows that train the algorithm, and rows that calibrate its scores."""

    train: IntArray
    calibrate: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The pairs of a ratio: all K of them for CVAP, one of them for the others."""

    pairs: tuple[Pair, ...]
    single: int  # which pair serves the methods that split once

    @property
    def is_crossed(self) -> bool:
        """Whether there are folds to cross over."""
        return len(self.pairs) > 1


def split(ratio: str, n_train: int) -> Split:
    """Split training rows by a ratio of proper training to calibration rows.

    Parameters
    ----------
    ratio : str
        "4:1" and the like: K contiguous folds, each calibrates once; the last one
        does for methods that split once. "1:4": each fold trains once, the others
        calibrate; the first one trains for methods that split once. "all": all rows
        do both, and there is nothing to cross.
    n_train : int
        Number of training rows.

    Returns
    -------
    Split
        The first folds are one row longer if K does not divide their number.

    Examples
    --------
    >>> from abers.paper.splits import split
    >>> two_to_one = split("2:1", 5)
    >>> [pair.calibrate.tolist() for pair in two_to_one.pairs], two_to_one.single
    ([[0, 1], [2, 3], [4]], 2)
    >>> split("1:2", 5).pairs[0].train.tolist()
    [0, 1]
    """
    rows = np.arange(n_train)
    if ratio == ALL:
        return Split((Pair(rows, rows),), 0)
    parts = [int(part) for part in ratio.split(":") if part.isdigit()]
    if len(parts) != 2 or min(parts) != 1:  # noqa: PLR2004
        msg = f"ratio must be 'all', '1:b' or 'a:1'; got {ratio!r}."
        raise InvalidParameter(msg)
    training, calibrating = parts
    folds = KFold(training + calibrating).split(rows)
    if training >= calibrating:
        pairs = tuple(Pair(rest, fold) for rest, fold in folds)
        return Split(pairs, len(pairs) - 1)
    return Split(tuple(Pair(fold, rest) for rest, fold in folds), 0)
