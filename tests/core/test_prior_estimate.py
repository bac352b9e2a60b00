"""The base rate of rows without labels: by hand, by exact ranks, and simulated."""

import math

import numpy as np
import pytest
from scipy.stats import rankdata

import abers
from abers.errors import InvalidData, InvalidParameter, InvalidType


def drawn(rng, size, rate, distance=2.0):
    """Draw normal scores, those of positives higher, with their labels."""
    labels = rng.random(size) < rate
    return rng.normal(size=size) + distance * labels, labels


def by_ranks(scores, labels, new):
    """The same estimator row by row, with the mid-rank of each row."""
    rank = (rankdata(np.concatenate((scores, new))) - 0.5) / (scores.size + new.size)
    f = rank**3 if labels.mean() <= 0.5 else 1 - (1 - rank) ** 3
    old, now = f[: scores.size], f[scores.size :]
    parts = old[labels], old[~labels], now
    m1, m0, m = (part.mean() for part in parts)
    v1, v0, v = (part.var(ddof=1) / part.size for part in parts)
    q = (m - m0) / (m1 - m0)
    rate = q - (q * (v1 + v0) - v0) / (m1 - m0) ** 2
    variance = (q**2 * v1 + (1 - q) ** 2 * v0 + v) / (m1 - m0) ** 2
    return min(max(rate, 0), 1), math.sqrt(variance)


@pytest.mark.parametrize("after", [0.1, 0.4])
@pytest.mark.parametrize("size", [300, 2_000])
def test_estimate_is_unbiased_and_its_error_holds(size, after):
    """200 streams; benchmarks/prior.py has 2,000 in each cell."""
    rng = np.random.default_rng([1, size])
    estimates = []
    for _ in range(200):
        rule = abers.fit_rule(*drawn(rng, size, 0.1))
        estimates.append(abers.rules.estimate_prior(rule, drawn(rng, 2_000, after)[0]))
    rates = np.array([each.rate for each in estimates])
    errors = np.array([each.standard_error for each in estimates])
    assert abs(rates.mean() - after) <= 0.01
    assert (abs(rates - after) <= 2 * errors).mean() >= 0.92


@pytest.mark.parametrize("size", [50, 300, 5_000])
@pytest.mark.parametrize("before", [0.1, 0.3, 0.8])
def test_cells_give_what_the_ranks_of_all_rows_give(size, before):
    rng = np.random.default_rng([2, size])
    scores, labels = drawn(rng, size, before)
    for after in (0.05, before, 0.6):
        new = drawn(rng, 1_000, after)[0]
        estimate = abers.rules.estimate_prior(abers.fit_rule(scores, labels), new)
        rate, error = by_ranks(scores, labels, new)
        assert abs(estimate.rate - rate) <= error / 8
        assert estimate.standard_error == pytest.approx(error, rel=0.1)


def test_tied_scores_give_the_ranks_of_all_rows_to_rounding():
    """Each cell is one score, and no row on a cut stands lower than the new rows do."""
    rng = np.random.default_rng(3)
    scores, labels = drawn(rng, 400, 0.3)
    new = drawn(rng, 1_000, 0.6)[0]
    scores, new = (np.clip(each.round(), -1, 3) for each in (scores, new))
    estimate = abers.rules.estimate_prior(abers.fit_rule(scores, labels), new)
    rate, error = by_ranks(scores, labels, new)
    assert estimate.rate == pytest.approx(rate, abs=1e-12)
    assert estimate.standard_error == pytest.approx(error, rel=1e-12)


def test_half_a_row_on_each_cut_stands_below_it():
    """Without that, 300 rows gave .39 for .4 on average."""
    rng = np.random.default_rng(4)
    off = []
    for _ in range(200):
        scores, labels = drawn(rng, 300, 0.1)
        new = drawn(rng, 2_000, 0.4)[0]
        estimate = abers.rules.estimate_prior(abers.fit_rule(scores, labels), new)
        off.append(estimate.rate - by_ranks(scores, labels, new)[0])
    assert abs(np.mean(off)) < 0.002


def test_falling_scores_and_exchanged_labels_give_the_mirror_image():
    rng = np.random.default_rng(5)
    scores, labels = drawn(rng, 1_000, 0.2)
    new = drawn(rng, 1_000, 0.4)[0]
    falling = abers.fit_rule(-scores, labels, increasing=False)
    estimate = abers.rules.estimate_prior(abers.fit_rule(scores, labels), new)
    mirrored = abers.rules.estimate_prior(falling, -new)
    assert mirrored.rate == pytest.approx(estimate.rate, abs=0.005)
    other = abers.rules.estimate_prior(abers.fit_rule(-scores, ~labels), -new)
    assert other.rate == pytest.approx(1 - estimate.rate, abs=0.005)
    assert other.standard_error == pytest.approx(estimate.standard_error, rel=0.05)


def test_a_shifted_rule_is_calibrated_where_only_the_prior_changed():
    rng = np.random.default_rng(11)
    rule = abers.fit_rule(*drawn(rng, 20_000, 0.4))
    scores, labels = drawn(rng, 20_000, 0.05)
    estimate = abers.rules.estimate_prior(rule, scores)
    assert estimate.standard_error < 0.005
    moved = rule.with_prior(estimate.rate)
    before, after = rule.probability(scores), moved.probability(scores)
    assert abs(before.mean() - labels.mean()) > 0.05
    assert abs(after.mean() - labels.mean()) < 0.005
    log_loss = abers.evaluation.log_loss
    assert log_loss(labels, after) < log_loss(labels, before)


def test_the_rate_is_cut_to_what_a_rate_can_be():
    rng = np.random.default_rng(6)
    rule = abers.fit_rule(*drawn(rng, 1_000, 0.3))
    assert abers.rules.estimate_prior(rule, np.full(50, -4.0)).rate == 0
    assert abers.rules.estimate_prior(rule, np.full(50, 9.0)).rate == 1


@pytest.mark.parametrize(
    ("scores", "labels", "new"),
    [
        ([1, 1, 1, 1], [0, 1, 0, 1], [1, 1, 2]),  # scores that do not tell
        ([1, 2, 3, 4], [0, 0, 0, 1], [1, 4, 2]),  # one positive
        ([1, 2, 3, 4], [0, 1, 1, 1], [1, 4, 2]),  # one negative
        ([1, 2, 3, 4], [0, 0, 1, 1], [3]),  # one new row
    ],
)
def test_where_nothing_is_known_of_the_scatter_the_error_is_infinite(
    scores, labels, new
):
    estimate = abers.rules.estimate_prior(abers.fit_rule(scores, labels), new)
    assert estimate.standard_error == math.inf
    assert 0 <= estimate.rate <= 1
    assert estimate.n_rows == len(new)


def test_scores_that_do_not_tell_leave_the_old_rate():
    rule = abers.fit_rule([1] * 8, [0, 1, 0, 0, 0, 1, 0, 0])
    assert abers.rules.estimate_prior(rule, [1, 1, 0]).rate == 0.25


def test_infinite_scores_are_ranks_like_any_other():
    rng = np.random.default_rng(7)
    scores, labels = drawn(rng, 500, 0.3)
    new = drawn(rng, 500, 0.5)[0]
    top = scores > np.quantile(scores, 0.8)
    rule = abers.fit_rule(np.where(top, np.inf, scores), labels)
    cut = scores[top].min()
    estimate = abers.rules.estimate_prior(rule, np.where(new >= cut, np.inf, new))
    assert abs(estimate.rate - 0.5) <= 3 * estimate.standard_error


@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        ([0.1, 0.2], InvalidType, "rule must be a Rule; got a list"),
        (
            abers.fit_rules([1, 2], [0, 1], ["a", "a"]),
            InvalidType,
            "rule must be a Rule; got a RuleSet",
        ),
        (
            abers.fit_rule([1, 2, 3], [0, 1, 0]).with_prior(0.2),
            InvalidParameter,
            "must know where its calibration rows were.* Pass the rule as fitted",
        ),
        (
            abers.fit_rule([1, 2, 3], [0, 1, 0], sample_weight=[1, 2, 1.5]),
            InvalidParameter,
            "must be fitted without weights.* fit a rule to the same rows without",
        ),
        (
            abers.fit_rule([1, 2], [1, 1]),
            InvalidParameter,
            "calibration rows of both labels; all of this one's are 1",
        ),
    ],
    ids=["list", "set", "adjusted", "weighted", "one label"],
)
def test_a_rule_that_cannot_tell_is_refused(rule, error, message):
    with pytest.raises(error, match=message):
        abers.rules.estimate_prior(rule, [1.0])


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "must not be empty; got no rows to estimate from"),
        ([1.0, math.nan], "first at row 1. Drop or impute these rows before estimatin"),
    ],
)
def test_scores_to_estimate_from_are_checked(scores, message):
    with pytest.raises(InvalidData, match=message):
        abers.rules.estimate_prior(abers.fit_rule([1, 2, 3], [0, 1, 0]), scores)
