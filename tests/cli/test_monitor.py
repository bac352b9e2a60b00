"""`abers monitor`: a state on disk, files that are read once, and an exit code."""

import json
import shutil

import monitor_kills
import numpy as np
import pandas as pd
import pytest

import abers


def draw(rng, n, odds=1.0):
    scores = rng.normal(size=n)
    return scores, (rng.random(n) < odds / (odds + np.exp(-2 * scores))).astype(int)


DAYS = {"calibration": (600, 1), "one": (200, 1), "two": (300, 1), "changed": (600, 5)}


@pytest.fixture(scope="module")
def days():
    rng = np.random.default_rng(3)
    return {name: draw(rng, n, odds) for name, (n, odds) in DAYS.items()}


@pytest.fixture
def folder(tmp_path, days):
    """A file for each day, and a state that has begun."""
    for name, (scores, labels) in days.items():
        frame = pd.DataFrame({"id": range(scores.size), "margin": scores})
        frame.assign(fate=np.where(labels, "won", "lost")).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
        frame.to_csv(tmp_path / f"{name}-scores.csv", index=False)
    return tmp_path


COLUMNS = ("--score", "margin", "--label", "fate", "--pos-label", "won")


@pytest.fixture
def begun(folder, run):
    answer = run(
        folder, "monitor", "state.abers", "--start", "calibration.csv", *COLUMNS
    )
    assert answer.code == 0, answer.err
    return folder


def facts(answer):
    return json.loads(answer.out)


def expected(days, *names):
    monitor = abers.Monitor(*days["calibration"])
    for name in names:
        monitor.update(*days[name])
    return monitor.state


def test_it_does_what_the_library_does_day_by_day(begun, run, days):
    for name in ("one", "two"):
        answer = run(begun, "monitor", "state.abers", f"{name}.csv", "--json")
        assert answer.code == 0, answer.err
    state = expected(days, "one", "two")
    found = facts(answer)
    for test in ("scores", "labels", "slope"):
        assert found[f"capital_{test}"] == getattr(state, f"capital_{test}")
    assert (found["n_rows"], found["new_rows"], found["files"]) == (500, 300, 3)
    assert not found["alarm"]


def test_an_alarm_is_exit_code_3_and_stays(begun, run, days):
    answer = run(begun, "monitor", "state.abers", "one.csv", "changed.csv")
    assert answer.code == 3
    assert b"Recalibrate" in answer.out
    state = expected(days, "one", "changed")
    assert f"alarm since row {state.since_row:,}".encode() in answer.out
    again = run(begun, "monitor", "state.abers", "--json")
    assert again.code == 3
    assert facts(again)["since_row"] == state.since_row


def test_a_file_is_read_once_whatever_its_name(begun, run):
    assert run(begun, "monitor", "state.abers", "one.csv").code == 0
    before = (begun / "state.abers").read_bytes()
    shutil.copy(begun / "one.csv", begun / "copy.csv")
    for names in (["one.csv"], ["two.csv", "copy.csv"], ["calibration.csv"]):
        answer = run(begun, "monitor", "state.abers", *names)
        assert answer.code == 1
        assert "same contents (SHA-256) was read before" in answer.err
    answer = run(begun, "monitor", "state.abers", "two.csv", "two.csv")
    assert "same contents" in answer.err
    assert (begun / "state.abers").read_bytes() == before


def test_a_label_that_python_passes_releases_the_others(begun, run, days):
    _, labels = days["one"]
    name = lacking(begun, "one", [5])
    answer = run(begun, "monitor", "state.abers", name, "--json")
    assert (facts(answer)["n_labels"], facts(answer)["n_waiting"]) == (5, 195)
    monitor = abers.load(begun / "state.abers")
    monitor.update_labels([labels[5]], rows=[5])
    monitor.save(begun / "state.abers")
    answer = run(begun, "monitor", "state.abers", "two.csv", "--json")
    assert (answer.code, facts(answer)["stalled"]) == (0, False)
    assert facts(answer)["stall"] is None
    state = expected(days, "one", "two")
    assert facts(answer)["capital_labels"] == state.capital_labels
    assert (facts(answer)["n_labels"], facts(answer)["files"]) == (500, 3)


def test_start_and_files_in_one_go(folder, run, days):
    answer = run(
        *(folder, "monitor", "state.abers", "one.csv", "two.csv"),
        *("--start", "calibration.csv", *COLUMNS, "--json", "--alpha", "0.2"),
        *("--seed", "5"),
    )
    assert answer.code == 0, answer.err
    monitor = abers.Monitor(*days["calibration"], alpha=0.2, random_state=5)
    monitor.update(*days["one"])
    state = monitor.update(*days["two"])
    assert facts(answer)["capital_slope"] == state.capital_slope
    assert facts(answer)["limit"] == state.limit


def test_probability_may_fall_with_the_score(folder, run, days):
    start = ("--start", "calibration.csv", "--descending", *COLUMNS)
    answer = run(folder, "monitor", "state.abers", *start, "one.csv", "--json")
    monitor = abers.Monitor(*days["calibration"], increasing=False)
    state = monitor.update(*days["one"])
    assert facts(answer)["capital_labels"] == state.capital_labels


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["nope.abers", "one.csv"], 1, "Begin one with --start CALIBRATION."),
        (["one.csv", "two.csv"], 1, "'one.csv' must be a file that abers has saved"),
        (["state.abers", "--start", "one.csv"], 1, "'state.abers' exists; overwrite"),
        (["state.abers", "one.csv", "--alpha", "0.1"], 2, "--alpha must go with"),
        (["state.abers", "one.csv", "--max-wait", "9"], 2, "--max-wait must go with"),
        (["state.abers", "-"], 2, "new rows must come in files"),
        (["state.abers", "nope.csv"], 1, "No such file or directory: 'nope.csv'"),
        (["state.abers", "bad.csv"], 1, "must not be empty, null or NaN to monitor"),
        (["state.abers", "strange.csv"], 1, "column 'fate' must hold"),
        (["new.abers", "--start", "one-scores.csv", *COLUMNS], 1, "column 'fate'"),
        (["x.abers", "--start", "one.csv", "--alpha", "2", *COLUMNS], 2, "alpha must"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_nothing_changes(
    begun, run, arguments, code, sentence
):
    (begun / "bad.csv").write_text("margin,fate\n1,won\n,won\n")
    (begun / "strange.csv").write_text("margin,fate\n1,won\n2,lost\n3,drawn\n")
    before = {path: path.read_bytes() for path in begun.iterdir()}
    answer = run(begun, "monitor", *arguments)
    assert (answer.code, answer.err.count("\n")) == (code, 1)
    assert sentence in answer.err
    assert {path: path.read_bytes() for path in begun.iterdir()} == before


def test_rows_without_a_score_are_left_out_if_told(begun, run):
    (begun / "bad.csv").write_text("margin,fate\n1,won\n,won\n2,\n")
    answer = run(begun, "monitor", "state.abers", "bad.csv", "--drop-missing", "--json")
    found = facts(answer)
    assert (found["n_missing"], found["n_rows"], found["n_waiting"]) == (1, 2, 1)


def test_a_state_that_another_run_has_written_is_left_alone(begun):
    from abers.errors import InvalidData
    from abers.tables.monitor import MonitorFile, StreamOptions

    path = str(begun / "state.abers")
    first, second = MonitorFile.load(path), MonitorFile.load(path)
    first.follow([str(begun / "one.csv")], StreamOptions())
    second.follow([str(begun / "two.csv")], StreamOptions())
    first.save(force=False)
    with pytest.raises(InvalidData, match="another command has written it"):
        second.save(force=False)
    assert abers.load(path).state.n_rows == 200


def test_without_a_change_the_state_is_not_written_again(begun, run):
    before = (begun / "state.abers").stat()
    assert run(begun, "monitor", "state.abers").code == 0
    after = (begun / "state.abers").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_command_that_is_killed_leaves_the_old_state_or_the_new_one(tmp_path):
    """A sample; `python benchmarks/monitor_kills.py` does it two hundred times."""
    found = monitor_kills.killed(tmp_path, 8, size=500)
    assert found["killed"] == found["old state"] + found["new state"] == 8


def test_labels_that_come_with_their_rows_have_not_waited(folder, run):
    """A file longer than --max-wait loses none of its labels."""
    start = ("--start", "calibration.csv", "--max-wait", "10", *COLUMNS)
    assert run(folder, "monitor", "state.abers", *start).code == 0
    found = facts(run(folder, "monitor", "state.abers", "one.csv", "--json"))
    assert (found["n_dropped"], found["n_labels"]) == (0, 200)


def lacking(folder, name, rows):
    """Write the rows of a day, some without a label."""
    frame = pd.read_csv(folder / f"{name}.csv")
    frame.loc[rows, "fate"] = None
    frame.to_csv(folder / f"{name}-gaps.csv", index=False)
    return f"{name}-gaps.csv"


def test_a_label_that_holds_back_the_others_is_named_on_its_day(begun, run, days):
    name = lacking(begun, "one", [3])
    answer = run(begun, "monitor", "state.abers", name)
    assert answer.code == 4
    shown = " ".join(answer.out.decode().split())
    assert (
        f"Stalled: row 3 of the stream (from 0), with score {days['one'][0][3]}, has "
        "no label and holds back 196 labelled rows; this run could use 3. Pass its "
        "label with Monitor.update_labels in Python; otherwise it is dropped once "
        "10,000 rows have come after it."
    ) in shown
    found = run(begun, "monitor", "state.abers", "two.csv", "--json")
    assert found.code == 4
    assert facts(found)["stalled"] is True
    stall = facts(found)["stall"]
    assert (stall["reason"], stall["row"], stall["n_rows"]) == ("held back", 3, 496)
    assert stall["sentence"].startswith("row 3 of the stream (from 0), with score")
    # Nothing comes, nothing can stall.
    assert run(begun, "monitor", "state.abers").code == 0


def test_rows_without_any_label_do_not_stall(begun, run):
    assert run(begun, "monitor", "state.abers", "one-scores.csv").code == 0


@pytest.mark.parametrize(("place", "code"), [(99, 4), (100, 0)])
def test_fewer_than_half_of_the_labels_used_is_a_stall(begun, run, place, code):
    """Of 199 labels, 99 or 100 come before the one that is missing."""
    name = lacking(begun, "one", [place])
    assert run(begun, "monitor", "state.abers", name).code == code


def test_an_alarm_wins_over_a_stall_and_both_are_told(begun, run):
    name = lacking(begun, "one", [3])
    assert run(begun, "monitor", "state.abers", name).code == 4
    frame = pd.read_csv(begun / "changed.csv")
    frame["margin"] += 5
    frame.to_csv(begun / "moved.csv", index=False)
    answer = run(begun, "monitor", "state.abers", "moved.csv")
    assert answer.code == 3
    assert b"Alarm: new rows" in answer.out
    assert b"Stalled: row 3 of the stream" in answer.out


def test_a_run_that_drops_most_of_its_rows_is_a_stall(folder, run):
    start = ("--start", "calibration.csv", "--max-wait", "50", *COLUMNS)
    assert run(folder, "monitor", "state.abers", *start).code == 0
    answer = run(folder, "monitor", "state.abers", "one-scores.csv")
    assert answer.code == 4
    shown = " ".join(answer.out.decode().split())
    assert (
        "Stalled: 150 rows were dropped, from row 0 of the stream on, because 50 rows "
        "came before their labels did; this run brought 200. Begin a new state with a "
        "larger --max-wait."
    ) in shown


def test_the_command_waits_as_long_as_the_library_by_default(begun):
    waits = abers.load(begun / "state.abers").max_wait
    assert waits == abers.Monitor([1, 2], [0, 1]).max_wait == 10_000
