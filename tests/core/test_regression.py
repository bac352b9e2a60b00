"""Rules of a regression: isotonic regression with both ends, and what is refused."""

import math
import re
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import isotonic_regression

import abers
import oracle
from abers.errors import (
    InvalidData,
    InvalidParameter,
    InvalidType,
    InvertedScoresWarning,
)
from strategies import either_way, probes

INF, NAN = math.inf, math.nan
PRECISION = 1e-12  # of the distance between the ends

pytestmark = either_way


def held(targets, floor, ceiling):
    return [min(max(y, floor), ceiling) for y in targets]


def augmented(targets, new, low, high, trim):
    """Return calibration targets and the new one, held between the ends of the bag.

    An end that is not given is the (trim + 1)-th smallest or largest of the whole bag,
    the new target among them: the definition, before any case is told apart.
    """
    bag = sorted([*targets, new])
    floor = bag[trim] if low is None else low
    ceiling = bag[len(bag) - 1 - trim] if high is None else high
    *rest, last = held([*targets, new], floor, ceiling)
    return rest, last


def defined(scores, targets, s, new, *, low=None, high=None, trim=1):
    """Return the isotonic regression of all with (s, new), at s, in Fractions."""
    # An infinite target is as far out as any that is beyond all others.
    beyond = {INF: max(targets) + 1, -INF: min(targets) - 1}
    exact = [Fraction(y) for y in targets]
    ends = [None if end is None else Fraction(end) for end in (low, high)]
    rest, last = augmented(exact, Fraction(beyond.get(new, new)), *ends, trim)
    return oracle.refit(scores, rest, s, last)


def definition(scores, targets, tests, *, low=None, high=None, trim=1):
    least, most = -INF if low is None else low, INF if high is None else high
    options = {"low": low, "high": high, "trim": trim}
    return np.array(
        [
            [float(defined(scores, targets, s, y, **options)) for y in (least, most)]
            for s in tests
        ]
    )


def assert_close(computed, expected, targets, low, high):
    ends = [*targets, *(end for end in (low, high) if end is not None)]
    span = max(max(ends) - min(ends), *map(abs, ends))
    np.testing.assert_allclose(computed, expected, rtol=0, atol=PRECISION * span)


VALUES = [-4.0, -1.5, -0.1, 0.0, 0.3, 1.0, 2.5, 7.0]
rows = st.lists(
    st.tuples(st.sampled_from([-2.0, -1.0, 0.0, 1.0, 3.0]), st.sampled_from(VALUES)),
    min_size=1,
    max_size=8,
)
ends = st.sampled_from(
    [(-4.0, 7.0), (-5.0, 9.5), (None, 7.0), (-4.5, None), (None,) * 2]
)


@given(rows, ends, st.integers(1, 3))
def test_bounds_are_refitted_isotonic_regressions_with_both_ends(rows, ends, trim):
    """The definition in Fractions; ends are given, trimmed, or one of each."""
    low, high = ends
    scores, targets = map(list, zip(*rows, strict=True))
    n_trimmed = ends.count(None)
    least = max(n_trimmed * trim, (trim + 1) * (n_trimmed > 0))
    if len(rows) < least:
        with pytest.raises(InvalidData, match=f"at least {least} to be trimmed"):
            abers.rules.fit_regression_rule(
                scores, targets, low=low, high=high, trim=trim
            )
        return
    rule = abers.rules.fit_regression_rule(
        scores, targets, low=low, high=high, trim=trim
    )
    tests = probes(scores)
    expected = definition(scores, targets, tests, low=low, high=high, trim=trim)
    assert_close(rule.bounds(tests), expected, targets, low, high)


@given(rows, st.sampled_from(VALUES), st.integers(1, 3))
def test_the_value_for_any_new_target_lies_between_the_bounds(rows, new, trim):
    """What makes the bounds bounds: the regression rises with the new target."""
    scores, targets = map(list, zip(*rows, strict=True))
    if len(rows) < max(2 * trim, trim + 1):
        return
    rule = abers.rules.fit_regression_rule(scores, targets, trim=trim)
    for s in sorted(set(scores)):
        value = defined(scores, targets, s, new, trim=trim)
        lower, upper = rule.bounds([s])[0]
        assert lower - 1e-11 <= value <= upper + 1e-11


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=9, unique=True))
def test_a_new_target_is_moved_in_at_most_the_trimmed_share_of_cases(targets):
    """Each of k + 1 exchangeable cases is as likely to be the new one."""
    rule = abers.rules.fit_regression_rule(range(len(targets) - 1), targets[:-1])
    moved = 0
    for i, y in enumerate(targets):
        others = targets[:i] + targets[i + 1 :]
        moved += augmented(others, y, None, None, 1)[1] != y
    assert moved / len(targets) <= rule.trimmed_share


def test_the_value_is_calibrated_over_all_that_may_be_the_new_case():
    """The mean target of those with one value is that value, exactly.

    Every case of a bag is the new one in turn, with its own target.
    """
    rng = np.random.default_rng(0)
    for trim, (low, high) in product((1, 2), ((0, 9), (None, None), (0, None))):
        scores = rng.integers(0, 5, 9).tolist()
        targets = rng.integers(0, 10, 9).tolist()
        by_value = {}
        for i, (s, y) in enumerate(zip(scores, targets, strict=True)):
            others = [each[:i] + each[i + 1 :] for each in (scores, targets)]
            value = defined(*others, s, y, low=low, high=high, trim=trim)
            _, itself = augmented(others[1], y, low, high, trim)
            by_value.setdefault(value, []).append(itself)
        for value, bounds in by_value.items():
            assert Fraction(sum(bounds), len(bounds)) == value


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-3, 8.5), (None, None), (0, None), (None, 1)]
)
def test_many_rows_agree_with_refits_by_scipy(low, high):
    """Ties, 300 rows, 40 queries, both ends."""
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 60, 300) / 7
    targets = rng.beta(1 + scores, 4)
    rule = abers.rules.fit_regression_rule(scores, targets, low=low, high=high, trim=2)
    tests = np.concatenate((scores[:20], rng.uniform(-1, 10, 20)))
    for s, bounds in zip(tests, rule.bounds(tests), strict=True):
        for new, bound in ((-INF, bounds[0]), (INF, bounds[1])):
            end = {-INF: low, INF: high}[new]
            new = new if end is None else end  # noqa: PLW2901
            rest, last = augmented(targets.tolist(), new, low, high, 2)
            all_scores = np.append(scores, s)
            all_targets = np.append(rest, last)
            keys, place = np.unique(all_scores, return_inverse=True)
            counts = np.bincount(place)
            means = np.bincount(place, all_targets) / counts
            refit = isotonic_regression(means, weights=counts).x
            assert bound == pytest.approx(refit[keys.searchsorted(s)], abs=PRECISION)


def test_labels_0_and_1_give_the_bits_of_a_rule():
    rng = np.random.default_rng(2)
    scores, labels = rng.integers(0, 90, 400), rng.integers(0, 2, 400)
    rule = abers.fit_rule(scores, labels)
    regression = abers.rules.fit_regression_rule(scores, labels, low=0, high=1)
    for name in ("thresholds", "lower", "upper", "score_quantiles"):
        np.testing.assert_array_equal(getattr(regression, name), getattr(rule, name))


@pytest.mark.parametrize("ends", [{"low": 0, "high": 3}, {}, {"low": 0}, {"high": 3}])
def test_integer_weights_are_repeated_rows(ends):
    rng = np.random.default_rng(3)
    scores, targets = rng.integers(0, 9, 40) / 4, rng.uniform(0, 3, 40)
    weights = rng.integers(0, 4, 40)
    weighted = abers.rules.fit_regression_rule(
        scores, targets, sample_weight=weights, trim=3, **ends
    )
    repeated = abers.rules.fit_regression_rule(
        scores.repeat(weights), targets.repeat(weights), trim=3, **ends
    )
    tests = np.linspace(-1, 3, 60)
    assert weighted.n_rows == repeated.n_rows == weights.sum()
    assert weighted.trimmed_share == repeated.trimmed_share
    np.testing.assert_allclose(
        weighted.bounds(tests), repeated.bounds(tests), rtol=0, atol=PRECISION
    )


def test_a_falling_rule_is_the_rule_of_negated_scores():
    rng = np.random.default_rng(4)
    scores, targets = rng.normal(size=50), rng.normal(size=50)
    rising = abers.rules.fit_regression_rule(-scores, targets, trim=2)
    falling = abers.rules.fit_regression_rule(scores, targets, trim=2, increasing=False)
    tests = np.concatenate((scores, [-INF, INF, 0]))
    np.testing.assert_allclose(
        falling.bounds(tests), rising.bounds(-tests), rtol=0, atol=PRECISION
    )
    assert "decreasing" in repr(falling)


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False),
            st.floats(-1e300, 1e300),
            st.floats(1e-6, 1e6) | st.integers(1, 5),
        ),
        min_size=4,
        max_size=12,
    ),
    st.booleans(),
    st.booleans(),
)
def test_bounds_never_cross_and_never_fall(rows, weighted, increasing):
    """Whatever is rounded: targets of all sizes, and weights that are no integers."""
    scores, targets, weights = map(list, zip(*rows, strict=True))
    if weighted and sum(weights) < 2:
        return
    rule = abers.rules.fit_regression_rule(
        scores,
        targets,
        sample_weight=weights if weighted else None,
        increasing=increasing,
    )
    lower, upper = rule.bounds(probes(scores)).T
    assert (lower <= upper).all()
    assert min(targets) <= lower.min()
    assert upper.max() <= max(targets)
    ordered = rule.bounds(np.sort(probes(scores)))
    steps = np.diff(ordered, axis=0)
    assert ((steps >= 0) if increasing else (steps <= 0)).all()
    changes = (np.diff(rule.lower) != 0) | (np.diff(rule.upper) != 0)
    assert changes.all()


def test_bounds_of_heavy_rows_do_not_cross_though_each_is_rounded():
    """They differ by less than the last bits; 4 in 100 would cross."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        scores = rng.integers(0, 4, 7)
        targets = np.append([-1 / 3, 5.1], rng.integers(0, 6, 5) / 3)
        weights = np.append([1, 1], 10.0 ** rng.uniform(3, 9, 5))
        rule = abers.rules.fit_regression_rule(scores, targets, sample_weight=weights)
        assert (rule.lower <= rule.upper).all()


def test_targets_that_are_all_one_have_bounds_of_no_width():
    rule = abers.rules.fit_regression_rule([1, 2, 3], [5, 5, 5])
    assert rule.bounds([0, 2, 9]).tolist() == [[5, 5]] * 3
    assert rule.thresholds.size == 0


def test_the_ends_are_reached_exactly():
    rule = abers.rules.fit_regression_rule([1, 2], [0.1, 0.7], low=0.1, high=0.7)
    assert rule.bounds([0])[0, 0] == 0.1
    assert rule.bounds([3])[0, 1] == 0.7


def test_the_value_is_the_midpoint_and_does_not_overflow():
    rule = abers.rules.fit_regression_rule([1, 2], [8e307, 9e307], low=0, high=1.7e308)
    lower, upper = rule.bounds([2])[0]
    assert rule.value([2])[0] == lower / 2 + upper / 2 < INF


def test_what_was_trimmed_is_said():
    columns = list(range(9)), list(range(9))
    bounded = abers.rules.fit_regression_rule(*columns, low=0, high=8, trim=3)
    assert (bounded.low, bounded.high, bounded.trim) == (0, 8, 0)
    assert bounded.trimmed_share == 0
    both = abers.rules.fit_regression_rule(*columns, trim=3)
    assert (both.low, both.high, both.trim) == (None, None, 3)
    assert both.trimmed_share == 6 / 10
    one = abers.rules.fit_regression_rule(*columns, low=0, trim=3)
    assert (one.low, one.high, one.trimmed_share) == (0, None, 3 / 10)
    assert repr(one) == (
        f"RegressionRule(9 rows, low 0, high trimmed, {one.lower.size} pieces)"
    )


def test_nothing_given_is_changed_and_nothing_learnt_can_be():
    scores, targets = np.arange(9.0)[::-1], np.arange(9.0)[::-1]
    before = scores.copy(), targets.copy()
    rule = abers.rules.fit_regression_rule(scores, targets, trim=2)
    np.testing.assert_array_equal((scores, targets), before)
    for name in ("thresholds", "lower", "upper", "score_quantiles"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(rule, name)[0] = 1
    with pytest.raises(AttributeError):
        rule.low = 3
    with pytest.raises(TypeError):
        rule.metadata["a"] = 1


def test_inverted_scores_are_warned_of(recwarn):
    rng = np.random.default_rng(5)
    scores = rng.normal(size=200)
    targets = -scores + rng.normal(size=200)
    message = r"^The score is inverted \(rank correlation -0\.\d{3}\): higher scores "
    with pytest.warns(InvertedScoresWarning, match=message + "go with lower targets"):
        abers.rules.fit_regression_rule(scores, targets)
    with pytest.warns(InvertedScoresWarning, match="with higher targets. .*=True"):
        abers.rules.fit_regression_rule(-scores, targets, increasing=False)
    recwarn.clear()
    abers.rules.fit_regression_rule(-scores, targets)
    abers.rules.fit_regression_rule(scores, targets, increasing=False)
    abers.rules.fit_regression_rule(scores[:6], targets[:6])  # too few to say
    abers.rules.fit_regression_rule(scores, np.full(200, 3.0))
    assert not recwarn.list


def test_scores_that_tell_nothing_are_hardly_ever_warned_of(recwarn):
    """At most 1 in 1,000, with ties and weights; 2,000 fits, 3 standard errors."""
    rng = np.random.default_rng(6)
    for _ in range(2_000):
        scores, targets = rng.integers(0, 9, 60), rng.exponential(size=60).round(1)
        abers.rules.fit_regression_rule(
            scores, targets, sample_weight=rng.uniform(0.5, 2, 60)
        )
    assert len(recwarn.list) <= 2 + 3 * math.sqrt(2)


GOOD = {"scores": [1, 2, 3], "targets": [0.0, 1, 1]}
REFUSED = {
    "a target above high": (
        {"high": 0.5},
        InvalidData,
        "targets must not be above high=0.5; got 1.0 at row 1 (2 of 3 rows are)",
    ),
    "a target below low": (
        {"low": 0.5},
        InvalidData,
        "targets must not be below low=0.5; got 0.0 at row 0 (1 of 3 rows are)",
    ),
    "a missing target": (
        {"targets": [0, NAN, 1]},
        InvalidData,
        "targets must be finite; got nan at row 1 (1 of 3 rows are bad)",
    ),
    "an infinite target": (
        {"targets": [0, 1, INF]},
        InvalidData,
        "got inf at row 2",
    ),
    "text": ({"targets": ["a", "b", "c"]}, InvalidType, "targets must be real numbers"),
    "a table": ({"targets": [[1, 2]] * 3}, InvalidData, "must be one-dimensional"),
    "a number": ({"targets": 3}, InvalidData, "Pass one target for each row."),
    "too few": (
        {"targets": [1, 2]},
        InvalidData,
        "targets and scores must be equally long; got 2 targets and 3 scores.",
    ),
    "no rows": ({"scores": [], "targets": []}, InvalidData, "must not be empty"),
    "a missing score": ({"scores": [1, NAN, 3]}, InvalidData, "first at row 1"),
    "ends exchanged": (
        {"low": 1, "high": 0},
        InvalidParameter,
        "low must be below high, and not infinitely far; got low=1 and high=0.",
    ),
    "ends too far apart": (
        {"low": -1e308, "high": 1e308},
        InvalidParameter,
        "low must",
    ),
    "no end": ({"low": -INF}, InvalidParameter, "or None if targets have no such end"),
    "text for an end": ({"high": "1"}, InvalidType, "high must be a finite number"),
    "a flag for an end": ({"low": False}, InvalidType, "low must be a finite number"),
    "an end beyond doubles": (
        {"high": 10**400},
        InvalidParameter,
        "high must be a finite number, or None if targets have no such end; got 1000",
    ),
    "no trim": ({"trim": 0}, InvalidParameter, "trim must be at least 1 where low or"),
    "part of a trim": ({"trim": 0.5}, InvalidParameter, "trim must be an integer"),
    "trimmed too much": (
        {"trim": 2},
        InvalidData,
        "targets must have a total weight of at least 4 to be trimmed by 2; got 3",
    ),
    "targets too far apart": (
        {"targets": [-1.7e308, 0, 1.7e308]},
        InvalidData,
        "targets must be less than 1.8e308 apart",
    ),
}


@pytest.mark.parametrize(("change", "error", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_with_a_sentence(change, error, says):
    with pytest.raises(error, match=re.escape(says)):
        abers.rules.fit_regression_rule(**(GOOD | change))


def test_rows_without_weight_may_hold_anything():
    rule = abers.rules.fit_regression_rule(
        [1, NAN, 3, 4], [0, 5, NAN, 1], sample_weight=[1, 0, 0, 1], low=0, high=1
    )
    assert rule.n_rows == 2


def test_a_missing_score_is_refused_in_prediction():
    rule = abers.rules.fit_regression_rule(**GOOD)
    with pytest.raises(InvalidData, match=r"first at row 1.*before predicting"):
        rule.value([1, NAN])


def test_ends_may_be_any_real_numbers():
    expected = abers.rules.fit_regression_rule([1, 2, 3], [1, 5, 4], low=0.5, high=5)
    for low in (Fraction(1, 2), Decimal("0.5"), np.array(0.5)):
        rule = abers.rules.fit_regression_rule([1, 2, 3], [1, 5, 4], low=low, high=5)
        assert rule.low == 0.5
        np.testing.assert_array_equal(rule.bounds([2]), expected.bounds([2]))
