"""What is inside pipelines and searches, or in a file, is evaluated as it is alone."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import abers
from abers.evaluation.predictor import predictions_of

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(600, 3)), columns=list("abc")) * [1, 10, 0.1]
Y = np.where(RNG.random(600) < 1 / (1 + np.exp(-X["a"])), "yes", "no")
SCALER = StandardScaler().set_output(transform="pandas")
INNER = abers.CalibratedClassifier(GaussianNB(), cv=3, random_state=0)
PIPE = make_pipeline(SCALER, INNER)
GRID = {"calibratedclassifier__estimator__var_smoothing": [1e-9]}
TRAIN, TEST = slice(0, 400), slice(400, None)


@pytest.fixture(scope="module")
def pipe():
    return PIPE.fit(X[TRAIN], Y[TRAIN])


def wrappers(pipe):
    frozen = FrozenEstimator(pipe)
    tuned = TunedThresholdClassifierCV(
        frozen,
        scoring=make_scorer(accuracy_score),
        cv="prefit",
        refit=False,
    )
    return [
        pipe,
        frozen,
        GridSearchCV(PIPE, GRID, cv=2).fit(X[TRAIN], Y[TRAIN]),
        FixedThresholdClassifier(frozen, pos_label="yes").fit(X[TRAIN], Y[TRAIN]),
        tuned.fit(X[TRAIN], Y[TRAIN]),
        make_pipeline("passthrough", frozen),
    ]


def test_pipelines_and_searches_lose_nothing(pipe):
    inner, scaled = pipe[-1], pipe[:-1].transform(X[TEST])
    expected = abers.evaluate(inner, scaled, Y[TEST]).to_dict()
    assert predictions_of(inner, scaled, Y[TEST]).before is not None
    for model in wrappers(pipe):
        assert abers.evaluate(model, X[TEST], Y[TEST]).to_dict() == expected
        np.testing.assert_array_equal(
            abers.predict_bounds(model, X[TEST]), inner.predict_bounds(scaled)
        )


def test_a_classifier_around_a_pipeline_needs_no_unwrapping():
    inner = make_pipeline(SCALER, GaussianNB())
    model = abers.CalibratedClassifier(inner, cv=3, random_state=0)
    model.fit(X[TRAIN], Y[TRAIN])
    bounds = abers.predict_bounds(model, X[TEST])
    np.testing.assert_array_equal(bounds, model.predict_bounds(X[TEST]))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_calibrator_of_a_file_is_evaluated_as_its_classifier(n_classes, tmp_path):
    labels = np.array(["a", "b", "c"])[np.digitize(X["b"], [-5, 5][: n_classes - 1])]
    model = abers.CalibratedClassifier(LogisticRegression(), cv=3, random_state=0)
    model.fit(X[TRAIN], labels[TRAIN])
    model.calibrator_.save(tmp_path / "c.abers")
    scores = np.hstack([m.predict_proba(X[TEST]) for m in model.estimators_])
    loaded = abers.load(tmp_path / "c.abers")
    of_file = abers.evaluate(loaded, scores, labels[TEST]).to_dict()
    of_model = abers.evaluate(model, X[TEST], labels[TEST]).to_dict()
    differ = {name for name in of_model if of_file[name] != of_model[name]}
    assert differ <= {"calibration", "provenance"}  # a file knows how many rows


def test_a_curve_has_no_bounds_and_is_evaluated():
    p = LogisticRegression().fit(X[TRAIN], Y[TRAIN]).predict_proba(X)
    beta = abers.BetaCalibrator().fit(p[TRAIN], Y[TRAIN])
    of_file = abers.evaluate(beta.calibrator_, p[TEST], Y[TEST]).to_dict()
    of_fit = abers.evaluate(beta, p[TEST], Y[TEST]).to_dict()
    differ = {name for name in of_fit if of_file[name] != of_fit[name]}
    assert differ <= {"calibration", "provenance"}


def test_a_pipeline_that_ends_in_an_ivap_is_checked():
    model = make_pipeline(SCALER, abers.IVAPClassifier(random_state=0))
    model.fit(X[TRAIN], Y[TRAIN])
    scaled = model[:-1].transform(X[TEST])
    expected = abers.check(model[-1], scaled, Y[TEST]).to_dict()
    assert abers.check(model, X[TEST], Y[TEST]).to_dict() == expected
