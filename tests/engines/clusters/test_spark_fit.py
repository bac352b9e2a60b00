"""Rules of Spark DataFrames are the rules of their rows."""

import warnings
from dataclasses import replace

import kinds
import numpy as np
import pyarrow as pa
import pytest

import abers
from abers.core.blocks import Summary
from abers.engines import counting
from abers.engines.messages import from_bytes, to_bytes
from abers.engines.spark import exchange, fit_rule, fit_rules, fit_table, fitting
from abers.engines.spark.frames import BYTES_OF_A_BATCH, ROWS_OF_A_BATCH
from abers.errors import InvalidData, InvalidParameter, InvertedScoresWarning
from abers.tables import fit_table as fit_local_table
from engine_rows import made_rows

SCHEMA = "s double, y int, g string"


@pytest.fixture(autouse=True)
def nothing_stays_persisted_or_set(spark):
    """Whatever a test does: fits that fail clean up, too."""
    limit = spark.conf.get(BYTES_OF_A_BATCH)
    yield
    assert spark.conf.get(BYTES_OF_A_BATCH) == limit
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0  # noqa: SLF001


@pytest.fixture(scope="module")
def rows():
    return made_rows()


@pytest.fixture(scope="module")
def df(spark, rows):
    return spark.createDataFrame(list(zip(*rows, strict=True)), SCHEMA).repartition(3)


def saved(rule, path):
    rule.save(path)
    return path.read_bytes()


@pytest.mark.parametrize("n_parts", [None, 1, 2, 7, 40])
def test_a_rule_is_that_of_the_rows_to_the_last_byte(df, rows, n_parts, tmp_path):
    """Thresholds, bounds, percentiles, cells and counts, in the file as well."""
    local = abers.fit_rule(*rows[:2])
    rule = fit_rule(df, score="s", label="y", n_parts=n_parts)
    assert rule == local
    assert saved(rule, tmp_path / "spark") == saved(local, tmp_path / "local")


def test_one_score_of_a_third_of_the_rows_in_a_falling_rule(spark):
    scores, labels, _ = made_rows(skewed=True)
    pairs = list(zip(scores, labels, strict=True))
    df = spark.createDataFrame(pairs, "s double, y int").repartition(4)
    for n_parts in (None, 5):
        rule = fit_rule(df, score="s", label="y", increasing=False, n_parts=n_parts)
        assert rule == abers.fit_rule(scores, labels, increasing=False)


def test_a_rule_of_a_hundred_thousand_steps_is_joined_from_parts(spark):
    """Rare events: nearly every negative is a step of the upper bound."""
    scores, labels = kinds.rare(np.random.default_rng(1), 140_000)
    table = pa.table({"s": scores, "y": labels.astype(np.int32)})
    df = spark.createDataFrame(table).repartition(4)
    local = abers.fit_rule(scores, labels)
    assert local.thresholds.size > 97_000
    for n_parts in (None, 7):
        assert fit_rule(df, score="s", label="y", n_parts=n_parts) == local


def test_weights_whole_or_real_give_the_rule_of_the_rows(spark, rows):
    scores, labels, _ = rows
    weights = np.arange(len(scores)) % 4  # zero for some
    triples = list(zip(scores, labels, weights.tolist(), strict=True))
    df = spark.createDataFrame(triples, "s double, y int, w long").repartition(3)
    real = df.selectExpr("s", "y", "w / 7 AS w")
    for n_parts in (None, 3):
        options = {"score": "s", "label": "y", "weight": "w", "n_parts": n_parts}
        rule = fit_rule(df, **options)
        assert rule == abers.fit_rule(scores, labels, sample_weight=weights)
        sevenths = fit_rule(real, **options)
        assert sevenths == abers.fit_rule(scores, labels, sample_weight=weights / 7)


@pytest.fixture(params=["added up by the driver", "exchanged"])
def either_way(request, monkeypatch):
    """The driver adds the diagrams of groups up, or their workers do."""
    if request.param == "exchanged":
        monkeypatch.setattr(counting, "ADDED_SCORES", 0)


@pytest.mark.usefixtures("either_way")
def test_groups_of_real_weights_give_the_rule_set_of_the_rows(spark, rows):
    scores, labels, _ = rows
    weights, groups = np.arange(len(scores)) % 4 / 7, np.arange(len(scores)) % 3
    table = list(zip(scores, labels, weights.tolist(), groups.tolist(), strict=True))
    df = spark.createDataFrame(table, "s double, y int, w double, g long")
    rules = fit_rules(
        df.repartition(3), score="s", label="y", weight="w", by="g", minimum=1
    )
    assert rules == abers.fit_rules(
        scores, labels, groups, sample_weight=weights, minimum=1
    )


def test_counts_are_as_good_as_rows(df, rows):
    counted = df.groupBy("s").agg({"y": "sum", "*": "count"})
    columns = {"score": "s", "count": "count(1)", "positives": "sum(y)"}
    for n_parts in (None, 2):
        rule = fit_rule(counted, **columns, n_parts=n_parts)
        assert rule == abers.fit_rule(*rows[:2])


def test_a_fit_of_a_table_knows_what_a_local_one_knows(spark, rows, tmp_path):
    """Labels are text, a column has a dot, some rows lack a value; check finds it."""
    scores, labels, _ = rows
    texts = ["yes" if label else "no" for label in labels]
    some = [(None, "no"), (float("nan"), "yes"), *zip(scores, texts, strict=True)]
    df = spark.createDataFrame(some, "`a.s` double, y string").repartition(3)
    fit = fit_table(
        df,
        score="a.s",
        label="y",
        pos_label="yes",
        drop_missing=True,
        metadata={"v": 1},
    )
    path = tmp_path / "rows.csv"
    lines = [f"{'' if s is None else s},{y}\n" for s, y in some]
    path.write_text("a.s,y\n" + "".join(lines))
    local = fit_local_table(
        path,
        score="a.s",
        label="y",
        pos_label="yes",
        drop_missing=True,
        metadata={"v": 1},
    )
    for name in ("rule", "n_rows", "n_missing", "n_fitted", "auc", "metadata"):
        assert getattr(fit, name) == getattr(local, name)
    fit.save(tmp_path / "rule.abers")
    loaded = abers.load(tmp_path / "rule.abers")
    assert abers.check(loaded, scores, labels).in_sample


@pytest.mark.usefixtures("either_way")
def test_groups_have_the_rules_of_their_rows(df, rows):
    rules = fit_rules(df, score="s", label="y", by="g", minimum=5)
    assert rules == abers.fit_rules(*rows, minimum=5)
    assert fit_table(df, score="s", label="y", by="g").metadata["abers:by"] == "g"


def test_too_many_scores_of_groups_are_refused(df, monkeypatch):
    monkeypatch.setattr(counting, "ADDED_SCORES", 0)
    monkeypatch.setattr(exchange, "GROUPED_SCORES", 20)
    with pytest.raises(InvalidParameter, match="at most 20 distinct scores together"):
        fit_rules(df, score="s", label="y", by="g")


def warned(work, *args, **options):
    """Return the warnings of inverted scores, and the files at which they point."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work(*args, score="s", label="y", **options)
    inverted = [each for each in caught if each.category is InvertedScoresWarning]
    return [(str(each.message).split(":")[0], each.filename) for each in inverted]


def test_scores_that_run_the_other_way_are_warned_of_at_the_line_of_the_user(df):
    falling = df.selectExpr("-s AS s", "y", "g")
    for n_parts in (None, 2):
        ((message, file),) = warned(fit_rule, falling, n_parts=n_parts)
        assert message.startswith("The score is inverted (AUC 0.")
        assert file == __file__
    ((message, file),) = warned(fit_table, falling, by="g")
    assert message.startswith("The score is inverted")
    assert file == __file__
    ((message, file),) = warned(fit_rules, df, by="g", increasing=False)
    assert message.startswith("The score is inverted for a decreasing rule (AUC 0.")
    assert file == __file__
    assert warned(fit_rule, falling, increasing=False) == []


def limits(spark, frame, monkeypatch):
    """Return the most bytes of a batch each time that rows come to the driver."""
    seen = []
    collected = fitting.collected

    def noted(rows):
        seen.append(spark.conf.get(BYTES_OF_A_BATCH))
        return collected(rows)

    monkeypatch.setattr(fitting, "collected", noted)
    fit_rule(frame, score="s", label="y")
    return seen


def test_batches_of_numbers_are_not_measured_row_by_row(spark, df, monkeypatch):
    """The limit on their bytes is lifted while rows are counted, and only then."""
    before = spark.conf.get(BYTES_OF_A_BATCH)
    counting, *others = limits(spark, df, monkeypatch)
    assert counting == str(2**31 - 1)
    assert others == [before]


def test_other_batches_are_measured(spark, df, monkeypatch):
    """Text may be of any length, and so may a batch without a limit on its rows."""
    before = spark.conf.get(BYTES_OF_A_BATCH)
    text = df.selectExpr("s", "CAST(y AS STRING) AS y")
    assert limits(spark, text, monkeypatch) == [before] * 2
    rows = spark.conf.get(ROWS_OF_A_BATCH)
    spark.conf.set(ROWS_OF_A_BATCH, "0")
    try:
        assert limits(spark, df, monkeypatch)[0] == before
    finally:
        spark.conf.set(ROWS_OF_A_BATCH, rows)


@pytest.mark.parametrize(
    ("column", "value", "error", "message"),
    [
        ("s", "NULL", InvalidData, "it is in 1 of 3 rows"),
        ("s", "double('NaN')", InvalidData, "it is in 1 of 3 rows"),
        ("y", "0.5", InvalidData, "got '0.5' in 1 of 3 rows"),  # a cast makes it 0
        ("y", "300", InvalidData, "got '300' in 1 of 3 rows"),
        ("s", "9007199254740993L", InvalidData, "must not hold integers beyond 2**53"),
        ("w", "-1", InvalidData, "got -1.0 in the frame"),
    ],
)
def test_what_is_wrong_is_said_as_a_local_fit_says_it(
    spark, column, value, error, message
):
    """No task fails: that would be tried again, and reach the user as Java."""
    fine = {"s": "id", "y": "id % 2", "w": "1"}
    exprs = [
        f"if(id = 1, {value}, {fine[name]}) AS {name}"
        if name == column
        else f"{fine[name]} AS {name}"
        for name in fine
    ]
    df = spark.range(3, numPartitions=3).selectExpr(*exprs)
    with pytest.raises(error) as caught:
        fit_rule(df, score="s", label="y", weight="w")
    assert message in str(caught.value)


def test_a_label_stands_against_all_others_of_every_partition(spark):
    y = "elt(id + 1, 'yes', 'no', 'yes', 'maybe') AS y"
    df = spark.range(4, numPartitions=2).selectExpr("id AS s", y)
    with pytest.raises(InvalidData, match="found are 'yes', 'no', 'maybe'"):
        fit_rule(df, score="s", label="y")
    rule = fit_rule(df, score="s", label="y", pos_label="yes")
    here = abers.fit_rule([0, 1, 2, 3], [1, 0, 1, 0])
    assert rule.n_positives == 2
    assert rule.bounds([0, 1.5, 3]).tolist() == here.bounds([0, 1.5, 3]).tolist()


def test_columns_and_rows_must_be_there(df):
    with pytest.raises(InvalidData, match="must have the column 'score'"):
        fit_rule(df, score="score", label="y")
    twice = df.selectExpr("s", "y", "s AS S")
    with pytest.raises(InvalidData, match="whatever the case; it has 's', 'S'"):
        fit_rule(twice, score="s", label="y")
    with pytest.raises(InvalidData, match="must have rows to fit; it has none"):
        fit_rule(df.where("false"), score="s", label="y")


def failing_once(make, how):
    """Return what makes a task that fails when it is first tried."""

    def made(*args, **options):
        work = make(*args, **options)

        def fails_first(batches):
            import os

            from pyspark import TaskContext

            if TaskContext.get().attemptNumber() == 0:
                if how == "exit":
                    os._exit(1)
                msg = "the first attempt fails"
                raise OSError(msg)
            yield from work(batches)

        return fails_first

    return made


@pytest.mark.parametrize("how", ["raise", "exit"])
def test_tasks_that_fail_or_die_once_in_each_pass_change_nothing(
    df, rows, how, monkeypatch
):
    for module, name in [
        (fitting, "counting_rows"),
        (fitting, "scaling"),
        (exchange, "cutting"),
        (exchange, "merging_parts"),
        (exchange, "fitting_pieces"),
    ]:
        monkeypatch.setattr(module, name, failing_once(getattr(module, name), how))
    local = abers.fit_rule(*rows[:2])
    for n_parts in (None, 2):
        assert fit_rule(df, score="s", label="y", n_parts=n_parts) == local
    halves = df.selectExpr("s", "y", "0.5D AS w")
    rule = fit_rule(halves, score="s", label="y", weight="w")
    weights = np.full(len(rows[0]), 0.5)
    assert rule == abers.fit_rule(*rows[:2], sample_weight=weights)


def test_a_task_that_always_fails_leaves_no_rule_and_nothing_behind(df, monkeypatch):
    def always_failing(*_):
        def fails(batches):
            msg = "out of disk"
            raise OSError(msg)
            yield from batches

        return fails

    monkeypatch.setattr(exchange, "fitting_pieces", always_failing)
    with pytest.raises(Exception, match="out of disk"):  # Spark's own
        fit_rule(df, score="s", label="y", n_parts=2)
    monkeypatch.setattr(fitting, "counting_rows", always_failing)
    with pytest.raises(Exception, match="out of disk"):
        fit_rule(df, score="s", label="y")


def changing(spark):
    """Return a frame whose rows are others each time that they are computed."""

    def draw(batches):
        import time

        import numpy as np
        import pyarrow as pa

        for batch in batches:
            # As many positives as no other time, or so.
            share = time.monotonic_ns() // 1000 % 100_003 / 100_003
            scores = np.random.default_rng().normal(size=batch.num_rows) + 4 * share - 2
            columns = [pa.array(scores.tolist()), pa.array((scores > 0).tolist())]
            yield pa.record_batch(columns, names=["s", "y"])

    return spark.range(5000, numPartitions=2).mapInArrow(draw, "s double, y boolean")


def test_rows_that_change_are_read_once_or_refused(spark, monkeypatch):
    from contextlib import nullcontext

    for n_parts in (None, 2):
        rule = fit_rule(changing(spark), score="s", label="y", n_parts=n_parts)
        assert rule.n_rows == 5000
    monkeypatch.setattr(fitting, "persisted", nullcontext)
    for n_parts in (None, 2):
        with pytest.raises(InvalidData, match="Save or persist"):
            fit_rule(changing(spark), score="s", label="y", n_parts=n_parts)


def test_parts_that_change_after_their_summary_are_refused(spark, monkeypatch):
    """Persisted parts are made once, so the summary of the first one is forged."""
    fitting_pieces = exchange.fitting_pieces

    def with_another_label(summaries):
        first = from_bytes(summaries[0], Summary)
        other = replace(
            first,
            n_negatives=first.n_negatives - 1,
            n_positives=first.n_positives + 1,
        )
        return fitting_pieces([to_bytes(other), *summaries[1:]])

    df = spark.range(40, numPartitions=2).selectExpr("id % 7 AS s", "id % 2 AS y")
    monkeypatch.setattr(exchange, "fitting_pieces", with_another_label)
    with pytest.raises(InvalidData, match="Save or persist"):
        fit_rule(df, score="s", label="y", n_parts=2)


def test_the_plan_of_the_input_runs_once(spark, tmp_path):
    def noted(batches):
        import uuid
        from pathlib import Path

        Path(folder, uuid.uuid4().hex).touch()
        yield from batches

    folder = str(tmp_path)
    df = spark.range(300, numPartitions=3).selectExpr("id AS s", "id % 2 AS y")
    for n_runs, n_parts in enumerate((None, 3), start=1):
        frame = df.mapInArrow(noted, df.schema)
        fit_rule(frame, score="s", label="y", n_parts=n_parts)
        assert len(list(tmp_path.iterdir())) == 3 * n_runs


def n_stages(spark, work):
    """Return how many stages some work takes; stages that are skipped count, too."""
    context = spark.sparkContext
    context.setJobGroup("counted", "counted")
    work()
    tracker = context.statusTracker()
    context.setLocalProperty("spark.jobGroup.id", None)
    jobs = map(tracker.getJobInfo, tracker.getJobIdsForGroup("counted"))
    return sum(len(job.stageIds) for job in jobs)


def test_a_small_frame_takes_two_stages(spark):
    """One counts the rows, the other brings the diagrams to the driver."""
    df = spark.range(5000, numPartitions=4).selectExpr("sin(id) AS s", "id % 2 AS y")
    assert n_stages(spark, lambda: fit_rule(df, score="s", label="y")) == 2


def test_little_comes_to_the_driver_however_many_parts(spark, monkeypatch):
    """At 64 parts less than a megabyte, the rule apart."""
    sizes = []
    collected = fitting.collected

    def weighed(frame):
        rows = collected(frame)
        cells = (cell for row in rows for cell in row)
        sizes.append(sum(len(c) for c in cells if isinstance(c, bytes | str)))
        return rows

    monkeypatch.setattr(fitting, "collected", weighed)
    monkeypatch.setattr(exchange, "collected", weighed)
    df = spark.range(40_000, numPartitions=4).selectExpr("sin(id) AS s", "id % 2 AS y")
    rule = fit_rule(df, score="s", label="y", n_parts=64)
    tallies, samples, summaries, pieces = sizes
    assert rule.n_rows == 40_000
    assert tallies + samples < 4 * 10_000
    assert tallies + samples + summaries < 1_000_000
    assert pieces < 64 * 400 + 24 * (rule.thresholds.size + 2 * 64) + 24 * 101
