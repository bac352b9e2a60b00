"""Panels: several reliability curves, each in a small panel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from abers.errors import InvalidParameter
from abers.evaluation.reliability import curve_of
from abers.formatting import group_name
from abers.plots import _base, _curves, _style
from abers.plots._style import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase
    from matplotlib.lines import Line2D

    from abers.evaluation.groups import CountedGroup
    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve
    from abers.plots._style import Theme

MOST = 12  # panels that are drawn
COLUMNS = {1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 9: 3}  # else four
NARROWEST = 1.6  # inches for a panel and its labels
LETTERS = 14  # characters of a name above a panel


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """The curve and band of a group or a class."""

    name: object  # None for the rows without a group
    curve: ReliabilityCurve
    band: ConsistencyBand | None = None
    rows: float | None = None  # number of rows; None: all rows of the curve


class Panels(_base.Picture):
    """Draw the reliability of groups or classes, one panel each.

    At most twelve are drawn, in the given order; a remark below counts the others.

    Parameters
    ----------
    panels : sequence of Panel
        A name, a curve and a band each.
    left_out : int, default=0
        Number of groups or classes without a panel.
    what : str, default="groups"
        Plural noun for the remark.
    top_label : bool, default=False
        Whether the probabilities are those of the most probable of several classes.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        One for each panel.
    ax_, figure_ : matplotlib Axes and Figure
        The axes that the panels replaced, and their figure.
    lines_ : list of matplotlib Line2D
        The curves.
    """

    axes_: list[Axes]
    lines_: list[Line2D]

    def __init__(
        self,
        panels: Sequence[Panel],
        *,
        left_out: int = 0,
        what: str = "groups",
        top_label: bool = False,
    ) -> None:
        self.panels = panels
        self.left_out = left_out
        self.what = what
        self.top_label = top_label

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of a figure that fits all panels, in inches."""
        rows, columns = _grid(len(self.panels[:MOST]), _style.WIDTH)
        height = 1.5 + rows * (0.6 + (_style.WIDTH - NARROWEST) / columns)
        return _style.WIDTH, height

    def _check(self) -> None:
        if not self.panels:
            msg = f"panels must not be empty; got no {self.what} to draw."
            raise InvalidParameter(msg)

    def _draw(self, ax: Axes, look: Theme) -> None:
        panels = self.panels[:MOST]
        curves = [panel.curve for panel in panels]
        limit = _curves.limit_of(curves)
        subfigure = _subfigure_for(ax)
        width = _style.width_of(subfigure)
        rows, columns = _grid(len(panels), width)
        grid = subfigure.subplots(rows, columns, squeeze=False).ravel()
        self.axes_, self.lines_ = list(grid[: len(panels)]), []
        for empty in grid[len(panels) :]:
            empty.remove()
        for place, (panel, axes) in enumerate(zip(panels, self.axes_, strict=True)):
            line, entries = _draw_panel(axes, look, panel, limit)
            self.lines_.append(line)
            axes.tick_params(
                labelleft=place % columns == 0,
                labelbottom=place + columns >= len(panels),
            )
            axes.tick_params(which="minor", labelleft=place % columns == 0)
        observed, text = _curves.OBSERVED, _curves.predicted(curves, limit)
        if self.top_label:
            observed, text = _curves.RIGHT, _curves.CONFIDENCE
        subfigure.supylabel(observed, color=look.ink)
        text = _style.fitted(text, width) + _style.fitted(self._remark(), width)
        subfigure.supxlabel(text, color=look.ink)
        entries[0] = entries[0][0], observed
        _style.legend(subfigure, entries, look, loc="outside upper left")

    def _remark(self) -> str:
        """Return a remark on how many panels are not drawn."""
        drawn = len(self.panels[:MOST])
        missing = self.left_out + len(self.panels) - drawn
        if not missing:
            return ""
        every = f"{drawn} of {drawn + missing} {self.what}"
        return f"\n{every}, worst first; {missing} left out"


def _grid(panels: int, width: float) -> tuple[int, int]:
    """Return rows and columns."""
    columns = min(COLUMNS.get(panels, 4), max(int(width / NARROWEST), 1))
    return -(-panels // columns), columns


def _subfigure_for(ax: Axes) -> FigureBase:
    """Replace axes by a subfigure."""
    place = ax.get_subplotspec()
    if place is None:
        msg = "ax must belong to a grid, as those of plt.subplots do; got free axes."
        raise InvalidParameter(msg)
    figure = ax.figure
    ax.remove()
    return figure.add_subfigure(place, facecolor="none")


def _draw_panel(
    ax: Axes, look: Theme, panel: Panel, limit: float
) -> tuple[Line2D, list[tuple[Artist, str]]]:
    """Draw a panel; return its curve, and the legend of all panels."""
    _style.dress(ax, look)
    ax.grid(visible=False)
    ax.tick_params(length=0)
    diagonal = _curves.frame(ax, look, limit, most=2)
    curve = panel.curve
    _curves.histogram(ax, look.bars, curve, limit=limit, bins=25)
    line = _curves.draw_curve(ax, look.strong, curve, linewidth=1.4, markersize=3)
    entries: list[tuple[Artist, str]] = [
        (line, _curves.OBSERVED),
        (diagonal, "calibrated"),
    ]
    if panel.band is not None:
        fill = _curves.draw_band(ax, look, panel.band, limit=limit)
        entries.insert(1, (fill, _curves.band_label(panel.band)))
    name = shown(group_name(panel.name), longest=LETTERS)
    rows = curve.weights.sum() if panel.rows is None else panel.rows
    title = f"{name}\nn = {rows:,.7g}"
    ax.set_title(title, loc="left", color=look.ink, fontsize=_style.SMALL)
    return line, entries


def panels_of(
    groups: Sequence[CountedGroup], confidence: float | None = 0.9
) -> list[Panel]:
    """Return the panels of counted groups."""
    return [
        Panel(name, curve_of(diagram), _curves.band_of(diagram, scatter, confidence))
        for name, diagram, scatter in groups
    ]
