"""New cases with a weight of their own: the definition, the guarantee, refusals."""

import itertools
import math
import random
from collections import defaultdict
from fractions import Fraction

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import abers
import oracle
from abers.core.own_weight import RuleWithDiagram
from abers.errors import InvalidData, InvalidParameter
from strategies import NASTY, calibration_sets, either_way, probes

pytestmark = either_way
DYADIC = [0.25, 0.5, 1.0, 1.5, 3.0, 8.0, 1000.0]
N_BAGS = 1500


def definition(scores, labels, tests, weights, pairs):
    """The oracle's bounds for new cases of weights (w0, w1), each rounded once."""
    values = [
        [
            oracle.isotonic_value(
                [*scores, s], [*labels, label], [*map(Fraction, weights), w], s
            )
            for label, w in enumerate(map(Fraction, pair))
        ]
        for s, pair in zip(tests, pairs, strict=True)
    ]
    return [list(map(float, pair)) for pair in values]


@settings(max_examples=300)
@given(
    calibration_sets(NASTY, max_size=8),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_bounds_are_those_of_refits_with_the_weight_of_the_case(
    calibration, rng, increasing
):
    scores, labels = calibration
    weights = rng.choices(DYADIC, k=len(scores))
    tests = probes(scores)
    pairs = [(rng.choice(DYADIC), rng.choice(DYADIC)) for _ in tests]
    rule = abers.fit_rule(
        scores,
        labels,
        sample_weight=weights,
        increasing=increasing,
        keep_diagram=True,
    )
    sign = 1 if increasing else -1
    expected = definition(
        [sign * s for s in scores], labels, [sign * s for s in tests], weights, pairs
    )
    assert rule.bounds(tests, weight=tuple(zip(*pairs, strict=True))).tolist() == (
        expected
    )


@settings(max_examples=100)
@given(calibration_sets(), st.sampled_from(DYADIC))
def test_one_weight_is_that_of_both_labels(calibration, weight):
    rule = abers.fit_rule(*calibration, keep_diagram=True)
    tests = probes(calibration[0])
    both = rule.bounds(tests, weight=weight)
    assert both.tolist() == rule.bounds(tests, weight=(weight, weight)).tolist()
    each = np.full(len(tests), weight)
    assert both.tolist() == rule.bounds(tests, weight=each).tolist()


@pytest.mark.parametrize("weights", [None, "whole", "real"])
@pytest.mark.parametrize("increasing", [True, False])
def test_a_weight_of_one_has_the_bits_of_the_rule(weights, increasing):
    rng = np.random.default_rng(1)
    scores = rng.normal(size=20_000).round(3)
    labels = rng.random(20_000) < 1 / (1 + np.exp(-scores if increasing else scores))
    weights = {
        None: None,
        "whole": rng.integers(1, 9, 20_000),
        "real": rng.exponential(size=20_000),
    }[weights]
    options = {"sample_weight": weights, "increasing": increasing}
    plain = abers.fit_rule(scores, labels, **options)
    rule = abers.fit_rule(scores, labels, **options, keep_diagram=True)
    tests = rng.normal(size=20_000, scale=2).round(3)
    assert rule.bounds(tests).tobytes() == plain.bounds(tests).tobytes()
    assert rule.bounds(tests, weight=1).tobytes() == plain.bounds(tests).tobytes()
    merged = rule.probability(tests, weight=1)
    assert merged.tobytes() == plain.probability(tests).tobytes()


def test_twenty_thousand_cases_have_the_bits_of_a_pooled_rule_of_one_fold():
    """Its new case has one weight for all scores, and other code computes it."""
    rng = np.random.default_rng(2)
    n_rows = 0
    for size in (5, 40, 300, 2000):
        scores, labels = rng.normal(size=size).round(2), rng.integers(0, 2, size)
        counts = rng.integers(1, 50, size)
        rule = abers.fit_rule(scores, labels, sample_weight=counts, keep_diagram=True)
        for weight in rng.integers(1, 10_000, 30).tolist():
            tests = np.unique(rng.normal(size=300).round(2))[:260]
            bounds = rule.bounds(tests, weight=weight)
            scaled = abers.rules.PooledRule([rule.diagram], weight=weight)
            expected = scaled.bounds(tests[:, np.newaxis])
            assert bounds.tobytes() == expected.tobytes()
            n_rows += tests.size
    assert n_rows > 20_000


def bags(rng, n_bags, *, by_label):
    """Draw bags of up to six rows (score, label) with a weight for each kind of row."""
    for _ in range(n_bags):
        rows = [
            (rng.randrange(3), rng.randrange(2)) for _ in range(rng.randrange(2, 7))
        ]
        kinds = itertools.product(range(3), range(2))
        weights = {kind: Fraction(rng.randrange(1, 9), 4) for kind in kinds}
        if not by_label:
            weights = {(s, y): weights[s, 0] for s, y in weights}
        yield rows, weights


def selected(rows, weights, place):
    """Return the bound of the true label of one row, calibrated on the others."""
    others = [row for i, row in enumerate(rows) if i != place]
    s, y = rows[place]
    rule = abers.fit_rule(
        [s for s, _ in others],
        [y for _, y in others],
        sample_weight=[float(weights[row]) for row in others],
        keep_diagram=True,
    )
    pair = float(weights[s, 0]), float(weights[s, 1])
    return rule.bounds([s], weight=pair)[0, y].item()


@pytest.mark.parametrize("by_label", [False, True])
def test_the_bound_of_the_true_label_is_calibrated_in_every_weighted_bag(by_label):
    """E(Y | P_S, bag) = P_S, if the new row is row i with probability w_i / sum w."""
    rng = random.Random(3)  # noqa: S311
    for rows, weights in bags(rng, N_BAGS, by_label=by_label):
        mass, ones = defaultdict(Fraction), defaultdict(Fraction)
        for place, row in enumerate(rows):
            p = selected(rows, weights, place)
            mass[p] += weights[row]
            ones[p] += weights[row] * row[1]
        assert {p: float(ones[p] / mass[p]) for p in mass} == {p: p for p in mass}


def test_a_case_of_weight_one_is_not_calibrated_in_weighted_bags():
    rng = random.Random(4)  # noqa: S311
    wrong = 0
    for rows, weights in bags(rng, 200, by_label=False):
        mass, ones = defaultdict(Fraction), defaultdict(Fraction)
        for place, (s, y) in enumerate(rows):
            others = [row for i, row in enumerate(rows) if i != place]
            rule = abers.fit_rule(
                [s for s, _ in others],
                [y for _, y in others],
                sample_weight=[float(weights[row]) for row in others],
            )
            p = rule.bounds([s])[0, y].item()
            mass[p] += weights[s, y]
            ones[p] += weights[s, y] * y
        wrong += any(float(ones[p] / mass[p]) != p for p in mass)
    assert wrong > 100


def test_bounds_do_not_depend_on_the_batch():
    rng = np.random.default_rng(5)
    scores, labels = rng.normal(size=500), rng.integers(0, 2, 500)
    rule = abers.fit_rule(
        scores, labels, sample_weight=rng.exponential(size=500), keep_diagram=True
    )
    tests, weight = rng.normal(size=50), 10.0 ** rng.uniform(-3, 3, 50)
    bounds = rule.bounds(tests, weight=weight)
    alone = [
        rule.bounds([s], weight=w)[0]
        for s, w in zip(tests.tolist(), weight.tolist(), strict=True)
    ]
    assert bounds.tobytes() == np.array(alone).tobytes()
    assert (np.diff(bounds)[:, 0] >= weight / (rule.n_rows + weight) - 1e-15).all()


def test_the_step_functions_do_not_determine_the_bounds():
    """Zeros and ones (1, 1), (1, 0) and (0, 1), (2, 0) have the same rule."""
    first, second = (
        abers.fit_rule([1, 1, 2], [0, 1, 0], sample_weight=w, keep_diagram=True)
        for w in ([1, 1, 1], [0, 1, 2])
    )
    tests = [0, 1, 1.5, 2, 3]
    assert first.bounds(tests).tolist() == second.bounds(tests).tolist()
    assert first.bounds([2], weight=3)[0, 1] == 3 / 4
    assert second.bounds([2], weight=3)[0, 1] == 2 / 3


def test_a_rule_without_its_diagram_says_how_to_fit_it():
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    with pytest.raises(InvalidParameter, match=r"keep_diagram=True\.$"):
        rule.bounds([2], weight=2)
    with pytest.raises(InvalidParameter, match=r"keep_diagram=True\.$"):
        rule.probability([2], weight=2)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (0, r"^weight must be above 0; got 0 at row 0\.$"),
        ((1, [1, 0]), r"^weight must be above 0; got 0 at row 1\.$"),
        (-1, "^weight must"),
        (math.nan, "^weight must"),
        (math.inf, "^weight must"),
        ((1, 2, 3), r"^weight must be one or a tuple of two; got a tuple of 3\.$"),
        (1e300, "^weight must not be so large .* got 1e[+]300 at row 0"),
        (1e-300, "^weight must not vanish beside the calibration rows"),
    ],
)
def test_wrong_weights_are_refused(weight, message):
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0], keep_diagram=True)
    with pytest.raises(InvalidData, match=message):
        rule.bounds([2, 3], weight=weight)


def test_weights_must_be_as_many_as_scores():
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0], keep_diagram=True)
    with pytest.raises(InvalidData, match="weight and scores must be equally long"):
        rule.bounds([2, 3], weight=[1, 2, 3])


def test_missing_scores_are_refused_with_and_without_weights():
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0], keep_diagram=True)
    for weight in (None, 2):
        with pytest.raises(InvalidData, match="NaN in 1 of 2 rows, first at row 1"):
            rule.bounds([2, math.nan], weight=weight)


def test_the_guarantee_is_that_of_the_weights():
    counted = abers.fit_rule([1, 2], [0, 1], keep_diagram=True)
    assert counted.guarantee == abers.fit_rule([1, 2], [0, 1]).guarantee
    weighted = abers.fit_rule([1, 2], [0, 1], sample_weight=[0.5, 2], keep_diagram=True)
    assert weighted.guarantee.proven
    assert "the weight of each new case" in str(weighted.guarantee)
    assert not weighted.without_diagram().guarantee.proven
    assert not weighted.with_prior(0.3).guarantee.proven


def test_a_rule_that_keeps_its_diagram_is_equal_to_one_that_does_not():
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0], keep_diagram=True)
    plain = abers.fit_rule([1, 2, 3], [0, 1, 0])
    assert rule == plain
    assert plain == rule
    assert hash(plain) == hash(rule)
    assert type(rule.without_diagram()) is abers.rules.Rule
    assert plain.without_diagram() is plain
    tagged = rule.with_metadata({"model": "v7"})
    assert isinstance(tagged, RuleWithDiagram)
    assert tagged.diagram == abers.rules.Diagram.from_rows([1, 2, 3], [0, 1, 0])
    assert type(rule.mirrored()) is type(rule.with_prior(0.5)) is abers.rules.Rule


def test_a_protected_rule_keeps_no_diagram(tmp_path):
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0], keep_diagram=True)
    made = abers.Protected(rule)
    made.save(tmp_path / "p.abers")
    assert abers.load(tmp_path / "p.abers").base == rule.without_diagram()
