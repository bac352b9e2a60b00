"""Rules of Dask frames are those of the same rows in memory, on any scheduler."""

import doctest
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import cloudpickle
import dask
import dask.dataframe as dd
import kinds
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import abers
import abers.engines.dask
from abers import tables
from abers.engines import counting
from abers.engines.dask import add_bounds, fit_rule, fit_rules, fit_table
from abers.errors import (
    InvalidData,
    InvalidParameter,
    InvalidType,
    InvertedScoresWarning,
    MissingExtra,
)
from engine_rows import PREDICTORS, expected_columns, predictors

ROOT = Path(__file__).parents[3]
NAMES = {"score": "s", "label": "y"}
N = 600

# Workers do not find this file by its name.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process."""
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s"}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            worker_dashboard_address=None,
            memory_limit=0,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def cluster(client):
    """The two workers are those that Dask asks."""
    client.wait_for_workers(2, timeout=60)
    with client.as_current():
        yield client


def drawn(scores, seed=0):
    """Return a frame of scores, with labels that tend to rise with them."""
    rng = np.random.default_rng(seed)
    ranks = np.argsort(np.argsort(scores, kind="stable"))
    labels = (rng.random(scores.size) < ranks / scores.size).astype(np.int64)
    weights = rng.integers(0, 4, scores.size).astype(np.float64)
    groups = rng.choice(["shop", "web", "phone"], scores.size, p=[0.6, 0.37, 0.03])
    return pd.DataFrame({"s": scores, "y": labels, "w": weights, "g": groups})


def made():
    """Return calibration rows that are hard to cut, by name."""
    rng = np.random.default_rng(1)
    distinct = rng.normal(size=N)
    heavy = np.where(rng.random(N) < 0.3, 0.25, rng.random(N))
    signed = rng.choice([-np.inf, -1.0, -0.0, 0.0, 2.0, np.inf], N)
    by_label = drawn(rng.normal(size=N)).sort_values("y", ignore_index=True)
    return {
        "distinct": drawn(distinct),
        "ties": drawn(rng.integers(0, 9, N).astype(np.float64)),
        "30 % at one score": drawn(heavy),
        "infinities and two zeros": drawn(signed),
        "one class a partition": by_label,
        "one class": drawn(distinct).assign(y=1),
        "integers": drawn(rng.integers(-50, 50, N)),
        "one row": drawn(distinct[:1]),
    }


MADE = made()


def framed(rows, n_partitions=5):
    """Return a Dask frame whose second partition is empty."""
    ends = [0, 0, *(np.arange(1, n_partitions - 1) * len(rows) // (n_partitions - 1))]
    slices = [rows.iloc[a:b] for a, b in zip(ends, [*ends[1:], len(rows)], strict=True)]
    slices[:2] = slices[1::-1]
    return dd.from_map(lambda part: slices[part], range(len(slices)), meta=rows[:0])


def assert_same(rule, local, folder):
    """Compare everything that a rule is, and the bytes of its file."""
    assert rule == local
    for name in ("thresholds", "lower", "upper", "score_quantiles"):
        np.testing.assert_array_equal(getattr(rule, name), getattr(local, name))
    for mine, theirs in zip(rule.cells[:2], local.cells[:2], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (rule.n_rows, rule.n_positives) == (
        local.n_rows,
        local.n_positives,
    )
    rule.save(folder / "dask.abers")
    local.save(folder / "local.abers")
    saved = (folder / "dask.abers").read_bytes()
    assert saved == (folder / "local.abers").read_bytes()


def test_the_frames_of_these_tests_have_an_empty_partition():
    frame = framed(MADE["ties"])
    lengths = frame.map_partitions(len).compute().tolist()
    assert 0 in lengths
    assert sum(lengths) == N
    computed = frame.compute().astype(MADE["ties"].dtypes)  # text has a type of Dask's
    pd.testing.assert_frame_equal(computed, MADE["ties"])


@pytest.mark.parametrize("n_partitions", [3, 5, 40])
@pytest.mark.parametrize("name", MADE)
def test_the_rule_is_that_of_the_rows_in_memory(name, n_partitions, tmp_path):
    rows = MADE[name]
    for increasing in (True, False):
        frame = framed(rows, n_partitions)
        rule = fit_rule(frame, **NAMES, increasing=increasing)
        assert_same(
            rule, abers.fit_rule(rows.s, rows.y, increasing=increasing), tmp_path
        )


def test_integer_weights_are_exact():
    rows = MADE["ties"]
    rule = fit_rule(framed(rows), **NAMES, weight="w")
    assert rule == abers.fit_rule(rows.s, rows.y, sample_weight=rows.w)
    assert rule.cells is None  # how far weights scatter within a cell is unknown


def test_a_frame_that_is_counted_already_gives_the_same_rule(tmp_path):
    rows = MADE["ties"]
    counts = rows.groupby("s", as_index=False).agg(n=("y", "size"), p=("y", "sum"))
    frame = framed(counts)
    rule = fit_rule(frame, score="s", count="n", positives="p")
    assert_same(rule, abers.fit_rule(rows.s, rows.y), tmp_path)
    fit = fit_table(frame, score="s", count="n", positives="p")
    assert fit.rule == rule
    assert fit.total_weight == N


@pytest.mark.parametrize("kind", [object, "str", "category", "string[pyarrow]"])
def test_labels_may_be_text(kind):
    rows = MADE["ties"]
    text = rows.assign(y=np.where(rows.y == 1, "yes", "no")).astype({"y": kind})
    rule = fit_rule(framed(text), **NAMES, pos_label="yes")
    assert rule == abers.fit_rule(rows.s, rows.y)


@pytest.mark.parametrize("kind", ["bool", "Int64", "boolean", "float32", "int8"])
def test_labels_may_be_of_any_kind_of_number(kind):
    rows = MADE["ties"]
    rule = fit_rule(framed(rows.astype({"y": kind})), **NAMES)
    assert rule == abers.fit_rule(rows.s, rows.y)


def test_real_weights_give_the_rules_of_the_rows_to_the_last_bit():
    rows = MADE["ties"]
    rows = rows.assign(w=rows.w + 0.1)
    frame = framed(rows)
    rule = fit_rule(frame, **NAMES, weight="w")
    assert rule == abers.fit_rule(rows.s, rows.y, sample_weight=rows.w)
    rules = fit_rules(frame, **NAMES, weight="w", by="g", minimum=20)
    assert rules == abers.fit_rules(
        rows.s, rows.y, rows.g, sample_weight=rows.w, minimum=20
    )


@pytest.mark.parametrize("by", [None, "g"])
def test_one_real_weight_among_integers_is_enough(by):
    rows = MADE["ties"].copy()
    rows.loc[N - 1, "w"] = 0.5
    fit = fit_table(framed(rows), **NAMES, weight="w", by=by, minimum=1)
    assert fit.total_weight == rows.w.sum()
    if by is None:
        local = abers.fit_rule(rows.s, rows.y, sample_weight=rows.w)
    else:
        local = abers.fit_rules(rows.s, rows.y, rows.g, sample_weight=rows.w, minimum=1)
    assert fit.rule == local


def test_groups_have_the_rules_that_they_have_in_memory(tmp_path):
    rows = MADE["ties"]
    rules = fit_rules(framed(rows), **NAMES, by="g", minimum=20)
    local = abers.fit_rules(rows.s, rows.y, rows.g, minimum=20)
    assert rules == local
    assert list(local.rules) == ["shop", "web"]
    rules.save(tmp_path / "dask.abers")
    local.save(tmp_path / "local.abers")
    saved = (tmp_path / "dask.abers").read_bytes()
    assert saved == (tmp_path / "local.abers").read_bytes()


def test_groups_may_be_numbers_and_have_weights():
    rows = MADE["ties"]
    rows = rows.assign(g=rows.g.str.len())
    options = {"minimum": 5, "increasing": False}
    rules = fit_rules(framed(rows), **NAMES, by="g", weight="w", **options)
    assert rules == abers.fit_rules(
        rows.s, rows.y, rows.g, sample_weight=rows.w, **options
    )


@pytest.mark.parametrize(("columns", "options"), [("s", {}), (["s", "g"], {"by": "g"})])
def test_too_many_distinct_scores_are_refused(columns, options, monkeypatch):
    """Scores that several partitions share count once."""
    n_scores = len(MADE["ties"][columns].drop_duplicates())
    frame = framed(MADE["ties"])
    monkeypatch.setattr(counting, "ADDED_SCORES", n_scores)
    fit_table(frame, **NAMES, **options)
    monkeypatch.setattr(counting, "ADDED_SCORES", n_scores - 1)
    with pytest.raises(InvalidParameter) as caught:
        fit_table(frame, **NAMES, **options)
    assert str(caught.value) == (
        f"the frame must have at most {n_scores - 1} distinct scores to be fitted with "
        f"Dask, because one process adds them up; got {n_scores} or more. Round the "
        "scores, fit with `abers fit` on files, or use Spark."
    )


@pytest.mark.parametrize("by", [None, "g"])
def test_the_fit_is_that_of_a_file_of_these_rows(by, tmp_path):
    rows = MADE["distinct"].astype({"y": "float64"})
    rows.loc[[3, 300, 599], "s"] = np.nan
    rows.loc[[3, 17], "y"] = np.nan
    rows.to_parquet(tmp_path / "rows.parquet")
    options = NAMES | {"by": by, "drop_missing": True, "metadata": {"model": "m1"}}
    local = tables.fit_table(tmp_path / "rows.parquet", **options)
    fit = fit_table(framed(rows), **options)
    assert (fit.n_rows, fit.n_missing, fit.n_fitted) == (N, 4, N - 4)
    assert fit.rule == local.rule
    assert fit.auc == pytest.approx(local.auc, abs=1e-15)
    assert fit.metadata == local.metadata
    fit.save(tmp_path / "dask.abers")
    local.save(tmp_path / "local.abers")
    saved = (tmp_path / "dask.abers").read_bytes()
    assert saved == (tmp_path / "local.abers").read_bytes()


BAD = MADE["ties"].astype({"y": "float64"})


def warned(work, *args, **options):
    """Return the warnings of inverted scores, and the files at which they point."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work(*args, **NAMES, **options)
    inverted = [each for each in caught if each.category is InvertedScoresWarning]
    return [(str(each.message).split(":")[0], each.filename) for each in inverted]


@pytest.mark.parametrize("by", [None, "g"])
def test_scores_that_run_the_other_way_are_warned_of_at_the_line_of_the_user(by):
    rows = MADE["distinct"]
    falling = framed(rows.assign(s=-rows.s))
    fits = [(fit_table, {"by": by})]
    fits += [(fit_rules, {"by": by}) if by else (fit_rule, {})]
    for work, options in fits:
        ((message, file),) = warned(work, falling, **options)
        assert message.startswith("The score is inverted (AUC 0.")
        assert file == __file__
        assert warned(work, falling, **options, increasing=False) == []


def changed(column, **values):
    """Return the rows with other values in a column, by row."""
    rows = BAD.copy()
    for row, value in values.items():
        rows.loc[int(row[1:]), column] = value
    return rows


@pytest.mark.parametrize(
    ("rows", "options", "error", "message"),
    [
        (
            changed("s", _1=np.nan, _599=np.nan),
            {},
            InvalidData,
            (
                "column 's' must not be empty, null or NaN to fit; it is in 2 of 600 "
                "rows. Fill it in, or leave such rows out."
            ),
        ),
        (
            changed("y", _1=np.nan),
            {},
            InvalidData,
            "column 'y' must not be empty, null or NaN to fit; it is in 1 of 600 rows",
        ),
        (
            changed("y", _1=0.5),
            {},
            InvalidData,
            "column 'y' must hold two labels; got '0.5' in 1 of 600 rows",
        ),
        (
            BAD,
            {"pos_label": "yes"},
            InvalidData,
            "column 'y' must hold 'yes', which is to be the positive label",
        ),
        (
            changed("w", _1=-1.0, _599=np.inf),
            {"weight": "w"},
            InvalidData,
            ("column 'w' must be finite and not negative; got -1.0 in the frame."),
        ),
        (
            BAD.assign(s="high"),
            {},
            InvalidData,
            "column 's' must hold numbers; got 'high' in the frame.",
        ),
        (
            BAD.assign(s=pd.Timestamp("2026-01-01")),
            {},
            InvalidData,
            "column 's' must hold numbers; in the frame it holds timestamp",
        ),
        (
            BAD.iloc[:0],
            {},
            InvalidData,
            "the frame must have rows to fit; it has none.",
        ),
    ],
)
def test_what_is_wrong_with_rows_is_said_as_in_memory(rows, options, error, message):
    with pytest.raises(error) as caught:
        fit_rule(framed(rows), **NAMES, **options)
    assert str(caught.value).startswith(message)


def test_columns_of_several_kinds_are_refused():
    rows = BAD.astype({"y": object})
    rows.loc[1, "y"] = "yes"
    with dask.config.set({"dataframe.convert-string": False}):
        frame = framed(rows)
    with pytest.raises(InvalidData) as caught:
        fit_rule(frame, **NAMES)
    assert str(caught.value) == (
        "column 'y' must hold values of one kind; the frame has 'float', 'str' in it. "
        "Convert it first."
    )
    rule = abers.fit_rule([1, 2], [0, 1])
    with pytest.raises(InvalidData, match="column 'y' must hold values of one kind"):
        add_bounds(frame, rule, score="y").compute()


def test_options_that_are_wrong_are_refused_before_any_row_is_read():
    def read(_):
        pytest.fail("a row was read")

    frame = dd.from_map(read, range(2), meta=BAD.iloc[:0])
    rule = abers.fit_rule([1, 2], [0, 1])
    for options, error, message in [
        ({"score": "t", "label": "y"}, InvalidData, "must have the column 't'"),
        ({"score": 0, "label": "y"}, InvalidType, "score must be a str; got a int"),
        ({"score": "s"}, InvalidParameter, "a fit needs a column of labels"),
        (NAMES | {"increasing": 2}, (InvalidParameter, InvalidType), "increasing must"),
        (NAMES | {"minimum": -1}, (InvalidParameter, InvalidType), "minimum must"),
        (NAMES | {"metadata": {"abers:x": 1}}, InvalidParameter, "must not begin with"),
    ]:
        with pytest.raises(error, match=message):
            fit_table(frame, **options)
    with pytest.raises(InvalidType, match="df must be a dask"):
        fit_rule(BAD, **NAMES)
    with pytest.raises(InvalidType, match="df must be a dask"):
        add_bounds(BAD, rule, score="s")
    with pytest.raises(InvalidData, match="must have the column 't'"):
        add_bounds(frame, rule, score="t")


def broken_frame():
    def read(_):
        msg = "no such bucket"
        raise OSError(msg)

    return dd.from_map(read, range(2), meta=BAD.iloc[:0])


def test_a_failure_of_the_frame_itself_is_not_hidden():
    with pytest.raises(OSError, match="no such bucket"):
        fit_rule(broken_frame(), **NAMES)


def test_nor_is_it_by_a_cluster(cluster):
    with pytest.raises(OSError, match="no such bucket"):
        fit_rule(broken_frame(), **NAMES)
    assert wait_until(lambda: n_tasks(cluster) == 0)


WITHOUT_ABERS = """
import sys
sys.modules["abers"] = None  # as if it were not installed
from distributed import LocalCluster
with LocalCluster(1, processes=False, threads_per_worker=1, host="127.0.0.1",
                  protocol="tcp", dashboard_address=None) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


def test_a_cluster_without_abers_is_told_of_in_one_sentence():
    command = [sys.executable, "-c", WITHOUT_ABERS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as cluster:
        address = cluster.stdout.readline().strip()
        with (
            Client(address, set_as_default=False) as client,
            client.as_current(),
            pytest.raises(MissingExtra, match="Install it on the scheduler and on all"),
        ):
            fit_rule(framed(BAD), **NAMES)
        cluster.stdin.close()


def test_columns_may_have_numbers_as_names():
    rows = MADE["ties"].rename(columns={"w": 0, "g": 1})
    rule = fit_rule(framed(rows), **NAMES)
    assert rule == abers.fit_rule(rows.s, rows.y)
    computed = add_bounds(framed(rows), rule, score="s").compute()
    assert list(computed.columns) == ["s", "y", 0, 1, "lower", "upper", "probability"]
    with pytest.raises(InvalidData, match="its columns are 's', 'y'"):
        fit_rule(framed(rows), score="s", label="z")


def test_partitions_are_read_once(tmp_path):
    def read(part):
        (tmp_path / f"{part}-{time.monotonic_ns()}").touch()
        return BAD

    frame = dd.from_map(read, range(3), meta=BAD.iloc[:0])
    fit_rule(frame, **NAMES)
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize(
    ("added_scores", "n_bundles"), [(600, 1), (620, 2), (10**6, 1)]
)
def test_diagrams_are_fetched_some_at_a_time(added_scores, n_bundles, monkeypatch):
    """No more than the driver adds up at once; scores in two partitions count twice."""
    rows = MADE["distinct"]
    if n_bundles > 1:
        rows = pd.concat([rows, rows], ignore_index=True)
    monkeypatch.setattr(counting, "ADDED_SCORES", added_scores)
    bundles = []

    def noted(counted, sizes):
        for bundle in original(counted, sizes):
            bundles.append(bundle)
            yield bundle

    original = abers.engines.dask._bundles  # noqa: SLF001
    monkeypatch.setattr(abers.engines.dask, "_bundles", noted)
    rule = fit_rule(framed(rows, 30), **NAMES)
    assert rule == abers.fit_rule(rows.s, rows.y)
    assert len(bundles) == n_bundles


@pytest.mark.parametrize("loss", ["log", "brier"])
def test_bounds_are_those_of_the_rule_and_nothing_else_changes(loss):
    rows = MADE["infinities and two zeros"].copy()
    rule = abers.fit_rule(rows.s, rows.y)
    rows.loc[[0, 599], "s"] = np.nan
    rows.index = np.zeros(N, dtype=np.int64)  # names no row
    frame = framed(rows)
    added = add_bounds(frame, rule, score="s", loss=loss)
    assert added.npartitions == frame.npartitions
    assert list(added.columns) == [*rows.columns, "lower", "upper", "probability"]
    computed = added.compute()
    pd.testing.assert_frame_equal(computed[list(rows.columns)], frame.compute())
    complete = rows.s.notna().to_numpy()
    np.testing.assert_array_equal(
        computed[["lower", "upper"]].to_numpy()[complete], rule.bounds(rows.s[complete])
    )
    np.testing.assert_array_equal(
        computed.probability[complete], rule.probability(rows.s[complete], loss)
    )
    assert computed[["lower", "upper", "probability"]][~complete].isna().all(axis=None)


@pytest.mark.filterwarnings("ignore::abers.errors.UnknownGroupWarning")
def test_bounds_of_groups_are_those_of_the_rule_set(tmp_path):
    rows = MADE["ties"].copy()
    fit_table(framed(rows), **NAMES, by="g").save(tmp_path / "rules.abers")
    saved = abers.load(tmp_path / "rules.abers")
    rows.loc[[0, 599], "g"] = [None, "never seen"]
    computed = add_bounds(framed(rows), saved, prefix="p_").compute()
    bounds = saved.bounds(rows.s, rows.g)
    np.testing.assert_array_equal(computed[["p_lower", "p_upper"]], bounds)


@pytest.mark.parametrize("name", PREDICTORS)
def test_any_saved_predictor_gives_its_own_numbers(name, tmp_path):
    predictor, scores = predictors(tmp_path)[name]
    rows = pd.DataFrame(scores, columns=[f"s{i}" for i in range(scores.shape[1])])
    computed = add_bounds(framed(rows), predictor, score=list(rows)).compute()
    for column, expected in expected_columns(predictor, scores).items():
        np.testing.assert_array_equal(computed[column], expected)


def test_bounds_are_lazy(tmp_path):
    rows = MADE["ties"]

    def read(_):
        (tmp_path / "read").touch()
        return rows

    frame = dd.from_map(read, range(1), meta=rows.iloc[:0])
    added = add_bounds(frame, abers.fit_rule(rows.s, rows.y), score="s")
    assert not (tmp_path / "read").exists()
    assert len(added.compute()) == N


@pytest.mark.parametrize("chosen", [["lower"], ["text", "lower"], ["s", "upper"]])
def test_bounds_stay_with_their_rows_whatever_is_read_of_a_file(chosen, tmp_path):
    """Dask joins the partitions of files of which few columns are wanted."""
    rows = MADE["distinct"].assign(text=[f"row {i} " * 100 for i in range(N)])
    for part in range(20):
        name = tmp_path / f"{part:02}.parquet"
        rows.iloc[part * 30 : part * 30 + 30].to_parquet(name, index=False)
    rule = abers.fit_rule(rows.s, rows.y)
    added = add_bounds(dd.read_parquet(tmp_path), rule, score="s")
    rows[["lower", "upper"]] = rule.bounds(rows.s)
    computed = added[chosen].compute().reset_index(drop=True)
    pd.testing.assert_frame_equal(computed, rows[chosen].astype(computed.dtypes))


def test_missing_scores_may_be_an_error_when_bounds_are_computed():
    rows = changed("s", _1=np.nan)
    rule = abers.fit_rule([1, 2], [0, 1])
    added = add_bounds(framed(rows), rule, score="s", missing="error")
    with pytest.raises(InvalidData, match="column 's' must not be empty"):
        added.compute()


def test_processes_give_the_same_rule(cluster, tmp_path):
    rows = MADE["30 % at one score"]
    local = abers.fit_rule(rows.s, rows.y)
    frame = framed(rows)
    rule = fit_rule(frame, **NAMES)
    assert_same(rule, local, tmp_path)
    rules = fit_rules(frame, **NAMES, by="g")
    assert rules == abers.fit_rules(rows.s, rows.y, rows.g)
    computed = add_bounds(frame, rule, score="s").compute()
    np.testing.assert_array_equal(computed[["lower", "upper"]], local.bounds(rows.s))
    read_by = frame.map_partitions(lambda _: os.getpid(), meta=("pid", int)).compute()
    assert set(read_by) <= set(cluster.run(os.getpid).values())


def test_a_rule_of_a_hundred_thousand_steps_is_that_of_the_rows(tmp_path):
    """Rare events: nearly every negative is a step of the upper bound."""
    scores, labels = kinds.rare(np.random.default_rng(1), 140_000)
    rows = pd.DataFrame({"s": scores, "y": labels.astype(np.int64)})
    rule = fit_rule(framed(rows), **NAMES)
    assert rule.thresholds.size > 97_000
    assert_same(rule, abers.fit_rule(scores, labels), tmp_path)


def n_tasks(client):
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def wait_until(holds):
    end = time.monotonic() + 30
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.05)
    return held


def test_nothing_stays_on_the_cluster(cluster):
    """Not even while somebody looks at the traceback of a failure."""
    fit_rule(framed(BAD), **NAMES)
    assert wait_until(lambda: n_tasks(cluster) == 0)
    with pytest.raises(InvalidData) as caught:
        fit_rule(framed(changed("s", _1=np.nan)), **NAMES)
    assert wait_until(lambda: n_tasks(cluster) == 0)
    assert caught.value.__traceback__ is not None


def kill_worker_once(frame, flag):
    try:
        Path(flag).touch(exist_ok=False)
    except FileExistsError:
        return frame
    os.kill(os.getpid(), signal.SIGKILL)
    return None


def kill_workers(client, number):
    """Kill the workers that hold most."""
    pids = client.run(os.getpid)
    held = {address: len(keys) for address, keys in client.has_what().items()}
    for address in sorted(pids, key=lambda each: -held.get(each, 0))[:number]:
        os.kill(pids[address], signal.SIGKILL)


def killing_after_the_count(monkeypatch, client, number):
    """Let workers die once all of them have sent their tallies."""
    original = counting.CountedFrame.of

    def of(*args):
        frame = original(*args)
        kill_workers(client, number)
        return frame

    monkeypatch.setattr(counting.CountedFrame, "of", of)


@pytest.mark.usefixtures("cluster")
def test_a_worker_killed_while_it_counts_changes_nothing(tmp_path):
    rows = MADE["distinct"]
    flag = tmp_path / "killed"
    frame = framed(rows).map_partitions(kill_worker_once, str(flag), meta=rows.iloc[:0])
    rule = fit_rule(frame, **NAMES)
    assert flag.exists()
    assert_same(rule, abers.fit_rule(rows.s, rows.y), tmp_path)


def killing_once(work, flag):
    """Return what does its work, and kills its worker when it is first called."""

    def killed(*arguments, **options):
        kill_worker_once(None, flag)
        return work(*arguments, **options)

    return killed


@pytest.mark.usefixtures("cluster")
def test_a_worker_killed_while_diagrams_are_fetched_changes_nothing(
    monkeypatch, tmp_path
):
    rows = MADE["distinct"]
    flag = tmp_path / "killed"
    module = abers.engines.dask
    killed = killing_once(module._diagrams, str(flag))  # noqa: SLF001
    monkeypatch.setattr(module, "_diagrams", killed)
    rule = fit_rule(framed(rows), **NAMES)
    assert flag.exists()
    assert_same(rule, abers.fit_rule(rows.s, rows.y), tmp_path)


def test_a_worker_killed_with_its_diagrams_changes_nothing(
    cluster, monkeypatch, tmp_path
):
    rows = MADE["distinct"]
    killing_after_the_count(monkeypatch, cluster, 1)
    rule = fit_rule(framed(rows), **NAMES)
    assert_same(rule, abers.fit_rule(rows.s, rows.y), tmp_path)


def test_rows_that_change_while_they_are_read_are_refused(
    cluster, monkeypatch, tmp_path
):
    """All that was counted is lost, and counted again from other rows."""

    def read(part, folder):
        n_calls = len(list(Path(folder).iterdir()))
        Path(folder, f"{part}-{time.monotonic_ns()}").touch()
        return BAD.assign(s=BAD.s + n_calls)

    frame = dd.from_map(read, range(2), folder=str(tmp_path), meta=BAD.iloc[:0])
    killing_after_the_count(monkeypatch, cluster, 2)
    with pytest.raises(InvalidData, match="they changed while they were read"):
        fit_rule(frame, **NAMES)


def test_examples_of_the_docstrings_are_right():
    results = doctest.testmod(abers.engines.dask)
    assert results.failed == 0
    assert results.attempted > 20


def test_the_page_shows_what_dask_gives(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "scaling.md").read_text()
    _, section = page.split("## On Dask")
    test = doctest.DocTestParser().get_doctest(section, {}, "On Dask", None, 0)
    results = doctest.DocTestRunner().run(test)
    assert results.failed == 0
    assert results.attempted > 10
