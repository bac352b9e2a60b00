"""Performance without labels: the estimates, what their intervals cover, refusals."""

import itertools
import math

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

import abers
import oracle
from abers.errors import InvalidData, InvalidParameter, InvalidType
from abers.evaluation import estimate_performance
from abers.evaluation.check import check

METRICS = ("accuracy", "log_loss", "brier", "auc", "cost")


def logistic(s):
    return 1 / (1 + np.exp(-s))


def rows(rng, n, curve=logistic, shift=0.0):
    scores = rng.normal(shift, 1, n)
    return scores, (rng.random(n) < curve(scores)).astype(int)


def realised(y, p):
    return {
        "accuracy": ((p > 0.5) == y).mean(),
        "log_loss": log_loss(y, p, labels=[0, 1]),
        "brier": ((p - y) ** 2).mean(),
        "auc": roc_auc_score(y, p),
        "cost": ((p > 0.5) != y).mean(),
    }


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def expected_metrics(p, pi, costs=(1, 1)):
    """The expectations over labels drawn with chances pi, AUC as a ratio of two."""
    n, (fp, fn) = len(p), costs
    pairs = [(i, j) for i, j in itertools.permutations(range(n), 2)]
    chance = {(i, j): pi[i] * (1 - pi[j]) for i, j in pairs}
    order = {(i, j): (p[i] > p[j]) + (p[i] == p[j]) / 2 for i, j in pairs}
    acts = p > fp / (fp + fn)
    return {
        "accuracy": np.where(p > 0.5, pi, 1 - pi).mean(),
        "log_loss": -(pi * np.log(p) + (1 - pi) * np.log(1 - p)).mean(),
        "brier": (pi * (1 - p) ** 2 + (1 - pi) * p**2).mean(),
        "auc": sum(chance[ij] * order[ij] for ij in pairs) / sum(chance.values()),
        "cost": np.where(acts, fp * (1 - pi), fn * pi).mean(),
    }


@pytest.mark.parametrize("increasing", [True, False])
def test_values_are_those_expected_by_the_isotonic_fit(rng, increasing):
    """With at most a row per percent, cells are the rows themselves."""
    scores, labels = rows(rng, 60)
    scores = scores.round(1) if increasing else -scores.round(1)
    rule = abers.fit_rule(scores, labels, increasing=increasing)
    new = rng.choice(scores, 25)
    sign = 1 if increasing else -1
    fitted = dict(
        zip(scores, oracle.isotonic(sign * scores, labels.tolist()), strict=True)
    )
    pi = np.array([float(fitted[s]) for s in new])
    estimate = estimate_performance(rule, new, cost_fp=1, cost_fn=3)
    wanted = expected_metrics(rule.probability(new), pi, (1, 3))
    assert {metric: estimate[metric].value for metric in estimate} == pytest.approx(
        wanted
    )
    assert tuple(estimate) == METRICS
    for value, lower, upper in estimate.values():
        assert lower < value < upper


def test_a_single_block_has_the_interval_of_the_formula():
    """Ten rows, four of them ones, at one score; five new rows there."""
    rule = abers.fit_rule([1] * 10, [1] * 4 + [0] * 6)
    value, lower, upper = estimate_performance(rule, [1] * 5)["accuracy"]
    r = 4.5 / 11
    deviation = math.sqrt(0.4 * 0.6 / 5 + r * (1 - r) / 10)
    assert value == pytest.approx(0.6)  # all are predicted 0
    z = 1.959963984540054
    assert lower == pytest.approx(max(0, 1 - 5 / 11 - z * deviation))
    assert upper == pytest.approx(min(1, 1 - 4 / 11 + z * deviation))


def test_the_auc_of_labels_has_the_slopes_of_its_tangent(rng):
    """A metric that is linear moves with pi by its coefficients; the AUC nearly so."""
    from abers.evaluation.performance import _auc

    p, pi = rng.integers(0, 4, 8) / 4, rng.random(8)
    shares = rng.dirichlet(np.ones(8))
    constant, slopes, _ = _auc(p, shares, pi)
    for place in range(8):
        step = 1e-6 * np.eye(8)[place]
        ends = [_auc(p, shares, pi + sign * step) for sign in (1, -1)]
        up, down = (
            linear.constant + linear.coefficients @ (pi + sign * step)
            for linear, sign in zip(ends, (1, -1), strict=True)
        )
        assert (up - down) / 2e-6 == pytest.approx(slopes[place], abs=1e-8)
    assert 0 < constant + slopes @ pi < 1


def covered(rng, runs, fit, new_rows, **options):
    """Return the share of runs in which each metric is covered."""
    hits = dict.fromkeys(METRICS, 0)
    for _ in range(runs):
        rule, (new, y) = fit(rng), new_rows(rng)
        estimate = estimate_performance(rule, new, **options)
        for metric, value in realised(y, rule.probability(new)).items():
            hits[metric] += estimate[metric].lower <= value <= estimate[metric].upper
    return {metric: hits[metric] / runs for metric in METRICS}


@pytest.mark.parametrize(
    ("n", "shift", "curve"),
    [
        (300, 1.0, logistic),
        (2_000, 0.5, lambda s: logistic(s - 3)),
        (1_000, 0.7, lambda s: np.full_like(s, 0.3)),  # AUC .81 without the coarser fit
        (1_000, 0.7, lambda s: np.where(s < 0, 0.15, 0.7)),
    ],
)
@pytest.mark.filterwarnings("ignore::abers.errors.InvertedScoresWarning")
def test_intervals_cover_what_labels_will_show(rng, n, shift, curve):
    """benchmarks/PERFORMANCE.md has more cells and runs."""
    shares = covered(
        rng,
        100,
        lambda rng: abers.fit_rule(*rows(rng, n, curve)),
        lambda rng: rows(rng, 2_000, curve, shift),
    )
    assert min(shares.values()) >= 0.93


def hidden(rng, n, shift):
    """Rows whose labels depend on the score and on another column, which shifts."""
    x, z = rng.normal(-1, 1, n), rng.normal(shift, 1, n)
    return x, z, (rng.random(n) < logistic(x + z)).astype(int)


def test_a_changed_curve_breaks_it_and_known_weights_mend_it(rng):
    def fit(rng, *, weighted):
        x, z, y = hidden(rng, 3_000, 0.0)
        weights = np.exp(z - 0.5) if weighted else None
        return abers.fit_rule(x, y, sample_weight=weights)

    def new_rows(rng):
        x, _, y = hidden(rng, 2_000, 1.0)
        return x, y

    wrong = covered(rng, 20, lambda rng: fit(rng, weighted=False), new_rows)
    right = covered(rng, 40, lambda rng: fit(rng, weighted=True), new_rows)
    assert wrong["accuracy"] < 0.1
    assert min(right.values()) >= 0.9


def test_weights_of_new_rows_count_them(rng):
    rule = abers.fit_rule(*rows(rng, 500))
    new, weights = rng.normal(size=40), rng.integers(0, 4, 40)
    weighted = estimate_performance(rule, new, sample_weight=weights)
    repeated = estimate_performance(rule, np.repeat(new, weights))
    linear = ("accuracy", "log_loss", "brier", "cost")
    for metric in linear:  # repeated rows are pairs of the AUC
        assert weighted[metric].value == pytest.approx(repeated[metric].value)
        assert weighted[metric].upper >= repeated[metric].upper - 1e-9
    assert weighted.n_rows == np.count_nonzero(weights)
    twice = estimate_performance(rule, new, sample_weight=2.0 * weights)
    for metric in METRICS:
        assert twice[metric] == pytest.approx(weighted[metric])


def test_other_probabilities_can_be_judged(rng):
    rule = abers.fit_rule(*rows(rng, 2_000))
    new = rng.normal(size=1_000)
    own = estimate_performance(rule, new)
    given = estimate_performance(rule, new, probabilities=rule.probability(new))
    assert given == own
    sure = estimate_performance(rule, new, probabilities=logistic(5 * new))
    assert sure["log_loss"].lower > own["log_loss"].upper


def test_classifiers_and_calibrators_are_estimated_by_their_rule(rng):
    X, y = rng.normal(size=(2_000, 2)), rng.integers(0, 2, 2_000)
    model = LogisticRegression()
    classifier = abers.IVAPClassifier(model, random_state=0).fit(X, y)
    estimate = estimate_performance(classifier, X)
    scores = classifier.predictions(X).by_fold[0].scores[0]
    assert estimate == estimate_performance(classifier.rules_[0][0], scores)
    calibrator = abers.IVAPCalibrator().fit(scores, y)
    of_calibrator = estimate_performance(calibrator, scores, metrics=METRICS[:4])
    assert of_calibrator == check(calibrator, scores).performance


def test_what_cannot_be_known_is_nan(rng):
    rule = abers.fit_rule(*rows(rng, 200))
    estimate = estimate_performance(rule, [0.0, 1.0], probabilities=[0.0, 0.5])
    assert math.isnan(estimate["log_loss"].value)
    assert estimate["brier"].lower <= estimate["brier"].value <= estimate["brier"].upper
    zeros = abers.fit_rule([1, 2, 3], [0, 0, 0])
    assert math.isnan(estimate_performance(zeros, [1, 2])["auc"].upper)
    assert "AUC" in repr(estimate)
    assert estimate.to_dict()["estimates"]["log_loss"]["value"] is None


def test_check_without_labels_estimates_what_it_cannot_test(rng):
    rule = abers.fit_rule(*rows(rng, 1_000))
    new, y = rows(rng, 500, shift=0.2)
    result = check(rule, new).performance
    whole = estimate_performance(rule, new)
    assert dict(result) == {metric: whole[metric] for metric in METRICS[:4]}
    assert check(rule, new, y).performance is None
    groups = np.repeat(["a", "b"], 500)
    rules = abers.fit_rules(*rows(rng, 1_000), groups)
    assert check(rules, new).performance is None
    for loss in ("log", "brier"):
        p = rule.probability(new, loss)
        judged = estimate_performance(rule, new, probabilities=p)
        assert check(rule, new, loss=loss).performance["auc"] == judged["auc"]


@pytest.mark.filterwarnings("ignore::abers.errors.InvertedScoresWarning")
def test_predictors_without_one_rule_are_refused(rng):
    scores, y = rows(rng, 300)
    new = [0.0]
    rule = abers.fit_rule(scores, y)
    rules = abers.fit_rules(scores, y, np.repeat(["a", "b"], 150))
    cross = abers.CVAPClassifier(random_state=0).fit(scores[:, np.newaxis], y)
    with pytest.raises(InvalidType, match=r"^predictor must be a single rule"):
        estimate_performance(rules, new)
    for predictor, X, why in (
        (rule.with_prior(0.1), new, "keeps no counts"),
        (cross, [[0.0]], "5 models"),
    ):
        with pytest.raises(InvalidParameter, match=f"^predictor must have.*{why}"):
            estimate_performance(predictor, X)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metrics": ["auc", "f1"]}, InvalidParameter, r"^metrics\[1\] must be"),
        ({"confidence": 1}, InvalidParameter, "^confidence must"),
        ({"cost_fp": 0}, InvalidParameter, "^cost_fp must"),
        ({"probabilities": [0.5]}, InvalidData, "probabilities and X"),
        ({"probabilities": [0.5, 2]}, InvalidData, "^probabilities must"),
        ({"sample_weight": [0, 0]}, InvalidData, "^sample_weight must"),
    ],
)
def test_wrong_options_are_refused(options, error, message):
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    with pytest.raises(error, match=message):
        estimate_performance(rule, [1, 2], **options)


def test_there_must_be_rows_with_scores():
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    with pytest.raises(InvalidData, match="NaN"):
        estimate_performance(rule, [1, math.nan])
    with pytest.raises(InvalidData):
        estimate_performance(rule, [])
