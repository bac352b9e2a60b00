"""The commands, loaded on demand, and how each of them ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections import Counter
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

import click

from abers import __version__
from abers.choices import FORMAT_NAMES
from abers.cli import printer
from abers.cli.exits import FAILED, FINE, WRONG_USE, Stopped
from abers.errors import AbersError, InvalidParameter

# Each is a click command in the module of its name.
COMMANDS = (
    *("fit", "predict", "decide", "evaluate", "compare", "check", "monitor"),
    *("inspect", "export", "diagram", "demo", "help"),
)
FORMATS = " or ".join(", ".join(FORMAT_NAMES.values()).rsplit(", ", 1))
SETTINGS = {"help_option_names": ["-h", "--help"], "show_default": True}


class Command(click.Command):
    """A command that accepts each option once, unless it may be repeated."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments twice, to detect repeated options."""
        try:
            *_, order = self.make_parser(context).parse_args(list(args))
        except click.UsageError as error:  # some errors do not name their command
            error.ctx = context
            raise
        rest = super().parse_args(context, args)
        for option, times in Counter(order).items():
            if times > 1 and isinstance(option, click.Option) and not option.multiple:
                name = max(option.opts, key=len)
                msg = f"Option {name!r} must be given once; it is given {times} times."
                raise click.UsageError(msg, context)
        return rest

    def get_short_help_str(self, limit: int = 0) -> str:  # noqa: ARG002 (no limit)
        """Return the first sentence of the help in full."""
        return (self.help or "").partition("\n")[0]


command = partial(click.command, cls=Command)


class Commands(click.Group):
    """All commands; every error becomes a sentence and an exit code."""

    def list_commands(self, _: click.Context) -> list[str]:
        """Return the names of the commands, in their usual order of use."""
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """Import a single command, since importing all would be slow."""
        if name in COMMANDS:
            loaded: click.Command = getattr(import_module(f"abers.cli.{name}"), name)
            return loaded
        if context.resilient_parsing:  # for completion
            return None
        raise click.NoSuchCommand(name, possibilities=COMMANDS, ctx=context)

    def invoke(self, context: click.Context) -> int:
        """Call a command and return its exit code."""
        try:
            code: int = super().invoke(context) or FINE
            sys.stdout.flush()  # while a failure to write can still be reported
        except KeyboardInterrupt:  # before click turns it into an empty line
            raise Stopped(signal.SIGINT) from None
        return code

    def main(self, *args: Any, **settings: Any) -> NoReturn:
        """Run a command and exit."""
        settings |= {"prog_name": "abers", "standalone_mode": False}
        try:
            code = super().main(*args, **settings)
        except (Exception, Stopped) as error:  # noqa: BLE001 (no traceback)
            _forget_stdout()
            code = _reported(error)
        sys.exit(code)


@click.group(
    cls=Commands,
    context_settings=SETTINGS,
    help=f"""Turn the scores of any classifier into calibrated probabilities.

    `abers fit` calibrates scores with labels, `abers predict` applies the result,
    `abers evaluate` measures it, `abers check` tests it on recent rows,
    `abers monitor` watches a stream.
    Files are {FORMATS}, compressed or not; `-` stands for standard input and output.
    """,
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def abers() -> None:
    """Do nothing before a command."""


def _reported(error: BaseException) -> int:
    """Print in one sentence why a command has ended, and return the exit code."""
    match error:
        case Stopped():
            printer.complain("stopped; nothing was written.")
            return error.exit_code
        case click.exceptions.NoArgsIsHelpError():
            error.show()
            return WRONG_USE
        case click.UsageError():
            printer.complain(_sentence(error))
            return WRONG_USE
        case AbersError():
            printer.complain(str(error))
            return WRONG_USE if isinstance(error, InvalidParameter) else FAILED
        case OSError():
            where = f": {error.filename!r}" if error.filename else ""
            printer.complain(f"{error.strerror or error}{where}.")
        case MemoryError():
            printer.complain(
                "there is not enough memory; `abers fit` takes a lower --memory."
            )
        case _:
            if os.environ.get("ABERS_DEBUG"):
                raise error
            printer.complain(
                f"this should not happen: {type(error).__name__}: {error}. Please "
                "report it; ABERS_DEBUG=1 shows where it comes from."
            )
    return FAILED


def _sentence(error: click.UsageError) -> str:
    """Return what is wrong with a command line, and where to find help."""
    text = error.format_message()
    stop = "" if text.endswith((".", "?", "?)")) else "."
    path = error.ctx.command_path if error.ctx else "abers"
    return f"{text}{stop} See '{path} --help'."


def _forget_stdout() -> None:
    """Discard unwritten output, or Python would try again at exit."""
    with contextlib.suppress(OSError):
        stdout = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), stdout)
