"""The command line, by the signature of a command."""

from pathlib import Path
from typing import Annotated

import pytest

from abers.cli.app import COMMANDS, call
from abers.cli.parsing import Argument, Option, help_of, parsed
from abers.errors import InvalidParameter


def brew(
    pot: Annotated[str, Argument(metavar="POT", help="Where to brew.")],
    leaves: Annotated[list[str], Argument(metavar="LEAF", help="What to brew.")],
    *,
    cup: Annotated[str, Option("--cup", "-c", metavar="CUP", help="Where to pour.")],
    minutes: Annotated[int, Option(metavar="N", least=1, help="How long.")] = 3,
    degrees: Annotated[float, Option(metavar="X", help="How hot.")] = 0.0,
    milk: Annotated[bool, Option(help="Add milk.")] = False,
    spice: Annotated[list[str] | None, Option(metavar="NAME", help="Add it.")] = None,
    tea_shop: Annotated[
        Path, Option(metavar="FOLDER", variable="TEA_SHOP", help="Where to buy.")
    ] = Path("shop"),
) -> None:
    """Brew tea.

    Pour it when it is done.
    """


USUAL = {
    "pot": "p",
    "leaves": ["a"],
    "cup": "c",
    "minutes": 3,
    "degrees": 0.0,
    "milk": False,
    "spice": None,
    "tea_shop": Path("shop"),
}


@pytest.mark.parametrize(
    ("words", "different"),
    [
        (["p", "a", "--cup", "c"], {}),
        (["p", "a", "-cc"], {}),
        (["-c", "c", "p", "a"], {}),
        (["p", "--cup=c", "a", "--milk", "b"], {"leaves": ["a", "b"], "milk": True}),
        (["p", "a", "--cup", "-x"], {"cup": "-x"}),
        (["p", "-", "-c", "-"], {"leaves": ["-"], "cup": "-"}),
        (["p", "-c", "c", "--", "--a"], {"leaves": ["--a"]}),
        (["p", "a", "-c", "b", "-c", "c", "--minutes", "4"], {"minutes": 4}),
        (["p", "a", "-c", "c", "--degrees", "-1e3"], {"degrees": -1000.0}),
        (["p", "a", "-c", "c", "--spice", "x", "--spice=y"], {"spice": ["x", "y"]}),
        (["p", "a", "-c", "c", "--tea-shop", "t"], {"tea_shop": Path("t")}),
    ],
)
def test_words_become_values(words, different):
    assert parsed(brew, words) == USUAL | different


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing argument 'POT'."),
        (["p"], "Missing argument 'LEAF'."),
        (["p", "a"], "Missing option '--cup'."),
        (["p", "a", "-c"], "Option '-c' needs a value."),
        (["p", "a", "--cup"], "Option '--cup' needs a value."),
        (["p", "a", "--milk=1"], "Option '--milk' takes no value."),
        (["--help=1"], "Option '--help' takes no value."),
        (["--m"], "No such option: --m."),
        (["--cop", "c"], "No such option: --cop. Did you mean --cup?"),
        (["-x"], "No such option: -x."),
        (["p", "a", "-c", "c", "--minutes", "x"], "--minutes must be an integer; got"),
        (["p", "a", "-c", "c", "--minutes", "0"], "--minutes must be at least 1; got"),
        (["p", "a", "-c", "c", "--degrees", "x"], "--degrees must be a number; got"),
    ],
)
def test_wrong_use_is_a_sentence(words, message):
    with pytest.raises(InvalidParameter) as raised:
        parsed(brew, words)
    assert str(raised.value).startswith(message)


def test_the_environment_may_name_what_no_option_does(monkeypatch):
    monkeypatch.setenv("TEA_SHOP", "corner")
    assert parsed(brew, ["p", "a", "-cc"])["tea_shop"] == Path("corner")
    assert parsed(brew, ["p", "a", "-cc", "--tea-shop", "t"])["tea_shop"] == Path("t")


def test_help_has_its_place_beside_every_other_word(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    assert parsed(brew, ["p", "-h"]) is None
    assert parsed(brew, ["--help", "--milk"]) is None
    assert help_of(brew, "tea brew") == (
        "Usage: tea brew [OPTIONS] POT LEAF...\n"
        "\n"
        "  Brew tea.\n"
        "\n"
        "  Pour it when it is done.\n"
        "\n"
        "Arguments:\n"
        "  POT   Where to brew.  [required]\n"
        "  LEAF  What to brew.  [required]\n"
        "\n"
        "Options:\n"
        "  -c, --cup CUP      Where to pour.  [required]\n"
        "  --minutes N        How long.  [default: 3; at least 1]\n"
        "  --degrees X        How hot.  [default: 0.0]\n"
        "  --milk             Add milk.\n"
        "  --spice NAME       Add it.\n"
        "  --tea-shop FOLDER  Where to buy.  [env var: TEA_SHOP;\n"
        "                     default: shop]\n"
        "  -h, --help         Show this message and exit.\n"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_fits(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert call([name, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"Usage: abers {name} [OPTIONS]")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fitt"], "No such command 'fitt'. Did you mean fit? See 'abers --help'."),
        (["--versoin"], "No such option '--versoin'. Did you mean --version? See "),
        (["inspect"], "Missing argument 'RULE'. See 'abers inspect --help'."),
        (["inspect", "a", "b"], "Got an unexpected argument: 'b'. See 'abers inspect"),
    ],
)
def test_wrong_use_says_where_to_look(words, message):
    with pytest.raises(InvalidParameter) as raised:
        call(words)
    assert str(raised.value).startswith(message)
