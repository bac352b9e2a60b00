"""A narrow picture has text as large as a wide one, and room for its legend."""

import copy
import re

import numpy as np
import pytest
from matplotlib.figure import Figure

import abers
from abers.evaluation import cost_curve
from abers.plots import (
    BandDisplay,
    BeforeAfterDisplay,
    CostCurveDisplay,
    DecisionCurveDisplay,
    GroupsDisplay,
    LossDisplay,
    ReliabilityDisplay,
    RuleDisplay,
    svg,
)
from abers.plots.losses import Loss
from abers.plots.svg import recoloured

NARROW = 3.6
NAMED_BY_LOOK = re.compile(r"(?<=[#\"])m[0-9a-f]{10}")  # markers


@pytest.fixture(scope="module")
def displays(sample):
    scores, y, p = (column[:300] for column in sample)
    losses = [
        Loss("isotonic with dummies", 0.4, 0.0),
        Loss("other", 0.5, 0.1),
        Loss("isotonic", np.inf, np.nan),
    ]
    rule = abers.fit_rule(scores, y)
    monitor = abers.Monitor(scores, y)
    monitor.update(scores, y)
    groups = np.array([f"group {i % 12} #1f2328" for i in range(300)])
    return {
        "reliability": ReliabilityDisplay.from_predictions(y, p, name="#1f2328"),
        "before and after": BeforeAfterDisplay.from_predictions(y, p, p / 2),
        "rule": RuleDisplay.from_rule(rule),
        "band": BandDisplay.from_scores(scores, y),
        "losses": LossDisplay(losses, reference="other").plot(),
        "groups": GroupsDisplay.from_predictions(y, p, groups),
        "decision curve": DecisionCurveDisplay.from_predictions(y, p),
        "monitor": monitor.plot(),
        "cost curve": CostCurveDisplay.from_curve(
            cost_curve(y, p), before=cost_curve(y, p / 2)
        ),
    }


KINDS = [
    *("reliability", "before and after", "rule", "band", "losses", "groups"),
    *("decision curve", "monitor"),
    *("decision curve", "cost curve"),
]


LEGEND_ABOVE = [
    *("reliability", "band", "rule"),
    *("decision curve", "cost curve"),
]


def widths(picture):
    """Return the width in points, of the element and of its view box."""
    width = re.search(r"<svg [^>]*\bwidth=\"([\d.]+)pt\"", picture)[1]
    box = re.search(r"viewBox=\"0 0 ([\d.]+) ", picture)[1]
    return float(width), float(box)


def drawn_narrow(display):
    """Draw a display as `svg` does; return it with its places settled."""
    figure = Figure(figsize=display.size_at(NARROW), layout="constrained")
    display = copy.copy(display).plot(ax=figure.subplots())
    figure.draw_without_rendering()
    return display


@pytest.mark.parametrize("kind", KINDS)
def test_text_keeps_its_size(kind, displays):
    narrow = svg(displays[kind], width=NARROW)
    assert widths(narrow) == (72 * NARROW, 72 * NARROW)
    sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", narrow)]
    assert min(sizes) * 100 / 72 >= 11


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_leaves_the_picture(kind, displays):
    figure = drawn_narrow(displays[kind]).figure_
    used, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert 0 <= used.x0 < used.x1 <= width
    assert 0 <= used.y0 < used.y1 <= height


@pytest.mark.parametrize("kind", LEGEND_ABOVE)
def test_legend_stands_above_the_curves(kind, displays):
    display = drawn_narrow(displays[kind])
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 >= display.ax_.get_window_extent().y1


def test_groups_stand_in_two_columns(displays):
    display = drawn_narrow(displays["groups"])
    columns = [axes.get_subplotspec().colspan.start for axes in display.axes_]
    assert columns == [0, 1] * 6
    assert display.size_at(NARROW)[1] > display.size[1]


@pytest.mark.parametrize("kind", KINDS)
def test_recoloured_picture_is_the_one_of_the_other_theme(kind, displays):
    light, dark = (svg(displays[kind], theme=theme) for theme in ("light", "dark"))
    texts = [NAMED_BY_LOOK.sub("", text) for text in (recoloured(light, "dark"), dark)]
    assert sorted(texts[0].split("\n")) == sorted(texts[1].split("\n"))
    assert recoloured(light, "light") == light
