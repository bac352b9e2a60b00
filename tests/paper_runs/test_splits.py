"""Ratios become contiguous folds, exactly as the paper describes them."""

from math import ceil

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from abers.errors import InvalidParameter
from abers.paper.tasks import RATIOS, WIDE_RATIOS, split

sizes = st.integers(20, 500)


@given(st.integers(1, 9), sizes)
def test_first_rows_train_and_the_rest_calibrates(a, n):
    """Section 6: the first ⌈(K-1)/K N⌉ rows are the proper training set."""
    rows = split(f"{a}:1", n)
    pair = rows.pairs[rows.single]
    cut = ceil(a * n / (a + 1))
    np.testing.assert_array_equal(pair.train, np.arange(cut))
    np.testing.assert_array_equal(pair.calibrate, np.arange(cut, n))


@given(st.integers(2, 9), sizes)
def test_reversed_ratio_trains_on_one_fold(b, n):
    """Section 6, 1:9: a tenth trains, the same one for all but CVAP."""
    rows = split(f"1:{b}", n)
    pair = rows.pairs[rows.single]
    cut = ceil(n / (b + 1))
    np.testing.assert_array_equal(pair.train, np.arange(cut))
    np.testing.assert_array_equal(pair.calibrate, np.arange(cut, n))


@given(st.sampled_from(WIDE_RATIOS), sizes)
def test_folds_are_contiguous_and_longer_ones_come_first(ratio, n):
    rows = split(ratio, n)
    a, b = map(int, ratio.split(":"))
    folds = [p.calibrate if a >= b else p.train for p in rows.pairs]
    assert len(folds) == a + b
    np.testing.assert_array_equal(np.concatenate(folds), np.arange(n))
    lengths = [fold.size for fold in folds]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] - lengths[-1] <= 1
    for pair in rows.pairs:
        both = np.sort(np.concatenate((pair.train, pair.calibrate)))
        np.testing.assert_array_equal(both, np.arange(n))


def test_all_rows_do_both():
    rows = split("all", 7)
    assert not rows.is_crossed
    np.testing.assert_array_equal(rows.pairs[0].train, np.arange(7))
    np.testing.assert_array_equal(rows.pairs[0].calibrate, np.arange(7))


def test_ratios_are_those_of_the_figures():
    assert RATIOS == ("1:1", "2:1", "3:1", "4:1", "all")
    assert len(WIDE_RATIOS) == 17
    assert (WIDE_RATIOS[0], WIDE_RATIOS[8], WIDE_RATIOS[-1]) == ("1:9", "1:1", "9:1")


@pytest.mark.parametrize("ratio", ["2:3", "4", "a:1", "0:1", "", "1:1:1"])
def test_other_ratios_are_refused(ratio):
    with pytest.raises(InvalidParameter, match="ratio must be"):
        split(ratio, 10)
