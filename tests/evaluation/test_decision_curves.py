"""Net benefit and costs, counted decision by decision."""

import numpy as np
import pytest

from abers import evaluation
from abers.errors import InvalidParameter


@pytest.mark.parametrize("weighted", [False, True])
def test_net_benefit_counts_hits_and_false_alarms(extreme, weighted):
    y, p, w = extreme
    w = w if weighted else np.ones(y.size)
    curve = evaluation.decision_curve(y, p, sample_weight=w if weighted else None)
    assert curve.thresholds[[0, 50, -1]].tolist() == [0, 0.5, 0.99]
    for place, t in enumerate(curve.thresholds):
        price = t / (1 - t)
        acted = p >= t
        hits, alarms = (w * (acted & y)).sum(), (w * (acted & ~y)).sum()
        expected = (hits - price * alarms) / w.sum()
        assert curve.net_benefit[place] == pytest.approx(expected, abs=1e-12)
        everyone = ((w * y).sum() - price * (w * ~y).sum()) / w.sum()
        assert curve.treat_all[place] == pytest.approx(everyone, abs=1e-12)
    assert not curve.treat_none.any()


@pytest.mark.parametrize("weighted", [False, True])
def test_costs_count_misses_and_false_alarms(extreme, weighted):
    y, p, w = extreme
    w = w if weighted else np.ones(y.size)
    curve = evaluation.cost_curve(y, p, sample_weight=w if weighted else None)
    assert curve.thresholds[[0, 50, -1]].tolist() == [0, 0.5, 1]
    for place, t in enumerate(curve.thresholds):
        acted = p >= t
        misses, alarms = (w * (~acted & y)).sum(), (w * (acted & ~y)).sum()
        expected = (t * alarms + (1 - t) * misses) / w.sum()
        assert curve.cost[place] == pytest.approx(expected, abs=1e-12)
        everyone, nobody = t * (w * ~y).sum(), (1 - t) * (w * y).sum()
        assert curve.treat_all[place] == pytest.approx(everyone / w.sum(), abs=1e-12)
        assert curve.treat_none[place] == pytest.approx(nobody / w.sum(), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_area_below_the_costs_is_half_the_brier_loss(extreme, weighted):
    """Between neighbouring predictions the curve is a line: trapezoids are exact."""
    y, p, w = extreme
    weights = w if weighted else None
    edges = np.unique(np.concatenate(([0.0, 1.0], p)))
    starts = np.nextafter(edges[:-1], 1)  # after a prediction it is no longer acted on
    left = evaluation.cost_curve(y, p, thresholds=starts, sample_weight=weights)
    right = evaluation.cost_curve(y, p, thresholds=edges[1:], sample_weight=weights)
    area = (np.diff(edges) * (left.cost + right.cost) / 2).sum()
    brier = evaluation.brier_loss(y, p, sample_weight=weights)
    assert area == pytest.approx(brier / 2, rel=1e-12)


def test_costs_follow_from_the_net_benefit(extreme):
    """(1 - t) (share of ones - net benefit) is the cost."""
    y, p, _ = extreme
    t = np.linspace(0, 0.99, 50)
    cost = evaluation.cost_curve(y, p, thresholds=t).cost
    benefit = evaluation.decision_curve(y, p, thresholds=t).net_benefit
    np.testing.assert_allclose(cost, (1 - t) * (y.mean() - benefit), atol=1e-12)


def test_thresholds_outside_of_0_and_1_have_no_costs():
    with pytest.raises(InvalidParameter, match=r"between 0 and 1; got 1.1 at place 1"):
        evaluation.cost_curve([0, 1], [0.2, 0.5], thresholds=[1.0, 1.1])


def test_thresholds_that_nobody_can_have_are_refused():
    for wrong, message in (
        ([0.5, 1.0], r"below 1; got 1.0 at place 1"),
        ([-0.1], r"at least 0 and below 1; got -0.1"),
        ([], "must not be empty"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            evaluation.decision_curve([0, 1], [0.2, 0.5], thresholds=wrong)
