"""Who predicts which rows: no label sees itself, nothing is trained twice."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

import abers
from abers.comparison import calibrated, compare
from abers.errors import AbersError, InvalidParameter
from abers.report import comparison_page

RNG = np.random.default_rng(5)
X = RNG.normal(size=(240, 3))
MARGINS = X[:, 0] + 0.5 * RNG.normal(size=240)
Y = (X[:, 0] + RNG.logistic(scale=0.6, size=240) > 0).astype(int)
P = expit(3 * MARGINS)
WEIGHTS = RNG.exponential(size=240)
STEPS = ("isotonic", "isotonic with dummies", "IVAP", "CVAP")
CROSSED = (*STEPS, "CVAP pooled")
CURVES = ("temperature", "beta")


class Counting(ClassifierMixin, BaseEstimator):
    """Score by the first feature; count how often it is trained, and on what."""

    trainings: list = []  # noqa: RUF012

    def fit(self, _X, y):
        self.classes_ = np.unique(y)
        self.trainings.append(len(y))
        return self

    def predict_proba(self, X):
        p = expit(2 * X[:, 0])
        return np.stack((1 - p, p), axis=1)


# --- scores alone ---


@pytest.mark.parametrize("scores", [P, MARGINS], ids=["probability", "margin"])
def test_a_fold_is_predicted_by_methods_fitted_to_the_other_folds(scores):
    kind = "probability" if scores is P else "margin"
    folds = KFold(4, shuffle=True, random_state=3)
    found = compare(scores, Y, cv=folds).probabilities
    for fit, held in folds.split(scores):
        expected = calibrated(scores[fit], Y[fit], scores[held], kind=kind)
        assert list(found) == list(expected)
        for name, p in expected.items():
            np.testing.assert_array_equal(found[name][held], p, err_msg=name)


@pytest.mark.parametrize("scores", [P, MARGINS], ids=["probability", "margin"])
@pytest.mark.parametrize("row", [0, 17, 239])
def test_a_label_cannot_change_the_prediction_of_its_own_row(scores, row):
    flipped = Y.copy()
    flipped[row] = 1 - Y[row]
    before, after = (
        compare(scores, labels, cv=KFold(6)).probabilities for labels in (Y, flipped)
    )
    for name, p in before.items():
        assert p[row] == after[name][row], name
    assert any((p != after[name]).any() for name, p in before.items())


def test_a_score_column_is_a_column_and_two_of_probabilities_are_one():
    flat, column, two = (
        compare(shaped, Y, methods=STEPS).probabilities
        for shaped in (P, P[:, None], np.stack((1 - P, P), axis=1))
    )
    for name, p in flat.items():
        np.testing.assert_array_equal(p, column[name])
        np.testing.assert_array_equal(p, two[name])


def test_test_rows_of_scores_are_predicted_by_the_other_rows_once():
    late = np.arange(240) >= 200
    by_mask = compare(MARGINS, Y, test=late)
    by_number = compare(MARGINS, Y, test=np.flatnonzero(late))
    expected = calibrated(MARGINS[:200], Y[:200], MARGINS[200:], kind="margin")
    for name, p in expected.items():
        np.testing.assert_array_equal(by_mask.probabilities[name], p)
        np.testing.assert_array_equal(by_number.probabilities[name], p)
    assert by_mask.rows.tolist() == list(range(200, 240))
    assert by_mask.labels.tolist() == Y[200:].tolist()
    assert "fitted to 200 others" in by_mask.how


def test_rows_that_are_never_held_out_are_not_judged():
    comparison = compare(MARGINS, Y, cv=TimeSeriesSplit(4))
    assert comparison.rows.tolist() == list(range(48, 240))
    assert comparison.n_rows == 192
    assert comparison.n_positives == Y[48:].sum()
    assert not any(np.isnan(p).any() for p in comparison.probabilities.values())


# --- a classifier ---


@pytest.mark.parametrize(
    ("estimator", "names"),
    [
        (
            LogisticRegression(),
            ("underlying", "Platt (probability)", "Platt (margin)", *CURVES, *CROSSED),
        ),
        (
            GaussianNB(),
            (
                "underlying",
                "Platt (probability)",
                "Platt (log-odds)",
                *CURVES,
                *CROSSED,
            ),
        ),
        (LinearSVC(), ("Platt (margin)", *CURVES, *CROSSED)),
    ],
    ids=["both", "probability", "margin"],
)
def test_what_a_classifier_offers_decides_the_methods(estimator, names):
    comparison = compare(X, Y, estimator=estimator)
    assert tuple(comparison.probabilities) == names
    assert comparison.reference == names[0]


@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianNB()], ids=str)
def test_methods_of_a_classifier_are_the_classifiers_of_the_library(estimator):
    """Same test rows, same folds; the last fold is the split of the IVAP."""
    test = np.arange(240) % 4 == 0
    X_train, y_train = X[~test], Y[~test]
    found = compare(X, Y, estimator=estimator, test=test, cv=KFold(5)).probabilities
    last = np.arange(180) >= 144
    cvap, pooled = (
        abers.CVAPClassifier(estimator, cv=KFold(5), merge=merge).fit(X_train, y_train)
        for merge in ("minimax", "pooled")
    )
    ivap = abers.IVAPClassifier(estimator, calibration=last).fit(X_train, y_train)
    alone = estimator.fit(X_train, y_train)
    for name, model in (
        ("CVAP", cvap),
        ("CVAP pooled", pooled),
        ("IVAP", ivap),
        ("underlying", alone),
    ):
        expected = model.predict_proba(X[test])[:, 1]
        np.testing.assert_array_equal(found[name], expected, err_msg=name)
    inner = estimator.fit(X_train[~last], y_train[~last])
    p = calibrated(
        inner.predict_proba(X_train[last]),
        y_train[last],
        inner.predict_proba(X[test]),
        kind="probability",
    )
    for name in found.keys() - {"underlying", "CVAP", "CVAP pooled", "Platt (margin)"}:
        # The log-odds differ in their last bits, and the loss of beta is flat there.
        rtol = 1e-6 if name == "beta" else 1e-9
        np.testing.assert_allclose(found[name], p[name], rtol=rtol, err_msg=name)


@pytest.mark.parametrize(
    ("methods", "trainings"),
    [
        (None, [144] * 5 + [180]),
        (["underlying"], [180]),
        (["IVAP", "isotonic", "Platt (log-odds)"], [144]),
        (["IVAP", "underlying"], [144, 180]),
        (["CVAP", "IVAP"], [144] * 5),
        (["temperature", "beta"], [144]),
        (["CVAP pooled", "CVAP"], [144] * 5),
    ],
)
def test_no_more_is_trained_than_the_methods_need(methods, trainings):
    """K + 1 trainings serve them all."""
    Counting.trainings.clear()
    compare(X, Y, estimator=Counting(), cv=KFold(5), methods=methods)
    assert Counting.trainings == trainings


def test_labels_of_test_rows_change_no_prediction():
    test = np.arange(240) % 3 == 0
    flipped = np.where(test, 1 - Y, Y)
    before, after = (
        compare(X, labels, estimator=LogisticRegression(), test=test).probabilities
        for labels in (Y, flipped)
    )
    for name, p in before.items():
        np.testing.assert_array_equal(p, after[name], err_msg=name)


def test_a_quarter_of_the_rows_is_drawn_for_the_test_by_random_state():
    comparison = compare(X, Y, estimator=GaussianNB(), random_state=4)
    again = compare(X, Y, estimator=GaussianNB(), random_state=4)
    other = compare(X, Y, estimator=GaussianNB(), random_state=5)
    assert comparison.n_rows == 60
    assert comparison.to_dict() == again.to_dict()
    assert comparison.rows.tolist() != other.rows.tolist()


def test_a_prefit_classifier_is_judged_as_it_is():
    model = LogisticRegression().fit(X[:80], Y[:80])
    before = model.coef_.copy()
    comparison = compare(X[80:], Y[80:], estimator=FrozenEstimator(model))
    expected = model.predict_proba(X[80:][comparison.rows])[:, 1]
    np.testing.assert_array_equal(comparison.probabilities["underlying"], expected)
    np.testing.assert_array_equal(model.coef_, before)
    assert comparison.how == (
        "LogisticRegression tested on 40 other rows: calibrated on 24 (Platt, "
        "temperature, beta, isotonic, IVAP); calibrated in 5 folds of 120 (CVAP); "
        "prefit (underlying)."
    )


def test_tables_and_names_of_classes_are_taken_as_they_come():
    """The greater of two labels is the positive one."""
    names = np.where(Y == 1, "yes", "no")
    plain = compare(X, Y, estimator=LogisticRegression())
    table = compare(pd.DataFrame(X), pd.Series(names), estimator=LogisticRegression())
    for name, p in plain.probabilities.items():
        np.testing.assert_allclose(p, table.probabilities[name], rtol=1e-9)
    assert plain.labels.tolist() == table.labels.tolist()
    first, second = compare(P, names).to_dict(), compare(pd.Series(P), Y > 0).to_dict()
    assert (first.pop("positive"), second.pop("positive")) == ("yes", True)
    classes = first.pop("classes"), second.pop("classes")
    assert classes == (["no", "yes"], [False, True])
    assert first == second


@pytest.mark.parametrize(
    ("estimator", "rows"),
    [
        (RandomForestClassifier(5, random_state=0), X),
        (LogisticRegression(), csr_matrix(X)),
        (GaussianNB(), X.tolist()),
    ],
    ids=["forest", "sparse", "lists"],
)
def test_classifiers_of_any_kind_are_compared(estimator, rows):
    """A forest that is not trained has no length, and is no False."""
    comparison = compare(rows, Y, estimator=estimator, cv=3)
    assert comparison.how.startswith(f"{type(estimator).__name__} tested on 60")
    assert len(comparison.methods) == 10


def test_weights_reach_the_classifier_and_the_rules():
    test = np.arange(240) % 4 == 0
    weights = {"sample_weight": WEIGHTS[~test]}
    found = compare(
        X, Y, estimator=GaussianNB(), test=test, sample_weight=WEIGHTS
    ).probabilities
    alone = GaussianNB().fit(X[~test], Y[~test], **weights)
    cvap, pooled = (
        abers.CVAPClassifier(GaussianNB(), merge=merge, random_state=0)
        for merge in ("minimax", "pooled")
    )
    for model in (cvap, pooled):
        model.fit(X[~test], Y[~test], **weights)
    for name, model in (
        ("underlying", alone),
        ("CVAP", cvap),
        ("CVAP pooled", pooled),
    ):
        expected = model.predict_proba(X[test])[:, 1]
        np.testing.assert_array_equal(found[name], expected, err_msg=name)


class Unweighted(Counting):
    """Takes no weights."""


@pytest.mark.parametrize("methods", [None, ["underlying"], ["IVAP"]], ids=str)
def test_a_classifier_without_weights_is_warned_of_once(methods):
    with pytest.warns(UserWarning, match="does not take sample_weight") as raised:
        compare(X, Y, estimator=Unweighted(), sample_weight=WEIGHTS, methods=methods)
    assert len(raised) == 1


@pytest.mark.parametrize("methods", [None, ["underlying"]], ids=str)
def test_routed_weights_reach_the_model_trained_on_all_rows(methods):
    test = np.arange(240) % 4 == 0
    asked = {"test": test, "sample_weight": WEIGHTS, "methods": methods}
    with config_context(enable_metadata_routing=True):
        model = GaussianNB().set_fit_request(sample_weight=True)
        found = compare(X, Y, estimator=model, **asked).probabilities["underlying"]
    expected = compare(X, Y, estimator=GaussianNB(), **asked).probabilities
    np.testing.assert_array_equal(found, expected["underlying"])


def test_a_class_with_fewer_rows_than_folds_is_warned_of():
    with pytest.warns(UserWarning, match="class True has only 3 of 240 rows"):
        found = compare(P, np.arange(240) < 3)
    assert not any(np.isnan(p).any() for p in found.probabilities.values())


@pytest.mark.parametrize("methods", [None, ["underlying"]], ids=str)
def test_training_rows_of_one_class_are_refused(methods):
    labels = (np.arange(240) < 60).astype(int)
    with pytest.raises(AbersError, match="at least two classes"):
        compare(
            X,
            labels,
            estimator=Counting(),
            test=labels == 1,
            cv=KFold(3),
            methods=methods,
        )


@pytest.mark.parametrize("methods", [None, ["underlying"]], ids=str)
def test_labels_that_a_prefit_model_does_not_know_are_refused(methods):
    model = FrozenEstimator(GaussianNB().fit(X, Y))
    with pytest.raises(AbersError, match="among those of the prefit model"):
        compare(X, Y + 1, estimator=model, methods=methods)


# --- what is refused ---


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": np.ones(240, int)}, r"y must hold two classes .*got \[1\] only"),
        ({"y": np.arange(240) % 3}, "column of scores for each of the 3 .*got 1"),
        ({"positive": 2}, r"one of the classes .*\[0, 1\]; got 2"),
        ({"y": np.where(np.arange(240) == 9, np.nan, Y)}, "y must not be NaN.*row 9"),
        ({"y": [*Y[:-1].tolist(), None]}, "y must not be NaN.*row 239"),
        ({"y": Y[1:]}, "got 239 labels and 240 scores"),
        ({"X": np.where(P > 0.9, np.nan, P)}, "scores must not be NaN"),
        ({"X": X}, "X must be one column of scores.*got 3 columns"),
        ({"X": X[:, :2]}, "X must be one column of scores.*got 2 columns"),
        ({"methods": ["Venn"]}, "methods must be among 'underlying', .*; got 'Venn'"),
        ({"methods": ["Platt (margin)"]}, "among .* here; got 'Platt"),
        ({"methods": ["CVAP pooled"]}, "among .* here; got 'CVAP pooled'"),
        ({"reference": "Venn"}, "reference must be one of the methods.*got 'Venn'"),
        ({"methods": ["IVAP"], "reference": "CVAP"}, "'IVAP'; got 'CVAP'"),
        ({"sample_weight": [1, 2]}, "got 2 sample_weight and 240"),
        ({"sample_weight": np.arange(240) < 9, "test": [9]}, "of the test rows must"),
        ({"test": 1.5}, "^test must be a fraction between 0 and 1"),
        ({"test": [300]}, "^test must be a mask of 240 booleans"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"cv": ShuffleSplit(3, random_state=0)}, "once at most.*is held out"),
        ({"cv": [(range(9), range(8, 12))]}, "row 8 stands on both sides"),
        ({"cv": [(range(9), [-1, 239])]}, "row 239 is held out 2 times"),
        ({"estimator": LinearSVC(), "X": X, "methods": "underlying"}, "here; got 'und"),
        (
            {"estimator": GaussianNB(), "X": X, "y": np.arange(240) % 3, "positive": 1},
            r"positive is for two classes; got 3.*np.asarray\(y\) == 1",
        ),
        ({"estimator": GaussianNB(), "X": X[1:]}, "240 labels and 239 rows of X"),
        (
            {"estimator": KFold(), "X": X},
            "must have decision_function or predict_proba",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused_in_a_sentence(change, sentence):
    arguments = {"X": P, "y": Y} | change
    with pytest.raises(AbersError, match=sentence):
        compare(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_a_prefit_model_of_three_classes_is_compared_on_all_three():
    model = GaussianNB().fit(X, np.arange(240) % 3)
    found = compare(X, Y, estimator=FrozenEstimator(model), methods=["underlying"])
    assert found.classes == (0, 1, 2)
    np.testing.assert_allclose(
        found.probabilities["underlying"], model.predict_proba(X[found.rows])
    )


def test_losses_of_three_classes_are_those_of_scikit_learn():
    labels = np.array(["a", "b", "c"])[np.arange(240) % 3]
    found = compare(X, labels, estimator=GaussianNB())
    assert (found.n_positives, found.positive) == (None, None)
    assert {"underlying", "temperature", "IVAP", "CVAP", "CVAP pooled"} <= set(
        found.probabilities
    )
    tested = labels[found.rows]
    for method in found.methods:
        p = found.probabilities[method.name]
        np.testing.assert_allclose(p.sum(axis=1), 1)
        one_hot = tested[:, np.newaxis] == np.array(["a", "b", "c"])
        brier = ((p - one_hot) ** 2).sum(axis=1).mean()
        assert method.brier_loss == pytest.approx(brier)
        if np.isfinite(method.log_loss):
            expected = log_loss(tested, p, labels=["a", "b", "c"])
            assert method.log_loss == pytest.approx(expected)
    assert "60 rows of 3 classes" in str(found)
    assert json.dumps(found.to_dict())
    assert "3 classes" in comparison_page(found)


def test_probabilities_of_three_classes_need_no_estimator():
    labels = np.arange(240) % 3
    p = GaussianNB().fit(X, labels).predict_proba(X)
    found = compare(p, labels)
    np.testing.assert_array_equal(found.probabilities["underlying"], p)
    assert "CVAP" not in found.probabilities


def test_the_first_of_two_classes_may_be_the_positive_one():
    """The losses stay; labels and probabilities are those of the other class."""
    names = np.where(Y == 1, "good", "bad")
    good = compare(X, names, estimator=GaussianNB())
    bad = compare(X, names, estimator=GaussianNB(), positive="bad")
    assert (bad.positive, bad.classes) == ("bad", ("good", "bad"))
    assert bad.n_positives == good.n_rows - good.n_positives
    assert [m.log_loss for m in bad.methods] == [m.log_loss for m in good.methods]
    for name, p in bad.probabilities.items():
        np.testing.assert_array_equal(p, 1 - good.probabilities[name])


def test_one_column_of_scores_is_about_the_positive_class():
    names = np.where(Y == 1, "bad", "good")
    found, expected = compare(P, names, positive="bad"), compare(P, Y)
    assert [m.log_loss for m in found.methods] == [m.log_loss for m in expected.methods]
    both = compare(np.stack((P, 1 - P), axis=1), names, positive="bad")
    np.testing.assert_array_equal(
        both.probabilities["underlying"], found.probabilities["underlying"]
    )


def test_a_misspelt_reference_is_refused_before_anything_is_trained():
    Counting.trainings.clear()
    with pytest.raises(InvalidParameter, match="reference must be"):
        compare(X, Y, estimator=Counting(), reference="Ivap")
    assert Counting.trainings == []


def test_nothing_that_was_passed_is_modified():
    given = [P.copy(), Y.copy(), WEIGHTS.copy()]
    for array in given:
        array.flags.writeable = False
    scores, labels, weights = given
    compare(scores, labels, sample_weight=weights)
    np.testing.assert_array_equal(scores, P)
    np.testing.assert_array_equal(weights, WEIGHTS)


def test_test_rows_given_as_x_and_y_are_refused_with_a_way():
    with pytest.raises(InvalidParameter) as raised:
        compare(X, Y, estimator=GaussianNB(), test=(X[:20], Y[:20]))
    assert str(raised.value) == (
        "test must be a share, a count, a mask or row numbers of X and y; got a tuple "
        "of 2 arrays. Append the test rows to X and y, and pass their numbers."
    )
