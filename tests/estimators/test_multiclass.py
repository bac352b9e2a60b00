"""More than two classes: by pairs and coupled (ovo), or one against the rest (ovr)."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import abers
from abers.core.class_scores import ClassScores
from abers.core.multiclass import MinimaxPredictor, problems_of
from abers.errors import InvalidData, InvalidParameter
from witnesses import boxed, merged_classes

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])
SOFTMAX = GaussianNB(var_smoothing=1e-1).fit(X[:, :2], Y).predict_proba(X[:, :2])
LOGITS = LogisticRegression().fit(X[:, :2], Y).decision_function(X[:, :2])
both = pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
losses = pytest.mark.parametrize("loss", ["log", "brier"])


def coarse(log_odds):
    """Multiples of 2^-22, in single precision (decision 5)."""
    return (np.rint(log_odds * 2**22) / 2**22).astype(np.float32).astype(float)


class Sparing(GaussianNB):
    """Scores classes by margins, and knows only the classes it was trained on."""

    def decision_function(self, X):
        return self.predict_log_proba(X)


def pair_score(scores, i, j, *, probabilities):
    """log p_j - log p_i, 0 where both are 0; or d_j - d_i."""
    a, b = scores[:, i], scores[:, j]
    if not probabilities:
        return b - a
    with np.errstate(divide="ignore"):
        return coarse(np.where(a + b > 0, np.log(b) - np.log(a), 0.0))


def class_score(scores, c, *, probabilities):
    """log p_c - log(sum of the others), or the margin of class c."""
    if not probabilities:
        return scores[:, c]
    others = np.delete(scores, c, axis=1).sum(axis=1)
    return coarse(np.log(scores[:, c]) - np.log(others))


def pair_rules(scores, labels, *, probabilities):
    rules = {}
    for i, j in combinations(range(scores.shape[1]), 2):
        of_pair = pair_score(scores, i, j, probabilities=probabilities)
        about = (labels == i) | (labels == j)
        rules[i, j] = abers.fit_rule(of_pair[about], labels[about] == j)
    return rules


def price(mu):
    """1 / (sum over j of 1/mu_ij - (C - 2)), one row and one class at a time."""
    classes = len(mu)
    return [
        1 / (sum(1 / mu[i][j] for j in range(classes) if j != i) - (classes - 2))
        for i in range(classes)
    ]


# --- by the formulas ---


@losses
@pytest.mark.parametrize(
    ("scores", "kind"), [(SOFTMAX, "probability"), (LOGITS, "margin")]
)
def test_ovo_couples_the_rules_of_pairs(scores, kind, loss):
    """Pair scores, one rule a pair, the PKPD formula."""
    fitted = abers.IVAPCalibrator(loss=loss, multiclass="ovo").fit(scores, Y)
    assert fitted.scores_kind_ == kind
    probabilities = kind == "probability"
    rules = pair_rules(scores, Y, probabilities=probabilities)
    assert fitted.rules_ == [list(rules.values())]
    mu = np.full((150, 3, 3), 0.5)
    for (i, j), rule in rules.items():
        of_pair = pair_score(scores, i, j, probabilities=probabilities)
        mu[:, j, i] = rule.probability(of_pair, loss=loss)
        mu[:, i, j] = 1 - mu[:, j, i]
    expected = np.array([price(row) for row in mu.tolist()])
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.predict_proba(scores), expected, rtol=1e-12)


@losses
@pytest.mark.parametrize("scores", [SOFTMAX, LOGITS], ids=["softmax", "logits"])
def test_ovr_merges_the_rules_of_classes(scores, loss):
    """One rule per class, merged for all classes at once; bounds are their box."""
    fitted = abers.IVAPCalibrator(multiclass="ovr", loss=loss).fit(scores, Y)
    probabilities = fitted.scores_kind_ == "probability"
    assert probabilities == (scores is SOFTMAX)
    bounds = []
    for c, rule in enumerate(fitted.rules_[0]):
        of_class = class_score(scores, c, probabilities=probabilities)
        expected = abers.fit_rule(of_class, c == Y)
        np.testing.assert_allclose(rule.thresholds, expected.thresholds, rtol=1e-12)
        np.testing.assert_array_equal(rule.upper, expected.upper)
        np.testing.assert_array_equal(rule.lower, expected.lower)
        bounds.append(expected.bounds(of_class))
    bounds = np.stack(bounds, axis=1)
    merged = merged_classes(bounds[np.newaxis], loss)
    np.testing.assert_allclose(fitted.predict_proba(scores), merged, rtol=1e-13)
    np.testing.assert_allclose(
        fitted.predict_bounds(scores), boxed(bounds, merged), rtol=1e-12
    )


def test_three_classes_by_hand():
    """Each pair has scores 0, 1 with labels in order: bounds (0, 1/2) and (1/2, 1).

    Log-minimax gives 1/3 and 2/3. For margins (0, 0, 0) every pair scores 0, between
    its two calibration scores -1 and 1: bounds (0, 1), probability 1/2, so 1/3 a class.
    For the first calibration row class 0 beats both others by 2/3, and the others tie:
    1/(3/2 + 3/2 - 1) = 1/2 against 1/(3 + 2 - 1) = 1/4 twice, which sum to 1.
    """
    fitted = abers.IVAPCalibrator(scores="margin", multiclass="ovo")
    fitted.fit(np.eye(3), [0, 1, 2])
    np.testing.assert_allclose(
        fitted.predict_proba([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]),
        [[1 / 3, 1 / 3, 1 / 3], [1 / 2, 1 / 4, 1 / 4]],
        rtol=1e-14,
    )
    np.testing.assert_allclose(
        fitted.predict_bounds([[1.0, 0.0, 0.0]])[0],
        # Coupled lower ends 1/(2 + 2 - 1), 1/inf, 1/inf; upper ones 1/(1 + 1 - 1),
        # 1/(2 + 1 - 1) twice. Normalised: 1/3 / (1/3 + 1), 1/2 / (1/2 + 1/3), …
        [[1 / 4, 1], [0, 3 / 5], [0, 3 / 5]],
        rtol=1e-14,
    )


@losses
def test_ovo_bounds_are_the_box_of_the_coupled_ends(loss):
    """PKPD without normalising is monotone in each pair (erratum 16)."""
    fitted = abers.IVAPCalibrator(loss=loss, multiclass="ovo").fit(SOFTMAX, Y)
    lower, upper = np.full((2, 150, 3, 3), 0.5)
    for (i, j), rule in pair_rules(SOFTMAX, Y, probabilities=True).items():
        ends = rule.bounds(pair_score(SOFTMAX, i, j, probabilities=True))
        lower[:, j, i], upper[:, j, i] = ends.T
        lower[:, i, j], upper[:, i, j] = 1 - ends[:, 1], 1 - ends[:, 0]
    with np.errstate(divide="ignore"):
        coupled = [
            [
                1 / ((1 / mu[:, c, np.arange(3) != c]).sum(axis=1) - 1)
                for mu in (lower, upper)
            ]
            for c in range(3)
        ]
    p = fitted.predict_proba(SOFTMAX)
    expected = boxed(np.transpose(coupled, (2, 0, 1)), p)
    np.testing.assert_allclose(fitted.predict_bounds(SOFTMAX), expected, rtol=1e-12)


@losses
def test_folds_are_merged_by_pair_before_they_are_coupled(loss):
    cvap = abers.CVAPClassifier(
        GaussianNB(),
        cv=4,
        merge="minimax",
        loss=loss,
        multiclass="ovo",
        random_state=0,
    ).fit(X, Y)
    folds = cvap.predict_fold_bounds(X)
    assert folds.shape == (4, 3, 150, 2)
    mu = np.full((150, 3, 3), 0.5)
    for p, (i, j) in enumerate(combinations(range(3), 2)):
        mu[:, j, i] = abers.rules.merge_folds(folds[:, p], loss)
        mu[:, i, j] = 1 - mu[:, j, i]
    np.testing.assert_allclose(
        cvap.predict_proba(X), abers.rules.couple(mu), rtol=1e-12
    )


def test_ovo_uses_the_one_multiclass_model_of_each_fold():
    """K trainings, not K for each pair."""
    cvap = abers.CVAPClassifier(GaussianNB(), cv=3, multiclass="ovo", random_state=0)
    cvap.fit(X, Y)
    assert len(cvap.estimators_) == 3
    assert all(model.classes_.tolist() == [0, 1, 2] for model in cvap.estimators_)


# --- coherence ---

SETS = {"digits": load_digits, "wine": load_wine, "iris": load_iris}


@both
@losses
@pytest.mark.parametrize("name", SETS)
def test_every_probability_lies_within_its_bounds(name, loss, multiclass):
    """For every class and row; so some probabilities within them sum to 1."""
    rows, labels = SETS[name](return_X_y=True)
    options = {"loss": loss, "multiclass": multiclass}
    model = GaussianNB().fit(rows[::3], labels[::3])
    scores = model.predict_log_proba(rows)
    predictors = {
        abers.IVAPClassifier(GaussianNB(), random_state=0, **options): rows,
        abers.CVAPClassifier(GaussianNB(), cv=2, random_state=0, **options): rows,
        abers.CVAPClassifier(
            GaussianNB(), merge="pooled", random_state=0, **options
        ): rows,
        abers.IVAPCalibrator(**options): scores,
    }
    for predictor, inputs in predictors.items():
        predictor.fit(inputs[::2], labels[::2])
        p, bounds = predictor.predict_proba(inputs), predictor.predict_bounds(inputs)
        lower, upper = np.moveaxis(bounds, -1, 0)
        assert ((lower >= 0) & (lower <= p) & (p <= upper) & (upper <= 1)).all()
        assert abers.decide(bounds, 1 - np.eye(p.shape[1])).n_empty == 0
        predictions = predictor.predictions(inputs)
        assert (predictions.probabilities == p).all()
        assert (predictions.bounds == bounds).all()
        one = predictor.predict_bounds(inputs, pos_label=predictor.classes_[1])
        assert (one == bounds[:, 1]).all()


# --- two classes ---


@both
@pytest.mark.parametrize("wrapper", [abers.IVAPClassifier, abers.CVAPClassifier])
def test_two_classes_are_one_problem_in_either_way(multiclass, wrapper):
    rows, labels = X[50:], Y[50:]
    fitted = wrapper(GaussianNB(), multiclass=multiclass, random_state=0)
    binary = wrapper(GaussianNB(), random_state=0)
    if wrapper is abers.CVAPClassifier:  # 30 rows and more in each fold
        fitted.set_params(cv=3)
        binary.set_params(cv=3)
    fitted.fit(rows, labels)
    binary.fit(rows, labels)
    assert fitted.rules_ == binary.rules_
    assert fitted.predict_bounds(rows).shape == (100, 2)
    np.testing.assert_array_equal(
        fitted.predict_proba(rows), binary.predict_proba(rows)
    )


def test_two_probability_columns_score_by_their_log_odds():
    p = SOFTMAX[50:, 1:] / SOFTMAX[50:, 1:].sum(axis=1, keepdims=True)
    pair = abers.IVAPCalibrator().fit(p, Y[50:])
    log_odds = coarse(np.log(p[:, 1]) - np.log(p[:, 0]))
    column = abers.IVAPCalibrator().fit(log_odds, Y[50:])
    assert pair.rules_ == column.rules_


# --- classes that are missing somewhere ---


@both
@pytest.mark.parametrize("model", [GaussianNB(), Sparing(), DecisionTreeClassifier()])
def test_a_class_missing_from_the_training_of_a_fold_keeps_its_column(
    multiclass, model
):
    pairs = [
        (np.flatnonzero(Y != 2), np.flatnonzero(Y == 2)),
        (np.arange(0, 150, 2), np.arange(1, 150, 2)),
    ]
    cvap = abers.CVAPClassifier(model, cv=pairs, multiclass=multiclass)
    with pytest.warns(UserWarning, match="'virginica' is missing from .* 1 of 2 folds"):
        cvap.fit(X, NAMES[Y])
    p = cvap.predict_proba(X)
    assert cvap.classes_.tolist() == NAMES.tolist()
    assert p.shape == (150, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    assert cvap.predict_bounds(X).shape == (150, 3, 2)
    assert np.isfinite(cvap.predict_bounds(X)).all()


def test_a_fold_gives_a_class_it_was_not_trained_on_the_lowest_score():
    train = np.flatnonzero(Y != 2)[::2]
    pairs = [(train, np.setdiff1d(np.arange(150), train))]
    cvap = abers.CVAPClassifier(
        Sparing(), cv=pairs, multiclass="ovr", response_method="decision_function"
    )
    with pytest.warns(UserWarning, match="class 2 is missing"):
        cvap.fit(X, Y)
    assert cvap.rules_[0][2] == abers.fit_rule(
        np.full(100, -np.inf), Y[pairs[0][1]] == 2
    )


@both
def test_a_class_missing_from_the_calibration_rows_keeps_its_column(multiclass):
    calibrating = np.flatnonzero(Y != 1)[::2]
    ivap = abers.IVAPClassifier(
        GaussianNB(), calibration=calibrating, multiclass=multiclass
    ).fit(X, NAMES[Y])
    assert ivap.predict_proba(X).shape == (150, 3)
    certain = (Y != 1) & (ivap.predict(X) == NAMES[Y])
    assert certain[Y != 1].mean() > 0.9


@both
@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_class_missing_from_calibration_scores_keeps_its_column(multiclass, missing):
    seen = missing != Y
    fitted = abers.IVAPCalibrator(multiclass=multiclass).fit(SOFTMAX[seen], Y[seen])
    assert fitted.classes_.tolist() == [0, 1, 2]
    assert fitted.predict_proba(SOFTMAX).shape == (150, 3)


def test_names_do_not_tell_which_class_is_missing():
    seen = Y != 1
    with pytest.raises(InvalidData, match="too few"):
        abers.IVAPCalibrator().fit(SOFTMAX[seen], NAMES[Y[seen]])


def test_more_classes_than_columns_are_refused():
    with pytest.raises(InvalidData, match=r"each of the 3 classes in y; got 2\."):
        abers.IVAPCalibrator().fit(SOFTMAX[:, :2], Y)


def test_a_pair_without_calibration_rows_says_nothing():
    """Bounds (0, 1), probability 1/2: the definition for k = 0."""
    scores = np.eye(4)[[0, 0, 1, 1]]
    fitted = abers.IVAPCalibrator(multiclass="ovo").fit(scores, [0, 0, 1, 1])
    empty = combinations(range(4), 2)
    assert [rule is None for rule in fitted.rules_[0]] == [
        pair == (2, 3) for pair in empty
    ]
    mu_23 = fitted.predict_proba(np.full((1, 4), 0.25))[0]
    assert mu_23[2] == mu_23[3]


def test_a_fold_with_an_empty_pair_counts_as_bounds_0_and_1():
    pairs = [
        (np.arange(0, 150, 2), np.arange(1, 150, 2)[Y[1::2] == 0]),
        (np.arange(0, 150, 2), np.arange(1, 150, 2)),
    ]
    cvap = abers.CVAPClassifier(GaussianNB(), cv=pairs, multiclass="ovo").fit(X, Y)
    folds = cvap.predict_fold_bounds(X)
    assert cvap.rules_[0][2] is None  # classes 1 and 2
    np.testing.assert_array_equal(folds[0, 2], np.tile([0.0, 1.0], (150, 1)))


# --- what scores are ---


def test_auto_decides_once_at_fit_and_holds_to_it():
    fitted = abers.IVAPCalibrator().fit(LOGITS, Y)
    forced = abers.IVAPCalibrator(scores="margin").fit(LOGITS, Y)
    np.testing.assert_array_equal(
        fitted.predict_proba(SOFTMAX), forced.predict_proba(SOFTMAX)
    )
    assert fitted.scores_kind_ == "margin"
    of_probabilities = abers.IVAPCalibrator().fit(SOFTMAX, Y)
    forced = abers.IVAPCalibrator(scores="probability").fit(SOFTMAX, Y)
    half = of_probabilities.predict_proba(SOFTMAX / 2)  # rows that sum to 1/2
    np.testing.assert_array_equal(half, forced.predict_proba(SOFTMAX / 2))


@pytest.mark.parametrize(
    ("scores", "kind"),
    [
        (SOFTMAX, "probability"),
        (SOFTMAX.astype(np.float32), "probability"),
        (SOFTMAX.round(6), "probability"),
        (SOFTMAX.round(3), "probability"),
        (SOFTMAX * (1 + 1.4e-3), "probability"),
        (SOFTMAX * (1 + 1.6e-3), "margin"),
        (LOGITS, "margin"),
        (SOFTMAX - [[0.5, -0.5, 0.0]], "margin"),
    ],
    ids=[
        "softmax",
        "float32",
        "six digits",
        "three digits",
        "sums just right",
        "sums off",
        "logits",
        "negative",
    ],
)
def test_auto_takes_rows_that_sum_to_one_for_probabilities(scores, kind):
    """Decision 5: all in [0, 1], rows summing to 1 within 0.0005 a column."""
    assert abers.IVAPCalibrator().fit(scores, Y).scores_kind_ == kind


def test_the_kind_of_scores_can_be_forced():
    fitted = abers.IVAPCalibrator(scores="margin", multiclass="ovo").fit(SOFTMAX, Y)
    rules = pair_rules(SOFTMAX, Y, probabilities=False)
    assert fitted.rules_ == [list(rules.values())]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: model,
        lambda model: make_pipeline(StandardScaler(), model),
        lambda model: FrozenEstimator(model.fit(X, Y)),
    ],
    ids=["plain", "pipeline", "frozen"],
)
def test_scores_of_pairs_are_refused_with_a_hint(wrap):
    model = wrap(SVC(decision_function_shape="ovo"))
    with pytest.raises(InvalidParameter, match="set decision_function_shape='ovr' on"):
        abers.IVAPClassifier(model).fit(X, Y)


def test_scores_of_pairs_do_no_harm_to_two_classes():
    model = SVC(decision_function_shape="ovo")
    fitted = abers.IVAPClassifier(model, random_state=0).fit(X[50:], Y[50:])
    assert fitted.predict_bounds(X).shape == (150, 2)


# --- all in all ---


@both
@losses
@pytest.mark.parametrize("wrapper", [abers.IVAPClassifier, abers.CVAPClassifier])
def test_probabilities_of_names_sum_to_one_and_predict_them(multiclass, loss, wrapper):
    fitted = wrapper(
        LogisticRegression(max_iter=500),
        multiclass=multiclass,
        loss=loss,
        random_state=0,
    ).fit(X, NAMES[Y])
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    np.testing.assert_array_equal(fitted.predict(X), NAMES[p.argmax(axis=1)])
    assert fitted.score(X, NAMES[Y]) > 0.9
    lower, upper = np.moveaxis(fitted.predict_bounds(X), -1, 0)
    assert np.all((lower >= 0) & (lower <= upper) & (upper <= 1))


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_a_pair_without_calibration_rows_knows_nothing(loss):
    """The definition's answer for k = 0."""
    scores = ClassScores(
        np.array([-1.0, 0.0, 2.0]), are_logarithms=False, are_exact=True
    )
    for folds in ([[None]], [[None], [None]]):
        nothing = MinimaxPredictor(problems_of(2, "ovo"), 2, loss, folds)
        queries = [scores] * len(folds)
        np.testing.assert_array_equal(nothing.bounds(queries), [[0.0, 1.0]] * 3)
        np.testing.assert_array_equal(
            nothing.probability(queries), np.full((3, 2), 0.5)
        )


def test_rounding_never_puts_the_probability_outside_of_the_bounds():
    """CVAP bounds. Where folds disagree just so, the bounds are equal.

    One fold knows zeros only, (0, 1/(w+1)), one knows ones only, (v/(v+1), 1): the
    fold pair is a single number if 1/sqrt(w+1) + 1/sqrt(v+1) = 1.
    """
    for v in np.random.default_rng(0).uniform(2, 9, 50):
        w = (1 - (v + 1) ** -0.5) ** -2 - 1
        zeros = abers.fit_rule([1.0], [0], sample_weight=[w])
        ones = abers.fit_rule([1.0], [1], sample_weight=[v])
        predictor = MinimaxPredictor(problems_of(2, "ovo"), 2, "log", [[zeros], [ones]])
        queries = [
            ClassScores(np.array([s]), are_logarithms=False, are_exact=True)
            for s in (0.0, 2.0)
        ]
        lower, upper = predictor.bounds(queries)[0]
        p = predictor.probability(queries)[0, 1]
        assert lower <= p <= upper
        assert upper - lower < 1e-15
