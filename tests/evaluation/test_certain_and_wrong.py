"""Cox's intercept and slope where predictions are certain, and wrong."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize

import abers
from abers.evaluation import logistic_recalibration


def log_odds(p):
    p = np.clip(p, 1e-8, 1 - 1e-8)
    return np.log(p / (1 - p))


def mean_loss(y, log_odds):
    return np.logaddexp(0, np.where(np.asarray(y) == 1, -log_odds, log_odds)).mean()


def least_loss(y, p):
    """The smallest mean log loss of a logistic curve, by an optimiser of its own."""
    x = log_odds(p) / 20  # of a size that suits it
    start = np.zeros(2)
    return minimize(lambda t: mean_loss(y, t[0] + t[1] * x), start, tol=1e-12).fun


def drawn(seed):
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 0.2, 0.5, 0.9, 1.0], 30)
    return rng.integers(0, 2, 30), p


@pytest.mark.parametrize(
    ("p", "y"),
    [
        ([0.2, 0.5, 1.0], [0, 1, 0]),
        ([0.0, 0.9, 1.0], [1, 0, 1]),
        ([0.3, 0.5, 0.8, 1.0], [0, 1, 1, 0]),
        ([0.0, 0.0, 0.2, 0.2, 0.5, 0.9, 1.0, 1.0], [1, 0, 1, 0, 0, 1, 0, 0]),
    ],
)
def test_evaluate_survives_predictions_that_are_certain_and_wrong(p, y):
    recalibration = logistic_recalibration(y, p)
    best = least_loss(y, p)
    curve = recalibration.joint_intercept + recalibration.slope * log_odds(p)
    assert mean_loss(y, curve) == pytest.approx(best, abs=1e-9)
    assert abers.evaluate(None, p, y).n_rows == len(y)


@pytest.mark.parametrize("seed", range(20))
def test_slope_and_intercept_maximise_the_likelihood(seed):
    """A slope of 1 must be found, not assumed where the search fails."""
    y, p = drawn(seed)
    recalibration = logistic_recalibration(y, p)
    curve = recalibration.joint_intercept + recalibration.slope * log_odds(p)
    assert mean_loss(y, curve) == pytest.approx(least_loss(y, p), abs=1e-9)
    assert recalibration.slope_error > 0
    x = log_odds(p)
    moved = brentq(lambda a: (y - 1 / (1 + np.exp(-a - x))).sum(), -50, 50)
    assert recalibration.intercept == pytest.approx(moved, abs=1e-6)
    assert recalibration.intercept_error > 0
