"""What is drawn of more than two classes is what was computed."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from sklearn.naive_bayes import GaussianNB

import abers
from abers.evaluation.reliability import reliability_curve
from abers.plots import ClassesDisplay, ReliabilityDisplay, svg
from abers.plots._confusion import Confusion


@pytest.fixture(scope="module")
def rows():
    """Labels of three classes, right probabilities, and ones that are too sure."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 2], 600).round(2)
    p[:, 2] = (1 - p[:, 0] - p[:, 1]).clip(0)
    places = (rng.random(600)[:, None] > p.cumsum(axis=1)).sum(axis=1)
    sharp = p**2
    return np.array([*"abc"])[places], p, sharp / sharp.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def points():
    """A feature and labels of three classes that it tells apart, more or less."""
    X = np.random.default_rng(1).normal(size=(300, 1))
    return X, np.digitize(X[:, 0] + np.linspace(-1, 1, 300), [-0.5, 0.5])


def labels_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def cells_of(display):
    """Return the text of each cell, by row and column."""
    return {text.get_position()[::-1]: text.get_text() for text in display.ax_.texts}


def test_top_label_is_the_reliability_curve_of_the_highest_probability(rows):
    y, p, sharp = rows
    display = ReliabilityDisplay.from_predictions(y, p, before=sharp)
    for curve, table in ((display.curve, p), (display.before, sharp)):
        right = np.array([*"abc"])[table.argmax(axis=1)] == y
        wanted = reliability_curve(right, table.max(axis=1))
        np.testing.assert_array_equal(curve.probabilities, wanted.probabilities)
        np.testing.assert_array_equal(curve.frequencies, wanted.frequencies)
    assert labels_of(display) == [
        *("before", "after", "90% of curves, if calibrated", "calibrated")
    ]


def test_top_label_without_band_and_without_before(rows):
    y, p, _ = rows
    display = ReliabilityDisplay.from_predictions(y, p, confidence=None)
    assert labels_of(display) == ["share of rows of that class", "calibrated"]
    assert not hasattr(display, "fill_")
    assert not hasattr(display, "before_")


def test_top_label_of_our_classifier_has_both(points):
    X, y = points
    ours = abers.IVAPClassifier(GaussianNB(), random_state=0).fit(X, y)
    display = ReliabilityDisplay.from_estimator(ours, X, y)
    inner = ours.estimators_[0].predict_proba(X).max(axis=1)
    np.testing.assert_allclose(display.before.probabilities[-1], inner.max())
    theirs = ReliabilityDisplay.from_estimator(GaussianNB().fit(X, y), X, y)
    assert theirs.before is None


def test_weights_count_as_rows(rows):
    y, p, _ = rows
    weights = np.arange(y.size) % 3
    kept = np.repeat(np.arange(y.size), weights)
    weighted = ReliabilityDisplay.from_predictions(y, p, sample_weight=weights)
    repeated = ReliabilityDisplay.from_predictions(y[kept], p[kept])
    np.testing.assert_allclose(weighted.curve.frequencies, repeated.curve.frequencies)
    cells = ClassesDisplay.confusion(y, p, sample_weight=weights)
    same = ClassesDisplay.confusion(y[kept], p[kept])
    np.testing.assert_array_equal(cells.confusion, same.confusion)
    panels = ClassesDisplay.from_predictions(y, p, sample_weight=weights).panels
    others = ClassesDisplay.from_predictions(y[kept], p[kept]).panels
    expected = {panel.name: panel.curve.frequencies for panel in others}
    for panel in panels:
        np.testing.assert_allclose(panel.curve.frequencies, expected[panel.name])


def test_classes_have_a_panel_each_the_worst_first(rows):
    y, _, sharp = rows
    display = ClassesDisplay.from_predictions(y, sharp)
    evaluation = abers.evaluate(None, sharp, y)
    assert [panel.name for panel in display.panels] == [
        c.name for c in evaluation.by_class
    ]
    titles = [ax.get_title(loc="left") for ax in display.axes_]
    assert titles == [f"{c.name}\nn = {c.n_rows}" for c in evaluation.by_class]
    for panel in display.panels:
        place = "abc".index(panel.name)
        curve = reliability_curve(y == panel.name, sharp[:, place])
        at = np.isin(curve.probabilities, panel.curve.probabilities)
        np.testing.assert_array_equal(curve.frequencies[at], panel.curve.frequencies)


def test_twelve_classes_are_drawn_and_the_others_counted():
    p = np.random.default_rng(2).dirichlet(np.ones(15), 400)
    display = ClassesDisplay.from_predictions(p.argmax(axis=1), p)
    assert len(display.axes_) == 12
    text = display.figure_.subfigs[0].get_supxlabel()
    assert text.endswith("12 of 15 classes, worst first; 3 left out")


def test_confusion_has_the_number_of_each_cell(rows):
    y, p, _ = rows
    display = ClassesDisplay.confusion(y, p)
    confusion = abers.evaluate(None, p, y).ranking.confusion
    np.testing.assert_array_equal(display.confusion, confusion)
    cells = cells_of(display)
    for row, column in np.ndindex(3, 3):
        number = confusion[row, column]
        assert cells.get((row, column), "0") == str(number)
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [*"abc"]


def test_estimators_draw_what_their_predictions_draw(points):
    X, y = points
    model = GaussianNB().fit(X, y)
    p = model.predict_proba(X)
    drawn = ClassesDisplay.from_estimator(model, X, y)
    plain = ClassesDisplay.from_predictions(y, p)
    for line, other in zip(drawn.lines_, plain.lines_, strict=True):
        np.testing.assert_array_equal(line.get_data(), other.get_data())
    drawn = ReliabilityDisplay.from_estimator(model, X, y)
    plain = ReliabilityDisplay.from_predictions(y, p)
    np.testing.assert_array_equal(drawn.line_.get_data(), plain.line_.get_data())


def test_classes_with_few_errors_are_pooled():
    """Of 30 classes 25 are right; 19 are drawn, the five that are not among them."""
    confusion = np.diag(np.full(30, 10))
    wrong = [3, 7, 11, 20, 29]
    confusion[wrong, 0] = 2
    display = Confusion(confusion, range(30)).plot()
    assert display.shown_.shape == (20, 20)
    assert display.shown_.sum() == confusion.sum()
    assert display.names_[-1] == "11 others"
    assert {*map(str, wrong), "0"} <= set(display.names_)
    assert not display.ax_.texts
    assert len(svg(display, theme="light")) < 40_000


def test_a_confusion_of_another_shape_is_refused():
    with pytest.raises(abers.AbersError, match=r"shape \(2, 3\) and 3 classes"):
        Confusion(np.ones((2, 3)), ["a", "b", "c"]).plot()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_numbers_can_be_read_on_their_cells(theme, rows):
    """Contrast of at least 3, as WCAG asks of large text."""
    y, p, _ = rows
    display = ClassesDisplay.confusion(y, p, theme=theme)

    def luminance(colour):
        parts = np.array(colour[:3])
        low = parts <= 0.04045
        linear = np.where(low, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    for text in display.ax_.texts:
        point = text.get_position()
        patches = display.ax_.patches
        (cell,) = (it for it in patches if it.get_path().contains_point(point))
        both = luminance(cell.get_facecolor()), luminance(to_rgb(text.get_color()))
        assert (max(both) + 0.05) / (min(both) + 0.05) >= 3
