"""The journal: a line of JSON for each piece of work that is done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from abers.errors import InvalidFile

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

Entry = TypeVar("Entry")


def read_entries(
    journal: str | os.PathLike[str] | None, parse: Callable[[str], Entry], what: str
) -> list[Entry]:
    """Return what a journal has, in its order; nothing if there is no such file.

    A last line that was cut short, by a run that was stopped, is removed from the file.
    """
    if journal is None or not Path(journal).exists():
        return []
    path = Path(journal)
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    try:
        return [parse(line) for line in whole.splitlines()]
    except (AttributeError, LookupError, TypeError, ValueError) as damage:
        msg = (
            f"{path.name} must have {what} in each line; {damage}. Remove the file to "
            "start over."
        )
        raise InvalidFile(msg) from damage


def add_entry(journal: str | os.PathLike[str] | None, line: str) -> None:
    """Add a line to a journal; None keeps nothing."""
    if journal is not None:
        with Path(journal).open("a", encoding="utf-8") as file:
            file.write(line + "\n")
