"""What would be trained again, or judged by its own training rows, is warned of."""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import abers
from abers.errors import InvalidParameter
from witnesses import X, Y

ROWS = np.arange(240)
WRAPPERS = {
    "IVAPClassifier": (abers.IVAPClassifier, GaussianNB()),
    "CVAPClassifier": (abers.CVAPClassifier, GaussianNB()),
    "CalibratedClassifier": (abers.CalibratedClassifier, GaussianNB()),
    "IVAPRegressor": (abers.IVAPRegressor, LinearRegression()),
    "CVAPRegressor": (abers.CVAPRegressor, LinearRegression()),
}
wrappers = pytest.mark.parametrize(("wrap", "model"), WRAPPERS.values(), ids=WRAPPERS)
crosses = pytest.mark.parametrize(
    "kind", [abers.CVAPClassifier, abers.CalibratedClassifier, abers.CVAPRegressor]
)


# --- calibration rows that train ---


@crosses
def test_calibrating_on_training_rows_is_warned_of(kind):
    words = "240 of the 240 calibration rows of fold 0 are training rows"
    with pytest.warns(UserWarning, match=words) as caught:
        kind(cv=[(ROWS, ROWS)]).fit(X, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@crosses
def test_a_single_shared_row_is_warned_of_and_none_is_not(kind):
    train, rest = ROWS[:160], ROWS[160:]
    with pytest.warns(UserWarning, match="1 of the 80 calibration rows of fold 1"):
        kind(cv=[(train, rest), (train, np.r_[-240, rest[1:]])]).fit(X, Y)
    kind(cv=[(train, rest)]).fit(X, Y)


def test_a_frozen_model_has_no_training_rows_here():
    frozen = FrozenEstimator(RandomForestClassifier(5).fit(X, Y))
    abers.CVAPClassifier(frozen, cv=[(ROWS, ROWS)]).fit(X, Y)


# --- fitted models ---


@wrappers
def test_a_fitted_model_that_is_trained_again_is_warned_of(wrap, model):
    fitted = clone(model).fit(X, Y)
    words = rf"the {type(model).__name__} given is fitted .*FrozenEstimator\(model\)"
    with pytest.warns(UserWarning, match=words) as caught:
        wrap(fitted).fit(X, Y)
    assert len(caught) == 1
    assert caught[0].filename == __file__


@wrappers
def test_new_and_frozen_models_are_not_warned_of(wrap, model):
    wrap(clone(model)).fit(X, Y).fit(X, Y)
    wrap(FrozenEstimator(clone(model).fit(X, Y))).fit(X, Y)


def test_a_fitted_pipeline_is_warned_of_by_its_last_step():
    pipeline = make_pipeline(StandardScaler(), GaussianNB())
    abers.IVAPClassifier(pipeline).fit(X, Y)
    pipeline.fit(X, Y)
    with pytest.warns(UserWarning, match="the GaussianNB given is fitted already"):
        abers.IVAPClassifier(pipeline).fit(X, Y)
    frozen = FrozenEstimator(GaussianNB().fit(X, Y))
    abers.IVAPClassifier(make_pipeline(StandardScaler(), frozen)).fit(X, Y)


def test_whoever_clones_is_not_warned():
    cvap = abers.CVAPClassifier(GaussianNB().fit(X, Y), merge="pooled")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search = GridSearchCV(cvap, {"loss": ["log", "brier"]}, cv=KFold(2))
        search.fit(X, Y)
        cross_val_score(cvap, X, Y, cv=KFold(2))
        make_pipeline(StandardScaler(), clone(cvap)).fit(X, Y).fit(X, Y)
        abers.compare(X, Y, estimator=GaussianNB().fit(X, Y))


@crosses
def test_prefit_is_a_frozen_estimator(kind):
    words = re.escape("got 'prefit'. To calibrate a model that is fitted already, ")
    with pytest.raises(InvalidParameter, match=words + r"pass FrozenEstimator\(model"):
        kind(cv="prefit").fit(X, Y)
