"""The honest band covers the whole calibration curve; the bounds of a rule do not."""

import numpy as np
import pytest
from scipy.stats import beta

import abers
from abers.evaluation import bands

CURVES = {
    "logistic": lambda s: 1 / (1 + np.exp(-4 * s)),
    "step": lambda s: np.where(s < 0, 0.2, 0.8),
    "flat": lambda s: np.full_like(s, 0.3),
}


def covers(band, curve):
    """Whether a rising curve keeps to the band; its worst places are the band's."""
    truth = curve(band.scores)
    return bool(((band.lower <= truth) & (truth <= band.upper)).all())


@pytest.mark.parametrize("name", CURVES)
def test_band_covers_the_whole_curve_and_bounds_do_not(name):
    """40 sets of 200 rows; at 95 % confidence two misses are expected at most."""
    rng = np.random.default_rng(1)
    by_band, by_bounds = [], []
    for _ in range(40):
        scores = rng.uniform(-1, 1, 200)
        labels = rng.random(200) < CURVES[name](scores)
        by_band.append(covers(bands.calibration_band(scores, labels), CURVES[name]))
        lower, upper = abers.fit_rule(scores, labels).bounds(scores).T
        truth = CURVES[name](scores)
        by_bounds.append(((lower <= truth) & (truth <= upper)).all())
    assert np.mean(by_band) >= 0.95
    assert np.mean(by_bounds) < 0.1


def test_band_is_that_of_all_runs_of_rows():
    """The definition: Clopper-Pearson limits of every run, at a shared level."""
    rng = np.random.default_rng(2)
    scores = rng.permutation(25).astype(float)
    labels = rng.random(25) < scores / 25
    ordered = labels[np.argsort(scores)]
    level = 0.1 / (25 * 26)
    lower, upper = np.zeros(25), np.ones(25)
    for j in range(25):
        for k in range(j, 25):
            n, ones = k - j + 1, ordered[j : k + 1].sum()
            high = beta.ppf(1 - level, ones + 1, n - ones) if ones < n else 1.0
            low = beta.ppf(level, ones, n - ones + 1) if ones else 0.0
            upper[: j + 1] = np.minimum(upper[: j + 1], high)
            lower[k:] = np.maximum(lower[k:], low)
    band = bands.calibration_band(scores, labels, confidence=0.9)
    np.testing.assert_array_equal(band.scores, np.arange(25.0))
    np.testing.assert_allclose(band.lower, lower, rtol=1e-9)
    np.testing.assert_allclose(band.upper, upper, rtol=1e-9)


def test_many_rows_are_put_into_cells_and_still_covered():
    rng = np.random.default_rng(3)
    scores = rng.uniform(-1, 1, 100_000).round(3)
    labels = rng.random(scores.size) < CURVES["logistic"](scores)
    band = bands.calibration_band(scores, labels)
    assert band.scores.size <= 1_000
    assert covers(band, CURVES["logistic"])
    assert (band.upper - band.lower).mean() < 0.1


def test_a_jump_within_a_cell_is_covered():
    """40 rows a cell, of which the limits must not hold before the last or first."""
    scores = np.arange(20_000.0)
    jump = 40 * 250 + 20
    band = bands.calibration_band(scores, scores >= jump)
    assert covers(band, lambda s: np.where(s < jump, 0.0, 1.0))
    assert band.lower[-1] > 0.9


@pytest.mark.parametrize("name", CURVES)
def test_band_of_weighted_rows_covers_the_curve(name):
    rng = np.random.default_rng(6)
    for _ in range(20):
        scores = rng.uniform(-1, 1, 2_000)
        labels = rng.random(2_000) < CURVES[name](scores)
        w = rng.exponential(size=2_000) * (rng.random(2_000) < 0.9)
        band = bands.calibration_band(scores, labels, sample_weight=w)
        assert covers(band, CURVES[name])
        assert 0.1 < (band.upper - band.lower).mean() < 0.6


def test_weighted_band_is_that_of_all_runs_by_hoeffding():
    rng = np.random.default_rng(7)
    scores = np.repeat([1.0, 2.0, 3.0], 100)
    labels = rng.random(300) < scores / 4
    w = rng.exponential(size=300)
    lower, upper = np.zeros(3), np.ones(3)
    for j in range(3):
        for k in range(j, 3):
            part = (scores > j) & (scores <= k + 1)
            share = w[part] / w[part].sum()
            reach = np.sqrt(np.log(12 / 0.1) / 2 * (share**2).sum())
            mean = share @ labels[part]
            upper[: j + 1] = np.minimum(upper[: j + 1], mean + reach)
            lower[k:] = np.maximum(lower[k:], mean - reach)
    band = bands.calibration_band(scores, labels, confidence=0.9, sample_weight=w)
    np.testing.assert_allclose(band.lower, np.maximum(lower, 0), rtol=1e-9)
    np.testing.assert_allclose(band.upper, np.minimum(upper, 1), rtol=1e-9)
    larger = bands.calibration_band(scores, labels, confidence=0.9, sample_weight=7 * w)
    np.testing.assert_allclose(larger.upper, band.upper, rtol=1e-9)


def test_equal_weights_are_none_and_rows_without_weight_are_left_out():
    rng = np.random.default_rng(8)
    scores, labels = rng.random(300), rng.random(300) < 0.5
    band = bands.calibration_band(scores[:200], labels[:200])
    w = np.where(np.arange(300) < 200, 0.3, 0.0)
    weighted = bands.calibration_band(scores, labels, sample_weight=w)
    for name in ("scores", "lower", "upper"):
        np.testing.assert_array_equal(getattr(band, name), getattr(weighted, name))


def test_band_rises():
    rng = np.random.default_rng(4)
    band = bands.calibration_band(rng.normal(size=300), rng.random(300) < 0.5)
    assert (np.diff(band.lower) >= 0).all()
    assert (np.diff(band.upper) >= 0).all()


def test_rows_that_are_counted_already_have_the_same_band():
    rng = np.random.default_rng(5)
    scores, labels = rng.random(2_000).round(2), rng.random(2_000) < 0.3
    band = bands.calibration_band(scores, labels)
    diagram = abers.Diagram.from_observations(scores, labels)
    counted = bands.band_of(diagram)
    for name in ("scores", "lower", "upper"):
        np.testing.assert_array_equal(getattr(band, name), getattr(counted, name))


def test_weights_that_are_no_numbers_of_rows_have_no_band():
    diagram = abers.Diagram.from_observations([1, 2], [0, 1], sample_weight=[0.5, 1])
    with pytest.raises(abers.AbersError, match="numbers of independent rows"):
        bands.band_of(diagram)


def test_cells_are_cut_by_weight_and_at_most_so_many():
    """Eight of weight 1, then one of 8, in four cells of 4: the last takes two."""
    assert bands.cell_starts(np.array([1] * 8 + [8]), 4).tolist() == [0, 4, 8]
    assert bands.cell_starts(np.array([8] + [1] * 8), 4).tolist() == [0, 1, 5]
    assert bands.cell_starts(np.full(3, 0.1), 500).tolist() == [0, 1, 2]
    assert bands.cell_starts(np.full(10_000, 0.3), 500).size <= 500


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1])
def test_confidence_is_a_probability(confidence):
    with pytest.raises(abers.AbersError, match="confidence must be between 0 and 1"):
        bands.calibration_band([1, 2], [0, 1], confidence=confidence)
