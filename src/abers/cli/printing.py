"""Printing: messages to standard error, answers to standard output."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping


def complain(text: str) -> None:
    """Say in one line what went wrong."""
    sys.stderr.write(f"abers: {text}\n")


def warn(text: str) -> None:
    """Say in one line what to beware of."""
    _console().print(Text(f"warning: {text}", style="yellow"), soft_wrap=True)


def note(text: str) -> None:
    """Say in one line what was done."""
    _console().print(Text(text), soft_wrap=True)


def facts(pairs: Iterable[tuple[str, str]], *, to_stdout: bool = False) -> None:
    """Print names and what they are, one a line."""
    lines = list(pairs)
    width = max(len(name) for name, _ in lines)
    console = _console(to_stdout=to_stdout)
    for name, value in lines:
        shown = Text.assemble("  ", (f"{name:<{width}}", "bold"), "  ", value)
        console.print(shown, soft_wrap=True)


def as_json(answer: Mapping[str, Any]) -> None:
    """Print an answer as JSON; infinities as text, what is not a number as null."""
    sys.stdout.write(json.dumps(_plain(answer), indent=2, ensure_ascii=False) + "\n")


def number(value: float) -> str:
    """Write a number as people read it."""
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}"
    return f"{value:,.2f}"


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show on a terminal how many rows are done; nothing elsewhere."""
    console = _console()
    if not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,} rows"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def done(rows: int, total: int | None) -> None:
            bar.update(task, completed=rows, total=total)

        yield done


def _console(*, to_stdout: bool = False) -> Console:
    return Console(stderr=not to_stdout, highlight=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
