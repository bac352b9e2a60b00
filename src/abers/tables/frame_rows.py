"""Frame rows: what workers count of the rows of a frame, and what is wrong with them.

A worker reads its rows, counts them by score, and tells the driver in a head what they
are. What is wrong is told there, too, and raised on the driver by `checked_heads`: an
exception in a task would be tried again, and come wrapped in the engine's own.
"""

from __future__ import annotations

import json
import re
import struct
import sys
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from abers import errors
from abers.core import blocks
from abers.core.blocks import Content, ScoreSample, content_of
from abers.core.diagram import NOTHING
from abers.core.messages import from_bytes, to_bytes
from abers.core.units import Magnitudes
from abers.errors import (
    AbersError,
    InvalidParameter,
    InvalidScores,
    InvalidTable,
    InvalidWeights,
    MissingExtra,
)
from abers.storage.fingerprint import TAG as FINGERPRINT_TAG
from abers.storage.fingerprint import Fingerprint
from abers.tables.columns import (
    ABSENT,
    GROUP_TAG,
    LABEL_TAG,
    POSITIVE_TAG,
    SCORE_TAG,
    WEIGHTS,
    Groups,
    Labels,
    Numbers,
    TalliedLabels,
    label_text,
    rows_by_code,
)
from abers.tables.files import Batch, listed
from abers.tables.fit import CalibrationRows, with_fitted_rows
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from abers.tables.rows import RoleColumn
    from abers.validation import FloatArray

    Mask = NDArray[np.bool_]

FRAME = "the frame"  # as messages call it
COUNTED_ROWS = 2**21  # at once; about 130 MB while they are counted
EXAMPLES = 3  # of values that are refused
MOST_REFUSED = 10  # messages in a head: of texts that are no numbers, each has its own
LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True, kw_only=True)
class FitColumns:
    """The columns of a fit by their role, and what to make of them."""

    score: str
    label: str | None = None
    positive: str | None = None
    weight: str | None = None
    count: str | None = None
    positives: str | None = None
    by: str | None = None
    drop_missing: bool = False
    fingerprinted: bool = False

    @staticmethod
    def of(*, positive: object = None, **given: Any) -> FitColumns:
        """Return the columns that a user names; the positive label may be a number."""
        text = None if positive is None else label_text(positive)
        return FitColumns(positive=text, **given)

    @property
    def roles(self) -> dict[str, str]:
        """The column of each role, in the order in which they are checked."""
        named = {
            "score": self.score,
            "weight": self.weight,
            "group": self.by,
            "count": self.count,
            "positives": self.positives,
            "label": self.label,
        }
        return {role: name for role, name in named.items() if name is not None}

    @property
    def names(self) -> list[str]:
        """The columns to read, each once."""
        return list(dict.fromkeys(self.roles.values()))

    def check(self, present: Sequence[str]) -> None:
        """Refuse roles that do not go together, and columns that are not there."""
        if (self.count is None) != (self.positives is None):
            msg = "count and positives must come together; got one of them."
            raise InvalidParameter(msg)
        if self.count is None and self.label is None:
            msg = "a fit needs a column of labels; name it with label=."
            raise InvalidParameter(msg)
        if self.count is not None and (self.label or self.weight) is not None:
            msg = "count and positives must stand instead of label and weight."
            raise InvalidParameter(msg)
        for name in self.names:
            check_column(name, present)

    def readers(self) -> dict[str, RoleColumn]:
        """Return what reads the columns."""
        made: dict[str, RoleColumn] = {}
        for role, name in self.roles.items():
            if role == "label":
                made[role] = TalliedLabels(name, self.positive)
            else:
                made[role] = Groups(name) if role == "group" else Numbers(name)
        return made

    def tags(self, fingerprint: Fingerprint) -> dict[str, str]:
        """Return what predicting and checking will ask for."""
        roles = {SCORE_TAG: "score", LABEL_TAG: "label", GROUP_TAG: "group"}
        tags = {tag: self.roles[r] for tag, r in roles.items() if r in self.roles}
        if self.positive is not None and self.label is not None:
            tags[POSITIVE_TAG] = self.positive
        return tags | {FINGERPRINT_TAG: fingerprint.to_text()}


def check_column(name: str, present: Sequence[str]) -> None:
    """Refuse a column that is not there, or there twice."""
    if list(present).count(name) != 1:
        what = "have the column" if name not in present else "have just one column"
        msg = f"{FRAME} must {what} {name!r}; its columns are {listed(present)}."
        raise InvalidTable(msg)


class CountedRows(NamedTuple):
    """What one map makes of some of its rows; all parts of it are bytes or text."""

    head: bytes  # of all rows of the map, in its last answer; empty before
    # By group, if there are groups: a diagram, or rows that wait for their scale.
    diagrams: list[tuple[str | None, bytes]]


@dataclass(slots=True)
class Head:
    """What the driver must know of some rows."""

    n_rows: int = 0
    n_missing: int = 0
    n_fitted: int = 0
    n_scores: int = 0  # distinct ones, of each group
    exponents: list[tuple[int, int]] = field(default_factory=list)  # as `Magnitudes`
    whole_total: int | None = 0
    content: tuple[int, int, int] = (0, 0, 0)  # of what is counted already
    gaps: dict[str, int] = field(default_factory=dict)  # rows by column
    labels: dict[str, int] = field(default_factory=dict)  # rows by value
    refused: list[Any] = field(default_factory=list)  # error, message, rows, values
    fingerprint: str = field(default_factory=lambda: Fingerprint().to_text())
    abers: str = field(default_factory=lambda: version("abers"))
    python: str = sys.executable
    sample: ScoreSample = field(default_factory=lambda: blocks.sample(NOTHING))

    @property
    def magnitudes(self) -> Magnitudes:
        """What decides the scale of the weights."""
        return Magnitudes(dict(self.exponents), self.whole_total)

    def to_bytes(self) -> bytes:
        """Return the head as bytes."""
        facts = {name: getattr(self, name) for name in HEAD_FACTS}
        text = json.dumps(facts).encode()
        return LENGTH.pack(len(text)) + text + to_bytes(self.sample)

    @staticmethod
    def from_bytes(message: bytes) -> Head:
        """Return the head that bytes hold."""
        (size,) = LENGTH.unpack_from(message)
        end = LENGTH.size + size
        facts = json.loads(message[LENGTH.size : end])
        return Head(**facts, sample=from_bytes(message[end:], ScoreSample))


HEAD_FACTS = [name for name in Head.__dataclass_fields__ if name != "sample"]


def counted(
    batches: Iterable[pa.RecordBatch], columns: FitColumns
) -> Iterator[CountedRows]:
    """Count rows, some millions at a time; the last answer has the head of all."""
    tally = _RowTally(columns)
    for batch in batches:
        if tally.n_waiting >= COUNTED_ROWS:
            yield CountedRows(b"", tally.diagrams())
        tally.add(batch)
    diagrams = tally.diagrams()
    yield CountedRows(tally.head(), diagrams)


class _FrameRows(Batch):
    """Rows of an engine: they have no numbers."""

    __slots__ = ()

    def place(self, _: int) -> str:
        return FRAME


class _RowTally:
    """Rows as they come, and what is wrong with them."""

    def __init__(self, columns: FitColumns) -> None:
        self._columns = columns
        self._readers = columns.readers()
        self._waiting: list[CalibrationRows] = []
        self._head = Head()
        self._content = Content()
        self._magnitudes = Magnitudes()
        self._samples: list[ScoreSample] = []
        self._fingerprint = Fingerprint()
        self._refused: dict[str, list[Any]] = {}  # by message
        self.n_waiting = 0

    def add(self, columns: pa.RecordBatch) -> None:
        """Take some rows."""
        batch = _FrameRows(columns, FRAME, 1, 0)
        self._head.n_rows += len(batch)
        values, lacking = {}, np.zeros(len(batch), dtype=np.bool_)
        for role, reader in self._readers.items():
            try:
                values[role] = found = reader.values(batch)
            except AbersError as error:  # to be raised where somebody can read it
                self._refuse(type(error), str(error))
                continue
            missing = np.isnan(found) if found.dtype.kind == "f" else found == ABSENT
            if missing.any():
                gaps = self._head.gaps
                gaps[reader.column] = gaps.get(reader.column, 0) + int(missing.sum())
                lacking |= missing
        self._head.n_missing += int(lacking.sum())
        if len(values) == len(self._readers):
            kept = {role: each[~lacking] for role, each in values.items()}
            self._keep(self._calibration_rows(kept))

    def diagrams(self) -> list[tuple[str | None, bytes]]:
        """Count the rows that wait, by group if there are groups."""
        if not self._waiting:
            return []
        rows = CalibrationRows.joined(self._waiting)
        self._waiting, self.n_waiting = [], 0
        magnitudes = rows.magnitudes
        self._magnitudes += magnitudes
        total = magnitudes.whole_total
        if total is not None and total >= LARGEST_EXACT_INTEGER:
            return []  # the driver will refuse them
        by_group = self._by_group(rows)
        if total is None:
            for _, own in by_group:
                self._note(np.unique(own.scores))
            return [(name, to_bytes(own.weighted())) for name, own in by_group]
        diagrams = [(name, own.diagram(0)) for name, own in by_group]
        for _, each in diagrams:
            self._note(each.scores)
            self._content += content_of(each)
        return [(name, to_bytes(each)) for name, each in diagrams]

    def _note(self, distinct: FloatArray) -> None:
        self._head.n_scores += distinct.size
        if self._columns.by is None:
            self._samples.append(blocks.sample_of(distinct))

    def head(self) -> bytes:
        """Return what the driver must know of all rows that came."""
        head, content = self._head, self._content
        head.content = (content.n_negatives, content.n_positives, content.total)
        head.exponents = list(self._magnitudes.exponents.items())
        head.whole_total = self._magnitudes.whole_total
        head.sample = _joint_sample(self._samples)
        labels = self._readers.get("label")
        head.labels = labels.tally if isinstance(labels, TalliedLabels) else {}
        head.refused = list(self._refused.values())
        head.fingerprint = self._fingerprint.to_text()
        return head.to_bytes()

    def _keep(self, rows: CalibrationRows) -> None:
        if not rows.scores.size:
            return
        self._waiting.append(rows)
        self.n_waiting += rows.scores.size
        self._head.n_fitted += rows.scores.size
        if self._columns.fingerprinted:
            counts = self._columns.count is not None
            self._fingerprint = with_fitted_rows(
                self._fingerprint, rows, counted=counts
            )

    def _calibration_rows(self, values: dict[str, NDArray[Any]]) -> CalibrationRows:
        """Return the rows that count, and take note of those that are refused."""
        counts: Any = values.get("weight", values.get("count"))
        good = np.ones(values["score"].size, dtype=np.bool_)
        for role in ("weight", "count", "positives"):
            if role in values:
                good &= self._weights_that_are_some(role, values[role])
        if "label" in values:
            ones = values["label"] == 1
            positives = ones if counts is None else np.where(ones, counts, 0.0)
        else:
            positives = values["positives"]
            too_many = good & (positives > counts)
            must = (
                f"column {self._columns.positives!r} must not exceed column "
                f"{self._columns.count!r}"
            )
            pairs = np.stack((positives, counts), axis=1)[too_many][:EXAMPLES].tolist()
            shown = [f"{positive!r} of {count!r}" for positive, count in pairs]
            self._refuse(InvalidWeights, must, too_many, shown)
            good &= ~too_many
        rows = CalibrationRows(values["score"], positives, counts, values.get("group"))
        if counts is not None:  # those of weight 0 are as if they were not there
            good &= counts > 0
        return rows if good.all() else rows.where(good)

    def _weights_that_are_some(self, role: str, weights: FloatArray) -> Mask:
        bad = (weights < 0) | (weights > WEIGHTS.largest)
        must = f"column {self._columns.roles[role]!r} must {WEIGHTS.words}"
        shown = [repr(value) for value in weights[bad][:EXAMPLES].tolist()]
        self._refuse(WEIGHTS.error, must, bad, shown)
        return ~bad

    def _refuse(
        self,
        error: type[AbersError],
        message: str,
        bad: Mask | None = None,
        shown: Sequence[str] = (),
    ) -> None:
        """Take note of an error and its rows; without rows it is said already."""
        is_new = message not in self._refused
        if is_new and len(self._refused) == MOST_REFUSED:
            return
        if bad is None or bad.any():
            known = self._refused.setdefault(message, [error.__name__, message, 0, []])
            known[2] += 0 if bad is None else int(bad.sum())
            known[3] = [*known[3], *shown][:EXAMPLES]

    def _by_group(
        self, rows: CalibrationRows
    ) -> list[tuple[str | None, CalibrationRows]]:
        groups = self._readers.get("group")
        if rows.groups is None or not isinstance(groups, Groups):
            return [(None, rows)]
        names = groups.names
        return [
            (json.dumps(names[code]), rows.where(own))
            for code, own in rows_by_code(rows.groups)
        ]


def _joint_sample(samples: Sequence[ScoreSample]) -> ScoreSample:
    """Return a sample of several diagrams, no larger than that of one."""
    scores = np.sort(np.concatenate([np.empty(0), *(each.scores for each in samples)]))
    if scores.size > blocks.SAMPLED:
        places = np.linspace(0, scores.size - 1, blocks.SAMPLED).astype(int)
        scores = scores[places]
    return ScoreSample(scores, sum(each.size for each in samples))


def checked_heads(heads: Iterable[bytes], columns: FitColumns) -> list[Head]:
    """Return the heads of all workers; raise what a fit in memory would."""
    known = [Head.from_bytes(head) for head in heads if head]
    _check_versions(known)
    n_rows = sum(head.n_rows for head in known)
    _check_refused(known, n_rows)
    _check_labels(known, n_rows, columns)
    _check_gaps(known, n_rows, columns)
    if not any(head.n_fitted for head in known):
        n_missing = sum(head.n_missing for head in known)
        why = _why_no_row_counts(n_rows, n_missing, columns)
        msg = f"{FRAME} must have rows to fit; {why}"
        raise InvalidScores(msg)
    return known


def _check_versions(heads: Sequence[Head]) -> None:
    mine = version("abers")
    for head in heads:
        if head.abers != mine:
            msg = (
                f"workers must have the abers of the driver, {mine}; {head.python} "
                f"has {head.abers}. Install the same version everywhere."
            )
            raise MissingExtra(msg)


def _check_refused(heads: Sequence[Head], n_rows: int) -> None:
    """Raise the first error, with its examples from all workers."""
    refused = [each for head in heads for each in head.refused]
    if not refused:
        return
    name, message, *_ = refused[0]
    error: type[AbersError] = getattr(errors, name)
    same = [each for each in refused if each[1] == message]
    if count := sum(each[2] for each in same):
        shown = [value for each in same for value in each[3]][:EXAMPLES]
        got = " and ".join([", ".join(shown[:-1]), shown[-1]][len(shown) < 2 :])
        message = f"{message}; got {got} in {count} of {n_rows} rows."
    raise error(_said_in_python(message))


class _LabelValues(Batch):
    """Distinct labels, as rows that know how often they came."""

    __slots__ = ()

    def place(self, i: int) -> str:
        return f"{self.columns.column(1)[i].as_py()} of {self.row_number} rows"


def _check_labels(heads: Sequence[Head], n_rows: int, columns: FitColumns) -> None:
    """Judge the labels of all workers, as those of one table are judged."""
    if columns.label is None:
        return
    tally: dict[str, int] = {}
    for head in heads:
        for text, count in head.labels.items():
            tally[text] = tally.get(text, 0) + count
    arrays = [pa.array(list(tally), pa.string()), pa.array(tally.values(), pa.int64())]
    batch = pa.record_batch(arrays, names=[columns.label, f"{columns.label} rows"])
    labels = Labels(columns.label, columns.positive)
    try:
        labels.values(_LabelValues(batch, FRAME, 1, n_rows))
        if tally:
            labels.check_seen()
    except AbersError as error:
        raise type(error)(_said_in_python(str(error))) from None


def _check_gaps(heads: Sequence[Head], n_rows: int, columns: FitColumns) -> None:
    """Refuse missing values, unless their rows are to be left out."""
    for name in columns.names:
        count = sum(head.gaps.get(name, 0) for head in heads)
        if count and not columns.drop_missing:
            msg = (
                f"column {name!r} must not be empty, null or NaN to fit; it is in "
                f"{count} of {n_rows} rows. Fill it in, or leave such rows out."
            )
            raise InvalidScores(msg)


def _why_no_row_counts(n_rows: int, n_missing: int, columns: FitColumns) -> str:
    if not n_rows:
        return "it has none."
    if n_missing == n_rows:
        return f"all its {n_rows:,} rows lack a value. Fill some in."
    name = columns.weight or columns.count
    return f"column {name!r} is 0 in all {n_rows - n_missing:,} of them."


def _said_in_python(message: str) -> str:
    """Return a message of the command line with options as Python has them."""
    return re.sub(
        r"--([a-z]+(?:-[a-z]+)*)", lambda m: m[1].replace("-", "_") + "=", message
    )
