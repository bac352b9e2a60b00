"""Methods of calibration, each against its definition."""

import json
from dataclasses import replace

import numpy as np
import pytest

import abers
from experiments.paper import protocol
from experiments.paper.protocol import (
    Fold,
    predict_all_methods,
    predict_crossed,
    predict_once,
)
from experiments.paper.run import Unit, from_line, run_unit, to_line
from experiments.paper.sklearn_engine import Scores, SklearnEngine, of_probability
from experiments.paper.tasks import RowPair, split
from made_records import finished, result


def fold(seed, shift=0.0):
    rng = np.random.default_rng(seed)
    p, q = rng.random(60), rng.random(40)
    labels = (rng.random(60) < p**1.5 + shift).astype(int)
    return Fold(of_probability(p), labels, of_probability(q))


@pytest.fixture(scope="module")
def folds():
    return [fold(seed) for seed in range(3)]


def by_name(predictions):
    return {(p.method, p.merging): p for p in predictions}


def test_once_split_methods_are_the_library_on_one_fold(folds):
    found = by_name(predict_once(folds[0]))
    scores, labels, new = (
        folds[0].calibration.probability,
        folds[0].labels,
        folds[0].test.probability,
    )
    rule = abers.fit_rule(scores, labels)
    platt = abers.PlattCalibrator(regularised=False).fit(scores, labels)
    dummies = abers.IsotonicCalibrator(dummies=True).fit(scores, labels)
    expected = {
        ("underlying", ""): new,
        ("Platt", ""): platt.predict_proba(new)[:, 1],
        ("isotonic dummies", ""): dummies.predict_proba(new)[:, 1],
        ("IVAP", "log"): rule.probability(new),
        ("IVAP", "brier"): rule.probability(new, "brier"),
    }
    for name, probabilities in expected.items():
        np.testing.assert_allclose(
            found[name].probabilities, probabilities, rtol=1e-12, err_msg=str(name)
        )
    np.testing.assert_allclose(
        found["IVAP", "log"].bounds, rule.bounds(new), rtol=1e-12
    )


def test_cvap_is_the_merged_folds_and_others_are_means(folds):
    found = by_name(predict_crossed(folds))
    bounds, isotonic = [], []
    for one in folds:
        scores, new = one.calibration.probability, one.test.probability
        bounds.append(abers.fit_rule(scores, one.labels).bounds(new))
        model = abers.IsotonicCalibrator().fit(scores, one.labels)
        isotonic.append(model.predict_proba(new)[:, 1])
    for loss in ("log", "brier"):
        expected = abers.rules.merge_folds(bounds, loss)
        np.testing.assert_array_equal(found["CVAP", loss].probabilities, expected)
    np.testing.assert_allclose(
        found["cross isotonic", "mean"].probabilities, np.mean(isotonic, axis=0)
    )


def test_merged_probability_lies_inside_the_bounds_shown(folds):
    for prediction in predict_once(folds[0]) + predict_crossed(folds):
        if prediction.bounds is not None:
            lower, upper = prediction.bounds.T
            assert (lower <= prediction.probabilities + 1e-12).all()
            assert (prediction.probabilities <= upper + 1e-12).all()


def test_deficiency_of_an_ivap_is_the_logarithm_of_one_plus_its_width(folds):
    found = by_name(predict_once(folds[0]))["IVAP", "log"]
    widths = np.ptp(found.bounds, axis=1)
    assert found.deficiency == pytest.approx(np.log2(1 + widths).mean())


def test_deficiency_of_folds_by_hand():
    """Bounds (0, 1/2) twice: GM(1-p0) + GM(p1) = 3/2."""
    one = Fold(
        of_probability(np.array([0.5])), np.array([0]), of_probability(np.array([0.5]))
    )
    found = by_name(predict_crossed([one, one]))["CVAP", "log"]
    np.testing.assert_allclose(found.bounds, [[0, 0.5]])
    assert found.deficiency == pytest.approx(np.log2(1.5))


def disagreeing():
    """Folds that say (0, .1), (.8, .9) of one object, (0, 1), (.8, 1) of another."""
    scores = of_probability(np.full(9, 0.5))
    new = of_probability(np.array([0.5, 0.9]))
    return [Fold(scores, np.array([1] * n + [0] * (9 - n)), new) for n in (0, 8)]


def test_deficiency_is_negative_where_folds_disagree():
    found = by_name(predict_crossed(disagreeing()))["CVAP", "log"]
    first, second = np.sqrt(0.2) + np.sqrt(0.09), np.sqrt(0.2) + 1
    assert found.deficiency == pytest.approx(np.log2([first, second]).mean())
    assert found.deficiency_negative == 0.5


def test_rounding_below_zero_is_no_negative_deficiency(folds, monkeypatch):
    """GM(1-p0) + GM(p1) = 1 may come out a little less."""
    for sum_, negative in ((1 - 1e-15, 0.0), (1 - 1e-9, 1.0)):
        means = (np.full(40, sum_ / 2), np.full(40, sum_ / 2))
        monkeypatch.setattr(protocol, "_geometric_means", lambda _, found=means: found)
        found = by_name(predict_once(folds[0]))["IVAP", "log"]
        assert found.deficiency_negative == negative


def test_records_have_the_share_of_negative_deficiencies_beside_the_mean(small_task):
    unit = Unit("small", "tree", "4:1")
    outcome = predict_all_methods(small_task, "tree", "4:1", SklearnEngine())
    done = run_unit(small_task, unit, SklearnEngine())
    for one, prediction in zip(done.results, outcome.predictions, strict=True):
        assert one.deficiency_negative == prediction.deficiency_negative
        assert (one.deficiency_negative is None) == (one.deficiency is None)


def test_journals_that_do_not_have_the_share_are_still_read():
    made = result(("german", "tree", "4:1"), "CVAP", (0.5, 0.5), negative=0.25)
    (unit,) = finished([made])
    raw = json.loads(to_line(unit))
    assert raw["results"][0].pop("deficiency_negative") == 0.25
    (read,) = from_line(json.dumps(raw)).results
    assert read == replace(made, deficiency_negative=None)


def test_a_sigmoid_without_a_best_fit_is_no_answer_with_a_reason():
    separable = Fold(
        of_probability(np.array([0.1, 0.2, 0.8, 0.9])),
        np.array([0, 0, 1, 1]),
        of_probability(np.array([0.3, 0.7])),
    )
    found = by_name(predict_once(separable))
    assert found["Platt", ""].probabilities is None
    assert "separates" in found["Platt", ""].reason
    assert found["Platt regularised", ""].probabilities is not None
    crossed = by_name(predict_crossed([separable, separable]))
    assert crossed["cross Platt", "mean"].probabilities is None


def test_platt_on_log_odds_uses_the_margin_and_nothing_else(folds):
    one = folds[0]
    doubled = Fold(
        Scores(one.calibration.probability, 2 * one.calibration.margin + 1),
        one.labels,
        Scores(one.test.probability, 2 * one.test.margin + 1),
    )
    ours, theirs = (by_name(predict_once(some)) for some in (one, doubled))
    key = ("Platt log-odds", "")
    np.testing.assert_allclose(
        ours[key].probabilities, theirs[key].probabilities, rtol=1e-6
    )


def test_relatives_of_cvap_are_the_library_s_classifier(small_task):
    """Pooled with weight 1, and one model, as `CVAPClassifier` does it."""
    outcome = predict_all_methods(small_task, "logistic", "4:1", SklearnEngine())
    by = by_name(outcome.predictions)
    rows = split("4:1", small_task.n_train)
    labels = small_task.table.labels
    setting = outcome.settings[-1]
    everything = np.arange(small_task.n_train)
    pairs = [*rows.pairs, RowPair(everything, everything)]
    (chosen,) = (
        one
        for one in SklearnEngine().score(
            small_task.table, "logistic", pairs, small_task.test
        )
        if one.setting == setting
    )
    *crossed, whole = chosen.pairs
    scores = np.concatenate([one.calibration.probability for one in crossed])
    known = np.concatenate([labels[pair.calibrate] for pair in rows.pairs])
    place = np.repeat(range(5), [pair.calibrate.size for pair in rows.pairs])
    new = np.stack([one.test.probability for one in crossed], axis=1)
    for name, weight in (("CVAP pooled", 1), ("CVAP pooled, weight K", 5)):
        rule = abers.rules.fit_pooled_rule(scores, known, place, weight=weight)
        assert (by[name, "log"].probabilities == rule.probability(new)).all()
    rule = abers.fit_rule(scores, known)
    expected = rule.probability(whole.test.probability)
    assert (by["CVAP one model", "log"].probabilities == expected).all()


def test_one_model_is_trained_with_five_folds_only(small_task):
    for ratio in ("1:1", "1:4", "all"):
        outcome = predict_all_methods(small_task, "naive Bayes", ratio, SklearnEngine())
        names = {one.method for one in outcome.predictions}
        assert "CVAP one model" not in names
        assert ("CVAP pooled" in names) == (ratio == "1:1")  # each row calibrates once


def test_inverted_scores_are_a_result_and_no_warning(small_task, monkeypatch):
    """As on `bank` in time order; pytest makes warnings errors."""

    def mirrored(scores):
        return of_probability(1 - scores.probability)

    def score(engine, *asked):
        return [
            replace(
                candidate,
                pairs=tuple(
                    replace(
                        pair,
                        calibration=mirrored(pair.calibration),
                        test=mirrored(pair.test),
                    )
                    for pair in candidate.pairs
                ),
            )
            for candidate in as_it_is(engine, *asked)
        ]

    as_it_is = SklearnEngine.score
    monkeypatch.setattr(SklearnEngine, "score", score)
    outcome = predict_all_methods(small_task, "logistic", "4:1", SklearnEngine())
    ivap = by_name(outcome.predictions)["IVAP", "log"].probabilities
    assert np.unique(ivap).size < 10  # hardly anything is left of the scores


def test_two_steps_of_different_losses_are_means_of_merged_folds(folds):
    by = by_name(predict_crossed(folds))
    bounds = [
        abers.fit_rule(one.calibration.probability, one.labels).bounds(
            one.test.probability
        )
        for one in folds
    ]
    log = np.mean([abers.rules.log_minimax(*pair.T) for pair in bounds], axis=0)
    assert by["CVAP log, then Brier", ""].probabilities == pytest.approx(log, rel=1e-12)
    brier = np.stack([abers.rules.brier_minimax(*pair.T) for pair in bounds])
    ones, zeros = (np.exp(np.log(x).mean(axis=0)) for x in (brier, 1 - brier))
    expected = ones / (ones + zeros)
    assert by["CVAP Brier, then log", ""].probabilities == pytest.approx(expected)
