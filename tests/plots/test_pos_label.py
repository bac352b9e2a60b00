"""Displays take any two labels, and draw what 0 and 1 in their place would draw."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import abers
from abers.evaluation import decision_curve
from abers.plots import (
    DecisionCurveDisplay,
    ReliabilityDisplay,
    RuleDisplay,
    svg,
)

KINDS = [
    *("reliability", "before and after", "groups", "band"),
    *("decision curve", "cost curve"),
]


def drawn(kind, scores, y, p, **options):
    """Draw one of the displays that take labels."""
    if kind == "groups":
        return ReliabilityDisplay.by_group(y, p, scores > 0, **options)
    display, more = {
        "reliability": (ReliabilityDisplay, {}),
        "before and after": (ReliabilityDisplay, {"before": p / 2}),
        "band": (RuleDisplay, {}),
        "decision curve": (DecisionCurveDisplay, {}),
        "cost curve": (DecisionCurveDisplay, {"kind": "cost"}),
    }[kind]
    return display.from_predictions(y, p, **more, **options)


@pytest.fixture(scope="module")
def rows(sample):
    scores, labels, p = (column[:300] for column in sample)
    return scores, np.where(labels, "bad", "good"), p


@pytest.mark.parametrize("kind", KINDS)
def test_pos_label_counts_as_one(kind, rows):
    scores, names, p = rows
    named = drawn(kind, scores, names, p, pos_label="bad")
    assert svg(named) == svg(drawn(kind, scores, names == "bad", p))


@pytest.mark.parametrize("kind", KINDS)
def test_text_without_pos_label_is_refused_with_the_way_out(kind, rows):
    with pytest.raises(abers.AbersError, match="pass pos_label='good'"):
        drawn(kind, *rows)
    with pytest.raises(abers.AbersError, match="pos_label must be among"):
        drawn(kind, rows[0], np.arange(300), rows[2], pos_label="bad")


def test_decision_curve_takes_the_positive_label(rows):
    _, names, p = rows
    named = decision_curve(names, p, pos_label="bad")
    plain = decision_curve(names == "bad", p)
    np.testing.assert_array_equal(named.net_benefit, plain.net_benefit)
    with pytest.raises(abers.AbersError, match="pass pos_label='good'"):
        decision_curve(names, p)


@pytest.fixture(scope="module")
def model(rows):
    """A classifier whose first class is 'bad'."""
    scores, names, _ = rows
    return abers.IVAPClassifier(GaussianNB(), random_state=0).fit(
        scores.reshape(-1, 1), names
    )


def test_rule_of_the_first_class_is_the_mirrored_one(model):
    display = RuleDisplay.from_estimator(model, pos_label="bad")
    assert display.rule == model.rules_[0][0].mirrored()
    assert RuleDisplay.from_estimator(model).rule is model.rules_[0][0]
    with pytest.raises(abers.AbersError, match="pos_label must be one of the classes"):
        RuleDisplay.from_estimator(model, pos_label="ugly")


def test_band_and_curves_of_the_first_class_are_about_its_label(model, rows):
    X, names = rows[0].reshape(-1, 1), rows[1]
    band = RuleDisplay.from_estimator(model, X, names, pos_label="bad")
    assert band.rule == model.rules_[0][0].mirrored()
    both = ReliabilityDisplay.from_estimator(model, X, names, pos_label="bad")
    p = 1 - model.predict_proba(X)[:, 1]
    after = ReliabilityDisplay.from_predictions(names, p, pos_label="bad")
    np.testing.assert_array_equal(both.curve.frequencies, after.curve.frequencies)
    curve = DecisionCurveDisplay.from_estimator(model, X, names, pos_label="bad")
    first = decision_curve(names, model.predict_proba(X)[:, 0], pos_label="bad")
    np.testing.assert_array_equal(curve.curve.net_benefit, first.net_benefit)
