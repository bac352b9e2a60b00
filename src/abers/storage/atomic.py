"""Replacing files: either the old file or the new one is there, never half of one."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from abers.errors import InvalidFile, OutputExists

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

StrPath = str | os.PathLike[str]

# On Windows, a file that is open for reading cannot be replaced, and virus scanners
# read new ones: these are seconds between attempts, a second and a half in all.
# Elsewhere, a refusal is final.
IS_WINDOWS = os.name == "nt"
WAITS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 0.23)

PATIENCE = 600.0  # seconds that a command waits for another one's lock
PAUSE = 0.02  # between attempts


def target_of(path: StrPath) -> Path:
    """Return the file to write, with links resolved as in open(); it may not exist."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # still a link: they form a loop
        what = "a link that leads back to itself"
    elif target.exists() and not target.is_file():
        what = "a folder or a device"
    else:
        return target
    msg = f"{os.fspath(path)!r} must be a file; it is {what}."
    raise InvalidFile(msg)


@contextlib.contextmanager
def replacing(path: StrPath, *, force: bool = True) -> Iterator[BinaryIO]:
    """Open a temporary file next to the target; once it is on disk, replace the target.

    If anything fails before that, the target stays unchanged. Without `force`, an
    existing target stays, even if it appeared only just before the end.
    """
    target = target_of(path)
    temporary = target.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            _take_over(target, file.fileno())
            os.fsync(file.fileno())
        if force:
            _replace(temporary, target)
        elif not _renamed(temporary, target):
            raise already_exists(path)
    except OSError as cause:  # name the user's file
        if cause.filename in {None, str(temporary)} and cause.errno is not None:
            raise OSError(cause.errno, cause.strerror, os.fspath(path)) from cause
        raise
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    _sync_folder(target.parent)


def _take_over(target: Path, handle: int) -> None:
    """Give a new file the mode and, if permitted, the owner of the old one."""
    if IS_WINDOWS:
        return
    with contextlib.suppress(OSError):  # no old file, or not permitted
        old = target.stat()
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            with contextlib.suppress(PermissionError):
                os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def already_exists(path: StrPath) -> OutputExists:
    """Return the error for a file that already exists."""
    return OutputExists(
        f"{os.fspath(path)!r} exists; overwrite it with --force, or write to another "
        "file."
    )


def replace_file(
    path: StrPath, parts: Iterable[bytes | memoryview], *, force: bool = True
) -> None:
    """Write a file atomically."""
    with replacing(path, force=force) as file:
        file.writelines(parts)


def replace_text(path: StrPath, text: str, *, force: bool = True) -> None:
    """Write text as UTF-8; lone surrogates become character references."""
    replace_file(path, [text.encode("utf-8", "xmlcharrefreplace")], force=force)


def _renamed(file: Path, target: Path) -> bool:
    """Rename a file unless the name is taken, in one step."""
    try:
        target.hardlink_to(file)
    except FileExistsError:
        return False
    except OSError:  # not every file system has links
        return _renamed_by_claim(file, target)
    return True


def _renamed_by_claim(file: Path, target: Path) -> bool:
    """Do the same with an empty file that holds the name until the rename."""
    try:
        target.touch(exist_ok=False)
    except FileExistsError:
        return False
    try:
        _replace(file, target)
    except OSError:
        target.unlink()
        raise
    return True


def _replace(file: Path, target: Path) -> None:
    """Rename a file over another; on Windows, wait for its readers."""
    for seconds in WAITS if IS_WINDOWS else ():
        try:
            file.replace(target)
        except PermissionError:
            time.sleep(seconds)
        else:
            return
    file.replace(target)


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, on systems where a folder can be opened.

    Not possible on Windows, whose file system keeps a journal of renames.
    """
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def locking(path: StrPath, *, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the lock of a file that is read, changed and replaced; wait if it is taken.

    The lock is on an empty file next to it, which is not removed. The system releases
    it when the process ends, in whatever way.
    """
    target = target_of(path)
    lock = target.with_name(f".{target.name}.lock")
    handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        end = time.monotonic() + patience
        while not _is_locked(handle):
            if time.monotonic() > end:
                msg = (
                    f"{os.fspath(path)!r} must not be in use by another command for "
                    f"more than {patience:g} s; it is. Nothing was changed. Run this "
                    "one again."
                )
                raise InvalidFile(msg)
            time.sleep(PAUSE)
        yield
    finally:
        os.close(handle)


if sys.platform == "win32":
    import msvcrt

    def _is_locked(handle: int) -> bool:
        """Lock an open file; return False if another process has the lock."""
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _is_locked(handle: int) -> bool:
        """Lock an open file; return False if another process has the lock."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
