"""The rule of a regression over the score: its bounds, its value, and targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core.regression import RegressionRule, as_targets
from abers.errors import InvalidParameter
from abers.plots import _style
from abers.plots.rule import ScoreAxis, draw_bounds

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from abers.plots._style import Theme
    from abers.validation import FloatArray

MOST_POINTS = 300  # of many rows, evenly spaced ones by score are drawn


class RegressionRuleDisplay(_style.AxesDisplay):
    """Draw the bounds of the rule of a regression, and the value between them.

    The bounds are the value if the new target were as low as it can be (lower) and if
    it were as high (upper). They are bounds for a mean, not an interval in which the
    target lies: targets, drawn as dots, scatter beyond them.

    Parameters
    ----------
    rule : RegressionRule
        The rule.
    scores, targets : array-like of shape (n,), default=None
        Rows to draw with it, both or neither; infinite scores are left out, and of many
        rows some.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    lower_, upper_, value_ : matplotlib Line2D
        The three step functions; NaN separates the places of infinite scores.
    dots_ : matplotlib Line2D
        The targets, none if there are no rows.

    Examples
    --------
    >>> import abers
    >>> from abers.plots import RegressionRuleDisplay
    >>> rule = abers.fit_regression_rule([1, 2, 3], [10, 30, 20], low=10, high=30)
    >>> display = RegressionRuleDisplay.from_rule(rule)
    >>> display.lower_.get_ydata()[[0, -1]]  # from 10 to 20
    array([10., 20.])
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (_style.WIDTH, 4.2)

    lower_: Line2D
    upper_: Line2D
    value_: Line2D
    dots_: Line2D

    def __init__(
        self,
        rule: RegressionRule,
        *,
        scores: ArrayLike | None = None,
        targets: ArrayLike | None = None,
    ) -> None:
        self.rule = rule
        self.scores = scores
        self.targets = targets

    @classmethod
    def from_rule(
        cls,
        rule: RegressionRule,
        *,
        scores: ArrayLike | None = None,
        targets: ArrayLike | None = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Draw a rule, and rows with it.

        Parameters
        ----------
        rule : RegressionRule
            The rule.
        scores, targets : array-like of shape (n,), default=None
            Rows to draw with it, both or neither; infinite scores are left out.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        return cls(rule, scores=scores, targets=targets).plot(ax=ax, theme=theme)

    def _check(self) -> None:
        validation.check_type(self.rule, RegressionRule, "rule")
        if (self.scores is None) != (self.targets is None):
            missing = "targets" if self.targets is None else "scores"
            msg = f"scores and targets must be given both or neither; got no {missing}."
            raise InvalidParameter(msg)

    def _rows(self, axis: ScoreAxis) -> tuple[FloatArray, FloatArray]:
        """Return the rows to draw, by score."""
        if self.scores is None:
            return np.empty(0), np.empty(0)
        s, y = validation.as_scores(self.scores), as_targets(self.targets)
        validation.check_length(y.size, s.size, "targets", "scores")
        first, last = axis.ends
        seen = (s >= first) & (s <= last) & np.isfinite(y)
        s, y = s[seen], y[seen]
        order = np.argsort(s, kind="stable")
        if order.size > MOST_POINTS:
            kept = np.linspace(0, order.size - 1, MOST_POINTS).round().astype(np.int64)
            order = order[kept]
        return s[order], y[order]

    def _draw(self, ax: Axes, look: Theme) -> None:
        rule = self.rule
        axis = ScoreAxis.of(rule.score_quantiles)
        axis.draw(ax)
        ax.set_ylabel("target")
        rows = self._rows(axis)
        (self.dots_,) = ax.plot(*rows, ".", color=look.soft, markersize=3.5, zorder=2.5)
        self._draw_steps(ax, look, axis)
        entries = [
            (self.upper_, "upper: if its target were high"),
            (self.value_, "midpoint"),
            (self.lower_, "lower: if its target were low"),
        ]
        if rows[0].size:
            entries.append((self.dots_, "targets"))
        # Above the axes: dots leave no corner free.
        _style.legend(
            ax, entries, look, loc="lower left", bbox_to_anchor=(0, 1), ncols=2
        )

    def _draw_steps(self, ax: Axes, look: Theme, axis: ScoreAxis) -> None:
        """Draw the three step functions, and fill between the bounds."""
        rule = self.rule
        lower, upper = rule.lower, rule.upper
        values = upper, lower, lower / 2 + upper / 2
        self.upper_, self.lower_, self.value_ = draw_bounds(
            ax, look, axis, rule.thresholds, values
        )
