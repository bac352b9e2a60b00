"""Curves: parametric maps from scores to probabilities, and how they are fitted.

The sigmoid and the beta curve are logistic regressions, fitted by Newton's method; the
matrix is a multinomial one, fitted by a trust-region method; the temperature is the
root of a derivative; isotonic regression pools. All are convex problems. Only fitting
loads scipy: a fitted curve needs numpy alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers.core.diagram import Diagram
from abers.core.isotonic import isotonic_regression
from abers.core.log_odds import finite_ends
from abers.errors import InvalidData, need

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from abers.validation import FloatArray, IntArray


TINY, HUGE = 1e-300, 1e300
MODERATE = 1e250
EPSILON = np.finfo(np.float64).eps
CACHED = 2**13  # numbers at a time: fits the cache, and BLAS starts no threads
NEWTON_STEPS = 50  # usually ten; after that, bisection certainly converges
SHORT = 1e-6  # a Newton step shorter than this is accepted
CONVERGED = 1e-8  # a Newton step shorter than this leaves an error of its square
RIDGE = 0.1  # on the sum of log losses; pulls a curve towards the identity
CLIP = 0.1  # in rows: probabilities below CLIP / n are clipped
MOST_CLASSES_OF_A_FULL_MATRIX = 100
SMALL_PRODUCT = 2**18  # multiplications


# --- what curves are made of ---


def expit(logits: FloatArray) -> FloatArray:
    """Return the probability of each log-odds.

    >>> expit(np.array([-np.inf, 0.0, np.log(3)]))
    array([0.  , 0.5 , 0.75])
    """
    with np.errstate(over="ignore"):
        p: FloatArray = 1 / (1 + np.exp(-logits))
    return p


def log_probabilities(log_odds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the logarithms of both probabilities, p and 1 - p, of log-odds."""
    rest = np.log1p(np.exp(-abs(log_odds)))
    return np.minimum(log_odds, 0.0) - rest, np.minimum(-log_odds, 0.0) - rest


def softmax(logits: FloatArray) -> FloatArray:
    """Return the probabilities of rows of logits; 1/C each if all are -inf."""
    gaps = below_largest(logits)
    p = np.exp(gaps)
    shares: FloatArray = p / p.sum(axis=-1, keepdims=True)
    return shares


def below_largest(logits: FloatArray) -> FloatArray:
    """Return how far logits are below the largest of their row: <= 0, never NaN."""
    with np.errstate(invalid="ignore", over="ignore"):
        gaps: FloatArray = logits - logits.max(axis=-1, keepdims=True)
    gaps[np.isnan(gaps)] = 0.0  # of two equal infinities
    return gaps


class Sums(NamedTuple):
    """The sums that Newton's method needs at the current parameters."""

    loss: float
    gradient: FloatArray
    curvature: FloatArray


def fitted_logistic(
    design: FloatArray,
    totals: FloatArray,
    positives: FloatArray,
    *,
    start: FloatArray,
    ridge: float = 0.0,
    centre: FloatArray | float = 0.0,
    offset: FloatArray | None = None,
) -> tuple[FloatArray, float]:
    """Minimise the log loss of expit(parameters @ design) by damped Newton steps.

    Column j of the design stands for rows of total weight `totals[j]`, of which
    `positives[j]` are ones. The penalty is half the ridge times the squared distance
    from the centre, and is added to the sum of the losses. The offset is added to the
    log-odds. Also returns the mean loss at the optimum.
    """
    scale = totals.sum()
    totals, positives, ridge = totals / scale, positives / scale, ridge / scale
    fixed = np.zeros(totals.size) if offset is None else offset
    parts = [slice(i, i + CACHED) for i in range(0, totals.size, CACHED)]

    def sums(parameters: FloatArray) -> Sums:
        away = parameters - centre
        loss = ridge / 2 * float(away @ away)
        gradient = ridge * away
        curvature = (ridge + TINY) * np.eye(len(parameters))
        for part in parts:
            x, n, k = design[:, part], totals[part], positives[part]
            z = parameters @ x + fixed[part]
            small = np.exp(-abs(z))
            either = 1 + small
            p = np.where(z < 0, small, 1.0) / either
            loss += float(n @ (np.maximum(z, 0.0) + np.log1p(small)) - k @ z)
            gradient = gradient + x @ (n * p - k)
            curvature += (x * (n * small / either**2)) @ x.T
        return Sums(loss, gradient, curvature)

    parameters, here = start, sums(start)
    for _ in range(NEWTON_STEPS):
        step = np.linalg.lstsq(here.curvature, here.gradient, rcond=None)[0]
        there = sums(parameters - step)
        size = max(1.0, abs(parameters).max())
        # Near the optimum, losses differ by less than their rounding error.
        while not there.loss <= here.loss and abs(step).max() > SHORT * size:
            step /= 2
            there = sums(parameters - step)
        parameters, here = parameters - step, there
        if abs(step).max() <= CONVERGED * size:
            break
    return parameters, here.loss


# --- Platt's sigmoid ---


class Sigmoid(NamedTuple):
    """Platt's sigmoid: new log-odds are linear in the score."""

    slope: float
    intercept: float
    low: float  # scores are taken to lie between low and high
    high: float

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Return the calibrated log-odds.

        >>> curve = Sigmoid(slope=2.0, intercept=1.0, low=-3.0, high=3.0)
        >>> curve.log_odds(np.array([0.0, 9.0, np.inf]))
        array([1., 7., 7.])
        """
        linear: FloatArray = self.slope * scores.clip(self.low, self.high)
        return linear + self.intercept


def fitted_sigmoid(
    scores: FloatArray, negatives: FloatArray, positives: FloatArray
) -> Sigmoid:
    """Fit a nondecreasing sigmoid to Platt's targets.

    Infinite scores, and all new scores beyond the furthest finite ones, are replaced by
    these: they must not count more. If no score is infinite, the line continues to
    wherever the new scores reach.
    """
    low, high = moderate_ends(scores)
    a, b = fitted_platt(scores.clip(low, high), negatives, positives)
    if a > 0:  # scores are inverted: the best curve that does not fall is flat
        zeros, ones = platt_targets(negatives, positives)
        a, b = 0.0, math.log(zeros.sum() / ones.sum())
    reach = high - low
    return Sigmoid(
        slope=0.0 - a,
        intercept=0.0 - b,
        low=low if np.isneginf(scores).any() else low - reach,
        high=high if np.isposinf(scores).any() else high + reach,
    )


def moderate_ends(scores: FloatArray) -> tuple[float, float]:
    """Return what replaces -inf and +inf, such that weighted sums are finite."""
    low, high = np.clip(finite_ends(scores), -MODERATE, MODERATE).tolist()
    return low, high


def platt_targets(
    negatives: FloatArray, positives: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the masses of both labels, with Platt's targets in place of labels.

    A one counts as (k_+ + 1) / (k_+ + 2) of a one, a zero as 1 / (k_- + 2), where k_+
    and k_- are the weights of the ones and of the zeros.
    """
    high = (positives.sum() + 1) / (positives.sum() + 2)
    low = 1 / (negatives.sum() + 2)
    ones = positives * high + negatives * low
    return negatives + positives - ones, ones


def fitted_platt(
    scores: FloatArray,
    negatives: FloatArray,
    positives: FloatArray,
    *,
    regularised: bool = True,
) -> tuple[float, float]:
    """Return A and B of Platt's sigmoid 1 / (1 + exp(A s + B)), his eq. (3)."""
    totals = negatives + positives
    if not totals.all():  # a score of weight 0 may have any size
        kept = totals > 0
        scores, negatives, positives = scores[kept], negatives[kept], positives[kept]
    if regularised:
        negatives, positives = platt_targets(negatives, positives)
    else:
        _refuse_separable(scores, negatives, positives)
    totals = negatives + positives
    scale = 2.0**-64 if abs(scores).max() > HUGE else 1.0  # to avoid overflow
    scores = scores * scale
    mean, spread = _location(scores, totals)
    if spread == 0:
        return 0.0, float(np.log(negatives.sum() / positives.sum()))
    design = np.stack(((scores - mean) / spread, np.ones_like(scores)))
    best, _ = fitted_logistic(design, totals, positives, start=np.zeros(2))
    slope, intercept = best
    return float(-slope / spread * scale), float(slope * mean / spread - intercept)


def _refuse_separable(
    scores: FloatArray, negatives: FloatArray, positives: FloatArray
) -> None:
    ones, zeros = scores[positives > 0], scores[negatives > 0]
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
    raise InvalidData(msg)


def _location(scores: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return mean and standard deviation at any scale; 0 if all scores are the same."""
    # The mean may be off by rounding, and slopes must be finite.
    if scores.max() / 2 - scores.min() / 2 < TINY:
        return float(scores[0]), 0.0
    mean = np.average(scores, weights=weights)
    reach = float(abs(scores - mean).max())
    z = (scores - mean) / reach  # so that squares neither overflow nor vanish
    return float(mean), reach * float(np.sqrt(np.average(z**2, weights=weights)))


# --- beta calibration ---


def clip_for(n_rows: float) -> float:
    """Return the smallest probability that a curve of n rows does not clip."""
    return CLIP / max(n_rows, 1.0)


UNCHANGED = np.array([1.0, 1.0, 0.0])  # a, b and c that leave probabilities unchanged


class Beta(NamedTuple):
    """Beta calibration: new log-odds are a ln p - b ln(1 - p) + c."""

    a: float
    b: float
    c: float
    clip: float  # p is clipped to [clip, 1 - clip]

    def log_odds(self, log_odds: FloatArray) -> FloatArray:
        """Return the calibrated log-odds.

        >>> Beta(a=1.0, b=1.0, c=0.5, clip=0.1).log_odds(np.array([0.0]))
        array([0.5])
        """
        of_p, of_rest = beta_features(log_odds, self.clip)
        bent: FloatArray = self.a * of_p + self.b * of_rest + self.c
        return bent


def beta_of(parameters: FloatArray, clip: float) -> Beta:
    """Return the curve with fitted parameters a, b and c."""
    a, b, c = parameters.tolist()
    return Beta(a, b, c, clip)


def beta_features(log_odds: FloatArray, clip: float) -> tuple[FloatArray, FloatArray]:
    """Return ln p and -ln(1 - p) of clipped p."""
    low, high = math.log(clip), math.log1p(-clip)
    of_p, of_rest = log_probabilities(log_odds)
    return of_p.clip(low, high), -of_rest.clip(low, high)


def fitted_beta(
    log_odds: FloatArray, negatives: FloatArray, positives: FloatArray
) -> Beta:
    """Fit a beta curve with its ridge around a = b = 1, c = 0; a and b are >= 0."""
    clip = clip_for(float(negatives.sum() + positives.sum()))
    design = beta_design(log_odds, clip)
    return beta_of(fitted_beta_design(design, negatives, positives), clip)


def beta_design(log_odds: FloatArray, clip: float) -> FloatArray:
    """Return the design of a beta curve: rows for a, b and c."""
    return np.stack((*beta_features(log_odds, clip), np.ones_like(log_odds)))


def fitted_beta_design(
    design: FloatArray,
    negatives: FloatArray,
    positives: FloatArray,
    start: FloatArray = UNCHANGED,
) -> FloatArray:
    """Return the best a, b >= 0 and c.

    The problem is convex: if the best a or b is negative, the best allowed one is 0.
    """
    totals = negatives + positives

    def best(*used: int) -> tuple[FloatArray, float]:
        free = list(used)
        parameters = np.zeros(3)
        parameters[free], loss = fitted_logistic(
            design[free],
            totals,
            positives,
            start=start[free],
            ridge=RIDGE,
            centre=UNCHANGED[free],
        )
        # A parameter fixed at 0 is at distance 1 from the centre.
        return parameters, loss + RIDGE / totals.sum() / 2 * (3 - len(free))

    parameters, _ = best(0, 1, 2)
    if parameters[:2].min() < 0:
        with_zeros = [best(0, 2), best(1, 2), best(2)]
        allowed = [fit for fit in with_zeros if fit[0][:2].min() >= 0]
        parameters, _ = min(allowed, key=lambda fit: fit[1])
    return parameters


# --- matrix scaling ---


class Matrix(NamedTuple):
    """Matrix scaling: new logits are linear in the logits of all classes."""

    coefficients: FloatArray  # (C, C): row c gives the logit of class c
    intercepts: FloatArray  # (C,)
    low: float  # logits are clipped to [low, high]
    high: float

    def logits(self, logits: FloatArray) -> FloatArray:
        """Return new logits (n, C) of log-probabilities or margins (n, C).

        Sums are taken class by class, so that a row has the same bits in any batch.

        >>> swap = Matrix(np.eye(2)[::-1], np.zeros(2), low=-9.0, high=0.0)
        >>> swap.logits(np.array([[-1.0, -3.0]]))
        array([[-1.,  1.]])
        """
        features = centred(logits.clip(self.low, self.high))
        new: FloatArray = np.zeros_like(features) + self.intercepts
        for c, column in enumerate(self.coefficients.T):
            new += features[:, c, np.newaxis] * column
        return new


def centred(logits: FloatArray) -> FloatArray:
    """Subtract the mean of each row."""
    less_mean: FloatArray = logits - logits.mean(axis=1, keepdims=True)
    return less_mean


def log_softmax(logits: FloatArray) -> FloatArray:
    """Return the logarithms of the probabilities of rows of logits."""
    gaps = below_largest(logits)
    logs: FloatArray = gaps - np.log(np.exp(gaps).sum(axis=1, keepdims=True))
    return logs


def fitted_matrix(
    features: FloatArray,
    labels: IntArray,
    weights: FloatArray,
    start: tuple[FloatArray, FloatArray] | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients (C, C) and intercepts (C,) for centred logits (n, C).

    A ridge pulls them towards the unit matrix and 0. Off the diagonal it is heavier, in
    proportion to the number of coefficients there. Beyond 100 classes only the diagonal
    is fitted.
    """
    need("scipy", what="a fit to more than two classes")
    from scipy.optimize import minimize

    n_classes = features.shape[1]
    unit = np.eye(n_classes, n_classes + 1)  # the last column holds the intercepts
    first = unit if start is None else np.column_stack(start)
    free = np.ones(unit.shape, dtype=np.bool_)
    if n_classes > MOST_CLASSES_OF_A_FULL_MATRIX:
        free[:, :-1] = unit[:, :-1] > 0
    problem = _Multinomial(features, labels, weights, free)
    # We compute the products ourselves: L-BFGS spent most of its time in waiting BLAS
    # threads.
    best = minimize(
        problem.loss,
        (first - unit)[free],
        jac=True,
        hessp=problem.curvature,
        method="trust-ncg",
        options={"gtol": 1e-8, "maxiter": 1_000},
    ).x
    matrix = unit + problem.unpacked(best)
    return matrix[:, :-1], matrix[:, -1]


class _Multinomial:
    """A multinomial logistic regression with a ridge around the unit matrix."""

    def __init__(
        self,
        features: FloatArray,
        labels: IntArray,
        weights: FloatArray,
        free: NDArray[np.bool_],
    ) -> None:
        n_classes = features.shape[1]
        self.free = free
        total = weights.sum()
        self.ridge = np.full(free.shape, RIDGE / total * n_classes * (n_classes - 1))
        self.ridge[:, -1] = RIDGE / total
        np.fill_diagonal(self.ridge, RIDGE / total)
        # Few enough rows at a time that BLAS starts no threads, which would only wait.
        count = max(SMALL_PRODUCT // n_classes**2, n_classes)
        self.parts = [
            (
                np.column_stack((features[rows], np.ones(labels[rows].size))),
                labels[rows],
                weights[rows] / total,
            )
            for rows in (slice(i, i + count) for i in range(0, labels.size, count))
        ]
        self.at: FloatArray | None = None  # where the probabilities below were computed
        self.probabilities: list[FloatArray] = []

    def unpacked(self, parameters: FloatArray) -> FloatArray:
        """Return the change of the matrix, with 0 at fixed coefficients."""
        change = np.zeros(self.free.shape)
        change[self.free] = parameters
        return change

    def loss(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """Return the mean loss with its ridge, and the gradient."""
        change = self.unpacked(parameters)
        matrix = change.T + np.eye(*change.T.shape)
        gradient = self.ridge * change
        value = (gradient * change).sum() / 2
        self.at, self.probabilities = parameters.copy(), []
        for x, y, share in self.parts:
            rows = np.arange(y.size)
            logits = x @ matrix
            logits -= logits.max(axis=1, keepdims=True)
            own = logits[rows, y]
            p = np.exp(logits, out=logits)
            sums = p.sum(axis=1)
            p /= sums[:, np.newaxis]
            self.probabilities.append(p)
            value += share @ (np.log(sums) - own)
            excess = p * share[:, np.newaxis]
            excess[rows, y] -= share
            gradient += excess.T @ x
        return float(value), gradient[self.free]

    def curvature(self, parameters: FloatArray, direction: FloatArray) -> FloatArray:
        """Return the product of the Hessian with a direction."""
        if self.at is None or not np.array_equal(parameters, self.at):
            self.loss(parameters)
        change = self.unpacked(direction)
        product = self.ridge * change
        for (x, _, share), p in zip(self.parts, self.probabilities, strict=True):
            rise = x @ change.T
            rise -= (p * rise).sum(axis=1, keepdims=True)
            rise *= p * share[:, np.newaxis]
            product += rise.T @ x
        return product[self.free]


# --- isotonic regression ---


def fitted_steps(
    scores: FloatArray,
    is_one: NDArray[np.bool_],
    weights: FloatArray,
    *,
    dummies: bool,
) -> tuple[FloatArray, FloatArray]:
    """Return the distinct scores and the isotonic regression at each."""
    if dummies:
        scores = np.concatenate((scores, [np.inf, -np.inf]))
        is_one = np.concatenate((is_one, [False, True]))
        weights = np.concatenate((weights, [1.0, 1.0]))
    diagram = Diagram.from_rows(scores, is_one, sample_weight=weights)
    means = diagram.positives / diagram.counts
    return diagram.scores, isotonic_regression(means, diagram.counts).values


def read_steps(
    thresholds: FloatArray, values: FloatArray, scores: FloatArray
) -> FloatArray:
    """Return the value at the last threshold not above each score."""
    below = np.searchsorted(thresholds, scores, side="right") - 1
    read: FloatArray = values[np.maximum(below, 0)]
    return read


# --- temperature scaling ---


def best_inverse_temperature(
    logits: FloatArray, labels: IntArray, weights: FloatArray
) -> float:
    """Minimise the mean log loss of softmax(β logits) over β >= 0."""
    size = abs(logits).max() or 1.0
    own = np.take_along_axis(logits, labels[:, np.newaxis], axis=1)
    excess = logits / size - own / size  # relative to the label's logit
    reach = float(abs(excess).max())
    if reach == 0:
        return 1.0
    excess /= reach
    if excess.max() <= 0:
        beta = _after_right_answers(excess, weights)
    else:
        # Start at a temperature of 1, unless the logits are extreme.
        start = min(max(size * reach, 1.0), 1000.0)
        beta = _flattest(excess, weights / weights.sum(), start)
    with np.errstate(over="ignore"):
        return float(min(beta / reach / size, np.finfo(np.float64).max))


def _flattest(excess: FloatArray, share: FloatArray, start: float) -> float:
    """Return β >= 0 that minimises the mean log-sum-exp(β excess), by Newton steps."""
    top = excess.max(axis=1)
    gaps = np.ascontiguousarray((excess - top[:, np.newaxis]).T)  # one row per class
    # Few enough rows at a time that all sums stay in the processor's cache.
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
    """Return β if no finite β is best: see the notes of `TemperatureCalibrator`."""
    from scipy.special import logsumexp

    differ = (excess < 0).any(axis=1)
    excess, weights = excess[differ], weights[differ]
    total = float(weights.sum())
    limit = np.log((excess == 0).sum(axis=1))

    def above_aim(beta: float) -> float:
        loss = weights @ (logsumexp(beta * excess, axis=1) - limit) / total
        return math.log1p(1 / (total + 1)) - float(loss)

    return 0.0 if above_aim(0.0) >= 0 else _root(above_aim)


def _root(rising: Callable[[float], float]) -> float:
    """Return the root of an increasing function that is negative at 0.

    If the root is too large or too small for a double, return the end of the range.
    """
    from scipy.optimize import brentq

    low = 1.0
    while rising(2 * low) < 0:
        low *= 2
        if low > HUGE:
            return low
    while rising(low) >= 0:
        low /= 2  # reaches 0 at the latest
    if low == 0:
        return 0.0
    tiny = np.finfo(np.float64).tiny
    root: float = brentq(rising, low, 2 * low, xtol=tiny, rtol=4 * EPSILON)
    return root
