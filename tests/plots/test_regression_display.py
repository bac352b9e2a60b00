"""The picture of the rule of a regression, and the page that shows it."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib import pyplot as plt

import abers
from abers.errors import InvalidParameter, InvalidType, LengthMismatch
from abers.plots import RegressionRuleDisplay, svg

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
    rule = abers.fit_regression_rule(scores, targets, low=-10, high=70)
    display = RegressionRuleDisplay.from_rule(rule)
    between = scores[:-1] + 0.5
    for line, expected in (
        (display.lower_, rule.bounds(between)[:, 0]),
        (display.upper_, rule.bounds(between)[:, 1]),
        (display.value_, rule.value(between)),
    ):
        x, y = drawn(line)
        at = np.searchsorted(x, between) - 1
        # Steps that are lower than half a pixel are left out.
        np.testing.assert_allclose(y[at], expected, rtol=0, atol=0.2)
    assert display.dots_.get_xdata().size == 0
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "targets" not in texts


def test_rows_are_drawn_as_dots_and_of_many_some():
    rng = np.random.default_rng(0)
    scores = np.append(rng.normal(size=2_000), [INF, -INF])
    targets = scores.clip(-3, 3) + rng.normal(size=2_002)
    rule = abers.fit_regression_rule(scores, targets)
    display = RegressionRuleDisplay.from_rule(rule, scores=scores, targets=targets)
    x, y = display.dots_.get_data()
    assert x.size == 300
    pairs = set(zip(scores.tolist(), targets.tolist(), strict=True))
    assert set(zip(x.tolist(), y.tolist(), strict=True)) <= pairs
    few = RegressionRuleDisplay.from_rule(rule, scores=[0, INF, 1], targets=[5, 6, 7])
    assert few.dots_.get_ydata().tolist() == [5, 7]


def test_what_cannot_be_drawn_is_refused():
    rule = abers.fit_regression_rule([1, 2], [3, 4])
    with pytest.raises(InvalidParameter, match="both or neither; got no targets"):
        RegressionRuleDisplay.from_rule(rule, scores=[1])
    with pytest.raises(LengthMismatch, match="equally long"):
        RegressionRuleDisplay.from_rule(rule, scores=[1], targets=[1, 2])
    with pytest.raises(InvalidType, match="rule must be a RegressionRule; got a Rule"):
        RegressionRuleDisplay.from_rule(abers.fit_rule([1, 2], [0, 1]))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_it_becomes_a_small_picture(theme):
    rule = abers.fit_regression_rule([1, 2, 3], [1, 5, 4], low=1, high=5)
    display = RegressionRuleDisplay(rule, scores=[1, 2, 3], targets=[1, 5, 4])
    picture = svg(display, theme=theme)
    assert len(picture) < 40_000
    assert "upper: if its target were high" in picture


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
