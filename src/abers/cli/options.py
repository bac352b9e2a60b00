"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from abers.choices import FORMAT_NAMES, DecimalMark, OnMissing
from abers.cli.commands import FORMATS
from abers.core.merging import LOSSES
from abers.errors import InvalidParameter, need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNITS |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
TABS = ("tab", r"\t")
STDIN = STDOUT = "-"
# For completion only: opening the file reports what is wrong with it.
FILE = click.Path(readable=False)
FOLDER = click.Path(file_okay=False, readable=False)


class Number(click.ParamType[float]):
    """An integer or a real number with a lower limit."""

    NAMES = {int: "an integer", float: "a number"}  # noqa: RUF012 (never changed)

    def __init__(self, kind: type[float], *, least: float | None = None) -> None:
        self.name = kind.__name__
        self.kind = kind
        self.least = least

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read a number."""
        name = max(param.opts, key=len) if param else self.name
        try:
            number = self.kind(value)
        except ValueError:
            msg = f"{name} must be {self.NAMES[self.kind]}; got {value!r}."
            raise click.UsageError(msg, ctx) from None
        if self.least is not None and number < self.least:
            msg = f"{name} must be at least {self.least}; got {number}."
            raise click.UsageError(msg, ctx)
        return number


class OneOf(click.Choice[str]):
    """Words for completion; the library refuses others with its own message."""

    def convert(self, value: Any, *_: Any) -> str:
        """Return the word."""
        return str(value)


INTEGER, REAL = Number(int), Number(float)


def one_of(*names: str, choices: Iterable[str], **settings: Any) -> Decorator:
    """Return an option whose value is one of a few words."""
    kind = OneOf(list(choices))
    return click.option(*names, type=kind, metavar="|".join(kind.choices), **settings)


def together(*options: Decorator) -> Decorator:
    """Combine several options into one decorator, in the order of the help."""

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        """Add all options to a command."""
        for option in reversed(options):
            command = option(command)
        return command

    return decorated


def output(about: str, **settings: Any) -> Decorator:
    """Return the option for the output file."""
    return click.option(
        "--output", "-o", metavar="FILE", type=FILE, help=about, **settings
    )


def tags(about: str) -> Decorator:
    """Return the option of key=value pairs, which becomes a dictionary."""
    return click.option(
        "--tag",
        "tags",
        metavar="KEY=VALUE",
        multiple=True,
        callback=lambda _context, _option, pairs: as_tags(pairs),
        help=f"{about}; may be repeated.",
    )


rule = click.argument(
    "rule",
    metavar="RULE",
    type=FILE,
    help="File of a rule or a calibrator, made by abers fit.",
)
files = click.argument(
    "files",
    metavar="FILE...",
    type=FILE,
    nargs=-1,
    required=True,
    help=f"{FORMATS}, .gz or .zst; folders, patterns, URIs; - for stdin.",
)
score = click.option(
    "--score",
    metavar="COLUMN",
    help="Column of scores (default: that of the fit, or by a usual name).",
)
scores = click.option(
    "--scores",
    metavar="A,B,C",
    help="Columns of scores, one per class or per model; patterns such as 'p_*'.",
)
probabilities = click.option(
    "--probabilities",
    metavar="A,B,C",
    help="Columns of probabilities, one per class, or that of the positive label.",
)
label = click.option(
    "--label",
    metavar="COLUMN",
    help="Column of labels (default: that of the fit, or by a usual name).",
)
pos_label = click.option(
    "--pos-label",
    metavar="VALUE",
    help="Positive label, if it is not 1, yes, true or positive.",
)
weight = click.option("--weight", metavar="COLUMN", help="Column of row weights.")
by = click.option("--by", metavar="COLUMN", help="Column of groups.")
loss = one_of(
    "--loss",
    choices=LOSSES,
    default="log",
    help="Loss for which the bounds are merged.",
)
drop_missing = click.option(
    "--drop-missing", is_flag=True, help="Drop rows with missing values."
)
temp = click.option(
    "--temp",
    metavar="FOLDER",
    type=FOLDER,
    help="Directory for temporary files (default: next to the output).",
)
force = click.option("--force", is_flag=True, help="Overwrite an existing file.")
json = click.option("--json", is_flag=True, help="Print the result as JSON.")
counts = together(
    click.option(
        "--count",
        metavar="COLUMN",
        help="Column of rows at each score, for counted data.",
    ),
    click.option(
        "--positives",
        metavar="COLUMN",
        help="Column of positives at each score, for counted data.",
    ),
)
memory = click.option(
    "--memory",
    metavar="SIZE",
    callback=lambda _context, _option, size: size and as_bytes(size),
    help="Memory limit (default: 1GB, or half of the container's if that is less).",
)
page = together(
    click.option("--html", metavar="FILE", type=FILE, help="HTML page to write."),
    click.option("--title", metavar="TEXT", help="Heading of the page."),
    tags("Fact to list on the page"),
)


def dialect(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options on how CSV is written, which become one `Dialect`."""

    @functools.wraps(command)
    def with_dialect(
        delimiter: str | None, decimal: DecimalMark, encoding: str, **values: Any
    ) -> Any:
        from abers.tables.files import Dialect

        mark = "\t" if delimiter in TABS else delimiter
        return command(dialect=Dialect(mark, decimal, encoding), **values)

    add = together(
        click.option(
            "--delimiter",
            metavar="CHARACTER",
            help="Delimiter of CSV, or tab (default: by its header).",
        ),
        one_of(
            "--decimal",
            choices=get_args(DecimalMark),
            default=".",
            help="Decimal mark of numbers in CSV.",
        ),
        click.option(
            "--encoding",
            metavar="NAME",
            default="utf-8",
            help="Encoding of CSV, such as latin-1.",
        ),
    )
    return add(with_dialect)


# The arguments of `abers predict` and `abers decide`: a rule, and a table to rewrite.
application = together(
    rule,
    files,
    output("Table to write.", default=STDOUT),
    score,
    scores,
    by,
    click.option(
        "--prefix",
        metavar="TEXT",
        default="",
        show_default=False,
        help="Prefix of the new columns.",
    ),
    click.option(
        "--prior",
        metavar="RATE",
        type=REAL,
        help="Share of positives among these rows, if not that of the calibration.",
    ),
    one_of(
        "--missing",
        choices=get_args(OnMissing),
        default="null",
        help="Result for rows without a score.",
    ),
    one_of(
        "--format",
        choices=FORMAT_NAMES,
        help="Output format (default: by the file name).",
    ),
    dialect,
    temp,
    force,
    json,
)


def columns_and_kind(
    *,
    scores: str | None,
    probabilities: str | None,
    score: str | None,
    kind: str | None = None,
) -> tuple[list[str], str | None]:
    """Return the columns named by one of three options, and their kind, if given."""
    given = [name for name in (scores, probabilities, score) if name is not None]
    if len(given) != 1:
        msg = (
            "one of --score, --scores and --probabilities must name the columns of "
            f"scores; got {len(given)} of them."
        )
        raise InvalidParameter(msg)
    usual = None if probabilities is None else "probability"
    return columns_named(given[0]), kind or usual


def columns_named(names: str) -> list[str]:
    """Split names of columns at commas."""
    read = [name.strip() for name in names.split(",")]
    if not all(read):
        msg = f"--scores must be names of columns, separated by commas; got {names!r}."
        raise InvalidParameter(msg)
    return read


def folder_of(name: str) -> str | None:
    """Return the folder of an output, for temporary files."""
    return None if name == STDOUT else str(Path(name).resolve().parent)


def check_page(html: str | None, *, force: bool, inputs: Iterable[str]) -> None:
    """Raise if a page cannot be made or must not be written, before any work."""
    if html is None:
        return
    if html in {STDOUT, "/dev/stdout"}:
        msg = f"--html must name a file; got {html!r}, where the answer goes."
        raise InvalidParameter(msg)
    from abers.tables.writing import check_output

    need("matplotlib", "jinja2", extra="report", what="a page")
    check_output(html, force=force, inputs=inputs)


def as_bytes(text: str) -> int:
    """Read a size such as 500MB, 1GB or 2GiB."""
    parts = re.fullmatch(r"([\d.]+)\s*(|[kmgt]i?)b?", text.strip().lower())
    try:
        size = int(float(parts[1]) * UNITS[parts[2]]) if parts else 0
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        msg = f"--memory must be a size such as 500MB or 2GB; got {text!r:.60}."
        raise InvalidParameter(msg)
    return size


def as_tags(pairs: Iterable[str]) -> dict[str, str]:
    """Read key=value pairs."""
    read: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            msg = f"--tag must be key=value; got {pair!r}."
            raise InvalidParameter(msg)
        read[key] = value
    return read
