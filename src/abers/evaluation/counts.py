"""Counts: predictions and labels, sorted and counted once.

The diagram of a column has the number of rows and of ones at each distinct prediction.
All metrics and curves are computed from it, so that one sort serves them all.
Neighbouring predictions may be put together in cells.
"""

from __future__ import annotations

from collections.abc import Sized
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers import validation
from abers.core.diagram import Diagram
from abers.core.effective_sizes import effective_size_of_sums
from abers.errors import InvalidData
from abers.thresholds import ECE_BINS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.core.predictions import Predictions
    from abers.validation import FloatArray, IntArray

MOST_CELLS = 500


def length_of(values: Any, name: str = "y") -> int:
    """Return the number of rows of a column."""
    if not isinstance(values, Sized):
        msg = f"{name} must have a value for each row; got {shortened(values)}."
        raise InvalidData(msg)
    return len(values)


def positive_weights(
    sample_weight: ArrayLike | None, n_rows: int
) -> tuple[FloatArray | None, NDArray[np.bool_] | None]:
    """Return the positive weights, and a mask of their rows.

    The weights are None if all of them are 1; the mask is None if it has all rows.
    """
    if sample_weight is None:
        return None, None
    weights = validation.as_relative_weights(sample_weight, n_rows)
    has_weight = weights > 0
    kept = weights[has_weight]
    return None if (kept == 1).all() else kept, (
        None if has_weight.all() else has_weight
    )


def with_weight(
    predictions: Predictions, sample_weight: ArrayLike | None
) -> tuple[Predictions, FloatArray | None, NDArray[np.bool_] | None]:
    """Return the rows with positive weight, and what `positive_weights` gives."""
    weights, kept = positive_weights(sample_weight, predictions.n_rows)
    return predictions if kept is None else predictions.taken(kept), weights, kept


def bin_of(p: FloatArray, bins: int = ECE_BINS) -> IntArray:
    """Return the equal-width bin of each prediction; 1 is in the last bin."""
    return np.minimum((p * bins).astype(np.int64), bins - 1)


def diagram_of(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None = None
) -> Diagram:
    """Count labels by prediction, after checking that predictions are probabilities."""
    values = validation.as_probabilities(p)
    weights = sample_weight
    if weights is not None:
        weights = validation.as_relative_weights(weights, values.size)
    return Diagram.from_rows(values, y, sample_weight=weights)


def scatter_of(
    diagram: Diagram,
    p: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    among: NDArray[np.bool_] | None = None,
) -> FloatArray | None:
    """Sum the squared shares of the rows, or of some of them, at each prediction.

    The variance of a weighted mean depends on the squared shares of the total weight: a
    row of weight 3 is one row, not three, when it comes to noise.
    """
    if sample_weight is None:
        return None
    values = validation.as_scores(p)
    weights = validation.as_relative_weights(sample_weight, values.size)
    places = np.searchsorted(diagram.scores, values)
    # A row of negligible weight may have a prediction that no other row has.
    kept = np.append(diagram.scores, np.nan)[places] == values
    square = (weights[kept] / diagram.n_rows) ** 2
    if among is not None:
        square *= among[kept]
    size = diagram.scores.size
    return np.bincount(places[kept], square, minlength=size).astype(np.float64)


def ones_scatter_of(
    diagram: Diagram, y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None
) -> FloatArray | None:
    """Return the scatter of the rows labelled 1; None if all weights are equal."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    used = weights[weights > 0]
    if (used == used[0]).all():
        return None
    return scatter_of(diagram, p, weights, among=np.equal(y, 1))


def cell_starts(weights: IntArray | FloatArray, most: int = MOST_CELLS) -> IntArray:
    """Cut a column into cells of about equal weight; return where each begins.

    Parameters
    ----------
    weights : ndarray
        None of them 0.
    most : int, default=500
        Largest number of cells.

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
    """Combine runs of predictions into cells.

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
        np.maximum(
            1, effective_size_of_sums(weights, np.add.reduceat(squares, start)).round()
        ),
    )


class Counted(NamedTuple):
    """A column, sorted and counted."""

    diagram: Diagram
    scatter: FloatArray | None = None  # of the weights; None if rows have none
    # Of the rows labelled 1; None if all weights are equal.
    ones_scatter: FloatArray | None = None


def counted(
    labels: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None = None
) -> Counted:
    """Sort and count the probabilities and labels of a column."""
    diagram = diagram_of(labels, p, sample_weight)
    return _with_scatter(diagram, labels, p, sample_weight)


def _with_scatter(
    diagram: Diagram, labels: ArrayLike, column: ArrayLike, weights: ArrayLike | None
) -> Counted:
    return Counted(
        diagram,
        scatter_of(diagram, column, weights),
        ones_scatter_of(diagram, labels, column, weights),
    )


class Counts(NamedTuple):
    """The columns of an evaluation, each counted once."""

    after: Counted
    before: Counted | None
    scores: Counted | None


def count_columns(predictions: Predictions, weights: FloatArray | None) -> Counts:
    """Count the column that is shown, after and before calibration, and its scores."""
    scores, earlier, by_score = predictions.column_scores(), predictions.earlier, None
    if scores is not None and predictions.shown is not None:
        labels = predictions.column().labels
        diagram = Diagram.from_rows(scores, labels, sample_weight=weights)
        by_score = _with_scatter(diagram, labels, scores, weights)
    return Counts(
        after=counted(*predictions.column(), weights),
        before=None if earlier is None else counted(*earlier.column(), weights),
        scores=by_score,
    )
