"""Recalibration: Cox's calibration intercept and slope."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.evaluation.counts import (
    cell_starts,
    diagram_of,
    ones_scatter_of,
    scatter_of,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.core.diagram import Diagram
    from abers.validation import FloatArray, IntArray

CERTAIN = 1e-8  # predictions are clipped to this distance from 0 and 1
CLOSE = 1e-9  # log-odds that differ by less are equal: no slope exists
CONVERGED = 1e-12  # of the mean log loss; a last Newton step squares the error
ROUGH_CELLS = 5_000  # for a rough fit
ROWS_AT_ONCE = 8_192  # log-odds at once, to fit into the cache
MOST_NEWTON_STEPS = 50
HALVINGS = 30
BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class Recalibration:
    """The logistic curve of labels on log-odds of predictions: a + b logit(p).

    Attributes
    ----------
    intercept, intercept_error : float
        a with b fixed at 1, called calibration-in-the-large, and its standard error.
        0 if predictions are right on average; positive if they are too low. Infinite
        if there is only one class.
    slope, slope_error : float
        b of the joint fit, and its standard error. 1 if predictions are calibrated,
        below 1 if they are too extreme. Infinite if predictions separate the classes;
        NaN if there is one class, or one prediction.
    joint_intercept, joint_intercept_error : float
        a of the joint fit, and its standard error. NaN where the slope is not finite.
    """

    intercept: float
    intercept_error: float
    slope: float
    slope_error: float
    joint_intercept: float
    joint_intercept_error: float


def logistic_recalibration(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> Recalibration:
    """Fit Cox's calibration intercept and slope by maximum likelihood.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1. Log-odds of 0 and 1 are infinite, so predictions are
        clipped to [1e-8, 1 - 1e-8].
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows. A row of weight w counts as w rows in the fit, and as one
        row in standard errors.

    Returns
    -------
    Recalibration
        Intercept (slope fixed at 1), slope, the intercept that goes with the slope, and
        their standard errors.

    Notes
    -----
    Without weights, or with equal weights, standard errors come from the inverse of the
    information, as in any logistic regression. With unequal weights they are White's
    (HC0), which are right even if the curve is not, for instance where the slope is
    fixed at 1 but differs from it.

    The R package CalibrationCurves clips, too. Dropping such rows would hide the worst
    mistakes: wrong predictions that claim certainty. The two numbers detect only errors
    that are linear on the log-odds scale: intercept 0 and slope 1 do not prove
    calibration.

    References
    ----------
    Cox: Two further applications of a model for binary regression, Biometrika 1958.
    Van Calster, McLernon, van Smeden, Wynants, Steyerberg: Calibration: the Achilles
    heel of predictive analytics, BMC Medicine 2019.

    Examples
    --------
    >>> from abers import evaluation
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1], [0.1] * 4 + [0.9] * 4
    >>> found = evaluation.logistic_recalibration(y, p)
    >>> round(found.slope, 4)  # log-odds of 1/4 and 3/4, not of 1/10 and 9/10: 1/2
    0.5
    >>> abs(round(found.intercept, 4))  # as many ones as predicted
    0.0
    """
    diagram = diagram_of(y, p, sample_weight)
    return recalibration_of(
        diagram,
        scatter=scatter_of(diagram, p, sample_weight),
        ones_scatter=ones_scatter_of(diagram, y, p, sample_weight),
    )


class _Column(NamedTuple):
    """Log-odds, with the shares of all rows and of the ones at each."""

    x: FloatArray
    shares: FloatArray
    ones: FloatArray

    def cells(self, start: IntArray) -> _Column:
        """Replace neighbours by their mean."""
        shares, ones, x = (
            np.add.reduceat(column, start)
            for column in (self.shares, self.ones, self.shares * self.x)
        )
        return _Column(x / shares, shares, ones)


class _Fit(NamedTuple):
    """Parameters and inverse information, for weights that add up to 1."""

    a: float
    b: float
    inverse: NDArray[np.floating[Any]]


def recalibration_of(
    diagram: Diagram,
    *,
    scatter: FloatArray | None = None,
    ones_scatter: FloatArray | None = None,
) -> Recalibration:
    """Fit intercept and slope to counted predictions.

    If rows have weights, pass their `scatter`, and that of the ones if weights differ.
    """
    counts, total = diagram.counts, diagram.counts.sum()
    if diagram.n_positives in {0, diagram.n_rows}:
        sign = math.inf if diagram.n_positives else -math.inf
        return Recalibration(sign, *[math.nan] * 5)
    shares, ones = counts / total, diagram.positives / total
    p = np.clip(diagram.scores, CERTAIN, 1 - CERTAIN)
    x = np.log(p / (1 - p))
    centre = float((shares * x).sum())
    column = _Column(x - centre, shares, ones)
    squares, rows = None, total if scatter is None else 1 / scatter.sum()
    if scatter is not None and ones_scatter is not None:
        squares = _Column(column.x, scatter, ones_scatter)
    start = cell_starts(counts, ROUGH_CELLS)
    coarse = column.cells(start) if start.size < x.size else None
    fixed = _fitted(column, coarse, centre, slope=False)
    intercept = fixed.a - centre, _errors(squares, fixed, 0.0, rows)[0]
    slope = _slope_at_ends(diagram, x)
    if slope is not None:
        return Recalibration(*intercept, slope, *[math.nan] * 3)
    joint = _fitted(column, coarse, centre, slope=True)
    joint_error, slope_error = _errors(squares, joint, centre, rows)
    at_zero = joint.a - joint.b * centre
    return Recalibration(*intercept, joint.b, slope_error, at_zero, joint_error)


def _slope_at_ends(diagram: Diagram, x: FloatArray) -> float | None:
    """Return the slope if the likelihood has no maximum: NaN or infinite; else None."""
    if x[-1] - x[0] < CLOSE:
        return math.nan
    least, most = [], []
    for weights in (diagram.negatives, diagram.positives):
        present = weights > 0
        least.append(x[present.argmax()])
        most.append(x[::-1][present[::-1].argmax()])
    if most[0] <= least[1]:
        return math.inf
    return -math.inf if most[1] <= least[0] else None


def _fitted(
    column: _Column, coarse: _Column | None, centre: float, *, slope: bool
) -> _Fit:
    """Fit cells first, which is cheap and leaves few steps for the rows."""
    begin = (centre, 1.0)  # calibrated
    if coarse is not None:
        rough = _newton(coarse, begin, slope=slope)
        if rough is not None:
            begin = rough.a, rough.b
    curve = _newton(column, begin, slope=slope)
    if curve is None:  # Newton diverged, as certain predictions were wrong
        curve = _newton(column, _safe_start(column, slope=slope), slope=slope)
    unknown = _Fit(math.nan, math.nan, np.full((2, 2), np.nan))
    return unknown if curve is None else curve


def _safe_start(column: _Column, *, slope: bool) -> tuple[float, float]:
    """Return a starting point from which Newton's method converges.

    It is the best constant, or, if the slope is fixed at 1, the result of a bisection.
    """
    rate = column.ones.sum() / column.shares.sum()
    constant = math.log(rate / (1 - rate))
    if slope:
        return constant, 0.0
    low, high = constant - column.x.max(), constant - column.x.min()
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        rises = _moments(column, np.array([middle, 1.0]))[0][0] > 0
        low, high = (middle, high) if rises else (low, middle)
    return (low + high) / 2, 1.0


def _newton(column: _Column, begin: tuple[float, float], *, slope: bool) -> _Fit | None:
    """Maximise the likelihood, or return None if that fails."""
    size = 2 if slope else 1
    theta = np.array(begin)
    gradient, information = _moments(column, theta)
    for _ in range(MOST_NEWTON_STEPS):
        try:
            inverse = np.linalg.inv(information[:size, :size])
        except np.linalg.LinAlgError:
            return None
        step = np.zeros(2)
        step[:size] = inverse @ gradient[:size]
        gain = whole_gain = float(step @ gradient)
        for _ in range(HALVINGS):  # shorten a step that goes too far
            after = _moments(column, theta + step)
            if abs(step @ after[0]) <= gain:
                break
            step /= 2
            gain /= 2
        theta, (gradient, information) = theta + step, after
        if abs(whole_gain) < CONVERGED:  # a step cut short says nothing
            inverse = np.linalg.inv(information[:size, :size])
            return _Fit(float(theta[0]), float(theta[1]), inverse)
    return None


def _moments(column: _Column, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the gradient and the information of the mean log-likelihood."""
    a, b = theta
    sums = np.zeros(5)
    with np.errstate(over="ignore"):  # to a probability of 0
        for first in range(0, column.x.size, ROWS_AT_ONCE):
            x, shares, ones = (part[first : first + ROWS_AT_ONCE] for part in column)
            mean = 1 / (1 + np.exp(-a - b * x))
            expected = shares * mean
            rest = ones - expected
            expected -= expected * mean
            slanted = expected * x
            columns = (rest, rest * x, expected, slanted, slanted * x)
            sums += [part.sum() for part in columns]
    information = np.array([[sums[2], sums[3]], [sums[3], sums[4]]])
    return sums[:2], information


def _errors(
    squares: _Column | None, fit: _Fit, centre: float, rows: float
) -> tuple[float, ...]:
    """Return standard errors of the parameters, with the intercept at log-odds 0.

    `squares` are the squared weights, if weights differ.
    """
    size = len(fit.inverse)
    covariance = fit.inverse / rows
    if squares is not None:
        middle = _squared_residuals(squares, fit)[:size, :size]
        covariance = fit.inverse @ middle @ fit.inverse
    if size == 1:
        return (math.sqrt(covariance[0, 0]),)
    moved = np.array([1.0, -centre])
    variances = float(moved @ covariance @ moved), float(covariance[1, 1])
    # If the information is almost singular, rounding may leave no inverse.
    return tuple(math.sqrt(v) if v >= 0 else math.nan for v in variances)


def _squared_residuals(squares: _Column, fit: _Fit) -> FloatArray:
    """Return the middle factor of White's estimator: a row of weight 3 is one draw."""
    x, weights, ones = squares
    with np.errstate(over="ignore"):  # to a probability of 0
        mean = 1 / (1 + np.exp(-fit.a - fit.b * x))
    each = ones * (1 - mean) ** 2 + (weights - ones) * mean**2
    slanted = each * x
    sums = each.sum(), slanted.sum(), (slanted * x).sum()
    return np.array([[sums[0], sums[1]], [sums[1], sums[2]]])
