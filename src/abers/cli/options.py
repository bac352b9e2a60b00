"""Options: what several commands ask for, and how it is read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from abers.cli.parsing import Argument, Option
from abers.core.merging import LOSSES
from abers.errors import InvalidParameter, need

if TYPE_CHECKING:
    from collections.abc import Iterable

    from abers.tables.files import Dialect

UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
TABS = ("tab", r"\t")
STDIN = STDOUT = "-"
FORMATS = "CSV, TSV, Parquet, Arrow or JSON lines"

RuleFile = Annotated[
    str,
    Argument(metavar="RULE", help="Rule file, made by abers fit."),
]
Files = Annotated[
    list[str],
    Argument(
        metavar="FILE",
        help=f"{FORMATS}, .gz or .zst; patterns; - for stdin.",
    ),
]
Score = Annotated[
    str | None,
    Option(
        metavar="COLUMN",
        help="Column of scores (default: that of the fit, or by a usual name).",
    ),
]
Label = Annotated[
    str | None,
    Option(
        metavar="COLUMN",
        help="Column of labels (default: that of the fit, or by a usual name).",
    ),
]
Positive = Annotated[
    str | None,
    Option(metavar="VALUE", help="Positive label, if it is not 1 or true."),
]
Weight = Annotated[str | None, Option(metavar="COLUMN", help="Column of row weights.")]
Loss = Annotated[
    str,
    Option(metavar="|".join(LOSSES), help="Loss for which the bounds are merged."),
]
Prefix = Annotated[str, Option(metavar="TEXT", help="Prefix of the new columns.")]
Missing = Annotated[
    str, Option(metavar="null|error", help="Result for rows without a score.")
]
Prior = Annotated[
    float | None,
    Option(
        metavar="RATE",
        help="Share of positives among these rows, if not that of the calibration.",
    ),
]
DropMissing = Annotated[
    bool, Option("--drop-missing", help="Drop rows with missing values.")
]
Delimiter = Annotated[
    str | None,
    Option(
        metavar="CHARACTER", help="Delimiter of CSV, or tab (default: by its header)."
    ),
]
Decimal = Annotated[str, Option(metavar=".|,", help="Decimal mark of numbers in CSV.")]
Encoding = Annotated[
    str, Option(metavar="NAME", help="Encoding of CSV, such as latin-1.")
]
Format = Annotated[
    str | None,
    Option(
        metavar="csv|tsv|parquet|arrow|json",
        help="Output format (default: by the file name).",
    ),
]
Html = Annotated[str | None, Option(metavar="FILE", help="HTML page to write.")]
Title = Annotated[str | None, Option(metavar="TEXT", help="Heading of the page.")]
PageTag = Annotated[
    list[str] | None,
    Option(metavar="KEY=VALUE", help="Fact to list on the page; may be repeated."),
]
By = Annotated[str | None, Option(metavar="COLUMN", help="Column of groups.")]
Temp = Annotated[
    str | None,
    Option(
        metavar="FOLDER",
        help="Directory for temporary files (default: next to the output).",
    ),
]
Force = Annotated[bool, Option("--force", help="Overwrite an existing file.")]
Json = Annotated[bool, Option("--json", help="Print the result as JSON.")]


def folder_of(output: str) -> str | None:
    """Return the folder of an output, where there is room for it."""
    return None if output == STDOUT else str(Path(output).resolve().parent)


def check_page(html: str | None, *, force: bool, inputs: Iterable[str]) -> None:
    """Refuse a page that cannot be made or must not be written, before the work."""
    if html is None:
        return
    if html in {STDOUT, "/dev/stdout"}:
        msg = f"--html must name a file; got {html!r}, where the answer goes."
        raise InvalidParameter(msg)
    from abers.tables.writing import check_output

    need("matplotlib", "jinja2", extra="report", what="a page")
    check_output(html, force=force, inputs=inputs)


def as_dialect(delimiter: str | None, decimal: str, encoding: str) -> Dialect:
    """Read how CSV is written; a tab may be spelt."""
    from abers.tables.files import Dialect

    mark = "\t" if delimiter in TABS else delimiter
    return Dialect(mark, decimal, encoding)


def as_bytes(text: str) -> int:
    """Read a size such as 500MB, 1GB or 2GiB."""
    found = re.fullmatch(r"([\d.]+)\s*(|[kmgt]i?)b?", text.strip().lower())
    try:
        size = int(float(found[1]) * UNITS[found[2]]) if found else 0
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        msg = f"--memory must be a size such as 500MB or 2GB; got {text!r:.60}."
        raise InvalidParameter(msg)
    return size


def as_tags(pairs: Iterable[str]) -> dict[str, Any]:
    """Read key=value pairs."""
    tags: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            msg = f"--tag must be key=value; got {pair!r}."
            raise InvalidParameter(msg)
        tags[key] = value
    return tags
