"""Thinning: a curve of many points as one of few that looks the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from abers.validation import FloatArray, IntArray

PIXELS = 500  # that a picture of 600 has for its axes
TOLERANCE = 0.5  # of a pixel
FEW = 100  # points that are not worth thinning


def thinned(
    x: FloatArray, y: FloatArray, *, pixels: int = PIXELS
) -> tuple[FloatArray, FloatArray]:
    """Drop the points of a curve that could not be seen.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
        Points of a curve, x ascending, all finite; y rises or falls throughout.
    pixels : int, default=500
        Width and height of the picture.

    Returns
    -------
    x, y : ndarray
        At most two points a column of pixels and the extremes; of these, only such as
        lie off the lines between those that are kept. A hundred points are all kept.

    Examples
    --------
    >>> import numpy as np
    >>> from abers.plots.thinning import thinned
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

    Examples
    --------
    >>> import numpy as np
    >>> from abers.plots.thinning import stairs
    >>> x, y = stairs(np.array([0., 1, 3]), np.array([5., 6]))
    >>> x, y
    (array([0., 1., 1., 3.]), array([5., 5., 6., 6.]))
    """
    return np.repeat(edges, 2)[1:-1], np.repeat(values, 2)


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
        if stop - start < 2:  # noqa: PLR2004 (nothing in between)
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
    # Halved first: the difference of two finite numbers may be infinite.
    scaled: FloatArray = (values / 2 - low / 2) / (high / 2 - low / 2)
    return scaled
