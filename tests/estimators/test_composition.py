"""Clones, pickles, pipelines, searches and jobs: estimators of scikit-learn compose."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import abers
from witnesses import X, Y

LOSSES = ["log", "brier"]

wrappers = pytest.mark.parametrize(
    "wrapper", [abers.IVAPClassifier, abers.CVAPClassifier]
)


def test_two_jobs_give_the_bits_of_one():
    one, two = (
        abers.CVAPClassifier(
            RandomForestClassifier(3, random_state=0), cv=4, n_jobs=jobs, random_state=0
        ).fit(X, Y)
        for jobs in (None, 2)
    )
    assert one.rules_ == two.rules_
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_grid_search_reaches_the_inner_parameters():
    wrapper = abers.CVAPClassifier(DecisionTreeClassifier(random_state=0), cv=2)
    search = GridSearchCV(
        wrapper,
        {"estimator__max_depth": [1, 4], "loss": LOSSES},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, Y)
    best = search.best_estimator_
    assert best.estimators_[0].max_depth == search.best_params_["estimator__max_depth"]
    assert len(set(search.cv_results_["mean_test_score"])) == 4


@wrappers
def test_clone_keeps_the_parameters_and_nothing_learnt(wrapper):
    fitted = wrapper(GaussianNB(), loss="brier", random_state=7).fit(X, Y)
    copy = clone(fitted)
    assert copy.get_params().keys() == fitted.get_params().keys()
    assert (copy.loss, copy.random_state) == ("brier", 7)
    assert not hasattr(copy, "rules_")


@wrappers
def test_a_pickle_predicts_the_same_bits(wrapper):
    fitted = wrapper(GaussianNB(), random_state=0).fit(X, Y)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.predict_bounds(X), fitted.predict_bounds(X))
    assert restored.rules_ == fitted.rules_


@wrappers
def test_the_html_picture_shows_the_inner_estimator(wrapper):
    html = wrapper(make_pipeline(StandardScaler(), LogisticRegression()))._repr_html_()
    assert wrapper.__name__ in html
    assert "StandardScaler" in html


def test_a_venn_abers_classifier_works_inside_a_pipeline():
    pipeline = make_pipeline(
        StandardScaler(), abers.CVAPClassifier(GaussianNB(), random_state=0)
    ).fit(X, Y)
    assert pipeline.predict_proba(X).shape == (240, 2)
    assert pipeline.score(X, Y) > 0.65


def test_without_an_estimator_logistic_regression_is_meant():
    default = abers.IVAPClassifier(random_state=0).fit(X, Y)
    named = abers.IVAPClassifier(LogisticRegression(), random_state=0).fit(X, Y)
    assert default.rules_ == named.rules_
    assert default.estimator is None
