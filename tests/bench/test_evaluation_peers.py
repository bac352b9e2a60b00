"""Evaluations agree with those of model-diagnostics and scikit-learn."""

import numpy as np
import pytest
from model_diagnostics.calibration import compute_bias
from model_diagnostics.scoring import (
    LogLoss,
    SquaredError,
    decompose as their_decompose,
)
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from abers import evaluation
from abers.evaluation import reliability
from abers.evaluation.evaluate import evaluate

# Well apart, for scikit-learn averages predictions closer than about 1e-15; and none at
# an edge of a bin, which it counts to the bin below.
CASES = {
    "continuous": lambda rng: rng.beta(0.5, 2, 3_000),
    "tied": lambda rng: rng.random(3_000).round(2) * 0.97 + 0.0123,
    "few": lambda rng: rng.random(7),
}


@pytest.fixture(params=CASES)
def case(request):
    rng = np.random.default_rng(7)
    p = CASES[request.param](rng)
    return rng.random(p.size) < p**1.3, p, rng.exponential(size=p.size)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("loss", "scoring"), [("log", LogLoss()), ("brier", SquaredError())]
)
def test_decomposition_is_that_of_model_diagnostics(case, loss, scoring, weighted):
    y, p, w = case
    w = w if weighted else None
    ours = reliability.decompose(y, p, loss=loss, sample_weight=w)
    theirs = their_decompose(y.astype(float), p, w, scoring_function=scoring)
    for name, column in [
        ("loss", "score"),
        ("miscalibration", "miscalibration"),
        ("discrimination", "discrimination"),
        ("uncertainty", "uncertainty"),
    ]:
        assert getattr(ours, name) == pytest.approx(theirs[column][0], abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_curve_is_the_isotonic_regression_of_scikit_learn(case, weighted):
    y, p, w = case
    w = w if weighted else None
    curve = reliability.reliability_curve(y, p, sample_weight=w)
    theirs = IsotonicRegression().fit(p, y, sample_weight=w)
    expected = theirs.predict(curve.probabilities)
    np.testing.assert_allclose(curve.frequencies, expected, atol=1e-12)


@pytest.mark.parametrize("bins", [5, 10, 15])
def test_calibration_error_is_that_of_scikit_learns_curve(case, bins):
    y, p, _ = case
    happened, predicted = calibration_curve(y, p, n_bins=bins)
    edges = np.linspace(0, 1, bins + 1)
    assert not np.isin(p, edges).any()
    rows = np.bincount(np.searchsorted(edges[1:-1], p), minlength=bins)
    expected = (rows[rows > 0] / p.size * abs(happened - predicted)).sum()
    error = evaluation.expected_calibration_error(y, p, bins=bins)
    assert error == pytest.approx(expected, rel=1e-10)


@pytest.mark.filterwarnings("ignore:the string cache:DeprecationWarning")  # polars
def test_groups_are_off_by_the_bias_of_model_diagnostics(case):
    y, p, w = case
    groups = np.array(["web", "shop", "phone"])[np.arange(y.size) % 3]
    evaluated = evaluate(None, p, y, groups=groups, sample_weight=w)
    theirs = compute_bias(y.astype(float), p, feature=groups, weights=w)
    expected = dict(theirs.select(theirs.columns[0], "bias_mean").iter_rows())
    for group in evaluated.groups:
        assert group.difference == pytest.approx(expected[group.name], abs=1e-12)


def test_losses_and_auc_are_those_of_scikit_learn(case):
    y, p, w = case
    for options in ({}, {"sample_weight": w}):
        pairs = [
            (evaluation.log_loss(y, p, **options), log_loss(y, p, **options)),
            (evaluation.brier_loss(y, p, **options), brier_score_loss(y, p, **options)),
            (evaluation.auc(p, y, **options), roc_auc_score(y, p, **options)),
        ]
        for ours, theirs in pairs:
            assert ours == pytest.approx(theirs, abs=1e-12)
