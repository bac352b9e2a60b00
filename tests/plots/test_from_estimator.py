"""Displays that ask an estimator draw what one could have asked it by hand."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import abers
from abers.evaluation.bands import calibration_band
from abers.plots import ReliabilityDisplay, RuleDisplay


@pytest.fixture(scope="module")
def rows(sample):
    scores, labels, _ = sample
    return scores[:400].reshape(-1, 1), np.where(labels[:400], "yes", "no")


@pytest.fixture(scope="module")
def single(rows):
    return abers.IVAPClassifier(GaussianNB(), loss="brier").fit(*rows)


@pytest.fixture(scope="module")
def several(rows):
    return abers.CVAPClassifier(GaussianNB(), cv=3).fit(*rows)


def test_before_is_the_mean_of_the_inner_classifiers(several, rows):
    X, y = rows
    inner = [model.predict_proba(X)[:, 1] for model in several.estimators_]
    by_model = ReliabilityDisplay.from_estimator(several, X, y)
    by_hand = ReliabilityDisplay.from_predictions(
        y == "yes", several.predict_proba(X)[:, 1], before=np.mean(inner, axis=0)
    )
    for line in ("before_", "line_"):
        drawn = (getattr(display, line).get_data() for display in (by_model, by_hand))
        np.testing.assert_allclose(*drawn, rtol=1e-9)


def test_scores_of_a_calibrator_are_before_if_they_are_probabilities(rows):
    X, y = rows
    p = 1 / (1 + np.exp(-X[:, 0]))
    display = ReliabilityDisplay.from_estimator(abers.IVAPCalibrator().fit(p, y), p, y)
    assert display.before.probabilities.tolist() == np.unique(p).tolist()


def test_a_classifier_without_an_inner_one_has_no_curve_before(rows):
    display = ReliabilityDisplay.from_estimator(GaussianNB().fit(*rows), *rows)
    assert display.before is None
    assert display.name == "GaussianNB"


def test_rule_of_an_estimator_is_drawn_with_its_loss(single):
    display = RuleDisplay.from_estimator(single)
    assert display.rule is single.rules_[0][0]
    assert display.loss == "brier"


def test_one_of_several_rules_must_be_chosen(several, rows):
    with pytest.raises(abers.AbersError, match="a CVAPClassifier with 3"):
        RuleDisplay.from_estimator(several)
    with pytest.raises(abers.AbersError, match="a GaussianNB with 0"):
        RuleDisplay.from_estimator(GaussianNB().fit(*rows))


def test_band_of_one_rule_is_over_its_scores(single, rows):
    X, y = rows
    display = RuleDisplay.from_estimator(single, X, y)
    logs = single.estimators_[0].predict_log_proba(X)
    band = calibration_band(logs[:, 1] - logs[:, 0], y == "yes")
    assert display.rule is single.rules_[0][0]
    # Log-odds are rounded to multiples of 2^-22, and to single precision.
    np.testing.assert_allclose(
        display.band.scores, band.scores, rtol=2**-24, atol=2**-23
    )


def test_band_of_several_rules_is_over_the_probabilities(several, rows):
    X, y = rows
    display = RuleDisplay.from_estimator(several, X, y, confidence=0.8)
    p = several.predict_proba(X)[:, 1]
    band = calibration_band(p, y == "yes", confidence=0.8)
    assert display.rule is None
    np.testing.assert_array_equal(display.band.upper, band.upper)
