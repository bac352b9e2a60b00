"""Stopping: what a command says when it is asked to end."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from abers.cli import printing
from abers.cli.exit_codes import INTERRUPTED, TERMINATED

if TYPE_CHECKING:
    from collections.abc import Iterator


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
