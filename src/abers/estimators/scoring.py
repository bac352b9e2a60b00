"""Scoring: what a fitted classifier says of objects, as one kind of scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from abers.errors import InvalidParameter, InvalidScores, LengthMismatch

if TYPE_CHECKING:
    from abers.validation import FloatArray

RESPONSE_METHODS = ("auto", "decision_function", "predict_proba")
DROPPED_BITS = 53 - 40  # of a double
HALF_A_STEP = 1 << (DROPPED_BITS - 1)


# How far a score may be off when its row is scored in other company: relative to
# itself, and, for margins, which are sums that may cancel, also to 1.
NOISE = 2.0**-48


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Scores of n objects: (n,) for two classes, else (n, C).

    Probabilities and margins differ in how two classes are compared: by the share of
    one in both, or by the difference.
    """

    values: FloatArray
    are_probabilities: bool
    # The least and the largest that the values may be; None without any doubt.
    doubt: tuple[FloatArray, FloatArray] | None = None

    def of_pair(self, i: int, j: int) -> FloatArray:
        """Score class j against class i: higher means j."""
        if self.values.ndim == 1:
            return self.values
        return self._compared(self.values[:, i], self.values[:, j])

    def of_class(self, c: int) -> FloatArray:
        """Score class c against all others."""
        return self.values if self.values.ndim == 1 else _column(self.values, c)

    def doubt_of_pair(self, i: int, j: int) -> tuple[FloatArray, FloatArray] | None:
        """Return the least and the largest that `of_pair` may be."""
        if self.doubt is None or self.values.ndim == 1:
            return self.doubt
        least, largest = self.doubt
        return (
            self._compared(largest[:, i], least[:, j]),
            self._compared(least[:, i], largest[:, j]),
        )

    def doubt_of_class(self, c: int) -> tuple[FloatArray, FloatArray] | None:
        """Return the least and the largest that `of_class` may be."""
        if self.doubt is None or self.values.ndim == 1:
            return self.doubt
        least, largest = self.doubt
        return _column(least, c), _column(largest, c)

    def _compared(self, first: FloatArray, second: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            if not self.are_probabilities:
                # Two classes that a fold has never seen: -inf - -inf says nothing.
                margin: FloatArray = np.nan_to_num(
                    second - first, nan=0.0, posinf=np.inf, neginf=-np.inf
                )
                return margin
            total = first + second
            share: FloatArray = np.where(total > 0, second / total, 0.5)
        return share


def _column(values: FloatArray, c: int) -> FloatArray:
    column: FloatArray = values[:, c]
    return column


def rounded(scores: FloatArray) -> FloatArray:
    """Round to 40 significant bits: a fixed monotone map.

    A row scored alone and in a batch may differ in its last bits, and a step function
    would see it.
    """
    bits = np.ascontiguousarray(scores).view(np.int64)
    # Half a step less a unit, and the unit where the last bit kept is odd: to nearest,
    # ties to even. The bits order as the numbers do, so a carry does what it should.
    kept = bits + (HALF_A_STEP - 1) + ((bits >> DROPPED_BITS) & 1)
    kept &= -2 * HALF_A_STEP
    return kept.view(np.float64)


def response_of(estimator: Any, response_method: str) -> str:
    """Name the method that gives scores."""
    if response_method not in RESPONSE_METHODS:
        offered = ", ".join(repr(name) for name in RESPONSE_METHODS)
        msg = f"response_method must be one of {offered}; got {response_method!r}."
        raise InvalidParameter(msg)
    wanted = RESPONSE_METHODS[1:] if response_method == "auto" else (response_method,)
    for name in wanted:
        if hasattr(estimator, name):
            return name
    msg = (
        f"the classifier must have {' or '.join(wanted)} to score objects; "
        f"{type(innermost(estimator)).__name__} has not."
    )
    raise InvalidParameter(msg)


def innermost(estimator: Any) -> Any:
    """Return the classifier in pipelines and frozen estimators."""
    while True:
        if isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        elif type(estimator).__name__ == "FrozenEstimator":
            estimator = estimator.estimator
        else:
            return estimator


def class_scores(
    estimator: Any, X: Any, classes: np.ndarray, response_method: str, n_rows: int
) -> ClassScores:
    """Ask a fitted classifier for the scores of all `classes`, rounded to 40 bits."""
    method = response_of(estimator, response_method)
    _refuse_ovo_scores(estimator, method, classes)
    raw = np.asarray(getattr(estimator, method)(X), dtype=np.float64)
    if raw.shape[:1] != (n_rows,):
        msg = (
            "the classifier must give one score for each row; "
            f"{type(estimator).__name__}.{method} gave {raw.shape} for {n_rows} rows."
        )
        raise LengthMismatch(msg)
    if np.isnan(raw).any():
        row = int(np.argwhere(np.isnan(raw))[0, 0])
        msg = (
            "the classifier must not give NaN as a score; "
            f"{type(estimator).__name__}.{method} did, first at row {row}."
        )
        raise InvalidScores(msg)
    known = np.asarray(getattr(estimator, "classes_", classes))
    probabilities = method == "predict_proba"
    exact = _in_columns(raw, known, classes, probabilities=probabilities)
    noise = abs(exact)
    if not probabilities:
        noise += 1
    noise *= NOISE
    noise[np.isinf(exact)] = 0.0  # no doubt, and inf - inf would be none
    doubt = rounded(exact - noise), rounded(exact + noise)
    return ClassScores(rounded(exact), probabilities, doubt)


def _in_columns(
    raw: FloatArray, known: np.ndarray, classes: np.ndarray, *, probabilities: bool
) -> FloatArray:
    """Give each class its column; one that the classifier never saw is hopeless."""
    two = len(classes) == 2  # noqa: PLR2004
    if two and np.array_equal(known, classes):
        if raw.shape[1:] in {(), (1,)}:
            return raw.reshape(-1)
        if raw.shape[1] == 2:  # noqa: PLR2004
            column: FloatArray = raw[:, 1]
            return column
    if raw.ndim == 1:
        raw = np.stack((np.zeros_like(raw), raw), axis=1)  # as margins of two classes
    if raw.shape[1] != len(known):
        msg = (
            f"the classifier must give one score for each of its {len(known)} classes; "
            f"got {raw.shape[1]} columns."
        )
        raise LengthMismatch(msg)
    values = np.full((len(raw), len(classes)), 0.0 if probabilities else -np.inf)
    values[:, np.searchsorted(classes, known)] = raw
    if two:
        return ClassScores(values, probabilities).of_pair(0, 1)
    return values


def _refuse_ovo_scores(estimator: Any, method: str, classes: np.ndarray) -> None:
    final = innermost(estimator)
    if (
        method == "decision_function"
        and len(classes) > 2  # noqa: PLR2004
        and getattr(final, "decision_function_shape", None) == "ovo"
    ):
        msg = (
            "the classifier must score classes, not pairs of them; "
            f"set decision_function_shape='ovr' on {type(final).__name__}."
        )
        raise InvalidParameter(msg)
