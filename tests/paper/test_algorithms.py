"""Algorithms 1-7 of the paper as the specification has them, errata included."""

import decimal
import math
from fractions import Fraction
from itertools import pairwise, product

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import oracle
from abers import reference
from abers.reference import Diagram, Node, Point

INF = math.inf
ONE = Fraction(1)


few = st.integers(0, 6)
half_steps = st.integers(-1, 13).map(lambda half: half / 2)


def calibration_sets(scores=few, max_size=12):
    """Scores, by default with many ties, and labels."""
    rows = st.lists(st.tuples(scores, st.integers(0, 1)), min_size=1, max_size=max_size)
    return rows.map(lambda rows: tuple(zip(*rows, strict=True)))


diagrams = calibration_sets().map(lambda rows: Diagram.from_rows(*rows))


@settings(max_examples=300, deadline=None)
@given(calibration_sets(), half_steps)
def test_prediction_is_the_pair_of_refitted_isotonic_values(calibration, s):
    """Section 2, definition of IVAP, on a key, between keys and outside them."""
    assert reference.predict(*calibration, s) == oracle.bounds(*calibration, s)


positive = st.one_of(
    st.integers(1, 5),
    st.fractions(Fraction(1, 9), 9, max_denominator=9),
    st.floats(2**-20, 2**20),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(few, st.integers(0, 1), positive), min_size=1), half_steps)
def test_weights_count_as_so_many_observations(rows, s):
    """Section 2: w_j is the number of times that s'_j occurs; here any weight."""
    scores, labels, weights = zip(*rows, strict=True)
    expected = oracle.bounds(scores, labels, s, weights)
    assert reference.predict(scores, labels, s, weights) == expected


extremes = st.sampled_from([-INF, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, INF])


@settings(deadline=None)
@given(calibration_sets(extremes), extremes)
def test_infinities_and_signed_zeros_are_ordinary_scores(calibration, s):
    """Section 2 uses the order of the scores only; -0.0 and 0.0 are one key."""
    assert reference.predict(*calibration, s) == oracle.bounds(*calibration, s)


def test_scores_need_only_an_order():
    """Section 2: the toy example 1, 2, 3 with labels 0, 1, 0, named a, b, c."""
    assert reference.predict("cab", [0, 0, 1], "b") == (Fraction(1, 3), Fraction(2, 3))


def test_without_calibration_the_bounds_are_zero_and_one():
    """Section 2, definition of IVAP for k = 0: each fit sees the test object alone."""
    assert reference.predict([], [], 0.5) == oracle.bounds([], [], 0.5) == (0, 1)


@settings(deadline=None)
@given(diagrams)
def test_grahams_scan_is_the_pool_adjacent_violators_algorithm(diagram):
    """Section 2, the FULL part: "this version of PAVA is just Graham's scan"."""
    expected = reference.pool_adjacent_violators(diagram)
    assert reference.isotonic_regression(diagram) == expected


@settings(deadline=None)
@given(calibration_sets())
def test_slope_of_the_minorant_is_isotonic_regression(calibration):
    """Section 2: isotonic regression as the slope of the GCM of the CSD."""
    diagram = Diagram.from_rows(*calibration)
    fitted = dict(
        zip(diagram.scores, reference.isotonic_regression(diagram), strict=True)
    )
    assert [fitted[s] for s in calibration[0]] == oracle.isotonic(*calibration)


@settings(deadline=None)
@given(diagrams)
def test_minorant_is_convex_and_under_the_diagram(diagram):
    """Section 2: the greatest convex minorant, its corners points of the CSD."""
    corners = reference.minorant(diagram)
    turns = map(reference.turn, corners, corners[1:], corners[2:])
    assert all(turn > 0 for turn in turns)
    assert set(corners) <= set(diagram.points().values())
    for a, b in pairwise(corners):
        inside = (p for p in diagram.points().values() if a.x <= p.x <= b.x)
        assert all(reference.is_at_or_above(p, a, b) for p in inside)


def lower_as_printed(scores, labels):
    """Algorithms 3 and 4 with the printed point P_k'+1 := P_k' + (1, 1)."""
    points = Diagram.from_rows(scores, labels).points()
    points[len(points)] = points[len(points) - 1] + Point(ONE, ONE)
    values, _ = reference.sweep_lower(points, reference.corners_for_lower(points))
    return values


def test_printed_last_point_is_wrong():
    """Before Algorithm 3: with it the toy example 0, 1, 0 has F0 = 1, 1, 1."""
    scores, labels = (1, 2, 3), (0, 1, 0)
    assert lower_as_printed(scores, labels) == (1, 1, 1)
    corrected = reference.lower(Diagram.from_rows(scores, labels))
    assert corrected == (0, Fraction(1, 3), Fraction(1, 3))


@pytest.mark.parametrize("size", range(1, 7))
def test_printed_last_point_is_wrong_for_every_labelling(size):
    """Before Algorithm 3: P_k'+1 := P_k' + (1, 1) postulates the label 1, not 0."""
    scores = range(1, size + 1)
    for labels in product((0, 1), repeat=size):
        definition = tuple(oracle.refit(scores, labels, s, 0) for s in scores)
        assert lower_as_printed(scores, labels) != definition


def test_symmetry_needs_the_reversed_index():
    """After Algorithm 4: with F1_i on the right, the printed formula mirrors F0."""
    diagram = Diagram.from_rows([1, 2, 3], [0, 0, 1])
    mirrored = Diagram.from_rows([-1, -2, -3], [1, 1, 0])
    printed = tuple(1 - p for p in reference.upper(mirrored))
    assert printed == (Fraction(1, 2), 0, 0)
    assert reference.lower(diagram) == (0, 0, Fraction(1, 2))
    assert reference.lower_by_symmetry(diagram) == (0, 0, Fraction(1, 2))


@settings(deadline=None)
@given(diagrams)
def test_lower_is_one_minus_upper_of_the_mirror(diagram):
    """After Algorithm 4: the symmetry formula with index k'+1-i."""
    assert reference.lower_by_symmetry(diagram) == reference.lower(diagram)


def nodes(tree):
    """The internal nodes of a tree, from left to right."""
    if not isinstance(tree, Node):
        return []
    return [*nodes(tree.left), tree, *nodes(tree.right)]


def leaves(tree):
    """The payloads of the leaves of a tree, from left to right."""
    if not isinstance(tree, Node):
        return [tree]
    return [*leaves(tree.left), *leaves(tree.right)]


def depth(tree):
    """How many keys a search meets at most."""
    return 1 + max(depth(tree.left), depth(tree.right)) if isinstance(tree, Node) else 0


@pytest.mark.parametrize("size", range(1, 34))
def test_tree_has_a_node_per_key_and_a_leaf_per_gap(size):
    """Algorithm 5: 2k'+1 nodes, k' of them internal, and a search in O(log k')."""
    labels = [i % 3 % 2 for i in range(size)]
    diagram = Diagram.from_rows(range(size), labels)
    tree = reference.tree(diagram)
    lower, upper = reference.lower(diagram), reference.upper(diagram)
    assert [node.key for node in nodes(tree)] == list(range(size))
    assert [node.payload for node in nodes(tree)] == [*zip(lower, upper, strict=True)]
    assert leaves(tree) == [*zip((0, *lower), (*upper, 1), strict=True)]
    assert depth(tree) == size.bit_length()


@settings(deadline=None)
@given(calibration_sets(st.integers(0, 60), max_size=60))
def test_stack_operations_are_linear_in_the_number_of_keys(calibration):
    """Lemma 1 (time). Algorithms 1 and 3 push k'+2 points, not k' as its proof says."""
    diagram = Diagram.from_rows(*calibration)
    size = len(diagram.scores)
    points = diagram.points()
    left = points | {-1: Point(-ONE, -ONE)}
    right = points | {size + 1: points[size] + Point(ONE, 0 * ONE)}
    for corners, sweep, extended in [
        (reference.corners_for_upper, reference.sweep_upper, left),
        (reference.corners_for_lower, reference.sweep_lower, right),
    ]:
        stack = corners(extended)
        initial = len(stack)
        assert stack.pushes == size + 2
        assert stack.pushes - initial <= size  # pops
        _, swept = sweep(extended, stack)
        assert swept.pushes <= initial + size
        assert swept.pushes - len(swept) <= initial + size - 2  # pops


def test_one_more_observation_can_change_every_payload():
    """After Algorithm 6: a red-black tree updates its keys, not F1, in O(log k)."""
    size = 9
    before = Diagram.from_rows(range(size), [0] * size)
    after = Diagram.from_rows(range(size + 1), [0] * (size + 1))
    changed = map(Fraction.__ne__, reference.upper(before), reference.upper(after))
    assert all(changed)


def test_extended_diagram_stretches_to_the_number_of_observations():
    """Before Algorithm 1: over [-1, k], not [-1, k'], when there are ties."""
    diagram = Diagram.from_rows([1, 1, 1, 2], [0, 1, 0, 1])
    assert diagram.points()[2].x == 4


folds = st.lists(calibration_sets(max_size=6), min_size=1, max_size=5)


@settings(deadline=None)
@given(folds, half_steps)
def test_cross_prediction_is_the_nearest_float_to_the_merged_folds(folds, s):
    """Algorithm 7. p < t is the rational question t^K Π(1-p0) > (1-t)^K Πp1."""
    p = reference.cross_predict([(*fold, s) for fold in folds])
    bounds = [oracle.bounds(*fold, s) for fold in folds]
    zero = math.prod(1 - p0 for p0, _ in bounds)
    one = math.prod(p1 for _, p1 in bounds)

    def excess(t):
        """Positive when t exceeds the merged probability, negative when below."""
        return t ** len(folds) * zero - (1 - t) ** len(folds) * one

    below, above = (Fraction(math.nextafter(p, end)) for end in (-INF, INF))
    assert excess((below + Fraction(p)) / 2) <= 0 <= excess((Fraction(p) + above) / 2)


def test_merging_leaves_the_callers_decimal_context_alone():
    """Algorithm 7 is computed to 60 digits, whatever the caller works with."""
    with decimal.localcontext(prec=3):
        p = reference.merge_folds([(Fraction(0), Fraction(1, 2))] * 2)
        assert decimal.getcontext().prec == 3
    assert p == float(Fraction(1, 3))
