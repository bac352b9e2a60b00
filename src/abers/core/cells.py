"""Cells: the labels that a rule keeps, counted between cuts of the score."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.core.diagram import PERCENTS, percentile_ranks, places_of
from abers.core.fitted import SUM_TOLERANCE, is_ascending, stored
from abers.core.units import order_free_sums, shown
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.core.diagram import Classes, Diagram
    from abers.core.fitted import Arrays, Facts
    from abers.validation import FloatArray, IntArray

LEAST_OUTER_ROWS = 20  # of the outermost cell
# With more rows, a drift of the scores within a cell becomes visible: beyond 10**6 rows
# the percentiles are subdivided, too, up to ten times, so that a check stays fast.
ROWS_FOR_FINER_CELLS = 10**6
MOST_CELLS_OF_A_PERCENT = 10
MOST_CUTS = 1_500  # with 2**53 rows there are fewer
MOST_ROWS_ROOT = math.sqrt(LARGEST_EXACT_INTEGER)  # of as many effective rows
# How a rule stores its cells; all arrays are empty if it has none.
ARRAYS = {
    "cell_counts": "fi",
    "cell_cuts": "f",
    "cell_positives": "fi",
    "cell_squares": "f",  # empty if rows are counted
}


def outer_ranks(total: int) -> IntArray:
    """Return the ranks, from 1, where cells begin besides the percentiles.

    The two outer cells hold scores that are far apart, so that a drift of the scores
    within them looks like a change of the labels. Each is cut into cells whose rows
    below (or above) the cut fall by factors of 2**(1/4), down to 20.

    >>> outer_ranks(2_500)  # 25 rows in the outer cells: 21 remain
    array([  22, 2480])
    """
    finer = math.isqrt(total // ROWS_FOR_FINER_CELLS)
    finer = min(max(1, finer), MOST_CELLS_OF_A_PERCENT)
    cells = 100 * finer
    inner = -(-np.arange(1, cells) * total // cells) if finer > 1 else PERCENTS[:0]
    largest = total / cells / LEAST_OUTER_ROWS
    steps = math.floor(4 * math.log2(largest)) if largest > 1 else 0
    sizes = total / cells * 2.0 ** (-np.arange(1, steps + 1) / 4)
    outer = np.maximum(np.floor(sizes), LEAST_OUTER_ROWS).astype(np.int64)
    return np.concatenate((inner, outer + 1, total + 1 - outer))


def cut_ranks(total: int) -> IntArray:
    """Return the ranks of the percentiles and of all cuts, from 1, ascending."""
    percentiles = percentile_ranks(total)
    if total <= 100 * LEAST_OUTER_ROWS:  # too few to cut the outer cells
        return percentiles
    return np.sort(np.concatenate((percentiles, outer_ranks(total))))


class Cells(NamedTuple):
    """Weight of the rows, and of the positives, in cells of the score.

    A rule keeps these hundred or so counts of its labels, so that recent rows can be
    compared with the calibration rows themselves, not only with what was fitted to
    them. The cuts depend on the scores alone: cells that depended on the labels would
    spoil the level of every test based on them.

    Each cell but the first begins at its cut. Row counts are int64, weights float64. If
    weights are not row counts, `squares` holds the sums of their squares; otherwise it
    is None.
    """

    cuts: FloatArray
    counts: NDArray[Any]
    positives: NDArray[Any]
    squares: FloatArray | None = None


def cell_cuts(ordered: ArrayLike) -> FloatArray:
    """Return where cells begin: distinct scores, without the first and the last.

    >>> cell_cuts(np.repeat([1.0, 2.0, 3.0], [50, 50, 1]))
    array([1., 2.])
    """
    inner = np.asarray(ordered, dtype=np.float64)[1:-1]
    # They ascend. `np.unique` would sort them again, and load `numpy.ma` to predict one
    # small table.
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
    """Count unsorted rows in cells; squares of extreme weights may overflow.

    >>> cells_of_rows(np.array([2.0]), np.array([1, 2, 2, 3]), np.array([0, 1, 0, 1]))
    Cells(cuts=array([2.]), counts=array([1, 3]), positives=array([0, 2]), squares=None)
    """
    cell, size = np.searchsorted(cuts, scores, side="right"), cuts.size + 1
    if weights is None:
        return Cells(
            cuts,
            np.bincount(cell, minlength=size),
            np.bincount(cell[labels == 1], minlength=size),
        )
    with np.errstate(over="ignore", under="ignore"):
        masses = (weights, weights * labels, weights**2)
        counts, ones, squares = (
            np.bincount(cell, mass, minlength=size).astype(np.float64)
            for mass in masses
        )
    return Cells(cuts, counts, ones, squares)


def cells_of_classes(cuts: FloatArray, classes: Classes) -> Cells:
    """Count rows in cells, given the sorted scores of each class."""
    zeros, ones = (_sizes(part.searchsorted(cuts), part.size) for part in classes)
    return Cells(cuts, zeros + ones, ones)


def cells_of_diagram(diagram: Diagram) -> Cells | None:
    """Count the rows of a diagram in cells; None if its weights are not row counts."""
    if not diagram.is_exact:
        return None  # the variance of such weights is unknown
    return _between(_cuts_of_rows(diagram), diagram)


def cells_of_weights(
    diagram: Diagram, scores: FloatArray, weights: FloatArray, n_rows: float | None
) -> Cells:
    """Count rows of rounded weights in cells, given their effective number.

    If `n_rows` is None, weights are row counts.
    """
    if n_rows is None:
        cuts = _cuts_of_rows(diagram)
    else:
        cuts = _cuts_of_weights(diagram, n_rows)
    counted = _between(cuts, diagram)
    cell = np.searchsorted(counted.cuts, scores, side="right")
    squares = order_free_sums(weights**2, cell, counted.counts.size)
    return counted._replace(squares=squares)


def _cuts_of_rows(diagram: Diagram) -> FloatArray:
    """Return where cells begin if weights are whole."""
    cumulated = np.cumsum(diagram.counts)
    ranks = cut_ranks(cumulated[-1].item())
    return cell_cuts(diagram.scores[places_of(cumulated, ranks)])


def _cuts_of_weights(diagram: Diagram, n_rows: float) -> FloatArray:
    """Return where cells begin if weights stand for this effective number of rows."""
    negatives, positives, _ = diagram.units
    rows, cumulated = math.ceil(n_rows), np.cumsum(negatives + positives)
    # Percentiles are computed in units, as `score_quantiles` does: a rounded share of
    # the total may fall on the next score.
    percentiles = places_of(cumulated, percentile_ranks(cumulated[-1]))
    outer = places_of(cumulated, outer_ranks(rows) / rows * cumulated[-1])
    return cell_cuts(diagram.scores[np.sort(np.concatenate((percentiles, outer)))])


def _between(cuts: FloatArray, diagram: Diagram) -> Cells:
    """Count what a diagram holds between cuts."""
    negatives, positives, scale = diagram.units
    place = np.searchsorted(diagram.scores, cuts)
    counts, ones = (
        shown(_sizes(below[place], below[-1]), scale)
        for below in (
            np.append(0, mass.cumsum()) for mass in (negatives + positives, positives)
        )
    )
    return Cells(cuts, counts, ones)


def _sizes(below: IntArray, total: int) -> IntArray:
    """Return what is in each cell, given what is below each cut."""
    edges = np.empty(below.size + 2, dtype=np.int64)
    edges[0], edges[1:-1], edges[-1] = 0, below, total
    return edges[1:] - edges[:-1]


def to_arrays(cells: Cells | None) -> Arrays:
    """Return cells as a rule stores them."""
    none = np.empty(0, np.int64)
    cuts, counts, positives, squares = cells or (np.empty(0), none, none, None)
    return {
        "cell_counts": stored(counts),
        "cell_cuts": stored(cuts),
        "cell_positives": stored(positives),
        "cell_squares": np.empty(0) if squares is None else stored(squares),
    }


def from_arrays(arrays: Arrays) -> Cells | None:
    """Return the cells of a rule, None if it has none."""
    counts, squares = arrays["cell_counts"], arrays["cell_squares"]
    if not counts.size:
        return None
    return Cells(
        arrays["cell_cuts"],
        counts,
        arrays["cell_positives"],
        squares if squares.size else None,
    )


def flaw_of(facts: Facts, arrays: Arrays) -> str | None:
    """Return why these cannot be the cells of a rule, or None."""
    cells = from_arrays(arrays)
    if cells is None:
        empty = all(arrays[name].size == 0 for name in ARRAYS)
        return None if empty else "its cells have no rows"
    cuts, counts, positives, squares = cells
    if not _are_cuts(cuts, arrays["score_quantiles"]):
        return "its cells are not cut at its score quantiles"
    whole = counts.dtype == np.int64
    if not (
        counts.size == positives.size == cuts.size + 1
        and counts.dtype == positives.dtype
        and (positives >= 0).all()
        and (positives <= counts).all()
        and (squares is not None or whole)
        and (squares is None or _are_squares(squares, counts))
    ):
        return "its cells do not count rows"
    sums = ((counts, "n_rows"), (positives, "n_positives"))
    for column, name in sums:
        total = column.sum(dtype=np.float64)
        if abs(total - facts[name]) > SUM_TOLERANCE * facts["n_rows"]:
            return "its cells do not add up to its rows"
    if whole and not _have_ranks(cells, arrays["score_quantiles"]):
        return "its cells do not have the rows of their percents"
    return None


def _are_cuts(cuts: FloatArray, quantiles: FloatArray) -> bool:
    """Return whether cells may begin here; some must begin at each percentile."""
    percents = cell_cuts(quantiles)
    return bool(
        percents.size <= cuts.size <= MOST_CUTS
        and is_ascending(cuts)
        and set(percents.tolist()) <= set(cuts.tolist())  # `isin` loads numpy.ma
        and (cuts >= quantiles[0]).all()
        and (cuts <= quantiles[-1]).all()
    )


def _are_squares(squares: FloatArray, counts: NDArray[Any]) -> bool:
    """Return whether these may be the sums of squares of weights with these sums."""
    if squares.size != counts.size or (squares < 0).any():
        return False
    roots = np.sqrt(squares)  # many squares of sums would overflow
    return bool(
        ((squares > 0) == (counts > 0)).all()
        and np.isfinite(squares).all()
        and (roots <= counts * (1 + SUM_TOLERANCE)).all()
        and (counts <= roots * MOST_ROWS_ROOT).all()
    )


def _have_ranks(cells: Cells, quantiles: FloatArray) -> bool:
    """Return whether each percentile has its rank among the counted rows."""
    total = int(cells.counts.sum())
    ranks = percentile_ranks(total)
    upto = np.cumsum(cells.counts)
    # The cell that holds the percentile; the percentile is its cut, unless it is the
    # least score.
    cell = np.searchsorted(cells.cuts, quantiles, side="right")
    below = np.append(0, upto)[cell]
    return bool((below < ranks).all() and (upto[cell] >= ranks).all())
