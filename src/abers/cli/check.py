"""`abers check`: whether a rule or a calibrator is still calibrated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.evaluate import CHECKSUM
from abers.cli.exits import CHECK_FAILED, FINE
from abers.cli.inputs import (
    loaded_rows,
    named_files,
    page_facts,
    refuse_loss,
    refuse_two_pipes,
    rule_and_sha256,
)
from abers.storage.atomic import replace_text
from abers.thresholds import LARGE_DRIFT, LARGEST_ECE, SIGNIFICANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.choices import LossName
    from abers.evaluation.check import Check, Finding, GroupCheck
    from abers.formatting import Table
    from abers.tables.rows import LoadedRows

COLOURS = {"pass": "green", "fail": "bold red", "inconclusive": "yellow"}
TWO = 2
NO_LABELS = (
    "No column of labels was found, so only the scores were checked. If there is one, "
    "name it with --label."
)


@command()
@options.rule
@options.files
@click.option(
    "--max-psi",
    metavar="X",
    type=options.REAL,
    default=LARGE_DRIFT,
    help="Largest acceptable PSI.",
)
@click.option(
    "--max-ece",
    metavar="X",
    type=options.REAL,
    default=LARGEST_ECE,
    help="Largest acceptable excess of the ECE over its expectation.",
)
@click.option(
    "--alpha",
    metavar="P",
    type=options.REAL,
    default=SIGNIFICANCE,
    help="Significance level of all tests together.",
)
@options.score
@options.scores
@options.label
@options.pos_label
@options.weight
@options.by
@options.loss
@options.drop_missing
@options.dialect
@options.page
@options.force
@options.json
def check(
    rule: str,
    files: tuple[str, ...],
    *,
    max_psi: float,
    max_ece: float,
    alpha: float,
    pos_label: str | None,
    loss: LossName,
    html: str | None,
    title: str | None,
    tags: dict[str, str],
    force: bool,
    json: bool,
    **columns: Any,
) -> int:
    """Test a rule or a calibrator on recent rows; exit with 3 if it fails.

    The tests ask whether the probability of a label, given the score, has changed since
    calibration; --by tests each group, too. If the rule is still right, the tests
    together fail it with probability --alpha at most. Drift (PSI) and AUC are limits,
    to which --alpha does not apply. A calibrator of several classes or models has
    limits only, the calibration error among them; the answer gives the reason.
    Inconclusive tests do not fail. Without labels, only the drift of the scores is
    checked, and accuracy, losses and AUC are estimated, with intervals. If you check
    every day, `abers monitor` bounds the probability that there is ever a false alarm.
    """
    from abers.evaluation.check import check as run_tests

    refuse_two_pipes(rule, files)
    options.check_page(html, force=force, inputs=[rule, *files])
    fitted, checksum = rule_and_sha256(rule)
    refuse_loss(fitted, loss)
    needs_label = pos_label is not None
    rows = loaded_rows(
        fitted, files, pos_label=pos_label, needs_label=needs_label, **columns
    )
    with printer.working("checking"):
        checked = run_tests(
            fitted,
            rows.scores,
            rows.labels,
            groups=rows.groups,
            sample_weight=rows.weights,
            pos_label=rows.pos_label,
            max_psi=max_psi,
            max_ece=max_ece,
            alpha=alpha,
            loss=loss,
        )
    if html:
        from abers.report import check_page

        sources = {"rule file": named_files([rule]), CHECKSUM: checksum}
        sources |= {"tables": named_files(files)}
        listed = page_facts(sources, tags)
        replace_text(html, check_page(checked, title=title, facts=listed), force=force)
    warnings = _warnings(checked)
    if json:
        facts = {"n_missing": rows.n_missing, "page": html, "warnings": warnings}
        facts |= {"notes": list(rows.notes), "sha256": checksum}
        printer.print_json(checked.to_dict() | facts)
    else:
        classes = getattr(fitted, "classes", ())
        _print(checked, rows, is_top=len(classes) > TWO and rows.pos_label is None)
        for text in rows.notes:
            printer.note(text)
        if html:
            printer.note(f"A page was written to {html}.")
        for text in warnings:
            (printer.note if text == NO_LABELS else printer.alarm)(text)
    return FINE if checked.passed else CHECK_FAILED


def _warnings(checked: Check) -> list[str]:
    from abers.evaluation.in_sample import IN_SAMPLE

    texts = [IN_SAMPLE] if checked.in_sample else []
    return texts if checked.n_positives is not None else [*texts, NO_LABELS]


def _print(checked: Check, rows: LoadedRows, *, is_top: bool) -> None:
    """Print all findings; with `is_top`, they are about the top label."""
    from abers.report import check_text

    mean, rate, counted = "mean prediction", "observed rate", f"{checked.n_rows:,}"
    if is_top:
        mean, rate = "mean confidence", "accuracy"
    elif checked.n_positives is not None:
        counted += f" ({checked.n_positives:,} positive)"
    lines = [("rows", counted)]
    if rows.n_missing:
        lines.append(("dropped", printer.dropped(rows.n_missing)))
    if checked.mean_prediction is not None and checked.observed_rate is not None:
        lines.append((mean, f"{checked.mean_prediction:.4f}"))
        lines.append((rate, f"{checked.observed_rate:.4f}"))
    printer.facts(lines, to_stdout=True)
    _table(check_text.findings_table(checked), checked.findings)
    for table in check_text.group_tables(checked):
        _table(table, checked.groups)
    for text in check_text.changes(checked):
        printer.sentence(text)
    if checked.untested:
        printer.sentence(checked.untested)
    if checked.performance is not None:
        expected = checked.performance.table()
        printer.table(expected.head, expected.rows)
        printer.sentence(checked.performance.caveat)
    text, result = check_text.conclusion(checked)
    printer.sentence(text, COLOURS[result])


def _table(table: Table, items: Sequence[Finding | GroupCheck]) -> None:
    """Print a table whose last column is results."""
    colours = [COLOURS[item.result] for item in items]
    colours += [""] * (len(table.rows) - len(items))  # a last row counts the others
    printer.table(table.head, table.rows, colours[: len(table.rows)])
