"""Scoring: what a fitted classifier says of objects, as scores that compare classes.

Probabilities become log-odds: log p1 - log p0 of two classes, log p_j - log p_i of a
pair, log p_c - log(the sum of the others) of one class against the rest. A probability
itself keeps its digits near 0 only; log-odds keep both ends, and exchanging two classes
negates them to the bit.

A classifier does not know its scores to the last bit: a row scored alone and in a batch
may differ, and a step function would see it. So scores are rounded, and a score to be
read comes with the two ends between which it may lie; `settled_for_rule` and
`settled_for_keys` choose within them (docs/decisions/0010).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from abers import validation
from abers.errors import (
    InvalidLabels,
    InvalidParameter,
    InvalidScores,
    InvalidType,
    LengthMismatch,
)
from abers.estimators.log_odds import difference, log_sum_of_others, logarithms

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.validation import FloatArray, IntArray

RESPONSE_METHODS = ("auto", "decision_function", "predict_proba")
DROPPED_BITS = 53 - 40  # of a double
HALF_A_STEP = 1 << (DROPPED_BITS - 1)
ROUNDER = 1.5 * 2.0**12

# How far a margin, or the logarithm of a probability, may be off when its row is scored
# in other company: relative to itself and, since sums may cancel, to 1.
NOISE = 2.0**-48
# How far a probability may be off that was computed as 1 minus another one.
COMPLEMENT_NOISE = 2.0**-53
COMPLEMENTS_FROM = 5 * np.log(2)  # log-odds; below, the noise of a logarithm is larger
# Relative; closer than that to 1 minus the other, a probability was computed from it.
SAME = 2.0**-45
FURTHEST_COMPLEMENT = 53 * np.log(2) + 1  # no log-odds of 1 - p and p are further out
# More steps or percentiles than these between the two ends mean that the scores of the
# classifier are as small as the noise, which then says nothing about a row.
MOST_STEPS = 32
MOST_PERCENTILES = 4


class Scored(NamedTuple):
    """Scores of n objects and the ends between which each may lie; None: exact."""

    values: FloatArray
    least: FloatArray | None = None
    largest: FloatArray | None = None


class StepFunctions(Protocol):
    """Two step functions of the score, as a rule has them."""

    @property
    def thresholds(self) -> FloatArray:
        """Where pieces start."""

    @property
    def lower(self) -> FloatArray:
        """Lower bounds of the pieces."""

    @property
    def upper(self) -> FloatArray:
        """Upper bounds of the pieces."""

    @property
    def score_quantiles(self) -> FloatArray:
        """The 101 percentiles of the calibration scores."""


@dataclass(frozen=True, eq=False)
class ClassScores:
    """What a classifier says of n objects.

    `values` are log-probabilities or margins of the classes, (n, C), or the margin of
    the second of two classes, (n,). Scores that are not exact are rounded to 40 bits,
    log-odds also to 40 bits after the point, and come with their ends.
    """

    values: FloatArray
    are_logarithms: bool
    are_exact: bool = False
    given: FloatArray | None = None  # probabilities (n, C), if that is what was given

    @cached_property
    def probabilities(self) -> FloatArray | None:
        """The probabilities (n, C) that the classifier gave; None if it did not."""
        if not self.are_logarithms:
            return None
        return np.exp(self.values) if self.given is None else self.given

    def of_pair(self, i: int, j: int) -> Scored:
        """Score class j against class i: higher means j."""
        if self.values.ndim == 1:
            return self._rounded(self._scored(self.values, abs(self.values)))
        first, second = self._columns[i], self._columns[j]
        scored = self._scored(difference(second, first), abs(first) + abs(second))
        if self.are_logarithms and self.values.shape[1] == 2:
            self._widen_complements(scored)
        return self._rounded(scored)

    def of_class(self, c: int) -> Scored:
        """Score class c against all others."""
        if self.values.ndim == 1 or not self.are_logarithms:
            margin = self.values if self.values.ndim == 1 else self.values[:, c]
            return self._rounded(self._scored(margin, abs(margin)))
        own, others = self._columns[c], self._others[:, c]
        scored = self._scored(difference(own, others), abs(own) + abs(others))
        return self._rounded(scored)

    @cached_property
    def _columns(self) -> FloatArray:
        return np.ascontiguousarray(self.values.T)

    @cached_property
    def _others(self) -> FloatArray:
        return log_sum_of_others(self.values)

    def _scored(self, values: FloatArray, size: FloatArray) -> Scored:
        """Put the ends around scores that were computed from terms of some size."""
        if self.are_exact:
            return Scored(values)
        noise = NOISE * (1 + size)
        noise[np.isinf(size)] = 0.0  # no doubt, and inf - inf would be none
        return Scored(values, values - noise, values + noise)

    def _widen_complements(self, scored: Scored) -> None:
        """Move the ends where one of two probabilities was computed from the other.

        It is then a multiple of 2^-53, and known no better than that.
        """
        values, least, largest = scored
        if least is None or largest is None:
            return
        for rare, sign in ((0, 1), (1, -1)):
            rows = np.flatnonzero(sign * values > COMPLEMENTS_FROM)
            if not rows.size:
                continue
            logs = self.values[rows]
            p = (np.exp(logs) if self.given is None else self.given[rows])[:, rare]
            other = np.exp(logs[:, 1 - rare])
            coarse = abs(p - (1 - other)) <= SAME * p
            coarse &= (p > 0) | np.isinf(logs[:, rare])
            rows, p, log_other = rows[coarse], p[coarse], logs[coarse, 1 - rare]
            further = log_other - logarithms(np.maximum(p - COMPLEMENT_NOISE, 0.0))
            nearer = log_other - np.log(p + COMPLEMENT_NOISE)
            ends = sign * np.stack((nearer, further))
            least[rows] = np.minimum(least[rows], ends.min(axis=0))
            largest[rows] = np.maximum(largest[rows], ends.max(axis=0))

    def _rounded(self, scored: Scored) -> Scored:
        if scored.least is None or scored.largest is None:
            return scored
        # The noise of log-odds does not fall with them: where two probabilities are
        # equal but for it, they are to be a tie.
        nearest = rounded_log_odds if self.are_logarithms else rounded
        return Scored(
            nearest(scored.values), nearest(scored.least), nearest(scored.largest)
        )


def rounded(scores: FloatArray) -> FloatArray:
    """Round to 40 significant bits: a fixed monotone map."""
    bits = np.ascontiguousarray(scores).view(np.int64)
    # Half a step less a unit, and the unit where the last bit kept is odd: to nearest,
    # ties to even. The bits order as the numbers do, so a carry does what it should.
    kept = bits + (HALF_A_STEP - 1) + ((bits >> DROPPED_BITS) & 1)
    kept &= -2 * HALF_A_STEP
    return kept.view(np.float64)


def rounded_log_odds(scores: FloatArray) -> FloatArray:
    """Round to 40 bits after the point, then to 40 significant bits."""
    # Between 2^12 and 2^13 doubles are 2^-40 apart: adding rounds, to nearest.
    return rounded((scores + ROUNDER) - ROUNDER)


def settled_for_rule(scored: Scored, rule: StepFunctions) -> FloatArray:
    """Choose scores at which to read a rule, between the ends of each.

    At a calibration score the bounds are narrower than beside it. So a row is read
    where the bounds are narrowest: a calibration row comes back to its own score,
    whoever it is scored together with. Elsewhere the bounds are the same at both ends.
    """
    values, least, largest = scored
    if least is None or largest is None or not rule.thresholds.size:
        return values
    rows = _in_doubt(values, least, largest, rule.thresholds)
    least, largest = least[rows], largest[rows]
    first = np.searchsorted(rule.thresholds, least, side="right")
    last = np.searchsorted(rule.thresholds, largest, side="right")
    percentiles = np.unique(rule.score_quantiles)
    covered = np.searchsorted(percentiles, largest, side="right")
    covered -= np.searchsorted(percentiles, least)
    within = (first < last) & (last - first <= MOST_STEPS)
    within &= covered <= MOST_PERCENTILES
    if not within.any():
        return values
    rows, first, last = rows[within], first[within], last[within]
    # Rounded, so that equal widths stay equal when the classes are exchanged.
    width = (rule.upper - rule.lower).astype(np.float32)
    own = np.searchsorted(rule.thresholds, values[rows], side="right")
    narrowest = own
    for step in range(1, int((last - first).max()) + 1):
        for piece in (own - step, own + step):  # of equal ones the nearest
            inside = np.clip(piece, first, last)
            narrowest = np.where(width[inside] < width[narrowest], inside, narrowest)
    start = rule.thresholds[np.maximum(narrowest - 1, 0)]
    score = np.where(narrowest > first, start, least[within])
    settled = values.copy()
    settled[rows] = np.where(narrowest == own, values[rows], score)
    return settled


def settled_for_keys(scored: Scored, keys: FloatArray) -> FloatArray:
    """Choose scores to compare with the calibration scores, between the ends of each.

    The nearest calibration score is taken if one lies between the ends, for the same
    reason as in `settled_for_rule`.
    """
    values, least, largest = scored
    if least is None or largest is None or not keys.size:
        return values
    rows = _in_doubt(values, least, largest, keys)
    first = np.searchsorted(keys, least[rows], side="left")
    last = np.searchsorted(keys, largest[rows], side="right")
    most = min(MOST_STEPS, max(MOST_PERCENTILES, MOST_PERCENTILES * keys.size // 100))
    within = (first < last) & (last - first <= most)
    if not within.any():
        return values
    rows, first, last = rows[within], first[within], last[within]
    after = np.searchsorted(keys, values[rows], side="left")
    below = keys[np.clip(after - 1, first, last - 1)]
    above = keys[np.clip(after, first, last - 1)]
    with np.errstate(invalid="ignore"):
        to_above, to_below = abs(above - values[rows]), abs(values[rows] - below)
    nearer = (to_above < to_below) | (above == values[rows])
    nearer |= (to_above == to_below) & (abs(above) < abs(below))
    settled = values.copy()
    settled[rows] = np.where(nearer, above, below)
    return settled


def _in_doubt(
    values: FloatArray, least: FloatArray, largest: FloatArray, known: FloatArray
) -> IntArray:
    """Return the rows whose ends differ.

    The log-odds of a probability of 0 may be an underflow, or 1 minus the other. If
    some calibration score is finite and further out than the latter can be, it is an
    underflow, and not in doubt.
    """
    doubtful = least != largest
    beyond, infinite = np.searchsorted(known, (FURTHEST_COMPLEMENT, np.inf))
    if beyond < infinite:
        doubtful &= values != np.inf
    infinite, beyond = np.searchsorted(
        known, (-np.inf, -FURTHEST_COMPLEMENT), side="right"
    )
    if infinite < beyond:
        doubtful &= values != -np.inf
    return np.flatnonzero(doubtful)


def response_of(estimator: Any, response_method: str, n_classes: int = 2) -> str:
    """Name the method that gives scores.

    With more than two classes, "auto" prefers probabilities: margins compare classes
    with each other, not one with the rest.
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
    estimator: Any, X: Any, n_rows: int, classes: np.ndarray, response_method: str
) -> ClassScores:
    """Call a fitted classifier once for the scores of all `classes`."""
    method = response_of(estimator, response_method, len(classes))
    known = np.asarray(getattr(estimator, "classes_", classes))
    if method == "decision_function":
        _refuse_ovo_scores(estimator, classes)
        raw = _checked(estimator, method, X, n_rows)
        margins = _in_columns(raw, known, classes, absent=-np.inf)
        return ClassScores(margins, are_logarithms=False)
    if hasattr(estimator, "predict_log_proba"):
        with (
            np.errstate(divide="ignore"),  # most take the logarithm of 0 as it comes
            contextlib.suppress(NotImplementedError),
        ):
            raw = _checked(estimator, "predict_log_proba", X, n_rows)
            logs = _in_columns(raw, known, classes, absent=-np.inf)
            return ClassScores(logs, are_logarithms=True)
    raw = _checked(estimator, method, X, n_rows)
    if (raw < 0).any():
        row = int(np.argwhere(raw < 0)[0, 0])
        msg = (
            "the classifier must not give negative probabilities; "
            f"{type(estimator).__name__}.{method} did, first at row {row}."
        )
        raise InvalidScores(msg)
    if raw.ndim == 1 or raw.shape[1] == 1:  # the probability of the second class
        p = raw.reshape(-1)
        raw = np.stack((1 - p, p), axis=1)
    return of_probabilities(_in_columns(raw, known, classes, absent=0.0))


def of_probabilities(
    probabilities: FloatArray, *, are_exact: bool = False
) -> ClassScores:
    """Make scores of probabilities (n, C)."""
    return ClassScores(
        logarithms(probabilities),
        are_logarithms=True,
        are_exact=are_exact,
        given=probabilities,
    )


def predictions(estimator: Any, X: Any, n_rows: int) -> FloatArray:
    """Ask a fitted regressor once for its predictions, as they come."""
    raw = _checked(estimator, "predict", X, n_rows, "regressor")
    if raw.size != n_rows:
        msg = (
            "the regressor must predict one target; "
            f"{type(innermost(estimator)).__name__}.predict gave {raw.shape[1]} "
            "columns. Fit one for each target."
        )
        raise LengthMismatch(msg)
    return raw.reshape(-1)


def of_predictions(values: FloatArray, scale: float) -> Scored:
    """Put predictions between the ends where each may lie, all rounded to 40 bits.

    What is added up to a prediction may be as large as the `scale` of them all.
    """
    noise = NOISE * (scale + abs(values))
    noise[np.isinf(values)] = 0.0  # no doubt, and inf - inf would be none
    with np.errstate(over="ignore"):  # the largest numbers have no room beside them
        return Scored(rounded(values), rounded(values - noise), rounded(values + noise))


def _checked(
    estimator: Any, method: str, X: Any, n_rows: int, kind: str = "classifier"
) -> FloatArray:
    """Return what a classifier says: numbers, one row for each object."""
    name = f"scores by {type(estimator).__name__}.{method}"
    raw = validation.as_numbers(getattr(estimator, method)(X), name)
    if raw.shape[:1] != (n_rows,) or raw.ndim > 2:
        msg = (
            f"the {kind} must give one score for each row; "
            f"{type(estimator).__name__}.{method} gave {raw.shape} for {n_rows} rows."
        )
        raise LengthMismatch(msg)
    if np.isnan(raw).any():
        row = int(np.argwhere(np.isnan(raw))[0, 0])
        msg = (
            f"the {kind} must not give NaN as a score; "
            f"{type(estimator).__name__}.{method} did, first at row {row}."
        )
        raise InvalidScores(msg)
    return raw


def _in_columns(
    raw: FloatArray, known: np.ndarray, classes: np.ndarray, *, absent: float
) -> FloatArray:
    """Give each class its column; one that the classifier never saw is hopeless.

    The margin of the second of two classes stays alone.
    """
    if raw.ndim == 1 or raw.shape[1] == 1:
        margin = raw.reshape(-1)
        if len(classes) == 2 and np.array_equal(known, classes):
            return margin
        raw = np.stack((np.zeros_like(margin), margin), axis=1)
    if raw.shape[1] != len(known):
        msg = (
            f"the classifier must give one score for each of its {len(known)} classes; "
            f"got {raw.shape[1]} columns."
        )
        raise LengthMismatch(msg)
    values = np.full((len(raw), len(classes)), absent)
    values[:, np.searchsorted(classes, known)] = raw
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
