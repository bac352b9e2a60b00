"""Counts: predictions and labels, sorted and counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers import validation
from abers.core.diagram import Diagram
from abers.core.merging import MINIMAX
from abers.evaluation.metrics import (
    bound_widths,
    diagram_of,
    ones_scatter_of,
    scatter_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from abers.core.rule import Rule
    from abers.core.rule_set import Group
    from abers.evaluation.metrics import BoundWidths
    from abers.evaluation.predictor import Answers
    from abers.validation import FloatArray, IntArray


class Pairs(NamedTuple):
    """Probabilities before and after, side by side, with the rows that they are for."""

    before: FloatArray
    after: FloatArray
    negatives: IntArray | FloatArray  # weight of the rows labelled 0
    positives: IntArray | FloatArray
    scatter: tuple[FloatArray, FloatArray] | None  # of both; None if weights count rows


class Counted(NamedTuple):
    """The diagram of a column, and the scatter of its weights if it has any."""

    diagram: Diagram
    scatter: FloatArray | None
    # Of the rows labelled 1; None if all rows weigh the same.
    ones_scatter: FloatArray | None = None


class CountedGroup(NamedTuple):
    """The predictions of a group, counted as a whole column is."""

    name: Group | None  # None: rows without a group
    diagram: Diagram
    scatter: FloatArray | None


class Counts(NamedTuple):
    """All that the numbers of an evaluation are made of."""

    after: Counted
    before: Counted | None
    pairs: Pairs | None
    scores: Diagram | None
    widths: BoundWidths | None


def of_scores(rule: Rule, answers: Answers, loss: str) -> Counts:
    """Sort the scores; what a rule says of them follows, piece by piece."""
    scores = validation.as_scores(answers.scores)
    diagram = Diagram.from_observations(scores, answers.labels)
    first = np.append(0, np.searchsorted(diagram.scores, rule.thresholds))
    sizes = np.diff(first, append=diagram.scores.size)
    used = sizes > 0
    start, lower, upper = first[used], rule.lower[used], rule.upper[used]
    p = MINIMAX[loss](lower, upper)
    counts, ones = (
        np.add.reduceat(part, start) for part in (diagram.counts, diagram.positives)
    )
    before = pairs = None
    if answers.before is not None:
        before = Counted(diagram, None)
        said = np.repeat(p, sizes[used])
        weights = diagram.negatives, diagram.positives
        pairs = Pairs(diagram.scores, said, *weights, scatter=None)
    return Counts(
        after=Counted(Diagram.from_counts(p, counts, ones), None),
        before=before,
        pairs=pairs,
        scores=diagram,
        widths=bound_widths(np.stack((lower, upper), axis=1), sample_weight=counts),
    )


def of_rows(answers: Answers, weights: FloatArray | None) -> Counts:
    """Sort the probabilities, those before, and the scores if they are others."""
    if weights is not None:  # sorting again what is sorted takes no time
        column = answers.probabilities if answers.scores is None else answers.scores
        order = np.argsort(validation.as_scores(column))
        answers, weights = answers.taken(order), weights[order]
    y, before = answers.labels, answers.before
    p = validation.as_scores(answers.probabilities)
    before_counted = None if before is None else _counted(y, before, weights)
    scores = None
    if answers.scores is before and before_counted is not None:
        scores = before_counted.diagram
    elif answers.scores is not None:
        scores = Diagram.from_observations(answers.scores, y, sample_weight=weights)
    widths = None
    if answers.bounds is not None:
        widths = bound_widths(answers.bounds, sample_weight=weights)
    return Counts(
        after=_counted(y, p, weights),
        before=before_counted,
        pairs=None if before is None else _pairs(before, p, y, weights),
        scores=scores,
        widths=widths,
    )


def _counted(
    y: NDArray[np.bool_], p: FloatArray, weights: FloatArray | None
) -> Counted:
    diagram = diagram_of(y, p, weights)
    of_all = scatter_of(diagram, p, weights)
    return Counted(diagram, of_all, ones_scatter_of(diagram, y, p, weights))


def _pairs(
    before: FloatArray,
    after: FloatArray,
    y: NDArray[np.bool_],
    weights: FloatArray | None,
) -> Pairs:
    if weights is None:
        zeros, ones = (~y).astype(np.float64), y.astype(np.float64)
        return Pairs(before, after, zeros, ones, scatter=None)
    zeros, ones = np.where(y, 0.0, weights), np.where(y, weights, 0.0)
    total = weights.sum()
    scatter = (zeros / total) ** 2, (ones / total) ** 2
    return Pairs(before, after, zeros, ones, scatter)


def of_groups(
    wanted: Sequence[Group | None],
    names: Sequence[Group | None],
    answers: Answers,
    weights: FloatArray | None,
) -> tuple[CountedGroup, ...]:
    """Count the predictions of some groups; `names` has the group of each row."""
    code_of = {name: code for code, name in enumerate(wanted)}
    codes = np.fromiter((code_of.get(name, -1) for name in names), np.int64, len(names))
    p = validation.as_scores(answers.probabilities)
    counted = []
    for code, name in enumerate(wanted):
        rows = codes == code
        w = None if weights is None else weights[rows]
        column = _counted(answers.labels[rows], p[rows], w)
        counted.append(CountedGroup(name, column.diagram, column.scatter))
    return tuple(counted)
