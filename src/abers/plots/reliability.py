"""Reliability: observed rates by predicted probability, overall and by group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers import validation
from abers.errors import InvalidParameter
from abers.evaluation import by_group
from abers.evaluation.counts import diagram_of, scatter_of
from abers.evaluation.groups import evaluate_groups
from abers.evaluation.predictor import Answers
from abers.evaluation.reliability import consistency_of, curve_of, reliability_curve
from abers.formatting import group_name
from abers.plots import _curves, _style
from abers.plots._style import check_two_names, shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.evaluation.evaluate import Evaluation
    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve
    from abers.plots._style import Theme
    from abers.validation import FloatArray


# The strips of two curves, one above the other.
_MIDDLE = (_curves.TOP + _curves.BOTTOM) / 2
SPANS = ((_MIDDLE + 0.01, _curves.TOP), (_curves.BOTTOM, _MIDDLE - 0.01))

MOST = 12  # groups that are drawn
PIXELS = 480  # that the panels of a row share
COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 9: 3}  # else four
NARROWEST = 1.4  # inches for a panel and its labels


class ReliabilityDisplay(_style.AxesDisplay):
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
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
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

    size = (_style.WIDTH, 4.8)

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
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        confidence : float, default=0.9
            Confidence level of the band; None draws no band.
        name : str, default=None
            Name of the curve.
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
        diagram = diagram_of(labels, p, sample_weight)
        band = _band_of(diagram, scatter_of(diagram, p, sample_weight), confidence)
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
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Ask a fitted classifier, and draw how reliable it is for one class.

        Parameters
        ----------
        model : classifier
            Fitted, with `predict_proba` and `classes_`.
        X : array-like
            Features, or scores, of held-out rows.
        y : array-like of shape (n,)
            Their labels, members of `model.classes_`.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        confidence : float, default=0.9
            Confidence level of the band; None draws no band.
        name : str, default=None
            Name of the curve; None takes the name of the estimator's class.
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
            sample_weight=sample_weight,
            confidence=confidence,
            name=type(model).__name__ if name is None else name,
            ax=ax,
            theme=theme,
        )

    def _draw(self, ax: Axes, look: Theme) -> None:
        heights = None if self.histogram is None else np.asarray(self.histogram)
        limit = _curves.limit_of([self.curve], [heights])
        diagonal = _curves.frame(ax, look, limit)
        label = _curves.predicted([self.curve], limit)
        ax.set(xlabel=label, ylabel=_curves.OBSERVED)
        _curves.histogram(ax, look.bars, self.curve, heights, limit=limit)
        self.line_ = _curves.draw_curve(ax, look.strong, self.curve, limit=limit)
        label = _curves.OBSERVED if self.name is None else shown(self.name)
        entries: list[tuple[Artist, str]] = [
            (self.line_, label),
            (diagonal, "calibrated"),
        ]
        if self.band is not None:
            self.fill_ = _curves.draw_band(ax, look, self.band, limit=limit)
            entries.insert(1, (self.fill_, _band_label(self.band)))
        place = _curves.free_corner([self.curve], limit)
        _style.legend(ax, entries, look, **place)


class BeforeAfterDisplay(_style.AxesDisplay):
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
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on.
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

    size = (_style.WIDTH, 4.8)

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
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Compute both curves on the same labels, and draw them.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1, or any two with `pos_label`, of rows that were not used for
            fitting.
        before, after : array-like of shape (n,)
            Probabilities of label 1, or of `pos_label`.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        names : tuple of two str, default=("before", "after")
            Names of the two curves.
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
        both = (
            reliability_curve(labels, p, sample_weight=sample_weight)
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
        pos_label: Any = None,
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
            Features, or scores, of held-out rows.
        y : array-like of shape (n,)
            Their labels, members of `model.classes_`.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        names : tuple of two str, default=("before", "after")
            Names of the two curves.
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
        answers = _curves.answers_of(model, X, y, pos_label)
        if answers.before is None or answers.probabilities is None:
            msg = (
                "model must tell probabilities before calibration; got a "
                f"{type(model).__name__} that does not. Give both to from_predictions."
            )
            raise InvalidParameter(msg)
        return cls.from_predictions(
            answers.labels,
            answers.before,
            answers.probabilities,
            sample_weight=sample_weight,
            names=names,
            ax=ax,
            theme=theme,
        )

    def _check(self) -> None:
        check_two_names(self.names)

    def _draw(self, ax: Axes, look: Theme) -> None:
        both = (self.before, self.after)
        limit = _curves.limit_of(both, self._heights())
        diagonal = _curves.frame(ax, look, limit)
        ax.set(xlabel=_curves.predicted(both, limit), ylabel=_curves.OBSERVED)
        looks = ((look.accent, _style.DASHED), (look.strong, "-"))
        lines = []
        for curve, heights, span, (colour, dashes) in zip(
            both, self._heights(), SPANS, looks, strict=True
        ):
            _curves.histogram(ax, colour, curve, heights, limit=limit, span=span)
            lines.append(
                _curves.draw_curve(ax, colour, curve, limit=limit, linestyle=dashes)
            )
        entries = [
            (line, shown(name)) for line, name in zip(lines, self.names, strict=True)
        ]
        entries.append((diagonal, "calibrated"))
        place = _curves.free_corner(both, limit)
        _style.legend(ax, entries, look, **place)
        self.before_, self.after_ = lines

    def _heights(self) -> list[FloatArray | None]:
        if self.histograms is None:
            return [None, None]
        return [np.asarray(heights) for heights in self.histograms]


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """What is drawn of a group, or of a class."""

    name: object  # None: the rows without a group
    curve: ReliabilityCurve
    band: ConsistencyBand | None = None
    rows: float | None = None  # that it is about; None: all of the curve


class PanelsDisplay(_style.Display):
    """Curves and bands in panels of their own, the first twelve of them.

    Parameters
    ----------
    panels : sequence of Panel
        A name, a curve and a band each.
    left_out : int, default=0
        How many are not among the panels.
    """

    what = ("panel", "panels")  # one of them, and several

    axes_: list[Axes]
    lines_: list[Line2D]

    def __init__(self, panels: Sequence[Panel], *, left_out: int = 0) -> None:
        self.panels = panels
        self.left_out = left_out

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure that has room for all panels, in inches."""
        rows, columns = _grid(len(self.panels[:MOST]), _style.WIDTH)
        height = 0.9 + rows * (0.5 + (_style.WIDTH - NARROWEST) / columns)
        return _style.WIDTH, height

    def plot(self, *, ax: Axes | None = None, theme: str = "light") -> Self:
        """Draw what was computed.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes of a grid, replaced by the panels; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        panels = self.panels[:MOST]
        if not panels:
            msg = f"panels must not be empty; got no {self.what[0]} to draw."
            raise InvalidParameter(msg)
        limit = _curves.limit_of([panel.curve for panel in panels])
        with _style.drawing_on(ax, theme, self.size) as (look, drawn_on):
            home = drawn_on if ax is None else _room_of(ax)
            width = _style.width_of(home)
            rows, columns = _grid(len(panels), width)
            grid = home.subplots(rows, columns, squeeze=False).ravel()
            self.axes_, self.lines_ = list(grid[: len(panels)]), []
            for empty in grid[len(panels) :]:
                empty.remove()
            for place, (panel, axes) in enumerate(zip(panels, self.axes_, strict=True)):
                line, entries = _draw(axes, look, panel, limit, PIXELS // columns)
                self.lines_.append(line)
                axes.tick_params(
                    labelleft=place % columns == 0,
                    labelbottom=place + columns >= len(panels),
                )
                axes.tick_params(which="minor", labelleft=place % columns == 0)
            home.supylabel(_curves.OBSERVED, color=look.ink)
            text = _curves.predicted([panel.curve for panel in panels], limit)
            text = _style.fitted(text, width) + _style.fitted(self._remark(), width)
            home.supxlabel(text, color=look.ink)
            columns = 1 if width < _style.NARROW else len(entries)
            _style.legend(home, entries, look, loc="outside upper left", ncols=columns)
        self.figure_ = _style.figure_of(self.axes_[0])
        return self

    def _remark(self) -> str:
        """Say how many panels are not drawn."""
        drawn = len(self.panels[:MOST])
        missing = self.left_out + len(self.panels) - drawn
        if not missing:
            return ""
        every = f"{drawn} of {drawn + missing} {self.what[1]}"
        return f"\n{every}, worst first; {missing} left out"


class GroupsDisplay(PanelsDisplay):
    """Draw the reliability of each group in a panel of its own.

    Calibrated on the whole is not calibrated in each group. At most twelve groups are
    drawn, in the given order; how many are left out stands below.

    Parameters
    ----------
    panels : sequence of Panel
        A name, a curve and a band each.
    left_out : int, default=0
        Groups that are not among the panels.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each group that is drawn.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : list of matplotlib Line2D
        The curves.

    Examples
    --------
    >>> from abers.plots import GroupsDisplay
    >>> y, p = [0, 1, 0, 1], [0.4, 0.6, 0.9, 0.9]
    >>> display = GroupsDisplay.from_predictions(y, p, ["shop", "shop", "web", "web"])
    >>> [panel.name for panel in display.panels]
    ['web', 'shop']
    >>> import matplotlib.pyplot as plt
    >>> plt.close(display.figure_)
    """

    what = ("group", "groups")

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        groups: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        confidence: float | None = 0.9,
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Compute a curve for each group, and draw those of the worst.

        Worst means: most standard errors between the mean probability and the share of
        ones, as in the table of `abers.evaluate`. Groups where fewer than five zeros or
        ones were both expected and observed come after all others.

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
        display
            The display, with its artists as attributes.
        """
        labels = _curves.binary_labels(y, pos_label)
        counted = by_group(_counted, groups, labels, p, sample_weight=sample_weight)
        worst = sorted(counted, key=lambda name: counted[name].place)
        panels = []
        for name in worst[:MOST]:
            diagram, scatter, _ = counted[name]
            band = _band_of(diagram, scatter, confidence)
            panels.append(Panel(name, curve_of(diagram), band))
        display = cls(panels, left_out=len(worst) - len(panels))
        return display.plot(ax=ax, theme=theme)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: ArrayLike,
        groups: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        confidence: float | None = 0.9,
        pos_label: Any = None,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Ask a fitted classifier, and draw its reliability for one class, by group.

        Parameters
        ----------
        model : classifier
            Fitted, with `predict_proba` and `classes_`.
        X : array-like
            Features, or scores, of held-out rows.
        y : array-like of shape (n,)
            Their labels, members of `model.classes_`.
        groups : array-like of shape (n,)
            Group of each row: text, integers, floats or booleans, all of one type.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        confidence : float, default=0.9
            Confidence level of the bands; None draws no bands.
        pos_label : object, default=None
            Class whose probabilities are drawn; None is `model.classes_[1]` of two.
        ax : matplotlib Axes, default=None
            Axes of a grid, replaced by the panels; None creates a figure with pyplot.
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
            groups,
            sample_weight=sample_weight,
            confidence=confidence,
            ax=ax,
            theme=theme,
        )

    @classmethod
    def from_evaluation(
        cls,
        evaluation: Evaluation,
        *,
        confidence: float | None = 0.9,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Draw the groups of an evaluation, in the order of its table.

        Parameters
        ----------
        evaluation : Evaluation
            Of `abers.evaluate` with `groups`.
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


def panels_of(evaluation: Evaluation, confidence: float | None = 0.9) -> list[Panel]:
    """Return what is drawn of the groups of an evaluation."""
    return [
        Panel(name, curve_of(diagram), _band_of(diagram, scatter, confidence))
        for name, diagram, scatter in evaluation.counted_groups
    ]


class _Group(NamedTuple):
    """A group, counted once for its curve and its band, and its place in the order."""

    diagram: Diagram
    scatter: FloatArray | None
    place: tuple[bool, float, int]  # small ones last, the worst first, then the largest


def _counted(
    y: ArrayLike, p: ArrayLike, sample_weight: FloatArray | None = None
) -> _Group:
    """Count the rows of a group, all with weight, and judge it as `evaluate` does."""
    diagram = diagram_of(y, p, sample_weight)
    labels = np.asarray(y) == 1
    answers = Answers(labels, validation.as_scores(p))
    (found,) = evaluate_groups(
        [None] * labels.size, answers, sample_weight, rule_set=None
    )
    place = found.small, -abs(found.z), -found.n_rows
    return _Group(diagram, scatter_of(diagram, p, sample_weight), place)


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


def _draw(
    ax: Axes, look: Theme, panel: Panel, limit: float, pixels: int
) -> tuple[Line2D, list[tuple[Artist, str]]]:
    """Draw a group; return its curve, and what a legend says of all of them."""
    _style.dress(ax, look)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    diagonal = _curves.frame(ax, look, limit, most=2)
    curve = panel.curve
    _curves.histogram(ax, look.bars, curve, limit=limit, bins=25)
    thin: Any = {"linewidth": 1.4, "markersize": 3}
    line = _curves.draw_curve(
        ax, look.strong, curve, limit=limit, pixels=pixels, **thin
    )
    entries: list[tuple[Artist, str]] = [
        (line, _curves.OBSERVED),
        (diagonal, "calibrated"),
    ]
    if panel.band is not None:
        fill = _curves.draw_band(ax, look, panel.band, limit=limit, pixels=pixels // 2)
        entries.insert(1, (fill, _band_label(panel.band)))
    name = shown(group_name(panel.name), longest=20)
    rows = curve.weights.sum() if panel.rows is None else panel.rows
    title = f"{name}\nn = {rows:,.7g}"
    ax.set_title(title, loc="left", color=look.ink, fontsize=_style.SMALL)
    return line, entries
