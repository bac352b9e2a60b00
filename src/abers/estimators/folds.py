"""Folds: which rows train and which calibrate."""

from __future__ import annotations

import warnings
from numbers import Real
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _num_samples

from abers.errors import InvalidLabels, InvalidParameter

if TYPE_CHECKING:
    from abers.validation import IntArray

    Pair = tuple[IntArray | None, IntArray]  # training rows, calibration rows


DEFAULT_FOLDS = 5
FEW_ROWS = 30  # to calibrate a fold by itself


def calibration_pair(calibration: Any, size: int, random_state: Any) -> Pair:
    """Split rows once: drawn at random without stratifying, or as the user says."""
    if np.ndim(calibration) == 0:
        count = _calibration_count(calibration, size)
        rows = check_random_state(random_state).permutation(size)
        return np.sort(rows[count:]), np.sort(rows[:count])
    return _named_rows(np.asarray(calibration), size)


def cross_pairs(
    cv: Any,
    X: Any,
    y: np.ndarray,
    random_state: Any,
    split_params: dict[str, Any],
    *,
    stratify: bool = True,
) -> list[Pair]:
    """Split rows K times: every pair is (training rows, calibration rows)."""
    if cv is None:
        cv = DEFAULT_FOLDS
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        folds = int(cv)
        if folds < 2:
            msg = f"cv must be at least 2; got {folds}."
            raise InvalidParameter(msg)
        if stratify:
            return _stratified(folds, y, random_state)
        splitter = KFold(min(folds, y.size), shuffle=True, random_state=random_state)
        return list(splitter.split(y))
    if hasattr(cv, "split") and not isinstance(cv, str):
        pairs = list(cv.split(X, y, **split_params))
    elif np.iterable(cv) and not isinstance(cv, str):
        pairs = [_as_pair(pair, len(y)) for pair in cv]
    else:
        msg = f"cv must be a number, a splitter or pairs of rows; got {cv!r}."
        if isinstance(cv, str) and cv == "prefit":
            msg += (
                " To calibrate a model that is fitted already, pass "
                "FrozenEstimator(model), of sklearn.frozen, as the estimator."
            )
        raise InvalidParameter(msg)
    if not pairs or any(not len(test) for _, test in pairs):
        msg = "cv must give at least one pair, each with calibration rows."
        raise InvalidParameter(msg)
    return pairs


def calibrating_once(pairs: list[Pair], size: int) -> list[Pair]:
    """List each calibration row of a pair once: twice, it would count as two rows."""
    distinct = []
    for train, calibrate in pairs:
        rows = np.asarray(calibrate) % size  # -1 may be the last
        _, first = np.unique(rows, return_index=True)
        distinct.append((train, rows[np.sort(first)]))
    return distinct


def warn_of_overlap(pairs: list[Pair], size: int) -> None:
    """Warn of rows that calibrate a model that was trained on them."""
    for fold, (train, calibrate) in enumerate(pairs):
        trains = np.zeros(size, bool)
        trains[train] = True
        count = np.count_nonzero(trains[calibrate])
        if count:
            msg = (
                f"{count} of the {len(calibrate)} calibration rows of fold {fold} are "
                "training rows of the same fold, whose labels its model knows, so that "
                "predictions are too sure: let no row be on both sides of a pair."
            )
            warnings.warn(msg, UserWarning, stacklevel=4)
            return


def _stratified(cv: int, y: np.ndarray, random_state: Any) -> list[Pair]:
    """Split into stratified, shuffled folds; as many as the largest class can fill."""
    classes, counts = np.unique(y, return_counts=True)
    folds = min(cv, int(counts.max()))
    if folds < 2:
        msg = (
            "some class must have at least two rows, to train on one and calibrate "
            f"with the other; got one row of each of the {len(classes)} classes."
        )
        raise InvalidLabels(msg)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=random_state)
    if counts.min() >= cv:
        return list(splitter.split(y, y))
    rare = classes.tolist()[counts.argmin()]
    lacking = f"some of the {folds} folds lack it"
    if counts.min() >= folds:
        lacking = f"only {folds} folds are made"
    msg = (
        f"class {rare!r} has only {int(counts.min())} of {y.size} rows, fewer than "
        f"cv={cv}, so that {lacking}: its probabilities are rough. Use fewer folds, "
        "or more rows of it."
    )
    warnings.warn(msg, UserWarning, stacklevel=5)
    with warnings.catch_warnings():  # scikit-learn says the same without the name
        warnings.simplefilter("ignore", UserWarning)
        return list(splitter.split(y, y))


def warn_of_missing_classes(pairs: list[Pair], y: np.ndarray) -> None:
    """Warn of classifiers that never see a class: they give it no chance at all."""
    classes, encoded = np.unique(y, return_inverse=True)
    lacking = np.zeros(len(classes), dtype=np.int64)
    for train, _ in pairs:
        lacking += np.bincount(encoded[train], minlength=len(classes)) == 0
    if lacking.any() and len(classes) > 2:  # one alone is refused
        c = int(lacking.argmax())
        msg = (
            f"class {classes.tolist()[c]!r} is missing from the training rows of "
            f"{lacking[c]} of {len(pairs)} folds, whose classifiers give it no chance: "
            "use folds that keep every class, such as cv=5."
        )
        warnings.warn(msg, UserWarning, stacklevel=4)


def warn_of_few(
    pairs: list[Pair],
    effect: str = (
        "that draws probabilities towards 1/2: use fewer folds, or merge='pooled'"
    ),
) -> None:
    """Warn of folds with few calibration rows, which are merged one by one.

    For the `fit` of an estimator to call: the line that calls `fit` is shown.
    """
    rows = sum(len(calibrate) for _, calibrate in pairs) / len(pairs)
    if len(pairs) > 1 and rows < FEW_ROWS:
        msg = (
            f"each of the {len(pairs)} folds calibrates with {rows:.3g} rows only; "
            f"{effect}."
        )
        warnings.warn(msg, UserWarning, stacklevel=3)


def rows_of(values: Any, rows: IntArray, size: int) -> Any:
    """Take rows of what has a row for each observation; leave anything else alone."""
    if isinstance(values, str) or not (
        getattr(values, "shape", ()) or hasattr(values, "__len__")
    ):
        return values
    if _num_samples(values) != size:
        return values
    return _safe_indexing(values, rows)


def _as_pair(pair: Any, size: int) -> Pair:
    if np.iterable(pair) and len(pair := tuple(pair)) == 2:
        train, calibrate = (_as_rows(side, size) for side in pair)
        if train is not None and calibrate is not None:
            return train, calibrate
    msg = (
        "cv must be pairs (training rows, calibration rows), each row a number below "
        f"{size} or a mask of {size} booleans; got {shortened(pair)}."
    )
    raise InvalidParameter(msg)


def _as_rows(side: Any, size: int) -> IntArray | None:
    """Return row numbers, for a mask too; None if it is neither."""
    rows: np.ndarray = np.asarray(side)
    if rows.ndim == 1 and not rows.size:
        return np.empty(0, np.int64)
    if rows.dtype.kind == "b" and rows.shape == (size,):
        return np.flatnonzero(rows)
    if rows.dtype.kind in "iu" and rows.ndim == 1 and (abs(rows + 0.5) < size).all():
        return rows
    return None


def _calibration_count(calibration: Any, size: int) -> int:
    if isinstance(calibration, bool) or not isinstance(calibration, Real):
        good, count = False, 0
    elif isinstance(calibration, int | np.integer):
        count = int(calibration)
        good = 1 <= count < size
    else:
        good = 0 < float(calibration) < 1  # NaN and inf cannot be rounded
        count = round(float(calibration) * size) if good else 0
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
    else:
        wrong = _wrong_rows(rows, size)
        if wrong:
            msg = (
                f"calibration must be a mask of {size} booleans or distinct row "
                f"numbers below {size}, of which 0 is the first; got {wrong}."
            )
            raise InvalidParameter(msg)
        mask = np.zeros(size, bool)
        mask[rows] = True
    if mask.all() or not mask.any():
        msg = "calibration must leave rows on both sides; got all rows or none."
        raise InvalidParameter(msg)
    return np.flatnonzero(~mask), np.flatnonzero(mask)


def _wrong_rows(rows: np.ndarray, size: int) -> str | None:
    """Say what keeps these from being distinct row numbers; None if nothing does."""
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or not rows.size:
        return f"an array of {rows.dtype} with shape {rows.shape}"
    outside = rows[(rows < 0) | (rows >= size)]
    if outside.size:
        return f"the row number {outside[0]}"
    numbers, times = np.unique(rows, return_counts=True)
    if times.max() > 1:
        return f"the row number {numbers[times > 1][0]} more than once"
    return None
