"""The page of more than two classes holds the numbers, and nothing that could run."""

import html

import numpy as np
import pytest

import abers
from abers import formatting
from abers.core.guarantees import CLASSES
from abers.plots import svg
from abers.plots._confusion import Confusion
from abers.report import evaluation_page, text as page_text
from abers.report.figures import data_uri
from page_parser import Page

LIMIT = 600_000  # characters


def drawn(classes, size=2_000):
    rng = np.random.default_rng(classes)
    p = rng.dirichlet(np.full(classes, 0.3), size)
    y = (rng.random(size)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(0, classes - 1)
    sharp = p**2 + 1e-9
    return y, p, sharp / sharp.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def evaluation():
    y, p, sharp = drawn(3)
    names = np.array(["<b>&", "two", "three"])[y]
    return abers.evaluate(
        None,
        p,
        names,
        before=sharp,
        classes=["<b>&", "two", "three"],
        groups=np.arange(y.size) % 2,
        name="three of them",
    )


@pytest.fixture(scope="module")
def text(evaluation):
    return evaluation_page(evaluation)


def test_page_is_well_formed_small_and_loads_nothing(text):
    page = Page(text)
    assert len(text) < LIMIT
    assert page.headings == [
        "Calibration report: three of them",
        "Before and after",
        "Figures",
        "Bands of the confidence",
        "Classes, largest |z| first",
        "Groups, largest |z| first",
        "Guarantees and limits",
        "Data and versions",
    ]
    addresses = [v for _, name, v in page.attributes if name in {"src", "srcset"}]
    assert len(addresses) == 4 * 2  # figures, for light and dark
    assert all(address.startswith("data:image/svg+xml,") for address in addresses)
    assert "<script" not in text
    assert "<b>&" not in text
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert ("meta", "content", policy) in page.attributes


def test_tables_put_each_number_in_its_place(evaluation, text):
    rows = [row for row in Page(text).rows if row]
    cells = {row[0]: row for row in rows}
    for name, loss in (
        ("log", evaluation.losses.log),
        ("Brier", evaluation.losses.brier),
    ):
        for when in ("before", "after"):
            shown = cells[f"{name} loss, {when}"][1]
            assert shown == formatting.cost(getattr(loss, when))
    for each in evaluation.by_class:
        row = cells[each.name]
        assert row[1] == f"{each.n_rows:,}"
        assert row[3:5] == [
            formatting.percent(each.mean_prediction),
            formatting.percent(each.observed_rate),
        ]
        assert row[-1] == formatting.percent(each.precision)
    for group in evaluation.groups:
        accuracy = formatting.percent(group.observed_rate)
        assert cells[str(group.name)][5] == accuracy


def test_most_frequent_errors_come_first(evaluation):
    table = page_text.error_table(evaluation)
    cells = np.array(evaluation.ranking.confusion)
    np.fill_diagonal(cells, 0)
    true, taken = np.unravel_index(cells.argmax(), cells.shape)
    assert table.rows[0][:2] == [
        f"{evaluation.classes[true]} → {evaluation.classes[taken]}",
        f"{cells.max():,}",
    ]
    right = abers.evaluate(None, np.eye(3), [0, 1, 2])
    assert page_text.error_table(right) is None


def test_first_sentence_has_accuracy_and_confidence(evaluation):
    first, second, _ = page_text.summary(evaluation)
    assert formatting.percent(evaluation.ranking.accuracy.before) in first
    assert formatting.percent(evaluation.calibration.after.mean_prediction) in first
    assert formatting.cost(evaluation.losses.log.after) in second
    y, p, _ = drawn(3)
    alone = abers.evaluate(None, p, y)
    assert "before" not in page_text.summary(alone)[0]
    assert "nothing is guaranteed" in evaluation_page(alone)


def test_bounds_of_several_classes_have_no_guarantee():
    y, p, _ = drawn(3)
    model = abers.IVAPClassifier(random_state=0).fit(p, y)
    text = evaluation_page(abers.evaluate(model, p, y))
    assert str(CLASSES) in text
    assert "Proven:" not in text


def test_the_confusion_of_a_dark_page_is_drawn_for_it(evaluation, text):
    """It mixes colours, and writes numbers in the ink that is read best on each."""
    display = Confusion(evaluation.ranking.confusion, evaluation.classes)
    light, dark = (
        data_uri(svg(display, theme=theme, transparent=True))
        for theme in ("light", "dark")
    )
    page = html.unescape(text)
    assert light in page
    assert dark in page


def test_a_hundred_classes_fit_on_a_page(tmp_path):
    y, p, sharp = drawn(100)
    evaluation = abers.evaluate(None, p, y, before=sharp, classes=range(100))
    evaluation.to_html(tmp_path / "page.html", title="many")
    text = (tmp_path / "page.html").read_text()
    assert len(text) < LIMIT
    assert "100 classes, 50 not shown" in text
    assert "88 classes are left out" in text
    assert "the 19 with the most errors" in text
    assert "100 of 100 classes have fewer than 50 rows" in text


def test_a_comparison_is_shown_with_it():
    y, p, sharp = drawn(3, 400)
    methods = ["uncalibrated", "IVAP", "isotonic", "Platt (log-odds)"]
    comparison = abers.compare(sharp, y, methods=methods)
    evaluation = abers.evaluate(None, p, y, before=sharp, comparison=comparison)
    text = evaluation_page(evaluation)
    assert "isotonic" in text
    assert "Log loss by method" in text
    assert evaluation.to_dict()["comparison"]["reference"] == "uncalibrated"
