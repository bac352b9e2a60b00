"""Partial orders: the bounds of two scores, as a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core import merging
from abers.core.poset import PosetRule
from abers.errors import InvalidParameter
from abers.evaluation.parameters import documented
from abers.plots import _style
from abers.plots._curves import stairs
from abers.plots._style import check_two_names, shown
from abers.plots.rule import ScoreAxis

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from abers.plots._curves import Points
    from abers.plots._style import Theme
    from abers.validation import FloatArray

CELLS = 80  # a side
SHADES = (0.2, 0.4, 0.6, 0.8)  # of the probability
OPACITY = 0.22
MOST_POINTS = 120  # more would hide the map
PLANE = 2  # scores


class PosetDisplay(_style.AxesDisplay):
    """Draw the bounds of a rule of two scores over the plane of these scores.

    Two stairs show where the lower and the upper bound reach a level, say one half:
    beyond both the case is above it whatever its label, short of both below it, and
    between them the bounds do not tell. They are drawn on a grid of 80 by 80 cells.
    The colour is stronger where the merged probability is higher, with a step at 0.2,
    0.4, 0.6 and 0.8. Dots are calibration cases, at most 120 of them; a full dot stands
    for scores at which half of the cases or more were labelled 1.

    Parameters
    ----------
    rule : PosetRule
        A rule of two scores.
    level : float, default=0.5
        The probability that the stairs are about.
    names : tuple of two str, default=("first score", "second score")
        What the scores are called.
    loss : {"log", "brier"}, default="log"
        The loss that the bounds are merged for.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    lower_, upper_ : matplotlib Line2D
        Where the lower and the upper bound reach the level.

    Examples
    --------
    >>> import abers
    >>> from abers.plots import PosetDisplay
    >>> rule = abers.fit_poset_rule([[1, 1], [1, 3], [3, 1]], [0, 1, 1])
    >>> display = PosetDisplay.from_rule(rule)
    >>> display.ax_.get_xlabel(), display.ax_.get_ylabel()
    ('first score', 'second score')
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (_style.WIDTH, 4.6)

    lower_: Line2D
    upper_: Line2D

    def __init__(
        self,
        rule: PosetRule,
        *,
        level: float = 0.5,
        names: tuple[str, str] = ("first score", "second score"),
        loss: str = "log",
    ) -> None:
        self.rule = rule
        self.level = level
        self.names = names
        self.loss = loss

    @classmethod
    @documented(__doc__)
    def from_rule(
        cls,
        rule: PosetRule,
        *,
        level: float = 0.5,
        names: tuple[str, str] = ("first score", "second score"),
        loss: str = "log",
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Draw a rule of two scores."""
        return cls(rule, level=level, names=names, loss=loss).plot(ax=ax, theme=theme)

    def _check(self) -> None:
        validation.check_type(self.rule, PosetRule, "rule")
        validation.check_choice(self.loss, merging.LOSSES, "loss")
        check_two_names(self.names)
        if self.rule.n_scores != PLANE:
            msg = f"rule must be of two scores to be drawn; got {self.rule.n_scores}."
            raise InvalidParameter(msg)
        if not 0 < self.level < 1:
            msg = f"level must be between 0 and 1; got {self.level!r}."
            raise InvalidParameter(msg)

    def _draw(self, ax: Axes, look: Theme) -> None:
        first, second = (_axis(column) for column in self.rule.scores.T)
        x_edges, x = _cells(first)
        y_edges, y = _cells(second)
        rows = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, PLANE)
        lower, upper = self.rule.bounds(rows).T
        merged = merging.MINIMAX[self.loss](lower, upper)
        rising = self.rule.increasing[1]

        def reached(values: FloatArray, level: float) -> Points:
            count = (values.reshape(CELLS, CELLS) >= level).sum(axis=1)
            starts = np.flatnonzero(np.diff(count, prepend=-1))
            heights = y_edges[CELLS - count[starts] if rising else count[starts]]
            return stairs(np.append(x_edges[starts], x_edges[-1]), heights)

        for level in SHADES:
            ax.fill_between(
                *reached(merged, level),
                y_edges[-1] if rising else y_edges[0],
                color=look.strong,
                alpha=OPACITY,
                linewidth=0,
            )
        self._draw_cases(ax, look)
        ends = x_edges[[0, -1]], y_edges[[0, -1]]
        pens = ((lower, look.strong, "-"), (upper, look.accent, _style.DASHED))
        self.lower_, self.upper_ = (
            ax.plot(
                *_within(*reached(values, self.level), ends[1]),
                color=colour,
                linewidth=2,
                linestyle=dashes,
            )[0]
            for values, colour, dashes in pens
        )
        ax.set(xlim=ends[0], ylim=ends[1])
        ax.set(xlabel=shown(self.names[0]), ylabel=shown(self.names[1]))
        entries = [
            (self.lower_, f"lower bound reaches {self.level:g}"),
            (self.upper_, f"upper bound reaches {self.level:g}"),
        ]
        _style.legend(
            ax, entries, look, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2
        )

    def _draw_cases(self, ax: Axes, look: Theme) -> None:
        """Draw some calibration cases, evenly spread over the first score."""
        rule = self.rule
        step = -(-len(rule.scores) // MOST_POINTS)
        full = 2 * rule.positives >= rule.positives + rule.negatives
        for chosen, face in ((~full, "none"), (full, look.ink)):
            points = rule.scores[::step][chosen[::step]]
            ax.plot(
                *points.T,
                linestyle="none",
                marker="o",
                markersize=3,
                markeredgewidth=0.7,
                markeredgecolor=look.ink,
                markerfacecolor=face,
                alpha=0.7,
            )


def _axis(column: FloatArray) -> ScoreAxis:
    """Choose the finite scores to show."""
    return ScoreAxis.of(np.sort(column))


def _cells(axis: ScoreAxis) -> tuple[FloatArray, FloatArray]:
    """Return the edges of the cells between two ends, and their middles."""
    edges = np.linspace(*axis.ends, CELLS + 1)
    return edges, edges[:-1] / 2 + edges[1:] / 2


def _within(x: FloatArray, y: FloatArray, edges: FloatArray) -> Points:
    """Leave out the parts of stairs that run along an edge of the picture."""
    level = y[:-1] == y[1:]
    along = np.isin(y, edges)
    # A corner at an edge stays if the stairs turn there.
    along[:-1] &= level
    along[1:] &= level
    return x, np.where(along, np.nan, y)
