"""Outputs: a file that is there as a whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from abers.errors import InvalidFile, OutputExists
from abers.storage.atomic import replacing
from abers.tables.sources import named_format

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

STDOUT = "-"


def check_output(path: str, *, force: bool, inputs: Iterable[str] = ()) -> None:
    """Refuse what must not be overwritten, before any work is done."""
    if path == STDOUT:
        return
    if Path(path).exists() and not Path(path).is_file():
        what = "a pipe" if Path(path).is_fifo() else "a folder or a device"
        advice = " For standard output, say '-'." if path == "/dev/stdout" else ""
        msg = f"{path!r} must be a file; it is {what}.{advice}"
        raise InvalidFile(msg)
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        given = Path(path).parent
        folder = target.parent if given.is_dir() else given  # of a link, or as named
        msg = f"the folder {str(folder)!r} must exist to write {path!r}; make it first"
        raise FileNotFoundError(errno.ENOENT, msg)
    for name in inputs:
        if os.path.realpath(name) == str(target):
            msg = f"{path!r} must not be what is read; write to another file."
            raise OutputExists(msg)
    if target.exists() and not force:
        msg = f"{path!r} exists; overwrite it with --force, or write to another file."
        raise OutputExists(msg)


class Sink:
    """Where a writer writes: it may close this, and go on after a failure."""

    closed = False  # Arrow asks

    def __init__(self, file: Any) -> None:
        self._file = file
        self._position = 0
        self._is_dead = False

    def write(self, data: Any) -> int:
        """Write bytes, unless the output is given up."""
        n_bytes = memoryview(data).nbytes
        if not self._is_dead:
            self._file.write(data)
        self._position += n_bytes
        return n_bytes

    def tell(self) -> int:
        """Return the number of bytes written; a pipe does not know."""
        return self._position

    def flush(self) -> None:
        """Do nothing: whoever owns the file will."""

    def close(self) -> None:
        """Do nothing: whoever owns the file will."""

    def give_up(self) -> None:
        """Ignore what a writer still writes when it is thrown away."""
        self._is_dead = True


@contextlib.contextmanager
def output(path: str) -> Iterator[Sink]:
    """Open a file to write, compressed if its name says so.

    The bytes go to a temporary file beside it, which takes its place when all is
    written and on disk; whatever happens before leaves things as they were.
    """
    if path == STDOUT:
        with _sink(sys.stdout.buffer, None) as sink:
            yield sink
        sys.stdout.buffer.flush()
        return
    with replacing(path) as file, _sink(file, named_format(path)[1]) as sink:
        yield sink


@contextlib.contextmanager
def _sink(file: BinaryIO, compression: str | None) -> Iterator[Sink]:
    """Compress what is written; give up when writing fails."""
    outer = inner = Sink(file)
    stream = None
    if compression:
        stream = pa.CompressedOutputStream(pa.PythonFile(inner, "w"), compression)
        outer = Sink(stream)
    try:
        yield outer
        if stream:
            stream.close()
    except BaseException:
        outer.give_up()
        inner.give_up()
        raise
