"""Blocks: a rule from parts of the data, none of which sees the others.

Cut the calibration set into parts by score. Each part is summarised, in a few hundred
numbers; from all summaries each part's context is made; with its context each part
yields its piece of the rule; the pieces join to the rule of the whole, to the last
bit: thresholds, bounds, percentiles and cells. The functions are pure and know no
engine: threads, files larger than memory and clusters all call these.

An engine has a driver, and workers that hold the rows. It calls, in this order:

==========  ===============================  ==========================================
where       call                             gives
==========  ===============================  ==========================================
each map    ``Diagram.from_observations``    the counts of some rows, ties merged;
            or ``Diagram.from_counts``       they stay with the worker
..          ``sample(diagram)``              at most 1,024 of its scores
..          ``content_of(diagram)``          what it holds, to be compared below
driver      ``splitters(samples, n_parts)``  where parts begin: once, sent to all
each map    ``cut(diagram, splitters)``      a diagram for each part, in order, some of
                                             them empty
            *exchange: all diagrams of part i meet at one worker, as bytes*
pass 1,     ``Diagram.sum(diagrams)``        the part; it stays with the worker
each part
..          ``summarise(part)``              its summary
driver      all summaries, in order          sent to all; the sum of their contents is
                                             that of the maps, or rows were lost
pass 2,     ``context(summaries, i)``        what the part must know of the others
each part
..          ``piece(part, context)``         its piece of the rule; `ChangedInput` if
                                             the part is not the one summarised
driver      ``join(pieces, summaries)``      the rule, from pieces in any order;
                                             refused if one is missing
==========  ===============================  ==========================================

Summaries, pieces, samples, contents and diagrams travel as the bytes that
`abers.core.messages` makes of them. No score is in two parts that `cut` makes, but
parts may also be cut within a score, as they come. One part is a case like any other,
and so is an empty one.

Weights that are not whole are rounded to multiples of one power of two, which depends
on the weights of all parts. So the maps first send the `Magnitudes` of their weights
(`abers.core.units`); the driver adds them up, and all rows are counted with the scale
that follows from the sum. Rows that were read before wait as `WeightedRows`.

>>> import abers
>>> from abers.core import blocks
>>> maps = [abers.Diagram.from_observations([3, 1], [0, 0]),
...         abers.Diagram.from_observations([2, 3], [1, 0])]
>>> borders = blocks.splitters([blocks.sample(counted) for counted in maps], 2)
>>> dealt = zip(*(blocks.cut(counted, borders) for counted in maps), strict=True)
>>> parts = [abers.Diagram.sum(shares) for shares in dealt]
>>> summaries = [blocks.summarise(part) for part in parts]
>>> pieces = [blocks.piece(part, blocks.context(summaries, i))
...           for i, part in enumerate(parts)]
>>> blocks.join(pieces, summaries) == abers.fit_rule([1, 2, 3, 3], [0, 1, 0, 0])
True
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from abers import _kernel, validation
from abers.core.cells import Cells, cell_cuts, cut_ranks
from abers.core.diagram import (
    Diagram,
    diagram_of_counts,
    percentile_ranks,
    trusted_diagram,
)
from abers.core.row_hashes import SALT, SPACE
from abers.core.rule import Rule
from abers.core.units import Units, canonical, rescaled
from abers.errors import ChangedInput, InvalidParameter, InvalidScores, InvalidWeights
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from abers.validation import FloatArray, IntArray

NO_POINTS = np.zeros((0, 2), np.int64)
NO_ENDS = (math.nan, math.nan)
SAMPLED = 1024  # scores of a diagram; 8 kB from each map to the driver


@dataclass(frozen=True, slots=True)
class Content:
    """What a set of rows is: how many of each label, and the sum of their hashes.

    Contents of parts add up to those of the whole, however the rows were cut, counted
    or merged on the way: rows that were lost, doubled or changed between two passes are
    noticed.

    >>> from abers import Diagram
    >>> low, high = Diagram([1], [2], [0]), Diagram([1, 3], [1, 0], [0, 1])
    >>> content_of(low) + content_of(high) == content_of(low + high)
    True
    """

    n_negatives: int = 0  # in units of one scale
    n_positives: int = 0
    total: int = 0  # of the hashes, modulo 2**64

    def __add__(self, other: Content) -> Content:
        """Return the content of the rows of both."""
        return Content(
            self.n_negatives + other.n_negatives,
            self.n_positives + other.n_positives,
            (self.total + other.total) % SPACE,
        )


def content_of(diagram: Diagram, scale: int = 0) -> Content:
    """Return the content of what a diagram counts, in units of 2**-scale."""
    negatives, positives, _ = _units(diagram, scale)
    salt = SALT.tolist()
    return Content(*_kernel.content(diagram.scores, negatives, positives, *salt))


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRows:
    """Rows, or counts of them, that wait until the scale of all weights is known."""

    scores: FloatArray
    counts: FloatArray
    positives: FloatArray

    def diagram(self, scale: int) -> Diagram:
        """Count the rows in units of 2**-scale."""
        return diagram_of_counts(self.scores, self.counts, self.positives, scale)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSample:
    """Some of the distinct scores of a diagram, evenly spaced by rank."""

    scores: FloatArray
    size: int  # how many there are


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What the other parts must know of a part.

    Points and steps are pairs (observations labelled 0, observations labelled 1); the
    two are exchanged if the probability falls with the score. The ends of a part are
    told apart from its inside because a neighbour may hold the same score, and then
    the step at that score is shared. An empty part has no ends: they are NaN.
    """

    increasing: bool
    scale: int  # of the units that all parts are counted in
    first_score: float
    last_score: float
    corners: IntArray  # of the points between first and last score, from the start
    content: Content  # of the rows, whichever way the probability runs

    @property
    def is_empty(self) -> bool:
        """Whether the part holds no rows."""
        return math.isnan(self.first_score)

    @property
    def total(self) -> IntArray:
        """Step over the whole part."""
        return _step(self.content, increasing=self.increasing)


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What a part must know of the others."""

    part: int  # its number
    increasing: bool
    scale: int
    left: IntArray  # corners of all points up to the part's start, ending there
    right: IntArray  # corners of all points after the part's end
    carry: IntArray  # step at the part's first score in the parts before
    drop_last: bool  # whether a later part holds the last score, and answers for it
    content: Content  # of the part
    n_observations: int  # in all parts


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A rule for the scores of one part; the first values hold below all of them.

    A part that answers for no score has no bounds. Some of the percentiles of the whole
    and of the other cuts between cells are scores of the part; of each the rows and
    positives below it are counted.
    """

    part: int
    thresholds: FloatArray
    bounds: FloatArray  # (lower, upper) of each piece, one more than thresholds
    ordered: FloatArray  # percentiles and cuts, ascending, with ties
    below: IntArray  # (rows, positives) of the whole below each


def sample(diagram: Diagram, size: int = SAMPLED) -> ScoreSample:
    """Return at most so many scores of a diagram, for the choice of splitters."""
    return sample_of(diagram.scores, size)


def sample_of(scores: FloatArray, size: int = SAMPLED) -> ScoreSample:
    """Return at most so many of distinct scores, in order."""
    n_scores = scores.size
    places = np.unique(np.linspace(0, n_scores - 1, min(size, n_scores)).astype(int))
    return ScoreSample(scores[places], n_scores)


def splitters(samples: Iterable[ScoreSample], n_parts: int) -> FloatArray:
    """Choose where parts begin, so that they hold about equally many distinct scores.

    Part i holds the scores from splitters[i - 1] on, up to but without splitters[i].
    There are fewer than `n_parts` splitters, all distinct.

    >>> splitters([ScoreSample(np.arange(4.0), 4), ScoreSample(np.array([9.0]), 4)], 2)
    array([9.])
    """
    known = [each for each in samples if each.size]
    if not known:
        return np.empty(0)
    scores = np.concatenate([each.scores for each in known])
    weights = np.repeat(
        [each.size / each.scores.size for each in known],
        [each.scores.size for each in known],
    )
    order = np.argsort(scores, kind="stable")
    after = np.cumsum(weights[order])
    shares = after[-1] * np.arange(1, n_parts) / n_parts
    places = np.searchsorted(after - weights[order], shares)
    chosen = scores[order][places[places < scores.size]]
    return np.unique(chosen[chosen > scores.min()])  # no part before all scores


def cut(diagram: Diagram, splitters: FloatArray) -> list[Diagram]:
    """Cut a diagram into parts, one more than splitters; they share its arrays."""
    validation.check_ascending(splitters, "splitters")
    inner = np.searchsorted(diagram.scores, splitters).tolist()
    negatives, positives, scale = diagram.units
    return [
        trusted_diagram(
            diagram.scores[a:b],
            *canonical(Units(negatives[a:b], positives[a:b], scale)),
        )
        for a, b in pairwise([0, *inner, diagram.scores.size])
    ]


def summarise(part: Diagram, *, scale: int = 0, increasing: bool = True) -> Summary:
    """Summarise a part, in units of 2**-scale, by a few hundred numbers."""
    first, last = part.scores[[0, -1]].tolist() if part.scores.size else NO_ENDS
    zeros, ones = _masses(part, scale, increasing=increasing)
    corners = _kernel.inner_corners(zeros, ones)
    return Summary(increasing, scale, first, last, corners, content_of(part, scale))


def context(summaries: Sequence[Summary], part: int) -> Context:
    """Tell one part what it must know of the others, from all summaries in order.

    Contexts of all parts are many times as large as the summaries, so that a worker
    makes its own.
    """
    plan = _Plan(summaries)
    left = _corners([plan.origin, *plan.points[:part]])
    return plan.context(part, left, _corners(plan.points[part + 1 :]))


def contexts(summaries: Sequence[Summary]) -> list[Context]:
    """Tell each part what it must know of the others, in the time of one sweep."""
    plan = _Plan(summaries)
    lefts = accumulate(plan.points[:-1], _joint_corners, initial=plan.origin)
    rights = accumulate(plan.points[:0:-1], _joint_corners_mirrored, initial=NO_POINTS)
    sides = zip(lefts, reversed(list(rights)), strict=True)
    return [plan.context(part, *both) for part, both in enumerate(sides)]


def piece(part: Diagram, context: Context) -> Piece:
    """Fit the piece of the rule that a part answers for.

    `ChangedInput` if the part is not the one that was summarised.
    """
    if content_of(part, context.scale) != context.content:
        msg = (
            f"rows must stay the same while a rule is fitted to them; those of part "
            f"{context.part} changed after they were summarised. Save or persist the "
            "rows before fitting."
        )
        raise ChangedInput(msg)
    ordered, below = _percentiles(part, context)
    owned = part.scores.size - context.drop_last
    thresholds, bounds = np.empty(0), np.empty((0, 2))
    if owned:
        masses = _masses(part, context.scale, increasing=context.increasing)
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
            context.increasing,
            1 << context.scale,
        )
    # Copies, without room to grow.
    return Piece(context.part, thresholds.copy(), bounds.copy(), ordered, below)


def join(pieces: Iterable[Piece], summaries: Sequence[Summary]) -> Rule:
    """Put the pieces of all parts, in any order, together to the rule of the whole."""
    known = sorted(pieces, key=lambda each: each.part)
    if [each.part for each in known] != list(range(len(summaries))):
        msg = (
            f"each of the {len(summaries)} parts must give one piece of the rule; got "
            f"pieces of parts {[each.part for each in known]}."
        )
        raise InvalidParameter(msg)
    content = _checked_content(summaries)
    thresholds = np.concatenate([each.thresholds for each in known])
    answering = [each.bounds for each in known if each.bounds.size]
    bounds = np.concatenate([answering[0][:1], *(each[1:] for each in answering)])
    # A piece may change just above its last score, and the next one at that same
    # double: the later value wins.
    superseded = np.flatnonzero(thresholds[1:] == thresholds[:-1])
    lower, upper = np.delete(bounds, superseded + 1, axis=0).T
    ordered = np.concatenate([each.ordered for each in known])
    below = np.concatenate([each.below for each in known])
    total, scale = content.n_negatives + content.n_positives, summaries[0].scale
    places = _ranks(total, scale).searchsorted(percentile_ranks(total))
    return Rule(
        _kernel.Table(
            np.delete(thresholds, superseded),
            np.ascontiguousarray(lower),
            np.ascontiguousarray(upper),
            ordered[places],
        ),
        n_observations=total / 2**scale if scale else total,
        n_positives=content.n_positives / 2**scale if scale else content.n_positives,
        increasing=summaries[0].increasing,
        # How far weights that are no numbers of rows scatter is not known.
        cells=None if scale else _cells(ordered, below, (total, content.n_positives)),
    )


def fit_rule_from_parts(
    parts: Callable[[], Iterable[Diagram]], *, scale: int = 0, increasing: bool = True
) -> Rule:
    """Fit a rule to parts that do not fit into memory together; the bits of their sum.

    `parts` is called twice, and gives the parts in ascending order of their scores each
    time; only one is held at a time. All were counted in units of 2**-scale.

    >>> from abers import Diagram, fit_rule_from_diagram
    >>> low = Diagram.from_observations([1, 2], [0, 1])
    >>> high = Diagram.from_observations([2, 3], [0, 1])
    >>> rule = fit_rule_from_parts(lambda: iter([low, high]))
    >>> rule == fit_rule_from_diagram(low + high)
    True
    """
    summaries = [
        summarise(part, scale=scale, increasing=increasing) for part in parts()
    ]
    each = zip(parts(), contexts(summaries), strict=True)
    return join([piece(part, known) for part, known in each], summaries)


class _Plan:
    """All points that matter to somebody, part by part."""

    origin = np.zeros((1, 2), np.int64)

    def __init__(self, summaries: Sequence[Summary]) -> None:
        self._summaries = summaries
        self._content = _checked_content(summaries)
        _check_order(summaries)
        steps = [np.zeros(2, np.int64), *(each.total for each in summaries)]
        self._starts = np.cumsum(steps, axis=0)  # and the end of the last
        self._drops = _shared_with_the_next(summaries)
        # If the next part starts with the last score, the point between is none.
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
        """Return what a part must know, given the corners on both sides of it."""
        summary = self._summaries[part]
        return Context(
            part,
            summary.increasing,
            summary.scale,
            left,
            right,
            carry=self._starts[part] - left[-1],
            drop_last=self._drops[part],
            content=summary.content,
            n_observations=self._content.n_negatives + self._content.n_positives,
        )


def _shared_with_the_next(summaries: Sequence[Summary]) -> list[bool]:
    """Tell of each part whether its last score is the first of the next with rows."""
    drops, next_score = [], np.nan
    for summary in reversed(summaries):
        drops.append(summary.last_score == next_score)
        if not summary.is_empty:
            next_score = summary.first_score
    return drops[::-1]


def _corners(points: Sequence[IntArray]) -> IntArray:
    return _kernel.minorant(np.concatenate([NO_POINTS, *points]))


def _joint_corners(seen: IntArray, points: IntArray) -> IntArray:
    return _corners([seen, points])


def _joint_corners_mirrored(seen: IntArray, points: IntArray) -> IntArray:
    return _corners([points, seen])


def _step(content: Content, *, increasing: bool) -> IntArray:
    both = [content.n_negatives, content.n_positives]
    return np.array(both if increasing else both[::-1], dtype=np.int64)


def _units(part: Diagram, scale: int) -> Units:
    """Return the units of a part at the scale of all parts."""
    if part.scale > scale:
        msg = (
            f"parts must be counted in units of 2**-{scale}, as all others are; got "
            f"one with a scale of {part.scale}."
        )
        raise InvalidWeights(msg)
    return rescaled(part.units, scale)


def _masses(part: Diagram, scale: int, *, increasing: bool) -> list[IntArray]:
    """Return zeros and ones at each score; exchanged if the probability falls."""
    negatives, positives, _ = _units(part, scale)
    return [negatives, positives] if increasing else [positives, negatives]


def _ranks(total: int, scale: int) -> IntArray:
    """Return ranks of the percentiles and, if rows are counted, of all cuts."""
    return percentile_ranks(total) if scale else cut_ranks(total)


def _percentiles(part: Diagram, context: Context) -> tuple[FloatArray, IntArray]:
    """Return percentiles and cuts of the whole in a part, and what is below."""
    order = slice(None, None, 1 if context.increasing else -1)
    start = context.left[-1][order]  # below the first score: (negatives, positives)
    before = start + context.carry[order]  # the part
    content = context.content
    ranks = _ranks(context.n_observations, context.scale) - before.sum()
    here = ranks[(ranks > 0) & (ranks <= content.n_negatives + content.n_positives)]
    negatives, positives, _ = _units(part, context.scale)
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


def _checked_content(summaries: Sequence[Summary]) -> Content:
    """Return the content of the whole, if a rule can be fitted to it."""
    content = sum((each.content for each in summaries), start=Content())
    total = content.n_negatives + content.n_positives
    if not total:
        msg = "parts must hold at least one observation; got none."
        raise InvalidScores(msg)
    if len({each.scale for each in summaries}) > 1:
        msg = "parts must all be summarised at one scale."
        raise InvalidWeights(msg)
    if total + 2 ** summaries[0].scale > LARGEST_EXACT_INTEGER:
        msg = f"weights must add up to less than 2**53; those of the parts to {total}."
        raise InvalidWeights(msg)
    if len({each.increasing for each in summaries}) > 1:
        msg = (
            "parts must all be summarised as rising with the score, or all as falling."
        )
        raise InvalidScores(msg)
    return content


def _check_order(summaries: Sequence[Summary]) -> None:
    known = [
        (part, each) for part, each in enumerate(summaries, 1) if not each.is_empty
    ]
    for (part, before), (_, after) in pairwise(known):
        if after.first_score < before.last_score:
            msg = (
                "parts must come in ascending order of their scores; got a part that "
                f"starts at {after.first_score!r} after part {part}, which ends at "
                f"{before.last_score!r}."
            )
            raise InvalidScores(msg)
