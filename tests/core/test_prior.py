"""Another base rate: against Fractions."""

import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit

import abers
from abers.core.prior import PRIOR_TAG
from abers.errors import InvalidData, InvalidParameter, InvalidType

RATES = (1e-6, 0.01, 0.1, 0.3, 0.5, 0.7, 0.999)


def exact(p, before, after):
    """Bayes' theorem, in Fractions."""
    p, before, after = map(Fraction, (p, before, after))
    ones, zeros = p * after / before, (1 - p) * (1 - after) / (1 - before)
    return ones / (ones + zeros)


def small_rule(size=400, seed=0, **options):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=size)
    return abers.fit_rule(scores, rng.random(size) < expit(scores - 1), **options)


@pytest.mark.parametrize("before", RATES)
@pytest.mark.parametrize("after", RATES)
def test_adjusted_probability_is_that_of_bayes_theorem(before, after):
    rng = np.random.default_rng(0)
    p = np.concatenate(([0, 1], rng.random(50), 10.0 ** -rng.uniform(1, 12, 50)))
    adjusted = abers.rules.adjust_prior(p, before, after)
    for given, value in zip(p.tolist(), adjusted.tolist(), strict=True):
        right = float(exact(given, before, after))
        assert abs(value - right) <= 8 * math.ulp(right)


def test_zero_and_one_stay():
    adjusted = abers.rules.adjust_prior([[0.0, 1.0]], 0.5, 1e-9)
    assert adjusted.tolist() == [[0.0, 1.0]]
    assert not np.signbit(adjusted).any()


def test_the_same_rate_changes_no_bit():
    p = np.random.default_rng(1).random(100)
    assert abers.rules.adjust_prior(p, 0.3, 0.3).tolist() == p.tolist()


@pytest.mark.parametrize("after", [1e-9, 0.3, 1 - 1e-9])
def test_order_is_kept_to_the_last_bit(after):
    """Bounds stay in order, and rules monotone: neighbours, most of all."""
    rng = np.random.default_rng(2)
    for start in (*rng.random(20), 1e-300, 1e-17, 1 - 1e-12):
        p = [start]
        for _ in range(200):
            p.append(math.nextafter(p[-1], 1))
        assert (np.diff(abers.rules.adjust_prior(p, 0.4, after)) >= 0).all()


def test_back_and_forth_is_where_it_began():
    p = np.random.default_rng(3).random(100)
    there = abers.rules.adjust_prior(p, 0.4, 0.05)
    np.testing.assert_allclose(
        abers.rules.adjust_prior(there, 0.05, 0.4), p, rtol=1e-13
    )


def test_a_rate_for_each_class_is_bayes_theorem():
    rng = np.random.default_rng(4)
    p, before, after = (rng.dirichlet(np.ones(4), size) for size in (50, 1, 1))
    adjusted = abers.rules.adjust_prior(p, before[0], after[0])
    joint = p / before * after
    np.testing.assert_allclose(adjusted, joint / joint.sum(axis=1, keepdims=True))
    two = abers.rules.adjust_prior(
        np.column_stack((1 - p[:, 0], p[:, 0])), [0.6, 0.4], [0.9, 0.1]
    )
    np.testing.assert_allclose(two[:, 1], abers.rules.adjust_prior(p[:, 0], 0.4, 0.1))
    same = abers.rules.adjust_prior(p, before[0], before[0])
    assert same.tolist() == p.tolist()


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("rate", [0.02, 0.5, 0.9])
def test_rule_with_a_prior_has_adjusted_bounds(rate, increasing):
    rule = small_rule()
    if not increasing:
        rng = np.random.default_rng(0)
        scores = rng.normal(size=400)
        labels = rng.random(400) < expit(-scores)
        rule = abers.fit_rule(scores, labels, increasing=False)
    moved = rule.with_prior(rate)
    new = np.random.default_rng(5).normal(size=1_000)
    base = rule.n_positives / rule.n_rows
    assert np.array_equal(
        moved.bounds(new), abers.rules.adjust_prior(rule.bounds(new), base, rate)
    )
    assert moved.n_rows == rule.n_rows
    assert moved.n_positives == rule.n_positives
    assert moved.increasing == rule.increasing
    assert moved.cells is None
    assert dict(moved.metadata) == {PRIOR_TAG: rate}
    assert dict(rule.metadata) == {}


def test_the_rate_of_the_calibration_rows_changes_nothing():
    rule = small_rule()
    assert rule.with_prior(rule.n_positives / rule.n_rows) is rule
    moved = rule.with_prior(0.1)
    assert moved.with_prior(0.1) is moved


def test_a_second_prior_replaces_the_first():
    rule, new = small_rule(), np.linspace(-3, 3, 100)
    twice = rule.with_prior(0.02).with_prior(0.6)
    np.testing.assert_allclose(
        twice.bounds(new), rule.with_prior(0.6).bounds(new), rtol=1e-13
    )
    assert twice.metadata[PRIOR_TAG] == 0.6


def test_steps_that_coincide_after_rounding_are_dropped_and_no_others():
    """At a rate next to 1 all that is not 0 is next to 1, and much of it the same."""
    rule = small_rule(3_000)
    far = rule.with_prior(1 - 1e-16)
    assert 1 < far.lower.size < rule.lower.size
    changes = (np.diff(far.lower) != 0) | (np.diff(far.upper) != 0)
    assert changes.all()
    near = rule.with_prior(0.2)
    assert near.lower.size == rule.lower.size
    new = np.random.default_rng(6).normal(size=2_000)
    base = rule.n_positives / rule.n_rows
    assert np.array_equal(
        far.bounds(new), abers.rules.adjust_prior(rule.bounds(new), base, 1 - 1e-16)
    )


def test_a_rule_with_a_prior_goes_into_a_file_and_a_pickle(tmp_path):
    moved = small_rule().with_prior(0.05)
    moved.save(tmp_path / "rule.abers")
    assert abers.load(tmp_path / "rule.abers") == moved
    assert pickle.loads(pickle.dumps(moved)) == moved
    again = abers.load(tmp_path / "rule.abers").with_prior(0.5)
    assert again == moved.with_prior(0.5)


def test_evaluations_say_that_the_guarantee_is_gone():
    rng = np.random.default_rng(7)
    scores = rng.normal(size=300)
    labels = rng.random(300) < expit(scores - 1)
    rule = small_rule()
    assert abers.evaluate(rule, scores, labels).guarantee.proven
    evaluation = abers.evaluate(rule.with_prior(0.5), scores, labels)
    assert not evaluation.guarantee.proven
    assert "another base rate" in str(evaluation.guarantee)
    assert "bounds have no guarantee" in str(evaluation)


def test_a_rule_of_one_class_has_no_rate_to_adjust():
    rule = abers.fit_rule([1, 2], [1, 1])
    with pytest.raises(InvalidParameter, match="both labels; all of this one's are 1"):
        rule.with_prior(0.5)


@pytest.mark.parametrize("rate", [0, 1, -0.1, 1.5, math.nan, "0.5", None])
def test_a_rate_that_none_can_be_is_refused(rate):
    for call in (
        lambda: abers.rules.adjust_prior([0.5], rate, 0.5),
        lambda: abers.rules.adjust_prior([0.5], 0.5, rate),
        lambda: small_rule().with_prior(rate),
    ):
        with pytest.raises(InvalidParameter, match="above 0 and below 1; got"):
            call()


@pytest.mark.parametrize(
    "half", [Fraction(1, 2), Decimal("0.5"), np.float32(0.5), np.array(0.5)], ids=repr
)
def test_a_rate_may_be_any_real_number(half):
    assert abers.rules.adjust_prior([0.5], half, 0.1).tolist() == [0.1]
    assert small_rule().with_prior(half) == small_rule().with_prior(0.5)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((None, 0.5, 0.1), InvalidType, r"an array of numbers; got None\.$"),
        (([0.5, 1.2], 0.5, 0.1), InvalidData, r"got 1.2 at index \(1,\)"),
        (
            ([[0.2, 0.8], [0.7, 0.3]], 0.5, 0.1),
            InvalidData,
            r"got \[0.7, 0.3\] at row 1. Of predict_proba pass the column \[:, 1\]",
        ),
        (([[0.2, 0.8]], [0.5, 0.5], [1.0]), InvalidParameter, r"got shape \(1,\)"),
        (([[0.2, 0.8]], [0.5, 0.5], 0.1), InvalidParameter, r"got shape \(\)"),
        (([[0.2, 0.8]], [0.5, 0.6], [0.1, 0.9]), InvalidParameter, "add up to 1"),
        (([[0.2, 0.8]], [0.0, 1.0], [0.1, 0.9]), InvalidParameter, "positive rates"),
    ],
)
def test_what_cannot_be_adjusted_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        abers.rules.adjust_prior(*arguments)


def test_an_array_in_the_place_of_a_rate_is_refused_in_a_sentence():
    with pytest.raises(InvalidParameter, match=r"got an array of shape \(2,\)\."):
        small_rule().with_prior(np.array([0.1, 0.2]))
