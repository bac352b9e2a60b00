"""Axes: which scores a picture shows, and which points of a curve can be seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from abers.validation import FloatArray, IntArray

    Points = tuple[FloatArray, FloatArray]

PIXELS = 500  # that a picture of 600 has for its axes
TOLERANCE = 0.5  # of a pixel
FEW = 100  # points that are not worth thinning
LARGEST = 1e300  # matplotlib computes with differences of what it draws
SMALLEST = 1e-290
MARGIN = 0.03  # to each side of the scores, where only new ones can lie
LANE = 0.1  # the distance of the place for infinite scores


@dataclass(frozen=True, slots=True)
class ScoreAxis:
    """A window of finite scores, with a lane at each side for infinite ones."""

    low: float
    high: float
    minus: bool  # whether -inf occurs
    plus: bool
    cut: bool  # whether some finite scores lie outside

    @classmethod
    def of(cls, quantiles: FloatArray) -> ScoreAxis:
        """Show the scores that occurred, save for outliers that would hide the rest.

        >>> ScoreAxis.of(np.array([-np.inf, 1, 2, 3]))
        ScoreAxis(low=1.0, high=3.0, minus=True, plus=False, cut=False)
        """
        minus, plus = bool(quantiles[0] == -np.inf), bool(quantiles[-1] == np.inf)
        finite = np.clip(quantiles[np.isfinite(quantiles)], -LARGEST, LARGEST)
        if not finite.size:
            return cls(-1.0, 1.0, minus, plus, cut=False)
        first, last = float(finite[0]), float(finite[-1])
        inner = finite[[finite.size // 100, -1 - finite.size // 100]]
        reach = float(inner[1] - inner[0]) or np.inf
        low, high = max(first, inner[0] - reach), min(last, inner[1] + reach)
        cut = low > first or high < last
        least = max(1e-9 * max(abs(low), abs(high)), SMALLEST)
        if high - low < least:
            pad = max(abs(low) / 2, 1.0)
            low, high = low - pad, high + pad
        return cls(float(low), float(high), minus, plus, cut)

    @property
    def ends(self) -> tuple[float, float]:
        """The window and its margins."""
        margin = MARGIN * (self.high - self.low)
        return self.low - margin, self.high + margin

    @property
    def lanes(self) -> tuple[float, float]:
        """The places of -inf and inf."""
        distance = LANE * (self.high - self.low)
        return self.low - distance, self.high + distance

    def flipped(self) -> ScoreAxis:
        """Return the axis of the negated scores."""
        return ScoreAxis(-self.high, -self.low, self.plus, self.minus, self.cut)

    def draw(self, ax: Axes, label: str = "score") -> None:
        """Set limits, ticks and the label."""
        from matplotlib.ticker import AutoLocator

        width = MARGIN * (self.high - self.low)
        (left, right), (first, last) = self.lanes, self.ends
        ax.set_xlim(
            left - width if self.minus else first, right + width if self.plus else last
        )
        if self.minus or self.plus:  # their places need ticks of their own
            ticks = np.asarray(AutoLocator().tick_values(self.low, self.high))
            ax.set_xticks(ticks[(ticks >= first) & (ticks <= last)])
        places = [left] * self.minus + [right] * self.plus
        signs = ["\N{MINUS SIGN}∞"] * self.minus + ["∞"] * self.plus
        ax.set_xticks(places, labels=signs, minor=True)
        label += " (outliers lie beyond the edges)" if self.cut else ""
        ax.set_xlabel(label)
        ax.spines["bottom"].set_bounds(first, last)

    def steps(
        self, thresholds: FloatArray, values: FloatArray, *, pixels: int = PIXELS
    ) -> list[Points]:
        """Return the corners of a step function: in the left lane, window, right lane.

        Piece j holds for thresholds[j-1] <= score < thresholds[j].
        """
        start, stop, at_minus, at_plus = np.searchsorted(
            thresholds, (*self.ends, -np.inf, np.inf), side="right"
        )
        first, last = self.ends
        edges = np.concatenate(([first], thresholds[start:stop], [last]))
        parts = [thinned(*stairs(edges, values[start : stop + 1]), pixels=pixels)]
        width = MARGIN * (self.high - self.low) * np.array([-0.9, 0.9])
        if self.minus:
            parts.insert(0, (self.lanes[0] + width, values[[at_minus] * 2]))
        if self.plus:
            parts.append((self.lanes[1] + width, values[[at_plus] * 2]))
        return parts


def joined(parts: list[Points]) -> Points:
    """Return parts as one line with gaps."""
    x, y = parts[0]
    for more_x, more_y in parts[1:]:
        x = np.concatenate((x, [np.nan], more_x))
        y = np.concatenate((y, [np.nan], more_y))
    return x, y


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
