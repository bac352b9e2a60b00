"""The methods that are compared, each against what it is by definition."""

import numpy as np
import pytest
from scipy.special import expit, logit

import abers
from abers.comparison.methods import METHODS, Scores, chosen
from abers.errors import InvalidParameter

RNG = np.random.default_rng(1)
MARGINS = RNG.normal(size=120).round(2)
LABELS = (MARGINS + RNG.logistic(size=120) > 0).astype(int)
WEIGHTS = RNG.integers(0, 4, 120)
NEW = np.linspace(-4, 4, 33)


def scores_of(scores, kind="margin"):
    columns = np.asarray(scores, float)
    return Scores.of_columns(columns.reshape(len(columns), -1), kind)


def predicted(name, scores, new, kind="margin", *, labels=LABELS, weights=None):
    """Calibrate by a method of the table: the probability of label 1."""
    fitted, queries = scores_of(scores, kind), scores_of(new, kind)
    return METHODS[name].predict(fitted, labels, weights, queries)[:, 1]


def by(calibrator, scores, new, weights=None):
    return calibrator.fit(scores, LABELS, weights).predict_proba(new)[:, 1]


def platt(scores, new, weights=None):
    return by(abers.PlattCalibrator(), scores, new, weights)


def test_methods_on_margins_are_the_calibrators_of_the_library():
    expected = {
        "Platt (margin)": platt(MARGINS, NEW),
        "temperature": by(abers.TemperatureCalibrator(scores="margin"), MARGINS, NEW),
        "beta": by(abers.BetaCalibrator(scores="margin"), MARGINS, NEW),
        "isotonic": by(abers.IsotonicCalibrator(), MARGINS, NEW),
        "isotonic with dummies": by(
            abers.IsotonicCalibrator(dummies=True), MARGINS, NEW
        ),
        "IVAP": abers.fit_rule(MARGINS, LABELS).probability(NEW),
        "stacked": by(abers.StackedCalibrator(scores="margin"), MARGINS, NEW),
    }
    assert scores_of(MARGINS).offered() == tuple(expected)
    for name, p in expected.items():
        probabilities = predicted(name, MARGINS, NEW)
        np.testing.assert_array_equal(probabilities, p, err_msg=name)


def test_methods_on_probabilities_are_those_on_log_odds_but_for_platt():
    """The scale that Platt's sigmoid is fed decides; the others take logarithms."""
    p, new = expit(MARGINS), expit(NEW)
    for name in ("isotonic", "isotonic with dummies", "IVAP"):
        on_margins = predicted(name, MARGINS, NEW)
        probabilities = predicted(name, p, new, "probability")
        np.testing.assert_array_equal(probabilities, on_margins, err_msg=name)
    probabilities = predicted("Platt (probability)", p, new, "probability")
    np.testing.assert_array_equal(probabilities, platt(p, new))
    probabilities = predicted("uncalibrated", p, new, "probability")
    np.testing.assert_array_equal(probabilities, new)
    probabilities = predicted("stacked", p, new, "probability")
    expected = by(abers.StackedCalibrator(scores="probability"), p, new)
    np.testing.assert_allclose(probabilities, expected, rtol=1e-6)
    for name in ("Platt (log-odds)", "temperature", "beta"):
        on_margins = predicted(name.replace("log-odds", "margin"), MARGINS, NEW)
        probabilities = predicted(name, p, new, "probability")
        np.testing.assert_allclose(probabilities, on_margins, rtol=1e-8, err_msg=name)


@pytest.mark.parametrize("name", ["temperature", "Platt (log-odds)"])
def test_two_columns_keep_the_digits_of_probabilities_near_1(name):
    """1 - 2e-17 is 1 in doubles; the other column knows better."""
    rest = np.r_[2e-17, 1e-15, 1e-9, 0.2, 0.6, 0.9]
    new = np.stack((rest, 1 - rest), axis=1)
    p = expit(np.stack((-MARGINS, MARGINS), axis=1) * 20)
    assert (np.diff(predicted(name, p, new, "probability")) < 0).all()


@pytest.mark.parametrize("kind", ["margin", "probability"])
def test_weights_are_copies_and_rows_of_weight_zero_are_not_there(kind):
    scores = MARGINS if kind == "margin" else expit(MARGINS)
    copied, labels = scores.repeat(WEIGHTS), LABELS.repeat(WEIGHTS)
    for name in scores_of(scores, kind).offered():
        weighted = predicted(name, scores, scores, kind, weights=WEIGHTS)
        expected = predicted(name, copied, scores, kind, labels=labels)
        np.testing.assert_allclose(weighted, expected, rtol=1e-9, err_msg=name)


# --- infinite log-odds ---


def test_certain_probabilities_take_the_place_of_the_furthest_finite_log_odds():
    p = expit(MARGINS)
    p[[3, 4]] = 0, 1
    others = logit(np.delete(p, [3, 4]))
    finite = logit(np.clip(p, expit(others.min()), expit(others.max())))
    probabilities = predicted("Platt (log-odds)", p, [0, 0.3, 1], "probability")
    new = [others.min(), logit(0.3), others.max()]
    np.testing.assert_allclose(probabilities, platt(finite, new), rtol=1e-8)


@pytest.mark.parametrize("middle", [[], [0.5] * 20], ids=["none", "one"])
def test_a_tree_of_pure_leaves_still_has_a_sigmoid(middle):
    """Every log-odds infinite, or all but one: a unit beyond stands for infinity."""
    p = np.r_[np.zeros(30), np.ones(30), middle]
    y = np.r_[np.zeros(25), np.ones(5), np.zeros(5), np.ones(25), np.tile([0, 1], 10)]
    y = y[: p.size].astype(int)
    probabilities = predicted(
        "Platt (log-odds)", p, [0, 0.5, 1], "probability", labels=y
    )
    # By symmetry the middle is 1/2; without one, the targets are met on either side.
    hit = (p.size / 2 + 1) / (p.size / 2 + 2)
    expected = (25 * (1 - hit) + 5 * hit) / 30
    if not middle:
        np.testing.assert_allclose(
            probabilities, [expected, 0.5, 1 - expected], rtol=1e-8
        )
    assert probabilities[0] == pytest.approx(expected, rel=1e-8)
    assert probabilities[1] == pytest.approx(0.5)


def test_infinite_margins_are_bounded_in_the_same_way():
    scores, labels, new = [-np.inf, 0, 1, np.inf], [0, 0, 1, 1], [0, -np.inf, 1, np.inf]
    p = predicted("Platt (margin)", scores, new, labels=np.array(labels))
    assert p[0] == p[1] < p[2] == p[3]
    ivap = predicted("IVAP", scores, new, labels=np.array(labels))
    expected = abers.fit_rule(scores, labels).probability(new)
    np.testing.assert_array_equal(ivap, expected)


def test_both_columns_of_probabilities_keep_the_log_odds_that_one_column_loses():
    """1 - 1e-20 is 1 in doubles, its other column is not 0."""
    margins = MARGINS * 20
    two = np.stack((expit(-margins), expit(margins)), axis=1)
    by_two = predicted("Platt (log-odds)", two, two, "probability")
    np.testing.assert_allclose(by_two, platt(margins, margins), rtol=1e-8)
    assert (two[:, 1] == 1).any()


# --- what is offered ---


def test_platt_is_offered_for_each_scale_once():
    """Never both log-odds and margin for the same thing."""
    on_p, on_margins = (
        [name for name in scores_of(s, kind).offered() if "Platt" in name]
        for s, kind in ((expit(MARGINS), "probability"), (MARGINS, "margin"))
    )
    assert on_p == ["Platt (probability)", "Platt (log-odds)"]
    assert on_margins == ["Platt (margin)"]


def test_scores_of_one_model_have_no_cross_predictor():
    """Rules of sub-samples of one column are a worse IVAP."""
    offered = {*scores_of(expit(MARGINS), "probability").offered(), "Platt (margin)"}
    assert set(METHODS) - offered == {"CVAP", "CVAP pooled"}


def test_an_unknown_method_is_refused_with_those_that_are_offered():
    offered = scores_of(MARGINS).offered()
    with pytest.raises(InvalidParameter, match="methods must be among 'Platt") as error:
        chosen(["IVAP", "ivap"], offered)
    assert str(error.value).endswith("'IVAP', 'stacked'; got 'ivap'.")
    with pytest.raises(InvalidParameter, match=r"among .*; got none"):
        chosen([], offered)
    with pytest.raises(InvalidParameter, match=r"among .* here; got 'uncalibrated'"):
        chosen("uncalibrated", offered)
