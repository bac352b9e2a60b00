"""Reliability: observed rates by predicted probability, overall and in panels."""

from __future__ import annotations

from dataclasses import replace
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core.group_names import as_groups
from abers.evaluation.counts import counted, with_weight
from abers.evaluation.groups import evaluate_groups
from abers.evaluation.predictor import predictions_of
from abers.evaluation.reliability import curve_of
from abers.plots import _base, _curves, _style
from abers.plots._panels import MOST, Panels, panels_of
from abers.plots._style import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from abers.choices import ThemeName
    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve
    from abers.plots._style import Theme
    from abers.validation import FloatArray

    Entries = list[tuple[Artist, str]]  # of a legend

# The strips of two curves, one above the other.
_MIDDLE = (_curves.TOP + _curves.BOTTOM) / 2
SPANS = ((_MIDDLE + 0.01, _curves.TOP), (_curves.BOTTOM, _MIDDLE - 0.01))


class ReliabilityDisplay(_base.Display):
    """Draw the CORP reliability curve with its consistency band.

    The band is where the curve would lie if the probabilities were calibrated, for each
    prediction separately: with a confidence of 90 %, about a tenth of the points of a
    calibrated curve lie outside. If many neighbouring points do, or some lie far
    outside, the probabilities are miscalibrated. A histogram below shows how often each
    probability was predicted.

    With more than two classes the curve is that of the top label: of the rows for which
    the highest probability was 0.8, eight in ten should be of that class. That says
    nothing about the other classes; `ClassesDisplay` draws each of them.

    Parameters
    ----------
    curve : ReliabilityCurve
        Returned by `abers.evaluation.reliability.reliability_curve`.
    band : ConsistencyBand, default=None
        Returned by `abers.evaluation.reliability.consistency_band`; None draws none.
    before : ReliabilityCurve, default=None
        The curve of the same rows before calibration; None draws none.
    name : str, default=None
        Name of the curve; None calls it "after" if there is one before.
    before_name : str, default="before"
        Name of the curve before calibration.
    histograms : sequence of array-like, default=None
        Shares of the rows in bins of equal width from 0 to 1, for `before` if there is
        one and for `curve`, if the curves are thinned; None counts their weights.
    top_label : bool, default=False
        Whether the probabilities are those of the most probable of several classes.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    line_, before_ : matplotlib Line2D
        The curves; the second one only if given.
    fill_ : matplotlib PolyCollection
        The band, if there is one.

    Examples
    --------
    >>> from abers.plots import ReliabilityDisplay
    >>> y, p = [0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8]
    >>> display = ReliabilityDisplay.from_predictions(y, p)
    >>> display.line_.get_ydata()  # half of those with 0.4
    array([0. , 0.5, 1. ])

    Of three classes, one of two is right at 0.5: "a", the first of a tie.

    >>> p = [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]
    >>> display = ReliabilityDisplay.from_predictions(["a", "b", "c"], p)
    >>> display.line_.get_data()
    (array([0.5 , 0.75]), array([0.5, 1. ]))
    >>> import matplotlib.pyplot as plt
    >>> plt.close("all")
    """

    size = (_style.WIDTH, 4.8)

    line_: Line2D
    before_: Line2D
    fill_: PolyCollection

    def __init__(
        self,
        curve: ReliabilityCurve,
        band: ConsistencyBand | None = None,
        *,
        before: ReliabilityCurve | None = None,
        name: str | None = None,
        before_name: str = "before",
        histograms: Sequence[ArrayLike] | None = None,
        top_label: bool = False,
    ) -> None:
        self.curve = curve
        self.band = band
        self.before = before
        self.name = name
        self.before_name = before_name
        self.histograms = histograms
        self.top_label = top_label

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        *,
        before: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        confidence: float | None = 0.9,
        name: str | None = None,
        before_name: str = "before",
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Self:
        """Compute the curve from labels and probabilities, and draw it.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1, or any two with `pos_label`, or those of several classes.
        p : array-like of shape (n,) or (n, C)
            Probabilities of label 1, or of `pos_label`; or of each class.
        before : array-like of the shape of `p`, default=None
            Probabilities before calibration, drawn as well.
        classes : array-like of shape (C,), default=None
            Labels of the columns of `p`; None takes those in `y`, ascending.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        confidence : float, default=0.9
            Confidence level of the band; None draws no band.
        name : str, default=None
            Name of the curve.
        before_name : str, default="before"
            Name of the curve before calibration.
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
        top_label = np.ndim(p) == 2
        rows: list[tuple[Any, Any]]
        if top_label:
            after = predictions_of(None, p, y, classes=classes, before=before, name="p")
            after = replace(after, shown=None)  # the top label, with two classes, too
            both = (after.earlier, after)
            rows = [each.column() for each in both if each is not None]
        else:
            labels = _base.binary_labels(y, pos_label)
            rows = [(labels, column) for column in (before, p) if column is not None]
        columns = [counted(*column, sample_weight) for column in rows]
        *earlier, curve = (curve_of(column.diagram) for column in columns)
        return cls(
            curve,
            _curves.band_of(*columns[-1][:2], confidence),
            before=earlier[0] if earlier else None,
            name=name,
            before_name=before_name,
            top_label=top_label,
        ).plot(ax=ax, theme=theme)

    @classmethod
    def _predictions(
        cls, model: Any, X: Any, y: ArrayLike, pos_label: Any
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Return a classifier's probabilities, and any before calibration."""
        if pos_label is None and len(model.classes_) > 2:
            every = predictions_of(model, X, y)
            more = {"classes": model.classes_, "before": every.before}
            return y, every.probabilities, more
        predictions = _base.predictions_of_class(model, X, y, pos_label)
        labels, p = predictions.column()
        if (earlier := predictions.earlier) is None:
            return labels, p, {"name": type(model).__name__}
        return labels, p, {"before": earlier.column().probabilities}

    @staticmethod
    def by_group(
        y: ArrayLike,
        p: ArrayLike,
        groups: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        confidence: float | None = 0.9,
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Panels:
        """Draw a curve for each group, the worst first, one panel each.

        Probabilities may be calibrated overall but not in each group. The worst group
        has the most standard errors between its mean probability and the observed rate,
        as in the table of `abers.evaluate`. Groups with fewer than five zeros or ones,
        both expected and observed, come last.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1, or any two with `pos_label`.
        p : array-like of shape (n,)
            Probabilities of label 1, or of `pos_label`.
        groups : array-like of shape (n,)
            Group of each row: text, integers, floats or booleans, all of one type.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        confidence : float, default=0.9
            Confidence level of the bands; None draws no bands.
        pos_label : object, default=None
            Label to which the probabilities belong; None if labels are 0 and 1.
        ax : matplotlib Axes, default=None
            Axes of a grid, replaced by the panels; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The panels, with their artists as attributes.

        Examples
        --------
        >>> from abers.plots import ReliabilityDisplay
        >>> y, p = [0, 1, 0, 1], [0.4, 0.6, 0.9, 0.9]
        >>> groups = ["shop", "shop", "web", "web"]
        >>> display = ReliabilityDisplay.by_group(y, p, groups)
        >>> [panel.name for panel in display.panels]
        ['web', 'shop']
        >>> import matplotlib.pyplot as plt
        >>> plt.close(display.figure_)
        """
        names = as_groups(groups)
        labels = _base.binary_labels(y, pos_label)
        predictions = predictions_of(None, p, labels, name="p")
        validation.check_length(len(names), predictions.n_rows, "groups", "p")
        predictions, weights, kept = with_weight(predictions, sample_weight)
        names = names if kept is None else [*compress(names, kept)]
        every, columns = evaluate_groups({None: names}, predictions, weights)
        panels = panels_of(columns[:MOST], confidence)
        display = Panels(panels, left_out=len(every) - len(panels))
        return display.plot(ax=ax, theme=theme)

    def _draw(self, ax: Axes, look: Theme) -> None:
        curves = [c for c in (self.before, self.curve) if c is not None]
        heights: list[FloatArray | None] = [None] * len(curves)
        if self.histograms is not None:
            heights = [np.asarray(bins) for bins in self.histograms]
        limit = _curves.limit_of(curves, heights)
        diagonal = _curves.frame(ax, look, limit)
        observed, across = _curves.OBSERVED, _curves.predicted(curves, limit)
        if self.top_label:
            observed, across = _curves.RIGHT, _curves.CONFIDENCE
        width = _style.width_of(ax.figure)
        ax.set(xlabel=_style.fitted(across, width), ylabel=observed)
        entries: Entries = [(diagonal, "calibrated")]
        if self.band is not None:
            self.fill_ = _curves.draw_band(ax, look, self.band, limit=limit)
            entries.insert(0, (self.fill_, _curves.band_label(self.band)))
        strip, span, name = look.bars, (_curves.BOTTOM, _curves.TOP), observed
        if self.before is not None:
            strip, span, name = look.strong, SPANS[1], "after"
            _curves.histogram(
                ax, look.accent, self.before, heights[0], limit=limit, span=SPANS[0]
            )
            self.before_ = _curves.draw_curve(
                ax, look.accent, self.before, linestyle=_style.DASHED
            )
        _curves.histogram(ax, strip, self.curve, heights[-1], limit=limit, span=span)
        self.line_ = _curves.draw_curve(ax, look.strong, self.curve)
        name = name if self.name is None else shown(self.name)
        entries.insert(0, (self.line_, name))
        if self.before is not None:
            entries.insert(0, (self.before_, shown(self.before_name)))
        _style.legend(ax, entries, look)
