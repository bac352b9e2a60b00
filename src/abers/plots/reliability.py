"""Reliability: observed rates by predicted probability, overall and in panels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core.rule_set import as_groups
from abers.errors import InvalidParameter
from abers.evaluation.classwise import evaluate_classes
from abers.evaluation.counts import diagram_of, scatter_of
from abers.evaluation.groups import count_groups, evaluate_groups
from abers.evaluation.predictor import predictions_of
from abers.evaluation.reliability import consistency_of, curve_of
from abers.formatting import group_name
from abers.plots import _base, _curves, _style
from abers.plots._style import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import FigureBase
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from abers.choices import ThemeName
    from abers.core.diagram import Diagram
    from abers.evaluation.evaluate import Evaluation
    from abers.evaluation.groups import CountedGroup
    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve
    from abers.plots._style import Theme
    from abers.validation import FloatArray, IntArray

    Entries = list[tuple[Artist, str]]  # of a legend

# The strips of two curves, one above the other.
_MIDDLE = (_curves.TOP + _curves.BOTTOM) / 2
SPANS = ((_MIDDLE + 0.01, _curves.TOP), (_curves.BOTTOM, _MIDDLE - 0.01))
CONFIDENCE = "probability of the most probable class"
RIGHT = "share of rows of that class"

MOST = 12  # panels that are drawn
COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 9: 3}  # else four
NARROWEST = 1.4  # inches for a panel and its labels


class ReliabilityDisplay(_base.PredictionDisplay):
    """Draw the CORP reliability curve with its consistency band.

    The band is where the curve would be if the probabilities were calibrated, at each
    prediction on its own: with a confidence of 90 %, about a tenth of the points of a
    calibrated curve lie outside by chance. Where many points in a row do, or some by
    far, the probabilities are off. Below is how often each probability was predicted.

    With more than two classes the curve is that of the top label: of the rows for which
    the highest probability was 0.8, eight in ten should be of that class. That says
    nothing about the other classes; `by_class` draws each of them.

    Parameters
    ----------
    curve : ReliabilityCurve
        Returned by `abers.evaluation.reliability.reliability_curve`.
    band : ConsistencyBand, default=None
        Returned by `abers.evaluation.reliability.consistency_band`; None draws none.
    before : ReliabilityCurve, default=None
        The curve of the same rows before calibration; None draws none.
    name : str, default=None
        Name of the curve; None calls it "after" beside one before.
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
        What was drawn on.
    line_, before_ : matplotlib Line2D
        The curves, the second one if there is one.
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
        """Compute the curve of labels and probabilities, and draw it.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1, or any two with `pos_label`, or those of several classes.
        p : array-like of shape (n,) or (n, C)
            Probabilities of label 1, or of `pos_label`; or of each class.
        before : array-like of the shape of `p`, default=None
            Probabilities before calibration, drawn beside those after.
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
        top_label = np.ndim(p) == 2
        rows: list[tuple[Any, Any]]
        if top_label:
            after = predictions_of(None, p, y, classes=classes, before=before, name="p")
            after = replace(after, shown=None)  # of two classes, the top label, too
            both = (after.earlier, after)
            rows = [each.column() for each in both if each is not None]
        else:
            labels = _base.binary_labels(y, pos_label)
            rows = [(labels, column) for column in (before, p) if column is not None]
        diagrams = [diagram_of(*column, sample_weight) for column in rows]
        *earlier, curve = map(curve_of, diagrams)
        return cls(
            curve,
            _band_of(
                diagrams[-1],
                scatter_of(diagrams[-1], rows[-1][1], sample_weight),
                confidence,
            ),
            before=earlier[0] if earlier else None,
            name=name,
            before_name=before_name,
            top_label=top_label,
        ).plot(ax=ax, theme=theme)

    @classmethod
    def _predictions(
        cls, model: Any, X: Any, y: ArrayLike, pos_label: Any
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Return what a classifier gives; ours give what there was before, too."""
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
    ) -> PanelsDisplay:
        """Draw a curve for each group, the worst first, in a panel of its own.

        Calibrated on the whole is not calibrated in each group. Worst means: most
        standard errors between the mean probability and the observed rate, as in the
        table of `abers.evaluate`. Groups where fewer than five zeros or ones were both
        expected and observed come last.

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
            Label that the probabilities are of; None if the labels are 0 and 1.
        ax : matplotlib Axes, default=None
            Axes of a grid, replaced by the panels; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        PanelsDisplay
            The display, with its artists as attributes.

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
        weights, rows = _weights(sample_weight, predictions.n_rows)
        if rows is not None:
            predictions = predictions.taken(rows)
            names = [names[row] for row in rows]
        every = evaluate_groups(names, predictions, weights)
        worst = [group.name for group in every[:MOST]]
        panels = _panels(count_groups(worst, names, predictions, weights), confidence)
        display = PanelsDisplay(panels, left_out=len(every) - len(panels))
        return display.plot(ax=ax, theme=theme)

    @staticmethod
    def by_class(
        y: ArrayLike,
        p: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> PanelsDisplay:
        """Draw each class against the rest, the worst first, in a panel of its own.

        A panel names the rows of its class. Worst means: most standard errors between
        the mean probability of a class and the share of its rows, as in the table of
        `abers.evaluate`.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels.
        p : array-like of shape (n, C)
            Probabilities of each class.
        classes : array-like of shape (C,), default=None
            Labels of the columns; None takes those in `y`, ascending.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        ax : matplotlib Axes, default=None
            Axes of a grid, replaced by the panels; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        PanelsDisplay
            The display, with its artists as attributes.

        Examples
        --------
        >>> from abers.plots import ReliabilityDisplay
        >>> p = [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.0, 0.25, 0.75]]
        >>> display = ReliabilityDisplay.by_class(["a", "b", "c"], p)
        >>> sorted(panel.name for panel in display.panels)
        ['a', 'b', 'c']
        >>> import matplotlib.pyplot as plt
        >>> plt.close(display.figure_)
        """
        predictions = predictions_of(None, p, y, classes=classes, name="p")
        weights, rows = _weights(sample_weight, predictions.n_rows)
        if rows is not None:
            predictions = predictions.taken(rows)
        every = evaluate_classes(predictions, weights)
        panels = [Panel(c.name, c.curve, c.consistency, c.n_rows) for c in every[:MOST]]
        left_out = len(every) - len(panels)
        display = PanelsDisplay(panels, left_out=left_out, what="classes")
        return display.plot(ax=ax, theme=theme)

    def _draw(self, ax: Axes, look: Theme) -> None:
        curves = [c for c in (self.before, self.curve) if c is not None]
        heights: list[FloatArray | None] = [None] * len(curves)
        if self.histograms is not None:
            heights = [np.asarray(bins) for bins in self.histograms]
        limit = _curves.limit_of(curves, heights)
        diagonal = _curves.frame(ax, look, limit)
        observed = RIGHT if self.top_label else _curves.OBSERVED
        across = CONFIDENCE if self.top_label else _curves.predicted(curves, limit)
        ax.set(xlabel=across, ylabel=observed)
        entries: Entries = [(diagonal, "calibrated")]
        if self.band is not None:
            self.fill_ = _curves.draw_band(ax, look, self.band, limit=limit)
            entries.insert(0, (self.fill_, _band_label(self.band)))
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


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """What is drawn of a group, or of a class."""

    name: object  # None: the rows without a group
    curve: ReliabilityCurve
    band: ConsistencyBand | None = None
    rows: float | None = None  # that it is about; None: all of the curve


class PanelsDisplay(_base.Display):
    """Draw the reliability of groups or classes, each in a panel of its own.

    At most twelve are drawn, in the given order; how many are left out stands below.
    `ReliabilityDisplay.by_group` and `ReliabilityDisplay.by_class` make one.

    Parameters
    ----------
    panels : sequence of Panel
        A name, a curve and a band each.
    left_out : int, default=0
        How many are not among the panels.
    what : str, default="groups"
        What the panels are about.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each panel that is drawn.
    ax_, figure_ : matplotlib Axes and Figure
        The axes whose place the panels took, and their figure.
    lines_ : list of matplotlib Line2D
        The curves.

    Examples
    --------
    >>> from abers.plots import ReliabilityDisplay
    >>> y, p, shop = [0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], ["a", "a", "b", "b"]
    >>> len(ReliabilityDisplay.by_group(y, p, shop, confidence=None).axes_)
    2
    """

    axes_: list[Axes]
    lines_: list[Line2D]

    def __init__(
        self, panels: Sequence[Panel], *, left_out: int = 0, what: str = "groups"
    ) -> None:
        self.panels = panels
        self.left_out = left_out
        self.what = what

    @classmethod
    def from_evaluation(
        cls,
        evaluation: Evaluation,
        *,
        confidence: float | None = 0.9,
        ax: Axes | None = None,
        theme: ThemeName = "light",
    ) -> Self:
        """Draw the groups of an evaluation, in the order of its table.

        Parameters
        ----------
        evaluation : Evaluation
            Returned by `abers.evaluate` with `groups`.
        confidence : float, default=0.9
            Confidence level of the bands; None draws no bands.
        ax : matplotlib Axes, default=None
            Axes of a grid, replaced by the panels; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        panels = panels_of(evaluation, confidence)
        left_out = len(evaluation.groups) - len(panels)
        return cls(panels, left_out=left_out).plot(ax=ax, theme=theme)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure that fits all panels, in inches."""
        rows, columns = _grid(len(self.panels[:MOST]), _style.WIDTH)
        height = 0.9 + rows * (0.5 + (_style.WIDTH - NARROWEST) / columns)
        return _style.WIDTH, height

    def _check(self) -> None:
        if not self.panels:
            msg = f"panels must not be empty; got no {self.what} to draw."
            raise InvalidParameter(msg)

    def _draw(self, ax: Axes, look: Theme) -> None:
        panels = self.panels[:MOST]
        curves = [panel.curve for panel in panels]
        limit = _curves.limit_of(curves)
        home = _room_of(ax)
        width = _style.width_of(home)
        rows, columns = _grid(len(panels), width)
        grid = home.subplots(rows, columns, squeeze=False).ravel()
        self.axes_, self.lines_ = list(grid[: len(panels)]), []
        for empty in grid[len(panels) :]:
            empty.remove()
        for place, (panel, axes) in enumerate(zip(panels, self.axes_, strict=True)):
            line, entries = _draw(axes, look, panel, limit)
            self.lines_.append(line)
            axes.tick_params(
                labelleft=place % columns == 0,
                labelbottom=place + columns >= len(panels),
            )
            axes.tick_params(which="minor", labelleft=place % columns == 0)
        home.supylabel(_curves.OBSERVED, color=look.ink)
        text = _curves.predicted(curves, limit)
        text = _style.fitted(text, width) + _style.fitted(self._remark(), width)
        home.supxlabel(text, color=look.ink)
        columns = 1 if width < _style.NARROW else len(entries)
        _style.legend(home, entries, look, loc="outside upper left", ncols=columns)

    def _remark(self) -> str:
        """Say how many panels are not drawn."""
        drawn = len(self.panels[:MOST])
        missing = self.left_out + len(self.panels) - drawn
        if not missing:
            return ""
        every = f"{drawn} of {drawn + missing} {self.what}"
        return f"\n{every}, worst first; {missing} left out"


def panels_of(evaluation: Evaluation, confidence: float | None = 0.9) -> list[Panel]:
    """Return what is drawn of the groups of an evaluation."""
    return _panels(evaluation.counted_groups, confidence)


def _panels(groups: Sequence[CountedGroup], confidence: float | None) -> list[Panel]:
    return [
        Panel(name, curve_of(diagram), _band_of(diagram, scatter, confidence))
        for name, diagram, scatter in groups
    ]


def _weights(
    sample_weight: ArrayLike | None, size: int
) -> tuple[FloatArray | None, IntArray | None]:
    """Return the weights of the rows that have some, and the numbers of these rows."""
    if sample_weight is None:
        return None, None
    weights = validation.as_weights(sample_weight, size, other="labels")
    validation.check_total(weights, "sample_weight")
    rows = np.flatnonzero(weights)
    return weights[rows], rows


def _band_of(
    diagram: Diagram, scatter: FloatArray | None, confidence: float | None
) -> ConsistencyBand | None:
    """Compute a band, if one is wanted."""
    if confidence is None:
        return None
    return consistency_of(diagram, scatter=scatter, confidence=confidence)


def _band_label(band: ConsistencyBand) -> str:
    return f"{band.confidence:.0%} of curves, if calibrated"


def _grid(panels: int, width: float) -> tuple[int, int]:
    """Return rows and columns."""
    columns = min(COLUMNS.get(panels, 4), max(int(width / NARROWEST), 1))
    return -(-panels // columns), columns


def _room_of(ax: Axes) -> FigureBase:
    """Replace axes by a figure within their figure."""
    place = ax.get_subplotspec()
    if place is None:
        msg = "ax must belong to a grid, as those of plt.subplots do; got free axes."
        raise InvalidParameter(msg)
    figure = ax.figure
    ax.remove()
    return figure.add_subfigure(place, facecolor="none")


def _draw(ax: Axes, look: Theme, panel: Panel, limit: float) -> tuple[Line2D, Entries]:
    """Draw a panel; return its curve, and the legend of all panels."""
    _style.dress(ax, look)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    diagonal = _curves.frame(ax, look, limit, most=2)
    curve = panel.curve
    _curves.histogram(ax, look.bars, curve, limit=limit, bins=25)
    line = _curves.draw_curve(ax, look.strong, curve, linewidth=1.4, markersize=3)
    entries: Entries = [(line, _curves.OBSERVED), (diagonal, "calibrated")]
    if panel.band is not None:
        fill = _curves.draw_band(ax, look, panel.band, limit=limit)
        entries.insert(1, (fill, _band_label(panel.band)))
    name = shown(group_name(panel.name), longest=20)
    rows = curve.weights.sum() if panel.rows is None else panel.rows
    title = f"{name}\nn = {rows:,.7g}"
    ax.set_title(title, loc="left", color=look.ink, fontsize=_style.SMALL)
    return line, entries
