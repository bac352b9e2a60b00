"""Decision curves: the net benefit and the mean cost of acting on predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from abers import validation
from abers.errors import InvalidType
from abers.evaluation import CostCurve, DecisionCurve, cost_curve, decision_curve
from abers.plots import _base, _style
from abers.plots._style import shown

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from abers.choices import CurveKind, ThemeName
    from abers.plots._style import Theme
    from abers.validation import FloatArray

KINDS: dict[str, Any] = {"net_benefit": decision_curve, "cost": cost_curve}
BELOW = 0.15  # of the height, shown below 0
ABOVE = 1.05  # of the highest point of the predictions' curve


class DecisionCurveDisplay(_base.Display):
    """Draw the net benefit, or the mean cost, of acting on predictions.

    For comparison, it shows the curves of acting on all rows and on none. Predictions
    are useful at thresholds where their net benefit is the highest of the three, or
    their cost the lowest. If a false alarm costs the threshold t and a miss 1 - t, the
    area below the cost curve is half the Brier loss. At high thresholds, acting on all
    rows loses more than the picture of net benefits can show.

    Parameters
    ----------
    curve : DecisionCurve or CostCurve
        Returned by `decision_curve` or `cost_curve` of `abers.evaluation`.
    before : DecisionCurve or CostCurve, default=None
        The curve of the same rows before calibration.
    name : str, default=None
        Name of the predictions.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    line_, treat_all_, treat_none_, before_ : matplotlib Line2D
        The curves; the last one only if there is one before.

    Examples
    --------
    >>> from abers.plots import DecisionCurveDisplay
    >>> y, p = [0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9]
    >>> display = DecisionCurveDisplay.from_predictions(y, p, thresholds=[0.2, 0.5])
    >>> display.line_.get_ydata()  # 2 hits, 1 false alarm at prices of 1/4 and 1
    array([0.4375, 0.25  ])
    >>> display = DecisionCurveDisplay.from_predictions(
    ...     y, p, kind="cost", thresholds=[0.2, 0.75]
    ... )
    >>> display.line_.get_ydata()  # 1 false alarm at 0.2, 1 miss at 0.25, of 4 rows
    array([0.05  , 0.0625])
    >>> import matplotlib.pyplot as plt
    >>> plt.close("all")
    """

    size = (_style.WIDTH, 4.2)

    line_: Line2D
    treat_all_: Line2D
    treat_none_: Line2D
    before_: Line2D

    def __init__(
        self,
        curve: DecisionCurve | CostCurve,
        *,
        before: DecisionCurve | CostCurve | None = None,
        name: str | None = None,
    ) -> None:
        self.curve = curve
        self.before = before
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        before: ArrayLike | None = None,
        kind: CurveKind = "net_benefit",
        thresholds: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Self:
        """Compute the curve from labels and probabilities, and draw it.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1, or any two with `pos_label`.
        p : array-like of shape (n,)
            Probabilities of label 1, or of `pos_label`.
        before : array-like of shape (n,), default=None
            Probabilities before calibration, drawn as well.
        kind : {"net_benefit", "cost"}, default="net_benefit"
            What to draw by threshold.
        thresholds : array-like of shape (m,), default=None
            From 0 to 1, net benefits below 1; None takes every hundredth.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        name : str, default=None
            Name of the predictions.
        pos_label : object, default=None
            Label to which the probabilities belong; None if labels are 0 and 1.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        validation.check_choice(kind, tuple(KINDS), "kind")
        labels = _base.binary_labels(y, pos_label)
        options = {"thresholds": thresholds, "sample_weight": sample_weight}
        earlier = None
        if before is not None:
            earlier = KINDS[kind](labels, before, **options)
        curve = KINDS[kind](labels, p, **options)
        return cls(curve, before=earlier, name=name).plot(ax=ax, theme=theme)

    def _check(self) -> None:
        if not isinstance(self.curve, DecisionCurve | CostCurve):
            msg = (
                "curve must be a DecisionCurve or a CostCurve; got a "
                f"{type(self.curve).__name__}."
            )
            raise InvalidType(msg)
        if self.before is not None:
            validation.check_type(self.before, type(self.curve), "before")

    def _draw(self, ax: Axes, look: Theme) -> None:
        curves = [c for c in (self.before, self.curve) if c is not None]
        highest_drawn = max(float(_height(c).max()) for c in curves)
        treat_all, treat_none = self.curve.treat_all, self.curve.treat_none
        ax.set_xlabel("threshold probability")
        if isinstance(self.curve, DecisionCurve):
            ax.set_ylabel("net benefit")
            highest = max(highest_drawn, float(treat_all.max()), 0.0) or 1.0
            ax.set_ylim(-BELOW * highest, ABOVE * highest)
        else:
            ax.set_ylabel("mean cost")
            # Where acting always and never cost the same, no useful prediction costs
            # more.
            useless = float(treat_all.clip(max=treat_none).max())
            highest = max(useless, highest_drawn) or 1.0
            ax.set_ylim(-0.02 * highest, ABOVE * highest)
        _style.legend(ax, self._draw_lines(ax, look), look)

    def _draw_lines(self, ax: Axes, look: Theme) -> list[tuple[Artist, str]]:
        """Draw all curves; return the legend entries."""

        def line(curve: Any, values: FloatArray, colour: str, **pen: Any) -> Line2D:
            order = curve.thresholds.argsort(kind="stable")
            x, y = curve.thresholds[order], values[order]
            return ax.plot(x, y, color=colour, **pen)[0]

        curve, is_alone = self.curve, self.before is None
        width = 1.6 if is_alone else 1.2
        dotted: Any = {"linewidth": 1.2, "linestyle": _style.DOTTED}
        dashed: Any = {"linewidth": width, "linestyle": _style.DASHED}
        self.treat_none_ = line(curve, curve.treat_none, look.soft, **dotted)
        colour = look.accent if is_alone else look.soft
        self.treat_all_ = line(curve, curve.treat_all, colour, **dashed)
        entries: list[tuple[Artist, str]] = []
        if self.before is not None:
            earlier = _height(self.before)
            self.before_ = line(self.before, earlier, look.accent, linewidth=1.4)
            entries = [(self.before_, "before")]
        self.line_ = line(curve, _height(curve), look.strong, linewidth=1.8)
        name = "predictions" if is_alone else "after"
        return [
            *entries,
            (self.line_, name if self.name is None else shown(self.name)),
            (self.treat_all_, "treat all"),
            (self.treat_none_, "treat none"),
        ]


def _height(curve: DecisionCurve | CostCurve) -> FloatArray:
    """Return the heights of a curve."""
    return curve.net_benefit if isinstance(curve, DecisionCurve) else curve.cost
