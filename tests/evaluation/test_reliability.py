"""Curves and parts of a loss, against the definition in fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import xlogy
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

import abers
import oracle
from abers.evaluation import counts, reliability

LOSSES = ["log", "brier"]


@pytest.fixture(scope="module")
def sample():
    """Predictions with ties, off by a factor, and weights."""
    rng = np.random.default_rng(4)
    p = rng.random(500).round(2) * 0.96 + 0.02
    y = rng.random(500) < p**1.5
    return y, p, rng.integers(1, 5, 500)


rows = st.lists(
    st.tuples(st.integers(0, 8), st.booleans(), st.integers(1, 3)),
    min_size=1,
    max_size=25,
)


def counted(drawn):
    """Count drawn rows (eighths, label, weight) by prediction."""
    predictions = sorted({eighths for eighths, _, _ in drawn})
    counts = [sum(w for q, _, w in drawn if q == s) for s in predictions]
    ones = [sum(w for q, label, w in drawn if q == s and label) for s in predictions]
    return predictions, counts, ones


def isotonic(drawn):
    """The definition, at each distinct prediction."""
    eighths, labels, weights = zip(*drawn, strict=True)
    return [
        oracle.isotonic_value(eighths, labels, weights, q) for q in sorted({*eighths})
    ]


def columns(drawn):
    eighths, y, w = zip(*drawn, strict=True)
    return {"y": y, "p": np.array(eighths) / 8, "sample_weight": w}


@given(rows)
def test_curve_is_the_max_min_formula_to_the_last_bit(drawn):
    """Dimitriadis, Gneiting, Jordan 2021: isotonic regression of the labels."""
    predictions, counts, _ = counted(drawn)
    curve = reliability.reliability_curve(**columns(drawn))
    assert curve.probabilities.tolist() == [s / 8 for s in predictions]
    assert curve.frequencies.tolist() == [float(f) for f in isotonic(drawn)]
    assert curve.weights.tolist() == counts


@given(rows)
def test_parts_of_the_brier_loss_are_those_of_the_definition(drawn):
    predictions, counts, ones = counted(drawn)
    total, fitted = sum(counts), isotonic(drawn)

    def loss(predicted):
        return sum(
            k * (1 - q) ** 2 + (n - k) * q**2
            for n, k, q in zip(counts, ones, predicted, strict=True)
        ) / Fraction(total)

    of_said = loss([Fraction(s, 8) for s in predictions])
    of_fit, of_base = (
        loss(fitted),
        loss([Fraction(sum(ones), total)] * len(predictions)),
    )
    parts = reliability.decompose(**columns(drawn), loss="brier")
    numbers = [
        parts.loss,
        parts.miscalibration,
        parts.discrimination,
        parts.uncertainty,
    ]
    expected = [of_said, of_said - of_fit, of_base - of_fit, of_base]
    np.testing.assert_allclose(numbers, [float(x) for x in expected], atol=1e-15)


@given(rows)
def test_parts_of_the_log_loss_are_those_of_the_definition(drawn):
    predictions, counts, ones = (np.array(part) for part in counted(drawn))
    fitted = np.array([float(f) for f in isotonic(drawn)])

    def loss(q):
        return -(xlogy(ones, q) + xlogy(counts - ones, 1 - q)).sum() / counts.sum()

    of_base = loss(np.full(predictions.size, ones.sum() / counts.sum()))
    parts = reliability.decompose(**columns(drawn))
    assert parts.loss == pytest.approx(loss(predictions / 8), rel=1e-14)
    assert parts.uncertainty == pytest.approx(of_base, rel=1e-14)
    assert parts.discrimination == pytest.approx(of_base - loss(fitted), abs=1e-14)
    if np.isinf(parts.loss):
        assert parts.miscalibration == np.inf
    else:
        expected = loss(predictions / 8) - loss(fitted)
        assert parts.miscalibration == pytest.approx(expected, abs=1e-14)


def test_curve_is_the_isotonic_regression_of_scikit_learn(sample):
    y, p, _ = sample
    curve = reliability.reliability_curve(y, p)
    expected = IsotonicRegression().fit(p, y).predict(curve.probabilities)
    np.testing.assert_allclose(curve.frequencies, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("loss", "metric"), [("log", log_loss), ("brier", brier_score_loss)]
)
def test_parts_of_a_loss_are_losses_of_scikit_learn(sample, loss, metric):
    """Miscalibration, discrimination and uncertainty as differences of losses."""
    y, p, _ = sample
    recalibrated = IsotonicRegression().fit(p, y).predict(p)
    parts = reliability.decompose(y, p, loss=loss)
    of_p, of_fit = metric(y, p), metric(y, recalibrated)
    of_base = metric(y, np.full(y.size, y.mean()))
    assert parts.loss == pytest.approx(of_p, rel=1e-12)
    assert parts.uncertainty == pytest.approx(of_base, rel=1e-12)
    assert parts.miscalibration == pytest.approx(of_p - of_fit, abs=1e-12)
    assert parts.discrimination == pytest.approx(of_base - of_fit, abs=1e-12)


def test_parts_of_a_small_case_are_those_by_hand():
    """Recalibrated to 0, 1/2, 1/2, 1; base rate 1/2."""
    parts = reliability.decompose([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    assert parts.uncertainty == pytest.approx(np.log(2))
    assert parts.discrimination == pytest.approx(np.log(2) / 2)
    assert parts.loss == pytest.approx(-np.log([0.9, 0.4, 0.6, 0.8]).mean())


def test_certain_and_wrong_is_infinitely_miscalibrated():
    parts = reliability.decompose([1, 0, 1], [0.0, 0.5, 1.0])
    assert parts.loss == parts.miscalibration == np.inf
    assert np.isfinite(parts.uncertainty)


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_copies(sample, loss):
    y, p, w = sample
    weighted = reliability.decompose(y, p, loss=loss, sample_weight=w)
    copied = reliability.decompose(np.repeat(y, w), np.repeat(p, w), loss=loss)
    assert weighted.loss == pytest.approx(copied.loss, rel=1e-13)
    assert weighted.miscalibration == pytest.approx(copied.miscalibration, rel=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_scale_of_real_weights_does_not_matter(sample, loss):
    y, p, w = sample
    parts = reliability.decompose(y, p, loss=loss, sample_weight=w)
    scaled = reliability.decompose(y, p, loss=loss, sample_weight=w * 1e-9 / 3)
    assert scaled.loss == pytest.approx(parts.loss, rel=1e-12)
    assert scaled.miscalibration == pytest.approx(parts.miscalibration, rel=1e-9)


@given(rows)
def test_rows_that_are_counted_already_give_the_same(drawn):
    data = columns(drawn)
    diagram = counts.diagram_of(*data.values())
    curve = reliability.reliability_curve(**data)
    assert (
        reliability.curve_of(diagram).frequencies.tolist() == curve.frequencies.tolist()
    )
    for loss in LOSSES:
        assert reliability.decomposition_of(diagram, loss=loss) == (
            reliability.decompose(**data, loss=loss)
        )


@given(rows, st.integers(2, 6))
def test_thin_curve_lies_on_the_whole_one_and_keeps_its_weight(drawn, points):
    curve = reliability.reliability_curve(**columns(drawn))
    thin = curve.thinned(points)
    assert thin.probabilities.size <= points
    assert set(zip(thin.probabilities, thin.frequencies, strict=True)) <= set(
        zip(curve.probabilities, curve.frequencies, strict=True)
    )
    assert thin.probabilities[[0, -1]].tolist() == (
        curve.probabilities[[0, -1]].tolist()
    )
    assert thin.weights.sum() == curve.weights.sum()


@given(rows)
def test_ends_of_the_levels_joined_by_lines_are_the_whole_curve(drawn):
    curve = reliability.reliability_curve(**columns(drawn))
    thin = curve.thinned()
    drawn_line = np.interp(curve.probabilities, thin.probabilities, thin.frequencies)
    np.testing.assert_allclose(drawn_line, curve.frequencies, rtol=1e-15)


def test_consistency_band_of_one_row_is_what_its_label_may_be():
    band = reliability.consistency_band([0.5])
    assert (band.lower.tolist(), band.upper.tolist()) == ([0.0], [1.0])
    assert reliability.consistency_band([1.0]).lower.tolist() == [1.0]


def test_consistency_band_of_equal_predictions_is_a_binomial_interval():
    """400 rows of 0.3: 120 ± 1.645 sqrt(400 0.3 0.7) ones."""
    band = reliability.consistency_band(np.full(400, 0.3), resamples=20_000)
    expected = 0.3 + np.array([-1.645, 1.645]) * np.sqrt(0.21 / 400)
    np.testing.assert_allclose((band.lower[0], band.upper[0]), expected, atol=0.004)


@pytest.mark.parametrize("weighted", [False, True])
def test_curves_of_calibrated_predictions_keep_to_the_consistency_band(weighted):
    """At each prediction 90 % of them; 40 sets of 1,000 rows."""
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(40):
        p = rng.beta(1, 2, 1_000)
        y = rng.random(p.size) < p
        w = rng.exponential(size=p.size) if weighted else None
        band = reliability.consistency_band(p, sample_weight=w)
        curve = reliability.reliability_curve(y, p, sample_weight=w)
        frequencies = np.interp(
            band.probabilities, curve.probabilities, curve.frequencies
        )
        inside.append(
            ((band.lower <= frequencies) & (frequencies <= band.upper)).mean()
        )
    assert 0.86 < np.mean(inside) < 0.94


def test_curve_of_overconfident_predictions_leaves_the_consistency_band():
    rng = np.random.default_rng(0)
    p = rng.random(5_000)
    y = rng.random(p.size) < 0.5 + (p - 0.5) / 2
    band = reliability.consistency_band(p)
    curve = reliability.reliability_curve(y, p)
    frequencies = np.interp(band.probabilities, curve.probabilities, curve.frequencies)
    assert ((frequencies < band.lower) | (frequencies > band.upper)).mean() > 0.5


def test_consistency_band_has_few_cells_and_never_parts_equal_predictions():
    p = np.random.default_rng(0).random(100_000).round(4)
    p[:50_000] = 0.5
    band = reliability.consistency_band(p, resamples=10)
    assert band.probabilities.size <= 340  # a third of the cells would be in one
    assert abs(band.probabilities - 0.5).min() < 1e-4
    assert (np.diff(band.probabilities) > 0).all()
    assert (band.lower <= band.upper).all()


def test_consistency_band_reaches_from_the_lowest_prediction_to_the_highest():
    p = np.random.default_rng(0).beta(0.5, 30, 100_000)
    band = reliability.consistency_band(p, resamples=10)
    assert band.probabilities[[0, -1]].tolist() == [p.min(), p.max()]
    assert band.probabilities.size <= 500


def test_consistency_band_is_the_same_for_the_same_seed_and_any_scale_of_weights():
    p = np.random.default_rng(0).random(300)
    plain = reliability.consistency_band(p)
    again = reliability.consistency_band(p, sample_weight=np.full(300, 0.1))
    other = reliability.consistency_band(p, random_state=1)
    np.testing.assert_allclose(plain.lower, again.lower, rtol=1e-9)
    assert (plain.lower != other.lower).any()


def test_a_heavy_row_is_one_row_of_the_consistency_band():
    """The effective number of rows is 1003² / (1000² + 3), about 1."""
    p, w = [0.5] * 4, [1, 1, 1, 1_000]
    band = reliability.consistency_band(p, sample_weight=w)
    assert (band.lower.tolist(), band.upper.tolist()) == ([0.0], [1.0])


@pytest.mark.parametrize("bad", [1.2, -0.1, np.nan])
def test_what_is_no_probability_is_refused(bad):
    for call in (
        lambda p: reliability.decompose([0, 1], p),
        lambda p: reliability.reliability_curve([0, 1], p),
        reliability.consistency_band,
    ):
        with pytest.raises(abers.AbersError, match="at row 1"):
            call([0.5, bad])


def test_options_that_cannot_be_are_refused():
    with pytest.raises(abers.AbersError, match="confidence must be between 0 and 1"):
        reliability.consistency_band([0.5], confidence=90)
    with pytest.raises(abers.AbersError, match="resamples must be a positive integer"):
        reliability.consistency_band([0.5], resamples=0)
    with pytest.raises(abers.AbersError, match="loss must be 'log' or 'brier'"):
        reliability.decompose([1], [0.5], loss="hinge")
    with pytest.raises(abers.AbersError, match="p must not be empty"):
        reliability.reliability_curve([], [])
