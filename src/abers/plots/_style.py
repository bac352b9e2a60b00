"""Style: one palette in two themes, axes to draw on, and names safe to draw."""

from __future__ import annotations

import textwrap
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from abers import validation
from abers.errors import need

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.legend import Legend

# A page on a telephone shows a figure 368 pixels wide, where text must still be 11
# pixels high.
WIDTH = 5.0
SMALL = 11.0
NORMAL = 11.5
LONGEST = 32  # characters of a name

# The second font ships with matplotlib 3.11 and has a glyph for every character: with
# it, text in any script is drawn without a warning.
FONTS = ("DejaVu Sans", "Last Resort High-Efficiency")

# Only settings that Text and Legend read on creation; artists get their colours
# directly.
_SETTINGS: Any = {
    "text.usetex": False,
    "text.parse_math": True,  # names escape dollar signs
    "font.size": NORMAL,
    "axes.labelsize": NORMAL,
    "axes.titlesize": NORMAL,
    "figure.labelsize": NORMAL,
    "legend.fontsize": SMALL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "path.simplify": True,  # read when a path is made, not when written
    "path.simplify_threshold": 1.0,  # of a point: lines are wider
}


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours that differ in hue for most people, and in lightness for everybody."""

    paper: str  # behind everything
    ink: str  # text
    soft: str  # ticks, the diagonal
    grid: str
    bars: str  # histograms
    strong: str  # the subject of the picture
    accent: str  # the reference
    band: str  # filled, below the lines


# After Okabe and Ito: blue and vermilion, with more different lightness for grey print.
THEMES = {
    "light": Theme(
        paper="#ffffff",
        ink="#1f2328",
        soft="#6e7781",
        grid="#e3e6ea",
        bars="#a9b2bc",
        strong="#005b8f",
        accent="#d55e00",
        band="#bcd9ec",
    ),
    "dark": Theme(
        paper="#161b22",
        ink="#e6edf3",
        soft="#9da7b3",
        grid="#2d343d",
        bars="#5b6570",
        strong="#8fd0f7",
        accent="#e0672a",
        band="#274a63",
    ),
}

LETTERS = 11  # in an inch

# Settings of matplotlib are global to the process: one thread draws at a time.
ALONE = threading.RLock()

# Distinguishable without colour, too.
DASHED = (0, (4, 1.6))
DOTTED = (0, (1, 1.8))


def look_of(theme: str) -> Theme:
    """Return the colours of a theme; raise if matplotlib is missing."""
    need("matplotlib", extra="plot", what="a plot")
    validation.check_choice(theme, tuple(THEMES), "theme")
    return THEMES[theme]


@contextmanager
def drawing(theme: str = "light", **more: Any) -> Iterator[Theme]:
    """Set fonts while drawing, and restore them; other threads wait."""
    import matplotlib as mpl
    from matplotlib import font_manager

    with ALONE:
        available = font_manager.get_font_names()
        fonts = [name for name in FONTS if name in available]
        with mpl.rc_context(_SETTINGS | {"font.family": fonts} | more):
            yield THEMES[theme]


def own_figure(look: Theme, size: tuple[float, float]) -> Figure:
    """Make a figure outside pyplot, which nobody has to close."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained", facecolor=look.paper)


def figure_of(ax: Axes) -> Figure:
    """Return the root figure of axes, through any subfigures."""
    return cast("Figure", ax.get_figure(root=True))


def dress(ax: Axes, look: Theme) -> None:
    """Apply our style to any axes."""
    ax.set_facecolor(look.paper)
    ax.grid(visible=True, color=look.grid, linewidth=0.8, linestyle="-")
    ax.set_axisbelow(True)
    ax.tick_params(which="both", colors=look.soft, labelcolor=look.ink, length=3)
    for side, spine in ax.spines.items():
        spine.set_visible(side in {"left", "bottom"})
        spine.set_color(look.soft)
    for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
        label.set_color(look.ink)


def width_of(figure: Any) -> float:
    """Return the width of a figure or subfigure, in inches."""
    return float(figure.bbox.width / figure.dpi)


def fitted(text: str, width: float) -> str:
    """Break text into lines that fit below axes in a figure of this width in inches."""
    longest = int((width - 1) * LETTERS)
    return "\n".join(textwrap.fill(line, longest) for line in text.split("\n"))


def legend(
    owner: Axes | FigureBase,
    entries: Sequence[tuple[Artist, str]],
    look: Theme,
    *,
    side: str = "left",
    **place: Any,
) -> Legend:
    """Add a legend; labels are kept, even if they begin with `_`.

    By default, it is above the axes, at one side.
    """
    if not place:
        place = {"loc": f"lower {side}", "bbox_to_anchor": (side == "right", 1.0)}
    drawn = owner.legend(
        [handle for handle, _ in entries],
        [str(number) for number in range(len(entries))],
        frameon=True,
        facecolor=look.paper,
        edgecolor="none",
        framealpha=0.8,
        labelcolor=look.ink,
        borderpad=0.2,
        handlelength=2.2,
        **place,
    )
    for text, (_, label) in zip(drawn.get_texts(), entries, strict=True):
        text.set_text(label)
    return drawn


def shown(name: object, longest: int = LONGEST) -> str:
    r"""Return a name that matplotlib can draw: one line, no formula, not too long.

    The middle of a long name becomes an ellipsis; dollar signs are escaped, since a
    pair of them would enclose a formula.

    >>> shown("a" * 20 + "z" * 20, longest=7)
    'aaa…zzz'
    >>> print(shown("US$ or\nAU$"))
    US\$ or AU\$
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    if not text:
        return "(no name)"
    if len(text) > longest:
        n_shown = longest - 1
        text = text[: (n_shown + 1) // 2] + "…" + text[len(text) - n_shown // 2 :]
    return text.replace("$", r"\$")
