"""Scoring: get the scores of rows from a fitted model."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from abers import validation
from abers.choices import ResponseMethod
from abers.core.class_scores import ClassScores, of_probabilities
from abers.core.predictions import both_classes
from abers.errors import InvalidData, InvalidParameter, InvalidType

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.validation import FloatArray

RESPONSE_METHODS = get_args(ResponseMethod)
WHOLE = 2.0**52  # numbers from here on have no fractional digits


def step_of(predictions: FloatArray) -> float:
    """Return the step to which predictions are rounded: 2^-22 of their scale.

    The scale is that of their interquartile range, which is positive unless half of
    them are equal; then that of their range, or of their size. The step is 0 if all are
    0.
    """
    finite = predictions[np.isfinite(predictions)]
    if not finite.size:
        return 0.0
    low, first, third, high = np.percentile(finite, [0, 25, 75, 100]) / 2
    scale = (third - first) or (high - low) or abs(high)
    return math.ldexp(1.0, math.frexp(scale)[1] - 22) if scale else 0.0


def rounded_to(step: float, predictions: FloatArray) -> FloatArray:
    """Round predictions to multiples of a step; a step of 0 leaves them unchanged."""
    if not step:
        return predictions
    with np.errstate(over="ignore"):
        steps = predictions / step
    multiples = np.rint(steps) * step
    return np.where(abs(steps) < WHOLE, multiples, predictions) + 0.0


def response_of(estimator: Any, response_method: str, n_classes: int = 2) -> str:
    """Name the method that gives scores.

    With more than two classes, "auto" prefers probabilities: margins compare classes
    with each other, not one class with the rest.
    """
    if response_method not in RESPONSE_METHODS:
        offered = ", ".join(repr(name) for name in RESPONSE_METHODS)
        msg = f"response_method must be one of {offered}; got {response_method!r}."
        raise InvalidParameter(msg)
    if isinstance(estimator, type):
        it = estimator.__name__
        msg = f"the classifier must be an instance; got the class {it}. Pass {it}()."
        raise InvalidParameter(msg)
    wanted: tuple[str, ...] = (response_method,)
    if response_method == "auto":
        wanted = RESPONSE_METHODS[1:] if n_classes <= 2 else RESPONSE_METHODS[:0:-1]
    for name in wanted:
        if hasattr(estimator, name):
            return name
    msg = (
        f"the classifier must have {' or '.join(wanted)} to score rows; "
        f"{type(innermost(estimator)).__name__} has not."
    )
    raise InvalidParameter(msg)


def innermost(estimator: Any) -> Any:
    """Return the classifier inside pipelines and frozen estimators."""
    while True:
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        elif type(estimator).__name__ == "FrozenEstimator":
            estimator = estimator.estimator
        else:
            return estimator


def class_scores(
    estimator: Any, X: Any, n_rows: int, classes: np.ndarray, response_method: str
) -> ClassScores:
    """Call a fitted classifier once, and return the scores of all `classes`."""
    method = response_of(estimator, response_method, len(classes))
    trained = np.asarray(getattr(estimator, "classes_", classes))
    if method == "decision_function":
        _refuse_ovo_scores(estimator, classes)
        raw = _output_of(estimator, method, X, n_rows)
        margins = _in_columns(raw, trained, classes, absent=-np.inf)
        return ClassScores(margins, are_logarithms=False)
    if hasattr(estimator, "predict_log_proba"):
        with (
            np.errstate(divide="ignore"),  # many classifiers take the logarithm of 0
            contextlib.suppress(NotImplementedError),
        ):
            raw = _output_of(estimator, "predict_log_proba", X, n_rows)
            logs = _in_columns(raw, trained, classes, absent=-np.inf)
            return ClassScores(logs, are_logarithms=True)
    raw = _output_of(estimator, method, X, n_rows)
    if (raw < 0).any():
        row = int(np.argwhere(raw < 0)[0, 0])
        msg = (
            "the classifier must not give negative probabilities; "
            f"{type(estimator).__name__}.{method} did, first at row {row}."
        )
        raise InvalidData(msg)
    if raw.ndim == 1 or raw.shape[1] == 1:  # the probability of the second class
        raw = both_classes(raw.reshape(-1))
    return of_probabilities(_in_columns(raw, trained, classes, absent=0.0))


def predictions(estimator: Any, X: Any, n_rows: int) -> FloatArray:
    """Call a fitted regressor once, and return its predictions unchanged."""
    raw = _output_of(estimator, "predict", X, n_rows, "regressor")
    if raw.size != n_rows:
        msg = (
            "the regressor must predict one target; "
            f"{type(innermost(estimator)).__name__}.predict gave {raw.shape[1]} "
            "columns. Fit one for each target."
        )
        raise InvalidData(msg)
    return raw.reshape(-1)


def _output_of(
    estimator: Any, method: str, X: Any, n_rows: int, kind: str = "classifier"
) -> FloatArray:
    """Return the output of a classifier: numbers, one row for each object."""
    name = f"scores by {type(estimator).__name__}.{method}"
    raw = validation.as_numbers(getattr(estimator, method)(X), name)
    if raw.shape[:1] != (n_rows,) or raw.ndim > 2:
        msg = (
            f"the {kind} must give one score for each row; "
            f"{type(estimator).__name__}.{method} gave {raw.shape} for {n_rows} rows."
        )
        raise InvalidData(msg)
    if np.isnan(raw).any():
        row = int(np.argwhere(np.isnan(raw))[0, 0])
        msg = (
            f"the {kind} must not give NaN as a score; "
            f"{type(estimator).__name__}.{method} did, first at row {row}."
        )
        raise InvalidData(msg)
    return raw


def _in_columns(
    raw: FloatArray, trained: np.ndarray, classes: np.ndarray, *, absent: float
) -> FloatArray:
    """Arrange scores by class; a class that the classifier never saw gets -inf.

    The margin of the second of two classes remains a single column.
    """
    if raw.ndim == 1 or raw.shape[1] == 1:
        margin = raw.reshape(-1)
        if len(classes) == 2 and np.array_equal(trained, classes):
            return margin
        raw = np.stack((np.zeros_like(margin), margin), axis=1)
    if raw.shape[1] != len(trained):
        msg = (
            f"the classifier must give one score for each of its {len(trained)} "
            f"classes; got {raw.shape[1]} columns."
        )
        raise InvalidData(msg)
    values = np.full((len(raw), len(classes)), absent)
    values[:, np.searchsorted(classes, trained)] = raw
    return values


def _refuse_ovo_scores(estimator: Any, classes: np.ndarray) -> None:
    final = innermost(estimator)
    if len(classes) > 2 and getattr(final, "decision_function_shape", None) == "ovo":
        msg = (
            "the classifier must score classes, not pairs of them; "
            f"set decision_function_shape='ovr' on {type(final).__name__}."
        )
        raise InvalidParameter(msg)


def refuse_dispatched(values: object, name: str) -> None:
    """Raise for a tensor that scikit-learn would not convert to NumPy."""
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
    """Return labels of any type; `fit` of this class is named in the message."""
    refuse_dispatched(y, "y")
    if y is None:
        msg = f"{owner} requires y to be passed, but the target y is None."
        raise InvalidData(msg)
    if isinstance(y, np.ma.MaskedArray) and np.ma.is_masked(y):
        rows = np.flatnonzero(y.mask)
        msg = (
            f"y must not be missing; got masked labels in {rows.size} of {y.size} "
            f"rows, first at row {rows[0]}. Drop the rows without a label."
        )
        raise InvalidData(msg)
    try:
        labels: np.ndarray = column_or_1d(y, warn=True)
    except (RuntimeError, TypeError) as cause:
        if hasattr(y, "detach"):  # a tensor with grad, or on a GPU
            validation.refuse_unreadable(y, cause, "y")
        raise
    if labels.dtype.kind == "O":  # scikit-learn would compare None and NA
        validation.refuse_missing_labels(labels, np.arange(labels.size), "y")
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    return labels
