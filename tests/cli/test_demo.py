"""`abers demo` shows a newcomer what the commands do, and leaves what they made."""

import csv
import re
import shlex
import signal
import subprocess

import numpy as np
import pytest

import abers
from abers.cli.demo import scored_digits

TABLES = {"calibration.csv", "recent.csv", "new.csv", "pale.csv"}


class Shown:
    """What a demo in an empty folder printed."""

    def __init__(self, folder, answer):
        self.folder = folder / "demo-abers"
        self.code, self.err = answer.code, answer.err
        self.text = answer.out.decode()
        self.commands = re.findall(r"^\$ (abers .*)$", self.text, re.MULTILINE)


@pytest.fixture(scope="module")
def shown(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return Shown(folder, run(folder, "demo"))


def test_all_goes_well_and_in_one_stream(shown):
    assert shown.code == 0, shown.text
    assert shown.err == ""
    assert "warning" not in shown.text


def test_it_leaves_tables_rule_answers_and_page(shown):
    made = {"rule.abers", "out.csv", "demo-report.html"}
    assert {path.name for path in shown.folder.iterdir()} == TABLES | made
    assert "demo-abers/demo-report.html" in shown.text


def test_it_runs_and_prints_every_command(shown):
    verbs = [shlex.split(command)[1] for command in shown.commands]
    assert verbs == ["fit", "predict", "check", "check", "evaluate", "compare"]


def test_its_commands_can_be_repeated(shown, run, tmp_path):
    assert run(tmp_path, "demo", "--files", "--folder", ".").code == 0
    for command in shown.commands[:2]:
        assert run(tmp_path, *shlex.split(command)[1:]).code == 0
    for name in (*TABLES, "rule.abers", "out.csv"):
        assert (tmp_path / name).read_bytes() == (shown.folder / name).read_bytes()


def test_the_failing_check_tells_its_code(shown):
    assert "\n$ echo $?\n3\n" in shown.text


def test_the_table_of_methods_is_shown(shown):
    for method in ("uncalibrated", "isotonic", "IVAP", "stacked"):
        assert method in shown.text


def test_the_scores_are_wrong_and_the_rule_mends_them():
    tables = scored_digits()
    calibration, recent = tables["calibration"], tables["recent"]
    rule = abers.fit_rule(calibration.scores, calibration.labels)
    evaluation = abers.evaluate(rule, recent.scores, recent.labels)
    assert evaluation.losses.log.after < 0.5 * evaluation.losses.log.before
    assert evaluation.losses.log.difference < -3 * evaluation.losses.log.standard_error
    assert not evaluation.in_sample
    assert np.isfinite(evaluation.losses.log.before)


def test_no_image_is_in_two_tables(shown):
    images = []
    for name in ("calibration.csv", "recent.csv", "new.csv"):
        with (shown.folder / name).open() as file:
            images += [row["image"] for row in csv.DictReader(file)]
    assert len(set(images)) == len(images) == 1400


def test_labels_of_new_images_are_withheld(shown):
    header = (shown.folder / "new.csv").read_text().splitlines()[0]
    assert header == "image,ink,score"


def test_nothing_is_overwritten_without_force(run, tmp_path):
    for name, options in (("new.csv", ["--files"]), ("out.csv", [])):
        mine = tmp_path / name.partition(".")[0] / name
        mine.parent.mkdir()
        mine.write_text("mine")
        answer = run(tmp_path, "demo", *options, "--folder", mine.parent.name)
        assert answer.code == 1
        assert answer.err == (
            f"abers: '{mine.relative_to(tmp_path)}' exists; overwrite it with --force, "
            "or choose another folder with --folder.\n"
        )
        assert [path.name for path in mine.parent.iterdir()] == [name]
        assert mine.read_text() == "mine"


def test_force_with_files_replaces_the_tables_alone(run, tmp_path):
    """A rule and predictions of the user's own have the names that the demo uses."""
    mine = ("rule.abers", "out.csv", "demo-report.html", "thesis.csv")
    for name in (*mine, *TABLES):
        (tmp_path / name).write_text("mine")
    assert run(tmp_path, "demo", "--files", "--folder", ".").code == 1
    assert run(tmp_path, "demo", "--files", "--folder", ".", "--force").code == 0
    assert {(tmp_path / name).read_text() for name in mine} == {"mine"}
    assert all((tmp_path / name).stat().st_size > 1000 for name in TABLES)


def test_files_are_written_beside_what_the_commands_have_made(run, tmp_path):
    (tmp_path / "rule.abers").write_text("mine")
    assert run(tmp_path, "demo", "--files", "--folder", ".").code == 0
    assert (tmp_path / "rule.abers").read_text() == "mine"


def test_force_replaces_what_the_demo_writes_and_prints_what_it_runs(run, tmp_path):
    """What exists is replaced by the command that makes it, not removed before."""
    for name in ("rule.abers", "thesis.csv"):
        (tmp_path / name).write_text("mine")
    answer = run(tmp_path, "demo", "--folder", ".", "--force")
    assert answer.code == 0
    assert b"rule.abers --method venn-abers --force\n" in answer.out
    assert b"predict rule.abers new.csv -o out.csv\n" in answer.out
    assert (tmp_path / "thesis.csv").read_text() == "mine"
    assert abers.load(tmp_path / "rule.abers").n_rows == 800


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_stopped_says_where_its_files_are(command, tmp_path, number):
    with subprocess.Popen(
        [command, "demo"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.readline()
        process.send_signal(number)
        shown = process.communicate()[1]
    assert process.returncode == 128 + number
    assert shown.endswith("abers: stopped; what is done so far is in demo-abers.\n")


def test_if_the_command_is_not_on_the_path_it_says_where_it_is(command, tmp_path):
    """Stopped after its first lines: nobody reads on."""
    with subprocess.Popen(
        [command, "demo", "--folder", "my demo"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        typed = [
            line
            for line in (process.stdout.readline() for _ in range(6))
            if "$" in line
        ]
        process.terminate()
    assert typed[:2] == [f"$ alias abers={command}\n", "$ cd 'my demo'\n"]
