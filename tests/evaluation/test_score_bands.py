"""Score bands: rows, rates and intervals that can be counted by hand."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest

import abers
from abers.errors import AbersError
from abers.evaluation.evaluate import evaluate

P = np.repeat([0.1, 0.3, 0.3, 0.8], [10, 5, 5, 20])
LABELS = np.tile([0, 0, 0, 0, 1], 8)


def bands_of(*, predictor=None, X=P, labels=LABELS, **options):
    return evaluate(predictor, X, labels, **options).calibration.score_bands


def test_each_row_is_in_one_band_and_ties_stay_together():
    bands = bands_of(bands=[0.3, 0.8])
    assert [(b.start, b.end) for b in bands] == [
        (-math.inf, 0.3),
        (0.3, 0.8),
        (0.8, math.inf),
    ]
    assert [b.n_rows for b in bands] == [10, 10, 20]
    assert [b.n_positives for b in bands] == [2, 2, 4]
    assert [b.mean_prediction for b in bands] == pytest.approx([0.1, 0.3, 0.8])
    assert all(math.isnan(b.mean_prediction_before) for b in bands)
    # Ten bands were asked for, but there are three distinct probabilities.
    assert [b.n_rows for b in bands_of()] == [10, 10, 20]


def test_intervals_are_those_of_clopper_and_pearson():
    for band in bands_of(bands=[0.3, 0.8]):
        test = binomtest(band.n_positives, band.n_rows)
        interval = test.proportion_ci(0.95, method="exact")
        rate = band.observed_rate
        assert (rate.lower, rate.upper) == pytest.approx((interval.low, interval.high))
        assert rate.value == band.n_positives / band.n_rows
    none = bands_of(labels=np.zeros(40), bands=1)[0].observed_rate
    assert (none.lower, none.value) == (0, 0)
    assert none.upper == pytest.approx(1 - 0.025 ** (1 / 40))


def test_a_band_agrees_if_its_mean_lies_in_the_interval():
    assert [b.agrees for b in bands_of(bands=[0.3, 0.8])] == [True, True, False]


def test_deciles_of_one_rule_are_those_of_its_score():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=1_000)
    labels = rng.random(1_000) < 1 / (1 + np.exp(-scores))
    rule = abers.fit_rule(scores, labels)
    bands = bands_of(predictor=rule, X=scores, labels=labels, held_out=True)
    assert [b.n_rows for b in bands] == [100] * 10
    tenths = np.sort(scores)[100::100]
    assert [b.start for b in bands[1:]] == tenths.tolist()
    top = scores >= tenths[-1]
    assert bands[-1].mean_prediction == pytest.approx(
        rule.probability(scores[top]).mean()
    )


def test_a_weight_is_a_number_of_rows_but_not_of_observations():
    """Rows of weight 2 have the rate of doubled rows, and the interval of their own."""
    weights = np.where(P == 0.8, 2.0, 1.0)
    one, two = bands_of(bands=1), bands_of(bands=1, sample_weight=weights)
    doubled = bands_of(X=np.append(P, P[20:]), labels=np.tile(LABELS, 2)[:60], bands=1)
    assert two[0].mean_prediction == pytest.approx(doubled[0].mean_prediction)
    assert two[0].n_rows == one[0].n_rows == 40

    def width(bands):
        return bands[0].observed_rate.upper - bands[0].observed_rate.lower

    assert width(doubled) < width(one) < width(two)


@pytest.mark.parametrize(
    "bands", [0, 101, -1, 2.5, [0.5, 0.5], [0.6, 0.4], [math.nan], [[0.1]], "ten"]
)
def test_other_bands_are_refused(bands):
    with pytest.raises(AbersError, match="bands"):
        bands_of(bands=bands)


def test_the_page_marks_bands_that_disagree():
    evaluation = evaluate(None, P, LABELS, bands=[0.3, 0.8], before=P)
    card = evaluation.to_markdown()
    assert "## Bands of the probability" in card
    rows = [line for line in card.splitlines() if line.startswith("| from 0.8 |")]
    assert rows == [
        "| from 0.8 | 20 | 4 | 80.0 % | 80.0 % | 20.0 % | 5.73 % to 43.7 % | NO |"
    ]
