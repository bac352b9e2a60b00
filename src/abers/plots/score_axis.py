"""The score axis: which scores a picture shows, and where the infinite ones go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers.plots.thinning import PIXELS, stairs, thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from abers.validation import FloatArray

    Points = tuple[FloatArray, FloatArray]

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

        Examples
        --------
        >>> import numpy as np
        >>> from abers.plots.score_axis import ScoreAxis
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
        ax.set_xlabel(f"{label} (outliers lie beyond the edges)" if self.cut else label)
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
