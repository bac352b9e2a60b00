"""Diagrams: counted at once, in parts or by others, they are the same diagram."""

import math
from functools import reduce
from itertools import pairwise
from operator import add

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import abers
from abers.errors import InvalidData, InvalidType
from abers.rules import Diagram
from strategies import NASTY, calibration_sets, definition, either_way, probes

HUGE = 2**49  # products need 128 bits, and a dozen of them stay below 2**53


def counted(scores, labels):
    """What GROUP BY score would give: distinct scores, counts, positives."""
    keys = sorted(set(scores), reverse=True)
    rows = list(zip(scores, labels, strict=True))
    return (
        keys,
        [sum(s == key for s, _ in rows) for key in keys],
        [sum(y for s, y in rows if s == key) for key in keys],
    )


@given(calibration_sets(NASTY, max_size=20))
def test_counts_of_others_make_the_same_diagram(calibration):
    diagram = Diagram.from_rows(*calibration)
    assert Diagram.from_counts(*counted(*calibration)) == diagram


@settings(max_examples=1000)
@given(calibration_sets(NASTY, max_size=20), st.randoms(use_true_random=False))
def test_parts_add_up_in_any_order(calibration, random):
    rows = list(zip(*calibration, strict=True))
    random.shuffle(rows)
    cuts = sorted({0, len(rows), *(random.randrange(len(rows) + 1) for _ in range(3))})
    parts = [
        Diagram.from_rows(*zip(*rows[start:stop], strict=True))
        for start, stop in pairwise(cuts)
    ]
    assert reduce(add, parts) == Diagram.from_rows(*calibration)


@given(calibration_sets(), calibration_sets(), calibration_sets())
def test_addition_is_associative_and_commutative(first, second, third):
    a, b, c = (Diagram.from_rows(*part) for part in (first, second, third))
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a


@given(calibration_sets(NASTY, max_size=20), st.booleans())
def test_rule_of_a_diagram_is_the_rule_of_its_rows(calibration, increasing):
    diagram = Diagram.from_rows(*calibration)
    rule = abers.fit_rule(*calibration, increasing=increasing)
    assert abers.rules.fit_rule_from_diagram(diagram, increasing=increasing) == rule


def normal(rng, size):
    labels = rng.integers(0, 2, size)
    return labels + rng.normal(size=size), labels


def noise(rng, size):
    return rng.normal(size=size), rng.integers(0, 2, size)


def rounded(rng, size):
    scores = rng.uniform(size=size)
    return scores.round(3), rng.uniform(size=size) < scores


def rare(rng, size):
    scores = rng.beta(0.05, 4.95, size)
    return scores, rng.uniform(size=size) < scores


def separated(rng, size):
    scores = rng.normal(size=size)
    return scores, scores > 0


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("draw", [normal, noise, rounded, rare, separated])
@either_way
def test_rule_of_a_large_diagram_is_the_rule_of_its_rows(draw, increasing):
    scores, labels = draw(np.random.default_rng(0), 50_000)
    diagram = Diagram.from_rows(scores, labels)
    rule = abers.fit_rule(scores, labels, increasing=increasing)
    assert abers.rules.fit_rule_from_diagram(diagram, increasing=increasing) == rule


counts = st.integers(0, HUGE)


@given(st.lists(st.tuples(counts, counts), min_size=1, max_size=6))
@either_way
def test_counts_far_beyond_32_bits_have_the_definitions_bounds(masses):
    """Products of such counts need 128 bits, quotients are still rounded once."""
    negatives, positives = np.array([*masses, (1, 1)]).T
    keys = np.arange(len(negatives), dtype=float).tolist()
    diagram = Diagram.from_counts(keys, negatives + positives, positives)
    rows = [
        (key, label, mass)
        for key, *both in zip(keys, negatives.tolist(), positives.tolist(), strict=True)
        for label, mass in enumerate(both)
        if mass
    ]
    scores, labels, weights = zip(*rows, strict=True)
    tests = probes(keys)
    bounds = abers.rules.fit_rule_from_diagram(diagram).bounds(tests)
    np.testing.assert_array_equal(bounds, definition(scores, labels, tests, weights))


@pytest.mark.parametrize("total", [2**32 - 3, 2**32 - 2, 2**32 - 1, 2**32, 2**53 - 1])
def test_total_at_a_change_of_width_has_the_definitions_bounds(total):
    """One more than the total, the test object's count, must still be exact."""
    scores, labels = [1, 1, 2], [0, 1, 0]
    weights = [total - total // 3 - 1, total // 3, 1]
    diagram = Diagram.from_rows(scores, labels, sample_weight=weights)
    assert diagram.is_exact
    tests = probes([1.0, 2.0])
    bounds = abers.rules.fit_rule_from_diagram(diagram).bounds(tests)
    np.testing.assert_array_equal(bounds, definition(scores, labels, tests, weights))


@pytest.mark.parametrize("total", [2**53, 2**53 + 2, 2**60])
def test_total_beyond_exact_integers_is_refused(total):
    with pytest.raises(InvalidData, match=r"^counts must add up to at most"):
        Diagram.from_counts([1, 2], [total / 2, total / 2], [0, total / 2])


@pytest.mark.parametrize("weights", [[3, 1, 2], [3.0, 1.0, 2.0], [0.5, 0.25, 0.125]])
def test_weights_add_up_per_label(weights):
    diagram = Diagram.from_rows([7, 7, 7], [0, 1, 0], sample_weight=weights)
    assert diagram.negatives.tolist() == [weights[0] + weights[2]]
    assert diagram.positives.tolist() == [weights[1]]
    assert diagram.is_exact == (sum(weights) == 6)


def test_equal_diagrams_are_exact_alike():
    """Halves that make a whole are a count, whatever way they came together."""
    halves = Diagram.from_rows([1, 1], [1, 1], sample_weight=[0.5, 0.5])
    half = Diagram.from_rows([1], [1], sample_weight=[0.5])
    one = Diagram.from_rows([1], [1])
    assert halves == half + half == one
    assert halves.is_exact
    assert (half + half).is_exact


def test_counts_of_zero_leave_no_trace():
    diagram = Diagram.from_counts([1, math.nan, 2], [1, 0, 0], [1, 0, 0])
    assert diagram == Diagram.from_rows([1], [1])


@pytest.mark.parametrize("zero", [-0.0, 0.0])
def test_equal_diagrams_have_equal_hashes(zero):
    a = Diagram.from_rows([2, 1, zero], [0, 1, 1])
    b = Diagram.from_counts([-zero, 1.0, 2.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0])
    assert a == b
    assert hash(a) == hash(b)


@pytest.mark.parametrize(
    "other",
    [
        Diagram.from_rows([1, 3], [0, 1]),
        Diagram.from_rows([1, 2], [1, 0]),
        Diagram.from_rows([1, 2, 2], [0, 1, 1]),
        Diagram.from_rows([1, 2], [0, 1], sample_weight=[1, 0.5]),
        "diagram",
    ],
    ids=["score", "labels", "count", "weight", "type"],
)
def test_diagrams_that_differ_are_not_equal(other):
    assert Diagram.from_rows([1, 2], [0, 1]) != other


def test_only_diagrams_can_be_added_to_a_diagram():
    with pytest.raises(TypeError, match="unsupported operand"):
        Diagram.from_rows([1], [1]) + 1


@pytest.mark.parametrize("weights", [None, [0.5, 0.25, 0.1, 1.7], [3, 1, 4, 1]])
def test_quantiles_are_scores_at_that_share_of_the_weight(weights):
    scores = [3.0, 1.0, 4.0, 2.0]
    diagram = Diagram.from_rows(scores, [0, 1, 0, 1], sample_weight=weights)
    mass = dict(zip(scores, weights or [1] * 4, strict=True))
    total = sum(mass.values())
    expected = [
        min(s for s in mass if sum(mass[t] for t in mass if t <= s) >= q * total / 100)
        for q in range(100)
    ]
    assert diagram.score_quantiles.tolist() == [*expected, 4.0]


@pytest.mark.parametrize(
    ("counts", "positives", "error", "text"),
    [
        (
            [1, 2],
            [0, 3],
            InvalidData,
            "positives must not exceed counts; got 3.0 of 2",
        ),
        ([1, -2], [0, 0], InvalidData, "counts must be finite and not negative"),
        ([1, 2], [0, -1], InvalidData, "positives must be finite and not negative"),
        ([1, math.nan], [0, 0], InvalidData, "got nan at row 1"),
        ([0, 0], [0, 0], InvalidData, "counts must not all be zero"),
        ([1e308, 1e308], [0, 0], InvalidData, "counts must have a finite total"),
        ([1], [0, 0], InvalidData, "got 1 counts and 2 scores"),
        ([1, 2], [0], InvalidData, "got 1 positives and 2 scores"),
        ([[1, 2]], [0, 0], InvalidData, "counts must be one-dimensional"),
    ],
)
def test_impossible_counts_are_refused(counts, positives, error, text):
    with pytest.raises(error, match=text):
        Diagram.from_counts([1, 2], counts, positives)


def test_missing_score_of_a_count_is_refused():
    with pytest.raises(InvalidData, match="got NaN in 1 of 2 rows, first at row 1"):
        Diagram.from_counts([1, math.nan], [1, 1], [0, 0])


def test_sum_of_diagrams_must_have_an_exact_total():
    large = Diagram.from_counts([1], [2**52], [0])
    with pytest.raises(InvalidData, match=r"^counts must add up to at most"):
        large + large
    large = Diagram.from_counts([1], [3e9 + 0.3], [0])
    with pytest.raises(InvalidData, match=r"^counts must be whole or add up to less"):
        large + large + large


def test_masses_are_shown_as_multiples_of_a_power_of_two():
    diagram = Diagram.from_counts([1, 2], [2.5, 0.75], [0.5, 0])
    assert (diagram.scale, diagram.is_exact) == (2, False)
    assert diagram.units.negatives.tolist() == [8, 3]
    assert diagram.units.positives.tolist() == [2, 0]
    assert diagram.negatives.tolist() == [2, 0.75]
    assert diagram.positives.tolist() == [0.5, 0]
    assert diagram.counts.tolist() == [2.5, 0.75]
    assert (diagram.n_rows, diagram.n_positives) == (3.25, 0.5)


def test_real_weights_give_equal_bits_in_any_order_of_rows():
    rng = np.random.default_rng(0)
    for _ in range(200):
        size = int(rng.integers(2, 40))
        scores, labels = rng.integers(0, 6, size), rng.integers(0, 2, size)
        weights = 10 ** rng.uniform(-7, 3, size)
        order = rng.permutation(size)
        assert Diagram.from_rows(
            scores, labels, sample_weight=weights
        ) == Diagram.from_rows(
            scores[order], labels[order], sample_weight=weights[order]
        )


def test_adding_a_coarse_diagram_to_a_fine_one_rounds_the_fine_one_once():
    fine = Diagram.from_rows([1, 2], [1, 0], sample_weight=[0.1, 2**-60])
    coarse = Diagram.from_counts([1], [2**30], [0])
    both = fine + coarse
    assert both.scores.tolist() == [1]  # 2**-60 has no unit beside 2**30
    assert both.positives.tolist() == [round(0.1 * 2**22) / 2**22]
    assert both.n_rows == 2**30 + both.n_positives


def test_many_diagrams_add_up_at_once_as_they_do_one_by_one():
    rng = np.random.default_rng(0)
    parts = [
        Diagram.from_rows(rng.integers(0, 9, 20), rng.integers(0, 2, 20))
        for _ in range(5)
    ]
    one_by_one = parts[0] + parts[1] + parts[2] + parts[3] + parts[4]
    assert Diagram.sum(parts) == one_by_one
    assert Diagram.sum(iter(parts)).is_exact
    assert Diagram.sum(parts[:1]) is parts[0]
    with pytest.raises(InvalidData, match="diagrams must not be empty"):
        Diagram.sum([])


@pytest.mark.parametrize(
    ("scores", "negatives", "positives", "error", "sentence"),
    [
        ([1, 2], [1], [0, 1], InvalidData, "got 1 negatives and 2 scores"),
        ([1, 2], [1, 0], [0, 1, 1], InvalidData, "got 3 positives and 2 scores"),
        ([2, 1], [1, 0], [0, 1], InvalidData, r"got 1\.0 at row 1, after 2\.0"),
        ([1, 1], [1, 0], [0, 1], InvalidData, "must be distinct and ascending"),
        ([-0.0, 0.0], [1, 0], [0, 1], InvalidData, "must be distinct and ascending"),
        ([1, math.nan], [1, 0], [0, 1], InvalidData, "NaN in 1 of 2 rows"),
        ([math.nan], [1], [0], InvalidData, "must not be NaN"),
        ([], [], [], InvalidData, "must not be empty"),
        ([[1, 2]], [1, 0], [0, 1], InvalidData, "must be one-dimensional"),
        ([1, 2], [[1, 0]], [0, 1], InvalidData, "must be one-dimensional"),
        ([1, 2], [-1, 0], [0, 1], InvalidData, "negatives must be finite and not"),
        ([1, 2], [1, 0], [0, math.inf], InvalidData, "positives must be finite"),
        ([1, 2], [1, 0], [0, math.nan], InvalidData, "positives must be finite"),
        ([1, 2], [0, 0], [0, 0], InvalidData, "must not all be zero"),
        ([1, 2], [1, 0], [0, 0], InvalidData, "both be zero at a score.* row 1"),
        ([1, 2], [1e308, 0], [0, 1e308], InvalidData, "must have a finite total"),
        ([1], [1e308], [1e308], InvalidData, "must have a finite total"),
    ],
)
def test_a_diagram_of_ones_own_arrays_is_checked(
    scores, negatives, positives, error, sentence
):
    with pytest.raises(error, match=sentence):
        Diagram(scores, negatives, positives)


def test_a_diagram_of_ones_own_arrays_is_that_of_their_counts():
    scores, negatives, positives = [-0.0, 1], [0.5, 2], [-0.0, 1]
    diagram = Diagram(scores, negatives, positives)
    assert diagram == Diagram.from_counts(scores, [0.5, 3], [0, 1])
    assert not np.signbit([diagram.scores, diagram.positives]).any()
    assert Diagram([1], [2.0], [1.0]).is_exact


@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_the_arrays_of_the_caller_stay_the_callers(dtype):
    columns = np.array([0.0, 1]), np.array([1, 0], dtype), np.array([0, 1], dtype)
    diagram = Diagram(*columns)
    for column in columns:
        column[0] = 7
    assert diagram == Diagram.from_rows([0, 1], [0, 1])
    with pytest.raises(ValueError, match="read-only"):
        diagram.scores[0] = 7


def test_only_diagrams_are_added_up():
    good = Diagram.from_rows([0, 1], [0, 1])
    with pytest.raises(
        InvalidType, match=r"diagrams\[1\] must be a Diagram; got a str"
    ):
        Diagram.sum([good, "a"])
