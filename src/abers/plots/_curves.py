"""Curves: their points that can be seen, what reliability diagrams share, the strip.

The strip, below the curves, shows where the data are. It is in the axes of the curve:
one pair of axes can stand anywhere, also in a grid of the user's; two that belong
together could not.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.errors import InvalidParameter
from abers.evaluation import predictor
from abers.plots import _style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from numpy.typing import ArrayLike, NDArray

    from abers.evaluation.predictor import Answers
    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve
    from abers.plots._style import Theme
    from abers.validation import FloatArray, IntArray, LabelArray

    Points = tuple[FloatArray, FloatArray]

PIXELS = 500  # that a picture of 600 has for its axes
TOLERANCE = 0.5  # of a pixel
FEW = 100  # points that are not worth thinning
MARKED = 25  # points that deserve a marker each
RARE = (1e-9, 0.4)  # where the highest is between them, the picture is enlarged
EDGE = 1.02  # of the limit, where axes end
PREDICTED = "predicted probability"
OBSERVED = "observed rate"

BINS = 40
TOP, BOTTOM = -0.05, -0.21  # of the strip, where the curve has 0 to 1


def binary_predictions(
    model: Any, X: Any, y: ArrayLike, pos_label: Any = None
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Ask a fitted classifier for what `from_predictions` takes, of one class."""
    classes = np.asarray(model.classes_)
    if classes.size != 2 and pos_label is None:
        msg = (
            f"model must have two classes, or pos_label be one of them; got "
            f"{classes.size} classes. Pass pos_label={classes.tolist()[0]!r}, or draw "
            "all of them by TopLabelDisplay or ClasswiseDisplay."
        )
        raise InvalidParameter(msg)
    place = 1
    if pos_label is not None:
        place = validation.place_among(pos_label, classes, "pos_label")
    p = np.asarray(model.predict_proba(X))[:, place]
    return predictor.is_class(classes, y, place), p


def binary_labels(y: ArrayLike, pos_label: Any) -> LabelArray:
    """Return labels as 0 and 1; `pos_label` is 1, if it is given."""
    return validation.binary_labels(y, pos_label, "y", option="pos_label")[0]


def answers_of(model: Any, X: Any, y: ArrayLike, pos_label: Any = None) -> Answers:
    """Ask a fitted classifier for all that an evaluation asks, of one class."""
    return predictor.answers_of(
        model,
        X,
        y,
        groups=None,
        before=None,
        loss="log",
        counted=None,
        positive=pos_label,
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
    ax.set_xticks(**ticks_to(limit, most))
    reserve(ax, look, "rows", limit=limit, most=most)
    (diagonal,) = ax.plot(
        [0, limit], [0, limit], color=look.soft, linewidth=1, linestyle=_style.DOTTED
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
    marker = "o" if x.size <= MARKED and x.size == curve.probabilities.size else ""
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
    if x.size <= MARKED or inside == x.size:
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
    return _style.legend_place(highest / limit, lowest / limit)


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


def thinned(
    x: FloatArray, y: FloatArray, *, pixels: int = PIXELS
) -> tuple[FloatArray, FloatArray]:
    """Drop the points of a curve that could not be seen in so many pixels a side.

    All are finite, x ascends, y rises or falls throughout. At most two points a column
    of pixels stay, and the extremes; of these, only such as lie off the lines between
    those that are kept. A hundred points are all kept.

    >>> x = np.linspace(0, 2, 100_001)
    >>> thinned(x, np.maximum(x - 1, 0))
    (array([0., 1., 2.]), array([0., 0., 1.]))
    """
    if x.size <= FEW:
        return x, y
    kept = _outline(x, y, pixels)
    x, y = x[kept], y[kept]
    corners = _corners(_unit(x), _unit(y), TOLERANCE / pixels)
    return x[corners], y[corners]


def stairs(edges: FloatArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the corners of a step function: values[i] from edges[i] to edges[i + 1].

    >>> x, y = stairs(np.array([0., 1, 3]), np.array([5., 6]))
    >>> x, y
    (array([0., 1., 1., 3.]), array([5., 5., 6., 6.]))
    """
    return np.repeat(edges, 2)[1:-1], np.repeat(values, 2)


def joined(parts: list[Points]) -> Points:
    """Return parts as one line with gaps."""
    x, y = parts[0]
    for more_x, more_y in parts[1:]:
        x = np.concatenate((x, [np.nan], more_x))
        y = np.concatenate((y, [np.nan], more_y))
    return x, y


def _outline(x: FloatArray, y: FloatArray, columns: int) -> IntArray:
    """Find the first and the last point of each column of pixels, and the extremes.

    Our curves rise or fall throughout, so the two are also the lowest and the highest.
    """
    if x.size <= 2 * columns:
        return np.arange(x.size)
    low, high = x[0], x[-1]
    share = np.arange(1, columns) / columns
    first = np.searchsorted(x, low * (1 - share) + high * share)  # cannot overflow
    first = np.minimum(first, x.size - 1)  # rounding may lead beyond
    ends = [0, int(y.argmin()), int(y.argmax()), x.size - 1]
    return np.unique(np.concatenate((ends, first, np.maximum(first - 1, 0))))


def _corners(x: FloatArray, y: FloatArray, tolerance: float) -> IntArray:
    """Find points such that no other lies farther than that from their polygon.

    That is the method of Ramer, Douglas and Peucker, begun with the ends, the lowest
    and the highest point.
    """
    kept = np.unique([0, int(y.argmin()), int(y.argmax()), x.size - 1])
    spans = list(zip(kept[:-1].tolist(), kept[1:].tolist(), strict=True))
    found = set(kept.tolist())
    while spans:
        start, stop = spans.pop()
        if stop - start < 2:  # nothing in between
            continue
        gap = _distance(x[start : stop + 1], y[start : stop + 1])
        farthest = int(gap.argmax())
        if gap[farthest] > tolerance:
            middle = start + farthest
            found.add(middle)
            spans += [(start, middle), (middle, stop)]
    return np.array(sorted(found))


def _distance(x: FloatArray, y: FloatArray) -> FloatArray:
    """Return how far each point lies from the line from the first to the last."""
    dx, dy = x[-1] - x[0], y[-1] - y[0]
    length = dx * dx + dy * dy
    along = ((x - x[0]) * dx + (y - y[0]) * dy) / length if length else np.zeros_like(x)
    along = np.clip(along, 0.0, 1.0)
    distance: FloatArray = np.hypot(x - x[0] - along * dx, y - y[0] - along * dy)
    return distance


def _unit(values: FloatArray) -> FloatArray:
    """Stretch values to [0, 1]; equal ones become 0."""
    low, high = values.min(), values.max()
    if not low < high:
        return np.zeros_like(values)
    # The difference of two finite numbers may be infinite, and half a tiny one is 0.
    half = 0.5 if max(-low, high) > 1 else 1.0
    scaled: FloatArray = (values * half - low * half) / (high * half - low * half)
    return scaled
