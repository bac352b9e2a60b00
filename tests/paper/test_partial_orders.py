"""The remark on partially ordered scores, Section 2: validity, and what is wrong."""

import random
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise

import pytest

import abers
import oracle
from strategies import either_way

pytestmark = either_way


def bags(seed, n_columns):
    """Draw vectors of scores with labels: ties, equal ones, and some far out."""
    rng = random.Random(seed)  # noqa: S311
    keys = [-float("inf"), 0.0, 1.0, 2.0, float("inf")]
    for _ in range(60):
        size = rng.randint(2, 12)
        yield [
            ([rng.choice(keys) for _ in range(n_columns)], rng.randint(0, 1))
            for _ in range(size)
        ]


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_selected_bound_is_calibrated_whichever_observation_is_the_test(n_columns):
    """Proposition 1 for partial orders: exchange the test object with each other one.

    Among the observations for which P_Y is some number, the average label is that
    number: exactly, but for the rounding of P_Y itself.
    """
    for bag in bags(n_columns, n_columns):
        labels_at = defaultdict(list)
        for i, (row, label) in enumerate(bag):
            vectors, labels = zip(*(bag[:i] + bag[i + 1 :]), strict=True)
            bounds = abers.rules.fit_poset_rule(vectors, labels).bounds([row])
            labels_at[bounds[0, label].item()].append(label)
        for level, at_level in labels_at.items():
            assert level == float(Fraction(sum(at_level), len(at_level)))


def pooled_on(order, counts):
    """Isotonic regression on a linear order: pool adjacent violators."""
    blocks = []
    for point in order:
        blocks.append(([point], *counts[point]))
        while len(blocks) > 1 and average(blocks[-2]) >= average(blocks[-1]):
            (below, n, y), (above, m, z) = blocks[-2:]
            blocks[-2:] = [(below + above, n + m, y + z)]
    return {point: average(block) for block in blocks for point in block[0]}


def average(block):
    return Fraction(block[2], block[1] + block[2])


def misfit(order, counts):
    """Sum of squares that is left by the regression on a linear order."""
    fitted = pooled_on(order, counts)
    return sum(
        n * fitted[p] ** 2 + y * (1 - fitted[p]) ** 2 for p, (n, y) in counts.items()
    )


def neighbours(order):
    """Orders with two neighbours exchanged that the partial order does not compare."""
    for i, (p, q) in enumerate(pairwise(order)):
        if not all(a <= b for a, b in zip(p, q, strict=True)):
            yield (*order[:i], q, p, *order[i + 2 :])


# a < b, whose labels are in the wrong order, and c, which compares with neither.
A, B, C = (1, 1), (2, 2), (0, 3)
COUNTS = {A: (0, 1), B: (1, 0), C: (2, 1)}  # zeros, ones
RIGHT = {A: Fraction(1, 2), B: Fraction(1, 2), C: Fraction(1, 3)}


def test_orders_improved_by_exchanging_neighbours_end_in_the_wrong_place():
    """Why no linear order is searched for, step by step.

    Some linear order that extends the partial one has the same regression: c, a, b
    here. But from a, b, c no exchange of neighbours improves anything, and where
    exchanges that change nothing are allowed, they lead back. The example, of five
    observations, is ours. That the Minimax Order Algorithm is defective is the paper's
    remark (Section 2, which cites Lee 1983 and Murray 1983); this is not a rendering of
    it, but of the plainest search of its kind.
    """
    assert pooled_on((C, A, B), COUNTS) == RIGHT
    start = (A, B, C)
    assert set(pooled_on(start, COUNTS).values()) == {Fraction(2, 5)}
    stuck = list(neighbours(start))
    assert stuck == [(A, C, B)]
    assert misfit(stuck[0], COUNTS) == misfit(start, COUNTS)
    assert misfit(start, COUNTS) > misfit((C, A, B), COUNTS)
    assert start in neighbours(stuck[0])  # the way back


def test_the_rule_has_the_right_value_where_exchanging_neighbours_fails():
    """The same observations, with each in turn as the new case."""
    rows = [(p, y) for p, (n, m) in COUNTS.items() for y in [0] * n + [1] * m]
    for i, (row, label) in enumerate(rows):
        vectors, labels = zip(*(rows[:i] + rows[i + 1 :]), strict=True)
        bounds = abers.rules.fit_poset_rule(vectors, labels).bounds([row])[0].tolist()
        assert bounds[label] == float(RIGHT[row])
        points = [tuple(map(float, vector)) for vector in vectors]
        exact = oracle.partial(points, labels, tuple(map(float, row)), label)
        assert exact == RIGHT[row]
