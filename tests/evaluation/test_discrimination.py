"""AUC, Gini and KS: their intervals, against the definition and against the truth."""

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr, ndtri

import abers
from abers.core.diagram import Diagram
from abers.evaluation.counts import Counted
from abers.evaluation.discrimination import (
    Estimate,
    Z,
    discrimination_of,
    newcombe,
    placements,
)
from abers.evaluation.evaluate import evaluate


def measured(scores, labels):
    return discrimination_of(Counted(Diagram.from_rows(scores, labels)))


def test_the_auc_has_the_variance_of_delong_pair_by_pair():
    rng = np.random.default_rng(0)
    labels = rng.random(60) < 0.4
    scores = np.round(labels + rng.normal(size=60), 1)  # with ties
    zeros, ones = scores[~labels], scores[labels]
    pairs = (ones[:, None] > zeros) + 0.5 * (ones[:, None] == zeros)
    variance = pairs.mean(1).var(ddof=1) / ones.size
    variance += pairs.mean(0).var(ddof=1) / zeros.size
    area = pairs.mean()
    margin = Z * np.sqrt(variance) / (area * (1 - area))
    delong = expit(logit(area) - margin), expit(logit(area) + margin)
    other = newcombe(area, zeros.size, ones.size)
    discrimination = measured(scores, labels)
    assert discrimination.auc.value == pytest.approx(area)
    assert discrimination.auc.lower == pytest.approx(min(delong[0], other.lower))
    assert discrimination.auc.upper == pytest.approx(max(delong[1], other.upper))
    assert discrimination.gini.value == pytest.approx(2 * area - 1)
    assert discrimination.gini.upper == pytest.approx(2 * discrimination.auc.upper - 1)
    limits = np.unique(scores)[:, None]
    distance = abs((zeros <= limits).mean(1) - (ones <= limits).mean(1)).max()
    assert discrimination.ks.value == pytest.approx(distance)


# Normal scores, of spread 1 for zeros and `spread` for ones: zeros, ones, AUC, spread,
# digits that they are rounded to.
WORLDS = [
    (10, 10, 0.7, 1, None),
    (90, 10, 0.95, 2, None),
    (2_000, 50, 0.99, 2, None),
    (2_000, 50, 0.5, 2, None),
    (700, 300, 0.8, 1, None),
    (700, 300, 0.8, 1, 0),
    (700, 300, 0.55, 1, None),
]
LEAST = 0.92  # of 500 samples: 0.95 less three standard errors


@pytest.mark.parametrize("world", WORLDS, ids=str)
def test_intervals_cover_the_truth_as_often_as_they_should(world):
    zeros, ones, area, spread, digits = world
    shift = ndtri(area) * np.hypot(1, spread)
    step = 1e-3 if digits is None else 10.0**-digits
    ends = np.arange(-12, 24, step) + step / 2
    of_zeros, of_ones = ndtr(ends), ndtr((ends - shift) / spread)
    masses = np.diff(of_zeros, prepend=0), np.diff(of_ones, prepend=0)
    area = masses[1] @ (of_zeros - masses[0] / 2)
    distance = abs(of_zeros - of_ones).max()
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], [zeros, ones])
    covered = np.zeros(2)
    for _ in range(500):
        scores = rng.normal(size=zeros + ones)
        scores[zeros:] = shift + spread * scores[zeros:]
        discrimination = measured(
            scores if digits is None else scores.round(digits), labels
        )
        covered += [
            discrimination.auc.lower <= area <= discrimination.auc.upper,
            discrimination.ks.lower <= distance <= discrimination.ks.upper,
        ]
    assert (covered / 500 >= LEAST).all(), covered / 500


def test_all_pairs_in_order_have_an_interval_too():
    discrimination = measured([1, 2, 3, 4], [0, 0, 1, 1])
    assert (
        discrimination.auc.value
        == discrimination.auc.upper
        == discrimination.ks.value
        == 1.0
    )
    assert 0 < discrimination.auc.lower < 0.7


@pytest.mark.parametrize("labels", [[0, 0], [1, 1]])
def test_one_class_has_no_discrimination(labels):
    discrimination = measured([1, 2], labels)
    nothing = repr(Estimate(np.nan, np.nan, np.nan))
    assert (
        repr(discrimination.auc)
        == repr(discrimination.gini)
        == repr(discrimination.ks)
        == nothing
    )


def test_weights_count_as_rows_in_values_but_not_in_intervals():
    rng = np.random.default_rng(1)
    p = rng.random(300)
    labels, weights = rng.random(300) < p, rng.integers(1, 5, 300)
    weighted = evaluate(None, p, labels, sample_weight=weights).ranking.after
    repeated = np.repeat(p, weights), np.repeat(labels, weights)
    copies = evaluate(None, *repeated).ranking.after
    plain = evaluate(None, p, labels).ranking.after
    scaled = evaluate(None, p, labels, sample_weight=np.full(300, 7.0)).ranking.after
    for kind in ("auc", "gini", "ks"):
        one, two, three = (getattr(x, kind) for x in (weighted, copies, plain))
        assert one.value == pytest.approx(two.value)
        assert one.upper - one.lower > 1.3 * (two.upper - two.lower)
        assert one.upper - one.lower > three.upper - three.lower
        assert getattr(scaled, kind).lower == pytest.approx(three.lower)


def test_a_score_that_falls_is_measured_in_its_own_direction():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=500)
    labels = rng.random(500) < expit(-scores)
    falling = abers.fit_rule(scores, labels, increasing=False)
    rising = abers.fit_rule(-scores, labels)
    ranking = evaluate(falling, scores, labels).ranking
    other = evaluate(rising, -scores, labels).ranking
    for kind in ("auc", "ks"):
        one, two = (getattr(x.before, kind) for x in (ranking, other))
        assert (one.value, one.lower) == pytest.approx((two.value, two.lower))
    assert ranking.before.auc.value > 0.5 > ranking.auc


def test_placements_are_the_shares_of_the_other_class():
    shares = placements(Diagram.from_rows([1, 2, 2, 3], [0, 0, 1, 1]))
    assert shares.among_zeros.tolist() == [0.25, 0.75, 1.0]
    assert shares.among_ones.tolist() == [1.0, 0.75, 0.25]
