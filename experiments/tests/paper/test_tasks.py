"""Ratios become contiguous folds, exactly as the paper describes them.

Gaps and scales are learnt from the rows that train, and from no others.
"""

from math import ceil

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from abers.errors import InvalidParameter
from experiments.paper import data
from experiments.paper.tasks import (
    COMPLETE,
    RATIOS,
    WIDE_RATIOS,
    Preparation,
    load,
    split,
)

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


def test_new_rows_do_not_change_what_was_learnt(small_task):
    table = small_task.table
    rows = np.arange(100)
    alone = Preparation.of(table.take(rows), rows)
    among = Preparation.of(table, rows)
    np.testing.assert_array_equal(alone.means, among.means)
    np.testing.assert_array_equal(alone.spreads, among.spreads)
    np.testing.assert_array_equal(alone.modes, among.modes)


def test_training_numbers_are_standardised_and_gaps_are_their_mean(small_task):
    table = small_task.table
    rows = np.arange(small_task.n_train)
    inputs = Preparation.of(table, rows).apply(table)
    np.testing.assert_allclose(inputs.numeric[rows].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(inputs.numeric[rows].std(axis=0), 1, rtol=1e-12)
    gaps = np.isnan(table.columns[0].values)
    assert gaps.any()
    assert (inputs.numeric[gaps, 0] == 0).all()


def test_a_row_has_one_indicator_for_each_name(small_task):
    inputs = Preparation.of(small_task.table, np.arange(50)).apply(small_task.table)
    assert inputs.design.shape == (300, 2 + 3)
    np.testing.assert_array_equal(inputs.design[:, 2:].sum(axis=1), 1)


def test_a_column_without_spread_stays_finite(small_task):
    table = small_task.table
    inputs = Preparation.of(table, np.array([0])).apply(table)
    assert np.isfinite(inputs.design).all()


def test_mode_of_occupation_is_that_of_the_training_rows(data_folder):
    """One of the traps: 4,000 rows of adult have another mode than 5,000."""
    table = data.load("adult", data_folder)
    names = [c for c in table.columns if c.is_nominal]
    place = [c.name for c in names].index("occupation")
    modes = [
        names[place].levels[Preparation.of(table, np.arange(size)).modes[place]]
        for size in (4_000, 5_000)
    ]
    assert modes == ["Exec-managerial", "Prof-specialty"]


def test_adult_without_gaps_has_the_sizes_of_the_authors_notes(data_folder):
    """30,162 rows to train and 15,060 to test, after the removal of missing values."""
    task = load(COMPLETE, data_folder)
    assert (task.n_train, task.test.size) == (30_162, 15_060)
    whole = load("adult", data_folder)
    gaps = {c.name: c.values < 0 for c in whole.table.columns if c.is_nominal}
    known = ~np.any(list(gaps.values()), axis=0)
    assert known[: whole.n_train].sum() == 30_162
    assert not [c for c in task.table.columns if c.is_nominal and (c.values < 0).any()]


def test_covertype_in_file_order_begins_as_the_file_does(data_folder):
    """Its first 15,120 rows are balanced by design: a seventh has the second class."""
    task = load("covertype-file-order", data_folder)
    assert (task.n_train, task.test.size) == (5_000, 25_000)
    assert task.table.labels[:15_120].sum() == 15_120 // 7


def test_equal_parts_are_equal(data_folder):
    for name, parts in (("german", 1_000), ("spambase", 4_601)):
        thirds, halves = (
            load(f"{name}-{of}", data_folder) for of in ("thirds", "halves")
        )
        (pair, _) = split("1:1", thirds.n_train).pairs
        sizes = (pair.train.size, pair.calibrate.size, thirds.test.size)
        assert max(sizes) - min(sizes) <= 1
        assert abs(halves.n_train - halves.test.size) <= 1
        assert thirds.table.n_rows == parts


@pytest.mark.parametrize(
    ("ratio", "once"), [("4:1", True), ("1:1", True), ("1:4", False)]
)
def test_every_row_calibrates_once_unless_one_fold_trains(ratio, once):
    assert split(ratio, 50).is_partition == once
