"""A label that is missing is refused in one sentence, whatever stands for it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

import abers
from abers.errors import InvalidData

X = np.random.default_rng(0).normal(size=(40, 2))
LABELS = np.array(["no", "yes"] * 20, dtype=object)


def without_the_fifth(missing):
    labels = LABELS.copy()
    labels[5] = missing
    return labels


@pytest.mark.parametrize(
    "labels",
    [
        without_the_fifth(None),
        without_the_fifth(float("nan")),
        pd.Series(without_the_fifth(None), dtype="string"),
        pd.Series(without_the_fifth(None), dtype="category"),
    ],
    ids=["None", "NaN", "NA", "category"],
)
@pytest.mark.parametrize(
    "fit",
    [
        lambda y: abers.IVAPClassifier(GaussianNB()).fit(X, y),
        lambda y: abers.CVAPClassifier(GaussianNB()).fit(X, y),
        lambda y: abers.IVAPCalibrator().fit(X[:, 0], y),
        lambda y: abers.PlattCalibrator().fit(X[:, 0], y),
    ],
    ids=["IVAP", "CVAP", "calibrator", "Platt"],
)
def test_a_missing_label_is_named_by_its_row(fit, labels):
    with pytest.raises(InvalidData, match=r"in 1 of 40 rows, first at row 5\. Drop"):
        fit(labels)
