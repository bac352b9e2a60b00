"""Sources: the files that a user names, as one table, in batches of rows."""

from __future__ import annotations

import errno
import glob
import io
import os
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import pyarrow as pa

from abers.errors import InvalidFile, InvalidParameter, InvalidTable, OutputExists
from abers.storage.atomic import already_exists, target_of
from abers.storage.container import LENGTH_BYTES, MAGIC
from abers.tables.formats import DEFAULT, FORMATS
from abers.tables.formats.csv import Dialect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from abers.tables.formats import Reader

    Progress = Callable[[int, int | None], None]  # rows done, and of how many if known

StrPath = str | os.PathLike[str]

STDIN = STDOUT = "-"
HEAD = 2**20  # bytes, of which a header is the first line
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
COMPRESSION_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
COMPRESSION_MAGIC_BYTES = 4
FIRST_LOOK = 2**12  # bytes, which tell the format


class Scratch:
    """A folder for what must wait on disk; made when needed, removed in the end."""

    def __init__(self, parent: StrPath | None = None) -> None:
        self._parent = None if parent is None else Path(parent)

    @cached_property
    def folder(self) -> Path:
        """The folder, empty when first asked for."""
        import tempfile  # few tables need it, and all would wait

        return Path(tempfile.mkdtemp(prefix=".abers-", dir=self._parent))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if "folder" in self.__dict__:
            import shutil

            shutil.rmtree(self.folder, ignore_errors=True)


class FileSource:
    """A file, compressed or not."""

    def __init__(self, path: str | Path, name: str | None = None) -> None:
        self.path = Path(path)
        self.name = name or repr(str(path))  # as messages say it
        with self.path.open("rb") as stream:
            self.compression = _compression(stream.read(COMPRESSION_MAGIC_BYTES))

    def head(self, size: int = HEAD) -> bytes:
        """Return the first bytes of the table."""
        with self.open() as stream:
            return stream.read(size)

    def open(self) -> BinaryIO:
        """Open the table."""
        stream = self.path.open("rb")
        if not self.compression:
            return stream
        return _decompressed(stream, self.compression, self.name)

    def on_disk(self, scratch: Scratch) -> FileSource:
        """Return the table as a file without compression."""
        return _spooled(self, scratch) if self.compression else self

    def kept(self, _scratch: Scratch) -> FileSource:
        """Return the table as a file, which can be opened again."""
        return self


class PipedSource:
    """What comes in through a pipe, compressed or not; can be opened once."""

    def __init__(self, stream: BinaryIO, path: str = STDIN) -> None:
        self.path = Path(path)
        self.name = "standard input" if path == STDIN else repr(path)
        self._head = stream.read(HEAD)
        if compression := _compression(self._head):
            packed = _Rewound(self._head, stream, self.name)
            stream = _decompressed(packed, compression, self.name)
            self._head = stream.read(HEAD)
        self._rest = stream

    def head(self, size: int = HEAD) -> bytes:
        """Return the first bytes of the table."""
        self._head += self._rest.read(max(0, size - len(self._head)))
        return self._head[:size]

    def open(self) -> BinaryIO:
        """Open the table, from its first byte."""
        return io.BufferedReader(_Rewound(self._head, self._rest, self.name), HEAD)

    def on_disk(self, scratch: Scratch) -> FileSource:
        """Return the table as a file."""
        return _spooled(self, scratch)

    kept = on_disk


Source = FileSource | PipedSource


def _spooled(source: Source, scratch: Scratch) -> FileSource:
    import shutil
    import tempfile

    copy = Path(tempfile.mkdtemp(dir=scratch.folder), "table")
    with source.open() as stream, copy.open("xb") as file:
        shutil.copyfileobj(stream, file, HEAD)
    return FileSource(copy, source.name)


def _compression(head: bytes) -> str | None:
    known = COMPRESSION_MAGIC.items()
    return next((name for magic, name in known if head.startswith(magic)), None)


def _decompressed(stream: Any, compression: str, name: str) -> BinaryIO:
    native = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), compression)
    return io.BufferedReader(_Rewound(b"", native, name), HEAD)


class _Rewound(io.RawIOBase):
    """A stream whose beginning has been read, from the beginning."""

    def __init__(self, head: bytes, rest: Any, name: str) -> None:
        self._head = head
        self._rest = rest
        self._name = name

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self._rest.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._head[: len(buffer)] or self._rest.read(len(buffer))
        except OSError as cause:
            if cause.errno:
                raise
            msg = f"{self._name} must be a whole compressed file; {cause}."
            raise InvalidTable(msg) from cause
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


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


def found(names: Sequence[str]) -> list[Source]:
    """Return the sources that a user names: files, patterns, `-` for a pipe."""
    files: list[str] = []
    for name in names:
        matching = _matching(name)
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
    return [_source(name) for name in files]


def _matching(name: str) -> list[str]:
    """Return the files that a name or a pattern means; none if there are none."""
    if name == STDIN or os.path.lexists(name):
        return [name]
    if glob.has_magic(name):
        return sorted(glob.glob(name, recursive=True))  # noqa: PTH207 (as a shell)
    return []


def _source(name: str) -> Source:
    if name == STDIN:
        return PipedSource(sys.stdin.buffer)
    if is_pipe(name):  # what is read from it is gone
        return PipedSource(Path(name).open("rb"), name)
    return FileSource(name)


def is_pipe(name: str) -> bool:
    """Tell whether a file can be read only once, as a FIFO or `<(command)`."""
    return Path(name).exists() and not (Path(name).is_file() or Path(name).is_dir())


def check_output(path: str, *, force: bool, inputs: Iterable[str] = ()) -> None:
    """Refuse what must not be overwritten, before any work is done."""
    if path == STDOUT:
        return
    if Path(path).is_fifo():  # of which a path through links may say nothing
        advice = " For standard output, say '-'." if path == "/dev/stdout" else ""
        msg = f"{path!r} must be a file; it is a pipe.{advice}"
        raise InvalidFile(msg)
    target = target_of(path)
    if not target.parent.is_dir():
        given = Path(path).parent
        folder = target.parent if given.is_dir() else given  # of a link, or as named
        msg = f"the folder {str(folder)!r} must exist to write {path!r}; make it first"
        raise FileNotFoundError(errno.ENOENT, msg)
    for name in (file for each in inputs for file in _matching(each)):
        if _is_same_file(name, target):
            msg = f"{path!r} must not be what is read; write to another file."
            raise OutputExists(msg)
    if target.exists() and not force:
        raise already_exists(path)


def _is_same_file(name: str, target: Path) -> bool:
    """Tell whether a name means the target, through links of either kind too."""
    if name == STDIN or not target.exists() or not Path(name).exists():
        return False
    return target.samefile(name)


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
        sources = found(names_of(files))
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
