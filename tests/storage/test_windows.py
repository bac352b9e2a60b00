"""How files are replaced on Windows, as far as another system can show it.

What Windows does differently is imitated: it refuses to replace a file that is open
somewhere, it cannot open folders, and some of its file systems have no hard links.
"""

import errno
import os
from pathlib import Path

import pytest

import abers
from abers.errors import OutputExists
from abers.storage import atomic

RULE = abers.fit_rule([1, 2], [0, 1])
OTHER = abers.fit_rule([1, 2, 3], [0, 1, 1])


@pytest.fixture(autouse=True)
def windows(monkeypatch):
    """Refuse what Windows refuses; `busy` says how often a replacement is refused."""
    monkeypatch.setattr(atomic, "IS_WINDOWS", True)
    state = {"busy": 0, "slept": 0.0, "links": True}
    replace, opened, link = Path.replace, os.open, Path.hardlink_to

    def replaced(self, target):
        if state["busy"] > 0 and Path(target).exists():
            state["busy"] -= 1
            raise PermissionError(errno.EACCES, "Access is denied", str(self))
        return replace(self, target)

    def opened_unless_a_folder(path, *rest, **options):
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *rest, **options)

    def linked(self, target):
        if not state["links"]:
            raise OSError(errno.EINVAL, "Incorrect function", str(self))
        link(self, target)

    def slept(seconds):
        state["slept"] += seconds

    monkeypatch.setattr(Path, "replace", replaced)
    monkeypatch.setattr(Path, "hardlink_to", linked)
    monkeypatch.setattr(os, "open", opened_unless_a_folder)
    monkeypatch.setattr(atomic.time, "sleep", slept)
    return state


def test_a_folder_that_cannot_be_opened_is_no_obstacle(tmp_path):
    RULE.save(tmp_path / "rule.abers")
    assert abers.load(tmp_path / "rule.abers") == RULE


@pytest.mark.parametrize("times", [1, len(atomic.WAITS)])
def test_a_file_that_somebody_reads_for_a_moment_is_replaced(windows, times, tmp_path):
    path = tmp_path / "rule.abers"
    RULE.save(path)
    windows["busy"] = times
    OTHER.save(path)
    assert abers.load(path) == OTHER
    assert windows["slept"] == pytest.approx(sum(atomic.WAITS[:times]))
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_somebody_keeps_open_stays_as_it_was(windows, tmp_path):
    path = tmp_path / "rule.abers"
    RULE.save(path)
    before = path.read_bytes()
    windows["busy"] = 1000
    with pytest.raises(PermissionError, match=r"rule\.abers"):
        OTHER.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    assert windows["slept"] == pytest.approx(1.5)


def test_elsewhere_a_refusal_is_final(windows, monkeypatch, tmp_path):
    monkeypatch.setattr(atomic, "IS_WINDOWS", False)
    path = tmp_path / "rule.abers"
    RULE.save(path)
    windows["busy"] = 1
    with pytest.raises(PermissionError):
        OTHER.save(path)
    assert windows["slept"] == 0


@pytest.mark.parametrize("links", [True, False])
def test_a_name_that_is_taken_is_refused(windows, links, tmp_path):
    windows["links"] = links
    path = tmp_path / "out"
    with atomic.replacing(path, force=False) as file:
        file.write(b"first")
    with (
        pytest.raises(OutputExists, match="--force"),
        atomic.replacing(path, force=False) as file,
    ):
        file.write(b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]
