"""Rows dealt to workers give the rule of the whole, to the last byte of its file."""

from itertools import pairwise

import kinds
import numpy as np
import pytest
from hypothesis import given, strategies as st

import abers
from abers.core import blocks
from abers.core.diagram import trusted_diagram
from abers.engines.parts import cut, splitters
from abers.errors import InvalidData, InvalidParameter
from abers.storage.files import encoded
from emulated_engine import fit, sample
from strategies import either_way

EMPTY = trusted_diagram(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
ADJACENT = [np.nextafter(1, 0), 1.0, np.nextafter(1, 2)]
ODD = [-np.inf, -1e308, -0.0, 0.0, 5e-324, *ADJACENT, 1e308, np.inf]
MOST = 120

scores = st.one_of(
    st.sampled_from(ODD), st.integers(0, 40).map(float), st.floats(allow_nan=False)
)
directions = st.booleans()
cases = st.sampled_from(["mixed", "one class", "30 % at one score", "few scores"])

pytestmark = either_way  # rules are fitted in both directions


@st.composite
def rows(draw):
    """Draw scores and labels, some sets friendly and some hostile."""
    pool = np.array(draw(st.lists(scores, min_size=1, max_size=20)))
    kind = draw(cases)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = int(rng.integers(1, MOST))
    s = rng.choice(np.concatenate((pool, rng.standard_normal(size))), size)
    y = rng.integers(0, 2, size)
    if kind == "one class":
        y[:] = y[0]
    elif kind == "30 % at one score":
        s[rng.random(size) < 0.3] = pool[0]
    elif kind == "few scores":
        s = rng.choice(pool, size)
    return s, y


def dealt(how, s, rng, n_maps=4):
    """Return the map task of each row: at random, or by ranges of the score."""
    if how == "at random":
        return rng.integers(0, n_maps, s.size)
    return np.searchsorted(np.sort(rng.choice(s, n_maps - 1)), s)


def counted(s, y, task):
    """Count the rows of each map task; tasks without rows count nothing."""
    return [
        abers.rules.Diagram.from_rows(s[task == i], y[task == i])
        if (task == i).any()
        else EMPTY
        for i in range(4)
    ]


def written(rule):
    """Return the bytes of a rule's file, without the file."""
    return b"".join(map(bytes, encoded(rule)))


def assert_same(joined, expected):
    """Compare all that a rule is, and the bytes of its file."""
    for name in ("thresholds", "lower", "upper", "score_quantiles"):
        assert getattr(joined, name).tobytes() == getattr(expected, name).tobytes(), (
            name
        )
    assert joined.n_rows == expected.n_rows
    assert joined.n_positives == expected.n_positives
    for mine, theirs in zip(joined.cells[:2], expected.cells[:2], strict=True):
        assert mine.tolist() == theirs.tolist()
    assert written(joined) == written(expected)


@pytest.mark.parametrize("how", ["at random", "by range"])
@pytest.mark.parametrize("n_parts", [1, 2, 7])
@given(drawn=rows(), increasing=directions, seed=st.integers(0, 2**32))
def test_rows_dealt_to_workers_give_the_rule_of_the_whole(
    drawn, increasing, seed, n_parts, how
):
    s, y = drawn
    task = dealt(how, s, np.random.default_rng(seed))
    joined = fit(counted(s, y, task), n_parts, increasing=increasing, seed=seed)
    assert_same(joined, abers.fit_rule(s, y, increasing=increasing))


@pytest.mark.parametrize("n_parts", [1, 2, 7])
@given(drawn=rows(), increasing=directions, seed=st.integers(0, 2**32))
def test_integer_weights_dealt_to_workers_give_the_rule_of_the_whole(
    drawn, increasing, seed, n_parts
):
    """Rows of weight 0 are none; a weight may need more than a byte."""
    s, y = drawn
    rng = np.random.default_rng(seed)
    w = rng.choice([0, 1, 2, 300, 70_000, 2**40], s.size)
    w[0] = 1
    task = dealt("at random", s, rng)
    task[0] = 0
    maps = [
        abers.rules.Diagram.from_rows(s[own], y[own], sample_weight=w[own])
        if w[own].any()
        else EMPTY
        for own in (task == i for i in range(4))
    ]
    joined = fit(maps, n_parts, increasing=increasing, seed=seed)
    whole = abers.rules.Diagram.from_rows(s, y, sample_weight=w)
    expected = abers.rules.fit_rule_from_diagram(whole, increasing=increasing)
    assert_same(joined, expected)
    assert joined == abers.fit_rule(s, y, sample_weight=w, increasing=increasing)


@given(drawn=rows(), increasing=directions, seed=st.integers(0, 2**32))
def test_counts_dealt_to_workers_give_the_rule_of_the_whole(drawn, increasing, seed):
    s, y = drawn
    rng = np.random.default_rng(seed)
    total = rng.integers(1, 5, s.size)
    ones = np.minimum(total, y * rng.integers(0, 5, s.size))
    halves = (slice(None, None, 2), slice(1, None, 2)) if s.size > 1 else (slice(None),)
    maps = [abers.rules.Diagram.from_counts(s[a], total[a], ones[a]) for a in halves]
    joined = fit(maps, 3, increasing=increasing, seed=seed)
    whole = abers.rules.Diagram.from_counts(s, total, ones)
    expected = abers.rules.fit_rule_from_diagram(whole, increasing=increasing)
    assert_same(joined, expected)


@given(
    drawn=rows(),
    increasing=directions,
    seed=st.integers(0, 2**32),
    extra=st.lists(scores),
)
def test_splitters_may_lie_anywhere(drawn, increasing, seed, extra):
    """On tied scores, between adjacent doubles, beyond all scores: parts are empty."""
    s, y = drawn
    rng = np.random.default_rng(seed)
    borders = np.unique(np.concatenate((rng.choice(s, 3), ADJACENT, extra)) + 0.0)
    maps = counted(s, y, dealt("at random", s, rng))
    joined = fit(maps, 0, increasing=increasing, splitters=borders, seed=seed)
    assert_same(joined, abers.fit_rule(s, y, increasing=increasing))


@given(drawn=rows(), increasing=directions, cuts=st.lists(st.integers(0, MOST)))
def test_one_context_is_that_of_all_contexts(drawn, increasing, cuts):
    """Also where parts are cut within a score."""
    s, y = drawn
    order = np.argsort(s, kind="stable")
    ends = sorted({0, *(c for c in cuts if c < s.size), s.size})
    summaries = [
        blocks.summarise(
            abers.rules.Diagram.from_rows(s[order[a:b]], y[order[a:b]]),
            increasing=increasing,
        )
        for a, b in pairwise(ends)
    ]
    for i, context in enumerate(blocks.contexts(summaries)):
        alone = blocks.context(summaries, i)
        for name in ("left", "right", "carry"):
            assert getattr(alone, name).tolist() == getattr(context, name).tolist()
        assert alone.drop_last == context.drop_last


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("kind", kinds.KINDS.values(), ids=list(kinds.KINDS))
def test_many_rows_dealt_to_workers_give_the_rule_of_the_whole(kind, increasing):
    rng = np.random.default_rng(5)
    s, y = kind(rng, 30_000)
    maps = counted(s, y, rng.integers(0, 4, s.size))
    joined = fit(maps, 7, increasing=increasing)
    assert_same(joined, abers.fit_rule(s, y, increasing=increasing))


def test_a_rule_of_a_hundred_thousand_steps_is_joined_from_parts():
    """Rare events: nearly every negative is a step of the upper bound."""
    rng = np.random.default_rng(1)
    s, y = kinds.rare(rng, 140_000)
    joined = fit(counted(s, y, rng.integers(0, 4, s.size)), 7)
    assert joined.thresholds.size > 97_000
    assert_same(joined, abers.fit_rule(s, y))


def test_parts_hold_about_equally_many_scores_however_the_maps_are_skewed():
    rng = np.random.default_rng(2)
    sizes = (100, 1_000, 50_000)
    maps = [
        abers.rules.Diagram.from_rows(rng.random(n) ** 4 + i, rng.integers(0, 2, n))
        for i, n in enumerate(sizes)
    ]
    borders = splitters([sample(each, 256) for each in maps], 8)
    parts = [
        abers.rules.Diagram.sum(shares).scores.size
        for shares in zip(*(cut(d, borders) for d in maps), strict=True)
    ]
    assert len(parts) == 8
    assert max(parts) < 1.1 * sum(parts) / 8


def test_there_are_fewer_splitters_where_there_are_fewer_scores():
    counts = abers.rules.Diagram.from_counts([1.0, 2.0], [5, 5], [1, 2])
    assert splitters([sample(counts)], 7).tolist() == [2.0]


def test_parts_are_as_many_as_their_scores_need():
    few = (5_000_000, np.arange(100.0))
    assert splitters([few]).tolist() == []
    assert splitters([few] * 3).size == 2
    assert splitters([(120_000_000, np.arange(100.0))], n_parts=1).size == 2


PARTS = [
    abers.rules.Diagram([1, 2], negatives=[1, 2], positives=[0, 1]),
    EMPTY,
    abers.rules.Diagram([3, 4], negatives=[2, 1], positives=[3, 0]),
]
CHANGED = {
    "a score": abers.rules.Diagram([1, 2.5], negatives=[1, 2], positives=[0, 1]),
    "labels that keep their sum": abers.rules.Diagram([1, 2], [0, 3], [1, 0]),
    "counts that keep their sum": abers.rules.Diagram([1, 2], [2, 1], [0, 1]),
    "no rows": EMPTY,
    "another part": PARTS[2],
}


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("part", [0, 1])
def test_a_part_that_changed_after_its_summary_is_refused(change, part):
    summaries = [blocks.summarise(each) for each in PARTS]
    if (part, change) == (1, "no rows"):
        blocks.piece(CHANGED[change], blocks.context(summaries, part))
        return
    with pytest.raises(InvalidData, match=rf"part {part} changed"):
        blocks.piece(CHANGED[change], blocks.context(summaries, part))


def test_input_that_changes_between_two_passes_is_refused():
    rng = np.random.default_rng(3)

    def parts():
        yield abers.rules.Diagram.from_rows(rng.random(10), rng.integers(0, 2, 10))

    with pytest.raises(InvalidData, match=r"part 0 changed.*Save or persist"):
        blocks.fit_rule_from_parts(parts)


@pytest.mark.parametrize("given_parts", [[0, 1], [0, 1, 1], [0, 1, 2, 2], []])
def test_pieces_of_some_parts_make_no_rule(given_parts):
    summaries = [blocks.summarise(each) for each in PARTS]
    pieces = [blocks.piece(PARTS[i], blocks.context(summaries, i)) for i in given_parts]
    with pytest.raises(InvalidParameter, match="each of the 3 parts"):
        blocks.join(pieces, summaries)


def test_parts_summarised_in_two_directions_are_refused():
    summaries = [blocks.summarise(p, increasing=i < 2) for i, p in enumerate(PARTS)]
    with pytest.raises(abers.AbersError, match="all as falling"):
        blocks.context(summaries, 0)


def test_parts_whose_sum_is_no_double_are_refused():
    part = abers.rules.Diagram([1.0], negatives=[2**52], positives=[1])
    more = abers.rules.Diagram([2.0], negatives=[2**52], positives=[1])
    summaries = [blocks.summarise(each) for each in (part, more)]
    with pytest.raises(abers.AbersError, match=r"less than 2\*\*53"):
        blocks.contexts(summaries)
