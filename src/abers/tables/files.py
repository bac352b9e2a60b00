"""Files: what a user names, as one table, read by pyarrow in batches of rows.

pyarrow reads from native streams alone: behind a Python stream, its threads may outlive
the interpreter. What it cannot read where it lies waits on disk in a `Scratch`: pipes,
text in another encoding than UTF-8, packed Parquet and Arrow.

Of CSV no type is guessed: a column that happens to begin with integers is still a
column of whatever follows. All columns are read as text; those that must be numbers are
made numbers where they are used, as their `Dialect` writes them.
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
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import pyarrow as pa

from abers import validation
from abers.errors import InvalidParameter, InvalidTable
from abers.storage.container import LENGTH_BYTES, MAGIC
from abers.tables.json_lines import LONGEST_LINE, MIB, RAW, JsonReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    import pyarrow.parquet as pq

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
COMPRESSION_MAGIC_BYTES = 4
FIRST_LOOK = 2**12  # bytes, which tell the format
DELIMITERS = ",\t;|"
ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are no text
BOM = "\ufeff"
BOMS_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
DECIMALS = (".", ",")
NO_DELIMITERS = '"\r\n\0'
UTF_8 = "utf-8"


@dataclass(frozen=True, slots=True)
class Dialect:
    r"""How CSV and TSV are written; for other formats it is refused.

    Parameters
    ----------
    delimiter : str, default=None
        The character between values; found in the first line if None.
    decimal : {".", ","}, default="."
        What stands before the decimals of a number.
    encoding : str, default="utf-8"
        What bytes mean, by a name that Python knows.

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
    decimal: str = "."
    encoding: str = UTF_8

    def __post_init__(self) -> None:
        """Refuse what no file can be written in."""
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
        """The options that say more than the default, as the command line has them."""
        given = {
            "--delimiter": self.delimiter is not None,
            "--decimal": self.decimal != ".",
            "--encoding": not self.is_utf_8,
        }
        return [option for option, is_given in given.items() if is_given]

    @property
    def is_utf_8(self) -> bool:
        """Whether bytes mean what they mean by default."""
        return codecs.lookup(self.encoding).name == UTF_8


class Scratch:
    """A folder for what must wait on disk; made when needed, removed in the end."""

    def __init__(self, parent: StrPath | None = None) -> None:
        self._parent = parent
        self._path: Path | None = None

    @cached_property
    def folder(self) -> Path:
        """The folder, empty when first asked for."""
        import tempfile  # few tables need it, and all would wait

        name = f".abers-{os.urandom(8).hex()}"
        # Named before it is made: a signal that comes between the two leaves nothing.
        self._path = Path(self._parent or tempfile.gettempdir(), name)
        self._path.mkdir(mode=0o700)
        return self._path

    def new_file(self) -> Path:
        """Return the name of a file that is not there yet."""
        return self.folder / f"table-{len(list(self.folder.iterdir()))}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._path is not None:
            import shutil

            shutil.rmtree(self._path, ignore_errors=True)


class Source:
    """A file, packed or not, that can be opened again."""

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        self.path = Path(path)
        self.name = name or repr(str(path))  # as messages say it
        with self.path.open("rb") as stream:
            head = stream.read(COMPRESSION_MAGIC_BYTES)
        self.compression = _compression(head)

    def open(self) -> pa.NativeFile:
        """Open the table, unpacked."""
        file = pa.OSFile(os.fsencode(self.path))
        if self.compression is None:
            return file
        return pa.CompressedInputStream(file, self.compression)

    def head(self, size: int) -> bytes:
        """Return the first bytes of the table."""
        with self.unpacking(), self.open() as stream:
            return bytes(stream.read(size))

    @contextlib.contextmanager
    def unpacking(self) -> Iterator[None]:
        """Say what is wrong if the file cannot be unpacked."""
        try:
            yield
        except OSError as cause:
            if cause.errno or self.compression is None:
                raise
            msg = f"{self.name} must be a whole compressed file; {cause}."
            raise InvalidTable(msg) from cause

    def unpacked(self, scratch: Scratch) -> Source:
        """Return the table as a file that is not packed."""
        if self.compression is None:
            return self
        with self.unpacking(), self.open() as stream:
            return _spooled(stream, scratch, self.name)

    def in_utf_8(self, scratch: Scratch, encoding: str) -> Source:
        """Return text in another encoding as a file in UTF-8."""
        copy = scratch.new_file()
        with (
            self.unpacking(),
            io.TextIOWrapper(self.open(), encoding, newline="") as text,
            copy.open("x", encoding=UTF_8, newline="") as file,
        ):
            while block := text.read(MIB):
                file.write(block)
        return Source(copy, self.name)


def _compression(head: bytes) -> str | None:
    named = COMPRESSION_MAGIC.items()
    return next((name for magic, name in named if head.startswith(magic)), None)


def _spooled(stream: Any, scratch: Scratch, name: str) -> Source:
    """Return what a stream holds as a file."""
    copy = scratch.new_file()
    with copy.open("xb") as file:
        while block := stream.read(MIB):
            file.write(block)
    return Source(copy, name)


class CsvReader:
    """A table of text, whose first line names the columns."""

    n_rows = None

    def __init__(
        self,
        source: Source,
        scratch: Scratch,
        dialect: Dialect,
        *,
        delimiter: str | None = None,
    ) -> None:
        self._source = source
        self._dialect = dialect
        if not dialect.is_utf_8:
            try:
                self._source = source.in_utf_8(scratch, dialect.encoding)
            except UnicodeError as cause:
                raise self._not_in_encoding() from cause
        head = self._source.head(LONGEST_HEADER)
        text = _decoded(head).lstrip("\r\n")
        self.delimiter = dialect.delimiter or delimiter or _delimiter(text)
        names = self._first_row(text, is_whole=len(head) < LONGEST_HEADER)
        if not names:
            msg = f"{source.name} must begin with names of columns; it is empty."
            raise InvalidTable(msg)
        self.schema = pa.schema([(name, pa.string()) for name in names])

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, all columns as text.

        Whether bytes are UTF-8 is not looked at: a column that nobody uses may be
        anything.
        """
        import pyarrow.csv as pa_csv

        names = self.schema.names
        n_rows = 0
        try:
            with self._source.unpacking():
                for batch in pa_csv.open_csv(
                    self._source.open(),
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
                        check_utf8=False,
                    ),
                ):
                    yield batch
                    n_rows += batch.num_rows
        except pa.ArrowInvalid as cause:
            msg = _explained(self._source.name, str(cause), n_rows)
            raise InvalidTable(msg) from cause

    def _first_row(self, text: str, *, is_whole: bool) -> list[str]:
        lines = io.StringIO(text, newline="")
        name = self._source.name
        try:
            names = next(csv.reader(lines, delimiter=self.delimiter), [])
        except csv.Error as cause:
            longest = csv.field_size_limit()
            msg = (
                f"{name} must be delimited text; a name in its first line is longer "
                f"than {longest:,} characters, or a quote is not closed there."
            )
            raise InvalidTable(msg) from cause
        header = text[: lines.tell()]
        if not is_whole and not header.endswith(("\r", "\n")):
            msg = (
                f"{name} must name its columns in a first line of at most "
                f"{LONGEST_HEADER // MIB} MiB; it is longer, or a quote is not closed "
                "there."
            )
            raise InvalidTable(msg)
        if ESCAPED.search(header):
            what = "its first line is not"
            raise self._not_in_encoding(what)
        return names

    def _not_in_encoding(self, what: str = "it is not") -> InvalidTable:
        must = f"{self._source.name} must be text in {self._dialect.encoding.upper()}"
        other = "utf-16" if self._source.head(2) in BOMS_16 else "latin-1"
        return InvalidTable(
            f"{must}; {what}. Name its encoding with --encoding, for example {other}."
        )


def _decoded(head: bytes) -> str:
    """Return the beginning of a text; bytes that are none are escaped."""
    # Incremental, because it may end within a letter.
    decoder = codecs.getincrementaldecoder(UTF_8)("surrogateescape")
    return decoder.decode(head).removeprefix(BOM)


def _delimiter(text: str) -> str:
    """Return the delimiter that a header has most of, outside of quotes."""
    header = re.sub('"[^"]*"', "", text).partition("\n")[0]
    return max(DELIMITERS, key=header.count)


def _explained(name: str, said: str, n_rows: int) -> str:
    """Turn what the parser says, after so many rows, into a sentence."""
    if match := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", said):
        row, expected, got = map(int, match.groups())
        return (
            f"{name} must have {expected} values in each row, as its first line "
            f"has; got {got} in row {row - 1}."
        )
    if "straddling" in said:
        return (
            f"{name} must have rows of at most {BLOCK // MIB} MiB; one after row "
            f"{n_rows} is longer, or a quote is not closed there."
        )
    return f"{name} must be delimited text; {said}."


@contextlib.contextmanager
def _must_be(what: str, source: Source) -> Iterator[None]:
    """Say of which format a file is not, whatever pyarrow says."""
    try:
        yield
    except (pa.ArrowException, OSError) as cause:
        said = str(cause).partition("\n")[0].rstrip(".")
        msg = f"{source.name} must be {what}; {said}."
        raise InvalidTable(msg) from cause


class ParquetReader:
    """A Parquet file."""

    def __init__(self, source: Source, scratch: Scratch, _dialect: Dialect) -> None:
        self._source = source.unpacked(scratch)  # read from its end
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
    """An Arrow file, read where it lies."""

    def __init__(self, source: Source, scratch: Scratch, _dialect: Dialect) -> None:
        self._source = source.unpacked(scratch)  # read from its end
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
    """A file of rows, which can be read as often as one likes."""

    @property
    def schema(self) -> pa.Schema:
        """The columns, and their types."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known before they are read."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, in order; all columns unless some are named."""


class Format(NamedTuple):
    """How a format is read and recognised; `abers.tables.writing` writes it."""

    reader: Callable[[Source, Scratch, Dialect], Reader]
    endings: tuple[str, ...]  # of names, the usual one first
    magic: bytes | None = None  # first bytes that tell more than any name
    openings: tuple[bytes, ...] = ()  # first characters, if the name tells nothing
    is_typed: bool = True  # or else all columns are text
    is_text: bool = True  # which a terminal can show
    raw: str | None = None  # column to ask for rows as they were written
    # Reads names and types of columns from all rows, if the reader does not.
    whole_reader: Callable[[Source, Scratch, Dialect], Reader] | None = None


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
        whole_reader=partial(JsonReader, whole=True),
    ),
}
DEFAULT = "csv"  # what nothing else claims


def format_of(source: Source) -> str:
    """Return what the name says, unless the bytes say otherwise."""
    head = source.head(FIRST_LOOK)
    if is_ours(head):
        msg = (
            f"{source.name} must be a table; it is a rule or a diagram that abers has "
            "saved."
        )
        raise InvalidTable(msg)
    for name, form in FORMATS.items():
        if form.magic and head.startswith(form.magic):
            return name
    named, _ = named_format(source.path)
    opening = head.lstrip()[:1]
    guessed = (name for name, form in FORMATS.items() if opening in form.openings)
    return named or next(guessed, DEFAULT)


def is_ours(head: bytes) -> bool:
    """Tell by its first bytes whether abers has saved a file."""
    return head.startswith(MAGIC, LENGTH_BYTES)


def named_format(path: str | Path) -> tuple[str | None, str | None]:
    """Return the format and the compression that the name of a file tells."""
    first, last = ("", "", *Path(str(path).lower()).suffixes)[-2:]
    compression = COMPRESSIONS.get(last)
    ending = first if compression else last
    named = (name for name, form in FORMATS.items() if ending in form.endings)
    return next(named, None), compression


def names_of(files: StrPath | Sequence[StrPath]) -> list[str]:
    """Return the names that a user gives: of one file, or of several."""
    several = [files] if isinstance(files, str | os.PathLike) else files
    return [os.fspath(name) for name in several]


def named_files(names: Sequence[str]) -> list[str]:
    """Return the files that a user names, by patterns too; `-` for standard input."""
    files: list[str] = []
    for name in names:
        matching = files_matching(name)
        if not matching and glob.has_magic(name):
            msg = f"{name!r} must match at least one file; it matches none."
            raise InvalidTable(msg)
        if not matching:
            raise FileNotFoundError(2, "No such file or directory", name)
        files += matching
    for name in files:
        if name != STDIN and Path(name).is_dir():
            msg = (
                f"{name!r} must be a file; it is a folder. "
                f"Name its files, for example '{name.rstrip('/')}/*.parquet'."
            )
            raise InvalidTable(msg)
    if files.count(STDIN) > 1:
        msg = "standard input must be named once; got '-' twice."
        raise InvalidTable(msg)
    return files


def files_matching(name: str) -> list[str]:
    """Return the files that a name or a pattern means; none if there are none."""
    if name == STDIN or os.path.lexists(name):
        return [name]
    if glob.has_magic(name):
        return sorted(glob.glob(name, recursive=True))  # noqa: PTH207 (as a shell)
    return []


def _source(name: str, scratch: Scratch) -> Source:
    if name == STDIN:
        return _spooled(sys.stdin.buffer, scratch, "standard input")
    if is_pipe(name):  # what is read from it is gone
        with Path(name).open("rb") as stream:
            return _spooled(stream, scratch, repr(name))
    return Source(name)


def is_pipe(name: str) -> bool:
    """Tell whether a file can be read only once, as a FIFO or `<(command)`."""
    return Path(name).exists() and not (Path(name).is_file() or Path(name).is_dir())


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a table, and where they stand."""

    columns: pa.RecordBatch
    file: str  # as messages name it
    first_row: int  # from 1, in its file
    row_number: int  # from 0, in all files
    dialect: Dialect | None = None  # of text that no type has been given to

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def __getitem__(self, column: str) -> pa.Array:
        values = self.columns.column(column)
        if self.dialect is not None:
            self._check_text(column, values)
        return values

    def select(self, columns: Sequence[str]) -> pa.RecordBatch:
        """Return some columns to use."""
        arrays = [self[column] for column in columns]
        chosen = self.columns.schema
        fields = [chosen.field(column) for column in columns]
        return pa.record_batch(arrays, schema=pa.schema(fields, chosen.metadata))

    def place(self, i: int) -> str:
        """Say where row i of the batch stands; rows count from 1, the header apart."""
        return f"row {self.first_row + i} of {self.file}"

    def _check_text(self, column: str, values: pa.Array) -> None:
        """Refuse bytes that are not UTF-8 in a column that is used."""
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
            raise InvalidTable(msg) from cause


def _is_utf_8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


class InputTable:
    """One table, in one file or in several that have the same columns.

    A dialect must be of use: for what is read, or for a table in the format `to`. What
    is converted has the columns and types of all its rows; else, in JSON lines, those
    of the first rows are enough unless all are to be looked at: the `whole` table.
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
        sources = [_source(name, scratch) for name in named_files(names_of(files))]
        self.format = format_of(sources[0])
        self.dialect = dialect or Dialect()
        if all(FORMATS[form].is_typed for form in (self.format, to or self.format)):
            self._refuse_dialect(sources[0].name)
        self._is_whole = whole or to not in (None, self.format)
        self._files = [(s.name, self._reader(s, scratch)) for s in sources]
        self.name, self.reader = self._files[0]
        self.schema: pa.Schema = self.reader.schema
        self.columns: list[str] = self.schema.names
        sizes = [reader.n_rows for _, reader in self._files]
        known = [size for size in sizes if size is not None]
        self.n_rows = sum(known) if len(known) == len(sizes) else None
        for name, reader in self._files[1:]:
            if reader.schema.names != self.columns:
                msg = (
                    f"{name} must have the columns of {self.name}, in their order; got "
                    f"{listed(reader.schema.names)} instead of {listed(self.columns)}."
                )
                raise InvalidTable(msg)

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Iterator[Batch]:
        """Read the rows, file by file; all columns unless some are named."""
        done = 0
        untyped = None if FORMATS[self.format].is_typed else self.dialect
        for name, reader in self._files:
            first = 1
            for rows in reader.batches(columns):
                yield Batch(rows, name, first, done, untyped)
                first += rows.num_rows
                done += rows.num_rows
                if progress:
                    progress(done, self.n_rows)

    def check_types(self) -> None:
        """Refuse files whose columns have different types."""
        for name, reader in self._files:
            for mine, theirs in zip(self.schema, reader.schema, strict=True):
                if mine.type != theirs.type:
                    msg = (
                        f"{name} must have the types of {self.name}; its column "
                        f"{mine.name!r} is {theirs.type}, there {mine.type}."
                    )
                    raise InvalidTable(msg)

    def _refuse_dialect(self, name: str) -> None:
        if options := self.dialect.options:
            msg = (
                f"{' and '.join(options)} must go with CSV or TSV; {name} is "
                f"{self.format}, which says itself how it is written. Leave "
                f"{'it' if len(options) == 1 else 'them'} out."
            )
            raise InvalidParameter(msg)

    def _reader(self, source: Source, scratch: Scratch) -> Reader:
        form = format_of(source)
        if form != self.format:
            msg = (
                f"{source.name} must have the format of the files before it, "
                f"{self.format}; it is {form}."
            )
            raise InvalidTable(msg)
        opened = FORMATS[form].reader
        if self._is_whole:
            opened = FORMATS[form].whole_reader or opened
        reader = opened(source, scratch, self.dialect)
        names: list[str] = reader.schema.names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            msg = f"{source.name} must name each column once; got {twice!r} again."
            raise InvalidTable(msg)
        return reader


def listed(names: Sequence[str], most: int = 20) -> str:
    """List names for a message."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
