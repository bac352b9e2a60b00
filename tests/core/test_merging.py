"""Merging to the last digits: against 50-digit arithmetic, at the ends of [0, 1]."""

import math
from fractions import Fraction
from itertools import product

import hypothesis.strategies as st
import kinds
import numpy as np
import pytest
from hypothesis import given
from mpmath import mp

import abers
from abers.core.merging import box, merge_rules
from abers.errors import InvalidData, InvalidParameter, InvalidType

LEAST = math.ulp(0.0)
MERGERS = [abers.rules.log_minimax, abers.rules.brier_minimax]


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(50):
        yield


def exact_log(pairs):
    """GM(p1) / (GM(1-p0) + GM(p1)), Algorithm 7."""
    ones = mp.root(mp.fprod(p1 for _, p1 in pairs), len(pairs))
    zeros = mp.root(mp.fprod(1 - mp.mpf(p0) for p0, _ in pairs), len(pairs))
    return ones / (zeros + ones)


def exact_brier(pairs):
    """The mean of p1 + (p0² - p1²) / 2, Section 4."""
    each = [p1 + (mp.mpf(p0) ** 2 - mp.mpf(p1) ** 2) / 2 for p0, p1 in pairs]
    return mp.fsum(each) / len(pairs)


EXACT = {"log": exact_log, "brier": exact_brier}


def assert_within_four_ulps(merged, exact):
    for p, q in zip(merged.tolist(), exact, strict=True):
        assert abs(p - q) <= 4 * math.ulp(float(q))


def near_ends(rng, shape):
    """Half of them near 0, half near 1, down to 1e-15 from it."""
    distance = 10.0 ** rng.uniform(-15, 0, shape)
    return np.where(rng.uniform(size=shape) < 0.5, distance, 1 - distance)


def of_rules(rng, shape):
    """As an IVAP with k rows makes them: p1 >= 1/(k+1), p0 <= k/(k+1)."""
    k = 10.0 ** rng.uniform(0, 9, shape[1:])
    return np.where(rng.uniform(size=shape) < 0.5, 1 / (k + 1), k / (k + 1))


DRAWS = {
    "anywhere": lambda rng, shape: rng.uniform(size=shape),
    "near 0 or 1": near_ends,
    "of rules": of_rules,
    "near 1": lambda rng, shape: rng.uniform(0.999999, 1, shape),
    "near 0": lambda rng, shape: 10.0 ** rng.uniform(-300, 0, shape),
    "subnormal": lambda rng, shape: rng.integers(1, 1000, shape) * LEAST,
    "below normal": lambda rng, shape: 10.0 ** rng.uniform(-320, -300, shape),
}


def draw(kind, folds, size=40):
    both = DRAWS[kind](np.random.default_rng(folds), (2, folds, size))
    return np.stack((both.min(axis=0), both.max(axis=0)), axis=-1)


@pytest.mark.parametrize("folds", [1, 2, 3, 5, 10, 150])
@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("loss", EXACT)
def test_merged_folds_are_within_four_ulps(loss, kind, folds):
    bounds = draw(kind, folds)
    exact = [EXACT[loss](pairs) for pairs in bounds.swapaxes(0, 1).tolist()]
    assert_within_four_ulps(abers.rules.merge_folds(bounds, loss), exact)


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("merge", MERGERS)
def test_merged_bounds_are_within_four_ulps(merge, kind):
    p0, p1 = draw(kind, 1, size=200)[0].T
    exact_merge = exact_log if merge is abers.rules.log_minimax else exact_brier
    exact = [exact_merge([pair]) for pair in zip(p0.tolist(), p1.tolist(), strict=True)]
    assert_within_four_ulps(merge(p0, p1), exact)


@pytest.mark.parametrize("k", [1, 10, 10**6, 10**9])
@pytest.mark.parametrize("loss", EXACT)
def test_no_number_of_folds_makes_a_rule_certain(loss, k):
    """GM of 150 numbers 1/(k+1) is 1/(k+1), although their product is 0 in doubles."""
    pairs = np.array([[0, 1 / (k + 1)], [k / (k + 1), 1]])
    low, high = abers.rules.merge_folds([pairs] * 150, loss)
    assert low > 0
    assert high < 1
    np.testing.assert_allclose(
        [low, high], abers.rules.merge_folds([pairs], loss), rtol=1e-15
    )


probability = st.floats(0, 1) | st.sampled_from([0.0, LEAST, 0.5, 1 - 2**-53, 1.0])
pair = st.tuples(probability, probability).map(sorted)


@given(st.lists(pair, min_size=1))
def test_one_fold_has_the_bits_of_the_rule_for_a_pair(pairs):
    p0, p1 = np.array(pairs).T
    assert (
        abers.rules.merge_folds([pairs]).tobytes()
        == abers.rules.log_minimax(p0, p1).tobytes()
    )
    one_fold = abers.rules.merge_folds([pairs], "brier")
    assert one_fold.tobytes() == abers.rules.brier_minimax(p0, p1).tobytes()


@given(st.lists(pair, min_size=1))
def test_merged_probability_stays_between_the_bounds(pairs):
    p0, p1 = np.array(pairs).T
    for merge in MERGERS:
        merged = merge(p0, p1)
        assert (p0 <= merged).all()
        assert (merged <= p1).all()


def merge_one_fold(p0, p1):
    return abers.rules.merge_folds([np.stack((p0, p1), axis=-1)])


@pytest.mark.parametrize("merge", [*MERGERS, merge_one_fold])
def test_bounds_that_nearly_meet_are_not_left_by_rounding(merge):
    p1 = 1 - np.random.default_rng(0).uniform(size=100_000) * 1e-8
    p0 = p1 - 1e-9
    merged = merge(p0, p1)
    assert (p0 <= merged).all()
    assert (merged <= p1).all()


def test_folds_that_contradict_each_other_with_certainty_give_one_half():
    """GM(p1) = GM(1-p0) = 0: one fold is sure of 0, another of 1."""
    assert abers.rules.merge_folds([[[0, 0]], [[1, 1]]]).tolist() == [0.5]


@pytest.mark.parametrize(
    ("folds", "merged"),
    [
        ([[[0, 0]], [[0, 0.5]]], 0.0),
        ([[[1, 1]], [[0.5, 1]]], 1.0),
        ([[[0, 1]], [[0, 1]]], 0.5),
        ([[[0.5, 0.5]], [[0.5, 0.5]]], 0.5),
    ],
)
def test_certainties_merge_as_they_must(folds, merged):
    assert abers.rules.merge_folds(folds).tolist() == [merged]


uncertain = st.tuples(st.floats(0.001, 0.999), st.floats(0.001, 0.999)).map(sorted)


@given(st.lists(uncertain, min_size=1))
def test_merging_twice_for_one_loss_is_merging_once(folds):
    """Paper-notes A9: only rules that mix the losses differ from the CVAP."""
    for loss in EXACT:
        merged = [abers.rules.merge_folds([[fold]], loss)[0] for fold in folds]
        twice = abers.rules.merge_folds([[[p, p]] for p in merged], loss)
        once = abers.rules.merge_folds([[fold] for fold in folds], loss)
        np.testing.assert_allclose(twice, once, rtol=1e-13)


@pytest.mark.parametrize("loss", EXACT)
def test_fold_order_does_not_matter(loss):
    bounds = draw("near 0 or 1", 10)
    merged, reversed_ = (
        abers.rules.merge_folds(b, loss) for b in (bounds, bounds[::-1])
    )
    np.testing.assert_allclose(reversed_, merged, rtol=1e-15)


@pytest.mark.parametrize("merge", MERGERS)
def test_merged_bounds_have_the_shape_of_the_bounds(merge):
    assert np.ndim(merge(0.2, 0.6)) == 0
    assert merge(0.2, 0.6) == merge([0.2], [0.6])[0]
    assert merge([], []).shape == (0,)
    assert merge(np.zeros((3, 4)), np.ones((3, 4))).shape == (3, 4)


@pytest.mark.parametrize("loss", EXACT)
def test_merged_folds_have_one_value_a_row(loss):
    assert abers.rules.merge_folds(np.zeros((3, 0, 2)), loss).shape == (0,)
    assert abers.rules.merge_folds(np.zeros((3, 7, 2)), loss).shape == (7,)


@pytest.mark.parametrize("loss", EXACT)
def test_memory_order_does_not_matter(loss):
    bounds = draw("anywhere", 5)
    merged = abers.rules.merge_folds(bounds, loss)
    fortran = abers.rules.merge_folds(np.asfortranarray(bounds), loss)
    assert fortran.tobytes() == merged.tobytes()


@pytest.mark.parametrize(
    ("p0", "p1", "error", "text"),
    [
        ([0.1, 0.5], [0.1, 0.4], InvalidData, r"got \(0.5, 0.4\) at row 1"),
        ([-0.1], [0.4], InvalidData, "0 <= lower <= upper <= 1"),
        ([0.1], [1.1], InvalidData, r"got \(0.1, 1.1\) at row 0"),
        ([math.nan], [0.4], InvalidData, r"got \(nan, 0.4\)"),
        ([0.4], [None], InvalidData, r"got \(0.4, nan\)"),
        (0.5, 0.4, InvalidData, r"got \(0.5, 0.4\)\.$"),
        ([[0, 0.5]], [[0, 0.4]], InvalidData, r"at index \(0, 1\)"),
        ([0.1], [0.1, 0.2], InvalidData, r"got \(1,\) and \(2,\)"),
        (["0.1"], [0.2], InvalidType, "lower bounds must be real numbers; got '0.1'"),
        ([0.1], [1j], InvalidType, "upper bounds must be real numbers; got complex128"),
        ([[0.1], [0.1, 0.2]], [0.1], InvalidType, "rows of different lengths"),
    ],
)
@pytest.mark.parametrize("merge", MERGERS)
def test_impossible_bounds_are_refused(merge, p0, p1, error, text):
    with pytest.raises(error, match=text):
        merge(p0, p1)


@pytest.mark.parametrize(
    ("bounds", "error", "text"),
    [
        ([[0.1, 0.2]], InvalidData, r"shape \(K, n, 2\).*; got \(1, 2\)"),
        (0.5, InvalidData, r"; got \(\)"),
        (np.zeros((0, 3, 2)), InvalidData, "at least one predictor"),
        (np.zeros((2, 3, 3)), InvalidData, r"; got \(2, 3, 3\)"),
        ([[[0.1, 0.2]], [[0.5, 0.4]]], InvalidData, r"at index \(1, 0\)"),
        ([[[math.nan, 0.2]]], InvalidData, "0 <= lower <= upper <= 1"),
        ([[["a", "b"]]], InvalidType, "bounds must be real numbers; got 'a'"),
    ],
)
@pytest.mark.parametrize("loss", EXACT)
def test_impossible_folds_are_refused(loss, bounds, error, text):
    with pytest.raises(error, match=text):
        abers.rules.merge_folds(bounds, loss)


def test_unknown_loss_is_refused():
    with pytest.raises(InvalidParameter) as refused:
        abers.rules.merge_folds([[[0.1, 0.2]]], "hinge")
    assert str(refused.value) == "loss must be 'log' or 'brier'; got 'hinge'."


# --- the box of many classes ---

part = st.one_of(st.floats(0, 1), st.sampled_from([0.0, LEAST, 1e-300, 0.5, 1.0]))
vector_of_pairs = st.lists(st.tuples(part, part).map(sorted), min_size=2, max_size=5)


def shares(pairs):
    """Normalise the vectors with each part at one of its ends, in Fractions."""
    for ends in product(*(map(Fraction, pair) for pair in pairs)):
        if total := sum(ends):
            yield [end / total for end in ends]


@given(vector_of_pairs.filter(lambda pairs: sum(lower > 0 for lower, _ in pairs) > 1))
def test_the_box_is_the_range_of_the_normalised_vector(pairs):
    """A share is monotone in each part, so it is extreme at their ends."""
    lower, upper = box(*np.transpose(pairs))
    for c, of_class in enumerate(zip(*shares(pairs), strict=True)):
        assert lower[c] == pytest.approx(float(min(of_class)), rel=1e-15, abs=1e-300)
        assert upper[c] == pytest.approx(float(max(of_class)), rel=1e-15, abs=1e-300)


@given(vector_of_pairs)
def test_the_box_has_its_ends_in_order_and_is_never_missing(pairs):
    lower, upper = box(*np.transpose(pairs))
    assert (lower >= 0).all()
    assert (lower <= upper).all()
    assert (upper <= 1).all()


@given(st.lists(st.tuples(part, part).map(sorted), min_size=1))
def test_the_box_of_two_classes_is_their_pair(pairs):
    p0, p1 = np.transpose(pairs)
    lower, upper = box(np.stack((1 - p1, p0), -1), np.stack((1 - p0, p1), -1))
    np.testing.assert_allclose(lower[:, 1], p0, rtol=4e-16, atol=1e-16)
    np.testing.assert_allclose(upper[:, 1], p1, rtol=4e-16, atol=1e-16)


def test_a_box_in_which_all_parts_may_be_0_says_nothing():
    lower, upper = box(np.zeros((1, 3)), np.zeros((1, 3)))
    assert lower.tolist() == [[0, 0, 0]]
    assert upper.tolist() == [[1, 1, 1]]


def test_a_row_alone_has_the_box_that_it_has_among_others():
    pairs = np.sort(np.random.default_rng(0).uniform(size=(50, 26, 2)), axis=-1)
    together = np.stack(box(pairs[..., 0], pairs[..., 1]), axis=-1)
    for row, own in zip(pairs, together, strict=True):
        assert (np.stack(box(row[:, 0].copy(), row[:, 1].copy()), -1) == own).all()


# --- K rules read and merged at once ---


@pytest.fixture(scope="module")
def rules_and_scores():
    rng = np.random.default_rng(2)
    rules = [abers.fit_rule(*kinds.normal(rng, 3_000)) for _ in range(7)]
    scores = [kinds.normal(rng, 5_001)[0] for _ in rules]
    return rules, scores


@pytest.mark.parametrize("loss", ["log", "brier"])
@pytest.mark.parametrize("k", [1, 2, 7])
def test_merging_rules_gives_the_bits_of_merging_their_bounds(
    rules_and_scores, k, loss
):
    rules, scores = (each[:k] for each in rules_and_scores)
    bounds = [rule.bounds(s) for rule, s in zip(rules, scores, strict=True)]
    merged = merge_rules(rules, scores, loss)
    assert (merged == abers.rules.merge_folds(bounds, loss)).all()


def test_one_rule_merged_is_its_probability(rules_and_scores):
    rule, scores = (each[0] for each in rules_and_scores)
    assert (merge_rules([rule], [scores]) == rule.probability(scores)).all()


def test_missing_score_of_a_fold_is_refused(rules_and_scores):
    rules, scores = rules_and_scores
    bad = [*scores[:6], np.where(np.arange(5_001) == 4_000, np.nan, scores[6])]
    with pytest.raises(abers.AbersError, match="1 of 5001 rows, first at row 4000"):
        merge_rules(rules, bad)


def test_every_fold_scores_the_same_objects(rules_and_scores):
    rules, scores = rules_and_scores
    with pytest.raises(abers.AbersError, match="equally long"):
        merge_rules(rules, [*scores[:6], scores[6][:-1]])
    with pytest.raises(abers.AbersError, match="got 6 scores and 7 rules"):
        merge_rules(rules, scores[:6])
