"""Exits: exit codes, and signals as exceptions, so that files are cleaned up."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from abers.cli import printer

if TYPE_CHECKING:
    from collections.abc import Iterator

# 0 fine, 1 failed, 2 wrong use, 3 a test failed or raised an alarm, 4 a monitor stalls.
FINE, FAILED, WRONG_USE, CHECK_FAILED, STALLED = range(5)


class Stopped(BaseException):
    """A signal stops the command; unfinished work must be undone first."""

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number  # as in a shell


def raise_on_signals() -> None:
    """Turn signals into exceptions: SIGINT into Python's own, others into `Stopped`."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _stop)
    # Under nohup, a command must survive its terminal. Windows has no SIGHUP.
    hang_up = getattr(signal, "SIGHUP", None)
    if hang_up is not None and signal.getsignal(hang_up) is not signal.SIG_IGN:
        signal.signal(hang_up, _stop)


def _stop(number: int, _: Any) -> NoReturn:
    raise Stopped(number)


@contextlib.contextmanager
def keeping(what: str) -> Iterator[None]:
    """When stopped, report what is kept; without this, nothing has been written."""
    try:
        yield
    except (KeyboardInterrupt, Stopped) as stop:
        printer.complain(f"stopped; {what}.")
        sys.exit(getattr(stop, "exit_code", 128 + signal.SIGINT))
