"""Intervals: how uncertain P(label = 1 | score) is at one score.

Two things are assumed: this probability rises with the score, and rows are independent
given their scores. Without the first assumption, no interval could shrink as rows are
added.

*One run.* Let s be a score, t the probability there, and take the m rows whose scores
are nearest to s, from s upwards; let k of them be ones. Each is a one with probability
t or more, so k is stochastically at least Bin(m, t), and Clopper and Pearson's upper
limit lies below t with probability at most its level. Rows from s downwards give a
lower limit in the same way. Ties stay together, so that a run depends on the scores
alone.

*Three lengths.* Long runs have narrow limits, but where the curve is steep their limits
are for probabilities far from t. So three lengths are tried, c n^(2/3) with c = 1/2, 2
and 8, and the tightest limit is taken. Each of the six has the level (1 - confidence) /
6, so the interval misses t with probability at most 1 - confidence.

*Not monotone.* Limits at neighbouring scores come from different rows, so they need not
rise with the score. Making them monotone, by raising upper limits and lowering lower
ones, would be valid, but wider for flat curves than `calibration_band`, which is
monotone and holds at all scores at once (benchmarks/INTERVAL.md).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from abers.errors import need

if TYPE_CHECKING:
    from abers.core.diagram import Diagram
    from abers.validation import FloatArray, IntArray

LENGTHS = (0.5, 2.0, 8.0)  # of runs, in n^(2/3) rows
SIDES = 2


def intervals_of(
    diagram: Diagram, scores: FloatArray, confidence: float, *, increasing: bool
) -> FloatArray:
    """Return an interval for the curve at each of these scores, one score at a time.

    >>> from abers.core.diagram import Diagram
    >>> rows = Diagram.from_rows([1, 2], [0, 1])
    >>> s = np.array([1.0, 2.0])
    >>> intervals_of(rows, s, 0.4, increasing=True).round(4).tolist()  # levels of 0.1
    [[0.0, 0.9], [0.1, 1.0]]
    """
    zeros, ones, _ = diagram.units
    level = (1 - confidence) / (SIDES * len(LENGTHS))
    if not increasing:  # the probability of the other label rises
        zeros, ones = ones, zeros
    start = np.searchsorted(diagram.scores, scores, side="left")
    stop = np.searchsorted(diagram.scores, scores, side="right")
    # Downwards, the ones are the rare label: a lower limit is an upper limit of the
    # zeros.
    below = _upper_limits(ones[::-1], zeros[::-1], zeros.size - stop, level)
    both = np.column_stack((1 - below, _upper_limits(zeros, ones, start, level)))
    return both if increasing else 1 - both[:, ::-1]


def _upper_limits(
    zeros: IntArray, ones: IntArray, starts: IntArray, level: float
) -> FloatArray:
    """Bound a rising curve from above, at these distinct scores or above them all."""
    rows = np.append(0, np.cumsum(zeros + ones))
    events = np.append(0, np.cumsum(ones))
    upper = np.ones(starts.size)
    for length in LENGTHS:
        least = math.ceil(length * rows[-1].item() ** (2 / 3))
        stops = np.searchsorted(rows, rows[starts] + least)  # keep ties together
        stops = np.minimum(stops, ones.size)
        size, k = rows[stops] - rows[starts], events[stops] - events[starts]
        upper = np.minimum(upper, exact_limits(size, k, level))
    return upper


def exact_limits(
    n: FloatArray | IntArray, k: FloatArray | IntArray, level: FloatArray | float
) -> FloatArray:
    """Return Clopper and Pearson's upper limits for k ones among n rows."""
    need("scipy", what="a confidence interval")
    from scipy.special import betaincinv

    zeros = np.where(k < n, n - k, 1)
    return np.where(k < n, 1 - betaincinv(zeros, k + 1, level), 1.0)
