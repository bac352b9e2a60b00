"""Style: one palette in two themes, axes to draw on, and names fit to be drawn."""

from __future__ import annotations

import textwrap
import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from abers import validation
from abers.errors import InvalidParameter, need

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase
    from matplotlib.legend import Legend

# One inch is 100 pixels of a page, and text is 12 of them high.
WIDTH = 6.0
NARROW = 4.5  # below this a legend has no room beside curves
SMALL = 8.0
NORMAL = 9.0
LONGEST = 32  # characters of a name
FACT = 80  # characters of a value that a display repeats about itself

# The second one ships with matplotlib 3.11 and has a sign for every character: where it
# is named, text in any script is drawn without a warning.
FONTS = ("DejaVu Sans", "Last Resort High-Efficiency")

# Only what Text and Legend read when they are made; colours are given to each artist.
_SETTINGS: Any = {
    "text.usetex": False,
    "text.parse_math": True,  # names escape their dollar signs
    "font.size": NORMAL,
    "axes.labelsize": NORMAL,
    "axes.titlesize": NORMAL,
    "figure.labelsize": NORMAL,
    "legend.fontsize": SMALL,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
}


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours that differ in hue for most eyes, and in lightness for all of them."""

    paper: str  # behind everything
    ink: str  # text
    soft: str  # ticks, the diagonal
    grid: str
    bars: str  # histograms
    strong: str  # what the picture is about
    accent: str  # what it is held against
    band: str  # filled, below the lines


# After Okabe and Ito: blue and vermilion, moved apart in lightness for grey print.
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

SHARE = 0.775  # of a figure's width, which its only axes have
LETTERS = 14  # in an inch
CLEAR = 0.75  # above this a legend fits
STRIP = 0.18  # the share of the axes below 0

# Settings of matplotlib belong to the whole process: one thread draws at a time.
_ALONE = threading.RLock()

# Told apart without colour, too.
DASHED = (0, (4, 1.6))
DOTTED = (0, (1, 1.8))


class Display(ABC):
    """What every display has: a size, and a way to draw it."""

    # Whether it mixes the colours of its theme: then another theme must draw it anew.
    mixes_colours: ClassVar[bool] = False
    figure_: Figure

    def __repr__(self) -> str:
        given = ((k, v) for k, v in vars(self).items() if not k.endswith("_"))
        facts = [_fact(name, value) for name, value in given if value is not None]
        return f"{type(self).__name__}({', '.join(facts)})"

    @property
    @abstractmethod
    def size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""

    @abstractmethod
    def plot(self, *, ax: Axes | None = None, theme: str = "light") -> Self:
        """Draw what was computed."""


class AxesDisplay(Display):
    """A display on one pair of axes."""

    ax_: Axes

    def plot(self, *, ax: Axes | None = None, theme: str = "light") -> Self:
        """Draw what was computed.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure with pyplot.
        theme : {"light", "dark"}, default="light"
            Background that the colours are chosen for.

        Returns
        -------
        display
            The display, with its artists as attributes.
        """
        self._check()
        with drawing_on(ax, theme, self.size) as (look, home):
            axes = home.subplots() if ax is None else ax
            dress(axes, look)
            self._draw(axes, look)
        self.ax_, self.figure_ = axes, figure_of(axes)
        return self

    def _check(self) -> None:
        """Refuse what cannot be drawn, before there is a figure."""

    @abstractmethod
    def _draw(self, ax: Axes, look: Theme) -> None:
        """Draw on axes that have our style."""


@contextmanager
def drawing(theme: str) -> Iterator[Theme]:
    """Set fonts while something is drawn, and set them back; other threads wait."""
    look = _look(theme)
    import matplotlib as mpl
    from matplotlib import font_manager

    with _ALONE:
        known = font_manager.get_font_names()
        fonts = [name for name in FONTS if name in known]
        with mpl.rc_context(_SETTINGS | {"font.family": fonts}):
            yield look


@contextmanager
def drawing_on(
    ax: Axes | None, theme: str, size: tuple[float, float]
) -> Iterator[tuple[Theme, Any]]:
    """Set fonts while a display is drawn on axes; None makes a new figure by pyplot.

    The figure comes before the fonts: with its first figure pyplot starts its backend,
    and what a notebook's backend then sets must not be set back with the fonts.
    """
    look = _look(theme)
    with _ALONE:
        home = _new_figure(look, size) if ax is None else ax
        with drawing(theme):
            yield look, home


def _look(theme: str) -> Theme:
    """Return the colours of a theme, if there is something to draw with."""
    need("matplotlib", extra="plot", what="a plot")
    validation.check_choice(theme, tuple(THEMES), "theme")
    return THEMES[theme]


def _new_figure(look: Theme, size: tuple[float, float]) -> Figure:
    """Make a figure that pyplot knows, as scikit-learn's displays do."""
    from matplotlib import pyplot as plt

    return plt.figure(figsize=size, layout="constrained", facecolor=look.paper)


def own_figure(look: Theme, size: tuple[float, float]) -> Figure:
    """Make a figure that nobody else knows and nobody has to close."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained", facecolor=look.paper)


def figure_of(ax: Axes) -> Figure:
    """Return the figure that axes belong to, be they ever so deep in it."""
    return cast("Figure", ax.get_figure(root=True))


def dress(ax: Axes, look: Theme) -> None:
    """Colour axes that may come from anywhere."""
    ax.set_facecolor(look.paper)
    ax.grid(visible=True, color=look.grid, linewidth=0.8, linestyle="-")
    ax.set_axisbelow(True)
    ax.tick_params(which="both", colors=look.soft, labelcolor=look.ink, length=3)
    for side, spine in ax.spines.items():
        spine.set_visible(side in {"left", "bottom"})
        spine.set_color(look.soft)
    for label in (ax.xaxis.label, ax.yaxis.label, ax.title):
        label.set_color(look.ink)


def is_narrow(owner: Axes | FigureBase) -> bool:
    """Tell whether axes, with their labels, have less room than a legend needs."""
    from matplotlib.axes import Axes

    if not isinstance(owner, Axes):
        return False
    share = owner.get_position().width / SHARE
    return share * width_of(owner.figure) < NARROW


def width_of(figure: Any) -> float:
    """Return the width of a figure, or of one within another, in inches."""
    return float(figure.bbox.width / figure.dpi)


def fitted(text: str, width: float) -> str:
    """Break a text so that it fits below axes in a figure of so many inches."""
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
    """Add a legend; its labels are taken as they are, even if they begin with `_`.

    Narrow axes have it above them, on one side.
    """
    if is_narrow(owner):
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


def legend_place(
    left_high: float, right_low: float, *, rising: bool = True
) -> dict[str, Any]:
    """Place a legend in a corner that curves between 0 and 1 leave free.

    `left_high` is the highest value in the half where the curves begin low, on the left
    if they rise; `right_low` is the lowest value in the other half.
    """
    if left_high < CLEAR:
        return {"loc": "upper left" if rising else "upper right"}
    if right_low > 1 - CLEAR:
        loc = "lower right" if rising else "lower left"
        return {"loc": loc, "bbox_to_anchor": (0, STRIP, 1, 1 - STRIP)}
    return {"loc": "lower left", "bbox_to_anchor": (0, 1.0), "ncols": 3}


def check_two_names(names: Any) -> None:
    """Refuse names that are not two: a text has characters, which would be drawn."""
    if not isinstance(names, list | tuple) or len(names) != 2:
        msg = f"names must be two, in a list or a tuple; got {names!r}."
        raise InvalidParameter(msg)


def shown(name: object, longest: int = LONGEST) -> str:
    r"""Return a name as matplotlib may draw it: one line, no formula, not too long.

    The middle of a long name becomes an ellipsis; dollar signs are escaped, for two of
    them would enclose a formula.

    >>> shown("a" * 20 + "z" * 20, longest=7)
    'aaa…zzz'
    >>> print(shown("US$ or\nAU$"))
    US\$ or AU\$
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    if not text:
        return "(no name)"
    if len(text) > longest:
        kept = longest - 1
        text = text[: (kept + 1) // 2] + "…" + text[len(text) - kept // 2 :]
    return text.replace("$", r"\$")


def _fact(name: str, value: Any) -> str:
    """Say what a display was given: the value if it is short, else how much there is.

    >>> _fact("loss", "log"), _fact("scores", [0.5] * 100)
    ("loss='log'", '100 scores')
    """
    text = repr(value)
    if len(text) <= FACT and "\n" not in text:
        return f"{name}={text}"
    if is_dataclass(value):
        points = len(getattr(value, fields(value)[0].name))
        return f"{name}={type(value).__name__}({points} points)"
    if hasattr(value, "shape"):
        return f"{name} of shape {value.shape}"
    return f"{len(value)} {name}" if hasattr(value, "__len__") else name
