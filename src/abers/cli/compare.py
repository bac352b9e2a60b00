"""`abers compare`: compare methods of calibration."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import click

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.inputs import named_files, page_facts
from abers.errors import InvalidParameter
from abers.storage.atomic import replace_text

if TYPE_CHECKING:
    from abers.comparison import Comparison

LARGEST_SEED = 2**32 - 1
PLACES = (9, 5, 4, 3)  # of losses: as many as the terminal has room for


@command()
@options.files
@options.score
@options.scores
@options.probabilities
@options.label
@options.pos_label
@options.weight
@click.option(
    "--test",
    metavar="SHARE|N",
    help="Rows to test on (default: cross-validation, each row once).",
)
@click.option(
    "--cv", metavar="K", type=options.INTEGER, default=5, help="Number of folds."
)
@click.option(
    "--methods",
    metavar="A,B,C",
    help="Methods to compare (default: all that apply).",
)
@click.option(
    "--seed", metavar="N", type=options.INTEGER, default=0, help="Random seed."
)
@options.drop_missing
@options.dialect
@options.page
@options.force
@options.json
def compare(
    files: tuple[str, ...],
    *,
    test: str | None,
    cv: int,
    methods: str | None,
    seed: int,
    html: str | None,
    title: str | None,
    tags: dict[str, str],
    force: bool,
    json: bool,
    **columns: Any,
) -> None:
    """Compare methods of calibration on held-out rows, best first.

    The table has a column of scores, or one per class, and all rows are kept in memory.
    To train a model and compare methods on it, call `abers.compare` in Python.
    """
    if not 0 <= seed <= LARGEST_SEED:
        msg = f"--seed must be from 0 to {LARGEST_SEED}; got {seed}."
        raise InvalidParameter(msg)
    options.check_page(html, force=force, inputs=files)
    settings = {
        "test": None if test is None else _as_share(test),
        "cv": cv,
        "methods": None if methods is None else _as_methods(methods),
        "random_state": seed,
    }
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        comparison, n_missing, notes = _compared(files, columns, settings)
    if html:
        from abers.report import comparison_page

        with printer.working("drawing"):
            sources = page_facts({"tables": named_files(files)}, tags)
            page = comparison_page(comparison, title=title, facts=sources)
            replace_text(html, page, force=force)
    texts = printer.sentences_of(raised)
    if json:
        facts = {"n_missing": n_missing, "page": html, "warnings": texts}
        facts |= {"notes": notes}
        printer.print_json(comparison.to_dict() | facts)
        return
    _print(comparison, n_missing)
    if html:
        printer.note(f"A page was written to {html}.")
    for text in notes:
        printer.note(text)
    for text in texts:
        printer.warn(text)


def _compared(
    files: tuple[str, ...], columns: dict[str, Any], settings: dict[str, Any]
) -> tuple[Comparison, int, list[str]]:
    """Compare methods on scores; also count incomplete rows, and note what was read.

    Without named columns, the column of scores is found by its usual name.
    """
    import numpy as np

    import abers
    from abers.tables.calibrators import load_sample
    from abers.tables.rows import load_rows

    several = {name: columns.pop(name) for name in ("scores", "probabilities")}
    rows: Any
    with printer.progress("reading") as progress:
        if any(name is not None for name in several.values()):
            named, kind = options.columns_and_kind(
                **several, score=columns.pop("score")
            )
            rows = load_sample(
                files,
                columns=named,
                kind=kind,
                purpose="compare",
                progress=progress,
                **columns,
            )
            labels, notes = np.asarray(rows.classes)[rows.labels], list(rows.notes)
        else:
            rows = load_rows(files, progress=progress, **columns)
            labels, notes = rows.labels.astype(int), list(rows.notes)
    with printer.progress("comparing", "methods") as progress:
        comparison = abers.compare(
            rows.scores,
            labels,
            sample_weight=rows.weights,
            progress=progress,
            **settings,
        )
    return comparison, rows.n_missing, notes


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
    """Read names of methods, in upper or lower case."""
    from abers.comparison import METHODS

    spelled = {name.casefold(): name for name in METHODS}
    names = [name.strip() for name in text.split(",")]
    return [spelled.get(name.casefold(), name) for name in names]


def _print(comparison: Comparison, n_missing: int) -> None:
    from abers.losses import SCORING_LOSSES

    printer.sentence(comparison.how)
    for places in PLACES:
        tables = [comparison.table(x, most_places=places) for x in SCORING_LOSSES]
        if all(printer.fits([table.head, *table.rows]) for table in tables):
            break
    for table in tables:
        printer.table(table.head, table.rows)
    printer.sentence("")
    dropped = f" Dropped: {printer.dropped(n_missing)}." if n_missing else ""
    printer.sentence(comparison.legend() + dropped)
