"""The state of a monitor is read, changed and replaced by one command at a time."""

import os
import subprocess
import sys

import pytest

from abers.errors import InvalidFile
from abers.storage.atomic import locking

HOLD = """
import sys
from abers.storage.atomic import locking
with locking("state.abers"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_lock_that_another_command_holds_is_waited_for_and_then_refused(folder):
    command = [sys.executable, "-c", HOLD]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=folder, **pipes) as other:
        assert other.stdout.readline() == "held\n"
        sentence = (
            r"'state.abers' must not be in use by another command for more than 0.1"
        )
        with (
            pytest.raises(InvalidFile, match=sentence),
            locking("state.abers", patience=0.1),
        ):
            pass
        os.kill(other.pid, 9)  # what is killed gives its lock back
        other.wait()
        with locking("state.abers", patience=5):
            pass
