"""Models and rules written by skops and MLflow come back to the bit."""

import os
import re
import subprocess
import sys
from pathlib import Path

import mlflow
import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skops.io.exceptions import UntrustedTypesFoundException

import abers
from abers.errors import InvalidParameter
from fitted_things import THINGS, bits
from forgeries import FORGERIES

PAGE = Path(__file__).parents[2] / "docs" / "production.md"

X, Y3 = load_iris(return_X_y=True)
Y = Y3 == 1
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y3]
P, P3 = (GaussianNB().fit(X, y).predict_proba(X) for y in (Y, Y3))
RULE = abers.fit_rule(P[:, 1], Y)
ROWS = [1, 2, 1, 2, 3], [0, 1, 0, 1, 0]

RULES = {
    "rule": RULE.with_metadata({"model": "v7", "rows": 150, "share": 0.5, "by": None}),
    "weighted rule": abers.fit_rule(P[:, 1], Y, sample_weight=1 + X[:, 0]),
    "rule without cells": RULE.with_cells(None),
    "rule with its diagram": abers.fit_rule(P[:, 1], Y, keep_diagram=True),
    "diagram": abers.rules.Diagram.from_rows(P[:, 1], Y),
    "weighted diagram": abers.rules.Diagram([1, 2], [0.5, 0], [0, 1], {"day": 1}),
    "groups of text": abers.fit_rules(*ROWS, list("aabbb"), minimum=1),
    "small groups": abers.fit_rules(*ROWS, list("abcde"), minimum=1),
    "groups of booleans": abers.fit_rules(*ROWS, [True] * 2 + [False] * 3, minimum=1),
    "groups of floats": abers.fit_rules(*ROWS, [0.5] * 2 + [1e300] * 3, minimum=1),
    "pooled rule": abers.rules.fit_pooled_rule(*ROWS, [0, 0, 1, 1, 1], weight=1 / 3),
    "regression rule": abers.rules.fit_regression_rule(X[:, 0], X[:, 1], low=0),
    "stacked rule": abers.fit_stacked_rule(P[:, 1], Y),
    "stacked rule of three classes": abers.fit_stacked_rule(P3, Y3),
    "calibrator of three classes": abers.IVAPCalibrator().fit(P3, Y3).calibrator_,
}

CLASSIFIERS = {
    "IVAP": abers.IVAPClassifier(GaussianNB(), random_state=0).fit(X, Y),
    "IVAP by rows": abers.IVAPClassifier(calibration=np.arange(0, 150, 3)).fit(X, Y),
    "prefit": abers.IVAPClassifier(FrozenEstimator(GaussianNB().fit(X, Y))).fit(X, Y),
    "CVAP": abers.CVAPClassifier(GaussianNB(), random_state=0).fit(X, Y),
    "pooled": abers.CVAPClassifier(GaussianNB(), merge="pooled").fit(X, Y),
    "three classes": abers.CVAPClassifier(GaussianNB(), merge="pooled").fit(X, NAMES),
    "minimax": abers.CVAPClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()),
        merge="minimax",
        cv=3,
        random_state=0,
    ).fit(X, NAMES),
    "one model": abers.CVAPClassifier(GaussianNB(), ensemble=False, random_state=0).fit(
        X, Y
    ),
    "stacked": abers.CalibratedClassifier(GaussianNB(), random_state=0).fit(X, Y),
    "stacked classes": abers.CalibratedClassifier(
        GaussianNB(), ensemble=False, random_state=0
    ).fit(X, NAMES),
}
REGRESSORS = {
    "IVAP of a regression": abers.IVAPRegressor(random_state=0).fit(X[:, 1:], X[:, 0]),
    "CVAP of a regression": abers.CVAPRegressor(low=0, high=10, random_state=0).fit(
        X[:, 1:], X[:, 0]
    ),
}
CALIBRATORS = [
    abers.BetaCalibrator,
    abers.IVAPCalibrator,
    abers.IsotonicCalibrator,
    abers.PlattCalibrator,
    abers.StackedCalibrator,
    abers.TemperatureCalibrator,
]


TOP = abers.IVAPClassifier(GaussianNB(), multiclass="top", random_state=0).fit(X, NAMES)
PARTIAL_ORDER = abers.rules.fit_poset_rule(X[:, ::2], Y)


def through_skops(model):
    return skops.io.loads(skops.io.dumps(model), trusted=abers.rules.SKOPS_TYPES)


@pytest.mark.parametrize("made", RULES.values(), ids=RULES)
def test_rules_and_diagrams_come_back_equal(made):
    twin = through_skops(made)
    assert type(twin) is type(made)
    assert twin == made
    assert twin.metadata == made.metadata


# What changes with a stream is no part of a model; who saves it by skops says so.
ALL_TYPES = [
    *abers.rules.SKOPS_TYPES,
    "abers.online.file_monitor.FileMonitor",
    "abers.online.monitor.Monitor",
    "abers.online.online_set.OnlineVennAbers",
    "abers.online.protected.Protected",
]


@pytest.mark.parametrize("made", THINGS.values(), ids=THINGS)
def test_everything_that_is_fitted_comes_back_to_the_last_bit(made):
    twin = skops.io.loads(skops.io.dumps(made), trusted=ALL_TYPES)
    assert bits(twin) == bits(made)


@pytest.mark.parametrize("forgery", FORGERIES.values(), ids=FORGERIES)
def test_no_forged_state_is_loaded(forgery, monkeypatch):
    kind = type(forgery.thing)
    with monkeypatch.context() as patched:
        patched.setattr(kind, "__getstate__", lambda _: forgery.state)
        written = skops.io.dumps(forgery.thing)
    with pytest.raises(InvalidParameter) as caught:
        skops.io.loads(written, trusted=ALL_TYPES)
    sentence = str(caught.value)
    assert sentence.startswith(f"a {kind.__name__} must be as abers makes it; it")
    assert re.search(forgery.says, sentence), sentence


def test_a_rule_keeps_its_cells_and_reads_the_same_bits():
    made = RULES["weighted rule"]
    twin = through_skops(made)
    assert twin.bounds(P[:, 1]).tobytes() == made.bounds(P[:, 1]).tobytes()
    for mine, theirs in zip(made.cells, twin.cells, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("model", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_classifiers_predict_the_same_bits(model):
    twin = through_skops(model)
    assert twin.classes_.tolist() == model.classes_.tolist()
    assert twin.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert twin.predict_bounds(X).tobytes() == model.predict_bounds(X).tobytes()
    for name in ("rules_", "pooled_rules_", "calibrator_"):  # one of them is read
        assert getattr(twin, name, None) == getattr(model, name, None)


def test_a_predictor_of_the_top_class_comes_back_equal():
    twin = through_skops(TOP)
    assert twin.rules_ == TOP.rules_
    assert twin.predict_bounds(X).tobytes() == TOP.predict_bounds(X).tobytes()


def test_a_rule_of_a_partial_order_comes_back_equal():
    assert through_skops(PARTIAL_ORDER) == PARTIAL_ORDER


@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
def test_regressors_predict_the_same_bits(model):
    twin = through_skops(model)
    new = X[:, 1:]
    assert twin.predict_bounds(new).tobytes() == model.predict_bounds(new).tobytes()
    assert twin.rules_ == model.rules_


@pytest.mark.parametrize(("scores", "y"), [(P, Y), (P3, NAMES)], ids=["two", "three"])
@pytest.mark.parametrize("calibrator", CALIBRATORS)
def test_calibrators_predict_the_same_bits(calibrator, scores, y):
    fitted = calibrator().fit(scores, y)
    twin = through_skops(fitted)
    assert (
        twin.predict_proba(scores).tobytes() == fitted.predict_proba(scores).tobytes()
    )


def test_our_types_are_listed_by_their_full_names():
    """Those of the objects above, and no others, are asked for."""
    fitted = [kind().fit(P, Y) for kind in CALIBRATORS]
    types = {
        name
        for made in (
            *(*RULES.values(), PARTIAL_ORDER, TOP, *CLASSIFIERS.values()),
            *(*REGRESSORS.values(), *fitted),
        )
        for name in skops.io.get_untrusted_types(data=skops.io.dumps(made))
    }
    assert types == set(abers.rules.SKOPS_TYPES)
    assert len(abers.rules.SKOPS_TYPES) == len(types)


def test_without_our_types_nothing_of_ours_is_loaded():
    with pytest.raises(UntrustedTypesFoundException, match=r"abers\.core\.rule\.Rule"):
        skops.io.loads(skops.io.dumps(RULE), trusted=[])


def test_trees_must_be_trusted_by_their_own_name():
    forest = RandomForestClassifier(5, random_state=0)
    model = abers.CVAPClassifier(forest, cv=3, random_state=0).fit(X, Y)
    written = skops.io.dumps(model)
    with pytest.raises(UntrustedTypesFoundException, match=r"sklearn\.tree\._tree"):
        skops.io.loads(written, trusted=abers.rules.SKOPS_TYPES)
    trusted = [*abers.rules.SKOPS_TYPES, "sklearn.tree._tree.Tree"]
    twin = skops.io.loads(written, trusted=trusted)
    assert twin.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


@pytest.mark.filterwarnings("ignore:.*Any type hint:UserWarning")  # on its import
def test_mlflow_saves_by_skops_and_loads_the_same_bits(tmp_path):
    model = CLASSIFIERS["three classes"]
    mlflow.sklearn.save_model(
        model,
        tmp_path / "model",
        skops_trusted_types=abers.rules.SKOPS_TYPES,
        pip_requirements=["abers"],
    )
    assert (tmp_path / "model" / "model.skops").is_file()
    twin = mlflow.sklearn.load_model(str(tmp_path / "model"))
    assert twin.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert twin.predict_bounds(X).tobytes() == model.predict_bounds(X).tobytes()


@pytest.mark.filterwarnings("ignore:.*Any type hint:UserWarning")
def test_mlflow_refuses_what_it_is_not_told_to_trust(tmp_path):
    with pytest.raises(mlflow.MlflowException, match="skops_trusted_types"):
        mlflow.sklearn.save_model(
            CLASSIFIERS["IVAP"], tmp_path / "model", pip_requirements=["abers"]
        )


def test_the_page_logs_registers_and_loads(tmp_path):
    """The code of its last section, with a database in a folder and no server."""
    section = PAGE.read_text().partition("\n## Log, register and serve\n")[2]
    blocks = re.findall(r"^```python\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    done = subprocess.run(
        [sys.executable, "-c", "".join(blocks)],
        cwd=tmp_path,
        env={**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mlflow.db").is_file()
