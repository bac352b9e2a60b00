"""CalibratedClassifier: what is trained, what is read, and what it gives."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, RepeatedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import abers
from abers.core.stacked import StackedRule
from abers.errors import InvalidParameter, InvalidType
from witnesses import Counting, X, Y

DIGITS = load_digits(return_X_y=True)
SETS = {
    "breast cancer": load_breast_cancer(return_X_y=True),
    "iris": load_iris(return_X_y=True),
    "wine": load_wine(return_X_y=True),
    "digits": DIGITS,
}
MODELS = {
    "probabilities": GaussianNB(),
    "margins": LinearSVC(random_state=0),
    "votes": RandomForestClassifier(20, random_state=0),
}
sets = pytest.mark.parametrize("data", SETS.values(), ids=SETS)
models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def fitted(model=None, data=(X, Y), **options):
    options = {"cv": 3, "random_state": 0} | options
    model = GaussianNB() if model is None else model  # an empty forest is falsy
    return abers.CalibratedClassifier(model, **options).fit(*data)


# --- what is trained ---


@pytest.mark.parametrize(
    ("options", "trainings"), [({}, 3), ({"ensemble": False}, 4), ({"cv": None}, 5)]
)
def test_models_are_trained_once_per_fold_and_once_more_for_all_rows(
    options, trainings
):
    Counting.trained.clear()
    model = fitted(Counting(), **options)
    assert len(Counting.trained) == trainings
    assert len(model.estimators_) == (1 if "ensemble" in options else trainings)


def test_a_frozen_model_is_not_trained_and_all_rows_calibrate_it():
    frozen = FrozenEstimator(Counting().fit(X, Y))
    Counting.trained.clear()
    model = abers.CalibratedClassifier(frozen).fit(X, Y)
    assert Counting.trained == []
    assert model.calibrator_.n_observations == len(Y)
    assert model.estimators_[0].estimator is frozen.estimator


@pytest.mark.parametrize("data", [(X, Y), DIGITS], ids=["two classes", "digits"])
def test_a_frozen_model_gets_what_its_scores_get_by_the_calibrator(data):
    features, labels = data
    inner = DecisionTreeClassifier(max_depth=4, random_state=0)
    inner.fit(features[::2], labels[::2])
    new = features[1::2], labels[1::2]
    model = abers.CalibratedClassifier(FrozenEstimator(inner)).fit(*new)
    p = inner.predict_proba(new[0])
    with np.errstate(divide="ignore"):
        logs = np.log(p)
    direct = abers.StackedCalibrator(scores="log-odds")
    scores = logs
    if p.shape[1] == 2:
        scores = logs[:, 1] - logs[:, 0]
    # Log-odds of a model are rounded to 2^-22 before they are read.
    np.testing.assert_allclose(
        model.predict_proba(new[0]),
        direct.fit(scores, new[1]).predict_proba(scores),
        atol=1e-6,
    )


def test_a_row_that_calibrates_several_folds_counts_as_one():
    once = fitted(cv=RepeatedKFold(n_splits=3, n_repeats=1, random_state=0))
    thrice = fitted(cv=RepeatedKFold(n_splits=3, n_repeats=3, random_state=0))
    assert once.calibrator_.n_observations == len(Y)
    assert thrice.calibrator_.n_observations == pytest.approx(len(Y))


def test_groups_are_kept_together_by_a_splitter_and_refused_without():
    groups = np.arange(len(Y)) % 12
    model = abers.CalibratedClassifier(GaussianNB(), cv=GroupKFold(3))
    assert len(model.fit(X, Y, groups=groups).estimators_) == 3
    with pytest.raises(InvalidParameter, match="groups must have a splitter"):
        fitted(cv=3).fit(X, Y, groups=groups)


def test_metadata_is_routed_to_model_and_splitter():
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        model = abers.CalibratedClassifier(inner, cv=GroupKFold(3))
        weights, groups = 1 + np.arange(len(Y)) % 2, np.arange(len(Y)) % 12
        model.fit(X, Y, sample_weight=weights, groups=groups)
    assert model.calibrator_.n_observations == weights.sum()


def test_workers_change_no_bit():
    alone, together = fitted(n_jobs=1), fitted(n_jobs=2)
    np.testing.assert_array_equal(alone.predict_proba(X), together.predict_proba(X))


# --- what it gives ---


@sets
@models
@pytest.mark.parametrize("ensemble", [True, False])
def test_probabilities_lie_within_their_bounds_and_sum_to_1(data, model, ensemble):
    features, labels = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LinearSVC may not converge
        ours = fitted(model, (features[::2], labels[::2]), ensemble=ensemble)
    p = ours.predict_proba(features[1::2])
    bounds = ours.predict_bounds(features[1::2])
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert ((p > 0) & (p < 1)).all()
    point = p if len(ours.classes_) > 2 else p[:, 1]
    assert (bounds[..., 0] <= point).all()
    assert (point <= bounds[..., 1]).all()


@models
@pytest.mark.parametrize("data", [SETS["breast cancer"], DIGITS], ids=["two", "ten"])
def test_a_row_alone_has_the_bits_of_a_batch(data, model):
    features, labels = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = fitted(model, (features[:400], labels[:400]))
    new = features[400:440]
    alone = np.concatenate([ours.predict_proba(row[np.newaxis]) for row in new])
    np.testing.assert_array_equal(alone, ours.predict_proba(new))


def test_it_is_more_accurate_than_the_models_it_calibrates():
    features, labels = DIGITS
    train, new = (features[::2], labels[::2]), (features[1::2], labels[1::2])
    before = log_loss(new[1], GaussianNB().fit(*train).predict_proba(new[0]))
    after = log_loss(new[1], fitted(data=train, cv=5).predict_proba(new[0]))
    assert after < 0.6 < 2 < before


def test_weights_of_two_are_rows_given_twice_to_the_calibrator():
    """With a frozen model: training would see other folds."""
    frozen = FrozenEstimator(GaussianNB().fit(X, Y))
    weights = 1 + np.arange(len(Y)) % 3
    weighted = abers.CalibratedClassifier(frozen).fit(X, Y, sample_weight=weights)
    repeated = abers.CalibratedClassifier(frozen).fit(
        X.repeat(weights, axis=0), Y.repeat(weights)
    )
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9
    )


def test_rows_of_weight_zero_do_not_count():
    frozen = FrozenEstimator(GaussianNB().fit(X, Y))
    weights = (np.arange(len(Y)) % 2).astype(float)
    weighted = abers.CalibratedClassifier(frozen).fit(X, Y, sample_weight=weights)
    left_out = abers.CalibratedClassifier(frozen).fit(X[1::2], Y[1::2])
    np.testing.assert_array_equal(weighted.predict_proba(X), left_out.predict_proba(X))


def test_labels_may_be_text_and_bounds_are_of_the_class_asked_for():
    names = np.array(["no", "yes"])[Y]
    ours, other = fitted(data=(X, names)), fitted()
    assert ours.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(ours.predict_proba(X), other.predict_proba(X))
    of_yes = ours.predict_bounds(X)
    np.testing.assert_array_equal(ours.predict_bounds(X, pos_label="yes"), of_yes)
    of_no = ours.predict_bounds(X, pos_label="no")
    np.testing.assert_array_equal(of_no, 1 - of_yes[:, ::-1])


def test_a_class_that_one_fold_never_saw_gets_a_probability():
    features, labels = SETS["iris"]
    rare = np.r_[0:50, 50:100, 100:102]
    with pytest.warns(UserWarning, match="class 2 has only 2 of 102 rows"):
        ours = fitted(data=(features[rare], labels[rare]), cv=3)
    p = ours.predict_proba(features)
    assert np.isfinite(np.log(p)).all()


def test_models_without_information_give_the_base_rate():
    ours = fitted(DummyClassifier(strategy="prior"), cv=5)
    np.testing.assert_allclose(ours.predict_proba(X)[:, 1], Y.mean(), atol=0.01)


# --- what it is ---


def test_the_weights_of_the_parts_are_shown():
    ours = fitted()
    assert list(ours.weights_) == ["model", "beta", "venn_abers"]
    assert sum(ours.weights_.values()) == pytest.approx(1)
    assert ours.weights_ == ours.calibrator_.weights
    shown = ", ".join(
        f"{w:.2f} {n}"
        for w, n in zip(
            ours.weights_.values(), ["model", "beta", "Venn-Abers"], strict=True
        )
    )
    assert shown in repr(ours.calibrator_)


def test_nothing_is_said_to_be_proven_of_it():
    assert not fitted().guarantee_.proven
    assert "`rule`" in str(fitted().guarantee_)


def test_the_calibrator_is_a_stacked_rule_of_all_models():
    ours = fitted()
    assert isinstance(ours.calibrator_, StackedRule)
    assert ours.calibrator_.n_models == 3
    with pytest.raises(AttributeError, match="3 models are pooled in one"):
        _ = ours.calibrator_.rule


def test_a_pickle_predicts_the_same_bits_and_a_clone_is_unfitted():
    ours = fitted()
    restored = pickle.loads(pickle.dumps(ours))
    np.testing.assert_array_equal(restored.predict_proba(X), ours.predict_proba(X))
    assert not hasattr(clone(ours), "classes_")
    assert clone(ours).set_params(cv=4).cv == 4


def test_a_pipeline_inside_and_outside():
    inside = fitted(make_pipeline(StandardScaler(), LogisticRegression()))
    outside = make_pipeline(
        StandardScaler(), abers.CalibratedClassifier(cv=3, random_state=0)
    )
    for model in (inside, outside.fit(X, Y)):
        assert model.predict_proba(X).shape == (240, 2)


@pytest.mark.parametrize("ensemble", ["yes", 1, None])
def test_ensemble_is_a_flag_or_auto(ensemble):
    with pytest.raises(InvalidType, match="ensemble must be True or False"):
        fitted(ensemble=ensemble)


def test_a_fitted_model_that_is_trained_again_is_warned_of():
    with pytest.warns(UserWarning, match=r"fitted already.*FrozenEstimator\(model\)"):
        fitted(GaussianNB().fit(X, Y))


def test_evaluate_shows_before_and_after():
    ours = fitted(data=(X[::2], Y[::2]))
    result = abers.evaluate(ours, X[1::2], Y[1::2])
    assert result.log_loss.before is not None
    assert result.widths is not None


def test_decisions_are_made_from_its_bounds():
    decisions = abers.decide(fitted().predict_bounds(X), cost_fp=1, cost_fn=5)
    assert len(decisions.action) == len(Y)
