"""The command `abers`: from a file to an answer."""

from __future__ import annotations

import signal
import sys

from abers.errors import MissingExtra, need


def main() -> None:
    """Run the command, or say what to install for it."""
    try:
        need("typer", "rich", "pyarrow", extra="cli", what="the command abers")
    except MissingExtra as error:
        sys.exit(f"abers: {error}")
    try:
        from abers.cli.app import run
    except KeyboardInterrupt:  # later ones are caught by run
        sys.exit(128 + signal.SIGINT)
    sys.exit(run(sys.argv[1:]))
