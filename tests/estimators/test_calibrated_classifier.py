"""CalibratedClassifier: a stacked rule of out-of-fold scores, and nothing else."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedKFold,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import abers
from abers.errors import InvalidParameter, InvalidType
from witnesses import Counting, Recording, X, Y, single, single_log_odds

PAIRS = list(KFold(4, shuffle=True, random_state=0).split(X))
Y3 = np.digitize(X[:, 0] + X[:, 1], [-1, 1])
TREE = DecisionTreeClassifier(max_depth=4, random_state=0)
MODELS = {
    "naive Bayes": GaussianNB(),
    "tree": TREE,
    "logistic regression": LogisticRegression(),
    "neighbours": KNeighborsClassifier(7),
    "linear SVM": LinearSVC(),
}
models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
classes = pytest.mark.parametrize("y", [Y, Y3], ids=["two classes", "three"])


def as_read_by(fitted, stacked):
    """Return a stacked rule of log-odds or margins as the classifier has it."""
    of_fit = fitted.calibrator_
    read = stacked.read_as(of_fit.reads, is_rounded=True)
    return read.with_classes(of_fit.classes)


def responses(model, rows):
    """Return the kind and the rounded responses of a fitted model."""
    if not hasattr(model, "predict_proba"):
        margins = model.decision_function(rows)
        return "margin", np.apply_along_axis(single, 0, margins)
    with np.errstate(divide="ignore"):
        if hasattr(model, "predict_log_proba"):
            logs = model.predict_log_proba(rows)
        else:
            logs = np.log(model.predict_proba(rows))
    with np.errstate(invalid="ignore"):
        if logs.shape[1] == 2:
            logs = logs[:, 1] - logs[:, 0]
    return "log-odds", np.apply_along_axis(single_log_odds, 0, logs)


def by_hand(model, y, pairs, weights=None):
    """Train on each pair; return the models, and the stacked rule of their scores."""
    trained, scores, folds = [], [], []
    for fold, (train, hold) in enumerate(pairs):
        fit = {} if weights is None else {"sample_weight": weights[train]}
        trained.append(clone(model).fit(X[train], y[train], **fit))
        kind, columns = responses(trained[-1], X[hold])
        scores.append(columns)
        folds += [fold] * len(hold)
    held = np.concatenate([hold for _, hold in pairs])
    options = {"kind": kind}
    if weights is not None:
        options["sample_weight"] = weights[held]
    columns = np.concatenate(scores)
    pooled = abers.fit_stacked_rule(columns, y[held], folds=folds, **options)
    return trained, pooled, abers.fit_stacked_rule(columns, y[held], **options)


def table(p):
    return p if p.ndim > 1 else np.stack((1 - p, p), axis=1)


# --- what it is ---


@models
@classes
def test_it_is_the_stacked_rule_of_all_out_of_fold_scores(model, y):
    """Prediction takes what each of the K models says of the row."""
    fitted = abers.CalibratedClassifier(model, cv=PAIRS).fit(X, y)
    trained, pooled, _ = by_hand(model, y, PAIRS)
    assert fitted.calibrator_ == as_read_by(fitted, pooled)
    assert fitted.weights_ == pooled.weights
    new = np.stack([responses(each, X)[1] for each in trained], axis=1)
    np.testing.assert_array_equal(
        fitted.predict_proba(X), table(pooled.probability(new))
    )
    np.testing.assert_array_equal(fitted.predict_bounds(X), pooled.bounds(new))
    assert len(fitted.estimators_) == 4


@models
@classes
def test_without_an_ensemble_one_more_model_predicts_alone(model, y):
    fitted = abers.CalibratedClassifier(model, cv=PAIRS, ensemble=False).fit(X, y)
    _, _, stacked = by_hand(model, y, PAIRS)
    tagged = stacked.with_metadata({"abers:out-of-fold": "yes"})  # by other models
    assert fitted.calibrator_ == as_read_by(fitted, tagged)
    (alone,) = fitted.estimators_
    _, new = responses(clone(model).fit(X, y), X)
    np.testing.assert_array_equal(responses(alone, X)[1], new)
    np.testing.assert_array_equal(fitted.predict_bounds(X), stacked.bounds(new))


@models
@classes
def test_a_frozen_model_gets_the_stacked_calibrator_of_its_scores(model, y):
    """To the bit, from all rows."""
    prefit = clone(model).fit(X[:100], y[:100])
    fitted = abers.CalibratedClassifier(FrozenEstimator(prefit)).fit(X, y)
    kind, scores = responses(prefit, X)
    calibrator = abers.StackedCalibrator(scores=kind).fit(scores, y)
    assert fitted.calibrator_ == as_read_by(fitted, calibrator.rule_)
    np.testing.assert_array_equal(
        fitted.predict_proba(X), calibrator.predict_proba(scores)
    )
    np.testing.assert_array_equal(
        fitted.predict_bounds(X), calibrator.predict_bounds(scores)
    )


@pytest.mark.parametrize(
    ("options", "trained"),
    [
        ({"cv": 3}, [160] * 3),
        ({}, [192] * 5),
        ({"cv": 3, "ensemble": False}, [160] * 3 + [240]),
        ({"cv": 3, "ensemble": True}, [160] * 3),
    ],
)
def test_k_folds_train_k_models_and_one_more_without_an_ensemble(options, trained):
    Counting.trained.clear()
    abers.CalibratedClassifier(Counting(), **options).fit(X, Y).predict_proba(X)
    assert Counting.trained == trained


@pytest.mark.parametrize("ensemble", ["auto", True, False])
def test_a_frozen_model_is_not_trained(ensemble):
    frozen = FrozenEstimator(Counting().fit(X, Y))
    Counting.trained.clear()
    fitted = abers.CalibratedClassifier(frozen, ensemble=ensemble).fit(X, Y)
    assert fitted.predict_bounds(X).shape == (240, 2)
    assert Counting.trained == []


# --- what holds for every row ---


@pytest.mark.parametrize(
    "load", [load_digits, load_wine, load_iris, load_breast_cancer]
)
@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize(
    "model", [GaussianNB(), RandomForestClassifier(5, random_state=0)], ids=str
)
def test_the_bounds_contain_the_probability_on_real_data(load, model, ensemble):
    """0 rows outside, whatever the class; and rows sum to 1."""
    rows, y = load(return_X_y=True)
    fitted = abers.CalibratedClassifier(
        model, cv=3, ensemble=ensemble, random_state=0
    ).fit(rows[::2], y[::2])
    p, bounds = fitted.predict_proba(rows), fitted.predict_bounds(rows)
    if bounds.ndim == 2:
        p = p[:, 1]
    else:
        np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    assert ((bounds[..., 0] <= p) & (p <= bounds[..., 1])).all()
    assert np.isfinite(fitted.predict_log_proba(rows)).all()


@models
@classes
def test_a_row_alone_has_the_bits_that_it_has_in_a_batch(model, y):
    fitted = abers.CalibratedClassifier(model, cv=3, random_state=0).fit(X, y)
    alone = np.concatenate([fitted.predict_bounds(row[None]) for row in X[:200]])
    np.testing.assert_array_equal(alone, fitted.predict_bounds(X[:200]))


def test_exchanging_the_names_of_two_classes_mirrors_the_result():
    one = abers.CalibratedClassifier(GaussianNB(), cv=PAIRS).fit(X, Y)
    other = abers.CalibratedClassifier(GaussianNB(), cv=PAIRS).fit(X, 1 - Y)
    np.testing.assert_allclose(
        other.predict_proba(X)[:, ::-1], one.predict_proba(X), rtol=0, atol=1e-9
    )


@classes
def test_bounds_of_one_class_are_asked_for_by_its_label(y):
    names = np.array(["ant", "bee", "cow"])[y]
    fitted = abers.CalibratedClassifier(TREE, random_state=0).fit(X, names)
    bounds, p = fitted.predict_bounds(X), fitted.predict_proba(X)
    for place, name in enumerate(fitted.classes_):
        one = fitted.predict_bounds(X, pos_label=name)
        assert one.shape == (240, 2)
        assert ((one[:, 0] <= p[:, place]) & (p[:, place] <= one[:, 1])).all()
        if len(fitted.classes_) == 3:
            np.testing.assert_array_equal(one, bounds[:, place])
    assert set(fitted.predict(X)) <= set(names)
    with pytest.raises(InvalidParameter, match="'dog'"):
        fitted.predict_bounds(X, pos_label="dog")


# --- weights, groups, metadata ---


@pytest.mark.parametrize("routing", [False, True])
@classes
def test_weights_reach_the_models_and_the_rule(routing, y):
    """Weights of 0 among them."""
    weights = np.arange(240) % 4 * 1.0
    with config_context(enable_metadata_routing=routing):
        model = GaussianNB()
        fitted = abers.CalibratedClassifier(model, cv=PAIRS)
        if routing:
            model.set_fit_request(sample_weight=True)
            fitted.set_fit_request(sample_weight=True)
        fitted.fit(X, y, sample_weight=weights)
    _, pooled, _ = by_hand(GaussianNB(), y, PAIRS, weights)
    assert fitted.calibrator_ == as_read_by(fitted, pooled)
    assert fitted.calibrator_.n_rows == weights.sum()


@pytest.mark.parametrize("routing", [False, True])
def test_groups_reach_the_splitter(routing):
    groups = np.arange(240) % 6
    with config_context(enable_metadata_routing=routing):
        fitted = abers.CalibratedClassifier(GaussianNB(), cv=GroupKFold(3))
        fitted.fit(X, Y, groups=groups)
    pairs = list(GroupKFold(3).split(X, Y, groups))
    _, pooled, _ = by_hand(GaussianNB(), Y, pairs)
    assert fitted.calibrator_ == as_read_by(fitted, pooled)


def test_groups_that_nothing_keeps_together_are_refused():
    with pytest.raises(InvalidParameter, match=r"cv=GroupKFold\(5\)"):
        abers.CalibratedClassifier().fit(X, Y, groups=Y)


def test_further_parameters_reach_the_model():
    fitted = abers.CalibratedClassifier(Recording(), cv=PAIRS)
    fitted.fit(X, Y, tag="mine", offset=np.arange(240))
    seen = [each.seen_ for each in fitted.estimators_]
    assert {each["tag"] for each in seen} == {"mine"}
    assert seen[0]["offset"].tolist() == PAIRS[0][0].tolist()


@pytest.mark.parametrize("ensemble", [True, False])
def test_a_row_that_calibrates_several_folds_counts_once(ensemble):
    cv = RepeatedKFold(n_splits=4, n_repeats=3, random_state=0)
    fitted = abers.CalibratedClassifier(GaussianNB(), cv=cv, ensemble=ensemble)
    fitted.fit(X, Y)
    assert fitted.calibrator_.n_rows == pytest.approx(240, rel=1e-9)
    assert fitted.calibrator_.n_models == (12 if ensemble else 1)


def test_a_class_that_a_fold_does_not_train_keeps_a_chance():
    rare = np.flatnonzero(Y3 == 2)
    others = np.flatnonzero(Y3 < 2)
    folds = [np.r_[rare, others[::2]], others[1::2]]
    pairs = [(np.setdiff1d(np.arange(240), hold), hold) for hold in folds]
    fitted = abers.CalibratedClassifier(GaussianNB(), cv=pairs)
    with pytest.warns(UserWarning, match="class 2 is missing"):
        fitted.fit(X, Y3)
    p = fitted.predict_proba(X)
    assert p.min() > 0
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    bounds = fitted.predict_bounds(X)
    assert ((bounds[..., 0] <= p) & (p <= bounds[..., 1])).all()


# --- as an estimator ---


def test_two_jobs_give_the_bits_of_one():
    one, two = (
        abers.CalibratedClassifier(TREE, n_jobs=jobs, random_state=0).fit(X, Y)
        for jobs in (None, 2)
    )
    assert one.calibrator_ == two.calibrator_


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (LogisticRegression(), "predict_proba"),
        (LinearSVC(), "decision_function"),
        (GaussianNB(), "predict_proba"),
    ],
)
def test_probabilities_are_preferred_to_margins(model, method):
    fitted = abers.CalibratedClassifier(model, cv=3).fit(X, Y)
    assert fitted.response_method_ == method
    kind = "margin" if method == "decision_function" else "log-odds"
    assert fitted.calibrator_.kind == kind
    margins = abers.CalibratedClassifier(
        LogisticRegression(), cv=3, response_method="decision_function"
    ).fit(X, Y)
    assert list(margins.weights_) == ["sigmoid", "venn_abers"]


def test_the_weights_are_shown():
    fitted = abers.CalibratedClassifier(TREE, random_state=0).fit(X, Y)
    assert list(fitted.weights_) == ["model", "beta", "venn_abers"]
    assert sum(fitted.weights_.values()) == pytest.approx(1, abs=1e-12)
    assert f"{fitted.weights_['beta']:.2f} beta" in repr(fitted.calibrator_)
    assert not fitted.guarantee_.proven


def test_clones_pickles_searches_and_pipelines_work():
    wrapper = abers.CalibratedClassifier(TREE, cv=3, random_state=0)
    fitted = clone(wrapper).fit(X, Y)
    assert not hasattr(clone(fitted), "calibrator_")
    restored = pickle.loads(pickle.dumps(fitted))
    assert restored.calibrator_ == fitted.calibrator_
    np.testing.assert_array_equal(restored.predict_bounds(X), fitted.predict_bounds(X))
    shallow = clone(wrapper).set_params(estimator__max_depth=1, ensemble=False)
    assert shallow.fit(X, Y).estimators_[0].max_depth == 1
    search = GridSearchCV(
        wrapper, {"estimator__max_depth": [1, 4]}, scoring="neg_log_loss", cv=3
    ).fit(X, Y)
    assert search.best_estimator_.weights_
    pipeline = make_pipeline(StandardScaler(), wrapper).fit(X, Y)
    np.testing.assert_allclose(pipeline.predict_proba(X).sum(axis=1), 1)
    default = abers.CalibratedClassifier(cv=PAIRS).fit(X, Y)
    named = abers.CalibratedClassifier(LogisticRegression(), cv=PAIRS).fit(X, Y)
    assert default.calibrator_ == named.calibrator_


@pytest.mark.parametrize("ensemble", ["yes", 1, None])
def test_an_ensemble_that_is_no_choice_is_refused(ensemble):
    with pytest.raises(InvalidType, match="ensemble must be True or False; got"):
        abers.CalibratedClassifier(ensemble=ensemble).fit(X, Y)


@classes
def test_evaluation_shows_what_it_changed(y):
    model = abers.CalibratedClassifier(GaussianNB(), cv=3, random_state=0)
    model.fit(X[::2], y[::2])
    evaluation = abers.evaluate(model, X[1::2], y[1::2])
    mean = np.mean([m.predict_proba(X[1::2]) for m in model.estimators_], axis=0)
    p = model.predict_proba(X[1::2])
    own = np.arange(120), y[1::2]
    assert evaluation.losses.log.before == pytest.approx(-np.log(mean[own]).mean())
    assert evaluation.losses.log.after == pytest.approx(-np.log(p[own]).mean())


@classes
def test_decisions_are_made_within_its_bounds(y):
    fitted = abers.CalibratedClassifier(GaussianNB(), cv=PAIRS).fit(X, y)
    n_classes = len(fitted.classes_)
    costs = 1 - np.eye(n_classes)
    decisions = abers.decide(fitted.predict_bounds(X), costs)
    sure = fitted.predict_proba(X).max(axis=1) > 0.75
    assert sure.any()
    np.testing.assert_array_equal(decisions.action[sure], fitted.predict(X)[sure])


def test_out_of_sample_it_is_better_than_its_model():
    """Naive Bayes on breast cancer is far too sure."""
    rows, y = load_breast_cancer(return_X_y=True)
    own = np.arange(y.size), y
    model = GaussianNB()
    wrapped = abers.CalibratedClassifier(model, random_state=0)
    before, after = (
        -np.log(cross_val_predict(m, rows, y, method="predict_proba")[own]).mean()
        for m in (model, wrapped)
    )
    assert after < before / 2
