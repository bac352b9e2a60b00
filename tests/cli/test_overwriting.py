"""Without --force nothing is overwritten, however late it appears."""

import errno
from pathlib import Path

import pytest

import abers
import abers.report
import abers.tables.fit
import abers.tables.predict
from abers.errors import InvalidFile

LATE = b"written by another"
COMMANDS = {
    "fit": (("fit", "scores.csv", "-o"), (abers.tables.fit, "fit_column")),
    "predict": (
        ("predict", "rule.abers", "scores.csv", "-o"),
        (abers.tables.predict, "_new_fields"),
    ),
    "evaluate": (
        ("evaluate", "rule.abers", "scores.csv", "--sample", "0", "--html"),
        (abers.report, "evaluation_page"),
    ),
    "compare": (
        ("compare", "scores.csv", "--methods", "uncalibrated", "--html"),
        (abers.report, "comparison_page"),
    ),
}


@pytest.fixture
def race(invoke, files, tmp_path, monkeypatch):
    """Run a command; its output appears after it has looked, before it writes."""

    def run_late(name, *options):
        target = tmp_path / "out"
        arguments, (owner, function) = COMMANDS[name]
        original = getattr(owner, function)

        def late(*args, **keywords):
            target.write_bytes(LATE)
            return original(*args, **keywords)

        monkeypatch.chdir(files.folder)
        monkeypatch.setattr(owner, function, late)
        return invoke(*arguments, target, *options)

    return run_late


@pytest.fixture
def without_links(monkeypatch):
    """A file system that has no hard links, as that of a memory card."""

    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_appears_meanwhile_stays(race, tmp_path, name):
    target = tmp_path / "out"
    answer = race(name)
    assert answer.code == 1
    assert "out' exists; overwrite it with --force" in answer.err
    assert target.read_bytes() == LATE
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.usefixtures("without_links")
def test_a_file_that_appears_meanwhile_stays_where_there_are_no_links(race, tmp_path):
    target = tmp_path / "out"
    answer = race("predict")
    assert answer.code == 1
    assert "out' exists; overwrite it with --force" in answer.err
    assert target.read_bytes() == LATE
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", COMMANDS)
def test_force_replaces_a_file_that_appears_meanwhile(race, tmp_path, name):
    target = tmp_path / "out"
    assert race(name, "--force").code == 0
    assert target.read_bytes() != LATE
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.usefixtures("without_links")
def test_a_file_is_written_where_there_are_no_links(
    invoke, files, tmp_path, monkeypatch
):
    monkeypatch.chdir(files.folder)
    target = tmp_path / "rule.abers"
    assert invoke("fit", "scores.csv", "-o", target).code == 0
    assert abers.load(target).n_rows == files.scores.size
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.usefixtures("without_links")
def test_a_rename_that_fails_leaves_no_empty_file(invoke, files, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.chdir(files.folder)
    monkeypatch.setattr(Path, "replace", fail)
    target = tmp_path / "rule.abers"
    answer = invoke("fit", "scores.csv", "-o", target)
    assert answer[:2] == (1, b"")
    assert answer.err == f"abers: Input/output error: {str(target)!r}.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_link_that_leads_back_to_itself_is_no_file(run, files, tmp_path, name):
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    answer = run(files.folder, *COMMANDS[name][0], loop, "--force")
    assert (answer.code, answer.out) == (1, b"")
    sentence = f"abers: {str(loop)!r} must be a file; it is a link that leads back to"
    assert answer.err == f"{sentence} itself.\n"
    assert loop.is_symlink()


def test_python_does_not_replace_a_link_to_itself(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(InvalidFile, match="leads back to itself"):
        abers.fit_rule([1], [0]).save(loop)
    assert loop.is_symlink()
