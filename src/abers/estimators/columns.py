"""Columns: checks of the scores and labels that calibrators are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from abers import validation
from abers.errors import InvalidLabels, InvalidScores

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.validation import FloatArray, IntArray


def as_columns(X: Any) -> FloatArray:
    """Return scores as (n, columns), without NaN."""
    columns = validation.as_numbers(X, "scores")
    if columns.ndim == 1:
        columns = columns[:, np.newaxis]
    if columns.ndim != 2 or columns.shape[1] == 0:  # noqa: PLR2004
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


def binary_scores(columns: FloatArray) -> FloatArray:
    """Return the one column that scores the second of two classes."""
    if columns.shape[1] > 2:  # noqa: PLR2004
        msg = (
            "scores must have one column, or two of which the second counts; "
            f"got {columns.shape[1]}."
        )
        raise InvalidScores(msg)
    return np.ascontiguousarray(columns[:, -1])


def encoded(y: ArrayLike, n_columns: int) -> tuple[np.ndarray, IntArray]:
    """Return the classes and each label's place among them."""
    if y is None:
        msg = "this calibrator requires y to be passed, but the target y is None."
        raise InvalidLabels(msg)
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
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
    if classes.dtype.kind == "b" and wanted == 2:  # noqa: PLR2004
        all_classes = np.array([False, True])
    elif classes.dtype.kind in "iuf" and np.isin(classes, np.arange(wanted)).all():
        all_classes = np.arange(wanted).astype(classes.dtype)
    elif classes.dtype.kind in "iuf" and wanted == 2 and classes.tolist() == [-1]:  # noqa: PLR2004
        all_classes = np.array([-1, 1], dtype=classes.dtype)
    else:
        msg = (
            f"y must hold {wanted} classes, or labels 0 … {wanted - 1} that tell which "
            f"class is missing; got only {classes.tolist()!r} (one class or too few)."
        )
        raise InvalidLabels(msg)
    return all_classes, np.searchsorted(all_classes, classes)[encoded]
