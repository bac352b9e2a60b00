"""Calibration tests: whether a difference is more than noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtr

from abers.evaluation.bands import cell_starts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.validation import FloatArray, IntArray


FEW = 5  # zeros or ones; below, a standard error says little


def in_standard_errors(difference: float, standard_error: float) -> float:
    """Return the size of a difference in standard errors.

    Parameters
    ----------
    difference : float
        Of either sign.
    standard_error : float
        Of the difference; 0 if nothing was left to chance.

    Returns
    -------
    float
        Infinite if there is a difference where none could come by chance.

    Examples
    --------
    >>> from abers.evaluation import calibration_tests
    >>> calibration_tests.in_standard_errors(-0.5, 0.25)
    2.0
    >>> calibration_tests.in_standard_errors(1, 0)
    inf
    """
    if difference == 0:
        return 0.0
    return abs(difference) / standard_error if standard_error else math.inf


def are_few(rows: ArrayLike, positives: ArrayLike, said: ArrayLike) -> Any:
    """Say of groups whether they are too small for a standard error to say much.

    Parameters
    ----------
    rows, positives : array-like
        Rows of each group, and those with label 1.
    said : array-like
        The mean prediction of each.

    Returns
    -------
    bool or ndarray of bool
        Whether fewer than five zeros, or ones, both were expected and came.

    Examples
    --------
    >>> from abers.evaluation import calibration_tests
    >>> calibration_tests.are_few([100, 100], [1, 1], [0.01, 0.1])  # 1 expected, and 10
    array([ True, False])
    """
    n, ones = np.asarray(rows), np.asarray(positives)
    expected = n * np.asarray(said)
    most_ones = np.maximum(ones, expected)
    most_zeros = np.maximum(n - ones, n - expected)
    return np.minimum(most_ones, most_zeros) < FEW


DRAWS = 200  # of labels, for a p-value


SEED = 0


ROUNDING = 1e-9  # relative; draws that differ by less are ties


class Cells(NamedTuple):
    """Neighbouring predictions put together."""

    weights: FloatArray  # shares of the total
    means: FloatArray  # of the predictions
    rows: FloatArray  # whole numbers: how many unweighted rows scatter as much


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """Spiegelhalter's test, which asks if the Brier loss is the one to expect."""

    statistic: float  # standard normal if they are calibrated
    p_value: float


def spiegelhalter_of(
    diagram: Diagram, *, scatter: FloatArray | None = None
) -> CalibrationTest:
    """Test whether predictions that are counted already are calibrated.

    Parameters
    ----------
    diagram : Diagram
        Weights per distinct prediction.
    scatter : ndarray, default=None
        As by `metrics.scatter_of`; None if weights are numbers of rows.

    Returns
    -------
    CalibrationTest
        As by `spiegelhalter_test`.
    """
    q, counts = diagram.scores, diagram.counts
    total, lever = counts.sum(), 1 - 2 * q
    squares = counts / total**2 if scatter is None else scatter
    excess = ((diagram.positives - q * counts) @ lever) / total
    variance = squares @ (lever**2 * (q * (1 - q)))
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = float(excess / np.sqrt(variance))
    return CalibrationTest(statistic, float(2 * ndtr(-abs(statistic))))


def cells_of(
    diagram: Diagram, start: IntArray, *, scatter: FloatArray | None = None
) -> Cells:
    """Put runs of predictions into cells.

    Parameters
    ----------
    diagram : Diagram
        Weights per distinct prediction.
    start : ndarray of int
        The place of the first prediction of each cell.
    scatter : ndarray, default=None
        As by `metrics.scatter_of`; None if weights are numbers of rows.

    Returns
    -------
    Cells
        Weighted rows count as (sum of weights)² / (sum of squared weights), rounded.

    Examples
    --------
    >>> from abers.evaluation import calibration_tests, metrics
    >>> diagram = metrics.diagram_of([0, 1, 0, 1], [0.25, 0.5, 0.75, 0.75])
    >>> cells = calibration_tests.cells_of(diagram, [0, 2])
    >>> cells.weights, cells.means, cells.rows
    (array([0.5, 0.5]), array([0.375, 0.75 ]), array([2., 2.]))
    """
    counts = diagram.counts
    total = counts.sum()
    share = counts / total
    weights = np.add.reduceat(share, start)
    means = np.add.reduceat(share * diagram.scores, start) / weights
    squares = share / total if scatter is None else scatter
    return Cells(
        weights,
        np.clip(means, 0.0, 1.0),  # rounding may leave them by an ulp
        np.maximum(1, (weights**2 / np.add.reduceat(squares, start)).round()),
    )


def miscalibration_p_of(
    diagram: Diagram, *, scatter: FloatArray | None = None
) -> float:
    """Test by their miscalibration whether predictions are calibrated, of any kind.

    Parameters
    ----------
    diagram : Diagram
        Weights per distinct prediction.
    scatter : ndarray, default=None
        As by `metrics.scatter_of`; None if weights are numbers of rows.

    Returns
    -------
    float
        How often, of 201 times, labels drawn from the predictions have at least the
        miscalibration of those that came; the latter count as one of the draws.

    Notes
    -----
    Predictions are put into at most 500 cells. The miscalibration, by Brier loss, is
    what isotonic regression would gain over the mean prediction of each cell. Unlike
    Spiegelhalter's test this one sees every bias that a rising map would mend.

    Examples
    --------
    >>> from abers.evaluation import calibration_tests, metrics
    >>> diagram = metrics.diagram_of([1] * 20 + [0] * 20, [0.5] * 40)
    >>> calibration_tests.miscalibration_p_of(diagram)  # one half came: nothing to mend
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

    came = gain(np.add.reduceat(diagram.positives / total, start) / weights)
    drawn = np.random.default_rng(SEED).binomial(
        rows.astype(np.int64), means, size=(DRAWS, means.size)
    )
    least = came * (1 - ROUNDING) - ROUNDING**2
    exceeded = sum(gain(ones / rows) >= least for ones in drawn)
    return (1 + exceeded) / (1 + DRAWS)
