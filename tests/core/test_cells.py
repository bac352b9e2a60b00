"""The cells of a rule: rows and positives between percentiles, by every path."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import abers
from abers.core.blocks import fit_rule_from_parts
from abers.core.diagram import cell_cuts, cells_of_rows


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


@given(rows=ROWS, increasing=st.booleans())
def test_cells_are_counted_alike_by_every_path(rows, increasing):
    scores, labels = map(np.array, zip(*rows, strict=True))
    rule = abers.fit_rule(scores, labels, increasing=increasing)
    expected = by_definition(rule, scores, labels)
    diagram = abers.Diagram.from_observations(scores, labels)
    order = np.argsort(scores, kind="stable")
    parts = [
        abers.Diagram.from_observations(scores[part], labels[part])
        for part in np.array_split(order, 5)  # ties lie in several parts
        if part.size
    ]
    for found in (
        rule,
        abers.fit_rule_from_diagram(diagram, increasing=increasing),
        fit_rule_from_parts(lambda: iter(parts), increasing=increasing),
        abers.fit_rule(
            scores, labels, sample_weight=np.ones(len(rows)), increasing=increasing
        ),
    ):
        assert found.cells.counts.tolist() == expected[0]
        assert found.cells.positives.tolist() == expected[1]
        assert found.cells.squares is None
        assert found.cells.counts.dtype == np.int64


def test_weights_are_added_up_with_their_squares():
    rng = np.random.default_rng(0)
    scores, labels, weights = rng.random(500), rng.random(500) < 0.5, rng.random(500)
    cells = abers.fit_rule(scores, labels, sample_weight=weights).cells
    rule = abers.fit_rule(scores, labels, sample_weight=weights)
    cuts = cell_cuts(rule.score_quantiles)
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


@pytest.mark.parametrize("weight", [1e200, 1e-200])
def test_weights_whose_squares_leave_the_doubles_have_no_cells(weight):
    assert abers.fit_rule([1, 2], [0, 1], sample_weight=[weight, 1]).cells is None


def test_a_diagram_of_real_weights_has_no_cells():
    diagram = abers.Diagram.from_counts([1, 2], [0.5, 1.5], [0.5, 1])
    assert abers.fit_rule_from_diagram(diagram).cells is None


def test_tags_and_pickles_keep_the_cells():
    import pickle

    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    for other in (rule.with_metadata({"a": 1}), pickle.loads(pickle.dumps(rule))):
        assert other.cells.counts.tolist() == [0, 1, 1, 1]


def test_a_cell_begins_with_its_cut():
    cells = cells_of_rows(
        np.array([1.0, 2.0]), np.array([0.5, 1, 2]), np.array([1, 1, 0])
    )
    assert cells.counts.tolist() == [1, 1, 1]
    assert cells.positives.tolist() == [1, 1, 0]
