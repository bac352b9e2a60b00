"""The cells of a rule: rows and positives between percentiles, by every path."""

import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st

import abers
from abers.core.blocks import fit_rule_from_parts
from abers.core.cells import MOST_CUTS, cells_of_rows, cut_ranks


def by_definition(rule, scores, labels):
    """Count one row after the other."""
    cuts = np.unique(rule.score_quantiles[1:-1]).tolist()
    counts, ones = [0] * (len(cuts) + 1), [0] * (len(cuts) + 1)
    for score, label in zip(scores, labels, strict=True):
        cell = sum(cut <= score for cut in cuts)
        counts[cell] += 1
        ones[cell] += int(label)
    return counts, ones


ROWS = st.lists(
    st.tuples(
        st.sampled_from([-np.inf, -1.0, 0.0, 5e-324, 0.5, 2.0, np.inf]),
        st.integers(0, 1),
    ),
    min_size=1,
    max_size=40,
)


def outer_sizes(n_rows, n_cells):
    """Return how many rows remain beyond each cut of an outer cell."""
    share, sizes = n_rows / n_cells, []
    while (share := share / 2**0.25) >= 20 - 1e-9:
        sizes.append(int(share + 1e-9))
    return sizes


@pytest.mark.parametrize(
    ("n_rows", "n_cells"),
    [
        (99, 100),
        (2_300, 100),
        (2_400, 100),
        (10**5, 100),
        (10**6, 100),
        (4 * 10**6, 200),
        (10**7, 300),
        (10**8, 1_000),
        (2**53 - 1, 1_000),
    ],
)
def test_outer_cells_are_cut_down_to_20_rows(n_rows, n_cells):
    percents = [max(1, -(-j * n_rows // 100)) for j in range(101)]
    equal = [-(-j * n_rows // n_cells) for j in range(1, n_cells) if n_cells > 100]
    outer = outer_sizes(n_rows, n_cells)
    beyond = [rank for size in outer for rank in (size + 1, n_rows + 1 - size)]
    assert cut_ranks(n_rows).tolist() == sorted(percents + equal + beyond)
    assert min(outer, default=20) >= 20
    assert cut_ranks(n_rows).size <= MOST_CUTS


@pytest.mark.parametrize("increasing", [True, False])
@pytest.mark.parametrize("ties", [1, 50])
def test_many_rows_are_counted_in_outer_cells_by_every_path(ties, increasing):
    rng = np.random.default_rng(1)
    scores = np.round(rng.normal(size=30_000) * 1_000 / ties)
    labels = rng.random(scores.size) < 0.3
    rule = abers.fit_rule(scores, labels, increasing=increasing)
    ordered = np.sort(scores)
    cuts = np.unique([ordered[rank - 1] for rank in cut_ranks(scores.size)[1:-1]])
    assert rule.cells.cuts.tolist() == cuts.tolist()
    cell = np.searchsorted(cuts, scores, side="right")
    assert rule.cells.counts.tolist() == np.bincount(cell).tolist()
    assert rule.cells.positives.tolist() == np.bincount(cell, labels).tolist()
    if ties == 1:
        assert rule.cells.counts.size > 120
        assert rule.cells.counts[[0, -1]].max() < 40
    order = np.argsort(scores, kind="stable")
    parts = [
        abers.rules.Diagram.from_rows(scores[part], labels[part])
        for part in np.array_split(order, 7)
    ]
    whole = abers.rules.Diagram.sum(parts)
    for other in (
        abers.rules.fit_rule_from_diagram(whole, increasing=increasing),
        fit_rule_from_parts(lambda: iter(parts), increasing=increasing),
    ):
        assert other == rule
        assert other.cells.cuts.tolist() == cuts.tolist()


def test_cells_of_weights_do_not_depend_on_their_scale():
    rng = np.random.default_rng(2)
    scores, labels = rng.random(9_000), rng.random(9_000) < 0.5
    weights = rng.exponential(size=9_000)
    cells = [
        abers.fit_rule(scores, labels, sample_weight=weights * scale).cells
        for scale in (1, 2.0**-30)
    ]
    assert cells[0].cuts.tolist() == cells[1].cuts.tolist()
    assert 105 < cells[0].cuts.size < 115  # of 4,500 effective rows


@given(rows=ROWS, increasing=st.booleans())
def test_cells_are_counted_alike_by_every_path(rows, increasing):
    scores, labels = map(np.array, zip(*rows, strict=True))
    rule = abers.fit_rule(scores, labels, increasing=increasing)
    expected = by_definition(rule, scores, labels)
    diagram = abers.rules.Diagram.from_rows(scores, labels)
    order = np.argsort(scores, kind="stable")
    parts = [
        abers.rules.Diagram.from_rows(scores[part], labels[part])
        for part in np.array_split(order, 5)  # ties lie in several parts
        if part.size
    ]
    for fitted in (
        rule,
        abers.rules.fit_rule_from_diagram(diagram, increasing=increasing),
        fit_rule_from_parts(lambda: iter(parts), increasing=increasing),
        abers.fit_rule(
            scores, labels, sample_weight=np.ones(len(rows)), increasing=increasing
        ),
    ):
        assert fitted.cells.counts.tolist() == expected[0]
        assert fitted.cells.positives.tolist() == expected[1]
        assert fitted.cells.squares is None
        assert fitted.cells.counts.dtype == np.int64


def test_weights_are_added_up_with_their_squares():
    rng = np.random.default_rng(0)
    scores, labels, weights = rng.random(500), rng.random(500) < 0.5, rng.random(500)
    cells = abers.fit_rule(scores, labels, sample_weight=weights).cells
    rule = abers.fit_rule(scores, labels, sample_weight=weights)
    cuts = rule.cells.cuts
    cell = (scores[:, None] >= cuts).sum(axis=1)
    for place in range(cuts.size + 1):
        inside = cell == place
        assert cells.counts[place] == pytest.approx(weights[inside].sum())
        assert cells.positives[place] == pytest.approx((weights * labels)[inside].sum())
        assert cells.squares[place] == pytest.approx((weights**2)[inside].sum())


def test_integer_weights_count_rows_and_keep_their_squares():
    scores, labels, weights = [1, 2, 3], [0, 1, 0], [3, 1, 2]
    weighted = abers.fit_rule(scores, labels, sample_weight=weights)
    repeated = abers.fit_rule(np.repeat(scores, weights), np.repeat(labels, weights))
    assert weighted == repeated
    assert weighted.cells.counts.tolist() == repeated.cells.counts.tolist()
    assert weighted.cells.squares.tolist() == [0, 9, 1, 4]
    assert repeated.cells.squares is None


def test_a_row_that_vanishes_beside_the_others_is_in_no_cell():
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0], sample_weight=[1e-200, 0.5, 1])
    assert rule.cells.cuts.tolist() == [2, 3]
    assert rule.cells.counts.tolist() == [0, 0.5, 1]
    assert rule.cells.squares.tolist() == [0, 0.25, 1]


def test_cells_of_weights_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    scores, labels = rng.integers(0, 300, 3000), rng.integers(0, 2, 3000)
    weights = 10 ** rng.uniform(-7, 3, 3000)
    cells = abers.fit_rule(scores, labels, sample_weight=weights).cells
    for _ in range(20):
        order = rng.permutation(3000)
        rule = abers.fit_rule(
            scores[order], labels[order], sample_weight=weights[order]
        )
        for counted, expected in zip(rule.cells, cells, strict=True):
            assert counted.tobytes() == expected.tobytes()


def test_a_diagram_of_real_weights_has_no_cells():
    diagram = abers.rules.Diagram.from_counts([1, 2], [0.5, 1.5], [0.5, 1])
    assert abers.rules.fit_rule_from_diagram(diagram).cells is None


def test_tags_and_pickles_keep_the_cells():
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    for other in (rule.with_metadata({"a": 1}), pickle.loads(pickle.dumps(rule))):
        assert other.cells.counts.tolist() == [0, 1, 1, 1]


def test_a_cell_begins_with_its_cut():
    cells = cells_of_rows(
        np.array([1.0, 2.0]), np.array([0.5, 1, 2]), np.array([1, 1, 0])
    )
    assert cells.counts.tolist() == [1, 1, 1]
    assert cells.positives.tolist() == [1, 1, 0]


def test_cells_of_weights_are_cut_at_the_percentiles_of_the_rule():
    """.56 * 68.75 rounds to more than 38.5, where 56 % of the weight ends."""
    rule = abers.fit_rule(
        np.arange(275), np.tile([0, 1, 1, 0, 1], 55), sample_weight=np.full(275, 0.25)
    )
    assert set(rule.score_quantiles[1:-1]) <= set(rule.cells.cuts)
    assert pickle.loads(pickle.dumps(rule)) == rule
