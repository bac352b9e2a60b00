"""Columns: checks of the scores and labels that calibrators are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from sklearn import get_config
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_feature_names, column_or_1d

from abers import validation
from abers.errors import InvalidLabels, InvalidScores, InvalidType
from abers.validation import FUZZ, ROUNDING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.validation import FloatArray, IntArray


def are_probabilities(columns: FloatArray) -> NDArray[np.bool_]:
    """Say of rows with a column a class whether they are probabilities, rounded or not.

    They lie between 0 and 1 and add up to 1, give or take 0.0005 a column.
    """
    inside = ((columns >= 0) & (columns <= 1)).all(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):  # of what is none
        off = abs(columns.sum(axis=1) - 1)
    good: NDArray[np.bool_] = inside & (off <= columns.shape[1] * ROUNDING + FUZZ)
    return good


def as_columns(X: Any) -> FloatArray:
    """Return scores as (n, columns), without NaN."""
    columns = validation.as_numbers(X, "scores")
    if columns.ndim == 1:
        columns = columns[:, np.newaxis]
    if columns.ndim != 2 or columns.shape[1] == 0:
        msg = (
            "scores must have shape (n,), or (n, C) with a column a class; "
            f"got {columns.shape}."
        )
        raise InvalidScores(msg)
    missing = np.isnan(columns).any(axis=1)
    if missing.any():
        validation.refuse_missing_scores(
            int(missing.sum()),
            int(missing.argmax()),
            len(columns),
            purpose="calibrating",
        )
    return columns


def remember_names(calibrator: Any, X: Any) -> None:
    """Set `n_features_in_`, and `feature_names_in_` if X is a frame."""
    _check_feature_names(calibrator, X, reset=True)
    shape = np.shape(X)
    calibrator.n_features_in_ = shape[1] if len(shape) > 1 else 1


def check_names(calibrator: Any, X: Any) -> None:
    """Refuse a frame of other names, or in another order, than at fit."""
    _check_feature_names(calibrator, X, reset=False)
    refuse_reordered(X, calibrator.classes_)  # names that are numbers pass the above


def refuse_reordered(X: Any, classes: np.ndarray) -> None:
    """Refuse columns that are named like the classes, but in another order."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    named = {str(name): name for name in frame.columns}
    wanted = [str(label) for label in classes.tolist()]
    if list(named) != wanted and set(named) == set(wanted):
        ordered = [named[label] for label in wanted]
        msg = (
            f"the columns of scores must be in the order of the classes, {ordered!r}; "
            f"got {frame.columns!r}. Pass X[{ordered!r}]."
        )
        raise InvalidScores(msg)


def check_columns(calibrator: Any, columns: FloatArray) -> None:
    """Refuse another number of columns than at fit."""
    if columns.shape[1] != calibrator.n_features_in_:
        msg = (
            f"scores must have {calibrator.n_features_in_} columns as at fit; "
            f"got {columns.shape[1]}."
        )
        raise InvalidScores(msg)


def binary_scores(columns: FloatArray) -> FloatArray:
    """Return the one column that scores the second of two classes."""
    if columns.shape[1] > 2:
        msg = (
            "scores must have one column, or two of which the second counts; "
            f"got {columns.shape[1]}."
        )
        raise InvalidScores(msg)
    return np.ascontiguousarray(columns[:, -1])


def refuse_dispatched(values: object, name: str) -> None:
    """Refuse a tensor that scikit-learn would leave one: labels here are NumPy's."""
    if not get_config()["array_api_dispatch"] or isinstance(values, np.ndarray):
        return
    if hasattr(values, "__dlpack__"):
        kind = type(values)
        msg = (
            f"{name} must be a NumPy array or a table while scikit-learn's "
            f"array_api_dispatch is on; got a {kind.__module__}.{kind.__qualname__}. "
            f"Pass np.asarray({name}), on the CPU, or turn the option off."
        )
        raise InvalidType(msg)


def as_class_labels(y: ArrayLike, owner: str) -> np.ndarray:
    """Return labels of any type, for whose `fit` is named in the message."""
    refuse_dispatched(y, "y")
    if y is None:
        msg = f"{owner} requires y to be passed, but the target y is None."
        raise InvalidLabels(msg)
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        rows = np.flatnonzero(y.mask)
        msg = (
            f"y must not be missing; got masked labels in {rows.size} of {y.size} "
            f"rows, first at row {rows[0]}. Drop the rows without a label."
        )
        raise InvalidLabels(msg)
    try:
        labels: np.ndarray = column_or_1d(y, warn=True)
    except (RuntimeError, TypeError) as cause:
        if hasattr(y, "detach"):  # a tensor with grad, or on a GPU
            validation.refuse_unreadable(y, cause, "y")
        raise
    if labels.dtype.kind == "O":  # where scikit-learn compares None and NA
        validation.refuse_missing_labels(labels, np.arange(labels.size), "y")
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels


def encoded(y: ArrayLike, n_columns: int) -> tuple[np.ndarray, IntArray]:
    """Return the classes and each label's place among them."""
    labels = as_class_labels(y, "this calibrator")
    classes, encoded = np.unique(labels, return_inverse=True)
    if len(classes) == 0:
        msg = "y must not be empty; got no rows to calibrate with."
        raise InvalidLabels(msg)
    wanted = max(2, n_columns)
    if len(classes) < wanted:
        classes, encoded = _with_missing_classes(classes, encoded, wanted)
    if len(classes) > wanted:
        msg = (
            f"scores must have a column for each of the {len(classes)} classes in y; "
            f"got {n_columns}."
        )
        raise InvalidLabels(msg)
    return classes, encoded.astype(np.int64)


def _with_missing_classes(
    classes: np.ndarray, encoded: IntArray, wanted: int
) -> tuple[np.ndarray, IntArray]:
    """Add the classes that did not occur, where labels say which they are."""
    if classes.dtype.kind == "b" and wanted == 2:
        all_classes = np.array([False, True])
    elif classes.dtype.kind in "iuf" and np.isin(classes, np.arange(wanted)).all():
        all_classes = np.arange(wanted).astype(classes.dtype)
    elif classes.dtype.kind in "iuf" and wanted == 2 and classes.tolist() == [-1]:
        all_classes = np.array([-1, 1], dtype=classes.dtype)
    else:
        msg = (
            f"y must hold {wanted} classes, or labels 0 … {wanted - 1} that tell which "
            f"class is missing; got only {classes.tolist()!r} (one class or too few)."
        )
        raise InvalidLabels(msg)
    return all_classes, np.searchsorted(all_classes, classes)[encoded]
