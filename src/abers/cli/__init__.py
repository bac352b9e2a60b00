"""The command `abers`: from a file to an answer."""

from __future__ import annotations

import signal
import sys

FEWEST_OBJECTS = 200_000  # that are new, before a garbage collection


def main() -> None:
    """Run the command, or say what to install for it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # While the command is being imported there is nothing to undo, so an interrupt
        # just ends the process; `raise_on_signals` turns it into an exception again.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    import gc
    import io
    import os

    # A garbage collection while modules are imported finds nothing.
    gc.set_threshold(FEWEST_OBJECTS)

    from abers.errors import MissingExtra, need

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, by >&- or 2>&- in a shell
            nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 (until the end)
            setattr(sys, name, nowhere)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Not every terminal can show every character.
        sys.stdout.reconfigure(errors="replace")
    try:
        need("click", "rich", "pyarrow", extra="cli", what="the command abers")
    except MissingExtra as error:
        sys.exit(f"abers: {error}")
    from abers.cli.commands import abers
    from abers.cli.exits import raise_on_signals

    raise_on_signals()
    try:
        abers.main()
    finally:
        gc.freeze()  # a garbage collection at exit would take a tenth of the start-up
