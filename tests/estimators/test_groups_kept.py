"""Groups of rows stay together, or are refused."""

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB

import abers
from abers.errors import InvalidParameter

X = np.random.default_rng(0).normal(size=(60, 2))
Y = np.arange(60) % 2


@pytest.mark.parametrize(
    ("model", "way"),
    [
        (abers.CVAPClassifier(), r"cv=GroupKFold\(5\)"),
        (abers.CVAPClassifier(cv=[(range(30), range(30, 60))]), "another splitter"),
        (abers.CVAPRegressor(cv=3), r"cv=GroupKFold\(5\)"),
        (abers.IVAPClassifier(), "row numbers of whole groups"),
        (abers.IVAPRegressor(), "row numbers of whole groups"),
    ],
)
def test_groups_that_nothing_keeps_together_are_refused(model, way):
    """Rows of one group in training and calibration would be a leak unseen."""
    with pytest.raises(InvalidParameter, match=f"groups must have a splitter.*{way}"):
        model.fit(X, Y, groups=np.arange(60) // 6)


def test_a_splitter_says_itself_whether_it_uses_groups():
    with pytest.warns(UserWarning, match="groups parameter is ignored by KFold"):
        abers.CVAPClassifier(GaussianNB(), cv=KFold(3), merge="pooled").fit(
            X, Y, groups=Y
        )
