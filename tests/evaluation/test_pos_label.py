"""Which class is the positive one: the other one is its mirror image."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import abers
from abers.errors import InvalidParameter
from abers.plots import ReliabilityDisplay
from witnesses import X, Y

NAMES = np.where(Y == 1, "bad", "good")  # so that the first class is the rare event


@pytest.fixture(scope="module", params=[abers.IVAPClassifier, abers.CVAPClassifier])
def model(request):
    return request.param(random_state=0).fit(X, NAMES)


def test_a_rule_takes_any_two_labels():
    rng = np.random.default_rng(0)
    scores = rng.random(500)
    labels = rng.random(500) < scores
    rule = abers.fit_rule(scores[:250], labels[:250])
    names = np.where(labels, "bad", "good")[250:]
    evaluation = abers.evaluate(rule, scores[250:], names, pos_label="bad")
    plain = abers.evaluate(rule, scores[250:], labels[250:])
    assert evaluation.pos_label == "bad"
    assert plain.pos_label == 1
    assert evaluation.classes == ("good", "bad")
    assert evaluation.losses == plain.losses
    assert evaluation.ranking.auc == plain.ranking.auc
    assert "that is 'bad'" in str(evaluation)


def test_the_first_class_of_a_classifier_is_mirrored(model):
    evaluation = abers.evaluate(model, X, NAMES, pos_label="bad")
    other = abers.evaluate(model, X, NAMES)
    assert (evaluation.pos_label, other.pos_label) == ("bad", "good")
    assert evaluation.n_positives == int((NAMES == "bad").sum())
    assert evaluation.losses.log.after == pytest.approx(other.losses.log.after)
    assert evaluation.ranking.auc == pytest.approx(other.ranking.auc)
    p = model.predict_proba(X)[:, 0]
    assert evaluation.calibration.after.mean_prediction == pytest.approx(p.mean())
    assert roc_auc_score(NAMES == "bad", p) > 0.5
    assert evaluation.in_sample == other.in_sample
    assert evaluation.provenance.rule_hash == other.provenance.rule_hash
    assert evaluation.provenance.data_hash == other.provenance.data_hash


def test_bounds_of_the_first_class_are_mirrored(model):
    lower, upper = model.predict_bounds(X).T
    bounds = model.predict_bounds(X, pos_label="bad")
    np.testing.assert_array_equal(bounds, np.stack((1 - upper, 1 - lower), axis=1))
    np.testing.assert_array_equal(
        model.predict_bounds(X, pos_label="good"), model.predict_bounds(X)
    )
    with pytest.raises(InvalidParameter, match=r"\['bad', 'good'\]; got 'Bad'"):
        model.predict_bounds(X, pos_label="Bad")


@pytest.mark.parametrize("infinite", [False, True])
def test_a_mirrored_rule_reads_negated_scores(infinite):
    rng = np.random.default_rng(1)
    scores = rng.integers(0, 20, 100).astype(float)
    if infinite:
        scores[:10], scores[10:20] = -np.inf, np.inf
    rule = abers.fit_rule(scores, rng.random(100) < 0.5)
    queries = np.append(np.unique(scores), [-1, 0.5, 30, -np.inf, np.inf])
    lower, upper = rule.bounds(queries).T
    bounds = rule.mirrored().bounds(-queries)
    np.testing.assert_array_equal(bounds, np.stack((1 - upper, 1 - lower), axis=1))
    assert rule.mirrored().n_positives == 100 - rule.n_positives


def test_a_class_that_the_classifier_does_not_have_is_refused(model):
    with pytest.raises(InvalidParameter, match="pos_label must be one of the classes"):
        abers.evaluate(model, X, NAMES, pos_label="ugly")


def test_one_of_several_classes_is_evaluated_against_the_rest():
    labels = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    many = abers.IVAPClassifier(random_state=0).fit(X, labels)
    evaluation = abers.evaluate(many, X, labels, pos_label="b")
    p = many.predict_proba(X)[:, 1]
    plain = abers.evaluate(None, p, labels == "b")
    assert evaluation.pos_label == "b"
    assert evaluation.losses.log.after == plain.losses.log.after
    assert many.predict_bounds(X, pos_label="b").shape == (len(X), 2)
    p = many.predict_proba(X)
    same = abers.evaluate(None, p, labels, pos_label="b")
    assert (same.pos_label, same.losses.log.after) == ("b", evaluation.losses.log.after)
    with pytest.raises(InvalidParameter, match="pos_label must be one of the classes"):
        abers.evaluate(None, p, labels, pos_label="d")


def test_a_display_draws_the_class_that_is_asked_for(model):
    p = model.predict_proba(X)[:, 0]
    drawn = ReliabilityDisplay.from_estimator(model, X, NAMES, pos_label="bad")
    plain = ReliabilityDisplay.from_predictions(NAMES == "bad", p)
    np.testing.assert_array_equal(drawn.curve.frequencies, plain.curve.frequencies)
    plt.close("all")
