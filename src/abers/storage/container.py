"""The bytes of our files; `files` knows what they mean.

A file is a safetensors container: 8 bytes of length, a JSON header, the arrays.
Everything that is not an array is canonical JSON in one metadata key, `abers`, together
with the SHA-256 of the whole file, computed with zeros in place of the digest. So equal
contents give equal bytes, and a change of any byte is noticed. We write and compare the
header ourselves, so neither the bytes nor what is accepted depends on the version of a
library (docs/decisions/0006).

Reading trusts nothing: the header must be exactly the one that would be written, and
sizes are checked before memory is allocated. Nothing is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.core.fitted import Contents, as_json
from abers.errors import InvalidFile, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from abers.storage.atomic import StrPath

PREFIX = "abers-"  # of the kind of file, in the header
VERSION = 1  # of the format
LARGEST_HEADER = 2**20  # bytes; all but the user's own tags is under a thousand
LENGTH_BYTES = 8
MAGIC = b'{"__metadata__":{"abers":"'  # the beginning of every header of ours
UNSIGNED = "0" * 64  # in place of the digest while it is computed
DTYPE_NAMES = {"f": "F64", "i": "I64", "u": "U8"}  # by numpy's letter for the kind
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
}


class Column(NamedTuple):
    """The header's description of an array."""

    dtype: str
    size: int

    @property
    def nbytes(self) -> int:
        """Number of bytes in the file."""
        return self.size * DTYPES[self.dtype].itemsize


def refusal(
    path: StrPath,
    reason: str,
    advice: str = "Save it again, or take an undamaged copy.",
    kind: str = "file",
) -> InvalidFile:
    """Return the exception for an invalid file."""
    must = f"{os.fspath(path)!r} must be a {kind} that abers has saved"
    return InvalidFile(f"{must}; {reason}. {advice}")


def sha256_of(path: StrPath) -> str:
    """Return the checksum of a file, as printed by sha256sum."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def encoded(kind: str, contents: Contents) -> list[bytes | memoryview]:
    """Return the bytes of a file: the header, then the arrays."""
    columns = _in_order(
        {
            name: Column(DTYPE_NAMES[array.dtype.kind], array.size)
            for name, array in contents.arrays.items()
        }
    )
    payload = [
        np.ascontiguousarray(contents.arrays[name], dtype=DTYPES[column.dtype])
        for name, column in columns.items()
    ]
    digest = _digest(_header(kind, contents.facts, columns, UNSIGNED), payload)
    header = _header(kind, contents.facts, columns, digest)
    if len(header) > LARGEST_HEADER:
        msg = (
            f"metadata must fit into {LARGEST_HEADER} bytes of JSON; got "
            f"{len(header)}. Keep long texts in a file of their own."
        )
        raise InvalidParameter(msg)
    return [header, *(array.data for array in payload)]


def read(path: StrPath) -> tuple[str, Contents]:
    """Return the kind and the contents of a file; raise unless abers wrote it."""
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = file.read(LENGTH_BYTES)
        length = int.from_bytes(header, "little")
        header += file.read(min(length, LARGEST_HEADER))
        if not header.startswith(MAGIC, LENGTH_BYTES):
            raise refusal(path, "it is another file", advice="Check the path.")
        if len(header) != LENGTH_BYTES + length:
            raise refusal(path, "its header is cut short, or far too long")
        kind, facts, columns, digest = _understood(path, header)
        expected = len(header) + sum(column.nbytes for column in columns.values())
        if size != expected:
            raise refusal(path, f"it has {size} bytes where {expected} belong")
        arrays: dict[str, NDArray[Any]] = {}
        for name, column in columns.items():
            array = np.empty(column.size, dtype=DTYPES[column.dtype])
            if file.readinto(array.data) != column.nbytes:
                raise refusal(path, "it became shorter while it was read")
            arrays[name] = array
    unsigned = _header(kind, facts, columns, UNSIGNED)
    if _digest(unsigned, arrays.values()) != digest:
        raise refusal(path, "its contents do not match its checksum")
    native = {
        name: array.astype(array.dtype.newbyteorder("="), copy=False)
        for name, array in arrays.items()
    }
    return kind, Contents(facts, native)


def _in_order(columns: dict[str, Column]) -> dict[str, Column]:
    """Sort columns by name, bytes last, so that all numbers are aligned."""
    last = {name: column.dtype == "U8" for name, column in columns.items()}
    return {name: columns[name] for name in sorted(columns, key=lambda n: (last[n], n))}


def _understood(
    path: StrPath, header: bytes
) -> tuple[str, dict[str, Any], dict[str, Column], str]:
    """Return the contents of a header; raise unless it is canonical."""
    try:
        described = json.loads(header[LENGTH_BYTES:].decode("ascii"))
        record = json.loads(described.pop("__metadata__")["abers"])
        kind, version, digest = (
            record.pop(name) for name in ("format", "version", "sha256")
        )
        kind = kind.removeprefix(PREFIX)
        columns = _in_order({name: _column(described[name]) for name in described})
        canonical = _header(kind, record, columns, digest)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as e:
        raise refusal(path, "its header makes no sense") from e
    if type(version) is int and version > VERSION:
        reason = (
            f"it has format version {reprlib.repr(version)}, and this abers reads "
            f"version {VERSION}"
        )
        raise refusal(path, reason, advice="Upgrade abers.")
    if header != canonical:
        raise refusal(path, "its header was altered")
    return kind, record, columns, digest


def _column(described: Any) -> Column:
    (size,) = described["shape"]
    if type(size) is not int or size < 0:  # true is an int, too
        msg = f"a size must be a count; got {size!r}."
        raise ValueError(msg)
    return Column(described["dtype"], size)


def _header(
    kind: str, facts: Mapping[str, Any], columns: Mapping[str, Column], digest: str
) -> bytes:
    """Return the only valid header for these arrays."""
    record = {
        **facts,
        "format": f"{PREFIX}{kind}",
        "version": VERSION,
        "sha256": digest,
    }
    described: dict[str, Any] = {"__metadata__": {"abers": as_json(record)}}
    offset = 0
    for name, column in columns.items():
        end = offset + column.nbytes
        described[name] = {
            "dtype": column.dtype,
            "shape": [column.size],
            "data_offsets": [offset, end],
        }
        offset = end
    text = as_json(described).encode("ascii")
    text += b" " * (-len(text) % LENGTH_BYTES)  # the arrays start at a multiple of 8
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


def _digest(unsigned_header: bytes, payload: Iterable[NDArray[Any]]) -> str:
    sha = hashlib.sha256(unsigned_header)
    for array in payload:
        sha.update(array.data)
    return sha.hexdigest()
