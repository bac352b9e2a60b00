"""Fingerprints: a few kilobytes that recognise the rows a rule was fitted to.

A rule looks better on its own calibration rows than on new ones. A fingerprint, kept in
the rule's file, detects them: each (score, label) pair is hashed, the hashes are
summed, and the smallest ones are kept. None of this depends on the order of rows or on
their division into batches, so the fingerprints of parts add up to that of the whole.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.validation import FloatArray

    Hashes = NDArray[np.uint64]

SPACE = 2**64  # of the hashes of rows
# Two odd numbers: they separate a score's two labels, and the hash of 0.0 from 0.
SALT = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)
TAG = "abers:fingerprint"  # where a rule's file keeps it
# The same for a classifier that was trained on all rows: its scores of these rows,
# which differ from those that its rule was fitted to.
TRAINING_TAG = "abers:training-fingerprint"
KEPT = 512  # smallest hashes; of n rows, one in n / 512 can be recognised
FORM = "v1"
ROWS_AT_ONCE = 2**15  # rows hashed at once, to fit into the cache


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What is kept of a set of rows to recognise them.

    >>> monday, tuesday = fingerprint_of([1, 2], [0, 1]), fingerprint_of([3], [0])
    >>> monday + tuesday == fingerprint_of([3, 2, 1], [0, 1, 0])
    True
    >>> Fingerprint.from_text(monday.to_text()) == monday
    True
    """

    n_rows: int = 0
    total: int = 0  # sum of their hashes, modulo 2**64: equal for equal sets of rows
    smallest: tuple[int, ...] = ()  # 512 distinct hashes, ascending: a random sample

    def __add__(self, other: Fingerprint) -> Fingerprint:
        """Return the fingerprint of both sets of rows."""
        smallest = self.smallest
        if other.smallest:
            smallest = tuple(sorted({*smallest, *other.smallest})[:KEPT])
        return Fingerprint(
            self.n_rows + other.n_rows, (self.total + other.total) % SPACE, smallest
        )

    @property
    def reach(self) -> int:
        """All hashes up to this one are kept."""
        return self.smallest[-1] if len(self.smallest) == KEPT else SPACE - 1

    @property
    def n_distinct(self) -> float:
        """Number of distinct rows; an estimate if it exceeds 512."""
        if len(self.smallest) < KEPT:
            return len(self.smallest)
        return (KEPT - 1) * SPACE / self.reach

    def with_rows(self, scores: ArrayLike, labels: ArrayLike) -> Fingerprint:
        """Return the fingerprint with more rows added, faster than by a sum."""
        s, y = _as_rows(scores, labels)
        made = self
        for start in range(0, s.size, ROWS_AT_ONCE):
            hashes = _hashes(
                s[start : start + ROWS_AT_ONCE], y[start : start + ROWS_AT_ONCE]
            )
            made += _sketch(hashes, hashes.size, int(hashes.sum()), made.reach)
        return made

    def to_text(self) -> str:
        """Return the fingerprint as text that fits into a tag."""
        hashes = np.array(self.smallest, dtype="<u8").tobytes()
        text = base64.b64encode(hashes).decode()
        return f"{FORM} {self.n_rows} {self.total:016x} {text}"

    @staticmethod
    def from_text(text: str) -> Fingerprint:
        """Read what `to_text` returned."""
        try:
            form, n_rows, total, hashes = text.split(" ")
            smallest = np.frombuffer(
                base64.b64decode(hashes, validate=True), dtype="<u8"
            )
            is_known_form = form == FORM
            fingerprint = Fingerprint(
                int(n_rows), int(total, 16), tuple(smallest.tolist())
            )
            _check_possible(fingerprint)
        except (AttributeError, ValueError, binascii.Error) as cause:
            msg = f"a fingerprint must be text that abers has made; got {text!r:.60}."
            raise InvalidParameter(msg) from cause
        if not is_known_form:
            msg = f"a fingerprint must have the form {FORM}; got {form!r:.60}."
            raise InvalidParameter(msg)
        return fingerprint


def _check_possible(fingerprint: Fingerprint) -> None:
    """Raise if no rows can have this fingerprint."""
    hashes = fingerprint.smallest
    ascending = all(low < high for low, high in pairwise(hashes))
    if not (
        ascending
        and len(hashes) <= min(KEPT, fingerprint.n_rows)
        and fingerprint.reach > 0
    ):
        msg = "the hashes kept must be distinct, ascending and no more than the rows."
        raise ValueError(msg)


def fingerprint_of(scores: ArrayLike, labels: ArrayLike) -> Fingerprint:
    """Return the fingerprint of rows, which does not depend on their order."""
    return Fingerprint().with_rows(scores, labels)


def fingerprint_of_counts(
    scores: ArrayLike, counts: ArrayLike, positives: ArrayLike
) -> Fingerprint:
    """Return the fingerprint of counted rows, as `fingerprint_of` would."""
    s = validation.as_scores(scores)
    ones = np.asarray(positives, dtype=np.int64)
    zeros = np.asarray(counts, dtype=np.int64) - ones
    made = Fingerprint()
    for start in range(0, s.size, ROWS_AT_ONCE):
        here = slice(start, start + ROWS_AT_ONCE)
        for label, times in enumerate((zeros[here], ones[here])):
            there = times > 0
            n = times[there].astype(np.uint64)
            hashes = hashes_of(s[here][there], SALT[label])
            made += _sketch(hashes, int(n.sum()), int((hashes * n).sum()), made.reach)
    return made


def matches(
    fingerprint: Fingerprint, scores: ArrayLike, labels: ArrayLike
) -> tuple[int, int]:
    """Count the rows with hashes in the sample's range, and those in the sample.

    The ratio of the two is about the share of rows seen before. Counts of batches add
    up. Both are 0 if this is unknowable: the fit had few distinct scores, so new rows
    look like old ones.

    >>> scores = np.arange(100)
    >>> fitted = fingerprint_of(scores, scores > 50)
    >>> matches(fitted, scores[:10], scores[:10] > 50)
    (10, 10)
    >>> matches(fitted, scores + 0.5, scores > 50)
    (100, 0)
    """
    if 2 * fingerprint.n_distinct < fingerprint.n_rows:
        return 0, 0
    hashes = _hashes(*_as_rows(scores, labels))
    near = hashes[hashes <= np.uint64(fingerprint.reach)]
    kept = np.array(fingerprint.smallest, dtype=np.uint64)
    return near.size, int(np.isin(near, kept).sum())


def _as_rows(
    scores: ArrayLike, labels: ArrayLike
) -> tuple[FloatArray, validation.LabelArray]:
    s, y = validation.as_scores(scores), validation.as_labels(labels)
    validation.check_length(y.size, s.size, "labels", "scores")
    return s, y


def _hashes(scores: FloatArray, labels: validation.LabelArray) -> Hashes:
    return hashes_of(scores, SALT[(labels != 0).view(np.uint8)])


def _sketch(hashes: Hashes, n_rows: int, total: int, reach: int) -> Fingerprint:
    near = np.sort(hashes[hashes <= np.uint64(reach)])
    # np.unique would load numpy.ma, which takes as long as reading a small table.
    smallest = near[np.append(near[:-1] != near[1:], True)[: near.size]][:KEPT]
    return Fingerprint(n_rows, total % SPACE, tuple(smallest.tolist()))


def hashes_of(scores: FloatArray, salt: np.uint64 | Hashes) -> Hashes:
    """Hash each score with its label's salt; -0.0 counts as 0.0."""
    return mixed((scores + 0.0).view(np.uint64) + salt)


def mixed(numbers: Hashes) -> Hashes:
    """Mix 64-bit numbers, one to one: the finaliser of splitmix64."""
    z = numbers ^ (numbers >> np.uint64(30))
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z
