"""The commands, and how each of them ends."""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING

from abers.cli import printing
from abers.cli.options import FORMATS
from abers.cli.parsing import HELP, HELP_ROW, help_of, help_page, meant, parsed
from abers.cli.signals import FAILED, FINE, WRONG_USE, Terminated, exit_code, heed
from abers.errors import AbersError, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.cli.parsing import Command

# Each is a function in a module of its name, which is loaded when it is asked for.
COMMANDS = (
    *("fit", "predict", "decide", "evaluate", "compare", "check", "monitor"),
    *("inspect", "export", "demo"),
)
ABOUT = f"""\
Turn the scores of any classifier into calibrated probabilities.

`abers fit` makes a rule of scores and labels, `abers predict` applies it,
`abers evaluate` measures it, `abers check` tests it on recent rows,
`abers monitor` watches a stream.
Files are {FORMATS}, compressed or not; `-` stands for standard input and output."""
VERSION = "--version"


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Not every terminal has every character.
        sys.stdout.reconfigure(errors="replace")
    try:
        heed()
        code = call(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe
        _forget_stdout()
        return FAILED
    except (KeyboardInterrupt, Terminated) as stop:
        return _stopped(exit_code(stop))
    except SystemExit as stop:  # of a command that has said why
        return int(stop.code or FINE)
    except Exception as error:  # noqa: BLE001 (a sentence, never a traceback)
        return _failed(error)
    return code


def call(arguments: Sequence[str]) -> int:
    """Call a command, or print help; return the exit code."""
    if not arguments:  # the help is the answer to a question that was not asked
        sys.stderr.write(_help())
        return WRONG_USE
    name, *rest = arguments
    if name in HELP:
        sys.stdout.write(_help())
        return FINE
    if name == VERSION:
        import abers

        sys.stdout.write(f"abers {abers.__version__}\n")
        return FINE
    if name not in COMMANDS:
        what = "option" if name.startswith("-") else "command"
        known = (VERSION, *HELP) if what == "option" else COMMANDS
        msg = f"No such {what} {name!r}.{meant(name, known)} See 'abers --help'."
        raise InvalidParameter(msg)
    command = _command(name)
    program = f"abers {name}"
    try:
        values = parsed(command, rest)
    except InvalidParameter as error:
        msg = f"{error} See '{program} --help'."
        raise InvalidParameter(msg) from None
    if values is None:
        sys.stdout.write(help_of(command, program))
        return FINE
    return command(**values) or FINE


def _command(name: str) -> Command:
    command: Command = getattr(import_module(f"abers.cli.{name}"), name)
    return command


def _help() -> str:
    """Return the help of all commands."""
    about = {name: inspect.getdoc(_command(name)) or "" for name in COMMANDS}
    version = (VERSION, "Print the version and exit.")
    return help_page(
        "abers [OPTIONS] COMMAND [ARGS]...",
        ABOUT,
        {
            "Options": [version, HELP_ROW],
            "Commands": [(n, text.partition("\n")[0]) for n, text in about.items()],
        },
    )


def _failed(error: Exception) -> int:
    _forget_stdout()
    if isinstance(error, InvalidParameter):
        printing.complain(str(error))
        return WRONG_USE
    if isinstance(error, AbersError):
        printing.complain(str(error))
    elif isinstance(error, OSError):
        where = f": {error.filename!r}" if error.filename else ""
        printing.complain(f"{error.strerror or error}{where}.")
    elif isinstance(error, MemoryError):
        printing.complain(
            "there is not enough memory; `abers fit` takes a lower --memory."
        )
    else:
        if os.environ.get("ABERS_DEBUG"):
            raise error
        printing.complain(
            f"this should not happen: {type(error).__name__}: {error}. Please report "
            "it; ABERS_DEBUG=1 shows where it comes from."
        )
    return FAILED


def _stopped(code: int) -> int:
    _forget_stdout()
    printing.complain("stopped; nothing was written.")
    return code


def _forget_stdout() -> None:
    """Drop what could not be written, or Python would try again when it ends."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
