"""The bytes of our files, whatever they mean; for that see `rules`.

A file is a safetensors container: 8 bytes of length, a JSON header, the arrays. All
that is not an array stands in one metadata key, `abers`, as canonical JSON, and with it
the SHA-256 of the whole file, taken with zeros in the digest's own place. So equal
contents give equal bytes, and every other byte is noticed. The header is written and
compared here, not by a library, so that neither the bytes nor what is accepted depends
on a version of one (docs/decisions/0006).

Reading trusts nothing: the header must be the very one that would be written, and sizes
are checked before memory is taken. Nothing is executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.errors import InvalidFile, InvalidParameter
from abers.storage.atomic import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from abers.storage.atomic import StrPath

LARGEST_HEADER = 2**20  # bytes; all but the user's own tags is under a thousand
LENGTH_BYTES = 8
MAGIC = b'{"__metadata__":{"abers":"'  # how each of our headers begins
UNSIGNED = "0" * 64  # in the place of the digest while it is taken
DTYPE_NAMES = {"f": "F64", "i": "I64", "u": "U8"}  # by numpy's letter for the kind
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
}


class Kind(NamedTuple):
    """What a file may be, and what it then holds."""

    name: str
    arrays: tuple[str, ...]  # in the order of the file
    facts: tuple[str, ...]
    version: int = 1


class Contents(NamedTuple):
    """What a file holds: arrays of one dimension, and facts that JSON can tell."""

    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


class Column(NamedTuple):
    """What a header says of an array."""

    dtype: str
    size: int

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return self.size * DTYPES[self.dtype].itemsize


def refusal(
    path: StrPath,
    kind: Kind,
    reason: str,
    advice: str = "Save it again, or take an undamaged copy.",
) -> InvalidFile:
    """Word the exception for a file that is not what it should be."""
    must = f"{os.fspath(path)!r} must be a {kind.name} that abers has saved"
    return InvalidFile(f"{must}; {reason}. {advice}")


def sha256_of(path: StrPath) -> str:
    """Return the checksum of a file, as sha256sum prints it."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(path: StrPath, kind: Kind, contents: Contents) -> None:
    """Write a file, or leave the one that is there as it was."""
    columns, payload = {}, []
    for name in kind.arrays:
        array = contents.arrays[name]
        dtype = DTYPE_NAMES[array.dtype.kind]
        columns[name] = Column(dtype, array.size)
        payload.append(np.ascontiguousarray(array, dtype=DTYPES[dtype]))
    digest = _digest(_header(kind, contents.facts, columns, UNSIGNED), payload)
    header = _header(kind, contents.facts, columns, digest)
    if len(header) > LARGEST_HEADER:
        msg = (
            f"metadata must fit into {LARGEST_HEADER} bytes of JSON; got "
            f"{len(header)}. Keep long texts in a file of their own."
        )
        raise InvalidParameter(msg)
    replace_file(path, (header, *(array.data for array in payload)))


def read(path: StrPath, *versions: Kind) -> Contents:
    """Read a file whose every byte is as `write` would have written it.

    The kinds are the versions of one format, the latest first.
    """
    kind = versions[0]
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        header = file.read(LENGTH_BYTES)
        length = int.from_bytes(header, "little")
        header += file.read(min(length, LARGEST_HEADER))
        if not header.startswith(MAGIC, LENGTH_BYTES):
            raise refusal(path, kind, "it is another file", advice="Check the path.")
        if len(header) != LENGTH_BYTES + length:
            raise refusal(path, kind, "its header is cut short, or far too long")
        kind, facts, columns, digest = _understood(path, versions, header)
        expected = len(header) + sum(column.nbytes for column in columns.values())
        if size != expected:
            raise refusal(path, kind, f"it has {size} bytes where {expected} belong")
        arrays: dict[str, NDArray[Any]] = {}
        for name, column in columns.items():
            array = np.empty(column.size, dtype=DTYPES[column.dtype])
            if file.readinto(array.data) != column.nbytes:
                raise refusal(path, kind, "it became shorter while it was read")
            arrays[name] = array
    unsigned = _header(kind, facts, columns, UNSIGNED)
    if _digest(unsigned, arrays.values()) != digest:
        raise refusal(path, kind, "its contents do not match its checksum")
    native = {
        name: array.astype(array.dtype.newbyteorder("="), copy=False)
        for name, array in arrays.items()
    }
    return Contents(facts, native)


def _understood(
    path: StrPath, versions: Sequence[Kind], header: bytes
) -> tuple[Kind, dict[str, Any], dict[str, Column], str]:
    """Return what a header says; refuse any header but the canonical one."""
    kind = versions[0]
    try:
        described = json.loads(header[LENGTH_BYTES:].decode("ascii"))
        record = json.loads(described["__metadata__"]["abers"])
        _check_form(path, kind, record["format"], record["version"])
        kind = {known.version: known for known in versions}[record["version"]]
        facts = {name: record[name] for name in kind.facts}
        columns = {name: _column(described[name]) for name in kind.arrays}
        canonical = _header(kind, facts, columns, record["sha256"])
    except (LookupError, TypeError, ValueError, RecursionError) as cause:
        raise refusal(path, kind, "its header makes no sense") from cause
    if header != canonical:
        raise refusal(path, kind, "its header was altered")
    return kind, facts, columns, record["sha256"]


def _column(described: Any) -> Column:
    (size,) = described["shape"]
    if type(size) is not int or size < 0:  # true is an int, too
        msg = f"a size must be a count; got {size!r}."
        raise ValueError(msg)
    return Column(described["dtype"], size)


def _check_form(path: StrPath, kind: Kind, form: object, version: object) -> None:
    if form != f"abers-{kind.name}":
        reason = f"its format is {reprlib.repr(form)}"
        raise refusal(path, kind, reason, advice=f"Pass the file of a {kind.name}.")
    if isinstance(version, int) and version > kind.version:
        reason = (
            f"it has format version {reprlib.repr(version)}, and this abers reads "
            f"versions up to {kind.version}"
        )
        raise refusal(path, kind, reason, advice="Upgrade abers.")


def _header(
    kind: Kind, facts: Mapping[str, Any], columns: Mapping[str, Column], digest: str
) -> bytes:
    """Return the only bytes that may stand before such arrays."""
    record = {
        "format": f"abers-{kind.name}",
        "version": kind.version,
        "sha256": digest,
        **{name: facts[name] for name in kind.facts},
    }
    described: dict[str, Any] = {"__metadata__": {"abers": _canonical(record)}}
    offset = 0
    for name, column in columns.items():
        end = offset + column.nbytes
        described[name] = {
            "dtype": column.dtype,
            "shape": [column.size],
            "data_offsets": [offset, end],
        }
        offset = end
    text = _canonical(described).encode("ascii")
    text += b" " * (-len(text) % LENGTH_BYTES)  # the arrays start at a multiple of 8
    return len(text).to_bytes(LENGTH_BYTES, "little") + text


def _canonical(value: Mapping[str, Any]) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _digest(unsigned_header: bytes, payload: Iterable[NDArray[Any]]) -> str:
    sha = hashlib.sha256(unsigned_header)
    for array in payload:
        sha.update(array.data)
    return sha.hexdigest()
