"""The picture of the rule of a regression, and the page that shows it."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt

import abers
from abers.errors import InvalidData, InvalidParameter, InvalidType
from abers.plots import RuleDisplay, svg

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "regression.md"
INF = np.inf


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def drawn(line):
    """Return where a line goes, without the gaps."""
    x, y = line.get_data()
    return x[~np.isnan(x)], y[~np.isnan(y)]


def test_the_lines_are_the_bounds_and_their_midpoint():
    scores, targets = np.arange(60.0), np.arange(60.0) + np.tile([5, -5, 0], 20)
    rule = abers.rules.fit_regression_rule(scores, targets, low=-10, high=70)
    display = RuleDisplay.from_rule(rule)
    between = scores[:-1] + 0.5
    for line, expected in (
        (display.lower_, rule.bounds(between)[:, 0]),
        (display.upper_, rule.bounds(between)[:, 1]),
        (display.line_, rule.value(between)),
    ):
        x, y = drawn(line)
        at = np.searchsorted(x, between) - 1
        np.testing.assert_array_equal(y[at], expected)
    assert not hasattr(display, "dots_")
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "targets" not in texts


def test_rows_are_drawn_as_dots_and_of_many_some():
    rng = np.random.default_rng(0)
    scores = np.append(rng.normal(size=2_000), [INF, -INF])
    targets = scores.clip(-3, 3) + rng.normal(size=2_002)
    rule = abers.rules.fit_regression_rule(scores, targets)
    display = RuleDisplay.from_predictions(targets, scores, rule=rule)
    x, y = display.dots_.get_data()
    assert x.size == 300
    pairs = set(zip(scores.tolist(), targets.tolist(), strict=True))
    assert set(zip(x.tolist(), y.tolist(), strict=True)) <= pairs
    few = RuleDisplay.from_predictions([5, 6, 7], [0, INF, 1], rule=rule)
    assert few.dots_.get_ydata().tolist() == [5, 7]


def test_what_cannot_be_drawn_is_refused():
    rule = abers.rules.fit_regression_rule([1, 2], [3, 4])
    with pytest.raises(InvalidData, match="equally long"):
        RuleDisplay.from_predictions([1, 2], [1], rule=rule)
    with pytest.raises(InvalidParameter, match=r"rows must be None .* got a Rule"):
        RuleDisplay(abers.fit_rule([1, 2], [0, 1]), rows=([1], [1])).plot()
    with pytest.raises(InvalidType, match="or a RegressionRule; got a str"):
        RuleDisplay("rule").plot()
    with pytest.raises(InvalidParameter, match="rule must be given, or band"):
        RuleDisplay().plot()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_becomes_a_small_picture(theme):
    rule = abers.rules.fit_regression_rule([1, 2, 3], [1, 5, 4], low=1, high=5)
    display = RuleDisplay(rule, rows=([1, 2, 3], [1, 5, 4]))
    picture = svg(display, theme=theme)
    assert len(picture) < 40_000
    assert "upper: with its target high" in picture


def test_the_page_shows_what_its_code_makes():
    """Words only: ticks and last digits are matplotlib's to choose."""

    def words(picture):
        texts = re.findall(r"<text [^>]*>(.*?)</text>", picture)
        return [text for text in texts if re.search("[a-z]", text)]

    spec = importlib.util.spec_from_file_location("gallery", ROOT / "tools/gallery.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    made = tool.pictures(PAGE)
    kept = {path.name: path.read_text() for path in PAGE.with_suffix("").iterdir()}
    assert sorted(made) == sorted(kept) == ["rule-dark.svg", "rule.svg"]
    for name, picture in made.items():
        assert len(picture.encode()) < 40_000
        assert words(picture) == words(kept[name])
