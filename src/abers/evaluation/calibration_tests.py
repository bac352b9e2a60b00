"""Calibration tests: whether a difference is more than noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import gammaincc, ndtr

from abers import validation
from abers.evaluation.counts import cell_starts, cells_of, diagram_of, scatter_of
from abers.thresholds import FEW_EVENTS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.validation import FloatArray

DRAWS = 200  # of labels, for a p-value
SEED = 0
ROUNDING = 1e-9  # relative; draws that differ by less are ties


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """Spiegelhalter's test of the Brier loss against its expectation.

    Attributes
    ----------
    statistic : float
        Standard normal if predictions are calibrated.
    p_value : float
        Of both sides.
    """

    statistic: float
    p_value: float


@dataclass(frozen=True, slots=True)
class HosmerLemeshowTest:
    """Hosmer and Lemeshow's test of observed against expected counts in bins.

    Attributes
    ----------
    statistic : float
        Chi-squared if predictions are calibrated.
    degrees_of_freedom : int
        Of the statistic.
    p_value : float
        NaN without degrees of freedom.
    """

    statistic: float
    degrees_of_freedom: int
    p_value: float


def spiegelhalter_test(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> CalibrationTest:
    """Test whether probabilities are calibrated, by their Brier loss.

    Blind spot: a bias that is symmetric about 1/2, say labels 20 points too often at
    0.3 and at 0.7, cancels out; `calibration_tests.miscalibration_p_of` sees it.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows. Each row is one draw, whatever its weight.

    Returns
    -------
    CalibrationTest
        A statistic that is about standard normal for calibrated probabilities; NaN if
        all of them are 0, 1/2 or 1, of which the test learns nothing.

    References
    ----------
    Spiegelhalter: Probabilistic prediction in patient management and clinical trials,
    Statistics in Medicine 1986.

    Examples
    --------
    >>> from abers import evaluation
    >>> test = evaluation.spiegelhalter_test([0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25])
    >>> test.statistic, test.p_value  # as many ones as predicted
    (0.0, 1.0)
    """
    diagram = diagram_of(y, p, sample_weight)
    return spiegelhalter_of(diagram, scatter=scatter_of(diagram, p, sample_weight))


def spiegelhalter_of(
    diagram: Diagram, *, scatter: FloatArray | None = None
) -> CalibrationTest:
    """Test whether predictions that are counted already are calibrated."""
    q, counts = diagram.scores, diagram.counts
    total, lever = counts.sum(), 1 - 2 * q
    squares = counts / total**2 if scatter is None else scatter
    excess = ((diagram.positives - q * counts) @ lever) / total
    variance = squares @ (lever**2 * (q * (1 - q)))
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = float(excess / np.sqrt(variance))
    return CalibrationTest(statistic, two_sided_p(statistic))


def hosmer_lemeshow_test(
    y: ArrayLike,
    p: ArrayLike,
    *,
    bins: int = 10,
    in_sample: bool = False,
    sample_weight: ArrayLike | None = None,
) -> HosmerLemeshowTest:
    """Test whether probabilities are calibrated, by counts in bins.

    Known weaknesses: the p-value depends on the bins, and other bins of the same rows
    may give another answer; with few rows the test sees little, and errors that cancel
    within a bin never; with very many rows it rejects errors that do not matter. It is
    here because it is asked for: `calibration_tests.miscalibration_p_of` has no bins to
    choose, and intercept and slope with their errors say how large an error is.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    bins : int, default=10
        Bins of about as many rows each; equal predictions stay in one bin, so there may
        be fewer.
    in_sample : bool, default=False
        Whether the probabilities were fitted to these rows, by logistic regression:
        that takes two degrees of freedom.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows. Each row is one draw, whatever its weight.

    Returns
    -------
    HosmerLemeshowTest
        The statistic, its degrees of freedom (the bins, on held-out rows) and p-value.
        A bin where all predictions are 0, or all 1, has none; one label against it
        makes the statistic infinite.

    References
    ----------
    Hosmer, Lemeshow: Goodness of fit tests for the multiple logistic regression model,
    Communications in Statistics 1980.

    Examples
    --------
    >>> from abers import evaluation
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1], [0.25] * 4 + [0.5] * 4
    >>> evaluation.hosmer_lemeshow_test(y, p).statistic  # 0 + (3 - 2)² / (4 / 4)
    1.0
    """
    validation.check_bins(bins)
    diagram = diagram_of(y, p, sample_weight)
    return hosmer_lemeshow_of(
        diagram,
        bins=bins,
        in_sample=validation.as_flag(in_sample, "in_sample"),
        scatter=scatter_of(diagram, p, sample_weight),
    )


def hosmer_lemeshow_of(
    diagram: Diagram,
    *,
    bins: int = 10,
    in_sample: bool = False,
    scatter: FloatArray | None = None,
) -> HosmerLemeshowTest:
    """Test predictions that are counted already; ties stay in one bin."""
    counts = diagram.counts
    start = cell_starts(counts, bins)
    rows, ones, expected = (
        np.add.reduceat(column, start)
        for column in (counts, diagram.positives, counts * diagram.scores)
    )
    total = rows.sum()
    squares = rows / total**2 if scatter is None else np.add.reduceat(scatter, start)
    means = np.minimum(expected / rows, 1.0)  # rounding may exceed it by an ulp
    gaps, shares = (ones - expected) / total, rows / total
    variances = squares * means * (1 - means)
    certain = variances == 0  # predictions of 0 or 1: right, or refuted by one row
    refuted = bool((abs(gaps[certain]) > ROUNDING * shares[certain]).any())
    known = float((gaps[~certain] ** 2 / variances[~certain]).sum())
    statistic = math.inf if refuted else known
    freedom = max(int((~certain).sum()) - 2 * in_sample, 0)
    if refuted:
        p_value = 0.0
    else:
        p_value = float(gammaincc(freedom / 2, known / 2)) if freedom else math.nan
    return HosmerLemeshowTest(statistic, freedom, p_value)


def miscalibration_p_of(
    diagram: Diagram, *, scatter: FloatArray | None = None
) -> float:
    """Test by their miscalibration whether predictions are calibrated, of any kind.

    Notes
    -----
    Predictions are put into at most 500 cells. The miscalibration, by Brier loss, is
    what isotonic regression would gain over the mean prediction of each cell. Unlike
    Spiegelhalter's test this one sees every bias a monotone map would correct.

    Examples
    --------
    >>> from abers.evaluation import calibration_tests, counts
    >>> diagram = counts.diagram_of([1] * 20 + [0] * 20, [0.5] * 40)
    >>> calibration_tests.miscalibration_p_of(diagram)  # one half observed: no bias
    1.0
    """
    start = cell_starts(diagram.counts)
    weights, means, rows = cells_of(diagram, start, scatter=scatter)
    total = diagram.counts.sum()

    def gain(frequencies: FloatArray) -> float:
        fitted = isotonic_regression(frequencies, weights=weights).x
        return float(
            weights @ ((frequencies - means) ** 2 - (frequencies - fitted) ** 2)
        )

    observed = gain(np.add.reduceat(diagram.positives / total, start) / weights)
    drawn = np.random.default_rng(SEED).binomial(
        rows.astype(np.int64), means, size=(DRAWS, means.size)
    )
    least = observed * (1 - ROUNDING) - ROUNDING**2
    exceeded = sum(gain(ones / rows) >= least for ones in drawn)
    return (1 + exceeded) / (1 + DRAWS)


def z_score(difference: float, standard_error: float) -> float:
    """Return a difference in standard errors; infinite if there is no error.

    >>> from abers.evaluation import calibration_tests
    >>> calibration_tests.z_score(-0.5, 0.25)
    -2.0
    >>> calibration_tests.z_score(1, 0)
    inf
    """
    if difference == 0 or math.isnan(difference):
        return difference
    return difference / standard_error if standard_error else difference * math.inf


def two_sided_p(z: float) -> float:
    """Return the p-value of a standard normal statistic.

    >>> from abers.evaluation import calibration_tests
    >>> round(calibration_tests.two_sided_p(-1.96), 3)
    0.05
    """
    return float(2 * ndtr(-abs(z)))


def mean_difference_p(
    difference: float,
    standard_error: float,
    *,
    n_rows: float,
    n_fitted: float | None,
) -> float:
    """Return the p-value of a mean prediction minus the observed rate.

    The probabilities of a rule add up to the labels that it was fitted to, and these
    scatter as the new ones do: the variance has both. `n_fitted` is None if they are
    unknown.

    >>> from abers.evaluation.calibration_tests import mean_difference_p
    >>> p = mean_difference_p(0.4, 0.1, n_rows=300, n_fitted=100)  # 0.1 times √(1 + 3)
    >>> round(p, 4)  # z = 2
    0.0455
    """
    if n_fitted:
        standard_error *= math.sqrt(1 + n_rows / n_fitted)
    return two_sided_p(z_score(difference, standard_error))


def holm(p_values: ArrayLike) -> FloatArray:
    """Return p-values corrected for their number, by Holm's step-down method.

    >>> from abers.evaluation import calibration_tests
    >>> calibration_tests.holm([0.01, 0.5, 0.02])  # 3 x 0.01, 1 x 0.5, 2 x 0.02
    array([0.03, 0.5 , 0.04])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    corrected = np.empty(p.size)
    corrected[order] = np.minimum(steps, 1.0)
    return corrected


def are_few(rows: ArrayLike, positives: ArrayLike, mean_prediction: ArrayLike) -> Any:
    """Tell which groups are too small for a standard error.

    True where fewer than five events, or non-events, were both expected and observed.

    >>> from abers.evaluation import calibration_tests
    >>> calibration_tests.are_few([100, 100], [1, 1], [0.01, 0.1])  # 1 expected, and 10
    array([ True, False])
    """
    n, ones = np.asarray(rows), np.asarray(positives)
    expected = n * np.asarray(mean_prediction)
    most_ones = np.maximum(ones, expected)
    most_zeros = np.maximum(n - ones, n - expected)
    return np.minimum(most_ones, most_zeros) < FEW_EVENTS
