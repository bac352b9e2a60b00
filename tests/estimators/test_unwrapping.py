"""Bounds come through pipelines, searches and other wrappers of scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import abers
from abers.errors import InvalidType
from abers.estimators.unwrapping import predict_bounds, unwrap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)) * [1, 10, 100]
Y = (X[:, 0] + RNG.normal(size=300) > 0).astype(int)
CALIBRATED = abers.CalibratedClassifier(LogisticRegression(), cv=3, random_state=0)
SCALED = StandardScaler().fit(X)


def pipeline(*steps):
    return make_pipeline(StandardScaler(), *steps, CALIBRATED)


WRAPPED = {
    "itself": CALIBRATED,
    "pipeline": pipeline(),
    "passthrough": pipeline("passthrough", SelectKBest(k=2)),
    "pipeline in a pipeline": Pipeline([("none", None), ("inner", pipeline())]),
    "grid search": GridSearchCV(pipeline(), {"calibratedclassifier__cv": [2, 3]}, cv=2),
    "random search": RandomizedSearchCV(
        CALIBRATED, {"cv": [3]}, n_iter=1, cv=2, random_state=0
    ),
    "tuned threshold": TunedThresholdClassifierCV(pipeline(), cv=2, random_state=0),
    "fixed threshold": FixedThresholdClassifier(CALIBRATED, threshold=0.3),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_bounds_are_those_of_the_model_inside(name):
    model = WRAPPED[name].fit(X, Y)
    inside = unwrap(model)
    expected = inside.model.predict_bounds(inside.transform(X[:20]))
    assert np.array_equal(predict_bounds(model, X[:20]), expected)
    # The bounds belong to the probabilities that the wrapper gives.
    probability = model.predict_proba(X[:20])[:, 1]
    assert (expected[:, 0] <= probability).all()
    assert (probability <= expected[:, 1]).all()
    assert inside.path.split(" > ")[-1] == "CalibratedClassifier"


def test_a_frozen_model_is_looked_into():
    frozen = FrozenEstimator(pipeline().fit(X, Y))
    assert unwrap(frozen).path == "FrozenEstimator > Pipeline > CalibratedClassifier"
    inside = frozen.estimator
    assert np.array_equal(predict_bounds(frozen, X), predict_bounds(inside, X))


def test_a_pipeline_inside_the_classifier_needs_no_unwrapping():
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    model = abers.CalibratedClassifier(inner, cv=3, random_state=0).fit(X, Y)
    assert np.array_equal(predict_bounds(model, X), model.predict_bounds(X))


def test_frames_pass_by_their_column_names():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    scaler = StandardScaler().set_output(transform="pandas")
    model = make_pipeline(scaler, CALIBRATED).fit(frame, Y)
    assert np.array_equal(
        predict_bounds(model, frame), model[-1].predict_bounds(scaler.transform(frame))
    )


def test_pos_label_names_the_class():
    y = np.array(["no", "yes"])[Y]
    model = pipeline().fit(X, y)
    yes, no = (predict_bounds(model, X, pos_label=label) for label in ("yes", "no"))
    assert np.array_equal(yes, predict_bounds(model, X))
    assert np.array_equal(no, 1 - yes[:, ::-1])


def test_a_model_without_bounds_is_named():
    plain = make_pipeline(StandardScaler(), CalibratedClassifierCV(cv=2)).fit(X, Y)
    with pytest.raises(InvalidType, match="got Pipeline > CalibratedClassifierCV"):
        predict_bounds(plain, X)


@pytest.mark.parametrize(
    "model", [pipeline(), GridSearchCV(CALIBRATED, {"cv": [2, 3]})]
)
def test_an_unfitted_wrapper_says_so(model):
    with pytest.raises(NotFittedError):
        predict_bounds(model, X)
