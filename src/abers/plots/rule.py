"""The rule: lower and upper probability over the score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abers import validation
from abers.core import merging
from abers.core.rule import Rule
from abers.errors import InvalidParameter
from abers.plots import curves, strip, style
from abers.plots.score_axis import ScoreAxis, joined
from abers.plots.thinning import PIXELS

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from abers.plots.style import Theme


class RuleDisplay:
    """Draw the bounds of a rule over the score, and the probability between them.

    The bounds are the probability if the new case were a 0 (lower) and if it were a 1
    (upper). One of the two is calibrated as long as new cases resemble the calibration
    cases. They are not a confidence interval, and they shrink to a point as data grow.

    Below is how often each score came among the calibration cases, by percentiles.
    Infinite scores have places of their own at the sides.

    Parameters
    ----------
    rule : Rule
        The rule.
    loss : {"log", "brier"}, default="log"
        The loss that the bounds are merged for.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn on.
    figure_ : matplotlib Figure
        Their figure.
    lower_, upper_, merged_ : matplotlib Line2D
        The three step functions; NaN separates the places of infinite scores.

    Examples
    --------
    >>> import abers
    >>> from abers.plots import RuleDisplay
    >>> display = RuleDisplay.from_rule(abers.fit_rule([1, 2, 3], [0, 1, 0]))
    >>> display.lower_.get_ydata()[[0, -1]]  # from 0 to 1/3
    array([0.        , 0.33333333])
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (style.WIDTH, 4.2)

    ax_: Axes
    figure_: Figure
    lower_: Line2D
    upper_: Line2D
    merged_: Line2D

    def __init__(self, rule: Rule, *, loss: str = "log") -> None:
        self.rule = rule
        self.loss = loss

    @classmethod
    def from_rule(
        cls,
        rule: Rule,
        *,
        loss: str = "log",
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Draw a rule.

        Parameters
        ----------
        rule : Rule
            The rule.
        loss : {"log", "brier"}, default="log"
            The loss that the bounds are merged for.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        RuleDisplay
            With the artists as attributes.
        """
        return cls(rule, loss=loss).plot(ax=ax, theme=theme)

    @classmethod
    def from_estimator(
        cls, model: Any, *, ax: Axes | None = None, theme: str = "light"
    ) -> Self:
        """Draw the rule of an estimator that has one, merged for the loss it has.

        Parameters
        ----------
        model : IVAPClassifier or IVAPCalibrator
            Fitted, with two classes.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        RuleDisplay
            With the artists as attributes.
        """
        rules = [rule for fold in getattr(model, "rules_", []) for rule in fold]
        if len(rules) != 1:
            msg = (
                f"model must have one rule to draw; got a {type(model).__name__} with "
                f"{len(rules)}. Draw one of model.rules_ with from_rule, if it has any."
            )
            raise InvalidParameter(msg)
        return cls(rules[0], loss=model.loss).plot(ax=ax, theme=theme)

    def plot(self, *, ax: Axes | None = None, theme: str = "light") -> Self:
        """Draw the rule.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        RuleDisplay
            Itself.
        """
        rule = self.rule
        validation.check_type(rule, Rule, "rule")
        validation.check_choice(self.loss, merging.LOSSES, "loss")
        axis = ScoreAxis.of(rule.score_quantiles)
        limit = limit_of_rule(rule, axis)
        with style.canvas(ax, theme, self.size) as (axes, look):
            axis.draw(axes)
            axes.set_ylabel("probability")
            strip.reserve(axes, look, "scores", limit=limit)
            strip.score_histogram(
                axes, look.bars, axis, rule.score_quantiles, limit=limit
            )
            self._draw_steps(axes, look, axis)
            entries = [
                (self.upper_, "upper: if it were a 1"),
                (self.merged_, "merged to one probability"),
                (self.lower_, "lower: if it were a 0"),
            ]
            low, high = rule.bounds([axis.low / 2 + axis.high / 2])[0]
            place = style.place(high / limit, low / limit, rising=rule.increasing)
            style.key(axes, entries, look, **place)
        self.ax_, self.figure_ = axes, style.figure_of(axes)
        return self

    def _draw_steps(self, ax: Axes, look: Theme, axis: ScoreAxis) -> None:
        """Draw the three step functions, and fill between the bounds."""
        rule = self.rule
        thresholds, lower, upper = rule.thresholds, rule.lower, rule.upper
        merged = merging.MINIMAX[self.loss](lower, upper)
        # The lines hide the edge of what is filled: it may be coarse.
        edges = (
            axis.steps(thresholds, values, pixels=PIXELS // 2)
            for values in (lower, upper)
        )
        for low, high in zip(*edges, strict=True):
            curves.fill(ax, look.band, low, high)
        self.upper_, self.lower_, self.merged_ = (
            ax.plot(
                *joined(axis.steps(thresholds, values)),
                color=colour,
                linestyle=dashes,
                linewidth=width,
            )[0]
            for values, colour, dashes, width in (
                (upper, look.strong, "-", 1.6),
                (lower, look.accent, style.DASHED, 1.6),
                (merged, look.ink, style.DOTTED, 1.2),
            )
        )


def limit_of_rule(rule: Rule, axis: ScoreAxis) -> float:
    """Return how far the axis must reach: to 1, or less if everything is rare.

    Beyond all scores the upper bound is 1, so for the last hundredth of them the lower
    one decides.
    """
    inner = rule.score_quantiles[99 if rule.increasing else 1]
    end = axis.high if rule.increasing else axis.low
    bounds = rule.bounds([inner, end])
    return curves.limit_above(float(max(bounds[0, 1], bounds[1, 0])))
