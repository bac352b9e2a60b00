"""Rows of the fit are recognised by a fingerprint, and by nothing else."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import abers
from abers.evaluation.evaluate import evaluate
from abers.storage.fingerprint import TAG, fingerprint_of


def drawn(size, seed, digits=17):
    rng = np.random.default_rng(seed)
    scores = rng.random(size).round(digits)
    return scores, rng.random(size) < scores


def tagged(scores, labels, tmp_path, tag=None, **options):
    """A rule as `abers fit` saves it."""
    path = tmp_path / "rule.abers"
    text = fingerprint_of(scores, labels).to_text() if tag is None else tag
    abers.fit_rule(scores, labels, **options).save(path, {TAG: text})
    return abers.load(path)


def mixed(first, second):
    return [np.concatenate(pair) for pair in zip(first, second, strict=True)]


def test_a_small_part_of_the_rows_is_recognised(tmp_path):
    scores, labels = drawn(50_000, 0)
    part = scores[:500], labels[:500]
    rule = tagged(scores, labels, tmp_path)
    assert evaluate(rule, *part).in_sample
    assert evaluate(abers.fit_rule(scores, labels), *part).in_sample is None
    assert not evaluate(rule, *drawn(500, 1)).in_sample


def test_most_of_the_rows_make_a_mixture_old_and_few_do_not(tmp_path):
    scores, labels = drawn(3_000, 0)
    rule = tagged(scores, labels, tmp_path)
    fresh = drawn(1_000, 1)
    assert evaluate(rule, *mixed((scores, labels), fresh)).in_sample
    few = scores[:100], labels[:100]
    assert not evaluate(rule, *mixed(few, fresh)).in_sample


def test_the_same_scores_with_other_labels_are_other_rows(tmp_path):
    scores, labels = drawn(2_000, 0)
    rule = tagged(scores, labels, tmp_path)
    assert not evaluate(rule, scores, ~labels).in_sample


@pytest.mark.parametrize("digits", [1, 2, 3, 4])
def test_scores_that_repeat_are_no_proof(digits, tmp_path):
    """New rows with such scores look like old ones; all rows are known by their sum."""
    rule = tagged(*drawn(2_000, 0, digits), tmp_path)
    for seed in (1, 2):
        assert not evaluate(rule, *drawn(1_500, seed, digits)).in_sample
    scores, labels = drawn(2_000, 0, digits)
    assert evaluate(rule, scores[::-1], labels[::-1]).in_sample


@pytest.mark.parametrize("tag", ["v9 of the future", "7"])
def test_a_tag_that_is_no_fingerprint_is_ignored(tag, tmp_path):
    scores, labels = drawn(500, 0)
    rule = tagged(scores, labels, tmp_path, tag=tag)
    assert evaluate(rule, scores, labels).in_sample is None


def test_weights_and_rule_sets_are_recognised(tmp_path):
    scores, labels = drawn(1_000, 0)
    groups = np.where(scores > 0.5, "high", "low")
    path = tmp_path / "set.abers"
    text = fingerprint_of(scores, labels).to_text()
    abers.fit_rules(scores, labels, groups).save(path, {TAG: text})
    rule_set = abers.load(path)
    weights = np.random.default_rng(3).integers(0, 3, 1_000)
    evaluation = evaluate(
        rule_set, scores, labels, groups=groups, sample_weight=weights + 0.5
    )
    assert evaluation.in_sample
    fresh = drawn(1_000, 1)
    names = np.where(fresh[0] > 0.5, "high", "low")
    assert not evaluate(rule_set, *fresh, groups=names).in_sample


def test_without_a_fingerprint_nobody_can_tell():
    """Not even of the very rows of the fit."""
    scores, labels = drawn(2_000, 0)
    rule = abers.fit_rule(scores, labels)
    assert evaluate(rule, scores, labels).in_sample is None
    assert evaluate(rule, *drawn(2_000, 8)).in_sample is None
    calibrator = abers.IVAPCalibrator().fit(scores, labels)
    assert evaluate(calibrator, scores, labels).in_sample is None


def test_few_rows_are_compared_by_their_fingerprint(tmp_path):
    """One in 39 can be compared: enough of 1,000, if none of them is known."""
    scores, labels = drawn(20_000, 0)
    rule = tagged(scores, labels, tmp_path)
    assert evaluate(rule, *drawn(1_000, 1)).in_sample is False
    assert evaluate(rule, scores[:400], labels[:400]).in_sample is True
    assert evaluate(rule, *drawn(60, 1)).in_sample is None


def learnt(size, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 3))
    return X, (rng.random(size) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)


@pytest.mark.parametrize("kind", [abers.IVAPClassifier, abers.CVAPClassifier])
def test_classifiers_of_several_models_do_not_know_their_rows(kind):
    X, y = learnt(600, 0)
    model = kind(GaussianNB(), random_state=0).fit(X, y)
    assert evaluate(model, X, y).in_sample is None


@pytest.mark.parametrize("pos_label", [0, 1])
def test_one_model_of_all_rows_knows_them_whichever_class_is_positive(pos_label):
    X, y = learnt(2_000, 0)
    model = abers.CVAPClassifier(GaussianNB(), ensemble=False, random_state=0)
    model.fit(X, y)
    weights = np.linspace(0.5, 1.5, 500)
    assert evaluate(
        model, X[:500], y[:500], pos_label=pos_label, sample_weight=weights
    ).in_sample
    assert evaluate(model, *learnt(500, 2), pos_label=pos_label).in_sample is False


class Foreign(GaussianNB):
    """Has rules that are none of ours."""

    rules_ = ("x > 1", "x > 2")


@pytest.mark.parametrize("predictor", [None, GaussianNB(), Foreign()])
def test_of_what_has_no_rule_nobody_can_tell(predictor):
    X, y = learnt(100, 0)
    X = np.full(100, 0.5) if predictor is None else X
    model = predictor and predictor.fit(X, y)
    evaluation = evaluate(model, X, y)
    assert evaluation.in_sample is None


class Counting(GaussianNB):
    """Counts how often it is asked."""

    n_calls = 0

    def predict_log_proba(self, X):
        type(self).n_calls += 1
        return super().predict_log_proba(X)


def test_each_inner_classifier_is_asked_once():
    X, y = learnt(300, 0)
    model = abers.CVAPClassifier(Counting(), cv=4, random_state=0).fit(X, y)
    Counting.n_calls = 0
    evaluate(model, X, y)
    assert Counting.n_calls == 4
