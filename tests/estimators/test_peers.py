"""What the other libraries of this field get wrong, or leave out, works here.

Numbers are those of the list of defects measured in venn-abers 1.5.4 and MAPIE 1.6.0.
"""

import hashlib
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, log_loss, roc_auc_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import abers
from abers.errors import InvalidData, InvalidParameter

X, Y = make_classification(
    240, 5, n_informative=3, n_redundant=0, flip_y=0.2, random_state=0
)
IRIS_X, IRIS_Y = load_iris(return_X_y=True)
CLASSIFIERS = [
    abers.IVAPClassifier(GaussianNB(), random_state=0),
    abers.CVAPClassifier(GaussianNB(), cv=3, random_state=0),
]
CALIBRATORS = [
    abers.IVAPCalibrator(),
    abers.PlattCalibrator(),
    abers.IsotonicCalibrator(),
]

wrappers = pytest.mark.parametrize(
    "wrapper", CLASSIFIERS, ids=["IVAPClassifier", "CVAPClassifier"]
)
calibrators = pytest.mark.parametrize(
    "calibrator", CALIBRATORS, ids=lambda c: type(c).__name__
)


class Counting(GaussianNB):
    """Count the trainings of all copies."""

    trainings = 0

    def fit(self, X, y, sample_weight=None):
        Counting.trainings += 1
        return super().fit(X, y, sample_weight)


@pytest.fixture
def trainings():
    """The number of trainings since the test began."""
    Counting.trainings = 0
    return lambda: Counting.trainings


@pytest.fixture
def no_fitting(monkeypatch):
    """From the call on, fitting a rule is an error."""

    def refuse(*_, **__):
        msg = "a rule was fitted during prediction"
        raise AssertionError(msg)

    def forbid():
        for name, module in list(sys.modules.items()):
            if name.startswith("abers") and hasattr(module, "fit_rule"):
                monkeypatch.setattr(module, "fit_rule", refuse)

    return forbid


# --- venn-abers ---


def test_import_and_use_leave_the_floating_point_errors_of_numpy_alone():
    """Number 1: np.seterr at import, for the whole process."""
    program = (
        "import numpy as np\n"
        "before = np.geterr(), str(np.random.get_state())\n"
        "import abers\n"
        "abers.CVAPClassifier, abers.IVAPCalibrator, abers.losses\n"
        "abers.IVAPCalibrator().fit([[0.0, 1.0], [1.0, 0.0]], [0, 1])\n"
        "assert (np.geterr(), str(np.random.get_state())) == before\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


@wrappers
def test_predict_returns_labels_so_that_accuracy_can_be_scored(wrapper):
    """Number 2: one-hot rows from predict, a tuple from predict_proba."""
    fitted = clone(wrapper).fit(X, Y)
    assert fitted.predict(X).shape == (240,)
    assert fitted.predict_proba(X).shape == (240, 2)
    assert fitted.score(X, Y) == np.mean(fitted.predict(X) == Y)
    assert np.all(cross_val_score(wrapper, X, Y, scoring="accuracy") > 0.5)


@pytest.mark.parametrize("estimator", CLASSIFIERS + CALIBRATORS, ids=str)
def test_everything_is_a_classifier_to_scikit_learn(estimator):
    """Number 3: mixins in the wrong order."""
    assert is_classifier(estimator)


@wrappers
def test_cross_validation_of_sorted_labels_is_stratified(wrapper):
    """Number 3: not stratified, so that sorted y fails."""
    order = np.argsort(Y, kind="stable")
    scores = cross_val_score(wrapper, X[order], Y[order], scoring="roc_auc")
    assert np.all(scores > 0.5)


def test_voting_takes_venn_abers_classifiers():
    """Number 3: VotingClassifier raised."""
    members = [(type(m).__name__, clone(m)) for m in CLASSIFIERS]
    voting = VotingClassifier(members, voting="soft").fit(X, Y)
    mean = np.mean([m.predict_proba(X) for m in voting.estimators_], axis=0)
    np.testing.assert_allclose(voting.predict_proba(X), mean, rtol=1e-15)


@wrappers
@pytest.mark.parametrize("name", ["roc_auc", "neg_log_loss", "neg_brier_score"])
def test_scorers_of_probabilities_take_venn_abers_classifiers(wrapper, name):
    """Number 3: `roc_auc` raised, as anything did that asks for the second class."""
    fitted = clone(wrapper).fit(X, Y)
    p = fitted.predict_proba(X)[:, 1]
    by_hand = {
        "roc_auc": roc_auc_score(Y, p),
        "neg_log_loss": -log_loss(Y, p),
        "neg_brier_score": -np.mean((Y - p) ** 2),
    }
    assert get_scorer(name)(fitted, X, Y) == pytest.approx(by_hand[name], rel=1e-12)


LABELS = [[-1, 1], [1, 2], ["ham", "spam"], [False, True], [0.0, 1.0]]
CONTAINERS = [np.asarray, list, pd.Series, pd.Categorical]


@calibrators
@pytest.mark.parametrize("names", LABELS, ids=str)
@pytest.mark.parametrize("container", CONTAINERS, ids=lambda c: c.__name__)
def test_calibrators_take_labels_of_any_kind(calibrator, names, container):
    """Number 4: {-1, 1} gave (0, -0.71), {1, 2} gave (1.4, 1.0), strings raised."""
    labels = container(np.array(names)[Y])
    fitted = clone(calibrator).fit(X[:, 1], labels)
    plain = clone(calibrator).fit(X[:, 1], Y)
    assert fitted.classes_.tolist() == names
    np.testing.assert_array_equal(
        fitted.predict_proba(X[:, 1]), plain.predict_proba(X[:, 1])
    )


@calibrators
@pytest.mark.parametrize("container", [list, tuple, pd.Series, np.asarray])
def test_calibrators_take_one_column_of_scores_in_any_container(calibrator, container):
    """Number 4: lists, Series and 1-D scores raised obscure errors."""
    fitted = clone(calibrator).fit(container(X[:, 1].tolist()), Y)
    column = clone(calibrator).fit(X[:, [1]], Y)
    np.testing.assert_array_equal(
        fitted.predict_proba(container([0.5, 1.5])),
        column.predict_proba([[0.5], [1.5]]),
    )


@calibrators
def test_nan_scores_are_refused_at_fit_and_at_prediction(calibrator):
    """Number 5: a NaN test score got the interval of the highest scores."""
    with pytest.raises(InvalidData, match="NaN in 1 of 3 rows, first at row 1"):
        clone(calibrator).fit([0.1, np.nan, 0.3], [0, 1, 0])
    with pytest.raises(InvalidData, match="NaN in 1 of 2 rows, first at row 1"):
        clone(calibrator).fit([0.1, 0.2, 0.3], [0, 1, 0]).predict_proba([0.1, np.nan])


@pytest.mark.parametrize("names", [["a", "b", "c"], [1, 2, 3], [10, 20, 30]], ids=str)
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_class_labels_are_names_and_not_column_numbers(names, multiclass):
    """Number 6: strings and 1..K raised IndexError."""
    p = GaussianNB().fit(IRIS_X, IRIS_Y).predict_proba(IRIS_X)
    plain = abers.IVAPCalibrator(multiclass=multiclass).fit(p, IRIS_Y)
    named = abers.IVAPCalibrator(multiclass=multiclass).fit(p, np.array(names)[IRIS_Y])
    assert named.classes_.tolist() == names
    np.testing.assert_array_equal(named.predict_proba(p), plain.predict_proba(p))


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_class_without_calibration_scores_keeps_its_column(multiclass):
    """Number 6: 3 columns became 2 without a word."""
    p = GaussianNB().fit(IRIS_X, IRIS_Y).predict_proba(IRIS_X)
    seen = IRIS_Y != 2
    fitted = abers.IVAPCalibrator(multiclass=multiclass).fit(p[seen], IRIS_Y[seen])
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.predict_proba(p).shape == (150, 3)


def test_hard_zero_and_one_probabilities_treat_symmetric_classes_alike():
    """Number 7: 0/0 sorted last, and two of three equal classes got 0.024 and 0.046."""
    p = np.eye(3)[np.arange(90) % 3]
    fitted = abers.IVAPCalibrator().fit(p, np.arange(90) % 3)
    q = fitted.predict_proba(np.eye(3))
    others = q[~np.eye(3, dtype=bool)]
    np.testing.assert_allclose(others, others[0], rtol=1e-12)
    np.testing.assert_allclose(np.diag(q), q[0, 0], rtol=1e-12)
    assert q[0, 0] > 0.8


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_trees_with_hard_probabilities_give_finite_numbers_that_sum_to_one(multiclass):
    """Number 7: trees and forests."""
    model = abers.CVAPClassifier(
        DecisionTreeClassifier(random_state=0), multiclass=multiclass, random_state=0
    ).fit(IRIS_X, IRIS_Y)
    p = model.predict_proba(IRIS_X)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    assert p.min() > 0
    assert model.score(IRIS_X, IRIS_Y) > 0.9


@pytest.mark.parametrize(("rows", "labels"), [(X, Y), (IRIS_X, IRIS_Y)])
def test_k_folds_train_k_models_for_two_classes_and_for_three(trainings, rows, labels):
    """Number 8: 7 trainings for K = 5, and 21 with three classes."""
    abers.CVAPClassifier(Counting(), cv=5, random_state=0).fit(rows, labels)
    assert trainings() == 5


def test_an_ivap_trains_one_model_and_a_prefit_one_none(trainings):
    """Number 8: IVAP trained 3; a fitted estimator was refitted."""
    abers.IVAPClassifier(Counting(), random_state=0).fit(X, Y)
    assert trainings() == 1
    fitted = Counting().fit(X, Y)
    abers.IVAPClassifier(FrozenEstimator(fitted)).fit(X, Y).predict_proba(X)
    assert trainings() == 2


@wrappers
def test_prediction_fits_nothing(wrapper, trainings, no_fitting):
    """Number 9: every predict_proba refitted every fold."""
    fitted = clone(wrapper).set_params(estimator=Counting()).fit(X, Y)
    trained, digest = trainings(), hashlib.sha256(pickle.dumps(fitted)).digest()
    rules = [id(rule) for fold in fitted.rules_ for rule in fold]
    no_fitting()
    fitted.predict(X)
    fitted.predict_proba(X[:1])
    fitted.predict_bounds(X)
    assert trainings() == trained
    assert [id(rule) for fold in fitted.rules_ for rule in fold] == rules
    assert hashlib.sha256(pickle.dumps(fitted)).digest() == digest


@pytest.mark.parametrize(
    "estimator", [*CLASSIFIERS, abers.IVAPCalibrator()], ids=lambda e: type(e).__name__
)
def test_an_unknown_loss_is_refused(estimator):
    """Number 10: loss="nonsense" meant Brier; bare Exception throughout."""
    with pytest.raises(InvalidParameter, match="loss must be 'log' or 'brier'"):
        clone(estimator).set_params(loss="nonsense").fit(X[:, :1], Y)


@pytest.mark.parametrize(
    "estimator", [*CLASSIFIERS, abers.IVAPCalibrator()], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("labels", [Y, np.arange(240) % 3], ids=["binary", "three"])
def test_brier_loss_is_used_everywhere(estimator, labels):
    """Number 10: loss="brier" in array mode was ignored (difference 0.0)."""
    rows = X[:, :1] if labels is Y else X[:, :3]
    log, brier = (
        clone(estimator).set_params(loss=loss).fit(rows, labels).predict_proba(rows)
        for loss in ("log", "brier")
    )
    assert np.abs(log - brier).max() > 1e-4


def test_brier_loss_merges_by_the_formula_of_the_paper():
    """Number 10; section 4: p1 + (p0² - p1²) / 2 is 1/2 - 1/8 for bounds (0, 1/2)."""
    fitted = abers.IVAPCalibrator(loss="brier").fit([1, 2, 3], [0, 1, 0])
    assert fitted.predict_bounds([1]).tolist() == [[0, 0.5]]
    assert fitted.predict_proba([1]).tolist() == [[0.625, 0.375]]


def test_150_folds_with_rare_positives_have_finite_log_loss():
    """Number 11: the raw product gave 125 zeros of 4,000, infinite log loss."""
    rng = np.random.default_rng(0)
    labels = (np.arange(4000) % 200 == 0).astype(int)
    rows = rng.normal(size=(4000, 2)) + labels[:, None]
    pairs = [np.split(rng.permutation(4000), [3000]) for _ in range(150)]
    fitted = abers.CVAPClassifier(GaussianNB(), cv=pairs, merge="minimax")
    p = fitted.fit(rows, labels).predict_proba(rows)[:, 1]
    assert p.min() >= 1 / 1002  # Lemma 2
    assert p.max() < 1
    assert np.isfinite(log_loss(labels, p))


@wrappers
@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier()])
def test_sample_weights_and_sparse_rows_work_together(wrapper, model):
    """Numbers 12 and 17: both raised."""
    weights = np.arange(240) % 3 + 1.0
    fitted = clone(wrapper).set_params(estimator=model)
    fitted.fit(sparse.csr_array(X), Y, sample_weight=weights)
    assert np.isfinite(fitted.predict_proba(sparse.csr_array(X))).all()
    plain = clone(fitted).fit(sparse.csr_array(X), Y)
    assert fitted.rules_ != plain.rules_


def test_an_unseen_category_is_what_the_pipeline_says():
    """Number 12: an unseen category silently became all zeros."""
    rows = pd.DataFrame({"colour": np.array(["red", "blue"])[Y]})
    model = make_pipeline(OneHotEncoder(), LogisticRegression())
    fitted = abers.CVAPClassifier(model, cv=3, random_state=0).fit(rows, Y)
    with pytest.raises(ValueError, match="unknown categories"):
        fitted.predict_proba(pd.DataFrame({"colour": ["green"]}))


@pytest.mark.parametrize("estimator", CLASSIFIERS + CALIBRATORS, ids=str)
def test_fitting_twice_is_fitting_once_and_fit_returns_itself(estimator):
    """Number 13: a second fit doubled the estimators; fit returned None."""
    estimator = clone(estimator)
    rows = X[:, :1]
    assert estimator.fit(rows, Y) is estimator
    once = estimator.predict_proba(rows)
    assert estimator.fit(rows, Y) is estimator
    np.testing.assert_array_equal(estimator.predict_proba(rows), once)


@wrappers
def test_a_second_fit_holds_no_more_than_the_first(wrapper):
    """Number 13."""
    fitted = clone(wrapper).fit(X, Y)
    sizes = len(fitted.estimators_), len(fitted.rules_)
    fitted.fit(IRIS_X, IRIS_Y)
    assert (len(fitted.estimators_), len(fitted.rules_)) == sizes
    assert fitted.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("estimator", CLASSIFIERS + CALIBRATORS, ids=str)
def test_fit_does_not_overwrite_parameters(estimator):
    """Number 13: fit overwrote n_splits and epsilon."""
    estimator = clone(estimator)
    before = {name: id(value) for name, value in estimator.get_params().items()}
    estimator.fit(X[:, :1], Y).predict_proba(X[:, :1])
    after = {name: id(value) for name, value in estimator.get_params().items()}
    assert after == before


def test_every_fold_has_its_own_model():
    """Number 14: one estimator object K+1 times, all folds scored by the last."""
    splitter = KFold(4)
    fitted = abers.CVAPClassifier(GaussianNB(), cv=splitter).fit(X, Y)
    assert len({id(model) for model in fitted.estimators_}) == 4
    for model, (train, _) in zip(fitted.estimators_, splitter.split(X), strict=True):
        expected = GaussianNB().fit(X[train], Y[train])
        np.testing.assert_array_equal(model.theta_, expected.theta_)


# --- MAPIE ---


def test_labels_of_a_prefit_model_give_no_negative_probabilities():
    """MAPIE, number 4: -0.98 from the public prefit class with labels {-1, 1}."""
    model = GaussianNB().fit(X, 2 * Y - 1)
    fitted = abers.IVAPClassifier(FrozenEstimator(model)).fit(X, 2 * Y - 1)
    assert fitted.predict_proba(X).min() > 0
    assert fitted.classes_.tolist() == [-1, 1]


def test_the_scaler_of_a_prefit_pipeline_stays_as_it_was():
    """Number 15: the scaler's mean moved by 4.9, in the user's own object."""
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    before = pickle.dumps(pipeline)
    moved = X + 5
    fitted = abers.IVAPClassifier(FrozenEstimator(pipeline)).fit(moved, Y)
    assert pickle.dumps(pipeline) == before
    scaler = fitted.estimators_[0].estimator[0]
    np.testing.assert_array_equal(scaler.mean_, X.mean(axis=0))


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_class_absent_from_calibration_moves_no_other_column(multiclass):
    """Number 16: accuracy on the other classes 0.38, against 0.745 of the model."""
    model = GaussianNB().fit(IRIS_X, IRIS_Y)
    seen = IRIS_Y != 0
    fitted = abers.IVAPClassifier(FrozenEstimator(model), multiclass=multiclass)
    fitted.fit(IRIS_X[seen], IRIS_Y[seen])
    assert fitted.predict_proba(IRIS_X).shape == (150, 3)
    accuracy = np.mean(fitted.predict(IRIS_X[seen]) == IRIS_Y[seen])
    assert accuracy >= model.score(IRIS_X[seen], IRIS_Y[seen]) - 0.02


def test_pandas_rows_work_in_cross_validation_whatever_their_index():
    """Number 17: KeyError."""
    frame = pd.DataFrame(X, index=[f"row {i}" for i in range(240)])
    frame.columns = list("abcde")
    series = pd.Series(Y, index=frame.index)
    fitted = abers.CVAPClassifier(GaussianNB(), random_state=0).fit(frame, series)
    plain = abers.CVAPClassifier(GaussianNB(), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(fitted.predict_proba(frame), plain.predict_proba(X))


def test_a_splitter_without_shuffling_does_not_shuffle():
    """Number 17: shuffle=False of the constructor was ignored."""
    fitted = abers.CVAPClassifier(GaussianNB(), cv=KFold(3)).fit(X, Y)
    positives = [fold[0].n_positives for fold in fitted.rules_]
    assert positives == [Y[:80].sum(), Y[80:160].sum(), Y[160:].sum()]


def test_fit_parameters_are_not_dropped():
    """Number 17: **fit_params accepted and dropped."""
    with pytest.raises(TypeError, match="nonsense"):
        abers.CVAPClassifier(GaussianNB()).fit(X, Y, nonsense=1)


def test_error_sentences_show_values_and_not_their_names():
    """Number 17: the text printed {self.valid_cv} unformatted."""
    with pytest.raises(InvalidParameter) as caught:
        abers.CVAPClassifier(GaussianNB(), cv=0).fit(X, Y)
    assert "got 0" in str(caught.value)
    assert "{" not in str(caught.value)


def test_predictions_of_a_prefit_multiclass_model_fit_no_pairs(no_fitting):
    """Number 18: all pairs were refitted at every predict."""
    model = FrozenEstimator(GaussianNB().fit(IRIS_X, IRIS_Y))
    fitted = abers.IVAPClassifier(model, multiclass="ovo").fit(IRIS_X, IRIS_Y)
    assert [rule.n_rows for rule in fitted.rules_[0]] == [100, 100, 100]
    no_fitting()
    assert fitted.predict_proba(IRIS_X).shape == (150, 3)
    assert fitted.predict_bounds(IRIS_X).shape == (150, 3, 2)


def test_coupling_is_named_after_price_and_others_and_keeps_their_formula():
    """Number 19: attributed to Hastie and Tibshirani, called a harmonic mean."""
    assert "Price, Knerr, Personnaz, Dreyfus" in abers.rules.couple.__doc__
    p = np.array([0.5, 0.3, 0.2])
    pairwise = p[:, None] / (p[:, None] + p)
    np.testing.assert_allclose(abers.rules.couple([pairwise]), [p], rtol=1e-14)
