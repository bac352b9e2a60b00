"""The printer: messages to standard error, answers to standard output.

A terminal gets colours and progress from rich; a file or a pipe gets the same text
without it, because rich takes longer to load than a small table to predict.
"""

from __future__ import annotations

import contextlib
import json
import sys
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console

INDENT = GAP = "  "
NARROWEST = 20  # characters of a line that is broken
SCHEMA_VERSION = 1  # of JSON answers; it rises when a name changes or goes


def complain(text: str) -> None:
    """Say in one line what went wrong, unless the terminal is gone."""
    with contextlib.suppress(OSError):
        _say(sys.stderr, text, start="abers: ", start_style="bold red")


def alarm(text: str) -> None:
    """Say in one line what makes an answer worthless."""
    _say(sys.stderr, f"warning: {text}", "bold red")


def warn(text: str) -> None:
    """Say in one line what to beware of."""
    _say(sys.stderr, f"warning: {text}", "yellow")


def note(text: str) -> None:
    """Say in one line what was done."""
    _say(sys.stderr, text)


def sentence(text: str, style: str = "") -> None:
    """Print a sentence of an answer."""
    _say(sys.stdout, text, style)


def line(text: str, style: str = "") -> None:
    """Print a line of an answer, unbroken."""
    _write(sys.stdout, _console(sys.stdout), (text, style))


def facts(pairs: Iterable[tuple[str, str]], *, to_stdout: bool = False) -> None:
    """Print names and values, one pair per line."""
    lines = [(_printable(name), value) for name, value in pairs]
    width = max(len(name) for name, _ in lines)
    stream = sys.stdout if to_stdout else sys.stderr
    for name, value in lines:
        _say(stream, value, start=f"{INDENT}{name:{width}}{GAP}", start_style="bold")


def table(
    head: Sequence[str],
    body: Sequence[Sequence[str]],
    colours: Sequence[str] | None = None,
) -> None:
    """Print a table below an empty line: names to the left, numbers to the right.

    With colours the last column is words; they are the colours of its cells.
    """
    line("")
    rows = [[_printable(cell) for cell in cells] for cells in (head, *body)]
    widths = _widths(rows)
    if colours is None:
        for i, cells in enumerate(rows):
            line(_row(cells, widths), "" if i else "bold")
        return
    for i, (cells, style) in enumerate(zip(rows, ["bold", *colours], strict=True)):
        start = _row(cells[:-1], widths[:-1]) + GAP
        _say(sys.stdout, cells[-1], style, start=start, start_style="" if i else "bold")


def fits(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a table has room."""
    width = _width(_console(sys.stdout))
    return _cells(_row(rows[0], _widths(rows))) <= width


def print_json(answer: Mapping[str, Any]) -> None:
    """Print an answer as JSON; infinities as text, what is not a number as null."""
    from abers.formatting import as_json

    answer = {"schema_version": SCHEMA_VERSION, **answer}
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


def sentences_of(raised: list[warnings.WarningMessage]) -> list[str]:
    """Return each warning for users once, in a line."""
    lines = (
        " ".join(str(each.message).split())
        for each in raised
        if issubclass(each.category, UserWarning)
    )
    return list(dict.fromkeys(lines))


@contextlib.contextmanager
def progress(
    what: str, unit: str = "rows"
) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show on a terminal how many rows are done, say; nothing elsewhere."""
    console = _console(sys.stderr)
    if console is None:
        yield None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TimeRemainingColumn,
    )

    columns = (
        *("{task.description}", BarColumn(), TaskProgressColumn()),
        *(f"{{task.completed:,}} {unit}", TimeRemainingColumn()),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda completed, total: bar.update(
            task, completed=completed, total=total
        )


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is being done, and since when."""
    console = _console(sys.stderr)
    if console is None:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    columns = ("{task.description}", SpinnerColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        bar.add_task(what, total=None)
        yield


def _say(
    stream: TextIO,
    text: str,
    style: str = "",
    *,
    start: str = "",
    start_style: str = "",
) -> None:
    """Print text; where it is too long, broken below its own beginning."""
    if stream is not sys.stdout:
        # Where both go to one file or pipe, a message stands behind the answer before
        # it; if that cannot be written, the next to write it will say so.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
    console = _console(stream)
    lines = [text := _printable(text)]
    indent = _cells(start)
    # A message to a file or a pipe is one line, for whoever reads it by program.
    # Answers are for people, wherever they go: programs have --json.
    if console or stream is sys.stdout:
        lines = _broken(text, max(NARROWEST, _width(console) - indent))
    for part in lines:
        _write(stream, console, (start, start_style), (part, style))
        start = " " * indent


def _write(stream: TextIO, console: Console | None, *pieces: tuple[str, str]) -> None:
    """Write pieces of text as a line, in their styles where these can be seen."""
    if console is None:
        stream.write("".join(text for text, _ in pieces) + "\n")
        return
    from rich.text import Text

    console.print(Text.assemble(*pieces), soft_wrap=True)


def _console(stream: TextIO) -> Console | None:
    """Return what prints to a terminal; None for a file or a pipe."""
    if not stream.isatty():
        return None
    from rich.console import Console

    return Console(file=stream, highlight=False)


def _width(console: Console | None) -> int:
    """Return how many characters a line has room for."""
    if console is not None:
        return console.width
    from shutil import get_terminal_size

    return get_terminal_size().columns


def _broken(text: str, room: int) -> list[str]:
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


def _cells(text: str) -> int:
    """Count the columns that a text takes; some letters are two wide."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(_cells, column)) for column in zip(*rows, strict=True)]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Put cells side by side, the first to the left, numbers to the right."""
    gaps = [" " * (w - _cells(cell)) for cell, w in zip(cells, widths, strict=True)]
    rest = (gap + cell for cell, gap in zip(cells[1:], gaps[1:], strict=True))
    return INDENT + GAP.join([cells[0] + gaps[0], *rest])
