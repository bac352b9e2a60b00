"""Confusion: which classes are mistaken for which."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.errors import InvalidParameter
from abers.plots import _base, _style
from abers.plots._style import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.path import Path
    from numpy.typing import ArrayLike, NDArray

    from abers.plots._style import Theme
    from abers.validation import FloatArray, IntArray

MOST_CELLS = 20  # classes of a confusion matrix that are drawn separately
MOST_NUMBERS = 12  # classes up to which cells have numbers
LONGEST = 12  # characters of a class label next to the cells
SHADES = 10
WIDEST = 40  # characters that fit below the cells, side by side
LARGE = 10_000  # numbers from here on are counted in thousands


class Confusion(_base.Picture):
    """Draw which classes are mistaken for which: the confusion of the top label.

    The larger the share of the rows of its class, the darker a cell is (on dark pages,
    the brighter); errors have another colour. With up to twelve classes, there are
    numbers in the cells. With more than twenty, those with the most errors are drawn
    separately and the others together: their common cell is grey, since it contains
    right and wrong rows.

    Parameters
    ----------
    confusion : array-like of shape (C, C)
        Rows of each class (row) by the most probable class (column).
    classes : sequence
        The labels.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        The axes, and their figure.
    shown_ : ndarray
        The numbers of the cells that were drawn.
    names_ : list of str
        The names of their classes.
    """

    size = (_style.WIDTH, 4.8)

    mixes_colours = True
    shown_: FloatArray
    names_: list[str]

    def __init__(self, confusion: ArrayLike, classes: Sequence[Any]) -> None:
        self.confusion = confusion
        self.classes = classes

    def _check(self) -> None:
        shape, count = np.shape(self.confusion), len(self.classes)
        if shape != (count, count) or not count:
            msg = (
                "confusion must have a row and a column for each class; got shape "
                f"{shape} and {count} classes."
            )
            raise InvalidParameter(msg)

    def _draw(self, ax: Axes, look: Theme) -> None:
        cells = np.asarray(self.confusion, dtype=np.float64)
        names = [shown(name, LONGEST) for name in self.classes]
        self.shown_, self.names_ = _largest_errors(cells, names)
        count = len(self.names_)
        colours = _colours(look, self.shown_, pooled=count < len(names))
        _fill_cells(ax, self.shown_, colours)
        if count <= MOST_NUMBERS:
            _write_numbers(ax, look, self.shown_, colours)
        turned = count * max(map(len, self.names_)) > WIDEST
        ax.set_xticks(range(count), self.names_, rotation=90 if turned else 0)
        ax.set_yticks(range(count), self.names_)
        ax.grid(visible=False)
        ax.tick_params(length=0)
        ax.set(
            xlim=(-0.5, count - 0.5),
            ylim=(count - 0.5, -0.5),
            aspect="equal",
            xlabel="most probable class",
            ylabel="class",
        )


def _largest_errors(
    cells: FloatArray, names: list[str]
) -> tuple[FloatArray, list[str]]:
    """Keep the classes with the most errors, and merge all others."""
    count = len(names)
    if count <= MOST_CELLS:
        return cells, names
    errors = cells.sum(axis=0) + cells.sum(axis=1) - 2 * cells.diagonal()
    largest = np.sort(np.argsort(-errors, kind="stable")[: MOST_CELLS - 1])
    place = np.full(count, MOST_CELLS - 1)
    place[largest] = np.arange(MOST_CELLS - 1)
    smaller = np.zeros((MOST_CELLS, MOST_CELLS))
    np.add.at(smaller, (place[:, np.newaxis], place), cells)
    rest = f"{count - MOST_CELLS + 1} others"
    return smaller, [*(names[c] for c in largest), rest]


def _colours(look: Theme, cells: FloatArray, *, pooled: bool) -> NDArray[np.str_]:
    """Return the colour of each cell, by its share of the rows of its class.

    The last class may be several merged ones: their common cell has right and wrong
    rows.
    """
    sums = cells.sum(axis=1, keepdims=True)
    shares = np.divide(cells, sums, out=np.zeros_like(cells), where=sums > 0)
    # A square root, since errors are rare; in steps, since each colour is one path.
    shades = np.ceil(np.sqrt(shares) * SHADES).astype(np.int64)
    steps = range(SHADES + 1)
    right, wrong, either = (
        np.array([_mixed(look.paper, colour, step / SHADES) for step in steps])
        for colour in (look.strong, look.accent, look.bars)
    )
    diagonal = np.eye(len(cells), dtype=np.bool_)
    colours: NDArray[np.str_] = np.where(diagonal, right[shades], wrong[shades])
    if pooled:
        colours[-1, -1] = either[shades[-1, -1]]
    return colours


def _fill_cells(ax: Axes, cells: FloatArray, colours: NDArray[np.str_]) -> None:
    """Fill all cells of one colour at once, to keep pictures small."""
    from matplotlib.patches import PathPatch

    for colour in np.unique(colours[cells > 0]).tolist():
        rows, columns = np.nonzero((colours == colour) & (cells > 0))
        path = _squares(columns, rows)
        ax.add_patch(PathPatch(path, facecolor=colour, linewidth=0))


def _squares(x: IntArray, y: IntArray) -> Path:
    """Return one path of squares around these points, with gaps between them."""
    from matplotlib.path import Path

    half = 0.47
    corners = half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
    points = np.stack((x, y), axis=1)[:, np.newaxis] + corners
    codes = [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY]
    return Path(points.reshape(-1, 2), codes * x.size)


def _write_numbers(
    ax: Axes, look: Theme, cells: FloatArray, colours: NDArray[np.str_]
) -> None:
    """Write the number of each nonzero cell, in the more legible colour."""
    inks = {_luminance(colour): colour for colour in (look.ink, look.paper)}
    for row, column in np.argwhere(cells > 0).tolist():
        behind = _luminance(str(colours[row, column]))
        best = max(inks, key=lambda ink: abs(math.log((ink + 0.05) / (behind + 0.05))))
        ax.text(
            column,
            row,
            _short(cells[row, column]),
            ha="center",
            va="center",
            color=inks[best],
            fontsize=_style.SMALL,
        )


def _short(number: float) -> str:
    """Write a number in few characters.

    >>> _short(12.0), _short(0.251), _short(123456.0)
    ('12', '0.251', '123k')
    """
    if number >= LARGE:
        return f"{number / 1_000:.3g}k"
    return f"{number:.0f}" if number == round(number) else f"{number:.3g}"


def _mixed(paper: str, colour: str, share: float) -> str:
    """Mix a colour with the paper, so that nothing is transparent.

    >>> _mixed("#ffffff", "#000000", 0.5)
    '#808080'
    """
    from matplotlib.colors import to_hex, to_rgb

    old, new = np.array(to_rgb(paper)), np.array(to_rgb(colour))
    red, green, blue = (1 - share) * old + share * new
    return to_hex((red, green, blue))


def _luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as in WCAG but with a single power.

    >>> _luminance("#ffffff"), _luminance("#000000")
    (1.0, 0.0)
    """
    from matplotlib.colors import to_rgb

    red, green, blue = (math.pow(part, 2.2) for part in to_rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
