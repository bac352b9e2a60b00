"""`abers help` says what the option --help says."""

import pytest

from abers.cli.commands import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_is_what_its_option_says(invoke, name):
    code, text, _ = invoke("help", name)
    assert (code, text) == (0, invoke(name, "--help").out)


def test_help_alone_lists_the_commands(invoke):
    assert invoke("help").out == invoke("--help").out


def test_help_of_no_command_is_a_sentence(run, files):
    code, out, err = run(files.folder, "help", "fitt")
    assert (code, out) == (2, b"")
    assert "No such command 'fitt'" in err
