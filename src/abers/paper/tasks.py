"""Tasks: the data sets as the paper splits them into training and test rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers.paper import data
from abers.paper.columns import Table

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from abers.validation import IntArray

SEED = 0  # of every permutation
ADULT_TRAIN = 32_561  # the original split
SMALL_TRAIN = 5_000  # of Tables 1 and 2, and of covertype
LARGEST_COVER = 1  # the second class of covertype, the largest


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A binary problem: the first rows train and calibrate, the others test."""

    name: str
    table: Table
    n_train: int

    @property
    def test(self) -> IntArray:
        """The test rows."""
        return np.arange(self.n_train, self.table.n_rows)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a task is made of a data set."""

    data: str
    how: str  # one sentence for readers
    make: Callable[[Table], tuple[Table, int]]


def _two_thirds(table: Table) -> tuple[Table, int]:
    return table, 2 * table.n_rows // 3


def _permuted(table: Table) -> Table:
    return table.take(np.random.default_rng(SEED).permutation(table.n_rows))


def _largest_cover(table: Table) -> tuple[Table, int]:
    labels = (table.labels == LARGEST_COVER).astype(np.int64)
    return Table(table.columns, labels), SMALL_TRAIN


RECIPES = {
    "adult": Recipe(
        "adult",
        "the original split: 32,561 rows to train, 16,281 to test",
        lambda table: (table, ADULT_TRAIN),
    ),
    "covertype": Recipe(
        "covertype",
        "30,000 random rows (seed 0), class 2 against the rest; the first 5,000 train",
        _largest_cover,
    ),
    "insurance": Recipe(
        "insurance",
        "both files one after the other; the first two thirds train",
        _two_thirds,
    ),
    "bank": Recipe(
        "bank",
        "file order, which is by date; the first two thirds train",
        _two_thirds,
    ),
    "spambase": Recipe(
        "spambase",
        "permuted (seed 0), because the file is sorted by class; two thirds train",
        lambda table: _two_thirds(_permuted(table)),
    ),
    "german": Recipe(
        "german",
        "file order, a bad credit is positive; the first two thirds train",
        _two_thirds,
    ),
    "adult-5000": Recipe(
        "adult",
        "the first 5,000 rows train, the other 43,842 test: Tables 1 and 2",
        lambda table: (table, SMALL_TRAIN),
    ),
    "adult-permuted": Recipe(
        "adult",
        "all rows permuted (seed 0); the first 32,561 train",
        lambda table: (_permuted(table), ADULT_TRAIN),
    ),
    "bank-permuted": Recipe(
        "bank",
        "permuted (seed 0); the first two thirds train",
        lambda table: _two_thirds(_permuted(table)),
    ),
}
SIX = ("adult", "covertype", "insurance", "bank", "spambase", "german")


def load(name: str, folder: str | os.PathLike[str]) -> Task:
    """Make a task of the raw files.

    Parameters
    ----------
    name : str
        One of `RECIPES`.
    folder : path-like
        Holds a folder for each data set.

    Returns
    -------
    Task
        Split as its recipe says.
    """
    recipe = RECIPES[name]
    return Task(name, *recipe.make(data.load(recipe.data, folder)))
