"""The decision curve is drawn as it was computed."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from abers.evaluation import decision_curve
from abers.plots import DecisionCurveDisplay


def test_three_ways_draw_the_same(sample):
    scores, labels, _ = sample
    X, thresholds = scores.reshape(-1, 1), [0.4, 0.1, 0.2]
    model = GaussianNB().fit(X, labels)
    p = model.predict_proba(X)[:, 1]
    curve = decision_curve(labels, p, thresholds=thresholds)
    displays = [
        DecisionCurveDisplay.from_curve(curve),
        DecisionCurveDisplay.from_predictions(labels, p, thresholds=thresholds),
        DecisionCurveDisplay.from_estimator(model, X, labels, thresholds=thresholds),
    ]
    for display in displays:
        assert display.line_.get_xdata().tolist() == [0.1, 0.2, 0.4]
        np.testing.assert_array_equal(
            display.line_.get_ydata(), curve.net_benefit[[1, 2, 0]]
        )
        np.testing.assert_array_equal(
            display.treat_all_.get_ydata(), curve.treat_all[[1, 2, 0]]
        )
        assert not display.treat_none_.get_ydata().any()
    named = [d.ax_.get_legend().get_texts()[0].get_text() for d in displays]
    assert named == ["predictions", "predictions", "GaussianNB"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_loses_much_leaves_the_picture_at_the_bottom(sample, theme):
    _, labels, p = sample
    display = DecisionCurveDisplay.from_predictions(labels, p, theme=theme)
    low, high = display.ax_.get_ylim()
    assert display.treat_all_.get_ydata().min() < low < 0
    assert display.line_.get_ydata().max() < high
