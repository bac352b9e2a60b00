"""Calibrators and classifiers warn of inverted scores: once a fit, with the way out."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import abers
from abers.errors import InvertedScoresWarning

RNG = np.random.default_rng(0)
LABELS = RNG.random(1_000) < 0.4
X = (LABELS + RNG.standard_normal(1_000))[:, np.newaxis]
WRONG = FrozenEstimator(LogisticRegression().fit(X, ~LABELS))
SEEDED = abers.CVAPClassifier(WRONG, random_state=0)
ADVICE = (
    "Check that labels mean the same where the classifier was trained as where it is "
    "calibrated, and that its columns are in the order of its classes_."
)


def only_warning(model, *args):
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        model.fit(*args)
    assert [each.category for each in raised] == [InvertedScoresWarning]
    assert raised[0].filename == __file__
    return str(raised[0].message)


def test_a_calibrator_of_one_column_says_to_negate_it():
    names = np.where(LABELS, "yes", "no")
    auc = abers.evaluation.auc(-X[:, 0], LABELS)
    assert only_warning(abers.IVAPCalibrator(), -X, names) == (
        f"The scores are inverted on the calibration rows (AUC {auc:.3f}): higher ones "
        "go with fewer rows of class 'yes'. Negate the scores, or pass scores of class "
        "'yes'."
    )
    abers.IVAPCalibrator().fit(X, names)


def test_a_calibrator_of_columns_says_how_to_order_them():
    p = 1 / (1 + np.exp(-X[:, 0]))
    warning = only_warning(abers.IVAPCalibrator(), np.stack((p, 1 - p), axis=1), LABELS)
    assert warning.endswith(
        "Put the columns in the order of the classes, [False, True]."
    )


def test_a_class_whose_column_is_inverted_is_named():
    y = RNG.integers(0, 3, 3_000)
    margins = (y[:, np.newaxis] == np.arange(3)) + RNG.standard_normal((3_000, 3))
    abers.IVAPCalibrator(multiclass="ovr").fit(margins, y)
    margins[:, 1] *= -1
    warning = only_warning(abers.IVAPCalibrator(multiclass="ovr"), margins, y)
    assert warning.startswith(
        "The scores of 1 against the rest are inverted on the calib"
    )
    margins[:, 2] *= -1
    warning = only_warning(abers.IVAPCalibrator(multiclass="ovr"), margins, y)
    assert (
        ", as are those of 1 more of 3 problems: higher ones go with fewer" in warning
    )


@pytest.mark.parametrize(
    "model",
    [
        abers.IVAPClassifier(WRONG),
        abers.CVAPClassifier(WRONG),
        abers.CVAPClassifier(WRONG, merge="minimax"),
        abers.CVAPClassifier(WRONG, ensemble=False),
    ],
)
def test_a_classifier_of_exchanged_labels_is_warned_of_once(model):
    warning = only_warning(model, X, LABELS)
    assert warning.startswith(
        "The scores are inverted on the calibration rows (AUC 0.2"
    )
    assert warning.endswith(f": higher ones go with fewer rows of class True. {ADVICE}")


def test_folds_that_are_too_small_by_themselves_are_tested_together():
    """Of ten rows a fold, no fold could reach a p-value of 0.001."""
    rows = slice(100)
    model = abers.CVAPClassifier(WRONG, cv=10, merge="pooled")
    assert "inverted" in only_warning(model, X[rows], LABELS[rows])


def test_warnings_as_errors_leave_a_fitted_model():
    model, calibrator = clone(SEEDED), abers.IVAPCalibrator()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvertedScoresWarning):
            model.fit(X, LABELS)
        with pytest.raises(InvertedScoresWarning):
            calibrator.fit(-X, LABELS)
    with pytest.warns(InvertedScoresWarning):
        again = clone(SEEDED).fit(X, LABELS)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert calibrator.predict_proba(-X).shape == (1_000, 2)


def test_classifiers_of_noise_are_not_warned_of():
    noise = np.random.default_rng(1).standard_normal((1_000, 3))
    abers.IVAPClassifier(random_state=0).fit(noise, LABELS)
    abers.CVAPClassifier(random_state=0).fit(noise, LABELS)
