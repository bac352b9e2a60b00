"""Loss panels: losses over the ratios, a panel for each underlying algorithm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from abers.paper.figures.palette import PENS, sheet, title
from abers.paper.results import LOSSES
from abers.paper.run import Unit
from abers.paper.tasks import ALL
from abers.plots import _style as style

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from abers.paper.results import ResultIndex
    from abers.plots._style import Theme
    from abers.validation import FloatArray

SIZE = (3.2, 2.45)  # of a panel, in inches
APART = 0.6  # how much further away the column `all` is
DODGE = 0.08  # between arrows that would hide each other
ROOM = 1.0  # above what matters, in heights of what matters
MATTERS = ("Platt", "IVAP", "CVAP")  # the methods that set the scale
UNITS = {
    "log_loss": "log loss, bits",
    "brier_loss": "Brier loss, \N{MULTIPLICATION SIGN} 4",
}
MANY = 9  # ratios whose names need less room


def losses(index: ResultIndex, task: str, kind: str, *, theme: str = "light") -> Figure:
    """Draw a loss over the ratios, one panel for each algorithm.

    Parameters
    ----------
    index : ResultIndex
        The results.
    task : str
        A task that has some.
    kind : {"log_loss", "brier_loss"}
        The loss.
    theme : {"light", "dark"}, default="light"
        The background that the colours are for.

    Returns
    -------
    matplotlib Figure
        Lines have gaps where a loss is infinite or a method had no answer; a small
        arrow at the upper edge is a finite loss beyond it. The column `all`, where
        training and calibration rows are the same, stands apart.
    """
    with style.drawing(theme) as look:
        algorithms = index.algorithms(task)
        columns = 3 if len(algorithms) <= 6 else 4  # noqa: PLR2004 (two rows)
        figure, axes = sheet(look, len(algorithms), columns=columns, size=SIZE)
        handles: dict[str, Artist] = {}
        for place, (ax, algorithm) in enumerate(zip(axes, algorithms, strict=True)):
            handles |= _panel(ax, index, (task, algorithm), kind, look)
            title(ax, algorithm, look)
            if place % columns == 0:
                ax.set_ylabel(UNITS[kind])
        entries = [(handles[name], name) for name in PENS if name in handles]
        style.key(figure, entries, look, loc="outside upper center", ncols=len(PENS))
    return figure


def _panel(
    ax: Axes, index: ResultIndex, panel: tuple[str, str], kind: str, look: Theme
) -> dict[str, Artist]:
    task, algorithm = panel
    ratios = index.ratios(task)
    x = np.arange(len(ratios)) + np.array([APART * (r == ALL) for r in ratios])
    found = {}
    for method in PENS:
        values = [index.loss(Unit(task, algorithm, r), method, kind) for r in ratios]
        found[method] = np.array([math.nan if v is None else v for v in values])
    low, high = _scale(found, np.array(ratios) == ALL)
    handles = {
        method: _line(ax, (x, values), ratios, method, (high, look))
        for method, values in found.items()
        if np.isfinite(values).any()
    }
    ax.set_ylim(low, high)
    ax.set_xlim(-0.4, x[-1] + 0.4)
    ax.set_xticks(x, labels=ratios, rotation=90 if len(ratios) > MANY else 0)
    ax.grid(visible=False, axis="x")
    if ALL in ratios and len(ratios) > 1:
        ax.axvline((x[-1] + x[-2]) / 2, color=look.grid, linewidth=1)
    return handles


def _line(
    ax: Axes,
    points: tuple[FloatArray, FloatArray],
    ratios: tuple[str, ...],
    method: str,
    frame: tuple[float, Theme],
) -> Artist:
    """Draw a line through the split columns, a mark at `all`, arrows beyond."""
    high, look = frame
    x, values = points
    pen = PENS[method].drawn(look)
    shown = np.where(np.isfinite(values), values, np.nan)
    beyond = np.isfinite(values) & (values > high)
    shown[beyond] = np.nan
    split = np.array(ratios) != ALL
    # Nothing lies outside, and whole marks at the edge are easier to see.
    (handle,) = ax.plot(
        x[split], shown[split], label=method, clip_on=False, zorder=2.5, **pen
    )
    alone = pen | {"linestyle": "none", "clip_on": False, "zorder": 2.5}
    if np.isfinite(shown[~split]).any():
        ax.plot(x[~split], shown[~split], label=f"{method} at all", **alone)
    if beyond.any():
        arrow = alone | {"marker": "^", "markersize": 5}
        aside = DODGE * (list(PENS).index(method) - len(PENS) / 2 + 0.5)
        edge = np.full(int(beyond.sum()), high)
        ax.plot(x[beyond] + aside, edge, label=f"{method} beyond", **arrow)
    return handle


def _scale(
    found: dict[str, FloatArray], is_all: NDArray[np.bool_]
) -> tuple[float, float]:
    """Return the ends of the axis: what matters, and what is not far above it."""
    inner = np.concatenate([found[method][~is_all] for method in MATTERS])
    every = np.concatenate(list(found.values()))
    inner, every = inner[np.isfinite(inner)], every[np.isfinite(every)]
    if not inner.size:
        inner = every if every.size else np.array([0.0, 1.0])
    height = max(float(np.ptp(inner)), 1e-3)
    limit = float(inner.max()) + ROOM * height
    near = every[every <= limit]
    low = float(min(inner.min(), near.min() if near.size else inner.min()))
    high = float(max(inner.max(), near.max() if near.size else inner.max()))
    margin = 0.08 * (high - low) or 0.01
    return low - margin, high + margin


def caption(task: str, kind: str, how: str) -> str:
    """Say what a figure of losses shows."""
    name = LOSSES[kind]
    return (
        f"{name[0].upper()}{name[1:]} on {task}: {how}. Across are rows that train to "
        "rows that calibrate. A gap is an infinite loss, or no answer; an arrow at the "
        "upper edge is a finite loss beyond it."
    )
