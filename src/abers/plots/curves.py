"""Curves: what all pictures of reliability share."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from abers.errors import InvalidParameter
from abers.plots import strip, style
from abers.plots.thinning import PIXELS, thinned

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from numpy.typing import ArrayLike, NDArray

    from abers.evaluation.predictor import Answers
    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve
    from abers.plots.style import Theme
    from abers.validation import FloatArray

FEW = 25  # points that deserve a marker each
RARE = (1e-9, 0.4)  # where the highest is between them, the picture is enlarged
EDGE = 1.02  # of the limit, where axes end
PREDICTED = "predicted probability"
OBSERVED = "observed frequency"


def binary_predictions(
    model: Any, X: Any, y: ArrayLike
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Ask a fitted classifier of two classes for what `from_predictions` takes."""
    classes = np.asarray(model.classes_)
    if classes.size != 2:  # noqa: PLR2004
        msg = (
            f"model must have two classes for one curve; got {classes.size}. "
            "Draw a curve a class with from_predictions(y == c, p[:, c])."
        )
        raise InvalidParameter(msg)
    from abers.evaluation.predictor import labels_among  # which has scikit-learn loaded

    return labels_among(classes, y), np.asarray(model.predict_proba(X))[:, 1]


def answers_of(model: Any, X: Any, y: ArrayLike) -> Answers:
    """Ask a fitted classifier of two classes for all that an evaluation asks."""
    from abers.evaluation import predictor  # which has scikit-learn loaded

    return predictor.answers_of(
        model, X, y, groups=None, before=None, loss="log", counted=None
    )


def limit_of(
    curves: Sequence[ReliabilityCurve],
    histograms: Sequence[FloatArray | None] = (),
) -> float:
    """Return how far the axes must reach: to 1, or less if everything is rare.

    The highest frequencies are those of few rows, often 1; a hundredth of the rows may
    leave the picture at the top, and a two-hundredth at the right. Histograms tell more
    of these than thinned curves do.
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
    """Return the label of the axis, which says so if some predictions are not on it."""
    cut = any(curve.probabilities[-1] > EDGE * limit for curve in curves)
    return f"{PREDICTED} (the highest lie beyond the edge)" if cut else PREDICTED


def limit_above(highest: float) -> float:
    """Return where an axis of probabilities ends that should show this one well."""
    return 1.1 * highest if RARE[0] < highest < RARE[1] else 1.0


def frame(ax: Axes, look: Theme, limit: float, *, most: int = 5) -> Line2D:
    """Set limits and ticks, and draw the diagonal."""
    ax.set_xlim(-0.02 * limit, EDGE * limit)
    ax.set_xticks(**strip.ticks_to(limit, most))
    strip.reserve(ax, look, "rows", limit=limit, most=most)
    (diagonal,) = ax.plot(
        [0, limit], [0, limit], color=look.soft, linewidth=1, linestyle=style.DOTTED
    )
    return diagonal


def draw_curve(
    ax: Axes,
    colour: str,
    curve: ReliabilityCurve,
    *,
    limit: float = 1.0,
    pixels: int = PIXELS,
    **line: Any,
) -> Line2D:
    """Draw a reliability curve; if it has few points, each gets a marker."""
    x, y = _seen(curve.probabilities, curve.frequencies, limit)
    x, y = thinned(x, y, pixels=pixels)
    marker = "o" if x.size <= FEW and x.size == curve.probabilities.size else ""
    look: Any = {"linewidth": 1.8, "marker": marker, "markersize": 4} | line
    return ax.plot(x, y, color=colour, **look)[0]


def draw_band(
    ax: Axes,
    look: Theme,
    band: ConsistencyBand,
    *,
    limit: float = 1.0,
    pixels: int = PIXELS,
) -> Polygon:
    """Fill where the curve would be if the probabilities were calibrated."""
    x, lower, upper = band.probabilities, band.lower, band.upper
    if x.size == 1:  # without a width it could not be seen
        x, lower, upper = (np.repeat(values, 2) for values in (x, lower, upper))
        x = x + np.array([-0.01, 0.01]) * limit
    low, high = (thinned(*_seen(x, y, limit), pixels=pixels) for y in (lower, upper))
    return fill(ax, look.band, low, high)


def _seen(x: FloatArray, y: FloatArray, limit: float) -> tuple[FloatArray, FloatArray]:
    """Cut a curve of many points at the edge, so that thinning spares what is seen."""
    edge = EDGE * limit
    inside = int(np.searchsorted(x, edge, side="right"))
    if x.size <= FEW or inside == x.size:
        return x, y
    return np.append(x[:inside], edge), np.append(y[:inside], np.interp(edge, x, y))


def fill(
    ax: Axes,
    colour: str,
    lower: tuple[FloatArray, FloatArray],
    upper: tuple[FloatArray, FloatArray],
) -> Polygon:
    """Fill between two curves, each with points of its own."""
    x = np.concatenate((lower[0], upper[0][::-1]))
    y = np.concatenate((lower[1], upper[1][::-1]))
    return ax.fill(x, y, color=colour, linewidth=0, zorder=1)[0]


def free_corner(curves: Sequence[ReliabilityCurve], limit: float) -> dict[str, Any]:
    """Place a legend where none of the rising curves goes."""
    highest, lowest = 0.0, 1.0
    for curve in curves:
        half = int(np.searchsorted(curve.probabilities, limit / 2))
        highest = max(highest, *curve.frequencies[:half][-1:], 0.0)
        lowest = min(lowest, *curve.frequencies[half:][:1], 1.0)
    return style.place(highest / limit, lowest / limit)
