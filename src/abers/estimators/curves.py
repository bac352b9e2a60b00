"""Curves: what baselines fit, scores and labels in, parameters out.

Every fit is a convex problem: Newton steps, a root in one dimension, or pooling.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq, isotonic_regression, minimize
from scipy.special import expit, log_expit, logsumexp

from abers.core.diagram import Diagram
from abers.errors import InvalidScores

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from abers.validation import FloatArray, IntArray


TINY, HUGE = 1e-300, 1e300
EPSILON = np.finfo(np.float64).eps
CACHED = 2**14  # numbers
NEWTON_STEPS = 50  # ten are usual; after that, a slower method surely ends


def _refuse_separable(scores: FloatArray, is_one: NDArray[np.bool_]) -> None:
    ones, zeros = scores[is_one], scores[~is_one]
    if not ones.size or not zeros.size:
        reason = "only one class"
    elif scores.min() == scores.max():
        return
    elif zeros.max() <= ones.min() or ones.max() <= zeros.min():
        reason = "classes that a threshold separates"
    else:
        return
    msg = (
        "a sigmoid must have a finite best fit to plain labels; "
        f"got {reason}. Use regularised=True."
    )
    raise InvalidScores(msg)


def _platt_targets(is_one: NDArray[np.bool_], weights: FloatArray) -> FloatArray:
    """Return Platt's targets, which are those of one more row of either label."""
    ones, zeros = weights[is_one].sum(), weights[~is_one].sum()
    targets: FloatArray = np.where(is_one, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    return targets


def fitted_platt(
    scores: FloatArray,
    is_one: NDArray[np.bool_],
    weights: FloatArray,
    *,
    regularised: bool,
) -> tuple[float, float]:
    """Minimise Platt's eq. (3) by Newton steps, on standardised scores."""
    if not weights.all():  # a score that does not count may be of any size
        counted = weights > 0
        scores, is_one, weights = scores[counted], is_one[counted], weights[counted]
    if regularised:
        targets = _platt_targets(is_one, weights)
    else:
        _refuse_separable(scores, is_one)
        targets = is_one.astype(np.float64)
    scale = 2.0**-64 if abs(scores).max() > HUGE else 1.0  # sums must not overflow
    scores = scores * scale
    mean, spread = _location(scores, weights)
    if spread == 0:
        t = np.average(targets, weights=weights)
        return 0.0, float(np.log((1 - t) / t))
    design = np.stack(((scores - mean) / spread, np.ones_like(scores)))
    found = _best_sigmoid(design, targets, weights)
    return float(found[0] / spread * scale), float(found[1] - found[0] * mean / spread)


def fitted_beta(
    log_odds: FloatArray, is_one: NDArray[np.bool_], weights: FloatArray
) -> tuple[float, float, float]:
    """Return the best a, b >= 0 and c: see the notes of `BetaCalibrator`."""
    targets = _platt_targets(is_one, weights)
    features = np.stack((log_expit(log_odds), -log_expit(-log_odds)))

    def loss(parameters: FloatArray) -> float:
        logit = parameters[:2] @ features + parameters[2]
        return float(weights @ (np.logaddexp(0, logit) - targets * logit))

    best = _fitted_logistic(features, targets, weights)
    if min(best[:2]) < 0:
        alone = [
            _fitted_logistic(features * keep[:, np.newaxis], targets, weights)
            for keep in np.eye(2)
        ]
        rising = [one for one in alone if min(one[:2]) >= 0]
        flat = _fitted_logistic(np.zeros_like(features), targets, weights)
        best = min(rising, key=loss, default=flat)
    a, b, c = map(float, best)
    return a, b, c


def _fitted_logistic(
    features: FloatArray, targets: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return the coefficients of features, 0 for constant ones, and the intercept."""
    places = np.array([_location(feature, weights) for feature in features])
    used = places[:, 1] > 0
    means, spreads = places[used].T[:, :, np.newaxis]
    design = np.concatenate(
        ((features[used] - means) / spreads, np.ones((1, targets.size)))
    )
    found = -_best_sigmoid(design, targets, weights)
    result = np.zeros(len(features) + 1)
    result[:-1][used] = found[:-1] / spreads[:, 0]
    result[-1] = found[-1] - found[:-1] @ (means / spreads)[:, 0]
    return result


def _location(scores: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return mean and standard deviation, of any scale: 0 if all are the same."""
    counted = scores[weights > 0]
    # Their mean may be off by a rounding; and slopes must be finite.
    if counted.max() / 2 - counted.min() / 2 < TINY:
        return float(counted[0]), 0.0
    mean = np.average(scores, weights=weights)
    reach = float(abs(counted - mean).max())
    z = (scores - mean) / reach  # its squares are neither 0 nor inf
    return float(mean), reach * float(np.sqrt(np.average(z**2, weights=weights)))


def _best_sigmoid(
    design: FloatArray, targets: FloatArray, weights: FloatArray
) -> FloatArray:
    """Minimise the log loss of 1 / (1 + exp(parameters @ design)), by Newton steps."""
    share = weights / weights.sum()

    def loss(parameters: FloatArray) -> float:
        z = parameters @ design
        return float(share @ (np.logaddexp(0, z) - (1 - targets) * z))

    def gradient(parameters: FloatArray) -> FloatArray:
        result: FloatArray = design @ (
            share * (targets - expit(-(parameters @ design)))
        )
        return result

    def curvature(parameters: FloatArray) -> FloatArray:
        p = expit(parameters @ design)
        result: FloatArray = (design * (share * p * (1 - p))) @ design.T
        return result

    found: FloatArray = minimize(
        loss,
        np.zeros(len(design)),
        jac=gradient,
        hess=curvature,
        method="trust-exact",
        options={"gtol": 1e-13, "maxiter": 500},
    ).x
    return found


def fitted_steps(
    scores: FloatArray,
    is_one: NDArray[np.bool_],
    weights: FloatArray,
    *,
    dummies: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return the distinct scores and the isotonic regression there."""
    if dummies:
        scores = np.concatenate((scores, [np.inf, -np.inf]))
        is_one = np.concatenate((is_one, [False, True]))
        weights = np.concatenate((weights, [1.0, 1.0]))
    diagram = Diagram.from_observations(scores, is_one, sample_weight=weights)
    means = diagram.positives / diagram.counts
    return diagram.scores, isotonic_regression(means, weights=diagram.counts).x


def read_steps(
    thresholds: FloatArray, values: FloatArray, scores: FloatArray
) -> FloatArray:
    """Return the value at the last threshold that is not above a score."""
    below = np.searchsorted(thresholds, scores, side="right") - 1
    read: FloatArray = values[np.maximum(below, 0)]
    return read


def best_inverse_temperature(
    logits: FloatArray, labels: IntArray, weights: FloatArray
) -> float:
    """Minimise the mean log loss of softmax(β logits) over β >= 0."""
    size = abs(logits).max() or 1.0
    own = np.take_along_axis(logits, labels[:, np.newaxis], axis=1)
    excess = logits / size - own / size  # over the logit of the label: first, no inf
    reach = float(abs(excess).max())
    if reach == 0:
        return 1.0
    excess /= reach
    if excess.max() <= 0:
        beta = _after_right_answers(excess, weights)
    else:
        # At a temperature of 1, unless that is far out.
        start = min(max(size * reach, 1.0), 1000.0)
        beta = _flattest(excess, weights / weights.sum(), start)
    with np.errstate(over="ignore"):
        return float(min(beta / reach / size, np.finfo(np.float64).max))


def _flattest(excess: FloatArray, share: FloatArray, start: float) -> float:
    """Return β >= 0 with the least mean of log-sum-exp(β excess), by Newton steps."""
    top = excess.max(axis=1)
    gaps = np.ascontiguousarray((excess - top[:, np.newaxis]).T)  # a row for each class
    # So many rows at a time that all sums stay in the processor's cache.
    count = max(1, CACHED // len(gaps))
    parts = [slice(i, i + count) for i in range(0, share.size, count)]

    def derivatives(beta: float) -> tuple[float, float]:
        slope = curvature = 0.0
        for part in parts:
            gap = gaps[:, part]
            terms = np.exp(beta * gap)
            total = terms.sum(axis=0)
            terms *= gap
            first = terms.sum(axis=0) / total
            terms *= gap
            second = terms.sum(axis=0) / total
            slope += float(share[part] @ (first + top[part]))
            curvature += float(share[part] @ (second - first * first))
        return slope, curvature

    def slope(beta: float) -> float:
        return derivatives(beta)[0]

    if slope(0.0) >= 0:
        return 0.0
    low, beta, high = 0.0, start, math.inf
    for _ in range(NEWTON_STEPS):
        rise, curvature = derivatives(beta)
        low, high = (beta, high) if rise < 0 else (low, beta)
        after = beta - rise / curvature if curvature > TINY else math.nan
        if abs(after - beta) <= 4 * EPSILON * beta:
            return after
        if not low < after < high:
            after = 2 * beta if high == math.inf else (low + high) / 2
        beta = after
    return _root(slope)


def _after_right_answers(excess: FloatArray, weights: FloatArray) -> float:
    """Return β where there is no best one: see the notes of `TemperatureCalibrator`."""
    told = (excess < 0).any(axis=1)
    excess, weights = excess[told], weights[told]
    total = float(weights.sum())
    limit = np.log((excess == 0).sum(axis=1))

    def above_aim(beta: float) -> float:
        loss = weights @ (logsumexp(beta * excess, axis=1) - limit) / total
        return math.log1p(1 / (total + 1)) - float(loss)

    return 0.0 if above_aim(0.0) >= 0 else _root(above_aim)


def _root(rising: Callable[[float], float]) -> float:
    """Return where a function that is negative at 0 and rises becomes 0.

    If that is too large or too small for a double, the end of the range.
    """
    low = 1.0
    while rising(2 * low) < 0:
        low *= 2
        if low > HUGE:
            return low
    while rising(low) >= 0:
        low /= 2  # ends at 0 at the latest
    if low == 0:
        return 0.0
    tiny = np.finfo(np.float64).tiny
    found: float = brentq(rising, low, 2 * low, xtol=tiny, rtol=4 * EPSILON)
    return found
