"""The palette: one colour, one line and one mark for each method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from abers.plots import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from abers.plots._style import Theme

DASH_DOT = (0, (5, 1.4, 1.2, 1.4))
SHORT = (0, (2.2, 1.4))
NARROW = 4.0  # points that a mark is wide


@dataclass(frozen=True, slots=True)
class Pen:
    """How a method is drawn; told apart without colour, too."""

    light: str
    dark: str
    line: Any
    mark: str
    width: float = 1.3
    hollow: bool = False

    def drawn(self, look: Theme) -> dict[str, Any]:
        """Return what matplotlib calls these things, for a theme."""
        colour = self.dark if look is style.THEMES["dark"] else self.light
        return {
            "color": colour,
            "linestyle": self.line,
            "linewidth": self.width,
            "marker": self.mark,
            "markersize": NARROW,
            "markerfacecolor": look.paper if self.hollow else colour,
            "markeredgecolor": colour,
        }


PENS = {
    "underlying": Pen("#6e7781", "#9da7b3", style.DOTTED, "x"),
    "Platt": Pen("#d55e00", "#e0672a", style.DASHED, "s"),
    "Platt log-odds": Pen("#a9660a", "#e8b04b", DASH_DOT, "D", hollow=True),
    "isotonic": Pen("#00785a", "#4bc79f", SHORT, "o", hollow=True),
    "IVAP": Pen("#3d8fc4", "#5aa9dd", "-", "d"),
    "CVAP": Pen("#003f66", "#bfe4fb", "-", "o", width=1.9),
}


def sheet(
    look: Theme, n_panels: int, *, columns: int, size: tuple[float, float]
) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels that nobody else knows; `size` is that of one panel."""
    rows = -(-n_panels // columns)
    columns = min(columns, n_panels)
    figure = style.own_figure(look, (size[0] * columns, size[1] * rows + 0.45))
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for ax in axes[n_panels:]:
        ax.set_axis_off()
    for ax in axes[:n_panels]:
        style.dress(ax, look)
    return figure, axes[:n_panels]


def title(ax: Axes, text: str, look: Theme) -> None:
    """Name a panel."""
    ax.set_title(text, loc="left", color=look.ink, fontsize=style.NORMAL)
