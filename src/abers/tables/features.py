"""Features: the columns that a classifier learns from, as one matrix of doubles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from abers.errors import InvalidParameter, InvalidTable
from abers.tables import arrow
from abers.tables.columns import column, trimmed_numerals, with_points
from abers.tables.formats import FORMATS
from abers.tables.rows import RowReader, find_roles, joined
from abers.tables.sources import InputTable, Scratch, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from abers.tables.formats.csv import Dialect
    from abers.tables.sources import Progress, StrPath
    from abers.validation import FloatArray

ALL = "all"
NUMBERS = (
    *(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
    *(pa.types.is_boolean, pa.types.is_null),
)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedFeatures:
    """Features and labels of a table, without the rows that lack a label or weight."""

    matrix: FloatArray  # a column for each feature, NaN where a value is missing
    names: list[str]
    is_text: list[bool]  # such features are codes, which only tell values apart
    labels: NDArray[np.bool_]
    weights: FloatArray | None
    n_rows: int
    n_missing: int


def load_features(
    files: StrPath | Sequence[StrPath],
    features: Sequence[str],
    *,
    label: str | None = None,
    positive: str | None = None,
    weight: str | None = None,
    drop_missing: bool = False,
    dialect: Dialect | None = None,
    progress: Progress | None = None,
) -> LoadedFeatures:
    r"""Read features and labels, all rows of them, into memory: 8 bytes a value.

    Features are columns, or several in one text, with commas between them; or "all":
    all columns but those of labels and weights. In a file of text, a column is numbers
    if all its values are; elsewhere its type says so.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from abers.tables.features import load_features
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "rows.csv")
    ...     _ = path.write_text("age,town,y\n30,Ulm,0\nNA,Rom,1\n50,Ulm,1\n")
    ...     rows = load_features(path, ["all"])
    >>> rows.names, rows.is_text
    (['age', 'town'], [False, True])
    >>> rows.matrix
    array([[30.,  0.],
           [nan,  1.],
           [50.,  0.]])
    """
    with Scratch() as scratch:
        table = InputTable(files, scratch, dialect, whole=True)
        named = {"label": label, "weight": weight}
        roles = find_roles(table, named, positive=positive)
        names = _chosen(table, features, [role.column for role in roles.values()])
        table.check_types()
        reader = RowReader(
            table,
            roles,
            purpose="train",
            others=names,
            drop_missing=drop_missing,
            progress=progress,
        )
        values, columns = [], []
        for rows in reader:
            values.append(rows.values)
            columns.append(rows.columns(names))
        reader.check_any("train on")
        found = joined(values)
        matrix, is_text = _matrix(columns, names, table)
        return LoadedFeatures(
            matrix=matrix,
            names=names,
            is_text=is_text,
            labels=found["label"] == 1,
            weights=found.get("weight"),
            n_rows=reader.n_rows,
            n_missing=reader.n_missing,
        )


def _chosen(
    table: InputTable, wanted: Sequence[str], others: Sequence[str]
) -> list[str]:
    """Return the features that are meant."""
    if list(wanted) == [ALL] and ALL not in table.columns:
        found = [name for name in table.columns if name not in others]
    else:
        found = []
        for text in wanted:
            found += [text] if text in table.columns else text.split(",")
        found = [column(table, name.strip(), "feature") for name in found]
    if not found or len(set(found)) < len(found) or set(found) & set(others):
        msg = (
            "features must be columns of their own, each named once, and neither "
            f"labels nor weights; got {listed(found)}, and {listed(others)} beside."
        )
        raise InvalidParameter(msg)
    return found


def _matrix(
    parts: list[pa.RecordBatch], names: list[str], table: InputTable
) -> tuple[FloatArray, list[bool]]:
    """Turn columns into doubles, one after the other."""
    n_rows = sum(part.num_rows for part in parts)
    matrix = np.empty((n_rows, len(names)), order="F")
    is_text = []
    for place, name in enumerate(names):
        chunks = [arrow.plain(part.column(name)) for part in parts]
        values = pa.chunked_array(chunks).combine_chunks()
        untyped = None if FORMATS[table.format].is_typed else table.dialect
        found = _as_numbers(values, untyped)
        is_text.append(found is None)
        if found is None:
            found = _as_codes(values, name)
        if np.isinf(found).any():
            row = int(np.isinf(found).argmax()) + 1
            msg = (
                f"column {name!r} must be finite to train on; "
                f"got {found[row - 1].item()!r} in row {row}."
            )
            raise InvalidTable(msg)
        matrix[:, place] = found
    return matrix, is_text


def _as_numbers(values: pa.Array, untyped: Dialect | None) -> FloatArray | None:
    """Return doubles, NaN where one is missing; None if they are text.

    Without a type, what is a number is a matter of its dialect.
    """
    kind = values.type
    if pa.types.is_string(kind) and untyped is not None:
        try:
            numerals = trimmed_numerals(with_points(values, untyped))
            values = numerals.cast(pa.float64())
        except pa.ArrowInvalid:
            return None
    elif not any(is_kind(kind) for is_kind in NUMBERS):
        return None
    elif pa.types.is_boolean(kind):
        values = values.cast(pa.uint8())
    return arrow.filled(values.cast(pa.float64(), safe=False), np.nan)


def _as_codes(values: pa.Array, name: str) -> FloatArray:
    """Return a number for each distinct text, NaN where it is missing."""
    if not pa.types.is_string(values.type):
        msg = (
            f"column {name!r} must hold numbers or text to train on; it holds "
            f"{values.type}. Leave it out of --features."
        )
        raise InvalidTable(msg)
    values = arrow.without(values, arrow.is_among(values, arrow.texts("")))
    return arrow.filled(values.dictionary_encode().indices.cast(pa.float64()), np.nan)
