"""The commands, and how each of them ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

import abers
from abers.cli import fit, inspect, predict, printing
from abers.errors import AbersError, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

FINE, FAILED, WRONG_USE, CHECK_FAILED = range(4)
INTERRUPTED, TERMINATED = (128 + number for number in (signal.SIGINT, signal.SIGTERM))

app = typer.Typer(
    name="abers",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (fit.fit, predict.predict, inspect.inspect):
    app.command()(command)


class Terminated(BaseException):
    """The process was asked to end; what is half done must be undone first."""


def _print_version(wanted: bool) -> None:  # noqa: FBT001 (typer passes it by position)
    if wanted:
        sys.stdout.write(f"abers {abers.__version__}\n")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Turn the scores of any classifier into calibrated probabilities.

    `abers fit` makes a rule of scores and labels, `abers predict` applies it,
    `abers inspect` shows it. Files are CSV, TSV, Parquet or JSON lines, compressed or
    not; `-` stands for standard input and output.
    """


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code: 0 fine, 1 failed, 2 wrong use."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = app(args=list(arguments), prog_name="abers", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output has enough of it
        _forget_stdout()
        return FAILED
    except (KeyboardInterrupt, typer.Abort):
        return _stopped(INTERRUPTED)
    except Terminated:
        return _stopped(TERMINATED)
    except Exception as error:  # noqa: BLE001 (a sentence, never a traceback)
        return _failed(error)
    if code == INTERRUPTED:  # as newer versions of typer return it
        return _stopped(INTERRUPTED)
    return code if isinstance(code, int) else FINE


def _failed(error: Exception) -> int:
    if hasattr(error, "format_message"):  # typer's own, for wrong use
        message = error.format_message()
        if message.startswith("Usage:"):  # no command at all: the help is the answer
            sys.stderr.write(message + "\n")
        else:
            printing.complain(f"{message} See 'abers --help'.")
        return WRONG_USE
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
        printing.complain("there is not enough memory; try a lower --memory.")
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


def _terminate(*_: Any) -> NoReturn:
    raise Terminated
