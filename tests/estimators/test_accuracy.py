"""Probabilities are accurate on data that scikit-learn has.

experiments/accuracy/ACCURACY.md has the study: 100 data sets and five classifiers.
"""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import abers

MODEL = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


@pytest.mark.parametrize(
    ("load", "most"),
    [(load_breast_cancer, 0.10), (load_wine, 0.11), (load_digits, 0.15)],
)
def test_pooled_folds_reach_this_log_loss(load, most):
    X, y = load(return_X_y=True)
    losses = []
    for seed in range(3):
        parts = train_test_split(X, y, test_size=1 / 3, random_state=seed)
        X_train, X_test, y_train, y_test = parts
        model = abers.CVAPClassifier(MODEL, merge="pooled", random_state=0)
        model.fit(X_train, y_train)
        losses.append(log_loss(y_test, model.predict_proba(X_test)))
    assert np.mean(losses) <= most


def test_more_folds_do_no_harm_to_pooled_and_much_to_minimax():
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    losses = {}
    tried = [("pooled", 5), ("pooled", 20), ("minimax", 5), ("minimax", 13)]
    for merge, folds in tried:
        model = abers.CVAPClassifier(MODEL, cv=folds, merge=merge, random_state=0)
        p = model.fit(X_train, y_train).predict_proba(X_test)
        losses[merge, folds] = log_loss(y_test, p)
    assert abs(losses["pooled", 20] - losses["pooled", 5]) < 0.02
    assert losses["minimax", 13] > losses["minimax", 5] + 0.02
