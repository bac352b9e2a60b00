"""Calibration tests: whether a difference is more than noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.core.isotonic import isotonic_regression
from abers.evaluation.counts import cell_starts, cells_of, counted
from abers.thresholds import FEW_EVENTS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.validation import FloatArray

LABEL_DRAWS = 200  # of labels, for a p-value
LABEL_SEED = 0
TIE_TOLERANCE = 1e-9  # relative; draws that differ by less are ties


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """The result of a test of calibration.

    Attributes
    ----------
    statistic : float
        The miscalibration: the Brier loss that recalibration would save.
    p_value : float
        The share of calibrated samples with at least as much; at least 1/201.
    """

    statistic: float
    p_value: float


def calibration_test(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> CalibrationTest:
    """Test whether probabilities are calibrated, by their miscalibration.

    The test detects every bias that a monotone map can correct. It is a Monte Carlo
    test: labels are drawn 200 times from the probabilities themselves, so its level is
    exact for cells of equal predictions.

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
        The miscalibration and its p-value.

    Notes
    -----
    Predictions are put into at most 500 cells. The miscalibration is the Brier loss
    that isotonic regression saves, compared with the mean prediction of each cell.

    Examples
    --------
    >>> from abers import evaluation
    >>> test = evaluation.calibration_test([1] * 20 + [0] * 20, [0.5] * 40)
    >>> test.statistic, test.p_value  # one half observed: no bias
    (0.0, 1.0)
    """
    diagram, scatter, _ = counted(y, p, sample_weight)
    return calibration_test_of(diagram, scatter=scatter)


def calibration_test_of(
    diagram: Diagram, *, scatter: FloatArray | None = None
) -> CalibrationTest:
    """Test whether counted predictions are calibrated."""
    start = cell_starts(diagram.counts)
    weights, means, rows = cells_of(diagram, start, scatter=scatter)
    total = diagram.counts.sum()

    def gain(frequencies: FloatArray) -> float:
        fitted = isotonic_regression(frequencies, weights).values
        return float(
            weights @ ((frequencies - means) ** 2 - (frequencies - fitted) ** 2)
        )

    observed = gain(np.add.reduceat(diagram.positives / total, start) / weights)
    drawn = np.random.default_rng(LABEL_SEED).binomial(
        rows.astype(np.int64), means, size=(LABEL_DRAWS, means.size)
    )
    least = observed * (1 - TIE_TOLERANCE) - TIE_TOLERANCE**2
    exceeded = sum(gain(ones / rows) >= least for ones in drawn)
    return CalibrationTest(observed, (1 + exceeded) / (1 + LABEL_DRAWS))


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
    return math.erfc(abs(z) / math.sqrt(2))


def mean_difference_p(
    difference: float,
    standard_error: float,
    *,
    n_rows: float,
    n_fitted: float | None,
) -> float:
    """Return the p-value of a mean prediction minus the observed rate.

    A rule's probabilities add up to the calibration labels, which vary just like the
    new ones: the variance includes both. `n_fitted` is None if the calibration rows are
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
    """Return a mask of the groups that are too small for a standard error.

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
