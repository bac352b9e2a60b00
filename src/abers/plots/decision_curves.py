"""Decision curves: the net benefit and the mean cost of acting on predictions."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from abers import validation
from abers.evaluation import CostCurve, DecisionCurve, cost_curve, decision_curve
from abers.plots import _curves, _style
from abers.plots._style import shown

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from abers.plots._style import Theme
    from abers.validation import FloatArray

BELOW = 0.15  # of the height, shown below 0
ABOVE = 1.05  # of the highest point of the predictions' curve


class _ThresholdDisplay(_style.AxesDisplay):
    """A curve over the threshold, beside those of acting always and never."""

    size = (_style.WIDTH, 4.0)

    _drawn: ClassVar[type]  # the kind of its curves
    line_: Line2D
    treat_all_: Line2D
    treat_none_: Line2D
    before_: Line2D

    def __init__(
        self, curve: Any, *, before: Any = None, name: str | None = None
    ) -> None:
        self.curve = curve
        self.before = before
        self.name = name

    def _check(self) -> None:
        validation.check_type(self.curve, self._drawn, "curve")
        if self.before is not None:
            validation.check_type(self.before, self._drawn, "before")

    @staticmethod
    @abstractmethod
    def _computed(y: ArrayLike, p: ArrayLike, **options: Any) -> Any:
        """Return the curve of labels and probabilities."""

    @staticmethod
    @abstractmethod
    def _height(curve: Any) -> FloatArray:
        """Return what is drawn of a curve."""

    @classmethod
    def from_curve(
        cls,
        curve: Any,
        *,
        before: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Draw a curve that is computed already.

        Parameters
        ----------
        curve : curve
            Of the function in `abers.evaluation` that the display is named after.
        before : curve, default=None
            Of the same rows before calibration, to be drawn beside it.
        name : str, default=None
            What the predictions are called.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        return cls(curve, before=before, name=name).plot(ax=ax, theme=theme)

    @classmethod
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
        p : array-like of shape (n,)
            Probabilities of label 1, or of `pos_label`.
        thresholds : array-like of shape (m,), default=None
            From 0 to 1, net benefits below 1; None takes every hundredth.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        name : str, default=None
            What the predictions are called.
        pos_label : object, default=None
            Label that the probabilities are of; None if the labels are 0 and 1.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        labels = _curves.binary_labels(y, pos_label)
        curve = cls._computed(
            labels, p, thresholds=thresholds, sample_weight=sample_weight
        )
        return cls.from_curve(curve, name=name, ax=ax, theme=theme)

    @classmethod
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
        """Ask a fitted classifier, and draw its curve for one class.

        Parameters
        ----------
        model : classifier
            Fitted, with `predict_proba` and `classes_`.
        X : array-like
            Features, or scores, of held-out rows.
        y : array-like of shape (n,)
            Their labels, members of `model.classes_`.
        thresholds : array-like of shape (m,), default=None
            From 0 to 1, net benefits below 1; None takes every hundredth.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        name : str, default=None
            What the predictions are called; None takes the name of the class.
        pos_label : object, default=None
            Class whose probabilities are drawn; None is `model.classes_[1]` of two.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
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

    def _draw_lines(self, ax: Axes, look: Theme, place: str) -> None:
        curve = self.curve
        order = curve.thresholds.argsort(kind="stable")
        t = curve.thresholds[order]
        is_alone = self.before is None
        (self.treat_none_,) = ax.plot(
            t,
            curve.treat_none[order],
            color=look.soft,
            linewidth=1 if is_alone else 1.2,
            linestyle=_style.DOTTED,
        )
        (self.treat_all_,) = ax.plot(
            t,
            curve.treat_all[order],
            color=look.accent if is_alone else look.soft,
            linewidth=1.6 if is_alone else 1.2,
            linestyle=_style.DASHED,
        )
        entries: list[tuple[Artist, str]] = []
        if self.before is not None:
            earlier = self.before.thresholds.argsort(kind="stable")
            (self.before_,) = ax.plot(
                self.before.thresholds[earlier],
                self._height(self.before)[earlier],
                color=look.accent,
                linewidth=1.4,
            )
            entries = [(self.before_, "before")]
        (self.line_,) = ax.plot(
            t, self._height(curve)[order], color=look.strong, linewidth=1.8
        )
        name = "predictions" if is_alone else "after"
        entries = [
            *entries,
            (self.line_, name if self.name is None else shown(self.name)),
            (self.treat_all_, "treat all"),
            (self.treat_none_, "treat none"),
        ]
        _style.legend(ax, entries, look, loc=place)


class DecisionCurveDisplay(_ThresholdDisplay):
    """Draw the net benefit of acting on predictions, on all cases and on none.

    Predictions are of use at the thresholds where their curve is the highest of the
    three. Treating all loses more than the picture shows where the threshold is high.

    Parameters
    ----------
    curve : DecisionCurve
        Of `abers.evaluation.decision_curve`.
    before : DecisionCurve, default=None
        Of the same rows before calibration, to be drawn beside it.
    name : str, default=None
        What the predictions are called.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    line_, treat_all_, treat_none_, before_ : matplotlib Line2D
        The curves; the last one only if there is one before.

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

    _drawn = DecisionCurve

    @staticmethod
    def _computed(y: ArrayLike, p: ArrayLike, **options: Any) -> DecisionCurve:
        return decision_curve(y, p, **options)

    @staticmethod
    def _height(curve: DecisionCurve) -> FloatArray:
        return curve.net_benefit

    def _draw(self, ax: Axes, look: Theme) -> None:
        self._draw_lines(ax, look, "upper right")
        curves = [self.curve] if self.before is None else [self.before, self.curve]
        tops = [c.net_benefit.max() for c in curves]
        highest = float(max(*tops, self.curve.treat_all.max(), 0.0)) or 1.0
        ax.set_ylim(-BELOW * highest, ABOVE * highest)
        ax.set(xlabel="threshold probability", ylabel="net benefit")


class CostCurveDisplay(_ThresholdDisplay):
    """Draw the mean cost of acting on predictions, on all cases and on none.

    A false alarm costs the threshold, a miss the rest of 1. The area below the curve is
    half the Brier loss; predictions are of use where their curve is the lowest.

    Parameters
    ----------
    curve : CostCurve
        Of `abers.evaluation.cost_curve`.
    before : CostCurve, default=None
        Of the same rows before calibration, to be drawn beside it.
    name : str, default=None
        What the predictions are called.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
    line_, treat_all_, treat_none_, before_ : matplotlib Line2D
        The curves; the last one only if there is one before.

    Examples
    --------
    >>> from abers.plots import CostCurveDisplay
    >>> y, p = [0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9]
    >>> display = CostCurveDisplay.from_predictions(y, p, thresholds=[0.2, 0.75])
    >>> display.line_.get_ydata()  # 1 false alarm at 0.2, 1 miss at 0.25, of 4 rows
    array([0.05  , 0.0625])
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    _drawn = CostCurve

    @staticmethod
    def _computed(y: ArrayLike, p: ArrayLike, **options: Any) -> CostCurve:
        return cost_curve(y, p, **options)

    @staticmethod
    def _height(curve: CostCurve) -> FloatArray:
        return curve.cost

    def _draw(self, ax: Axes, look: Theme) -> None:
        # The two straight lines leave the picture on the side of the rarer label.
        rare = self.curve.treat_none.max() < self.curve.treat_all.max()
        self._draw_lines(ax, look, "upper right" if rare else "upper left")
        curves = [self.curve] if self.before is None else [self.before, self.curve]
        # Where acting always meets never, no prediction of use costs more.
        useless = self.curve.treat_all.clip(max=self.curve.treat_none).max()
        highest = float(max(useless, *(c.cost.max() for c in curves))) or 1.0
        ax.set_ylim(-0.02 * highest, 1.4 * highest)
        ax.set(xlabel="threshold probability", ylabel="mean cost")
