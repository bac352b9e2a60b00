"""Predictions of a number, evaluated: errors, parts, bands and the page."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error, r2_score

import abers
from abers.errors import InvalidData, InvalidParameter, InvalidType
from abers.evaluation import evaluate_regressor


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] ** 3 + rng.normal(size=n) - 2


@pytest.fixture(scope="module")
def fitted():
    return abers.CVAPRegressor(LinearRegression(), random_state=0).fit(*rows())


def test_errors_and_r2_are_those_of_scikit_learn(fitted):
    X, y = rows(seed=1)
    w = np.random.default_rng(2).integers(0, 3, y.size)
    evaluation = evaluate_regressor(fitted, X, y, sample_weight=w)
    p = fitted.predict(X)
    before = np.mean([model.predict(X) for model in fitted.estimators_], axis=0)
    for parts, mean, given in (
        (evaluation.parts_after, evaluation.squared_error.after, p),
        (evaluation.parts_before, evaluation.squared_error.before, before),
    ):
        assert mean == pytest.approx(mean_squared_error(y, given, sample_weight=w))
        assert parts.skill == pytest.approx(r2_score(y, given, sample_weight=w))
        best = IsotonicRegression(out_of_bounds="clip").fit_transform(
            given, y, sample_weight=w
        )
        saved = mean - mean_squared_error(y, best, sample_weight=w)
        assert parts.miscalibration == pytest.approx(saved)
        total = parts.miscalibration - parts.discrimination + parts.uncertainty
        assert total == pytest.approx(mean)
    assert evaluation.n_rows == (w > 0).sum()
    assert evaluation.before_is == "the mean of the predictions of 5 models"


def test_bands_hold_all_rows_and_have_the_intervals_of_their_means():
    y = [Fraction(n) for n in (1, 3, 2, 8, 4, 6)]
    p = [1, 1, 2, 2, 5, 5]
    evaluation = evaluate_regressor(None, p, [float(x) for x in y], bands=[1.5, 3])
    assert [band.n_rows for band in evaluation.bands] == [2, 2, 2]
    for band, (first, second) in zip(
        evaluation.bands, ((0, 1), (2, 3), (4, 5)), strict=True
    ):
        mean = (y[first] + y[second]) / 2
        # Of two residuals, the standard error is half of their distance.
        error = float(abs(y[second] - y[first]) / 2)
        target = band.mean_target
        assert target.value == mean
        assert target.upper - target.value == pytest.approx(1.959964 * error)
    assert [band.agrees for band in evaluation.bands] == [True, True, True]
    off = evaluate_regressor(None, [9, 9, 9, 9], [1.0, 2, 1, 2])
    assert [band.agrees for band in off.bands] == [False]


def test_intervals_hold_the_mean_in_19_of_20_bands():
    rng = np.random.default_rng(3)
    p = rng.random((100, 500))
    evaluation = [evaluate_regressor(None, each, rng.normal(each)) for each in p]
    agree = np.mean([band.agrees for each in evaluation for band in each.bands])
    assert 0.93 < agree < 0.97


def test_rules_and_frozen_models_have_bounds_and_a_guarantee():
    X, y = rows()
    inner = LinearRegression().fit(X[:200], y[:200])
    model = abers.IVAPRegressor(FrozenEstimator(inner)).fit(X[200:], y[200:])
    score = inner.predict(X)
    rule = abers.rules.fit_regression_rule(score[200:], y[200:])
    for evaluation in (
        evaluate_regressor(model, X[:50], y[:50], held_out=True),
        evaluate_regressor(rule, score[:50], y[:50], held_out=True),
    ):
        assert evaluation.guarantee.proven
        assert evaluation.mean_width > 0
        assert "held out, as stated by the user" in evaluation.to_markdown()
    assert evaluation.before_is == "the scores"
    plain = evaluate_regressor(inner, X, y)
    assert plain.guarantee is None
    assert math.isnan(plain.mean_width)
    assert plain.parts_before is None
    assert "Nothing is proven" in plain.to_markdown()


def test_groups_of_several_columns(fitted):
    X, y = rows(seed=1)
    groups = {"sign": np.where(X[:, 1] > 0, "+", "-"), "all": ["one"] * y.size}
    evaluation = evaluate_regressor(fitted, X, y, groups=groups)
    assert {(g.column, g.name) for g in evaluation.groups} == {
        ("sign", "+"),
        ("sign", "-"),
        ("all", "one"),
    }
    one = next(group for group in evaluation.groups if group.name == "one")
    assert one.mean_target == evaluation.overall.mean_target


@pytest.mark.parametrize("with_before", [True, False])
def test_page_text_and_json(fitted, tmp_path, with_before):
    X, y = rows(seed=1)
    predictor, given = (fitted, X) if with_before else (None, fitted.predict(X))
    evaluation = evaluate_regressor(predictor, given, y, name="claims", held_out=True)
    evaluation.to_html(tmp_path / "page.html", facts={"data": "<b>"})
    page = (tmp_path / "page.html").read_text()
    assert "Mean target by mean prediction" in page
    assert "&lt;b&gt;" in page
    sentence = str(evaluation)
    assert sentence.startswith("Evaluation of claims\n")
    assert ("Calibration helped" in sentence) == with_before
    assert "held-out (as stated by the user)" in sentence
    assert json.loads(json.dumps(evaluation.to_dict()))["n_rows"] == y.size
    assert "<table>" in evaluation._repr_html_()
    assert "400 rows" in repr(evaluation)


@pytest.mark.parametrize(
    ("arguments", "options", "error", "sentence"),
    [
        ((None, [1.0], []), {}, InvalidData, "y must not be empty"),
        ((None, [1.0], [np.nan]), {}, InvalidData, "y must be finite; got nan at row"),
        ((None, [np.inf], [1.0]), {}, InvalidData, "X must be finite"),
        ((None, [1.0, 2.0], [1.0]), {}, InvalidData, "equally long"),
        ((None, [1.0], [1.0]), {"before": [1, 2]}, InvalidData, "equally long"),
        ((None, [1.0], [1.0]), {"bands": 0}, InvalidParameter, "bands must be"),
        ((None, [1.0], [1.0]), {"groups": ["a", "b"]}, InvalidData, "groups"),
        ((abers.fit_rule([1], [1]), [1.0], [1.0]), {}, InvalidType, "abers.evaluate"),
    ],
)
def test_bad_input_is_a_sentence(arguments, options, error, sentence):
    with pytest.raises(error, match=sentence):
        evaluate_regressor(*arguments, **options)


def test_a_classifier_belongs_to_evaluate_and_a_regressor_does_not(fitted):
    X, y = rows()
    with pytest.raises(InvalidType, match=r"abers\.evaluation\.evaluate_regressor"):
        abers.evaluate(fitted, X, y)
    model = abers.IVAPClassifier(random_state=0).fit(X, y > 0)
    with pytest.raises(InvalidType, match=r"use abers\.evaluate"):
        evaluate_regressor(model, X, y)
