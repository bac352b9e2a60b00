"""A calibrated model is checked: limits always, tests where they have their level."""

import json

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import abers
from abers.evaluation import drift, expected_calibration_error
from abers.evaluation.metrics import auc

RNG = np.random.default_rng(1)
X = RNG.normal(size=(6_000, 2))
Y = np.where(RNG.random(6_000) < 1 / (1 + np.exp(-X[:, 0])), "yes", "no")
Y3 = np.digitize(X[:, 0] + RNG.logistic(size=6_000), [-1, 1])
MODEL, OLD, NEW = slice(0, 500), slice(500, 3_000), slice(3_000, None)
LOGISTIC = LogisticRegression()
OPTIONS = {"estimator": LOGISTIC, "random_state": 0}
LIMITS = {
    "stacked": (abers.CalibratedClassifier(**OPTIONS), "5 models"),
    "minimax": (abers.CVAPClassifier(**OPTIONS), "5 models"),
    "pooled": (abers.CVAPClassifier(**OPTIONS, merge="pooled"), "5 models"),
    "one": (abers.CalibratedClassifier(**OPTIONS, ensemble=False), "by other models"),
    "one rule": (abers.CVAPClassifier(**OPTIONS, ensemble=False), "by other models"),
}


def by_name(check_result):
    return {finding.name: finding for finding in check_result.findings}


@pytest.fixture(scope="module")
def frozen():
    inner = FrozenEstimator(LogisticRegression().fit(X[MODEL], Y[MODEL]))
    return abers.CalibratedClassifier(inner).fit(X[OLD], Y[OLD])


@pytest.mark.parametrize(("model", "why"), LIMITS.values(), ids=LIMITS)
def test_limits_always_and_a_sentence_why_there_are_no_tests(model, why):
    model.fit(X[OLD], Y[OLD])
    result = abers.check(model, X[NEW], Y[NEW])
    assert result.passed
    assert list(by_name(result)) == ["psi", "auc", "ece"]
    assert why in result.untested
    assert result.untested in repr(result)
    assert json.loads(json.dumps(result.to_dict()))["untested"] == result.untested
    p, ones = model.predict_proba(X[NEW])[:, 1], Y[NEW] == "yes"
    assert by_name(result)["auc"].value == auc(p, ones)
    assert by_name(result)["ece"].value == pytest.approx(
        expected_calibration_error(ones, p), abs=1e-15
    )
    assert abers.check(model, X[NEW]).findings == result.findings[:1]
    drifted = by_name(abers.check(model, X[NEW] + 1, Y[NEW]))
    assert [drifted[name].result for name in ("psi", "ece")] == ["fail", "fail"]
    inverted = by_name(
        abers.check(model, X[NEW], np.where(Y[NEW] == "no", "yes", "no"))
    )
    assert inverted["auc"].result == "fail"
    with pytest.raises(abers.AbersError, match="groups must be None"):
        abers.check(model, X[NEW], Y[NEW], groups=Y[NEW])


def test_a_frozen_model_is_tested_by_the_rule_inside(frozen):
    result = abers.check(frozen, X[NEW], Y[NEW])
    by_fold = frozen.predictions(X[NEW]).by_fold[0]
    rule = frozen.calibrator_.rule
    alone = abers.check(rule, by_fold.scores[0], Y[NEW] == "yes")
    assert by_fold.fits == (rule,)
    for name in ("psi", "auc", "mean", "slope"):
        assert by_name(result)[name] == by_name(alone)[name]
    p = frozen.predict_proba(X[NEW])[:, 1]
    assert result.mean_prediction == pytest.approx(p.mean(), abs=1e-12)
    assert result.untested == ""
    assert not abers.check(frozen, X[NEW], np.roll(Y[NEW], 1)).passed
    groups = np.arange(3_000) % 2
    assert len(abers.check(frozen, X[NEW], Y[NEW], groups=groups).groups) == 2


def test_rows_without_weight_are_left_out(frozen):
    weights = np.arange(3_000) % 2
    half = NEW.start + np.flatnonzero(weights)
    for model in (frozen, LIMITS["stacked"][0].fit(X[OLD], Y[OLD])):
        result = abers.check(model, X[NEW], Y[NEW], sample_weight=weights)
        assert result.findings == abers.check(model, X[half], Y[half]).findings


def test_tests_of_right_models_keep_their_level(frozen):
    rng, failed, repeats = np.random.default_rng(2), 0, 100
    for _ in range(repeats):
        new = rng.normal(size=(300, 2))
        y = np.where(rng.random(300) < 1 / (1 + np.exp(-new[:, 0])), "yes", "no")
        tests = by_name(abers.check(frozen, new, y, alpha=0.1))
        failed += "fail" in (tests["mean"].result, tests["slope"].result)
    assert 0 < failed <= 20  # binomial: more with probability 0.001


@pytest.mark.parametrize("name", ["frozen", "stacked", "one", "minimax", "pooled"])
def test_a_calibrator_of_a_file_is_checked_as_its_classifier(name, frozen, tmp_path):
    model = frozen if name == "frozen" else LIMITS[name][0].fit(X[OLD], Y[OLD])
    model.calibrator_.save(tmp_path / "c.abers")
    methods = [each.predict_proba for each in model.estimators_]
    if model.calibrator_.reads == "margin":
        methods = [each.decision_function for each in model.estimators_]
    scores = np.column_stack([method(X[NEW]) for method in methods])
    of_file = abers.check(abers.load(tmp_path / "c.abers"), scores, Y[NEW])
    assert of_file == abers.check(model, X[NEW], Y[NEW])


def test_the_drift_of_folds_is_that_of_their_scores_together():
    model = abers.CVAPClassifier(LOGISTIC, merge="pooled", cv=3, random_state=0)
    model.fit(X[OLD], Y[OLD])
    tests = by_name(abers.check(model, X[NEW] + 0.2, Y[NEW]))
    old = np.concatenate(
        [np.repeat(d.scores, d.counts) for d in model.pooled_rules_[0].diagrams]
    )
    new = [each.decision_function(X[NEW] + 0.2) for each in model.estimators_]
    expected = drift.population_stability_index(old, np.concatenate(new))
    assert tests["psi"].value == pytest.approx(expected, abs=0.01)  # of percentiles


MANY = {
    "stacked": abers.CalibratedClassifier(**OPTIONS),
    "rest": abers.CVAPClassifier(**OPTIONS, multiclass="ovr"),
    "pairs": abers.IVAPClassifier(**OPTIONS, multiclass="ovo"),
    "top": abers.IVAPClassifier(**OPTIONS, multiclass="top"),
}


@pytest.mark.parametrize("kind", MANY)
def test_many_classes_have_limits(kind):
    model = MANY[kind].fit(X[OLD], Y3[OLD])
    result = abers.check(model, X[NEW], Y3[NEW])
    p = model.predict_proba(X[NEW])
    ece = expected_calibration_error(Y3[NEW] == p.argmax(axis=1), p.max(axis=1))
    assert by_name(result)["ece"].value == pytest.approx(ece, abs=1e-15)
    assert result.passed
    assert "two classes" in result.untested
    drifted = abers.check(model, X[NEW] + 2)
    assert drifted.passed == (kind in ("pairs", "top"))
    if drifted.passed:
        assert (
            drifted.findings[0].reason == "the model does not keep how its scores lay"
        )
    of_class = by_name(abers.check(model, X[NEW], Y3[NEW], pos_label=2))
    assert of_class["auc"].value == auc(p[:, 2], Y3[NEW] == 2)


def test_a_curve_has_no_drift_and_a_pipeline_is_looked_into():
    p = LogisticRegression().fit(X[MODEL], Y[MODEL]).predict_proba(X)
    beta = abers.BetaCalibrator().fit(p[OLD], Y[OLD])
    result = abers.check(beta, p[NEW], Y[NEW])
    assert by_name(result)["psi"].result == "inconclusive"
    assert "keeps no counts" in result.untested
    pipe = make_pipeline(StandardScaler(), LIMITS["stacked"][0]).fit(X[OLD], Y[OLD])
    inside = abers.check(pipe[-1], pipe[:-1].transform(X[NEW]), Y[NEW])
    assert abers.check(pipe, X[NEW], Y[NEW]) == inside
