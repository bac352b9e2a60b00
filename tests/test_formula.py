"""The interface of the paper's appendix: ul, ivap, cvap and predict, by formulas."""

import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import abers
from abers.errors import InvalidData, InvalidParameter, InvalidType, MissingExtra
from abers.formula import IVAP, UL, cvap, ivap, predict, ul
from strategies import either_way
from toy_tables import ROWS
from witnesses import X, Y

FRAME = pd.DataFrame(X, columns=list("abcde")).assign(y=Y)
MASK = np.random.default_rng(0).random(len(Y)) < 0.3
MODELS = [None, GaussianNB(), DecisionTreeClassifier(max_depth=3, random_state=0)]
models = pytest.mark.parametrize("model", MODELS, ids=str)

pytestmark = either_way


class Identity(ClassifierMixin, BaseEstimator):
    """A classifier whose score is the first feature."""

    def fit(self, _X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


@pytest.mark.parametrize(("labels", "lower", "upper"), ROWS)
def test_components_of_an_ivap_are_the_toy_tables(labels, lower, upper):
    """The FULL part, Tables of toy examples."""
    k = len(labels)
    data = {"y": [0, 1, *map(int, labels)], "x": [5, -5, *range(1, k + 1)]}
    rule = ivap("y ~ x", data, [0, 1], range(2, k + 2), model=Identity())
    assert rule.keys.tolist() == list(range(1, k + 1))
    assert rule.F0.tolist() == [float(p) for p in lower]
    assert rule.F1.tolist() == [float(p) for p in upper]


def test_keys_are_distinct_and_components_are_dense():
    """A Rule keeps its steps only; here every key has its two values."""
    data = {"y": [0, 1, 0, 0, 1, 1, 1], "x": [5, -5, 2, 1, 2, 3, 4]}
    rule = ivap("y ~ x", data, [0, 1], [2, 3, 4, 5, 6], model=Identity())
    assert rule.keys.tolist() == [1, 2, 3, 4]
    expected = abers.fit_rule([2, 1, 2, 3, 4], [0, 0, 1, 1, 1])
    np.testing.assert_array_equal(
        np.column_stack((rule.F0, rule.F1)), expected.bounds([1, 2, 3, 4])
    )


@models
def test_an_ivap_is_the_classifier_with_the_same_rows(model):
    rule = ivap("y ~ .", FRAME, ~MASK, MASK, model=model)
    classifier = abers.IVAPClassifier(model, calibration=MASK).fit(X, Y)
    predictions = predict(rule, FRAME)
    np.testing.assert_array_equal(
        np.column_stack(predictions), classifier.predict_bounds(X)
    )
    assert rule.classifier.rules_ == classifier.rules_
    at_keys = classifier.rules_[0][0].bounds(rule.keys)
    np.testing.assert_array_equal(np.column_stack((rule.F0, rule.F1)), at_keys)
    np.testing.assert_array_equal(np.unique(predict(rule.ul, FRAME[MASK])), rule.keys)
    assert rule.ul.lev == (0, 1)


@models
def test_rows_may_be_numbers_in_any_order(model):
    train, calibrate = np.flatnonzero(~MASK), np.flatnonzero(MASK)
    by_mask = ivap("y ~ a + b", FRAME, ~MASK, MASK, model=model)
    by_number = ivap("y ~ a + b", FRAME, train, calibrate[::-1], model=model)
    np.testing.assert_array_equal(predict(by_mask, FRAME), predict(by_number, FRAME))


@models
@pytest.mark.parametrize("K", [2, 5])
def test_a_cvap_is_the_classifier_with_the_same_folds(model, K):
    fitted = cvap("y ~ a + b + c + d + e", FRAME, K=K, model=model, seed=7)
    classifier = abers.CVAPClassifier(model, cv=K, merge="minimax", random_state=7).fit(
        X, Y
    )
    assert len(fitted) == K
    assert all(isinstance(each, IVAP) for each in fitted)
    assert [each.classifier.rules_[0] for each in fitted] == classifier.rules_
    np.testing.assert_array_equal(
        predict(fitted, FRAME), classifier.predict_proba(X)[:, 1]
    )
    for k in range(K):
        np.testing.assert_array_equal(
            np.column_stack(predict(fitted[k], FRAME)),
            classifier.predict_fold_bounds(X)[k, 0],
        )


def test_a_cvap_is_a_sequence_of_ivaps():
    fitted = cvap("y ~ a", FRAME, K=4, seed=0)
    assert fitted[-1] is list(fitted)[3]
    assert [type(each) for each in fitted] == [IVAP] * 4
    with pytest.raises(IndexError):
        _ = fitted[4]


def test_a_subset_is_all_that_a_cvap_sees():
    rows = np.arange(0, 240, 2)
    some = cvap("y ~ a + b", FRAME, subset=rows, K=3, seed=1)
    alone = cvap("y ~ a + b", FRAME.iloc[rows], K=3, seed=1)
    np.testing.assert_array_equal(predict(some, FRAME), predict(alone, FRAME))


def test_the_underlying_algorithm_gives_scores():
    fitted = ul("y ~ a + b", FRAME, subset=range(100))
    inner = LogisticRegression().fit(X[:100, :2], Y[:100])
    assert isinstance(fitted, UL)
    expected = inner.decision_function(X[100:, :2])
    np.testing.assert_allclose(predict(fitted, FRAME[100:]), expected, rtol=1e-7)


def test_labels_may_be_text_and_the_second_level_counts_as_1():
    named = FRAME.assign(y=np.where(Y == 1, "yes", "no"))
    rule = ivap("y ~ a + b", named, ~MASK, MASK)
    assert rule.ul.lev == ("no", "yes")
    plain = ivap("y ~ a + b", FRAME, ~MASK, MASK)
    np.testing.assert_array_equal(predict(rule, named), predict(plain, FRAME))


def test_labels_may_be_computed():
    computed = cvap("{a > 0} ~ b + c", FRAME, K=2, seed=0)
    plain = cvap("z ~ b + c", FRAME.assign(z=X[:, 0] > 0), K=2, seed=0)
    np.testing.assert_array_equal(predict(computed, FRAME), predict(plain, FRAME))


def test_the_coding_is_learnt_from_the_training_rows_only():
    """Else a calibration row would have a hand in its own score."""
    rule = ivap("y ~ scale(a)", FRAME, ~MASK, MASK, model=Identity())
    rows = X[~MASK, 0]
    expected = (X[MASK, 0] - rows.mean()) / rows.std(ddof=1)
    np.testing.assert_allclose(rule.keys, np.sort(expected), rtol=1e-7)
    cross = cvap("y ~ scale(a)", FRAME, K=2, seed=0, model=Identity())
    assert len({float(each.ul.predict(FRAME)[0]) for each in cross}) == 2


def test_factors_are_coded_and_the_intercept_is_left_to_the_model():
    frame = FRAME.assign(g=np.where(X[:, 1] > 0, "up", "down"))
    rule = ivap("y ~ a + g", frame, ~MASK, MASK)
    matrix = np.column_stack((X[:, 0], frame["g"] == "up")).astype(float)
    classifier = abers.IVAPClassifier(calibration=MASK).fit(matrix, Y)
    np.testing.assert_array_equal(
        np.column_stack(predict(rule, frame)), classifier.predict_bounds(matrix)
    )


def test_any_data_frame_will_do():
    expected = predict(ivap("y ~ a + b", FRAME, ~MASK, MASK), FRAME)
    strange = FRAME.set_index(np.arange(240) + 1000)
    for data in (pl.from_pandas(FRAME), FRAME.to_dict("list"), strange):
        rule = ivap("y ~ a + b", data, ~MASK, MASK)
        np.testing.assert_array_equal(predict(rule, data), expected)


def with_hole(column, row):
    frame = FRAME.astype({column: float})
    frame.loc[row, column] = np.nan
    return frame


ALL = {"formula": "y ~ a", "data": FRAME, "subset1": ~MASK, "subset2": MASK}
REFUSED = {
    "no label": (
        {"formula": "~ a"},
        InvalidParameter,
        "formula must have a label before ~, as in 'y ~ x'; got '~ a'.",
    ),
    "no features": (
        {"formula": "y ~ 1"},
        InvalidParameter,
        "formula must name features after ~, as in 'y ~ x'; got 'y ~ 1'.",
    ),
    "no formula": ({"formula": 3}, InvalidType, "formula must be a text such as"),
    "no sense": (
        {"formula": "y ~ + ~"},
        InvalidData,
        "whose power is **); 'y ~ + ~' is not: Operator",
    ),
    "an unknown column": (
        {"formula": "y ~ q"},
        InvalidData,
        "Python, whose power is **); 'y ~ q' is not: Unable to evaluate factor `q`.",
    ),
    "a function of R": (
        {"formula": "y ~ sqrt(a)"},
        InvalidData,
        "Unable to evaluate factor `sqrt(a)`. [NameError: name 'sqrt' is not defined].",
    ),
    "a power of R": (
        {"formula": "y ~ I(a^2)"},
        InvalidData,
        "by Python, whose power is **); 'y ~ I(a^2)' is not: ",
    ),
    "several parts": (
        {"formula": "y ~ a | b"},
        InvalidParameter,
        "formula must have one part on each side of ~; got 'y ~ a | b'.",
    ),
    "code of another length": (
        {"formula": "y ~ {[1, 2]}"},
        InvalidData,
        "'y ~ {[1, 2]}' is not: all input arrays must have the same shape.",
    ),
    "dates": (
        {
            "formula": "y ~ d",
            "data": FRAME.assign(d=pd.date_range("2020", periods=240)),
        },
        InvalidData,
        "'y ~ d' is not: ufunc 'multiply'",
    ),
    "an infinite feature": (
        {"formula": "y ~ {a / 0}"},
        InvalidData,
        "data must make finite numbers; 'a / 0' is",
    ),
    "a level that did not train": (
        {
            "formula": "y ~ g",
            "data": FRAME.assign(g=np.where(MASK, "new", np.where(Y == 1, "a", "b"))),
        },
        InvalidData,
        "(or that were not seen in original dataset): {'new'}.",
    ),
    "a factor of one level": (
        {"formula": "y ~ g", "data": FRAME.assign(g="all")},
        InvalidParameter,
        "got 'y ~ g'. A factor of one level is none.",
    ),
    "columns of one name": (
        {"data": pd.concat([FRAME, FRAME[["a"]]], axis=1)},
        InvalidData,
        "data must be a data frame, or a dictionary of columns of one length; the Data",
    ),
    "columns of two lengths": (
        {"data": {"y": [0, 1, 0], "a": [1.0, 2.0]}},
        InvalidData,
        "the dict given is not: All arrays must be of the same length.",
    ),
    "single values": (
        {"data": {"y": 0, "a": 1.0}},
        InvalidData,
        "the dict given is not: If using all scalar values, you must pass an index.",
    ),
    "no data": ({"data": FRAME[:0]}, InvalidData, "data must have rows; got none."),
    "labels of two kinds": (
        {"data": FRAME.assign(y=np.where(Y == 1, "yes", Y.astype(object)))},
        InvalidData,
        "ivap needs labels of one kind; got '<' not supported between",
    ),
    "a slice": ({"subset1": slice(9)}, InvalidParameter, "got slice(None, 9, None)."),
    "a class": (
        {"model": GaussianNB},
        InvalidParameter,
        "the classifier must be an instance; got the class GaussianNB. Pass GaussianNB",
    ),
    "a missing feature": (
        {"data": with_hole("a", 17)},
        InvalidData,
        "first at row 17. Drop or impute these rows.",
    ),
    "a missing label": (
        {"data": with_hole("y", 3)},
        InvalidData,
        "data must not be missing; 'y' is, in 1 of",
    ),
    "rows in both": (
        {"subset2": [0, 1], "subset1": [1, 2]},
        InvalidParameter,
        "no row may both train and calibrate; got row 1 in both.",
    ),
    "rows outside": (
        {"subset2": [240]},
        InvalidParameter,
        "subset2 must be row numbers from 0 to 239 or a mask of 240 booleans, with",
    ),
    "negative rows": (
        {"subset1": [-1]},
        InvalidParameter,
        "with at least one row; got [-1].",
    ),
    "no rows": (
        {"subset1": []},
        InvalidParameter,
        "with at least one row; got [].",
    ),
    "none": ({"subset1": None}, InvalidParameter, "subset1 must be row numbers"),
    "no frame": ({"data": [1, 2]}, InvalidData, "the list given is not: "),
    "three levels": (
        {"data": FRAME.assign(y=np.arange(240) % 3)},
        InvalidData,
        "ivap needs a label of two levels; got 3. For more than two use abers.",
    ),
    "one level": (
        {"data": FRAME.assign(y=1)},
        InvalidData,
        "ivap needs a label of two levels; got 1.",
    ),
}


@pytest.mark.parametrize(("change", "error", "says"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_with_a_sentence(change, error, says):
    with pytest.raises(error, match=re.escape(says)):
        ivap(**(ALL | change))


def test_new_rows_must_hold_what_the_formula_names():
    frame = FRAME.assign(g=np.where(X[:, 1] > 0, "up", "down"))
    rule = ivap("y ~ a + g", frame, ~MASK, MASK)
    with pytest.raises(InvalidData, match=r"'y ~ a \+ g' is not: .* factor `g`"):
        predict(rule, FRAME)
    with pytest.raises(
        InvalidData, match=r"\+ g' is not: Data has categories .* {'side'}"
    ):
        predict(rule, {"a": [1.0], "g": ["side"]})
    with pytest.raises(InvalidData, match="'y ~ a \\+ g' is not: Term `a` has gen"):
        predict(rule, {"a": ["high"], "g": ["up"]})
    with pytest.raises(InvalidData, match="'a' is inf at row 1"):
        predict(rule, {"a": [0.5, np.inf], "g": ["up", "up"]})
    with pytest.raises(InvalidData, match="'a' is, in 1 of 2 rows, first at row 1"):
        predict(rule, {"a": [1.0, np.nan], "g": ["up", "up"]})
    with pytest.raises(InvalidData, match=r"^newdata must be a data frame, or a dict"):
        predict(rule, X)
    with pytest.raises(InvalidType, match=r"^object must be made by ul, ivap or cvap"):
        predict(rule.classifier, frame)
    for K in (2.5, 1):
        with pytest.raises(InvalidParameter, match=rf"folds, at least 2; got {K}\."):
            cvap("y ~ a", FRAME, K=K)


def test_new_rows_must_exist():
    rule = ivap("y ~ a", FRAME, ~MASK, MASK)
    with pytest.raises(InvalidData, match=r"^newdata must have rows; got none\.$"):
        predict(rule, FRAME[:0])


def test_a_model_that_cannot_score_is_refused_before_it_is_trained():
    with pytest.raises(InvalidParameter, match="to score rows; LinearRegression"):
        ul("y ~ a", FRAME, model=LinearRegression())


def test_a_missing_formulaic_is_one_sentence(monkeypatch):
    monkeypatch.setattr("abers.errors.find_spec", lambda _: None)
    monkeypatch.delitem(sys.modules, "abers.formula")
    monkeypatch.delattr(abers, "formula", raising=False)
    says = r'^abers.formula needs formulaic, not installed here; pip install "abers\[fo'
    with pytest.raises(MissingExtra, match=says):
        _ = abers.formula
