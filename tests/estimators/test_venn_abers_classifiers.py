"""IVAPClassifier and CVAPClassifier are what the paper says."""

import math

import numpy as np
import pytest
from mpmath import mp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import abers
from strategies import either_way
from witnesses import Counting, Recording, X, Y, rule_of, scores_of, single

LOSSES = ["log", "brier"]
MODELS = [
    GaussianNB(),
    LogisticRegression(),
    LinearSVC(),
    RandomForestClassifier(5, random_state=0),
    make_pipeline(StandardScaler(), LogisticRegression()),
]

wrappers = pytest.mark.parametrize(
    "wrapper", [abers.IVAPClassifier, abers.CVAPClassifier]
)


class FoldOpinion(ClassifierMixin, BaseEstimator):
    """Say + for one half of its trainings and - for the other: folds that disagree."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.sign_ = 1 if X[:, 0].mean() > 0 else -1
        return self

    def decision_function(self, X):
        return self.sign_ * np.asarray(X)[:, 0]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("loss", LOSSES)
def test_ivap_is_the_rule_of_the_calibration_scores_bit_for_bit(model, loss):
    """Section 2, inductive Venn-Abers predictors."""
    calibrating = np.arange(160, 240)
    ivap = abers.IVAPClassifier(model, calibration=calibrating, loss=loss).fit(X, Y)
    trained = clone(model).fit(X[:160], Y[:160])
    rule = rule_of(trained, X[160:], Y[160:])

    scores = scores_of(trained, X)
    assert ivap.rules_ == [[rule]]
    np.testing.assert_array_equal(ivap.predict_bounds(X), rule.bounds(scores))
    p = rule.probability(scores, loss=loss)
    np.testing.assert_array_equal(ivap.predict_proba(X)[:, 1], p)
    np.testing.assert_array_equal(ivap.predict_proba(X)[:, 0], 1 - p)


def exact_log(pairs):
    """GM(p1) / (GM(1-p0) + GM(p1)), Algorithm 7."""
    ones = mp.root(mp.fprod(p1 for _, p1 in pairs), len(pairs))
    zeros = mp.root(mp.fprod(1 - mp.mpf(p0) for p0, _ in pairs), len(pairs))
    return ones / (zeros + ones)


def exact_brier(pairs):
    """The mean of p1 + (p0² - p1²) / 2, Section 4."""
    each = [p1 + (mp.mpf(p0) ** 2 - mp.mpf(p1) ** 2) / 2 for p0, p1 in pairs]
    return mp.fsum(each) / len(pairs)


EXACT = {"log": exact_log, "brier": exact_brier}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("folds", [2, 5, 150])
def test_cvap_is_k_ivaps_merged_by_the_formula_of_the_paper(folds, loss):
    """Algorithm 7, to four units in the last place of 50-digit arithmetic."""
    rng = np.random.default_rng(folds)
    pairs = [np.split(rng.permutation(240), [200]) for _ in range(folds)]
    cvap = abers.CVAPClassifier(
        GaussianNB(), cv=iter(pairs), merge="minimax", loss=loss
    ).fit(X, Y)
    bounds = np.array(
        [
            rule_of(model, X[hold], Y[hold]).bounds(scores_of(model, X[:40]))
            for train, hold in pairs
            for model in [GaussianNB().fit(X[train], Y[train])]
        ]
    )
    with mp.workdps(50):
        for p, of_folds in zip(
            cvap.predict_proba(X[:40])[:, 1].tolist(),
            bounds.transpose(1, 0, 2).tolist(),
            strict=True,
        ):
            q = EXACT[loss](of_folds)
            assert abs(p - q) <= 4 * math.ulp(float(q))


@pytest.mark.parametrize("loss", LOSSES)
def test_150_folds_of_rare_positives_give_no_0_and_no_1(loss):
    """Lemma 2: the merged p lies in [1/(k+2), 1 - 1/(k+2)], whatever the folds."""
    rng = np.random.default_rng(0)
    labels = (rng.uniform(size=1500) < 0.005).astype(int)
    labels[:2] = [0, 1]
    rows = np.c_[rng.normal(size=1500) + 4 * labels]
    pairs = [np.split(rng.permutation(1500), [1000]) for _ in range(150)]
    p = (
        abers.CVAPClassifier(Recording(), cv=pairs, merge="minimax", loss=loss)
        .fit(rows, labels)
        .predict_proba(rows)
    )
    if loss == "log":
        assert p.min() >= 1 / 502
    assert 0 < p.min() < p.max() < 1


@pytest.mark.parametrize("folds", [2, 7])
def test_k_folds_train_k_classifiers(folds):
    """Exactly K trainings, none on all rows."""
    Counting.trained.clear()
    cvap = abers.CVAPClassifier(Counting(), cv=folds, random_state=0).fit(X, Y)
    cvap.predict_proba(X)
    assert len(Counting.trained) == folds
    assert sum(Counting.trained) == (folds - 1) * 240


def test_ivap_trains_one_classifier():
    Counting.trained.clear()
    abers.IVAPClassifier(Counting(), calibration=0.25).fit(X, Y).predict_proba(X)
    assert Counting.trained == [180]


@pytest.fixture(scope="module")
def linear_rows():
    """Rows whose scores differ in the last bits when computed alone."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(1200, 31))
    return rows, rows @ rng.normal(size=31) + rng.logistic(size=1200) > 0


def alone_and_in_a_batch(model, rows):
    alone = np.concatenate([model.predict_bounds(row[None]) for row in rows])
    return alone, model.predict_bounds(rows)


@wrappers
def test_one_new_row_and_a_batch_give_the_same_numbers(wrapper, linear_rows):
    rows, labels = linear_rows
    model = wrapper(LogisticRegression(), random_state=0).fit(rows[:800], labels[:800])
    alone, batch = alone_and_in_a_batch(model, rows[800:])
    np.testing.assert_array_equal(alone, batch)


def test_one_calibration_row_and_a_batch_give_the_same_numbers(linear_rows):
    """A row that made a step stands on it, and its last bits would show."""
    rows, labels = linear_rows
    model = LogisticRegression().fit(rows, labels)
    ivap = abers.IVAPClassifier(FrozenEstimator(model)).fit(rows, labels)
    alone, batch = alone_and_in_a_batch(ivap, rows)
    one_by_one = [model.decision_function(row[None])[0] for row in rows]
    assert np.mean(one_by_one != model.decision_function(rows)) > 0.05
    np.testing.assert_array_equal(alone, batch)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_one_row_and_a_batch_agree_for_many_classes(multiclass, linear_rows):
    rows, _ = linear_rows
    labels = np.digitize(rows[:, 0] + rows[:, 1], [-0.5, 0.5])
    model = abers.CVAPClassifier(multiclass=multiclass, random_state=0)
    alone, batch = alone_and_in_a_batch(model.fit(rows, labels), rows[:200])
    np.testing.assert_array_equal(alone, batch)


@pytest.mark.parametrize("ulps", [-30, -1, 1, 30])
def test_a_calibration_row_off_by_its_last_bits_is_still_that_row(ulps):
    """Also where terms cancel to a thousandth of what they are."""
    rng = np.random.default_rng(3)
    usual = rng.uniform(1, 2, 200)
    small = rng.uniform(1e-4, 1e-3, 200)
    scores = np.concatenate((usual, -usual, small, -small))
    labels = (rng.uniform(size=scores.size) < 1 / (1 + np.exp(-scores))).astype(int)
    noise = ulps * np.finfo(float).eps * np.maximum(abs(scores), 0.25)
    as_given = FoldOpinion().fit(np.ones((2, 1)), [0, 1])
    model = abers.IVAPClassifier(FrozenEstimator(as_given))
    model.fit(scores[:, None], labels)
    own = model.rules_[0][0].bounds(single(scores))
    np.testing.assert_array_equal(model.predict_bounds(scores[:, None]), own)
    moved = (scores + noise)[:, None]
    np.testing.assert_array_equal(model.predict_bounds(moved), own)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "model", [GaussianNB(), DecisionTreeClassifier(random_state=0)]
)
@wrappers
def test_binary_probabilities_lie_inside_the_bounds(wrapper, model, loss):
    """CVAP bounds."""
    fitted = wrapper(model, loss=loss, random_state=0).fit(X, Y)
    lower, upper = fitted.predict_bounds(X).T
    p = fitted.predict_proba(X)[:, 1]
    assert np.all((lower <= p) & (p <= upper))
    assert np.all((lower >= 0) & (upper <= 1))


@pytest.mark.parametrize("loss", LOSSES)
@either_way
def test_probabilities_lie_inside_the_bounds_when_folds_disagree(loss):
    """Erratum 8: the fold pair of the paper comes reversed; ours is sorted."""
    rng = np.random.default_rng(0)
    rows = np.r_[rng.uniform(0, 1, 60), rng.uniform(-1, 0, 60)][:, None]
    labels = np.r_[rows[:60, 0] > 0.5, rows[60:, 0] > -0.5].astype(int)
    pairs = [(rows[::2], rows[1::2]) for rows in np.split(np.arange(120), 2)]
    cvap = abers.CVAPClassifier(
        FoldOpinion(), cv=pairs, merge="minimax", loss=loss
    ).fit(rows, labels)
    tests = np.linspace(-2, 2, 81)[:, None]
    folds = cvap.predict_fold_bounds(tests)[:, 0]
    pair = np.stack(
        (1 - np.sqrt(1 - folds[..., 0]).prod(0), np.sqrt(folds[..., 1]).prod(0)), axis=1
    )
    bounds = cvap.predict_bounds(tests)
    p = cvap.predict_proba(tests)[:, 1]
    assert np.any(pair[:, 0] > pair[:, 1] + 0.1)
    assert np.all((bounds[:, 0] <= p) & (p <= bounds[:, 1]))
    if loss == "log":
        np.testing.assert_allclose(bounds, np.sort(pair, axis=1), atol=1e-14)


def test_log_bounds_are_the_sorted_fold_pair_of_the_paper():
    """Section 4, (1 - GM(1-p0), GM(p1))."""
    cvap = abers.CVAPClassifier(GaussianNB(), cv=4, merge="minimax", random_state=0)
    cvap.fit(X, Y)
    folds = cvap.predict_fold_bounds(X)[:, 0]
    pair = np.stack(
        (1 - (1 - folds[..., 0]).prod(0) ** 0.25, folds[..., 1].prod(0) ** 0.25), axis=1
    )
    np.testing.assert_allclose(
        cvap.predict_bounds(X), np.sort(pair, axis=1), rtol=1e-13, atol=1e-15
    )


def test_brier_bounds_are_the_means_of_the_folds():
    cvap = abers.CVAPClassifier(
        GaussianNB(), merge="minimax", loss="brier", random_state=0
    ).fit(X, Y)
    folds = cvap.predict_fold_bounds(X)[:, 0]
    np.testing.assert_allclose(cvap.predict_bounds(X), folds.mean(axis=0), rtol=1e-14)


def test_bounds_of_each_fold_are_those_of_its_rule():
    cvap = abers.CVAPClassifier(GaussianNB(), cv=3, random_state=0).fit(X, Y)
    folds = cvap.predict_fold_bounds(X)
    assert folds.shape == (3, 1, 240, 2)
    for model, (rule,), (bounds,) in zip(
        cvap.estimators_, cvap.rules_, folds, strict=True
    ):
        np.testing.assert_array_equal(bounds, rule.bounds(scores_of(model, X)))


def test_a_classifier_may_score_by_infinities():
    """±inf scores of a model are legal."""

    class Sure(Recording):
        def decision_function(self, X):
            first = super().decision_function(X)
            return np.where(abs(first) > 1, np.copysign(np.inf, first), first)

    ivap = abers.IVAPClassifier(FrozenEstimator(Sure().fit(X, Y))).fit(X, Y)
    clipped = np.where(abs(X[:, 0]) > 1, np.copysign(9, X[:, 0]), X[:, 0])
    rule = abers.fit_rule(single(clipped), Y)
    np.testing.assert_array_equal(ivap.predict_bounds(X), rule.bounds(single(clipped)))


def test_predict_names_the_more_probable_class():
    cvap = abers.CVAPClassifier(GaussianNB(), random_state=0).fit(X, Y)
    p = cvap.predict_proba(X)
    np.testing.assert_array_equal(cvap.predict(X), (p[:, 1] > p[:, 0]).astype(int))
