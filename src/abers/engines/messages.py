"""Messages: diagrams, rules, summaries and pieces as bytes between machines.

A message is a CRC-32 of the rest, the length of a header, the header as JSON (class,
facts, names, types and lengths of the arrays), then the arrays, little-endian. Counts
have the smallest width that holds them, so a score with its counts takes ten bytes if
no count exceeds 255.

The checksum detects lost and damaged bytes. A diagram or a rule must then pass the same
checks as any other state (`abers.core.fitted`). Nothing is executed. A message is for
the workers of one fit, which all have the same version of abers; to keep an object,
save it as a file.

>>> from abers.rules import Diagram
>>> part = Diagram([1, 2], negatives=[1, 0], positives=[0, 300])
>>> from_bytes(to_bytes(part), Diagram) == part
True
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from abers.core.blocks import Piece, Summary, WeightedRows
from abers.core.diagram import Diagram
from abers.core.fitted import Contents, Stored, contents_of
from abers.core.rule import Rule
from abers.errors import InvalidData

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Buffer = bytes | bytearray | memoryview
Message = Diagram | Rule | WeightedRows | Summary | Piece
T = TypeVar("T", bound=Message)

CHECKSUM = LENGTH = struct.Struct("<I")
START = CHECKSUM.size + LENGTH.size  # of the header


def to_bytes(value: Message) -> bytes:
    """Return a message that holds a value; a rule loses its tags."""
    facts, arrays = _contents(value)
    columns = {
        name: np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        for name, array in arrays.items()
    }
    described = [[name, each.dtype.str, each.shape] for name, each in columns.items()]
    header = json.dumps([type(value).__name__, facts, described]).encode()
    arrays_end_to_end = (each.tobytes() for each in columns.values())
    body = b"".join([LENGTH.pack(len(header)), header, *arrays_end_to_end])
    return CHECKSUM.pack(zlib.crc32(body)) + body


def from_bytes(message: Buffer, wanted: type[T]) -> T:
    """Return the value in a message; raise if damaged or of another class."""
    data = memoryview(message).cast("B")
    if len(data) < START or zlib.crc32(data[CHECKSUM.size :]) != checksum(data):
        raise _refusal(wanted, "they were damaged or cut short on the way")
    try:
        name, facts, arrays = _read(data)
        if name != wanted.__name__:
            raise _refusal(wanted, f"they are those of a {name}")
        if issubclass(wanted, Stored):
            made = wanted.__new__(wanted)
            made.__setstate__(facts | {"metadata": {}} | arrays)
            return cast("T", made)
        return cast("Callable[..., T]", wanted)(**facts, **arrays)
    except (LookupError, TypeError, ValueError) as cause:
        if isinstance(cause, InvalidData):
            raise
        raise _refusal(
            wanted, f"they hold something else: {cause}".rstrip(".")
        ) from cause


def checksum(message: Buffer) -> int:
    """Return the checksum stored in a message."""
    number: int = CHECKSUM.unpack_from(message)[0]
    return number


def holds(message: Buffer, wanted: type) -> bool:
    """Return whether a message holds a value of this class."""
    name = f'["{wanted.__name__}"'.encode()
    return bytes(message[START : START + len(name)]) == name


def _contents(value: Message) -> Contents:
    if isinstance(value, Stored):
        facts, arrays = contents_of(value)
        facts = {name: fact for name, fact in facts.items() if name != "metadata"}
        return Contents(facts, {name: _narrowed(arrays[name]) for name in arrays})
    named = {field.name: getattr(value, field.name) for field in fields(value)}
    arrays = {n: each for n, each in named.items() if isinstance(each, np.ndarray)}
    return Contents({n: named[n] for n in named if n not in arrays}, arrays)


def _narrowed(array: NDArray[Any]) -> NDArray[Any]:
    """Return counts with the smallest width; other numbers unchanged."""
    if array.dtype != np.int64 or array.min(initial=0) < 0:
        return array
    return array.astype(np.min_scalar_type(int(array.max(initial=0))))


def _read(data: memoryview) -> tuple[str, dict[str, Any], dict[str, NDArray[Any]]]:
    """Return class, facts and arrays; arrays are not copied if that can be avoided."""
    (length,) = LENGTH.unpack_from(data, CHECKSUM.size)
    start = START + length
    name, facts, described = json.loads(bytes(data[START:start]))
    arrays = {}
    for column, dtype, shape in described:
        size = int(np.prod(shape))
        stored = np.frombuffer(data, dtype, size, start).reshape(shape)
        start += stored.nbytes
        is_count = stored.dtype.kind == "u"
        native = np.int64 if is_count else stored.dtype.newbyteorder("=")
        arrays[column] = np.require(stored, native, ["C", "A"])
    if start != len(data):
        msg = "arrays must fill the message."
        raise ValueError(msg)
    return name, facts, arrays


def _refusal(wanted: type, reason: str) -> InvalidData:
    msg = f"bytes must be those of a {wanted.__name__} as abers writes it; {reason}."
    return InvalidData(msg)
