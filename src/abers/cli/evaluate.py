"""`abers evaluate`: evaluate a rule or a column of probabilities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.inputs import (
    loaded_rows,
    named_files,
    page_facts,
    refuse_loss,
    refuse_two_pipes,
    rule_and_sha256,
)
from abers.errors import AbersError, InvalidParameter
from abers.storage.atomic import replace_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.choices import LossName
    from abers.comparison import Comparison
    from abers.evaluation.evaluate import Evaluation
    from abers.tables.rows import LoadedRows

CHECKSUM = "SHA-256 of the rule file"


@command()
@click.argument(
    "rule_and_files",
    metavar="[RULE] FILE...",
    type=options.FILE,
    nargs=-1,
    required=True,
    help="A rule or a calibrator, and tables as for fit; with --probability, tables "
    "only.",
)
@click.option(
    "--probability", metavar="COLUMN", help="Evaluate this column of probabilities."
)
@options.score
@options.scores
@options.label
@options.pos_label
@options.weight
@options.by
@click.option(
    "--before", metavar="COLUMN", help="Column of uncalibrated probabilities."
)
@options.loss
@click.option(
    "--held-out",
    is_flag=True,
    help="State that no row was used for the fit; the report shows it.",
)
@options.drop_missing
@options.dialect
@options.page
@click.option("--name", metavar="TEXT", help="Name shown in the report.")
@click.option(
    "--sample",
    metavar="N",
    type=options.Number(int, least=0),
    default=100_000,
    help="Rows on which the page compares methods; 0 for no comparison.",
)
@options.force
@options.json
def evaluate(
    rule_and_files: tuple[str, ...],
    *,
    probability: str | None,
    score: str | None,
    pos_label: str | None,
    loss: LossName,
    held_out: bool,
    html: str | None,
    title: str | None,
    tags: dict[str, str],
    name: str | None,
    sample: int,
    force: bool,
    json: bool,
    **columns: Any,
) -> None:
    """Evaluate a rule, a calibrator or probabilities on held-out rows.

    All rows are kept in memory, at about 100 bytes each.
    """
    import abers

    rule, files = _split(rule_and_files, probability, score)
    options.check_page(html, force=force, inputs=rule_and_files)
    fitted, sources = _sources(rule, files, probability)
    if fitted is not None:
        refuse_loss(fitted, loss)
    rows = loaded_rows(
        fitted,
        files,
        score=score,
        probability=probability,
        pos_label=pos_label,
        **columns,
    )
    labels: Any = rows.labels
    classes = getattr(fitted, "classes", (0, 1))
    with printer.working("evaluating"):
        compared, left_out = _compared(fitted, rows, sample if html else 0)
        evaluation = abers.evaluate(
            fitted,
            rows.scores,
            labels,
            sample_weight=rows.weights,
            groups=rows.groups,
            before=rows.before,
            comparison=compared,
            loss=loss,
            name=name,
            pos_label=rows.pos_label,
            held_out=held_out,
        )
        pos_label = _pos_label(fitted, pos_label)
        if pos_label is not None and classes == (0, 1):
            # Tables have labels 0 and 1; the original label of the 0 is unknown.
            evaluation = replace(
                evaluation, classes=(None, pos_label), pos_label=pos_label
            )
        if html:
            from abers.report import evaluation_page

            sources = page_facts(sources, tags)
            page = evaluation_page(evaluation, title=title, facts=sources)
            replace_text(html, page, force=force)
    if json:
        warnings = evaluation.printout().warnings + ([left_out] if left_out else [])
        facts = {"n_missing": rows.n_missing, "page": html, "warnings": warnings}
        facts |= {"notes": list(rows.notes), "sha256": sources.get(CHECKSUM)}
        printer.print_json(evaluation.to_dict() | facts)
        return
    _print(evaluation, rows)
    for text in rows.notes:
        printer.note(text)
    _print_notes(evaluation, html, left_out)


def _sources(
    rule: str | None, files: Sequence[str], probability: str | None
) -> tuple[Any, dict[str, str]]:
    """Load the rule, if there is one, and name the sources."""
    tables = {"tables": named_files(files)}
    if rule is None:
        return None, {"probabilities": str(probability)} | tables
    fitted, checksum = rule_and_sha256(rule)
    named = {"rule file": named_files([rule]), CHECKSUM: checksum}
    return fitted, named | tables


def _pos_label(rule: Any, given: str | None) -> str | None:
    """Return the label that was read as 1."""
    from abers.tables.columns import POS_LABEL_TAG

    if given is not None or rule is None:
        return given
    label = rule.metadata.get(POS_LABEL_TAG)
    return None if label is None else str(label)


def _split(
    arguments: Sequence[str], probability: str | None, score: str | None
) -> tuple[str | None, Sequence[str]]:
    """Separate the rule from the tables."""
    if probability is not None:
        if score is not None:
            msg = "--score must go with a rule; --probability stands instead of both."
            raise InvalidParameter(msg)
        _refuse_rules(arguments)
        return None, arguments
    rule, *files = arguments
    if not files:
        msg = (
            f"there must be a rule and a table to judge it by, or --probability and a "
            f"table; got {rule!r} only."
        )
        raise InvalidParameter(msg)
    refuse_two_pipes(rule, files)
    return rule, files


def _refuse_rules(files: Sequence[str]) -> None:
    """Raise if a rule is given with --probability, before it is read as a table."""
    from abers.tables.files import FIRST_LOOK, is_ours

    for name in files:
        if not Path(name).is_file():
            continue  # a pattern or a pipe, or the reader will report it
        with Path(name).open("rb") as file:
            if is_ours(file.read(FIRST_LOOK)):
                msg = (
                    "--probability judges a column, without a rule; leave out "
                    f"{name!r}."
                )
                raise InvalidParameter(msg)


def _compared(rule: Any, rows: LoadedRows, most: int) -> tuple[Comparison | None, str]:
    """Compare methods on at most this many rows, or return why that is impossible."""
    if not most:
        return None, ""
    if getattr(rule, "n_models", 1) > 1:
        return None, "the page has no comparison of methods: they read one model."
    import numpy as np

    import abers
    from abers.tables.rows import sampled

    n_rows = len(rows.scores)
    drawn = sampled(n_rows, most)
    scores = rows.scores[drawn]
    if not getattr(rule, "increasing", True):
        scores = -scores
    labels = np.asarray(rows.labels)[drawn]
    weights = None if rows.weights is None else rows.weights[drawn]
    try:
        comparison = abers.compare(
            scores,
            labels.astype(int) if labels.dtype == np.bool_ else labels,
            sample_weight=weights,
        )
    except AbersError as why:  # too few rows of a class, say
        return None, f"the page has no comparison of methods: {why}"
    if drawn.size < n_rows:
        how = f"{comparison.how[:-1]}; they are drawn at random from {n_rows:,}."
        comparison = replace(comparison, how=how)
    return comparison, ""


def _print(evaluation: Evaluation, rows: LoadedRows) -> None:
    shown = evaluation.printout()
    lines = shown.facts
    if rows.n_missing:
        lines.insert(1, ("dropped", printer.dropped(rows.n_missing)))
    if evaluation.name is not None:
        lines.insert(0, ("name", evaluation.name))
    printer.line(shown.headline, "bold")
    printer.facts(lines, to_stdout=True)
    for table in shown.tables:
        printer.table(table.head, table.rows)


def _print_notes(evaluation: Evaluation, html: str | None, left_out: str) -> None:
    """Print the place of the page, and warnings."""
    if html:
        printer.note(f"A page was written to {html}.")
    for text in evaluation.printout().warnings:
        printer.alarm(text)
    if left_out:
        printer.warn(left_out)
