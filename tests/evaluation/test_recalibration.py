"""Intercept and slope, against a general optimiser."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit, xlog1py, xlogy

import abers
from abers import evaluation


def fitted(y, p, w, *, slope):
    """Maximise the likelihood by a general optimiser."""
    x = logit(np.clip(p, 1e-8, 1 - 1e-8))

    def loss(theta):
        mean = expit(theta[0] + (theta[1] if slope else 1.0) * x)
        return -(w * (xlogy(y, mean) + xlog1py(1 - y, -mean))).sum() / w.sum()

    start = [0.0, 1.0] if slope else [0.0]
    return minimize(loss, start, tol=1e-12).x


def standard_errors(y, p, w, theta, *, slope):
    """By maximum likelihood; with weights White's, by squared residuals (HC0)."""
    x = logit(p)
    columns = np.stack((np.ones_like(x), x)) if slope else np.ones((1, x.size))
    mean = expit(theta[0] + (theta[1] if slope else 1.0) * x)
    weights = np.ones(y.size) if w is None else w
    bread = np.linalg.inv((columns * weights * mean * (1 - mean)) @ columns.T)
    if w is None:
        return np.sqrt(np.diag(bread))
    middle = (columns * (w * (y - mean)) ** 2) @ columns.T
    return np.sqrt(np.diag(bread @ middle @ bread))


@pytest.mark.parametrize("weighted", [False, True])
def test_intercept_and_slope_maximise_the_likelihood(extreme, weighted):
    y, p, w = extreme
    recalibration = evaluation.logistic_recalibration(
        y, p, sample_weight=w if weighted else None
    )
    weights = w if weighted else np.ones(y.size)
    (large,) = fitted(y, p, weights, slope=False)
    joint = fitted(y, p, weights, slope=True)
    assert recalibration.intercept == pytest.approx(large, abs=1e-5)
    assert (recalibration.joint_intercept, recalibration.slope) == pytest.approx(
        joint, abs=1e-5
    )
    theta = recalibration.joint_intercept, recalibration.slope
    w = w if weighted else None
    errors = standard_errors(y, p, w, theta, slope=True)
    assert (
        recalibration.joint_intercept_error,
        recalibration.slope_error,
    ) == pytest.approx(errors)
    (error,) = standard_errors(y, p, w, [recalibration.intercept], slope=False)
    assert recalibration.intercept_error == pytest.approx(error)


def test_weighted_intercepts_scatter_as_much_as_their_errors_say():
    """With the slope far from 1, where the curve that is fitted is wrong."""
    rng = np.random.default_rng(9)
    lines = []
    for _ in range(400):
        p = rng.beta(0.5, 0.5, 400) * 0.998 + 0.001
        y = rng.random(400) < expit(0.3 * logit(p))
        w = rng.exponential(size=400) * (1 + 3 * p)
        fit = evaluation.logistic_recalibration(y, p, sample_weight=w)
        lines.append((fit.intercept, fit.intercept_error, fit.slope, fit.slope_error))
    intercept, error, slope, slope_error = np.transpose(lines)
    # A standard deviation of 400 is known to 3.5 %.
    assert intercept.std() == pytest.approx(np.median(error), rel=0.11)
    assert slope.std() == pytest.approx(np.median(slope_error), rel=0.11)


def test_many_predictions_are_fitted_exactly_though_cells_come_first():
    """More distinct predictions than cells: the gradient over all rows is 0."""
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    y = rng.random(20_000) < p**2
    recalibration = evaluation.logistic_recalibration(y, p)
    x = logit(p)
    rest = y - expit(recalibration.joint_intercept + recalibration.slope * x)
    assert abs(rest.mean()) < 1e-10
    assert abs((rest * x).mean()) < 1e-10
    assert abs((y - expit(recalibration.intercept + x)).mean()) < 1e-10


def test_predictions_of_0_and_1_count_as_almost_certain(extreme):
    y, p, _ = extreme
    p = np.where(p < 0.1, 0.0, np.where(p > 0.9, 1.0, p))
    recalibration = evaluation.logistic_recalibration(y, p)
    clipped = evaluation.logistic_recalibration(y, np.clip(p, 1e-8, 1 - 1e-8))
    assert recalibration == clipped


def test_slope_without_a_maximum_is_infinite_or_unknown():
    separated = evaluation.logistic_recalibration([0, 0, 1], [0.2, 0.5, 0.5])
    assert separated.slope == math.inf
    assert math.isnan(separated.slope_error)
    inverted = evaluation.logistic_recalibration([1, 0], [0.2, 0.5])
    assert inverted.slope == -math.inf
    assert math.isfinite(inverted.intercept)
    constant = evaluation.logistic_recalibration([1, 0], [0.5, 0.5])
    assert math.isnan(constant.slope)
    assert constant.intercept == pytest.approx(0, abs=1e-12)
    single = evaluation.logistic_recalibration([1, 1], [0.2, 0.5])
    assert single.intercept == math.inf
    assert math.isnan(single.slope)


# --- predictions that are certain, and wrong ---


def log_odds(p):
    return logit(np.clip(p, 1e-8, 1 - 1e-8))


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
    recalibration = evaluation.logistic_recalibration(y, p)
    best = least_loss(y, p)
    curve = recalibration.joint_intercept + recalibration.slope * log_odds(p)
    assert mean_loss(y, curve) == pytest.approx(best, abs=1e-9)
    assert abers.evaluate(None, p, y).n_rows == len(y)


@pytest.mark.parametrize("seed", range(20))
def test_slope_and_intercept_maximise_the_likelihood(seed):
    """A slope of 1 must be found, not assumed where the search fails."""
    y, p = drawn(seed)
    recalibration = evaluation.logistic_recalibration(y, p)
    curve = recalibration.joint_intercept + recalibration.slope * log_odds(p)
    assert mean_loss(y, curve) == pytest.approx(least_loss(y, p), abs=1e-9)
    assert recalibration.slope_error > 0
    x = log_odds(p)
    moved = brentq(lambda a: (y - 1 / (1 + np.exp(-a - x))).sum(), -50, 50)
    assert recalibration.intercept == pytest.approx(moved, abs=1e-6)
    assert recalibration.intercept_error > 0
