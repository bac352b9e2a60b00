"""The printer: messages to standard error, answers to standard output.

A terminal gets colours and progress from rich. A file or a pipe gets the same text
without rich, which takes longer to import than a small table takes to predict.
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
NARROWEST = 20  # characters of a broken line, at least
SCHEMA_VERSION = 1  # of JSON answers; it rises when a name changes or is removed


def complain(text: str) -> None:
    """Print in one line what went wrong, unless the terminal is gone."""
    with contextlib.suppress(OSError):
        _say(sys.stderr, text, start="abers: ", start_style="bold red")


def alarm(text: str) -> None:
    """Print, in one line, why an answer is worthless."""
    _say(sys.stderr, f"warning: {text}", "bold red")


def warn(text: str) -> None:
    """Print a warning in one line."""
    _say(sys.stderr, f"warning: {text}", "yellow")


def note(text: str) -> None:
    """Print in one line what was done."""
    _say(sys.stderr, text)


def sentence(text: str, style: str = "") -> None:
    """Print a sentence of the answer."""
    _say(sys.stdout, text, style)


def line(text: str, style: str = "") -> None:
    """Print a line of the answer, without breaking it."""
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
    """Print a table below an empty line: names left-aligned, numbers right-aligned.

    If colours are given, the last column holds words, and each word gets its colour.
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
    """Return whether there is room for a table."""
    width = _width(_console(sys.stdout))
    return _cells(_row(rows[0], _widths(rows))) <= width


def print_json(answer: Mapping[str, Any]) -> None:
    """Print an answer as JSON; infinities become text, NaN becomes null."""
    from abers.formatting import as_json

    answer = {"schema_version": SCHEMA_VERSION, **answer}
    sys.stdout.write(json.dumps(as_json(answer), indent=2, ensure_ascii=False) + "\n")


def number(value: float) -> str:
    """Format a number for people."""
    if isinstance(value, int) or value.is_integer():
        return f"{int(value):,}"
    return f"{value:,.2f}"


def count(n: int, one: str, many: str) -> str:
    """Format a count with its noun: 1 row, 2 rows."""
    return f"{n:,} {one if n == 1 else many}"


def dropped(n: int) -> str:
    """Describe how many rows were dropped."""
    return count(n, "row with a missing value", "rows with missing values")


def sentences_of(raised: list[warnings.WarningMessage]) -> list[str]:
    """Return each warning for users once, as one line."""
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
    """Show progress on a terminal; nothing elsewhere."""
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
    """Show on a terminal that work is going on, and for how long."""
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
    """Print text; long lines are broken and indented."""
    if stream is not sys.stdout:
        # If both go to one file or pipe, a message comes after the answer before it; if
        # that cannot be written, the next write will report it.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
    console = _console(stream)
    lines = [text := _printable(text)]
    indent = _cells(start)
    # A message to a file or a pipe is one line, for programs that read it. Answers are
    # always for people: programs use --json.
    if console or stream is sys.stdout:
        lines = _broken(text, max(NARROWEST, _width(console) - indent))
    for part in lines:
        _write(stream, console, (start, start_style), (part, style))
        start = " " * indent


def _write(stream: TextIO, console: Console | None, *pieces: tuple[str, str]) -> None:
    """Write pieces of text as a line, with their styles if the output can show them."""
    if console is None:
        stream.write("".join(text for text, _ in pieces) + "\n")
        return
    from rich.text import Text

    console.print(Text.assemble(*pieces), soft_wrap=True)


def _console(stream: TextIO) -> Console | None:
    """Return the console of a terminal; None for a file or a pipe."""
    if not stream.isatty():
        return None
    from rich.console import Console

    return Console(file=stream, highlight=False)


def _width(console: Console | None) -> int:
    """Return how many characters fit into a line."""
    if console is not None:
        return console.width
    from shutil import get_terminal_size

    return get_terminal_size().columns


def _broken(text: str, room: int) -> list[str]:
    """Break text that is too long; keep a remark at its end together."""
    parts = [text]
    if len(text) > room and text.endswith(")") and text.count(" (") == 1:
        parts = text.replace(" (", "\n(").split("\n")
    lines = (
        wrap(part, room, break_long_words=False, break_on_hyphens=False)
        for part in parts
    )
    return [line for part in lines for line in part] or [""]


def _printable(text: str) -> str:
    """Replace control characters, since names come from files."""
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def _cells(text: str) -> int:
    """Return the display width of text; some characters are two columns wide."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(_cells, column)) for column in zip(*rows, strict=True)]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Format cells as a row: the first left-aligned, numbers right-aligned."""
    gaps = [" " * (w - _cells(cell)) for cell, w in zip(cells, widths, strict=True)]
    rest = (gap + cell for cell, gap in zip(cells[1:], gaps[1:], strict=True))
    return INDENT + GAP.join([cells[0] + gaps[0], *rest])
