"""Bounds beside the rows of a DataFrame are those of the rule."""

import doctest
import math
from pathlib import Path

import numpy as np
import pytest

import abers
import abers.engines.spark
from abers.engines.spark import (
    add_bounds,
    added_columns,
    exchange,
    fitting,
    frames,
    java,
    pipeline,
)
from abers.errors import InvalidData
from engine_rows import PREDICTORS, expected_columns, made_rows, predictors
from test_docstrings import contradictions, members

NAMES = ["lower", "upper", "probability"]


@pytest.fixture(scope="module")
def rows():
    return made_rows(200)


@pytest.fixture(scope="module")
def df(spark, rows):
    numbered = list(zip(range(200), *rows, strict=True))
    return spark.createDataFrame(numbered, "i int, s double, y int, g string")


def read(frame, *names):
    """Return columns in the order of rows."""
    rows = sorted(frame.select("i", *names).collect())
    return [list(column) for column in zip(*rows, strict=True)][1:]


def executed_plan(frame):
    return frame._jdf.queryExecution().executedPlan().toString()  # noqa: SLF001


@pytest.fixture(params=["in Java", "in Python"])
def either_way(request, monkeypatch):
    """Bounds are looked up by Spark itself, or asked of Python."""
    if request.param == "in Python":
        monkeypatch.setattr(added_columns, "MOST_PLANNED_STEPS", -1)


@pytest.mark.usefixtures("either_way")
def test_bounds_are_those_of_the_rule(df, rows):
    rule = abers.fit_rule(*rows[:2])
    added = add_bounds(df, rule, score="s", prefix="p_", loss="brier")
    assert added.columns == [*df.columns, "p_lower", "p_upper", "p_probability"]
    lower, upper, probability = read(added, *added.columns[4:])
    assert np.array_equal(np.transpose([lower, upper]), rule.bounds(rows[0]))
    assert np.array_equal(probability, rule.probability(rows[0], "brier"))


LARGEST = float(np.finfo(float).max)
AWKWARD = {
    "infinities": [-math.inf, -math.inf, -1.0, 0.0, 0.0, 1.0, math.inf, math.inf],
    "from minus infinity": [-math.inf, -math.inf, -1.0, -0.0, 0.0, 2.0],
    "infinities alone": [-math.inf, -math.inf, math.inf, math.inf],
    "neighbours": [-LARGEST, -5e-324, 0.0, 5e-324, LARGEST, LARGEST],
    "one score": [0.0, 0.0],
    "infinity": [math.inf],
}


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("scores", AWKWARD.values(), ids=AWKWARD)
def test_bounds_at_and_beside_every_threshold_are_those_of_the_rule(spark, scores):
    rule = abers.fit_rule(scores, [i % 2 for i in range(len(scores))])
    ends = rule.thresholds
    with np.errstate(over="ignore"):  # the neighbour of the largest is infinite
        beside = [np.nextafter(ends, -math.inf), ends, np.nextafter(ends, math.inf)]
    queries = [*scores, -0.0, *np.concatenate(beside).tolist()]
    df = spark.createDataFrame(list(enumerate(queries)), "i int, s double")
    lower, upper, probability = read(add_bounds(df, rule, score="s"), *NAMES)
    assert np.array_equal(np.transpose([lower, upper]), rule.bounds(queries))
    assert np.array_equal(probability, rule.probability(queries))


@pytest.mark.parametrize(
    ("kind", "in_java"),
    [
        *(("double", True), ("float", True), ("int", True), ("tinyint", True)),
        *(("bigint", False), ("decimal(9, 2)", False), ("string", False)),
    ],
)
def test_numbers_that_are_surely_doubles_are_not_handed_to_python(spark, kind, in_java):
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    df = spark.sql(f"SELECT 0 AS i, CAST(2 AS {kind}) AS s")
    added = add_bounds(df, rule, score="s")
    assert ("ArrowEvalPython" not in executed_plan(added)) == in_java
    assert read(added, "lower", "upper") == [[1 / 3], [2 / 3]]


@pytest.mark.usefixtures("either_way")
def test_a_score_that_is_null_or_nan_gives_null(spark):
    rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    values = [(0, None), (1, float("nan")), (2, 2.0)]
    df = spark.createDataFrame(values, "i int, `a.b` double")
    assert read(add_bounds(df, rule, score="a.b"), *NAMES) == [
        [None, None, 1 / 3],
        [None, None, 2 / 3],
        [None, None, rule.probability([2])[0]],
    ]
    strict = add_bounds(df, rule, score="a.b", missing="error")
    with pytest.raises(Exception, match="must not be empty, null or NaN"):  # Spark's
        strict.collect()


@pytest.mark.usefixtures("either_way")
@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
@pytest.mark.parametrize("kind", ["string", "int", "bigint"])
def test_each_group_has_the_bounds_of_its_own_rule(df, rows, kind):
    """Groups that are missing, or were never seen, have those of the pooled rule."""
    scores, labels, groups = rows
    names = sorted(set(groups))
    if kind != "string":
        groups = [names.index(group) - 1 for group in groups]
    rules = abers.fit_rules(scores, labels, groups, minimum=5)
    own = "g" if kind == "string" else f"array_position(array{tuple(names)}, g) - 2"
    other = df.selectExpr(
        "i",
        "s",
        f"CAST(CASE i % 4 WHEN 0 THEN '9' WHEN 1 THEN NULL ELSE {own} END AS {kind}) g",
    )
    added = add_bounds(other, rules, score="s", by="g", loss="brier")
    assert ("Python" in executed_plan(added)) == (added_columns.MOST_PLANNED_STEPS < 0)
    (given, *bounds) = read(added, "g", *NAMES)
    assert set(given) > {None}
    assert np.array_equal(np.transpose(bounds[:2]), rules.bounds(scores, given))
    assert np.array_equal(bounds[2], rules.probability(scores, given, "brier"))


def test_an_empty_text_is_a_missing_group(spark):
    rules = abers.fit_rules([1, 2, 1, 2], [0, 1, 1, 0], ["", "", "a", "a"], minimum=1)
    df = spark.createDataFrame(
        [(0, 1.0, ""), (1, 1.0, "a")], "i int, s double, g string"
    )
    lower, upper = read(add_bounds(df, rules, score="s", by="g"), "lower", "upper")
    assert [*zip(lower, upper, strict=True)] == [
        tuple(rules[group].bounds([1])[0]) for group in (None, "a")
    ]


@pytest.mark.parametrize(
    ("groups", "kind", "in_java"),
    [
        *((["a", "b"], "string", True), ([1, 2], "tinyint", True)),
        *((["1", "2"], "int", False), ([1, 2], "string", False)),
        *(([True, False], "boolean", False), ([1.5, 2.5], "double", False)),
        ([*range(101)], "int", False),
    ],
)
def test_groups_that_spark_compares_as_we_do_stay_in_java(spark, groups, kind, in_java):
    rules = abers.fit_rules([1.0] * len(groups), [1] * len(groups), groups)
    df = spark.sql(f"SELECT 1 AS s, CAST(NULL AS {kind}) AS g")
    added = add_bounds(df, rules, score="s", by="g")
    assert ("Python" not in executed_plan(added)) == in_java


@pytest.mark.parametrize("name", PREDICTORS)
def test_any_saved_predictor_gives_its_own_numbers(spark, name, tmp_path):
    predictor, scores = predictors(tmp_path)[name]
    names = [f"s{i}" for i in range(scores.shape[1])]
    numbered = [(i, *row) for i, row in enumerate(scores.tolist())]
    df = spark.createDataFrame(numbered, ["i", *names])
    expected = expected_columns(predictor, scores)
    predictions = read(add_bounds(df, predictor, score=names), *expected)
    assert predictions == [column.tolist() for column in expected.values()]


def test_a_column_that_exists_in_another_case_is_not_doubled(df, rows):
    rule = abers.fit_rule(*rows[:2])
    with pytest.raises(InvalidData, match="it has 'Lower' already"):
        add_bounds(df.withColumnRenamed("g", "Lower"), rule, score="s")


def test_python_is_asked_once_and_other_columns_are_pruned(df, rows):
    """A column that nobody selects is not read, and one node runs Python."""
    rules = abers.fit_rules(*rows, minimum=5)
    text = df.withColumn("s", df["s"].cast("string"))
    plan = executed_plan(add_bounds(text, rules, score="s", by="g").select(*NAMES))
    assert plan.count("ArrowEvalPython") == 1


@pytest.mark.parametrize("by", [None, "g"])
def test_a_search_in_java_reads_no_other_column(df, rows, by):
    """Rules for groups, too, are one table and one search."""
    rule = abers.fit_rules(*rows, minimum=5) if by else abers.fit_rule(*rows[:2])
    plan = executed_plan(add_bounds(df, rule, score="s", by=by).select(*NAMES))
    assert "Python" not in plan
    assert plan.count("bucketizer") == 1


@pytest.mark.usefixtures("either_way")
def test_streams_are_predicted(spark, df, rows, tmp_path):
    rule = abers.fit_rule(*rows[:2])
    df.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(df.schema).parquet(str(tmp_path / "in"))
    query = (
        add_bounds(stream, rule, score="s")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    assert query.awaitTermination(120)
    lower, upper = read(spark.read.parquet(str(tmp_path / "out")), "lower", "upper")
    assert np.array_equal(np.transpose([lower, upper]), rule.bounds(rows[0]))


def test_the_page_on_large_data_prints_what_it_shows(spark, tmp_path, monkeypatch):
    """Its own session is the one that runs already."""
    assert spark.version
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).parents[3] / "docs" / "scaling.md"
    results = doctest.testfile(str(page), module_relative=False)
    assert results.failed == 0
    assert results.attempted > 0


@pytest.mark.parametrize(
    "module", [added_columns, exchange, fitting, frames, java, pipeline]
)
def test_docstrings_say_what_signatures_say_and_examples_run(module, spark):
    public = [
        f
        for name, f in members(module).items()
        if hasattr(abers.engines.spark, name.split(".")[-1])
    ]
    assert [contradictions(function) for function in public] == [[]] * len(public)
    result = doctest.testmod(module, extraglobs={"spark": spark})
    assert result.failed == 0
