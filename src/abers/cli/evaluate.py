"""`abers evaluate`: how good a rule, or a column of probabilities, is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from abers.cli import printing
from abers.cli.options import (
    By,
    DropMissing,
    Force,
    Html,
    Json,
    Label,
    Loss,
    Positive,
    Score,
    Title,
    Weight,
    check_page,
)
from abers.cli.rule_argument import loaded_rule, refuse_two_pipes
from abers.cli.rule_columns import loaded_rows
from abers.errors import AbersError, InvalidParameter

if TYPE_CHECKING:
    from abers import Rule, RuleSet
    from abers.comparison import Comparison
    from abers.evaluation.evaluate import Evaluation
    from abers.evaluation.groups import GroupEvaluation
    from abers.tables.rows import LoadedRows

MOST_GROUPS = 10  # to print


def evaluate(
    rule_and_files: Annotated[
        list[str],
        typer.Argument(
            metavar="[RULE] FILE",
            show_default=False,
            help="A rule, and tables as for fit; with --probability, tables only.",
        ),
    ],
    *,
    probability: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Judge these probabilities, not a rule."),
    ] = None,
    score: Score = None,
    label: Label = None,
    positive: Positive = None,
    weight: Weight = None,
    by: By = None,
    before: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Probabilities before calibration."),
    ] = None,
    loss: Loss = "log",
    drop_missing: DropMissing = False,
    html: Html = None,
    title: Title = None,
    name: Annotated[
        str | None, typer.Option(metavar="TEXT", help="What to call it.")
    ] = None,
    sample: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Rows by which the page compares methods; 0 for no comparison.",
        ),
    ] = 100_000,
    force: Force = False,
    json: Json = False,
) -> None:
    """Judge a rule, or probabilities, by rows not used for fitting.

    All rows are judged in memory, at about 100 bytes each.
    """
    import abers

    rule, files = _split(rule_and_files, probability, score)
    check_page(html, force=force, inputs=rule_and_files)
    fitted = None if rule is None else loaded_rule(rule)
    rows = loaded_rows(
        fitted,
        files,
        score=score,
        probability=probability,
        label=label,
        positive=positive,
        weight=weight,
        before=before,
        by=by,
        drop_missing=drop_missing,
    )
    labels: Any = rows.labels
    with printing.working("judging"):
        compared, left_out = None, ""
        if html and sample:
            compared, left_out = _compared(fitted, rows, sample)
        found = abers.evaluate(
            fitted,
            rows.scores,
            labels,
            sample_weight=rows.weights,
            groups=rows.groups,
            before=rows.before,
            comparison=compared,
            loss=loss,
            name=name,
        )
        if html:
            found.to_html(html, title=title)
    warnings = found.warnings() + ([left_out] if left_out else [])
    if json:
        facts = {"missing": rows.n_missing, "page": html, "warnings": warnings}
        printing.print_json(found.to_dict() | facts)
        return
    _print(found, rows)
    if html:
        printing.note(f"A page was written to {html}.")
    for text in found.warnings():
        printing.alarm(text)
    if left_out:
        printing.warn(left_out)


def _split(
    arguments: list[str], probability: str | None, score: str | None
) -> tuple[str | None, list[str]]:
    """Tell the rule from the tables."""
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


def _refuse_rules(files: list[str]) -> None:
    """Refuse a rule beside --probability, before it is taken for a table."""
    from abers.tables.sources import FIRST_LOOK, is_ours

    for name in files:
        if not Path(name).is_file():
            continue  # a pattern or a pipe, or the reader will say what is wrong
        with Path(name).open("rb") as file:
            if is_ours(file.read(FIRST_LOOK)):
                msg = (
                    "--probability judges a column, without a rule; leave out "
                    f"{name!r}."
                )
                raise InvalidParameter(msg)


def _compared(
    rule: Rule | RuleSet | None, rows: LoadedRows, most: int
) -> tuple[Comparison | None, str]:
    """Compare methods on some of the rows; or say why that cannot be."""
    import abers
    from abers.tables.rows import sampled

    n_rows = rows.scores.size
    drawn = sampled(n_rows, most)
    scores = rows.scores[drawn]
    if rule is not None and not rule.increasing:
        scores = -scores
    labels: Any = rows.labels
    weights = None if rows.weights is None else rows.weights[drawn]
    try:
        found = abers.compare(scores, labels[drawn].astype(int), sample_weight=weights)
    except AbersError as why:  # too few rows of a class, say
        return None, f"the page has no comparison of methods: {why}"
    if drawn.size < n_rows:
        how = f"{found.how[:-1]}; they are drawn at random from {n_rows:,}."
        found = replace(found, how=how)
    return found, ""


def _print(found: Evaluation, rows: LoadedRows) -> None:
    lines = found.summary()
    if rows.n_missing:
        lines.insert(1, ("left out", printing.left_out(rows.n_missing)))
    if found.name is not None:
        lines.insert(0, ("name", found.name))
    printing.facts(lines, to_stdout=True)
    if found.groups:
        printing.table(*_group_table(found.groups))
        if (more := len(found.groups) - MOST_GROUPS) > 0:
            printing.sentence(f"{printing.INDENT}… and {more:,} more")


def _group_table(
    groups: tuple[GroupEvaluation, ...],
) -> tuple[list[str], list[list[str]]]:
    """Return head and body, the worst first."""
    head = ["worst group first", "rows", "positive", "said", "happened", "off by"]
    head.append("log loss")
    is_set = any(group.rule for group in groups)
    body = []
    for group in groups[:MOST_GROUPS]:
        called = "(no group)" if group.name is None else str(group.name)
        row = [
            printing.shortened(called) + (" (few)" if group.small else ""),
            f"{group.n_rows:,}",
            f"{group.n_positives:,}",
            f"{group.said:.4f}",
            f"{group.happened:.4f}",
            f"{group.surprise:.1f} s.e.",
            f"{group.log_loss:.4f}",
        ]
        body.append(row + [str(group.rule)] * is_set)
    return head + ["rule"] * is_set, body
