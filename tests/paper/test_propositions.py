"""Proposition 1 and Lemma 2: validity and range, by exact enumeration."""

from collections import defaultdict
from fractions import Fraction
from itertools import combinations, permutations, product

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import abers
from abers import reference

THIRD = Fraction(1, 3)


def tied_scores(size):
    """All ways in which `size` sorted scores can tie, as ranks 1, 2, …"""
    for rises in product((0, 1), repeat=size - 1):
        yield tuple(1 + sum(rises[:i]) for i in range(size))


def placements(scores):
    """Test scores on every key, between the keys and outside them."""
    return [half / 2 for half in range(1, 2 * max(scores) + 2)]


def average_label_per_level(outcomes):
    """E(Y | P_Y) from equally likely or weighted outcomes (P_Y, Y, probability)."""
    total, positive = defaultdict(Fraction), defaultdict(Fraction)
    for level, label, probability in outcomes:
        total[level] += probability
        positive[level] += probability * label
    return {level: positive[level] / total[level] for level in total}


def selected_by_reference(calibration, test):
    """P_Y: the bound that the true label of the test observation selects."""
    scores, labels = zip(*calibration, strict=True)
    return reference.predict(scores, labels, test[0])[test[1]]


def selected_by_library(calibration, test):
    """P_Y of `fit_rule`, a float."""
    scores, labels = np.array(calibration, dtype=float).T
    return abers.fit_rule(scores, labels).bounds(np.array([float(test[0])]))[0, test[1]]


@pytest.mark.parametrize("scores", list(tied_scores(4)), ids=str)
def test_selected_bound_is_calibrated_over_all_permutations(scores):
    """Proposition 1 with S := Y, conditionally on the multiset as in its proof."""
    for labels in product((0, 1), repeat=4):
        outcomes = [
            (selected_by_reference(calibration, test), test[1], 1)
            for *calibration, test in permutations(zip(scores, labels, strict=True))
        ]
        averages = average_label_per_level(outcomes)
        assert all(level == average for level, average in averages.items())


observations = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 1)), min_size=2, max_size=16
)


def swaps(bag):
    """Every choice of the test observation; the order of the others does not count."""
    return [(bag[:i] + bag[i + 1 :], test) for i, test in enumerate(bag)]


@settings(deadline=None)
@given(observations)
def test_selected_bound_is_calibrated_whichever_observation_is_the_test(bag):
    """Proposition 1 with S := Y, larger sets with ties."""
    averages = average_label_per_level(
        (selected_by_reference(rest, test), test[1], 1) for rest, test in swaps(bag)
    )
    assert all(level == average for level, average in averages.items())


@settings(deadline=None)
@given(observations)
def test_selected_bound_of_a_fitted_rule_is_calibrated(bag):
    """Proposition 1 for the library: each level is the average rounded to a float."""
    averages = average_label_per_level(
        (selected_by_library(rest, test), test[1], 1) for rest, test in swaps(bag)
    )
    assert all(level == float(average) for level, average in averages.items())


def test_selected_bound_is_not_calibrated_for_one_fixed_calibration_set():
    """Proposition 1 averages over calibration sets; with 0, 0, 1 it fails at 1/3."""
    calibration = [(1, 0), (2, 0), (3, 1)]
    labels_at_one_third = {
        label
        for s, label in product(placements([1, 2, 3]), (0, 1))
        if selected_by_reference(calibration, (s, label)) == THIRD
    }
    assert labels_at_one_third == {1}


def random_halves(training, _labels):
    """Two of the four training observations, all pairs equally likely."""
    return [(pair, Fraction(1, 6)) for pair in combinations(training, 2)]


def stratified_halves(training, labels):
    """Half of either class; of an odd class, the half rounded down or up by a coin."""
    positives = [i for i in training if labels[i] == 1]
    negatives = [i for i in training if labels[i] == 0]
    shares = {len(positives) // 2, (len(positives) + 1) // 2}
    for share in shares:
        pairs = [
            chosen + others
            for chosen in combinations(positives, share)
            for others in combinations(negatives, 2 - share)
        ]
        yield from ((pair, Fraction(1, len(pairs) * len(shares))) for pair in pairs)


def averages_under(split):
    """E(Y | P_Y) for fair labels that do not depend on the five distinct scores.

    Four observations train, two of which `split` chooses for calibration; the fifth,
    any of them, is the test.
    """
    outcomes = []
    for labels in product((0, 1), repeat=5):
        for test in range(5):
            training = [i for i in range(5) if i != test]
            for chosen, probability in split(training, labels):
                calibration = [(i, labels[i]) for i in chosen]
                level = selected_by_reference(calibration, (test, labels[test]))
                outcomes.append((level, labels[test], probability))
    return average_label_per_level(outcomes)


def test_random_split_keeps_the_selected_bound_calibrated():
    """Proposition 1: the calibration set may be any random part of the training set."""
    averages = averages_under(random_halves)
    assert THIRD in averages
    assert all(level == average for level, average in averages.items())


def test_stratified_split_breaks_calibration():
    """Proposition 1 needs exchangeability: stratified, the level 1/3 is 3/13."""
    assert averages_under(stratified_halves)[THIRD] == Fraction(3, 13)


def all_predictions(largest):
    """Labels and bounds for every labelling, tie and placement of k <= `largest`."""
    for size in range(1, largest + 1):
        for scores in tied_scores(size):
            for labels in product((0, 1), repeat=size):
                diagram = reference.Diagram.from_rows(scores, labels)
                tree = reference.tree(diagram)
                for s in placements(scores):
                    yield labels, reference.search(tree, s)


PREDICTIONS = list(all_predictions(5))


def test_lower_bound_is_below_the_upper_by_at_least_one_in_k_plus_one():
    """Section 2: p0 < p1 always; the width is the sharper, exact statement."""
    widths = [(p1 - p0) * (len(labels) + 1) for labels, (p0, p1) in PREDICTIONS]
    assert min(widths) == 1


def test_bounds_leave_room_for_the_other_label():
    """Lemma 2, with k- the observations labelled 0 and k+ those labelled 1."""
    for size in range(1, 8):
        scores = range(1, size + 1)
        for labels in product((0, 1), repeat=size):
            negatives, positives = labels.count(0), labels.count(1)
            diagram = reference.Diagram.from_rows(scores, labels)
            tree = reference.tree(diagram)
            for p0, p1 in (reference.search(tree, s) for s in placements(scores)):
                assert p1 >= Fraction(1, negatives + 1)
                assert p0 <= 1 - Fraction(1, positives + 1)


def test_log_minimax_stays_in_the_closed_range_of_platt():
    """Lemma 2, second statement, with ties."""
    for labels, bounds in PREDICTIONS:
        p = reference.log_minimax(*bounds)
        assert Fraction(1, labels.count(0) + 2) <= p
        assert p <= 1 - Fraction(1, labels.count(1) + 2)


@pytest.mark.parametrize("size", range(1, 8))
def test_ends_of_the_range_are_attained(size):
    """After Lemma 2: the end-points can be attained in the case of IVAPs."""
    scores = range(size)
    left = reference.predict(scores, [0] * size, -1)
    right = reference.predict(scores, [1] * size, size)
    assert reference.log_minimax(*left) == Fraction(1, size + 2)
    assert reference.log_minimax(*right) == 1 - Fraction(1, size + 2)


def test_lemma_2_as_printed_swaps_positive_and_negative():
    """Lemma 2 calls k- the positive observations: 0, 0, 0 then asks for p1 >= 1."""
    labels = (0, 0, 0)
    _, p1 = reference.predict((1, 2, 3), labels, 1)
    positives, negatives = labels.count(1), labels.count(0)
    assert p1 < Fraction(1, positives + 1)
    assert p1 == Fraction(1, negatives + 1)


def test_cross_prediction_stays_in_the_range_of_its_largest_calibration_set():
    """Lemma 2, third statement: every pair of folds of two and three observations."""
    two = {bounds for labels, bounds in PREDICTIONS if len(labels) == 2}
    three = {bounds for labels, bounds in PREDICTIONS if len(labels) == 3}
    merged = [reference.merge_folds(folds) for folds in product(two, three)]
    assert min(merged) >= float(Fraction(1, 5))
    assert max(merged) <= float(Fraction(4, 5))


def test_range_follows_the_calibration_set_not_the_fold():
    """Lemma 2 says "largest fold"; with swapped pairs its k is the rest of the data."""
    # Four zeros in folds of one, each fold training and the other three calibrating.
    swapped = [((1, 2, 3), (0, 0, 0), 0)] * 4
    p = reference.cross_predict(swapped)
    assert p == float(Fraction(1, 3 + 2))
    assert p < float(Fraction(1, 1 + 2))
