"""Counts: predictions and labels, sorted and counted once.

A diagram of predictions has the labels by what was predicted for them. All metrics and
curves are made of it, so that one sort serves them all; neighbouring predictions may
be put together in cells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers import validation
from abers.core.diagram import Diagram
from abers.core.merging import MINIMAX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from abers.core.rule import Rule
    from abers.core.rule_set import Group
    from abers.evaluation.predictor import Answers
    from abers.validation import FloatArray, IntArray

MOST_CELLS = 500


def diagram_of(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None = None
) -> Diagram:
    """Count labels by prediction, after checking that predictions are probabilities."""
    values = validation.as_probabilities(p)
    weights = sample_weight
    if weights is not None:
        weights = validation.as_relative_weights(weights, values.size)
    return Diagram.from_observations(values, y, sample_weight=weights)


def scatter_of(
    diagram: Diagram,
    p: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    among: NDArray[np.bool_] | None = None,
) -> FloatArray | None:
    """Add up the squared shares of the rows, or of some of them, at each prediction.

    A mean over weighted rows scatters as the squares of their shares of the total
    weight: a row of weight 3 is one row, not three, when it comes to noise.
    """
    if sample_weight is None:
        return None
    values = validation.as_scores(p)
    weights = validation.as_relative_weights(sample_weight, values.size)
    places = np.searchsorted(diagram.scores, values)
    # A row whose weight vanishes beside the others may have a prediction of its own.
    kept = np.append(diagram.scores, np.nan)[places] == values
    square = (weights[kept] / diagram.n_observations) ** 2
    if among is not None:
        square *= among[kept]
    size = diagram.scores.size
    return np.bincount(places[kept], square, minlength=size).astype(np.float64)


def ones_scatter_of(
    diagram: Diagram, y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None
) -> FloatArray | None:
    """Return the scatter of the rows labelled 1; None if all rows weigh the same."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    used = weights[weights > 0]
    if (used == used[0]).all():
        return None
    return scatter_of(diagram, p, weights, among=np.equal(y, 1))


def effective_rows(weights: FloatArray) -> float:
    """Return how many rows of equal weight would scatter as much.

    >>> effective_rows(np.array([1.0, 3.0]))  # 4² / (1² + 3²)
    1.6
    """
    return float(weights.sum() ** 2 / (weights**2).sum())


def cell_starts(weights: IntArray | FloatArray, most: int = MOST_CELLS) -> IntArray:
    """Cut a column into cells of about equal weight; return where each begins.

    Parameters
    ----------
    weights : ndarray
        None of them 0.
    most : int, default=500
        The most cells.

    Examples
    --------
    >>> from abers.evaluation.counts import cell_starts
    >>> cell_starts(np.array([1, 1, 2, 4]), 2)  # 4 and 4
    array([0, 3])
    """
    total = np.cumsum(weights)
    before = total - weights
    # Products, not quotients: equal shares are then equal numbers.
    start = np.unique(np.searchsorted(before * most, np.arange(most) * total[-1]))
    return start[start < before.size]


class PredictionCells(NamedTuple):
    """Neighbouring predictions put together."""

    weights: FloatArray  # shares of the total
    means: FloatArray  # of the predictions
    rows: FloatArray  # effective numbers of rows, rounded


def cells_of(
    diagram: Diagram, start: IntArray, *, scatter: FloatArray | None = None
) -> PredictionCells:
    """Put runs of predictions into cells.

    Examples
    --------
    >>> from abers.evaluation import counts
    >>> diagram = counts.diagram_of([0, 1, 0, 1], [0.25, 0.5, 0.75, 0.75])
    >>> cells = counts.cells_of(diagram, [0, 2])
    >>> cells.weights, cells.means, cells.rows
    (array([0.5, 0.5]), array([0.375, 0.75 ]), array([2., 2.]))
    """
    counts = diagram.counts
    total = counts.sum()
    share = counts / total
    weights = np.add.reduceat(share, start)
    means = np.add.reduceat(share * diagram.scores, start) / weights
    squares = share / total if scatter is None else scatter
    return PredictionCells(
        weights,
        np.clip(means, 0.0, 1.0),  # rounding may leave them by an ulp
        np.maximum(1, (weights**2 / np.add.reduceat(squares, start)).round()),
    )


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


class CountedBounds(NamedTuple):
    """Pairs of bounds, and how much each counts; None: all the same."""

    bounds: FloatArray
    weights: IntArray | FloatArray | None


class Counts(NamedTuple):
    """All that the numbers of an evaluation are made of."""

    after: Counted
    before: Counted | None
    pairs: Pairs | None
    scores: Diagram | None
    bounds: CountedBounds | None


def count_scores(rule: Rule, answers: Answers, loss: str) -> Counts:
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
        bounds=CountedBounds(np.stack((lower, upper), axis=1), counts),
    )


def count_rows(answers: Answers, weights: FloatArray | None) -> Counts:
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
    bounds = answers.bounds
    return Counts(
        after=_counted(y, p, weights),
        before=before_counted,
        pairs=None if before is None else _pairs(before, p, y, weights),
        scores=scores,
        bounds=None if bounds is None else CountedBounds(bounds, weights),
    )


def count_groups(
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
