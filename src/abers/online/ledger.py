"""What a monitor knows of files, ids, and rows that wait for their labels."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from abers.validation import FloatArray, IntArray

NEVER = -2  # in place of a label that cannot come
KINDS = ("calibration", "rows", "labels")
HASH_BYTES = 8


class FileFacts(NamedTuple):
    """The facts that identify a file."""

    name: str
    date: str  # of its last modification
    digest: str  # SHA-256


class FileCounts(NamedTuple):
    """What a file contained, and what it led to."""

    n_rows: int
    n_labels: int  # for waiting rows
    n_used: int  # labels tested
    n_dropped: int  # rows without a label in time
    n_protected: int  # rows with a protected probability


NO_COUNTS = FileCounts(0, 0, 0, 0, 0)


class LedgerLine(NamedTuple):
    """A file of the ledger, in reading order."""

    file: FileFacts
    kind: str
    counts: FileCounts
    log_capitals: FloatArray  # of each group and test, after the file


class Taken(NamedTuple):
    """What was done with the rows of a file."""

    n_left_out: int  # in groups without calibration rows
    issued: FloatArray | None  # protected probabilities of the others, if requested


class Waiting(NamedTuple):
    """The rows whose labels have not been tested: the last rows of the stream."""

    scores: FloatArray
    labels: IntArray
    groups: IntArray
    ids: tuple[str, ...]  # empty if rows have no ids

    @staticmethod
    def none() -> Waiting:
        """Return no rows."""
        return Waiting(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64), ())

    def joined(self, others: Waiting) -> Waiting:
        """Return these rows followed by others."""
        return Waiting(
            np.concatenate([self.scores, others.scores]),
            np.concatenate([self.labels, others.labels]),
            np.concatenate([self.groups, others.groups]),
            self.ids + others.ids,
        )

    def after(self, n: int) -> Waiting:
        """Return all but the first."""
        return Waiting(self.scores[n:], self.labels[n:], self.groups[n:], self.ids[n:])


def hashes_of_ids(ids: Iterable[str]) -> IntArray:
    """Return a 64-bit hash of each id."""
    digests = (
        hashlib.blake2b(one.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES)
        for one in ids
    )
    together = b"".join(each.digest() for each in digests)
    return np.frombuffer(together, dtype="<i8").astype(np.int64)


def as_bytes(ids: Sequence[str]) -> Any:
    """Return ids as bytes; empty if there are none."""
    return np.frombuffer(json.dumps(list(ids)).encode() if ids else b"", np.uint8)


def from_bytes(stored: Any) -> tuple[str, ...] | None:
    """Return the ids stored in bytes; None if invalid."""
    if not stored.size:
        return ()
    try:
        ids = json.loads(stored.tobytes())
    except ValueError:
        return None
    is_list = isinstance(ids, list) and all(isinstance(one, str) for one in ids)
    if not is_list or not ids or len(set(ids)) < len(ids):
        return None
    return tuple(ids) if as_bytes(ids).tobytes() == stored.tobytes() else None
