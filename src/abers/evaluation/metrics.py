"""Metrics: how good probabilities are.

Functions of rows sort them first. Their counterparts, whose names end in `_of`, take
the diagram of a column (`counts`), so that one sort serves all metrics. Losses are
defined as in scikit-learn: natural logarithm, plain Brier.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.auc import auc_of
from abers.core.diagram import Diagram
from abers.errors import InvalidData
from abers.evaluation.calibration_tests import (
    calibration_test_of,
    two_sided_p,
    z_score,
)
from abers.evaluation.counts import diagram_of
from abers.evaluation.recalibration import recalibration_of
from abers.evaluation.reliability import curve_of
from abers.losses import mean_loss, paired_difference
from abers.thresholds import ECE_BINS, SIGNIFICANCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from abers.choices import LossName
    from abers.evaluation.calibration_tests import CalibrationTest
    from abers.evaluation.counts import Counted
    from abers.evaluation.recalibration import Recalibration
    from abers.evaluation.reliability import ReliabilityCurve
    from abers.validation import FloatArray

HISTOGRAM_BINS = 50
# For the smooth ECE: grids of 512 to a million cells of [0, 1], how many cells a
# bandwidth should span, and the relative error.
GRIDS = tuple(2**k for k in range(9, 21))
FINE = 16
TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class BoundWidths:
    """The widths of the bounds, upper minus lower, over rows.

    Attributes
    ----------
    mean, median, quantile_90, maximum : float
        Of the widths of all rows.
    """

    mean: float
    median: float
    quantile_90: float
    maximum: float


def log_loss(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean negative logarithm of the probability of the label.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        With the natural logarithm. Nothing is clipped: infinite if an observed label
        had probability 0.

    Examples
    --------
    >>> from abers import evaluation
    >>> round(evaluation.log_loss([1, 0], [0.5, 0.75]), 4)  # (log 2 + log 4) / 2
    1.0397
    >>> evaluation.log_loss([1, 0], [0.0, 0.5])
    inf
    """
    return _loss(y, p, sample_weight, "log")


def brier_loss(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean squared difference of label and probability.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.brier_loss([1, 0], [0.5, 1.0])  # (0.25 + 1) / 2
    0.625
    """
    return _loss(y, p, sample_weight, "brier")


def _loss(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None, loss: LossName
) -> float:
    values = validation.as_probabilities(p)
    labels = validation.as_labels(y, "y")
    validation.check_length(labels.size, values.size, "y", "p")
    weights = np.ones(values.size)
    if sample_weight is not None:
        weights = validation.as_relative_weights(sample_weight, values.size)
    ones = validation.as_ones(labels, weights > 0)
    zero_weight, one_weight = np.where(ones, 0.0, weights), np.where(ones, weights, 0.0)
    return mean_loss(values, zero_weight, one_weight, loss)


def log_skill(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return 1 - log loss / (log loss of always predicting the base rate).

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        1 is perfect, 0 no better than the base rate of these rows, below 0 worse; NaN
        with one class. scikit-learn calls it D².

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.log_skill([1, 0], [0.5, 0.5])
    0.0
    >>> round(evaluation.log_skill([0, 1], [0.25, 0.75]), 3)  # 1 - log 4/3 / log 2
    0.585
    """
    return _skill(y, p, sample_weight, "log")


def brier_skill(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return 1 - Brier loss / (Brier loss of always predicting the base rate).

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        1 is perfect, 0 no better than the base rate of these rows, below 0 worse; NaN
        with one class. Also called the scaled Brier score.

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.brier_skill([0, 1], [0.25, 0.75])  # 1 - 1/16 / (1/4)
    0.75
    """
    return _skill(y, p, sample_weight, "brier")


def _skill(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None, loss: LossName
) -> float:
    return column_skill(diagram_of(y, p, sample_weight), loss)


def column_skill(diagram: Diagram, loss: LossName) -> float:
    """Return the skill of counted predictions."""
    zeros, ones = diagram.negatives, diagram.positives
    sums = zeros.sum(keepdims=True), ones.sum(keepdims=True)
    base_rate = mean_loss(sums[1] / (sums[0] + sums[1]), *sums, loss)
    return skill_of(mean_loss(diagram.scores, zeros, ones, loss), base_rate)


def skill_of(loss: float, uncertainty: float) -> float:
    """Return the share of the base rate's loss that predictions save."""
    return 1 - loss / uncertainty if uncertainty else float("nan")


def expected_calibration_error(
    y: ArrayLike,
    p: ArrayLike,
    *,
    bins: int = ECE_BINS,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the ECE over bins of equal width, which is biased and depends on the bins.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    bins : int, default=10
        Number of bins of [0, 1]. Compare values only for equal numbers of bins and
        rows: even perfect probabilities have an ECE above 0, which grows as bins have
        fewer rows, and errors that cancel within a bin are not seen.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The mean over rows of |mean label - mean prediction| of their bin.

    Examples
    --------
    >>> from abers import evaluation
    >>> y, p = [0, 1, 1, 1], [0.5, 0.5, 0.75, 0.75]
    >>> evaluation.expected_calibration_error(y, p)  # (0 + 0 + 0.25 + 0.25) / 4
    0.125
    >>> y, p = [0, 1], [0.75, 0.25]  # too high and too low by 0.75: they cancel
    >>> evaluation.expected_calibration_error(y, p, bins=1)
    0.0
    """
    return calibration_error_of(diagram_of(y, p, sample_weight), bins=bins)


def calibration_error_of(diagram: Diagram, *, bins: int = ECE_BINS) -> float:
    """Return the ECE of counted predictions."""
    validation.check_positive_integer(bins, "bins")
    counts = diagram.counts
    gap = diagram.positives - diagram.scores * counts
    # Predictions ascend, so a bin is a run of them; 1 belongs to the last bin.
    start = np.searchsorted(diagram.scores * bins, np.arange(1, bins))
    start = np.unique(np.append(0, start[start < gap.size]))
    return float(abs(np.add.reduceat(gap, start)).sum() / counts.sum())


def smooth_calibration_error(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the smooth ECE (smECE), which needs no bins and chooses its bandwidth.

    Unlike the ECE, it changes little if predictions change little. Label noise does not
    average out: even perfect probabilities have a smooth ECE above 0, so compare values
    only for equal numbers of rows.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1, to 0.1 % or 1e-5, whichever is larger.

    Notes
    -----
    The residuals p - y, at p, are smoothed by a Gaussian kernel of standard deviation
    sigma that is reflected at 0 and at 1; smECE_sigma is the integral of the absolute
    value. It falls as sigma grows, and the smooth ECE is the value at which it equals
    sigma.

    A kernel that is reflected at both ends is a circular one on residuals beside their
    mirror image. So they are put on a grid once, and every sigma takes one Fourier
    transform of it.

    References
    ----------
    Błasiok, Nakkiran: Smooth ECE: principled reliability diagrams via kernel smoothing,
    ICLR 2024.

    Examples
    --------
    >>> from abers import evaluation
    >>> y, p = [0, 1], [0.5, 0.5]
    >>> evaluation.smooth_calibration_error(y, p)  # nothing is left to smooth
    0.0
    >>> round(evaluation.smooth_calibration_error([1, 1], [0.75, 0.75]), 3)
    0.25
    """
    return smooth_error_of(diagram_of(y, p, sample_weight))


def smooth_error_of(diagram: Diagram) -> float:
    """Return the smooth ECE of counted predictions."""
    counts = diagram.counts
    residuals = (diagram.scores * counts - diagram.positives) / counts.sum()
    sigma = float(abs(residuals).sum())  # without smoothing: the largest possible value
    if sigma == 0:
        return 0.0
    for cells in GRIDS:
        if sigma * cells < FINE and cells < GRIDS[-1]:
            continue
        waves = _waves(diagram.scores, residuals, cells)
        sigma = _fixed_point(waves)
        if sigma * cells >= FINE:
            break
    return sigma


def _waves(p: FloatArray, residuals: FloatArray, cells: int) -> Any:
    """Put residuals on a grid of midpoints; transform it with its mirror image.

    A residual between two midpoints is divided between both, so that its position is
    kept.
    """
    place = np.clip(p * cells - 0.5, 0, cells - 1)
    left = np.minimum(place.astype(np.int64), cells - 2)
    right = (place - left) * residuals
    density = np.bincount(left, weights=residuals - right, minlength=cells)
    density[1:] += np.bincount(left, weights=right, minlength=cells - 1)
    return np.fft.rfft(np.concatenate((density, density[::-1])) * cells)


def _fixed_point(waves: Any) -> float:
    """Find the bandwidth that equals the error smoothed with it."""
    decay = -0.5 * (np.pi * np.arange(waves.size)) ** 2  # of k half periods

    def excess(sigma: float) -> float:
        smoothed = np.fft.irfft(waves * np.exp(decay * sigma**2))
        return float(abs(smoothed).mean()) - sigma

    highest = excess(0.0)
    if highest <= 0:  # residuals that cancel within the cells of the grid
        return 0.0
    top = 1.01 * highest  # above, so that rounding cannot reach it
    return _falling_root(excess, 0.0, top)


def _falling_root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a falling function, by secants within the bracket."""
    above, below = falling(low), falling(high)
    last, x, was_above = high, low, None
    while abs(x - last) > TOLERANCE * high:
        last, x = x, low + (high - low) * above / (above - below)
        value = falling(x)
        # An end that stays twice counts half, so that it moves (Illinois method).
        if value > 0:
            below /= 2 if was_above is True else 1
            low, above, was_above = x, value, True
        else:
            above /= 2 if was_above is False else 1
            high, below, was_above = x, value, False
    return x


def auc(
    scores: ArrayLike, labels: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the area under the ROC curve; below one half, the score is inverted.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Real numbers, ±inf allowed.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The share of (one, zero) pairs that the score orders correctly, with ties
        counting half; NaN if there is only one class.

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.auc([1, 2, 2, 3], [0, 0, 1, 1])  # three pairs in order, one tied
    0.875
    """
    weights = sample_weight
    if weights is not None:
        size = validation.as_calibration_scores(scores).size
        weights = validation.as_relative_weights(weights, size)
    return auc_of(Diagram.from_rows(scores, labels, sample_weight=weights))


def bound_widths(
    bounds: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> BoundWidths:
    """Describe the widths of bounds. Wide bounds mean few calibration rows nearby.

    Parameters
    ----------
    bounds : array-like of shape (n, 2)
        Lower and upper, as returned by `rule.bounds` or `predict_bounds`.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    BoundWidths
        Median and 90 % quantile are widths that occur: the smallest that at least half,
        or 90 %, of the rows do not exceed.

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.bound_widths([[0.25, 0.5], [0.0, 0.5], [0.5, 0.5]])
    BoundWidths(mean=0.25, median=0.25, quantile_90=0.5, maximum=0.5)
    """
    pairs = validation.as_numbers(bounds, "bounds")
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
        msg = f"bounds must have shape (n, 2) with at least one row; got {pairs.shape}."
        raise InvalidData(msg)
    lower, upper = validation.as_bounds(pairs[:, 0], pairs[:, 1])
    width, w = upper - lower, None
    if sample_weight is not None:
        w = validation.as_relative_weights(sample_weight, width.size)
        width, w = width[w > 0], w[w > 0]
    median, high = np.quantile(width, (0.5, 0.9), method="inverted_cdf", weights=w)
    mean = np.average(width, weights=w)
    return BoundWidths(float(mean), float(median), float(high), float(width.max()))


@dataclass(frozen=True, slots=True, eq=False)
class ColumnCalibration:
    """How well one column of probabilities is calibrated.

    Attributes
    ----------
    mean_prediction : float
        The mean probability.
    standard_error : float
        Standard error of the mean label, if all probabilities are right.
    calibration_error : float
        The ECE with 10 bins; see the caveats of `expected_calibration_error`.
    smooth_calibration_error : float
        The smooth ECE, which has no bins.
    test : CalibrationTest
        A test of calibration, by the miscalibration.
    recalibration : Recalibration
        Cox's calibration intercept and slope, with standard errors.
    curve : ReliabilityCurve
        The CORP curve, with at most 500 points.
    histogram : ndarray of shape (50,)
        Share of the rows in bins of [0, 1] of equal width.
    """

    mean_prediction: float
    standard_error: float
    calibration_error: float
    smooth_calibration_error: float
    test: CalibrationTest
    recalibration: Recalibration
    curve: ReliabilityCurve
    histogram: FloatArray


def column_calibration(column: Counted) -> ColumnCalibration:
    """Measure the calibration of counted predictions."""
    diagram, scatter, _ = column
    p, counts = diagram.scores, diagram.counts
    total = counts.sum().item()
    squares = counts / total**2 if scatter is None else scatter
    below = np.append(0, np.cumsum(counts))
    edges = np.searchsorted(p * HISTOGRAM_BINS, np.arange(1, HISTOGRAM_BINS))
    return ColumnCalibration(
        mean_prediction=float((counts * p).sum() / total),
        standard_error=math.sqrt((squares * p * (1 - p)).sum()),
        calibration_error=calibration_error_of(diagram),
        smooth_calibration_error=smooth_error_of(diagram),
        test=calibration_test_of(diagram, scatter=scatter),
        recalibration=recalibration_of(column),
        curve=curve_of(diagram).thinned(),
        histogram=np.diff(below[edges], prepend=0, append=total) / total,
    )


@dataclass(frozen=True, slots=True)
class PairedChange:
    """A mean over rows before and after calibration, and the paired difference."""

    before: float  # NaN if unknown
    after: float
    difference: float  # after - before; NaN if both are infinite
    standard_error: float  # of the difference; NaN where a mean is infinite

    @property
    def is_significant(self) -> bool:
        """Whether the p-value of the difference is below 0.01."""
        if math.isinf(self.difference):
            return True
        z = z_score(self.difference, self.standard_error)
        return two_sided_p(z) < SIGNIFICANCE


def paired_change(
    before: FloatArray | None, after: FloatArray, weights: FloatArray | None = None
) -> PairedChange:
    """Compare two means over the same rows; the one before may be unknown.

    >>> import numpy as np
    >>> change = paired_change(np.array([0.5, 1.5]), np.array([0.5, 0.5]))
    >>> change.before, change.after, change.difference  # 0 and -1, on average
    (1.0, 0.5, -0.5)
    >>> change.standard_error  # √((1/4 + 1/4) / (2 · 1))
    0.5
    """
    w = np.ones(after.size) if weights is None else weights
    mean = float(np.average(after, weights=w))
    if before is None:
        return PairedChange(math.nan, mean, math.nan, math.nan)
    difference = paired_difference(after, before, w)
    return PairedChange(float(np.average(before, weights=w)), mean, *difference)
