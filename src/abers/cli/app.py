"""The commands, and how each of them ends."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import sys
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand

import abers
from abers.cli import (
    check,
    compare,
    demo,
    evaluate,
    export,
    fit,
    inspect,
    paper,
    predict,
    printing,
)
from abers.cli.signals import (
    FAILED,
    FINE,
    INTERRUPTED,
    TERMINATED,
    WRONG_USE,
    Terminated,
)
from abers.errors import AbersError, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence


class PlainCommand(TyperCommand):
    """A command whose help names arguments without braces and types."""

    def get_help(self, ctx: Any) -> str:
        """Return the help."""
        shown = re.sub(
            r" <[\w\[\]]+>", lambda type_: " " * len(type_[0]), super().get_help(ctx)
        )
        return re.sub(r"\{([^{}]+)\}", r"\1", shown)


app = typer.Typer(
    name="abers",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    fit.fit,
    predict.predict,
    evaluate.evaluate,
    compare.compare,
    check.check,
    inspect.inspect,
    export.export,
    demo.demo,
    paper.paper,
):
    app.command(cls=PlainCommand)(command)


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
    `abers evaluate` measures it, `abers check` tests it on recent rows. Files are
    CSV, TSV, Parquet or JSON lines, compressed or not; `-` stands for standard input
    and output.
    """


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    if isinstance(
        sys.stdout, io.TextIOWrapper
    ):  # not every terminal has every character
        sys.stdout.reconfigure(errors="replace")
    try:
        code = app(args=list(arguments), prog_name="abers", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader closed the pipe
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


def _terminate(*_: Any) -> NoReturn:
    raise Terminated
