"""The p-values of a monitor are uniform and independent: by enumeration, in Fractions.

All orders of a bag are equally likely under the hypothesis. In each order a p-value is
spread evenly over an interval; the mean of the densities over all orders must be 1
everywhere, for the last three p-values of a test together.
"""

from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations, product

import numpy as np
import pytest

import abers
import oracle

BAGS = [  # six rows of score and label, with ties
    [(1, 0), (2, 1), (3, 0), (4, 1), (5, 0), (6, 1)],
    [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)],
    [(1, 1), (1, 1), (2, 0), (2, 0), (3, 1), (3, 0)],
    [(1, 0), (1, 0), (1, 0), (1, 1), (2, 1), (2, 1)],
    [(0, 1), (0, 0), (0, 1), (0, 0), (0, 1), (0, 0)],
    [(1, 1), (2, 1), (3, 1), (4, 0), (5, 0), (6, 0)],
    [(1, 0), (2, 0), (3, 0), (3, 0), (4, 0), (4, 1)],
    [(1, 1), (1, 1), (2, 1), (2, 1), (3, 1), (3, 1)],
    [(1, 0), (2, 1), (2, 0), (2, 1), (3, 0), (4, 1)],
    [(float("-inf"), 0), (0, 1), (0, 0), (1, 1), (float("inf"), 0), (float("inf"), 1)],
    [(1, 0), (1, 1), (1, 0), (2, 1), (3, 0), (3, 1)],
    [(1, 1), (2, 0), (2, 0), (3, 1), (4, 0), (4, 0)],
]
N_CALIBRATION = 3


def interval_of_score(rows):
    """Where the p-value of the newest score is spread."""
    scores = [score for score, _ in rows]
    below = sum(score < scores[-1] for score in scores)
    return Fraction(below, len(rows)), Fraction(
        below + scores.count(scores[-1]), len(rows)
    )


def share_of_ones(rows):
    scores, labels = zip(*rows, strict=True)
    return oracle.isotonic_value(scores, labels, [1] * len(rows), scores[-1])


def interval_of_label(rows):
    share = share_of_ones(rows)
    return (0, share) if rows[-1][1] else (share, 1)


def is_turned(rows):
    return share_of_ones(rows) <= Fraction(sum(label for _, label in rows), len(rows))


def interval_of_slope(rows):
    low, high = interval_of_label(rows)
    return (1 - high, 1 - low) if is_turned(rows) else (low, high)


INTERVALS = {
    "scores": interval_of_score,
    "labels": interval_of_label,
    "slope": interval_of_slope,
}


def density(intervals, cell):
    """How dense independent values on these intervals are in a cell."""
    dense = Fraction(1)
    for (low, high), (left, right) in zip(intervals, cell, strict=True):
        dense *= Fraction(1, high - low) if low <= left and right <= high else 0
    return dense


@pytest.mark.parametrize("test", INTERVALS)
@pytest.mark.parametrize("bag", BAGS)
def test_the_last_three_p_values_are_uniform_on_the_cube(bag, test):
    counted = Counter()
    for order in permutations(bag):
        places = range(N_CALIBRATION + 1, len(bag) + 1)
        counted[tuple(INTERVALS[test](order[:n]) for n in places)] += 1
    ends = [
        sorted({0, 1, *(end for intervals in counted for end in intervals[axis])})
        for axis in range(3)
    ]
    n_orders = sum(counted.values())
    for cell in product(*(list(pairwise(axis)) for axis in ends)):
        total = sum(n * density(intervals, cell) for intervals, n in counted.items())
        assert total == n_orders


def test_another_turn_would_not_be_uniform():
    """The check can fail: turned by the label, p-values are not uniform."""
    bag, counted = BAGS[1], Counter()
    for order in permutations(bag):
        low, high = interval_of_label(order)
        counted[(1 - high, 1 - low) if order[-1][1] else (low, high)] += 1
    cells = pairwise(
        sorted({0, 1, *(end for intervals in counted for end in intervals)})
    )
    totals = [
        sum(n * density([intervals], [cell]) for intervals, n in counted.items())
        for cell in cells
    ]
    assert any(total != sum(counted.values()) for total in totals)


def draws(seed, n):
    """The random numbers of a monitor, for scores and for labels."""
    for child in np.random.SeedSequence(seed).spawn(2):
        bits = np.random.PCG64(child).random_raw(n)
        yield [Fraction(2 * int(one >> np.uint64(11)) + 1, 2**54) for one in bits]


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_the_monitor_draws_its_p_values_from_these_intervals(seed, increasing):
    rng = np.random.default_rng(seed)
    rows = [tuple(map(int, row)) for row in rng.integers(0, [9, 2], (60, 2))]
    first = 5
    monitor = abers.Monitor(
        *zip(*rows[:first], strict=True), random_state=seed, increasing=increasing
    )
    p_values = monitor.update(*zip(*rows[first:], strict=True)).p_values
    for_scores, for_labels = draws(seed, len(rows))
    sign = 1 if increasing else -1
    for i in range(len(rows) - first):
        seen = rows[: first + i + 1]
        signed = [(sign * score, label) for score, label in seen]
        for test, u, where in (
            ("scores", for_scores[i], seen),
            ("labels", for_labels[i], signed),
        ):
            low, high = INTERVALS[test](where)
            expected = float(low + u * (high - low))
            assert getattr(p_values, test)[i] == pytest.approx(
                expected, rel=1e-15, abs=1e-15
            )
        p = p_values.labels[i]
        assert p_values.slope[i] == (1 - p if is_turned(signed) else p)
