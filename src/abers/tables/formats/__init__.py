"""Formats: what reads and writes tables; a new one is a file here, and an entry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from abers.tables.formats.arrow import ArrowReader, ArrowWriter
from abers.tables.formats.csv import DelimitedReader, DelimitedWriter
from abers.tables.formats.json import RAW, JsonReader, JsonWriter
from abers.tables.formats.parquet import ParquetReader, ParquetWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from abers.tables.formats.csv import Dialect
    from abers.tables.predict import Sink
    from abers.tables.sources import Scratch, Source


class Reader(Protocol):
    """A file of rows, which can be read as often as one likes."""

    @property
    def schema(self) -> pa.Schema:
        """The columns, and their types."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known before they are read."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, in order; all columns unless some are named."""


class Writer(Protocol):
    """A file of rows that is being written."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write what comes after the last row."""


class Format(NamedTuple):
    """How a format is read, written and recognised."""

    reader: Callable[[Source, Scratch, Dialect], Reader]
    # The reader is that of the rows, if they came in this format.
    writer: Callable[[Sink, pa.Schema, Reader | None, Dialect], Writer]
    endings: tuple[str, ...]  # of names, the usual one first
    magic: bytes | None = None  # first bytes that tell more than any name
    openings: tuple[bytes, ...] = ()  # first characters, if the name tells nothing
    is_typed: bool = True  # or else all columns are text
    is_text: bool = True  # which a terminal can show
    raw: str | None = None  # column to ask for rows as they were written
    # Reads names and types of columns from all rows, if the reader does not.
    whole_reader: Callable[[Source, Scratch, Dialect], Reader] | None = None


FORMATS = {
    "csv": Format(DelimitedReader, DelimitedWriter, (".csv", ".txt"), is_typed=False),
    "tsv": Format(
        partial(DelimitedReader, delimiter="\t"),
        partial(DelimitedWriter, delimiter="\t"),
        (".tsv", ".tab"),
        is_typed=False,
    ),
    "parquet": Format(
        ParquetReader, ParquetWriter, (".parquet", ".pq"), magic=b"PAR1", is_text=False
    ),
    "arrow": Format(
        ArrowReader,
        ArrowWriter,
        (".arrow", ".feather"),
        magic=b"ARROW1",
        is_text=False,
    ),
    "json": Format(
        JsonReader,
        JsonWriter,
        (".jsonl", ".json", ".ndjson"),
        openings=(b"{", b"["),
        raw=RAW,
        whole_reader=partial(JsonReader, whole=True),
    ),
}
DEFAULT = "csv"  # what nothing else claims
