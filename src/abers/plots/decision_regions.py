"""Decision regions: which bounds lead to which action."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.decisions import decide, worst_costs
from abers.errors import InvalidParameter
from abers.evaluation.parameters import documented
from abers.plots import _style
from abers.plots._style import check_two_names, shown

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from numpy.typing import ArrayLike

    from abers.plots._style import Theme
    from abers.validation import FloatArray

CELLS = 120  # a side; boundaries are straight, so that this is exact enough
FILL = 0.45  # opacity
REFER_NAME = "refer"


class DecisionRegionsDisplay(_style.AxesDisplay):
    """Draw which action is chosen for which lower and upper probability.

    Bounds lie above the diagonal, on it if both are equal. Left of and above the dotted
    lines the best action depends on the probability within the bounds: undetermined.

    Parameters
    ----------
    costs : array-like of shape (2, 2)
        Costs of not acting and of acting, for label 0 and label 1: `[[0, miss],
        [false_alarm, 0]]`.
    criterion : {"cost", "regret"}, default="cost"
        What is made least in the worst case; see `abers.decide`.
    refer : float, default=None
        The price of referring a case.
    bounds : array-like of shape (n, 2), default=None
        Bounds of cases, drawn as points.
    names : tuple of two str, default=("refuse", "act")
        What the two actions are called.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    points_ : matplotlib PathCollection
        The cases, if there are any.

    Examples
    --------
    >>> from abers.plots import DecisionRegionsDisplay
    >>> display = DecisionRegionsDisplay.from_costs([[0, 4], [1, 0]], refer=0.3)
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['refuse', 'act', 'refer', 'undetermined']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (_style.WIDTH, 5.0)

    points_: PathCollection

    def __init__(
        self,
        costs: ArrayLike,
        *,
        criterion: str = "cost",
        refer: float | None = None,
        bounds: ArrayLike | None = None,
        names: tuple[str, str] = ("refuse", "act"),
    ) -> None:
        self.costs = costs
        self.criterion = criterion
        self.refer = refer
        self.bounds = bounds
        self.names = names

    @classmethod
    @documented(__doc__)
    def from_costs(
        cls,
        costs: ArrayLike,
        *,
        criterion: str = "cost",
        refer: float | None = None,
        bounds: ArrayLike | None = None,
        names: tuple[str, str] = ("refuse", "act"),
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Draw the regions of costs."""
        return cls(
            costs, criterion=criterion, refer=refer, bounds=bounds, names=names
        ).plot(ax=ax, theme=theme)

    def _height_at(self, width: float) -> float:
        return min(self.size[1], width + 0.9)

    def _check(self) -> None:
        check_two_names(self.names)
        table = validation.as_costs(self.costs, 2)
        if len(table) != 2:
            msg = f"costs must have two rows to be drawn; got {len(table)}."
            raise InvalidParameter(msg)
        decide([[0, 1]], table, criterion=self.criterion, refer=self.refer)
        if self.bounds is not None:
            decide(self.bounds, table)

    def _draw(self, ax: Axes, look: Theme) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        fills = (look.bars, look.strong, look.accent)
        names = (*map(shown, self.names), REFER_NAME)
        places, worst = self._worst()
        entries: list[tuple[Artist, str]] = []
        for action in range(worst.shape[-1]):
            # The action is best where its worst cost is below those of all others.
            others = np.delete(worst, action, axis=-1).min(axis=-1)
            excess = worst[..., action] - others
            if excess.min() >= 0:
                continue
            filled: Any = ax.contourf(
                places,
                places,
                excess,
                levels=[min(excess.min(), -1.0), 0.0],
                colors=[fills[action]],
                alpha=FILL,
            )
            filled.set_clip_path(_triangle(ax))
            swatch = Patch(facecolor=fills[action], alpha=FILL)
            entries.append((swatch, names[action]))
        ax.plot([0, 1], [0, 1], color=look.soft, linewidth=1)
        if (t := self._threshold()) is not None:
            for x, y in (([t, t], [t, 1]), ([0, t], [t, t])):
                ax.plot(x, y, color=look.ink, linewidth=1.2, linestyle=_style.DOTTED)
            dotted = Line2D([], [], color=look.ink, linestyle=_style.DOTTED)
            entries.append((dotted, "undetermined"))
        if self.bounds is not None:
            lower, upper = np.asarray(self.bounds, dtype=float).T
            self.points_ = ax.scatter(
                lower, upper, s=6, color=look.ink, linewidths=0, clip_on=False, zorder=3
            )
            entries.append((self.points_, "cases"))
        ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.set(xlabel="lower probability", ylabel="upper probability")
        _style.legend(ax, entries, look, loc="lower right")

    def _worst(self) -> tuple[FloatArray, FloatArray]:
        """Return places along a side, and the worst costs (upper, lower, actions).

        Below the diagonal, where there are no bounds, they are mirrored.
        """
        places = np.linspace(0, 1, CELLS + 1)
        lower, upper = np.meshgrid(places, places)
        pairs = np.sort(np.stack((lower.ravel(), upper.ravel()), axis=-1), axis=-1)
        worst = worst_costs(
            pairs, self.costs, criterion=self.criterion, refer=self.refer
        )
        return places, worst.reshape(*lower.shape, -1)

    def _threshold(self) -> float | None:
        """Return the probability at which both actions cost the same, if there is one.

        With a0 and a1 what acting costs more for a 0 and a 1, t = a0 / (a0 - a1).
        """
        leave, act = validation.as_costs(self.costs, 2)
        more = act - leave
        if more[0] == more[1]:
            return None
        t = float(more[0] / (more[0] - more[1]))
        return t if 0 < t < 1 else None


def _triangle(ax: Axes) -> Any:
    """Return the part of the axes where upper is at least lower."""
    from matplotlib.patches import Polygon

    return Polygon([(0, 0), (0, 1), (1, 1)], transform=ax.transData)
