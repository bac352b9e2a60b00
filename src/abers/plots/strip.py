"""Strip: where the data are, drawn below the curve in the same axes.

One pair of axes can stand anywhere, also in a grid of the user's; two that belong
together could not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers.plots.thinning import stairs

if TYPE_CHECKING:
    from typing import Any

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon

    from abers.plots.style import Theme
    from abers.reliability import ReliabilityCurve
    from abers.validation import FloatArray

BINS = 40
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
    if heights is None:
        half = limit / bins / 2  # bins have round numbers in their middle
        heights, edges = np.histogram(
            curve.probabilities, bins + 1, (-half, limit + half), weights=curve.weights
        )
    else:
        edges = np.linspace(0.0, 1.0, heights.size + 1)
    floor, ceiling = span[0] * limit, span[1] * limit
    x, y = stairs(edges, floor + (ceiling - floor) * heights / heights.max())
    x, y = x[[0, *range(x.size), -1]], np.concatenate(([floor], y, [floor]))
    return ax.fill(x, y, color=colour, linewidth=0)[0]


def rug(ax: Axes, colour: str, positions: FloatArray, *, limit: float = 1.0) -> Line2D:
    """Draw a stroke at each position, as one line with gaps."""
    positions = np.unique(positions)
    x = np.repeat(positions, 3)
    y = np.tile([BOTTOM * 0.9 * limit, TOP * limit, np.nan], positions.size)
    return ax.plot(x, y, color=colour, linewidth=0.8)[0]
