"""Sample weights: integers repeat rows, real ones keep 13 digits of p and of 1 - p."""

import math
from fractions import Fraction
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings

import abers
import oracle
from abers import reference
from abers.errors import InvalidLabels, InvalidScores
from strategies import INF, NASTY, calibration_sets, either_way, probes

PROMISED = Fraction(1, 10**13)


def assert_accurate(bounds, definition):
    """Assert a relative error of at most 1e-13 for p0, p1, 1 - p0 and 1 - p1.

    On top comes half an ulp of p: a double near 1 may be that far from any p.
    """
    for p, exact in zip(bounds.tolist(), definition, strict=True):
        rounding = Fraction(math.ulp(float(exact))) / 2
        assert abs(Fraction(p) - exact) <= PROMISED * min(exact, 1 - exact) + rounding


@settings(max_examples=1000)
@given(calibration_sets(NASTY, max_size=10), st.binary(min_size=10, max_size=10))
@either_way
def test_integer_weights_are_repeated_rows_to_the_bit(calibration, draws):
    scores, labels = calibration
    weights = [1, *(draw % 4 for draw in draws)][: len(scores)]
    rows = np.repeat(scores, weights), np.repeat(labels, weights)
    for kind in (int, float):
        rule = abers.fit_rule(scores, labels, sample_weight=np.array(weights, kind))
        assert rule == abers.fit_rule(*rows)


@given(calibration_sets(), st.booleans())
def test_unit_weights_change_nothing(calibration, increasing):
    ones = np.ones(len(calibration[0]))
    rule = abers.fit_rule(*calibration, sample_weight=ones, increasing=increasing)
    assert rule == abers.fit_rule(*calibration, increasing=increasing)


@pytest.mark.parametrize("weight", [3, 0.3])
@pytest.mark.parametrize(
    ("score", "label"), [(5.0, 1), (math.nan, 1), (5.0, 7), (None, None)]
)
def test_row_of_weight_zero_may_hold_anything(score, label, weight):
    weights = [weight, 0, weight]
    rule = abers.fit_rule([1, score, 2], [0, label, 1], sample_weight=weights)
    assert rule == abers.fit_rule([1, 2], [0, 1], sample_weight=[weight, weight])


def test_row_that_counts_may_not():
    weights = [1.5, 0, 2]
    with pytest.raises(InvalidScores, match="NaN in 1 of 3 rows, first at row 2"):
        abers.fit_rule([1, 2, math.nan], [0, 1, 1], sample_weight=weights)
    with pytest.raises(InvalidLabels, match=r"got 3 at row 2 \(1 of 3"):
        abers.fit_rule([1, 2, 3], [0, 2, 3], sample_weight=weights)


def spike(rng, size):
    weights = rng.uniform(size=size) * 1e-3
    weights[rng.integers(size)] = 1e12
    return weights


FAMILIES = {
    "uniform": lambda rng, size: rng.uniform(size=size),
    "twelve orders of magnitude": lambda rng, size: 10 ** rng.uniform(-6, 6, size),
    "six hundred orders": lambda rng, size: 10 ** rng.uniform(-300, 300, size),
    "one giant": spike,
    "tenths": lambda rng, size: rng.integers(1, 30, size) * 0.1,
    "nearly one": lambda rng, size: 1 + rng.integers(-3, 4, size) * 2.0**-52,
    "tiny": lambda rng, size: rng.uniform(size=size) * 1e-200,
    "subnormal": lambda rng, size: rng.integers(1, 50, size) * math.ulp(0.0),
    "huge": lambda rng, size: rng.uniform(size=size) * 1e150,
    "integers beyond 2**53": lambda rng, size: rng.integers(1, 9, size) * 2.0**53,
}


def draw(family, seed, size):
    """Noisy labels, from random to nearly separated, and scores with ties."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, size, size).astype(float)
    labels = (scores + rng.normal(scale=size / (1 + seed), size=size) > size / 2) + 0
    return scores.tolist(), labels.tolist(), FAMILIES[family](rng, size).tolist()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("family", FAMILIES)
def test_real_weights_keep_thirteen_digits(family, seed):
    scores, labels, weights = draw(family, seed, size=16)
    tests = probes(scores)
    rule = abers.fit_rule(scores, labels, sample_weight=weights)
    for s, bounds in zip(tests, rule.bounds(tests), strict=True):
        assert_accurate(bounds, oracle.bounds(scores, labels, s, weights))


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@either_way
def test_many_real_weights_keep_thirteen_digits(family, increasing):
    """Against Algorithms 1-6 in exact arithmetic; they have the oracle's values."""
    scores, labels, weights = draw(family, seed=7, size=300)
    sign = 1 if increasing else -1
    signed = [sign * s for s in scores]
    tree = reference.tree(reference.Diagram.from_observations(signed, labels, weights))
    tests = probes(scores)
    rule = abers.fit_rule(scores, labels, sample_weight=weights, increasing=increasing)
    for s, bounds in zip(tests, rule.bounds(tests), strict=True):
        assert_accurate(bounds, reference.search(tree, sign * s))


weighted_rows = st.lists(
    st.tuples(
        st.sampled_from([1.0, 2.0, 3.0, 4.0]),
        st.integers(0, 1),
        st.floats(1e-6, 1e6) | st.sampled_from([1e-300, 0.1, 1 / 3, 1.0, 1e12, 1e300]),
    ),
    min_size=1,
    max_size=8,
)


@given(weighted_rows, st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0, 3.5, 4.0, 5.0]))
def test_any_real_weights_keep_thirteen_digits(rows, s):
    scores, labels, weights = zip(*rows, strict=True)
    [bounds] = abers.fit_rule(scores, labels, sample_weight=weights).bounds([s])
    assert_accurate(bounds, oracle.bounds(scores, labels, s, weights))


@given(weighted_rows, st.booleans())
@example([(1.0, 0, 1e300), (2.0, 1, 0.1)], True)  # noqa: FBT003
@either_way
def test_real_weights_give_a_monotone_rule_with_ordered_bounds(rows, increasing):
    scores, labels, weights = zip(*rows, strict=True)
    rule = abers.fit_rule(scores, labels, sample_weight=weights, increasing=increasing)
    sign = 1 if increasing else -1
    assert all(a < b for a, b in pairwise([-INF, *rule.thresholds.tolist()]))
    assert (sign * np.diff(rule.lower) >= 0).all()
    assert (sign * np.diff(rule.upper) >= 0).all()
    assert (rule.lower >= 0).all()
    assert (rule.lower <= rule.upper).all()
    assert (rule.upper <= 1).all()


def test_heavy_and_light_rows_leave_the_test_object_its_weight_of_one():
    """Weights that sum to little tell little: the bounds are nearly (0, 1)."""
    light = abers.fit_rule([1, 2], [0, 1], sample_weight=[1e-9, 1e-9]).bounds([1.5])
    np.testing.assert_allclose(light, [[0, 1]], atol=1e-8)
    heavy = abers.fit_rule([1, 1], [0, 1], sample_weight=[1e9, 3e9]).bounds([1])
    np.testing.assert_allclose(heavy, [[0.75, 0.75]], atol=1e-8)


def test_totals_are_totals_of_weights():
    rule = abers.fit_rule([1, 2, 3], [0, 1, 1], sample_weight=[0.5, 0.25, 1])
    assert (rule.n_observations, rule.n_positives) == (1.75, 1.25)
    rule = abers.fit_rule([1, 2, 3], [0, 1, 1], sample_weight=[2.0, 3.0, 4.0])
    assert (rule.n_observations, rule.n_positives) == (9, 7)
    assert isinstance(rule.n_observations, int)
