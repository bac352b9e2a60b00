"""Tests of a rule on recent rows: each test, its limit and its noise."""

import json
from dataclasses import asdict

import numpy as np
import pytest

import abers
from abers import evaluation
from abers.evaluation.check import check
from abers.evaluation.evaluate import evaluate


def drawn(size, seed, power=1.5):
    rng = np.random.default_rng(seed)
    scores = rng.random(size)
    return scores, rng.random(size) < scores**power


@pytest.fixture(scope="module")
def rule():
    return abers.fit_rule(*drawn(4_000, 0))


def results(found):
    return {test.name: test.result for test in found.findings}


def by_name(found):
    return {test.name: test for test in found.findings}


def test_a_rule_passes_for_rows_of_its_source(rule):
    found = check(rule, *drawn(3_000, 1), max_ece=0.03)
    assert found.passed
    assert set(results(found).values()) == {"pass"}
    assert [test.name for test in found.findings] == [
        *("psi", "ece", "mean", "spiegelhalter", "auc", "band")
    ]


def test_numbers_are_those_of_the_library(rule):
    scores, labels = drawn(3_000, 1)
    tests = by_name(check(rule, scores, labels))
    found = evaluate(rule, scores, labels)
    index = evaluation.population_stability_index(rule.score_quantiles, scores)
    assert tests["psi"].value == found.drift == index
    assert tests["psi"].noise_level == found.drift_noise
    assert tests["ece"].value == found.after.calibration_error
    assert tests["auc"].value == found.auc
    assert tests["spiegelhalter"].value > found.after.test.p_value


def test_every_test_fails_where_it_should(rule):
    scores, labels = drawn(3_000, 1)
    assert results(check(rule, scores**2, labels))["psi"] == "fail"
    wrong = results(check(rule, *drawn(3_000, 2, power=4)))
    assert wrong.pop("psi") == wrong.pop("auc") == "pass"
    assert set(wrong.values()) == {"fail"}
    inverted = check(rule, 1 - scores, labels)
    assert results(inverted)["auc"] == "fail"
    assert not inverted.passed


def test_a_change_of_all_odds_is_seen_by_the_mean():
    """Of which Spiegelhalter's test sees nothing at a base rate of one half."""
    rng = np.random.default_rng(7)
    margins = rng.normal(size=22_000)
    odds = np.exp(margins) * np.where(np.arange(22_000) < 20_000, 1, 1.4)
    labels = rng.random(22_000) < odds / (1 + odds)
    rule = abers.fit_rule(margins[:20_000], labels[:20_000])
    found = check(rule, margins[20_000:], labels[20_000:])
    assert results(found)["mean"] == "fail"
    assert results(found)["spiegelhalter"] == "pass"
    assert found.observed_rate == labels[20_000:].mean()
    expected = rule.probability(margins[20_000:]).mean()
    assert found.mean_prediction == pytest.approx(expected)


def test_a_rule_that_falls_is_checked_by_its_own_direction():
    scores, labels = drawn(2_000, 0)
    falling = abers.fit_rule(-scores, labels, increasing=False)
    rising = check(abers.fit_rule(scores, labels), *drawn(2_000, 1), max_ece=0.05)
    fresh = drawn(2_000, 1)
    found = check(falling, -fresh[0], fresh[1], max_ece=0.05)
    assert results(found) == results(rising)
    assert found.passed
    assert by_name(found)["auc"].value == pytest.approx(by_name(rising)["auc"].value)


def test_a_rule_is_not_blamed_for_the_scatter_of_its_own_rows():
    """Ten times as many recent rows find any rule out; that is no news of them."""
    failed, plain = 0, 0
    for seed in range(8):
        rule = abers.fit_rule(*drawn(300, 100 + seed))
        scores, labels = drawn(3_000, 200 + seed)
        failed += not check(rule, scores, labels, max_ece=0.1).passed
        test = evaluation.spiegelhalter_test(labels, rule.probability(scores))
        plain += test.p_value < 0.01
    assert plain >= 4
    assert failed <= 1


def test_noise_adds_no_more_to_the_error_than_its_level(rule):
    """Labels drawn by the rule's own probabilities."""
    scores, _ = drawn(800, 3)
    p = rule.probability(scores)
    rng = np.random.default_rng(4)
    shown = by_name(check(rule, scores, rng.random(800) < p, alpha=0.05))["ece"]
    found = [
        evaluation.expected_calibration_error(rng.random(800) < p, p)
        for _ in range(400)
    ]
    beyond = np.mean(np.array(found) > shown.noise_level)
    assert 0.02 < beyond < 0.09


def test_without_labels_only_the_scores_are_checked(rule):
    scores, _ = drawn(1_000, 1)
    found = check(rule, scores)
    assert (found.n_rows, found.n_positives, results(found)) == (
        *(1_000, None),
        {"psi": "pass"},
    )
    assert not check(rule, scores**2).passed


def test_inconclusive_tests_do_not_fail(rule):
    for size in (1, 2, 8):
        found = check(rule, *drawn(size, 5))
        assert found.passed
        assert set(results(found).values()) == {"inconclusive"}
    ones = check(rule, [0.9] * 40, [1] * 40, max_psi=100)
    assert results(ones)["auc"] == "inconclusive"
    assert "positive" in by_name(check(rule, [0.01] * 9, [0] * 9))["band"].reason


def test_weights_count_rows_but_have_no_band(rule):
    scores, labels = drawn(2_000, 1)
    weights = np.random.default_rng(6).integers(0, 3, 2_000)
    found = check(rule, scores, labels, sample_weight=weights)
    assert found.n_rows == np.count_nonzero(weights)
    assert by_name(found)["band"].reason == "rows have weights"
    index = evaluation.population_stability_index(
        rule.score_quantiles, scores, sample_weight=weights
    )
    assert by_name(found)["psi"].value == index
    ones = check(rule, scores, labels, sample_weight=np.ones(2_000))
    plain = check(rule, scores, labels)
    assert by_name(ones)["ece"] == by_name(plain)["ece"]


def test_rules_for_groups_are_checked_within_their_groups():
    scores, labels = drawn(4_000, 0)
    groups = np.array(["a", "b"])[(np.arange(4_000) % 2)]
    labels = np.where(groups == "b", ~labels[::-1] & labels, labels)
    rule_set = abers.fit_rules(scores[:2_000], labels[:2_000], groups[:2_000])
    fresh = scores[2_000:], labels[2_000:]
    found = check(rule_set, *fresh, groups=groups[2_000:], max_ece=0.04)
    assert found.passed
    swapped = np.where(groups == "a", "b", "a")[2_000:]
    assert not check(rule_set, *fresh, groups=swapped).passed
    assert check(rule_set, scores[2_000:]).n_positives is None


def test_rows_of_the_fit_are_noticed(rule):
    assert check(rule, *drawn(4_000, 0)).in_sample
    assert not check(rule, *drawn(4_000, 1)).in_sample


def test_a_check_is_plain_data(rule):
    found = check(rule, *drawn(500, 1))
    plain = found.to_dict()
    json.dumps(plain, allow_nan=False)
    assert plain["passed"] == found.passed
    assert plain["findings"][1] == asdict(found.findings[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_psi": 0}, "max_psi must be above 0"),
        ({"alpha": 1}, "alpha must be above 0 and below 1; got 1"),
        ({"labels": [0]}, "labels and scores must be equally long"),
        ({"labels": [0, 2]}, "labels must be 0 or 1"),
        ({"loss": "hinge", "labels": [0, 1]}, "loss must be"),
        ({"sample_weight": [0, 0]}, "must not all be zero"),
    ],
)
def test_what_cannot_be_checked_is_refused(rule, options, message):
    with pytest.raises(abers.AbersError, match=message):
        check(rule, [0.1, 0.2], **options)
    with pytest.raises(abers.AbersError, match="must be a Rule or a RuleSet"):
        check("rule", [0.1])
