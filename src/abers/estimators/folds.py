"""Folds: which rows train and which calibrate."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from abers.errors import InvalidLabels, InvalidParameter

if TYPE_CHECKING:
    from abers.validation import IntArray

    Pair = tuple[IntArray | None, IntArray]  # training rows, calibration rows


def calibration_pair(calibration: Any, size: int, random_state: Any) -> Pair:
    """Split rows once: drawn at random without stratifying, or as the user says."""
    if np.ndim(calibration) == 0:
        count = _calibration_count(calibration, size)
        rows = check_random_state(random_state).permutation(size)
        return np.sort(rows[count:]), np.sort(rows[:count])
    return _named_rows(np.asarray(calibration), size)


def cross_pairs(
    cv: Any, X: Any, y: np.ndarray, random_state: Any, split_params: dict[str, Any]
) -> list[Pair]:
    """Split rows K times: every pair is (training rows, calibration rows)."""
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        if cv < 2:  # noqa: PLR2004
            msg = f"cv must be at least 2; got {cv}."
            raise InvalidParameter(msg)
        classes, counts = np.unique(y, return_counts=True)
        if counts.min() < cv:
            rare = classes[counts.argmin()].item()
            msg = (
                f"each class must have at least cv={cv} members, one a fold; "
                f"class {rare!r} has {int(counts.min())}. Use fewer folds."
            )
            raise InvalidLabels(msg)
        cv = StratifiedKFold(int(cv), shuffle=True, random_state=random_state)
    if hasattr(cv, "split") and not isinstance(cv, str):
        pairs = list(cv.split(X, y, **split_params))
    elif np.iterable(cv) and not isinstance(cv, str):
        pairs = [(_as_rows(train), _as_rows(test)) for train, test in cv]
    else:
        msg = f"cv must be a number, a splitter or pairs of rows; got {cv!r}."
        raise InvalidParameter(msg)
    if not pairs or any(not len(test) for _, test in pairs):
        msg = "cv must give at least one pair, each with calibration rows."
        raise InvalidParameter(msg)
    return pairs


def rows_of(values: Any, rows: IntArray, size: int) -> Any:
    """Take rows of what has a row for each observation; leave anything else alone."""
    if not hasattr(values, "__len__") and not hasattr(values, "shape"):
        return values
    if isinstance(values, str) or _num_samples(values) != size:
        return values
    return _safe_indexing(values, rows)


def _as_rows(rows: Any) -> IntArray:
    """Return row numbers; a mask says the same in another way."""
    rows = np.asarray(rows)
    return np.flatnonzero(rows) if rows.dtype.kind == "b" else rows


def _calibration_count(calibration: Any, size: int) -> int:
    if isinstance(calibration, bool) or not isinstance(calibration, Real):
        good, count = False, 0
    elif isinstance(calibration, int | np.integer):
        count = int(calibration)
        good = 1 <= count < size
    else:
        count = round(float(calibration) * size)
        good = 0 < float(calibration) < 1
        count = min(max(count, 1), size - 1)
    if not good or count < 1:
        msg = (
            "calibration must be a fraction between 0 and 1, a number of rows below "
            f"{size}, a mask or row numbers; got {calibration!r} for {size} rows."
        )
        raise InvalidParameter(msg)
    return count


def _named_rows(rows: np.ndarray, size: int) -> Pair:
    if rows.dtype.kind == "b" and rows.shape == (size,):
        mask = rows
    elif (
        rows.dtype.kind in "iu"
        and rows.ndim == 1
        and rows.size
        and np.unique(rows).size == rows.size
        and rows.min() >= 0
        and rows.max() < size
    ):
        mask = np.zeros(size, bool)
        mask[rows] = True
    else:
        msg = (
            f"calibration must be a mask of {size} booleans or distinct row numbers "
            f"below {size}; got an array of {rows.dtype} with shape {rows.shape}."
        )
        raise InvalidParameter(msg)
    if mask.all() or not mask.any():
        msg = "calibration must leave rows on both sides; got all rows or none."
        raise InvalidParameter(msg)
    return np.flatnonzero(~mask), np.flatnonzero(mask)
