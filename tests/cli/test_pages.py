"""The shell sessions of the pages are run as written, each page in an empty folder.

In a block marked `console`, a line that begins with `$ ` is a command and `> ` goes on
with it; the lines below are what it prints, to standard output and standard error. In
these, `...` stands for anything.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END = "<end of a command>"
WITH_SESSIONS = [page for page in PAGES if BLOCK.search(page.read_text())]


class Command(NamedTuple):
    text: str
    prints: str


def commands_of(page):
    """Return the commands of a page, and what it says they print."""
    commands = []
    for block in BLOCK.findall(page):
        for line in block.splitlines():
            if line.startswith("$ "):
                commands.append([line[2:], []])
            elif line.startswith("> ") and not commands[-1][1]:
                commands[-1][0] += "\n" + line[2:]
            else:
                commands[-1][1].append(line)
    return [Command(text, "\n".join(lines).strip("\n")) for text, lines in commands]


def printed(commands, folder):
    """Run commands in one shell, in a folder; return what each of them prints."""
    # $? is handed on, so that a session may look at it.
    ends = f'code=$?; echo; echo "{END}"; (exit $code)'
    script = "\n".join(["exec 2>&1", *(f"{c.text}\n{ends}" for c in commands)])
    tools = Path(sys.executable).parent
    # Answers are buffered, as for users: messages must stand behind them all the same.
    settings = {"COLUMNS": "80", "PYTHONUNBUFFERED": ""}
    done = subprocess.run(
        ["bash", "-c", script],  # noqa: S607 (whichever bash there is)
        stdin=subprocess.DEVNULL,
        cwd=folder,
        stdout=subprocess.PIPE,
        check=False,
        text=True,
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"} | settings,
    )
    outputs = done.stdout.split(f"{END}\n")
    assert outputs.pop() == ""
    return [output.strip("\n") for output in outputs]


def is_as_shown(output, shown):
    pattern = ".*".join(map(re.escape, shown.split("...")))
    return re.fullmatch(pattern, output, re.DOTALL) is not None


@pytest.mark.parametrize("page", WITH_SESSIONS, ids=lambda page: page.name)
def test_page_prints_what_it_shows(page, tmp_path):
    commands = commands_of(page.read_text())
    outputs = printed(commands, tmp_path)
    assert len(outputs) == len(commands)
    wrong = [
        f"$ {command.text}\n{output}"
        for command, output in zip(commands, outputs, strict=True)
        if not is_as_shown(output, command.prints)
    ]
    assert not wrong, "these print something else:\n\n" + "\n\n".join(wrong)


def test_both_pages_of_the_commands_have_sessions():
    names = {page.name for page in WITH_SESSIONS}
    assert names >= {"command-line.md", "production.md"}


def test_sessions_are_read_and_compared_as_described(tmp_path):
    page = (
        "Text\n```console\n$ echo one; false\none\n$ echo $?\n1\n```\n$ not this\n"
        "```console\n$ x=two\n$ echo \\\n>   $x >&2\nt...\n```\n```\n$ nor this\n```\n"
    )
    commands = commands_of(page)
    assert commands == [
        ("echo one; false", "one"),
        ("echo $?", "1"),
        ("x=two", ""),
        ("echo \\\n  $x >&2", "t..."),
    ]
    assert printed(commands, tmp_path) == ["one", "1", "", "two"]
    assert is_as_shown("two", "t...")
    assert is_as_shown("a b\nc d", "a ...\n... d")
    assert not is_as_shown("two", "t")
    assert not is_as_shown("12", "1.")
