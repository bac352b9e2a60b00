"""What a validator asks for, against slow and independent computations."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit, xlog1py, xlogy
from scipy.stats import chi2, norm
from sklearn.metrics import d2_brier_score, d2_log_loss_score

import abers
from abers import evaluation
from abers.errors import InvalidParameter, InvalidType


@pytest.fixture(scope="module")
def sample():
    """Predictions with ties that are too extreme, and weights."""
    rng = np.random.default_rng(4)
    p = rng.random(800).round(2) * 0.96 + 0.02
    y = rng.random(800) < expit(0.3 + 0.6 * logit(p))
    return y, p, rng.exponential(size=800)


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
def test_intercept_and_slope_maximise_the_likelihood(sample, weighted):
    y, p, w = sample
    found = evaluation.logistic_recalibration(
        y, p, sample_weight=w if weighted else None
    )
    weights = w if weighted else np.ones(y.size)
    (large,) = fitted(y, p, weights, slope=False)
    joint = fitted(y, p, weights, slope=True)
    assert found.intercept == pytest.approx(large, abs=1e-5)
    assert (found.joint_intercept, found.slope) == pytest.approx(joint, abs=1e-5)
    theta = found.joint_intercept, found.slope
    w = w if weighted else None
    errors = standard_errors(y, p, w, theta, slope=True)
    assert (found.joint_intercept_error, found.slope_error) == pytest.approx(errors)
    (error,) = standard_errors(y, p, w, [found.intercept], slope=False)
    assert found.intercept_error == pytest.approx(error)


def test_weighted_intercepts_scatter_as_much_as_their_errors_say():
    """With the slope far from 1, where the curve that is fitted is wrong."""
    rng = np.random.default_rng(9)
    found = []
    for _ in range(400):
        p = rng.beta(0.5, 0.5, 400) * 0.998 + 0.001
        y = rng.random(400) < expit(0.3 * logit(p))
        w = rng.exponential(size=400) * (1 + 3 * p)
        fit = evaluation.logistic_recalibration(y, p, sample_weight=w)
        found.append((fit.intercept, fit.intercept_error, fit.slope, fit.slope_error))
    intercept, error, slope, slope_error = np.transpose(found)
    # A standard deviation of 400 is known to 3.5 %.
    assert intercept.std() == pytest.approx(np.median(error), rel=0.11)
    assert slope.std() == pytest.approx(np.median(slope_error), rel=0.11)


def test_many_predictions_are_fitted_exactly_though_cells_come_first():
    """More distinct predictions than cells: the gradient over all rows is 0."""
    rng = np.random.default_rng(0)
    p = rng.random(20_000)
    y = rng.random(20_000) < p**2
    found = evaluation.logistic_recalibration(y, p)
    x = logit(p)
    rest = y - expit(found.joint_intercept + found.slope * x)
    assert abs(rest.mean()) < 1e-10
    assert abs((rest * x).mean()) < 1e-10
    assert abs((y - expit(found.intercept + x)).mean()) < 1e-10


def test_predictions_of_0_and_1_count_as_almost_certain(sample):
    y, p, _ = sample
    p = np.where(p < 0.1, 0.0, np.where(p > 0.9, 1.0, p))
    found = evaluation.logistic_recalibration(y, p)
    clipped = evaluation.logistic_recalibration(y, np.clip(p, 1e-8, 1 - 1e-8))
    assert found == clipped


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


@pytest.mark.parametrize("in_sample", [False, True])
def test_hosmer_lemeshow_adds_up_squared_differences_of_bins(in_sample):
    rng = np.random.default_rng(1)
    p = np.sort(rng.random(500))
    y = rng.random(500) < p**1.2
    found = evaluation.hosmer_lemeshow_test(y, p, in_sample=in_sample)
    statistic = 0.0
    for rows in np.split(np.arange(500), 10):
        mean = p[rows].mean()
        statistic += (y[rows].sum() - p[rows].sum()) ** 2 / (50 * mean * (1 - mean))
    freedom = 8 if in_sample else 10
    assert found.statistic == pytest.approx(statistic)
    assert found.degrees_of_freedom == freedom
    assert found.p_value == pytest.approx(chi2.sf(statistic, freedom))


def test_hosmer_lemeshow_keeps_ties_together_and_does_not_take_weights_for_rows(sample):
    y, p, _ = sample
    tied = evaluation.hosmer_lemeshow_test([0, 1, 1, 0, 1], [0.5] * 4 + [0.9])
    assert tied.degrees_of_freedom == 2
    plain = evaluation.hosmer_lemeshow_test(y, p)
    weighted = evaluation.hosmer_lemeshow_test(y, p, sample_weight=np.full(y.size, 3))
    assert weighted.statistic == pytest.approx(plain.statistic)


def test_hosmer_lemeshow_of_certain_predictions():
    right = evaluation.hosmer_lemeshow_test([0, 0, 1], [0, 0, 0.5], bins=2)
    assert (right.statistic, right.degrees_of_freedom) == (1.0, 1)
    wrong = evaluation.hosmer_lemeshow_test([0, 1, 1], [0, 0, 0.5], bins=2)
    assert (wrong.statistic, wrong.p_value) == (math.inf, 0.0)
    assert math.isnan(evaluation.hosmer_lemeshow_test([0, 1], [0, 1]).p_value)
    with pytest.raises(InvalidParameter, match="bins must be a positive integer"):
        evaluation.hosmer_lemeshow_test([0, 1], [0, 1], bins=0)
    with pytest.raises(InvalidType, match="in_sample must be True or False"):
        evaluation.hosmer_lemeshow_test([0, 1], [0, 1], in_sample=1)


def test_hosmer_lemeshow_has_its_level():
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(400):
        p = rng.random(300)
        y = rng.random(300) < p
        rejected += evaluation.hosmer_lemeshow_test(y, p).p_value < 0.1
    assert 20 <= rejected <= 60


def by_definition(y, p, w):
    """Solve smECE_sigma = sigma with reflected kernels, added up one by one."""
    t = (np.arange(4_000) + 0.5) / 4_000
    rest = (p - y) * w / w.sum()

    def excess(sigma):
        smoothed = np.zeros_like(t)
        for shift in range(-6, 7, 2):
            for place in (p + shift, shift - p):
                smoothed += norm.pdf(t[:, None], place, sigma) @ rest
        return abs(smoothed).mean() - sigma

    return brentq(excess, 2e-3, 1)


@pytest.mark.parametrize("kind", ["tied", "rare", "wrong"])
def test_smooth_error_is_the_fixed_point_of_its_definition(kind, sample):
    rng = np.random.default_rng(5)
    y, p, w = (column[:300] for column in sample)
    if kind == "rare":
        p = rng.beta(1, 30, 300)
        y = rng.random(300) < p**0.7
    elif kind == "wrong":
        p = np.where(y, 0.02, 0.99)
    for weights in (None, w):
        found = evaluation.smooth_calibration_error(y, p, sample_weight=weights)
        expected = by_definition(y, p, np.ones(300) if weights is None else weights)
        assert found == pytest.approx(expected, rel=2e-3)


def test_smooth_error_of_tiny_errors_is_small():
    p = np.full(1_000, 1e-6)
    found = evaluation.smooth_calibration_error(np.zeros(1_000), p)
    assert found == pytest.approx(1e-6, abs=1e-5)
    assert evaluation.smooth_calibration_error([0, 1], [0, 1]) == 0


def test_skills_are_those_of_scikit_learn(sample):
    y, p, w = sample
    for weights in (None, w):
        for ours, theirs in (
            (evaluation.log_skill, d2_log_loss_score),
            (evaluation.brier_skill, d2_brier_score),
        ):
            found = ours(y, p, sample_weight=weights)
            assert found == pytest.approx(theirs(y, p, sample_weight=weights))
    assert math.isnan(evaluation.log_skill([1, 1], [0.5, 0.5]))
    assert evaluation.log_skill([1, 0], [0.0, 0.5]) == -math.inf


def test_evaluations_have_these_numbers(sample):
    y, p, w = sample
    for weights in (None, w):
        found = abers.evaluate(None, p, y, sample_weight=weights).after
        for name, function in (
            ("recalibration", evaluation.logistic_recalibration),
            ("smooth_calibration_error", evaluation.smooth_calibration_error),
            ("hosmer_lemeshow", evaluation.hosmer_lemeshow_test),
            ("log_skill", evaluation.log_skill),
            ("brier_skill", evaluation.brier_skill),
        ):
            alone = function(y, p, sample_weight=weights)
            ours = getattr(found, name)
            if isinstance(alone, float):
                alone, ours = {"": alone}, {"": ours}
            else:
                alone, ours = (
                    {key: getattr(it, key) for key in type(it).__slots__}
                    for it in (alone, ours)
                )
            assert ours == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_net_benefit_counts_hits_and_false_alarms(sample, weighted):
    y, p, w = sample
    w = w if weighted else np.ones(y.size)
    curve = evaluation.decision_curve(y, p, sample_weight=w if weighted else None)
    assert curve.thresholds[[0, 50, -1]].tolist() == [0, 0.5, 0.99]
    for place, t in enumerate(curve.thresholds):
        price = t / (1 - t)
        acted = p >= t
        hits, alarms = (w * (acted & y)).sum(), (w * (acted & ~y)).sum()
        expected = (hits - price * alarms) / w.sum()
        assert curve.net_benefit[place] == pytest.approx(expected, abs=1e-12)
        everyone = ((w * y).sum() - price * (w * ~y).sum()) / w.sum()
        assert curve.treat_all[place] == pytest.approx(everyone, abs=1e-12)
    assert not curve.treat_none.any()


@pytest.mark.parametrize("weighted", [False, True])
def test_costs_count_misses_and_false_alarms(sample, weighted):
    y, p, w = sample
    w = w if weighted else np.ones(y.size)
    curve = evaluation.cost_curve(y, p, sample_weight=w if weighted else None)
    assert curve.thresholds[[0, 50, -1]].tolist() == [0, 0.5, 1]
    for place, t in enumerate(curve.thresholds):
        acted = p >= t
        misses, alarms = (w * (~acted & y)).sum(), (w * (acted & ~y)).sum()
        expected = (t * alarms + (1 - t) * misses) / w.sum()
        assert curve.cost[place] == pytest.approx(expected, abs=1e-12)
        everyone, nobody = t * (w * ~y).sum(), (1 - t) * (w * y).sum()
        assert curve.treat_all[place] == pytest.approx(everyone / w.sum(), abs=1e-12)
        assert curve.treat_none[place] == pytest.approx(nobody / w.sum(), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_area_below_the_costs_is_half_the_brier_loss(sample, weighted):
    """Between neighbouring predictions the curve is a line: trapezoids are exact."""
    y, p, w = sample
    weights = w if weighted else None
    edges = np.unique(np.concatenate(([0.0, 1.0], p)))
    starts = np.nextafter(edges[:-1], 1)  # after a prediction it is no longer acted on
    left = evaluation.cost_curve(y, p, thresholds=starts, sample_weight=weights)
    right = evaluation.cost_curve(y, p, thresholds=edges[1:], sample_weight=weights)
    area = (np.diff(edges) * (left.cost + right.cost) / 2).sum()
    brier = evaluation.brier_loss(y, p, sample_weight=weights)
    assert area == pytest.approx(brier / 2, rel=1e-12)


def test_costs_follow_from_the_net_benefit(sample):
    """(1 - t) (share of ones - net benefit) is the cost."""
    y, p, _ = sample
    t = np.linspace(0, 0.99, 50)
    cost = evaluation.cost_curve(y, p, thresholds=t).cost
    benefit = evaluation.decision_curve(y, p, thresholds=t).net_benefit
    np.testing.assert_allclose(cost, (1 - t) * (y.mean() - benefit), atol=1e-12)


def test_thresholds_outside_of_0_and_1_have_no_costs():
    with pytest.raises(InvalidParameter, match=r"between 0 and 1; got 1.1 at place 1"):
        evaluation.cost_curve([0, 1], [0.2, 0.5], thresholds=[1.0, 1.1])


def test_thresholds_that_nobody_can_have_are_refused():
    for wrong, message in (
        ([0.5, 1.0], r"below 1; got 1.0 at place 1"),
        ([-0.1], r"at least 0 and below 1; got -0.1"),
        ([], "must not be empty"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            evaluation.decision_curve([0, 1], [0.2, 0.5], thresholds=wrong)
