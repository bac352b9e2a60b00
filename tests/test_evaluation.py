"""Numbers of an evaluation, against independent computations."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import abers
from abers import evaluation


@pytest.fixture(scope="module")
def sample():
    """Predictions with ties, off by a factor, and weights."""
    rng = np.random.default_rng(4)
    p = rng.random(500).round(2) * 0.96 + 0.02
    y = rng.random(500) < p**1.5
    return y, p, rng.integers(1, 5, 500)


def test_curve_is_the_isotonic_regression_of_labels_on_predictions(sample):
    y, p, _ = sample
    curve = evaluation.reliability_curve(y, p)
    expected = IsotonicRegression().fit(p, y).predict(curve.probabilities)
    np.testing.assert_allclose(curve.frequencies, expected, rtol=1e-12)


def test_weights_are_copies(sample):
    y, p, w = sample
    copies = np.repeat(y, w), np.repeat(p, w)
    for loss in ("log", "brier"):
        weighted = evaluation.decompose(y, p, loss=loss, sample_weight=w)
        copied = evaluation.decompose(*copies, loss=loss)
        assert weighted.loss == pytest.approx(copied.loss, rel=1e-13)
        assert weighted.miscalibration == pytest.approx(copied.miscalibration, rel=1e-9)
    assert evaluation.expected_calibration_error(
        y, p, sample_weight=w
    ) == pytest.approx(evaluation.expected_calibration_error(*copies), rel=1e-12)
    assert evaluation.auc(p, y, sample_weight=w) == evaluation.auc(*copies[::-1])


@pytest.mark.parametrize(
    ("loss", "metric"), [("log", log_loss), ("brier", brier_score_loss)]
)
def test_parts_of_a_loss_are_losses_of_scikit_learn(sample, loss, metric):
    """Miscalibration, discrimination and uncertainty as differences of losses."""
    y, p, _ = sample
    recalibrated = IsotonicRegression().fit(p, y).predict(p)
    parts = evaluation.decompose(y, p, loss=loss)
    of_p, of_fit = metric(y, p), metric(y, recalibrated)
    of_base = metric(y, np.full(y.size, y.mean()))
    assert parts.loss == pytest.approx(of_p, rel=1e-12)
    assert parts.uncertainty == pytest.approx(of_base, rel=1e-12)
    assert parts.miscalibration == pytest.approx(of_p - of_fit, abs=1e-12)
    assert parts.discrimination == pytest.approx(of_base - of_fit, abs=1e-12)


def test_parts_of_a_small_case_are_those_by_hand():
    """Recalibrated to 0, 1/2, 1/2, 1; base rate 1/2."""
    parts = evaluation.decompose([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    assert parts.uncertainty == pytest.approx(np.log(2))
    assert parts.discrimination == pytest.approx(np.log(2) / 2)
    assert parts.loss == pytest.approx(-np.log([0.9, 0.4, 0.6, 0.8]).mean())


def test_certain_and_wrong_is_infinitely_miscalibrated():
    parts = evaluation.decompose([1, 0, 1], [0.0, 0.5, 1.0])
    assert parts.loss == parts.miscalibration == np.inf
    assert np.isfinite(parts.uncertainty)


def test_calibration_error_is_the_mean_gap_of_the_bins(sample):
    y, p, _ = sample
    expected = 0.0
    for low in np.arange(10):
        rows = np.minimum(np.floor(p * 10), 9) == low
        if rows.any():
            expected += rows.mean() * abs(y[rows].mean() - p[rows].mean())
    assert evaluation.expected_calibration_error(y, p) == pytest.approx(expected)


def test_auc_is_that_of_scikit_learn(sample):
    y, p, w = sample
    assert evaluation.auc(p, y) == pytest.approx(roc_auc_score(y, p), rel=1e-13)
    weighted = roc_auc_score(y, p, sample_weight=w)
    assert evaluation.auc(p, y, sample_weight=w) == pytest.approx(weighted, rel=1e-13)
    assert evaluation.auc(-p, y) == pytest.approx(1 - evaluation.auc(p, y))
    assert np.isnan(evaluation.auc(p, np.ones_like(y)))


def test_calibrated_probabilities_are_rejected_as_often_as_they_should_be():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, (1_000, 400))
    y = rng.random(p.shape) < p
    rejected = [
        evaluation.spiegelhalter_test(a, b).p_value < 0.05
        for a, b in zip(y, p, strict=True)
    ]
    assert 0.03 < np.mean(rejected) < 0.07


def test_overconfident_probabilities_are_rejected():
    rng = np.random.default_rng(0)
    p = rng.random(2_000)
    y = rng.random(2_000) < 0.5 + (p - 0.5) / 2
    assert evaluation.spiegelhalter_test(y, p).p_value < 1e-6


def test_drift_of_percentiles_is_about_that_of_the_scores():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    rule = abers.fit_rule(scores, rng.random(20_000) < 0.5)
    recent = rng.normal(0.5, 1, 5_000)
    by_scores = evaluation.population_stability_index(scores, recent)
    by_quantiles = evaluation.population_stability_index(rule.score_quantiles, recent)
    assert 0.2 < by_scores < 0.3
    assert by_quantiles == pytest.approx(by_scores, abs=0.03)


@pytest.mark.parametrize("bad", [1.2, -0.1, np.nan])
def test_what_is_no_probability_is_refused(bad):
    with pytest.raises(abers.AbersError, match="at row 1"):
        evaluation.decompose([0, 1], [0.5, bad])


@pytest.mark.parametrize("bins", [0, -1, 2.5, True])
def test_number_of_bins_is_a_positive_integer(bins):
    with pytest.raises(abers.AbersError, match="bins must be a positive integer"):
        evaluation.expected_calibration_error([0, 1], [0.2, 0.8], bins=bins)
