"""Whatever goes wrong is one line, and leaves files as they were."""

import os
import resource
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import abers

OLD = b"precious"
UNNAMED_COLUMNS = (
    "abers: the columns of scores must be named with --scores: 2 of them, those of the "
    "first model first; the file of the calibrator has no names.\n"
)

# Arguments, exit code, message. 1 failed, 2 wrong use.
CASES = {
    "no output": (("fit", "scores.csv"), 2, "Missing option '--output'"),
    "no such option": (("fit", "scores.csv", "--sorce", "s"), 2, "No such option"),
    "no such command": (("fitt", "scores.csv"), 2, "No such command 'fitt'"),
    "no such file": (
        ("fit", "none.csv", "-o", "r"),
        1,
        "No such file or directory: 'no",
    ),
    "no such column": (
        ("fit", "scores.csv", "-o", "r", "--score", "z"),
        1,
        "its columns are 'score', 'label', 'region'",
    ),
    "text in the score column": (
        ("fit", "scores.csv", "-o", "r", "--score", "region"),
        1,
        "'region' must hold numbers; got",
    ),
    "no score column": (("fit", "new.csv", "-o", "r"), 1, "one column of labels; none"),
    "an empty file": (("fit", "empty.csv", "-o", "r"), 1, "it is empty"),
    "missing scores": (
        ("fit", "gaps.csv", "-o", "r"),
        1,
        "it is in 2 of 3 rows, first in row 1 of 'gaps.csv'",
    ),
    "an existing output": (("fit", "scores.csv", "-o", "old"), 1, "--force"),
    "an output that is an input": (
        ("predict", "rule.abers", "new.csv", "-o", "new.csv", "--force"),
        1,
        "must not be what is read",
    ),
    "no folder for a rule": (
        ("fit", "scores.csv", "-o", "nodir/r"),
        1,
        "abers: the folder 'nodir' must exist to write 'nodir/r'; make it first.\n",
    ),
    "no folder for a table": (
        ("predict", "rule.abers", "new.csv", "-o", "nodir/r"),
        1,
        "the folder 'nodir' must exist to write 'nodir/r'; make it first.",
    ),
    "no folder for a page": (
        ("evaluate", "rule.abers", "scores.csv", "--html", "a/b/page.html"),
        1,
        "the folder 'a/b' must exist to write 'a/b/page.html'; make it first.",
    ),
    "no folder for a page of methods": (
        ("compare", "scores.csv", "--html", "nodir/page.html"),
        1,
        "the folder 'nodir' must exist to write 'nodir/page.html'; make it first.",
    ),
    "the name of a pipe": (
        ("fit", "scores.csv", "-o", "/dev/stdout"),
        1,
        "'/dev/stdout' must be a file; it is a pipe. For standard output, say '-'.",
    ),
    "a spreadsheet": (
        ("predict", "rule.abers", "new.csv", "-o", "out.xlsx"),
        2,
        ".tsv, .parquet, .arrow or .jsonl, and of a compression .gz or .zst; got '.xls",
    ),
    "a rule instead of a table": (
        ("predict", "rule.abers", "rule.abers"),
        1,
        "'rule.abers' must be a table; it is a rule or a diagram",
    ),
    "a pooled rule instead of a table": (
        ("compare", "pooled.abers"),
        1,
        "'pooled.abers' must be a table; it is a rule or a diagram",
    ),
    "a pooled rule to fit": (
        ("fit", "pooled.abers", "-o", "r"),
        1,
        "'pooled.abers' must be a table or a diagram; it is a pooled rule",
    ),
    "a pooled rule to predict with": (
        ("predict", "pooled.abers", "new.csv", "-o", "r"),
        2,
        UNNAMED_COLUMNS,
    ),
    "a pooled rule to evaluate": (
        ("evaluate", "pooled.abers", "scores.csv"),
        2,
        UNNAMED_COLUMNS,
    ),
    "a pooled rule to check": (
        ("check", "pooled.abers", "scores.csv"),
        2,
        UNNAMED_COLUMNS,
    ),
    "the steps of a pooled rule": (
        ("inspect", "pooled.abers", "--steps"),
        2,
        "--steps must go with a rule or a rule set; 'pooled.abers' is a pooled rule.",
    ),
    "the steps of a diagram": (
        ("inspect", "diagram.abers", "--steps"),
        2,
        "--steps must go with a rule or a rule set; 'diagram.abers' is a diagram.",
    ),
    "the steps of a pooled rule as JSON": (
        ("inspect", "pooled.abers", "--steps", "--json"),
        2,
        "--steps must go with a rule or a rule set;",
    ),
    "a device": (("fit", "scores.csv", "-o", "/dev/full"), 1, "folder or a device"),
    "no memory": (
        ("fit", "scores.csv", "-o", "r", "--memory", "lots"),
        2,
        "as 500MB or",
    ),
    "no tag": (("fit", "scores.csv", "-o", "r", "--tag", "x"), 2, "must be key=value"),
    "JSON into a rule": (("fit", "scores.csv", "-o", "-", "--json"), 2, "standard out"),
    "no rule": (("predict", "new.csv", "new.csv"), 1, "must be a file that abers has"),
    "a missing score": (
        ("predict", "rule.abers", "new.csv", "-o", "r", "--missing", "error"),
        1,
        "it is in row 2 of 'new.csv'",
    ),
    "a prefix that is no text": (
        ("predict", "rule.abers", "new.csv", "-o", "r", "--prefix", "\udcff"),
        2,
        r"prefix must be text; got '\udcff'.",
    ),
    "half of a surrogate pair": (
        ("fit", "half.jsonl", "-o", "r"),
        1,
        r"got half of a surrogate pair, '\ud83d', in row 1 of 'half.jsonl'.",
    ),
    "a column that is there": (
        ("predict", "rule.abers", "done.csv", "-o", "r"),
        1,
        "it has 'lower' already",
    ),
}


@pytest.fixture(scope="module")
def folder(files):
    """The files, some that are wrong, and one that must survive."""
    (files.folder / "empty.csv").write_text("")
    (files.folder / "gaps.csv").write_text("score,label\n,1\nNaN,0\n1,1\n")
    (files.folder / "done.csv").write_text("score,lower\n1,2\n")
    half = r'{"score": 1, "label": "\ud83d"}'
    (files.folder / "half.jsonl").write_text(half)
    (files.folder / "old").write_bytes(OLD)
    pooled = abers.rules.fit_pooled_rule([1, 2, 3], [0, 1, 0], [0, 0, 1])
    pooled.save(files.folder / "pooled.abers")
    diagram = abers.rules.Diagram.from_rows(files.scores, files.labels)
    diagram.save(files.folder / "diagram.abers")
    return files.folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("arguments", "code", "message"), CASES.values(), ids=CASES)
def test_a_failure_is_one_line_and_touches_nothing(
    run, folder, arguments, code, message
):
    before = contents(folder)
    answer = run(folder, *arguments)
    assert answer.code == code
    assert answer.out == b""
    assert answer.err.startswith("abers: ")
    assert answer.err.count("\n") == 1
    assert message in answer.err
    assert contents(folder) == before


def limited():
    """Let no file grow beyond 50 kB, as on a disk that is nearly full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "rule.abers", "scores.csv", "-o", "old", "--format", "parquet"),
        ("predict", "rule.abers", "scores.csv", "-o", "old"),
        ("predict", "rule.abers", "large.parquet", "-o", "out.csv.gz"),
        ("fit", "large.parquet", "-o", "old", "--memory", "2MB"),
    ],
    ids=["parquet", "csv", "compressed", "sorting on disk"],
)
def test_a_full_disk_leaves_the_old_file_and_no_other(run, folder, arguments):
    rng = np.random.default_rng(0)
    table = pa.table({"score": rng.random(200_000), "label": rng.random(200_000) < 0.5})
    pq.write_table(table, folder / "large.parquet")
    before = contents(folder)
    answer = run(folder, *arguments, "--force", preexec_fn=limited)
    assert (answer.code, answer.out) == (1, b"")
    assert answer.err.startswith("abers: File too large")
    assert answer.err.count("\n") == 1
    assert contents(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "rule.abers", "scores.csv"),
        ("predict", "rule.abers", "scores.csv", "--format", "parquet"),
        ("fit", "scores.csv", "-o", "-"),
        ("inspect", "rule.abers", "--json"),
    ],
)
def test_a_full_pipe_is_a_failure_in_one_line(run, folder, arguments):
    with Path("/dev/full").open("wb") as full:
        answer = run(folder, *arguments, stdout=full)
    assert answer.code == 1
    assert answer.err == "abers: No space left on device.\n"


SLOW_IMPORT = """
import sys, time

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.stderr.write("loading\\n")
            sys.stderr.flush()
            time.sleep(30)

sys.meta_path.insert(0, Slow())
"""


@pytest.fixture(scope="module")
def endless(tmp_path_factory):
    """Enough rows that there is time to stop in the middle of them."""
    folder = tmp_path_factory.mktemp("endless")
    rng = np.random.default_rng(0)
    table = pa.table({"score": rng.random(10**6), "label": rng.random(10**6) < 0.5})
    pq.write_table(table, folder / "rows.parquet")
    abers.fit_rule([1, 2], [0, 1]).save(folder / "rule.abers")
    return folder


SIGNALS = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGKILL]


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("verb", ["fit", "predict"])
def test_a_process_that_is_stopped_leaves_the_old_file(
    command, endless, tmp_path, verb, number
):
    """Only a kill, which nobody can answer, leaves a temporary file behind."""
    target = tmp_path / "old"
    target.write_bytes(OLD)
    many = ["rows.parquet"] * 20
    options = ["-o", target, "--force"]
    arguments = {
        "fit": ["fit", *many, *options, "--memory", "2MB"],
        "predict": ["predict", "rule.abers", *many, *options, "--format", "csv"],
    }
    process = subprocess.Popen(
        [command, *arguments[verb]], cwd=endless, stderr=subprocess.PIPE
    )
    while list(tmp_path.iterdir()) == [target] and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    shown = process.communicate()[1].decode()
    others = [path for path in tmp_path.iterdir() if path != target]
    assert target.read_bytes() == OLD
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
        assert all(path.name.startswith(".") for path in others)
    else:
        assert process.returncode == 128 + number
        assert shown == "abers: stopped; nothing was written.\n"
        assert others == []


def test_a_command_that_is_to_survive_its_terminal_does(command, endless, tmp_path):
    """Under `nohup` it ignores that the terminal is gone."""
    target = tmp_path / "out.csv"
    process = subprocess.Popen(
        [
            "/usr/bin/nohup",
            command,
            "predict",
            "rule.abers",
            "rows.parquet",
            "-o",
            target,
        ],
        cwd=endless,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    while not list(tmp_path.iterdir()) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGHUP)
    shown = process.communicate()[1].decode()
    assert process.returncode == 0, shown
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]


@pytest.mark.parametrize("module", ["numpy", "pyarrow", "abers.tables.files"])
def test_an_interrupt_while_a_command_is_loaded_is_no_traceback(
    command, files, tmp_path, module
):
    """A module that takes its time to load, at the beginning or later."""
    (tmp_path / "sitecustomize.py").write_text(SLOW_IMPORT.format(module=module))
    process = subprocess.Popen(
        [command, "predict", "rule.abers", "new.csv"],
        cwd=files.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    assert process.stderr.readline() == b"loading\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=50)
    assert process.returncode in (-signal.SIGINT, 128 + signal.SIGINT)
    assert (out, err) in {(b"", b""), (b"", b"abers: stopped; nothing was written.\n")}
