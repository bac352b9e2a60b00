"""Numbers of an evaluation, against independent computations."""

import math
from dataclasses import fields

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.metrics import (
    brier_score_loss,
    d2_brier_score,
    d2_log_loss_score,
    log_loss,
    roc_auc_score,
)

import abers
from abers import evaluation
from abers.core.auc import auc_of
from abers.evaluation import (
    calibration_tests,
    counts,
    metrics,
)


def test_losses_are_those_of_scikit_learn(sample):
    y, p, w = sample
    for ours, theirs in [
        (evaluation.log_loss, log_loss),
        (evaluation.brier_loss, brier_score_loss),
    ]:
        assert ours(y, p) == pytest.approx(theirs(y, p), abs=1e-12)
        weighted = theirs(y, p, sample_weight=w / 7)
        assert ours(y, p, sample_weight=w / 7) == pytest.approx(weighted, abs=1e-12)


def test_losses_of_a_small_case_are_those_by_hand():
    """-log 1/4 and -log 1/2, the latter with weight 3."""
    loss = evaluation.log_loss([1, 0], [0.25, 0.5], sample_weight=[1, 3])
    assert loss == pytest.approx((2 + 3) / 4 * np.log(2))
    assert evaluation.brier_loss([1, 0], [0.25, 0.5], sample_weight=[1, 3]) == (
        pytest.approx((0.5625 + 0.75) / 4)
    )


def test_certain_and_wrong_costs_infinity_unless_it_has_no_weight():
    assert evaluation.log_loss([1, 0], [0.0, 0.5]) == np.inf
    assert evaluation.log_loss([0, 0], [1.0, 0.5]) == np.inf
    assert evaluation.log_loss([1, 0], [0.0, 0.5], sample_weight=[0, 1]) == (
        pytest.approx(np.log(2))
    )


def test_certain_and_right_costs_nothing():
    loss = evaluation.log_loss([0, 1], [0.0, 1.0])
    assert loss == 0
    assert not np.signbit(loss)


def test_loss_of_a_tiny_probability_is_not_clipped():
    assert evaluation.log_loss([1], [1e-300]) == pytest.approx(300 * np.log(10))
    assert evaluation.log_loss([0], [1e-20]) == pytest.approx(1e-20)


def test_weights_are_copies(sample):
    y, p, w = sample
    copies = np.repeat(y, w), np.repeat(p, w)
    for function in (
        evaluation.log_loss,
        evaluation.brier_loss,
        evaluation.expected_calibration_error,
    ):
        weighted = function(y, p, sample_weight=w)
        assert weighted == pytest.approx(function(*copies), rel=1e-12)
    assert evaluation.auc(p, y, sample_weight=w) == evaluation.auc(*copies[::-1])
    new = evaluation.population_stability_index(p, p**2, sample_weight=w)
    copied = evaluation.population_stability_index(p, copies[1] ** 2)
    assert new == pytest.approx(copied, rel=1e-12)
    old = evaluation.population_stability_index(p, p**2, reference_weight=w)
    copied = evaluation.population_stability_index(copies[1], p**2)
    assert old == pytest.approx(copied, rel=1e-12)
    assert old != pytest.approx(new, rel=1e-3)


@pytest.mark.parametrize("bins", [1, 3, 10, 1_000])
def test_calibration_error_is_the_mean_gap_of_the_bins(sample, bins):
    y, p, _ = sample
    expected = 0.0
    for cell in np.arange(bins):
        rows = np.minimum(np.floor(p * bins), bins - 1) == cell
        if rows.any():
            expected += rows.mean() * abs(y[rows].mean() - p[rows].mean())
    error = evaluation.expected_calibration_error(y, p, bins=bins)
    assert error == pytest.approx(expected, rel=1e-12)


def test_certain_predictions_belong_to_the_outer_bins():
    """Gaps 0.95 - 1, of two rows, and 0.05 - 0."""
    y, p = [1, 1, 0], [1.0, 0.9, 0.05]
    error = evaluation.expected_calibration_error(y, p)
    assert error == pytest.approx((0.1 + 0.05) / 3)


def test_auc_is_that_of_scikit_learn(sample):
    y, p, w = sample
    assert evaluation.auc(p, y) == pytest.approx(roc_auc_score(y, p), rel=1e-13)
    weighted = roc_auc_score(y, p, sample_weight=w)
    assert evaluation.auc(p, y, sample_weight=w) == pytest.approx(weighted, rel=1e-13)
    assert evaluation.auc(-p, y) == pytest.approx(1 - evaluation.auc(p, y))
    assert np.isnan(evaluation.auc(p, np.ones_like(y)))


def test_rows_that_are_counted_already_give_the_same(sample):
    y, p, w = sample
    diagram = counts.diagram_of(y, p, w)
    scatter = counts.scatter_of(diagram, p, w)
    assert metrics.calibration_error_of(diagram) == (
        evaluation.expected_calibration_error(y, p, sample_weight=w)
    )
    assert calibration_tests.calibration_test_of(diagram, scatter=scatter) == (
        evaluation.calibration_test(y, p, sample_weight=w)
    )
    assert auc_of(diagram) == evaluation.auc(p, y, sample_weight=w)


def test_widths_are_those_of_the_bounds():
    bounds = np.stack((np.zeros(10), np.arange(1, 11) / 10), axis=1)
    widths = evaluation.bound_widths(bounds)
    assert widths.mean == pytest.approx(0.55)
    assert (widths.median, widths.quantile_90, widths.maximum) == (0.5, 0.9, 1.0)
    last = evaluation.bound_widths(bounds, sample_weight=[0] * 9 + [2])
    assert last == evaluation.BoundWidths(1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("bounds", [[], [0.1, 0.2], [[0.1, 0.2, 0.3]], [[0.6, 0.2]]])
def test_what_is_no_pair_of_bounds_is_refused(bounds):
    with pytest.raises(abers.AbersError, match="bounds must"):
        evaluation.bound_widths(bounds)


@pytest.mark.parametrize("bad", [1.2, -0.1, np.nan])
def test_what_is_no_probability_is_refused(bad):
    for function in (evaluation.log_loss, evaluation.expected_calibration_error):
        with pytest.raises(abers.AbersError, match="at row 1"):
            function([0, 1], [0.5, bad])


def test_what_is_no_label_or_no_score_is_refused():
    with pytest.raises(abers.AbersError, match="labels must be 0 or 1; got 2 at row 1"):
        evaluation.log_loss([0, 2], [0.5, 0.5])
    with pytest.raises(abers.AbersError, match="scores must not be NaN"):
        evaluation.population_stability_index([1, 2], [1, np.nan])
    with pytest.raises(abers.AbersError, match="reference must not be NaN"):
        evaluation.population_stability_index([1, np.nan], [1, 2])
    with pytest.raises(abers.AbersError, match="equally long"):
        evaluation.brier_loss([0], [0.5, 0.5])


@pytest.mark.parametrize("bins", [0, -1, 2.5, True])
def test_number_of_bins_is_a_positive_integer(bins):
    for call in (
        lambda: evaluation.expected_calibration_error([0, 1], [0.2, 0.8], bins=bins),
        lambda: evaluation.population_stability_index([1], [1], bins=bins),
    ):
        with pytest.raises(abers.AbersError, match="bins must be a positive integer"):
            call()


def by_definition(y, p, w):
    """Solve smECE_sigma = sigma with reflected kernels, added up one by one."""
    t = (np.arange(1_000) + 0.5) / 1_000
    rest = (p - y) * w / w.sum()

    def excess(sigma):
        smoothed = np.zeros_like(t)
        for shift in range(-6, 7, 2):
            for place in (p + shift, shift - p):
                smoothed += np.exp(-(((t[:, None] - place) / sigma) ** 2) / 2) @ rest
        return abs(smoothed).mean() / (sigma * math.sqrt(2 * math.pi)) - sigma

    return brentq(excess, 2e-3, 1)


@pytest.mark.parametrize("kind", ["tied", "rare", "wrong"])
def test_smooth_error_is_the_fixed_point_of_its_definition(kind, extreme):
    rng = np.random.default_rng(5)
    y, p, w = (column[:300] for column in extreme)
    if kind == "rare":
        p = rng.beta(1, 30, 300)
        y = rng.random(300) < p**0.7
    elif kind == "wrong":
        p = np.where(y, 0.02, 0.99)
    for weights in (None, w):
        error = evaluation.smooth_calibration_error(y, p, sample_weight=weights)
        expected = by_definition(y, p, np.ones(300) if weights is None else weights)
        assert error == pytest.approx(expected, rel=2e-3)


def test_smooth_error_of_tiny_errors_is_small():
    p = np.full(1_000, 1e-6)
    error = evaluation.smooth_calibration_error(np.zeros(1_000), p)
    assert error == pytest.approx(1e-6, abs=1e-5)
    assert evaluation.smooth_calibration_error([0, 1], [0, 1]) == 0


def test_skills_are_those_of_scikit_learn(extreme):
    y, p, w = extreme
    for weights in (None, w):
        for ours, theirs in (
            (evaluation.log_skill, d2_log_loss_score),
            (evaluation.brier_skill, d2_brier_score),
        ):
            skill = ours(y, p, sample_weight=weights)
            assert skill == pytest.approx(theirs(y, p, sample_weight=weights))
    assert math.isnan(evaluation.log_skill([1, 1], [0.5, 0.5]))
    assert evaluation.log_skill([1, 0], [0.0, 0.5]) == -math.inf


def numbers(value):
    """Return the fields of a result by name; a plain number has one."""
    if isinstance(value, float):
        return {"": value}
    return {field.name: getattr(value, field.name) for field in fields(value)}


def test_evaluations_have_these_numbers(extreme):
    y, p, w = extreme
    for weights in (None, w):
        evaluated = abers.evaluate(None, p, y, sample_weight=weights)
        losses, column = evaluated.losses.after, evaluated.calibration.after
        for ours, function in (
            (column.recalibration, evaluation.logistic_recalibration),
            (column.smooth_calibration_error, evaluation.smooth_calibration_error),
            (column.test, evaluation.calibration_test),
            (losses.log_skill, evaluation.log_skill),
            (losses.brier_skill, evaluation.brier_skill),
        ):
            alone = function(y, p, sample_weight=weights)
            assert numbers(ours) == pytest.approx(numbers(alone), rel=1e-9)
