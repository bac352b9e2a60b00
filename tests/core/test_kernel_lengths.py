"""The kernel refuses arrays whose lengths do not fit, instead of reading past them."""

import numpy as np
import pytest

from abers import _kernel

ONE, TWO, THREE = (np.arange(float(n)) for n in (1, 2, 3))
NONE = np.empty(0)
COUNT, COUNTS = np.ones(1, np.int64), np.ones(2, np.int64)
CORNER, NO_CORNER = np.zeros((1, 2), np.int64), np.zeros((0, 2), np.int64)
TABLE = _kernel.Table(NONE, np.zeros(1), np.ones(1), np.zeros(101))
QUANTILES = np.zeros(101)

WRONG = {
    "labels": lambda: _kernel.split_by_label(TWO, ONE > 0, np.empty(2)),
    "room for classes": lambda: _kernel.split_by_label(TWO, TWO > 0, np.empty(1)),
    "rank 0": lambda: _kernel.order_statistics(TWO, ONE, np.zeros(1, np.int64)),
    "high rank": lambda: _kernel.order_statistics(TWO, ONE, np.array([4])),
    "no class": lambda: _kernel.fit_classes(NONE, NONE, QUANTILES, increasing=True),
    "negatives": lambda: _kernel.fit_diagram(
        TWO, COUNT, COUNTS, QUANTILES, increasing=True
    ),
    "positives": lambda: _kernel.fit_diagram(
        TWO, COUNTS, COUNT, QUANTILES, increasing=True
    ),
    "no score": lambda: _kernel.fit_diagram(
        NONE, COUNT[:0], COUNT[:0], QUANTILES, increasing=True
    ),
    "new case without weight": lambda: _kernel.fit_diagram(
        TWO, COUNTS, COUNTS, QUANTILES, increasing=True, postulate=0
    ),
    "zeros of a part": lambda: _kernel.fit_part(
        TWO, COUNT, COUNTS, CORNER, CORNER, increasing=True
    ),
    "nothing left of a part": lambda: _kernel.fit_part(
        TWO, COUNTS, COUNTS, NO_CORNER, CORNER, increasing=True
    ),
    "new case of a part without weight": lambda: _kernel.fit_part(
        TWO, COUNTS, COUNTS, CORNER, CORNER, increasing=True, postulate=-1
    ),
    "zeros inside a part": lambda: _kernel.inner_corners(COUNT, COUNTS),
    "negatives of a content": lambda: _kernel.content(TWO, COUNT, COUNTS, 1, 2),
    "positives of a content": lambda: _kernel.content(TWO, COUNTS, COUNT, 1, 2),
    "negatives to rank": lambda: _kernel.ranked(COUNT, COUNTS, COUNT),
    "rank 0 of a part": lambda: _kernel.ranked(COUNTS, COUNTS, 0 * COUNT),
    "high rank of a part": lambda: _kernel.ranked(COUNTS, COUNTS, 5 * COUNT),
    "rank of nothing": lambda: _kernel.ranked(COUNTS[:0], COUNTS[:0], COUNT),
    "one run": lambda: _kernel.merge_runs([TWO], [COUNTS], [COUNTS]),
    "runs without positives": lambda: _kernel.merge_runs(
        [TWO, TWO], [COUNTS, COUNTS], [COUNTS]
    ),
    "negatives of a run": lambda: _kernel.merge_runs(
        [TWO, TWO], [COUNTS, COUNT], [COUNTS, COUNTS]
    ),
    "positives of a run": lambda: _kernel.merge_runs(
        [TWO, TWO], [COUNTS, COUNTS], [COUNT, COUNTS]
    ),
    "room for bounds": lambda: TABLE.bounds(TWO, np.empty((1, 2)), 1),
    "no fold": lambda: _kernel.merge_folds(np.zeros((0, 2, 2)), 0, np.empty(2)),
    "room for rows": lambda: _kernel.merge_folds(np.ones((1, 2, 2)), 0, np.empty(1)),
    "scores of a fold": lambda: _kernel.merge_rules(
        [TABLE, TABLE], [TWO], 0, np.empty(2)
    ),
    "short scores": lambda: _kernel.merge_rules([TABLE], [ONE], 0, np.empty(2)),
    "no rule": lambda: _kernel.merge_rules([], [], 0, np.empty(2)),
    "None for a rule": lambda: _kernel.merge_rules([None], [TWO], 0, np.empty(2)),
    "pairs of a rule": lambda: _kernel.Table(ONE, ONE, TWO, QUANTILES),
    "masses of a fold": lambda: _kernel.PooledCounts(
        [TWO], [COUNT], [COUNTS], 1, 1, increasing=True
    ),
    "labels of a stream": lambda: online().bounds_then_add(
        TWO, COUNT, COUNTS, np.empty((2, 2))
    ),
    "room for bounds of a stream": lambda: online().bounds_then_add(
        TWO, COUNTS, COUNTS, np.empty((1, 2))
    ),
    "room for ranks": lambda: _kernel.Ranks(TWO, COUNTS).rank_then_add(
        TWO, COUNTS, COUNT
    ),
    "counts of ranks": lambda: _kernel.Ranks(TWO, COUNT),
    "empty blocks of ranks": lambda: _kernel.Ranks(TWO, COUNTS, block_size=0),
    "weights of bets": lambda: _kernel.jump(
        ONE, np.ones((3, 2)), np.ones((1, 3)), 0.0, np.empty(3)
    ),
    "rates of bets": lambda: _kernel.jump(
        ONE, np.ones((3, 2)), np.ones((2, 2)), 0.0, np.empty(3)
    ),
    "room for capital": lambda: _kernel.jump(
        ONE, np.ones((3, 2)), np.ones((1, 2)), 0.0, np.empty(2)
    ),
    "counts of vectors": lambda: _kernel.Poset(np.ones((2, 2)), COUNTS, COUNT),
    "no vectors": lambda: _kernel.Poset(np.ones((0, 2)), COUNTS[:0], COUNTS[:0]),
    "columns of rows": lambda: _kernel.Poset(np.ones((1, 2)), COUNT, COUNT).bounds(
        np.ones((1, 3)), np.empty((1, 2)), 1
    ),
    "rows of bounds": lambda: _kernel.Poset(np.ones((1, 2)), COUNT, COUNT).bounds(
        np.ones((2, 2)), np.empty((1, 2)), 1
    ),
}


def online():
    return _kernel.Online(window=0, increasing=True)


@pytest.mark.parametrize("case", WRONG)
def test_lengths_that_do_not_fit_are_refused(case):
    with pytest.raises(ValueError, match=r"must|there"):
        WRONG[case]()
