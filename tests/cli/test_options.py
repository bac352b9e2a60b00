"""The command line: options written out, each once, and help that fits."""

import click
import pytest
from click.testing import CliRunner

from abers.cli import commands, options
from abers.cli.commands import COMMANDS, command

USUAL = {
    "pot": "p",
    "leaves": ("a",),
    "cup": "c",
    "minutes": 3,
    "degrees": 0.0,
    "milk": False,
    "spice": (),
}


@command()
@click.argument("pot")
@click.argument("leaves", metavar="LEAF...", nargs=-1, required=True)
@click.option("--cup", "-c", required=True)
@click.option("--minutes", type=options.Number(int, least=1), default=3)
@click.option("--degrees", type=options.REAL, default=0.0)
@click.option("--milk", is_flag=True)
@click.option("--spice", multiple=True)
def brew(**values):
    """Brew tea."""
    return values


@pytest.mark.parametrize(
    ("words", "different"),
    [
        (["p", "a", "--cup", "c"], {}),
        (["p", "a", "-cc"], {}),
        (["-c", "c", "p", "a"], {}),
        (["p", "--cup=c", "a", "--milk", "b"], {"leaves": ("a", "b"), "milk": True}),
        (["p", "a", "--cup", "-x"], {"cup": "-x"}),
        (["p", "-", "-c", "-"], {"leaves": ("-",), "cup": "-"}),
        (["p", "-c", "c", "--", "--a"], {"leaves": ("--a",)}),
        (["p", "a", "-c", "c", "--minutes", "4"], {"minutes": 4}),
        (["p", "a", "-c", "c", "--degrees", "-1e3"], {"degrees": -1000.0}),
        (["p", "a", "-c", "c", "--spice", "x", "--spice=y"], {"spice": ("x", "y")}),
    ],
)
def test_words_become_values(words, different):
    assert brew.main(words, standalone_mode=False) == USUAL | different


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing argument 'POT'."),
        (["p"], "Missing argument 'LEAF...'."),
        (["p", "a"], "Missing option '--cup' / '-c'."),
        (["p", "a", "-c"], "Option '-c' requires an argument."),
        (["p", "a", "--milk=1"], "Option '--milk' does not take a value."),
        (["--cop", "c"], "No such option '--cop'. Did you mean '--cup'?"),
        (["p", "a", "-cc", "--minute", "4"], "No such option '--minute'. Did you mean"),
        (["p", "a", "-c", "c", "--minutes", "x"], "--minutes must be an integer; got"),
        (["p", "a", "-c", "c", "--minutes", "0"], "--minutes must be at least 1; got"),
        (["p", "a", "-c", "c", "--degrees", "x"], "--degrees must be a number; got"),
        (
            ["p", "a", "-c", "b", "--cup", "c"],
            "Option '--cup' must be given once; it is given 2 times.",
        ),
        (
            ["p", "a", "-cc", "--milk", "--milk"],
            "Option '--milk' must be given once; it is given 2 times.",
        ),
    ],
)
def test_wrong_use_is_a_sentence(words, message):
    with pytest.raises(click.UsageError) as raised:
        brew.main(words, standalone_mode=False)
    assert raised.value.format_message().startswith(message)
    assert raised.value.ctx.command is brew


@pytest.mark.parametrize("words", [["p", "-h"], ["--help", "-h", "--json", "--json"]])
def test_help_has_its_place_beside_every_other_word(invoke, words):
    answer = invoke("inspect", *words)
    assert answer.code == 0
    assert answer.out.startswith(b"Usage: abers inspect [OPTIONS] RULE\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_fits(name):
    shown = CliRunner().invoke(commands.abers, [name, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[0].startswith(f"Usage: abers {name} [OPTIONS]")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fitt"], "No such command 'fitt'. Did you mean 'fit'? See 'abers --help'."),
        (["--versoin"], "No such option '--versoin'. Did you mean '--version'? See "),
        (["inspect"], "Missing argument 'RULE'. See 'abers inspect --help'."),
        (["inspect", "a", "b"], "Got unexpected extra argument (b). See 'abers ins"),
        (["fit", "a", "-o"], "Option '-o' requires an argument. See 'abers fit --help"),
        (
            ["inspect", "a", "--json", "--json"],
            "Option '--json' must be given once; it is given 2 times. See 'abers insp",
        ),
    ],
)
def test_wrong_use_says_where_to_look(invoke, words, message):
    answer = invoke(*words)
    assert answer[:2] == (2, b"")
    assert answer.err.startswith(f"abers: {message}")
    assert answer.err.count("\n") == 1
