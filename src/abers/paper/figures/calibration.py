"""Calibration pictures: what each method makes of the same score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers.paper.curves import DRAWN, TEST
from abers.paper.figures.palette import PENS, sheet, title
from abers.plots import _style as style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from abers.paper.curves import Curves
    from abers.plots._style import Theme
    from abers.validation import FloatArray

SIZE = (4.8, 4.1)
SMOOTH = 4  # every fourth point of a sigmoid is enough
RUG = (-0.07, -0.02)  # where a stroke for each percentile of the scores is


def calibration(curves: Sequence[Curves], *, theme: str = "light") -> Figure:
    """Draw the calibration functions of some algorithms, a panel each.

    Parameters
    ----------
    curves : sequence of Curves
        One for each algorithm.
    theme : {"light", "dark"}, default="light"
        The background that the colours are for.

    Returns
    -------
    matplotlib Figure
        IVAP's bounds are a band; the diagonal is the underlying algorithm itself, and
        strokes below are percentiles of the calibration scores.
    """
    with style.drawing(theme) as look:
        figure, axes = sheet(look, len(curves), columns=2, size=SIZE)
        entries: list[tuple[Artist, str]] = []
        for ax, one in zip(axes, curves, strict=True):
            entries = _draw(ax, one, look)
            title(ax, f"{one.algorithm} on {one.data}", look)
            ax.set(xlim=(0, 1), ylim=(RUG[0] - 0.02, 1.02))
            ax.set_xlabel("score: what the algorithm says")
        axes[0].set_ylabel("probability")
        style.key(figure, entries, look, loc="outside upper center", ncols=3)
    return figure


def _draw(ax: Axes, one: Curves, look: Theme) -> list[tuple[Artist, str]]:
    lower, upper, happened = (
        np.array(one.lines[name]) for name in ("lower", "upper", TEST)
    )
    scores = np.array(one.scores)
    x, (low, high) = _steps(scores, lower, upper)
    band = ax.fill_between(x, low, high, color=look.band, linewidth=0, label="IVAP")
    entries: list[tuple[Artist, str]] = [(band, "IVAP: lower to upper")]
    pen = PENS["underlying"].drawn(look) | {"marker": ""}
    (diagonal,) = ax.plot([0, 1], [0, 1], label="underlying", **pen)
    x, (y,) = _steps(scores, happened)
    (truth,) = ax.plot(x, y, color=look.ink, linewidth=1, label=TEST)
    for name in DRAWN:
        pen = PENS[name].drawn(look) | {"marker": "", "linewidth": 1.5}
        values = np.array(one.lines[name])
        x, (y,) = scores[::SMOOTH], (values[::SMOOTH],)
        if name == "isotonic":
            x, (y,) = _steps(scores, values)
        (handle,) = ax.plot(x, y, label=name, **pen)
        entries.append((handle, name))
    # One line with gaps: much shorter to write than a hundred.
    places = np.repeat(one.quantiles, 3)
    strokes = np.tile([*RUG, np.nan], len(one.quantiles))
    ax.plot(places, strokes, color=look.soft, linewidth=0.5)
    return [*entries, (diagonal, "underlying"), (truth, "isotonic on all test rows")]


def _steps(
    scores: FloatArray, *values: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """Return the corners of step functions that change halfway between scores."""
    changes = np.any([np.diff(each) != 0 for each in values], axis=0)
    edges = (scores[:-1] + scores[1:])[changes] / 2
    x = np.concatenate(([scores[0]], edges.repeat(2), [scores[-1]]))
    first = np.concatenate(([True], changes))
    return x, tuple(each[first].repeat(2) for each in values)
