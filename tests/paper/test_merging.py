"""Section 4 and Algorithm 7: from pairs of bounds to one probability."""

import decimal
import math
from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from abers import reference

calibration_sets = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 1)), min_size=1, max_size=9
)


@st.composite
def bounds(draw):
    """The prediction of an IVAP."""
    scores, labels = zip(*draw(calibration_sets), strict=True)
    return reference.predict(scores, labels, draw(st.integers(-1, 13)) / 2)


folds = st.lists(bounds(), min_size=1, max_size=6)


def extra_brier_losses(p, folds):
    """The extra Brier loss over the correct bounds if the label is 1, and if 0."""
    if_one = sum((1 - p) ** 2 - (1 - p1) ** 2 for _, p1 in folds)
    if_zero = sum(p**2 - p0**2 for p0, _ in folds)
    return if_one, if_zero


def extra_log_losses(p, folds):
    """The extra log loss over the correct bounds if the label is 1, and if 0."""
    if_one = sum(math.log(p1 / p) for _, p1 in folds)
    if_zero = sum(math.log((1 - p0) / (1 - p)) for p0, _ in folds)
    return if_one, if_zero


@settings(deadline=None)
@given(folds)
def test_brier_merging_equalises_the_extra_losses(folds):
    """Section 4, the linear equation in p, solved exactly."""
    if_one, if_zero = extra_brier_losses(reference.merge_folds_brier(folds), folds)
    assert if_one == if_zero


@settings(deadline=None)
@given(folds, st.fractions(0, 1))
def test_no_other_probability_has_a_smaller_worst_brier_loss(folds, other):
    """Section 4: equal extra losses, one falling and one rising in p, are minimax."""
    best = max(extra_brier_losses(reference.merge_folds_brier(folds), folds))
    assert best <= max(extra_brier_losses(other, folds))


@settings(deadline=None)
@given(bounds())
def test_log_minimax_equalises_the_extra_losses(bounds):
    """Section 4, K = 1: log(p1/p) = log((1-p0)/(1-p)), without the logarithms."""
    p0, p1 = bounds
    p = reference.log_minimax(p0, p1)
    assert p1 * (1 - p) == (1 - p0) * p
    assert reference.merge_folds([bounds]) == float(p)


@settings(deadline=None)
@given(folds)
def test_log_merging_equalises_the_extra_losses(folds):
    """Section 4, the two extra cumulative losses for K folds."""
    if_one, if_zero = extra_log_losses(reference.merge_folds(folds), folds)
    assert if_one == pytest.approx(if_zero, abs=1e-14 * len(folds))


@settings(deadline=None)
@given(folds, st.floats(0.01, 0.99))
def test_no_other_probability_has_a_smaller_worst_log_loss(folds, other):
    """Section 4: equal extra losses, one falling and one rising in p, are minimax."""
    best = max(extra_log_losses(reference.merge_folds(folds), folds))
    assert best <= max(extra_log_losses(other, folds)) + 1e-14 * len(folds)


@settings(deadline=None)
@given(folds)
def test_geometric_means_give_the_narrower_pair(folds):
    """Section 4, remark: inside the arithmetic means, compared as Kth powers."""
    count = len(folds)
    mean0 = sum(p0 for p0, _ in folds) / count
    mean1 = sum(p1 for _, p1 in folds) / count
    assert math.prod(1 - p0 for p0, _ in folds) <= (1 - mean0) ** count
    assert math.prod(p1 for _, p1 in folds) <= mean1**count


def fold_pair(folds):
    """The pair (1 - GM(1-p0), GM(p1)) of the remark in Section 4."""
    with decimal.localcontext(prec=60):
        lower = 1 - reference.geometric_mean([1 - p0 for p0, _ in folds])
        upper = reference.geometric_mean([p1 for _, p1 in folds])
        return float(lower), float(upper)


def test_fold_pair_is_reversed_when_the_folds_disagree():
    """Section 4, remark: it is "formally, a pair of numbers", and no interval."""
    # Nine tied zeros, and nine ties with eight ones: two IVAPs at the tied score.
    folds = [
        reference.predict([1] * 9, [0] * 9, 1),
        reference.predict([1] * 9, [0] + [1] * 8, 1),
    ]
    assert folds == [(0, Fraction(1, 10)), (Fraction(8, 10), Fraction(9, 10))]
    assert fold_pair(folds) == pytest.approx((0.553, 0.300), abs=5e-4)


@settings(deadline=None)
@given(folds)
def test_log_merged_probability_lies_between_the_fold_pair(folds):
    """Section 4: between 1 - GM(1-p0) and GM(p1), in whichever order they come."""
    low, high = sorted(fold_pair(folds))
    assert low <= reference.merge_folds(folds) <= high


def test_brier_merged_probability_may_lie_outside_the_fold_pair():
    """Section 4: the pair belongs to the log loss; here it is (0, 1/5)."""
    folds = [(Fraction(0), Fraction(1, 25)), (Fraction(0), Fraction(1))]
    assert fold_pair(folds) == (0.0, 0.2)
    assert reference.merge_folds_brier(folds) > Fraction(1, 4)


WITHIN = {"log": reference.log_minimax, "brier": reference.brier_minimax}
ACROSS = {"log": reference.merge_folds, "brier": reference.merge_folds_brier}


def merged_in_two_steps(folds, within, across):
    """One probability for each fold first, by one loss, then one of all, by another."""
    each = [WITHIN[within](*fold) for fold in folds]
    return ACROSS[across]([(p, p) for p in each])


@pytest.mark.parametrize("loss", ACROSS)
@given(folds)
def test_merging_in_two_steps_with_one_loss_is_merging_at_once(loss, folds):
    """Section 4: with p_k for both bounds, p_k / (1 - p_k) is p1 / (1 - p0) again."""
    assert merged_in_two_steps(folds, loss, loss) == ACROSS[loss](folds)


@given(folds)
def test_second_step_by_the_brier_loss_is_the_arithmetic_mean(folds):
    """Section 4: "it reduces to arithmetic mean when p0 = p1"."""
    mean = sum(reference.log_minimax(*fold) for fold in folds) / len(folds)
    assert merged_in_two_steps(folds, "log", "brier") == mean


@pytest.mark.parametrize(
    ("within", "across", "probability"),
    [
        ("log", "log", 0.4015),
        ("log", "brier", 0.4545),
        ("brier", "log", 0.4048),
        ("brier", "brier", 0.4550),
    ],
)
def test_merging_in_two_steps_with_two_losses_is_another_rule(
    within, across, probability
):
    """Section 4: all four differ for the folds (0, 1/10) and (8/10, 9/10)."""
    folds = [(Fraction(0), Fraction(1, 10)), (Fraction(8, 10), Fraction(9, 10))]
    merged = float(merged_in_two_steps(folds, within, across))
    assert merged == pytest.approx(probability, abs=5e-5)
