"""Files: one or several files as one table, read by pyarrow in batches of rows.

pyarrow reads from native streams only: with a Python stream, its threads may outlive
the interpreter. Input that it cannot read in place is copied to a `Scratch` folder
first: pipes, text that is not UTF-8, compressed Parquet and Arrow.

The types of CSV columns are not inferred: a column that begins with integers may go on
with anything. All columns are read as text, and converted to numbers where they are
used, in the `Dialect` of the file.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import glob
import io
import os
import re
import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import pyarrow as pa

from abers import validation
from abers.errors import InvalidData, InvalidParameter
from abers.storage.atomic import LONG_HELD
from abers.storage.container import LENGTH_BYTES, MAGIC
from abers.tables.json_lines import LONGEST_LINE, MIB, RAW, JsonReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    import pyarrow.parquet as pq

    from abers.choices import DecimalMark

    Progress = Callable[[int, int | None], None]  # rows done, and of how many if known

StrPath = str | os.PathLike[str]

STDIN = "-"
LONGEST_HEADER = MIB  # bytes
BLOCK = LONGEST_LINE  # bytes of CSV read at once; no row may be longer
MOST_ROWS = 2**17  # in a batch
BATCH_BYTES = 2**25
BUFFER = MIB  # bytes of a column read at once; a row group may be larger than memory
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
COMPRESSION_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
FIRST_LOOK = 2**12  # bytes that tell the format
DELIMITERS = ",\t;|"
ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8
BOM = "\ufeff"
BOMS_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
DECIMALS = (".", ",")
NO_DELIMITERS = '"\r\n\0'
UTF_8 = "utf-8"
SCRATCH = ".abers-"  # what the names of scratch folders begin with


@dataclass(frozen=True, slots=True)
class Dialect:
    r"""How CSV and TSV are written; other formats take no dialect.

    Parameters
    ----------
    delimiter : str, default=None
        The character between values; guessed from the first line if None.
    decimal : {".", ","}, default="."
        The decimal mark of numbers.
    encoding : str, default="utf-8"
        The encoding of the text, by a name that Python knows.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from abers.tables import Dialect, fit_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "scores.csv")
    ...     _ = path.write_text("score;label\n0,1;0\n0,2;1\n0,3;0\n")
    ...     fit = fit_table(path, dialect=Dialect(decimal=","))
    >>> fit.rule.bounds([0.2])
    array([[0.33333333, 0.66666667]])
    """

    delimiter: str | None = None
    decimal: DecimalMark = "."
    encoding: str = UTF_8

    def __post_init__(self) -> None:
        """Raise if no file can have this dialect."""
        mark = self.delimiter
        if mark is not None and (
            len(mark) != 1 or mark in NO_DELIMITERS or not mark.isascii()
        ):
            msg = (
                "delimiter must be one ASCII character, neither a quote nor a line "
                f"break; got {mark!r:.40}."
            )
            raise InvalidParameter(msg)
        validation.check_choice(self.decimal, DECIMALS, "decimal")
        try:
            "".encode(self.encoding)
        except (LookupError, ValueError):
            msg = (
                "encoding must be the name of an encoding of text, such as utf-8, "
                f"latin-1, cp1252 or utf-16; got {self.encoding!r:.40}."
            )
            raise InvalidParameter(msg) from None

    @property
    def options(self) -> list[str]:
        """The options that differ from the default, as on the command line."""
        given = {
            "--delimiter": self.delimiter is not None,
            "--decimal": self.decimal != ".",
            "--encoding": not self.is_utf_8,
        }
        return [option for option, is_given in given.items() if is_given]

    @property
    def is_utf_8(self) -> bool:
        """Whether the encoding is UTF-8, by any of its names."""
        return codecs.lookup(self.encoding).name == UTF_8


class Scratch:
    """A folder for temporary files: made when first needed, removed in the end."""

    def __init__(self, parent: StrPath | None = None) -> None:
        self._parent = parent
        self._folder: Path | None = None
        self._lock: int | None = None  # held as long as the folder is in use
        self._n_paths = 0

    def new_path(self) -> Path:
        """Return the path of a file or folder that does not exist yet."""
        if self._folder is None:
            import tempfile  # slow to load, and few tables need it

            parent = Path(self._parent or tempfile.gettempdir())
            remove_abandoned(parent)
            # Named before it is made, so that a signal in between leaves nothing.
            self._folder = parent / f"{SCRATCH}{os.urandom(8).hex()}"
            self._folder.mkdir(mode=0o700)
            self._lock = locked(self._folder)
        self._n_paths += 1
        return self._folder / str(self._n_paths)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._folder is not None:
            import shutil

            if self._lock is not None:
                os.close(self._lock)
            shutil.rmtree(self._folder, ignore_errors=True)


def locked(folder: Path) -> int | None:
    """Lock a folder against `remove_abandoned`; None if another process holds it."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):  # Windows has neither
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def remove_abandoned(parent: Path) -> None:
    """Remove scratch folders of processes that were killed.

    Whoever uses one holds its lock, except in the moment after it was made.
    """
    import shutil

    with contextlib.suppress(OSError):  # whatever cannot be removed stays
        for folder in parent.glob(f"{SCRATCH}*"):
            is_old = time.time() - folder.stat().st_mtime > LONG_HELD
            if is_old and (handle := locked(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(handle)


class Source:
    """A file, compressed or not, that can be opened again."""

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        self.path = Path(path)
        self.name = name or repr(str(path))  # for messages
        with self.path.open("rb") as stream:
            start = stream.read(max(map(len, COMPRESSION_MAGIC)))
        by_magic = COMPRESSION_MAGIC.items()
        kinds = (kind for magic, kind in by_magic if start.startswith(magic))
        self.compression = next(kinds, None)
        self._file: pa.NativeFile | None = None

    @property
    def n_bytes(self) -> int:
        """The size of the file, compressed if it is."""
        return self.path.stat().st_size

    @property
    def position(self) -> int:
        """How many of these bytes were read since it was last opened."""
        if self._file is None or self._file.closed:
            return self.n_bytes
        return int(self._file.tell())

    def open(self) -> pa.NativeFile:
        """Open the decompressed contents."""
        self._file = file = pa.OSFile(os.fsencode(self.path))
        if self.compression is None:
            return file
        return pa.CompressedInputStream(file, self.compression)

    def start(self, size: int) -> bytes:
        """Return the first bytes of the decompressed contents."""
        with self.decompressing(), self.open() as stream:
            return bytes(stream.read(size))

    @contextlib.contextmanager
    def decompressing(self) -> Iterator[None]:
        """Turn a failure to decompress into a sentence."""
        try:
            yield
        except OSError as cause:
            if cause.errno or self.compression is None:
                raise
            msg = f"{self.name} must be a whole compressed file; {cause}."
            raise InvalidData(msg) from cause

    def decompressed(self, scratch: Scratch) -> Source:
        """Return a file with the decompressed contents."""
        if self.compression is None:
            return self
        with self.decompressing(), self.open() as stream:
            return spooled(_blocks(stream), scratch, self.name)

    def in_utf_8(self, scratch: Scratch, encoding: str) -> Source:
        """Return a file with the same text in UTF-8."""
        stream = io.TextIOWrapper(self.open(), encoding, newline="")
        with self.decompressing(), stream as text:
            blocks = (block.encode() for block in _blocks(text))
            return spooled(blocks, scratch, self.name)


def spooled(blocks: Iterable[bytes], scratch: Scratch, name: str) -> Source:
    """Write a stream to a file, which can be read more than once."""
    path = scratch.new_path()
    with path.open("xb") as file:
        file.writelines(blocks)
    return Source(path, name)


def _blocks(stream: Any) -> Iterator[Any]:
    while block := stream.read(MIB):
        yield block


class ReadOptions(NamedTuple):
    """What readers need besides their file."""

    scratch: Scratch
    dialect: Dialect
    # Whether names and types of columns must be those of all rows, not of the first.
    whole: bool = False


class CsvReader:
    """Delimited text whose first line names the columns."""

    n_rows = None

    def __init__(
        self, source: Source, options: ReadOptions, *, delimiter: str | None = None
    ) -> None:
        self.source = source
        self._encoding = options.dialect.encoding
        if not options.dialect.is_utf_8:
            try:
                self.source = source.in_utf_8(options.scratch, self._encoding)
            except UnicodeError as cause:
                raise self._not_in_encoding() from cause
        start = self.source.start(LONGEST_HEADER)
        text = _decoded(start).lstrip("\r\n")
        self.delimiter = options.dialect.delimiter or delimiter or _delimiter(text)
        names = self._first_row(text, is_whole=len(start) < LONGEST_HEADER)
        if not names:
            msg = f"{source.name} must begin with names of columns; it is empty."
            raise InvalidData(msg)
        self.schema = pa.schema([(name, pa.string()) for name in names])

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, all columns as text.

        Whether they are UTF-8 is not checked here: `Batch` checks the columns in use.
        """
        import pyarrow.csv as pa_csv

        names = self.schema.names
        n_rows = 0
        try:
            with self.source.decompressing():
                for batch in pa_csv.open_csv(
                    self.source.open(),
                    # With more than one thread, errors do not name their row.
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
                        check_utf8=False,
                    ),
                ):
                    yield batch
                    n_rows += batch.num_rows
        except pa.ArrowInvalid as cause:
            msg = _csv_problem(self.source.name, str(cause), n_rows)
            raise InvalidData(msg) from cause

    def _first_row(self, text: str, *, is_whole: bool) -> list[str]:
        lines = io.StringIO(text, newline="")
        name = self.source.name
        try:
            names = next(csv.reader(lines, delimiter=self.delimiter), [])
        except csv.Error as cause:
            longest = csv.field_size_limit()
            msg = (
                f"{name} must be delimited text; a name in its first line is longer "
                f"than {longest:,} characters, or a quote is not closed there."
            )
            raise InvalidData(msg) from cause
        header = text[: lines.tell()]
        if not is_whole and not header.endswith(("\r", "\n")):
            msg = (
                f"{name} must name its columns in a first line of at most "
                f"{LONGEST_HEADER // MIB} MiB; it is longer, or a quote is not closed "
                "there."
            )
            raise InvalidData(msg)
        if ESCAPED.search(header):
            what = "its first line is not"
            raise self._not_in_encoding(what)
        return names

    def _not_in_encoding(self, what: str = "it is not") -> InvalidData:
        must = f"{self.source.name} must be text in {self._encoding.upper()}"
        other = "utf-16" if self.source.start(2) in BOMS_16 else "latin-1"
        return InvalidData(
            f"{must}; {what}. Name its encoding with --encoding, for example {other}."
        )


def _decoded(start: bytes) -> str:
    """Return the start of a text; bytes that are not UTF-8 are escaped."""
    # Incremental, because it may end within a character.
    decoder = codecs.getincrementaldecoder(UTF_8)("surrogateescape")
    return decoder.decode(start).removeprefix(BOM)


def _delimiter(text: str) -> str:
    """Return the most frequent delimiter of the header, outside of quotes."""
    header = re.sub('"[^"]*"', "", text).partition("\n")[0]
    return max(DELIMITERS, key=header.count)


def _csv_problem(name: str, message: str, n_rows: int) -> str:
    """Return the sentence for an error of pyarrow's parser after so many rows."""
    if match := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message):
        row, expected, got = map(int, match.groups())
        return (
            f"{name} must have {expected} values in each row, as its first line "
            f"has; got {got} in row {row - 1}."
        )
    if "straddling" in message:
        return (
            f"{name} must have rows of at most {BLOCK // MIB} MiB; one after row "
            f"{n_rows} is longer, or a quote is not closed there."
        )
    return f"{name} must be delimited text; {message}."


@contextlib.contextmanager
def _must_be(what: str, source: Source) -> Iterator[None]:
    """Turn an error of pyarrow into a sentence that names the format."""
    try:
        yield
    except (pa.ArrowException, OSError) as cause:
        reason = str(cause).partition("\n")[0].rstrip(".")
        msg = f"{source.name} must be {what}; {reason}."
        raise InvalidData(msg) from cause


class ParquetReader:
    """A Parquet file."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source = source.decompressed(options.scratch)  # it is read from its end
        with self._opened() as file:
            self.schema = file.schema_arrow
            self.n_rows = file.metadata.num_rows
            groups = map(file.metadata.row_group, range(file.num_row_groups))
            n_bytes = sum(group.total_byte_size for group in groups)
        row_bytes = 1 + n_bytes // max(1, self.n_rows)
        self._batch_rows = max(1, min(MOST_ROWS, BATCH_BYTES // row_bytes))

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, in order."""
        names = None if columns is None else list(columns)
        with self._opened() as file:
            yield from file.iter_batches(
                self._batch_rows, columns=names, use_threads=False
            )

    @contextlib.contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        import pyarrow.parquet as pq  # slow to load; other formats do without

        with (
            _must_be("a Parquet file", self._source),
            pq.ParquetFile(
                self._source.open(), buffer_size=BUFFER, pre_buffer=False
            ) as file,
        ):
            yield file


class ArrowReader:
    """A memory-mapped Arrow file."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source = source.decompressed(options.scratch)  # it is read from its end
        with self._opened() as file:
            self.schema = file.schema
            batches = map(file.get_batch, range(file.num_record_batches))
            self.n_rows = sum(batch.num_rows for batch in batches)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, in order."""
        with self._opened() as file:
            for stored in map(file.get_batch, range(file.num_record_batches)):
                batch = stored if columns is None else stored.select(list(columns))
                for first in range(0, batch.num_rows, MOST_ROWS):
                    yield batch.slice(first, MOST_ROWS)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[pa.ipc.RecordBatchFileReader]:
        path = os.fsencode(self._source.path)
        with _must_be("an Arrow file", self._source), pa.memory_map(path) as file:
            yield pa.ipc.open_file(file)


class Reader(Protocol):
    """A file of rows that can be read more than once."""

    @property
    def schema(self) -> pa.Schema:
        """The columns, and their types."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known without reading them."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, in order; all columns unless some are named."""


class Format(NamedTuple):
    """How a format is read and recognised; `abers.tables.writing` writes it."""

    reader: Callable[[Source, ReadOptions], Reader]
    endings: tuple[str, ...]  # of file names, the usual one first
    magic: bytes | None = None  # first bytes, which count more than the name
    openings: tuple[bytes, ...] = ()  # first characters, for names without an ending
    is_typed: bool = True  # otherwise all columns are text
    is_text: bool = True  # a terminal can show it
    raw: str | None = None  # name of a column that holds each row as it was written


FORMATS = {
    "csv": Format(CsvReader, (".csv", ".txt"), is_typed=False),
    "tsv": Format(partial(CsvReader, delimiter="\t"), (".tsv", ".tab"), is_typed=False),
    "parquet": Format(ParquetReader, (".parquet", ".pq"), magic=b"PAR1", is_text=False),
    "arrow": Format(
        ArrowReader, (".arrow", ".feather"), magic=b"ARROW1", is_text=False
    ),
    "json": Format(
        JsonReader,
        (".jsonl", ".json", ".ndjson"),
        openings=(b"{", b"["),
        raw=RAW,
    ),
}
DEFAULT = "csv"  # if neither bytes nor name tell the format


def format_of(source: Source) -> str:
    """Return the format of a file: by its first bytes, else by its name."""
    start = source.start(FIRST_LOOK)
    if is_ours(start):
        msg = (
            f"{source.name} must be a table; it is a rule or a diagram that abers has "
            "saved."
        )
        raise InvalidData(msg)
    for name, form in FORMATS.items():
        if form.magic and start.startswith(form.magic):
            return name
    named, _ = named_format(source.path)
    opening = start.lstrip()[:1]
    guessed = (name for name, form in FORMATS.items() if opening in form.openings)
    return named or next(guessed, DEFAULT)


def is_ours(start: bytes) -> bool:
    """Return whether a file with these first bytes was saved by abers."""
    return start.startswith(MAGIC, LENGTH_BYTES)


def named_format(path: str | Path) -> tuple[str | None, str | None]:
    """Return the format and the compression by the endings of a file name."""
    first, last = ("", "", *Path(str(path).lower()).suffixes)[-2:]
    compression = COMPRESSIONS.get(last)
    ending = first if compression else last
    named = (name for name, form in FORMATS.items() if ending in form.endings)
    return next(named, None), compression


def names_of(files: StrPath | Sequence[StrPath]) -> list[str]:
    """Return the names of one file or of several as a list."""
    listed_files = [files] if isinstance(files, str | os.PathLike) else files
    return [os.fspath(name) for name in listed_files]


def named_files(names: Sequence[str]) -> list[str]:
    """Expand patterns; raise if a file is missing, a folder, or stdin twice."""
    files: list[str] = []
    for name in names:
        matching = files_matching(name)
        if not matching and glob.has_magic(name):
            msg = f"{name!r} must match at least one file; it matches none."
            raise InvalidData(msg)
        if not matching:
            raise FileNotFoundError(2, "No such file or directory", name)
        files += matching
    for name in files:
        if name != STDIN and Path(name).is_dir():
            msg = (
                f"{name!r} must be a file; it is a folder. "
                f"Name its files, for example '{name.rstrip('/')}/*.parquet'."
            )
            raise InvalidData(msg)
    if files.count(STDIN) > 1:
        msg = "standard input must be named once; got '-' twice."
        raise InvalidData(msg)
    return files


def files_matching(name: str) -> list[str]:
    """Return the files that match a name or a pattern, perhaps none."""
    if name == STDIN or os.path.lexists(name):
        return [name]
    if glob.has_magic(name):
        return sorted(glob.glob(name, recursive=True))  # noqa: PTH207 (as a shell)
    return []


def source_of(name: str, scratch: Scratch) -> Source:
    """Return a file, or a copy of what comes through a pipe."""
    if name == STDIN:
        return spooled(_blocks(sys.stdin.buffer), scratch, "standard input")
    if is_pipe(name):
        with Path(name).open("rb") as stream:
            return spooled(_blocks(stream), scratch, repr(name))
    return Source(name)


def is_pipe(name: str) -> bool:
    """Return whether a file can be read only once, as a FIFO or `<(command)`."""
    return Path(name).exists() and not (Path(name).is_file() or Path(name).is_dir())


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a table, and their place in it."""

    columns: pa.RecordBatch
    file: str  # for messages
    first_row: int  # from 1, in its file
    row_number: int  # from 0, in all files
    dialect: Dialect | None = None  # of CSV, whose columns are all text

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def __getitem__(self, column: str) -> pa.Array:
        values = self.columns.column(column)
        if self.dialect is not None:
            self._check_text(column, values)
        return values

    def select(self, columns: Sequence[str]) -> pa.RecordBatch:
        """Return some columns; raise if they are not UTF-8."""
        schema = self.columns.schema
        fields = [schema.field(column) for column in columns]
        arrays = [self[column] for column in columns]
        return pa.record_batch(arrays, schema=pa.schema(fields, schema.metadata))

    def place(self, i: int) -> str:
        """Name row i of the batch in messages; rows count from 1, after the header."""
        return f"row {self.first_row + i} of {self.file}"

    def _check_text(self, column: str, values: pa.Array) -> None:
        """Raise if a column that is used is not UTF-8."""
        try:
            values.validate(full=True)
        except pa.ArrowInvalid as cause:
            cells = (cell.as_buffer().to_pybytes() for cell in values)
            row, got = next((i, b) for i, b in enumerate(cells) if not _is_utf_8(b))
            msg = (
                f"column {column!r} must be text in UTF-8; got {got!r:.60} in "
                f"{self.place(row)}. Name the encoding of the file with --encoding, "
                "for example latin-1."
            )
            raise InvalidData(msg) from cause


def _is_utf_8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class InputTable:
    """One table, in one file or in several that have the same columns.

    `to` is the format to convert it to, if known; a dialect must apply to one of the
    two formats. Names and types of JSON columns come from the first rows, or from the
    whole table if it is converted or `whole` is true.
    """

    def __init__(
        self,
        files: StrPath | Sequence[StrPath],
        scratch: Scratch,
        dialect: Dialect | None = None,
        *,
        to: str | None = None,
        whole: bool = False,
    ) -> None:
        sources = [source_of(name, scratch) for name in named_files(names_of(files))]
        self.format = format_of(sources[0])
        self.dialect = dialect or Dialect()
        if all(FORMATS[form].is_typed for form in (self.format, to or self.format)):
            self._refuse_dialect(sources[0].name)
        is_converted = to not in (None, self.format)
        options = ReadOptions(scratch, self.dialect, whole or is_converted)
        self._files = [(s.name, self._reader(s, options)) for s in sources]
        self.name, self.reader = self._files[0]
        self.schema: pa.Schema = self.reader.schema
        self.columns: list[str] = self.schema.names
        sizes = [reader.n_rows for _, reader in self._files]
        self.n_rows = None if None in sizes else sum(size or 0 for size in sizes)
        for name, reader in self._files[1:]:
            if reader.schema.names != self.columns:
                msg = (
                    f"{name} must have the columns of {self.name}, in their order; got "
                    f"{listed(reader.schema.names)} instead of {listed(self.columns)}."
                )
                raise InvalidData(msg)

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Iterator[Batch]:
        """Read the rows, file by file; all columns unless some are named."""
        done = 0
        untyped = None if FORMATS[self.format].is_typed else self.dialect
        for place, (name, reader) in enumerate(self._files):
            first = 1
            for rows in reader.batches(columns):
                yield Batch(rows, name, first, done, untyped)
                first += rows.num_rows
                done += rows.num_rows
                if progress:
                    progress(done, self.n_rows or self._expected(place, done))

    def _expected(self, place: int, n_rows: int) -> int | None:
        """Estimate the rows of all files by the share of the bytes that were read."""
        sources: list[Source | None] = [
            getattr(reader, "source", None) for _, reader in self._files
        ]
        sizes = [0 if source is None else source.n_bytes for source in sources]
        source = sources[place]
        if source is None or (n_read := sum(sizes[:place]) + source.position) == 0:
            return None
        return max(n_rows, round(n_rows * sum(sizes) / n_read))

    def check_types(self) -> None:
        """Raise if a column has different types in different files."""
        for name, reader in self._files:
            for mine, theirs in zip(self.schema, reader.schema, strict=True):
                if mine.type != theirs.type:
                    msg = (
                        f"{name} must have the types of {self.name}; its column "
                        f"{mine.name!r} is {theirs.type}, there {mine.type}."
                    )
                    raise InvalidData(msg)

    def _refuse_dialect(self, name: str) -> None:
        if options := self.dialect.options:
            msg = (
                f"{' and '.join(options)} must go with CSV or TSV; {name} is "
                f"{self.format}, which says itself how it is written. Leave "
                f"{'it' if len(options) == 1 else 'them'} out."
            )
            raise InvalidParameter(msg)

    def _reader(self, source: Source, options: ReadOptions) -> Reader:
        form = format_of(source)
        if form != self.format:
            msg = (
                f"{source.name} must have the format of the files before it, "
                f"{self.format}; it is {form}."
            )
            raise InvalidData(msg)
        reader = FORMATS[form].reader(source, options)
        names: list[str] = reader.schema.names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            msg = f"{source.name} must name each column once; got {twice!r} again."
            raise InvalidData(msg)
        return reader


def listed(names: Sequence[str], most: int = 20) -> str:
    """List names for a message."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
