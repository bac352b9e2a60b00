"""The command `abers`: from a file to an answer."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def main() -> None:
    """Run the command, or say what to install for it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until the command heeds it, an interrupt just ends the process: there is
        # nothing to undo, and libraries turn it into errors of their own.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    import os

    from abers.errors import MissingExtra, need

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed, by >&- or 2>&- in a shell
            nowhere = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 (until the end)
            setattr(sys, name, nowhere)
    try:
        need("rich", "pyarrow", extra="cli", what="the command abers")
    except MissingExtra as error:
        sys.exit(f"abers: {error}")
    from abers.cli.app import run

    _leave(run(sys.argv[1:]))


def _leave(code: int) -> NoReturn:
    """End the process without taking the interpreter apart.

    A thread of pyarrow may still hold a file of ours, and a thread that asks for an
    interpreter which is ending aborts the process. Our files are closed by now.
    Threads end first, as in any exit: one of them stops the workers of a pool, for
    which the exit functions wait.
    """
    import atexit
    import contextlib
    import os
    import threading

    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)
