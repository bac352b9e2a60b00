"""Temperature, beta, and all baselines for many classes, against other solvers."""

import math
import pickle

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, logit, softmax
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

import abers
from abers.errors import InvalidData
from witnesses import beta_by_another_solver

RNG = np.random.default_rng(3)
N = 300
X = RNG.normal(size=(N, 4))
Y3 = (X[:, :3] + RNG.gumbel(size=(N, 3))).argmax(axis=1)
Y2 = (Y3 == 0).astype(int)
WEIGHTS = RNG.integers(0, 4, N)
MARGINS = 3 * X[:, :3] + RNG.normal(size=(N, 3))  # too sure, not quite right
P3 = softmax(MARGINS, axis=1)
LOG_ODDS = MARGINS[:, 0] - np.logaddexp(MARGINS[:, 1], MARGINS[:, 2])
MANY = [
    abers.PlattCalibrator(),
    abers.IsotonicCalibrator(),
    abers.IsotonicCalibrator(dummies=True),
    abers.BetaCalibrator(),
    abers.TemperatureCalibrator(),
]
many = pytest.mark.parametrize(
    "calibrator", [*MANY, abers.StackedCalibrator()], ids=str
)
both_kinds = pytest.mark.parametrize("scores", [P3, MARGINS], ids=["p", "margins"])
NEW_ONES = [abers.BetaCalibrator, abers.TemperatureCalibrator]


def total_loss(p, labels, weights=None):
    """Mean log loss, of the probabilities as they are."""
    return np.average(-np.log(p[np.arange(labels.size), labels]), weights=weights)


# --- temperature ---


@pytest.mark.parametrize("many_classes", [True, False], ids=["3 classes", "2 classes"])
def test_temperature_is_that_of_scikit_learn(many_classes):
    """Guo et al. 2017; its own solver has a tolerance of about 1e-8."""
    y = Y3 if many_classes else Y2
    model = LogisticRegression(C=1e4).fit(X[:40], y[:40])
    peer = CalibratedClassifierCV(FrozenEstimator(model), method="temperature")
    peer.fit(X[40:], y[40:])
    for say in (model.predict_proba, model.decision_function):
        ours = abers.TemperatureCalibrator().fit(say(X[40:]), y[40:])
        np.testing.assert_allclose(
            ours.predict_proba(say(X)), peer.predict_proba(X), rtol=1e-5
        )


@both_kinds
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_no_other_temperature_is_better(scores, weights):
    fitted = abers.TemperatureCalibrator().fit(scores, Y3, sample_weight=weights)
    logits = np.log(P3)
    best = total_loss(fitted.predict_proba(scores), Y3, weights)
    for factor in (0.5, 0.99, 0.9999, 1.0001, 1.01, 2):
        other = softmax(logits * fitted.inverse_temperature_ * factor, axis=1)
        assert total_loss(other, Y3, weights) > best
    assert fitted.temperature_ == 1 / fitted.inverse_temperature_ > 1


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 7.0, 1e200, 1e307])
def test_temperature_takes_up_any_scale_of_margins(scale):
    plain = abers.TemperatureCalibrator(scores="margin").fit(MARGINS, Y3)
    scaled = abers.TemperatureCalibrator(scores="margin").fit(MARGINS * scale, Y3)
    assert scaled.temperature_ == pytest.approx(plain.temperature_ * scale, rel=1e-9)
    np.testing.assert_allclose(
        scaled.predict_proba(MARGINS * scale), plain.predict_proba(MARGINS), rtol=1e-9
    )


def test_adding_a_number_to_the_margins_of_a_row_changes_nothing():
    shifted = MARGINS + RNG.normal(size=(N, 1))
    plain, moved = (
        abers.TemperatureCalibrator().fit(m, Y3) for m in (MARGINS, shifted)
    )
    np.testing.assert_allclose(
        moved.predict_proba(shifted), plain.predict_proba(MARGINS), rtol=1e-9
    )


def test_scores_that_run_against_the_labels_have_an_infinite_temperature():
    fitted = abers.TemperatureCalibrator().fit([-2, -1, 1, 2], [1, 1, 0, 0])
    assert (fitted.inverse_temperature_, fitted.temperature_) == (0, math.inf)
    assert fitted.predict_proba([-np.inf, 3, 1e308]).tolist() == [[0.5, 0.5]] * 3


def test_scores_that_say_nothing_leave_the_temperature_alone():
    p = np.full((4, 4), 0.25)
    fitted = abers.TemperatureCalibrator().fit(p, [0, 1, 2, 3])
    assert fitted.temperature_ == 1
    np.testing.assert_allclose(fitted.predict_proba(p), p, rtol=1e-15)


@pytest.mark.parametrize("weight", [1, 5])
def test_m_right_answers_of_m_mean_what_laplace_says(weight):
    """No finite optimum: all margins 2, so p becomes (m + 1) / (m + 2)."""
    margins, labels = [-2, 2, 2, 0], [0, 1, 1, 1]  # the last one says nothing
    fitted = abers.TemperatureCalibrator(scores="margin")
    fitted.fit(margins, labels, sample_weight=[weight] * 4)
    m = 3 * weight
    p = fitted.predict_proba([2])[0, 1]
    assert p == pytest.approx((m + 1) / (m + 2), rel=1e-12)


def test_many_separable_classes_have_a_finite_temperature():
    margins = np.eye(3)[[0, 1, 2, 2]] * [[3], [1], [2], [5]]
    fitted = abers.TemperatureCalibrator(scores="margin").fit(margins, [0, 1, 2, 2])
    p = fitted.predict_proba(margins)
    assert total_loss(p, np.r_[0, 1, 2, 2]) == pytest.approx(math.log(6 / 5), rel=1e-9)


def test_certain_probabilities_take_the_place_of_the_least_that_was_seen():
    p = np.r_[P3, [[0, 0, 1], [0.5, 0, 0.5]]]
    y = np.r_[Y3, 2, 0]
    least = np.log(P3).min()
    fitted = abers.TemperatureCalibrator().fit(p, y)
    with np.errstate(divide="ignore"):
        finite = np.maximum(np.log(p), least)
    expected = abers.TemperatureCalibrator(scores="margin").fit(finite, y)
    assert fitted.temperature_ == pytest.approx(expected.temperature_, rel=1e-12)
    np.testing.assert_allclose(
        fitted.predict_proba(p), expected.predict_proba(finite), rtol=1e-12
    )


@pytest.mark.parametrize("two_classes", [False, True], ids=["10 classes", "2 classes"])
def test_a_model_that_is_far_too_sure_is_no_worse_off_than_with_scikit_learn(
    two_classes,
):
    """Naive Bayes of digits says 1e-300, and a few such rows must not decide."""
    pixels, digits = load_digits(return_X_y=True)
    y = (digits == 8).astype(int) if two_classes else digits
    model = GaussianNB().fit(pixels[:700], y[:700])
    peer = CalibratedClassifierCV(FrozenEstimator(model), method="temperature")
    peer.fit(pixels[700:1200], y[700:1200])
    say = model.predict_proba
    ours = abers.TemperatureCalibrator().fit(say(pixels[700:1200]), y[700:1200])
    loss = log_loss(y[1200:], ours.predict_proba(say(pixels[1200:])))
    assert loss <= log_loss(y[1200:], peer.predict_proba(pixels[1200:]))


def test_probabilities_below_the_spacing_of_doubles_at_1_are_all_the_same():
    p = np.r_[P3, [[1e-300, 1e-17, 1.0], [2.0**-52, 2.0**-52, 1.0]]]
    y = np.r_[Y3, 2, 2]
    probabilities = abers.TemperatureCalibrator().fit(p, y).predict_proba(p[-2:])
    np.testing.assert_array_equal(probabilities[0], probabilities[1])
    margins = np.r_[MARGINS, [[-700.0, -40, 0], [-36, -36, 0]]]  # as they are
    probabilities = (
        abers.TemperatureCalibrator().fit(margins, y).predict_proba(margins[-2:])
    )
    assert probabilities[0, 0] < probabilities[1, 0]


@pytest.mark.parametrize("n_classes", [2, 40])
def test_the_temperature_of_many_rows_is_that_of_a_plain_search(n_classes):
    """Rows are summed in parts; the minimum is where no parts are."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(20_000, n_classes)) * 3
    drawn = logits / 1.7 + rng.gumbel(size=logits.shape)
    labels = drawn.argmax(axis=1)
    fitted = abers.TemperatureCalibrator(scores="margin").fit(logits, labels)

    def loss(beta):
        return total_loss(softmax(beta * logits, axis=1), labels)

    search = minimize_scalar(loss, bounds=(0.1, 2), options={"xatol": 1e-10})
    assert fitted.inverse_temperature_ == pytest.approx(search.x, rel=1e-6)


# --- beta ---


@pytest.mark.parametrize("seed", range(40))
def test_beta_is_the_best_curve_that_does_not_fall(seed):
    """Kull, Silva Filho and Flach 2017; a or b is 0 in 22 cases, both in 11."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(5, 200))
    s = rng.normal(rng.choice([-3, 0, 2]), rng.choice([0.3, 1, 6]), size)
    y = (rng.random(size) < expit(rng.choice([-1, 0.5, 2]) * s + 1)).astype(int)
    w = rng.integers(1, 4, size).astype(float)
    fitted = abers.BetaCalibrator(scores="margin").fit(s, y, sample_weight=w)
    loss, expected, _ = beta_by_another_solver(s, y, w)
    assert min(fitted.a_, fitted.b_) >= 0
    fitted_loss, _ = loss(np.array([fitted.a_, fitted.b_, fitted.c_]))
    assert fitted_loss == pytest.approx(expected, rel=1e-10)
    assert fitted_loss <= expected * (1 + 1e-14)


def test_beta_is_the_formula_of_its_parameters():
    """The log-odds are a ln p - b ln(1 - p) + c, of one column or of two."""
    p = expit(LOG_ODDS)
    fitted = abers.BetaCalibrator().fit(p, Y2)
    assert fitted.scores_kind_ == "probability"
    a, b, c = fitted.a_, fitted.b_, fitted.c_
    assert a > 0
    assert b > 0
    for q in (0.01, 0.3, 0.999):
        expected = expit(a * math.log(q) - b * math.log(1 - q) + c)
        assert fitted.predict_proba([q])[0, 1] == pytest.approx(expected, rel=1e-12)


def test_a_margin_means_the_probability_of_its_sigmoid():
    p = expit(LOG_ODDS)
    on_p, on_margins = (abers.BetaCalibrator().fit(s, Y2) for s in (p, LOG_ODDS))
    assert on_margins.scores_kind_ == "margin"
    np.testing.assert_allclose(
        on_margins.predict_proba(LOG_ODDS), on_p.predict_proba(p), rtol=1e-7
    )


def test_beta_finds_different_ends_where_platt_cannot():
    rng = np.random.default_rng(0)
    s = rng.normal(scale=3, size=4_000)
    truth = expit(2 * log_expit(s) - 0.4 * log_expit(-s) + 0.5)
    y = (rng.random(4_000) < truth).astype(int)
    beta, platt = (
        kind.fit(s, y).predict_proba(s)[:, 1]
        for kind in (abers.BetaCalibrator(), abers.PlattCalibrator())
    )
    assert log_loss(y, beta) < log_loss(y, platt) - 0.005
    assert abs(beta - truth).max() < 0.05


@pytest.mark.parametrize("flip", [False, True], ids=["up", "down"])
def test_separable_classes_have_a_finite_beta(flip):
    """The ridge makes it finite; falling scores say nothing."""
    y = np.r_[0, 0, 0, 1, 1, 1] ^ flip
    fitted = abers.BetaCalibrator(scores="margin").fit([-3, -2, -1, 1, 2, 3], y)
    p = fitted.predict_proba([-3, 3])[:, 1]
    if flip:
        assert (fitted.a_, fitted.b_) == (0, 0)
        assert p.tolist() == [pytest.approx(0.5)] * 2
    else:
        assert 1e-4 < p[0] < 0.1
        assert p.sum() == pytest.approx(1)


def test_one_score_has_the_mean_of_its_labels():
    """Two of three, but for the pull of the ridge towards 0.2."""
    few, many = (
        abers.BetaCalibrator().fit([0.2] * 3 * n, [1, 1, 0] * n).predict_proba([0.2])
        for n in (1, 10_000)
    )
    assert 0.6 < few[0, 1] < 2 / 3
    assert many[0, 1] == pytest.approx(2 / 3, abs=1e-5)


@pytest.mark.parametrize("scale", [1e-6, 1e150])
def test_beta_bears_margins_of_any_scale(scale):
    fitted = abers.BetaCalibrator(scores="margin").fit(LOG_ODDS * scale, Y2)
    p = fitted.predict_proba(LOG_ODDS * scale)
    assert np.isfinite(p).all()
    assert log_loss(Y2, p) < log_loss(Y2, np.full(N, Y2.mean()))


# --- infinite scores ---


def test_beta_takes_no_probability_at_its_word_below_a_tenth_of_a_row():
    p = expit(LOG_ODDS)
    p[[3, 4]] = 0, 1
    fitted = abers.BetaCalibrator().fit(p, Y2)
    assert fitted.clip_ == 0.1 / N
    clipped = p.clip(0.1 / N, 1 - 0.1 / N)
    expected = abers.BetaCalibrator().fit(clipped, Y2)
    np.testing.assert_allclose(
        fitted.predict_proba([0, 0.3, 1]),
        expected.predict_proba([0.1 / N, 0.3, 1 - 0.1 / N]),
        rtol=1e-12,
    )


def test_infinite_log_odds_take_the_place_of_the_furthest_finite_ones():
    """A temperature has no intercept, so that its ends are symmetric."""
    kind = abers.TemperatureCalibrator
    p = expit(LOG_ODDS)
    p[[3, 4]] = 0, 1
    others = logit(np.delete(p, [3, 4]))
    low, high = -abs(others).max(), abs(others).max()
    finite = logit(p)
    finite[[3, 4]] = low, high
    fitted = kind().fit(p, Y2)
    expected = kind(scores="margin").fit(finite, Y2)
    np.testing.assert_allclose(
        fitted.predict_proba([0, 0.3, 1]),
        expected.predict_proba([low, logit(0.3), high]),
        rtol=1e-7,
    )


@pytest.mark.parametrize("middle", [[], [0.5] * 4, [0.1] * 4], ids=str)
def test_a_temperature_keeps_certain_rows_on_their_side(middle):
    p = np.r_[np.zeros(10), np.ones(10), middle]
    y = np.r_[np.zeros(9), 1, np.ones(9), 0, np.zeros(len(middle))]
    probabilities = abers.TemperatureCalibrator().fit(p, y).predict_proba([0, 1])[:, 1]
    assert 0 < probabilities[0] < 0.5 < probabilities[1] < 1
    assert probabilities.sum() == pytest.approx(1)


@many
@pytest.mark.parametrize("middle", [0, 6], ids=["none", "some"])
def test_a_tree_of_pure_leaves_has_probabilities(calibrator, middle):
    """Every log-odds infinite, or nearly so: never NaN, and the order is kept."""
    corners = np.eye(3)[np.repeat([0, 1, 2], 10)]
    p = np.r_[corners, np.full((middle, 3), 1 / 3)]
    y = np.r_[np.repeat([0, 1, 2], 10), np.arange(middle) % 3]
    y[[0, 10, 20]] = 1, 2, 0  # one in ten is wrong
    probabilities = clone(calibrator).fit(p, y).predict_proba(np.eye(3))
    assert (probabilities.argmax(axis=1) == [0, 1, 2]).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.diag(probabilities), probabilities[0, 0], rtol=1e-6)


@many
@pytest.mark.parametrize("row", [[-np.inf] * 3, [np.inf, np.inf, 0], [-np.inf, 0, 9]])
def test_infinite_margins_give_probabilities(calibrator, row):
    scores = np.r_[MARGINS, [row]]
    fitted = clone(calibrator).fit(scores, np.r_[Y3, 0])
    p = fitted.predict_proba(scores)
    assert not np.isnan(p).any()
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-12)


# --- many classes, one against the rest ---


def log_odds_of(p, c):
    return np.log(p[:, c]) - np.log(np.delete(p, c, axis=1).sum(axis=1))


@pytest.mark.parametrize("calibrator", MANY[:-1], ids=str)
@both_kinds
def test_many_classes_are_one_against_the_rest_normalised(calibrator, scores):
    fitted = clone(calibrator).fit(scores, Y3)
    kind = "probability" if scores is P3 else "margin"
    assert (fitted.scores_kind_, fitted.n_features_in_) == (kind, 3)
    alone = []
    for c in range(3):
        own = log_odds_of(scores, c) if scores is P3 else scores[:, c]
        one = clone(calibrator).set_params(scores="margin").fit(own, np.equal(Y3, c))
        alone.append(one.predict_proba(own)[:, 1])
    expected = np.stack(alone, axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(scores), expected, rtol=1e-9)


def test_sigmoids_of_many_classes_are_those_of_scikit_learn():
    """On margins, which it takes by column, too."""
    model = LogisticRegression().fit(X[:60], Y3[:60])
    peer = CalibratedClassifierCV(
        FrozenEstimator(model), method="sigmoid", ensemble=False
    )
    peer.fit(X[60:], Y3[60:])
    ours = abers.PlattCalibrator().fit(model.decision_function(X[60:]), Y3[60:])
    np.testing.assert_allclose(
        ours.predict_proba(model.decision_function(X)),
        peer.predict_proba(X),
        rtol=1e-5,  # of its solver
    )


def test_parameters_have_one_number_per_class():
    platt, beta = (kind().fit(P3, Y3) for kind in (abers.PlattCalibrator, NEW_ONES[0]))
    for values in (platt.A_, platt.B_, beta.a_, beta.b_, beta.c_):
        assert values.shape == (3,)
    assert platt.ends_.shape == (3, 2)
    steps = abers.IsotonicCalibrator().fit(P3, Y3)
    assert len(steps.thresholds_) == len(steps.values_) == 3
    plain = abers.PlattCalibrator().fit(LOG_ODDS, Y2)
    assert isinstance(plain.A_, float)


def test_a_row_that_no_class_wants_is_shared_evenly():
    """Isotonic regression gives 0 to each of the three margins -9."""
    margins = np.r_[np.eye(3), -np.eye(3)] * 5.0
    fitted = abers.IsotonicCalibrator(scores="margin").fit(margins, [0, 1, 2, 1, 2, 0])
    assert fitted.predict_proba([[-9.0, -9.0, -9.0]]).tolist() == [[1 / 3] * 3]


@many
@both_kinds
def test_weights_of_rows_are_copies(calibrator, scores):
    weighted = clone(calibrator).fit(scores, Y3, sample_weight=WEIGHTS)
    copied = clone(calibrator).fit(scores.repeat(WEIGHTS, axis=0), Y3.repeat(WEIGHTS))
    np.testing.assert_allclose(
        weighted.predict_proba(scores), copied.predict_proba(scores), rtol=1e-9
    )


@pytest.mark.parametrize("calibrator", [*MANY, abers.IVAPCalibrator()], ids=str)
def test_rows_of_weight_zero_decide_nothing(calibrator):
    """Neither what the scores are, nor what stands for infinity."""
    scores = np.r_[P3, [[7.0, -9.0, 1e9]]]
    weights = np.r_[np.ones(N), 0]
    fitted = clone(calibrator).fit(scores, np.r_[Y3, 1], sample_weight=weights)
    assert fitted.scores_kind_ == "probability"
    np.testing.assert_array_equal(
        fitted.predict_proba(P3), clone(calibrator).fit(P3, Y3).predict_proba(P3)
    )


@many
def test_a_pickle_of_many_classes_predicts_the_same_bits(calibrator):
    fitted = clone(calibrator).fit(P3, Y3)
    restored = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(restored.predict_proba(P3), fitted.predict_proba(P3))


@pytest.mark.parametrize("calibrator", MANY[:-1], ids=str)
def test_a_class_without_rows_has_little_chance(calibrator):
    """Labels 0 and 2 of 0 … 2 tell which class is missing."""
    two = Y3 != 1
    fitted = clone(calibrator).fit(P3[two], Y3[two])
    assert fitted.classes_.tolist() == [0, 1, 2]
    p = fitted.predict_proba(P3[two])
    assert p[:, 1].mean() < P3[two, 1].mean()


@many
def test_classes_are_predicted_by_their_names(calibrator):
    names = np.array(["ant", "bee", "cow"])
    fitted = clone(calibrator).fit(P3, names[Y3])
    assert fitted.classes_.tolist() == names.tolist()
    assert set(fitted.predict(P3)) <= set(names)
    assert (fitted.predict(P3) == names[Y3]).mean() > 0.5


# --- what scores are ---


@pytest.mark.parametrize("kind", NEW_ONES)
@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.0, 0.5, 1.0], "probability"),
        ([0.0, 0.5, 1.1], "margin"),
        ([[0.5, 0.5], [0.3, 0.7], [0.2, 0.8]], "probability"),
        ([[0.5, 0.5], [0.3, 0.7], [0.2, 0.9]], "margin"),
    ],
)
def test_what_scores_are_is_decided_once(kind, scores, expected):
    fitted = kind().fit(scores, [0, 1, 1])
    assert fitted.scores_kind_ == expected
    assert fitted.n_features_in_ == np.ndim(scores[0]) + 1
    forced = kind(scores="margin").fit(scores, [0, 1, 1])
    assert forced.scores_kind_ == "margin"


@pytest.mark.parametrize("kind", NEW_ONES)
def test_what_cannot_be_a_probability_is_refused_later(kind):
    fitted = kind().fit([0.1, 0.4, 0.9], [0, 1, 1])
    sentence = (
        r"^scores must lie between 0 and 1, since they are probabilities; got 3\.0 at "
        r"row 1\. Fit with scores='margin' if they are none\.$"
    )
    with pytest.raises(InvalidData, match=sentence):
        fitted.predict_proba([0.5, 3])
    with pytest.raises(InvalidData, match=r"got -1\.0 at row 0"):
        kind(scores="probability").fit([-1, 1], [0, 1])


@many
def test_unknown_kinds_of_scores_are_refused(calibrator):
    wrong = clone(calibrator).set_params(scores="logit")
    with pytest.raises(ValueError, match=r"scores must be 'auto' or .*got 'logit'"):
        wrong.fit(P3, Y3)


@many
def test_classes_and_columns_must_agree(calibrator):
    with pytest.raises(InvalidData, match="a column for each of the 3 classes"):
        clone(calibrator).fit(P3[:, :2], Y3)
    with pytest.raises(InvalidData, match="3 columns as at fit; got 2"):
        clone(calibrator).fit(P3, Y3).predict_proba(P3[:, :2])


def test_plain_targets_of_many_classes_still_need_a_finite_optimum():
    separable = np.eye(3)[[0, 1, 2]] * 2.0
    with pytest.raises(InvalidData, match=r"Use regularised=True\.$"):
        abers.PlattCalibrator(regularised=False, scores="margin").fit(
            separable, [0, 1, 2]
        )


@pytest.mark.parametrize("regularised", [True, False])
@pytest.mark.parametrize(
    "scores",
    [
        [5e-324, 1e-323, 2e-323, 4e-323],
        [0.0, 1e-310, 2e-310, 3e-310],
        [1e-299, 2e-299, 3e-299, 4e-299],
        [-7e307, 3e307, 8e307, 9e307],
        [1.5e308, 1.6e308, 1.7e308, 1.79e308],
    ],
    ids=["subnormal", "nearly so", "tiny", "huge", "all huge"],
)
def test_a_sigmoid_is_finite_for_scores_of_any_size(scores, regularised):
    """With no warning of an overflow either, at new scores of any other size."""
    labels = [0, 1, 0, 1]
    platt = abers.PlattCalibrator(regularised=regularised).fit(scores, labels)
    assert np.isfinite([platt.A_, platt.B_]).all()
    new = [*scores, 0.0, 5e-324, -1e-310, 1.0, -1e300, 1.7e308]
    assert np.isfinite(platt.predict_proba(new)).all()


def test_a_sigmoid_of_huge_scores_is_that_of_the_same_scores_made_small():
    scores, labels = np.array([3.0, 9.0, -7.0, 8.0, 2.0]), [0, 1, 0, 0, 1]
    small = abers.PlattCalibrator().fit(scores, labels)
    huge = abers.PlattCalibrator().fit(scores * 2.0**1020, labels)
    np.testing.assert_allclose(
        huge.predict_proba(scores * 2.0**1020), small.predict_proba(scores), rtol=1e-12
    )


@pytest.mark.parametrize("score", [1e160, -1e300, 1.7e308])
@pytest.mark.parametrize("regularised", [True, False])
def test_a_score_of_weight_zero_is_left_out_of_a_sigmoid(score, regularised):
    """Whatever its size: it must not standardise the others."""
    scores, labels = [3.0, 9.0, -7.0, 8.0, 2.0], [0, 1, 0, 0, 1]
    without = abers.PlattCalibrator(regularised=regularised).fit(scores, labels)
    platt = abers.PlattCalibrator(regularised=regularised).fit(
        [*scores, score], [*labels, 1], sample_weight=[1] * 5 + [0]
    )
    assert (platt.A_, platt.B_) == (without.A_, without.B_)
