"""Bands: how uncertain the calibration curve itself is.

This proves that the whole curve lies in the band with the stated confidence. It assumes
only that the curve rises with the score, and that rows are independent given their
scores.

*Runs.* Rows are put into cells of neighbouring scores, and a run is a series of
neighbouring cells. The runs depend on the scores alone.

*One run.* Let t be the curve at a run's first score, m its rows and k its ones. The
curve rises, so each of the m rows is a one with probability t or more, and k is
stochastically at least Bin(m, t). Hence P(Bin(m, t) <= k) is a p-value for t: it is
below c with probability at most c. And it is never below (1 - t)^m, its value without
ones: if (1 - t)^m >= c, the run cannot reject t at level c at all.

*One start.* Let m_1 >= m_2 >= ... >= m_d be the sizes of the runs that begin with one
cell; they share t. Let run i reject t if its p-value is below m_i * rate(t), where

    rate(t) = max over r of min(b / (m_1 + ... + m_r), (1 - t)^m_(r+1) / m_(r+1))

with infinity as the second term for r = d. Take the r of the maximum. As (1 - t)^m / m
falls with m, no run after the r-th can reject t; the others do with probability rate(t)
* (m_1 + ... + m_r) <= b at most, all together. So the runs of one start reject t with
probability at most b, the budget of that start. Runs that cannot reject need no share
of the budget, as Tarone (1990) noticed.

*All starts.* Budgets are proportional to the sum of a start's m_i and add up to (1 -
confidence) / 2. So with probability at least 1 - (1 - confidence) / 2, no start rejects
the curve at its first score. Suppose so, and let u(j) bound the curve at start j,
initially u(j) = 1. For run i of start j, let v be the limit of Clopper and Pearson at
level m_i * rate(u(j)): for t > v its p-value is below that level. Rates fall with t, so
the run rejects all t with v < t <= u(j): the curve is at most v at start j and, as it
rises, at all starts before. The smallest of these v is the next u(j), and the step can
be repeated: u bounds the curve after each round.

*Both sides.* Lower limits are upper limits of the other label, scores reversed. Each
side fails with probability at most (1 - confidence) / 2. Bands of higher confidence
contain those of lower confidence: smaller budgets, smaller rates, larger v and u.

*Weights.* If weights differ, let m be (sum of w)^2 / sum of w^2 and x the weighted mean
label. By Hoeffding's inequality exp(-2 m max(t - x, 0)^2) is a p-value for t. It is
never below exp(-2 m t^2), which replaces (1 - t)^m; the rest is unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core.diagram import Diagram, diagram_of_rows, weighted_rows
from abers.core.effective_sizes import effective_size_of_sums
from abers.core.intervals import exact_limits
from abers.core.units import magnitudes, scale_for, units
from abers.errors import InvalidData, need, warn
from abers.evaluation.counts import MOST_CELLS, cell_starts

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.validation import FloatArray, IntArray

# The largest number of cells, relative to the root of the number of rows. More cells
# make more runs, and so wider limits; fewer leave out runs that fit the curve. From 4
# to 12 the width changes by 1 %.
CELLS_PER_ROOT = 4
ROUNDS = 3  # the second narrows the band by 0.5 to 2 %, the third by 0.1 %
EMPTY = (
    "The calibration band is empty: lower is above upper, for example at {score:.6g}. "
    "So no curve that {runs} with the score fits these rows, at {confidence:.0%} "
    "confidence."
)


@dataclass(frozen=True, slots=True, eq=False)
class CalibrationBand:
    """Simultaneous bounds for P(label = 1 | score), assuming only that it rises.

    Attributes
    ----------
    scores : ndarray of shape (k,)
        Scores at which a bound may change, ascending.
    lower, upper : ndarray of shape (k,)
        The bounds; the lower one holds from each score upwards, the upper one up to it.
    confidence : float
        Simultaneous coverage probability, at least.
    is_empty : bool
        Whether lower is above upper somewhere. Then no rising curve fits the rows at
        this confidence.
    """

    scores: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    is_empty: bool

    def __repr__(self) -> str:
        empty = ", empty" if self.is_empty else ""
        return (
            f"CalibrationBand({self.scores.size} scores, "
            f"{self.confidence:.6g} confidence{empty})"
        )

    def empty_sentence(self, *, rising: bool = True) -> str:
        """Return a sentence that explains an empty band.

        Parameters
        ----------
        rising : bool, default=True
            Whether the band is for the scores; False if for the negated scores.

        Returns
        -------
        str
            A sentence.
        """
        score = float(self.scores[np.argmax(self.lower - self.upper)])
        return EMPTY.format(
            score=score if rising else 0.0 - score,
            runs="rises" if rising else "falls",
            confidence=self.confidence,
        )


def calibration_band(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> CalibrationBand:
    """Bound the calibration curve itself, at all scores at once.

    Unlike the bounds of a rule, this is a confidence statement: with the given
    confidence, the whole curve P(label = 1 | score) lies between lower and upper, if it
    rises with the score and the rows are independent. Any set of probabilities that
    leaves the band somewhere is miscalibrated at that confidence.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Real numbers, ±inf allowed. Negate them if a higher score means a lower
        probability.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    confidence : float, default=0.95
        Coverage probability for the whole curve, at least.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows, fixed before the labels came. Each row is one draw,
        whatever its weight.

    Returns
    -------
    CalibrationBand
        Step functions: `lower[i]` holds from `scores[i]` on, `upper[i]` up to it.

    Notes
    -----
    Since the curve rises, the number of ones in a run of neighbouring rows is at least
    a binomial variable with the probability at the run's first score, and at most one
    with the probability at its last score. So exact (Clopper-Pearson) limits hold for
    all runs together, if their levels add up to 1 - confidence. Runs are chosen by the
    scores only: rows are put into min(4 sqrt(n), 500) cells of about equal size, and
    runs have 1, 2, 3, 4, 6, 8, 12, ... cells, each beginning a quarter of its length
    after the last. A run's level is proportional to its rows, so all lengths count
    about the same; for probabilities too small for short runs to reject, their share
    goes to longer runs. The docstring of this module has the proof.

    With unequal weights, Hoeffding's limits replace the exact ones: the weighted mean
    label of a run, plus or minus the root of log(1 / level) / 2 times the sum of the
    squared weights over the squared sum. They are wider, most of all near 0 and 1, and
    hold for any weights that do not depend on the labels.

    `benchmarks/BAND.md` has coverage and width on six curves. If labels fall with the
    score, lower may be above upper: then no rising curve fits, and a warning says so.

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke, Ziegel: Honest calibration assessment for binary
    outcome predictions, Biometrika 2023.

    Dümbgen, Spokoiny: Multiscale testing of qualitative hypotheses, Annals of
    Statistics 2001.

    Tarone: A modified Bonferroni method for discrete data, Biometrics 1990.

    Yang, Barber: Contraction and uniform convergence of isotonic regression, Electronic
    Journal of Statistics 2019.

    Examples
    --------
    >>> from abers.evaluation import bands
    >>> band = bands.calibration_band([1, 1, 2, 2], [0, 0, 1, 1], confidence=0.75)
    >>> band.upper.round(4)  # (1 - t)^2 = 0.125 * 2 / 8; runs have 4 + 2 + 2 rows
    array([0.8232, 1.    ])
    >>> band.lower.round(4)
    array([0.    , 0.1768])
    """
    band = band_of_rows(
        scores, labels, confidence=confidence, sample_weight=sample_weight
    )
    if band.is_empty:
        warn(band.empty_sentence())
    return band


def band_of_rows(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    confidence: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> CalibrationBand:
    """Compute `calibration_band` for callers that report an empty band themselves.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Real numbers, ±inf allowed. Negate them if a higher score means a lower
        probability.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    confidence : float, default=0.95
        Coverage probability for the whole curve, at least.
    sample_weight : array-like of shape (n,), default=None
        As for `calibration_band`.

    Returns
    -------
    CalibrationBand
        As by `calibration_band`.
    """
    validation.check_confidence(confidence)
    if sample_weight is None:
        diagram = Diagram.from_rows(scores, labels)
        return band_of(diagram, confidence=confidence)
    s, ones, weights = weighted_rows(scores, labels, sample_weight)
    if (weights == weights[0]).all():
        return band_of(Diagram.from_rows(s, ones), confidence=confidence)
    # Their scale does not matter; rescaled to about 1, their squares cannot overflow.
    weights = np.ldexp(weights, -np.frexp(weights.max())[1])
    scale = scale_for(magnitudes(weights))
    counted = units(weights, scale) > 0
    s, ones, weights = s[counted], ones[counted], weights[counted]
    diagram = diagram_of_rows(s, ones, weights, scale)
    place = np.searchsorted(diagram.scores, s)
    squares = np.bincount(place, weights=weights**2).astype(np.float64)
    return band_of(diagram, confidence=confidence, squares=squares)


def band_of(
    diagram: Diagram, *, confidence: float = 0.95, squares: FloatArray | None = None
) -> CalibrationBand:
    """Bound the calibration curve, given counted rows.

    Parameters
    ----------
    diagram : Diagram
        Rows and ones at each score, or their weights.
    confidence : float, default=0.95
        Coverage probability for the whole curve, at least.
    squares : ndarray, default=None
        Sum of the squared weights at each score; None if weights are row counts.

    Returns
    -------
    CalibrationBand
        As by `calibration_band`.
    """
    validation.check_confidence(confidence)
    if squares is None and not diagram.is_exact:
        msg = (
            "a calibration band needs numbers of independent rows; got weights that "
            "are not all whole. Give their squares, too."
        )
        raise InvalidData(msg)
    start = cell_starts(diagram.counts, _number_of_cells(diagram, squares))
    end = np.append(start[1:], diagram.scores.size) - 1
    first, last = diagram.scores[start], diagram.scores[end]
    zeros = np.add.reduceat(diagram.negatives, start)
    ones = np.add.reduceat(diagram.positives, start)
    spread = None if squares is None else np.add.reduceat(squares, start)
    budget = (1 - confidence) / 2
    upper = _upper_bounds(zeros, ones, spread, budget)
    backwards = None if spread is None else spread[::-1]
    lower = 1 - _upper_bounds(ones[::-1], zeros[::-1], backwards, budget)[::-1]
    edges = np.unique(np.concatenate((first, last)))
    low_at = np.searchsorted(last, edges, side="right") - 1
    up_at = np.searchsorted(first, edges, side="left")
    below = np.where(low_at >= 0, lower[low_at], 0.0)
    above = np.append(upper, 1.0)[up_at]
    return CalibrationBand(
        scores=edges,
        lower=below,
        upper=above,
        confidence=confidence,
        is_empty=bool((below > above).any()),
    )


def _number_of_cells(diagram: Diagram, squares: FloatArray | None) -> int:
    """Choose the number of cells, by the effective number of rows."""
    n = np.asarray(diagram.n_rows, dtype=np.float64)
    if squares is not None:
        n = effective_size_of_sums(n, squares.sum())
    return min(MOST_CELLS, ceil(CELLS_PER_ROOT * sqrt(n)))


@lru_cache(maxsize=32)
def runs(cells: int) -> tuple[IntArray, IntArray]:
    """Return the runs of cells: the first cell of each, and the one after its last.

    Parameters
    ----------
    cells : int
        Number of cells, at least 1.
    """
    intervals = {(0, cells)}
    for length in (2**i * k // 2 for i in range(cells.bit_length()) for k in (2, 3)):
        if length < cells:
            step = max(1, length // 4)
            intervals.update((j, j + length) for j in range(0, cells - length, step))
            intervals.add((cells - length, cells))
    both = np.array(sorted(intervals)).T
    both.setflags(write=False)
    return both[0], both[1]


def _upper_bounds(
    zeros: IntArray | FloatArray,
    ones: IntArray | FloatArray,
    squares: FloatArray | None,
    budget: float,
) -> FloatArray:
    """Bound the curve from above at the first score of each cell."""
    need("scipy", what="abers.evaluation")
    first, stop = runs(ones.size)
    n, k = _sums(zeros + ones, first, stop), _sums(ones, first, stop)
    size = n
    if squares is not None:
        sums = _sums(squares, first, stop)
        size = np.maximum(effective_size_of_sums(n, sums), 1.0)
    order = np.lexsort((-size, first))  # m_1 >= m_2 >= ... of each start
    n, k, size, first = n[order], k[order], size[order], first[order]
    begin = np.searchsorted(first, np.arange(ones.size))
    together = np.add.reduceat(size, begin)
    through = np.concatenate([np.cumsum(part) for part in np.split(size, begin[1:])])
    share = (budget * together / together.sum())[first] / through
    following = np.append(size[1:], 1.0)
    is_last = np.append(np.diff(first) > 0, True)
    upper = np.ones(ones.size)
    for _ in range(ROUNDS):
        t = upper[first]
        least = _least_p(following, t, is_exact=squares is None)
        least = np.where(is_last, np.inf, least / following)
        rate = np.maximum.reduceat(np.minimum(share, least), begin)
        level = size * rate[first]
        if squares is None:
            limit = exact_limits(n, k, level)
        else:
            limit = _hoeffding_limits(size, k / n, level)
        upper = np.minimum.reduceat(limit, begin)
        # A bound at one start holds at all starts before it.
        upper = np.minimum.accumulate(upper[::-1])[::-1]
    return upper


def _sums(column: IntArray | FloatArray, first: IntArray, stop: IntArray) -> FloatArray:
    """Sum a column of cells over each run, without taking differences."""
    bounds = np.column_stack((first, stop)).ravel()
    return np.add.reduceat(np.append(column, 0), bounds)[::2].astype(np.float64)


def _least_p(size: FloatArray, t: FloatArray, *, is_exact: bool) -> FloatArray:
    """Return the smallest p-value for t that runs of this size can have."""
    least: FloatArray = (1 - t) ** size if is_exact else np.exp(-2 * size * t**2)
    return least


def _hoeffding_limits(
    size: FloatArray, mean: FloatArray, level: FloatArray
) -> FloatArray:
    """Return upper limits for runs with the given effective numbers of rows."""
    return np.minimum(mean + np.sqrt(np.log(1 / level) / (2 * size)), 1.0)
