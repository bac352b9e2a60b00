"""`abers.fit_rule` is the paper's definition, each fraction rounded once: `==`."""

import math
from itertools import pairwise, product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import abers
import oracle
from abers import reference
from strategies import either_way

INF = math.inf


def compositions(size):
    """All ways to tie `size` sorted scores."""
    if size == 0:
        return [()]
    return [(n, *rest) for n in range(1, size + 1) for rest in compositions(size - n)]


TIES = [
    *(ties for size in range(1, 7) for ties in compositions(size)),
    *((1,) * 7, (7,), (3, 1, 3), (1, 2, 1, 2, 1)),
    *((1,) * 8, (4, 4), (1, 1, 4, 1, 1), (2, 1, 1, 1, 1, 2)),
    *((1,) * 9, (3, 3, 3), (1, 7, 1), (2, 1, 1, 2, 1, 2), (5, 1, 1, 1, 1)),
]


def regions(keys):
    """Every region of test scores that the definition tells apart, by some members.

    A region is one key, a gap between keys or an outside; the members nearest to a key
    are its neighbours among the floats.
    """
    yield [-INF, keys[0] - 1, math.nextafter(keys[0], -INF)]
    for left, right in pairwise(keys):
        yield [left]
        middle = (left + right) / 2
        yield [math.nextafter(left, INF), middle, math.nextafter(right, -INF)]
    yield [keys[-1]]
    yield [math.nextafter(keys[-1], INF), keys[-1] + 1, INF]


@pytest.mark.parametrize("size", range(1, 8))
def test_oracle_is_the_least_squares_projection_on_the_increasing_functions(size):
    """Section 2, isotonic regression: the oracle is judged by what it minimises.

    An increasing g is nearest to the labels y exactly when y - g is orthogonal to g
    and to constants and nowhere positively correlated with a step upwards.
    """
    for labels in product((0, 1), repeat=size):
        g = oracle.isotonic(range(size), labels)
        residuals = [y - value for y, value in zip(labels, g, strict=True)]
        assert g == sorted(g)
        assert sum(r * value for r, value in zip(residuals, g, strict=True)) == 0
        assert sum(residuals) == 0
        assert all(sum(residuals[i:]) <= 0 for i in range(size))


def definition(scores, labels, weights, tests):
    """The oracle's bounds in the shape and type of the library's."""
    pairs = [oracle.bounds(scores, labels, s, weights) for s in tests]
    return np.array([[float(p0), float(p1)] for p0, p1 in pairs])


@pytest.mark.parametrize("ties", TIES, ids=str)
def test_every_labelling_has_the_definitions_bounds_at_every_placement(ties):
    """Section 2, definition of IVAP: all labels, all ties for k <= 6, some up to 9."""
    scores = np.repeat(np.arange(1.0, len(ties) + 1), ties)
    members = list(regions(np.unique(scores).tolist()))
    firsts = [region[0] for region in members]
    sizes = [len(region) for region in members]
    for labels in product((0, 1), repeat=len(scores)):
        rule = abers.fit_rule(scores, np.array(labels))
        expected = definition(scores.tolist(), labels, None, firsts)
        actual = rule.bounds(np.concatenate(members))
        np.testing.assert_array_equal(actual, np.repeat(expected, sizes, axis=0))


KEYS = [-INF, -1e308, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.1, 0.3, 1.0, 1e308, INF]
few = st.integers(-3, 3).map(float)
any_score = st.one_of(st.sampled_from(KEYS), few, st.floats(allow_nan=False))
observations = st.lists(
    st.tuples(any_score, st.integers(0, 1)), min_size=1, max_size=60
)


def probes(scores, others):
    """Test scores on the keys, beside them as near as floats allow, and elsewhere."""
    nearby = [math.nextafter(s, end) for s in scores for end in (-INF, INF)]
    return [*scores, *nearby, *others, -INF, INF]


@settings(max_examples=300, deadline=None)
@given(observations, st.lists(any_score, max_size=20))
def test_library_equals_the_specification_to_the_bit(rows, others):
    """Algorithms 1-6 on up to 60 observations in any order, infinities and -0.0 too."""
    scores, labels = zip(*rows, strict=True)
    tests = probes(scores, others)
    tree = reference.tree(reference.Diagram.from_rows(scores, labels))
    expected = np.array([reference.search(tree, s) for s in tests], dtype=np.float64)
    actual = abers.fit_rule(np.array(scores), np.array(labels)).bounds(np.array(tests))
    np.testing.assert_array_equal(actual.view(np.int64), expected.view(np.int64))


weighted = st.tuples(few, st.integers(0, 1), st.integers(1, 9))


@settings(deadline=None)
@given(st.lists(weighted, min_size=1, max_size=12))
@either_way
def test_integer_weights_have_the_definitions_bounds(rows):
    """Section 2: w_j counts observations, so an integer weight is so many of them."""
    scores, labels, weights = zip(*rows, strict=True)
    tests = probes(scores, [])
    rule = abers.fit_rule(
        np.array(scores), np.array(labels), sample_weight=np.array(weights)
    )
    expected = definition(scores, labels, weights, tests)
    np.testing.assert_array_equal(rule.bounds(np.array(tests)), expected)
