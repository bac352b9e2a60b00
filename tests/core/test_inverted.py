"""Scores that run against the labels are warned of, once a fit; noise hardly ever."""

import warnings
from itertools import accumulate
from math import comb

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

import abers
from abers.core.auc import (
    mann_whitney,
    mann_whitney_of_classes,
    mann_whitney_of_diagram,
    summed,
)
from abers.core.diagram import sorted_classes
from abers.core.effective_sizes import effective_sizes
from abers.core.fit import fitted_rule
from abers.core.inverted import FALSE_ALARMS, inverted, may_be_inverted
from abers.errors import InvertedScoresWarning

RNG = np.random.default_rng(0)
LABELS = RNG.random(2_000) < 0.3
SCORES = LABELS + RNG.standard_normal(2_000)
RISING_ADVICE = (
    "The score is inverted (AUC {}): higher scores go with fewer positives. Fit with "
    "increasing=False (command line: --descending), or negate the score."
)
FALLING_ADVICE = (
    "The score is inverted for a decreasing rule (AUC {}): higher scores go with more "
    "positives. Fit without increasing=False (command line: --descending)."
)


def only_warning(fit, *args, **options):
    """Return the text of the one warning that a fit gives, here."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        fit(*args, **options)
    assert [each.category for each in raised] == [InvertedScoresWarning]
    assert raised[0].filename == __file__
    return str(raised[0].message)


def of_rows(scores, labels):
    return mann_whitney_of_classes(sorted_classes(np.asarray(scores, float), labels))


@pytest.mark.parametrize("n", [20, 100, 1_000, 10_000, 100_000])
def test_perfectly_inverted_scores_are_warned_of_from_20_rows(n):
    labels = np.arange(n) < n // 2
    warning = only_warning(abers.fit_rule, np.arange(n), labels)
    assert warning == RISING_ADVICE.format("0.000")
    warning = only_warning(abers.fit_rule, -np.arange(n), labels, increasing=False)
    assert warning == FALLING_ADVICE.format("1.000")


@pytest.mark.parametrize("decimals", [None, 1, 0])
@pytest.mark.parametrize("rate", [0.5, 0.05, 0.01])
def test_inverted_scores_are_warned_of_with_ties_and_rare_labels(rate, decimals):
    rng = np.random.default_rng(1)
    labels = rng.random(10_000) < rate
    scores = rng.standard_normal(10_000) - labels
    scores = scores if decimals is None else scores.round(decimals)
    assert "is inverted" in only_warning(abers.fit_rule, scores, labels)
    abers.fit_rule(scores, labels, increasing=False)
    assert "increasing" in only_warning(
        abers.fit_rule, -scores, labels, increasing=False
    )


def test_rows_with_one_score_hide_no_inversion():
    """All percentiles are equal, and ten rows of ten thousand have another score."""
    labels = np.arange(10_000) < 10
    assert "AUC 0.000" in only_warning(abers.fit_rule, ~labels, labels)


def test_integer_weights_are_numbers_of_rows():
    scores, labels, rows = [1, 2, 1, 2], [0, 0, 1, 1], [20, 80, 80, 20]
    warning = only_warning(abers.fit_rule, scores, labels, sample_weight=rows)
    assert warning == RISING_ADVICE.format("0.200")
    repeated = (np.repeat(column, rows) for column in (scores, labels))
    assert only_warning(abers.fit_rule, *repeated) == warning
    diagram = abers.rules.Diagram.from_counts([1, 2], [100, 100], [80, 20])
    assert only_warning(abers.rules.fit_rule_from_diagram, diagram) == warning


def test_real_weights_count_by_their_effective_number():
    """Two rows of each label outweigh all others, and are too few to tell."""
    weights = np.full(2_000, 0.7)
    warning = only_warning(abers.fit_rule, -SCORES, LABELS, sample_weight=weights)
    assert warning == only_warning(abers.fit_rule, -SCORES, LABELS)
    weights[[*np.flatnonzero(LABELS)[:2], *np.flatnonzero(~LABELS)[:2]]] = 1e6
    abers.fit_rule(-SCORES, LABELS, sample_weight=weights)
    zeros, ones = effective_sizes(LABELS, weights)
    assert zeros == pytest.approx(2, rel=0.01)
    assert ones == pytest.approx(2, rel=0.01)


def test_one_heavy_row_is_no_inversion():
    """A single zero outweighs all, and has the highest score."""
    weights, scores = np.full(2_000, 0.7), SCORES.copy()
    row = np.flatnonzero(~LABELS)[0]
    weights[row], scores[row] = 1e9, 99
    abers.fit_rule(scores, LABELS, sample_weight=weights)


def test_a_diagram_of_real_weights_is_not_tested():
    """It does not tell how many rows there were."""
    diagram = abers.rules.Diagram.from_rows(
        -SCORES, LABELS, sample_weight=np.full(2_000, 0.7)
    )
    assert mann_whitney_of_diagram(diagram) is None
    abers.rules.fit_rule_from_diagram(diagram)


def test_one_label_cannot_be_inverted():
    for labels in ([0, 0], [1, 1]):
        _, test = fitted_rule([1, 2], labels)
        assert test.p_value(increasing=True) == test.p_value(increasing=False) == 1


def test_counts_and_rows_give_one_test():
    """A tie counts half: of 4 pairs, (2, 1) is wrong, (2, 2) half, two are right."""
    scores, labels = [1, 2, 1, 2, 2], [0, 0, 1, 1, 1]
    test = of_rows([2, 0, 1, 2], [0, 0, 1, 1])
    assert test == mann_whitney(2.5, 2, 2)
    assert test.auc == 2.5 / 4
    assert test.variance == 4 * 5 / 12
    diagram = abers.rules.Diagram.from_rows(scores, labels)
    assert mann_whitney_of_diagram(diagram) == of_rows(scores, labels)


def test_a_rule_that_increases_is_not_tested():
    assert fitted_rule(SCORES, LABELS)[1] is None
    assert fitted_rule(-SCORES, LABELS)[1] is not None
    assert may_be_inverted(112, 100, 100)  # 96 + 8 * 200 / 100
    assert not may_be_inverted(113, 100, 100)


def test_inverted_groups_are_warned_of_together():
    groups = np.where(np.arange(2_000) % 2, "a", "b")
    own = [of_rows(-SCORES[rows::2], LABELS[rows::2]) for rows in (0, 1)]
    warning = only_warning(abers.fit_rules, -SCORES, LABELS, groups)
    assert warning == RISING_ADVICE.format(f"{summed(own).auc:.3f}")
    weights = np.full(2_000, 0.7)
    options = {"sample_weight": weights}
    assert only_warning(abers.fit_rules, -SCORES, LABELS, groups, **options) == warning


def test_one_inverted_group_is_named():
    groups = np.where(np.arange(2_000) < 300, "a", "b")
    mixed = np.where(groups == "a", -SCORES, SCORES)
    warning = only_warning(abers.fit_rules, mixed, LABELS, groups)
    auc = of_rows(mixed[:300], LABELS[:300]).auc
    assert warning == (
        f"The score is inverted in group 'a' (AUC {auc:.3f}), of 2 groups with a rule: "
        "higher scores go with fewer positives there. Negate the score in such groups."
    )


def test_groups_too_small_for_a_rule_are_tested_together():
    groups = np.arange(2_000) // 20
    warning = only_warning(abers.fit_rules, -SCORES, LABELS, groups)
    assert "The score is inverted (AUC" in warning


def test_groups_of_different_rates_are_not_taken_for_an_inversion():
    """Within either group the score tells nothing; over both together it decreases."""
    labels = np.concatenate([RNG.random(1_000) < 0.9, RNG.random(1_000) < 0.1])
    high = np.arange(2_000) >= 1_000
    scores = RNG.random(2_000) + high
    abers.fit_rules(scores, labels, np.where(high, "high", "low"))
    assert "is inverted" in only_warning(abers.fit_rule, scores, labels)


@pytest.mark.parametrize("weights", [None, np.full(2_000, 0.7)])
def test_an_inverted_pooled_rule_is_warned_of_once(weights):
    folds = np.arange(2_000) % 5
    tests = [of_rows(-SCORES[folds == k], LABELS[folds == k]) for k in range(5)]
    auc = sum(test.in_order for test in tests) / sum(test.pairs for test in tests)
    options = {"sample_weight": weights}
    warning = only_warning(
        abers.rules.fit_pooled_rule, -SCORES, LABELS, folds, **options
    )
    assert warning == RISING_ADVICE.format(f"{auc:.3f}")
    abers.rules.fit_pooled_rule(-SCORES, LABELS, folds, increasing=False, **options)
    # Scores of different folds need not be comparable.
    abers.rules.fit_pooled_rule(SCORES - 10 * folds, LABELS, folds, **options)


def test_warnings_as_errors_leave_all_as_it_was():
    diagram = abers.rules.Diagram.from_rows(-SCORES, LABELS)
    before = diagram.positives.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvertedScoresWarning):
            abers.rules.fit_rule_from_diagram(diagram)
    np.testing.assert_array_equal(diagram.positives, before)
    with pytest.warns(InvertedScoresWarning):
        rule = abers.fit_rule(-SCORES, LABELS)
    assert rule == fitted_rule(-SCORES, LABELS)[0]


def test_many_rules_of_one_fit_share_the_level():
    test = of_rows([1] * 80 + [2] * 80, [1] * 54 + [0] * 26 + [0] * 54 + [1] * 26)
    p = test.p_value(increasing=True)
    assert FALSE_ALARMS / 1_000 < p < FALSE_ALARMS / 2
    assert inverted(dict.fromkeys(range(2), test), increasing=True)
    assert not inverted(dict.fromkeys(range(1_000), test), increasing=True)
    others = dict.fromkeys(range(999))  # they count, though they need no test
    assert not inverted(others | {"": test}, increasing=True)
    assert not inverted({"": test}, increasing=False)


@pytest.mark.parametrize("n", [30, 300])
def test_without_ties_the_p_value_is_that_of_scipy(n):
    """The asymptotic one, with continuity."""
    rng = np.random.default_rng(n)
    labels = np.arange(n) % 3 == 0
    scores = rng.standard_normal(n) - labels
    expected = mannwhitneyu(
        scores[labels], scores[~labels], alternative="less", method="asymptotic"
    )
    test = of_rows(scores, labels)
    assert test.auc == pytest.approx(expected.statistic / test.pairs)
    assert test.p_value(increasing=True) == pytest.approx(expected.pvalue)


def null_distribution(counts, ones):
    """Return each shift of the doubled rank sum, and the chance of that or less."""
    total = sum(counts)
    ways = {(0, 0): 1}
    below = 0
    for count in counts:
        rank = 2 * below + count - total
        added = {}
        for (taken, shift), number in ways.items():
            for more in range(min(count, ones - taken) + 1):
                key = taken + more, shift + more * rank
                added[key] = added.get(key, 0) + number * comb(count, more)
        ways, below = added, below + count
    distribution = sorted(
        (s, number) for (taken, s), number in ways.items() if taken == ones
    )
    chances = accumulate(number for _, number in distribution)
    return [s for s, _ in distribution], [c / comb(total, ones) for c in chances]


@pytest.mark.parametrize("level", [1e-3, 1e-4, 1e-6])
@pytest.mark.parametrize(
    ("counts", "ones"),
    [
        ([1] * 14, 7),
        ([1] * 16, 4),
        ([50, 50], 50),
        ([56, 44], 54),
        ([324, 676], 142),
        ([1, 999], 7),
        ([10, 990], 10),
        ([990, 10], 990),
        ([6, 50, 7], 55),
        ([7, 274, 5], 282),
        ([22, 1, 3], 20),
        ([8, 7, 5, 6, 5], 15),
    ],
)
def test_no_more_false_alarms_than_promised(counts, ones, level):
    """All ways to deal the labels are counted."""
    zeros = sum(counts) - ones
    for shift, chance in zip(*null_distribution(counts, ones), strict=True):
        test = mann_whitney(zeros * ones / 2 + shift / 2, zeros, ones)
        assert test.p_value(increasing=True) >= level or chance <= level


def test_scores_that_tell_nothing_are_hardly_ever_warned_of():
    """One fit in a thousand, at most; benchmarks/INVERTED.md has more."""
    rng = np.random.default_rng(1)
    alarms = 0
    for _ in range(500):
        rows, rate = rng.integers(10, 300), rng.uniform(0.02, 0.98)
        scores = rng.integers(0, rng.integers(1, 2 * rows), rows)
        _, test = fitted_rule(scores, rng.random(rows) < rate)
        alarms += len(inverted({"": test}, increasing=True))
    assert alarms <= 2
