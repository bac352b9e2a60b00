"""Gaps and scales are learnt from the rows that train, and from no others."""

import numpy as np

from abers.paper import data
from abers.paper.tasks import Preparation


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
