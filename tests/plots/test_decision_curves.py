"""Curves over the threshold, drawn as they were computed."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from abers.errors import InvalidParameter, InvalidType
from abers.evaluation import cost_curve, decision_curve
from abers.plots import DecisionCurveDisplay

CURVES = {"net_benefit": decision_curve, "cost": cost_curve}


@pytest.mark.parametrize("height", CURVES)
def test_three_ways_draw_the_same(sample, height):
    scores, labels, _ = sample
    compute, draw = CURVES[height], DecisionCurveDisplay
    X, thresholds = scores.reshape(-1, 1), [0.4, 0.1, 0.2]
    model = GaussianNB().fit(X, labels)
    p = model.predict_proba(X)[:, 1]
    curve = compute(labels, p, thresholds=thresholds)
    displays = [
        draw(curve).plot(),
        draw.from_predictions(labels, p, kind=height, thresholds=thresholds),
        draw.from_estimator(model, X, labels, kind=height, thresholds=thresholds),
    ]
    for display in displays:
        assert display.line_.get_xdata().tolist() == [0.1, 0.2, 0.4]
        for line, values in (
            (display.line_, getattr(curve, height)),
            (display.treat_all_, curve.treat_all),
            (display.treat_none_, curve.treat_none),
        ):
            np.testing.assert_array_equal(line.get_ydata(), values[[1, 2, 0]])
    named = [d.ax_.get_legend().get_texts()[0].get_text() for d in displays]
    assert named == ["predictions", "predictions", "GaussianNB"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_loses_much_leaves_the_picture_at_the_bottom(sample, theme):
    _, labels, p = sample
    display = DecisionCurveDisplay.from_predictions(labels, p, theme=theme)
    low, high = display.ax_.get_ylim()
    assert display.treat_all_.get_ydata().min() < low < 0
    assert display.line_.get_ydata().max() < high


@pytest.mark.parametrize("height", CURVES)
def test_predictions_before_are_drawn_beside_those_after(sample, height):
    _, labels, p = sample
    compute = CURVES[height]
    before, after = compute(labels, p), compute(labels, p**2)
    display = DecisionCurveDisplay.from_predictions(labels, p**2, before=p, kind=height)
    np.testing.assert_array_equal(display.before_.get_ydata(), getattr(before, height))
    np.testing.assert_array_equal(display.line_.get_ydata(), getattr(after, height))
    named = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert named == ["before", "after", "treat all", "treat none"]


def test_all_costs_of_use_are_in_the_picture(sample):
    _, labels, p = sample
    display = DecisionCurveDisplay.from_predictions(labels, p, kind="cost")
    low, high = display.ax_.get_ylim()
    assert low < 0 < display.line_.get_ydata().max() < high
    best = np.minimum(display.curve.treat_all, display.curve.treat_none)
    assert best.max() < high


def test_a_curve_of_another_kind_is_refused(sample):
    _, labels, p = sample
    curve = decision_curve(labels, p)
    with pytest.raises(InvalidType, match="or a CostCurve; got a int"):
        DecisionCurveDisplay(3).plot()
    with pytest.raises(InvalidType, match="before must be a DecisionCurve; got a Cost"):
        DecisionCurveDisplay(curve, before=cost_curve(labels, p)).plot()
    with pytest.raises(InvalidParameter, match="kind must be 'net_benefit' or 'cost'"):
        DecisionCurveDisplay.from_predictions(labels, p, kind="benefit")
