"""Completion in shells: the script that a shell sources, and what it then offers."""

import os
import subprocess
from pathlib import Path

import pytest

BASH = """
eval "$(_ABERS_COMPLETE=bash_source abers)"
complete -p abers
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
compopt() { echo "${*#-o}"; }  # only a shell with a prompt has it
_abers_completion abers
echo "${COMPREPLY[*]}"
"""


@pytest.fixture(scope="module")
def environment(command):
    """An environment in which a shell finds the command."""
    folder = Path(command).parent
    return os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["mon"], "monitor"),
        (["predict", "--pre"], "--prefix"),
        (["predict", "--loss", ""], "log brier"),
        (["fit", "--tag", "x", "--memory", "1G", "--hold"], "--holdout"),
        (["inspect", "rule"], "default"),  # names of files
        (["demo", "--folder", ""], "dirnames"),
        (["fitt", "x"], ""),
    ],
)
def test_bash_offers_what_may_come_next(environment, words, offered):
    done = subprocess.run(
        ["bash", "-c", BASH, "bash", "abers", *words],  # noqa: S607 (whichever there is)
        capture_output=True,
        check=True,
        env=environment,
        text=True,
    )
    registered, *shown = done.stdout.splitlines()
    assert registered.endswith("-F _abers_completion abers")
    assert "".join(shown) == offered
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("shell", "current", "registers"),
    [("zsh", "1", "compdef _abers_completion abers"), ("fish", "mon", "complete ")],
)
def test_other_shells_have_a_script_and_an_answer(
    command, environment, shell, current, registers
):
    """Neither shell need be here: the script and the answer to it are looked at."""

    def answer(step, **words):
        done = subprocess.run(
            [command],
            capture_output=True,
            check=True,
            env=environment | {"_ABERS_COMPLETE": f"{shell}_{step}"} | words,
            text=True,
        )
        return done.stdout

    assert registers in answer("source")
    offered = answer("complete", COMP_WORDS="abers mon", COMP_CWORD=current)
    assert "monitor" in offered
    assert "Follow a stream of scores and labels" in offered
