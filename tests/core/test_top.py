"""The top rule: the definition in Fractions, its guarantee, refusals."""

import bisect
import functools
import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest

import abers
import oracle
from abers.errors import InvalidData
from abers.rules import fit_top_rule

CLASSES = 3


def fitted_values(rows):
    """The isotonic value of each row (score, is top right), at its score."""
    scores = [s for s, _ in rows]
    labels = [y for _, y in rows]
    weights = [Fraction(1)] * len(rows)
    value = {s: oracle.isotonic_value(scores, labels, weights, s) for s in set(scores)}
    return [value[s] for s in scores]


def definition(calibration, top, score, label):
    """Class frequencies in the level set of a case of this label, which counts."""
    rows = [(s, y) for t, s, y in calibration if t == top] + [(score, label)]
    values = fitted_values([(s, int(y == top)) for s, y in rows])
    level = [y for (_, y), v in zip(rows, values, strict=True) if v == values[-1]]
    return [Fraction(level.count(c), len(level)) for c in range(CLASSES)]


def as_scores(top, s):
    """Scores whose highest is s, that of the top class."""
    return [s if c == top else -10 for c in range(CLASSES)]


def bags(most):
    """All bags of rows of one top class: runs of tied scores, each a bag of labels."""
    for size in range(2, most + 1):
        for runs in range(1, size + 1):
            for ends in itertools.combinations(range(1, size), runs - 1):
                sizes = np.diff([0, *ends, size]).tolist()
                ties = [
                    list(itertools.combinations_with_replacement(range(CLASSES), n))
                    for n in sizes
                ]
                for labels in itertools.product(*ties):
                    yield [(0, s, y) for s, run in enumerate(labels) for y in run]


@functools.cache
def vectors_of(rows):
    """The vectors below, at, between and above the scores 0, 1, … of rows."""
    rule = fit_top_rule([as_scores(0, s) for s, _ in rows], [y for _, y in rows])
    n_places = 2 * max(s for s, _ in rows) + 3
    at = [as_scores(0, place / 2 - 0.5) for place in range(n_places)]
    return rule.vectors(at).tolist()


def test_the_vector_of_the_true_label_is_calibrated_in_all_bags_of_six_rows():
    """E(e_Y | V, bag) = V, if each row is equally likely the new one."""
    n_bags = 0
    for bag in bags(6):
        mass, seen = Counter(), defaultdict(Counter)
        for row, times in Counter(bag).items():
            others = list(bag)
            others.remove(row)
            _, s, y = row
            keys = sorted({key for _, key, _ in others})
            ranks = tuple((keys.index(key), label) for _, key, label in others)
            place = bisect.bisect(keys, s) + bisect.bisect_left(keys, s)
            vector = tuple(vectors_of(ranks)[place][y])
            mass[vector] += times
            seen[vector][y] += times
        for vector, total in mass.items():
            shares = [seen[vector][c] / total for c in range(CLASSES)]
            assert shares == list(vector), bag
        n_bags += 1
    assert n_bags == 15 + 73 + 354 + 1716 + 8318


def test_vectors_are_the_definition():
    rng = np.random.default_rng(1)
    for _ in range(300):
        size = int(rng.integers(1, 9))
        calibration = [tuple(row) for row in rng.integers(0, 3, (size, 3)).tolist()]
        rule = fit_top_rule(
            [as_scores(t, s) for t, s, _ in calibration], [y for *_, y in calibration]
        )
        for top, s in itertools.product(range(CLASSES), [-1, 0, 0.5, 1, 1.5, 2, 3]):
            expected = [definition(calibration, top, s, h) for h in range(CLASSES)]
            vectors = rule.vectors([as_scores(top, s)])[0].tolist()
            assert vectors == [list(map(float, vector)) for vector in expected]


def test_top_right_is_the_rule_of_each_top_class():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(3000, 4)).round(2)
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    new = rng.normal(size=(2000, 4)).round(2)
    rule, top, of_new = fit_top_rule(scores, labels), scores.argmax(1), new.argmax(1)
    pairs = rule.top_right(new)
    for c in range(4):
        is_right = labels[top == c] == c
        alone = abers.fit_rule(scores[top == c, c], is_right)
        expected = alone.bounds(new[of_new == c, c])
        assert pairs[of_new == c].tobytes() == expected.tobytes()
    bounds, p = rule.bounds(new), rule.probability(new)
    assert (bounds[..., 0] <= p).all()
    assert (p <= bounds[..., 1]).all()
    assert p.sum(axis=1) == pytest.approx(1)
    assert rule.guarantee.proven


def test_a_class_that_was_never_on_top_says_nothing():
    rule = fit_top_rule([[1, 0, 0]], [0])
    assert rule.bounds([[0, 0, 1]]).tolist() == [[[0, 1]] * 3]
    assert rule.top_right([[0, 0, 1]]).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([1, 2], [0, 1], "must be a table of at least 2 columns"),
        ([[1, math.nan]], [0], "must not be NaN; got NaN in 1 of 1 rows"),
        ([[1, 2]], [2], "the columns of the classes, 0 … 1; got 2.0 at row 0"),
        ([[1, 2]], [0, 1], "labels and scores must be equally long"),
    ],
)
def test_wrong_rows_are_refused(scores, labels, message):
    with pytest.raises(InvalidData, match=message):
        fit_top_rule(scores, labels)
