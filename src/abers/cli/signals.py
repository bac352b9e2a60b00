"""Signals: exit codes, and how a command ends when it is stopped."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import TYPE_CHECKING

from abers.cli import printing

if TYPE_CHECKING:
    from collections.abc import Iterator

# 0 fine, 1 failed, 2 wrong use, 3 a test of the check failed.
FINE, FAILED, WRONG_USE, CHECK_FAILED = range(4)
INTERRUPTED, TERMINATED = (128 + number for number in (signal.SIGINT, signal.SIGTERM))


class Terminated(BaseException):
    """The process was asked to end; what is half done must be undone first."""


@contextlib.contextmanager
def keeping(what: str) -> Iterator[None]:
    """Say, when stopped, what is kept; a command without it has written nothing."""
    try:
        yield
    except (KeyboardInterrupt, Terminated) as stop:
        printing.complain(f"stopped; {what}.")
        sys.exit(TERMINATED if isinstance(stop, Terminated) else INTERRUPTED)
