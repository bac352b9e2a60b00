"""Strip: where the data are, drawn below the curve in the same axes.

One pair of axes can stand anywhere, also in a grid of the user's; two that belong
together could not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers.plots.score_axis import LARGEST
from abers.plots.thinning import stairs

if TYPE_CHECKING:
    from typing import Any

    from matplotlib.axes import Axes
    from matplotlib.patches import Polygon

    from abers.evaluation.reliability import ReliabilityCurve
    from abers.plots.score_axis import ScoreAxis
    from abers.plots.style import Theme
    from abers.validation import FloatArray

BINS = 40
DRAWS = 4_000  # scores that stand for all
TOP, BOTTOM = -0.05, -0.21  # of the strip, where the curve has 0 to 1


def ticks_to(limit: float, most: int) -> dict[str, Any]:
    """Return ticks from 0 to limit, without needless zeros."""
    from matplotlib.ticker import MaxNLocator

    ticks = np.asarray(MaxNLocator(most).tick_values(0, limit))
    ticks = ticks[(ticks >= 0) & (ticks <= 1.001 * limit)]
    return {"ticks": ticks, "labels": [f"{tick:.6g}" for tick in ticks]}


def reserve(
    ax: Axes, look: Theme, label: str, *, limit: float = 1.0, most: int = 5
) -> None:
    """Set limits and ticks of y: 0 to limit for the curve, the rest for the strip."""
    ax.set_ylim(BOTTOM * limit, 1.03 * limit)
    ax.set_yticks(**ticks_to(limit, most))
    middle = (TOP + BOTTOM) / 2 * limit
    ax.set_yticks([middle], labels=[label], minor=True)
    ax.tick_params(axis="y", which="minor", length=0, labelcolor=look.soft)
    ax.spines["left"].set_bounds(0, limit)


def histogram(
    ax: Axes,
    colour: str,
    curve: ReliabilityCurve,
    heights: FloatArray | None = None,
    *,
    limit: float = 1.0,
    span: tuple[float, float] = (BOTTOM, TOP),
    bins: int = BINS,
) -> Polygon:
    """Draw how often what was predicted; the fullest bin fills the height.

    Heights may be given, for bins of equal width from 0 to 1; else the weights of the
    curve are counted.
    """
    edges = np.linspace(0.0, 1.0, 2 if heights is None else heights.size + 1)
    if heights is None or (limit < 1 and _counts(curve, edges, heights)):
        half = limit / bins / 2  # bins have round numbers in their middle
        heights, edges = np.histogram(
            curve.probabilities, bins + 1, (-half, limit + half), weights=curve.weights
        )
    elif limit < 1:  # bins from 0 to 1 would be too wide
        fine = np.linspace(0.0, limit, bins + 1)
        heights, edges = np.diff(_below(fine, curve, edges, heights)), fine
    return bars(ax, colour, edges, heights, limit=limit, span=span)


def score_histogram(
    ax: Axes, colour: str, axis: ScoreAxis, quantiles: FloatArray, *, limit: float = 1.0
) -> Polygon:
    """Draw where scores are, by their percentiles; infinite ones have bars apart."""
    from_to, levels = (
        np.linspace(0, 1, quantiles.size),
        (np.arange(DRAWS) + 0.5) / DRAWS,
    )
    finite = np.clip(quantiles, -LARGEST, LARGEST)
    drawn = np.interp(levels, from_to, finite)  # as many scores, spread as these are
    heights, edges = np.histogram(drawn, BINS, (axis.low, axis.high))
    width = (edges[1] - edges[0]) / 2 * np.array([-1, 1])
    at_minus, at_plus = (DRAWS * (quantiles == end).mean() for end in (-np.inf, np.inf))
    if axis.minus:
        edges = np.append(axis.lanes[0] + width, edges)
        heights = np.append([at_minus, 0], heights)
    if axis.plus:
        edges = np.append(edges, axis.lanes[1] + width)
        heights = np.append(heights, [0, at_plus])
    return bars(ax, colour, edges, heights, limit=limit)


def bars(
    ax: Axes,
    colour: str,
    edges: FloatArray,
    heights: FloatArray,
    *,
    limit: float = 1.0,
    span: tuple[float, float] = (BOTTOM, TOP),
) -> Polygon:
    """Draw bars side by side; the highest fills the strip."""
    floor, ceiling = span[0] * limit, span[1] * limit
    x, y = stairs(edges, floor + (ceiling - floor) * heights / (heights.max() or 1))
    x, y = x[[0, *range(x.size), -1]], np.concatenate(([floor], y, [floor]))
    return ax.fill(x, y, color=colour, linewidth=0)[0]


def _counts(curve: ReliabilityCurve, edges: FloatArray, heights: FloatArray) -> bool:
    """Tell whether weights of a curve are those of its points, none being left out."""
    counted, _ = np.histogram(curve.probabilities, edges, weights=curve.weights)
    shares = counted / counted.sum(), heights / heights.sum()
    return bool(np.allclose(*shares, rtol=0, atol=1e-9))


def _below(
    at: FloatArray, curve: ReliabilityCurve, edges: FloatArray, heights: FloatArray
) -> FloatArray:
    """Return shares of the rows; known at points of a thinned curve and at edges."""
    x = np.concatenate((edges, curve.probabilities))
    below = np.concatenate(
        ([0.0], np.cumsum(heights) / heights.sum(), np.cumsum(curve.weights))
    )
    below[edges.size :] /= below[-1]
    order = np.lexsort((below, x))
    return np.interp(at, x[order], np.maximum.accumulate(below[order]))
