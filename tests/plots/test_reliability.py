"""What is drawn of reliability is what was computed."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import abers
from abers.evaluation.reliability import consistency_band, reliability_curve
from abers.plots import DecisionCurveDisplay, ReliabilityDisplay
from abers.plots._panels import Panel, Panels


def labels_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def title(ax):
    return ax.get_title(loc="left")


def names_of(display):
    return [panel.name for panel in display.panels]


def test_line_is_the_reliability_curve(sample):
    _, y, p = sample
    p = p.round(1)
    display = ReliabilityDisplay.from_predictions(y, p)
    curve = reliability_curve(y, p)
    np.testing.assert_array_equal(display.line_.get_xdata(), curve.probabilities)
    np.testing.assert_array_equal(display.line_.get_ydata(), curve.frequencies)


def test_line_of_many_points_follows_the_curve(sample):
    _, y, p = sample
    display = ReliabilityDisplay.from_predictions(y, p)
    curve = reliability_curve(y, p)
    x, line = display.line_.get_data()
    np.testing.assert_array_equal(x, curve.probabilities)
    np.testing.assert_array_equal(line, curve.frequencies)


def test_fill_is_the_consistency_band(sample):
    _, y, p = sample
    display = ReliabilityDisplay.from_predictions(y, p, confidence=0.8)
    band = consistency_band(p, confidence=0.8)
    (path,) = display.fill_.get_paths()
    x, _ = path.vertices.T
    assert x.min() == pytest.approx(band.probabilities.min(), abs=1e-3)
    assert x.max() == pytest.approx(band.probabilities.max(), abs=1e-3)
    inside = band.lower + 0.005 < band.upper - 0.005
    for at in np.flatnonzero(inside)[5:-5:25]:
        p_at, low, high = band.probabilities[at], band.lower[at], band.upper[at]
        assert path.contains_points([(p_at, low + 0.005), (p_at, high - 0.005)]).all()
        assert not path.contains_points([(p_at, low - 0.01), (p_at, high + 0.01)]).any()
    assert "80% of curves, if calibrated" in labels_of(display)


def test_weights_count_as_rows(sample):
    _, y, p = sample
    p, weights = p.round(1), np.arange(p.size) % 3
    display = ReliabilityDisplay.from_predictions(y, p, sample_weight=weights)
    curve = reliability_curve(np.repeat(y, weights), np.repeat(p, weights))
    np.testing.assert_allclose(display.line_.get_ydata(), curve.frequencies)


def test_without_confidence_there_is_no_band(sample):
    _, y, p = sample
    display = ReliabilityDisplay.from_predictions(y, p, confidence=None)
    assert not hasattr(display, "fill_")
    assert labels_of(display) == ["observed rate", "calibrated"]


def test_estimator_is_asked_for_the_probability_of_its_second_class(sample):
    scores, y, _ = sample
    X, labels = scores.reshape(-1, 1), np.where(y, "yes", "no")
    model = GaussianNB().fit(X, labels)
    options = {"confidence": None}
    by_model = ReliabilityDisplay.from_estimator(model, X, labels, **options)
    by_hand = ReliabilityDisplay.from_predictions(
        y, model.predict_proba(X)[:, 1], **options
    )
    np.testing.assert_array_equal(*(d.line_.get_data() for d in (by_model, by_hand)))
    assert labels_of(by_model)[0] == "GaussianNB"


def test_estimator_of_three_classes_needs_one_of_them():
    model = GaussianNB().fit([[0], [1], [2]] * 2, [0, 1, 2] * 2)
    with pytest.raises(
        abers.AbersError, match=r"got 3 classes\. Pass pos_label=0, or .* Reliability"
    ):
        DecisionCurveDisplay.from_estimator(model, [[0]], [0])


def test_label_that_the_estimator_does_not_know_is_refused():
    model = GaussianNB().fit([[0], [1]] * 2, [0, 1] * 2)
    with pytest.raises(abers.AbersError, match="got 7 at row 1"):
        ReliabilityDisplay.from_estimator(model, [[0], [1]], [0, 7])


@pytest.mark.parametrize(
    ("y", "p"), [([1], [0.3]), ([0], [0]), ([1, 1, 1], [0.1, 0.2, 1])]
)
def test_one_row_and_one_class_are_drawn(y, p):
    display = ReliabilityDisplay.from_predictions(y, p)
    np.testing.assert_array_equal(display.line_.get_xdata(), p)
    assert display.line_.get_marker() == "o"


def test_rare_events_are_enlarged_and_common_ones_are_not(sample):
    _, y, p = sample
    rare = ReliabilityDisplay.from_predictions(np.zeros(p.size), p / 100)
    common = ReliabilityDisplay.from_predictions(y, p)
    assert rare.ax_.get_xlim()[1] < 0.02
    assert common.ax_.get_xlim()[1] > 1


def test_histogram_below_has_the_share_of_the_rows():
    """Three rows in the bin of 1/4, one in the bin of 3/4."""
    display = ReliabilityDisplay.from_predictions(
        [0, 1, 0, 1], [0.25, 0.25, 0.25, 0.75]
    )
    x, height = bars_of(display)
    assert height[(x > 0.2) & (x < 0.3)].max() == height.max()
    assert height[(x > 0.7) & (x < 0.8)].max() == pytest.approx(height.max() / 3)
    assert height[(x > 0.4) & (x < 0.6)].max() == pytest.approx(0)


def test_histogram_may_be_given_with_a_thinned_curve(sample):
    _, y, p = sample
    curve = reliability_curve(y, p).thinned()
    display = ReliabilityDisplay(curve, histograms=[[1, 2, 4, 1]]).plot()
    x, height = bars_of(display)
    assert height[(x >= 0.5) & (x < 0.75)].max() == height.max()
    assert height[x < 0.25].max() == pytest.approx(height.max() / 4)


def rare_events(size=20_000):
    """Probabilities below a tenth, save for one."""
    rng = np.random.default_rng(0)
    p = np.append(0.001 + rng.exponential(0.01, size - 1).clip(0, 0.098), 0.97)
    return rng.random(size) < p, p


def bars_of(display):
    """The middle of each bar, and its height."""
    values, edges, floor = display.ax_.patches[0].get_data()
    return (edges[:-1] + edges[1:]) / 2, values - floor


def test_one_extreme_prediction_does_not_set_the_axis():
    y, p = rare_events()
    display, *others = (
        ReliabilityDisplay.from_predictions(y, p),
        ReliabilityDisplay.from_predictions(y, p / 2, before=p, confidence=None),
        ReliabilityDisplay.by_group(y, p, p > 0.02, confidence=None),
    )
    for each in (display, *others):
        for ax in each.figure_.axes:
            assert 0.04 < ax.get_xlim()[1] < 0.11
    assert display.ax_.get_xlabel().split()[-3:] == ["beyond", "the", "edge)"]


@pytest.mark.parametrize("thin", [False, True])
def test_bars_of_rare_events_are_as_narrow_as_the_axis(thin):
    """Half of the rows have less than 0.001 + 0.01 log 2."""
    y, p = rare_events()
    curve, histogram = reliability_curve(y, p), None
    if thin:
        curve, histogram = curve.thinned(), [np.histogram(p, 50, (0, 1))[0] / p.size]
    display = ReliabilityDisplay(curve, histograms=histogram).plot()
    x, height = bars_of(display)
    assert np.unique(x).size > 35
    assert display.ax_.get_xlim()[1] < 0.11
    half = height[x < 0.001 + 0.01 * np.log(2)].sum() / height.sum()
    assert half == pytest.approx(0.5, abs=0.08)


def test_before_and_after_are_two_curves_of_one_picture(sample):
    _, y, p = sample
    after = (p / 2 + 0.25).round(1)
    display = ReliabilityDisplay.from_predictions(
        y, after, before=p.round(1), name="b", before_name="a", confidence=None
    )
    for line, predictions in ((display.before_, p.round(1)), (display.line_, after)):
        curve = reliability_curve(y, predictions)
        np.testing.assert_array_equal(line.get_xdata(), curve.probabilities)
        np.testing.assert_array_equal(line.get_ydata(), curve.frequencies)
    assert labels_of(display) == ["a", "b", "calibrated"]
    assert display.before_.get_linestyle() != display.line_.get_linestyle()


def test_each_group_has_the_curve_of_its_rows(sample):
    _, y, p = sample
    p, groups = p.round(1), np.arange(p.size) % 3
    display = ReliabilityDisplay.by_group(y, p, groups)
    for panel, line in zip(display.panels, display.lines_, strict=True):
        rows = groups == panel.name
        curve = reliability_curve(y[rows], p[rows])
        np.testing.assert_array_equal(line.get_ydata(), curve.frequencies)


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_come_in_the_order_of_the_table(weighted, sample):
    _, y, p = sample
    groups = np.where(np.arange(p.size) < 20, 9, np.arange(p.size) % 5)
    w = 1.0 + np.arange(p.size) % 3 if weighted else None
    display = ReliabilityDisplay.by_group(y, p, groups, sample_weight=w)
    table = abers.evaluate(None, p, y, groups=groups, sample_weight=w).groups
    assert names_of(display) == [group.name for group in table]


def test_a_large_group_is_not_worse_than_a_small_one_that_is_off():
    """Chance in 100,000 rows against a fifth in 300, which is 8 standard errors."""
    rng = np.random.default_rng(0)
    p, groups = rng.random(100_300), np.repeat(["large", "small"], [100_000, 300])
    y = rng.random(p.size) < np.where(groups == "large", p, np.clip(p + 0.2, 0, 1))
    display = ReliabilityDisplay.by_group(y, p, groups, confidence=None)
    assert names_of(display) == ["small", "large"]


def test_a_group_of_few_rows_comes_last():
    y, p = [0, 1] * 50 + [1, 1], [0.5] * 100 + [0.01] * 2
    display = ReliabilityDisplay.by_group(y, p, ["a"] * 100 + ["few"] * 2)
    assert names_of(display) == ["a", "few"]


def test_twelve_groups_are_drawn_and_the_rest_is_counted(sample):
    _, y, p = sample
    display = ReliabilityDisplay.by_group(y, p, np.arange(p.size) % 20)
    assert len(display.axes_) == 12
    assert (
        "12 of 20 groups, worst first; 8 left out"
        in display.figure_.subfigs[0].get_supxlabel()
    )


def test_rows_without_a_group_are_a_group():
    display = ReliabilityDisplay.by_group([0, 1], [0.2, 0.3], ["a", None])
    assert {title(ax) for ax in display.axes_} == {"a\nn = 1", "(no group)\nn = 1"}


@pytest.mark.parametrize("panels", [1, 2, 5, 7, 9, 12])
def test_any_number_of_panels_has_its_labels_at_the_edge(panels):
    curve = reliability_curve([0, 1], [0.2, 0.8])
    display = Panels([Panel(name, curve) for name in range(panels)]).plot()
    display.figure_.draw_without_rendering()
    for ax in display.axes_:
        place = ax.get_subplotspec()
        below = [
            other
            for other in display.axes_
            if other.get_subplotspec().colspan == place.colspan
            and other.get_subplotspec().rowspan.start > place.rowspan.start
        ]
        assert ax.xaxis.get_tick_params()["labelbottom"] == (not below)
        assert ax.yaxis.get_tick_params()["labelleft"] == place.is_first_col()


def test_panels_of_the_top_label_say_so():
    curve = reliability_curve([0, 1], [0.2, 0.8])
    display = Panels([Panel("a", curve)], top_label=True).plot()
    (figure,) = display.figure_.subfigs
    assert figure.get_supxlabel() == "probability of the most probable class"
    assert figure.get_supylabel() == "share of rows of that class"
    assert figure.legends[0].get_texts()[0].get_text() == figure.get_supylabel()


def test_groups_need_axes_that_can_be_replaced():
    from matplotlib.figure import Figure

    free = Figure().add_axes((0, 0, 1, 1))
    with pytest.raises(abers.AbersError, match="must belong to a grid"):
        ReliabilityDisplay.by_group([0, 1], [0.2, 0.8], [1, 1], ax=free)


def test_nothing_to_draw_is_refused():
    with pytest.raises(abers.AbersError, match="no groups to draw"):
        Panels([]).plot()
