"""Curves: the common part of reliability diagrams, and the strip below them.

The strip shows where the data are. It is in the axes of the curve, because a single
pair of axes can be placed anywhere, also in the user's own grid.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from abers.evaluation.reliability import consistency_of
from abers.plots import _style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D
    from matplotlib.patches import StepPatch

    from abers.core.diagram import Diagram
    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve
    from abers.plots._style import Theme
    from abers.validation import FloatArray

MARKED = 25  # points up to which each gets a marker
RARE = (1e-9, 0.4)  # if the highest is in this range, the axes are shortened
EDGE = 1.02  # times the limit: the end of the axes
PREDICTED = "predicted probability"
OBSERVED = "observed rate"
# The same for the top label, the most probable of several classes.
CONFIDENCE = "probability of the most probable class"
RIGHT = "share of rows of that class"

BINS = 40
TOP, BOTTOM = -0.05, -0.21  # of the strip, in units of the curve's height


def limit_of(
    curves: Sequence[ReliabilityCurve],
    histograms: Sequence[FloatArray | None] = (),
) -> float:
    """Return how far the axes must reach: to 1, or less if everything is rare.

    The highest frequencies come from few rows, and are often 1; up to a hundredth of
    the rows may lie above the axes, and a two-hundredth to the right. Histograms show
    these rows better than thinned curves do.
    """
    highest = 0.0
    for curve, heights in zip_longest(curves, histograms):
        below = np.cumsum(curve.weights)
        top, right = np.searchsorted(below, np.array([0.99, 0.995]) * below[-1])
        farthest = curve.probabilities[right]
        if heights is not None:
            below = np.cumsum(heights)
            full = int(np.searchsorted(below, 0.995 * below[-1]))
            farthest = min(farthest, (full + 1) / heights.size)
        at_most = np.searchsorted(curve.probabilities, farthest, side="right") - 1
        highest = max(highest, farthest, curve.frequencies[min(top, max(at_most, 0))])
    return limit_above(float(highest))


def predicted(curves: Sequence[ReliabilityCurve], limit: float) -> str:
    """Return the label of the axis, which mentions predictions beyond the axis."""
    cut = any(curve.probabilities[-1] > EDGE * limit for curve in curves)
    return f"{PREDICTED} (the highest lie beyond the edge)" if cut else PREDICTED


def limit_above(highest: float) -> float:
    """Return the end of an axis that shows this probability well."""
    return 1.1 * highest if RARE[0] < highest < RARE[1] else 1.0


def frame(ax: Axes, look: Theme, limit: float, *, most: int = 5) -> Line2D:
    """Set limits and ticks, and draw the diagonal."""
    ax.set_xlim(-0.02 * limit, EDGE * limit)
    ax.set_xticks(**ticks_to(limit, most))
    reserve(ax, look, "rows", limit=limit, most=most)
    (diagonal,) = ax.plot(
        [0, limit], [0, limit], color=look.soft, linewidth=1, linestyle=_style.DOTTED
    )
    return diagonal


def draw_curve(ax: Axes, colour: str, curve: ReliabilityCurve, **line: Any) -> Line2D:
    """Draw a reliability curve; if it has few points, each gets a marker."""
    x, y = curve.probabilities, curve.frequencies
    marker = "o" if x.size <= MARKED else ""
    look: Any = {"linewidth": 1.8, "marker": marker, "markersize": 4} | line
    return ax.plot(x, y, color=colour, **look)[0]


def draw_band(
    ax: Axes, look: Theme, band: ConsistencyBand, *, limit: float = 1.0
) -> PolyCollection:
    """Fill where the curve would lie if the probabilities were calibrated."""
    x, lower, upper = band.probabilities, band.lower, band.upper
    if x.size == 1:  # a band without width would be invisible
        x = x + np.array([-0.01, 0.01]) * limit
    return fill(ax, look, x, lower, upper)


def band_of(
    diagram: Diagram, scatter: FloatArray | None, confidence: float | None
) -> ConsistencyBand | None:
    """Compute a band, if requested."""
    if confidence is None:
        return None
    return consistency_of(diagram, scatter=scatter, confidence=confidence)


def band_label(band: ConsistencyBand) -> str:
    """Return the legend of a band."""
    return f"{band.confidence:.0%} of curves, if calibrated"


def fill(
    ax: Axes, look: Theme, x: FloatArray, lower: Any, upper: Any, **how: Any
) -> PolyCollection:
    """Fill between two curves, below all lines."""
    from matplotlib.path import Path

    area = ax.fill_between(
        x, lower, upper, color=look.band, linewidth=0, zorder=1, **how
    )
    # Matplotlib simplifies lines when it writes them, but not the edges of filled
    # areas.
    scale = ax.bbox.size / np.ptp((ax.get_xlim(), ax.get_ylim()), axis=1)
    edges = []
    for path in area.get_paths():
        edge = Path(path.vertices * scale).cleaned(simplify=True)
        edges.append(np.asarray(edge.vertices)[:-1] / scale)
    area.set_verts(edges)
    return area


def ticks_to(limit: float, most: int) -> dict[str, Any]:
    """Return ticks from 0 to limit, without trailing zeros."""
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
) -> StepPatch:
    """Draw how often each probability was predicted; the fullest bin has full height.

    Heights may be given, for bins of equal width from 0 to 1; else the weights of the
    curve are counted.
    """
    edges = np.linspace(0.0, 1.0, 2 if heights is None else heights.size + 1)
    if heights is None or (limit < 1 and _counts(curve, edges, heights)):
        half = limit / bins / 2  # bins are centred on round numbers
        heights, edges = np.histogram(
            curve.probabilities, bins + 1, (-half, limit + half), weights=curve.weights
        )
    elif limit < 1:  # bins from 0 to 1 are too wide
        fine = np.linspace(0.0, limit, bins + 1)
        heights, edges = np.diff(_below(fine, curve, edges, heights)), fine
    return bars(ax, colour, edges, heights, limit=limit, span=span)


def bars(
    ax: Axes,
    colour: str,
    edges: FloatArray,
    heights: FloatArray,
    *,
    limit: float = 1.0,
    span: tuple[float, float] = (BOTTOM, TOP),
) -> StepPatch:
    """Draw bars side by side; the highest fills the strip."""
    floor, ceiling = span[0] * limit, span[1] * limit
    tops = floor + (ceiling - floor) * heights / (heights.max() or 1)
    return ax.stairs(tops, edges, baseline=floor, fill=True, color=colour, linewidth=0)


def _counts(curve: ReliabilityCurve, edges: FloatArray, heights: FloatArray) -> bool:
    """Return whether the weights belong to exactly the points of a curve."""
    counted, _ = np.histogram(curve.probabilities, edges, weights=curve.weights)
    shares = counted / counted.sum(), heights / heights.sum()
    return bool(np.allclose(*shares, rtol=0, atol=1e-9))


def _below(
    at: FloatArray, curve: ReliabilityCurve, edges: FloatArray, heights: FloatArray
) -> FloatArray:
    """Return shares of rows below; exact at points of a thinned curve and at edges."""
    x = np.concatenate((edges, curve.probabilities))
    below = np.concatenate(
        ([0.0], np.cumsum(heights) / heights.sum(), np.cumsum(curve.weights))
    )
    below[edges.size :] /= below[-1]
    order = np.lexsort((below, x))
    return np.interp(at, x[order], np.maximum.accumulate(below[order]))
