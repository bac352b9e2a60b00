"""A wrapped model is evaluated, checked, compared and drawn as the model inside it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import abers

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(500, 3)), columns=list("abc")) * [1, 10, 0.1]
NAMES = np.array(["cat", "dog", "eel"])
NOISY = X["a"] + RNG.normal(size=500)
TRAIN, TEST = slice(0, 300), slice(300, None)
GRID = {"calibratedclassifier__cv": [2, 3]}


@pytest.fixture(scope="module", params=[2, 3])
def case(request):
    """A pipeline and a search around it, the model inside, its rows, and labels."""
    labels = NAMES[np.digitize(NOISY, [0, 1][: request.param - 1])]
    inner = abers.CalibratedClassifier(GaussianNB(), random_state=0)
    pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), inner)
    search = GridSearchCV(pipe, GRID, cv=2).fit(X[TRAIN], labels[TRAIN])
    best = search.best_estimator_
    return (best, search), best[-1], best[:-1].transform(X[TEST]), labels[TEST]


def test_bounds_and_probabilities_are_those_of_the_model_inside(case):
    wrapped, inner, rows, _ = case
    for model in wrapped:
        bounds = abers.predict_bounds(model, X[TEST])
        assert np.array_equal(bounds, inner.predict_bounds(rows))
        assert np.array_equal(model.predict_proba(X[TEST]), inner.predict_proba(rows))


@pytest.mark.parametrize("function", [abers.evaluate, abers.check])
def test_a_wrapped_model_is_judged_as_the_model_inside(case, function):
    wrapped, inner, rows, labels = case
    for model in wrapped:
        for name in (None, "dog"):
            result = function(model, X[TEST], labels, pos_label=name)
            expected = function(inner, rows, labels, pos_label=name)
            assert result.to_dict() == expected.to_dict()


def test_a_wrapped_model_is_compared_as_the_model_inside(case):
    wrapped, inner, rows, labels = case
    methods = ["uncalibrated", "temperature"]
    expected = abers.compare(
        rows, labels, estimator=FrozenEstimator(inner), methods=methods
    )
    for model in wrapped:
        comparison = abers.compare(
            X[TEST], labels, estimator=FrozenEstimator(model), methods=methods
        )
        for name in methods:
            assert np.array_equal(
                comparison.probabilities[name], expected.probabilities[name]
            )


def test_a_wrapped_model_is_drawn_as_the_model_inside(case):
    wrapped, inner, rows, labels = case
    kind = abers.plots.ReliabilityDisplay
    expected = kind.from_estimator(inner, rows, labels).ax_
    for model in wrapped:
        axes = kind.from_estimator(model, X[TEST], labels).ax_
        assert len(axes.lines) == len(expected.lines) > 0
        for one, other in zip(axes.lines, expected.lines, strict=True):
            assert np.array_equal(one.get_xydata(), other.get_xydata())


def test_frames_go_in_and_the_columns_that_a_classifier_wraps_are_kept():
    labels = NAMES[np.digitize(NOISY, [0])]
    inside = make_pipeline(StandardScaler(), GaussianNB())
    model = abers.CalibratedClassifier(inside, cv=3, random_state=0)
    model.fit(X[TRAIN], labels[TRAIN])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    by_array = abers.CalibratedClassifier(inside, cv=3, random_state=0)
    by_array.fit(X[TRAIN].to_numpy(), labels[TRAIN])
    bounds = abers.predict_bounds(model, X[TEST])
    assert np.array_equal(bounds, by_array.predict_bounds(X[TEST].to_numpy()))
    with pytest.raises(ValueError, match="feature names"):
        abers.predict_bounds(model, X[TEST].rename(columns={"b": "d"}))
