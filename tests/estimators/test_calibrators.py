"""The calibrators of scores, against formulas and by hand."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import abers
from abers.core.multiclass import problems_of
from abers.errors import InvalidData

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=80)
LABELS = (SCORES + RNG.logistic(size=80) > 0).astype(int)
WEIGHTS = np.arange(80) % 4
CALIBRATORS = [
    abers.IVAPCalibrator(),
    abers.PlattCalibrator(),
    abers.PlattCalibrator(regularised=False),
    abers.IsotonicCalibrator(),
    abers.IsotonicCalibrator(dummies=True),
    abers.BetaCalibrator(),
    abers.TemperatureCalibrator(),
    abers.StackedCalibrator(),
]
calibrators = pytest.mark.parametrize("calibrator", CALIBRATORS, ids=str)


# --- all of them ---


@calibrators
def test_one_column_is_a_column_and_of_two_probabilities_the_second_counts(calibrator):
    p = 1 / (1 + np.exp(-SCORES))
    flat, column, two = (
        clone(calibrator).fit(shaped, LABELS).predict_proba(shaped)
        for shaped in (p, p[:, None], np.stack((1 - p, p), axis=1))
    )
    np.testing.assert_array_equal(column, flat)
    takes_logarithms = isinstance(
        calibrator,
        abers.BetaCalibrator | abers.TemperatureCalibrator | abers.StackedCalibrator,
    )  # of both columns, where there are two
    np.testing.assert_allclose(two, flat, rtol=1e-12 if takes_logarithms else 0)
    assert flat.shape == (80, 2)
    np.testing.assert_allclose(flat.sum(axis=1), 1, rtol=1e-15)


@calibrators
def test_calibrators_know_how_many_columns_they_were_fitted_to(calibrator):
    p = 1 / (1 + np.exp(-SCORES))
    for scores, count in ((p, 1), (p[:, None], 1), (np.stack((1 - p, p), axis=1), 2)):
        assert clone(calibrator).fit(scores, LABELS).n_features_in_ == count
        assert clone(calibrator).fit(scores.tolist(), LABELS).n_features_in_ == count


@calibrators
def test_integer_weights_are_copies(calibrator):
    weighted = clone(calibrator).fit(SCORES, LABELS, sample_weight=WEIGHTS)
    copied = clone(calibrator).fit(SCORES.repeat(WEIGHTS), LABELS.repeat(WEIGHTS))
    exact = isinstance(calibrator, abers.IVAPCalibrator)
    np.testing.assert_allclose(
        weighted.predict_proba(SCORES),
        copied.predict_proba(SCORES),
        rtol=0 if exact else 1e-12,
    )


@calibrators
def test_a_pickle_of_a_calibrator_predicts_the_same_bits(calibrator):
    fitted = clone(calibrator).fit(SCORES, LABELS)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(
        restored.predict_proba(SCORES), fitted.predict_proba(SCORES)
    )


@calibrators
def test_calibrators_leave_scores_labels_and_weights_as_they_were(calibrator):
    given_arrays = [SCORES.copy(), LABELS.copy(), WEIGHTS * 1.0]
    for array in given_arrays:
        array.flags.writeable = False
    scores, labels, weights = given_arrays
    fitted = clone(calibrator).fit(scores, labels, sample_weight=weights)
    fitted.predict_proba(scores)
    assert [a.tolist() for a in given_arrays] == [
        SCORES.tolist(),
        LABELS.tolist(),
        WEIGHTS.tolist(),
    ]


ONE_CLASS = [
    abers.IVAPCalibrator(),
    abers.PlattCalibrator(),
    abers.IsotonicCalibrator(),
    abers.BetaCalibrator(),
    abers.StackedCalibrator(),
]


@pytest.mark.parametrize("calibrator", ONE_CLASS, ids=str)
@pytest.mark.parametrize(
    ("label", "classes"),
    [
        (0, [0, 1]),
        (1, [0, 1]),
        (0.0, [0, 1]),
        (False, [False, True]),
        (True, [False, True]),
        (-1, [-1, 1]),
    ],
)
def test_one_class_alone_keeps_both_classes_and_its_meaning(calibrator, label, classes):
    """1 stays the positive class."""
    fitted = clone(calibrator).fit([1.0, 2.0, 3.0], [label] * 3)
    assert fitted.classes_.tolist() == classes
    assert fitted.predict([2.0]).tolist() == [label]


@pytest.mark.parametrize("calibrator", ONE_CLASS, ids=str)
@pytest.mark.parametrize("label", [2, "yes", 7.0])
def test_one_class_with_any_other_name_is_refused(calibrator, label):
    """Nobody can tell what the other class is."""
    with pytest.raises(InvalidData, match="one class"):
        clone(calibrator).fit([1.0, 2.0, 3.0], [label] * 3)


def test_all_zeros_and_all_ones_have_the_bounds_of_lemma_2():
    """Lemma 2: upper 1/(k+1) for k zeros, lower 1 - 1/(k+1) for k ones."""
    zeros = abers.IVAPCalibrator().fit([1, 2, 3], [0, 0, 0])
    ones = abers.IVAPCalibrator().fit([1, 2, 3], [1, 1, 1])
    assert zeros.predict_bounds([1]).tolist() == [[0, 0.25]]
    assert ones.predict_bounds([3]).tolist() == [[0.75, 1]]


# --- IVAP ---


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_ivap_calibrator_is_the_rule_of_its_scores_unrounded(loss):
    """One column of scores is never rounded."""
    scores = np.nextafter(np.round(SCORES), np.where(LABELS == 1, np.inf, -np.inf))
    fitted = abers.IVAPCalibrator(loss=loss).fit(scores, LABELS)
    rule = abers.fit_rule(scores, LABELS)
    assert fitted.rules_ == [[rule]]
    np.testing.assert_array_equal(fitted.predict_bounds(scores), rule.bounds(scores))
    np.testing.assert_array_equal(
        fitted.predict_proba(scores)[:, 1], rule.probability(scores, loss=loss)
    )


VOTES = np.array([(a, b, 10 - a - b) for a in range(11) for b in range(11 - a)])
VOTED = np.random.default_rng(0).integers(0, 3, len(VOTES))


def _ranks_of_votes(positive, negative):
    """Return places among the distinct shares of votes, in exact arithmetic."""
    shares = [
        Fraction(a, a + b) if a + b else Fraction(1, 2)
        for a, b in zip(positive.tolist(), negative.tolist(), strict=True)
    ]
    places = {share: place for place, share in enumerate(sorted(set(shares)))}
    places |= {0: -np.inf, 1: np.inf}  # as their log-odds are
    return np.array([places[share] for share in shares])


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_equal_odds_are_a_tie_for_ivap_whatever_their_last_bits(multiclass):
    """Votes k / 10 of three classes, of whose odds logarithms split some."""
    fitted = abers.IVAPCalibrator(multiclass=multiclass).fit(VOTES / 10, VOTED)
    for problem, rule in zip(problems_of(3, multiclass), fitted.rules_[0], strict=True):
        about, negative = VOTED >= 0, 10 - VOTES[:, problem.positive]
        if problem.negative is not None:
            about = np.isin(VOTED, (problem.positive, problem.negative))
            negative = VOTES[:, problem.negative]
        ranks = _ranks_of_votes(VOTES[:, problem.positive], negative)
        exact = abers.fit_rule(ranks[about], VOTED[about] == problem.positive)
        np.testing.assert_array_equal(rule.lower, exact.lower)
        np.testing.assert_array_equal(rule.upper, exact.upper)


def test_equal_odds_are_a_tie_for_isotonic_regression_whatever_their_last_bits():
    fitted = abers.IsotonicCalibrator().fit(VOTES / 10, VOTED)
    assert [thresholds.size for thresholds in fitted.thresholds_] == [11, 11, 11]


def test_ivap_calibrator_takes_infinite_scores():
    """Legal for IVAPCalibrator."""
    fitted = abers.IVAPCalibrator().fit([-np.inf, 0, np.inf], [0, 1, 1])
    rule = abers.fit_rule([-np.inf, 0, np.inf], [0, 1, 1])
    assert fitted.rules_ == [[rule]]


def test_two_columns_of_margins_are_compared_by_their_difference():
    """Raw class scores give d_1 - d_0."""
    margins = np.stack((3 * SCORES[::-1], SCORES), axis=1)
    fitted = abers.IVAPCalibrator().fit(margins, LABELS)
    assert fitted.scores_kind_ == "margin"
    rule = abers.fit_rule(margins[:, 1] - margins[:, 0], LABELS)
    assert fitted.rules_ == [[rule]]


# --- Platt ---


def logistic_regression(scores, labels, weights, *, regularised):
    """Platt's problem as a logistic regression: each row once as a 1, once as a 0."""
    ones, zeros = weights[labels == 1].sum(), weights[labels == 0].sum()
    targets = labels.astype(float)
    if regularised:
        targets = np.where(labels == 1, (ones + 1) / (ones + 2), 1 / (zeros + 2))
    return LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky").fit(
        np.r_[scores, scores][:, None],
        np.r_[np.ones_like(labels), np.zeros_like(labels)],
        sample_weight=np.r_[weights * targets, weights * (1 - targets)],
    )


@pytest.mark.parametrize("regularised", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("shift", "scale"), [(0, 1), (100, 1), (0, 1e-3), (-5, 40), (0, 1e200), (0, 1e-200)]
)
def test_platt_is_logistic_regression_on_the_targets(
    regularised, weighted, shift, scale
):
    """Section 5, Platt's method."""
    scores = SCORES * scale + shift
    weights = WEIGHTS * 1.0 if weighted else np.ones(80)
    fitted = abers.PlattCalibrator(regularised=regularised).fit(
        scores, LABELS, sample_weight=weights if weighted else None
    )
    # The other solver gets scores of mean 0 and spread 1: it is no better than ours.
    peer = logistic_regression(SCORES, LABELS, weights, regularised=regularised)
    assert -fitted.A_ * scale == pytest.approx(peer.coef_[0, 0], rel=1e-8)
    assert -(fitted.B_ + fitted.A_ * shift) == pytest.approx(
        peer.intercept_[0], rel=1e-8, abs=1e-8
    )


def test_platt_is_the_sigmoid_of_its_parameters():
    """1 / (1 + exp(A s + B))."""
    fitted = abers.PlattCalibrator().fit(SCORES, LABELS)
    for s in (-3.0, 0.0, 2.5):
        expected = 1 / (1 + math.exp(fitted.A_ * s + fitted.B_))
        assert fitted.predict_proba([s])[0, 1] == pytest.approx(expected, rel=1e-14)


def test_platt_leaves_the_range_between_its_targets():
    """Erratum 7: 0.239 and 0.761 outside (1/4, 3/4), and 0.996 at 50; not clipped."""
    fitted = abers.PlattCalibrator().fit([-10, 0, 1, 11], [0, 0, 1, 1])
    p = fitted.predict_proba([-10, 11, 50])[:, 1]
    assert p.round(3).tolist() == [0.239, 0.761, 0.996]


def test_platt_satisfies_the_two_equations_of_its_optimum():
    """Eq. (3) differentiated: residuals, and residuals times scores, sum to 0."""
    fitted = abers.PlattCalibrator().fit(SCORES, LABELS)
    ones = LABELS.sum()
    targets = np.where(LABELS == 1, (ones + 1) / (ones + 2), 1 / (80 - ones + 2))
    residuals = fitted.predict_proba(SCORES)[:, 1] - targets
    assert abs(residuals.sum()) < 1e-9
    assert abs(residuals @ SCORES) < 1e-9


def test_platt_may_find_that_higher_scores_mean_less():
    """Erratum 7: A is not constrained."""
    fitted = abers.PlattCalibrator().fit(-SCORES, LABELS)
    upright = abers.PlattCalibrator().fit(SCORES, LABELS)
    assert fitted.A_ > 0
    assert abs(fitted.A_ + upright.A_) < 1e-9


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        ([1, 2, 3, 4], [0, 0, 1, 1]),
        ([1, 2, 3, 4], [1, 1, 0, 0]),
        ([1, 2, 2, 3], [0, 0, 1, 1]),
        ([1, 2, 3], [1, 1, 1]),
    ],
    ids=["up", "down", "touching", "one class"],
)
def test_plain_labels_that_a_threshold_separates_are_refused(scores, labels):
    """Erratum 7: there is no finite optimum."""
    with pytest.raises(InvalidData, match=r"Use regularised=True\.$"):
        abers.PlattCalibrator(regularised=False).fit(scores, labels)
    p = abers.PlattCalibrator().fit(scores, labels).predict_proba(scores)
    assert 0 < p.min() < p.max() < 1


def test_rows_of_weight_zero_do_not_hide_that_classes_are_separable():
    plain = abers.PlattCalibrator(regularised=False)
    with pytest.raises(InvalidData, match="separates"):
        plain.fit([1, 2, 3, 4], [1, 0, 1, 1], sample_weight=[0, 1, 1, 1])


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_platt_refuses_infinite_scores_by_row(bad):
    with pytest.raises(InvalidData, match=f"must be finite.*got {bad!r} at row 1"):
        abers.PlattCalibrator().fit([0.0, bad, 1.0], [0, 1, 1])


@pytest.mark.parametrize("score", [5, 0.2])
def test_platt_on_one_score_is_the_mean_of_the_targets(score):
    """Targets 3/4, 3/4 and 1/3: their mean is 11/18; that of 0.2, in doubles, not."""
    fitted = abers.PlattCalibrator().fit([score] * 3, [1, 1, 0])
    assert fitted.predict_proba([score])[0, 1] == pytest.approx(11 / 18, rel=1e-14)


# --- isotonic ---


def test_isotonic_pools_by_hand():
    """Labels 0, 1, 0, 1, 0, 1, 1 pool to 0, 1/2, 1/2, 1/2, 1/2, 1, 1."""
    fitted = abers.IsotonicCalibrator().fit(range(7), [0, 1, 0, 1, 0, 1, 1])
    p = fitted.predict_proba(range(7))[:, 1]
    assert p.tolist() == [0, 0.5, 0.5, 0.5, 0.5, 1, 1]


def test_isotonic_pools_ties_first():
    fitted = abers.IsotonicCalibrator().fit([1, 1, 1, 2], [1, 0, 0, 1])
    np.testing.assert_allclose(fitted.predict_proba([1, 2])[:, 1], [1 / 3, 1])


def test_between_keys_the_value_of_the_key_below_holds():
    """Left of the first key the first value."""
    fitted = abers.IsotonicCalibrator().fit([1, 1, 2, 3], [0, 1, 1, 1])
    p = fitted.predict_proba([-np.inf, 0, 1, 1.999, 2, 2.5, 9, np.inf])[:, 1]
    assert p.tolist() == [0.5, 0.5, 0.5, 0.5, 1, 1, 1, 1]


def test_dummies_keep_predictions_off_0_and_1():
    """A 0 at +inf and a 1 at -inf, weight 1 each."""
    fitted = abers.IsotonicCalibrator(dummies=True).fit([1, 2, 3], [0, 1, 1])
    p = fitted.predict_proba([0, 1, 2, 3, 4])[:, 1]
    np.testing.assert_allclose(p, [1 / 2, 1 / 2, 2 / 3, 2 / 3, 2 / 3], rtol=1e-15)


def mean_of_pools(scores, labels):
    """The max-min formula for isotonic regression, at each distinct score."""
    keys = sorted(set(scores))
    groups = [
        [label for s, label in zip(scores, labels, strict=True) if s == key]
        for key in keys
    ]

    def mean(i, j):
        pool = [label for group in groups[i : j + 1] for label in group]
        return sum(pool) / len(pool)

    last = len(keys)
    return keys, [
        max(min(mean(i, j) for j in range(k, last)) for i in range(k + 1))
        for k in range(last)
    ]


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), min_size=1, max_size=9)
)
def test_isotonic_is_the_max_min_formula(rows):
    """Section 2, isotonic regression."""
    scores, labels = zip(*rows, strict=True)
    keys, values = mean_of_pools(scores, labels)
    fitted = abers.IsotonicCalibrator().fit(scores, labels)
    np.testing.assert_allclose(
        fitted.predict_proba(keys)[:, 1], values, rtol=1e-14, atol=1e-15
    )
