"""Formatting: numbers and labels for people, and results as JSON types."""

from __future__ import annotations

import html
import math
from dataclasses import fields, is_dataclass
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

MOST_PLACES = 9  # the rest is noise
# Tags about the table of a rule's fit, with their names for people.
TAG_NAMES = {
    "abers:score": "score column",
    "abers:label": "label column",
    "abers:pos-label": "positive label",
    "abers:neg-labels": "negative labels",
    "abers:by": "group column",
    "abers:id": "id column",
}
# The same for a rule that was adjusted to another base rate.
PRIOR_NAMES = {"abers:prior": "adjusted to base rate"}
LEAST_P = 0.001  # the smallest p-value that is shown as a number
LEAST_PLACES = 4  # of a loss or a difference
LEAST_SHARE = 1e-8  # the smallest probability that is shown as a number
MINUS = "\N{MINUS SIGN}"


def places(value: float, digits: int, *, least: int) -> int:
    """Return how many decimal places show this many significant digits.

    For a difference, pass its standard error. At least `least`, also for 0, infinity
    and NaN; at most 9.

    >>> places(0.0123, 2, least=2), places(0.0123, 2, least=5)
    (3, 5)
    """
    if value == 0 or not math.isfinite(value):
        return least
    # A number meant as 0.01 may be slightly smaller.
    needed = digits - 1 - math.floor(math.log10(abs(value)) + 1e-9)
    return min(max(least, needed), MOST_PLACES)


def shorten(text: str, longest: int) -> str:
    """Cut out the middle of text that is too long.

    >>> from abers.formatting import shorten
    >>> shorten("northern-and-western", 11)
    'north…stern'
    """
    half = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def group_name(name: Any, longest: int | None = None) -> str:
    """Return the name of a group, shortened; rows without one have None.

    >>> group_name("north"), group_name(3), group_name(None)
    ('north', '3', '(no group)')
    """
    if name is None:
        return "(no group)"
    return str(name) if longest is None else shorten(str(name), longest)


def score_range(low: float, high: float) -> str:
    """Describe the scores from one number up to another, possibly infinite.

    >>> score_range(0.25, 0.5), score_range(-math.inf, 0.5), score_range(0.25, math.inf)
    ('scores from 0.25 to 0.5', 'scores below 0.5', 'scores from 0.25')
    """
    if math.isinf(low):
        return "all scores" if math.isinf(high) else f"scores below {high:.4g}"
    return f"scores from {low:.4g}" + f" to {high:.4g}" * math.isfinite(high)


def p_value(p: float) -> str:
    """Format a p-value; very small ones as a limit, NaN as a dash.

    >>> from abers.formatting import p_value
    >>> p_value(0.0314), p_value(1e-9), p_value(float("nan"))
    ('0.031', '<0.001', '-')
    """
    if math.isnan(p):
        return "-"
    return "<0.001" if p < LEAST_P else f"{p:.3f}"


def percent(p: float) -> str:
    """Format a probability with three significant digits: 0.0123 as 1.23 %.

    >>> percent(0.0123), percent(2e-7), percent(3e-10)
    ('1.23 %', '0.000020 %', '<0.000001 %')
    """
    if not math.isfinite(p):
        return "-"
    if 0 < p < LEAST_SHARE:
        return "<0.000001 %"
    digits = 1 if p == 0 else max(1, 2 - math.floor(math.log10(100 * abs(p)) + 1e-9))
    return f"{100 * p:.{min(digits, 6)}f} %".replace("-", MINUS)


def percent_points(p: float) -> str:
    """Format a difference of probabilities, with its sign."""
    return number(100 * p, 2, "+") + " %"


def number(value: float, digits: int = 4, sign: str = "") -> str:
    """Format a number; infinity as a symbol, NaN as nothing."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return f"{MINUS if value < 0 else '+' if sign else ''}∞"
    return f"{value:{sign}.{digits}f}".replace("-", MINUS)


def cost(value: float) -> str:
    """Format a loss with four decimal places; very small ones with three digits."""
    return number(value, places(value, 3, least=LEAST_PLACES))


def change(
    mean: float, error: float, *, least: int = LEAST_PLACES, most: int = MOST_PLACES
) -> str:
    """Format a difference, and any standard error with two digits."""
    if math.isnan(error):
        return number(mean, min(places(mean, 2, least=least), most), "+")
    shown = min(places(error, 2, least=least), most)
    return f"{number(mean, shown, '+')} ± {number(error, shown)}"


def plus_minus(value: float, error: float) -> str:
    """Format a number, and any standard error with two digits."""
    if math.isnan(error):
        return number(value, 2)
    shown = places(error, 2, least=2)
    return f"{number(value, shown)} ± {number(error, shown)}"


def count(n: int, what: str) -> str:
    """Format a count with its noun: 1 row, 2 rows."""
    return f"{n:,} {what}" + ("" if n == 1 else "s")


class Table(NamedTuple):
    """A table as text, for terminals, notebooks and pages; rows begin with a name."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    @classmethod
    def of(
        cls,
        items: Sequence[Any],
        columns: Mapping[str, Callable[[Any], str]],
        *,
        caption: str = "",
        most: int | None = None,
    ) -> Table:
        """Make a row for each item; a last row counts those beyond the first `most`.

        >>> Table.of([1, 2, 3], {"n": str, "square": lambda n: str(n * n)}, most=2).rows
        [['1', '1'], ['2', '4'], ['… and 1 more', '']]
        """
        rows = [[write(item) for write in columns.values()] for item in items[:most]]
        if (left_out := len(items) - len(rows)) > 0:
            rows.append([f"… and {left_out:,} more", *[""] * (len(columns) - 1)])
        return cls(caption, tuple(columns), rows)

    def text(self) -> str:
        """Return aligned lines, numbers to the right, with a line below the header.

        >>> print(Table("", ["method", "loss"], [["beta", "0.5"]]).text())
        method  loss
        ------  ----
        beta     0.5
        """
        cells = [self.head, *self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if place else cell.ljust(width)
                for place, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in (self.head, ["-" * width for width in widths], *self.rows)
        )

    def html(self) -> str:
        """Return the table for a notebook, escaped.

        >>> print(Table("", ["a", "b"], [["1 < 2", "3"]]).html())
        <table>
        <tr><th>a</th><th>b</th></tr>
        <tr><td>1 &lt; 2</td><td>3</td></tr>
        </table>
        """
        rows = [_html_row("th", self.head), *(_html_row("td", r) for r in self.rows)]
        return "\n".join(["<table>", *rows, "</table>"])


def _html_row(tag: str, cells: Sequence[str]) -> str:
    inside = "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells)
    return f"<tr>{inside}</tr>"


class Printout(NamedTuple):
    """The printed form of a result: facts, tables and warnings."""

    title: str
    facts: list[tuple[str, str]]  # names and values
    tables: list[Table]
    warnings: list[str]
    headline: str = ""

    def text(self) -> str:
        """Return the text for a terminal.

        >>> table = Table("", ["a", "b"], [["1", "2"]])
        >>> print(Printout("Rule", [("rows", "2")], [table], []).text())
        Rule
        rows: 2
        <BLANKLINE>
        a  b
        -  -
        1  2
        """
        lines = [f"{name}: {value}" for name, value in self.facts]
        tables = [f"\n{table.text()}" for table in self.tables]
        top = [self.title, self.headline] if self.headline else [self.title]
        return "\n".join([*top, *lines, *tables, *self.warnings])

    def html(self) -> str:
        """Return the HTML for a notebook."""
        warnings = [
            f'<p style="color:#c00"><strong>{html.escape(text)}</strong></p>'
            for text in self.warnings
        ]
        facts = [
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self.facts
        ]
        shown = ["\n".join(["<table>", *facts, "</table>"])]
        shown += [table.html() for table in self.tables]
        top = [f"<p>{html.escape(self.title)}</p>"]
        if self.headline:
            top.append(f"<p><strong>{html.escape(self.headline)}</strong></p>")
        return "\n".join([*top, *warnings, *shown])


def label_name(label: Any) -> str:
    """Return a label for people; empty if it is 1 or None.

    >>> label_name("spam"), label_name(1), label_name(None)
    ("'spam'", '', '')
    """
    return "" if label is None or label == 1 else shortened(label)


def label_as_json(label: Any) -> Any:
    """Return a label as a JSON type: itself if possible, else its text."""
    is_plain = label is None or isinstance(label, str | int | float)
    return label if is_plain else str(label)


def as_json(value: Any, *, longest: int | None = None) -> Any:
    """Convert dataclasses, named tuples, arrays and special numbers to JSON types.

    At most `longest` entries of an array are kept, including both ends, and the same
    ones for columns of equal length. NaN becomes None.

    >>> as_json({"loss": float("inf"), "parts": (0.5, float("nan"))})
    {'loss': 'inf', 'parts': [0.5, None]}
    >>> as_json(np.arange(5), longest=3)
    [0, 2, 4]
    """
    if is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if hasattr(value, "_asdict"):  # a NamedTuple
        value = value._asdict()
    if isinstance(value, dict):
        return {str(key): as_json(it, longest=longest) for key, it in value.items()}
    if isinstance(value, np.ndarray):
        if longest is not None and len(value) > longest:
            places = np.linspace(0, len(value) - 1, longest)
            value = value[places.round().astype(np.int64)]
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [as_json(it, longest=longest) for it in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
