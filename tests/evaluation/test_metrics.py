"""Numbers of an evaluation, against independent computations."""

from functools import partial

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

import abers
from abers import evaluation
from abers.evaluation import (
    bands,
    calibration_tests,
    counts,
    drift,
    metrics,
    reliability,
)


@pytest.fixture(scope="module")
def sample():
    """Predictions with ties, off by a factor, and weights."""
    rng = np.random.default_rng(4)
    p = rng.random(500).round(2) * 0.96 + 0.02
    y = rng.random(500) < p**1.5
    return y, p, rng.integers(1, 5, 500)


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
    found = evaluation.log_loss([1, 0], [0.25, 0.5], sample_weight=[1, 3])
    assert found == pytest.approx((2 + 3) / 4 * np.log(2))
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
    found = evaluation.expected_calibration_error(y, p, bins=bins)
    assert found == pytest.approx(expected, rel=1e-12)


def test_certain_predictions_belong_to_the_outer_bins():
    """Gaps 0.95 - 1, of two rows, and 0.05 - 0."""
    y, p = [1, 1, 0], [1.0, 0.9, 0.05]
    found = evaluation.expected_calibration_error(y, p)
    assert found == pytest.approx((0.1 + 0.05) / 3)


def test_auc_is_that_of_scikit_learn(sample):
    y, p, w = sample
    assert evaluation.auc(p, y) == pytest.approx(roc_auc_score(y, p), rel=1e-13)
    weighted = roc_auc_score(y, p, sample_weight=w)
    assert evaluation.auc(p, y, sample_weight=w) == pytest.approx(weighted, rel=1e-13)
    assert evaluation.auc(-p, y) == pytest.approx(1 - evaluation.auc(p, y))
    assert np.isnan(evaluation.auc(p, np.ones_like(y)))


@pytest.mark.parametrize("weighted", [False, True])
def test_calibrated_probabilities_are_rejected_as_often_as_they_should_be(weighted):
    rng = np.random.default_rng(0)
    p = rng.beta(2, 2, (1_000, 400))
    y = rng.random(p.shape) < p
    w = rng.exponential(size=p.shape) if weighted else [None] * 1_000
    rejected = [
        evaluation.spiegelhalter_test(a, b, sample_weight=c).p_value < 0.05
        for a, b, c in zip(y, p, w, strict=True)
    ]
    assert 0.03 < np.mean(rejected) < 0.07


def test_overconfident_probabilities_are_rejected():
    rng = np.random.default_rng(0)
    p = rng.random(2_000)
    y = rng.random(2_000) < 0.5 + (p - 0.5) / 2
    assert evaluation.spiegelhalter_test(y, p).p_value < 1e-6


def test_statistic_is_that_of_the_formula(sample):
    """Sum of w (y - p) (1 - 2p), over the root of its variance."""
    y, p, w = sample
    variance = (w**2 * (1 - 2 * p) ** 2 * p * (1 - p)).sum()
    expected = (w * (y - p) * (1 - 2 * p)).sum() / np.sqrt(variance)
    found = evaluation.spiegelhalter_test(y, p, sample_weight=w).statistic
    assert found == pytest.approx(expected, rel=1e-12)


def test_nothing_to_learn_from_gives_no_statistic():
    test = evaluation.spiegelhalter_test([0, 1, 1], [0.5, 0.5, 1.0])
    assert np.isnan(test.statistic)
    assert np.isnan(test.p_value)


def test_a_bias_that_is_symmetric_about_one_half_needs_the_other_test():
    rng = np.random.default_rng(0)
    p = rng.choice([0.3, 0.7], 2_000)
    y = rng.random(2_000) < p + 0.2
    assert evaluation.spiegelhalter_test(y, p).p_value > 0.05
    assert calibration_tests.miscalibration_p_of(counts.diagram_of(y, p)) < 0.01


@pytest.mark.parametrize("weighted", [False, True])
def test_p_values_of_calibrated_probabilities_are_about_uniform(weighted):
    rng = np.random.default_rng(1)
    found = []
    for _ in range(150):
        p = rng.random(300)
        w = rng.exponential(size=300) if weighted else None
        diagram = counts.diagram_of(rng.random(300) < p, p, w)
        scatter = counts.scatter_of(diagram, p, w)
        found.append(calibration_tests.miscalibration_p_of(diagram, scatter=scatter))
    assert 0.4 < np.mean(found) < 0.6
    assert np.mean(np.array(found) <= 0.1) < 0.2
    assert np.mean(np.array(found) >= 0.9) < 0.2


def test_rows_that_are_counted_already_give_the_same(sample):
    y, p, w = sample
    diagram = counts.diagram_of(y, p, w)
    scatter = counts.scatter_of(diagram, p, w)
    assert metrics.calibration_error_of(diagram) == (
        evaluation.expected_calibration_error(y, p, sample_weight=w)
    )
    assert calibration_tests.spiegelhalter_of(diagram, scatter=scatter) == (
        evaluation.spiegelhalter_test(y, p, sample_weight=w)
    )
    assert metrics.auc_of(diagram) == evaluation.auc(p, y, sample_weight=w)
    plain = counts.diagram_of(y, p**2)
    assert drift.stability_of(p, plain) == pytest.approx(
        evaluation.population_stability_index(p, p**2), rel=1e-12
    )


def test_drift_of_percentiles_is_about_that_of_the_scores():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=20_000)
    rule = abers.fit_rule(scores, rng.random(20_000) < 0.5)
    recent = rng.normal(0.5, 1, 5_000)
    by_scores = evaluation.population_stability_index(scores, recent)
    by_quantiles = evaluation.population_stability_index(rule.score_quantiles, recent)
    assert 0.2 < by_scores < 0.3
    assert by_quantiles == pytest.approx(by_scores, abs=0.03)


def test_drift_of_a_small_case_is_that_by_hand():
    """Halves below and from 1 on; of the recent ones a quarter and three."""
    found = evaluation.population_stability_index([0, 1], [0, 1, 1, 1], bins=2)
    assert found == pytest.approx(0.25 * np.log(1.5) + -0.25 * np.log(0.5))


def test_an_empty_bin_counts_as_half_a_row():
    """Of halves nothing is below 1 now, and all from 1 on."""

    def expected(least):
        return (least - 0.5) * np.log(least / 0.5) + 0.5 * np.log(1 / 0.5)

    found = evaluation.population_stability_index([0, 1], [1] * 4, bins=2)
    assert found == pytest.approx(expected(0.5 / 4))
    weighted = evaluation.population_stability_index(
        [0, 1], [1, 1, 0], bins=2, sample_weight=[3, 1, 0]
    )
    assert weighted == pytest.approx(expected(0.5 / 2))


@pytest.mark.parametrize("size", [10_000, 1_000_000])
def test_ties_at_the_lowest_score_are_no_drift(size):
    """21 % are equal; the index must not grow with the number of rows."""
    scores = np.maximum(np.arange(size) / size, 0.21)
    quantiles = abers.fit_rule(scores, np.arange(size) % 2).score_quantiles
    assert evaluation.population_stability_index(quantiles, scores) < 0.002
    diagram = abers.Diagram.from_observations(scores, np.arange(size) % 2)
    assert drift.stability_of(quantiles, diagram) < 0.002
    assert evaluation.population_stability_index(quantiles, scores[: size // 2]) > 1


def test_drift_from_a_score_that_nearly_all_had_is_seen():
    reference = [0] * 95 + [1] * 5
    assert evaluation.population_stability_index(reference, reference) == 0
    assert evaluation.population_stability_index(reference, [0, 1] * 50) > 0.2


def test_drift_without_any_exceeds_what_chance_makes_once_in_a_hundred_times():
    rng = np.random.default_rng(0)
    reference, recent = rng.random((2_000, 500)), rng.random((2_000, 300))
    exceeded = [
        evaluation.population_stability_index(old, new)
        > drift.stability_noise(300, 500)
        for old, new in zip(reference, recent, strict=True)
    ]
    assert 0.003 < np.mean(exceeded) < 0.02


def test_drift_level_allows_for_noise():
    assert evaluation.drift_level(0.3) == "large"
    assert evaluation.drift_level(0.3, noise=0.35) == "stable"
    assert evaluation.drift_level(0.15) == "moderate"
    assert evaluation.drift_level(0.0999) == "stable"


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


def test_any_number_can_be_had_by_group(sample):
    y, p, w = sample
    groups = np.where(np.arange(y.size) % 3 == 0, "web", "shop")
    for function, options in [
        (evaluation.log_loss, {}),
        (evaluation.expected_calibration_error, {"bins": 5}),
        (reliability.decompose, {"loss": "brier"}),
    ]:
        found = evaluation.by_group(function, groups, y, p, sample_weight=w, **options)
        assert list(found) == ["shop", "web"]
        for name, value in found.items():
            part = groups == name
            assert value == function(y[part], p[part], sample_weight=w[part], **options)


def test_bands_and_drift_can_be_had_by_group(sample):
    y, p, w = sample
    groups = np.arange(y.size) % 2
    found = evaluation.by_group(
        bands.calibration_band, groups, p, y, sample_weight=w, confidence=0.8
    )
    part = groups == 1
    expected = bands.calibration_band(
        p[part], y[part], sample_weight=w[part], confidence=0.8
    )
    np.testing.assert_array_equal(found[1].upper, expected.upper)
    index = partial(evaluation.population_stability_index, p)
    by_index = evaluation.by_group(index, groups, p**2, sample_weight=w)
    assert by_index[1] == index(p[part] ** 2, sample_weight=w[part])


def test_groups_without_a_name_come_last_and_those_without_weight_not_at_all():
    groups, y, p = [None, 2, 1, 3], [0, 1, 1, 1], [0.5, 0.25, 0.5, 0.5]
    found = evaluation.by_group(evaluation.brier_loss, groups, y, p)
    assert list(found) == [1, 2, 3, None]
    weights = [1, 1, 1, 0]
    left = evaluation.by_group(
        evaluation.brier_loss, groups, y, p, sample_weight=weights
    )
    assert list(left) == [1, 2, None]
    with pytest.raises(abers.AbersError, match="column 2 and groups"):
        evaluation.by_group(evaluation.brier_loss, groups, y, p[:2])


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
