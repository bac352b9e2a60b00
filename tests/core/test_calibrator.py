"""Calibrators: from a notebook to a file to columns of scores, with the same bits."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import abers
from abers.errors import InvalidData, InvalidParameter

DATA = {
    n_classes: make_classification(
        900, 12, n_informative=8, n_classes=n_classes, random_state=0
    )
    for n_classes in (2, 5)
}
NAMES = np.array(["ant", "bee", "cat", "dog", "eel"])
FIT, NEW = slice(300, 700), slice(700, None)
MODELS = {
    "logistic regression": LogisticRegression(),
    "naive Bayes": GaussianNB(),
    "forest": RandomForestClassifier(10, random_state=0),
}


def wrapped(model, X, y):
    frozen = FrozenEstimator(clone(model).fit(X[:300], y[:300]))
    return {
        "K models": abers.CalibratedClassifier(model, random_state=0),
        "one model": abers.CalibratedClassifier(model, ensemble=False, random_state=0),
        "frozen": abers.CalibratedClassifier(frozen),
        "IVAP": abers.IVAPClassifier(model, random_state=0),
        "CVAP": abers.CVAPClassifier(model, cv=3, loss="brier", random_state=0),
        "pooled": abers.CVAPClassifier(model, cv=3, merge="pooled", random_state=0),
        "CVAP of one model": abers.CVAPClassifier(
            model, cv=3, ensemble=False, random_state=0
        ),
    }


WRAPPERS = list(wrapped(LogisticRegression(), *DATA[2]))


def responses(model, reads, X):
    """Return the responses of the models, side by side."""
    if reads == "probability":
        return np.hstack([each.predict_proba(X) for each in model.estimators_])
    return np.column_stack([each.decision_function(X) for each in model.estimators_])


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_file_of_a_classifier_predicts_its_bits(
    model, wrapper, n_classes, tmp_path
):
    X, y = DATA[n_classes]
    y = NAMES[y]
    fitted = wrapped(model, X, y)[wrapper].fit(X[FIT], y[FIT])
    path = tmp_path / "calibrator.abers"
    fitted.calibrator_.save(path, {"model": "v7"})
    loaded = abers.load(path)
    scores = responses(fitted, loaded.reads, X[NEW])
    table = fitted.predict_proba(X[NEW])
    np.testing.assert_array_equal(
        loaded.probability(scores), table[:, 1] if n_classes == 2 else table
    )
    np.testing.assert_array_equal(loaded.class_probabilities(scores), table)
    np.testing.assert_array_equal(loaded.bounds(scores), fitted.predict_bounds(X[NEW]))
    predictions = loaded.predictions(scores)
    np.testing.assert_array_equal(predictions.probabilities, table)
    assert loaded.classes == predictions.classes == tuple(fitted.classes_)
    assert loaded.guarantee == fitted.guarantee_
    assert loaded.metadata == {**fitted.calibrator_.metadata, "model": "v7"}
    assert (loaded.n_classes, loaded.n_models) == (n_classes, len(fitted.estimators_))
    assert loaded.n_columns == loaded.n_models * (1 if n_classes == 2 else n_classes)
    assert loaded.with_metadata({}) == loaded != fitted.calibrator_


@pytest.mark.parametrize("wrapper", ["K models", "frozen", "one model"])
@pytest.mark.parametrize("name", ["logistic regression", "forest"])
def test_the_second_class_alone_is_enough_where_the_two_add_up_to_one(name, wrapper):
    X, y = DATA[2]
    fitted = wrapped(MODELS[name], X, y)[wrapper].fit(X[FIT], y[FIT])
    columns = responses(fitted, "probability", X[NEW])
    p = fitted.predict_proba(X[NEW])[:, 1]
    calibrator = fitted.calibrator_
    np.testing.assert_array_equal(calibrator.probability(columns[:, 1::2]), p)
    by_model = columns.reshape(len(p), -1, 2)
    np.testing.assert_array_equal(calibrator.probability(by_model), p)


KINDS = ("Platt", "Isotonic", "Temperature", "Beta", "IVAP", "Stacked")


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("are_logarithms", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_file_of_a_calibrator_predicts_its_bits(
    kind, are_logarithms, n_classes, tmp_path
):
    X, y = DATA[n_classes]
    p = LogisticRegression().fit(X[:300], y[:300]).predict_proba(X)
    scores = np.log(p) if are_logarithms else p
    fitted = getattr(abers, f"{kind}Calibrator")().fit(scores[FIT], NAMES[y[FIT]])
    fitted.save(tmp_path / "calibrator.abers")
    loaded = abers.load(tmp_path / "calibrator.abers")
    assert loaded == fitted.calibrator_
    table = fitted.predict_proba(scores[NEW])
    np.testing.assert_array_equal(loaded.class_probabilities(scores[NEW]), table)
    assert hasattr(loaded, "bounds") == hasattr(fitted, "predict_bounds")
    assert loaded.n_rows == 400
    assert loaded.classes == tuple(NAMES[:n_classes])


def test_names_of_columns_and_classes_are_kept(tmp_path):
    import pandas as pd

    X, y = DATA[5]
    p = LogisticRegression().fit(X[:300], y[:300]).predict_proba(X)
    frame = pd.DataFrame(p[FIT], columns=[f"p_{name}" for name in NAMES])
    calibrator = abers.TemperatureCalibrator().fit(frame, NAMES[y[FIT]]).calibrator_
    assert calibrator.columns == tuple(frame.columns)
    other = calibrator.with_classes(range(5)).with_columns(list("abcde"))
    other.save(tmp_path / "c.abers")
    loaded = abers.load(tmp_path / "c.abers")
    assert (loaded.classes, loaded.columns) == ((0, 1, 2, 3, 4), tuple("abcde"))
    assert (loaded.probability(p) == calibrator.probability(p)).all()


CALIBRATOR = abers.IVAPCalibrator().fit([1, 2, 3], [0, 1, 0]).calibrator_


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: CALIBRATOR.with_classes([1]), "classes must be 2 distinct labels"),
        (lambda: CALIBRATOR.with_classes(["a", "a"]), "classes must be 2 distinct"),
        (lambda: CALIBRATOR.with_columns(["a", "a"]), "columns must be 1 distinct"),
        (lambda: CALIBRATOR.with_columns(list("abc")), "columns must be 1 distinct"),
        (lambda: CALIBRATOR.probability([[1, 2, 3]]), r"got shape \(1, 3\)"),
        (lambda: CALIBRATOR.bounds([np.nan]), "at row 0"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(call, says):
    with pytest.raises(InvalidData, match=says) as caught:
        call()
    assert re.fullmatch(r"[^\n]+\.", str(caught.value))


def test_a_rule_is_not_read_as_another_kind():
    stacked = abers.fit_stacked_rule([0.2, 0.5, 0.7], [0, 1, 0])
    with pytest.raises(InvalidParameter, match="reads must fit a rule of kind"):
        stacked.read_as("margin")
