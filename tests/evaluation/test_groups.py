"""Groups of rows, judged one by one."""

from functools import partial

import numpy as np
import pytest

import abers
from abers import evaluation
from abers.evaluation import bands, reliability
from abers.evaluation.drift import population_stability_index
from abers.evaluation.evaluate import evaluate


def drawn(size, seed, power=1.5):
    """Scores that are probabilities, too high, and their labels."""
    rng = np.random.default_rng(seed)
    scores = rng.random(size)
    return scores, rng.random(size) < scores**power


@pytest.fixture(scope="module")
def rule():
    return abers.fit_rule(*drawn(2_000, 0))


def test_groups_are_judged_one_by_one_and_the_worst_comes_first(rule):
    scores, y = drawn(3_000, 6)
    groups = np.array(["fine", "bad", "other"])[np.arange(y.size) % 3]
    y = np.where(groups == "bad", np.random.default_rng(0).random(y.size) < 0.9, y)
    groups[:2] = "few"
    evaluated = evaluate(rule, scores, y, groups=groups)
    assert (evaluated.groups[0].name, evaluated.groups[-1].name) == ("bad", "few")
    assert [group.small for group in evaluated.groups] == [False, False, False, True]
    p = rule.probability(scores)
    for group in evaluated.groups:
        part = groups == group.name
        q = p[part]
        assert group.n_rows == part.sum()
        assert group.n_positives == y[part].sum()
        assert group.difference == pytest.approx(q.mean() - y[part].mean())
        error = np.sqrt((q * (1 - q)).sum()) / q.size
        assert group.z == pytest.approx(group.difference / error)
        for name in ("log_loss", "brier_loss"):
            function = getattr(evaluation, name)
            assert getattr(group, name) == pytest.approx(function(y[part], q))
            before = function(y[part], scores[part])
            assert getattr(group, f"{name}_before") == pytest.approx(before)
        assert group.calibration_error == pytest.approx(
            evaluation.expected_calibration_error(y[part], q)
        )


def test_groups_have_order_drift_and_width_and_weights_act_in_all(rule):
    scores, y = drawn(1_200, 6)
    groups = np.where(scores < 0.4, "low", "high")
    w = np.random.default_rng(3).exponential(size=y.size)
    p, bounds = rule.probability(scores), rule.bounds(scores)
    for group in evaluate(rule, scores, y, groups=groups, sample_weight=w).groups:
        part = groups == group.name
        s, q, own, v = scores[part], p[part], y[part], w[part]
        assert group.auc == pytest.approx(evaluation.auc(s, own, sample_weight=v))
        width = evaluation.bound_widths(bounds[part], sample_weight=v).mean
        assert group.mean_width == pytest.approx(width)
        error = np.sqrt((v**2 * q * (1 - q)).sum()) / v.sum()
        assert group.standard_error == pytest.approx(error)
        ece = evaluation.expected_calibration_error(own, q, sample_weight=v)
        assert group.calibration_error == pytest.approx(ece)
        index = evaluation.population_stability_index(
            rule.score_quantiles, s, sample_weight=v
        )
        assert group.drift == pytest.approx(index)
        assert group.drift > 0.5
    evaluated = evaluate(rule, scores, y, groups=np.arange(y.size) < 30).groups
    few = next(group for group in evaluated if group.n_rows == 30)
    assert few.drift is None  # nobody could tell


def test_a_group_of_a_rule_set_drifts_from_its_own_rule():
    scores, y = drawn(2_000, 7)
    groups = np.where(scores < 0.5, "low", "high")
    rule_set = abers.fit_rules(scores, y, groups)
    evaluated = evaluate(rule_set, *drawn(2_000, 8), groups=groups[np.argsort(scores)])
    for group in evaluated.groups:
        assert group.drift > 0.5
    scores, y = drawn(2_000, 8)
    same = evaluate(rule_set, scores, y, groups=np.where(scores < 0.5, "low", "high"))
    assert max(group.drift for group in same.groups) < 0.1


@pytest.mark.parametrize(
    ("predicted", "n_positives", "small"),
    [(0.01, 0, True), (0.04, 4, True), (0.01, 5, False), (0.06, 0, False)],
)
def test_a_group_is_small_if_few_came_and_few_were_expected(
    predicted, n_positives, small
):
    for p, y in (
        (predicted, np.arange(100) < n_positives),
        (1 - predicted, np.arange(100) >= n_positives),
    ):
        evaluated = evaluate(None, np.full(100, p), y, groups=["one"] * 100)
        assert evaluated.groups[0].small == small


def test_certain_and_wrong_is_the_worst_of_all_groups():
    p, y = [0.5] * 9 + [0.0] * 9, [0, 1] * 4 + [0] + [1] * 9
    evaluated = evaluate(None, p, y, groups=["fair"] * 9 + ["sure"] * 9)
    assert evaluated.groups[0].name == "sure"
    assert evaluated.groups[0].z == -np.inf


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_whose_rule_answered_is_told_by_group():
    scores, y = drawn(400, 7)
    groups = np.array(["large", "small"])[(np.arange(400) < 20).astype(int)]
    rule_set = abers.fit_rules(scores, y, groups, minimum=30)
    names = ["large", "small", "new", None]
    evaluated = evaluate(rule_set, [0.1, 0.6, 0.4, 0.5], [0, 1, 0, 1], groups=names)
    answered = {group.name: group.rule for group in evaluated.groups}
    assert answered == {
        "large": "own",
        "small": "pooled",
        "new": "pooled",
        None: "pooled",
    }
    expected = rule_set.probability([0.1, 0.6, 0.4, 0.5], names).mean()
    assert evaluated.calibration.after.mean_prediction == pytest.approx(expected)
    assert evaluated.provenance.rule_rows == 400
    with pytest.raises(abers.AbersError, match="groups must be given"):
        evaluate(rule_set, scores, y)


def test_small_groups_are_evaluated_by_the_rule_that_they_share():
    scores, y = drawn(4_000, 7)
    groups = np.array(["fax"] * 300 + ["phone"] * 300 + ["large"] * 3_400)
    rule_set = abers.fit_rules(scores, y, groups, minimum=151)
    names = np.resize(["large", "fax", "phone", "new"], 4_000)
    evaluated = evaluate(rule_set, scores, y, groups=names)
    assert {group.name: group.rule for group in evaluated.groups} == {
        "large": "own",
        "fax": "rest",
        "phone": "rest",
        "new": "pooled",
    }
    drift = {group.name: group.drift for group in evaluated.groups}
    assert drift["fax"] == pytest.approx(
        population_stability_index(
            rule_set.rest.score_quantiles, scores[names == "fax"]
        )
    )
    assert evaluated.provenance.rule_rows == 4_000


def test_any_number_can_be_had_by_group(sample):
    y, p, w = sample
    groups = np.where(np.arange(y.size) % 3 == 0, "web", "shop")
    for function, options in [
        (evaluation.log_loss, {}),
        (evaluation.expected_calibration_error, {"bins": 5}),
        (reliability.decompose, {"loss": "brier"}),
    ]:
        by_group = evaluation.by_group(
            function, groups, y, p, sample_weight=w, **options
        )
        assert list(by_group) == ["shop", "web"]
        for name, value in by_group.items():
            part = groups == name
            assert value == function(y[part], p[part], sample_weight=w[part], **options)


def test_bands_and_drift_can_be_had_by_group(sample):
    y, p, w = sample
    groups = np.arange(y.size) % 2
    by_group = evaluation.by_group(
        bands.calibration_band, groups, p, y, sample_weight=w, confidence=0.8
    )
    part = groups == 1
    expected = bands.calibration_band(
        p[part], y[part], sample_weight=w[part], confidence=0.8
    )
    np.testing.assert_array_equal(by_group[1].upper, expected.upper)
    index = partial(evaluation.population_stability_index, p)
    by_index = evaluation.by_group(index, groups, p**2, sample_weight=w)
    assert by_index[1] == index(p[part] ** 2, sample_weight=w[part])


def test_groups_without_a_name_come_last_and_those_without_weight_not_at_all():
    groups, y, p = [None, 2, 1, 3], [0, 1, 1, 1], [0.5, 0.25, 0.5, 0.5]
    by_group = evaluation.by_group(evaluation.brier_loss, groups, y, p)
    assert list(by_group) == [1, 2, 3, None]
    weights = [1, 1, 1, 0]
    left = evaluation.by_group(
        evaluation.brier_loss, groups, y, p, sample_weight=weights
    )
    assert list(left) == [1, 2, None]
    with pytest.raises(abers.AbersError, match="column 2 and groups"):
        evaluation.by_group(evaluation.brier_loss, groups, y, p[:2])
