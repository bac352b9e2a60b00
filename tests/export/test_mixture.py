"""The formula of a stacked rule: JSON and SQLite apply it; what is refused."""

import json
import sqlite3

import numpy as np
import pytest

import abers
from abers.errors import AbersError, InvalidParameter
from abers.export import steps, to_onnx, to_source, to_sql
from export_cases import (
    answers,
    answers_of_steps,
    largest_difference,
    mismatches,
    pair_calibrators,
    probes_of_steps,
    stacked_rules,
)

CASES = stacked_rules()
PAIRS = pair_calibrators()
NAMES = {"table": "steps", "scores": "scores", "score": "score"}
MAKERS = {
    "steps": steps,
    "onnx": to_onnx,
    "java": lambda rule, **loss: to_source(rule, "java", name="Rule", **loss),
    "duckdb": lambda rule, **loss: to_sql(rule, "duckdb", **NAMES, **loss),
}
EVERY_MAKER = pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))


@pytest.mark.parametrize("kind", CASES)
def test_the_table_is_that_of_the_rule_among_the_parts(kind):
    """To the bit, of the numbers that it is given: rounding is in the starts."""
    rule, given = CASES[kind]
    given = np.r_[given, probes_of_steps(rule)]
    table = steps(rule)
    step = np.searchsorted(table.start, given, side="right") - 1
    looked_up = np.column_stack((table.lower, table.upper, table.probability))[step]
    assert mismatches(looked_up, answers_of_steps(rule, given)) == 0


@pytest.mark.parametrize("kind", PAIRS)
def test_a_venn_abers_calibrator_of_one_rule_is_a_table(kind):
    calibrator, given = PAIRS[kind]
    table = steps(calibrator, loss=calibrator.loss)
    step = np.searchsorted(table.start, given, side="right") - 1
    looked_up = np.column_stack((table.lower, table.upper, table.probability))[step]
    assert mismatches(looked_up, answers(calibrator, given)) == 0


def expit(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def read(columns, scores):
    """Apply the JSON as docs/serving.md says."""
    stacked = columns["stacked"]
    w, c, given = stacked["weights"], stacked["coefficients"], scores
    if stacked["reads"] != stacked["kind"]:
        with np.errstate(divide="ignore"):
            scores = np.log(scores) - np.log(1 - scores)
    if stacked["is_rounded"]:
        with np.errstate(over="ignore"):
            if stacked["kind"] == "log-odds":
                scores = np.rint(scores * 2**22) / 2**22
            scores = scores.astype(np.float32).astype(float)
    if stacked["kind"] == "margin":
        x = scores if stacked["increasing"] else -scores
        logit = c["slope"] * x.clip(c["low"], c["high"]) + c["intercept"]
        fixed = w["sigmoid"] * expit(logit)
    else:
        p, rest = scores, 1 - scores
        if stacked["kind"] == "log-odds":
            p, rest = expit(scores), expit(-scores)
        if not stacked["increasing"]:
            p, rest = rest, p
        of_p, of_rest = (np.log(x.clip(c["clip"], 1 - c["clip"])) for x in (p, rest))
        beta = expit(c["a"] * of_p - c["b"] * of_rest + c["c"])
        fixed = w["model"] * p + w["beta"] * beta
    start = np.array([float(x) for x in columns["start"]])
    step = np.searchsorted(start, given, side="right") - 1
    names = ("lower", "upper", "probability")
    values = np.column_stack([np.array(columns[name])[step] for name in names])
    return np.minimum(w["venn_abers"] * values + fixed[:, np.newaxis], 1)


@pytest.mark.parametrize("kind", CASES)
def test_json_is_enough_to_answer(kind):
    rule, scores = CASES[kind]
    predictions = read(json.loads(steps(rule).to_json()), scores)
    assert largest_difference(predictions, answers(rule, scores)) <= 1e-12


@pytest.mark.parametrize("kind", [k for k in CASES if not CASES[k][0].is_rounded])
def test_sqlite_answers_as_the_stacked_rule(kind):
    rule, scores = CASES[kind]
    sql = to_sql(rule, "sqlite", **NAMES)
    strange = [None, float("nan"), "0.5", b"\x00"]
    if rule.reads == "probability":
        strange += [-0.1, 1.1, float("inf")]
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE scores (score)")
        rows = [(s,) for s in (*scores.tolist(), *strange)]
        database.executemany("INSERT INTO scores VALUES (?)", rows)
        for statement, bound in zip(sql.setup, sql.parameters, strict=True):
            database.executemany(statement, bound or [()])
        predictions = [row[1:] for row in database.execute(sql.query)]
    expected = np.vstack((answers(rule, scores), np.full((len(strange), 3), np.nan)))
    assert largest_difference(predictions, expected) <= 1e-12


def test_sqlite_has_no_single_precision():
    with pytest.raises(InvalidParameter, match="dialect must have single precision"):
        to_sql(CASES["frozen"][0], "sqlite", **NAMES)


@pytest.mark.parametrize("name", ["rule.csv", "rule.parquet", "-"])
def test_only_json_has_room_for_the_formula(name):
    with pytest.raises(InvalidParameter, match="must be written as JSON"):
        steps(CASES["margin"][0]).write(name)


def of_models():
    scores = np.linspace(0.1, 0.9, 60)
    folds, labels = np.arange(60) % 3, np.arange(60) % 7 > 3
    return abers.fit_stacked_rule(scores, labels, kind="probability", folds=folds)


def of_classes():
    shares = np.random.default_rng(0).dirichlet(np.ones(3), 60)
    return abers.fit_stacked_rule(shares, np.arange(60) % 3, kind="probability")


def of_a_curve():
    return abers.PlattCalibrator().fit([0, 1, 2, 3], [0, 1, 0, 1]).calibrator_


def of_no_steps():
    return abers.rules.fit_pooled_rule([1, 2, 1, 2], [0, 1, 0, 1], [0, 0, 1, 1])


@pytest.mark.parametrize("make", [MAKERS[name] for name in MAKERS if name != "onnx"])
def test_classes_are_for_onnx_c_and_json(make):
    with pytest.raises(AbersError, match="must have two classes"):
        make(of_classes())


@EVERY_MAKER
@pytest.mark.parametrize(
    ("made", "message"),
    [
        (of_models, "ensemble=False or a frozen model"),
        (of_a_curve, "which have steps; got a CurveCalibrator"),
        (of_no_steps, "which have steps; got a PooledRule"),
    ],
)
def test_what_is_no_formula_and_table_is_refused(make, made, message):
    with pytest.raises(AbersError, match=message):
        make(made())


@EVERY_MAKER
def test_a_stacked_rule_is_mixed_for_the_log_loss(make):
    with pytest.raises(InvalidParameter, match="loss must be 'log'"):
        make(CASES["margin"][0], loss="brier")
