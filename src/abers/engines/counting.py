"""Counting: rows of a frame become diagrams on workers, and a rule on the driver.

All engines do the same. Each worker counts its rows by score in diagrams, which stay
there, and makes a tally of facts about the rows. The driver adds the tallies and raises
the errors that a fit in memory would; then it fetches the diagrams and adds them.
Diagrams and tallies travel as bytes and text, which each engine stores and moves in its
own way.

==========  =================================  ========================================
where       call                               gives
==========  =================================  ========================================
driver      ``FitColumns.of(...).check(...)``  the columns to read, or an error
worker      ``count(batches, columns)``        diagrams of some millions of rows, and at
                                               the end the tally of all
driver      ``CountedFrame.of(tallies, ...)``  what all rows are, or an error
worker      ``as_diagram(message, scale)``     the diagram of rows that had to wait
                                               until the scale of all weights was known
driver      ``frame.check_same(checksums)``    an error if the rows have changed
driver      ``added_up(pairs)``                the diagram of each group, or of all rows
driver      ``frame.fit_diagrams(...)``        the rule or rule set, and what is known
                                               of the rows
==========  =================================  ========================================

Workers tally bad values instead of raising: engines repeat a task that raises, and wrap
its exception.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from abers import errors, validation
from abers.core.auc import RunningAuc
from abers.core.blocks import WeightedRows
from abers.core.diagram import Diagram
from abers.core.fit import rule_of_diagram, warn_of_inverted_rule
from abers.core.rule_set import RuleSet, warn_of_inverted_groups
from abers.core.units import Magnitudes, scale_for
from abers.engines.messages import checksum, from_bytes, holds, to_bytes
from abers.errors import AbersError, InvalidData, InvalidParameter, MissingExtra
from abers.storage.fingerprint import Fingerprint
from abers.tables.collector import (
    CalibrationRows,
    calibration_rows,
    own_tags,
    with_fitted_rows,
)
from abers.tables.columns import (
    ABSENT,
    USUAL_PAIRS,
    Groups,
    Labels,
    Numbers,
    dictionary_encoded,
    filled,
    label_text,
    rows_by_code,
)
from abers.tables.files import Batch, listed
from abers.tables.fit import Fit
from abers.tables.rows import ALLOWED, RowReader, check_counts
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from abers.core.rule import Rule
    from abers.tables.rows import RoleColumn

    Group = str | None  # the name of a group as JSON; None without groups

FRAME = "the frame"  # its name in messages
COUNTED_ROWS = 2**21  # counted at once, which takes about 130 MB
MERGED_SCORES = 2**19  # below, a worker adds its diagrams before sending them
ADDED_SCORES = 20_000_000  # distinct ones that the driver adds: 65 to 80 bytes each
SAMPLED = 256  # scores per diagram, from which Spark chooses the cuts
MOST_LABELS = 20  # tallied at most, besides the positive one
POSITIVE_LABELS = {positive for _, positive in USUAL_PAIRS}
CHANGED = (
    "rows must stay the same while a rule is fitted to them; they changed while they "
    "were read. Save or persist the frame first."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitColumns:
    """The columns of a fit by role, and what to do with them."""

    score: str
    label: str | None = None
    pos_label: str | None = None
    weight: str | None = None
    count: str | None = None
    positives: str | None = None
    by: str | None = None
    drop_missing: bool = False
    fingerprinted: bool = False

    @staticmethod
    def of(
        *, pos_label: object = None, drop_missing: object = False, **given: Any
    ) -> FitColumns:
        """Return the columns named by the user; the positive label may be a number."""
        for role, name in given.items():
            if name is not None and role != "fingerprinted":
                validation.check_type(name, str, role)
        return FitColumns(
            pos_label=None if pos_label is None else label_text(pos_label),
            drop_missing=validation.as_flag(drop_missing, "drop_missing"),
            **given,
        )

    @property
    def roles(self) -> dict[str, str]:
        """The column of each role, in the order in which they are checked."""
        columns = {
            "score": self.score,
            "weight": self.weight,
            "group": self.by,
            "count": self.count,
            "positives": self.positives,
            "label": self.label,
        }
        return {role: name for role, name in columns.items() if name is not None}

    @property
    def names(self) -> list[str]:
        """The columns to read, each once."""
        return list(dict.fromkeys(self.roles.values()))

    @property
    def weights(self) -> str:
        """The column of weights, for messages."""
        return f"column {self.weight or self.count!r}"

    def check(self, present: Sequence[str]) -> None:
        """Raise if roles contradict each other, or if a column is missing."""
        check_counts(self.roles, mark="")
        if self.count is None and self.label is None:
            msg = "a fit needs a column of labels; name it with label=."
            raise InvalidParameter(msg)
        for name in self.names:
            check_column(name, present)

    def readers(self) -> dict[str, RoleColumn]:
        """Return a reader of each column."""
        made: dict[str, RoleColumn] = {}
        for role, name in self.roles.items():
            if role == "label":
                made[role] = LabelTally(name, self.pos_label)
            elif role == "group":
                made[role] = Groups(name)
            else:
                made[role] = Numbers(name, ALLOWED.get(role))
        return made


def check_column(name: str, present: Sequence[str]) -> None:
    """Raise if a column is missing or occurs twice."""
    if list(present).count(name) != 1:
        what = "have the column" if name not in present else "have just one column"
        msg = f"{FRAME} must {what} {name!r}; its columns are {listed(present)}."
        raise InvalidData(msg)


class LabelTally(Labels):
    """Labels of some of the rows, and how many rows have each value.

    A worker sees only some rows, so it accepts any value: 1 for the positive value, or
    the positive one of a usual pair, else 0. The driver then checks the values from all
    workers.
    """

    def __init__(self, column: str, pos_label: str | None = None) -> None:
        super().__init__(column, pos_label)
        self.rows: Counter[str] = Counter()  # by label, in its first spelling
        self._spellings: dict[str, str] = {}

    def values(self, batch: Batch) -> NDArray[np.int8]:
        """Return 1 for the positive value, 0 for others, -1 where it is missing."""
        encoded = dictionary_encoded(batch, self.column)
        texts = [label_text(value) for value in encoded.dictionary.to_pylist()]
        codes = [int(self._is_positive(text)) if text else ABSENT for text in texts]
        indices = filled(encoded.indices, len(texts))
        numbers = np.bincount(indices, minlength=len(texts)).tolist()
        # The last code is null.
        for text, code, number in zip(texts, codes, numbers, strict=False):
            label = self._spelled(text)
            is_kept = label in self._spellings or code == 1
            if text and (is_kept or len(self.rows) < MOST_LABELS):
                self.rows[self._spellings.setdefault(label, text)] += number
        of_rows: NDArray[np.int8] = np.array([*codes, ABSENT], np.int8)[indices]
        return of_rows

    def check_seen(self) -> None:
        """Do nothing: another worker may have seen the positive value."""

    def _is_positive(self, text: str) -> bool:
        label = self._spelled(text)
        if self.pos_label is not None:
            return label == self._label(self.pos_label)
        return label in POSITIVE_LABELS

    def _spelled(self, text: str) -> str:
        """Return one text for all spellings of a label: 0, 0.0 and 0e5, No and no.

        Otherwise, the spellings of two labels could use up the tally before a third
        one.
        """
        label = self._label(text)
        return label if self.pos_label is not None else label.casefold()


@dataclass(frozen=True, slots=True)
class Tally:
    """Facts about the rows of a worker; tallies add up to that of all rows."""

    n_rows: int = 0
    n_missing: int = 0  # incomplete rows
    n_fitted: int = 0
    n_scores: int = 0  # of all diagrams; an upper limit of the distinct scores
    n_negatives: int = 0  # in all diagrams, without rows that wait for a scale
    n_positives: int = 0
    checksums: int = 0  # of all diagrams, summed
    gaps: Counter[str] = field(
        default_factory=Counter
    )  # rows without a value by column
    labels: Counter[str] = field(default_factory=Counter)  # rows by value
    refusals: list[list[str]] = field(default_factory=list)  # exceptions, sentences
    workers: Counter[str] = field(default_factory=Counter)  # of Python and abers
    magnitudes: Magnitudes = field(default_factory=Magnitudes)  # of the weights
    fingerprint: Fingerprint = field(default_factory=Fingerprint)

    def __add__(self, other: Tally) -> Tally:
        """Return the tally of both sets of rows."""
        names = [each.name for each in fields(self)]
        return Tally(*(getattr(self, name) + getattr(other, name) for name in names))

    def to_text(self) -> str:
        """Return the tally as JSON."""
        facts = {each.name: getattr(self, each.name) for each in fields(self)}
        exponents, total = self.magnitudes.exponents, self.magnitudes.whole_total
        facts["magnitudes"] = [list(exponents.items()), total]
        facts["fingerprint"] = self.fingerprint.to_text()
        return json.dumps(facts)

    @staticmethod
    def from_text(text: str) -> Tally:
        """Return the tally stored in a string."""
        facts = json.loads(text)
        for name in ("gaps", "labels", "workers"):
            facts[name] = Counter(facts[name])
        exponents, total = facts["magnitudes"]
        facts["magnitudes"] = Magnitudes(dict(exponents), total)
        facts["fingerprint"] = Fingerprint.from_text(facts["fingerprint"])
        return Tally(**facts)


class CountedRows(NamedTuple):
    """A diagram of some rows, or the tally of all rows of a worker."""

    tally: str | None = None
    group: Group = None
    n_scores: int | None = None  # distinct ones
    sample: bytes | None = None  # some of them, evenly spaced
    diagram: bytes | None = None  # or rows that wait until the scale is known


def count(
    batches: Iterable[pa.RecordBatch], columns: FitColumns
) -> Iterator[list[CountedRows]]:
    """Count the rows of a worker, some millions at a time; the tally comes last."""
    readers = columns.readers()
    frame: Any = _Frame(batches)
    reader = RowReader(frame, readers, purpose="fit", drop_missing=True)
    counter = _RowCounter(columns, readers)
    refusals = []
    try:
        for rows in reader:
            _, counted_rows = calibration_rows(rows, readers)
            counter.add(counted_rows)
            if counter.n_waiting >= COUNTED_ROWS:
                yield counter.counted(MERGED_SCORES)
    except AbersError as error:
        refusals.append([type(error).__name__, str(error)])
    last = counter.counted()
    labels = readers.get("label")
    tally = counter.tally + Tally(
        n_rows=reader.n_rows,
        n_missing=reader.n_missing,
        n_fitted=counter.n_fitted,
        fingerprint=counter.fingerprint,
        gaps=Counter({name: number for name, (number, _) in reader.gaps.items()}),
        labels=labels.rows if isinstance(labels, LabelTally) else Counter(),
        refusals=refusals,
        workers=Counter([f"{sys.executable} has {version('abers')}"]),
    )
    yield [*last, CountedRows(tally.to_text())]


class _Frame:
    """The rows of a worker, in the form that the reader of tables takes."""

    name = FRAME

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = batches

    def batches(self, *_: object, **__: object) -> Iterator[Batch]:
        return (FrameBatch(each, FRAME, 1, 0) for each in self._batches)


class FrameBatch(Batch):
    """Rows of a frame, which have no numbers."""

    __slots__ = ()

    def place(self, _: int) -> str:
        """Name the frame instead of a row."""
        return FRAME


class _RowCounter:
    """Counts rows as they come, by group if there are groups."""

    def __init__(self, columns: FitColumns, readers: Mapping[str, RoleColumn]) -> None:
        self._columns = columns
        self._groups = readers.get("group")
        self._waiting: list[CalibrationRows] = []
        self._diagrams: dict[Group, Diagram] = {}  # not sent yet
        self.n_waiting = 0
        self.n_fitted = 0
        self.fingerprint = Fingerprint()
        self.tally = Tally()

    def add(self, rows: CalibrationRows) -> None:
        """Add rows."""
        if not rows.scores.size:
            return
        self._waiting.append(rows)
        self.n_waiting += rows.scores.size
        self.n_fitted += rows.scores.size
        if self._columns.fingerprinted:
            is_counted = self._columns.count is not None
            self.fingerprint = with_fitted_rows(
                self.fingerprint, rows, counted=is_counted
            )

    def counted(self, most_kept: int = 0) -> list[CountedRows]:
        """Count the waiting rows; keep their diagrams while these are small."""
        sent: list[CountedRows] = []
        if self._waiting:
            rows = CalibrationRows.joined(self._waiting)
            self._waiting, self.n_waiting = [], 0
            sent = self._counted(rows)
        if sum(each.scores.size for each in self._diagrams.values()) > most_kept:
            sent += [self._sent(*item) for item in self._diagrams.items()]
            self._diagrams = {}
        return sent

    def _counted(self, rows: CalibrationRows) -> list[CountedRows]:
        """Add rows to the diagrams; return those whose weights need a scale first."""
        self.tally += Tally(magnitudes=rows.magnitudes)
        if self.tally.magnitudes.whole_total == LARGEST_EXACT_INTEGER:
            return []  # the driver will refuse them
        sent = []
        for group, own in self._by_group(rows):
            if rows.magnitudes.whole_total is None:
                sent.append(self._sent(group, own.weighted()))
                continue
            diagram = own.diagram(0)
            if group in self._diagrams:
                diagram += self._diagrams[group]
            self._diagrams[group] = diagram
        return sent

    def _sent(self, group: Group, counted: Diagram | WeightedRows) -> CountedRows:
        """Encode counted rows for the engine, and add them to the tally."""
        message, scores = to_bytes(counted), counted.scores
        if isinstance(counted, Diagram):
            self.tally += Tally(
                n_negatives=int(counted.negatives.sum()),
                n_positives=int(counted.positives.sum()),
                checksums=checksum(message),
            )
        else:
            scores = np.unique(scores)
        self.tally += Tally(n_scores=scores.size)
        places = np.linspace(0, scores.size - 1, min(SAMPLED, scores.size)).astype(int)
        return CountedRows(None, group, scores.size, scores[places].tobytes(), message)

    def _by_group(
        self, rows: CalibrationRows
    ) -> Iterator[tuple[Group, CalibrationRows]]:
        if rows.groups is None or not isinstance(self._groups, Groups):
            yield None, rows
            return
        names = self._groups.names
        for code, own in rows_by_code(rows.groups):
            yield json.dumps(names[code]), rows.where(own)


def as_diagram(message: bytes, scale: int) -> bytes:
    """Return the diagram of counted rows; empty if all weights round to 0."""
    if holds(message, Diagram):
        return message
    diagram = from_bytes(message, WeightedRows).diagram(scale)
    return to_bytes(diagram) if diagram.scores.size else b""


def checksums(messages: Iterable[bytes]) -> int:
    """Return the sum of the checksums of diagrams, in any order."""
    return sum(checksum(message) for message in messages if message)


def added_up(counted: Iterable[tuple[Group, bytes]]) -> dict[Group, Diagram]:
    """Return the sum of all diagrams, by group if there are groups."""
    parts: dict[Group, list[Diagram]] = {}
    for group, message in counted:
        if message:
            parts.setdefault(group, []).append(from_bytes(message, Diagram))
    return {group: Diagram.sum(parts.pop(group)) for group in list(parts)}


@dataclass(frozen=True, slots=True, eq=False)
class CountedFrame:
    """The tally of all rows of a frame, checked, on the driver."""

    columns: FitColumns
    tally: Tally
    scale: int  # of the units for all weights

    @staticmethod
    def of(tallies: Iterable[str], columns: FitColumns) -> CountedFrame:
        """Add the tallies of all workers; raise the errors of a fit in memory."""
        tally = sum(map(Tally.from_text, tallies), start=Tally())
        _check_workers(tally)
        _check_refusals(tally)
        _labels_of(tally, columns)  # raises if they are wrong
        _check_gaps(tally, columns)
        if not tally.n_fitted:
            why = _why_no_row_counts(tally, columns)
            msg = f"{FRAME} must have rows to fit; {why}"
            raise InvalidData(msg)
        return CountedFrame(
            columns, tally, scale_for(tally.magnitudes, columns.weights)
        )

    def check_same(self, checksums: int) -> None:
        """Raise if the fetched diagrams differ from those that were tallied."""
        if self._is_whole and checksums != self.tally.checksums:
            raise InvalidData(CHANGED)

    def check_totals(self, n_negatives: int, n_positives: int) -> None:
        """Raise if the numbers of rows in parts or groups differ from the tally."""
        tallied = self.tally.n_negatives, self.tally.n_positives
        if self._is_whole and (n_negatives, n_positives) != tallied:
            raise InvalidData(CHANGED)

    @property
    def _is_whole(self) -> bool:
        return self.tally.magnitudes.whole_total is not None

    def fit_diagrams(
        self,
        diagrams: Mapping[Group, Diagram],
        *,
        minimum: int,
        increasing: bool,
        metadata: Mapping[str, Any] | None = None,
    ) -> Fit:
        """Fit a rule to the diagram of all rows, or rules to those of the groups."""
        rule: Rule | RuleSet
        auc = RunningAuc()
        if self.columns.by is None:
            (diagram,) = auc.watch(diagrams.values())
            rule = rule_of_diagram(diagram, increasing=increasing)
        else:
            by_name = {json.loads(str(group)): own for group, own in diagrams.items()}
            rule = RuleSet(by_name, minimum=minimum, increasing=increasing)
            warn_of_inverted_groups(rule, by_name, {})
            list(auc.watch([Diagram.sum(by_name.values())]))
        return self.fit(rule, auc.value, increasing=increasing, metadata=metadata)

    def fit(
        self,
        rule: Rule | RuleSet,
        auc: float,
        *,
        increasing: bool,
        metadata: Mapping[str, Any] | None = None,
    ) -> Fit:
        """Return a rule with facts about its rows; warn if scores are inverted."""
        columns, tally = self.columns, self.tally
        if not isinstance(rule, RuleSet):
            if columns.weight is not None:
                # The variance of weights within a cell is not collected.
                rule = rule.with_cells(None)
            # The effective number of rows is unknown for real weights.
            if self.scale == 0:
                warn_of_inverted_rule(rule, auc)
        readers = columns.readers()
        notes: tuple[str, ...] = ()
        if (labels := _labels_of(tally, columns)) is not None:
            readers["label"] = labels
            notes = () if labels.understood is None else (labels.understood,)
        tags = own_tags(readers, tally.fingerprint)
        return Fit(
            rule=rule,
            n_rows=tally.n_rows,
            n_missing=tally.n_missing,
            n_held_out=0,
            n_fitted=tally.n_fitted,
            auc=auc if increasing else 1 - auc,
            on_disk=True,
            held_out=None,
            metadata=dict(metadata or {}) | tags,
            notes=notes,
        )


def _check_workers(tally: Tally) -> None:
    mine = version("abers")
    for worker in tally.workers:
        if not worker.endswith(f" has {mine}"):
            msg = (
                f"workers must have the abers of the driver, {mine}; {worker}. Install "
                "the same version everywhere."
            )
            raise MissingExtra(msg)


def _check_refusals(tally: Tally) -> None:
    """Raise the first error that a worker met."""
    for name, message in tally.refusals:
        error: type[AbersError] = getattr(errors, name)
        raise error(_in_python(message))


class _LabelValues(Batch):
    """Distinct labels, as rows with counts."""

    __slots__ = ()

    def place(self, i: int) -> str:
        return f"{self.columns.column(1)[i].as_py()} of {self.row_number} rows"


def _labels_of(tally: Tally, columns: FitColumns) -> Labels | None:
    """Check the labels of all workers as those of one table."""
    if columns.label is None:
        return None
    arrays = [
        pa.array(list(tally.labels), pa.string()),
        pa.array(tally.labels.values(), pa.int64()),
    ]
    batch = pa.record_batch(arrays, names=[columns.label, f"{columns.label} rows"])
    labels = Labels(columns.label, columns.pos_label)
    try:
        labels.values(_LabelValues(batch, FRAME, 1, tally.n_rows))
        if tally.labels:
            labels.check_seen()
    except AbersError as error:
        raise type(error)(_in_python(str(error))) from None
    return labels


def _check_gaps(tally: Tally, columns: FitColumns) -> None:
    """Raise if values are missing, unless incomplete rows are left out."""
    for name in columns.names:
        if tally.gaps[name] and not columns.drop_missing:
            msg = (
                f"column {name!r} must not be empty, null or NaN to fit; it is in "
                f"{tally.gaps[name]} of {tally.n_rows} rows. Fill it in, or leave such "
                "rows out."
            )
            raise InvalidData(msg)


def _why_no_row_counts(tally: Tally, columns: FitColumns) -> str:
    if not tally.n_rows:
        return "it has none."
    if tally.n_missing == tally.n_rows:
        return f"all its {tally.n_rows:,} rows lack a value. Fill some in."
    return f"{columns.weights} is 0 in all {tally.n_rows - tally.n_missing:,} of them."


def _in_python(message: str) -> str:
    """Return a message of the command line with options in Python's form."""
    return re.sub(
        r"--([a-z]+(?:-[a-z]+)*)", lambda m: m[1].replace("-", "_") + "=", message
    )
