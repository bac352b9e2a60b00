"""Bands: how uncertain the calibration curve itself is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import betaincinv

from abers.core.diagram import Diagram
from abers.errors import InvalidParameter, InvalidWeights

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
    scores: ArrayLike, labels: ArrayLike, *, confidence: float = 0.95
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

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke, Ziegel: Honest calibration assessment for binary
    outcome predictions, Biometrika 2023.

    Examples
    --------
    >>> from abers import bands
    >>> band = bands.calibration_band([1, 2], [0, 1], confidence=0.7)
    >>> band.lower.round(3)  # six limits at level 0.05: 0.05 ** (1/1) for the one
    array([0.  , 0.05])
    >>> band.upper.round(3)
    array([0.95, 1.  ])
    """
    check_confidence(confidence)
    return band_of(Diagram.from_observations(scores, labels), confidence=confidence)


def band_of(diagram: Diagram, *, confidence: float = 0.95) -> CalibrationBand:
    """Bound the calibration curve of rows that are counted already.

    Parameters
    ----------
    diagram : Diagram
        Rows and ones at each score; no weights but numbers of rows.
    confidence : float, default=0.95
        Probability with which the whole curve is covered, at least.

    Returns
    -------
    CalibrationBand
        As by `calibration_band`.
    """
    check_confidence(confidence)
    if not diagram.is_exact:
        msg = (
            "a calibration band needs numbers of independent rows; got weights that "
            "are no integers. Leave the weights out."
        )
        raise InvalidWeights(msg)
    start = cell_starts(diagram.counts)
    end = np.append(start[1:], diagram.scores.size) - 1
    first, last = diagram.scores[start], diagram.scores[end]
    counts = np.add.reduceat(diagram.counts, start)
    ones = np.add.reduceat(diagram.positives, start)
    level = (1 - confidence) / (counts.size * (counts.size + 1))
    total = np.concatenate(([0], np.cumsum(counts)))
    positive = np.concatenate(([0], np.cumsum(ones)))
    lower, upper = np.zeros(counts.size), np.ones(counts.size)
    for j in range(counts.size):  # runs that start with cell j
        n = total[j + 1 :] - total[j]
        k = positive[j + 1 :] - positive[j]
        upper[j] = np.where(k < n, betaincinv(k + 1, n - k, 1 - level), 1.0).min()
        below = np.where(k > 0, betaincinv(np.maximum(k, 1), n - k + 1, level), 0.0)
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


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that no band can have.

    Parameters
    ----------
    confidence : float
        To be above 0 and below 1.
    """
    if not 0 < confidence < 1:
        msg = f"confidence must be between 0 and 1; got {confidence!r}."
        raise InvalidParameter(msg)
