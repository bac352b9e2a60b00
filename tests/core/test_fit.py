"""`fit_rule` at the edges of what scores and labels can be."""

import math
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings

import abers
import oracle
from abers.errors import InvalidType
from strategies import (
    INF,
    LARGEST,
    LEAST,
    NASTY,
    TIED,
    calibration_sets,
    definition,
    probes,
)

EDGES = {
    "one row labelled 0": ([0.3], [0]),
    "one row labelled 1": ([0.3], [1]),
    "one row at -inf": ([-INF], [1]),
    "one row at +inf": ([INF], [0]),
    "one class, 0": ([1.0, 2.0, 2.0, 3.0], [0, 0, 0, 0]),
    "one class, 1": ([1.0, 2.0, 2.0, 3.0], [1, 1, 1, 1]),
    "all scores equal": ([5.0] * 5, [0, 1, 1, 0, 1]),
    "all scores -inf": ([-INF] * 3, [0, 1, 1]),
    "all scores +inf": ([INF] * 3, [0, 1, 1]),
    "infinities among numbers": ([-INF, 0.0, INF, -INF, INF, 1.0], [1, 0, 1, 0, 0, 1]),
    "infinities in order": ([-INF, -INF, 0.0, INF], [0, 0, 1, 1]),
    "zeros of both signs": ([-0.0, 0.0, -0.0, 1.0], [0, 1, 1, 0]),
    "zero between subnormals": ([-LEAST, -0.0, LEAST], [1, 0, 1]),
    "subnormals": ([LEAST, 2 * LEAST, 3 * LEAST, 2 * LEAST], [0, 1, 0, 1]),
    "largest numbers": ([-LARGEST, -1e308, 1e308, LARGEST], [0, 1, 0, 1]),
    "1e-17 apart": ([1e-17, 2e-17, 3e-17], [0, 0, 1]),
    "adjacent numbers": (
        [math.nextafter(1, 0), 1.0, math.nextafter(1, 2), math.nextafter(1, 2)],
        [1, 0, 0, 1],
    ),
}


@pytest.mark.parametrize(("scores", "labels"), EDGES.values(), ids=EDGES)
def test_edge_has_the_definitions_bounds_everywhere(scores, labels):
    tests = probes(scores)
    bounds = abers.fit_rule(scores, labels).bounds(tests)
    np.testing.assert_array_equal(bounds, definition(scores, labels, tests))


@settings(max_examples=4_000)
@given(calibration_sets(TIED + NASTY, max_size=7), st.sampled_from(TIED + NASTY))
def test_prediction_is_the_pair_of_refitted_isotonic_values(calibration, s):
    """Section 2, definition of IVAP."""
    [bounds] = abers.fit_rule(*calibration).bounds([s]).tolist()
    assert bounds == [float(p) for p in oracle.bounds(*calibration, s)]


@given(calibration_sets(NASTY, max_size=6))
def test_nasty_scores_have_the_definitions_bounds_everywhere(calibration):
    tests = probes(calibration[0])
    bounds = abers.fit_rule(*calibration).bounds(tests)
    np.testing.assert_array_equal(bounds, definition(*calibration, tests))


@given(calibration_sets(NASTY, max_size=20))
@example(([-INF], [0]))
@example(([-LEAST, 1.0], [0, 1]))
def test_thresholds_ascend_strictly_from_above_minus_infinity(calibration):
    """No score lies below -inf, and a threshold at zero has one sign."""
    thresholds = abers.fit_rule(*calibration).thresholds.tolist()
    assert all(a < b for a, b in pairwise([-INF, *thresholds]))
    assert all(math.copysign(1, t) > 0 for t in thresholds if t == 0)


@given(calibration_sets(NASTY, max_size=20))
def test_every_threshold_separates_different_bounds(calibration):
    rule = abers.fit_rule(*calibration)
    pieces = np.stack((rule.lower, rule.upper), axis=1)
    assert len(pieces) == len(rule.thresholds) + 1
    assert (pieces[1:] != pieces[:-1]).any(axis=1).all()


@settings(max_examples=1000)
@given(calibration_sets(NASTY, max_size=20))
def test_lower_is_below_upper_by_at_least_one_in_k_plus_one(calibration):
    """Paper-notes: p1 - p0 >= 1/(k+1), here up to the rounding of the two."""
    rule = abers.fit_rule(*calibration)
    gap = 1 / (rule.n_rows + 1)
    assert (rule.upper - rule.lower >= gap - np.spacing(1.0)).all()


@settings(max_examples=1000)
@given(calibration_sets(NASTY, max_size=20))
def test_bounds_never_fall_with_the_score(calibration):
    rule = abers.fit_rule(*calibration)
    assert (np.diff(rule.lower) >= 0).all()
    assert (np.diff(rule.upper) >= 0).all()


@settings(max_examples=1000)
@given(calibration_sets(NASTY, max_size=20), st.randoms(use_true_random=False))
def test_rule_does_not_depend_on_the_order_of_rows(calibration, random):
    rows = list(zip(*calibration, strict=True))
    random.shuffle(rows)
    assert abers.fit_rule(*zip(*rows, strict=True)) == abers.fit_rule(*calibration)


@given(calibration_sets(NASTY, max_size=20))
def test_rows_in_order_in_both_classes_or_in_one_have_the_same_rule(calibration):
    """A class whose scores ascend is not sorted again."""
    rows = sorted(zip(*calibration, strict=True))
    zeros, ones = ([row for row in rows if row[1] == label] for label in (0, 1))
    for arranged in (rows, zeros[::-1] + ones, zeros + ones[::-1], rows[::-1]):
        assert abers.fit_rule(*zip(*arranged, strict=True)) == abers.fit_rule(
            *calibration
        )


@settings(max_examples=1000)
@given(calibration_sets(max_size=20))
def test_bounds_depend_on_the_order_of_scores_only(calibration):
    """A strictly increasing map of all scores, test scores too, changes nothing."""
    scores, labels = calibration
    tests = [-INF, *np.arange(-4, 4, 0.5).tolist(), INF]
    mapped = abers.fit_rule(np.exp(scores), labels).bounds(np.exp(tests))
    np.testing.assert_array_equal(mapped, abers.fit_rule(scores, labels).bounds(tests))


@given(calibration_sets(NASTY, max_size=20))
def test_falling_probability_is_the_rising_one_of_negated_scores(calibration):
    scores, labels = calibration
    tests = np.array(probes(scores))
    falling = abers.fit_rule(scores, labels, increasing=False).bounds(tests)
    mirrored = abers.fit_rule(np.negative(scores), labels).bounds(-tests)
    np.testing.assert_array_equal(falling, mirrored)


@settings(max_examples=1000)
@given(calibration_sets(NASTY, max_size=20))
def test_exchanging_the_labels_exchanges_the_bounds(calibration):
    """Labels flipped and direction reversed: (p0, p1) becomes (1 - p1, 1 - p0)."""
    scores, labels = calibration
    tests = probes(scores)
    bounds = abers.fit_rule(scores, labels).bounds(tests)
    flipped = abers.fit_rule(scores, np.subtract(1, labels), increasing=False)
    np.testing.assert_allclose(flipped.bounds(tests), 1 - bounds[:, ::-1], atol=2**-53)


@pytest.mark.parametrize("increasing", [True, False])
def test_rule_knows_its_direction(increasing):
    rule = abers.fit_rule([1, 2], [0, 1], increasing=np.bool_(increasing))
    assert rule.increasing is increasing


@pytest.mark.parametrize("increasing", [1, None, "no"])
def test_direction_must_be_a_bool(increasing):
    with pytest.raises(InvalidType, match="increasing must be True or False; got"):
        abers.fit_rule([1, 2], [0, 1], increasing=increasing)


@given(calibration_sets(NASTY, max_size=20))
def test_rule_counts_rows_and_positives(calibration):
    rule = abers.fit_rule(*calibration)
    assert rule.n_rows == len(calibration[1])
    assert rule.n_positives == sum(calibration[1])


@given(calibration_sets(NASTY, max_size=250))
def test_quantiles_are_the_least_scores_with_that_share_at_or_below(calibration):
    """The inverse of the distribution function, docs/decisions/0002."""
    ordered = sorted(calibration[0])
    ranks = [max(1, math.ceil(q * len(ordered) / 100)) for q in range(101)]
    quantiles = abers.fit_rule(*calibration).score_quantiles
    assert quantiles.tolist() == [ordered[rank - 1] for rank in ranks]
