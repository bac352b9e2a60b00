"""Reliability: what was predicted against what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers.evaluation.metrics import diagram_of, scatter_of
from abers.evaluation.reliability import consistency_of, curve_of
from abers.plots import curves, strip, style
from abers.plots.names import shown

if TYPE_CHECKING:
    from typing import Any, Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from numpy.typing import ArrayLike

    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve


class ReliabilityDisplay:
    """Draw the CORP reliability curve with its consistency band.

    The band is where the curve would be if the probabilities were calibrated, at each
    prediction on its own: with a confidence of 90 %, about a tenth of the points of a
    calibrated curve lie outside by chance. Where many points in a row do, or some by
    far, the probabilities are off. Below is how often each probability was predicted.

    Parameters
    ----------
    curve : ReliabilityCurve
        Of `abers.reliability.reliability_curve`.
    band : ConsistencyBand, default=None
        Of `abers.reliability.consistency_band`; None draws none.
    name : str, default=None
        What the curve is called.
    histogram : array-like, default=None
        Shares of the rows in bins of equal width from 0 to 1, if the curve is a thinned
        one; None counts the weights of the curve.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes that were drawn on.
    figure_ : matplotlib Figure
        Their figure.
    line_ : matplotlib Line2D
        The curve.
    fill_ : matplotlib Polygon
        The band, if there is one.

    Examples
    --------
    >>> from abers.plots import ReliabilityDisplay
    >>> y, p = [0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8]
    >>> display = ReliabilityDisplay.from_predictions(y, p)
    >>> display.line_.get_ydata()  # half of those with 0.4
    array([0. , 0.5, 1. ])
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    size = (style.WIDTH, 4.8)

    ax_: Axes
    figure_: Figure
    line_: Line2D
    fill_: Polygon

    def __init__(
        self,
        curve: ReliabilityCurve,
        band: ConsistencyBand | None = None,
        *,
        name: str | None = None,
        histogram: ArrayLike | None = None,
    ) -> None:
        self.curve = curve
        self.band = band
        self.name = name
        self.histogram = histogram

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        confidence: float | None = 0.9,
        name: str | None = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Compute the curve of labels and probabilities, and draw it.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1.
        p : array-like of shape (n,)
            Probabilities of label 1.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        confidence : float, default=0.9
            Of the band; None draws none.
        name : str, default=None
            What the curve is called.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        ReliabilityDisplay
            With the artists as attributes.
        """
        diagram = diagram_of(y, p, sample_weight)
        band = None
        if confidence is not None:
            scatter = scatter_of(diagram, p, sample_weight)
            band = consistency_of(diagram, scatter=scatter, confidence=confidence)
        return cls(curve_of(diagram), band, name=name).plot(ax=ax, theme=theme)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        confidence: float | None = 0.9,
        name: str | None = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Ask a fitted classifier of two classes, and draw how reliable it is.

        Parameters
        ----------
        model : classifier
            Fitted, with `predict_proba` and `classes_`.
        X : array-like
            Features of rows that were not used for fitting.
        y : array-like of shape (n,)
            Their labels; `model.classes_[1]` is the positive one.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        confidence : float, default=0.9
            Of the band; None draws none.
        name : str, default=None
            What the curve is called; None takes the name of the class.
        ax : matplotlib Axes, default=None
            Axes to draw on; None makes a new figure by pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        ReliabilityDisplay
            With the artists as attributes.
        """
        labels, p = curves.binary_predictions(model, X, y)
        return cls.from_predictions(
            labels,
            p,
            sample_weight=sample_weight,
            confidence=confidence,
            name=type(model).__name__ if name is None else name,
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
        ReliabilityDisplay
            Itself.
        """
        with style.canvas(ax, theme, self.size) as (axes, look):
            heights = None if self.histogram is None else np.asarray(self.histogram)
            limit = curves.limit_of([self.curve], [heights])
            diagonal = curves.frame(axes, look, limit)
            label = curves.predicted([self.curve], limit)
            axes.set(xlabel=label, ylabel=curves.OBSERVED)
            strip.histogram(axes, look.bars, self.curve, heights, limit=limit)
            self.line_ = curves.draw_curve(axes, look.strong, self.curve, limit=limit)
            label = curves.OBSERVED if self.name is None else shown(self.name)
            entries: list[tuple[Artist, str]] = [
                (self.line_, label),
                (diagonal, "calibrated"),
            ]
            if self.band is not None:
                self.fill_ = curves.draw_band(axes, look, self.band, limit=limit)
                label = f"{self.band.confidence:.0%} of curves, if calibrated"
                entries.insert(1, (self.fill_, label))
            place = curves.free_corner([self.curve], limit)
            style.key(axes, entries, look, **place)
        self.ax_, self.figure_ = axes, style.figure_of(axes)
        return self
