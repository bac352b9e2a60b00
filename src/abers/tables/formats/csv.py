"""Delimited text: CSV and its kin, read as text and written as it was.

No type is guessed: a column of numbers that happens to begin with integers is still a
column of whatever follows. All columns are read as text; those that must be numbers are
made numbers where they are used.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from abers.errors import InvalidTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from abers.tables.formats import Reader
    from abers.tables.predict import Sink
    from abers.tables.sources import Scratch, Source

DELIMITERS = ",\t;|"
BLOCK = 2**22  # bytes read at once


class DelimitedReader:
    """A table of text, whose first line names the columns."""

    n_rows = None

    def __init__(
        self, source: Source, _scratch: Scratch, *, delimiter: str | None = None
    ) -> None:
        self._source = source
        text = _beginning(source).lstrip("\r\n")
        self.delimiter = delimiter or _delimiter(text)
        names = _first_row(source, text, self.delimiter)
        if not names:
            msg = f"{source.name} must begin with names of columns; it is empty."
            raise InvalidTable(msg)
        self.schema = pa.schema([(name, pa.string()) for name in names])

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, all columns as text."""
        import pyarrow.csv as pa_csv

        names = self.schema.names
        try:
            with self._source.open() as stream:
                yield from pa_csv.open_csv(
                    pa.PythonFile(stream, mode="r"),
                    # One thread: only then does an error name its row.
                    read_options=pa_csv.ReadOptions(
                        block_size=BLOCK, use_threads=False
                    ),
                    parse_options=pa_csv.ParseOptions(
                        delimiter=self.delimiter,
                        newlines_in_values=True,
                        # In a single column, an empty line is a missing value.
                        ignore_empty_lines=len(names) > 1,
                    ),
                    convert_options=pa_csv.ConvertOptions(
                        column_types=self.schema,
                        strings_can_be_null=False,
                        include_columns=columns or names,
                    ),
                )
        except pa.ArrowInvalid as cause:
            raise InvalidTable(_explained(self._source, str(cause))) from cause


class DelimitedWriter:
    """Write rows as lines of text, quoted where they must be.

    Rows that were read as such text keep the delimiter they came with.
    """

    def __init__(
        self,
        file: Sink,
        schema: pa.Schema,
        origin: Reader | None,
        *,
        delimiter: str | None = None,
    ) -> None:
        theirs: str = getattr(origin, "delimiter", ",")
        self._file = file
        self._delimiter = delimiter or theirs
        self._pattern = f'["\r\n{re.escape(self._delimiter)}]'  # what needs quotes
        marks = ('"', "\r", "\n", self._delimiter)
        self._marks = [mark.encode() for mark in marks]
        self._nothing, self._quote, _, self._end, self._between = _texts("", *marks)
        for field in schema:
            if pa.types.is_nested(field.type):
                msg = (
                    f"column {field.name!r} must be numbers or text to be written as "
                    f"text; it is {field.type}. Write Parquet or JSON lines."
                )
                raise InvalidTable(msg)
        names = [_texts(name) for name in schema.names]
        self.write(pa.record_batch(names, schema.names))

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        if not batch.num_rows:
            return
        cells = [self._cells(column) for column in batch.columns]
        lines = pc.binary_join_element_wise(*cells, self._between)
        ended = pc.binary_join_element_wise(lines, self._nothing, self._end)
        self._file.write(_text_of(ended))

    def close(self) -> None:
        """Nothing is held back."""

    def _cells(self, column: pa.Array) -> pa.Array:
        """Return text as it stands between delimiters; nothing if it is missing."""
        try:
            cells = pc.fill_null(column.cast(pa.string()), self._nothing)
        except pa.ArrowException as cause:
            msg = (
                f"columns must be numbers or text to be written as text; a value of "
                f"type {column.type} is not. Write Parquet or JSON lines."
            )
            raise InvalidTable(msg) from cause
        if not any(mark in _text_of(cells) for mark in self._marks):
            return cells
        special = pc.match_substring_regex(cells, self._pattern)
        doubled = pc.replace_substring(cells, '"', '""')
        quote = self._quote
        quoted = pc.binary_join_element_wise(quote, doubled, quote, self._nothing)
        return pc.if_else(special, quoted, cells)


def _texts(*texts: str) -> pa.Array:
    """Return texts as Arrow's; `pa.array` and `pa.scalar` would load pandas."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)


def _text_of(cells: pa.Array) -> bytes:
    """Return all cells, end to end; looking through these is fastest."""
    _, offsets, text = cells.buffers()
    ends = np.frombuffer(offsets, np.int32)[cells.offset :][[0, len(cells)]]
    return bytes(memoryview(text)[slice(*ends)]) if text else b""


def _beginning(source: Source) -> str:
    """Return the beginning of a file as text."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()  # may end within a letter
    try:
        return decoder.decode(source.head())
    except UnicodeDecodeError as cause:
        raise InvalidTable(_explained(source, "invalid UTF8 data")) from cause


def _delimiter(text: str) -> str:
    """Return the delimiter that a header has most of, outside of quotes."""
    header = re.sub('"[^"]*"', "", text).partition("\n")[0]
    return max(DELIMITERS, key=header.count)


def _first_row(source: Source, text: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    except csv.Error as cause:
        raise InvalidTable(_explained(source, str(cause))) from cause


def _explained(source: Source, said: str) -> str:
    """Turn what the parser says into a sentence."""
    if found := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", said):
        row, expected, got = map(int, found.groups())
        return (
            f"{source.name} must have {expected} values in each row, as its first line "
            f"has; got {got} in row {row - 1}."
        )
    if "UTF8" in said:
        return f"{source.name} must be text in UTF-8; it is not. Convert it first."
    return f"{source.name} must be delimited text; {said}."
