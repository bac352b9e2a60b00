"""Displays that ask an estimator draw what one could have asked it by hand."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import abers
from abers import plots
from abers.evaluation.bands import calibration_band
from abers.plots import (
    LossesDisplay,
    MonitorDisplay,
    ReliabilityDisplay,
    RuleDisplay,
    svg,
)
from abers.plots._base import Display


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


def test_there_are_six_displays_with_one_base():
    public = [getattr(plots, name) for name in plots.__all__ if name != "svg"]
    assert len(public) == 6
    assert all(issubclass(display, Display) for display in public)


def losses_of(display):
    return {each.name: each.loss for each in display.losses}


@pytest.mark.parametrize("pos_label", [None, "yes", "no"])
def test_losses_of_an_estimator_stand_beside_those_before(several, rows, pos_label):
    X, y = rows
    display = LossesDisplay.from_estimator(several, X, y, pos_label=pos_label)
    assert display.reference == "before"
    losses = abers.evaluate(several, X, y).losses.log
    expected = {"before": losses.before, "CVAPClassifier": losses.after}
    assert losses_of(display) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("loss", ["log", "brier"])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_and_errors_are_those_of_a_comparison(rows, loss, weighted):
    X, y = rows
    p, labels = 1 / (1 + np.exp(-X[:, 0])), (y == "yes").astype(int)
    w = np.arange(labels.size) % 4 if weighted else None  # some rows have none
    methods = ["uncalibrated", "IVAP"]
    comparison = abers.compare(p, labels, methods=methods, sample_weight=w)
    by_hand = LossesDisplay.from_predictions(
        comparison.labels,
        comparison.probabilities,
        reference=comparison.reference,
        sample_weight=comparison.weights,
        loss=loss,
    )
    display = LossesDisplay.from_comparison(comparison, loss=loss)
    assert losses_of(by_hand) == pytest.approx(losses_of(display), rel=1e-12)
    for one, other in zip(
        sorted(by_hand.losses, key=lambda each: each.name),
        sorted(display.losses, key=lambda each: each.name),
        strict=True,
    ):
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-12)


@pytest.mark.parametrize("p", [{}, [0.5, 0.5]])
def test_losses_need_a_name_for_each_method(p):
    with pytest.raises(abers.AbersError, match="p must map the name of each method"):
        LossesDisplay.from_predictions([0, 1], p)


def test_a_reference_must_be_among_the_methods():
    with pytest.raises(abers.AbersError, match="reference must be 'a' or 'b'"):
        LossesDisplay.from_predictions(
            [0, 1], {"a": [0.5, 0.5], "b": [0.1, 0.9]}, reference="c"
        )


def test_a_monitor_of_an_estimator_sees_its_probabilities(single, rows):
    X, y = rows
    half = len(y) // 2
    then, now = (X[:half], y[:half]), (X[half:] + 1, y[half:])
    display = MonitorDisplay.from_estimator(single, *now, calibration=then, alpha=0.1)
    before, after = (single.predict_proba(rows)[:, 1] for rows in (then[0], now[0]))
    monitor = abers.Monitor(before, then[1] == "yes", alpha=0.1)
    monitor.update(after, now[1] == "yes")
    assert svg(display) == svg(MonitorDisplay.from_monitor(monitor))


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
    assert display.rule.without_diagram() == single.rules_[0][0]
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
    assert display.rule.without_diagram() == single.rules_[0][0]
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
