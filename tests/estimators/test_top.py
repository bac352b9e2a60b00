"""multiclass="top": the rule of the top class, through a model or its scores."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

import abers
from abers.errors import InvalidParameter

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["a", "b", "c"])[Y]
MODEL = FrozenEstimator(GaussianNB().fit(X[::2], NAMES[::2]))


@pytest.fixture
def classifier():
    return abers.IVAPClassifier(MODEL, multiclass="top").fit(X[1::2], NAMES[1::2])


def test_a_classifier_gives_the_rule_of_its_log_odds(classifier):
    p = MODEL.predict_proba(X)
    calibrator = abers.IVAPCalibrator(multiclass="top").fit(p[1::2], NAMES[1::2])
    bounds = classifier.predict_bounds(X)
    assert bounds == pytest.approx(calibrator.predict_bounds(p), abs=0.05)
    assert bounds.shape == (150, 3, 2)
    assert (
        classifier.guarantee_ is calibrator.guarantee_ is abers.core.guarantees.VECTOR
    )
    proba = classifier.predict_proba(X)
    assert (bounds[..., 0] <= proba).all()
    assert (proba <= bounds[..., 1]).all()
    assert (classifier.predict(X) == NAMES).mean() > 0.9
    one = classifier.predict_bounds(X, pos_label="b")
    assert one.tolist() == bounds[:, 1].tolist()


def test_a_calibrator_of_margins_is_the_rule_of_its_columns():
    margins = np.random.default_rng(0).normal(size=(150, 3))
    calibrator = abers.IVAPCalibrator(multiclass="top").fit(margins, NAMES)
    rule = abers.rules.fit_top_rule(margins, Y)
    assert calibrator.predict_bounds(margins).tolist() == rule.bounds(margins).tolist()


def test_it_pickles_and_is_evaluated(classifier):
    again = pickle.loads(pickle.dumps(classifier))
    assert again.predict_proba(X).tolist() == classifier.predict_proba(X).tolist()
    predictions = classifier.predictions(X)
    assert predictions.probabilities.tolist() == classifier.predict_proba(X).tolist()
    assert abers.evaluate(classifier, X[1::2], NAMES[1::2]) is not None


def test_two_classes_are_one_pair():
    two = Y < 2
    model = abers.IVAPClassifier(GaussianNB(), multiclass="top", random_state=0)
    assert model.fit(X[two], Y[two]).multiclass_ == "ovo"


def test_weights_are_refused_before_a_model_is_trained(monkeypatch):
    def fit(_model, _X, _y, sample_weight=None):
        pytest.fail(f"trained with {sample_weight}")

    monkeypatch.setattr(GaussianNB, "fit", fit)
    with pytest.raises(InvalidParameter, match="sample_weight must be None"):
        abers.IVAPClassifier(GaussianNB(), multiclass="top").fit(
            X, NAMES, sample_weight=np.arange(150) + 1.0
        )


def test_its_rule_is_saved(classifier, tmp_path):
    ((rule,),) = classifier.rules_
    rule.save(tmp_path / "top.abers", {"model": "v7"})
    again = abers.load(tmp_path / "top.abers")
    scores = np.random.default_rng(1).normal(size=(500, 3))
    assert again.vectors(scores).tobytes() == rule.vectors(scores).tobytes()
    assert again.metadata == {"model": "v7"}
    with pytest.raises(AttributeError, match="save rules_"):
        classifier.calibrator_.save(tmp_path / "none.abers")
    assert "IVAPClassifier" in classifier._repr_html_()  # it looks at all attributes


def test_weights_and_single_problems_are_refused(classifier):
    with pytest.raises(InvalidParameter, match="sample_weight must be None"):
        abers.IVAPClassifier(MODEL, multiclass="top").fit(
            X, NAMES, sample_weight=np.arange(150) + 1.0
        )
    with pytest.raises(InvalidParameter, match="weight must be None"):
        classifier.predict_bounds(X, weight=2)
    with pytest.raises(InvalidParameter, match="answers all at once"):
        classifier.predict_fold_bounds(X)
    with pytest.raises(InvalidParameter, match="multiclass must be"):
        abers.CVAPClassifier(GaussianNB(), multiclass="top").fit(X, Y)
