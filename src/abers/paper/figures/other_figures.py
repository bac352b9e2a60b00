"""Other figures: calibration functions, time, widths, validity, what sigmoids miss."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from abers.paper.claims.verdicts import PERMUTED, SPLIT
from abers.paper.figures.palette import DASH_DOT, NARROW, PENS, SHORT, sheet, title
from abers.paper.results import calibration_rows
from abers.paper.studies.calibration_curves import DRAWN, TEST
from abers.paper.studies.svm_limit import sigmoid_limit
from abers.paper.tasks import SIX
from abers.plots import _style as style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from abers.paper.results import ResultIndex
    from abers.paper.studies.calibration_curves import Curves
    from abers.paper.studies.svm_limit import SvmRun
    from abers.paper.studies.timing import Timing
    from abers.paper.studies.validity import Validity
    from abers.plots._style import Theme
    from abers.validation import FloatArray


# Calibration functions: what each method makes of the same score.

PANEL = (4.8, 4.1)
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
        figure, axes = sheet(look, len(curves), columns=2, size=PANEL)
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


# Time, widths of bounds, validity, and what sigmoids miss.

SIZE = (5.6, 3.6)
ERRORS = 2  # standard errors that a whisker is long
MARKS = ("o", "s", "D", "^", "v", "P", "X")


def time(timings: Sequence[Timing], *, theme: str = "light") -> Figure:
    """Draw seconds over the number of scores, both on logarithmic scales.

    Parameters
    ----------
    timings : sequence of Timing
        One for each size.
    theme : {"light", "dark"}, default="light"
        The background that the colours are for.

    Returns
    -------
    matplotlib Figure
        One line for each thing that was timed.
    """
    with style.drawing(theme) as look:
        figure, (ax,) = sheet(look, 1, columns=1, size=SIZE)
        pens = {
            "fit_platt": ("Platt, fit", PENS["Platt"].drawn(look)),
            "fit_isotonic": ("isotonic, fit", PENS["isotonic"].drawn(look)),
            "fit_ivap": ("IVAP, fit", PENS["CVAP"].drawn(look)),
            "sort": ("np.sort", PENS["underlying"].drawn(look)),
            "predict_ivap": (
                "IVAP, predict",
                PENS["IVAP"].drawn(look) | {"linestyle": DASH_DOT},
            ),
        }
        entries: list[tuple[Artist, str]] = []
        sizes = [one.k for one in timings]
        for field, (name, pen) in pens.items():
            seconds = [getattr(one, field) for one in timings]
            (handle,) = ax.loglog(sizes, seconds, label=name, **pen)
            entries.append((handle, name))
        ax.set(xlabel="scores", ylabel="seconds")
        style.key(figure, entries, look, loc="outside upper center", ncols=3)
    return figure


def widths(index: ResultIndex, *, theme: str = "light") -> Figure:
    """Draw the mean width of IVAP's bounds over the number of calibration rows.

    Parameters
    ----------
    index : ResultIndex
        The results.
    theme : {"light", "dark"}, default="light"
        The background that the colours are for.

    Returns
    -------
    matplotlib Figure
        One mark for each algorithm and ratio, in the shape of its data set.
    """
    with style.drawing(theme) as look:
        figure, (ax,) = sheet(look, 1, columns=1, size=SIZE)
        ax.set(xscale="log", yscale="log", xlabel="calibration rows")
        ax.set_ylabel("mean width of the bounds")
        colours = [PENS[name].drawn(look)["color"] for name in PENS] + [look.ink]
        entries: list[tuple[Artist, str]] = []
        shapes = zip((*SIX, PERMUTED), MARKS, colours, strict=True)
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
        style.key(figure, entries, look, loc="outside upper center", ncols=4)
    return figure


def machines(runs: Sequence[SvmRun], *, theme: str = "light") -> Figure:
    """Draw losses of calibrated support vector machines over their training rows.

    Parameters
    ----------
    runs : sequence of SvmRun
        One for each size.
    theme : {"light", "dark"}, default="light"
        The background that the colours are for.

    Returns
    -------
    matplotlib Figure
        Horizontal lines are the losses of Bayes and of the best sigmoid of ±1.
    """
    with style.drawing(theme) as look:
        figure, (ax,) = sheet(look, 1, columns=1, size=SIZE)
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
        style.key(figure, entries, look, loc="outside upper center", ncols=2)
    return figure


def validity(found: Sequence[Validity], *, theme: str = "light") -> Figure:
    """Draw labels minus levels over levels, a panel for each way of drawing.

    Parameters
    ----------
    found : sequence of Validity
        Of some sizes of calibration sets for each way.
    theme : {"light", "dark"}, default="light"
        The background that the colours are for.

    Returns
    -------
    matplotlib Figure
        Whiskers are two standard errors. Where the bound that the label selects is
        calibrated, they cross 0.
    """
    with style.drawing(theme) as look:
        ways = list(dict.fromkeys(one.how for one in found))
        figure, axes = sheet(look, len(ways), columns=2, size=(4.4, 2.6))
        handles: dict[str, Artist] = {}
        for place, (ax, how) in enumerate(zip(axes, ways, strict=True)):
            handles |= _deviations(ax, [one for one in found if one.how == how], look)
            title(ax, how, look)
            ax.set_xlim(-0.03, 1.03)
            if place % 2 == 0:
                ax.set_ylabel("mean label \N{MINUS SIGN} level")
            if place >= len(ways) - 2:
                ax.set_xlabel("level: the bound that the label selects")
        entries = [(handle, name) for name, handle in handles.items()]
        style.key(figure, entries, look, loc="outside upper center", ncols=len(entries))
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
