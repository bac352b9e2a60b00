"""JSON lines: an object a row.

The keys and types of all objects are gathered before any row is read, so that the type
of a column never depends on which rows come first.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from abers.errors import InvalidTable
from abers.tables import arrow

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from abers.tables.formats import Reader
    from abers.tables.formats.csv import Dialect
    from abers.tables.predict import Sink
    from abers.tables.sources import Scratch, Source

RAW = "\0raw"  # name of the column that holds objects as they were written
BATCH_ROWS = 2**14
TYPES: dict[frozenset[type], pa.DataType] = {
    frozenset(): pa.null(),
    frozenset([bool]): pa.bool_(),
    frozenset([int]): pa.int64(),
    frozenset([float]): pa.float64(),
    frozenset([int, float]): pa.float64(),
    frozenset([str]): pa.string(),
}
LONE = re.compile("[\ud800-\udfff]")  # half of a pair, which is no text in any encoding
LARGEST = {pa.int64(): 2**63, pa.float64(): 2**53}


class JsonReader:
    """A file of objects, one a line."""

    def __init__(self, source: Source, scratch: Scratch, _dialect: Dialect) -> None:
        self._source = source.on_disk(scratch)  # read twice
        self.n_rows = 0
        types: dict[str, set[type]] = {}
        largest: dict[str, int] = {}
        for _, row in self._rows():
            self.n_rows += 1
            if not row.keys() <= types.keys():
                self._check_new_names(row.keys() - types.keys(), self.n_rows)
            for key, value in row.items():
                kinds = types.setdefault(key, set())
                if value is not None:
                    kinds.add(type(value))
                    if type(value) is int:
                        largest[key] = max(abs(value), largest.get(key, 0))
        if not types:
            msg = f"{source.name} must hold an object in each line; it holds none."
            raise InvalidTable(msg)
        self.schema = pa.schema(
            [(key, _type(kinds, largest.get(key, 0))) for key, kinds in types.items()]
        )
        # What has no type of its own remains JSON.
        self._mixed = {
            key
            for key, kinds in types.items()
            if kinds != {str} and pa.types.is_string(self.schema.field(key).type)
        }

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows; the column `RAW` is each object as it was written."""
        names = self.schema.names if columns is None else list(columns)
        rows = self._rows()
        first = 1
        while batch := list(islice(rows, BATCH_ROWS)):
            arrays = [self._array(name, batch, first) for name in names]
            yield pa.record_batch(arrays, names)
            first += len(batch)

    def _array(
        self, name: str, rows: list[tuple[str, dict[str, Any]]], first: int
    ) -> pa.Array:
        if name == RAW:
            return arrow.column([text for text, _ in rows], pa.string())
        values = [row.get(name) for _, row in rows]
        if inf in values or -inf in values:
            self._check_infinities(name, values, rows, first)
        if name in self._mixed:
            values = [None if v is None else json.dumps(v) for v in values]
        try:
            return arrow.column(values, self.schema.field(name).type)
        except UnicodeEncodeError as cause:
            row = next(i for i, v in enumerate(values) if v and LONE.search(v))
            msg = (
                f"column {name!r} must hold text; got half of a surrogate pair, "
                f"{values[row]!r:.40}, in row {first + row} of {self._source.name}."
            )
            raise InvalidTable(msg) from cause

    def _rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        with self._source.open() as stream:
            for number, line in enumerate(stream, start=1):
                if not line.strip():
                    continue
                try:
                    text = line.decode().strip()
                    row = json.loads(text)
                except (ValueError, RecursionError) as cause:
                    raise self._refusal(number, str(cause)) from cause
                if not isinstance(row, dict):
                    raise self._refusal(number, f"got {text:.40}")
                yield text, row

    def _check_infinities(
        self,
        name: str,
        values: list[Any],
        rows: list[tuple[str, dict[str, Any]]],
        first: int,
    ) -> None:
        """Refuse numbers that are infinite only because they are too large."""
        for i, (text, _) in enumerate(rows):
            if values[i] in (inf, -inf) and "Infinity" not in text:
                msg = (
                    f"column {name!r} must hold numbers below 1.8e308, the largest "
                    f"double; row {first + i} of {self._source.name} has a larger one."
                )
                raise InvalidTable(msg)

    def _check_new_names(self, names: set[str], row: int) -> None:
        """Refuse names of columns that are no text."""
        if wrong := sorted(filter(LONE.search, names)):
            msg = (
                f"{self._source.name} must name columns by text; got half of a "
                f"surrogate pair, {wrong[0]!r:.40}, in row {row}."
            )
            raise InvalidTable(msg)

    def _refusal(self, number: int, reason: str) -> InvalidTable:
        must = f"{self._source.name} must hold a JSON object in each line"
        return InvalidTable(f"{must}; line {number} does not: {reason}.")


class JsonWriter:
    """Write rows as objects, one a line."""

    def __init__(
        self,
        file: Sink,
        _schema: pa.Schema,
        _origin: Reader | None,
        _dialect: Dialect,
    ) -> None:
        self._file = file

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows; an object that came as it was is kept, and added to."""
        names = batch.schema.names
        if RAW not in names:
            lines = [_dumped(row) for row in batch.to_pylist()]
        else:
            added = batch.drop_columns([RAW]).to_pylist()
            texts = batch.column(RAW).to_pylist()
            lines = [_joined(*pair) for pair in zip(texts, added, strict=True)]
        self._file.write("".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Nothing is held back."""


def _type(kinds: set[type], largest: int) -> pa.DataType:
    found = TYPES.get(frozenset(kinds), pa.string())
    return found if largest < LARGEST.get(found, largest + 1) else pa.string()


def _joined(text: str, row: dict[str, Any]) -> str:
    """Add to an object, whose text is kept."""
    start = text[:-1].rstrip()
    return f"{start}{'' if start == '{' else ', '}{_dumped(row)[1:]}"


def _dumped(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, default=str)
