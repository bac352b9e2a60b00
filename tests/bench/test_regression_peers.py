"""Regressors beside venn-abers: the same bounds, and a value that is no worse.

`benchmarks/regression.py` is the whole study; this is a sample of it.
"""

import numpy as np
import pytest
from sklearn.datasets import (
    load_diabetes,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, train_test_split
from venn_abers import VennAbersRegressor

import abers

# It divides 0 by 0 on its way.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:venn_abers")

SETS = {
    "diabetes": load_diabetes(return_X_y=True),
    "friedman1": make_friedman1(400, noise=1.0, random_state=0),
    "friedman2": make_friedman2(400, noise=125.0, random_state=0),
    "friedman3": make_friedman3(400, noise=0.1, random_state=0),
}


def fitted(X, y, seed):
    """Train both on the same folds."""
    folds = list(KFold(4, shuffle=True, random_state=seed).split(X))
    ours = abers.CVAPRegressor(LinearRegression(), cv=folds).fit(X, y)
    theirs = VennAbersRegressor(
        LinearRegression(), inductive=False, n_splits=4, random_state=seed
    ).fit(X, y)
    return ours, theirs


@pytest.mark.parametrize("name", SETS)
def test_bounds_are_those_of_venn_abers_where_no_scores_are_tied(name):
    X, y = SETS[name]
    ours, theirs = fitted(X[:300], y[:300], 0)
    _, expected = theirs.predict(X[300:])
    np.testing.assert_allclose(
        ours.predict_bounds(X[300:]), expected, rtol=0, atol=1e-12 * np.ptp(y)
    )


def test_squared_error_is_not_above_that_of_venn_abers_in_three_of_four_sets():
    below = []
    for name, rows in SETS.items():
        differences = []
        for seed in range(3):
            X, new, y, truth = train_test_split(*rows, random_state=seed)
            ours, theirs = fitted(X, y, seed)
            error, other = (
                np.mean((predicted - truth) ** 2)
                for predicted in (ours.predict(new), theirs.predict(new)[0])
            )
            differences.append(error - other)
        if np.mean(differences) <= 0:
            below.append(name)
    assert len(below) >= 3
