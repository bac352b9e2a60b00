"""The honest band covers the whole calibration curve; the bounds of a rule do not."""

import math
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from band import CURVES as STUDIED, all_runs, ours
from hypothesis import given, strategies as st
from scipy.optimize import isotonic_regression
from scipy.stats import beta

import abers
from abers.evaluation import bands
from abers.evaluation.counts import cell_starts

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


def sample(name, n, rng):
    """Draw labels of a curve of the study, in the order of scores, and the truth."""
    draw, curve = STUDIED[name]
    truth = curve(np.sort(draw(rng, n)))
    return (rng.random(n) < truth).astype(np.int64), truth


@pytest.mark.parametrize("name", ["constant .3", "constant .07", "step, .2 / .8"])
def test_no_more_than_the_promised_share_of_sets_is_missed(name):
    """The curves that are missed most; 200 sets, of which 5 % may be missed."""
    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(200):
        labels, truth = sample(name, 200, rng)
        lower, upper = ours(labels)
        missed += not ((lower <= truth) & (truth <= upper)).all()
    assert missed <= 10


@pytest.mark.parametrize("confidence", [0.5, 0.8])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (1, 3, 2), (4, 1), (6,)])
def test_chance_of_a_miss_by_all_labels_of_few_rows(sizes, confidence):
    """In fractions, over all rising curves with values in eighths."""
    counts = np.array(sizes)
    scores = np.arange(counts.size)
    kept = {}
    for ones in product(*(range(size + 1) for size in sizes)):
        diagram = abers.rules.Diagram.from_counts(scores, counts, ones)
        kept[ones] = bands.band_of(diagram, confidence=confidence)
    eighths = [Fraction(i, 8) for i in range(9)]
    worst = Fraction(0)
    for curve in combinations_with_replacement(eighths, counts.size):
        truth = np.array(curve, dtype=float)
        missed = [
            chance(sizes, ones, curve)
            for ones, band in kept.items()
            if not ((band.lower <= truth) & (truth <= band.upper)).all()
        ]
        worst = max(worst, sum(missed))
    assert 0 < worst <= 1 - Fraction(confidence)


def chance(sizes, ones, curve):
    """Return the probability of so many ones at each score."""
    probability = Fraction(1)
    for size, k, t in zip(sizes, ones, curve, strict=True):
        ways = Fraction(1)
        for i in range(k):
            ways *= Fraction(size - i, i + 1)
        probability *= ways * t**k * (1 - t) ** (size - k)
    return probability


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), st.integers(1, 15))
def test_runs_of_a_start_reject_within_their_budget(parts, sixteenths):
    """The lemma on one start, by the exact law of all counts, in fractions."""
    t, budget = Fraction(sixteenths, 16), Fraction(1, 4)
    sizes = np.cumsum(parts).tolist()
    limit = rate(sizes, t, budget)
    walk = {0: Fraction(1)}  # counts of ones so far, of the paths not yet rejected
    rejected = Fraction(0)
    for before, size in pairwise([0, *sizes]):
        for _ in range(size - before):
            walk = {
                k: walk.get(k, 0) * (1 - t) + walk.get(k - 1, 0) * t
                for k in range(max(walk) + 2)
            }
        tail = Fraction(0)
        for k in range(size + 1):
            tail += chance([size], [k], [t])
            if tail < size * limit:
                rejected += walk.pop(k, 0)
                walk[k] = Fraction(0)
    assert rejected <= budget


def rate(sizes, t, budget):
    """Return what the proof calls rate(t), of the runs of one start."""
    falling = sorted(sizes, reverse=True)
    rates = [budget / sum(falling)]
    for k, size in enumerate(falling[1:], start=1):
        rates.append(min(budget / sum(falling[:k]), (1 - t) ** size / size))
    return max(rates)


@pytest.mark.parametrize("n", [1, 2, 5, 25, 60])
def test_band_is_the_one_that_the_proof_describes(n):
    rng = np.random.default_rng(2)
    cell = np.sort(rng.integers(0, 16, n))
    labels = rng.random(n) < cell / 16
    band = bands.calibration_band(cell, labels, confidence=0.9)
    scores, rows = np.unique(cell, return_counts=True)
    ones = np.bincount(cell, weights=labels)[scores].astype(int)
    start = cell_starts(rows, math.ceil(4 * n**0.5))
    first, last = scores[start], scores[np.append(start[1:], scores.size) - 1]
    rows, ones = np.add.reduceat(rows, start), np.add.reduceat(ones, start)
    upper = upper_by_definition(rows, ones, 0.05)
    lower = upper_by_definition(rows[::-1], (rows - ones)[::-1], 0.05)
    assert band.scores.tolist() == sorted({*first.tolist(), *last.tolist()})
    edge = band.upper[np.searchsorted(band.scores, first)]
    np.testing.assert_allclose(edge, upper, rtol=1e-9)
    edge = band.lower[np.searchsorted(band.scores, last)]
    np.testing.assert_allclose(edge, 1 - lower[::-1], rtol=1e-9, atol=1e-12)


def upper_by_definition(rows, ones, budget):
    """Bound the curve from above at each of some cells, run by run."""
    every = list(zip(*map(np.ndarray.tolist, bands.runs(rows.size)), strict=True))
    everything = sum(rows[j:stop].sum() for j, stop in every)
    upper = np.ones(rows.size)
    for _ in range(bands.ROUNDS):
        following = np.ones(rows.size)
        for j in range(rows.size):
            mine = [slice(j, stop) for first, stop in every if first == j]
            sizes = [rows[run].sum() for run in mine]
            level = rate(sizes, upper[j], budget * sum(sizes) / everything)
            for run, m in zip(mine, sizes, strict=True):
                k = ones[run].sum()
                v = beta.isf(m * level, k + 1, m - k) if k < m else 1.0
                following[: j + 1] = np.minimum(following[: j + 1], v)
        upper = following
    return upper


def test_runs_begin_at_every_quarter_of_their_length():
    first, stop = bands.runs(40)
    length = stop - first
    assert set(length.tolist()) == {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40}
    assert first[length == 16].tolist() == [0, 4, 8, 12, 16, 20, 24]
    assert first[length == 12].tolist() == [*range(0, 28, 3), 28]
    assert [column.tolist() for column in bands.runs(1)] == [[0], [1]]


@pytest.mark.parametrize(("n", "most"), [(200, 0.9), (500, 0.87)])
def test_band_is_narrower_than_that_of_all_runs_at_one_level(n, most):
    """On the mean of six curves; benchmarks/BAND.md has more sets and sizes."""
    rng = np.random.default_rng(12)
    ratios = []
    for name in STUDIED:
        labels, _ = sample(name, n, rng)
        widths = [np.mean(u - low) for low, u in (ours(labels), all_runs(labels))]
        ratios.append(widths[0] / widths[1])
    assert np.mean(ratios) < most


@given(
    st.lists(st.tuples(st.integers(0, 30), st.booleans()), min_size=1, max_size=60),
    st.lists(st.floats(0.01, 0.999), min_size=2, max_size=2),
    st.booleans(),
)
def test_bands_of_higher_confidence_contain_those_of_lower(rows, confidences, weighted):
    scores, labels = zip(*rows, strict=True)
    w = 1 + np.arange(len(rows)) % 3 if weighted else None
    narrow, wide = (
        bands.calibration_band(scores, labels, confidence=c, sample_weight=w)
        for c in sorted(confidences)
    )
    assert (wide.lower <= narrow.lower + 1e-12).all()
    assert (narrow.upper <= wide.upper + 1e-12).all()


@pytest.mark.parametrize("name", STUDIED)
def test_isotonic_fit_keeps_to_the_band_of_rows_with_a_rising_curve(name):
    labels, _ = sample(name, 400, np.random.default_rng(13))
    lower, upper = ours(labels)
    fit = isotonic_regression(labels).x
    assert (lower <= fit).all()
    assert (fit <= upper).all()


def test_exchanging_labels_and_reversing_scores_mirrors_the_band():
    rng = np.random.default_rng(14)
    scores, labels = np.arange(16), rng.random(16) < 0.5
    band = bands.calibration_band(scores, labels)
    mirrored = bands.calibration_band(-scores, ~labels)
    np.testing.assert_allclose(mirrored.lower, 1 - band.upper[::-1], atol=1e-15)
    np.testing.assert_allclose(mirrored.upper, 1 - band.lower[::-1], atol=1e-15)


def test_labels_that_fall_with_the_score_leave_no_room_for_a_rising_curve():
    with pytest.warns(
        UserWarning, match="band is empty: .* no curve that rises"
    ) as all_:
        band = bands.calibration_band(np.arange(400), np.arange(400) < 200)
    assert [warning.filename for warning in all_] == [__file__]
    assert (band.lower > band.upper).any()
    assert band.is_empty


def test_a_band_that_a_rising_curve_fits_is_not_empty():
    assert not bands.calibration_band(np.arange(400), np.arange(400) >= 200).is_empty


@pytest.mark.parametrize("weights", [None, np.arange(1, 401)], ids=["", "weighted"])
@pytest.mark.parametrize("increasing", [True, False])
def test_an_evaluation_says_in_which_direction_no_curve_fits(increasing, weights):
    """The true curve goes up and down again: neither direction fits."""
    scores = np.arange(400)
    labels = (scores >= 100) & (scores < 300)
    rule = abers.fit_rule(scores, labels, increasing=increasing)
    evaluation = abers.evaluate(rule, scores, labels, sample_weight=weights)
    runs = "rises" if increasing else "falls"
    warnings = [
        text for text in evaluation.printout().warnings if "band is empty" in text
    ]
    assert len(warnings) == 1
    assert f"no curve that {runs} with the score fits" in warnings[0]
    where = float(warnings[0].split("at ")[1].split(". ")[0])
    assert (where >= 200) == increasing


def test_one_class_is_bounded_on_one_side():
    """All of 100 rows are zeros: the longest runs bound the lowest scores best."""
    band = bands.calibration_band(range(100), [0] * 100)
    assert (band.lower == 0).all()
    assert band.upper[0] < 0.1 < band.upper[-2] < 1


def test_a_hundred_million_rows_at_three_scores():
    diagram = abers.rules.Diagram.from_counts([1, 2, 3], [10**8] * 3, [1, 10**4, 10**7])
    band = bands.band_of(diagram)
    assert (band.lower < [1e-8, 1e-4, 0.1]).all()
    assert (band.upper > [1e-8, 1e-4, 0.1]).all()
    assert (band.upper - band.lower < [1e-7, 1e-5, 1e-3]).all()


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
    scores = np.arange(20_000.0)  # in 500 cells
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
    parts = [(scores > j) & (scores <= k) for j in range(3) for k in range(j + 1, 4)]
    sizes = np.array([w[part].sum() ** 2 / (w[part] ** 2).sum() for part in parts])
    means = np.array([np.average(labels[part], weights=w[part]) for part in parts])
    lower, upper = np.zeros(3), np.ones(3)
    reach = np.sqrt(np.log(sizes.sum() / sizes / 0.05) / (2 * sizes))
    for part, low, high in zip(parts, means - reach, means + reach, strict=True):
        first, last = int(scores[part][0]), int(scores[part][-1])
        upper[:first] = np.minimum(upper[:first], high)
        lower[last - 1 :] = np.maximum(lower[last - 1 :], low)
    band = bands.calibration_band(scores, labels, confidence=0.9, sample_weight=w)
    np.testing.assert_allclose(band.lower, np.maximum(lower, 0), rtol=1e-9)
    np.testing.assert_allclose(band.upper, np.minimum(upper, 1), rtol=1e-9)
    larger = bands.calibration_band(scores, labels, confidence=0.9, sample_weight=7 * w)
    np.testing.assert_allclose(larger.upper, band.upper, rtol=1e-9)


def test_a_row_of_overwhelming_weight_leaves_its_run_uncertain():
    """It counts for one row, whatever the scale of the weights."""
    scores, labels = np.arange(50) // 25, np.arange(50) % 2
    for scale in (1e-200, 1.0, 1e200):
        w = np.where(np.arange(50) % 25, 1e-9, 1.0) * scale
        band = bands.calibration_band(scores, labels, sample_weight=w)
        assert (band.lower == 0).all()
        assert (band.upper == 1).all()


def test_rows_that_vanish_beside_the_others_are_left_out():
    scores = np.arange(200) // 100
    w = np.where(scores, 1e-200, 1.0 + np.arange(200) % 2)
    band = bands.calibration_band(scores, scores, sample_weight=w)
    rest = bands.calibration_band(scores[:100], scores[:100], sample_weight=w[:100])
    assert band.scores.tolist() == [0]
    assert (band.lower.tolist(), band.upper.tolist()) == (
        rest.lower.tolist(),
        rest.upper.tolist(),
    )


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
    diagram = abers.rules.Diagram.from_rows(scores, labels)
    counted = bands.band_of(diagram)
    for name in ("scores", "lower", "upper"):
        np.testing.assert_array_equal(getattr(band, name), getattr(counted, name))


def test_weights_that_are_no_numbers_of_rows_have_no_band():
    diagram = abers.rules.Diagram.from_rows([1, 2], [0, 1], sample_weight=[0.5, 1])
    with pytest.raises(abers.AbersError, match="numbers of independent rows"):
        bands.band_of(diagram)


@pytest.mark.parametrize("confidence", [0, 1, 95, -0.1])
def test_confidence_is_a_probability(confidence):
    with pytest.raises(abers.AbersError, match="confidence must be between 0 and 1"):
        bands.calibration_band([1, 2], [0, 1], confidence=confidence)
