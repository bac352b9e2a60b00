"""Writing: rows to a file of some format, atomically."""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from abers.errors import InvalidData, InvalidFile, OutputExists
from abers.storage.atomic import already_exists, replacing, target_of
from abers.tables.columns import filled, text_scalar
from abers.tables.files import STDIN, is_uri, named_format, sources_at
from abers.tables.json_lines import RAW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from abers.tables.files import Dialect, Reader

STDOUT = "-"
REAL = (pa.types.is_floating, pa.types.is_decimal)
NO_INTEGER = "[.en]"  # the text of a number that is not an integer


def check_output(path: str, *, force: bool, inputs: Iterable[str] = ()) -> None:
    """Raise if a file must not be overwritten, before any work is done."""
    if path == STDOUT:
        return
    if Path(path).is_fifo():  # the target of a link may not show this
        advice = " For standard output, say '-'." if path == "/dev/stdout" else ""
        msg = f"{path!r} must be a file; it is a pipe.{advice}"
        raise InvalidFile(msg)
    if is_uri(path):
        msg = (
            f"{path!r:.200} must be a path of this machine, where half of a file can "
            "be taken back; it is a URI. Write to a file, or to '-' and pipe it on."
        )
        raise InvalidFile(msg)
    target = target_of(path)
    if not target.parent.is_dir():
        given = Path(path).parent
        folder = target.parent if given.is_dir() else given  # of a link, or as named
        msg = f"the folder {str(folder)!r} must exist to write {path!r}; make it first"
        raise FileNotFoundError(errno.ENOENT, msg)
    for source in (file for each in inputs for file in sources_at(each)):
        if source.is_local and _is_same_file(source.path, target):
            msg = f"{path!r} must not be what is read; write to another file."
            raise OutputExists(msg)
    if target.exists() and not force:
        raise already_exists(path)


def _is_same_file(name: str, target: Path) -> bool:
    """Return whether a name is the target, also through links."""
    if name == STDIN or not target.exists() or not Path(name).exists():
        return False
    return target.samefile(name)


class Writer(Protocol):
    """A file of rows that is being written."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write the end of the file."""


class CsvWriter:
    """Write rows as lines of text, quoted where necessary.

    Rows that came from such text keep their delimiter and their other columns, and new
    numbers follow their format.
    """

    def __init__(
        self,
        file: Any,
        schema: pa.Schema,
        origin: Reader | None,
        dialect: Dialect,
        *,
        delimiter: str | None = None,
    ) -> None:
        theirs: str | None = getattr(origin, "delimiter", None)
        self._file = file
        self._dialect = dialect
        self._encoder = None
        if not dialect.is_utf_8:
            self._encoder = codecs.getincrementalencoder(dialect.encoding)()
        self._delimiter = theirs or delimiter or dialect.delimiter or ","
        self._pattern = f'["\r\n{re.escape(self._delimiter)}]'  # these need quotes
        self._marks = [mark.encode() for mark in ('"', "\r", "\n", self._delimiter)]
        self._nothing, self._quote = text_scalar(""), text_scalar('"')
        self._end, self._between = text_scalar("\n"), text_scalar(self._delimiter)
        for field in schema:
            if pa.types.is_nested(field.type):
                msg = (
                    f"column {field.name!r} must be numbers or text to be written as "
                    f"text; it is {field.type}. Write Parquet or JSON lines."
                )
                raise InvalidData(msg)
        header = self._delimiter.join(map(self._name, schema.names))
        self._file.write(self._encoded(f"{header}\n".encode()))

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        if not batch.num_rows:
            return
        cells = [self._cells(column) for column in batch.columns]
        lines = pc.binary_join_element_wise(*cells, self._between)
        ended = pc.binary_join_element_wise(lines, self._nothing, self._end)
        self._file.write(self._encoded(_text_of(ended)))

    def close(self) -> None:
        """Nothing to write at the end."""

    def _encoded(self, text: bytes) -> bytes:
        """Return UTF-8 text in the output encoding."""
        if self._encoder is None:
            return text
        try:
            return self._encoder.encode(text.decode())
        except UnicodeEncodeError as cause:
            msg = (
                f"text must have an encoding in {self._dialect.encoding.upper()} to be "
                f"written so; {cause.object[cause.start]!r} has none. Name another "
                "with --encoding, or write Parquet or JSON lines."
            )
            raise InvalidData(msg) from cause

    def _name(self, name: str) -> str:
        doubled = name.replace('"', '""')
        return f'"{doubled}"' if re.search(self._pattern, name) else name

    def _cells(self, column: pa.Array) -> pa.Array:
        """Return the text between delimiters; empty if missing."""
        try:
            cells = pc.coalesce(pc.cast(column, pa.string()), self._nothing)
        except pa.ArrowException as cause:
            msg = (
                f"columns must be numbers or text to be written as text; a value of "
                f"type {column.type} is not. Write Parquet or JSON lines."
            )
            raise InvalidData(msg) from cause
        if self._dialect.decimal != "." and any(is_a(column.type) for is_a in REAL):
            cells = pc.replace_substring(cells, ".", self._dialect.decimal)
        text = _text_of(cells)
        if not any(mark in text for mark in self._marks):
            return cells
        special = pc.match_substring_regex(cells, self._pattern)
        doubled = pc.replace_substring(cells, '"', '""')
        quote = self._quote
        quoted = pc.binary_join_element_wise(quote, doubled, quote, self._nothing)
        return pc.if_else(special, quoted, cells)


def _text_of(cells: pa.Array) -> bytes:
    """Return all cells end to end, which is the fastest form to search."""
    _, offsets, text = cells.buffers()
    ends = memoryview(offsets).cast("i")
    first, last = ends[cells.offset], ends[cells.offset + len(cells)]
    return bytes(memoryview(text)[first:last]) if text else b""


class JsonWriter:
    """Write rows as objects, one per line."""

    def __init__(
        self, file: Any, _schema: pa.Schema, _origin: Reader | None, _dialect: Dialect
    ) -> None:
        self._file = file

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows; an original object keeps its text, with values added."""
        if RAW not in batch.schema.names:
            lines = map(_dumped, batch.to_pylist())
            self._file.write("".join(f"{line}\n" for line in lines).encode())
        elif batch.num_rows:
            objects = _with_values(batch.column(RAW), batch.drop_columns([RAW]))
            self._file.write(_text_of(objects))

    def close(self) -> None:
        """Nothing to write at the end."""


def _with_values(objects: pa.Array, added: pa.RecordBatch) -> pa.Array:
    """Add values to objects, whose text is kept."""
    names = added.schema.names
    _check_not_there(objects, names)
    starts = pc.utf8_rtrim_whitespace(pc.utf8_slice_codeunits(objects, 0, -1))
    nothing, comma = text_scalar(""), text_scalar(", ")
    cells = [starts, pc.if_else(pc.equal(starts, text_scalar("{")), nothing, comma)]
    for place, (name, column) in enumerate(zip(names, added.columns, strict=True)):
        before = f"{', ' if place else ''}{_dumped(name)}: "
        cells += [text_scalar(before), _values(column)]
    return pc.binary_join_element_wise(*cells, text_scalar("}\n"), nothing)


def _values(column: pa.Array) -> pa.Array:
    """Return values as JSON, with floats as Python writes them."""
    if pa.types.is_floating(column.type) and np.isfinite(filled(column, 0)).all():
        cells = pc.cast(column, pa.string())
        whole = pc.binary_join_element_wise(cells, text_scalar(".0"), text_scalar(""))
        is_real = pc.match_substring_regex(cells, NO_INTEGER)
        return pc.coalesce(pc.if_else(is_real, cells, whole), text_scalar("null"))
    return pa.array([_dumped(value) for value in column.to_pylist()], pa.string())


def _check_not_there(objects: pa.Array, names: Sequence[str]) -> None:
    """Raise if an object already has a name that is to be added."""
    text = _text_of(objects)
    marks = [*map(_dumped, names), "\\u"]  # names may be escaped
    marks = [mark for mark in marks if mark.encode() in text]
    for line in objects.to_pylist() if marks else ():
        if not any(mark in line for mark in marks):
            continue
        if taken := json.loads(line).keys() & set(names):
            msg = (
                "objects must not have what is to be added; "
                f"{min(taken)!r} is in {line!r:.60}. Choose other names with --prefix."
            )
            raise InvalidData(msg)


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


class ParquetWriter:
    """Write rows as a Parquet file, one row group per batch."""

    def __init__(
        self, file: Any, schema: pa.Schema, _origin: Reader | None, _dialect: Dialect
    ) -> None:
        import pyarrow.parquet as pq  # slow to import; other formats do not need it

        # Numbers rarely repeat: a dictionary of them costs time and saves nothing.
        repeating = [f.name for f in schema if not pa.types.is_primitive(f.type)]
        self._writer = pq.ParquetWriter(
            file, schema, use_dictionary=repeating, write_page_checksum=True
        )

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        if batch.num_rows:
            self._writer.write_batch(batch)

    def close(self) -> None:
        """Write the index of the rows."""
        self._writer.close()


def _arrow_writer(
    file: Any, schema: pa.Schema, _origin: Reader | None, _dialect: Dialect
) -> Writer:
    """Write rows as an Arrow file, batch by batch."""
    writer: Writer = pa.ipc.new_file(file, schema)
    return writer


# By format.
WRITERS: dict[str, Callable[[Any, pa.Schema, Reader | None, Dialect], Writer]] = {
    "csv": CsvWriter,
    "tsv": partial(CsvWriter, delimiter="\t"),
    "parquet": ParquetWriter,
    "arrow": _arrow_writer,
    "json": JsonWriter,
}


@contextlib.contextmanager
def table_writer(
    path: str,
    form: str,
    schema: pa.Schema,
    dialect: Dialect,
    *,
    force: bool,
    origin: Reader | None = None,
) -> Iterator[Writer]:
    """Write a table; `origin` read the input, if it has the same format."""
    with output(path, force=force) as stream:
        writer = WRITERS[form](stream, schema, origin, dialect)
        yield writer
        writer.close()


@contextlib.contextmanager
def output(path: str, *, force: bool) -> Iterator[Any]:
    """Open a binary stream to write, compressed if its name says so.

    The bytes go to a temporary file in the same folder, which replaces the target when
    all is written and on disk; before that, nothing changes. Without `force`, a file
    that has appeared in the meantime stays.
    """
    if path == STDOUT:
        with _stream(sys.stdout.buffer, None) as stream:
            yield stream
        sys.stdout.buffer.flush()
        return
    compression = named_format(path)[1]
    with replacing(path, force=force) as file, _stream(file, compression) as stream:
        yield stream


@contextlib.contextmanager
def _stream(file: BinaryIO, compression: str | None) -> Iterator[Any]:
    """Compress the output; if writing fails, what ends a file is not written."""
    sink = _Sink(file)
    try:
        if compression is None:
            yield sink
            return
        stream = pa.CompressedOutputStream(pa.PythonFile(sink, "w"), compression)
        yield stream
        stream.close()
    except BaseException:
        sink.file = None
        raise


class _Sink(io.RawIOBase):
    """A file that is left open; without one, bytes are ignored."""

    def __init__(self, file: BinaryIO | None) -> None:
        self.file = file
        self._position = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.file is not None:
            self.file.write(data)
        n_bytes = memoryview(data).nbytes
        self._position += n_bytes
        return n_bytes

    def tell(self) -> int:
        """Return the number of bytes written; a pipe does not know it."""
        return self._position
