"""Regressors: what they train, which rules they fit, and what they say of new rows."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone, is_regressor
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import abers
from abers.core.regression import midpoints
from abers.errors import InvalidData, InvalidParameter, InvertedScoresWarning
from witnesses import multiples

X, Y = make_friedman1(240, 6, noise=1.0, random_state=0)
NEW = make_friedman1(60, 6, noise=1.0, random_state=1)[0]
TREE = DecisionTreeRegressor(max_depth=4, random_state=0)

wrappers = pytest.mark.parametrize(
    "wrapper", [abers.IVAPRegressor, abers.CVAPRegressor]
)


def rule_of(model, rows, targets, **options):
    """The rule of a fitted regressor, from nothing but `fit_regression_rule`."""
    scores = model.predict(rows)
    scores = multiples(scores, scores)
    return abers.rules.fit_regression_rule(scores, targets, **options)


def test_regressors_say_what_is_proven():
    one = abers.IVAPRegressor(TREE, random_state=0).fit(X, Y)
    assert one.guarantee_ == one.rules_[0].guarantee
    assert one.guarantee_.proven
    weights = np.random.default_rng(0).uniform(0.5, 2, Y.size)
    assert not one.fit(X, Y, sample_weight=weights).guarantee_.proven
    assert not abers.CVAPRegressor(TREE, random_state=0).fit(X, Y).guarantee_.proven


@pytest.mark.parametrize("options", [{}, {"trim": 3}, {"low": -5, "high": 40}])
def test_an_ivap_is_a_model_and_the_rule_of_rows_that_it_has_not_seen(options):
    mask = np.random.default_rng(0).random(240) < 0.3
    model = abers.IVAPRegressor(TREE, calibration=mask, **options).fit(X, Y)
    inner = clone(TREE).fit(X[~mask], Y[~mask])
    rule = rule_of(inner, X[mask], Y[mask], **options)
    assert model.rules_ == [rule]
    expected = rule.bounds(multiples(inner.predict(NEW), inner.predict(X[mask])))
    np.testing.assert_array_equal(model.predict_bounds(NEW), expected)
    np.testing.assert_array_equal(model.predict(NEW), midpoints(expected))


def test_a_cross_predictor_is_the_mean_of_its_folds():
    folds = KFold(4, shuffle=True, random_state=0)
    model = abers.CVAPRegressor(TREE, cv=folds).fit(X, Y)
    bounds = []
    for k, (train, test) in enumerate(folds.split(X)):
        inner = clone(TREE).fit(X[train], Y[train])
        rule = rule_of(inner, X[test], Y[test])
        assert model.rules_[k] == rule
        scores = multiples(inner.predict(NEW), inner.predict(X[test]))
        bounds.append(rule.bounds(scores))
    np.testing.assert_array_equal(model.predict_fold_bounds(NEW), bounds)
    mean = np.mean(bounds, axis=0)
    np.testing.assert_allclose(model.predict_bounds(NEW), mean, rtol=1e-14)
    np.testing.assert_allclose(model.predict(NEW), mean.mean(axis=1), rtol=1e-14)
    assert len(model.estimators_) == 4


def test_a_number_of_folds_is_shuffled_by_the_random_state():
    by_number = abers.CVAPRegressor(TREE, cv=4, random_state=3).fit(X, Y)
    splitter = KFold(4, shuffle=True, random_state=3)
    by_splitter = abers.CVAPRegressor(TREE, cv=splitter).fit(X, Y)
    by_pairs = abers.CVAPRegressor(TREE, cv=list(splitter.split(X))).fit(X, Y)
    assert by_number.rules_ == by_splitter.rules_ == by_pairs.rules_
    assert len(abers.CVAPRegressor(TREE, cv=None).fit(X, Y).rules_) == 5


class Counting(RegressorMixin, BaseEstimator):
    """A regressor that counts its trainings, and keeps its rows and weights."""

    trained = []  # noqa: RUF012 (shared by clones on purpose)

    def fit(self, X, y, sample_weight=None, note=None):
        self.trained.append((len(X), sample_weight, note))
        self.mean_ = np.average(y, weights=sample_weight)
        return self

    def predict(self, X):
        return self.mean_ + np.asarray(X)[:, 0]


@pytest.fixture
def trained():
    Counting.trained.clear()
    return Counting.trained


def test_exactly_k_models_are_trained(trained):
    abers.CVAPRegressor(Counting(), cv=4, random_state=0).fit(X, Y)
    assert [size for size, _, _ in trained] == [180] * 4
    trained.clear()
    abers.IVAPRegressor(Counting(), calibration=40, random_state=0).fit(X, Y)
    assert [size for size, _, _ in trained] == [200]


def test_a_frozen_model_is_not_trained_and_all_rows_calibrate(trained):
    frozen = FrozenEstimator(Counting().fit(X[:50], Y[:50]))
    trained.clear()
    model = abers.IVAPRegressor(frozen).fit(X[50:], Y[50:])
    assert trained == []
    assert model.rules_ == [rule_of(frozen, X[50:], Y[50:])]
    cross = abers.CVAPRegressor(frozen, cv=3, random_state=0).fit(X, Y)
    assert [rule.n_rows for rule in cross.rules_] == [80] * 3


@wrappers
def test_weights_go_to_the_model_and_into_the_rules(wrapper, trained):
    weights = np.random.default_rng(1).integers(1, 4, 240)
    model = wrapper(Counting(), random_state=0).fit(X, Y, sample_weight=weights)
    assert all(part is not None for _, part, _ in trained)
    total = sum(rule.n_rows for rule in model.rules_)
    if wrapper is abers.CVAPRegressor:
        assert total == weights.sum()
        assert sum(part.sum() for _, part, _ in trained) == 4 * weights.sum()


def test_integer_weights_are_repeated_rows():
    weights = np.random.default_rng(2).integers(1, 4, 240)
    rows = np.arange(240).repeat(weights)
    half = np.arange(240) % 2 == 0
    weighted = abers.CVAPRegressor(
        LinearRegression(), cv=[(half, ~half), (~half, half)]
    ).fit(X, Y, sample_weight=weights)
    repeated = abers.CVAPRegressor(
        LinearRegression(), cv=[(half[rows], ~half[rows]), (~half[rows], half[rows])]
    ).fit(X[rows], Y[rows])
    np.testing.assert_allclose(weighted.predict(NEW), repeated.predict(NEW), rtol=1e-9)


def test_a_model_without_weights_is_warned_of():
    message = "KNeighborsRegressor does not take sample_weight, so the weights act in"
    with pytest.warns(UserWarning, match=message) as caught:
        abers.CVAPRegressor(KNeighborsRegressor()).fit(X, Y, sample_weight=Y + 1)
    assert caught[0].filename == __file__


def test_parameters_of_fit_reach_the_model(trained):
    abers.CVAPRegressor(Counting(), cv=2).fit(X, Y, note="hello")
    assert [note for _, _, note in trained] == ["hello"] * 2


def test_groups_reach_the_splitter():
    groups = np.arange(240) // 40
    model = abers.CVAPRegressor(TREE, cv=GroupKFold(3)).fit(X, Y, groups=groups)
    pairs = list(GroupKFold(3).split(X, Y, groups))
    assert model.rules_ == abers.CVAPRegressor(TREE, cv=pairs).fit(X, Y).rules_


def test_metadata_are_routed(trained):
    weights = np.arange(1.0, 241)
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Counting().set_fit_request(sample_weight=True, note=True)
        splitter = GroupKFold(3).set_split_request(groups=True)
        model = abers.CVAPRegressor(inner, cv=splitter)
        model.set_fit_request(sample_weight=True)
        model.fit(X, Y, sample_weight=weights, note="hi", groups=np.arange(240) // 40)
    assert [note for _, _, note in trained] == ["hi"] * 3
    assert sum(part.sum() for _, part, _ in trained) == 2 * weights.sum()


@wrappers
def test_a_row_alone_gets_what_it_gets_among_others(wrapper):
    """Sums of floats depend on the company that a row is in; predictions do not."""
    model = wrapper(Ridge(), random_state=0).fit(X, Y)
    together = model.predict_bounds(X)
    alone = np.concatenate([model.predict_bounds(X[i : i + 1]) for i in range(240)])
    np.testing.assert_array_equal(alone, together)
    np.testing.assert_array_equal(model.predict_bounds(X[::-1])[::-1], together)


def test_a_calibration_row_is_read_at_its_own_score():
    model = abers.IVAPRegressor(Ridge(), calibration=0.5, random_state=0).fit(X, Y)
    rows = np.random.RandomState(0).permutation(240)[:120]
    scores = model.estimators_[0].predict(X[np.sort(rows)])
    scores = multiples(scores, scores)
    alone = np.concatenate([model.predict_bounds(X[[row]]) for row in np.sort(rows)])
    np.testing.assert_array_equal(alone, model.rules_[0].bounds(scores))


@wrappers
@pytest.mark.parametrize("scale", [2.0**-600, 2.0**-30, 2.0**30, 2.0**600])
def test_the_unit_of_the_target_does_not_matter(wrapper, scale):
    model = wrapper(KNeighborsRegressor(), random_state=0)
    plain = model.fit(X, Y).predict_bounds(NEW)
    scaled = model.fit(X, Y * scale).predict_bounds(NEW)
    np.testing.assert_array_equal(scaled / scale, plain)


def test_bounds_are_means_between_the_ends():
    rng = np.random.default_rng(3)
    shares = rng.beta(1 + 3 * X[:, 3], 3)
    model = abers.CVAPRegressor(low=0, high=1, random_state=0).fit(X, shares)
    lower, upper = model.predict_bounds(NEW).T
    assert (lower >= 0).all()
    assert (lower < upper).all()
    assert (upper <= 1).all()
    value = model.predict(NEW)
    assert ((lower <= value) & (value <= upper)).all()
    assert all(rule.trimmed_share == 0 for rule in model.rules_)


def test_the_mean_of_calibrated_values_is_the_mean_of_the_targets():
    """Of one rule, at its own rows: what isotonic regression keeps, to the width."""
    model = abers.IVAPRegressor(TREE, calibration=0.5, random_state=0).fit(X, Y)
    rows = np.sort(np.random.RandomState(0).permutation(240)[:120])
    lower, upper = model.predict_bounds(X[rows]).mean(axis=0)
    assert lower < Y[rows].mean() < upper


@wrappers
@pytest.mark.filterwarnings("ignore:each of the 5 folds calibrates:UserWarning")
def test_it_is_a_regressor_with_the_manners_of_scikit_learn(wrapper):
    model = wrapper(TREE, trim=2, random_state=0)
    assert is_regressor(model)
    with pytest.raises(NotFittedError):
        model.predict(X)
    copy = clone(model)
    assert copy.get_params() == model.get_params() | {"estimator": copy.estimator}
    fitted = model.fit(X, Y)
    assert not hasattr(clone(fitted), "rules_")
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        restored.predict_bounds(NEW), fitted.predict_bounds(NEW)
    )
    assert cross_val_score(wrapper(Ridge(), random_state=0), X, Y).mean() > 0.5
    search = GridSearchCV(model, {"estimator__max_depth": [1, 4], "trim": [1, 5]}, cv=2)
    assert search.fit(X, Y).best_params_["estimator__max_depth"] == 4
    pipeline = make_pipeline(StandardScaler(), wrapper(random_state=0)).fit(X, Y)
    assert pipeline.score(X, Y) > 0.5


def test_data_frames_keep_their_columns():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = abers.CVAPRegressor(TREE, cv=3, random_state=0).fit(frame, pd.Series(Y))
    assert model.feature_names_in_.tolist() == list("abcdef")
    plain = abers.CVAPRegressor(TREE, cv=3, random_state=0).fit(X, Y)
    assert model.rules_ == plain.rules_
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame.rename(columns={"a": "z"}))


def test_two_jobs_give_the_bits_of_one():
    one, two = (
        abers.CVAPRegressor(
            RandomForestRegressor(3, random_state=0), cv=4, n_jobs=jobs, random_state=0
        ).fit(X, Y)
        for jobs in (None, 2)
    )
    assert one.rules_ == two.rules_


def test_without_an_estimator_linear_regression_is_meant():
    default = abers.CVAPRegressor(random_state=0).fit(X, Y)
    named = abers.CVAPRegressor(LinearRegression(), random_state=0).fit(X, Y)
    assert default.rules_ == named.rules_


@wrappers
def test_inverted_predictions_are_warned_of(wrapper):
    frozen = FrozenEstimator(LinearRegression().fit(X, -Y))
    where = " in 5 of 5 folds" if wrapper is abers.CVAPRegressor else ""
    message = rf"^The predictions are inverted{where} \(rank correlation -0\.\d+\): "
    with pytest.warns(InvertedScoresWarning, match=message) as caught:
        wrapper(frozen).fit(X, Y)
    assert caught[0].filename == __file__


def test_small_folds_are_warned_of():
    message = "each of the 10 folds calibrates with 6 rows only; that draws predictions"
    with pytest.warns(UserWarning, match=message):
        abers.CVAPRegressor(cv=10, random_state=0).fit(X[:60], Y[:60])


class Wrong(Counting):
    """A regressor that says what it is told to."""

    def __init__(self, answer=None):
        self.answer = answer

    def predict(self, X):
        return self.answer(len(X))


NO_ROWS = "each rule must have at least 6 calibration rows, or as much weight; got"
REFUSED = {
    "a target beyond an end": (
        {"high": 20},
        {},
        InvalidData,
        "y must not be above high=20.0; got",
    ),
    "too few rows": ({"trim": 3, "cv": 60}, {}, InvalidData, f"{NO_ROWS} 4. Use"),
    "no trim": ({"trim": 0}, {}, InvalidParameter, "trim must be at least 1"),
    "ends exchanged": (
        {"low": 1, "high": 0},
        {},
        InvalidParameter,
        "low must be below",
    ),
    "one fold": ({"cv": 1}, {}, InvalidParameter, "cv must be at least 2; got 1."),
    "a classifier": (
        {"estimator": LogisticRegression()},
        {},
        InvalidParameter,
        "LogisticRegression is a classifier. Use abers.CVAPClassifier for it.",
    ),
    "a class": (
        {"estimator": LinearRegression},
        {},
        InvalidParameter,
        "got the class LinearRegression. Pass LinearRegression().",
    ),
    "a name": (
        {"estimator": "ridge"},
        {},
        InvalidParameter,
        "estimator must be a regressor; got 'ridge'.",
    ),
    "no rows": (
        {},
        {"X": np.empty((0, 2)), "y": []},
        InvalidData,
        "needs at least two rows, to train on one and calibrate with the other; got no",
    ),
    "no predict": (
        {"estimator": StandardScaler()},
        {},
        InvalidParameter,
        "estimator must be a regressor with predict; StandardScaler has none.",
    ),
    "two targets": (
        {"estimator": Wrong(lambda n: np.ones((n, 2)))},
        {},
        InvalidData,
        "the regressor must predict one target; Wrong.predict gave 2 columns.",
    ),
    "a row too few": (
        {"estimator": Wrong(lambda n: np.ones(n - 1))},
        {},
        InvalidData,
        "the regressor must give one score for each row; Wrong.predict gave (47,) for",
    ),
    "NaN": (
        {"estimator": Wrong(lambda n: np.full(n, np.nan))},
        {},
        InvalidData,
        "the regressor must not give NaN as a score; Wrong.predict did, first at row 0",
    ),
    "no targets": ({}, {"y": None}, InvalidData, "requires y to be passed"),
    "a masked target": (
        {},
        {"y": np.ma.masked_greater(Y, 27)},
        InvalidData,
        "y must not be missing; got masked targets in",
    ),
    "one row": ({}, {"X": X[:1], "y": Y[:1]}, InvalidData, "got 1 sample."),
}


@pytest.mark.parametrize(
    ("options", "rows", "error", "says"), REFUSED.values(), ids=REFUSED
)
def test_what_cannot_be_is_refused_with_a_sentence(options, rows, error, says, trained):
    model = abers.CVAPRegressor(**({"estimator": Counting()} | options))
    with pytest.raises(error, match=re.escape(says)):
        model.fit(**({"X": X, "y": Y} | rows))
    if not isinstance(model.estimator, Wrong):
        assert trained == []  # nothing was done before it was refused
    assert not hasattr(model, "rules_")
