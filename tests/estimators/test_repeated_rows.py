"""Rows that calibrate more than once count as one row."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB

import abers
import oracle
from abers.core.multiclass import common_unit
from abers.errors import InvertedScoresWarning
from witnesses import X, Y, scores_of

merges = pytest.mark.parametrize("merge", ["pooled", "minimax"])
ensembles = pytest.mark.parametrize("ensemble", [True, False])


def one_model(merge, cv, **options):
    return abers.CVAPClassifier(
        GaussianNB(), cv=cv, merge=merge, ensemble=False, **options
    )


def widths(model):
    return np.diff(model.predict_bounds(X + 0.01)).mean()


@merges
def test_bounds_stay_as_wide_however_often_the_folds_are_repeated(merge):
    once = widths(one_model(merge, KFold(5, shuffle=True, random_state=0)).fit(X, Y))
    for repeats in (10, 30):
        cv = RepeatedKFold(n_splits=5, n_repeats=repeats, random_state=0)
        assert 0.8 * once < widths(one_model(merge, cv).fit(X, Y)) < 2 * once


@merges
@pytest.mark.parametrize("times", [2, 3, 10])
def test_the_same_folds_again_change_nothing(merge, times):
    pairs = list(KFold(5, shuffle=True, random_state=0).split(X))
    once = one_model(merge, pairs).fit(X, Y)
    often = one_model(merge, pairs * times).fit(X, Y)
    np.testing.assert_allclose(
        often.predict_bounds(X), once.predict_bounds(X), rtol=1e-12
    )


@merges
@pytest.mark.parametrize("weights", [None, np.arange(240) % 3 + 1], ids=["1", "w"])
def test_a_row_that_calibrates_r_times_has_the_weight_1_over_r_each_time(
    merge, weights
):
    """The definition, in fractions: all out-of-fold scores are one calibration set."""
    pairs = list(ShuffleSplit(4, test_size=0.3, random_state=0).split(X))
    fit = {} if weights is None else {"sample_weight": weights}
    cvap = one_model(merge, pairs).fit(X, Y, **fit)
    rows = np.concatenate([calibrate for _, calibrate in pairs])
    times = np.bincount(rows, minlength=240)
    assert set(times[rows]) >= {1, 2, 3}
    scores = [
        scores_of(
            GaussianNB().fit(X[train], Y[train], *(w[train] for w in fit.values())),
            X[calibrate],
        )
        for train, calibrate in pairs
    ]
    given = fit.get("sample_weight", np.ones(240, int))
    shares = [Fraction(int(given[row]), int(times[row])) for row in rows]
    new = X[:12] + 0.01
    expected = [
        [float(p) for p in oracle.bounds(np.concatenate(scores), Y[rows], s, shares)]
        for s in scores_of(cvap.estimators_[0], new)
    ]
    np.testing.assert_allclose(cvap.predict_bounds(new), expected, rtol=1e-12)


@merges
@ensembles
def test_a_row_number_that_comes_twice_in_a_fold_is_one_row(merge, ensemble):
    pairs = list(KFold(3, shuffle=True, random_state=0).split(X))
    doubled = [(train, np.r_[rows, rows[:50], rows[:9] - 240]) for train, rows in pairs]
    once, twice = (
        abers.CVAPClassifier(GaussianNB(), cv=cv, merge=merge, ensemble=ensemble)
        .fit(X, Y)
        .predict_bounds(X)
        for cv in (pairs, doubled)
    )
    np.testing.assert_array_equal(twice, once)


def test_a_row_number_that_comes_twice_in_a_fold_is_one_row_of_a_regressor():
    target = X[:, 0] + np.sin(X[:, 1])
    pairs = list(KFold(3, shuffle=True, random_state=0).split(X))
    doubled = [(train, np.r_[rows, rows[:50]]) for train, rows in pairs]
    once, twice = (
        abers.CVAPRegressor(cv=cv).fit(X, target).predict_bounds(X)
        for cv in (pairs, doubled)
    )
    np.testing.assert_array_equal(twice, once)


@ensembles
def test_many_classes_count_repeated_rows_once(ensemble):
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    pairs = list(KFold(5, shuffle=True, random_state=0).split(X))
    once, often = (
        abers.CVAPClassifier(
            GaussianNB(), cv=cv, merge="pooled", ensemble=ensemble, multiclass="ovr"
        )
        .fit(X, labels)
        .pooled_rules_[0]
        for cv in (pairs, pairs * 4)
    )
    assert often.weight == 4 * once.weight
    assert often.n_rows == 4 * once.n_rows


def test_repeats_that_differ_have_whole_weights_while_these_are_exact():
    assert common_unit(np.array([0, 1, 1])) == 1
    assert common_unit(np.array([3, 0, 3])) == 3
    assert common_unit(np.array([1, 2, 3, 4])) == 12
    assert common_unit(np.arange(1, 35)) == math.lcm(*range(1, 35))
    assert common_unit(np.arange(1, 60)) == 1  # the least multiple is beyond 2^53


@ensembles
def test_repeats_are_no_evidence_that_scores_are_inverted(ensemble):
    """Each row comes back ten times; the labels are drawn without the rows."""
    alarms = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        rows, labels = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
        cv = RepeatedKFold(n_splits=5, n_repeats=10, random_state=0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", InvertedScoresWarning)
            abers.CVAPClassifier(
                GaussianNB(), cv=cv, merge="minimax", ensemble=ensemble
            ).fit(rows, labels)
        alarms += bool(caught)
    assert alarms <= 1


def test_inverted_scores_of_repeated_folds_are_still_warned_of():
    class Inverted(GaussianNB):
        def predict_log_proba(self, X):
            return super().predict_log_proba(X)[:, ::-1]

    cv = RepeatedKFold(n_splits=5, n_repeats=3, random_state=0)
    with pytest.warns(InvertedScoresWarning):
        abers.CVAPClassifier(Inverted(), cv=cv, ensemble=False).fit(X, Y)


def test_the_example_of_ten_repeats_has_the_width_of_its_rows():
    """200 rows: .0131 was the mean width when they counted as 2,000."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 4))
    labels = (rows[:, 0] + rng.logistic(size=200) > 0).astype(int)
    cv = RepeatedKFold(n_splits=5, n_repeats=10, random_state=0)
    cvap = abers.CVAPClassifier(
        LogisticRegression(), cv=cv, ensemble=False, merge="minimax"
    ).fit(rows, labels)
    assert cvap.rules_[0][0].n_rows == pytest.approx(200)
    assert np.diff(cvap.predict_bounds(rows)).mean() > 0.03
