"""Confidence intervals of the curve at one score: definition, coverage, edges."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import beta
from sklearn.isotonic import IsotonicRegression

import abers
from abers.errors import InvalidData, InvalidParameter
from strategies import calibration_sets, either_way, probes

pytestmark = either_way
INF = math.inf


def fitted(scores, labels, **options):
    return abers.fit_rule(scores, labels, keep_diagram=True, **options)


def upper_at(rows, start, level):
    """The least Clopper-Pearson limit of three runs that begin at a score."""
    above = sorted((s, y) for s, y in rows if s >= start)
    limits = [1.0]
    for c in (0.5, 2, 8):
        least = math.ceil(c * len(rows) ** (2 / 3))
        if above[:least]:
            last = above[:least][-1][0]  # with all that tie with it
            run = [y for s, y in above if s <= last]
            zeros = len(run) - sum(run)
            if zeros:
                limits.append(beta.isf(level, sum(run) + 1, zeros))
    return min(limits)


def definition(rows, score, confidence):
    """Both limits at a score, without the bounds."""
    level = (1 - confidence) / 6
    mirrored = [(-s, 1 - y) for s, y in rows]
    return 1 - upper_at(mirrored, -score, level), upper_at(rows, score, level)


@settings(max_examples=200)
@given(calibration_sets(max_size=30), st.sampled_from([0.5, 0.9]), st.booleans())
def test_limits_are_those_of_runs_widened_to_contain_the_bounds(
    calibration, confidence, increasing
):
    scores, labels = calibration
    rule = fitted(scores, labels, increasing=increasing)
    tests = probes(scores)
    sign = 1 if increasing else -1
    rows = [(sign * s, y) for s, y in zip(scores, labels, strict=True)]
    expected = []
    for s, (p0, p1) in zip(tests, rule.bounds(tests).tolist(), strict=True):
        lower, upper = definition(rows, sign * s, confidence)
        expected.append([min(lower, p0), max(upper, p1)])
    limits = rule.interval(tests, confidence)
    np.testing.assert_allclose(limits, expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=200)
@given(calibration_sets(max_size=30), st.booleans())
def test_intervals_contain_bounds_and_rates_and_grow_with_the_confidence(
    calibration, increasing
):
    scores, labels = calibration
    rule = fitted(scores, labels, increasing=increasing)
    tests = probes(scores)
    lower, upper = rule.interval(tests).T
    p0, p1 = rule.bounds(tests).T
    assert ((lower <= p0) & (p1 <= upper)).all()
    own = rule.interval(scores)
    fit = IsotonicRegression(increasing=increasing).fit_transform(
        np.searchsorted(np.unique(scores), scores), labels
    )
    assert ((own[:, 0] <= fit + 1e-12) & (fit - 1e-12 <= own[:, 1])).all()
    wide = rule.interval(tests, 0.99)
    assert (wide[:, 0] <= lower).all()
    assert (wide[:, 1] >= upper).all()


@pytest.mark.parametrize(
    ("scores", "labels", "tests", "expected"),
    [
        # One row: nothing is known above a 0 and below it but its own limit.
        ([1], [0], [0, 1, 2], [(0, 0.95), (0, 0.95), (0, 1)]),
        ([1], [1], [0, 1, 2], [(0, 1), (0.05, 1), (0.05, 1)]),
        # One class: the least of runs of 1, 3 and 3 zeros: 1 - 0.05^(1/3).
        ([1, 2, 3], [0, 0, 0], [1], [(0, 1 - 0.05 ** (1 / 3))]),
        # Ties stay together: 4 rows, though the shortest run has 2.
        ([1] * 4, [0] * 4, [1], [(0, 1 - 0.05**0.25)]),
        ([-INF, -INF, INF], [0, 0, 1], [-INF], [(0, 1 - 0.05**0.5)]),
        ([-INF, INF, INF], [0, 1, 1], [INF], [(0.05**0.5, 1)]),
    ],
)
def test_limits_that_can_be_computed_by_hand(scores, labels, tests, expected):
    computed = fitted(scores, labels).interval(tests, confidence=0.7)  # levels of 0.05
    np.testing.assert_allclose(computed, expected, rtol=1e-12, atol=1e-15)


def test_a_falling_rule_has_the_intervals_of_negated_scores():
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 40, 300).astype(float)
    labels = rng.random(300) < scores / 40
    falling = fitted(-scores, labels, increasing=False)
    tests = np.arange(-1, 42)
    expected = fitted(scores, labels).interval(tests)
    np.testing.assert_allclose(falling.interval(-tests), expected, atol=1e-14)


@pytest.mark.parametrize("curve", [lambda s: np.full_like(s, 0.3), np.square])
def test_each_score_is_covered_as_often_as_was_promised(curve):
    """400 sets; benchmarks/INTERVAL.md has 1,000 in twelve cells."""
    rng = np.random.default_rng(3)
    places, sets = np.array([0.1, 0.5, 0.9]), 400
    covered = np.zeros(places.size)
    for _ in range(sets):
        scores = rng.random(200)
        rule = fitted(scores, rng.random(200) < curve(scores))
        lower, upper = rule.interval(places, 0.8).T
        covered += (lower <= curve(places)) & (curve(places) <= upper)
    assert (covered / sets >= 0.8).all()


def test_a_row_has_the_same_interval_alone_and_in_a_batch():
    rng = np.random.default_rng(1)
    scores = rng.random(1_000)
    rule = fitted(scores, rng.random(1_000) < scores)
    batch = rule.interval(scores[:20])
    assert [rule.interval([s])[0].tolist() for s in scores[:20]] == batch.tolist()


def test_a_file_with_the_diagram_has_the_same_intervals(tmp_path):
    rule = fitted([1, 2, 3], [0, 1, 1])
    rule.save(tmp_path / "rule.abers")
    loaded = abers.load(tmp_path / "rule.abers")
    assert loaded.interval([1, 2]).tolist() == rule.interval([1, 2]).tolist()


def test_without_a_diagram_a_sentence_says_how_to_fit():
    wanted = r"keep; fit it with fit_rule\(…, keep_diagram=True\)\.$"
    rule = fitted([1, 2], [0, 1])
    for other in (
        abers.fit_rule([1, 2], [0, 1]),
        rule.without_diagram(),
        rule.with_prior(0.2),
        rule.mirrored(),
    ):
        with pytest.raises(InvalidParameter, match=wanted):
            other.interval([1])


@pytest.mark.parametrize("weights", [[2, 2, 3], [0.5, 1, 1]])
def test_rows_with_weights_are_refused(weights):
    rule = fitted([1, 2, 3], [0, 1, 1], sample_weight=weights)
    with pytest.raises(InvalidParameter, match="calibration rows without weights"):
        rule.interval([1])


def test_weights_of_one_are_none():
    rule = fitted([1, 2, 3], [0, 1, 1], sample_weight=[1, 1, 1])
    assert rule.interval([2]).tolist() == (
        fitted([1, 2, 3], [0, 1, 1]).interval([2]).tolist()
    )


def test_bad_scores_and_confidences_are_refused():
    rule = fitted([1, 2], [0, 1])
    with pytest.raises(InvalidData, match="NaN"):
        rule.interval([1, math.nan])
    with pytest.raises(InvalidParameter, match="confidence"):
        rule.interval([1], 90)
