"""Algorithm 8 of the paper, "Isotonising the centre": one regression for all folds."""

import math
from fractions import Fraction
from itertools import product

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import abers
import oracle
from abers import reference
from abers.reference import Block, Diagram, Point, Star

INF = math.inf

few = st.sampled_from([-INF, -1.0, -0.0, 0.0, 1.0, 2.0, INF])
rows = st.lists(st.tuples(few, st.integers(0, 1)), max_size=6)
weighted_rows = st.lists(
    st.tuples(few, st.integers(0, 1), st.fractions(Fraction(1, 5), 5)), max_size=4
)
tests = st.sampled_from([-INF, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, INF])
weights = st.sampled_from([1, 2, 3, Fraction(1, 2), Fraction(2, 7), 40])


def stars(rows):
    """Up to three folds, empty ones among them, and the test object's score in each."""
    return st.lists(st.tuples(rows, tests), min_size=1, max_size=3)


def chains(star):
    """The folds as diagrams, with the test object's scores."""
    columns = [list(zip(*fold, strict=True)) or [(), ()] for fold, _ in star]
    return [
        (Diagram.from_rows(*some), s)
        for some, (_, s) in zip(columns, star, strict=True)
    ]


def value(star, label, weight=1):
    """Algorithm 8 on folds as the oracle takes them."""
    arranged = reference.star(chains(star), label, weight)
    return reference.isotonise_centre(arranged).centre.value


def definition(star, label, weight=1):
    folds, scores = zip(*star, strict=True)
    return oracle.pooled(folds, scores, label, weight)


def predict(star, weight=1):
    """The pair of bounds, from scores and labels."""
    return reference.pooled_predict(
        [([x for x, _ in fold], [y for _, y in fold], s) for fold, s in star], weight
    )


@settings(max_examples=300)
@given(stars(rows), st.integers(0, 1), weights)
def test_algorithm_8_is_isotonic_regression_on_the_star(star, label, weight):
    """Section 3, the part left out: ties, infinities, empty folds, any weight."""
    assert value(star, label, weight) == definition(star, label, weight)


@given(stars(rows), weights)
def test_pooled_rule_of_the_library_is_algorithm_8(star, weight):
    """Each bound is the exact fraction, rounded once."""
    rule = abers.rules.PooledRule(
        [
            abers.rules.Diagram.from_rows(*zip(*fold, strict=True)) if fold else None
            for fold, _ in star
        ],
        weight=weight,
        increasing=True,
    )
    expected = [float(p) for p in predict(star, weight)]
    assert rule.bounds([[s for _, s in star]]).tolist() == [expected]


@given(stars(weighted_rows), st.integers(0, 1), weights)
def test_observations_may_have_weights(star, label, weight):
    """The paper: "by an average we always mean the weighted average"."""
    assert value(star, label, weight) == definition(star, label, weight)


@pytest.mark.parametrize("s", [0, 1, 1.5, 2, 2.5, 3, 4])
def test_every_labelling_of_a_short_chain_beside_another(s):
    """All labels of the scores 1, 2, 3 in one fold and 1, 2 in the other."""
    for one in product((0, 1), repeat=3):
        for two in product((0, 1), repeat=2):
            folds = [list(enumerate(one, 1)), list(enumerate(two, 1))]
            for label in (0, 1):
                star = list(zip(folds, (s, 1.5), strict=True))
                assert value(star, label) == definition(star, label)


@given(rows, tests)
def test_with_one_fold_and_weight_one_it_is_the_ivap(fold, s):
    """A single chain through the test object is the order that Section 2 has."""
    scores, labels = [x for x, _ in fold], [y for _, y in fold]
    assert predict([(fold, s)]) == oracle.bounds(scores, labels, s)


@given(stars(rows), weights)
def test_bounds_keep_their_distance_from_certainty(star, weight):
    """Lemma 2 over the observations of all folds, for any weight of the test object."""
    p0, p1 = predict(star, weight)
    labels = [y for fold, _ in star for _, y in fold]
    ones, zeros = labels.count(1), labels.count(0)
    assert p1 >= weight / Fraction(zeros + weight)
    assert p0 <= 1 - weight / Fraction(ones + weight)
    assert p1 - p0 >= weight / Fraction(len(labels) + weight)


@given(stars(rows), weights)
def test_exchanging_the_labels_mirrors_the_bounds(star, weight):
    """The symmetry after Algorithm 4 holds on the star, too."""
    mirror = [([(-x, 1 - y) for x, y in fold], -s) for fold, s in star]
    p0, p1 = predict(star, weight)
    assert predict(mirror, weight) == (1 - p1, 1 - p0)


@given(stars(rows))
def test_weight_of_the_number_of_folds_lies_between_the_folds_own_values(star):
    """The weight K weighs the doubt as "in the usual CVAPs", where each fold has it."""
    p0, p1 = predict(star, len(star))
    alone = [predict([fold]) for fold in star]
    assert min(low for low, _ in alone) <= p0 <= max(low for low, _ in alone)
    assert min(up for _, up in alone) <= p1 <= max(up for _, up in alone)


def block(weight, positives):
    return Block(Point(Fraction(weight), Fraction(positives)))


def test_next_block_of_a_tentacle_must_become_the_neighbour():
    """Pooled with its first neighbour only, C stays above the next block."""
    centre, neighbour, following = block(9, 9), block(1, 0), block(2, 1)
    assert (centre + neighbour).value == Fraction(9, 10) > following.value
    before = Star(centre, [[]], [[following, neighbour]])
    after = reference.isotonise_centre(before)
    assert (after.centre.value, after.upper) == (Fraction(10, 12), [[]])


@given(stars(rows), st.integers(0, 1), weights)
def test_one_run_leaves_the_whole_star_isotonic(star, label, weight):
    """The paper's outer repetition is unnecessary: nothing is left to pool."""
    before = reference.star(chains(star), label, weight)
    after = reference.isotonise_centre(before)
    t = after.centre.value
    for tentacle in after.lower:
        values = [block.value for block in tentacle] + [t]
        assert values == sorted(values)
    for tentacle in after.upper:
        values = [t] + [block.value for block in reversed(tentacle)]
        assert values == sorted(values)
    for old, new in zip(
        before.lower + before.upper, after.lower + after.upper, strict=True
    ):
        assert new == old[: len(new)]


def test_a_block_through_the_test_object_may_break():
    """The authors' remark: Theorem 2.5 does not apply to the blocks of level 1."""
    fold = [(1, 1), (2, 0), (4, 1), (5, 0)]  # one block of value 1/2
    (block,) = reference.level_sets(
        Diagram.from_rows(*zip(*fold, strict=True)).increments
    )
    assert (block.keys, block.value) == (4, Fraction(1, 2))
    certain = [(7, 1)] * 9
    star = [(fold, 3), (certain, 7)]
    # The half above 3 joins the nine ones and the postulated one, the half below not.
    assert value(star, 1) == definition(star, 1) == Fraction(11, 12)
    as_one_block = Fraction(2 + 9 + 1, 4 + 9 + 1)
    assert value(star, 1) != as_one_block
