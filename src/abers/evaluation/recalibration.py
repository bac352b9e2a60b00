"""Recalibration: Cox's calibration intercept and slope."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers.core.curves import expit, fitted_logistic
from abers.evaluation.counts import counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.evaluation.counts import Counted
    from abers.validation import FloatArray

CERTAIN = 1e-8  # predictions are clipped to this distance from 0 and 1
CLOSE = 1e-9  # log-odds that differ by less are equal: no slope exists


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
    >>> line = evaluation.logistic_recalibration(y, p)
    >>> round(line.slope, 4)  # log-odds of 1/4 and 3/4, not of 1/10 and 9/10: 1/2
    0.5
    >>> abs(round(line.intercept, 4))  # as many ones as predicted
    0.0
    """
    return recalibration_of(counted(y, p, sample_weight))


def recalibration_of(column: Counted) -> Recalibration:
    """Fit intercept and slope to counted predictions."""
    diagram = column.diagram
    if diagram.n_positives in {0, diagram.n_rows}:
        sign = math.inf if diagram.n_positives else -math.inf
        return Recalibration(sign, *[math.nan] * 5)
    shares = diagram.counts / diagram.counts.sum()
    p = np.clip(diagram.scores, CERTAIN, 1 - CERTAIN)
    x = np.log(p / (1 - p))
    centre = float(shares @ x)
    design = np.stack((np.ones_like(x), x - centre))
    totals, ones = diagram.counts.astype(float), diagram.positives.astype(float)
    (shift,), _ = fitted_logistic(design[:1], totals, ones, start=np.zeros(1), offset=x)
    error = _covariance(design[:1], expit(shift + x), column)[0, 0]
    intercept = float(shift), math.sqrt(error)
    slope = _slope_at_ends(diagram, x)
    if slope is not None:
        return Recalibration(*intercept, slope, *[math.nan] * 3)
    joint, _ = fitted_logistic(design, totals, ones, start=np.array([centre, 1.0]))
    covariance = _covariance(design, expit(joint @ design), column)
    at_zero = np.array([1.0, -centre])  # the intercept where log-odds are 0
    # Of an information that is all but singular, rounding may leave no variance.
    with np.errstate(invalid="ignore"):
        errors = np.sqrt([covariance[1, 1], at_zero @ covariance @ at_zero])
    return Recalibration(
        *intercept,
        slope=float(joint[1]),
        slope_error=float(errors[0]),
        joint_intercept=float(at_zero @ joint),
        joint_intercept_error=float(errors[1]),
    )


def _slope_at_ends(diagram: Diagram, x: FloatArray) -> float | None:
    """Return the slope if the likelihood has no maximum: NaN or infinite; else None."""
    if x[-1] - x[0] < CLOSE:
        return math.nan
    zeros, ones = x[diagram.negatives > 0], x[diagram.positives > 0]
    if zeros[-1] <= ones[0]:
        return math.inf
    return -math.inf if ones[-1] <= zeros[0] else None


def _covariance(design: FloatArray, mean: FloatArray, column: Counted) -> FloatArray:
    """Return the covariance of fitted parameters: White's, if weights differ."""
    diagram, scatter, ones_scatter = column
    shares = diagram.counts / diagram.counts.sum()
    bread = np.linalg.inv((design * (shares * mean * (1 - mean))) @ design.T)
    rows = diagram.counts.sum() if scatter is None else 1 / scatter.sum()
    if scatter is None or ones_scatter is None:
        covariance: FloatArray = bread / rows
        return covariance
    # A row of weight 3 is one draw.
    squares = ones_scatter * (1 - mean) ** 2 + (scatter - ones_scatter) * mean**2
    sandwich: FloatArray = bread @ ((design * squares) @ design.T) @ bread
    return sandwich
