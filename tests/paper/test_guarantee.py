"""What `guarantee` says is so: proven bounds are calibrated, and CVAP's are not.

Proposition 1: of an IVAP's pair, the member that belongs to the true label is perfectly
calibrated. Few rows show best that the same is not true of a cross predictor.
"""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import abers

N_DRAWS = 400
N_ROWS = 40
N_NEW = 10
NEAR = 0.15  # of 0 or 1


def drawn(rng, size):
    """Two classes with two features each, of which one says little."""
    y = rng.random(size) < 0.5
    return rng.normal(size=(size, 2)) + np.outer(y, [2.0, 0.3]), y.astype(int)


def excesses(model, *, upper_end):
    """Return observed minus predicted, a mean per draw, where bounds are near an end.

    The bound is the one that belongs to the true label.
    """
    rng = np.random.default_rng(2015)
    means = []
    for _ in range(N_DRAWS):
        X, y = drawn(rng, N_ROWS)
        X_new, y_new = drawn(rng, N_NEW)
        if len(np.unique(y)) < 2 or min(np.bincount(y)) < 10:
            continue
        bounds = model.fit(X, y).predict_bounds(X_new)
        selected = bounds[np.arange(N_NEW), y_new]
        near = selected > 1 - NEAR if upper_end else selected < NEAR
        means.append((near * (y_new - selected)).mean())
    return np.array(means)


MODELS = {
    "IVAP": abers.IVAPClassifier(GaussianNB(), calibration=0.5, random_state=0),
    "CVAP": abers.CVAPClassifier(GaussianNB(), cv=4, merge="minimax", random_state=0),
}


@pytest.mark.filterwarnings("ignore")  # so few rows may well look inverted
@pytest.mark.parametrize("upper_end", [False, True], ids=["near 0", "near 1"])
@pytest.mark.parametrize("name", MODELS)
def test_only_bounds_that_are_proven_are_calibrated(name, upper_end):
    """Mean excess within 3 standard errors of 0, or more than 4 away from it."""
    means = excesses(MODELS[name], upper_end=upper_end)
    z = means.mean() / (means.std(ddof=1) / np.sqrt(means.size))
    assert abs(z) < 3 if name == "IVAP" else abs(z) > 4


def test_the_guarantee_of_a_classifier_is_that_of_its_kind():
    rng = np.random.default_rng(0)
    X, y = drawn(rng, 200)
    proven = {name: model.fit(X, y).guarantee_.proven for name, model in MODELS.items()}
    assert proven == {"IVAP": True, "CVAP": False}
    weighted = MODELS["IVAP"].fit(X, y, sample_weight=np.linspace(0.5, 1.5, 200))
    assert not weighted.guarantee_.proven
    assert not abers.CalibratedClassifier().fit(X, y).guarantee_.proven
    many = MODELS["IVAP"].fit(X, y + (X[:, 0] > 2))
    assert not many.guarantee_.proven
    assert "predict_fold_bounds" in many.guarantee_.statement
