"""The map of a rule of two scores shows its bounds."""

import numpy as np
import pytest

import abers
from abers.errors import InvalidParameter, InvalidType
from abers.plots import PosetDisplay, svg
from strategies import INF


def drawn(signs=(1, 1), size=300):
    rng = np.random.default_rng(0)
    risk = rng.normal(size=size)
    scores = (risk[:, None] + rng.normal(size=(size, 2))) * signs
    labels = rng.random(size) < 1 / (1 + np.exp(-2 * risk))
    flags = [bool(sign > 0) for sign in signs]
    return abers.fit_poset_rule(scores, labels, increasing=flags)


@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_stairs_are_where_the_bounds_reach_the_level(signs):
    rule = drawn(signs)
    display = PosetDisplay.from_rule(rule, level=0.3)
    low, high = display.ax_.get_ylim()
    cell = (high - low) / 80
    for line, side in ((display.lower_, 0), (display.upper_, 1)):
        x, y = line.get_data()
        middle = (x[:-1] + x[1:]) / 2
        flat = (y[:-1] == y[1:]) & (np.diff(x) > 0)
        assert flat.any()
        for at, height in zip(middle[flat], y[:-1][flat], strict=True):
            step = cell * signs[1]
            below, above = rule.bounds([[at, height - step], [at, height + step]])
            assert below[side] < 0.3 or not low < height - step < high
            assert above[side] >= 0.3 or not low < height + step < high


def test_the_upper_bound_is_first():
    display = PosetDisplay.from_rule(drawn())
    assert np.nanmin(display.upper_.get_ydata()) <= np.nanmin(
        display.lower_.get_ydata()
    )


def test_names_and_level_are_shown():
    display = PosetDisplay.from_rule(drawn(), level=0.25, names=("age", "US$"))
    assert display.ax_.get_xlabel() == "age"
    assert display.ax_.get_ylabel() == r"US\$"
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["lower bound reaches 0.25", "upper bound reaches 0.25"]


def test_few_cases_one_point_and_infinite_scores_are_drawn():
    for vectors, labels in (
        ([[1, 1]], [1]),
        ([[-INF, 0], [1, INF], [2, 3]], [0, 1, 1]),
        ([[INF, INF]], [0]),
    ):
        display = PosetDisplay.from_rule(abers.fit_poset_rule(vectors, labels))
        assert display.ax_.lines


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_picture_is_small(theme):
    picture = svg(PosetDisplay(drawn(size=2000)), theme=theme)
    assert len(picture.encode()) < 40_000


def test_what_cannot_be_drawn_is_refused():
    three = abers.fit_poset_rule([[1, 2, 3]], [1])
    with pytest.raises(InvalidParameter, match="of two scores to be drawn; got 3"):
        PosetDisplay.from_rule(three)
    with pytest.raises(InvalidType, match="rule must be a PosetRule; got a Rule"):
        PosetDisplay.from_rule(abers.fit_rule([1], [1]))
    with pytest.raises(InvalidParameter, match="level must be between 0 and 1"):
        PosetDisplay.from_rule(drawn(), level=1)
    with pytest.raises(InvalidParameter, match="loss must be"):
        PosetDisplay.from_rule(drawn(), loss="hinge")
    with pytest.raises(InvalidParameter, match=r"names must be two.*got \('age',\)"):
        PosetDisplay.from_rule(drawn(), names=("age",))
