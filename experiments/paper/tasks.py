"""Tasks: training and test rows, how they are split, and columns as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import KFold

from abers.errors import InvalidParameter
from experiments.paper import data
from experiments.paper.data import DataTable

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from abers.validation import FloatArray, IntArray
    from experiments.paper.data import Attribute


# Tasks: the data sets as the paper splits them into training and test rows.

SEED = 0  # of every permutation
ADULT_TRAIN = 32_561  # the original split
COMPLETE_TRAIN = 30_162  # of those, rows that lack nothing
SMALL_TRAIN = 5_000  # of Tables 1 and 2, and of covertype
LARGEST_COVER = 1  # the second class of covertype, the largest


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A binary problem: the first rows train and calibrate, the others test."""

    name: str
    table: DataTable
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
    make: Callable[[DataTable], tuple[DataTable, int]]
    in_file_order: bool = False  # of covertype, whose rows are drawn otherwise


def _two_thirds(table: DataTable) -> tuple[DataTable, int]:
    return table, 2 * table.n_rows // 3


def _permuted(table: DataTable) -> DataTable:
    return table.take(np.random.default_rng(SEED).permutation(table.n_rows))


def _largest_cover(table: DataTable) -> tuple[DataTable, int]:
    labels = (table.labels == LARGEST_COVER).astype(np.int64)
    return DataTable(table.columns, labels), SMALL_TRAIN


def _without_gaps(table: DataTable) -> tuple[DataTable, int]:
    """Drop the rows with a missing value."""
    known = np.ones(table.n_rows, np.bool_)
    for column in table.columns:
        gaps = column.values < 0 if column.is_nominal else np.isnan(column.values)
        known &= ~gaps
    return table.take(np.flatnonzero(known)), COMPLETE_TRAIN


def _parts(name: str, kept: int, parts: int) -> Recipe:
    """Cut a set into equal parts of which all but the last train."""
    words = {2: "two equal parts: one trains", 3: "three equal parts: two train"}
    if name == "covertype":  # its 30,000 rows are random as they are
        n_train = kept * data.COVERTYPE_ROWS // parts
        how = f"30,000 random rows (seed 0) in {words[parts]}"
        return Recipe(name, how, lambda table: (_largest_cover(table)[0], n_train))
    how = f"permuted (seed 0), in {words[parts]}"
    return Recipe(
        name, how, lambda table: (_permuted(table), kept * table.n_rows // parts)
    )


SIX = ("adult", "covertype", "insurance", "bank", "spambase", "german")
THIRDS, HALVES = (tuple(f"{name}-{of}" for name in SIX) for of in ("thirds", "halves"))
COMPLETE = "adult-complete"
IN_FILE_ORDER = ("covertype-file-order", "bank-file-order")
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
        "permuted (seed 0), because the file is in order of time; two thirds train",
        lambda table: _two_thirds(_permuted(table)),
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
    COMPLETE: Recipe(
        "adult",
        "the original split without rows that lack a value: 30,162 train, 15,060 test",
        _without_gaps,
    ),
    "covertype-file-order": Recipe(
        "covertype",
        "the first 30,000 rows of the file, class 2 against the rest; 5,000 train",
        _largest_cover,
        in_file_order=True,
    ),
    "bank-file-order": Recipe(
        "bank",
        "file order, which is by date; the first two thirds train",
        _two_thirds,
    ),
    **{task: _parts(name, 2, 3) for name, task in zip(SIX, THIRDS, strict=True)},
    **{task: _parts(name, 1, 2) for name, task in zip(SIX, HALVES, strict=True)},
}


def load(name: str, folder: str | os.PathLike[str]) -> Task:
    """Make a task of the raw files."""
    recipe = RECIPES[name]
    table = data.load(recipe.data, folder, in_file_order=recipe.in_file_order)
    return Task(name, *recipe.make(table))


# Splits: which training rows train and which calibrate, for each ratio.

ALL = "all"
RATIOS = ("1:1", "2:1", "3:1", "4:1", ALL)
WIDE_RATIOS = (
    *(f"1:{b}" for b in range(9, 1, -1)),
    *(f"{a}:1" for a in range(1, 10)),
)


@dataclass(frozen=True, slots=True, eq=False)
class RowPair:
    """Rows that train the algorithm, and rows that calibrate its scores."""

    train: IntArray
    calibrate: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The pairs of a ratio: all K of them for CVAP, one of them for the others."""

    pairs: tuple[RowPair, ...]
    single: int  # which pair serves the methods that split once

    @property
    def is_crossed(self) -> bool:
        """Whether there are folds to cross over."""
        return len(self.pairs) > 1

    @property
    def is_partition(self) -> bool:
        """Whether every training row calibrates in one fold, and in no other."""
        rows = np.concatenate([pair.calibrate for pair in self.pairs])
        return np.unique(rows).size == rows.size


def split(ratio: str, n_train: int) -> Split:
    """Split training rows by a ratio of proper training to calibration rows.

    "4:1": K contiguous folds, each calibrates once, the last one for methods that split
    once. "1:4": each fold trains once and the others calibrate; the first one trains
    for methods that split once. "all": all rows do both, and there is nothing to cross.
    """
    rows = np.arange(n_train)
    if ratio == ALL:
        return Split((RowPair(rows, rows),), 0)
    parts = [int(part) for part in ratio.split(":") if part.isdigit()]
    if len(parts) != 2 or min(parts) != 1:
        msg = f"ratio must be 'all', '1:b' or 'a:1'; got {ratio!r}."
        raise InvalidParameter(msg)
    training, calibrating = parts
    folds = KFold(training + calibrating).split(rows)
    if training >= calibrating:
        pairs = tuple(RowPair(rest, fold) for rest, fold in folds)
        return Split(pairs, len(pairs) - 1)
    return Split(tuple(RowPair(fold, rest) for rest, fold in folds), 0)


# Preparation: mixed columns as numbers, by what the training rows say.


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """What an algorithm may look at: rows without a gap."""

    numeric: FloatArray  # (n, p), standardised by the training rows
    codes: IntArray  # (n, q), positions of levels
    levels: tuple[int, ...]  # how many each of the q columns has
    design: FloatArray  # the numbers, then an indicator for each level


@dataclass(frozen=True, slots=True, eq=False)
class Preparation:
    """Means, spreads and modes of the training rows, as Weka's filter takes them."""

    means: FloatArray
    spreads: FloatArray
    modes: IntArray

    @classmethod
    def of(cls, table: DataTable, rows: IntArray) -> Preparation:
        """Learn from the training rows of a table.

        A missing number becomes their mean, a missing name their mode, and of equally
        frequent names the first.

        Examples
        --------
        >>> import numpy as np
        >>> from experiments.paper.data import DataTable, nominal_column, numeric_column
        >>> from experiments.paper.tasks import Preparation
        >>> columns = (
        ...     numeric_column("age", ["1", "3", "?"]),
        ...     nominal_column("job", ["a", "b", "?"]),
        ... )
        >>> table = DataTable(columns, np.array([0, 1, 1]))
        >>> inputs = Preparation.of(table, np.array([0, 1])).apply(table)
        >>> inputs.design  # age 2 is the mean, job a the mode
        array([[-1.,  1.,  0.],
               [ 1.,  0.,  1.],
               [ 0.,  1.,  0.]])
        """
        numeric, nominal = _kinds(table)
        means = np.array([_mean(column, rows) for column in numeric])
        filled = [
            np.where(np.isnan(column.values), mean, column.values)[rows]
            for column, mean in zip(numeric, means, strict=True)
        ]
        spreads = np.array([values.std() for values in filled])
        modes = [_mode(column, rows) for column in nominal]
        return cls(
            means,
            np.where(spreads > 0, spreads, 1.0),
            np.array(modes, dtype=np.int64),
        )

    def apply(self, table: DataTable) -> Inputs:
        """Fill the gaps of all rows and standardise their numbers."""
        numeric, nominal = _kinds(table)
        numbers = np.empty((table.n_rows, len(numeric)))
        for j, column in enumerate(numeric):
            filled = np.where(np.isnan(column.values), self.means[j], column.values)
            numbers[:, j] = (filled - self.means[j]) / self.spreads[j]
        codes = np.empty((table.n_rows, len(nominal)), dtype=np.int64)
        for j, column in enumerate(nominal):
            codes[:, j] = np.where(column.values < 0, self.modes[j], column.values)
        levels = tuple(len(column.levels) for column in nominal)
        design = np.hstack([numbers, *_indicators(codes, levels)])
        return Inputs(numbers, codes, levels, design)


def _kinds(table: DataTable) -> tuple[list[Attribute], list[Attribute]]:
    numeric = [column for column in table.columns if not column.is_nominal]
    nominal = [column for column in table.columns if column.is_nominal]
    return numeric, nominal


def _indicators(codes: IntArray, levels: tuple[int, ...]) -> list[FloatArray]:
    return [
        (column[:, np.newaxis] == np.arange(count)).astype(np.float64)
        for column, count in zip(codes.T, levels, strict=True)
    ]


def _mean(column: Attribute, rows: IntArray) -> float:
    known = column.values[rows]
    known = known[~np.isnan(known)]
    return float(known.mean()) if known.size else 0.0


def _mode(column: Attribute, rows: IntArray) -> int:
    known = column.values[rows]
    return int(np.bincount(known[known >= 0].astype(np.int64), minlength=1).argmax())
