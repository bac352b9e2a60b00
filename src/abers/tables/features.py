"""Features: the columns that a classifier learns from, as one matrix of doubles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from abers.errors import InvalidParameter, InvalidScores, InvalidTable
from abers.tables.columns import (
    ABSENT,
    MISSING,
    Gaps,
    Labels,
    column,
    filled,
    masses,
    plain,
)
from abers.tables.formats import FORMATS
from abers.tables.sources import Scratch
from abers.tables.table import Table, listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from abers.tables.sources import StrPath
    from abers.tables.table import Progress
    from abers.validation import FloatArray

ALL = "all"
NUMBERS = (
    *(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
    *(pa.types.is_boolean, pa.types.is_null),
)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedFeatures:
    """Features and labels of a table, without the rows that lack a label or weight.

    Attributes
    ----------
    matrix : ndarray of shape (n, d)
        A column for each feature; NaN where a value is missing. Text stands there as
        codes, which have no meaning but to tell values apart.
    names : list of str
        The features.
    is_text : list of bool
        Which of them are text.
    labels : ndarray of bool of shape (n,)
        Whether the label is the positive one.
    weights : ndarray of shape (n,), or None
        If asked for.
    n_rows, n_missing : int
        Rows of the table, and those left out.
    """

    matrix: FloatArray
    names: list[str]
    is_text: list[bool]
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
    progress: Progress | None = None,
) -> LoadedFeatures:
    r"""Read features and labels, all rows of them, into memory: 8 bytes a value.

    Parameters
    ----------
    files : path-like or sequence of path-like
        As for `fit_table`.
    features : sequence of str
        Columns, or several in one text, with commas between them; or "all": all columns
        but those of labels and weights.
    label : str, default=None
        Column; found by its usual name if only one has such a name.
    positive : str, default=None
        The positive label, if labels are not 0 and 1 or true and false.
    weight : str, default=None
        Column of weights.
    drop_missing : bool, default=False
        Leave out rows that lack a label or a weight; without it they are an error.
    progress : callable, default=None
        Called with the number of rows read, and of how many or None.

    Returns
    -------
    LoadedFeatures
        A matrix, and labels. In a file of text, a column is numbers if all its values
        are; elsewhere its type says so.

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
        table = Table(files, scratch)
        labels = Labels(column(table, label, "label"), positive)
        others = [labels.column]
        if weight is not None:
            others.append(column(table, weight, "weight"))
        chosen = _chosen(table, features, others)
        table.check_types()
        gaps = Gaps()
        parts: list[pa.RecordBatch] = []
        n_rows = 0
        ones, weights = [np.empty(0, np.bool_)], [np.empty(0)]
        for batch in table.batches([*chosen, *others], progress=progress):
            lacking = np.zeros(len(batch), dtype=np.bool_)
            codes = labels.codes(batch)
            gaps.note(batch, labels.column, codes == ABSENT, lacking)
            if weight is not None:
                values = masses(batch, weight)
                gaps.note(batch, weight, np.isnan(values), lacking)
                weights.append(values[~lacking])
            ones.append(codes[~lacking] == 1)
            rows = batch.columns.select(chosen)
            parts.append(rows.filter(pa.array(~lacking)) if lacking.any() else rows)
            n_rows += len(batch)
        if not drop_missing:
            gaps.refuse(n_rows, "train")
        labels.check_seen()
        y = np.concatenate(ones)
        if not y.size:
            why = "all its rows lack a value" if n_rows else "it has none"
            msg = f"{table.name} must have rows to train on; {why}."
            raise InvalidScores(msg)
        matrix, is_text = _matrix(parts, chosen, table)
        return LoadedFeatures(
            matrix=matrix,
            names=chosen,
            is_text=is_text,
            labels=y,
            weights=None if weight is None else np.concatenate(weights),
            n_rows=n_rows,
            n_missing=n_rows - y.size,
        )


def _chosen(table: Table, wanted: Sequence[str], others: Sequence[str]) -> list[str]:
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
    parts: list[pa.RecordBatch], names: list[str], table: Table
) -> tuple[FloatArray, list[bool]]:
    """Turn columns into doubles, one after the other."""
    n_rows = sum(part.num_rows for part in parts)
    matrix = np.empty((n_rows, len(names)), order="F")
    is_text = []
    for place, name in enumerate(names):
        chunks = [plain(part.column(name)) for part in parts]
        values = pa.chunked_array(chunks).combine_chunks()
        found = _as_numbers(values, untyped=not FORMATS[table.format].is_typed)
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


def _as_numbers(values: pa.Array, *, untyped: bool) -> FloatArray | None:
    """Return doubles, NaN where one is missing; None if they are text."""
    kind = values.type
    if pa.types.is_string(kind) and untyped:
        trimmed = pc.utf8_trim_whitespace(values)
        missing = pc.is_in(pc.utf8_lower(trimmed), pa.array(MISSING))
        try:
            values = pc.if_else(missing, None, trimmed).cast(pa.float64())
        except pa.ArrowInvalid:
            return None
    elif not any(is_kind(kind) for is_kind in NUMBERS):
        return None
    elif pa.types.is_boolean(kind):
        values = values.cast(pa.uint8())
    return filled(values.cast(pa.float64(), safe=False), np.nan)


def _as_codes(values: pa.Array, name: str) -> FloatArray:
    """Return a number for each distinct text, NaN where it is missing."""
    if not pa.types.is_string(values.type):
        msg = (
            f"column {name!r} must hold numbers or text to train on; it holds "
            f"{values.type}. Leave it out of --features."
        )
        raise InvalidTable(msg)
    values = pc.if_else(pc.equal(values, ""), None, values)
    return filled(values.dictionary_encode().indices.cast(pa.float64()), np.nan)
