"""What rules are tried on: calibration sets, test scores, and the bounds to expect."""

import math
import sys
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest

import oracle

INF = math.inf
LARGEST = sys.float_info.max
LEAST = math.ulp(0.0)  # the smallest subnormal

# For tests of bits and bounds, which do not mind whether the scores are inverted.
either_way = pytest.mark.filterwarnings("ignore::abers.errors.InvertedScoresWarning")

_POSITIVE = [
    *(LEAST, 2 * LEAST, 3 * LEAST, sys.float_info.min),
    *(1e-17, 2e-17, 3e-17),
    *(math.nextafter(1, 0), 1.0, math.nextafter(1, 2)),
    *(1e308, math.nextafter(1e308, INF), LARGEST, INF),
]
TIED = [-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
NASTY = [*(-s for s in _POSITIVE), -0.0, 0.0, *_POSITIVE]


def calibration_sets(scores=TIED, max_size=8):
    """Draw a list of scores and one of labels, equally long.

    A byte makes a row: hypothesis draws bytes ten times faster than tuples.
    """

    def observations(rows):
        drawn = [scores[row // 2 % len(scores)] for row in rows]
        return drawn, [row % 2 for row in rows]

    return st.binary(min_size=1, max_size=max_size).map(observations)


def probes(scores):
    """Test scores in every region: on keys, beside and between them, and outside."""
    keys = sorted(set(scores))
    beside = [math.nextafter(key, end) for key in keys for end in (-INF, INF)]
    between = [a / 2 + b / 2 for a, b in pairwise(keys) if math.isfinite(a / 2 + b / 2)]
    return [*keys, *beside, *between, -INF, -0.0, 0.0, INF]


def definition(scores, labels, tests, weights=None):
    """The oracle's bounds, each rounded once, in the shape of the library's."""
    pairs = [oracle.bounds(scores, labels, s, weights) for s in tests]
    return np.array([[float(p0), float(p1)] for p0, p1 in pairs])
