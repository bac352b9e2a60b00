"""Sample weights: integers repeat rows, real ones are rounded once, to units."""

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
from abers.errors import InvalidData
from fitted_things import bits
from strategies import INF, NASTY, calibration_sets, either_way, probes

PROMISED = 1e-11  # of bounds, if weights add up to 10^4 at most


def furthest(bounds, definition):
    """Return how far bounds are from their definition, in Fractions."""
    pairs = zip(bounds.tolist(), definition, strict=True)
    return max(float(abs(Fraction(p) - exact)) for p, exact in pairs)


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
    with pytest.raises(InvalidData, match="NaN in 1 of 3 rows, first at row 2"):
        abers.fit_rule([1, 2, math.nan], [0, 1, 1], sample_weight=weights)
    with pytest.raises(InvalidData, match=r"got 3 at row 2 \(1 of 3"):
        abers.fit_rule([1, 2, 3], [0, 2, 3], sample_weight=weights)


FAMILIES = {
    "uniform": lambda rng, size: rng.uniform(size=size),
    "ten orders of magnitude": lambda rng, size: 10 ** rng.uniform(-7, 3, size),
    "three hundred orders": lambda rng, size: np.append(
        10 ** rng.uniform(-300, 2, size - 1), 0.3
    ),
    "one giant": lambda rng, size: np.append(rng.uniform(size=size - 1) * 1e-3, 1e3),
    "tenths": lambda rng, size: rng.integers(1, 30, size) * 0.1,
    "nearly one": lambda rng, size: 1 + rng.integers(-3, 4, size) * 2.0**-52,
    "tiny": lambda rng, size: rng.uniform(size=size) * 1e-12,
}


def draw(family, seed, size):
    """Noisy labels, from random to nearly separated, and scores with ties."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, size, size).astype(float)
    labels = (scores + rng.normal(scale=size / (1 + seed), size=size) > size / 2) + 0
    return scores.tolist(), labels.tolist(), FAMILIES[family](rng, size).tolist()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_of_real_weights_are_those_of_the_definition_to_11_digits(family, seed):
    scores, labels, weights = draw(family, seed, size=16)
    tests = probes(scores)
    rule = abers.fit_rule(scores, labels, sample_weight=weights)
    for s, bounds in zip(tests, rule.bounds(tests), strict=True):
        assert furthest(bounds, oracle.bounds(scores, labels, s, weights)) <= PROMISED


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
@either_way
def test_so_are_those_of_many_rows(family, increasing):
    """Against Algorithms 1-6 in exact arithmetic; they have the oracle's values."""
    scores, labels, weights = draw(family, seed=7, size=300)
    sign = 1 if increasing else -1
    signed = [sign * s for s in scores]
    tree = reference.tree(reference.Diagram.from_rows(signed, labels, weights))
    tests = probes(scores)
    rule = abers.fit_rule(scores, labels, sample_weight=weights, increasing=increasing)
    for s, bounds in zip(tests, rule.bounds(tests), strict=True):
        assert furthest(bounds, reference.search(tree, sign * s)) <= PROMISED


def scale_of(weights):
    """The largest at which powers of two above all weights, and 1, fit into 2**53."""
    total = 1 + sum(Fraction(2) ** math.frexp(w)[1] for w in weights)
    return max(s for s in range(-60, 60) if total * Fraction(2) ** s <= 2**53)


@pytest.mark.parametrize("power", range(10))
def test_bounds_err_by_at_most_half_a_unit_per_row_of_one_label(power):
    """A block's average moves by so much, since a new case weighs 2**scale units.

    The limit rises with the total weight; `benchmarks/REAL_WEIGHTS.md` derives it.
    """
    for seed in range(20):
        scores, labels, weights = draw("ten orders of magnitude", seed, size=16)
        weights = np.array(weights) * (10**power / sum(weights))
        n_rows = max(labels.count(0), labels.count(1))
        limit = Fraction(n_rows, 2 ** (scale_of(weights) + 1)) + Fraction(1, 2**54)
        tests = probes(scores)
        rule = abers.fit_rule(scores, labels, sample_weight=weights)
        for s, bounds in zip(tests, rule.bounds(tests), strict=True):
            exact = oracle.bounds(scores, labels, s, weights.tolist())
            assert furthest(bounds, exact) <= limit


@pytest.mark.parametrize("seed", range(10))
def test_rounded_weights_give_the_definitions_bounds_to_the_bit(seed):
    """The rule of real weights is that of the multiples they were rounded to."""
    scores, labels, weights = draw("ten orders of magnitude", seed, size=16)
    rule = abers.fit_rule(scores, labels, sample_weight=weights)
    scale = scale_of(weights)
    rounded = [Fraction(round(Fraction(w) * 2**scale), 2**scale) for w in weights]
    tests = probes(scores)
    for s, bounds in zip(tests, rule.bounds(tests).tolist(), strict=True):
        exact = oracle.bounds(scores, labels, s, rounded)
        assert bounds == [float(p) for p in exact]


def test_rules_of_real_weights_are_equal_bits_in_any_order_of_rows():
    rng = np.random.default_rng(0)
    for _ in range(300):
        size = int(rng.integers(2, 30))
        scores, labels = rng.integers(0, 6, size), rng.integers(0, 2, size)
        weights = 10 ** rng.uniform(-7, 3, size)
        order = rng.permutation(size)
        rule = abers.fit_rule(scores, labels, sample_weight=weights)
        again = abers.fit_rule(
            scores[order], labels[order], sample_weight=weights[order]
        )
        assert bits(again) == bits(rule)


weighted_rows = st.lists(
    st.tuples(
        st.sampled_from([1.0, 2.0, 3.0, 4.0]),
        st.integers(0, 1),
        st.floats(1e-6, 1e4) | st.sampled_from([0.1, 1 / 3, 1.0, 1e3]),
    ),
    min_size=1,
    max_size=8,
)


@given(weighted_rows, st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0, 3.5, 4.0, 5.0]))
def test_any_real_weights_keep_eleven_digits(rows, s):
    scores, labels, weights = zip(*rows, strict=True)
    [bounds] = abers.fit_rule(scores, labels, sample_weight=weights).bounds([s])
    assert furthest(bounds, oracle.bounds(scores, labels, s, weights)) <= PROMISED


@given(weighted_rows, st.booleans())
@example([(1.0, 0, 1e9), (2.0, 1, 0.1)], True)  # noqa: FBT003
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


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ([2**53, 1], "must add up to at most 9007199254740991, so that bounds"),
        ([1e300, 1], "must add up to at most 9007199254740991, so that bounds"),
        ([1e10, 0.5], r"must be whole or add up to less than about 2\*\*33, because"),
        ([1e-20, 1e-30], "must not all vanish beside a new case, which weighs 1"),
    ],
)
def test_weights_that_cannot_be_rounded_beside_a_new_case_are_refused(
    weights, sentence
):
    with pytest.raises(InvalidData, match=f"^sample_weight {sentence}"):
        abers.fit_rule([1, 2], [0, 1], sample_weight=weights)


def test_totals_are_totals_of_weights():
    rule = abers.fit_rule([1, 2, 3], [0, 1, 1], sample_weight=[0.5, 0.25, 1])
    assert (rule.n_rows, rule.n_positives) == (1.75, 1.25)
    rule = abers.fit_rule([1, 2, 3], [0, 1, 1], sample_weight=[2.0, 3.0, 4.0])
    assert (rule.n_rows, rule.n_positives) == (9, 7)
    assert isinstance(rule.n_rows, int)


def test_a_rule_of_real_weights_shows_its_total_to_six_digits():
    weights = np.array([1 / 3, 2 / 3, 1 / 7])
    rule = abers.fit_rule([1, 2, 3], [0, 1, 1], sample_weight=weights)
    assert repr(rule).startswith("Rule(1.14286 rows, 0.809524 positive, ")
