"""The state of a monitor is replaced by one command at a time, and by no other."""

import os
import time

import numpy as np
import pytest

import abers
from abers.errors import InvalidData
from abers.online.monitor import Monitor
from abers.tables import monitor as monitor_files
from abers.tables.monitor import MonitorFile, StreamOptions


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder with a state, and two files of new rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        rows = (f"{score!r},1\n" for score in rng.random(5).tolist())
        (tmp_path / f"{name}.csv").write_text("score,label\n" + "".join(rows))
    Monitor([1, 2], [0, 1]).save("state.abers")
    return tmp_path


def followed(name):
    kept = MonitorFile.load("state.abers")
    kept.follow([f"{name}.csv"], StreamOptions())
    return kept


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_no_rows_are_lost_if_another_command_saves_at_the_last_moment(
    folder, monkeypatch
):
    """Between the look at the state and its replacement."""
    before = names(folder)
    first, second = followed("one"), followed("two")
    digest_of, seen = vars(monitor_files)["sha256_of"], []

    def while_the_other_saves(path):
        digest = digest_of(path)
        if not seen:
            seen.append(path)
            with pytest.raises(InvalidData, match=r"another command.*Run this one"):
                second.save(force=False)
        return digest

    monkeypatch.setattr(monitor_files, "sha256_of", while_the_other_saves)
    first.save(force=False)
    assert seen
    kept = abers.load("state.abers")
    assert kept.digests == first.monitor.digests
    assert kept.state.n_rows == 5
    assert names(folder) == before


def test_a_claim_that_was_left_behind_is_taken_over(folder):
    before = names(folder)
    claim = folder / ".state.abers.claim"
    claim.touch()
    with pytest.raises(InvalidData, match="must not change while it is in use"):
        followed("one").save(force=False)
    assert abers.load("state.abers").state.n_rows == 0
    assert claim.exists()  # it is another's
    long_ago = time.time() - 120
    os.utime(claim, (long_ago, long_ago))
    followed("one").save(force=False)
    assert abers.load("state.abers").state.n_rows == 5
    assert names(folder) == before
