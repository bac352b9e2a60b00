"""The choice of a path never changes a result.

`fit_rule` skips what cannot matter and `Rule.bounds` reads through an index;
`fit_rule_from_diagram` looks at every score and `searchsorted` at every threshold.
"""

import kinds
import numpy as np
import pytest

import abers
from abers import reference
from strategies import either_way

SIZES = [1, 2, 3, 10, 100, 9_999, 10_000, 20_011, 100_000]
ALL_KINDS = pytest.mark.parametrize("kind", kinds.KINDS.values(), ids=list(kinds.KINDS))


def with_oddities(rng, scores):
    """Put infinities, zeros of both signs and tiny numbers among the scores."""
    odd = [-np.inf, np.inf, 0.0, -0.0, 5e-324, -1e308, 1e308]
    where = rng.integers(0, scores.size, min(7, scores.size))
    scores[where] = odd[: where.size]
    return scores


@ALL_KINDS
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("increasing", [True, False])
@either_way
def test_skipping_gives_the_bits_of_the_dense_pass(kind, size, increasing):
    rng = np.random.default_rng(size)
    scores, labels = kind(rng, size)
    scores = with_oddities(rng, scores)
    diagram = abers.rules.Diagram.from_rows(scores, labels)
    dense = abers.rules.fit_rule_from_diagram(diagram, increasing=increasing)
    assert abers.fit_rule(scores, labels, increasing=increasing) == dense


@ALL_KINDS
def test_skipping_gives_the_bits_of_the_specification(kind):
    scores, labels = kind(np.random.default_rng(5), 12_000)
    # The specification is slow, so ties make the set small in distinct scores.
    scores = np.round(scores, 2 if scores.max() < 1 else 1)
    diagram = reference.Diagram.from_rows(scores.tolist(), labels.tolist())
    tree = reference.tree(diagram)
    keys = np.unique(scores)
    places = np.concatenate((keys, keys + 0.001, [keys[0] - 1]))
    expected = [[float(p) for p in reference.search(tree, s)] for s in places.tolist()]
    assert abers.fit_rule(scores, labels).bounds(places).tolist() == expected


@pytest.mark.parametrize("tail", [0, 1])
def test_long_tail_of_one_class_gives_the_bits_of_the_dense_pass(tail):
    rng = np.random.default_rng(7)
    scores, labels = kinds.normal(rng, 30_000)
    labels[np.argsort(scores)[5_000:25_000]] = tail
    diagram = abers.rules.Diagram.from_rows(scores, labels)
    assert abers.fit_rule(scores, labels) == abers.rules.fit_rule_from_diagram(diagram)


@ALL_KINDS
@pytest.mark.parametrize("size", [1, 30, 3_000, 200_000])
def test_index_finds_what_a_plain_search_finds(kind, size):
    """Sizes make rules of a few, some thousand and a hundred thousand thresholds."""
    rng = np.random.default_rng(size)
    rule = abers.fit_rule(*kind(rng, size))
    edges = rule.thresholds[:5_000]
    new, _ = kind(rng, 5_000)
    scores = np.concatenate(
        (new, edges, np.nextafter(edges, -np.inf), [-np.inf, np.inf, 0, -0.0, 1e300])
    )
    piece = rule.thresholds.searchsorted(scores, side="right")
    expected = np.stack((rule.lower[piece], rule.upper[piece]), axis=1)
    assert (rule.bounds(scores) == expected).all()


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_threads_give_the_bits_of_one(n_threads):
    rng = np.random.default_rng(1)
    rule = abers.fit_rule(*kinds.uniform(rng, 20_000))
    new, _ = kinds.uniform(rng, 300_001)
    assert (rule.bounds(new, n_threads=n_threads) == rule.bounds(new)).all()
    probability = rule.probability(new, n_threads=n_threads)
    assert (probability == rule.probability(new)).all()


def test_threads_name_the_first_missing_score():
    rule = abers.fit_rule([1, 2], [0, 1])
    scores = np.zeros(200_000)
    scores[[70_001, 150_000]] = np.nan
    with pytest.raises(abers.AbersError, match="2 of 200000 rows, first at row 70001"):
        rule.bounds(scores, n_threads=4)


def test_more_threads_than_there_can_be_are_as_many_as_there_can_be():
    rule = abers.fit_rule([1, 2], [0, 1])
    assert rule.bounds([1], n_threads=2**70).tolist() == rule.bounds([1]).tolist()


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, None, "2"])
def test_number_of_threads_is_a_positive_integer(bad):
    rule = abers.fit_rule([1, 2], [0, 1])
    with pytest.raises(abers.AbersError, match="n_threads must be a positive integer"):
        rule.bounds([1], n_threads=bad)
