"""What the figures draw: the numbers behind the lines, gaps, and nothing global."""

import math
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from abers import plots
from experiments.paper import paper_figures as figures
from experiments.paper.paper_figures import PENS, caption
from experiments.paper.results import ResultIndex, calibration_rows
from experiments.paper.run import Unit
from experiments.paper.studies.artificial_data import SvmRun, Timing
from experiments.paper.studies.calibration_curves import Curves
from experiments.paper.studies.validity import Group, Validity
from made_records import index, result

INF = math.inf
PLACES = [
    ("german", name, ratio) for name in ("tree", "SVM") for ratio in ("1:1", "4:1")
]


@pytest.fixture(scope="module")
def found():
    """Two algorithms at 1:1, 4:1 and all; isotonic infinite in places."""
    usual = {
        "underlying": (INF, 0.49),
        "Platt": (0.52, 0.48),
        "Platt log-odds": (0.51, 0.47),
        "isotonic": (INF, 0.46),
        "IVAP": (0.50, 0.45),
        "CVAP": (0.48, 0.44),
    }
    table = {place: dict(usual) for place in PLACES}
    table["german", "tree", "1:1"]["isotonic"] = (0.505, 0.46)
    table["german", "tree", "4:1"]["IVAP"] = (0.49, 0.45)
    for name in ("tree", "SVM"):
        table["german", name, "all"] = {"IVAP": (9.0, 0.46), "Platt": (0.53, 0.47)}
    return index(table)


def svg(figure):
    return plots.svg(figure, transparent=True)


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


def drawn(found, kind="log_loss", theme="light"):
    return figures.losses(found, "german", kind, theme=theme)


def test_a_panel_for_each_algorithm_in_the_order_of_the_paper(found):
    figure = drawn(found)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["J48 (here: tree)", "SVM"]


def test_lines_are_the_losses_with_gaps_where_they_are_infinite(found):
    tree, svm = drawn(found).axes
    assert lines(tree)["IVAP"].get_ydata().tolist() == [0.50, 0.49]
    first, second = lines(tree)["isotonic"].get_ydata()
    assert first == 0.505
    assert math.isnan(second)
    assert "isotonic" not in lines(svm)  # never finite
    assert "underlying" not in lines(svm)


def test_a_gap_is_an_infinite_loss_or_no_answer():
    usual = {"IVAP": (0.5, 0.45), "Platt": (0.52, 0.48)}
    table = {place: dict(usual) for place in PLACES}
    table["german", "tree", "4:1"]["Platt"] = (math.nan, math.nan)
    tree, _ = drawn(index(table), "brier_loss").axes
    first, second = lines(tree)["Platt"].get_ydata()
    assert first == 0.48
    assert math.isnan(second)
    told = caption("german", "brier_loss", "file order")
    assert "A gap is an infinite loss or a missing prediction;" in told
    assert "left out so that it does not squeeze the others" in told


def test_brier_losses_have_no_gaps(found):
    tree, _ = drawn(found, "brier_loss").axes
    for method in PENS:
        assert np.isfinite(lines(tree)[method].get_ydata()).all()


def test_column_all_stands_apart_and_is_not_joined(found):
    tree, _ = drawn(found, "brier_loss").axes
    x = lines(tree)["IVAP"].get_xdata()
    assert x.tolist() == [0, 1]
    apart = lines(tree)["IVAP at all"]
    assert apart.get_xdata()[0] > 2
    assert apart.get_linestyle() == "None"
    assert [text.get_text() for text in tree.get_xticklabels()] == ["1:1", "4:1", "all"]


def test_a_finite_loss_beyond_the_panel_is_an_arrow_at_its_edge(found):
    tree, _ = drawn(found).axes
    arrow = lines(tree)["IVAP beyond"]
    assert arrow.get_marker() == "^"
    assert arrow.get_ydata().tolist() == [tree.get_ylim()[1]]
    assert "IVAP at all" not in lines(tree)
    assert tree.get_ylim()[1] < 1  # 9 bits do not squeeze the rest


def test_methods_differ_in_line_and_mark_not_only_in_colour():
    pens = [(str(pen.line), pen.mark, pen.hollow, pen.width) for pen in PENS.values()]
    assert len(set(pens)) == len(pens)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_drawing_leaves_no_trace(found, theme):
    settings, figures_before = dict(mpl.rcParams), plt.get_fignums()
    svg(drawn(found, theme=theme))
    assert dict(mpl.rcParams) == settings
    assert plt.get_fignums() == figures_before


def test_svg_is_the_same_each_time_and_well_formed(found):
    first, second = (svg(drawn(found)) for _ in range(2))
    assert first == second
    root = ET.fromstring(first)  # noqa: S314 (our own)
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"J48 (here: tree)", "SVM", "1:1", "all", "CVAP"} <= set(texts)
    marks = sum(1 for _ in root.iter("{http://www.w3.org/2000/svg}use"))
    assert marks > 20


def test_dark_picture_is_the_light_one_in_other_colours(found):
    light, dark = (svg(drawn(found, theme=t)) for t in ("light", "dark"))
    assert light != dark
    assert without_names(figures.darkened(light)) == without_names(dark)


def without_names(text):
    """Names of marks and clip paths are made of what they are, colours included."""
    return re.sub(r"(id=\"|#)[mp][0-9a-f]{10}", r"\1", text)


def test_a_picture_by_itself_has_a_background(found):
    text = svg(drawn(found))
    assert "<rect" not in text.split("<defs>")[0]
    for theme, colour in (("light", "#ffffff"), ("dark", "#161b22")):
        paper = figures.on_paper(text, theme)
        assert f'fill="{colour}"' in paper[: paper.index("<defs>")]


def test_widths_are_drawn_over_the_number_of_calibration_rows():
    some = ResultIndex(
        result((data, "tree", "4:1"), "IVAP", (0.5, 0.5), width=width)
        for data, width in (("german", 0.07), ("adult", 0.007))
    )
    (ax,) = figures.widths(some).axes
    for data, width in (("german", 0.07), ("adult", 0.007)):
        line = lines(ax)[data]
        rows = calibration_rows(Unit(data, "tree", "4:1"))
        assert line.get_xdata().tolist() == [rows]
        assert line.get_ydata().tolist() == [width]


def test_times_are_drawn_as_they_were_taken():
    seconds = [10.0**-j for j in range(6)]
    timings = [
        Timing(10**i, *seconds, None if i > 3 else 2.0, 3.0, None) for i in (3, 4)
    ]
    (ax,) = figures.time(timings).axes
    assert lines(ax)["IVAP, fit"].get_ydata().tolist() == [0.1, 0.1]
    assert lines(ax)["np.sort"].get_xdata().tolist() == [1_000, 10_000]
    assert lines(ax)["isotonic, fit"].get_xdata().tolist() == [1_000]  # others: not
    assert lines(ax)["IVAP, one query"].get_ydata().tolist() == [1e-5, 1e-5]


def test_machines_have_gaps_and_lines_of_the_limits():
    runs = [
        SvmRun(100, 0.5, 0.71, 0.8, INF, 0.75),
        SvmRun(400, 0.9, 0.71, 0.8, 0.74, 0.74),
    ]
    (ax,) = figures.machines(runs).axes
    first, second = lines(ax)["isotonic"].get_ydata()
    assert math.isnan(first)
    assert second == 0.74
    levels = [line.get_ydata()[0] for line in ax.get_lines()[3:]]
    assert levels == pytest.approx([0.8113, 0.7213], abs=5e-5)


def test_validity_shows_label_minus_level_with_two_standard_errors():
    one = Validity("exchangeable", 20, 100, (Group(0.5, 0.6, 100, 2.0),), 4.0, 0.05)
    other = replace(one, how="stratified split", k=100)
    first, second = figures.validity([one, other]).axes
    assert [ax.get_title(loc="left") for ax in (first, second)] == [one.how, other.how]
    marks = lines(first)["k = 20"]
    assert marks.get_ydata() == pytest.approx([0.1])
    whisker = next(line for line in first.get_lines() if len(line.get_xdata()) == 3)
    assert whisker.get_ydata()[:2] == pytest.approx([0.0, 0.2])  # 0.1 ± 2 · 0.05
    assert "k = 100" in lines(second)


def test_calibration_functions_keep_their_steps():
    scores = tuple(np.linspace(0, 1, 5).tolist())
    steps = (0.0, 0.0, 0.5, 0.5, 1.0)
    rest = dict.fromkeys(("Platt", "Platt log-odds", "lower", "upper"), scores)
    lines_of = rest | {"isotonic": steps, "IVAP": steps, "test rows": scores}
    crossed = ((0.2, 0.3, 0.3), (0.6, 0.7, 0.8))
    one = Curves("german", "tree", "", 133, scores, lines_of, (0.1, 0.9), crossed)
    (ax,) = figures.calibration([one]).axes
    isotonic = lines(ax)["isotonic"]
    assert isotonic.get_xdata().tolist() == [0, 0.375, 0.375, 0.875, 0.875, 1]
    assert isotonic.get_ydata().tolist() == [0, 0, 0.5, 0.5, 1, 1]
    assert lines(ax)["IVAP"].get_ydata().tolist() == isotonic.get_ydata().tolist()
    assert lines(ax)["CVAP"].get_xdata().tolist() == [0.2, 0.6]
    assert lines(ax)["CVAP"].get_ydata().tolist() == [0.3, 0.7]


def test_a_panel_is_kept_for_each_of_the_paper_s_algorithms_and_others_follow():
    names = ("tree", "bagging", "logistic", "naive Bayes", "boosting")
    table = {("german", name, "4:1"): {"IVAP": (0.5, 0.4)} for name in names}
    axes = drawn(index(table)).axes
    titles = [ax.get_title(loc="left") for ax in axes]
    assert titles == [  # two rows of four: the last place is empty
        "J48 (here: tree)",
        "J48 bagging (here: bagging)",
        "logistic",
        "naive Bayes",
        "neural networks",
        "SVM",
        "boosting (not in the paper)",
        "",
    ]
    assert [text.get_text() for text in axes[4].texts] == ["not run"]


def test_a_curve_that_would_squeeze_the_others_is_marked_at_the_edge():
    """Section 6: such curves "would squeeze unacceptably the interesting parts"."""
    table = {
        ("german", "tree", ratio): {
            "Platt": (0.60, 0.5),
            "IVAP": (0.481, 0.4),
            "CVAP": (cvap, 0.4),
        }
        for ratio, cvap in (("1:1", 0.480), ("4:1", 0.479))
    }
    (ax,) = drawn(index(table)).axes
    assert ax.get_ylim()[1] < 0.5
    assert lines(ax)["Platt beyond"].get_ydata().tolist() == [ax.get_ylim()[1]] * 2


def test_entropies_are_one_at_one_half():
    (ax,) = figures.entropies().axes
    for line in ax.get_lines():
        assert line.get_ydata()[100] == pytest.approx(1)
        assert line.get_ydata()[[0, -1]].tolist() == [0, 0]
