"""Gradient boosting of other libraries, wrapped like any classifier."""

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import log_loss
from xgboost import XGBClassifier

import abers

MODELS = {
    "LightGBM": LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1),
    "XGBoost": XGBClassifier(n_estimators=20, n_jobs=1),
    "CatBoost": CatBoostClassifier(
        iterations=20, verbose=0, allow_writing_files=False, thread_count=1
    ),
}
ALL_MODELS = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))


@ALL_MODELS
@pytest.mark.parametrize("cross", [True, False])
def test_boosted_trees_become_venn_abers_predictors(model, cross):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    train = np.arange(len(y)) % 3 > 0
    wrapper = abers.CVAPClassifier if cross else abers.IVAPClassifier
    wrapped = wrapper(model, random_state=0).fit(X[train], y[train])
    bounds = wrapped.predict_bounds(X[~train])
    p = wrapped.predict_proba(X[~train])[:, 1]
    assert ((bounds[:, 0] <= p) & (p <= bounds[:, 1])).all()
    assert log_loss(y[~train], p) < 0.25


@ALL_MODELS
def test_boosted_trees_of_three_classes_keep_their_columns(model):
    X, y = load_wine(return_X_y=True)
    wrapped = abers.CVAPClassifier(model, cv=3, random_state=0).fit(X, y)
    assert wrapped.predict_proba(X).shape == (len(y), 3)
    assert wrapped.score(X, y) > 0.9


@ALL_MODELS
def test_weights_reach_boosted_trees_and_rules(model):
    X, y = load_breast_cancer(return_X_y=True)
    weights = np.where(y == 1, 3.0, 1.0)
    plain = abers.CVAPClassifier(model, cv=3, random_state=0).fit(X, y)
    weighted = abers.CVAPClassifier(model, cv=3, random_state=0)
    weighted.fit(X, y, sample_weight=weights)
    assert weighted.rules_[0][0].n_rows > plain.rules_[0][0].n_rows
    assert weighted.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
