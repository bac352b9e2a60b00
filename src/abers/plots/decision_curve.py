"""Decision curve: the net benefit of acting on predictions, by threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abers.evaluation import decision_curve
from abers.plots import _curves, _style
from abers.plots._documented import documented
from abers.plots._style import shown

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from abers.evaluation import DecisionCurve
    from abers.plots._style import Theme

BELOW = 0.15  # of the height, shown below 0


class DecisionCurveDisplay(_style.AxesDisplay):
    """Draw the net benefit of acting on predictions, on all cases and on none.

    Predictions are of use at the thresholds where their curve is the highest of the
    three. Treating all loses more than the picture shows where the threshold is high.

    Parameters
    ----------
    curve : DecisionCurve
        Of `abers.evaluation.decision_curve`.
    name : str, default=None
        What the predictions are called.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    line_, treat_all_, treat_none_ : matplotlib Line2D
        The curves.

    Examples
    --------
    >>> from abers.plots import DecisionCurveDisplay
    >>> y, p = [0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9]
    >>> display = DecisionCurveDisplay.from_predictions(y, p, thresholds=[0.2, 0.5])
    >>> display.line_.get_ydata()  # 2 hits, 1 false alarm at prices of 1/4 and 1
    array([0.4375, 0.25  ])
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (_style.WIDTH, 4.0)

    line_: Line2D
    treat_all_: Line2D
    treat_none_: Line2D

    def __init__(self, curve: DecisionCurve, *, name: str | None = None) -> None:
        self.curve = curve
        self.name = name

    @classmethod
    @documented
    def from_curve(
        cls,
        curve: DecisionCurve,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Draw a curve that is computed already.

        Parameters
        ----------
        curve : DecisionCurve
            Of `abers.evaluation.decision_curve`.
        name : str, default=None
            What the predictions are called.
        """
        return cls(curve, name=name).plot(ax=ax, theme=theme)

    @classmethod
    @documented
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        thresholds: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Compute the curve of labels and probabilities, and draw it.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1, or any two with `pos_label`.
        pos_label : object, default=None
            The label that the probabilities are of; None: labels are 0 and 1.
        thresholds : array-like of shape (m,), default=None
            At least 0 and below 1; None takes 0, 0.01, … 0.99.
        name : str, default=None
            What the predictions are called.
        """
        labels = _curves.binary_labels(y, pos_label)
        curve = decision_curve(
            labels, p, thresholds=thresholds, sample_weight=sample_weight
        )
        return cls.from_curve(curve, name=name, ax=ax, theme=theme)

    @classmethod
    @documented
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        *,
        thresholds: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        name: str | None = None,
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Ask a fitted classifier, and draw its decision curve for one class.

        Parameters
        ----------
        thresholds : array-like of shape (m,), default=None
            At least 0 and below 1; None takes 0, 0.01, … 0.99.
        name : str, default=None
            What the predictions are called; None takes the name of the class.
        """
        labels, p = _curves.binary_predictions(model, X, y, pos_label)
        return cls.from_predictions(
            labels,
            p,
            thresholds=thresholds,
            sample_weight=sample_weight,
            name=type(model).__name__ if name is None else name,
            ax=ax,
            theme=theme,
        )

    def _draw(self, ax: Axes, look: Theme) -> None:
        curve = self.curve
        order = curve.thresholds.argsort(kind="stable")
        t = curve.thresholds[order]
        (self.treat_none_,) = ax.plot(
            t,
            curve.treat_none[order],
            color=look.soft,
            linewidth=1,
            linestyle=_style.DOTTED,
        )
        (self.treat_all_,) = ax.plot(
            t,
            curve.treat_all[order],
            color=look.accent,
            linewidth=1.6,
            linestyle=_style.DASHED,
        )
        (self.line_,) = ax.plot(
            t, curve.net_benefit[order], color=look.strong, linewidth=1.8
        )
        highest = float(max(curve.net_benefit.max(), curve.treat_all.max(), 0.0)) or 1.0
        ax.set_ylim(-BELOW * highest, 1.05 * highest)
        ax.set(xlabel="threshold probability", ylabel="net benefit")
        name = "predictions" if self.name is None else shown(self.name)
        entries: list[tuple[Artist, str]] = [
            (self.line_, name),
            (self.treat_all_, "treat all"),
            (self.treat_none_, "treat none"),
        ]
        _style.key(ax, entries, look, loc="upper right")
