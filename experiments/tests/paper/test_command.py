"""The command: the miniature against golden numbers, and how it ends."""

import csv
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest

from experiments.paper.run import MINIATURE

ROOT = Path(__file__).parents[3]
COMMAND = (sys.executable, "-m", "experiments.paper")
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "ABERS_DATA"} | {
    "PYTHONPATH": str(ROOT)
}
GOLDEN = Path(__file__).parents[1] / "golden" / "miniature.csv"
NAMES = ("data", "algorithm", "ratio", "method", "merging", "setting")


class Answer(NamedTuple):
    code: int
    out: str
    said: str  # to standard error


def run(folder, *arguments):
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        check=False,
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def miniature(tmp_path_factory, data_folder):
    """A run of the miniature: two sets, two algorithms, every study in small."""
    folder = tmp_path_factory.mktemp("miniature")
    options = ("--data", Path(data_folder).resolve(), "--plan", "miniature")
    return folder, options, run(folder, *options, "-o", "out")


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_numbers_of_the_command_are_the_golden_ones(miniature):
    """Written by golden.py; optimisers of other machines stop a little elsewhere."""
    folder, _, answer = miniature
    assert answer.code == 0, answer.said
    found, expected = read(folder / "out" / "results.csv"), read(GOLDEN)
    assert len(found) == len(expected)
    for line, golden in zip(found, expected, strict=True):
        names = {name: golden[name] for name in NAMES}
        assert {name: line[name] for name in NAMES} == names
        for loss in ("log_loss", "brier_loss"):
            assert float(line[loss]) == pytest.approx(
                float(golden[loss]), abs=5e-4, nan_ok=True
            ), names


def test_every_number_is_said_to_be_of_the_installed_version(miniature):
    folder, _, _ = miniature
    engines = {line["engine"] for line in read(folder / "out" / "results.csv")}
    assert engines == {f"scikit-learn {version('scikit-learn')}"}


def test_all_files_are_there(miniature):
    folder, _, _ = miniature
    names = {path.name for path in (folder / "out").iterdir()}
    assert names == {
        "claims.csv", "figures", "many-classes.csv", "paper.html", "results.csv",
        "sigmoid.csv", "standard-errors.csv", "studies.jsonl", "table-1.csv",
        "table-2.csv", "time.csv", "tiny-sets.csv", "tuning.csv", "units.jsonl",
        "validity.csv", "width.csv",
    }  # fmt: skip
    drawn = {path.name for path in (folder / "out" / "figures").iterdir()}
    assert {"german-log.svg", "german-brier-dark.svg", "calibration.svg"} <= drawn
    assert (folder / "out" / "paper.html").stat().st_size < 3_000_000


def test_columns_of_validity_are_what_their_names_say(miniature):
    folder, _, _ = miniature
    lines = read(folder / "out" / "validity.csv")
    drawn = {}
    for line in lines:
        level, mean, count, z = (
            float(line[name]) for name in ("level", "mean_label", "count", "z")
        )
        assert 0 <= level <= 1
        if 0 < level < 1:
            # A group has several levels, which scatter less than their mean would.
            at_least = (mean - level) / (level * (1 - level) / count) ** 0.5
            assert abs(z) >= abs(at_least) * (1 - 1e-9)
            assert z == pytest.approx(at_least, rel=0.1, abs=1e-9)
        place = line["how"], line["k"], line["draws"]
        drawn[place] = drawn.get(place, 0) + int(count)
    assert {how for how, _, _ in drawn} >= {"exchangeable", "stratified split"}
    for (how, k, draws), count in drawn.items():
        assert k in {"20", "100"}
        assert count == int(draws) == (400 if how.startswith("setting") else 2_000)


def flat(text):
    """Lines may be broken anywhere between words."""
    return " ".join(text.split())


def test_claims_are_printed_with_verdict_and_evidence(miniature):
    folder, _, answer = miniature
    printed = flat(answer.out)
    for claim in read(folder / "out" / "claims.csv"):
        line = f"{claim['verdict']} {claim['says']} {claim['evidence']}"
        assert flat(line) in printed
    assert "Tables 1 and 2 were not run." in printed


def test_every_unit_and_study_is_a_line_of_progress(miniature):
    """In a file, too: a run of hours must show where it is."""
    _, _, answer = miniature
    *lines, last = answer.said.splitlines()
    n = len(MINIATURE.units)
    for number, line in enumerate(lines[:n], start=1):
        assert line.startswith(f"unit {number} of {n}: ")
        assert line.endswith(" s")
    named = {line.split(": ")[1] for line in lines[:n]}
    assert named == {f"{u.data}, {u.algorithm}, {u.ratio}" for u in MINIATURE.units}
    assert [line.split(": ")[0] for line in lines[n:]] == [
        f"study {number} of 9" for number in range(1, 10)
    ]
    assert last.startswith("Written to out in ")
    assert last.endswith("paper.html.")


def test_a_finished_run_is_not_run_again(miniature):
    folder, options, first = miniature
    before = kept(folder)
    again = run(folder, *options, "-o", "out")
    assert again.out == first.out
    assert kept(folder) == before


def kept(folder):
    names = ("units.jsonl", "studies.jsonl", "results.csv")
    return {name: (folder / "out" / name).read_bytes() for name in names}


def test_nothing_is_forgotten_if_the_data_are_not_there(miniature):
    folder, _, _ = miniature
    before = kept(folder)
    options = ("--plan", "miniature", "-o", "out", "--force")
    answer = run(folder, "--data", "/a/typo", *options)
    assert answer.code == 1
    assert "'/a/typo' is no folder." in flat(answer.said)
    assert kept(folder) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_says_what_is_kept_and_goes_on(
    miniature, tmp_path, number
):
    folder, options, _ = miniature
    options = (*options, "--sets", "german", "-o", "out")
    units = tmp_path / "out" / "units.jsonl"
    process = subprocess.Popen(
        [*COMMAND, *map(str, options)],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and not (units.exists() and units.stat().st_size):
        time.sleep(0.02)
    process.send_signal(number)
    out, said = process.communicate()
    assert process.returncode == 128 + number
    assert out == ""
    assert said.splitlines()[-1] == (
        "stopped; finished work is kept in out; run the same command to resume."
    )
    done = units.read_bytes()
    assert run(tmp_path, *options).code == 0
    assert units.read_bytes().startswith(done)
    of_german = [
        line
        for line in read(folder / "out" / "results.csv")
        if line["data"] == "german"
    ]
    again = read(tmp_path / "out" / "results.csv")
    assert [line["log_loss"] for line in again] == [x["log_loss"] for x in of_german]


def test_tables_are_printed_as_paper_ours_and_difference(tmp_path, data_folder):
    data = Path(data_folder).resolve()
    options = ("--plan", "tables", "--algorithms", "naive Bayes", "-o", "out")
    answer = run(tmp_path, "--data", data, *options)
    assert answer.code == 0, answer.said
    lines = [line.split() for line in answer.out.splitlines()]
    start = next(i for i, line in enumerate(lines) if line[:2] == ["naive", "Bayes"])
    assert lines[start] == [
        "naive",
        "Bayes",
        "paper",
        "0.5534",
        "∞",
        "0.4839",
        "0.4747",
    ]
    assert lines[start + 1][0] == "ours"
    platt, isotonic, ivap, _ = lines[start + 2][1:]
    assert isotonic == "same"  # infinite in both
    assert platt == "+0.0379"
    assert float(ivap) == pytest.approx(float(lines[start + 1][3]) - 0.4839, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--sets", "titanic"), "sets must be among adult,"),
        (("--algorithms", "tree,oracle"), "got 'oracle'"),
        (("--plan", "slow"), "argument --plan: invalid choice: 'slow'"),
        (("--jobs", "0"), "argument --jobs: must be a whole number of at least 1"),
    ],
)
def test_wrong_use_is_one_sentence_and_code_2(tmp_path, arguments, words):
    answer = run(tmp_path, "--data", "nowhere", "-o", "out", *arguments)
    assert answer.code == 2
    assert words in flat(answer.said)
    assert not (tmp_path / "out").exists()


def test_without_a_folder_of_data_the_option_is_asked_for(tmp_path):
    answer = run(tmp_path)
    assert answer.code == 2
    assert "--data" in answer.said


def test_missing_data_are_one_sentence_that_says_where_to_get_them(tmp_path):
    (tmp_path / "data").mkdir()
    answer = run(tmp_path, "--data", "data", "-o", "out", "--plan", "miniature")
    assert answer.code == 1
    said = flat(answer.said)
    assert said.startswith("the data sets must be there")
    for number in (94, 144):  # spambase and german
        assert f"archive.ics.uci.edu/dataset/{number}" in said
    assert "Traceback" not in said
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_not_written_to(tmp_path, data_folder):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    data = Path(data_folder).resolve()
    answer = run(tmp_path, "--data", data, "-o", "out", "--plan", "miniature")
    assert answer.code == 1
    assert "pass --force" in flat(answer.said)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["notes.txt"]
