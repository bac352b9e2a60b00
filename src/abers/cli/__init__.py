"""The command `abers`: from a file to an answer."""

from __future__ import annotations

import sys

from abers.errors import MissingExtra, need


def main() -> None:
    """Run the command, or say what to install for it."""
    try:
        need("typer", "rich", "pyarrow", extra="cli", what="the command abers")
    except MissingExtra as error:
        sys.exit(f"abers: {error}")
    from abers.cli.app import run

    sys.exit(run(sys.argv[1:]))
