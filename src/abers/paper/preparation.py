"""Preparation: mixed columns as numbers, by what the training rows say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from abers.paper.columns import Column, Table
    from abers.validation import FloatArray, IntArray


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
    def of(cls, table: Table, rows: IntArray) -> Preparation:
        """Learn from the training rows of a table.

        Parameters
        ----------
        table : Table
            All rows.
        rows : ndarray of int
            The training rows.

        Returns
        -------
        Preparation
            A missing number becomes their mean, a missing name their mode; of equally
            frequent names the first.

        Examples
        --------
        >>> import numpy as np
        >>> from abers.paper.columns import Table, nominal_column, numeric_column
        >>> from abers.paper.preparation import Preparation
        >>> columns = (
        ...     numeric_column("age", ["1", "3", "?"]),
        ...     nominal_column("job", ["a", "b", "?"]),
        ... )
        >>> table = Table(columns, np.array([0, 1, 1]))
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

    def apply(self, table: Table) -> Inputs:
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


def _kinds(table: Table) -> tuple[list[Column], list[Column]]:
    numeric = [column for column in table.columns if not column.is_nominal]
    nominal = [column for column in table.columns if column.is_nominal]
    return numeric, nominal


def _indicators(codes: IntArray, levels: tuple[int, ...]) -> list[FloatArray]:
    return [
        (column[:, np.newaxis] == np.arange(count)).astype(np.float64)
        for column, count in zip(codes.T, levels, strict=True)
    ]


def _mean(column: Column, rows: IntArray) -> float:
    known = column.values[rows]
    known = known[~np.isnan(known)]
    return float(known.mean()) if known.size else 0.0


def _mode(column: Column, rows: IntArray) -> int:
    known = column.values[rows]
    return int(np.bincount(known[known >= 0].astype(np.int64), minlength=1).argmax())
