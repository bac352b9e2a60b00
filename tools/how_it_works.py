"""Draw the pictures of docs/how-it-works.md: the diagram, the minorant, the star.

`python tools/how_it_works.py [folder]` writes each for light and dark backgrounds. All
numbers are computed by `abers.reference`, in exact fractions, from the eight
rows that the page talks about.
"""

from __future__ import annotations

import itertools
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from abers import reference
from abers.plots import _style, svg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from abers.plots._style import Theme

LABELS = (0, 0, 1, 0, 1, 1, 0, 1)  # of the scores 1, 2, …, 8
NEW = 4.5  # the score of the new case
FOLDER = Path(__file__).parent.parent / "docs" / "how-it-works"
SIZE = (4.8, 3.0)
PAIR = (4.8, 2.9)

# Three folds, as pairs of labels below and above the new case, the nearest first.
FOLDS = (((0, 1, 0), (1, 1, 0, 1)), ((1, 0), (0, 1, 1)), ((0, 0, 0), (1, 0, 1)))


def points(labels: Sequence[int]) -> list[tuple[int, int]]:
    """Return the cumulated diagram: rows so far, and positives among them."""
    return [(n, sum(labels[:n])) for n in range(len(labels) + 1)]


def minorant(labels: Sequence[int]) -> list[tuple[int, int]]:
    """Return the corners of the greatest convex minorant."""
    diagram = reference.Diagram.from_rows(range(len(labels)), labels)
    return [(int(corner.x), int(corner.y)) for corner in reference.minorant(diagram)]


def base(ax: Axes, look: Theme, labels: Sequence[int], *, new: int | None) -> None:
    """Draw a cumulated diagram; the step of the new case in another colour."""
    _style.dress(ax, look)
    x, y = zip(*points(labels), strict=True)
    ax.plot(x, y, color=look.soft, linewidth=1.4, zorder=2)
    ax.scatter(x, y, s=22, color=look.ink, zorder=4)
    if new is not None:
        ax.plot(x[new : new + 2], y[new : new + 2], color=look.accent, linewidth=3)
    ax.set_xlim(-0.3, len(labels) + 0.5)
    ax.set_ylim(-0.65, 5.5)
    ax.set_xticks(range(0, len(labels) + 1, 2))
    ax.set_yticks(range(6))


def draw_diagram(figure: Figure, look: Theme) -> None:
    """Draw the steps, with the label above each."""
    ax = figure.subplots()
    base(ax, look, LABELS, new=None)
    for (x, y), label in zip(points(LABELS)[:-1], LABELS, strict=True):
        at = (x + 0.5, y + 0.5 * label)
        ax.annotate(
            str(label),
            at,
            (-4, 3) if label else (0, 5),
            textcoords="offset points",
            ha="right" if label else "center",
            color=look.strong if label else look.soft,
            fontsize=_style.SMALL,
        )
    ax.set_xlabel("rows so far, in the order of their scores")
    ax.set_ylabel("positives among them")


def draw_minorant(figure: Figure, look: Theme) -> None:
    """Draw the minorant below the diagram, with its slopes."""
    ax = figure.subplots()
    base(ax, look, LABELS, new=None)
    corners = minorant(LABELS)
    _hull(ax, look, corners)
    for (a, b), (c, d) in itertools.pairwise(corners):
        ax.annotate(
            f"slope {_fraction(d - b, c - a)}",
            ((a + c) / 2, (b + d) / 2),
            (8, -11) if d > b else (-18, 7),  # above the axis
            textcoords="offset points",
            color=look.strong,
            fontsize=_style.NORMAL,
        )
    ax.set_xlabel("rows so far, in the order of their scores")
    ax.set_ylabel("positives among them")


def _hull(ax: Axes, look: Theme, corners: Sequence[tuple[int, int]]) -> None:
    x, y = zip(*corners, strict=True)
    ax.plot(x, y, color=look.strong, linewidth=2.2, zorder=3)
    ax.scatter(x, y, s=60, facecolors=look.paper, edgecolors=look.strong, zorder=5)


def _fraction(rise: int, run: int) -> str:
    shared = math.gcd(rise, run)
    rise, run = rise // shared, run // shared
    return str(rise) if run == 1 else f"{rise}/{run}"


def draw_bounds(figure: Figure, look: Theme) -> None:
    """Draw the two minorants with the new case, as a 0 and as a 1."""
    place = math.floor(NEW)
    for ax, label in zip(figure.subplots(1, 2, sharey=True), (0, 1), strict=True):
        labels = (*LABELS[:place], label, *LABELS[place:])
        base(ax, look, labels, new=place)
        corners = minorant(labels)
        _hull(ax, look, corners)
        for (a, b), (c, d) in itertools.pairwise(corners):
            if a <= place < c:
                ax.annotate(
                    f"slope {_fraction(d - b, c - a)}",
                    ((a + c) / 2, (b + d) / 2),
                    (10, -14),
                    textcoords="offset points",
                    color=look.strong,
                    fontsize=_style.NORMAL,
                )
        ax.set_title(f"with the new case as a {label}", color=look.ink)
        ax.set_xlabel("rows so far")
    figure.axes[0].set_ylabel("positives among them")


def draw_rule(figure: Figure, look: Theme) -> None:
    """Draw the bounds of every score: the two step functions of the rule."""
    ax = figure.subplots()
    _style.dress(ax, look)
    observed = range(1, len(LABELS) + 1)
    close = 1e-3  # bounds change at scores: look at both sides of each
    steps = [0.2, *(s + d for s in observed for d in (-close, 0, close)), 8.8]
    bounds = [reference.predict(observed, LABELS, score) for score in steps]
    lower, upper = ([float(pair[side]) for pair in bounds] for side in (0, 1))
    ax.fill_between(steps, lower, upper, color=look.band, linewidth=0)
    ax.plot(steps, upper, color=look.strong, linewidth=1.8)
    ax.plot(steps, lower, color=look.strong, linewidth=1.8, linestyle=_style.DASHED)
    ax.scatter(range(1, 9), LABELS, s=24, color=look.ink, zorder=4)
    ax.plot([NEW, NEW], [1 / 3, 3 / 4], color=look.accent, linewidth=3)
    ax.annotate(
        "3/4, if it were a 1",
        (NEW, 3 / 4),
        (-6, 7),
        textcoords="offset points",
        ha="right",
        color=look.ink,
        fontsize=_style.NORMAL,
    )
    ax.annotate(
        "1/3, if it were a 0",
        (NEW, 1 / 3),
        (8, -16),
        textcoords="offset points",
        color=look.ink,
        fontsize=_style.NORMAL,
    )
    ax.set_xlabel("score")
    ax.set_ylabel("probability")


def draw_star(figure: Figure, look: Theme) -> None:
    """Draw the orders of three folds, which meet in the new case."""
    ax = figure.subplots()
    ax.set_facecolor(look.paper)
    ax.set_aspect("equal")
    ax.axis("off")
    angles = (22, 52, 82)
    for number, (angle, fold) in enumerate(zip(angles, FOLDS, strict=True), start=1):
        for labels, turn in zip(fold, (180, 0), strict=True):
            way = math.radians(angle + turn)
            end = (len(labels) + 0.55) * 0.8
            ax.plot(
                [0, end * math.cos(way)],
                [0, end * math.sin(way)],
                color=look.soft,
                linewidth=1.4,
                zorder=1,
            )
            for step, label in enumerate(labels, start=1):
                ax.scatter(
                    0.8 * step * math.cos(way),
                    0.8 * step * math.sin(way),
                    s=95,
                    facecolors=look.strong if label else look.paper,
                    edgecolors=look.strong,
                    linewidths=1.6,
                    zorder=3,
                )
        way = math.radians(angle)
        far = (len(fold[1]) + 1.0) * 0.8
        ax.annotate(
            f"fold {number}",
            (far * math.cos(way), far * math.sin(way)),
            ha="left",
            va="center",
            color=look.ink,
            fontsize=_style.NORMAL,
        )
    ax.scatter(0, 0, s=190, color=look.accent, zorder=4)
    ax.annotate(
        "the new case",
        (0, 0),
        (14, -10),
        textcoords="offset points",
        color=look.accent,
        fontsize=_style.NORMAL,
    )
    for height, text in ((2.2, "higher scores"), (-2.2, "lower scores")):
        ax.annotate(
            text, (-3.6, height), color=look.soft, fontsize=_style.NORMAL, va="center"
        )
    ax.annotate(
        "",
        (-3.2, 1.9),
        (-3.2, -1.9),
        arrowprops={"arrowstyle": "->", "color": look.soft},
    )
    ax.scatter(
        [2.2, 2.2],
        [-1.6, -2.1],
        s=95,
        linewidths=1.6,
        facecolors=[look.strong, look.paper],
        edgecolors=look.strong,
    )
    for height, text in ((-1.6, "label 1"), (-2.1, "label 0")):
        ax.annotate(
            text, (2.5, height), color=look.ink, fontsize=_style.NORMAL, va="center"
        )
    ax.set_xlim(-3.8, 4.4)
    ax.set_ylim(-3.0, 3.6)


PICTURES: dict[str, tuple[Callable[[Figure, Theme], None], tuple[float, float]]] = {
    "diagram": (draw_diagram, SIZE),
    "minorant": (draw_minorant, SIZE),
    "bounds": (draw_bounds, PAIR),
    "rule": (draw_rule, SIZE),
    "star": (draw_star, (4.8, 3.7)),
}


def pictures() -> dict[str, str]:
    """Return all pictures by the names of their files."""
    found = {}
    for name, (draw, size) in PICTURES.items():
        for suffix, theme in (("", "light"), ("-dark", "dark")):
            with _style.drawing(theme) as look:
                figure = _style.own_figure(look, size)
                draw(figure, look)
            found[f"{name}{suffix}.svg"] = svg(figure, transparent=True)
    return found


def main() -> None:
    """Write all pictures, and say how large they are."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (folder / name).write_text(text)
        print(f"{len(text.encode()) / 1000:6.1f} KB  {folder / name}")


if __name__ == "__main__":
    main()
