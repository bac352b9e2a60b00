"""Bands: how uncertain the calibration curve itself is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

from abers import validation
from abers.core.diagram import Diagram
from abers.errors import InvalidWeights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.validation import FloatArray, IntArray

# The most cells that are compared with each other: the work grows as the square.
MOST_CELLS = 500


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationBand:
    """Simultaneous bounds for P(label = 1 | score), assuming only that it rises."""

    scores: FloatArray
    lower: FloatArray  # holds from each score on
    upper: FloatArray  # holds up to each score
    confidence: float


def calibration_band(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> CalibrationBand:
    """Bound the calibration curve itself, at all scores at once.

    This is what the bounds of a rule are not: with the given confidence, the whole
    curve P(label = 1 | score) lies between lower and upper, if it rises with the score
    and the rows are independent. Any set of probabilities that leaves the band
    somewhere is miscalibrated at that confidence.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Real numbers, ±inf allowed; negated if a higher score means less likely.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    confidence : float, default=0.95
        Probability with which the whole curve is covered, at least.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows, fixed before the labels came. Each row is one draw,
        whatever its weight.

    Returns
    -------
    CalibrationBand
        Step functions: `lower[i]` holds from `scores[i]` on, `upper[i]` up to it.

    Notes
    -----
    For each run of neighbouring rows the number of ones is, because the curve rises, at
    least a binomial variable with the probability at the run's first score, and at most
    one with that at its last. So exact (Clopper-Pearson) limits for all runs, at a
    level divided by their number, hold together. Rows are first put into at most 500
    cells of about equal size; that uses the scores only and costs width, not validity.

    With weights that differ, Hoeffding's limits take the place of the exact ones: the
    weighted mean label of a run, plus or minus the root of log(1 / level) / 2 times the
    sum of the squared weights over the squared sum. They are wider, most of all near 0
    and 1, and hold for any weights that do not depend on the labels.

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke, Ziegel: Honest calibration assessment for binary
    outcome predictions, Biometrika 2023.

    Examples
    --------
    >>> from abers.evaluation import bands
    >>> band = bands.calibration_band([1, 2], [0, 1], confidence=0.7)
    >>> band.lower.round(3)  # six limits at level 0.05: 0.05 ** (1/1) for the one
    array([0.  , 0.05])
    >>> band.upper.round(3)
    array([0.95, 1.  ])
    """
    validation.check_confidence(confidence)
    diagram = Diagram.from_observations(scores, labels, sample_weight=sample_weight)
    if sample_weight is None:
        return band_of(diagram, confidence=confidence)
    s = validation.as_scores(scores)
    weights = validation.as_weights(sample_weight, s.size)
    kept = weights > 0
    s, weights = s[kept], weights[kept]
    if (weights == weights[0]).all():
        ones = validation.as_labels(labels)[kept]
        return band_of(Diagram.from_observations(s, ones), confidence=confidence)
    place = np.searchsorted(diagram.scores, s)
    squares = np.bincount(place, weights=weights**2).astype(np.float64)
    return band_of(diagram, confidence=confidence, squares=squares)


def band_of(
    diagram: Diagram, *, confidence: float = 0.95, squares: FloatArray | None = None
) -> CalibrationBand:
    """Bound the calibration curve of rows that are counted already.

    Parameters
    ----------
    diagram : Diagram
        Rows and ones at each score, or their weights.
    confidence : float, default=0.95
        Probability with which the whole curve is covered, at least.
    squares : ndarray, default=None
        Sum of the squared weights at each score; None if weights are numbers of rows.

    Returns
    -------
    CalibrationBand
        As by `calibration_band`.
    """
    validation.check_confidence(confidence)
    if squares is None and not diagram.is_exact:
        msg = (
            "a calibration band needs numbers of independent rows; got weights that "
            "are no integers. Give their squares, too."
        )
        raise InvalidWeights(msg)
    start = cell_starts(diagram.counts)
    end = np.append(start[1:], diagram.scores.size) - 1
    first, last = diagram.scores[start], diagram.scores[end]
    level = (1 - confidence) / (start.size * (start.size + 1))
    columns = (diagram.counts, diagram.positives, squares)
    total, positive, square = (_cumulated(column, start) for column in columns)
    lower, upper = np.zeros(start.size), np.ones(start.size)
    for j in range(start.size):  # runs that start with cell j
        n, k = total[j + 1 :] - total[j], positive[j + 1 :] - positive[j]
        if squares is None:
            below, above = _exact_limits(n, k, level)
        else:
            below, above = _hoeffding_limits(n, k, square[j + 1 :] - square[j], level)
        upper[j] = above.min()
        np.maximum(lower[j:], below, out=lower[j:])
    # A limit for the first score of a run holds for all scores below it, too.
    upper = np.minimum.accumulate(upper[::-1])[::-1]
    lower = np.maximum.accumulate(lower)
    edges = np.unique(np.concatenate((first, last)))
    low_at = np.searchsorted(last, edges, side="right") - 1
    up_at = np.searchsorted(first, edges, side="left")
    return CalibrationBand(
        scores=edges,
        lower=np.where(low_at >= 0, lower[low_at], 0.0),
        upper=np.append(upper, 1.0)[up_at],
        confidence=confidence,
    )


def _cumulated(
    column: IntArray | FloatArray | None, start: IntArray
) -> IntArray | FloatArray:
    """Add up a column from cell to cell, beginning with 0."""
    if column is None:
        return np.zeros(start.size + 1)
    return np.append(0, np.cumsum(np.add.reduceat(column, start)))


def _exact_limits(
    n: IntArray | FloatArray, k: IntArray | FloatArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of Clopper and Pearson for k ones among n rows."""
    upper = np.where(k < n, betaincinv(k + 1, n - k, 1 - level), 1.0)
    lower = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, level), 0.0)
    return lower, upper


def _hoeffding_limits(
    n: IntArray | FloatArray,
    k: IntArray | FloatArray,
    squares: IntArray | FloatArray,
    level: float,
) -> tuple[FloatArray, FloatArray]:
    """Return limits for ones of weight k among rows of weight n."""
    reach = np.sqrt(np.log(1 / level) / 2 * squares) / n
    return np.maximum(k / n - reach, 0.0), np.minimum(k / n + reach, 1.0)


def cell_starts(weights: IntArray | FloatArray, most: int = MOST_CELLS) -> IntArray:
    """Cut a column into cells of about equal weight; return where each begins.

    Parameters
    ----------
    weights : ndarray
        None of them 0.
    most : int, default=500
        The most cells.
    """
    total = np.cumsum(weights)
    before = total - weights
    start = np.unique(np.searchsorted(before, np.arange(most) * total[-1] / most))
    return start[start < before.size]
