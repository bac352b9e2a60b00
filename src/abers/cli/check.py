"""`abers check`: whether a rule is still right."""
# ruff: noqa: TC001 (typer reads the options)

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from abers.cli import printing
from abers.cli.exit_codes import CHECK_FAILED
from abers.cli.options import (
    By,
    DropMissing,
    Files,
    Json,
    Label,
    Loss,
    Positive,
    RuleFile,
    Score,
    Weight,
)
from abers.cli.rule_argument import loaded_rule, refuse_two_pipes
from abers.cli.rule_columns import loaded_rows
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from abers.evaluation.check import Check, Finding
    from abers.tables.rows import LoadedRows

COLOURS = {"holds": "green", "does not hold": "bold red", "cannot be told": "yellow"}
GOOD, BAD, UNSURE = COLOURS.values()
SIGNS = {"at most": "≤", "at least": "≥"}
SMALLEST = 0.0001  # p-value to print
NO_LABELS = (
    "No column of labels was found, so only the scores were checked. If there is one, "
    "name it with --label."
)


def check(
    rule: RuleFile,
    files: Files,
    *,
    max_psi: Annotated[
        float, typer.Option(metavar="X", help="Most drift of the scores.")
    ] = 0.2,
    max_ece: Annotated[
        float, typer.Option(metavar="X", help="Most calibration error, in 10 bins.")
    ] = 0.02,
    alpha: Annotated[
        float,
        typer.Option(metavar="P", help="How often a right rule may fail a test."),
    ] = 0.01,
    score: Score = None,
    label: Label = None,
    positive: Positive = None,
    weight: Weight = None,
    by: By = None,
    loss: Loss = "log",
    drop_missing: DropMissing = False,
    json: Json = False,
) -> None:
    """Test whether a rule still holds; exit 3 if it does not.

    The tests are made on recent rows; without labels, only that of the drift of the
    scores. What too few rows cannot tell does not fail. All rows are judged in memory,
    at about 100 bytes each.
    """
    from abers import Rule
    from abers.evaluation.check import check as checked

    refuse_two_pipes(rule, files)
    fitted = loaded_rule(rule)
    if by is not None and isinstance(fitted, Rule):
        msg = (
            "--by must go with rules for groups; got one rule for all. To judge it "
            "group by group, use `abers evaluate --by`."
        )
        raise InvalidParameter(msg)
    rows = loaded_rows(
        fitted,
        files,
        score=score,
        label=label,
        needs_label=positive is not None,
        positive=positive,
        weight=weight,
        by=by,
        drop_missing=drop_missing,
    )
    with printing.working("checking"):
        found = checked(
            fitted,
            rows.scores,
            rows.labels,
            groups=rows.groups,
            sample_weight=rows.weights,
            max_psi=max_psi,
            max_ece=max_ece,
            alpha=alpha,
            loss=loss,
        )
    warnings = _warnings(found)
    if json:
        facts = {"missing": rows.n_missing, "warnings": warnings}
        printing.print_json(found.to_dict() | facts)
    else:
        _print(found, rows)
        for text in warnings:
            (printing.note if text == NO_LABELS else printing.alarm)(text)
    if not found.holds:
        raise typer.Exit(CHECK_FAILED)


def _warnings(found: Check) -> list[str]:
    from abers.evaluation.evaluate import NOT_FRESH

    said = [NOT_FRESH] if found.judges_own_rows else []
    return said if found.n_positives is not None else [*said, NO_LABELS]


def _print(found: Check, rows: LoadedRows) -> None:
    counted = f"{found.n_rows:,}"
    if found.n_positives is not None:
        counted += f", of them {found.n_positives:,} positive"
    lines = [("rows", counted)]
    if rows.n_missing:
        lines.append(("left out", printing.left_out(rows.n_missing)))
    if found.said is not None and found.happened is not None:
        lines.append(("said on average", f"{found.said:.4f}"))
        lines.append(("happened", f"{found.happened:.4f}"))
    printing.facts(lines, to_stdout=True)
    colours = [COLOURS[test.verdict] for test in found.findings]
    body = [_cells(test) for test in found.findings]
    printing.table(["test", "found", "by chance", "limit", "verdict"], body, colours)
    printing.sentence(*_conclusion(found))


def _conclusion(found: Check) -> tuple[str, str]:
    """Return the last sentence, and its colour."""
    if not found.holds:
        return "The rule does not hold.", BAD
    if found.n_positives is None:
        return "The rule holds, by its scores alone.", UNSURE
    if any(test.why for test in found.findings):
        return "The rule holds, as far as can be told.", UNSURE
    return "The rule holds.", GOOD


def _cells(test: Finding) -> list[str]:
    """Return the row of a test."""
    verdict = f"{test.verdict} ({test.why})" if test.why else test.verdict
    sign = SIGNS[test.kind]
    value, chance = (
        "" if math.isnan(number) else f"{number:.4f}"
        for number in (test.value, test.by_chance)
    )
    limit = f"{sign} {test.limit:g}"
    if test.name == "band":  # a share of rows
        value, limit = value and f"{100 * test.value:.3g} %", f"{sign} 0 %"
    elif "p-value" in test.what and test.value < SMALLEST:
        value = f"<{SMALLEST}"
    return [test.what, value, chance, limit, verdict]
