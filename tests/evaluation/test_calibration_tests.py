"""Tests of calibration: their formulas, their levels, what they do not see."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from abers import evaluation
from abers.errors import InvalidParameter, InvalidType
from abers.evaluation import calibration_tests, counts


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


def test_hosmer_lemeshow_keeps_ties_together_and_does_not_take_weights_for_rows(
    extreme,
):
    y, p, _ = extreme
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
