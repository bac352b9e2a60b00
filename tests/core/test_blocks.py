"""Parts give the rule of the whole, to the bit, wherever the cuts fall."""

from itertools import pairwise

import kinds
import numpy as np
import pytest
from hypothesis import given, strategies as st

import abers
from abers.core import blocks
from abers.core.diagram import diagram_of_rows, trusted_diagram
from abers.core.units import Magnitudes, magnitudes, scale_for
from abers.engines.parts import cut as cut_diagram
from abers.errors import InvalidData
from strategies import either_way

EMPTY = trusted_diagram(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
ODD_SCORES = [-np.inf, -1e308, -1.0, 0.0, 5e-324, 1.0, np.nextafter(1, 2), 2.0, np.inf]

observations = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(ODD_SCORES), st.integers(0, 12).map(float)),
        st.booleans(),
    ),
    min_size=1,
    max_size=60,
)


def cut(scores, labels, cuts):
    """Sort rows and cut them anywhere, also between equal scores."""
    order = np.argsort(scores, kind="stable")
    s, y = np.asarray(scores, float)[order], np.asarray(labels)[order]
    ends = [0, *sorted(min(c, s.size) for c in cuts), s.size]
    return [
        abers.rules.Diagram.from_rows(s[a:b], y[a:b]) if b > a else EMPTY
        for a, b in pairwise(ends)
    ]


@given(observations, st.lists(st.integers(0, 60), max_size=8), st.booleans())
def test_parts_give_the_rule_of_the_whole(data, cuts, increasing):
    """One to nine parts, some empty or of one class, ties meeting at the borders."""
    scores, labels = zip(*data, strict=True)
    parts = cut(scores, labels, cuts)
    rule = blocks.fit_rule_from_parts(lambda: iter(parts), increasing=increasing)
    assert rule == abers.fit_rule(scores, labels, increasing=increasing)


@pytest.mark.parametrize("increasing", [True, False])
def test_parts_that_end_between_adjacent_doubles_give_the_rule_of_the_whole(increasing):
    """The step just above a part's last score is the next part's first score."""
    rng = np.random.default_rng(7)
    adjacent = [1.0]
    while len(adjacent) < 6:
        adjacent.append(np.nextafter(adjacent[-1], 2))
    for _ in range(300):
        scores = rng.choice(adjacent, 12)
        labels = rng.integers(0, 2, 12)
        parts = cut(scores, labels, rng.integers(0, 13, 2))
        rule = blocks.fit_rule_from_parts(
            lambda p=parts: iter(p), increasing=increasing
        )
        assert rule == abers.fit_rule(scores, labels, increasing=increasing)


@pytest.mark.parametrize("n_parts", [1, 2, 9])
@pytest.mark.parametrize("kind", kinds.KINDS.values(), ids=list(kinds.KINDS))
def test_large_parts_give_the_rule_of_the_whole(kind, n_parts):
    scores, labels = kind(np.random.default_rng(3), 50_000)
    parts = cut(scores, labels, np.linspace(0, 50_000, n_parts + 1)[1:-1].astype(int))
    rule = blocks.fit_rule_from_parts(lambda: iter(parts))
    assert rule == abers.fit_rule(scores, labels)


def test_one_score_in_every_part_gives_the_rule_of_the_whole():
    """The score belongs to the last part that holds it; the others answer nothing."""
    parts = [abers.rules.Diagram.from_counts([1.0], [3], [n]) for n in range(4)]
    rule = blocks.fit_rule_from_parts(lambda: iter(parts))
    assert rule == abers.rules.fit_rule_from_diagram(sum(parts[1:], start=parts[0]))


@either_way
def test_counts_beyond_32_bits_give_the_rule_of_the_whole():
    scores = np.arange(20.0)
    counts = np.full(20, 2**45)
    positives = (counts * np.linspace(0.9, 0.1, 20)).astype(np.int64)
    parts = [
        abers.rules.Diagram.from_counts(
            scores[i : i + 5], counts[:5], positives[i : i + 5]
        )
        for i in range(0, 20, 5)
    ]
    rule = blocks.fit_rule_from_parts(lambda: iter(parts))
    assert rule == abers.rules.fit_rule_from_diagram(sum(parts[1:], start=parts[0]))


def test_summary_of_many_scores_is_small():
    """What parts exchange is a few hundred corners, not the data."""
    scores, labels = kinds.normal(np.random.default_rng(0), 10**6)
    parts = cut(scores, labels, [250_000, 500_000, 750_000])
    summaries = [blocks.summarise(part) for part in parts]
    assert all(len(summary.corners) < 500 for summary in summaries)
    for context in blocks.contexts(summaries):
        assert len(context.left) + len(context.right) < 1_000


def test_parts_are_read_twice_and_one_at_a_time():
    scores, labels = kinds.uniform(np.random.default_rng(0), 1_000)
    alive, seen = [], []

    def parts():
        seen.append("round")
        for part in cut(scores, labels, [300, 600]):
            alive.append(part.scores[0])
            yield part

    blocks.fit_rule_from_parts(parts)
    assert seen == ["round"] * 2
    assert len(alive) == 6


def test_parts_out_of_order_are_refused():
    parts = [abers.rules.Diagram.from_counts([s], [1], [0]) for s in (1.0, 3.0, 2.0)]
    with pytest.raises(
        abers.AbersError, match=r"starts at 2.0 after part 2.*ends at 3.0"
    ):
        blocks.fit_rule_from_parts(lambda: iter(parts))


def test_parts_of_another_scale_are_refused():
    part = abers.rules.Diagram.from_rows([1, 2], [0, 1], sample_weight=[0.5, 1])
    with pytest.raises(InvalidData, match=r"units of 2\*\*-0, .* a scale of 1"):
        blocks.fit_rule_from_parts(lambda: iter([part]))
    summaries = [blocks.summarise(part, scale=scale) for scale in (1, 2)]
    with pytest.raises(InvalidData, match="summarised at one scale"):
        blocks.context(summaries, 0)


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_real_weights_counted_with_one_scale_give_the_bits_of_the_whole(
    seed, increasing
):
    """Whatever way rows are dealt to maps, and whatever way scores are cut to parts."""
    rng = np.random.default_rng(seed)
    scores, labels = rng.integers(0, 60, 400) / 4, rng.integers(0, 2, 400)
    weights = 10 ** rng.uniform(-7, 3, 400)
    whole = abers.fit_rule(
        scores, labels, sample_weight=weights, increasing=increasing
    ).with_cells(None)
    maps = np.array_split(rng.permutation(400), 5)
    scale = scale_for(sum((magnitudes(weights[rows]) for rows in maps), Magnitudes()))
    counted = [
        diagram_of_rows(scores[rows], labels[rows] == 1, weights[rows], scale)
        for rows in maps
    ]
    assert abers.rules.Diagram.sum(counted) == abers.rules.Diagram.from_rows(
        scores, labels, sample_weight=weights
    )
    borders = np.sort(rng.choice(60, 3, replace=False)) / 4
    dealt = zip(*(cut_diagram(each, borders) for each in counted), strict=True)
    parts = [abers.rules.Diagram.sum(shares) for shares in dealt]
    rule = blocks.fit_rule_from_parts(
        lambda: iter(parts), scale=scale, increasing=increasing
    )
    assert rule == whole
    assert rule.score_quantiles.tolist() == whole.score_quantiles.tolist()


def test_no_rows_are_refused():
    with pytest.raises(abers.AbersError, match="at least one row; got none"):
        blocks.fit_rule_from_parts(lambda: iter([EMPTY]))
