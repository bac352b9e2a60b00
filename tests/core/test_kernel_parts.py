"""What the kernel does with parts is what plain numpy says it must do."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

import abers
from abers import _kernel
from abers.core import blocks
from abers.core.diagram import percentile_ranks
from abers.engines.parts import cut
from strategies import either_way

ODD = [-np.inf, -1e308, -0.0, 0.0, 5e-324, 1.0, np.nextafter(1, 2), 1e308, np.inf]
COUNTS = [0, 1, 2, 255, 256, 2**33, 2**40]


@st.composite
def diagrams(draw):
    """Draw counts per score, most of them small and some beyond 32 bits."""
    size = draw(st.integers(1, 30))
    scores = draw(
        arrays(float, size, elements=st.sampled_from([*ODD, *map(float, range(20))]))
    )
    zeros, ones = (
        draw(arrays(np.int64, size, elements=st.sampled_from(COUNTS))) for _ in range(2)
    )
    zeros[0] = 1
    return abers.rules.Diagram.from_counts(scores, zeros + ones, ones)


def plain_sum(parts):
    """Sort all scores, and add up what lies at equal ones."""
    columns = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("scores", "counts", "positives")
    )
    return abers.rules.Diagram.from_counts(*columns)


@given(st.lists(diagrams(), min_size=2, max_size=9))
def test_merged_runs_are_the_sorted_sum(parts):
    merged, expected = abers.rules.Diagram.sum(parts), plain_sum(parts)
    assert merged == expected
    assert merged.negatives.dtype == expected.negatives.dtype
    assert merged.scores.tobytes() == expected.scores.tobytes()


def test_a_sum_of_empty_parts_is_empty():
    """A part may get no rows from any map task."""
    empty = cut(abers.rules.Diagram([1.0], [1], [0]), np.array([0.0]))[0]
    assert abers.rules.Diagram.sum([empty, empty]).scores.size == 0
    assert (
        abers.rules.Diagram.sum(
            [empty, abers.rules.Diagram([1.0], [1], [0])]
        ).scores.size
        == 1
    )


@given(diagrams(), st.booleans())
def test_the_corners_of_a_summary_are_those_of_all_inner_points(part, increasing):
    steps = np.stack((part.negatives, part.positives), axis=1)
    steps = np.ascontiguousarray(steps if increasing else steps[:, ::-1])
    expected = _kernel.minorant(np.cumsum(steps, axis=0)[:-1])
    corners = blocks.summarise(part, increasing=increasing).corners
    assert corners.tolist() == expected.tolist()


@given(diagrams())
def test_ranked_scores_are_those_of_cumulated_counts(part):
    cumulated = np.cumsum(part.counts)
    ranks = percentile_ranks(int(cumulated[-1]))
    places, zeros, ones = _kernel.ranked(part.negatives, part.positives, ranks)
    assert places.tolist() == np.searchsorted(cumulated, ranks).tolist()
    for below, mass in ((zeros, part.negatives), (ones, part.positives)):
        assert below.tolist() == (np.cumsum(mass) - mass)[places].tolist()
    assert part.scores[places].tolist() == part.score_quantiles.tolist()


@pytest.mark.parametrize("total", [2**32 - 3, 2**32 - 2, 2**32 - 1, 2**32, 2**40])
@pytest.mark.parametrize("increasing", [True, False])
@either_way
def test_totals_around_32_bits_give_the_rule_of_the_whole(total, increasing):
    """Narrow coordinates up to 2**32 - 2 rows, wide ones beyond."""
    rng = np.random.default_rng(0)
    counts = rng.multinomial(total - 40, np.full(40, 1 / 40)) + 1
    positives = rng.binomial(counts, np.linspace(0.4, 0.6, 40) + rng.normal(0, 0.1, 40))
    whole = abers.rules.Diagram.from_counts(np.arange(40.0), counts, positives)
    assert whole.n_rows == total
    parts = cut(whole, np.array([10.0, 30.0]))
    rule = blocks.fit_rule_from_parts(lambda: iter(parts), increasing=increasing)
    assert rule == abers.rules.fit_rule_from_diagram(whole, increasing=increasing)
