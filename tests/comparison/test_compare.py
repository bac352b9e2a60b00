"""Who predicts which rows: no label sees itself, nothing is trained twice."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit, logit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import abers
from abers.comparison import METHODS, compare
from abers.comparison.methods import Scores
from abers.errors import AbersError, InvalidParameter
from abers.report import comparison_page

RNG = np.random.default_rng(5)
X = RNG.normal(size=(240, 3))
MARGINS = X[:, 0] + 0.5 * RNG.normal(size=240)
Y = (X[:, 0] + RNG.logistic(scale=0.6, size=240) > 0).astype(int)
P = expit(3 * MARGINS)
WEIGHTS = RNG.exponential(size=240)
STEPS = ("isotonic", "isotonic with dummies", "IVAP")
CROSSED = (*STEPS, "CVAP", "CVAP pooled", "stacked")
CURVES = ("temperature", "beta")


class Counting(ClassifierMixin, BaseEstimator):
    """Score by the first feature; count the rows of each training and scoring."""

    trainings: list = []  # noqa: RUF012
    scorings: list = []  # noqa: RUF012

    def fit(self, _X, y):
        self.classes_ = np.unique(y)
        self.trainings.append(len(y))
        return self

    def predict_proba(self, X):
        self.scorings.append(len(X))
        p = expit(2 * X[:, 0])
        return np.stack((1 - p, p), axis=1)


# --- scores alone ---


def calibrated(name, scores, labels, new, kind):
    """Fit a method of the table to a column of scores, and apply it to another."""
    fitted, queries = (Scores.of_columns(s[:, None], kind) for s in (scores, new))
    return METHODS[name].predict(fitted, labels, None, queries)[:, 1]


@pytest.mark.parametrize("scores", [P, MARGINS], ids=["probability", "margin"])
def test_a_fold_is_predicted_by_methods_fitted_to_the_other_folds(scores):
    kind = "probability" if scores is P else "margin"
    folds = KFold(4, shuffle=True, random_state=3)
    probabilities = compare(scores, Y, cv=folds).probabilities
    for fit, held in folds.split(scores):
        for name, p in probabilities.items():
            expected = calibrated(name, scores[fit], Y[fit], scores[held], kind)
            np.testing.assert_array_equal(p[held], expected, err_msg=name)


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
    for name, p in by_mask.probabilities.items():
        expected = calibrated(name, MARGINS[:200], Y[:200], MARGINS[200:], "margin")
        np.testing.assert_array_equal(p, expected)
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
            (
                "uncalibrated",
                "Platt (probability)",
                "Platt (margin)",
                *CURVES,
                *CROSSED,
            ),
        ),
        (
            GaussianNB(),
            (
                "uncalibrated",
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


TEST = np.arange(240) % 4 == 0


@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianNB()], ids=str)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_cross_predictors_are_the_classifiers_of_the_library(estimator, weights):
    """Same test rows, same folds, same bits."""
    probabilities = compare(
        X, Y, estimator=estimator, test=TEST, cv=KFold(5), sample_weight=weights
    ).probabilities
    w = None if weights is None else weights[~TEST]
    for name, model in (
        ("CVAP", abers.CVAPClassifier(estimator, cv=KFold(5))),
        ("CVAP pooled", abers.CVAPClassifier(estimator, cv=KFold(5), merge="pooled")),
        ("stacked", abers.CalibratedClassifier(estimator, cv=KFold(5))),
    ):
        expected = model.fit(X[~TEST], Y[~TEST], w).predict_proba(X[TEST])[:, 1]
        np.testing.assert_array_equal(probabilities[name], expected, err_msg=name)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_each_model_is_calibrated_on_its_own_fold_and_the_mean_is_compared(weights):
    probabilities = compare(
        X, Y, estimator=GaussianNB(), test=TEST, cv=KFold(5), sample_weight=weights
    ).probabilities
    X_fit, y_fit = X[~TEST], Y[~TEST]
    w = np.ones(180) if weights is None else weights[~TEST]
    by_fold = {name: [] for name in ("uncalibrated", "beta", "IVAP")}
    for train, held in KFold(5).split(X_fit):
        model = GaussianNB().fit(X_fit[train], y_fit[train], w[train])
        p, new = (model.predict_proba(rows) for rows in (X_fit[held], X[TEST]))
        sample = y_fit[held], w[held]
        beta = abers.BetaCalibrator().fit(p, *sample)
        rule = abers.fit_rule(logit(p[:, 1]), y_fit[held], sample_weight=w[held])
        by_fold["uncalibrated"].append(new[:, 1])
        by_fold["beta"].append(beta.predict_proba(new)[:, 1])
        by_fold["IVAP"].append(rule.probability(logit(new[:, 1])))
    for name, predicted in by_fold.items():
        # Scores are rounded to 2^-22 for rules, and logarithms differ in the last bit.
        np.testing.assert_allclose(
            probabilities[name], np.mean(predicted, axis=0), rtol=1e-6, err_msg=name
        )


@pytest.mark.parametrize(
    ("estimator", "method", "name"),
    [
        (LogisticRegression(max_iter=5_000), "sigmoid", "Platt (margin)"),
        (LinearSVC(), "sigmoid", "Platt (margin)"),
        (LinearSVC(), "temperature", "temperature"),
        (GaussianNB(), "sigmoid", "Platt (probability)"),
    ],
    ids=str,
)
def test_methods_are_those_of_calibrated_classifier_cv(estimator, method, name):
    """The same folds; scores are rounded here, and optimisers stop elsewhere.

    Two features, since a fold that a threshold separates has no best temperature.
    """
    features, labels = load_breast_cancer(return_X_y=True)
    features = features[:, [1, 4]]
    model = make_pipeline(StandardScaler(), estimator)
    test = np.arange(labels.size) % 3 == 0
    folds = StratifiedKFold(5, shuffle=True, random_state=1)
    comparison = compare(
        features, labels, estimator=model, test=test, cv=folds, methods=name
    )
    theirs = CalibratedClassifierCV(model, method=method, cv=folds)
    theirs.fit(features[~test], labels[~test])
    expected = theirs.predict_proba(features[test])[:, 1]
    np.testing.assert_allclose(
        comparison.probabilities[name], expected, atol=1e-6, rtol=0
    )


@pytest.mark.parametrize("methods", [None, ["uncalibrated"], ["IVAP", "CVAP pooled"]])
def test_k_trainings_and_one_scoring_serve_all_methods(methods):
    Counting.trainings.clear()
    Counting.scorings.clear()
    compare(X, Y, estimator=Counting(), cv=KFold(5), methods=methods)
    assert Counting.trainings == [144] * 5
    assert sorted(Counting.scorings) == [36] * 5 + [60] * 5


def test_models_may_be_trained_at_a_time():
    alone, together = (
        compare(X, Y, estimator=GaussianNB(), cv=3, n_jobs=n_jobs).to_dict()
        for n_jobs in (None, 2)
    )
    assert alone == together


@pytest.mark.parametrize(
    ("arguments", "steps"),
    [({"X": P}, 2), ({"X": X, "estimator": GaussianNB(), "cv": 3}, 5)],
    ids=["scores", "models"],
)
def test_progress_is_told_of_every_model_and_method(arguments, steps):
    messages = []
    compare(
        y=Y,
        methods=["uncalibrated", "IVAP"],
        progress=lambda *done: messages.append(done),
        **arguments,
    )
    assert messages == [(done, steps) for done in range(1, steps + 1)]


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


@pytest.mark.parametrize("model", [LogisticRegression(), GaussianNB()], ids=str)
def test_a_prefit_classifier_is_a_way_to_make_scores(model):
    """All rows are judged, by methods that were fitted to other folds."""
    model = model.fit(X[:80], Y[:80])
    comparison = compare(X[80:], Y[80:], estimator=FrozenEstimator(model))
    p = model.predict_proba(X[80:])
    expected = compare(p, Y[80:]).probabilities
    np.testing.assert_allclose(
        comparison.probabilities["uncalibrated"], p[:, 1], rtol=1e-12
    )
    for name in set(comparison.probabilities) & set(expected):
        np.testing.assert_allclose(
            comparison.probabilities[name], expected[name], rtol=1e-5, err_msg=name
        )
    assert "CVAP" not in comparison.probabilities
    assert "stacked" in comparison.probabilities
    assert comparison.how == (
        f"160 rows scored by a prefit {type(model).__name__}, predicted in 5 folds, "
        "each by methods fitted to rows outside of it."
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
    assert (first.pop("pos_label"), second.pop("pos_label")) == ("yes", True)
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
    assert comparison.how == (
        f"{type(estimator).__name__} trained on 180 rows in 3 folds, each model "
        "calibrated by every method on the fold it has not seen; tested on 60 other "
        "rows."
    )
    assert len(comparison.methods) == 11


class Unweighted(Counting):
    """Takes no weights."""


@pytest.mark.parametrize("methods", [None, ["uncalibrated"], ["IVAP"]], ids=str)
def test_a_classifier_without_weights_is_warned_of_once(methods):
    with pytest.warns(UserWarning, match="does not take sample_weight") as raised:
        compare(X, Y, estimator=Unweighted(), sample_weight=WEIGHTS, methods=methods)
    assert len(raised) == 1


@pytest.mark.parametrize("methods", [None, ["uncalibrated"]], ids=str)
def test_routed_weights_reach_the_models_and_the_methods(methods):
    options = {"sample_weight": WEIGHTS, "methods": methods}
    with config_context(enable_metadata_routing=True):
        model = GaussianNB().set_fit_request(sample_weight=True)
        comparison = compare(X, Y, estimator=model, **options).to_dict()
    assert comparison == compare(X, Y, estimator=GaussianNB(), **options).to_dict()


def test_a_class_with_fewer_rows_than_folds_is_warned_of():
    with pytest.warns(UserWarning, match="class True has only 3 of 240 rows"):
        comparison = compare(P, np.arange(240) < 3)
    assert not any(np.isnan(p).any() for p in comparison.probabilities.values())


@pytest.mark.parametrize("methods", [None, ["uncalibrated"]], ids=str)
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


@pytest.mark.parametrize("methods", [None, ["uncalibrated"]], ids=str)
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
        ({"pos_label": 2}, r"one of the classes .*\[0, 1\]; got 2"),
        (
            {"y": np.where(np.arange(240) == 9, np.nan, Y)},
            "y must not be missing.*row 9",
        ),
        ({"y": [*Y[:-1].tolist(), None]}, "y must not be missing.*row 239"),
        ({"y": Y[1:]}, "got 239 labels and 240 scores"),
        ({"X": np.where(P > 0.9, np.nan, P)}, "scores must not be NaN"),
        ({"X": X}, "X must be one column of scores.*got 3 columns"),
        ({"X": X[:, :2]}, "X must be one column of scores.*got 2 columns"),
        ({"methods": ["Venn"]}, "methods must be among 'uncalibrated', .*; got 'Venn'"),
        ({"methods": ["Platt (margin)"]}, "among .* here; got 'Platt"),
        ({"methods": ["CVAP"]}, "among .* here; got 'CVAP'"),
        ({"reference": "Venn"}, "reference must be one of the methods.*got 'Venn'"),
        ({"methods": ["IVAP"], "reference": "beta"}, "'IVAP'; got 'beta'"),
        ({"sample_weight": [1, 2]}, "got 2 sample_weight and 240"),
        ({"sample_weight": np.arange(240) < 9, "test": [9]}, "of the test rows must"),
        ({"test": 1.5}, "^test must be a fraction between 0 and 1"),
        ({"test": [300]}, "^test must be a mask of 240 booleans"),
        ({"cv": 1}, "cv must be at least 2"),
        ({"cv": ShuffleSplit(3, random_state=0)}, "once at most.*is held out"),
        ({"cv": [(range(9), range(8, 12))]}, "row 8 stands on both sides"),
        ({"cv": [(range(9), [-1, 239])]}, "row 239 is held out 2 times"),
        (
            {"estimator": LinearSVC(), "X": X, "methods": "uncalibrated"},
            "here; got 'unc",
        ),
        (
            {
                "estimator": GaussianNB(),
                "X": X,
                "y": np.arange(240) % 3,
                "pos_label": 1,
            },
            r"pos_label is for two classes; got 3.*np.asarray\(y\) == 1",
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
    comparison = compare(
        X, Y, estimator=FrozenEstimator(model), methods=["uncalibrated"]
    )
    assert comparison.classes == (0, 1, 2)
    np.testing.assert_allclose(
        comparison.probabilities["uncalibrated"],
        model.predict_proba(X[comparison.rows]),
    )


def test_losses_of_three_classes_are_those_of_scikit_learn():
    labels = np.array(["a", "b", "c"])[np.arange(240) % 3]
    comparison = compare(X, labels, estimator=GaussianNB())
    assert (comparison.n_positives, comparison.pos_label) == (None, None)
    assert {"uncalibrated", "temperature", "IVAP", "CVAP", "stacked"} <= set(
        comparison.probabilities
    )
    tested = labels[comparison.rows]
    for method in comparison.methods:
        p = comparison.probabilities[method.name]
        np.testing.assert_allclose(p.sum(axis=1), 1)
        one_hot = tested[:, np.newaxis] == np.array(["a", "b", "c"])
        brier = ((p - one_hot) ** 2).sum(axis=1).mean()
        assert method.brier_loss == pytest.approx(brier)
        if np.isfinite(method.log_loss):
            expected = log_loss(tested, p, labels=["a", "b", "c"])
            assert method.log_loss == pytest.approx(expected)
    assert "60 rows of 3 classes" in str(comparison)
    assert json.dumps(comparison.to_dict())
    assert "3 classes" in comparison_page(comparison)


def test_probabilities_of_three_classes_need_no_estimator():
    labels = np.arange(240) % 3
    p = GaussianNB().fit(X, labels).predict_proba(X)
    comparison = compare(p, labels)
    np.testing.assert_array_equal(comparison.probabilities["uncalibrated"], p)
    assert "CVAP" not in comparison.probabilities


def test_the_first_of_two_classes_may_be_the_positive_one():
    """The losses stay; labels and probabilities are those of the other class."""
    names = np.where(Y == 1, "good", "bad")
    good = compare(X, names, estimator=GaussianNB())
    bad = compare(X, names, estimator=GaussianNB(), pos_label="bad")
    assert (bad.pos_label, bad.classes) == ("bad", ("good", "bad"))
    assert bad.n_positives == good.n_rows - good.n_positives
    assert [m.log_loss for m in bad.methods] == [m.log_loss for m in good.methods]
    for name, p in bad.probabilities.items():
        np.testing.assert_array_equal(p, 1 - good.probabilities[name])


def test_one_column_of_scores_is_about_the_positive_class():
    names = np.where(Y == 1, "bad", "good")
    comparison, expected = compare(P, names, pos_label="bad"), compare(P, Y)
    assert [m.log_loss for m in comparison.methods] == [
        m.log_loss for m in expected.methods
    ]
    both = compare(np.stack((P, 1 - P), axis=1), names, pos_label="bad")
    np.testing.assert_array_equal(
        both.probabilities["uncalibrated"], comparison.probabilities["uncalibrated"]
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
