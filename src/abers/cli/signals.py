"""Signals: exit codes, and how a command ends when it is stopped."""

from __future__ import annotations

import _thread
import contextlib
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any, NoReturn

from abers.cli import printing

if TYPE_CHECKING:
    from collections.abc import Iterator

# 0 fine, 1 failed, 2 wrong use, 3 a test failed or raised an alarm, 4 a monitor stalls.
FINE, FAILED, WRONG_USE, CHECK_FAILED, STALLED = range(5)


class Terminated(BaseException):
    """The process was asked to end; what is half done must be undone first."""


class HungUp(Terminated):
    """The terminal is gone, as when a connection breaks."""


STOPS: dict[type[BaseException], signal.Signals] = {
    KeyboardInterrupt: signal.SIGINT,
    Terminated: signal.SIGTERM,
}
if hasattr(signal, "SIGHUP"):  # not on Windows
    STOPS[HungUp] = signal.SIGHUP
AGAIN = 0.01  # seconds until a signal that was lost is sent again


def heed() -> None:
    """Let signals end the command, wherever they reach it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:  # while it was loaded
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)
    # Under nohup the command is to survive its terminal.
    if HungUp in STOPS and signal.getsignal(STOPS[HungUp]) is not signal.SIG_IGN:
        signal.signal(STOPS[HungUp], _hang_up)
    sys.unraisablehook = _send_again


def exit_code(stop: BaseException) -> int:
    """Return the exit code of a command that a signal has stopped."""
    return 128 + STOPS[type(stop)]


def _terminate(*_: Any) -> NoReturn:
    raise Terminated


def _hang_up(*_: Any) -> NoReturn:
    raise HungUp


def _send_again(lost: sys.UnraisableHookArgs) -> None:
    """Repeat a signal whose exception was raised in a destructor or a callback.

    Python reports such exceptions and goes on, so the command would run to its end.
    """
    number = STOPS.get(lost.exc_type)
    if number is None:
        sys.__unraisablehook__(lost)
    else:
        threading.Timer(AGAIN, _interrupt, (number,)).start()


def _interrupt(number: signal.Signals) -> None:
    """Send a signal to the main thread, which may be waiting in a system call."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:  # Windows
        _thread.interrupt_main(number)


@contextlib.contextmanager
def keeping(what: str) -> Iterator[None]:
    """Say, when stopped, what is kept; a command without it has written nothing."""
    try:
        yield
    except (KeyboardInterrupt, Terminated) as stop:
        printing.complain(f"stopped; {what}.")
        sys.exit(exit_code(stop))
