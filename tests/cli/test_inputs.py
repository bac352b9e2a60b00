"""What is read is neither lost in a pipe nor overwritten by what is written."""

import os
import shutil
import subprocess
import threading

import pytest

import abers

ROWS = "score,label\n" + "".join(f"{i / 10},{i % 2}\n" for i in range(60))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "g1.csv").write_text(ROWS)
    (tmp_path / "g2.csv").write_text(ROWS)
    os.link(tmp_path / "g1.csv", tmp_path / "hard")
    (tmp_path / "soft").symlink_to("g1.csv")
    abers.fit_rule([1, 2, 3], [0, 1, 0]).save(tmp_path / "rule.abers")
    return tmp_path


@pytest.mark.parametrize("output", ["g1.csv", "./g1.csv", "soft", "hard"])
@pytest.mark.parametrize("verb", [("fit",), ("predict", "rule.abers")])
def test_an_input_named_by_a_pattern_is_not_overwritten(run, folder, verb, output):
    answer = run(folder, *verb, "g*.csv", "-o", output, "--force")
    assert answer.code == 1
    assert "must not be what is read" in answer.err
    assert (folder / "g1.csv").read_text() == ROWS


def fed(path, data):
    """Write into a pipe, beside whoever reads it."""
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,), daemon=True)
    writer.start()
    return path.name


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "pipe.csv", "-o", "-"),
        ("predict", "rule.abers", "pipe.csv"),
        ("evaluate", "rule.abers", "pipe.csv"),
        ("check", "rule.abers", "pipe.csv"),
        ("compare", "pipe.csv"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_named_pipe_is_read_as_a_file_is(run, folder, arguments):
    from_file = ["g1.csv" if a == "pipe.csv" else a for a in arguments]
    expected = run(folder, *from_file)
    fed(folder / "pipe.csv", ROWS.encode())
    piped = run(folder, *arguments, timeout=60)
    assert (piped.code, piped.out) == (expected.code, expected.out)


@pytest.mark.parametrize("arguments", [("predict", "g1.csv"), ("inspect",)])
def test_a_rule_is_read_from_a_named_pipe(run, folder, arguments):
    name, *rest = arguments
    expected = run(folder, name, "rule.abers", *rest)
    pipe = fed(folder / "pipe", (folder / "rule.abers").read_bytes())
    assert run(folder, name, pipe, *rest, timeout=60) == expected
    assert expected.code == 0


def test_what_a_shell_substitutes_is_read_whole(command, folder):
    line = f"{command} fit <(cat g1.csv) -o -"
    bash = shutil.which("bash") or "bash"
    done = subprocess.run([bash, "-c", line], cwd=folder, capture_output=True)  # noqa: PLW1510
    assert done.returncode == 0
    (folder / "made.abers").write_bytes(done.stdout)
    assert abers.load(folder / "made.abers").n_rows == 60


def test_a_size_beyond_all_numbers_is_refused(run, folder):
    answer = run(folder, "fit", "g1.csv", "-o", "r", "--memory", "9" * 400)
    assert answer.code == 2
    assert answer.err.startswith("abers: --memory must be a size such as")


def test_names_of_groups_cannot_steer_the_terminal(run, folder):
    rules = abers.fit_rules([1, 2, 3], [0, 1, 0], ["\x1b[31mred"] * 3, minimum=1)
    rules.save(folder / "groups.abers")
    answer = run(folder, "inspect", "groups.abers")
    assert b"\x1b" not in answer.out
    assert b"group ?[31mred" in answer.out


@pytest.mark.parametrize("verb", ["predict", "check", "evaluate", "monitor", "decide"])
def test_no_command_takes_another_column_than_that_of_the_fit(run, folder, verb):
    """The classes 0 and 1 that a file calls y_pred were once taken for scores."""
    (folder / "classes.csv").write_text(ROWS.replace("score", "y_pred"))
    assert run(folder, "fit", "g1.csv", "-o", "fitted.abers").code == 0
    started = run(folder, "monitor", "state.abers", "--start", "g1.csv")
    assert started.code == 0
    costs = ("--cost-fp", "1", "--cost-fn", "1") if verb == "decide" else ()
    file = "state.abers" if verb == "monitor" else "fitted.abers"
    answer = run(folder, verb, file, "classes.csv", *costs)
    assert (answer.code, answer.out) == (1, b"")
    assert answer.err == (
        "abers: 'classes.csv' must have the column 'score' of the calibration rows; "
        "'y_pred' looks like scores among its columns 'y_pred', 'label'. If another "
        "holds the scores, name it with --score.\n"
    )
    answer = run(folder, verb, file, "classes.csv", *costs, "--score", "y_pred")
    assert answer.code in (0, 3), answer.err
