"""Blocks: a rule from parts of the data, none of which sees the others.

Cut the calibration set into parts by score. Each part is summarised, in a few hundred
numbers; from all summaries each part's context is made; with its context each part
yields its piece of the rule; the pieces join to the rule of the whole, to the last
bit. The four functions are pure and know no engine: threads, files larger than memory
and clusters all call these.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from abers import _kernel
from abers.core.cells import Cells
from abers.core.diagram import percentile_ranks
from abers.core.rule import Rule
from abers.errors import InvalidScores, InvalidWeights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from abers.core.diagram import Diagram
    from abers.validation import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What the other parts must know of a part.

    Points and steps are pairs (observations labelled 0, observations labelled 1). The
    ends of a part are told apart from its inside because a neighbour may hold the
    same score, and then the step at that score is shared.
    """

    first_score: float
    last_score: float
    last: IntArray  # step at the last score
    total: IntArray  # step over the whole part
    corners: IntArray  # of the points between first and last score, from the start


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What a part must know of the others."""

    left: IntArray  # corners of all points up to the part's start, ending there
    right: IntArray  # corners of all points after the part's end
    carry: IntArray  # step at the part's first score in the parts before
    drop_last: bool  # whether a later part holds the last score, and answers for it


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A rule for the scores of one part; the first values hold below all of them."""

    thresholds: FloatArray
    bounds: FloatArray  # (lower, upper) of each piece, one more than thresholds


def summarise(part: Diagram, *, increasing: bool = True) -> Summary | None:
    """Summarise a part, of integer counts, by a few hundred numbers; None if empty."""
    if not part.is_exact:
        msg = (
            "parts must have integer weights, because sums of real ones depend on "
            "their order; fit a diagram of the whole instead."
        )
        raise InvalidWeights(msg)
    if not part.scores.size:
        return None
    steps = _steps(part, increasing=increasing)
    return Summary(  # copies: a view would keep all of the part in memory
        first_score=float(part.scores[0]),
        last_score=float(part.scores[-1]),
        last=steps[-1].copy(),
        total=steps.sum(axis=0),
        corners=_kernel.minorant(np.cumsum(steps, axis=0)[:-1]).copy(),
    )


def contexts(summaries: Sequence[Summary | None]) -> list[Context | None]:
    """Tell each part what it must know of the others; they ascend, None is empty."""
    known = [summary for summary in summaries if summary is not None]
    _check_order(known)
    offsets = np.cumsum([np.zeros(2, np.int64), *(s.total for s in known)], axis=0)
    starts = [s.first_score for s in known[1:]]
    drops = [s.last_score == n for s, n in zip(known, [*starts, None], strict=True)]
    lefts = _seen_from_the_left(known, offsets)
    rights = _seen_from_the_right(known, offsets, drops)
    made = iter(
        Context(left, right, offset - left[-1], drop_last)
        for left, right, offset, drop_last in zip(
            lefts, rights, offsets[:-1], drops, strict=True
        )
    )
    return [None if summary is None else next(made) for summary in summaries]


def piece(
    part: Diagram, context: Context | None, *, increasing: bool = True
) -> Piece | None:
    """Fit the piece of the rule that a part answers for, rising or falling as before.

    None if the part is empty, or its one score is a later part's.
    """
    if context is None:
        return None
    owned = part.scores.size - context.drop_last
    if not owned:
        return None
    steps = _steps(part, increasing=increasing)[:owned]
    steps[0] += context.carry
    fitted = _kernel.fit_part(
        np.ascontiguousarray(part.scores[:owned]),
        np.ascontiguousarray(steps[:, 0]),
        np.ascontiguousarray(steps[:, 1]),
        context.left,
        context.right,
        increasing,
    )
    return Piece(*(array.copy() for array in fitted))  # without room to grow


def join(pieces: Iterable[Piece | None]) -> Piece:
    """Put pieces, in ascending order, together to the piece of the whole."""
    known = [p for p in pieces if p is not None]
    thresholds = np.concatenate([p.thresholds for p in known])
    bounds = np.concatenate([known[0].bounds[:1], *(p.bounds[1:] for p in known)])
    # A piece may change just above its last score, and the next one at that same
    # double: the later value wins.
    superseded = np.flatnonzero(thresholds[1:] == thresholds[:-1])
    return Piece(
        np.delete(thresholds, superseded), np.delete(bounds, superseded + 1, axis=0)
    )


class RankedScores:
    """Percentiles, and the rows between them, of parts that come in ascending order."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._ranks = percentile_ranks(total)
        self._scores: list[FloatArray] = []
        self._below: list[IntArray] = []  # rows and positives below each percentile
        self._seen = np.zeros(2, np.int64)  # rows and positives
        self._last = np.nan  # score
        self._below_last = self._seen

    def add(self, part: Diagram) -> None:
        """Look for percentiles in the next part."""
        if not part.scores.size:
            return
        steps = np.stack((part.counts, part.positives), axis=1)
        after = self._seen + np.cumsum(steps, axis=0)
        below = after - steps
        if part.scores[0] == self._last:  # the part before holds this score, too
            below[0] = self._below_last
        rows = after[:, 0]
        here = self._ranks[(self._ranks > self._seen[0]) & (self._ranks <= rows[-1])]
        places = np.searchsorted(rows, here)
        self._scores.append(part.scores[places])
        self._below.append(below[places])
        self._seen, self._last, self._below_last = after[-1], part.scores[-1], below[-1]

    @property
    def quantiles(self) -> FloatArray:
        """The 101 percentiles."""
        return np.concatenate(self._scores)

    def cells(self, n_positives: int) -> Cells:
        """Return the rows and positives between the distinct inner percentiles."""
        _, first = np.unique(self.quantiles[1:-1], return_index=True)
        below = np.concatenate(self._below)[1:-1][first]
        ends = (self._total, n_positives)
        counts, ones = (
            np.diff(column, prepend=0, append=end)
            for column, end in zip(below.T, ends, strict=True)
        )
        return Cells(counts, ones)


def fit_rule_from_parts(
    parts: Callable[[], Iterable[Diagram]], *, increasing: bool = True
) -> Rule:
    """Fit a rule to parts that do not fit into memory together; the bits of their sum.

    `parts` is called twice, and gives the parts in ascending order of their scores each
    time; only one is held at a time.

    >>> from abers import Diagram, fit_rule_from_diagram
    >>> low = Diagram.from_observations([1, 2], [0, 1])
    >>> high = Diagram.from_observations([2, 3], [0, 1])
    >>> rule = fit_rule_from_parts(lambda: iter([low, high]))
    >>> rule == fit_rule_from_diagram(low + high)
    True
    """
    summaries = [summarise(part, increasing=increasing) for part in parts()]
    known = [s for s in summaries if s is not None]
    if not known:
        msg = "parts must hold at least one observation; got none."
        raise InvalidScores(msg)
    n_zeros, n_ones = np.sum([s.total for s in known], axis=0).tolist()
    total = n_zeros + n_ones
    pieces, ranked = [], RankedScores(total)
    for part, context in zip(parts(), contexts(summaries), strict=True):
        pieces.append(piece(part, context, increasing=increasing))
        ranked.add(part)
    whole = join(pieces)
    n_positives = n_ones if increasing else n_zeros
    return Rule(
        _kernel.Table(
            whole.thresholds,
            np.ascontiguousarray(whole.bounds[:, 0]),
            np.ascontiguousarray(whole.bounds[:, 1]),
            ranked.quantiles,
        ),
        n_observations=total,
        n_positives=n_positives,
        increasing=increasing,
        cells=ranked.cells(n_positives),
    )


def _steps(part: Diagram, *, increasing: bool) -> IntArray:
    """Return (zeros, ones) at each score; exchanged if the probability falls."""
    masses = (part.negatives, part.positives)
    return np.stack(masses if increasing else masses[::-1], axis=1).astype(np.int64)


def _check_order(summaries: Sequence[Summary]) -> None:
    for i, (before, after) in enumerate(pairwise(summaries), start=1):
        if after.first_score < before.last_score:
            msg = (
                "parts must come in ascending order of their scores; got a part that "
                f"starts at {after.first_score!r} after part {i}, which ends at "
                f"{before.last_score!r}."
            )
            raise InvalidScores(msg)


def _seen_from_the_left(
    summaries: Sequence[Summary], offsets: IntArray
) -> list[IntArray]:
    """Corners of all points up to the start of each part, its start being the last.

    A part starts where its first score does: if the part before ends with the same
    score, that is before this score, and the point between the parts is none.
    """
    seen = np.zeros((0, 2), np.int64)
    lefts = []
    last_score = None
    for summary, offset in zip(summaries, offsets[:-1], strict=True):
        if summary.first_score != last_score:
            seen = _kernel.minorant(np.concatenate((seen, offset[np.newaxis])))
        lefts.append(seen)
        seen = _kernel.minorant(np.concatenate((seen, offset + summary.corners)))
        last_score = summary.last_score
    return lefts


def _seen_from_the_right(
    summaries: Sequence[Summary], offsets: IntArray, drops: Sequence[bool]
) -> list[IntArray]:
    """Corners of all points after the end of each part."""
    seen = np.zeros((0, 2), np.int64)
    rights: list[IntArray] = []
    for i in reversed(range(len(summaries))):
        rights.append(seen)
        inside = offsets[i] + summaries[i].corners
        end = offsets[i + 1 : i + 2] if not drops[i] else seen[:0]
        seen = _kernel.minorant(np.concatenate((inside, end, seen)))
    return rights[::-1]
