"""Parts: what the workers of an engine do with rows, what its driver makes of that.

Spark and Dask hold rows on many workers. These functions are what is the same for
every engine; they take and give bytes, which an engine stores and moves as it does.
`abers.core.blocks` has the mathematics, `abers.tables.frame_rows` the first two calls.

==========  ================================  =========================================
where       call                              gives
==========  ================================  =========================================
driver      ``FitColumns(...).check(names)``  the columns to read, or an error
each map    ``counted(batches, columns)``     diagrams, of some millions of rows each,
                                              which stay with the worker, and a head;
                                              rows instead, if weights are not whole
driver      ``judged(heads, columns)``        what all rows are, or the error that a fit
                                              in memory would raise
..          ``judged.scale``                  what units all weights are counted in
..          ``judged.splitters(n_parts)``     where parts begin: once, sent to all
each map    ``dealt(counted, ...)``           a share for each part
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

To fit groups, what was counted of one group meets; `merged_group` makes the group's
diagram, and the driver the rule set: `grouped_rules`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers import errors, validation
from abers.core import blocks
from abers.core.blocks import (
    Content,
    Piece,
    ScoreSample,
    Summary,
    WeightedRows,
    content_of,
)
from abers.core.diagram import NOTHING, Diagram
from abers.core.fit import warn_of_inverted_rule
from abers.core.messages import from_bytes, holds, to_bytes
from abers.core.rule_set import RuleSet, warn_of_inverted_groups
from abers.core.units import Magnitudes, rescaled, scale_for
from abers.errors import AbersError, ChangedInput, InvalidParameter
from abers.storage.fingerprint import Fingerprint
from abers.tables.fit import Auc, Fit, check_tags
from abers.tables.frame_rows import checked_heads

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from abers.core.rule import Rule
    from abers.tables.frame_rows import FitColumns
    from abers.validation import FloatArray

PART_SCORES = 5_000_000  # 50 MB in a part
MOST_PART_SCORES = 50_000_000  # 500 MB; a cell of an engine holds less than 2 GB
GROUPED_SCORES = 100_000_000  # 1 GB of diagrams of groups on the driver
CHANGED = (
    "rows must stay the same while a rule is fitted to them; they changed while they "
    "were read. Save or persist the frame first."
)
TWICE_BYTES = 16  # of a number of pairs


def as_n_parts(n_parts: object) -> int:
    """Return how many parts a user wants: at least one."""
    wanted = validation.as_count(n_parts, "n_parts")
    if not wanted:
        msg = f"n_parts must be at least 1; got {n_parts!r}."
        raise InvalidParameter(msg)
    return wanted


def judged(heads: Iterable[bytes], columns: FitColumns) -> Judged:
    """Put all heads together; raise what a fit in memory would."""
    known = checked_heads(heads, columns)
    content = sum((Content(*head.content) for head in known), start=Content())
    magnitudes = sum((head.magnitudes for head in known), start=Magnitudes())
    prints = (Fingerprint.from_text(head.fingerprint) for head in known)
    return Judged(
        n_rows=sum(head.n_rows for head in known),
        n_missing=sum(head.n_missing for head in known),
        n_fitted=sum(head.n_fitted for head in known),
        n_scores=sum(head.n_scores for head in known),
        scale=scale_for(magnitudes, f"column {columns.weight or columns.count!r}"),
        content=None if magnitudes.whole_total is None else content,
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
    scale: int  # of the units that all weights are counted in
    content: Content | None  # None if weights are not whole: they are counted later
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
        empty = _report(NOTHING, self.scale, increasing=increasing)
        pairs = [known.get(part, empty) for part in range(n_parts)]
        summaries = [pair[TWICE_BYTES:] for pair in pairs]
        contents = [from_bytes(each, Summary).content for each in summaries]
        self.check_contents(contents)
        inside = [int.from_bytes(pair[:TWICE_BYTES], "little") for pair in pairs]
        return Reports(summaries, frozenset(known), _auc(inside, contents))

    def check_contents(self, contents: Iterable[Content]) -> None:
        """Refuse rows that are not those read, if these were counted at once."""
        if self.content is None:
            return
        if sum(contents, start=Content()) != self.content:
            raise ChangedInput(CHANGED)

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


def dealt(counted: bytes, splitters: FloatArray, scale: int) -> list[tuple[int, bytes]]:
    """Cut what was counted; return shares that are not empty, with the part of each."""
    shares = blocks.cut(_diagram(counted, scale), splitters)
    return [(i, to_bytes(share)) for i, share in enumerate(shares) if share.scores.size]


def merged(diagrams: Iterable[bytes]) -> bytes:
    """Add up diagrams, of which there is one at least."""
    return to_bytes(Diagram.sum([from_bytes(each, Diagram) for each in diagrams]))


def merged_group(counted: Iterable[bytes], scale: int) -> bytes:
    """Add up what was counted of one group."""
    return to_bytes(Diagram.sum([_diagram(each, scale) for each in counted]))


def _diagram(counted: bytes, scale: int) -> Diagram:
    """Return the diagram of what was counted; rows have waited for their scale."""
    if holds(counted, WeightedRows):
        return from_bytes(counted, WeightedRows).diagram(scale)
    return from_bytes(counted, Diagram)


def size_of(diagram: bytes) -> int:
    """Return the number of distinct scores of a diagram."""
    return from_bytes(diagram, Diagram).scores.size


def summarised(part: bytes, scale: int, *, increasing: bool) -> bytes:
    """Return the report of a part, or what went wrong."""
    try:
        report = _report(from_bytes(part, Diagram), scale, increasing=increasing)
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
    summed = {group: Diagram.sum(own) for group, own in shares.items()}
    whole = {group: each for group, each in summed.items() if each.scores.size}
    judged.check_contents(content_of(each, judged.scale) for each in whole.values())
    rules = RuleSet(whole, minimum=minimum, increasing=increasing)
    return rules, _auc_of_diagram(Diagram.sum(whole.values()))


def warn_of_inverted(rule: Rule | RuleSet, auc: float, judged: Judged) -> None:
    """Warn if scores run the other way.

    Weights that are not whole, of which nobody knows how many rows they are, are not
    tested.
    """
    if isinstance(rule, RuleSet):
        warn_of_inverted_groups(rule, {})
    elif judged.scale == 0:
        warn_of_inverted_rule(rule, auc)


def _wrapped(error: AbersError) -> bytes:
    return b"!" + json.dumps([type(error).__name__, str(error)]).encode()


def _report(part: Diagram, scale: int, *, increasing: bool) -> bytes:
    """Return a summary, after twice the number of pairs that are in order."""
    summary = blocks.summarise(part, scale=scale, increasing=increasing)
    zeros, ones, _ = rescaled(part.units, scale)
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
