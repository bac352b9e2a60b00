"""Printing: messages to standard error, answers to standard output.

A terminal gets colours and progress from rich; a file or a pipe gets the same text
without it, because rich takes longer to load than a small table to predict.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rich.console import Console

    Piece = tuple[str, str]  # some text, and its style

INDENT = GAP = "  "
NARROWEST = 20  # characters of a line that is broken
USUAL_WIDTH = 80  # of a line, where no terminal tells
# Variables that may make rich take what it writes to for a terminal.
LIKE_A_TERMINAL = ("FORCE_COLOR", "TTY_COMPATIBLE")


def complain(text: str) -> None:
    """Say in one line what went wrong, unless the terminal is gone."""
    with contextlib.suppress(OSError):
        _say(sys.stderr, text, start=[("abers:", "bold red"), (" ", "")])


def alarm(text: str) -> None:
    """Say in one line what makes an answer worthless."""
    _say(sys.stderr, f"warning: {text}", "bold red")


def warn(text: str) -> None:
    """Say in one line what to beware of."""
    _say(sys.stderr, f"warning: {text}", "yellow")


def sentences_of(raised: list[warnings.WarningMessage]) -> list[str]:
    """Return each warning for users once, in a line."""
    meant = [each for each in raised if issubclass(each.category, UserWarning)]
    lines = (" ".join(str(each.message).split()) for each in meant)
    return list(dict.fromkeys(lines))


def note(text: str) -> None:
    """Say in one line what was done."""
    _say(sys.stderr, text)


def sentence(text: str, style: str = "") -> None:
    """Print a sentence of an answer."""
    _say(sys.stdout, text, style)


def facts(pairs: Iterable[tuple[str, str]], *, to_stdout: bool = False) -> None:
    """Print names and what they are, one a line."""
    lines = [(_printable(name), value) for name, value in pairs]
    width = max(len(name) for name, _ in lines)
    stream = sys.stdout if to_stdout else sys.stderr
    for name, value in lines:
        start = [(INDENT, ""), (name.ljust(width), "bold"), (GAP, "")]
        _say(stream, value, start=start)


def table(
    head: Sequence[str],
    body: Sequence[Sequence[str]],
    colours: Sequence[str] | None = None,
) -> None:
    """Print a table below an empty line: names to the left, numbers to the right.

    With colours the last column is words; they are the colours of its cells.
    """
    _write(sys.stdout, [])
    widths = _widths([head, *body])
    if colours is None:
        for i, cells in enumerate((head, *body)):
            _write(sys.stdout, [(_row(cells, widths), "" if i else "bold")])
        return
    words = [head[-1], *(cells[-1] for cells in body)]
    starts = [_row(cells[:-1], widths[:-1]) + GAP for cells in (head, *body)]
    for start, word, style in zip(starts, words, ["bold", *colours], strict=True):
        _say(sys.stdout, word, style, [(start, style if style == "bold" else "")])


def fits(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether a table has room."""
    return _cells(_row(rows[0], _widths(rows))) <= _width(sys.stdout)


def shortened(text: str, longest: int = 24) -> str:
    """Cut out the middle of a name that is too long for a table."""
    half = (longest - 1) // 2
    shown = text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"
    return _printable(shown)


def print_json(answer: Mapping[str, Any]) -> None:
    """Print an answer as JSON; infinities as text, what is not a number as null."""
    from abers.formatting import as_json

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
def progress(
    what: str, unit: str = "rows"
) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show on a terminal how many rows are done, say; nothing elsewhere."""
    console = _console(sys.stderr)
    if console is None:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn(f"{{task.completed:,}} {unit}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)

        def done(completed: int, total: int | None) -> None:
            bar.update(task, completed=completed, total=total)

        yield done


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show on a terminal that something is being done, and since when."""
    console = _console(sys.stderr)
    if console is None:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), SpinnerColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        bar.add_task(what, total=None)
        yield


def _say(
    stream: TextIO, text: str, style: str = "", start: Sequence[Piece] = ()
) -> None:
    """Print text; where it is too long, broken below its own beginning."""
    if stream is not sys.stdout:
        # Where both go to one file or pipe, a message stands behind the answer before
        # it; if that cannot be written, the next to write it will say so.
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
    lines = [text := _printable(text)]
    taken = sum(_cells(piece) for piece, _ in start)
    # A message to a file or a pipe is one line, for whoever reads it by program.
    # Answers are for people, wherever they go: programs have --json.
    if stream is sys.stdout or _console(stream):
        lines = _lines(text, max(NARROWEST, _width(stream) - taken))
    for place, line in enumerate(lines):
        before = [(" " * taken, "")] if place else start
        _write(stream, [*before, (line, style)])


def _write(stream: TextIO, pieces: Sequence[Piece]) -> None:
    """Write a line, in colours where they can be seen."""
    console = _console(stream)
    if console is None:
        stream.write("".join(text for text, _ in pieces) + "\n")
        return
    from rich.text import Text

    console.print(Text.assemble(*pieces), soft_wrap=True)


def _width(stream: TextIO) -> int:
    """Return how many characters a line has room for."""
    if (console := _console(stream)) is not None:
        return console.width
    if (given := os.environ.get("COLUMNS", "")).isdigit():
        return int(given)
    for standard in (0, 1, 2):  # one of them is the terminal of the user
        with contextlib.suppress(OSError):
            return os.get_terminal_size(standard).columns or USUAL_WIDTH
    return USUAL_WIDTH


def _console(stream: TextIO) -> Console | None:
    """Return what prints to a terminal; None for a file or a pipe."""
    if not (stream.isatty() or any(map(os.environ.get, LIKE_A_TERMINAL))):
        return None
    from rich.console import Console

    console = Console(file=stream, highlight=False)
    return console if console.is_terminal else None


def _cells(text: str) -> int:
    """Count the columns that a text takes; some letters are two wide."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


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
    return [max(map(_cells, column)) for column in zip(*rows, strict=True)]


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    """Put cells side by side."""
    first, *rest = zip(cells, _gaps(cells, widths), strict=True)
    return INDENT + GAP.join([first[0] + first[1], *(gap + cell for cell, gap in rest)])


def _gaps(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return what fills the cells up; some letters are two columns wide."""
    return [" " * (w - _cells(c)) for c, w in zip(cells, widths, strict=True)]
