"""Scores of classifiers: log-odds keep both ends, and noise does not move a row."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import abers
from abers.core.class_scores import (
    ClassScores,
    of_probabilities,
    rounded,
    rounded_log_odds,
)
from abers.core.log_odds import log_sum_of_others, logarithms
from abers.errors import InvalidData
from abers.estimators.scoring import class_scores, response_of, rounded_to, step_of
from witnesses import X, Y, single, single_log_odds

SATURATED_X, SATURATED_Y = make_classification(
    1200, 40, n_informative=30, n_redundant=5, class_sep=1.5, flip_y=0.1, random_state=0
)
SATURATED_X = np.repeat(SATURATED_X, 3, axis=1)  # naive Bayes counts each three times
PAIRS = [
    (np.flatnonzero(np.arange(1200) % 4 != k), np.flatnonzero(np.arange(1200) % 4 == k))
    for k in range(4)
]
merges = pytest.mark.parametrize("merge", ["pooled", "minimax"])


class Given(ClassifierMixin, BaseEstimator):
    """Give the features as probabilities."""

    def fit(self, _X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.asarray(X)


# --- log-odds ---


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_sum_of_the_others_keeps_all_digits(classes):
    rng = np.random.default_rng(classes)
    logs = rng.normal(size=(500, classes)) * np.geomspace(1, 1000, 500)[:, None]
    logs -= logsumexp(logs, axis=1, keepdims=True)
    logs[rng.random(logs.shape) < 0.1] = -np.inf
    with np.errstate(divide="ignore"):
        expected = np.stack(
            [logsumexp(np.delete(logs, c, 1), axis=1) for c in range(classes)], axis=1
        )
    sums = log_sum_of_others(logs)
    np.testing.assert_allclose(sums, expected, rtol=1e-14, atol=1e-14)


def test_the_sum_of_one_other_is_that_other():
    logs = logarithms(np.array([[0.25, 0.75], [0.0, 1.0], [0.0, 0.0]]))
    np.testing.assert_array_equal(log_sum_of_others(logs), logs[:, ::-1])


def test_scores_are_differences_of_logarithms():
    """Pairs log p_j - log p_i, classes log p_c - log(sum of the others)."""
    scores = ClassScores(
        logarithms(np.array([[0.25, 0.5, 0.25], [0.0, 0.0, 1.0]])),
        are_logarithms=True,
        are_exact=True,
    )
    np.testing.assert_allclose(scores.of_pair(0, 1), [np.log(2), 0.0])
    np.testing.assert_allclose(scores.of_class(1), [0.0, -np.inf], atol=1e-15)
    np.testing.assert_allclose(scores.of_class(2), [-np.log(3), np.inf])


def test_two_classes_score_by_margins_and_more_by_probabilities():
    model = LogisticRegression()
    assert response_of(model, "auto") == "decision_function"
    assert response_of(model, "auto", 3) == "predict_proba"
    assert response_of(GaussianNB(), "auto") == "predict_proba"
    assert response_of(model, "decision_function", 3) == "decision_function"


def test_log_probabilities_are_asked_for_where_they_exist():
    model = GaussianNB().fit(SATURATED_X[:600], SATURATED_Y[:600])
    rows = SATURATED_X[600:]
    scores = class_scores(model, rows, 600, model.classes_, "auto").of_pair(0, 1)
    logs = model.predict_log_proba(rows)
    np.testing.assert_array_equal(scores, rounded_log_odds(logs[:, 1] - logs[:, 0]))
    assert len(np.unique(scores)) == 600
    probabilities = rounded(model.predict_proba(rows)[:, 1])
    assert len(np.unique(probabilities)) < 600  # near 1 they tie


def test_a_model_is_asked_once_for_scores_and_probabilities(monkeypatch):
    calls = []
    for name in ("predict_log_proba", "predict_proba"):
        original = getattr(GaussianNB, name)
        monkeypatch.setattr(
            GaussianNB,
            name,
            lambda self, X, name=name, original=original: (
                calls.append(name),
                original(self, X),
            )[1],
        )
    model = abers.IVAPClassifier(FrozenEstimator(GaussianNB().fit(X, Y))).fit(X, Y)
    calls.clear()
    evaluation = abers.evaluate(model, X + 0.01, Y)
    assert calls == ["predict_log_proba"]
    assert evaluation.calibration.before is not None


def test_negative_probabilities_are_refused():
    model = Given().fit(None, [0, 1])
    with pytest.raises(InvalidData, match=r"negative .*Given.predict_proba .* row 1"):
        class_scores(model, [[0.5, 0.5], [-0.1, 1.1]], 2, model.classes_, "auto")


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_rounding_is_monotone_and_odd(numbers):
    numbers = np.sort(numbers)
    for nearest in (rounded, rounded_log_odds):
        once = nearest(numbers)
        np.testing.assert_array_equal(nearest(-numbers), -once)
        assert np.all(once[1:] >= once[:-1])
    usual = numbers[abs(numbers) < 1e38]
    np.testing.assert_array_equal(rounded(usual), single(usual))
    np.testing.assert_array_equal(rounded_log_odds(usual), single_log_odds(usual))


def test_probabilities_that_are_equal_but_for_noise_are_ties():
    """The log-odds of 1/2 against 1/2 are noise: significant bits would keep it."""
    p = np.array([[0.5, 0.5], [0.5 + 2**-53, 0.5], [0.5, 0.5 - 2**-54]])
    values = of_probabilities(p).of_pair(0, 1)
    np.testing.assert_array_equal(values, [0.0, 0.0, 0.0])


# --- exchanging the classes ---


def mirrored(model, **options):
    """A fitted predictor, and the same with the names of the classes exchanged."""
    first = abers.CVAPClassifier(model, cv=PAIRS, **options)
    second = abers.CVAPClassifier(model, cv=PAIRS, **options)
    return first.fit(SATURATED_X, SATURATED_Y), second.fit(SATURATED_X, 1 - SATURATED_Y)


@merges
@pytest.mark.parametrize("loss", ["log", "brier"])
@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(),
        RandomForestClassifier(20, random_state=0),
        DecisionTreeClassifier(max_depth=4, random_state=0),
    ],
    ids=["naive Bayes", "forest", "tree"],
)
def test_exchanging_the_names_of_two_classes_mirrors_everything(model, merge, loss):
    """The symmetry after Algorithm 4, within the rounding of complementary numbers."""
    plain, exchanged = mirrored(model, merge=merge, loss=loss)
    rows = SATURATED_X[::3] + 0.01
    rules, mirrors = (
        each.predictions(rows).source.rules for each in (plain, exchanged)
    )
    for rule, mirror in zip(rules, mirrors, strict=True):
        with np.errstate(over="ignore"):  # s >= t mirrors to s > -t
            steps = np.nextafter(-rule.thresholds[::-1], np.inf)
        np.testing.assert_array_equal(steps, mirror.thresholds)
        assert rule.n_positives == mirror.n_rows - mirror.n_positives
    scores, negated = (
        [
            class_scores(model, rows, len(rows), m.classes_, "auto").of_pair(0, 1)
            for model in m.estimators_
        ]
        for m in (plain, exchanged)
    )
    np.testing.assert_array_equal(scores, -np.array(negated))
    tolerance = 2 * np.spacing(1.0)
    np.testing.assert_allclose(
        plain.predict_bounds(rows),
        1 - exchanged.predict_bounds(rows)[:, ::-1],
        rtol=0,
        atol=tolerance,
    )
    np.testing.assert_allclose(
        plain.predict_proba(rows),
        exchanged.predict_proba(rows)[:, ::-1],
        rtol=0,
        atol=tolerance,
    )


@merges
def test_a_fitted_model_with_its_classes_renamed_mirrors_everything(merge):
    model = GaussianNB().fit(SATURATED_X[:600], SATURATED_Y[:600])
    names = np.array(["no", "yes"])
    exchanged = GaussianNB().fit(SATURATED_X[:600], names[SATURATED_Y[:600]])
    exchanged.classes_ = np.array(["yes", "no"])  # the columns keep their order
    rows, labels = SATURATED_X[600:], SATURATED_Y[600:]
    folds = [(np.arange(600), np.arange(k, 600, 3)) for k in range(3)]
    first = abers.CVAPClassifier(FrozenEstimator(model), cv=folds, merge=merge)
    second = abers.CVAPClassifier(FrozenEstimator(exchanged), cv=folds, merge=merge)
    p = first.fit(rows, labels).predict_bounds(SATURATED_X)
    q = second.fit(rows, names[1 - labels]).predict_bounds(SATURATED_X)
    np.testing.assert_allclose(p, 1 - q[:, ::-1], rtol=0, atol=2 * np.spacing(1.0))


@pytest.mark.parametrize("seed", range(3))
@merges
def test_rounding_costs_naive_bayes_nothing(seed, merge, monkeypatch):
    """Rounded probabilities tied a third of such rows near 1, and cost .03."""
    rows = np.random.default_rng(seed).permutation(1200)
    train, test = rows[:800], rows[800:]

    def loss():
        model = abers.CVAPClassifier(GaussianNB(), merge=merge, random_state=seed)
        model.fit(SATURATED_X[train], SATURATED_Y[train])
        return log_loss(SATURATED_Y[test], model.predict_proba(SATURATED_X[test]))

    with_rounding = loss()
    monkeypatch.setattr("abers.core.class_scores.rounded", lambda scores: scores)
    monkeypatch.setattr("abers.core.class_scores.rounded_log_odds", lambda s: s)
    assert abs(loss() - with_rounding) < 0.0005


# --- alone and in a batch ---


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=1000),
        GaussianNB(),
        LinearDiscriminantAnalysis(),
        MLPClassifier((20,), max_iter=5, random_state=0),
        SVC(),
    ],
    ids=["logistic", "naive Bayes", "LDA", "network", "SVM"],
)
@pytest.mark.filterwarnings("ignore:.*max_iter:UserWarning")
@pytest.mark.filterwarnings("ignore:.*iterations")
def test_a_row_alone_has_the_score_that_it_has_in_a_batch(model, classes):
    """Decision 5; benchmarks/alone_or_in_a_batch.py has more models and rows."""
    labels = SATURATED_Y + (classes > 2) * (SATURATED_X[:, 0] > 3)
    names = np.unique(labels)
    model.fit(SATURATED_X[:600], labels[:600])
    rows = SATURATED_X[400:800]
    for method in ("decision_function", "predict_proba"):
        if not hasattr(model, method):
            continue
        together = class_scores(model, rows, 400, names, method)
        alone = [class_scores(model, r[None], 1, names, method) for r in rows]
        np.testing.assert_array_equal(
            together.of_pair(0, 1), np.concatenate([s.of_pair(0, 1) for s in alone])
        )
        np.testing.assert_array_equal(
            together.of_class(1), np.concatenate([s.of_class(1) for s in alone])
        )


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_predictions_are_rounded_to_a_share_of_their_scale(scale):
    drawn = np.random.default_rng(0).normal(size=1000) * scale
    step = step_of(drawn)
    near = rounded_to(step, drawn)
    assert abs(near - drawn).max() <= step / 2 <= 2.0**-22 * scale
    assert len(np.unique(near)) > 990


def test_predictions_that_are_mostly_equal_have_a_scale_as_well():
    assert step_of(np.array([5.0, 5.0, 5.0, 5.0, 8.0])) == 2.0**-21  # their range
    assert step_of(np.full(9, 5.0)) == 2.0**-20  # themselves
    assert step_of(np.zeros(9)) == step_of(np.array([np.inf])) == 0
    far = np.array([1e308, np.inf, -0.0])
    np.testing.assert_array_equal(rounded_to(2.0**-30, far), far)
    np.testing.assert_array_equal(rounded_to(0.0, far), far)


@merges
def test_the_scale_of_margins_does_not_matter(merge):
    """Margins of 1e-18 are all noise by the measure of usual ones."""

    class Tiny(LogisticRegression):
        def decision_function(self, X):
            return super().decision_function(X) * 2.0**-60

    options = {"cv": PAIRS, "merge": merge}
    usual = abers.CVAPClassifier(LogisticRegression(max_iter=2000), **options)
    tiny = abers.CVAPClassifier(Tiny(max_iter=2000), **options)
    p, q = (
        model.fit(SATURATED_X[:, ::3], SATURATED_Y).predict_proba(SATURATED_X[:, ::3])
        for model in (usual, tiny)
    )
    np.testing.assert_array_equal(p, q)


def test_log_probabilities_that_do_not_exist_are_done_without():
    class Half(GaussianNB):
        def predict_log_proba(self, X):
            raise NotImplementedError

        def predict_proba(self, X):
            return np.exp(GaussianNB.predict_log_proba(self, X))

    model = Half().fit(X, Y)
    scores = class_scores(model, X, len(X), model.classes_, "auto")
    np.testing.assert_array_equal(scores.probabilities, model.predict_proba(X))


@pytest.mark.parametrize(
    "kind",
    [abers.IVAPClassifier, abers.CVAPClassifier],
    ids=["IVAPClassifier", "CVAPClassifier"],
)
def test_new_rows_are_scored_as_those_of_the_fit_were(kind):
    """Else a rule of margins would be read at log-odds."""

    class TwoVoices(GaussianNB):
        def decision_function(self, X):
            return X[:, 0]

    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 3))
    labels = (rows[:, 0] + rng.logistic(size=300) > 0).astype(int)
    model = kind(TwoVoices())
    for fitted_by, set_later in (
        ("decision_function", "predict_proba"),
        ("predict_proba", "decision_function"),
        ("auto", "predict_proba"),
    ):
        model.set_params(response_method=fitted_by).fit(rows, labels)
        before = model.predict_proba(rows)
        after = model.set_params(response_method=set_later).predict_proba(rows)
        np.testing.assert_array_equal(after, before)
        assert model.response_method_ == fitted_by
