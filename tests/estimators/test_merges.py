"""How K folds become one prediction: pooled or minimax, by K classifiers or by one."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    LeaveOneOut,
    RepeatedStratifiedKFold,
    StratifiedKFold,
)
from sklearn.naive_bayes import GaussianNB

import abers
from abers import _kernel
from abers.core import merging, multiclass
from abers.errors import InvalidData, InvalidParameter, InvalidType
from abers.estimators import venn_abers_classifiers
from abers.estimators.scoring import class_scores as scores_of_classes
from strategies import either_way
from witnesses import Counting, X, Y, boxed, merged_classes, rule_of, scores_of

IRIS_X, IRIS_Y = load_iris(return_X_y=True)
CLASSES = np.arange(3)
LOSSES = ["log", "brier"]
losses = pytest.mark.parametrize("loss", LOSSES)
merges = pytest.mark.parametrize("merge", ["pooled", "minimax"])
ensembles = pytest.mark.parametrize("ensemble", [True, False])


def folds_of():
    return list(StratifiedKFold(3, shuffle=True, random_state=1).split(X, Y))


def held_out(pairs, model=None):
    """Out-of-fold scores, labels and the number of the fold, fold after fold."""
    models = [clone(model or GaussianNB()).fit(X[t], Y[t]) for t, _ in pairs]
    scores = [scores_of(m, X[h]) for m, (_, h) in zip(models, pairs, strict=True)]
    rows = np.concatenate([h for _, h in pairs])
    numbers = np.repeat(np.arange(len(pairs)), [len(h) for _, h in pairs])
    return models, np.concatenate(scores), Y[rows], numbers


@losses
def test_pooled_is_one_isotonic_regression_on_all_folds(loss):
    pairs = folds_of()
    models, scores, labels, numbers = held_out(pairs)
    rule = abers.rules.fit_pooled_rule(scores, labels, numbers)
    cvap = abers.CVAPClassifier(GaussianNB(), cv=pairs, merge="pooled", loss=loss)
    cvap.fit(X, Y)
    assert cvap.pooled_rules_ == [rule]
    new = np.stack([scores_of(model, X + 0.01) for model in models], axis=1)
    np.testing.assert_array_equal(cvap.predict_bounds(X + 0.01), rule.bounds(new))
    np.testing.assert_array_equal(
        cvap.predict_proba(X + 0.01)[:, 1], rule.probability(new, loss)
    )


@merges
def test_each_fold_is_sorted_once(merge, monkeypatch):
    sorts = []
    split = _kernel.split_by_label
    monkeypatch.setattr(
        _kernel,
        "split_by_label",
        lambda *columns: (sorts.append(1), split(*columns))[1],
    )
    abers.CVAPClassifier(GaussianNB(), cv=4, merge=merge).fit(X, Y)
    assert len(sorts) == 4


def test_a_model_keeps_the_rules_that_its_merge_reads_and_no_others():
    pairs = folds_of()
    cvap = abers.CVAPClassifier(GaussianNB(), cv=pairs, merge="pooled").fit(X, Y)
    assert not hasattr(cvap, "rules_")
    with pytest.raises(InvalidParameter, match="merge must be 'minimax' for folds to"):
        cvap.predict_fold_bounds(X)
    cvap.set_params(merge="minimax").fit(X, Y)
    expected = [
        [rule_of(GaussianNB().fit(X[train], Y[train]), X[hold], Y[hold])]
        for train, hold in pairs
    ]
    assert cvap.rules_ == expected
    assert cvap.predict_fold_bounds(X).shape == (3, 1, 240, 2)
    assert not hasattr(cvap, "pooled_rules_")


@losses
@merges
def test_without_an_ensemble_one_classifier_reads_one_rule_of_all_folds(merge, loss):
    pairs = folds_of()
    _, scores, labels, _ = held_out(pairs)
    rule = abers.fit_rule(scores, labels)
    cvap = abers.CVAPClassifier(
        GaussianNB(), cv=pairs, merge=merge, loss=loss, ensemble=False
    ).fit(X, Y)
    trained = GaussianNB().fit(X, Y)
    new = scores_of(trained, X + 0.01)
    assert len(cvap.estimators_) == 1
    (made,) = cvap.predictions(X).source.rules
    np.testing.assert_array_equal(made.upper, rule.upper)
    np.testing.assert_array_equal(cvap.predict_bounds(X + 0.01), rule.bounds(new))
    np.testing.assert_array_equal(
        cvap.predict_proba(X + 0.01)[:, 1], rule.probability(new, loss)
    )


@merges
@ensembles
@pytest.mark.parametrize("folds", [2, 5])
def test_k_folds_take_k_trainings_and_one_more_without_an_ensemble(
    folds, merge, ensemble
):
    Counting.trained.clear()
    cvap = abers.CVAPClassifier(
        Counting(), cv=folds, merge=merge, ensemble=ensemble, random_state=0
    ).fit(X, Y)
    cvap.predict_proba(X)
    assert len(Counting.trained) == folds + (not ensemble)
    assert sum(Counting.trained) == (folds - ensemble) * 240


def test_five_folds_are_the_default_number_of_folds():
    none = abers.CVAPClassifier(GaussianNB(), cv=None, random_state=0).fit(X, Y)
    five = abers.CVAPClassifier(GaussianNB(), random_state=0).fit(X, Y)
    assert none.rules_ == five.rules_
    assert len(none.rules_) == 5


@merges
@ensembles
@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_a_pickled_model_predicts_the_same_bits(merge, ensemble, multiclass):
    cvap = abers.CVAPClassifier(
        GaussianNB(),
        cv=3,
        merge=merge,
        ensemble=ensemble,
        multiclass=multiclass,
        random_state=0,
    ).fit(IRIS_X, IRIS_Y)
    again = pickle.loads(pickle.dumps(cvap))
    np.testing.assert_array_equal(
        again.predict_proba(IRIS_X), cvap.predict_proba(IRIS_X)
    )


def test_a_merge_that_was_not_fitted_for_is_refused():
    cvap = abers.CVAPClassifier(GaussianNB(), merge="minimax", random_state=0)
    cvap.fit(X, Y).set_params(merge="pooled")
    with pytest.raises(InvalidParameter, match="merge was 'minimax' at fit; fit again"):
        cvap.predict_proba(X)
    for option in ("merge", "loss"):
        with pytest.raises(InvalidParameter, match=f"{option} must be"):
            cvap.set_params(merge="minimax", loss="log").set_params(
                **{option: "nonsense"}
            ).predict_proba(X)
    cvap.set_params(loss="log", merge="pooled").fit(X, Y).set_params(merge="minimax")
    with pytest.raises(InvalidParameter, match="merge was 'pooled' at fit; fit again"):
        cvap.predict_proba(X)


def test_logarithms_of_probabilities():
    cvap = abers.CVAPClassifier(GaussianNB(), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(
        cvap.predict_log_proba(X), np.log(cvap.predict_proba(X))
    )


def test_a_flag_is_neither_a_number_nor_a_word():
    with pytest.raises(InvalidType, match="ensemble must be True or False; got 'no'"):
        abers.CVAPClassifier(ensemble="no").fit(X, Y)


def test_a_row_that_calibrates_often_counts_as_often_as_the_new_case():
    """Else ten repetitions would look like ten times the rows."""
    splitter = RepeatedStratifiedKFold(n_splits=3, n_repeats=4, random_state=0)
    cvap = abers.CVAPClassifier(GaussianNB(), cv=splitter, merge="pooled").fit(X, Y)
    assert cvap.pooled_rules_[0].weight == 4
    lower, upper = cvap.predict_bounds(X).T
    assert np.all(upper >= 1 / ((Y == 0).sum() + 1))
    assert np.all(lower <= 1 - 1 / ((Y == 1).sum() + 1))
    once = abers.CVAPClassifier(GaussianNB(), cv=3, merge="pooled").fit(X, Y)
    assert once.pooled_rules_[0].weight == 1


def test_a_prefit_model_may_calibrate_by_one_class():
    model = FrozenEstimator(GaussianNB().fit(X, Y))
    zeros = np.flatnonzero(Y == 0)
    cvap = abers.CVAPClassifier(model, cv=3).fit(X[zeros], Y[zeros])
    assert cvap.predict_bounds(X)[:, 0].max() == 0


# --- training rows are recognised ---


@pytest.mark.parametrize("model", [GaussianNB(), LogisticRegression()])
def test_evaluate_never_calls_the_training_rows_of_one_classifier_held_out(model):
    """The rule knows out-of-fold scores only; the fingerprint knows the rows."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2000, 4))
    labels = (rows[:, 0] + rng.logistic(size=2000) > 0).astype(int)
    cvap = abers.CVAPClassifier(model, ensemble=False, random_state=0)
    cvap.fit(rows[:1000], labels[:1000])
    assert abers.evaluate(cvap, rows[:1000], labels[:1000]).in_sample
    assert abers.evaluate(cvap, rows[:300], labels[:300]).in_sample
    assert abers.evaluate(cvap, rows[1000:], labels[1000:]).in_sample is False


# --- many classes ---


@losses
@merges
def test_classes_against_the_rest_are_merged_all_at_once(merge, loss):
    cvap = abers.CVAPClassifier(
        GaussianNB(), merge=merge, multiclass="ovr", loss=loss, random_state=0
    ).fit(IRIS_X, IRIS_Y)
    if merge == "pooled":
        scores = [
            scores_of_classes(m, IRIS_X, 150, CLASSES, "auto") for m in cvap.estimators_
        ]
        of_class = [np.stack([s.of_class(c) for s in scores], axis=1) for c in CLASSES]
        read = zip(cvap.pooled_rules_, of_class, strict=True)
        bounds = np.stack([rule.bounds(s) for rule, s in read], axis=1)[np.newaxis]
        together = bounds[0]
    else:
        bounds = cvap.predict_fold_bounds(IRIS_X).swapaxes(1, 2)
        pairs = [merging.MERGES[loss].bounds_of_folds(bounds[:, :, c]) for c in CLASSES]
        together = np.stack(pairs, axis=1)
    p = merged_classes(bounds, loss)
    np.testing.assert_allclose(cvap.predict_proba(IRIS_X), p, rtol=1e-13)
    np.testing.assert_allclose(
        cvap.predict_bounds(IRIS_X), boxed(together, p), rtol=1e-12
    )


@pytest.mark.parametrize(("multiclass", "weight"), [("ovr", Fraction(1, 2))])
def test_a_pooled_rule_of_many_classes_has_one_row_of_doubt(multiclass, weight):
    cvap = abers.CVAPClassifier(
        GaussianNB(), merge="pooled", multiclass=multiclass, random_state=0
    ).fit(IRIS_X, IRIS_Y)
    assert [rule.weight for rule in cvap.pooled_rules_] == [weight] * 3


@pytest.mark.parametrize("kind", ["IVAPClassifier", "CVAPClassifier", "IVAPCalibrator"])
@either_way
def test_pairs_are_chosen_where_the_two_rarest_classes_have_enough_rows(
    kind, monkeypatch
):
    """By CVAPClassifier only if there are too many rules to try pairs out of fold."""
    model = getattr(abers, kind)()
    if kind != "IVAPCalibrator":
        model.set_params(estimator=GaussianNB())
    rows = 90 if kind != "IVAPClassifier" else 18
    labels = np.repeat([0, 1, 2], [60, 50, 40])
    if kind == "IVAPClassifier":
        model.set_params(calibration=np.arange(0, 150, 5))
    monkeypatch.setattr(multiclass, "MOST_RULES_TO_JUDGE", 3 * 5 * 4 - 1)
    for least, expected in ((rows, "ovo"), (rows + 1, "ovr")):
        monkeypatch.setattr(multiclass, "ROWS_FOR_PAIRS", least)
        assert clone(model).fit(IRIS_X[:, :3], labels).multiclass_ == expected


FOUR = make_classification(
    1500,
    12,
    n_informative=4,
    n_redundant=8,
    n_classes=4,
    n_clusters_per_class=1,
    random_state=2,
)


def loss_out_of_fold(predictor, rows, labels, folds, weights):
    """Log loss of each fold, predicted by a copy that calibrates with all others."""
    total = 0
    for k, (_, held_out) in enumerate(folds):
        copy = clone(predictor).set_params(
            cv=[f for j, f in enumerate(folds) if j != k]
        )
        p = copy.fit(rows, labels, sample_weight=weights).predict_proba(rows[held_out])
        logs = np.log(p[np.arange(len(held_out)), labels[held_out]])
        total -= logs.sum() if weights is None else (weights[held_out] * logs).sum()
    return total


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@merges
@ensembles
@pytest.mark.parametrize(
    ("data", "expected"), [((IRIS_X, IRIS_Y), "ovr"), (FOUR, "ovo")], ids=["iris", "4"]
)
def test_folds_choose_pairs_or_classes_by_log_loss(
    data, expected, ensemble, merge, weighted
):
    """All scores are one frozen model's, so that copies have just these to judge."""
    rows, labels = data
    model = FrozenEstimator(GaussianNB().fit(rows[::9], labels[::9]))
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(rows, labels))
    weights = 1.0 + np.arange(labels.size) % 3 if weighted else None
    cvap = abers.CVAPClassifier(model, cv=folds, merge=merge, ensemble=ensemble)
    losses = {
        scheme: loss_out_of_fold(
            clone(cvap).set_params(multiclass=scheme), rows, labels, folds, weights
        )
        for scheme in ("ovr", "ovo")
    }
    cvap.fit(rows, labels, sample_weight=weights)
    assert cvap.multiclass_ == min(losses, key=losses.get) == expected
    explicit = clone(cvap).set_params(multiclass=expected)
    explicit.fit(rows, labels, sample_weight=weights)
    assert (cvap.predict_bounds(rows) == explicit.predict_bounds(rows)).all()


def test_the_loss_to_merge_for_does_not_choose_pairs():
    """It may be set anew after the fit."""
    rows, labels = FOUR
    for loss in LOSSES:
        model = abers.CVAPClassifier(GaussianNB(), loss=loss, random_state=0)
        assert model.fit(rows, labels).multiclass_ == "ovo"


@pytest.fixture
def samples(monkeypatch):
    """Collect the rows that choose between pairs and classes."""
    samples = []
    monkeypatch.setattr(
        abers.CVAPClassifier,
        "_out_of_fold_loss",
        lambda _, sample, __: samples.append(sample) or 0.0,
    )
    return samples


def test_rows_that_calibrate_several_folds_are_judged_once(samples):
    """By rules that have not seen them: in the first fold that has them."""
    folds = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    abers.CVAPClassifier(GaussianNB(), cv=folds, merge="pooled").fit(IRIS_X, IRIS_Y)
    first = [held_out.tolist() for _, held_out in folds.split(IRIS_X, IRIS_Y)][:3]
    assert [fold.rows.tolist() for fold in samples[0].folds] == first
    assert [len(fold.scores.values) for fold in samples[0].folds] == [50] * 3
    assert samples[0].repeats.tolist() == [1] * 150


def test_of_large_folds_some_rows_are_judged(samples, monkeypatch):
    monkeypatch.setattr(venn_abers_classifiers, "MOST_ROWS_TO_JUDGE", 20)
    folds = list(StratifiedKFold(3).split(IRIS_X, IRIS_Y))
    abers.CVAPClassifier(GaussianNB(), cv=folds).fit(IRIS_X, IRIS_Y)
    every_third = [held_out[::3].tolist() for _, held_out in folds]
    assert [fold.rows.tolist() for fold in samples[0].folds] == every_third
    assert [len(fold.scores.values) for fold in samples[0].folds] == [17] * 3


@pytest.mark.parametrize("count", [1, 2])
def test_one_fold_alone_chooses_by_the_numbers_of_rows(count, monkeypatch):
    folds = list(StratifiedKFold(2, shuffle=True, random_state=0).split(*FOUR))[:count]
    monkeypatch.setattr(multiclass, "ROWS_FOR_PAIRS", 10_000)
    cvap = abers.CVAPClassifier(GaussianNB(), cv=folds, merge="pooled").fit(*FOUR)
    assert cvap.multiclass_ == {1: "ovr", 2: "ovo"}[count]


def test_two_classes_are_one_pair_whatever_is_asked_for():
    for scheme in ("auto", "ovo", "ovr"):
        model = abers.CVAPClassifier(GaussianNB(), multiclass=scheme).fit(X, Y)
        assert model.multiclass_ == "ovo"
        assert [len(rules) for rules in model.rules_] == [1] * 5


# --- few rows ---


def test_minimax_warns_of_folds_with_few_rows():
    cvap = abers.CVAPClassifier(GaussianNB(), cv=9, merge="minimax", random_state=0)
    with pytest.warns(
        UserWarning, match=r"9 folds .* 26\.7 rows only.*pooled"
    ) as warned:
        cvap.fit(X, Y)
    assert warned[0].filename == __file__
    abers.CVAPClassifier(GaussianNB(), cv=8, merge="minimax").fit(X, Y)  # 30 each


def test_leaving_one_out_does_no_harm_to_a_pooled_rule():
    """Merged one by one, rows draw every probability to the middle."""
    rows, labels = X[:60], Y[:60]
    pooled = abers.CVAPClassifier(
        LogisticRegression(), cv=LeaveOneOut(), merge="pooled"
    )
    p = pooled.fit(rows, labels).predict_proba(X[60:])[:, 1]
    assert p.min() < 0.1
    assert p.max() > 0.9
    merged = abers.CVAPClassifier(
        LogisticRegression(), cv=LeaveOneOut(), merge="minimax"
    )
    with pytest.warns(UserWarning, match="60 folds calibrates with 1 rows only"):
        p = merged.fit(rows, labels).predict_proba(X[60:])[:, 1]
    assert p.min() > 0.3
    assert p.max() < 0.7


@merges
def test_a_class_with_fewer_rows_than_folds_is_named_in_one_warning(merge):
    labels = np.where(np.arange(240) < 3, "rare", np.array(["a", "b"])[Y])
    cvap = abers.CVAPClassifier(GaussianNB(), merge=merge, random_state=0)
    with pytest.warns(UserWarning, match=r"class 'rare' has only 3 of 240") as warned:
        cvap.fit(X, labels)
    assert len(warned) == 1
    assert len(cvap.estimators_) == 5
    assert cvap.predict_proba(X).shape == (240, 3)


def test_no_more_folds_are_made_than_the_largest_class_has_rows():
    labels = np.repeat([0, 1], [3, 2])
    cvap = abers.CVAPClassifier(GaussianNB(), merge="pooled", random_state=0)
    with pytest.warns(UserWarning, match="class 1 has only 2 of 5 .*of the 3 folds"):
        cvap.fit(X[:5], labels)
    assert len(cvap.estimators_) == 3


def test_one_row_of_each_class_cannot_be_split():
    with pytest.raises(InvalidData, match="some class must have at least two rows"):
        abers.CVAPClassifier(GaussianNB()).fit(X[:3], [0, 1, 2])


# --- names of losses ---


def test_an_unknown_loss_falls_through_to_no_other(monkeypatch):
    monkeypatch.setattr(merging, "LOSSES", ("log", "brier", "spherical"))
    with pytest.raises(KeyError):
        abers.rules.merge_folds([[[0.0, 0.5]]], "spherical")
    with pytest.raises(KeyError):
        abers.fit_rule([1, 2], [0, 1]).probability([1], "spherical")
