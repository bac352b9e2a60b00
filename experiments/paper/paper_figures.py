"""Figures of the paper, and those that it planned, in the colours of both themes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.plots import _style as style
from abers.plots.svg import recoloured
from experiments.paper.claims import SPLIT
from experiments.paper.results import LOSSES, calibration_rows
from experiments.paper.run import Unit
from experiments.paper.sklearn_engine import ALGORITHMS, OF_PAPER
from experiments.paper.studies import artificial_data
from experiments.paper.studies.artificial_data import sigmoid_limit
from experiments.paper.studies.calibration_curves import DRAWN, TEST
from experiments.paper.tasks import ALL, SIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from abers.plots._style import Theme
    from abers.validation import FloatArray
    from experiments.paper.results import ResultIndex
    from experiments.paper.studies.artificial_data import SvmRun, Timing
    from experiments.paper.studies.calibration_curves import Curves
    from experiments.paper.studies.validity import Validity


# The palette: one colour, one line and one mark for each method.

DASH_DOT = (0, (5, 1.4, 1.2, 1.4))
SHORT = (0, (2.2, 1.4))
NARROW = 4.0  # points that a mark is wide
SCALE = style.SMALL / 8  # sizes of panels below are for text of 8 points


@dataclass(frozen=True, slots=True)
class Pen:
    """How a method is drawn; lines and marks differ as well as colours."""

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
    "Platt log-odds": Pen("#c9a36a", "#8a6d3b", DASH_DOT, "D", width=0.8, hollow=True),
    "isotonic": Pen("#00785a", "#4bc79f", SHORT, "o", hollow=True),
    "IVAP": Pen("#3d8fc4", "#5aa9dd", "-", "d"),
    "CVAP": Pen("#003f66", "#bfe4fb", "-", "o", width=1.9),
}


def _sheet(
    look: Theme, n_panels: int, *, columns: int, size: tuple[float, float]
) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels that nobody else knows; `size` is that of one panel."""
    rows = -(-n_panels // columns)
    columns = min(columns, n_panels)
    width, height = SCALE * size[0] * columns, SCALE * (size[1] * rows + 0.45)
    figure = style.own_figure(look, (width, height))
    axes = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for ax in axes[n_panels:]:
        ax.set_axis_off()
    for ax in axes[:n_panels]:
        style.dress(ax, look)
    return figure, axes[:n_panels]


def _title(ax: Axes, text: str, look: Theme) -> None:
    """Name a panel."""
    ax.set_title(text, loc="left", color=look.ink, fontsize=style.NORMAL)


def darkened(text: str) -> str:
    """Give an SVG of ours the colours of the dark theme."""
    return recoloured(text, "dark", {pen.light: pen.dark for pen in PENS.values()})


def on_paper(text: str, theme: str) -> str:
    """Add the background of a theme, for a figure in a file of its own."""
    start = text.index(">") + 1
    paper = style.THEMES[theme].paper
    rectangle = f'<rect width="100%" height="100%" fill="{paper}"/>'
    return text[:start] + rectangle + text[start:]


# Losses over the ratios, a panel for each underlying algorithm.

LOSS_PANEL = (3.2, 2.45)  # of a panel, in inches
APART = 0.6  # how much further away the column `all` is
DODGE = 0.08  # between arrows that would hide each other
ROOM = 1.0  # above what matters, in heights of what matters
CORE = ("IVAP", "CVAP")  # the methods that set the scale
MATTERS = ("Platt", *CORE)  # and those that do unless they squeeze the others
SQUEEZED = 0.1  # share of the height that is too little for the others
LEAST_HEIGHT = 0.01  # of what matters, where something was left out
MOST = 4  # of the paper's algorithms: with so many, a panel is kept for each
UNITS = {
    "log_loss": "log loss, bits",
    "brier_loss": "Brier loss, \N{MULTIPLICATION SIGN} 4",
}
MANY = 9  # ratios whose names need less room


def losses(
    index: ResultIndex,
    task: str,
    kind: str,
    *,
    theme: str = "light",
    stand_ins: bool = True,
) -> Figure:
    """Draw a loss over the ratios, one panel for each algorithm.

    Lines have gaps where a loss is infinite or a method has no prediction; a small
    arrow at the upper edge is a finite loss beyond it. The column `all`, where training
    and calibration rows are the same, stands apart. Panels are the paper's, in its
    order, and others after them; the stand-in for an algorithm is named in brackets.
    """
    with style.drawing(theme) as look:
        algorithms = _panels(index.algorithms(task))
        columns = 3 if len(algorithms) <= 6 else 4  # noqa: PLR2004 (two rows)
        figure, axes = _sheet(look, len(algorithms), columns=columns, size=LOSS_PANEL)
        handles: dict[str, Artist] = {}
        for place, (ax, algorithm) in enumerate(zip(axes, algorithms, strict=True)):
            one = ALGORITHMS[algorithm]
            _title(ax, one.label if stand_ins else one.weka or one.name, look)
            if place % columns == 0:
                ax.set_ylabel(UNITS[kind])
            if algorithm not in index.algorithms(task):
                _not_run(ax, look)
                continue
            handles |= _panel(ax, index, (task, algorithm), kind, look)
        entries = [(handles[name], name) for name in PENS if name in handles]
        style.legend(figure, entries, look, loc="outside upper center", ncols=len(PENS))
    return figure


def _panels(run: Sequence[str]) -> list[str]:
    """Return the algorithms to show; if most of the paper's were run, all of its."""
    of_paper = [name for name in OF_PAPER if name in run]
    whole = len(of_paper) >= MOST
    extra = [name for name in run if name not in OF_PAPER]
    return [*(OF_PAPER if whole else of_paper), *extra]


def _not_run(ax: Axes, look: Theme) -> None:
    ax.set(xticks=[], yticks=[])
    ax.text(0.5, 0.5, "not run", color=look.soft, ha="center", transform=ax.transAxes)


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
    inner, core = (
        np.concatenate([found[method][~is_all] for method in methods])
        for methods in (MATTERS, CORE)
    )
    every = np.concatenate(list(found.values()))
    inner, core, every = (each[np.isfinite(each)] for each in (inner, core, every))
    if not inner.size:
        inner = every if every.size else np.array([0.0, 1.0])
    least = 1e-3
    if core.size and 0 < np.ptp(core) < SQUEEZED * np.ptp(inner):
        inner, least = core, LEAST_HEIGHT
    height = max(float(np.ptp(inner)), least)
    limit = float(inner.max()) + ROOM * height
    near = every[every <= limit]
    low = float(min(inner.min(), near.min() if near.size else inner.min()))
    high = float(max(inner.max(), near.max() if near.size else inner.max()))
    margin = 0.08 * (high - low) or 0.01
    return low - margin, high + margin


def caption(task: str, kind: str, how: str) -> str:
    """Return the caption of a figure of losses."""
    name = LOSSES[kind]
    return (
        f"{name[0].upper()}{name[1:]} on {task}: {how}. The horizontal axis is the "
        "ratio of training to calibration rows. A gap is an infinite loss or a missing "
        "prediction; an arrow at the upper edge is a finite loss off the scale, left "
        "out so that it does not squeeze the others. Platt on log-odds is not in the "
        "paper."
    )


# Calibration functions: what each method makes of the same score.

CURVE_PANEL = (4.8, 4.1)
STEPPED = ("isotonic", "IVAP")
SMOOTH = 4  # every fourth point of a sigmoid is enough
RUG = (-0.07, -0.02)  # where a stroke for each percentile of the scores is


def calibration(curves: Sequence[Curves], *, theme: str = "light") -> Figure:
    """Draw the calibration functions of some algorithms, a panel each."""
    with style.drawing(theme) as look:
        figure, axes = _sheet(look, len(curves), columns=2, size=CURVE_PANEL)
        entries: list[tuple[Artist, str]] = []
        for ax, one in zip(axes, curves, strict=True):
            entries = _draw(ax, one, look)
            _title(ax, f"{one.algorithm} on {one.data}", look)
            ax.set(xlim=(0, 1), ylim=(RUG[0] - 0.02, 1.02))
            ax.set_xlabel("score: the algorithm's probability")
        axes[0].set_ylabel("calibrated probability")
        style.legend(figure, entries, look, loc="outside upper center", ncols=3)
    return figure


def _draw(ax: Axes, one: Curves, look: Theme) -> list[tuple[Artist, str]]:
    lower, upper, happened = (
        np.array(one.lines[name]) for name in ("lower", "upper", TEST)
    )
    scores = np.array(one.scores)
    x, (low, high) = _steps(scores, lower, upper)
    band = ax.fill_between(x, low, high, color=look.band, linewidth=0, label="IVAP")
    entries: list[tuple[Artist, str]] = [(band, "IVAP bounds")]
    pen = PENS["underlying"].drawn(look) | {"marker": ""}
    (diagonal,) = ax.plot([0, 1], [0, 1], label="underlying", **pen)
    x, (y,) = _steps(scores, happened)
    (truth,) = ax.plot(x, y, color=look.ink, linewidth=1, label=TEST)
    for name in (*DRAWN, "IVAP"):
        pen = PENS[name].drawn(look) | {"marker": "", "linewidth": 1.5}
        values = np.array(one.lines[name])
        x, (y,) = scores[::SMOOTH], (values[::SMOOTH],)
        if name in STEPPED:
            x, (y,) = _steps(scores, values)
        (handle,) = ax.plot(x, y, label=name, **pen)
        entries.append((handle, "IVAP, merged" if name == "IVAP" else name))
    if one.crossed:
        pen = PENS["CVAP"].drawn(look) | {"linestyle": "none", "markersize": NARROW - 1}
        x, y, _ = np.array(one.crossed).T
        (handle,) = ax.plot(x, y, label="CVAP", **pen)
        entries.append((handle, "CVAP over its mean score"))
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


# Time, widths of bounds, validity, and what sigmoids miss.

SIZE = (5.6, 3.6)
ERRORS = 2  # standard errors that a whisker is long
MARKS = ("o", "s", "D", "^", "v", "P")


def time(timings: Sequence[Timing], *, theme: str = "light") -> Figure:
    """Draw seconds over the number of scores, both on logarithmic scales."""
    with style.drawing(theme) as look:
        figure, (ax,) = _sheet(look, 1, columns=1, size=SIZE)
        pens = {
            "fit_platt": ("Platt, fit", PENS["Platt"].drawn(look)),
            "fit_isotonic": ("isotonic, fit", PENS["isotonic"].drawn(look)),
            "fit_sorted": ("IVAP, fit of sorted", PENS["Platt log-odds"].drawn(look)),
            "fit_ivap": ("IVAP, fit", PENS["CVAP"].drawn(look)),
            "sort": ("np.sort", PENS["underlying"].drawn(look)),
            "query": (
                "IVAP, one query",
                PENS["IVAP"].drawn(look) | {"linestyle": DASH_DOT},
            ),
        }
        entries: list[tuple[Artist, str]] = []
        for field, (name, pen) in pens.items():
            points = [(one.k, getattr(one, field)) for one in timings]
            known = [point for point in points if point[1] is not None]
            if known:
                (handle,) = ax.loglog(*zip(*known, strict=True), label=name, **pen)
                entries.append((handle, name))
        ax.set(xlabel="scores", ylabel="seconds")
        style.legend(figure, entries, look, loc="outside upper center", ncols=3)
    return figure


def entropies(*, theme: str = "light") -> Figure:
    """Draw the Gini index, its square root and Shannon's entropy."""
    with style.drawing(theme) as look:
        figure, (ax,) = _sheet(look, 1, columns=1, size=SIZE)
        p = np.linspace(0, 1, 201)
        pens = (PENS["IVAP"], PENS["underlying"], PENS["Platt"])
        entries: list[tuple[Artist, str]] = []
        for pen, (name, values) in zip(
            pens, artificial_data.entropies(p).items(), strict=True
        ):
            drawn = pen.drawn(look) | {"marker": ""}
            (handle,) = ax.plot(p, values, label=name, **drawn)
            entries.append((handle, name))
        ax.set(xlabel="probability of label 1", ylabel="entropy, 1 at 1/2", xlim=(0, 1))
        style.legend(figure, entries, look, loc="outside upper center", ncols=3)
    return figure


def widths(index: ResultIndex, *, theme: str = "light") -> Figure:
    """Draw the mean width of IVAP's bounds over the number of calibration rows."""
    with style.drawing(theme) as look:
        figure, (ax,) = _sheet(look, 1, columns=1, size=SIZE)
        ax.set(xscale="log", yscale="log", xlabel="calibration rows")
        ax.set_ylabel("mean width of the bounds")
        colours = [PENS[name].drawn(look)["color"] for name in PENS]
        entries: list[tuple[Artist, str]] = []
        shapes = zip(SIX, MARKS, colours, strict=True)
        for task, mark, colour in shapes:
            points = [
                (calibration_rows(unit), result.width_mean)
                for unit in index.units((task,), SPLIT)
                if (result := index.result(unit, "IVAP")) is not None
                and result.width_mean is not None
            ]
            if points:
                (handle,) = ax.plot(
                    *zip(*points, strict=True),
                    mark,
                    label=task,
                    color=colour,
                    markersize=NARROW + 1,
                    markerfacecolor="none",
                )
                entries.append((handle, task))
        style.legend(figure, entries, look, loc="outside upper center", ncols=4)
    return figure


def machines(runs: Sequence[SvmRun], *, theme: str = "light") -> Figure:
    """Draw losses of calibrated support vector machines over their training rows."""
    with style.drawing(theme) as look:
        figure, (ax,) = _sheet(look, 1, columns=1, size=SIZE)
        limit = sigmoid_limit()
        sizes = [run.n_train for run in runs]
        ax.set(xscale="log", xlabel="training rows", ylabel="log loss, bits")
        ax.set_xticks(sizes, labels=[f"{size:,}" for size in sizes])
        ax.minorticks_off()
        entries: list[tuple[Artist, str]] = []
        for field, name in (
            ("platt", "Platt"),
            ("isotonic", "isotonic"),
            ("ivap", "IVAP"),
        ):
            losses = [getattr(run, field) for run in runs]
            finite = [loss if math.isfinite(loss) else math.nan for loss in losses]
            (handle,) = ax.plot(sizes, finite, label=name, **PENS[name].drawn(look))
            entries.append((handle, name))
        for level, name, dashes in (
            (limit.sigmoid, "best sigmoid of ±1", SHORT),
            (limit.bayes, "Bayes", style.DOTTED),
        ):
            line = ax.axhline(level, color=look.ink, linewidth=1, linestyle=dashes)
            entries.append((line, f"{name}, {level:.4f}"))
        style.legend(figure, entries, look, loc="outside upper center", ncols=2)
    return figure


def validity(found: Sequence[Validity], *, theme: str = "light") -> Figure:
    """Draw labels minus levels over levels, a panel for each way of drawing."""
    with style.drawing(theme) as look:
        ways = list(dict.fromkeys(one.how for one in found))
        figure, axes = _sheet(look, len(ways), columns=2, size=(4.4, 2.6))
        handles: dict[str, Artist] = {}
        for place, (ax, how) in enumerate(zip(axes, ways, strict=True)):
            handles |= _deviations(ax, [one for one in found if one.how == how], look)
            _title(ax, how, look)
            ax.set_xlim(-0.03, 1.03)
            if place % 2 == 0:
                ax.set_ylabel("observed rate \N{MINUS SIGN} level")
            if place >= len(ways) - 2:
                ax.set_xlabel("level: the bound that the label selects")
        entries = [(handle, name) for name, handle in handles.items()]
        style.legend(
            figure, entries, look, loc="outside upper center", ncols=len(entries)
        )
    return figure


def _deviations(ax: Axes, found: Sequence[Validity], look: Theme) -> dict[str, Artist]:
    ax.axhline(0, color=look.soft, linewidth=1)
    names = ("Platt", "isotonic", "CVAP")
    handles: dict[str, Artist] = {}
    for one, name in zip(found, names, strict=False):
        pen = PENS[name].drawn(look)
        level, label, count = (
            np.array([getattr(group, field) for group in one.groups])
            for field in ("level", "mean_label", "count")
        )
        errors = ERRORS * np.sqrt(level * (1 - level) / count)
        ends = np.stack([label - level - errors, label - level + errors, errors], 1)
        ends[:, 2] = np.nan  # one line with gaps is a tenth of many lines
        ax.plot(level.repeat(3), ends.ravel(), color=pen["color"], linewidth=0.9)
        marks = pen | {"linestyle": "none", "markersize": NARROW - 1}
        (handle,) = ax.plot(level, label - level, label=f"k = {one.k:,}", **marks)
        handles[f"{one.k:,} calibration rows"] = handle
    return handles
