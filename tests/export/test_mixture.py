"""The formula of a stacked rule: JSON and SQLite apply it; what is refused."""

import json
import sqlite3

import numpy as np
import pytest

import abers
from abers.errors import InvalidParameter
from abers.export import steps, to_onnx, to_source, to_sql
from export_cases import answers, largest_difference, stacked_rules

CASES = stacked_rules()
NAMES = {"table": "steps", "scores": "scores", "score": "score"}
MAKERS = {
    "steps": steps,
    "onnx": to_onnx,
    "c": lambda rule, **loss: to_source(rule, "c", name="rule", **loss),
    "duckdb": lambda rule, **loss: to_sql(rule, "duckdb", **NAMES, **loss),
}
EVERY_MAKER = pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))


@pytest.mark.parametrize("kind", CASES)
def test_the_table_is_that_of_the_rule_among_the_parts(kind):
    rule, _ = CASES[kind]
    own, of_rule = steps(rule), steps(rule.rule)
    for column in ("start", "lower", "upper", "probability"):
        assert np.array_equal(getattr(own, column), getattr(of_rule, column))


def expit(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def read(columns, scores):
    """Apply the JSON as docs/serving.md says."""
    stacked = columns["stacked"]
    w, c = stacked["weights"], stacked["coefficients"]
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
    step = np.searchsorted(start, scores, side="right") - 1
    names = ("lower", "upper", "probability")
    values = np.column_stack([np.array(columns[name])[step] for name in names])
    return np.minimum(w["venn_abers"] * values + fixed[:, np.newaxis], 1)


@pytest.mark.parametrize("kind", CASES)
def test_json_is_enough_to_answer(kind):
    rule, scores = CASES[kind]
    found = read(json.loads(steps(rule).to_json()), scores)
    assert largest_difference(found, answers(rule, scores)) <= 1e-12


@pytest.mark.parametrize("kind", CASES)
def test_sqlite_answers_as_the_stacked_rule(kind):
    rule, scores = CASES[kind]
    sql = to_sql(rule, "sqlite", **NAMES)
    strange = [None, float("nan"), "0.5", b"\x00"]
    if rule.kind == "probability":
        strange += [-0.1, 1.1, float("inf")]
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE scores (score)")
        rows = [(s,) for s in (*scores.tolist(), *strange)]
        database.executemany("INSERT INTO scores VALUES (?)", rows)
        for statement, bound in zip(sql.setup, sql.parameters, strict=True):
            database.executemany(statement, bound or [()])
        found = [row[1:] for row in database.execute(sql.query)]
    expected = np.vstack((answers(rule, scores), np.full((len(strange), 3), np.nan)))
    assert largest_difference(found, expected) <= 1e-12


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


def of_a_classifier():
    rule = CASES["log-odds"][0]
    return rule.read_as("log-odds", is_rounded=True)


@EVERY_MAKER
@pytest.mark.parametrize(
    ("made", "message"),
    [
        (of_models, "ensemble=False or a frozen model"),
        (of_classes, "must have two classes"),
        (of_a_classifier, "must read scores as they were fitted"),
    ],
)
def test_what_is_no_formula_and_table_is_refused(make, made, message):
    with pytest.raises(InvalidParameter, match=message):
        make(made())


@EVERY_MAKER
def test_a_stacked_rule_is_mixed_for_the_log_loss(make):
    with pytest.raises(InvalidParameter, match="loss must be 'log'"):
        make(CASES["margin"][0], loss="brier")
