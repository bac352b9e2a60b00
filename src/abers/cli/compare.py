"""`abers compare`: compare methods of calibration."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Annotated, Any

from abers.cli import printing
from abers.cli.inputs import named_files, page_facts
from abers.cli.options import (
    Decimal,
    Delimiter,
    DropMissing,
    Encoding,
    Files,
    Force,
    Html,
    Json,
    Label,
    PageTag,
    Positive,
    Score,
    Title,
    Weight,
    as_dialect,
    as_tags,
    check_page,
)
from abers.cli.parsing import Option
from abers.errors import InvalidParameter
from abers.storage.atomic import publishing

if TYPE_CHECKING:
    from abers.comparison import Comparison

LARGEST_SEED = 2**32 - 1
PLACES = (9, 5, 4, 3)  # of losses, at most: as many as the terminal has room for


def compare(
    files: Files,
    *,
    score: Score = None,
    label: Label = None,
    positive: Positive = None,
    weight: Weight = None,
    test: Annotated[
        str | None,
        Option(
            metavar="SHARE|N",
            help="Rows to test on (default: cross-validation, each row once).",
        ),
    ] = None,
    cv: Annotated[int, Option(metavar="K", help="Number of folds.")] = 5,
    methods: Annotated[
        str | None,
        Option(metavar="A,B,C", help="Methods to compare (default: all that apply)."),
    ] = None,
    seed: Annotated[int, Option(metavar="N", help="Random seed.")] = 0,
    drop_missing: DropMissing = False,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    html: Html = None,
    title: Title = None,
    tag: PageTag = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Compare methods of calibration on held-out rows, best first.

    The table has a column of scores, and all rows are kept in memory. To train a model
    and compare methods on it, call `abers.compare` in Python.
    """
    if not 0 <= seed <= LARGEST_SEED:
        msg = f"--seed must be from 0 to {LARGEST_SEED}; got {seed}."
        raise InvalidParameter(msg)
    tags = as_tags(tag or ())
    check_page(html, force=force, inputs=files)
    columns = {
        "score": score,
        "label": label,
        "positive": positive,
        "weight": weight,
        "drop_missing": drop_missing,
        "dialect": as_dialect(delimiter, decimal, encoding),
    }
    options = {
        "test": None if test is None else _as_share(test),
        "cv": cv,
        "methods": None if methods is None else _as_methods(methods),
        "random_state": seed,
    }
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        found, n_missing = _compared(files, columns, options)
    if html:
        with printing.working("drawing"), publishing(html, force=force) as page:
            sources = page_facts({"tables": named_files(files)}, tags)
            found.to_html(page, title=title, facts=sources)
    texts = printing.sentences_of(raised)
    if json:
        facts = {"missing": n_missing, "page": html, "warnings": texts}
        printing.print_json(found.to_dict() | facts)
        return
    _print(found, n_missing)
    if html:
        printing.note(f"A page was written to {html}.")
    for text in texts:
        printing.warn(text)


def _compared(
    files: list[str], columns: dict[str, Any], options: dict[str, Any]
) -> tuple[Comparison, int]:
    """Compare methods on scores; also count the rows left out."""
    import abers
    from abers.tables.rows import load_rows

    with printing.progress("reading") as progress:
        rows = load_rows(files, progress=progress, **columns)
    labels: Any = rows.labels
    with printing.progress("comparing", "methods") as progress:
        found = abers.compare(
            rows.scores,
            labels.astype(int),
            sample_weight=rows.weights,
            progress=progress,
            **options,
        )
    return found, rows.n_missing


def _as_share(text: str) -> float:
    """Read a share below 1, or a number of rows."""
    try:
        share = int(text) if text.isdigit() else float(text)
    except ValueError:
        share = math.nan
    if not math.isfinite(share):
        msg = f"--test must be a share such as 0.25, or a number of rows; got {text!r}."
        raise InvalidParameter(msg)
    return share


def _as_methods(text: str) -> list[str]:
    """Read names of methods, in small letters or large ones."""
    from abers.comparison import METHODS

    known = {name.casefold(): name for name in METHODS}
    names = [name.strip() for name in text.split(",")]
    return [known.get(name.casefold(), name) for name in names]


def _print(found: Comparison, n_missing: int) -> None:
    from abers.losses import SCORING_LOSSES

    printing.sentence(found.how)
    for places in PLACES:
        tables = [found.table(loss, most_places=places) for loss in SCORING_LOSSES]
        if all(map(printing.fits, tables)):
            break
    for head, *body in tables:
        printing.table(head, body)
    printing.sentence("")
    dropped = f" Dropped: {printing.dropped(n_missing)}." if n_missing else ""
    printing.sentence(found.legend() + dropped)
