"""Parts: what the workers of an engine do with rows, what its driver makes of that.

Spark and Dask hold rows on many workers. These functions are what is the same for
every engine; they take and give bytes, which an engine stores and moves as it does.
`abers.core.blocks` has the mathematics.

==========  ================================  =========================================
where       call                              gives
==========  ================================  =========================================
driver      ``FitColumns(...).check(names)``  the columns to read, or an error
each map    ``counted(batches, columns)``     diagrams, of some millions of rows each,
                                              which stay with the worker, and a head
driver      ``judged(heads, columns)``        what all rows are, or the error that a fit
                                              in memory would raise
..          ``judged.splitters(n_parts)``     where parts begin: once, sent to all
each map    ``dealt(diagram, splitters)``     a share for each part
            *exchange: all shares of part i meet at one worker*
pass 1,     ``merged(shares)``                the part; it stays with the worker
each part
..          ``summarised(part, ...)``         its report
driver      ``judged.reported(reports)``      summaries, to be sent to all; refused if
                                              rows were lost, doubled or changed
pass 2,     ``pieced(part, i, summaries)``    its piece of the rule
each part
driver      ``joined_rule(pieces, ...)``      the rule
==========  ================================  =========================================

To fit groups, the shares that meet are the diagrams of one group; `merged` once more
makes the group's diagram, and the driver the rule set: `grouped_rules`.

What is wrong with the rows is told in the heads and raised on the driver: an exception
in a task would be tried again, and come wrapped in the engine's own.
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

from abers import errors, validation
from abers.core import blocks
from abers.core.blocks import Content, Piece, ScoreSample, Summary, content_of
from abers.core.diagram import Diagram, trusted_diagram
from abers.core.fit import rule_of_diagram
from abers.core.inverted import may_be_inverted, order_of_untied, warn_if_inverted
from abers.core.messages import from_bytes, to_bytes
from abers.core.rule_set import RuleSet, warn_of_inverted_groups
from abers.errors import (
    AbersError,
    ChangedInput,
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
from abers.tables.fit import Auc, CalibrationRows, Fit, check_tags, with_fitted_rows
from abers.tables.sources import Batch, listed
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from abers.core.rule import Rule
    from abers.tables.rows import RoleColumn
    from abers.validation import FloatArray

    Mask = NDArray[np.bool_]

FRAME = "the frame"  # as messages call it
COUNTED_ROWS = 2**21  # at once; about 130 MB while they are counted
PART_SCORES = 5_000_000  # 50 MB in a part
MOST_PART_SCORES = 50_000_000  # 500 MB; a cell of an engine holds less than 2 GB
COLLECTED_SCORES = 5_000_000  # of real weights, which the driver adds up
GROUPED_SCORES = 100_000_000  # 1 GB of diagrams of groups on the driver
EXAMPLES = 3  # of values that are refused
MOST_REFUSED = 10  # messages in a head: of texts that are no numbers, each has its own
CHANGED = (
    "rows must stay the same while a rule is fitted to them; they changed while they "
    "were read. Save or persist the frame first."
)
LENGTH = struct.Struct("<I")
TWICE_BYTES = 16  # of a number of pairs
NOTHING = trusted_diagram(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))


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


def as_n_parts(n_parts: object) -> int:
    """Return how many parts a user wants: at least one."""
    wanted = validation.as_count(n_parts, "n_parts")
    if not wanted:
        msg = f"n_parts must be at least 1; got {n_parts!r}."
        raise InvalidParameter(msg)
    return wanted


def check_column(name: str, present: Sequence[str]) -> None:
    """Refuse a column that is not there, or there twice."""
    if list(present).count(name) != 1:
        what = "have the column" if name not in present else "have just one column"
        msg = f"{FRAME} must {what} {name!r}; its columns are {listed(present)}."
        raise InvalidTable(msg)


class CountedRows(NamedTuple):
    """What one map makes of some of its rows; all parts of it are bytes or text."""

    head: bytes  # of all rows of the map, in its last answer; empty before
    diagrams: list[tuple[str | None, bytes]]  # by group, if there are groups


@dataclass(slots=True)
class Head:
    """What the driver must know of some rows."""

    n_rows: int = 0
    n_missing: int = 0
    n_fitted: int = 0
    n_scores: int = 0  # distinct ones, of each group
    is_exact: bool = True  # integer weights
    content: tuple[int, int, int] = (0, 0, 0)
    gaps: dict[str, int] = field(default_factory=dict)  # rows by column
    labels: dict[str, int] = field(default_factory=dict)  # rows by value
    refused: list[Any] = field(default_factory=list)  # error, message, rows, values
    fingerprint: str = field(default_factory=lambda: Fingerprint().to_text())
    abers: str = field(default_factory=lambda: version("abers"))
    python: str = sys.executable
    sample: ScoreSample = field(default_factory=lambda: blocks.sample(NOTHING))

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
        try:
            diagrams = self._diagrams()
        except AbersError as error:  # sums of weights beyond the doubles
            self._refuse(type(error), str(error))
            diagrams = []
        head = self._head
        head.n_scores += sum(each.scores.size for _, each in diagrams)
        head.is_exact &= all(each.is_exact for _, each in diagrams)
        if head.is_exact:
            for _, each in diagrams:
                self._content += content_of(each)
        if self._columns.by is None:
            self._samples += [blocks.sample(each) for _, each in diagrams]
        return [(name, to_bytes(each)) for name, each in diagrams]

    def head(self) -> bytes:
        """Return what the driver must know of all rows that came."""
        head, content = self._head, self._content
        head.content = (content.n_negatives, content.n_positives, content.total)
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

    def _diagrams(self) -> list[tuple[str | None, Diagram]]:
        if not self._waiting:
            return []
        columns: Any = (
            None if column[0] is None else np.concatenate(column)
            for column in zip(*self._waiting, strict=True)
        )
        rows = CalibrationRows(*columns)
        self._waiting, self.n_waiting = [], 0
        groups = self._readers.get("group")
        if rows.groups is None or not isinstance(groups, Groups):
            return [(None, rows.diagram())]
        names = groups.names
        return [
            (json.dumps(names[code]), rows.where(own).diagram())
            for code, own in rows_by_code(rows.groups)
        ]


def _joint_sample(samples: Sequence[ScoreSample]) -> ScoreSample:
    """Return a sample of several diagrams, no larger than that of one."""
    scores = np.sort(np.concatenate([np.empty(0), *(each.scores for each in samples)]))
    if scores.size > blocks.SAMPLED:
        places = np.linspace(0, scores.size - 1, blocks.SAMPLED).astype(int)
        scores = scores[places]
    return ScoreSample(scores, sum(each.size for each in samples))


def judged(heads: Iterable[bytes], columns: FitColumns) -> Judged:
    """Put all heads together; raise what a fit in memory would."""
    known = [Head.from_bytes(head) for head in heads if head]
    _check_versions(known)
    n_rows = sum(head.n_rows for head in known)
    _check_refused(known, n_rows)
    _check_labels(known, n_rows, columns)
    _check_gaps(known, n_rows, columns)
    n_missing = sum(head.n_missing for head in known)
    n_fitted = sum(head.n_fitted for head in known)
    if not n_fitted:
        why = _why_no_row_counts(n_rows, n_missing, columns)
        msg = f"{FRAME} must have rows to fit; {why}"
        raise InvalidScores(msg)
    content = sum((Content(*head.content) for head in known), start=Content())
    if (total := content.n_negatives + content.n_positives) >= LARGEST_EXACT_INTEGER:
        msg = f"weights must add up to less than 2**53; got {total}."
        raise InvalidWeights(msg)
    prints = (Fingerprint.from_text(head.fingerprint) for head in known)
    return Judged(
        n_rows=n_rows,
        n_missing=n_missing,
        n_fitted=n_fitted,
        n_scores=sum(head.n_scores for head in known),
        is_exact=all(head.is_exact for head in known),
        content=content,
        samples=[head.sample for head in known],
        fingerprint=sum(prints, start=Fingerprint()),
        columns=columns,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What the rows of all workers are; nothing is wrong with them."""

    n_rows: int
    n_missing: int
    n_fitted: int
    n_scores: int  # distinct ones of each map and group: the whole has no more
    is_exact: bool
    content: Content
    samples: list[ScoreSample]
    fingerprint: Fingerprint
    columns: FitColumns

    def splitters(self, n_parts: int | None = None) -> FloatArray:
        """Choose where parts begin: so many, but none of more than 50 million scores.

        Part i holds the scores from splitters[i - 1] on. None is empty, as a rule.
        """
        least = -(-self.n_scores // MOST_PART_SCORES)
        wanted = -(-self.n_scores // PART_SCORES)
        if n_parts is not None:
            wanted = as_n_parts(n_parts)
        return blocks.splitters(self.samples, max(wanted, least))

    def check_collected(self) -> None:
        """Refuse real weights of more scores than the driver is to add up."""
        if self.n_scores > COLLECTED_SCORES:
            name = self.columns.weight or self.columns.count
            msg = (
                f"column {name!r} must hold integers if there are more than "
                f"{COLLECTED_SCORES:,} distinct scores, because sums of real weights "
                f"depend on their order; got real weights of up to {self.n_scores:,} "
                "scores. Round them, or scale them to integers."
            )
            raise InvalidWeights(msg)

    def reported(
        self, reports: Iterable[tuple[int, bytes]], n_parts: int, *, increasing: bool
    ) -> Reports:
        """Put the reports of all parts in order; refuse rows that are not those read.

        A part that did not report is empty.
        """
        known: dict[int, bytes] = {}
        for part, report in reports:
            if part in known or not 0 <= part < n_parts:
                raise ChangedInput(CHANGED)
            known[part] = unwrapped(report)
        empty = _report(NOTHING, increasing=increasing)
        pairs = [known.get(part, empty) for part in range(n_parts)]
        summaries = [pair[TWICE_BYTES:] for pair in pairs]
        contents = [from_bytes(each, Summary).content for each in summaries]
        if sum(contents, start=Content()) != self.content:
            raise ChangedInput(CHANGED)
        inside = [int.from_bytes(pair[:TWICE_BYTES], "little") for pair in pairs]
        return Reports(summaries, frozenset(known), _auc(inside, contents))

    def fit(
        self,
        rule: Rule | RuleSet,
        auc: float,
        *,
        increasing: bool,
        metadata: Mapping[str, Any] | None = None,
    ) -> Fit:
        """Return a rule with what is to know about its rows."""
        check_tags(metadata)
        return Fit(
            rule=rule,
            n_rows=self.n_rows,
            n_missing=self.n_missing,
            n_held_out=0,
            n_fitted=self.n_fitted,
            auc=auc if increasing else 1 - auc,
            on_disk=True,
            held_out=None,
            metadata=dict(metadata or {}) | self.columns.tags(self.fingerprint),
        )


class Reports(NamedTuple):
    """What all parts have told of themselves."""

    summaries: list[bytes]  # in order, to be sent to all workers
    parts: frozenset[int]  # that workers hold; the others are empty
    auc: float  # as if the probability rose with the score


def dealt(diagram: bytes, splitters: FloatArray) -> list[tuple[int, bytes]]:
    """Cut a diagram; return the shares that are not empty, with the part of each."""
    shares = blocks.cut(from_bytes(diagram, Diagram), splitters)
    return [(i, to_bytes(share)) for i, share in enumerate(shares) if share.scores.size]


def merged(diagrams: Iterable[bytes]) -> bytes:
    """Add up diagrams, of which there is one at least."""
    return to_bytes(Diagram.sum([from_bytes(each, Diagram) for each in diagrams]))


def size_of(diagram: bytes) -> int:
    """Return the number of distinct scores of a diagram."""
    return from_bytes(diagram, Diagram).scores.size


def summarised(part: bytes, *, increasing: bool) -> bytes:
    """Return the report of a part, or what went wrong."""
    try:
        report = _report(from_bytes(part, Diagram), increasing=increasing)
    except AbersError as error:
        return _wrapped(error)
    return b"+" + report


def pieced(part: bytes, number: int, summaries: Sequence[bytes]) -> bytes:
    """Return the piece of a part, or what went wrong: the part may have changed."""
    try:
        known = [from_bytes(each, Summary) for each in summaries]
        context = blocks.context(known, number)
        piece = blocks.piece(from_bytes(part, Diagram), context)
    except AbersError as error:
        return _wrapped(error)
    return b"+" + to_bytes(piece)


def unwrapped(answer: bytes) -> bytes:
    """Return what a worker answers, or raise the error that it met."""
    if answer[:1] == b"+":
        return answer[1:]
    name, message = json.loads(answer[1:])
    raise getattr(errors, name)(message)


def joined_rule(answers: Iterable[bytes], reports: Reports) -> Rule:
    """Put the pieces of all parts together; refused if one is missing."""
    pieces = [from_bytes(unwrapped(answer), Piece) for answer in answers]
    summaries = [from_bytes(each, Summary) for each in reports.summaries]
    pieces += [
        blocks.piece(NOTHING, blocks.context(summaries, part))
        for part in set(range(len(summaries))) - reports.parts
    ]
    return blocks.join(pieces, summaries)


def collected_rule(
    diagrams: Iterable[bytes], *, increasing: bool
) -> tuple[Rule, float]:
    """Fit a rule to diagrams that the driver holds, and see how scores are ordered."""
    diagram = from_bytes(merged(diagrams), Diagram)
    auc = _auc_of_diagram(diagram)
    return rule_of_diagram(diagram, increasing=increasing), auc


def check_group_size(n_scores: int) -> None:
    """Refuse diagrams of groups that are too large for the driver together."""
    if n_scores > GROUPED_SCORES:
        msg = (
            f"groups must have at most {GROUPED_SCORES:,} distinct scores together, "
            f"because the driver holds them; got {n_scores:,}. Round the scores, or "
            "fit some groups at a time."
        )
        raise InvalidParameter(msg)


def grouped_rules(
    diagrams: Iterable[tuple[str, bytes]],
    judged: Judged,
    *,
    minimum: int,
    increasing: bool,
) -> tuple[RuleSet, float]:
    """Make the rule set of all groups on the driver, and see how scores are ordered."""
    shares: dict[Any, list[Diagram]] = {}
    for group, message in diagrams:
        shares.setdefault(json.loads(group), []).append(from_bytes(message, Diagram))
    whole = {group: Diagram.sum(own) for group, own in shares.items()}
    if judged.is_exact:
        contents = (content_of(each) for each in whole.values())
        if sum(contents, start=Content()) != judged.content:
            raise ChangedInput(CHANGED)
    rules = RuleSet(whole, minimum=minimum, increasing=increasing)
    return rules, _auc_of_diagram(Diagram.sum(whole.values()))


def warn_of_inverted(rule: Rule | RuleSet, auc: float, judged: Judged) -> None:
    """Warn, at the line that called the caller, if scores run the other way.

    Ties are not known here: as of rows on disk, the p-value may be too large. Real
    weights, of which nobody knows how many rows they are, are not tested.
    """
    if isinstance(rule, RuleSet):
        warn_of_inverted_groups(rule, {}, above=1)
        return
    ones = rule.n_positives
    zeros = rule.n_observations - ones
    if judged.is_exact and may_be_inverted(rule.lower.size, zeros, ones):
        order = order_of_untied(auc, zeros, ones)
        warn_if_inverted(order, increasing=rule.increasing, above=1)


def _wrapped(error: AbersError) -> bytes:
    return b"!" + json.dumps([type(error).__name__, str(error)]).encode()


def _report(part: Diagram, *, increasing: bool) -> bytes:
    """Return a summary, after twice the number of pairs that are in order."""
    summary = blocks.summarise(part, increasing=increasing)
    zeros, ones = part.negatives, part.positives
    if 2 * summary.content.n_negatives * summary.content.n_positives >= 2**63:
        zeros, ones = zeros.astype(np.float64), ones.astype(np.float64)
    twice = int((ones * (2 * np.cumsum(zeros) - zeros)).sum())
    return twice.to_bytes(TWICE_BYTES, "little") + to_bytes(summary)


def _auc(twice_inside: Sequence[int], contents: Sequence[Content]) -> float:
    """Return the share of pairs in order, in parts and across them; a tie is half."""
    zeros = twice = 0
    for inside, content in zip(twice_inside, contents, strict=True):
        twice += inside + 2 * zeros * content.n_positives
        zeros += content.n_negatives
    pairs = zeros * sum(content.n_positives for content in contents)
    return twice / (2 * pairs) if pairs else float("nan")


def _auc_of_diagram(diagram: Diagram) -> float:
    auc = Auc()
    for _ in auc.watch([diagram]):
        pass
    return auc.value


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
