"""Validation metrics agree with statsmodels, relplot and dcurves."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from dcurves import dca
from relplot import smECE
from scipy.special import expit, logit

from abers import evaluation


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(7)
    p = rng.beta(0.7, 2, 5_000) * 0.98 + 0.01
    y = rng.random(p.size) < expit(-0.2 + 0.7 * logit(p))
    return y, p, rng.exponential(size=p.size)


@pytest.mark.parametrize("weighted", [False, True])
def test_intercept_and_slope_are_those_of_statsmodels(rows, weighted):
    y, p, w = rows
    options = {"family": sm.families.Binomial()}
    if weighted:
        options["var_weights"] = w
    recalibration = evaluation.logistic_recalibration(
        y, p, sample_weight=w if weighted else None
    )
    x, ones, labels = logit(p), np.ones(p.size), y.astype(float)
    kind = "HC0" if weighted else "nonrobust"
    large = sm.GLM(labels, ones, offset=x, **options).fit(cov_type=kind, tol=1e-12)
    joint = sm.GLM(labels, sm.add_constant(x), **options).fit(cov_type=kind, tol=1e-12)
    parameters = (
        recalibration.intercept,
        recalibration.joint_intercept,
        recalibration.slope,
    )
    assert parameters == pytest.approx([*large.params, *joint.params], rel=1e-7)
    errors = (
        recalibration.intercept_error,
        recalibration.joint_intercept_error,
        recalibration.slope_error,
    )
    assert errors == pytest.approx([*large.bse, *joint.bse], rel=1e-6)


def test_smooth_error_is_that_of_relplot(rows):
    """It halves the interval ten times, so it knows the bandwidth to 1/1024."""
    y, p, _ = rows
    error = evaluation.smooth_calibration_error(y, p)
    assert error == pytest.approx(smECE(p, y.astype(float)), abs=1e-3)


@pytest.mark.filterwarnings("ignore")  # pandas, within dcurves
def test_decision_curve_is_that_of_dcurves(rows):
    y, p, _ = rows
    thresholds = np.arange(1, 100) / 100
    frame = pd.DataFrame({"y": y.astype(int), "p": p})
    theirs = dca(data=frame, outcome="y", modelnames=["p"], thresholds=thresholds)
    ours = evaluation.decision_curve(y, p, thresholds=thresholds)
    for model, benefit in (("p", ours.net_benefit), ("all", ours.treat_all)):
        column = theirs.loc[theirs["model"] == model].sort_values("threshold")
        np.testing.assert_allclose(benefit, column["net_benefit"], atol=1e-12)
