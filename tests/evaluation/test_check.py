"""Tests of a rule on recent rows: their level, groups, limits and sizes."""

import json
import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import abers
from abers import evaluation
from abers.errors import InvalidParameter
from abers.evaluation.check import check
from abers.evaluation.evaluate import evaluate
from abers.storage.fingerprint import TAG, fingerprint_of


def drawn(size, seed, power=1.5):
    rng = np.random.default_rng(seed)
    scores = rng.random(size)
    return scores, rng.random(size) < scores**power


@pytest.fixture(scope="module")
def rule():
    return abers.fit_rule(*drawn(4_000, 0))


@pytest.fixture
def old_rule(rule):
    """As read from a file of version 1."""
    return rule.with_cells(None)


def results(check_result):
    return {test.name: test.result for test in check_result.findings}


def by_name(check_result):
    return {test.name: test for test in check_result.findings}


def test_a_rule_passes_for_rows_of_its_source(rule):
    result = check(rule, *drawn(3_000, 1))
    assert result.passed
    assert not result.approximate
    assert set(results(result).values()) == {"pass"}
    assert [test.name for test in result.findings] == [
        *("psi", "auc", "mean", "slope", "ece")
    ]


def test_numbers_are_those_of_the_library(rule):
    scores, labels = drawn(3_000, 1)
    tests = by_name(check(rule, scores, labels))
    evaluated = evaluate(rule, scores, labels)
    index = evaluation.population_stability_index(rule.score_quantiles, scores)
    assert tests["psi"].value == evaluated.drift.psi == index
    assert tests["psi"].noise_level == evaluated.drift.noise
    assert tests["ece"].value == evaluated.calibration.after.calibration_error
    assert tests["ece"].limit == 0.02 + tests["ece"].noise_level
    assert tests["auc"].value == evaluated.ranking.auc


def test_every_test_fails_where_it_should(rule):
    scores, labels = drawn(3_000, 1)
    assert results(check(rule, scores**2, labels))["psi"] == "fail"
    changed = results(check(rule, *drawn(3_000, 2, power=4)))
    assert changed.pop("psi") == changed.pop("auc") == "pass"
    assert set(changed.values()) == {"fail"}
    inverted = check(rule, 1 - scores, labels)
    assert results(inverted)["auc"] == "fail"
    assert not inverted.passed


def test_the_decile_that_has_changed_most_is_named(rule):
    scores, labels = drawn(5_000, 3)
    there = (scores > 0.6) & (scores < 0.7)
    labels = labels & ~(there & (np.arange(5_000) % 2 == 0))
    result = check(rule, scores, labels)
    assert by_name(result)["mean"].result == "fail"
    assert 0.55 < result.interval.low < 0.65 < result.interval.high < 0.75
    assert result.interval.rate < result.interval.calibration_rate


def test_a_rule_that_falls_is_checked_by_its_own_direction():
    scores, labels = drawn(2_000, 0)
    falling = abers.fit_rule(-scores, labels, increasing=False)
    new, outcomes = drawn(2_000, 1)
    result = check(falling, -new, outcomes)
    assert result.passed
    rising = check(abers.fit_rule(scores, labels), new, outcomes)
    assert by_name(result)["auc"].value == pytest.approx(by_name(rising)["auc"].value)
    assert not check(falling, -new, drawn(2_000, 1, power=4)[1]).passed


def test_a_rule_of_few_rows_is_not_failed_by_many():
    """A rule of 300 rows has an error of its own, which many rows are bound to see."""
    failed, plain = 0, 0
    for seed in range(20):
        rule = abers.fit_rule(*drawn(300, 100 + seed))
        scores, labels = drawn(5_000, 200 + seed)
        result = check(rule, scores, labels, alpha=0.05)
        failed += not result.passed
        assert by_name(result)["ece"].noise_level > 0.01
        test = evaluation.calibration_test(labels, rule.probability(scores))
        plain += test.p_value < 0.05
    assert plain >= 10
    assert failed <= 4  # of 20, 1 expected


def test_the_error_fails_only_with_a_test(rule):
    scores, labels = drawn(400, 5)
    tests = by_name(check(rule, scores, labels, max_ece=1e-6, alpha=1e-4))
    assert tests["ece"].value > tests["ece"].limit
    assert (tests["ece"].result, tests["ece"].reason) == (
        *("inconclusive", "no test failed"),
    )


def test_without_labels_only_the_scores_are_looked_at(rule):
    scores, _ = drawn(1_000, 1)
    result = check(rule, scores)
    assert (result.n_rows, result.n_positives, results(result)) == (
        *(1_000, None),
        {"psi": "pass"},
    )
    assert not check(rule, scores**2).passed


def test_inconclusive_tests_do_not_fail(rule):
    for size in (1, 2, 8):
        result = check(rule, *drawn(size, 5))
        assert result.passed
        assert "inconclusive" in results(result).values()
    ones = check(rule, [0.9] * 40, [1] * 40, max_psi=100)
    assert results(ones)["auc"] == "inconclusive"
    assert by_name(check(rule, [0.01] * 9, [0] * 9))["mean"].reason == (
        "only 0 positive rows"
    )


def test_weights_make_the_level_approximate(rule):
    scores, labels = drawn(2_000, 1)
    weights = np.random.default_rng(6).integers(0, 3, 2_000)
    result = check(rule, scores, labels, sample_weight=weights)
    assert result.n_rows == np.count_nonzero(weights)
    assert result.approximate
    index = evaluation.population_stability_index(
        rule.score_quantiles, scores, sample_weight=weights
    )
    assert by_name(result)["psi"].value == index
    ones = check(rule, scores, labels, sample_weight=np.ones(2_000))
    plain = check(rule, scores, labels)
    assert ones.findings == plain.findings


def test_a_weighted_rule_is_counted_by_squares():
    scores, labels = drawn(2_000, 0)
    weights = np.random.default_rng(6).exponential(size=2_000)
    weighted = abers.fit_rule(scores, labels, sample_weight=weights)
    assert check(weighted, *drawn(2_000, 1)).approximate
    assert check(weighted, *drawn(2_000, 1)).passed
    assert not check(weighted, *drawn(2_000, 1, power=4)).passed


def test_a_rule_without_counts_has_limits_and_no_tests(old_rule):
    fine = check(old_rule, *drawn(3_000, 1))
    assert fine.passed
    assert fine.untested == (
        "There are limits but no tests: the rule keeps no counts of its calibration "
        "rows."
    )
    changed = check(old_rule, *drawn(3_000, 2, power=4), max_psi=10)
    assert results(changed) == {"psi": "pass", "auc": "pass", "ece": "fail"}
    with pytest.raises(InvalidParameter, match=r"groups must be None.* no counts"):
        check(old_rule, *drawn(10, 1), groups=["a"] * 10)


@pytest.fixture(scope="module")
def mixed():
    """Two groups that are wrong in opposite ways: their mean is right."""
    rng = np.random.default_rng(9)
    scores = rng.random(6_000)
    group = np.array(["a", "b", "c", "d", "e"])[rng.integers(0, 5, 6_000)]
    rate = scores**1.5
    rate = np.where(group == "a", np.minimum(1, 2.2 * rate), rate)
    rate = np.where(group == "b", rate / 3, rate)
    return scores, rng.random(6_000) < rate, group


def test_a_group_that_is_broken_is_named_although_the_mean_is_right(rule, mixed):
    scores, labels, group = mixed
    result = check(rule, scores, labels, groups=group)
    assert not result.passed
    assert results(result)["groups"] == "fail"
    assert {g.name for g in result.groups if g.result == "fail"} == {"a", "b"}
    assert {g.name for g in result.groups[:2]} == {"a", "b"}
    assert by_name(result)["groups"].reason in {"a, b", "b, a"}
    for one in result.groups:
        part = group == one.name
        assert one.n_rows == part.sum()
        assert one.n_positives == labels[part].sum()
        assert one.observed_rate == pytest.approx(labels[part].mean())
        p = rule.probability(scores[part])
        assert one.mean_prediction == pytest.approx(p.mean())


def test_groups_and_all_rows_are_predicted_for_the_same_loss(rule):
    scores, labels = drawn(1_000, 4)
    for loss in ("log", "brier"):
        result = check(rule, scores, labels, groups=["all"] * 1_000, loss=loss)
        (group,) = result.groups
        assert group.mean_prediction == pytest.approx(result.mean_prediction)


def test_one_group_of_many_that_has_changed_is_found(rule):
    scores, labels = drawn(6_000, 12)
    groups = np.arange(6_000) % 20
    coin = np.random.default_rng(0).random(6_000) < 0.6
    labels = np.where(groups == 7, coin, labels)
    result = check(rule, scores, labels, groups=groups)
    assert [g.name for g in result.groups if g.result == "fail"] == [7]


def test_groups_of_a_right_rule_pass(rule):
    """Of checks of 20 groups, one in a hundred may fail; here at most one of ten."""
    failed = 0
    for seed in range(10):
        scores, labels = drawn(4_000, 300 + seed)
        groups = np.arange(4_000) % 20
        failed += not check(rule, scores, labels, groups=groups).passed
    assert failed <= 1


def test_rules_for_groups_are_checked_within_their_groups():
    scores, labels = drawn(8_000, 0)
    groups = np.array(["a", "b"])[(np.arange(8_000) % 2)]
    labels = np.where(groups == "b", ~labels[::-1] & labels, labels)
    old, new = slice(0, 4_000), slice(4_000, None)
    rule_set = abers.fit_rules(scores[old], labels[old], groups[old])
    result = check(rule_set, scores[new], labels[new], groups=groups[new])
    assert result.passed
    assert [test.name for test in result.findings] == ["psi", "auc", "groups", "ece"]
    swapped = np.where(groups == "a", "b", "a")[new]
    assert not check(rule_set, scores[new], labels[new], groups=swapped).passed
    assert check(rule_set, scores[new]).n_positives is None


def test_small_groups_are_checked_by_the_rule_that_they_share():
    rng = np.random.default_rng(3)
    scores, names = rng.random(12_000), ["large", "fax", "phone"]
    groups = rng.choice(names, 12_000, p=[0.9, 0.05, 0.05])
    labels = rng.random(12_000) < np.where(groups == "large", scores, scores**3)
    old, new = slice(0, 6_000), slice(6_000, None)
    fitted = abers.fit_rules(scores[old], labels[old], groups[old], minimum=100)
    assert fitted.kind_of(names).tolist() == ["own", "rest", "rest"]
    recent = {"labels": labels[new], "groups": groups[new]}
    assert check(fitted, scores[new], **recent).passed
    by_group = check(fitted.pooled, scores[new], **recent).groups
    assert {"fax", "phone"} <= {g.name for g in by_group if g.p_value < 0.01}


def test_a_classifier_is_checked_by_its_rule():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4_000, 2))
    y = np.where(rng.random(4_000) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")
    model = abers.IVAPClassifier(LogisticRegression(), random_state=0)
    model.fit(X[:2_000], y[:2_000])
    result = check(model, X[2_000:], y[2_000:])
    assert result.passed
    scores = model.predictions(X[2_000:]).scores
    alone = check(model.rules_[0][0], scores, y[2_000:] == "yes")
    assert result.findings == alone.findings
    assert check(model, X[2_000:]).findings == alone.findings[:1]
    assert not check(model, X[2_000:], np.roll(y[2_000:], 1)).passed
    with pytest.raises(abers.AbersError, match="got a LogisticRegression"):
        check(LogisticRegression().fit(X, y), X, y)


def test_labels_may_be_of_any_kind(rule):
    scores, labels = drawn(2_000, 1)
    names = np.where(labels, "bad", "good")
    assert check(rule, scores, names, pos_label="bad") == check(rule, scores, labels)
    with pytest.raises(abers.AbersError, match="pos_label"):
        check(rule, scores, names)


def test_rows_of_the_fit_are_noticed(rule):
    scores, labels = drawn(4_000, 0)
    tagged = rule.with_metadata({TAG: fingerprint_of(scores, labels).to_text()})
    assert check(tagged, scores, labels).in_sample
    assert check(tagged, *drawn(4_000, 1)).in_sample is False
    assert check(rule, scores, labels).in_sample is None


def test_a_check_is_plain_data_and_says_itself_shortly(rule, mixed):
    scores, labels, group = mixed
    result = check(rule, scores, labels, groups=group)
    plain = result.to_dict()
    json.dumps(plain, allow_nan=False)
    assert plain["passed"] == result.passed
    assert plain["findings"][0]["value"] == result.findings[0].value
    assert plain["groups"][0]["name"] == result.groups[0].name
    assert len(repr(result)) < 200
    assert "2 of 5 groups failed" in repr(result)


def test_the_same_rows_give_the_same_answer(rule):
    rows = drawn(500, 7)
    assert check(rule, *rows) == check(rule, *rows)


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (-math.inf, math.inf, "all scores:"),
        (-math.inf, 0.5, "scores below 0.5:"),
        (0.25, math.inf, "scores from 0.25:"),
        (0.25, 0.5, "scores from 0.25 to 0.5:"),
    ],
)
def test_an_interval_in_words(low, high, text):
    interval = evaluation.change.ScoreInterval(low, high, 10, 0.5, 0.25)
    assert str(interval).startswith(text)


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
    with pytest.raises(abers.AbersError, match="a Rule, a RuleSet, a calibrator"):
        check("rule", [0.1])
