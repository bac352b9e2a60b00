"""Files: one or several files as one table, read by pyarrow in batches of rows.

pyarrow gets native streams only: with a Python stream, its threads may outlive the
interpreter. Input that it cannot read in place is first copied to a `Scratch` folder:
pipes, text that is not UTF-8, compressed Parquet and Arrow.

A folder stands for all files in it, at any depth, except files and folders whose names
begin with a dot or an underscore. Folders named key=value give their files the column
key, as in Hive. URIs are those of `pyarrow.fs`.

The types of CSV columns are not inferred, since a column that begins with integers may
continue with anything. All columns are read as text, and converted to numbers where
needed, in the `Dialect` of the file.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import glob
import io
import itertools
import os
import re
import sys
import time
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_args

import pyarrow as pa

from abers import validation
from abers.choices import DecimalMark
from abers.errors import InvalidData, InvalidParameter
from abers.storage.container import LENGTH_BYTES, MAGIC
from abers.tables.json_lines import LONGEST_LINE, MIB, RAW, JsonReader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow.parquet as pq

    Progress = Callable[[int, int | None], None]  # rows done, and the total if known

StrPath = str | os.PathLike[str]

STDIN = "-"
LONGEST_HEADER = MIB  # bytes
BLOCK = LONGEST_LINE  # bytes of CSV read at once; a longer row may be refused
MOST_ROWS = 2**17  # in a batch
BATCH_BYTES = 2**25
BUFFER = MIB  # bytes of a column read at once; a row group may be larger than memory
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
COMPRESSION_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
FIRST_LOOK = 2**12  # bytes read to detect the format
DELIMITERS = ",\t;|"
ESCAPED = re.compile("[\udc80-\udcff]")  # bytes that are not UTF-8
BOM = "\ufeff"
BOMS_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NO_DELIMITERS = '"\r\n\0'
UTF_8 = "utf-8"
SCRATCH = ".abers-"  # prefix of the names of scratch folders
LONG_HELD = 60  # seconds after which its maker must have locked a scratch folder
UNSEEN = (".", "_")  # prefixes of files that a folder does not stand for
HIVE_FOLDER = re.compile(r"(?<![^/])([^/=]+)=([^/]*)/")
MUST_BE_FILES = "must be a file, or a folder with at least one"
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


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
        """Raise if this dialect is impossible."""
        mark = self.delimiter
        if mark is not None and (
            len(mark) != 1 or mark in NO_DELIMITERS or not mark.isascii()
        ):
            msg = (
                "delimiter must be one ASCII character, neither a quote nor a line "
                f"break; got {mark!r:.40}."
            )
            raise InvalidParameter(msg)
        validation.check_choice(self.decimal, get_args(DecimalMark), "decimal")
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
        """The options that differ from the default, as written on the command line."""
        given = {
            "--delimiter": self.delimiter is not None,
            "--decimal": self.decimal != ".",
            "--encoding": not self.is_utf_8,
        }
        return [option for option, is_given in given.items() if is_given]

    @property
    def is_utf_8(self) -> bool:
        """Whether the encoding is UTF-8, under any of its names."""
        return codecs.lookup(self.encoding).name == UTF_8


class Scratch(contextlib.ExitStack):
    """Temporary files, in a folder made when first needed and removed at the end."""

    def __init__(self, parent: StrPath | None = None) -> None:
        super().__init__()
        self._parent = parent
        self._numbers = itertools.count()

    @cached_property
    def _folder(self) -> str:
        import tempfile  # slow to import, and rarely needed

        parent = self._parent or tempfile.gettempdir()
        remove_abandoned(Path(parent))
        folder = self.enter_context(
            tempfile.TemporaryDirectory(
                prefix=SCRATCH, dir=parent, ignore_cleanup_errors=True
            )
        )
        if (lock := locked(folder)) is not None:
            self.callback(os.close, lock)
        return folder

    def new_path(self) -> Path:
        """Return the path of a file or folder that does not exist yet."""
        return Path(self._folder, str(next(self._numbers)))


def locked(folder: StrPath) -> int | None:
    """Lock a folder against `remove_abandoned`; None if it is locked already."""
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
    """Remove folders of processes that were killed.

    A process holds the lock of its folder, except in the moment after making it.
    """
    import shutil

    with contextlib.suppress(OSError):  # what cannot be removed stays
        for folder in parent.glob(f"{SCRATCH}*"):
            is_old = time.time() - folder.stat().st_mtime > LONG_HELD
            if is_old and (handle := locked(folder)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(handle)


class Source:
    """A file, compressed or not; it can be reopened unless it is a pipe."""

    def __init__(
        self, path: StrPath, name: str | None = None, filesystem: Any = None
    ) -> None:
        self.path = os.fspath(path)
        self.name = name or repr(self.path)  # for messages
        self._filesystem = filesystem  # of pyarrow; None is the local one
        self._file: pa.NativeFile | None = None

    @property
    def is_local(self) -> bool:
        """Whether it is a local file or pipe."""
        return self._filesystem is None

    @property
    def is_pipe(self) -> bool:
        """Whether it can be read only once, as standard input or `<(command)`."""
        path = Path(self.path)
        is_special = path.exists() and not path.is_file()
        return self.is_local and (self.path == STDIN or is_special)

    @cached_property
    def compression(self) -> str | None:
        """The compression of the contents."""
        with self._bytes() as stream:
            start = stream.read(max(map(len, COMPRESSION_MAGIC)))
        by_magic = COMPRESSION_MAGIC.items()
        return next((kind for magic, kind in by_magic if start.startswith(magic)), None)

    @cached_property
    def n_bytes(self) -> int:
        """The size of the file, as stored."""
        with self._native() as file:
            return int(file.size())

    @property
    def position(self) -> int:
        """Number of stored bytes read since the file was last opened."""
        if self._file is None or self._file.closed:
            return self.n_bytes
        return int(self._file.tell())

    def open(self) -> pa.NativeFile:
        """Open the decompressed contents."""
        self._file = file = self._native()
        if self.compression is None:
            return file
        return pa.CompressedInputStream(file, self.compression)

    def mapped(self) -> pa.NativeFile:
        """Open the file memory-mapped, if possible."""
        return pa.memory_map(os.fsencode(self.path)) if self.is_local else self.open()

    def start(self, size: int) -> bytes:
        """Return the first bytes of the decompressed contents."""
        with self.decompressing(), self.open() as stream:
            return bytes(stream.read(size))

    @contextlib.contextmanager
    def decompressing(self) -> Iterator[None]:
        """Turn a failure to decompress into one clear sentence."""
        try:
            yield
        except OSError as cause:
            if cause.errno or self.compression is None:
                raise
            msg = f"{self.name} must be a whole compressed file; {cause}."
            raise InvalidData(msg) from cause

    def decompressed(self, scratch: Scratch) -> Source:
        """Return an uncompressed file with the same contents."""
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

    def on_disk(self, scratch: Scratch) -> Source:
        """Return a local copy, which can be read more than once."""
        if self.path == STDIN and self.is_local:
            return spooled(_blocks(sys.stdin.buffer), scratch, self.name)
        with self._bytes() as stream:
            return spooled(_blocks(stream), scratch, self.name)

    def _bytes(self) -> Any:
        """Open the stored bytes; a missing file raises Python's own, clear error."""
        return Path(self.path).open("rb") if self.is_local else self._native()

    def _native(self) -> pa.NativeFile:
        if self._filesystem is None:
            return pa.OSFile(os.fsencode(self.path))
        with _reachable(self.name):
            return self._filesystem.open_input_file(self.path)


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
    """What readers need besides the file."""

    scratch: Scratch
    dialect: Dialect
    # Whether names and types of columns must come from all rows, not the first ones.
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
        self.delimiter = options.dialect.delimiter or delimiter or ""
        names = self._names(self.source.start(LONGEST_HEADER))
        self.schema = pa.schema([(name, pa.string()) for name in names])

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, all columns as text."""
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
                    ),
                ):
                    yield batch
                    n_rows += batch.num_rows
        except pa.ArrowInvalid as cause:
            raise self._problem(str(cause), n_rows) from cause

    def _names(self, start: bytes) -> list[str]:
        """Return the names in the first line of a text."""
        text = _decoded(start).lstrip("\r\n")
        self.delimiter = self.delimiter or _delimiter(text)
        lines = io.StringIO(text, newline="")
        try:
            names = next(csv.reader(lines, delimiter=self.delimiter), [])
        except csv.Error:  # a name is too long
            names = []
        header = text[: lines.tell()]
        is_cut = len(start) == LONGEST_HEADER and not header.endswith(("\r", "\n"))
        if is_cut or (header and not names):
            msg = (
                f"{self.source.name} must be delimited text, and name its columns in a "
                f"first line of at most {LONGEST_HEADER // MIB} MiB; it is longer, or "
                "a quote is not closed there."
            )
            raise InvalidData(msg)
        if ESCAPED.search(header):
            what = "its first line is not"
            raise self._not_in_encoding(what)
        if not names:
            msg = f"{self.source.name} must begin with names of columns; it is empty."
            raise InvalidData(msg)
        return names

    def _not_in_encoding(self, what: str = "it is not") -> InvalidData:
        must = f"{self.source.name} must be text in {self._encoding.upper()}"
        other = "utf-16" if self.source.start(2) in BOMS_16 else "latin-1"
        return InvalidData(
            f"{must}; {what}. Name its encoding with --encoding, for example {other}."
        )

    def _problem(self, message: str, n_rows: int) -> InvalidData:
        """Return the error for one of pyarrow's parser after this many rows."""
        name = self.source.name
        if match := re.search(
            r"Row #(\d+): Expected (\d+) columns, got (\d+)", message
        ):
            row, expected, got = map(int, match.groups())
            return InvalidData(
                f"{name} must have {expected} values in each row, as its first line "
                f"has; got {got} in row {row - 1}."
            )
        if match := re.search(r"column #(\d+): Row #(\d+): .*UTF8", message):
            column, row = self.schema.names[int(match[1])], int(match[2]) - 1
            return self._not_in_encoding(f"column {column!r} is not in row {row}")
        if "straddling" in message:
            return InvalidData(
                f"{name} must have rows of at most {BLOCK // MIB} MiB; one after row "
                f"{n_rows} is longer, or a quote is not closed there."
            )
        return InvalidData(f"{name} must be delimited text; {message}.")


def _decoded(start: bytes) -> str:
    """Return the start of a text file; bytes that are not UTF-8 are escaped."""
    # Incremental, since it may end within a character.
    decoder = codecs.getincrementaldecoder(UTF_8)("surrogateescape")
    return decoder.decode(start).removeprefix(BOM)


def _delimiter(text: str) -> str:
    """Return the most frequent delimiter of the header, outside quotes."""
    header = re.sub('"[^"]*"', "", text).partition("\n")[0]
    return max(DELIMITERS, key=header.count)


@contextlib.contextmanager
def _must_be(what: str, source: Source) -> Iterator[None]:
    """Turn an error of pyarrow into a message that names the format."""
    try:
        yield
    except (pa.ArrowException, OSError) as cause:
        msg = f"{source.name} must be {what}; {_first_line(cause)}."
        raise InvalidData(msg) from cause


class ParquetReader:
    """A Parquet file."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source = source.decompressed(options.scratch)  # read from its end
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
        import pyarrow.parquet as pq  # slow to import; other formats do not need it

        with (
            _must_be("a Parquet file", self._source),
            pq.ParquetFile(
                self._source.open(),
                buffer_size=BUFFER,
                pre_buffer=False,
                page_checksum_verification=True,  # of pages that have one
            ) as file,
        ):
            yield file


class ArrowReader:
    """A memory-mapped Arrow file."""

    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source = source.decompressed(options.scratch)  # read from its end
        with self._opened() as file:
            self.schema = file.schema
            batches = map(file.get_batch, range(file.num_record_batches))
            self.n_rows = sum(batch.num_rows for batch in batches)

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, in order."""
        with self._opened() as file:
            for stored in map(file.get_batch, range(file.num_record_batches)):
                batch = stored if columns is None else _selected(stored, columns)
                for first in range(0, batch.num_rows, MOST_ROWS):
                    yield batch.slice(first, MOST_ROWS)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[pa.ipc.RecordBatchFileReader]:
        with _must_be("an Arrow file", self._source), self._source.mapped() as file:
            yield pa.ipc.open_file(file)


def _selected(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Select columns; a struct is selected whole if one of its fields is needed."""
    names = batch.schema.names
    whole = (name if name in names else name.partition(".")[0] for name in columns)
    return batch.select(list(dict.fromkeys(whole)))


class Reader(Protocol):
    """A file of rows that can be read more than once."""

    @property
    def schema(self) -> pa.Schema:
        """The columns, and their types."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if known without reading them."""

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """Read the rows, in order; all columns unless some are named."""


class Format(NamedTuple):
    """How to read and recognise a format; `abers.tables.writing` writes it."""

    reader: Callable[[Source, ReadOptions], Reader]
    endings: tuple[str, ...]  # of file names, the usual one first
    magic: bytes | None = None  # first bytes, which take precedence over the name
    openings: tuple[bytes, ...] = ()  # first characters, for names without an extension
    is_typed: bool = True  # otherwise all columns are text
    is_text: bool = True  # a terminal can show it
    raw: str | None = None  # name of a column with each row's original text


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
DEFAULT = "csv"  # if neither bytes nor name show the format


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
    """Return the names of one or several files as a list."""
    listed_files = [files] if isinstance(files, str | os.PathLike) else files
    return [os.fspath(name) for name in listed_files]


def sources_of(names: Sequence[str]) -> list[Source]:
    """Expand patterns, folders and URIs; raise if there is no file, or stdin twice."""
    sources: list[Source] = []
    for name in names:
        sources += (matching := sources_at(name))
        if matching:
            continue
        if not (os.path.lexists(name) or is_uri(name) or glob.has_magic(name)):
            raise FileNotFoundError(2, "No such file or directory", name)
        must = "must match at least one file" if glob.has_magic(name) else MUST_BE_FILES
        msg = f"{name!r} {must}; there is none."
        raise InvalidData(msg)
    if [source.path for source in sources].count(STDIN) > 1:
        msg = "standard input must be named once; got '-' twice."
        raise InvalidData(msg)
    return sources


def sources_at(name: str) -> list[Source]:
    """Return the files at a path, folder, pattern or URI, possibly none."""
    if name == STDIN:
        return [Source(STDIN, "standard input")]
    if os.path.lexists(name):
        return _local(name)
    if is_uri(name):
        return _at_uri(name)
    matching = glob.glob(name, recursive=True) if glob.has_magic(name) else []  # noqa: PTH207 (as a shell)
    # A pattern such as ** matches both a folder and its files.
    sources = (source for path in sorted(matching) for source in _local(path))
    return list({source.path: source for source in sources}.values())


def is_uri(name: str) -> bool:
    """Return whether a name is a URI, such as s3://bucket/file."""
    return "://" in name


def _local(path: str) -> list[Source]:
    """Return a local file, or the files of a local folder."""
    if not Path(path).is_dir():
        return [Source(path)]
    from pyarrow import fs  # slow to import, and rarely needed

    files = _files_in(fs.LocalFileSystem(), path.rstrip("/") or "/")
    return [Source(file) for file in files]


def _at_uri(uri: str) -> list[Source]:
    """Return the file at a URI of pyarrow, or the files of the folder there."""
    from pyarrow import fs

    try:
        with _reachable(repr(uri)):
            filesystem, path = fs.FileSystem.from_uri(uri)
            if isinstance(filesystem, fs.LocalFileSystem):
                return _local(path) if os.path.lexists(path) else []
            is_file = filesystem.get_file_info(path).is_file
            files = [path] if is_file else _files_in(filesystem, path)
    except pa.ArrowException as cause:
        msg = (
            f"{uri!r:.200} must be a path, or a URI such as file:///folder or "
            f"s3://bucket/folder; {_first_line(cause)}."
        )
        raise InvalidData(msg) from cause
    scheme = uri.partition("://")[0]
    return [Source(file, repr(f"{scheme}://{file}"), filesystem) for file in files]


def _files_in(filesystem: Any, folder: str) -> list[str]:
    """Return the files of a folder, at any depth, that are not hidden."""
    from pyarrow import fs

    selector = fs.FileSelector(folder, allow_not_found=True, recursive=True)
    paths = [each.path for each in filesystem.get_file_info(selector) if each.is_file]
    inner = (path[len(folder) :].split("/") for path in paths)
    return sorted(
        path
        for path, parts in zip(paths, inner, strict=True)
        if not any(part.startswith(UNSEEN) for part in parts)
    )


@contextlib.contextmanager
def _reachable(name: str) -> Iterator[None]:
    """Turn an error of a remote file system into one clear sentence."""
    try:
        yield
    except OSError as cause:
        msg = f"{name} must be there and readable; {_first_line(cause)}."
        raise InvalidData(msg) from cause


def _first_line(cause: BaseException) -> str:
    return str(cause).partition("\n")[0].rstrip(".")


def _partition_values(path: str) -> dict[str, str | None]:
    """Return the columns given by the folders on the path, named as in Hive."""
    if not (folders := HIVE_FOLDER.findall(path)):
        return {}
    from urllib.parse import unquote  # slow to import, and rarely needed

    return {
        unquote(key): None if value == HIVE_NULL else unquote(value)
        for key, value in folders
    }


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of a table, and their position in it."""

    columns: pa.RecordBatch
    file: str  # for messages
    first_row: int  # from 1, in its file
    row_number: int  # from 0, in all files
    dialect: Dialect | None = None  # of CSV, whose columns are all text

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def __getitem__(self, column: str) -> pa.Array:
        if column in self.columns.schema.names:
            return self.columns.column(column)
        return self._inner(*column.split("."))

    def place(self, i: int) -> str:
        """Name row i of the batch for messages; rows count from 1, after the header."""
        return f"row {self.first_row + i} of {self.file}"

    def _inner(self, column: str, *fields: str) -> pa.Array:
        """Return a field of a column of structs."""
        import pyarrow.compute as pc

        structs = self.columns.column(column)
        if not pa.types.is_struct(structs.type):
            msg = (
                f"column {column!r} must stay an object while {'.'.join(fields)!r} is "
                "read from it; in another format than JSON lines it becomes text. "
                "Write JSON lines."
            )
            raise InvalidData(msg)
        return pc.struct_field(structs, list(fields))


class InputTable:
    """One table, in one file or in several that have the same columns.

    `to` is the output format, if known; a dialect must apply to the input or the
    output. Names and types of JSON columns come from the first rows, or from the whole
    table if it is converted or `whole` is true.
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
        sources = [
            source.on_disk(scratch) if source.is_pipe else source
            for source in sources_of(names_of(files))
        ]
        self.format = format_of(sources[0])
        self.dialect = dialect or Dialect()
        if all(FORMATS[form].is_typed for form in (self.format, to or self.format)):
            self._refuse_dialect(sources[0].name)
        is_converted = to not in (None, self.format)
        options = ReadOptions(scratch, self.dialect, whole or is_converted)
        self._files = [self._opened(source, options) for source in sources]
        self.name, self.reader, values = self._files[0]
        self.partition = list(values)  # columns given by folders
        fields = [pa.field(name, pa.string()) for name in values]
        self.schema = pa.schema([*self.reader.schema, *fields])
        self.schema = self.schema.with_metadata(self.reader.schema.metadata)
        self.columns: list[str] = self.schema.names
        sizes = [file.reader.n_rows for file in self._files]
        self.n_rows = None if None in sizes else sum(size or 0 for size in sizes)
        for name, reader, values in self._files[1:]:
            columns = [*reader.schema.names, *values]
            if columns != self.columns:
                msg = (
                    f"{name} must have the columns of {self.name}, in their order; got "
                    f"{listed(columns)} instead of {listed(self.columns)}."
                )
                raise InvalidData(msg)

    def has(self, name: str) -> bool:
        """Return whether there is a column, or a field such as column.field."""
        if name in self.columns or "." not in name:
            return name in self.columns
        if isinstance(self.reader, JsonReader):
            return self.reader.has(name)
        first, *inner = name.split(".")
        kind = self.schema.field(first).type if first in self.columns else pa.null()
        for field in inner:
            if not pa.types.is_struct(kind) or kind.get_field_index(field) < 0:
                return False
            kind = kind.field(field).type
        return True

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        progress: Progress | None = None,
    ) -> Iterator[Batch]:
        """Read the rows, file by file; all columns unless some are named."""
        done = 0
        untyped = None if FORMATS[self.format].is_typed else self.dialect
        own = columns
        if columns is not None:
            own = [name for name in columns if name not in self.partition] or None
        for place, (name, reader, values) in enumerate(self._files):
            first = 1
            for rows in reader.batches(own):
                whole = _with_values(rows, values)
                yield Batch(whole, name, first, done, untyped)
                first += rows.num_rows
                done += rows.num_rows
                if progress:
                    progress(done, self.n_rows or self._expected(place, done))

    def _expected(self, place: int, n_rows: int) -> int | None:
        """Estimate the total number of rows from the share of bytes read."""
        sources: list[Source | None] = [
            getattr(file.reader, "source", None) for file in self._files
        ]
        sizes = [0 if source is None else source.n_bytes for source in sources]
        source = sources[place]
        if source is None or (n_read := sum(sizes[:place]) + source.position) == 0:
            return None
        return max(n_rows, round(n_rows * sum(sizes) / n_read))

    def check_types(self) -> None:
        """Raise if a column has different types in different files."""
        for name, reader, _ in self._files:
            for mine, theirs in zip(self.reader.schema, reader.schema, strict=True):
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

    def _opened(self, source: Source, options: ReadOptions) -> _File:
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
        values = _partition_values(source.path)
        return _File(
            source.name, reader, {n: v for n, v in values.items() if n not in names}
        )


class _File(NamedTuple):
    """One file of a table."""

    name: str
    reader: Reader
    values: dict[str, str | None]  # of all its rows, for columns given by folders


def _with_values(
    rows: pa.RecordBatch, values: Mapping[str, str | None]
) -> pa.RecordBatch:
    """Add columns with one value for all rows."""
    for name, value in values.items():
        column = pa.repeat(pa.scalar(value, pa.string()), rows.num_rows)
        rows = rows.append_column(pa.field(name, pa.string()), column)
    return rows


def listed(names: Sequence[str], most: int = 20) -> str:
    """List names, for a message."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
