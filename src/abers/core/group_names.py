"""Names of groups: a column of any library as plain Python objects of one type."""

from __future__ import annotations

from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from abers import validation
from abers.errors import InvalidData, InvalidType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.validation import IntArray

K = TypeVar("K")
Group = str | int | float  # and bool, which is an int
TYPES = (str, bool, int, float)


def as_groups(values: object, *, fitted: type | None = None) -> list[Group | None]:
    """Return the group of each row as a plain Python object, None where missing.

    All must have one type that compares with the fitted type: a column of integers with
    a missing value often becomes floats.
    """
    groups = _as_list(values)
    if not set(map(type, groups)) <= {str, bool, int}:
        groups = [_as_group(value, row) for row, value in enumerate(groups)]
    types = dict.fromkeys(map(type, groups))  # in order of appearance
    types.pop(type(None), None)
    wanted = fitted or next(iter(types), str)
    wrong = types.keys() - ({int, float} if fitted in {int, float} else {wanted})
    if wrong:
        row = next(row for row, group in enumerate(groups) if type(group) in wrong)
        why = "as those of the rule set" if fitted else "as the first one is"
        msg = (
            f"groups must be {wanted.__name__}, {why}; got {groups[row]!r} "
            f"at row {row}. Convert the column to one type."
        )
        raise InvalidType(msg)
    return groups


def rows_by_group(groups: Sequence[K]) -> dict[K, IntArray]:
    """Return the row numbers of each group, ascending."""
    codes = {group: code for code, group in enumerate(dict.fromkeys(groups))}
    code_of_row = np.fromiter(map(codes.__getitem__, groups), np.int64, len(groups))
    order = np.argsort(code_of_row, kind="stable")
    stops = np.cumsum(np.bincount(code_of_row))[:-1]
    return dict(zip(codes, np.split(order, stops), strict=False))  # [] has one part


def refuse_missing_groups(rows: IntArray, size: int) -> None:
    """Raise if any row has no group."""
    if rows.size:
        msg = (
            f"groups must not be missing; got none in {rows.size} of {size} rows, "
            f"first at row {rows[0]}. Drop these rows, or give them a group of their "
            "own."
        )
        raise InvalidData(msg)


def _as_list(values: object) -> list[Any]:
    """Convert a column of any library to a list."""
    if isinstance(values, list | tuple):
        return list(values)
    if not isinstance(values, np.ndarray):
        series = validation.as_series(values, "groups")
        for name in ("tolist", "to_list"):  # pandas, polars
            if hasattr(series, name):
                return list(getattr(series, name)())
        values = np.asarray(series)
    if values.ndim != 1:
        msg = (
            "groups must be one column of names; "
            f"got {shortened(values.tolist())} of shape {values.shape}."
        )
        raise InvalidData(msg)
    if values.dtype.kind in "mM":  # nanoseconds would become integers
        msg = f"groups must be text, numbers or booleans; got {values.dtype}."
        raise InvalidType(msg)
    return cast("list[Any]", values.tolist())


def _as_group(value: Any, row: int) -> Group | None:
    """Convert an object to a group name: numpy scalars become Python objects."""
    name = value.item() if isinstance(value, np.generic) else value
    if name is None or type(name).__name__ in {"NAType", "NaTType"}:  # pandas
        return None
    if type(name) not in TYPES:
        msg = (
            "groups must be text, numbers or booleans; "
            f"got {shortened(value)} at row {row}."
        )
        raise InvalidType(msg)
    if type(name) is float:
        return None if np.isnan(name) else name + 0.0  # one kind of zero
    return cast("Group", name)
