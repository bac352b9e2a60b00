"""Printing: messages to standard error, answers to standard output."""

from __future__ import annotations

import contextlib
import json
import sys
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from abers.formatting import as_json

if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

INDENT = GAP = "  "
MOST_NARROW = 20  # characters of a line that is broken


def complain(text: str) -> None:
    """Say in one line what went wrong."""
    _say(_console(), text, start=Text.assemble(("abers:", "bold red"), " "))


def alarm(text: str) -> None:
    """Say in one line what makes an answer worthless."""
    _say(_console(), f"warning: {text}", "bold red")


def warn(text: str) -> None:
    """Say in one line what to beware of."""
    _say(_console(), f"warning: {text}", "yellow")


def sentences_of(raised: list[warnings.WarningMessage]) -> list[str]:
    """Return each warning for users once, in a line."""
    meant = [each for each in raised if issubclass(each.category, UserWarning)]
    lines = (" ".join(str(each.message).split()) for each in meant)
    return list(dict.fromkeys(lines))


def note(text: str) -> None:
    """Say in one line what was done."""
    _say(_console(), text)


def sentence(text: str, style: str = "") -> None:
    """Print a sentence of an answer."""
    _say(_console(to_stdout=True), text, style)


def facts(pairs: Iterable[tuple[str, str]], *, to_stdout: bool = False) -> None:
    """Print names and what they are, one a line."""
    lines = [(_printable(name), value) for name, value in pairs]
    width = max(len(name) for name, _ in lines)
    console = _console(to_stdout=to_stdout)
    for name, value in lines:
        start = Text.assemble(INDENT, (name.ljust(width), "bold"), GAP)
        _say(console, value, start=start)


def table(
    head: Sequence[str],
    body: Sequence[Sequence[str]],
    colours: Sequence[str] | None = None,
) -> None:
    """Print a table below an empty line: names to the left, numbers to the right.

    With colours the last column is words; they are the colours of its cells.
    """
    console = _console(to_stdout=True)
    console.print()
    widths = _widths([head, *body])
    if colours is None:
        console.print(Text(_row(head, widths), style="bold"), soft_wrap=True)
        for cells in body:
            console.print(Text(_row(cells, widths)), soft_wrap=True)
        return
    words = [head[-1], *(cells[-1] for cells in body)]
    starts = [_row(cells[:-1], widths[:-1]) + GAP for cells in (head, *body)]
    for start, word, style in zip(starts, words, ["bold", *colours], strict=True):
        _say(console, word, style, Text(start, style if style == "bold" else ""))


def fits(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether a table has room."""
    return cell_len(_row(rows[0], _widths(rows))) <= _console(to_stdout=True).width


def shortened(text: str, longest: int = 24) -> str:
    """Cut out the middle of a name that is too long for a table."""
    half = (longest - 1) // 2
    shown = text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"
    return _printable(shown)


def print_json(answer: Mapping[str, Any]) -> None:
    """Print an answer as JSON; infinities as text, what is not a number as null."""
    sys.stdout.write(json.dumps(as_json(answer), indent=2, ensure_ascii=False) + "\n")


def number(value: float) -> str:
    """Write a number as people read it."""
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}"
    return f"{value:,.2f}"


def count(n: int, one: str, many: str) -> str:
    """Count things: 1 row, 2 rows."""
    return f"{n:,} {one if n == 1 else many}"


def dropped(n: int) -> str:
    """Count the rows that were dropped."""
    return count(n, "row with a missing value", "rows with missing values")


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


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is being done, and since when."""
    console = _console()
    if not console.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), SpinnerColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        bar.add_task(what, total=None)
        yield


def _say(
    console: Console, text: str, style: str = "", start: Text | None = None
) -> None:
    """Print text; where it is too long, broken below its own beginning."""
    start = start or Text()
    width = _width(console)
    lines = [text := _printable(text)]
    if width is not None:
        lines = _lines(text, max(MOST_NARROW, width - start.cell_len))
    for place, line in enumerate(lines):
        before = Text(" " * start.cell_len) if place else start
        console.print(before + Text(line, style=style), soft_wrap=True)


def _width(console: Console) -> int | None:
    """Return where lines are broken; messages to a file or a pipe are not.

    One message is one line there, for whoever reads it by program. Answers are for
    people, wherever they go: programs have --json.
    """
    return console.width if console.is_terminal or not console.stderr else None


def _lines(text: str, room: int) -> list[str]:
    """Break a text that is too long; an aside at its end stays together."""
    parts = [text]
    if len(text) > room and text.endswith(")") and text.count(" (") == 1:
        parts = text.replace(" (", "\n(").split("\n")
    lines = (
        wrap(part, room, break_long_words=False, break_on_hyphens=False)
        for part in parts
    )
    return [line for part in lines for line in part] or [""]


def _printable(text: str) -> str:
    """Replace what would move the cursor or change colours: names come from files."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(cell_len, column)) for column in zip(*rows, strict=True)]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Put cells side by side."""
    first, *rest = zip(cells, _gaps(cells, widths), strict=True)
    return INDENT + GAP.join([first[0] + first[1], *(gap + cell for cell, gap in rest)])


def _gaps(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return what fills the cells up; some letters are two columns wide."""
    return [" " * (w - cell_len(c)) for c, w in zip(cells, widths, strict=True)]


def _console(*, to_stdout: bool = False) -> Console:
    return Console(stderr=not to_stdout, highlight=False)
