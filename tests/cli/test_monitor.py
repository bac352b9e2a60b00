"""`abers monitor`: a state on disk, rows and labels in files of their own."""

import html
import json
import shutil
import subprocess
import sys

import monitor_kills
import numpy as np
import pandas as pd
import pytest

import abers
from abers.online.stream_tests import rounded
from page_parser import Page


def draw(rng, n, odds=1.0):
    scores = rng.normal(size=n)
    return scores, (rng.random(n) < odds / (odds + np.exp(-2 * scores))).astype(int)


DAYS = {"calibration": (600, 1), "one": (200, 1), "two": (300, 1), "changed": (600, 5)}
COLUMNS = ("--score", "margin", "--label", "fate", "--pos-label", "won")
START = ("monitor", "state.abers", "--start", "calibration.csv", "--id", "id", *COLUMNS)
GO_ON = ("monitor", "state.abers")


@pytest.fixture(scope="module")
def days():
    rng = np.random.default_rng(3)
    return {name: draw(rng, n, odds) for name, (n, odds) in DAYS.items()}


@pytest.fixture
def folder(tmp_path, days):
    """Write a file with all of each day, one with its rows, and one with its labels."""
    for name, (scores, labels) in days.items():
        ids = [f"{name}-{row}" for row in range(scores.size)]
        frame = pd.DataFrame({"id": ids, "margin": scores})
        frame["fate"] = np.where(labels, "won", "lost")
        frame["region"] = np.where(np.arange(scores.size) % 2, "north", "south")
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        frame.drop(columns="fate").to_csv(tmp_path / f"{name}-rows.csv", index=False)
        frame[["id", "fate"]].to_csv(tmp_path / f"{name}-labels.csv", index=False)
    return tmp_path


@pytest.fixture
def begun(folder, run):
    answer = run(folder, *START)
    assert answer.code == 0, answer.err
    return folder


def follow(folder, run, *arguments, code=0):
    """Run the command, and return what it prints as JSON."""
    answer = run(folder, *GO_ON, *arguments, "--json")
    assert answer.code == code, answer.err
    return json.loads(answer.out)


def capitals(summary):
    (group,) = summary["groups"]
    return [group[f"capital_{test}"] for test in ("scores", "labels", "slope")]


def test_rows_then_labels_in_any_order_and_in_parts_give_what_rows_with_labels_give(
    begun, run
):
    shutil.copy(begun / "state.abers", begun / "other.abers")
    whole = json.loads(
        run(begun, "monitor", "other.abers", "one.csv", "two.csv", "--json").out
    )
    for name in ("one", "two"):
        follow(begun, run, f"{name}-rows.csv")
    labels = pd.concat(
        pd.read_csv(begun / f"{name}-labels.csv") for name in ("one", "two")
    )
    labels = labels.sample(frac=1, random_state=0)
    labels[:260].to_csv(begun / "some.csv", index=False)
    labels[200:].to_csv(begun / "rest.csv", index=False)  # 60 of them again
    some = follow(begun, run, "some.csv")
    assert (some["n_new_labels"], some["n_waiting"] > 0) == (260, True)
    summary = follow(begun, run, "rest.csv")
    assert (summary["n_late_labels"], summary["n_labels"]) == (60, 500)
    assert capitals(summary) == capitals(whole)
    assert [line["kind"] for line in summary["ledger"]] == [
        *("calibration", "rows", "rows", "labels", "labels"),
    ]
    assert summary["schema_version"] == 1


def test_it_tests_as_the_library_does_at_scores_on_a_grid(begun, run, days):
    summary = follow(begun, run, "one.csv", "two.csv")

    def on_grid(name):
        scores, labels = days[name]
        return rounded(scores, 10), labels

    monitor = abers.Monitor(*on_grid("calibration"))
    seeds = np.random.SeedSequence([0, 0]).spawn(2)  # of the first group
    for name, seed in zip(("_for_scores", "_for_labels"), seeds, strict=True):
        setattr(vars(monitor)["_bag"], name, np.random.PCG64(seed))
    for name in ("one", "two"):
        state = monitor.update(*on_grid(name))
    assert capitals(summary) == [
        *(state.capital_scores, state.capital_labels, state.capital_slope)
    ]


def test_labels_may_come_before_their_rows(begun, run):
    early = follow(begun, run, "one-labels.csv")
    assert (early["n_early_labels"], early["n_labels"]) == (200, 0)
    summary = follow(begun, run, "one-rows.csv")
    assert (summary["n_early_labels"], summary["n_labels"]) == (0, 200)


def test_an_alarm_is_exit_code_3_and_says_what_since_when_and_how_much(begun, run):
    answer = run(begun, *GO_ON, "one.csv", "changed.csv")
    assert answer.code == 3
    shown = " ".join(answer.out.decode().split())
    sentence = (
        "Alarm: positives are more frequent at the same score, so probabilities are "
        "too low. Raised in"
    )
    assert sentence in shown
    assert "'changed.csv'" in shown
    summary = follow(begun, run, code=3)
    alarm = next(one for one in summary["alarms"] if one["test"] == "labels")
    assert alarm["file"] == "changed.csv"
    assert abs(alarm["since_row"] - 200) < 100  # the rows of the first day
    assert alarm["sentence"] in shown
    assert follow(begun, run, "two.csv", code=3)["alarms"][0] == summary["alarms"][0]


def test_the_page_says_what_since_when_and_what_to_do_and_lists_the_files(begun, run):
    follow(begun, run, "one.csv")
    follow(begun, run, "changed-rows.csv", code=4)  # labels are due
    summary = follow(begun, run, "changed-labels.csv", "--html", "page.html", code=3)
    assert summary["page"] == "page.html"
    text = (begun / "page.html").read_text()
    page, shown = Page(text), html.unescape(text)
    assert page.headings == [
        "Monitor",
        "Capital of the tests",
        "Files",
        "Data and versions",
    ]
    assert all(f"Alarm: {alarm['sentence']}" in shown for alarm in summary["alarms"])
    assert "What to do: find out what has changed." in shown
    place = next(i for i, row in enumerate(page.rows) if row[0] == "file")
    for row, (number, line) in zip(
        page.rows[place + 1 :], list(enumerate(summary["ledger"], 1))[::-1], strict=True
    ):
        counts = [line["kind"], str(line["n_rows"]), str(line["n_used"])]
        if line["kind"] == "calibration":
            counts[1:] = "-", "-"
        logs = [logs[0] for logs in line["log_capital"].values()]
        assert row[:5] == [f"{number}. {line['file']}", line["date"], *counts]
        assert row[5:8] == [f"{np.exp(log):,.3g}" for log in logs]
    lines = [row for row in page.rows[place + 1 :] if len(row) == 9]
    notes = {row[0].split(". ")[1]: row[8] for row in lines}
    alarm = next(one for one in summary["alarms"] if one["test"] == "labels")
    assert "alarm: labels" in notes["changed-labels.csv"]  # not where its rows came
    assert "began: labels (an estimate)" in notes[alarm["since_file"]]
    answer = run(begun, *GO_ON, "--html", "page.html")
    assert (answer.code, "'page.html' exists; overwrite" in answer.err) == (1, True)


def test_the_page_of_a_stall_says_what_is_missing(folder, run):
    assert run(folder, *START, "--by", "region").code == 0
    arguments = (
        lacking(folder, "one", [3, 4]),
        "--html",
        "page.html",
        "--title",
        "A<B",
    )
    summary = follow(folder, run, *arguments, code=4)
    text = (folder / "page.html").read_text()
    assert f"Stalled: {summary['stall']['sentence']}" in html.unescape(text)
    assert "<h1>A&lt;B</h1>" in text
    assert "No alarm, but the tests of labels stall" in text
    heads = [row[0] for row in Page(text).rows]
    assert [head for head in heads if head.endswith(": scores")] == [
        f"{group}: scores" for group in _by_capital(summary["groups"])
    ]


def _by_capital(groups):
    def largest(group):
        return max(group[f"capital_{test}"] for test in ("scores", "labels", "slope"))

    return [group["group"] for group in sorted(groups, key=largest, reverse=True)]


def test_files_that_were_read_are_skipped_whatever_their_names(begun, run):
    follow(begun, run, "one.csv")
    before = (begun / "state.abers").read_bytes()
    shutil.copy(begun / "one.csv", begun / "copy.csv")
    summary = follow(begun, run, "one.csv", "copy.csv", "calibration.csv")
    assert summary["files_skipped"] == ["one.csv", "copy.csv", "calibration.csv"]
    assert (begun / "state.abers").read_bytes() == before
    summary = follow(begun, run, "one*.csv", "two.csv", code=1)
    # one-labels.csv brings what is known, one-rows.csv rows that are.
    assert summary["files_read"] == ["one-labels.csv", "two.csv"]
    assert [each["file"] for each in summary["files_refused"]] == ["one-rows.csv"]


def test_a_day_that_is_exported_again_is_refused_as_a_whole(begun, run):
    follow(begun, run, "one.csv", "two.csv")
    frame = pd.read_csv(begun / "one.csv")
    frame.iloc[::-1].to_csv(begun / "again.csv", index=False)
    before = (begun / "state.abers").read_bytes()
    answer = run(begun, *GO_ON, "again.csv")
    assert (answer.code, answer.out) == (1, b"")
    assert answer.err == (
        "abers: 'again.csv' must hold new rows; 200 of its 200 ids came before, the "
        "first of them 'one-199' in 'one.csv'. None of its rows was taken. To bring "
        "labels, give a file with ids and labels, but no scores.\n"
    )
    assert (begun / "state.abers").read_bytes() == before


def test_an_empty_day_is_fine(begun, run):
    (begun / "empty.csv").write_text("id,margin,region\n")
    summary = follow(begun, run, "empty.csv")
    assert (summary["n_new_rows"], summary["n_files"]) == (0, 2)


def lacking(folder, name, rows):
    """Write the rows of a day, some without a label."""
    frame = pd.read_csv(folder / f"{name}.csv")
    frame.loc[rows, "fate"] = None
    frame.to_csv(folder / f"{name}-gaps.csv", index=False)
    return f"{name}-gaps.csv"


def test_a_label_that_holds_back_the_others_is_named_until_it_comes(begun, run):
    name = lacking(begun, "one", [3])
    summary = follow(begun, run, name, code=4)
    assert (summary["stall"]["reason"], summary["stall"]["id"]) == (
        "held back",
        "one-3",
    )
    assert summary["stall"]["sentence"].startswith(
        "the label of 'one-3' of 'one-gaps.csv' ("
    )
    # It stays so while nothing comes, and when more of the same does.
    assert follow(begun, run, code=4)["stall"] == summary["stall"]
    assert follow(begun, run, "two.csv", code=4)["stall"]["n_rows"] == 496
    (begun / "late.csv").write_text("id,fate\none-3,won\n")
    summary = follow(begun, run, "late.csv")
    assert (summary["stall"], summary["n_labels"]) == (None, 500)


def test_a_smaller_wait_drops_the_row_that_holds_back_the_others(begun, run):
    follow(begun, run, lacking(begun, "one", [3]), code=4)
    summary = follow(begun, run, "--max-wait", "100")
    assert (summary["n_labels"], summary["n_dropped"], summary["max_wait"]) == (
        199,
        1,
        100,
    )
    (begun / "late.csv").write_text("id,fate\none-3,won\n")
    assert follow(begun, run, "late.csv")["n_late_labels"] == 1


def test_labels_that_cease_are_a_stall(begun, run):
    for name in ("one", "two"):
        follow(begun, run, f"{name}-rows.csv")
        follow(begun, run, f"{name}-labels.csv")
    rng = np.random.default_rng(0)
    codes = []
    for day in range(6):
        scores, _ = draw(rng, 300)
        frame = pd.DataFrame({"id": [f"{day}:{row}" for row in range(300)]})
        frame.assign(margin=scores).to_csv(begun / f"{day}.csv", index=False)
        codes.append(run(begun, *GO_ON, f"{day}.csv").code)
    assert codes == [0, 0, 0, 4, 4, 4]  # usual were less than 512 rows; twice that
    assert follow(begun, run, code=4)["stall"]["reason"] == "no labels"


def test_a_run_that_drops_most_of_its_rows_is_a_stall(folder, run):
    assert run(folder, *START, "--max-wait", "50").code == 0
    summary = follow(folder, run, "one-rows.csv", code=4)
    assert (summary["stall"]["reason"], summary["n_dropped"]) == ("dropped", 150)
    assert summary["stall"]["id"] == "one-0"


def test_labels_that_come_with_their_rows_have_not_waited(folder, run):
    assert run(folder, *START, "--max-wait", "10").code == 0
    summary = follow(folder, run, "one.csv")
    assert (summary["n_dropped"], summary["n_labels"]) == (0, 200)


def test_labels_that_never_come_are_a_stall_once_rows_of_two_files_wait(folder, run):
    assert run(folder, *START, "--max-wait", "2000").code == 0
    follow(folder, run, "one-rows.csv")  # their labels may take a while
    summary = follow(folder, run, "two-rows.csv", code=4)
    assert (summary["stall"]["reason"], summary["stall"]["id"]) == (
        "no label yet",
        "one-0",
    )
    assert "no label has come so far, and 500 rows wait" in summary["stall"]["sentence"]
    assert follow(folder, run, code=4)["stall"] == summary["stall"]
    assert follow(folder, run, "one-labels.csv")["stall"] is None


def test_labels_that_never_come_are_a_stall_in_one_run_and_in_one_file(folder, run):
    assert run(folder, *START, "--max-wait", "150").code == 0
    shutil.copy(folder / "state.abers", folder / "other.abers")
    summary = follow(folder, run, "one-rows.csv", code=4)  # 50 of 200 rows were dropped
    assert (summary["stall"]["reason"], summary["n_dropped"]) == ("dropped", 50)
    run(folder, "monitor", "other.abers", "--max-wait", "2000")
    answer = run(folder, "monitor", "other.abers", "one-rows.csv", "two-rows.csv")
    assert answer.code == 4
    assert b"Stalled: no label has come so far" in answer.out


def test_without_ids_rows_without_labels_are_a_stall(folder, run):
    start = [each for each in START if each not in ("--id", "id")]
    assert run(folder, *start).code == 0
    summary = follow(folder, run, "one-rows.csv", code=4)
    assert "was begun without --id" in summary["stall"]["sentence"]
    assert follow(folder, run, "two.csv")["stall"] is None
    assert follow(folder, run, "changed-rows.csv", code=4)["stalled"]


def test_groups_share_the_level(folder, run):
    answer = run(folder, *START, "--by", "region")
    assert answer.code == 0, answer.err
    summary = follow(folder, run, "one.csv")
    assert summary["limit"] == 600
    assert [group["group"] for group in summary["groups"]] == ["north", "south"]
    assert sum(group["n_rows"] for group in summary["groups"]) == 200
    frame = pd.read_csv(folder / "two.csv")
    frame["region"] = "west"
    frame.to_csv(folder / "west.csv", index=False)
    summary = follow(folder, run, "west.csv")
    assert (summary["n_other_groups"], summary["n_new_rows"]) == (300, 0)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["nope.abers", "one.csv"], 1, "Begin one with --start CALIBRATION."),
        (["one.csv", "two.csv"], 1, "'one.csv' must be a file that abers has saved"),
        (["state.abers", "--start", "one.csv"], 1, "'state.abers' exists; overwrite"),
        (["state.abers", "one.csv", "--alpha", "0.1"], 2, "--alpha must go with"),
        (["state.abers", "one.csv", "--by", "region"], 2, "--by must go with"),
        (["state.abers", "-"], 2, "new rows must come in files"),
        (["state.abers", "nope.csv"], 1, "No such file or directory: 'nope.csv'"),
        (["state.abers", "bad.csv"], 1, "must not be empty, null or NaN to monitor"),
        (["state.abers", "twice.csv"], 1, "'a' is there twice"),
        (["state.abers", "anonymous.csv"], 1, "must have the column 'id'"),
        (["new.abers", "--start", "one-rows.csv", *COLUMNS], 1, "column 'fate'"),
        (["x.abers", "--start", "one.csv", "--alpha", "2", *COLUMNS], 2, "alpha must"),
    ],
)
def test_what_is_wrong_is_one_sentence_and_nothing_changes(
    begun, run, arguments, code, sentence
):
    (begun / "bad.csv").write_text("id,margin,fate\na,1,won\nb,,won\n")
    (begun / "twice.csv").write_text("id,margin,fate\na,1,won\na,2,lost\n")
    (begun / "anonymous.csv").write_text("margin,fate\n1,won\n")

    def contents():
        return {
            path: path.read_bytes()
            for path in begun.iterdir()
            if path.suffix != ".lock"
        }

    before = contents()
    answer = run(begun, "monitor", *arguments)
    assert (answer.code, answer.err.count("\n")) == (code, 1)
    assert sentence in answer.err
    assert contents() == before


def protected(folder, name):
    return pd.read_csv(folder / name)["protected"].to_numpy()


def test_protected_probabilities_are_those_of_the_library(begun, run, days):
    """Rows of two files, their labels in other files, some of them never."""
    rule = abers.fit_rule(*days["calibration"])
    expected = abers.Protected(rule)
    for name in ("one", "changed"):
        scores, labels = days[name]
        ids = [f"{name}-{row}" for row in range(scores.size)]
        out = f"{name}-out.csv"
        code = 4 if name == "changed" else 0  # ten labels of the first file are missing
        summary = follow(begun, run, f"{name}-rows.csv", "--protect", out, code=code)
        assert summary["protected_file"] == out
        written = pd.read_csv(begun / out)
        assert written.columns.tolist() == ["id", "protected"]
        assert written["id"].tolist() == ids
        issued = expected.predict(scores, ids)
        assert written["protected"].tolist() == issued.tolist()
        order = np.random.default_rng(0).permutation(scores.size)[:190]
        frame = pd.read_csv(begun / f"{name}-labels.csv").iloc[order]
        frame.to_csv(begun / "some.csv", index=False)
        run(begun, *GO_ON, "some.csv")
        expected.update(scores[order], labels[order], [ids[row] for row in order])
        state = abers.load(begun / "state.abers").protected
        assert (state.excess, state.account) == (expected.excess, expected.account)
        assert state.n_waiting == expected.n_waiting
    assert summary["protected"]["n_rows"] == 800
    answer = run(begun, *GO_ON, "--max-wait", "10")  # all but ten leave the account
    assert "The protected probabilities have cost" in " ".join(
        answer.out.decode().split()
    )
    state = abers.load(begun / "state.abers")
    waits = state.waiting.labels == -1
    assert 0 < state.protected.n_waiting == waits.sum() <= 10


def test_labels_in_the_file_of_their_rows_protect_without_ids(folder, run, days):
    start = [each for each in START if each not in ("--id", "id")]
    answer = run(folder, *start, "one.csv", "--protect", "out.csv")
    assert answer.code == 0, answer.err
    scores, labels = days["one"]
    expected = abers.Protected(abers.fit_rule(*days["calibration"]))
    written = pd.read_csv(folder / "out.csv")
    assert written.columns.tolist() == ["margin", "protected"]
    assert written["protected"].tolist() == expected.predict(scores).tolist()
    expected.update(scores, labels)
    run(folder, *GO_ON, lacking(folder, "two", [7]), "--protect", "two.parquet")
    scores = days["two"][0]
    second = pd.read_parquet(folder / "two.parquet")["protected"]
    assert second.tolist() == expected.predict(scores).tolist()
    assert abers.load(folder / "state.abers").protected.n_waiting == 0


def test_what_was_issued_is_not_overwritten_by_a_run_without_new_rows(begun, run):
    protect = ("--protect", "out.csv")
    follow(begun, run, "one-rows.csv", *protect)
    before = (begun / "out.csv").read_bytes()
    summary = follow(begun, run, "one-rows.csv", *protect, "--force")
    assert (summary["files_skipped"], summary["protected_file"]) == (
        ["one-rows.csv"],
        None,
    )
    assert (begun / "out.csv").read_bytes() == before
    (begun / "empty.csv").write_text("id,margin,region\n")
    follow(begun, run, "empty.csv", *protect, "--force")
    assert (begun / "out.csv").read_text() == "id,protected\n"


def test_a_run_that_could_not_save_its_state_issues_the_same_again(begun, run):
    shutil.copy(begun / "state.abers", begun / "kept.abers")
    follow(begun, run, "one-rows.csv", "--protect", "out.csv")
    shutil.copy(begun / "kept.abers", begun / "state.abers")  # as after a kill
    before = protected(begun, "out.csv")
    follow(begun, run, "one-rows.csv", "--protect", "out.csv", "--force")
    assert protected(begun, "out.csv").tolist() == before.tolist()


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["one.csv", "--protect", "-"], 2, "--protect must name a file; got '-'"),
        (["--protect", "out.csv"], 2, "must go with files of rows; got none"),
        (["one.csv", "--protect", "two.csv"], 1, "'two.csv' exists; overwrite"),
        (["one.csv", "--protect", "one.csv", "--force"], 1, "must not be what is read"),
    ],
)
def test_where_protected_probabilities_cannot_go(begun, run, arguments, code, sentence):
    before = (begun / "state.abers").read_bytes()
    answer = run(begun, *GO_ON, *arguments)
    assert (answer.code, sentence in answer.err) == (code, True), answer.err
    assert (begun / "state.abers").read_bytes() == before


def test_groups_are_not_protected(folder, run):
    assert run(folder, *START, "--by", "region").code == 0
    answer = run(folder, *GO_ON, "one.csv", "--protect", "out.csv")
    assert answer.code == 2
    assert "a state with --by must be followed" in answer.err
    assert not (folder / "out.csv").exists()


def test_rows_without_a_score_are_left_out_if_told(begun, run):
    (begun / "bad.csv").write_text("id,margin,fate\na,1,won\nb,,won\nc,2,\n")
    summary = follow(begun, run, "bad.csv", "--drop-missing")
    assert (summary["n_missing"], summary["n_rows"], summary["n_waiting"]) == (1, 2, 1)


def test_two_commands_at_once_lose_nothing(begun):
    command = [sys.executable, "-m", "abers.cli", *GO_ON]
    both = [
        subprocess.Popen(
            [*command, f"{name}.csv"], cwd=begun, stdout=subprocess.DEVNULL
        )
        for name in ("one", "two")
    ]
    assert [process.wait() for process in both] == [0, 0]
    monitor = abers.load(begun / "state.abers")
    assert monitor.n_rows == 500
    assert {line.file.name for line in monitor.ledger[1:]} == {"one.csv", "two.csv"}


def test_without_a_change_the_state_is_not_written_again(begun, run):
    before = (begun / "state.abers").stat()
    assert run(begun, *GO_ON).code == 0
    after = (begun / "state.abers").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_command_that_is_killed_leaves_the_old_state_or_the_new_one(tmp_path):
    """A sample; `python benchmarks/monitor_kills.py` does it two hundred times."""
    counts = monitor_kills.killed(tmp_path, 8, size=500)
    assert counts["killed"] == counts["old state"] + counts["new state"] == 8
