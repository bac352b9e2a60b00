"""The test of calibration: its statistic, its level, and what it sees."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from abers import evaluation


@pytest.mark.parametrize("weighted", [False, True])
def test_p_values_of_calibrated_probabilities_are_about_uniform(weighted):
    rng = np.random.default_rng(1)
    p_values = []
    for _ in range(150):
        p = rng.random(300)
        w = rng.exponential(size=300) if weighted else None
        y = rng.random(300) < p
        p_values.append(evaluation.calibration_test(y, p, sample_weight=w).p_value)
    assert 0.4 < np.mean(p_values) < 0.6
    assert np.mean(np.array(p_values) <= 0.1) < 0.2
    assert np.mean(np.array(p_values) >= 0.9) < 0.2


def test_overconfident_probabilities_are_rejected():
    rng = np.random.default_rng(0)
    p = rng.random(2_000)
    y = rng.random(2_000) < 0.5 + (p - 0.5) / 2
    assert evaluation.calibration_test(y, p).p_value == 1 / 201


def test_a_bias_that_is_symmetric_about_one_half_is_seen():
    """One that leaves the expected Brier loss as it is."""
    rng = np.random.default_rng(0)
    p = rng.choice([0.3, 0.7], 2_000)
    y = rng.random(2_000) < p + 0.2
    assert evaluation.calibration_test(y, p).p_value < 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_the_statistic_is_what_isotonic_regression_gains(sample, weighted):
    y, p, w = sample
    weights = w if weighted else np.ones(y.size)
    fitted = IsotonicRegression().fit(p, y, sample_weight=weights).predict(p)
    gain = np.average((y - p) ** 2 - (y - fitted) ** 2, weights=weights)
    test = evaluation.calibration_test(y, p, sample_weight=w if weighted else None)
    assert test.statistic == pytest.approx(gain, rel=1e-9)


@pytest.mark.parametrize(
    ("y", "p"), [([0, 1], [0.5, 0.5]), ([0, 1, 1], [0, 1, 1]), ([0], [0.0])]
)
def test_no_miscalibration_has_a_p_value_of_one(y, p):
    test = evaluation.calibration_test(y, p)
    assert (test.statistic, test.p_value) == (0.0, 1.0)


def test_a_certain_and_wrong_prediction_is_rejected():
    test = evaluation.calibration_test([0] * 9 + [1], [0.0] * 10)
    assert test.p_value == 1 / 201
