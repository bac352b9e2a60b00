"""A frame's columns are known by their names: none is taken for another."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.special import softmax

import abers
from abers.errors import InvalidData

RNG = np.random.default_rng(0)
LABELS = np.array(["a", "b", "c"])[RNG.integers(0, 3, 300)]
PROBABILITIES = softmax(
    RNG.normal(size=(300, 3)) + 3 * (LABELS[:, None] == ["a", "b", "c"]), axis=1
)
YES = np.where(LABELS == "a", "yes", "no")
NO_YES = np.stack((1 - PROBABILITIES[:, 0], PROBABILITIES[:, 0]), axis=1)


def of_pandas(values, names):
    return pd.DataFrame(values, columns=names)


def of_polars(values, names):
    return pl.DataFrame(values, schema=names)


def of_pyarrow(values, names):
    return pa.table(dict(zip(names, values.T, strict=True)))


frames = pytest.mark.parametrize("frame", [of_pandas, of_polars])
binary = pytest.mark.parametrize(
    "kind",
    [
        abers.IVAPCalibrator,
        abers.PlattCalibrator,
        abers.IsotonicCalibrator,
        abers.BetaCalibrator,
        abers.TemperatureCalibrator,
    ],
)


@frames
def test_a_frame_gives_the_numbers_of_an_array(frame):
    table = frame(PROBABILITIES, ["a", "b", "c"])
    fitted = abers.IVAPCalibrator().fit(table, LABELS)
    expected = abers.IVAPCalibrator().fit(PROBABILITIES, LABELS)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(
        fitted.predict_proba(table), expected.predict_proba(PROBABILITIES)
    )


@frames
@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_bounds"])
@pytest.mark.parametrize("names", [["a", "b", "c"], ["pa", "pb", "pc"]])
def test_columns_in_another_order_than_at_fit_are_refused(frame, method, names):
    """In scikit-learn's words."""
    fitted = abers.IVAPCalibrator().fit(frame(PROBABILITIES, names), LABELS)
    other = frame(PROBABILITIES[:, [1, 2, 0]], [names[1], names[2], names[0]])
    with pytest.raises(ValueError, match="must be in the same order as they were in"):
        getattr(fitted, method)(other)


@binary
@frames
def test_other_names_than_at_fit_are_refused(kind, frame):
    fitted = kind().fit(frame(NO_YES, ["low", "high"]), YES)
    assert fitted.feature_names_in_.tolist() == ["low", "high"]
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- higher"):
        fitted.predict_proba(frame(NO_YES, ["low", "higher"]))
    with pytest.raises(ValueError, match="must be in the same order"):
        fitted.predict_proba(frame(NO_YES[:, ::-1], ["high", "low"]))


@binary
def test_a_fit_without_names_forgets_those_of_the_last(kind):
    fitted = kind().fit(of_pandas(NO_YES, ["low", "high"]), YES)
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        fitted.predict_proba(NO_YES)
    fitted.fit(NO_YES, YES)
    assert not hasattr(fitted, "feature_names_in_")
    fitted.predict_proba(NO_YES)


@pytest.mark.parametrize("frame", [of_pandas, of_polars, of_pyarrow])
def test_columns_in_another_order_than_the_classes_are_refused_at_fit(frame):
    table = frame(PROBABILITIES[:, [1, 2, 0]], ["b", "c", "a"])
    sentence = (
        "the columns of scores must be in the order of the classes, ['a', 'b', 'c']; "
        "got ['b', 'c', 'a']. Pass X[['a', 'b', 'c']]."
    )
    with pytest.raises(InvalidData, match=f"^{re.escape(sentence)}$"):
        abers.IVAPCalibrator().fit(table, LABELS)


@frames
def test_the_advice_can_be_followed(frame):
    table = frame(PROBABILITIES[:, [1, 2, 0]], ["b", "c", "a"])[["a", "b", "c"]]
    fitted = abers.IVAPCalibrator().fit(table, LABELS)
    expected = abers.IVAPCalibrator().fit(PROBABILITIES, LABELS)
    assert fitted.rules_ == expected.rules_


@binary
@frames
def test_two_columns_in_another_order_than_the_classes_are_refused(kind, frame):
    with pytest.raises(InvalidData, match=r"\['no', 'yes'\]; got \['yes', 'no'\]"):
        kind().fit(frame(NO_YES[:, ::-1], ["yes", "no"]), YES)


@pytest.mark.parametrize(
    ("classes", "wanted"),
    [([3, 5, 20], [3, 5, 20]), (["20", "3", "5"], [20, 3, 5])],
    ids=["numbers", "text"],
)
def test_names_that_are_numbers_are_compared_with_the_labels_too(classes, wanted):
    """scikit-learn takes no notice of names that are not text."""
    labels = np.array(classes)[np.arange(300) % 3]
    fitted = abers.IVAPCalibrator().fit(of_pandas(PROBABILITIES, wanted), labels)
    shuffled = of_pandas(PROBABILITIES, wanted[::-1])
    with pytest.raises(InvalidData, match=re.escape(f"Pass X[{wanted}].")):
        abers.IVAPCalibrator().fit(shuffled, labels)
    with pytest.raises(InvalidData, match=re.escape(f"Pass X[{wanted}].")):
        fitted.predict_proba(shuffled)


def test_names_that_are_not_those_of_the_classes_may_come_in_any_order():
    fitted = abers.IVAPCalibrator().fit(of_pandas(PROBABILITIES, list("cbd")), LABELS)
    assert fitted.feature_names_in_.tolist() == ["c", "b", "d"]
