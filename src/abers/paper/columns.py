"""Columns: a data set as the underlying algorithms take it, numbers and names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers.errors import LengthMismatch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from abers.validation import FloatArray, IntArray

MISSING = "?"


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One attribute: numbers (NaN is missing), or the position of each level."""

    name: str
    values: FloatArray | IntArray
    levels: tuple[str, ...] = ()  # of a nominal column; -1 among values is missing

    @property
    def is_nominal(self) -> bool:
        """Whether the values are names."""
        return bool(self.levels)


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Attributes and labels 0 … C - 1 of a data set, in the order of its file."""

    columns: tuple[Column, ...]
    labels: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.labels.size

    def take(self, rows: NDArray[np.int64]) -> Table:
        """Return the rows asked for, in the order asked for."""
        columns = (Column(c.name, c.values[rows], c.levels) for c in self.columns)
        return Table(tuple(columns), self.labels[rows])


def numeric_column(name: str, values: Sequence[str] | FloatArray) -> Column:
    """Read numbers.

    Examples
    --------
    >>> from abers.paper.columns import numeric_column
    >>> numeric_column("age", ["39", "?"]).values
    array([39., nan])
    """
    numbers = [np.nan if value == MISSING else float(value) for value in values]
    return Column(name, np.array(numbers))


def nominal_column(name: str, values: Sequence[str]) -> Column:
    """Read names; levels are those that occur, in alphabetical order.

    Examples
    --------
    >>> from abers.paper.columns import nominal_column
    >>> column = nominal_column("sex", ["Male", "Female", "?"])
    >>> column.levels, column.values
    (('Female', 'Male'), array([ 1,  0, -1]))
    """
    levels = tuple(sorted(set(values) - {MISSING}))
    place = {level: position for position, level in enumerate(levels)} | {MISSING: -1}
    return Column(name, np.array([place[value] for value in values]), levels)


def table_of(
    names: Sequence[str],
    nominal: set[str],
    rows: Sequence[Sequence[str]],
    labels: IntArray,
) -> Table:
    """Make a table of rows of text; `nominal` names the columns of names."""
    widths = {len(row) for row in rows}
    if widths != {len(names)}:
        msg = f"every row must have {len(names)} attributes; got {sorted(widths)}."
        raise LengthMismatch(msg)
    columns = tuple(
        (nominal_column if name in nominal else numeric_column)(name, values)
        for name, values in zip(names, zip(*rows, strict=True), strict=True)
    )
    return Table(columns, labels)
