"""Before and after: two reliability curves and one diagonal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers.errors import InvalidParameter
from abers.evaluation.reliability import reliability_curve
from abers.plots import curves, strip, style
from abers.plots.names import shown

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from abers.evaluation.reliability import ReliabilityCurve
    from abers.validation import FloatArray


_MIDDLE = (strip.TOP + strip.BOTTOM) / 2
SPANS = ((_MIDDLE + 0.01, strip.TOP), (strip.BOTTOM, _MIDDLE - 0.01))


class BeforeAfterDisplay:
    """Draw how reliable probabilities were before calibration, and are after it.

    Below is how often each probability was predicted, before (above) and after.

    Parameters
    ----------
    before, after : ReliabilityCurve
        Of `abers.reliability.reliability_curve`, on the same rows.
    names : tuple of two str, default=("before", "after")
        What the two are called.
    histograms : tuple of two array-like, default=None
        Shares of the rows in bins of equal width from 0 to 1, if the curves are thinned
        ones; None counts the weights of the curves.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn on.
    figure_ : matplotlib Figure
        Their figure.
    before_, after_ : matplotlib Line2D
        The curves.

    Examples
    --------
    >>> from abers.plots import BeforeAfterDisplay
    >>> y, before, after = [0, 0, 1], [0.5, 0.5, 0.9], [0.0, 0.0, 1.0]
    >>> display = BeforeAfterDisplay.from_predictions(y, before, after)
    >>> display.before_.get_xdata(), display.after_.get_xdata()
    (array([0.5, 0.9]), array([0., 1.]))
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (style.WIDTH, 4.8)

    ax_: Axes
    figure_: Figure
    before_: Line2D
    after_: Line2D

    def __init__(
        self,
        before: ReliabilityCurve,
        after: ReliabilityCurve,
        *,
        names: tuple[str, str] = ("before", "after"),
        histograms: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        self.before = before
        self.after = after
        self.names = names
        self.histograms = histograms

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        before: ArrayLike,
        after: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        names: tuple[str, str] = ("before", "after"),
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Compute both curves on the same labels, and draw them.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1, of rows that were not used for fitting.
        before, after : array-like of shape (n,)
            Probabilities of label 1.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        names : tuple of two str, default=("before", "after")
            What the two are called.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        BeforeAfterDisplay
            With the artists as attributes.
        """
        both = (
            reliability_curve(y, p, sample_weight=sample_weight)
            for p in (before, after)
        )
        return cls(*both, names=names).plot(ax=ax, theme=theme)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        names: tuple[str, str] = ("before", "after"),
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Ask one of our classifiers, and those within it, and draw both.

        Parameters
        ----------
        model : IVAPClassifier, CVAPClassifier or IVAPCalibrator
            Fitted, with two classes. Before is the mean of what the classifiers within
            it say on their own; for a calibrator, the scores if they are probabilities.
        X : array-like
            Features, or scores, of rows that were not used for fitting.
        y : array-like of shape (n,)
            Their labels; `model.classes_[1]` is the positive one.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        names : tuple of two str, default=("before", "after")
            What the two are called.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        BeforeAfterDisplay
            With the artists as attributes.
        """
        said = curves.answers_of(model, X, y)
        if said.before is None or said.probabilities is None:
            msg = (
                "model must tell probabilities before calibration; got a "
                f"{type(model).__name__} that does not. Give both to from_predictions."
            )
            raise InvalidParameter(msg)
        return cls.from_predictions(
            said.labels,
            said.before,
            said.probabilities,
            sample_weight=sample_weight,
            names=names,
            ax=ax,
            theme=theme,
        )

    def plot(self, *, ax: Axes | None = None, theme: str = "light") -> Self:
        """Draw what was computed.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        BeforeAfterDisplay
            Itself.
        """
        both = (self.before, self.after)
        with style.canvas(ax, theme, self.size) as (axes, look):
            limit = curves.limit_of(both, self._heights())
            diagonal = curves.frame(axes, look, limit)
            axes.set(xlabel=curves.predicted(both, limit), ylabel=curves.OBSERVED)
            looks = ((look.accent, style.DASHED), (look.strong, "-"))
            lines = []
            for curve, heights, span, (colour, dashes) in zip(
                both, self._heights(), SPANS, looks, strict=True
            ):
                strip.histogram(axes, colour, curve, heights, limit=limit, span=span)
                lines.append(
                    curves.draw_curve(
                        axes, colour, curve, limit=limit, linestyle=dashes
                    )
                )
            entries = [
                (line, shown(name))
                for line, name in zip(lines, self.names, strict=True)
            ]
            entries.append((diagonal, "calibrated"))
            place = curves.free_corner(both, limit)
            style.key(axes, entries, look, **place)
        self.before_, self.after_ = lines
        self.ax_, self.figure_ = axes, style.figure_of(axes)
        return self

    def _heights(self) -> list[FloatArray | None]:
        if self.histograms is None:
            return [None, None]
        return [np.asarray(heights) for heights in self.histograms]
