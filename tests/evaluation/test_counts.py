"""Predictions put into cells."""

import numpy as np

from abers.evaluation.counts import cell_starts


def test_cells_are_cut_by_weight_and_at_most_so_many():
    """Eight of weight 1, then one of 8, in four cells of 4: the last takes two."""
    assert cell_starts(np.array([1] * 8 + [8]), 4).tolist() == [0, 4, 8]
    assert cell_starts(np.array([8] + [1] * 8), 4).tolist() == [0, 1, 5]
    assert cell_starts(np.full(3, 0.1), 500).tolist() == [0, 1, 2]
    assert cell_starts(np.full(10_000, 0.3), 500).size <= 500
