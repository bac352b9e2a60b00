"""The population stability index, by hand and by chance."""

import numpy as np
import pytest

import abers
from abers import evaluation
from abers.evaluation import drift


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
    psi = evaluation.population_stability_index([0, 1], [0, 1, 1, 1], bins=2)
    assert psi == pytest.approx(0.25 * np.log(1.5) + -0.25 * np.log(0.5))


def test_an_empty_bin_counts_as_half_a_row():
    """Of halves nothing is below 1 now, and all from 1 on."""

    def expected(least):
        return (least - 0.5) * np.log(least / 0.5) + 0.5 * np.log(1 / 0.5)

    psi = evaluation.population_stability_index([0, 1], [1] * 4, bins=2)
    assert psi == pytest.approx(expected(0.5 / 4))
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
