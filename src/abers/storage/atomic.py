"""Replacing files: the old one or the new one is there, never half of either."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from abers.errors import InvalidFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

StrPath = str | os.PathLike[str]


@contextlib.contextmanager
def replacing(path: StrPath) -> Iterator[BinaryIO]:
    """Open a file to write next to the target; flush it to disk and rename it.

    Whatever happens before the rename leaves things as they were.
    """
    target = Path(os.path.realpath(path))  # through a link, as open() would
    if target.exists() and not target.is_file():
        msg = f"{os.fspath(path)!r} must be a file; it is a folder or a device."
        raise InvalidFile(msg)
    temporary = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except OSError as cause:  # name the file that the caller knows
        if cause.filename in {None, str(temporary)} and cause.errno is not None:
            raise OSError(cause.errno, cause.strerror, os.fspath(path)) from cause
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    _sync_folder(target.parent)


def replace_file(path: StrPath, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file, or leave the one that is there as it was."""
    with replacing(path) as file:
        for part in parts:
            file.write(part)


def replace_text(path: StrPath, text: str) -> None:
    """Write text as UTF-8; lone surrogates become character references."""
    replace_file(path, (text.encode("utf-8", "xmlcharrefreplace"),))


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, on systems that can open a folder."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
