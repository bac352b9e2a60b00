"""Cells: how many calibration rows, and positives, lie between score percentiles.

At most a hundred numbers that a rule keeps of its labels. With them recent rows can be
compared with the calibration rows themselves, not only with what was fitted to them.
The cells are cut by scores alone: cells that depend on the labels would spoil the level
of every test by them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.core.diagram import Classes, Diagram
    from abers.validation import FloatArray, IntArray


class Cells(NamedTuple):
    """Weight of the rows, and of the positives, in each cell of the score.

    Numbers of rows are int64, weights float64. With weights that are no numbers of
    rows, `squares` are the sums of their squares; None otherwise.
    """

    counts: NDArray[Any]
    positives: NDArray[Any]
    squares: FloatArray | None = None


def cell_cuts(score_quantiles: ArrayLike) -> FloatArray:
    """Return where cells begin: the distinct percentiles, without the two ends.

    >>> cell_cuts(np.repeat([1.0, 2.0, 3.0], [50, 50, 1]))
    array([1., 2.])
    """
    inner = np.asarray(score_quantiles, dtype=np.float64)[1:-1]
    # They ascend; `np.unique` would sort them again.
    distinct = np.empty(inner.size, dtype=np.bool_)
    distinct[:1] = True
    np.not_equal(inner[1:], inner[:-1], out=distinct[1:])
    return inner[distinct]


def cells_of_rows(
    cuts: FloatArray,
    scores: FloatArray,
    labels: NDArray[Any],
    weights: FloatArray | None = None,
) -> Cells:
    """Count rows that are in no order; squares of extreme weights may overflow.

    >>> cells_of_rows(np.array([2.0]), np.array([1, 2, 2, 3]), np.array([0, 1, 0, 1]))
    Cells(counts=array([1, 3]), positives=array([0, 2]), squares=None)
    """
    cell, size = np.searchsorted(cuts, scores, side="right"), cuts.size + 1
    if weights is None:
        return Cells(
            np.bincount(cell, minlength=size),
            np.bincount(cell[labels == 1], minlength=size),
        )
    with np.errstate(over="ignore", under="ignore"):
        masses = (weights, weights * labels, weights**2)
        counts, ones, squares = (
            np.bincount(cell, mass, minlength=size).astype(np.float64)
            for mass in masses
        )
    return Cells(counts, ones, squares)


def cells_of_classes(cuts: FloatArray, classes: Classes) -> Cells:
    """Count rows that are sorted within each class."""
    zeros, ones = (_sizes(part.searchsorted(cuts), part.size) for part in classes)
    return Cells(zeros + ones, ones)


def cells_of_diagram(cuts: FloatArray, diagram: Diagram) -> Cells | None:
    """Count the rows of a diagram; None if its weights are no numbers of rows."""
    if not diagram.is_exact:
        return None  # how far such weights scatter is not known
    place = np.searchsorted(diagram.scores, cuts)
    below = (
        np.append(0, mass.cumsum()) for mass in (diagram.counts, diagram.positives)
    )
    counts, ones = (_sizes(mass[place], mass[-1]) for mass in below)
    return Cells(counts, ones)


def _sizes(below: IntArray, total: int) -> IntArray:
    """Return what is in each cell, of what is below its cuts; `np.diff` is slower."""
    edges = np.empty(below.size + 2, dtype=np.int64)
    edges[0], edges[1:-1], edges[-1] = 0, below, total
    return edges[1:] - edges[:-1]
