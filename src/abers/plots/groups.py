"""Groups: a small picture of reliability for each, the worst first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers.errors import InvalidParameter
from abers.evaluation import by_group
from abers.evaluation.calibration_tests import are_few, in_standard_errors
from abers.evaluation.metrics import diagram_of, scatter_of
from abers.evaluation.reliability import consistency_of, curve_of
from abers.plots import curves, strip, style
from abers.plots.names import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve
    from abers.plots.style import Theme
    from abers.validation import FloatArray

MOST = 12
PIXELS = 480  # that the panels of a row share
COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 9: 3}  # else four


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """What is drawn of a group."""

    name: object  # None: the rows without a group
    curve: ReliabilityCurve
    band: ConsistencyBand | None = None


class GroupsDisplay:
    """Draw the reliability of each group in a panel of its own.

    Calibrated on the whole is not calibrated in each group. At most twelve groups are
    drawn, in the given order; how many are left out is said below.

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

    axes_: list[Axes]
    figure_: Figure
    lines_: list[Line2D]

    def __init__(self, panels: Sequence[Panel], *, left_out: int = 0) -> None:
        self.panels = panels
        self.left_out = left_out

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        p: ArrayLike,
        groups: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        confidence: float | None = 0.9,
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Compute a curve for each group, and draw those of the worst.

        Worst means: most standard errors between the mean probability and the share of
        ones, as in the table of `abers.evaluate`. Groups where fewer than five zeros or
        ones were expected, and came, are after all others.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels 0 or 1.
        p : array-like of shape (n,)
            Probabilities of label 1.
        groups : array-like of shape (n,)
            The group of each row: text, integers, floats or booleans, all of one type.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        confidence : float, default=0.9
            Of the bands; None draws none.
        ax : matplotlib Axes, default=None
            Axes of a grid, to be replaced by the panels; None makes a new figure by
            pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        GroupsDisplay
            With the artists as attributes.
        """
        counted = by_group(_counted, groups, y, p, sample_weight=sample_weight)
        worst = sorted(counted, key=lambda name: counted[name].place)
        panels = []
        for name in worst[:MOST]:
            diagram, scatter, _ = counted[name]
            band = None
            if confidence is not None:
                band = consistency_of(diagram, scatter=scatter, confidence=confidence)
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
        ax: Axes | None = None,
        theme: str = "light",
    ) -> Self:
        """Ask a fitted classifier of two classes, and draw its reliability by group.

        Parameters
        ----------
        model : classifier
            Fitted, with `predict_proba` and `classes_`.
        X : array-like
            Features of rows that were not used for fitting.
        y : array-like of shape (n,)
            Their labels; `model.classes_[1]` is the positive one.
        groups : array-like of shape (n,)
            The group of each row: text, integers, floats or booleans, all of one type.
        sample_weight : array-like of shape (n,), default=None
            Weights of the rows.
        confidence : float, default=0.9
            Of the bands; None draws none.
        ax : matplotlib Axes, default=None
            Axes of a grid, to be replaced by the panels; None makes a new figure by
            pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        GroupsDisplay
            With the artists as attributes.
        """
        labels, p = curves.binary_predictions(model, X, y)
        return cls.from_predictions(
            labels,
            p,
            groups,
            sample_weight=sample_weight,
            confidence=confidence,
            ax=ax,
            theme=theme,
        )

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure that has room for all panels, in inches."""
        rows, columns = _grid(len(self.panels[:MOST]))
        return style.WIDTH, 0.9 + rows * (0.5 + 4.6 / columns)

    def plot(self, *, ax: Axes | None = None, theme: str = "light") -> Self:
        """Draw what was computed.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes of a grid, to be replaced by the panels; None makes a new figure by
            pyplot.
        theme : {"light", "dark"}, default="light"
            The background that the colours are for.

        Returns
        -------
        GroupsDisplay
            Itself.
        """
        panels = self.panels[:MOST]
        if not panels:
            msg = "panels must not be empty; got no group to draw."
            raise InvalidParameter(msg)
        rows, columns = _grid(len(panels))
        limit = curves.limit_of([panel.curve for panel in panels])
        with style.drawing(theme) as look:
            home = style.new_figure(look, self.size) if ax is None else _room_of(ax)
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
            home.supylabel(curves.OBSERVED, color=look.ink)
            said = curves.predicted([panel.curve for panel in panels], limit)
            home.supxlabel(said + self._remark(), color=look.ink)
            style.key(home, entries, look, loc="outside upper left", ncols=3)
        self.figure_ = style.figure_of(self.axes_[0])
        return self

    def _remark(self) -> str:
        """Say how many groups are not drawn."""
        drawn = len(self.panels[:MOST])
        missing = self.left_out + len(self.panels) - drawn
        if not missing:
            return ""
        return f"\n{drawn} of {drawn + missing} groups, worst first; {missing} left out"


class _Group(NamedTuple):
    """A group, counted once for its curve, its band and its place in the order."""

    diagram: Diagram
    scatter: FloatArray | None
    place: tuple[
        bool, float, float
    ]  # small ones last, the worst first, then the largest


def _counted(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None = None
) -> _Group:
    """Count a group; with weights, those rows that have some."""
    diagram = diagram_of(y, p, sample_weight)
    scatter = scatter_of(diagram, p, sample_weight)
    rows, ones = diagram.n_observations, diagram.n_positives
    if sample_weight is not None:
        weighs = np.asarray(sample_weight) > 0
        rows, ones = weighs.sum().item(), np.asarray(y)[weighs].sum().item()
    total = diagram.counts.sum()
    said = float(diagram.counts @ diagram.scores / total)
    small = bool(are_few(rows, ones, said))
    return _Group(diagram, scatter, (small, -_surprise(diagram, scatter), -rows))


def _surprise(diagram: Diagram, scatter: FloatArray | None) -> float:
    """Return how far the mean label is from the mean prediction, in standard errors."""
    p, counts = diagram.scores, diagram.counts
    total = counts.sum()
    gap = abs(float((counts * p).sum() - diagram.positives.sum())) / float(total)
    squares = counts / total**2 if scatter is None else scatter
    error = math.sqrt(float((squares * p * (1 - p)).sum()))
    return in_standard_errors(gap, error)


def _grid(panels: int) -> tuple[int, int]:
    """Return rows and columns."""
    columns = COLUMNS.get(panels, 4)
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
    style.dress(ax, look)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    diagonal = curves.frame(ax, look, limit, most=2)
    curve = panel.curve
    strip.histogram(ax, look.bars, curve, limit=limit, bins=25)
    thin: Any = {"linewidth": 1.4, "markersize": 3}
    line = curves.draw_curve(ax, look.strong, curve, limit=limit, pixels=pixels, **thin)
    entries: list[tuple[Artist, str]] = [
        (line, curves.OBSERVED),
        (diagonal, "calibrated"),
    ]
    if panel.band is not None:
        fill = curves.draw_band(ax, look, panel.band, limit=limit, pixels=pixels // 2)
        label = f"{panel.band.confidence:.0%} of curves, if calibrated"
        entries.insert(1, (fill, label))
    name = "(no group)" if panel.name is None else shown(panel.name, longest=20)
    title = f"{name}\nn = {curve.weights.sum():,.7g}"
    ax.set_title(title, loc="left", color=look.ink, fontsize=style.SMALL)
    return line, entries
