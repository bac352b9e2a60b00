"""All displays alike: text, themes, state, files."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

import abers
from abers import plots
from abers.plots import (
    ClassesDisplay,
    DecisionCurveDisplay,
    LossesDisplay,
    ReliabilityDisplay,
    RuleDisplay,
    svg,
)
from abers.plots._style import THEMES, WIDTH, shown
from abers.plots.losses import Loss
from abers.plots.svg import recoloured

TEXT = "{http://www.w3.org/2000/svg}text"
NAMED_BY_LOOK = re.compile(r"(?<=[#\"])m[0-9a-f]{10}")  # markers


@pytest.fixture(scope="module")
def sample(sample):
    return tuple(column[:300] for column in sample)


def drawn(kind, sample, **options):
    """Draw one of the displays."""
    scores, y, p = sample
    losses = [Loss("one", 0.4, 0.0), Loss("other", 0.5, 0.1)]
    table, labels = np.stack((p / 2, p / 2, 1 - p), axis=1), np.where(y, scores > 0, 2)
    draw = {
        "reliability": lambda: ReliabilityDisplay.from_predictions(y, p, **options),
        "before and after": lambda: ReliabilityDisplay.from_predictions(
            y, p / 2, before=p, **options
        ),
        "rule": lambda: RuleDisplay.from_rule(abers.fit_rule(scores, y), **options),
        "band": lambda: RuleDisplay.from_predictions(
            y, scores, rule=abers.fit_rule(scores, y), **options
        ),
        "probabilities": lambda: RuleDisplay.from_predictions(y, p, **options),
        "regression": lambda: RuleDisplay.from_predictions(
            p, scores, rule=abers.rules.fit_regression_rule(scores, p), **options
        ),
        "losses": lambda: LossesDisplay(losses, reference="one").plot(**options),
        "groups": lambda: ReliabilityDisplay.by_group(y, p, scores > 0, **options),
        "decision curve": lambda: DecisionCurveDisplay.from_predictions(
            y, p, **options
        ),
        "cost curve": lambda: DecisionCurveDisplay.from_predictions(
            y, p, kind="cost", **options
        ),
        "top label": lambda: ReliabilityDisplay.from_predictions(
            labels, table, before=table[::-1], **options
        ),
        "classes": lambda: ClassesDisplay.from_predictions(labels, table, **options),
        "confusion": lambda: ClassesDisplay.confusion(labels, table, **options),
        "monitor": lambda: watched(scores, y).plot(**options),
    }
    return draw[kind]()


KINDS = [
    *("reliability", "before and after", "rule", "band", "probabilities"),
    *("regression", "losses", "groups"),
    *("decision curve", "cost curve"),
    *("top label", "classes", "confusion"),
    "monitor",
]


def watched(scores, y):
    """A monitor with an alarm."""
    monitor = abers.Monitor(scores, y)
    monitor.update(scores + 1, y)
    assert monitor.state.alarm
    return monitor


@pytest.fixture(scope="module")
def pictures(sample):
    """Return what renders a display in a theme, each once."""

    @cache
    def rendered(kind, theme="light"):
        return svg(drawn(kind, sample), theme=theme)

    return rendered


def texts(picture):
    tree = ET.fromstring(picture)  # noqa: S314 (made by the test itself)
    return ["".join(text.itertext()) for text in tree.iter(TEXT)]


def state():
    return dict(mpl.rcParams), plt.get_fignums()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("theme", THEMES)
def test_drawing_and_rendering_change_no_global_state(kind, theme, sample):
    before = state()
    figure = Figure()
    display = drawn(kind, sample, theme=theme, ax=figure.subplots())
    svg(display)
    svg(display, theme="dark")
    assert state() == before
    assert display.figure_ is figure


@pytest.mark.parametrize("kind", KINDS)
def test_without_axes_pyplot_makes_the_figure(kind, sample):
    display = drawn(kind, sample)
    assert plt.gcf() is display.figure_


@pytest.mark.parametrize("kind", KINDS)
def test_display_stands_in_a_grid_of_the_user(kind, sample):
    figure, (left, right) = plt.subplots(1, 2)
    display = drawn(kind, sample, ax=right)
    figure.draw_without_rendering()
    assert display.figure_ is figure
    assert not left.has_data()


@pytest.mark.parametrize("kind", KINDS)
def test_same_picture_gives_the_same_text(kind, sample, pictures):
    assert svg(drawn(kind, sample)) == pictures(kind)


def test_threads_draw_what_one_draws_and_leave_settings_alone(sample):
    displays = [drawn(kind, sample) for kind in ("rule", "band", "groups")]
    before = state()

    def pictures(number):
        theme = list(THEMES)[number % 2]
        return [svg(display, theme=theme) for display in displays]

    expected = [pictures(number) for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(pictures, range(4))) == expected
    assert state() == before


def test_text_is_the_same_in_another_process():
    script = (
        "import abers; from abers.plots import RuleDisplay, svg;"
        "rule = abers.fit_rule([1, 2, 3], [0, 1, 0]);"
        "print(svg(RuleDisplay(rule), theme='light'))"
    )
    command = [sys.executable, "-c", script]
    there = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    assert there == svg(RuleDisplay(rule), theme="light") + "\n"


@pytest.mark.parametrize("kind", KINDS)
def test_rendering_does_not_depend_on_the_settings_of_the_user(kind, sample, pictures):
    expected = pictures(kind)
    display = drawn(kind, sample)
    with mpl.rc_context({"text.usetex": True, "font.size": 20, "svg.fonttype": "path"}):
        assert svg(display, theme="light") == expected


@pytest.mark.parametrize("kind", KINDS)
def test_rendered_picture_is_small_loads_nothing_and_tells_no_time(kind, pictures):
    picture = pictures(kind)
    assert picture.startswith("<svg")
    assert len(picture.encode()) < 60_000
    for word in ("<script", "<image", "date", "Matplotlib", "DejaVu"):
        assert word not in picture
    assert picture.count("http") == picture.count("http://www.w3.org/")


@pytest.mark.parametrize("steps", [200, 400, 1_000])
def test_rule_with_a_step_in_every_pixel_is_small(steps):
    scores = np.repeat(np.arange(steps), steps)
    labels = np.tile(np.arange(steps), steps) < scores
    display = RuleDisplay.from_rule(abers.fit_rule(scores, labels))
    assert len(svg(display).encode()) < 60_000


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("kind", KINDS)
def test_colours_are_those_of_the_theme(kind, theme, pictures):
    picture = pictures(kind, theme)
    assert THEMES[theme].paper in picture
    other = THEMES["dark" if theme == "light" else "light"]
    for colour in (other.paper, other.ink, other.strong):
        assert colour not in picture


def test_transparent_picture_has_no_background(sample):
    display = drawn("rule", sample)
    assert f'fill: {THEMES["light"].paper}"' in svg(display)
    assert f'fill: {THEMES["light"].paper}"' not in svg(display, transparent=True)


def test_display_that_was_never_drawn_is_rendered_and_left_alone():
    display = RuleDisplay(abers.fit_rule([1, 2, 3], [0, 1, 0]))
    assert "with the case as a 0" in svg(display)
    assert not hasattr(display, "ax_")


def test_a_figure_is_rendered_as_it_is():
    figure = Figure()
    figure.text(0, 0, "hello")
    assert texts(svg(figure)) == ["hello"]


def test_what_is_no_picture_is_refused():
    with pytest.raises(abers.AbersError, match="got a str"):
        svg("hello")


def test_unknown_theme_is_refused():
    with pytest.raises(abers.AbersError, match="theme must be 'light' or 'dark'"):
        RuleDisplay.from_rule(abers.fit_rule([1], [1]), theme="pink")


HOSTILE = [
    "$x_1$ and $\\frac{a}{b}$",
    "US$ or AU$",
    "$\\nonsense{$",
    "_nolegend_",
    "_",
    "<script>alert('1')</script> & \"quotes\"",
    'd="M 1.23456 7.89012" transform="rotate(-0 1 2)" font-family: x',
    "北京 😀 𓀀 עברית",
    "two\nlines\tand\0more\x1b",
    "\ud800 alone",
    "\u202eright to left",
    "%s {0} \\n",
    "",
    "x" * 10_000,
]


def expected(name, longest=32):
    return shown(name, longest=longest).replace(r"\$", "$")


def drawn_texts(display):
    display.figure_.canvas.draw()  # an unknown sign would warn
    return texts(svg(display))


@pytest.mark.parametrize("row", range(0, len(HOSTILE), 2))
def test_names_of_curves_are_shown_as_they_are(row, sample):
    _, y, p = sample
    pair = HOSTILE[row : row + 2]
    display = ReliabilityDisplay.from_predictions(
        y, p, before=p / 2, name=pair[1], before_name=pair[0], confidence=None
    )
    assert drawn_texts(display)[-3:-1] == [expected(name) for name in pair]


def test_names_of_methods_are_shown_as_they_are():
    losses = [Loss(name, place, 0.1) for place, name in enumerate(HOSTILE)]
    lines = drawn_texts(LossesDisplay(losses, reference=HOSTILE[0]).plot())
    assert [name for name in HOSTILE if expected(name, 24) not in lines] == []
    assert f"from {expected(HOSTILE[0])}" in lines


@pytest.mark.parametrize("names", [HOSTILE[:7], HOSTILE[7:]], ids=["some", "others"])
def test_names_of_groups_are_shown_as_they_are(names):
    y, p = np.tile([0, 1], len(names)), np.full(2 * len(names), 0.5)
    display = ReliabilityDisplay.by_group(y, p, np.repeat(names, 2).tolist())
    lines = drawn_texts(display)
    assert [name for name in names if expected(name, 14) not in lines] == []


def test_long_names_keep_both_ends():
    assert shown("the first of many, the last") == "the first of many, the last"
    name = shown("start" + "x" * 100 + "end", longest=12)
    assert name == "startx…xxend"


def test_no_name_is_said_to_be_none():
    assert shown(" \n ") == "(no name)"


def luminance(colour):
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in mpl.colors.to_rgb(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_text_and_lines_stand_out_from_the_paper(theme):
    """The thresholds of WCAG 2: 4.5 for text, 3 for what a picture shows."""
    look = THEMES[theme]
    assert min(contrast(c, look.paper) for c in (look.ink, look.soft)) >= 4.5
    assert min(contrast(c, look.paper) for c in (look.strong, look.accent)) >= 3
    assert contrast(look.strong, look.band) >= 3


@pytest.mark.parametrize("theme", THEMES)
def test_the_two_colours_differ_in_grey_print(theme):
    assert contrast(THEMES[theme].strong, THEMES[theme].accent) >= 1.8


def test_public_names_are_these():
    assert plots.__all__ == [
        "ClassesDisplay",
        "DecisionCurveDisplay",
        "LossesDisplay",
        "MonitorDisplay",
        "ReliabilityDisplay",
        "RuleDisplay",
        "svg",
    ]


def test_matplotlib_is_loaded_when_something_is_drawn():
    script = "import abers.plots, sys; print('matplotlib' in sys.modules)"
    command = [sys.executable, "-c", script]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output == "False\n"


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setattr("abers.errors.find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r'pip install "abers\[plot\]"'):
        RuleDisplay.from_rule(abers.fit_rule([1], [1]))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "confusion"])
def test_recoloured_picture_is_the_one_of_the_other_theme(kind, pictures):
    """Of all that mix no colours; markers are named by how they look."""
    light, dark = pictures(kind, "light"), pictures(kind, "dark")
    ours, theirs = (NAMED_BY_LOOK.sub("", t) for t in (recoloured(light, "dark"), dark))
    assert sorted(ours.split("\n")) == sorted(theirs.split("\n"))
    assert recoloured(light, "light") == light


def test_a_name_that_looks_like_a_colour_is_kept(sample):
    _, y, p = sample
    display = ReliabilityDisplay.from_predictions(y, p, name=THEMES["light"].ink)
    light = svg(display, theme="light")
    assert texts(light) == texts(recoloured(light, "dark"))
    assert THEMES["light"].ink in texts(light)


@pytest.mark.parametrize("kind", ["reliability", "band", "rule", "decision curve"])
@pytest.mark.parametrize("width", [WIDTH, 9])
def test_legend_stands_above_the_axes_and_within_the_figure(kind, width, sample):
    figure = Figure(figsize=(width, 4), layout="constrained")
    display = drawn(kind, sample, ax=figure.subplots())
    figure.draw_without_rendering()
    legend = display.ax_.get_legend().get_window_extent()
    assert legend.y0 >= display.ax_.get_window_extent().y1
    used, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert 0 <= used.x0 < used.x1 <= width
    assert 0 <= used.y0 < used.y1 <= height
