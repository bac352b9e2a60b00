"""Blocks: a rule from parts of the data, each summarised on its own.

Cut the calibration set into parts by score. Each part is summarised in a few hundred
numbers. Together, the summaries determine what each part must know about the others:
its context. With its context, each part yields a piece of the rule, and the pieces join
to the rule of the whole, bit for bit: thresholds, bounds, percentiles and cells. The
functions are pure: files larger than memory (`abers.tables`) and clusters
(`abers.engines.spark`) both call them.

1. ``summarise(part)`` for each part, in ascending order of scores.
2. ``context(summaries, i)`` for one part, or ``contexts(summaries)`` for all.
3. ``piece(part, context)`` for each part. It summarises the part again and raises
   `InvalidData` if the summary differs. So the pieces always fit together: the rule is
   exactly that of the parts as step 3 saw them.
4. ``join(pieces, summaries)``, with pieces in any order.

Parts may be cut between scores or within one. A single part and empty parts need no
special treatment. All parts are counted in units of one scale (`abers.core.units`).

>>> import abers
>>> from abers.core import blocks
>>> low = abers.rules.Diagram.from_rows([1, 2], [0, 1])
>>> high = abers.rules.Diagram.from_rows([3, 3], [0, 0])
>>> summaries = [blocks.summarise(part) for part in (low, high)]
>>> pieces = [blocks.piece(part, blocks.context(summaries, i))
...           for i, part in enumerate((low, high))]
>>> blocks.join(pieces, summaries) == abers.fit_rule([1, 2, 3, 3], [0, 1, 0, 0])
True
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from abers import _kernel
from abers.core.cells import Cells, cell_cuts, cut_ranks
from abers.core.diagram import Diagram, diagram_of_counts, percentile_ranks
from abers.core.rule import Rule
from abers.core.units import rescaled
from abers.errors import InvalidData, InvalidParameter
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from abers.core.units import Units
    from abers.validation import FloatArray, IntArray

NO_POINTS = np.zeros((0, 2), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRows:
    """Rows or counts with real weights, kept until the scale of all is known."""

    scores: FloatArray
    counts: FloatArray
    positives: FloatArray

    def diagram(self, scale: int) -> Diagram:
        """Count the rows in units of 2**-scale."""
        return diagram_of_counts(self.scores, self.counts, self.positives, scale)


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What the other parts must know about a part.

    Points are pairs (rows labelled 0, rows labelled 1); the two are exchanged if the
    probability falls with the score. The ends of a part are separate from its inside
    because a neighbour may hold the same score, and then the step at that score is
    shared. An empty part has no ends.
    """

    increasing: bool
    scale: int  # of the units that all parts are counted in
    n_negatives: int  # in these units, whichever way the probability runs
    n_positives: int
    ends: FloatArray  # first and last score
    corners: IntArray  # of the points between first and last score, from the start

    @property
    def n_rows(self) -> int:
        """Units in the part."""
        return self.n_negatives + self.n_positives

    @property
    def is_empty(self) -> bool:
        """Whether the part holds no rows."""
        return not self.ends.size

    @property
    def total(self) -> IntArray:
        """Step over the whole part."""
        both = [self.n_negatives, self.n_positives]
        return np.array(both if self.increasing else both[::-1], dtype=np.int64)

    def equals(self, other: Summary) -> bool:
        """Return whether two parts look the same to all the others."""
        return (
            (self.increasing, self.scale, self.n_negatives, self.n_positives)
            == (other.increasing, other.scale, other.n_negatives, other.n_positives)
            and np.array_equal(self.ends, other.ends)
            and np.array_equal(self.corners, other.corners)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What a part must know about the others."""

    part: int  # its number
    summary: Summary  # its own
    left: IntArray  # corners of all points up to the part's start, ending there
    right: IntArray  # corners of all points after the part's end
    carry: IntArray  # step at the part's first score in the parts before
    drop_last: bool  # whether a later part also holds the last score, and decides there
    n_rows: int  # units in all parts


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The rule for the scores of one part; the first values hold below all of them.

    A part whose scores change no bound has no bounds. Some percentiles of the whole and
    some of the other cuts between cells are scores of this part; `below` counts the
    rows and positives below each of them.
    """

    part: int
    thresholds: FloatArray
    bounds: FloatArray  # (lower, upper) of each piece, one more than thresholds
    ordered: FloatArray  # percentiles and cuts, ascending, with ties
    below: IntArray  # (rows, positives) of the whole below each


def summarise(part: Diagram, *, scale: int = 0, increasing: bool = True) -> Summary:
    """Summarise a part, in units of 2**-scale, by a few hundred numbers."""
    negatives, positives, _ = _units(part, scale)
    masses = (negatives, positives) if increasing else (positives, negatives)
    return Summary(
        increasing,
        scale,
        int(negatives.sum()),
        int(positives.sum()),
        part.scores[[0, -1]] if part.scores.size else part.scores,
        _kernel.inner_corners(*masses),
    )


def context(summaries: Sequence[Summary], part: int) -> Context:
    """Return what one part must know of the others, from all summaries in order.

    The contexts of all parts together are many times as large as the summaries, so each
    worker makes its own.
    """
    plan = _Plan(summaries)
    left = _corners([plan.origin, *plan.points[:part]])
    return plan.context(part, left, _corners(plan.points[part + 1 :]))


def contexts(summaries: Sequence[Summary]) -> list[Context]:
    """Return the contexts of all parts in a single sweep."""
    plan = _Plan(summaries)
    lefts = accumulate(plan.points[:-1], _joint_corners, initial=plan.origin)
    rights = accumulate(plan.points[:0:-1], _joint_corners_mirrored, initial=NO_POINTS)
    sides = zip(lefts, reversed(list(rights)), strict=True)
    return [plan.context(part, *both) for part, both in enumerate(sides)]


def piece(part: Diagram, context: Context) -> Piece:
    """Fit the piece of the rule for the scores of a part.

    Raises `InvalidData` if the part is not the one that was summarised.
    """
    summary = context.summary
    scale, increasing = summary.scale, summary.increasing
    if not summarise(part, scale=scale, increasing=increasing).equals(summary):
        msg = (
            f"rows must stay the same while a rule is fitted to them; those of part "
            f"{context.part} changed after they were summarised. Save or persist the "
            "rows before fitting."
        )
        raise InvalidData(msg)
    ordered, below = _percentiles(part, context)
    owned = part.scores.size - context.drop_last
    thresholds, bounds = np.empty(0), np.empty((0, 2))
    if owned:
        negatives, positives, _ = _units(part, scale)
        masses = [negatives, positives] if increasing else [positives, negatives]
        if context.carry.any():
            masses = [mass.copy() for mass in masses]
            for mass, carried in zip(masses, context.carry, strict=True):
                mass[0] += carried
        zeros, ones = masses
        thresholds, bounds = _kernel.fit_part(
            part.scores[:owned],
            zeros[:owned],
            ones[:owned],
            context.left,
            context.right,
            increasing,
            1 << scale,
        )
    # Copies, without room to grow.
    return Piece(context.part, thresholds.copy(), bounds.copy(), ordered, below)


def join(pieces: Iterable[Piece], summaries: Sequence[Summary]) -> Rule:
    """Join the pieces of all parts, in any order, into the rule of the whole."""
    pieces = sorted(pieces, key=lambda each: each.part)
    if [each.part for each in pieces] != list(range(len(summaries))):
        msg = (
            f"each of the {len(summaries)} parts must give one piece of the rule; got "
            f"pieces of parts {[each.part for each in pieces]}."
        )
        raise InvalidParameter(msg)
    n_negatives, n_positives = _checked_totals(summaries)
    thresholds = np.concatenate([each.thresholds for each in pieces])
    of_parts = [each.bounds for each in pieces if each.bounds.size]
    bounds = np.concatenate([of_parts[0][:1], *(each[1:] for each in of_parts)])
    # A piece may change just above its last score, and the next piece at that same
    # double: the later value wins.
    superseded = np.flatnonzero(thresholds[1:] == thresholds[:-1])
    lower, upper = np.delete(bounds, superseded + 1, axis=0).T
    ordered = np.concatenate([each.ordered for each in pieces])
    below = np.concatenate([each.below for each in pieces])
    total, scale = n_negatives + n_positives, summaries[0].scale
    places = _ranks(total, scale).searchsorted(percentile_ranks(total))
    return Rule(
        _kernel.Table(
            np.delete(thresholds, superseded),
            np.ascontiguousarray(lower),
            np.ascontiguousarray(upper),
            ordered[places],
        ),
        n_rows=total / 2**scale if scale else total,
        n_positives=n_positives / 2**scale if scale else n_positives,
        increasing=summaries[0].increasing,
        # The variance of weights that are not row counts is unknown.
        cells=None if scale else _cells(ordered, below, (total, n_positives)),
    )


def fit_rule_from_parts(
    parts: Callable[[], Iterable[Diagram]], *, scale: int = 0, increasing: bool = True
) -> Rule:
    """Fit a rule to parts that do not fit into memory together, as if to their sum.

    `parts` is called twice. Each time it yields the parts in ascending order of their
    scores; only one is held at a time. All must be counted in units of 2**-scale.

    >>> from abers.rules import Diagram, fit_rule_from_diagram
    >>> low = Diagram.from_rows([1, 2], [0, 1])
    >>> high = Diagram.from_rows([2, 3], [0, 1])
    >>> rule = fit_rule_from_parts(lambda: iter([low, high]))
    >>> rule == fit_rule_from_diagram(low + high)
    True
    """
    summaries = [
        summarise(part, scale=scale, increasing=increasing) for part in parts()
    ]
    pairs = zip(parts(), contexts(summaries), strict=True)
    return join([piece(*pair) for pair in pairs], summaries)


class _Plan:
    """All points that matter to any part, in the order of the parts."""

    origin = np.zeros((1, 2), np.int64)

    def __init__(self, summaries: Sequence[Summary]) -> None:
        self._summaries = summaries
        self._n_rows = sum(_checked_totals(summaries))
        _check_order(summaries)
        steps = [np.zeros(2, np.int64), *(each.total for each in summaries)]
        self._starts = np.cumsum(steps, axis=0)  # and the end of the last one
        self._drops = _shared_with_the_next(summaries)
        # If the next part starts with the last score, there is no point between them.
        self.points = [
            np.concatenate((each.corners + start, end[:0] if drop else end))
            if not each.is_empty
            else NO_POINTS
            for each, start, end, drop in zip(
                summaries,
                self._starts[:-1],
                self._starts[1:, np.newaxis],
                self._drops,
                strict=True,
            )
        ]

    def context(self, part: int, left: IntArray, right: IntArray) -> Context:
        """Return the context of a part, given the corners on both sides of it."""
        return Context(
            part,
            self._summaries[part],
            left,
            right,
            carry=self._starts[part] - left[-1],
            drop_last=self._drops[part],
            n_rows=self._n_rows,
        )


def _shared_with_the_next(summaries: Sequence[Summary]) -> list[bool]:
    """Return whether each part's last score is the first of the next nonempty part."""
    shared, next_score = [], np.nan
    for summary in reversed(summaries):
        shared.append(bool(not summary.is_empty and summary.ends[1] == next_score))
        if not summary.is_empty:
            next_score = summary.ends[0]
    return shared[::-1]


def _corners(points: Sequence[IntArray]) -> IntArray:
    return _kernel.minorant(np.concatenate([NO_POINTS, *points]))


def _joint_corners(seen: IntArray, points: IntArray) -> IntArray:
    return _corners([seen, points])


def _joint_corners_mirrored(seen: IntArray, points: IntArray) -> IntArray:
    return _corners([points, seen])


def _units(part: Diagram, scale: int) -> Units:
    """Return the units of a part at the scale of all parts."""
    if part.scale > scale:
        msg = (
            f"parts must be counted in units of 2**-{scale}, as all others are; got "
            f"one with a scale of {part.scale}."
        )
        raise InvalidData(msg)
    return rescaled(part.units, scale)


def _ranks(total: int, scale: int) -> IntArray:
    """Return ranks of the percentiles and, if rows are counted, of all cuts."""
    return percentile_ranks(total) if scale else cut_ranks(total)


def _percentiles(part: Diagram, context: Context) -> tuple[FloatArray, IntArray]:
    """Return the percentiles and cuts that lie in a part, and the counts below."""
    summary = context.summary
    order = slice(None, None, 1 if summary.increasing else -1)
    start = context.left[-1][order]  # below the first score: (negatives, positives)
    before = start + context.carry[order]  # the part
    ranks = _ranks(context.n_rows, summary.scale) - before.sum()
    here = ranks[(ranks > 0) & (ranks <= summary.n_rows)]
    negatives, positives, _ = _units(part, summary.scale)
    places, zeros, ones = _kernel.ranked(negatives, positives, here)
    first = places == 0
    zeros += np.where(first, start[0], before[0])
    ones += np.where(first, start[1], before[1])
    return part.scores[places], np.stack((zeros + ones, ones), axis=1)


def _cells(ordered: FloatArray, below: IntArray, ends: tuple[int, int]) -> Cells:
    """Return the rows and positives between the distinct cuts."""
    cuts = cell_cuts(ordered)
    first = ordered[1:-1].searchsorted(cuts)
    counts, ones = (
        np.diff(column, prepend=0, append=end)
        for column, end in zip(below[1:-1][first].T, ends, strict=True)
    )
    return Cells(cuts, counts, ones)


def _checked_totals(summaries: Sequence[Summary]) -> tuple[int, int]:
    """Return negatives and positives of the whole, if a rule can be fitted to it."""
    n_negatives = sum(each.n_negatives for each in summaries)
    n_positives = sum(each.n_positives for each in summaries)
    total = n_negatives + n_positives
    if not total:
        msg = "parts must hold at least one row; got none."
        raise InvalidData(msg)
    if len({each.scale for each in summaries}) > 1:
        msg = "parts must all be summarised at one scale."
        raise InvalidData(msg)
    if total + 2 ** summaries[0].scale > LARGEST_EXACT_INTEGER:
        msg = f"weights must add up to less than 2**53; those of the parts to {total}."
        raise InvalidData(msg)
    if len({each.increasing for each in summaries}) > 1:
        msg = (
            "parts must all be summarised as rising with the score, or all as falling."
        )
        raise InvalidData(msg)
    return n_negatives, n_positives


def _check_order(summaries: Sequence[Summary]) -> None:
    with_rows = [
        (part, each) for part, each in enumerate(summaries, 1) if not each.is_empty
    ]
    for (part, before), (_, after) in pairwise(with_rows):
        if after.ends[0] < before.ends[1]:
            msg = (
                "parts must come in ascending order of their scores; got a part that "
                f"starts at {after.ends[0].item()!r} after part {part}, which ends at "
                f"{before.ends[1].item()!r}."
            )
            raise InvalidData(msg)
