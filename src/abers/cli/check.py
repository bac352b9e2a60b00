"""`abers check`: whether a rule is still calibrated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from abers.cli import printing
from abers.cli.inputs import loaded_rows, loaded_rule, refuse_two_pipes
from abers.cli.options import (
    By,
    Decimal,
    Delimiter,
    DropMissing,
    Encoding,
    Files,
    Json,
    Label,
    Loss,
    Positive,
    RuleFile,
    Score,
    Weight,
    as_dialect,
)
from abers.cli.parsing import Option
from abers.cli.signals import CHECK_FAILED, FINE
from abers.formatting import group_name, p_value
from abers.thresholds import LARGE_DRIFT, LARGEST_ECE, SIGNIFICANCE

if TYPE_CHECKING:
    from abers.evaluation.check import Check, Finding
    from abers.tables.rows import LoadedRows

COLOURS = {"pass": "green", "fail": "bold red", "inconclusive": "yellow"}
GOOD, BAD, UNSURE = COLOURS.values()
SIGNS = {"at most": "≤", "at least": "≥"}
SMALLEST = 0.0001  # p-value to print
MOST_GROUPS = 20  # to print
MOST_NAMES = 5  # of groups whose scores are printed, too
NO_LABELS = (
    "No column of labels was found, so only the scores were checked. If there is one, "
    "name it with --label."
)


def check(
    rule: RuleFile,
    files: Files,
    *,
    max_psi: Annotated[
        float, Option(metavar="X", help="Largest acceptable PSI.")
    ] = LARGE_DRIFT,
    max_ece: Annotated[
        float,
        Option(
            metavar="X",
            help="Largest acceptable excess of the ECE over its expectation.",
        ),
    ] = LARGEST_ECE,
    alpha: Annotated[
        float,
        Option(metavar="P", help="Significance level of all tests together."),
    ] = SIGNIFICANCE,
    score: Score = None,
    label: Label = None,
    positive: Positive = None,
    weight: Weight = None,
    by: By = None,
    loss: Loss = "log",
    drop_missing: DropMissing = False,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    encoding: Encoding = "utf-8",
    json: Json = False,
) -> int:
    """Test a rule on recent rows; exit with 3 if a test fails.

    The tests ask whether the probability of a label, given the score, has changed
    since calibration; --by tests each group, too. Together they fail a rule that is
    still right with probability --alpha at most. Drift (PSI) and AUC are limits,
    which --alpha has no part in. Inconclusive tests do not fail. Without labels, only
    the drift of the scores is looked at. If you check every day, `abers monitor`
    bounds the probability that there is ever a false alarm.
    """
    from abers.evaluation.check import check as checked

    refuse_two_pipes(rule, files)
    fitted = loaded_rule(rule)
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
        dialect=as_dialect(delimiter, decimal, encoding),
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
    return FINE if found.passed else CHECK_FAILED


def _warnings(found: Check) -> list[str]:
    from abers.evaluation.evaluate import IN_SAMPLE

    texts = [IN_SAMPLE] if found.in_sample else []
    return texts if found.n_positives is not None else [*texts, NO_LABELS]


def _print(found: Check, rows: LoadedRows) -> None:
    counted = f"{found.n_rows:,}"
    if found.n_positives is not None:
        counted += f" ({found.n_positives:,} positive)"
    lines = [("rows", counted)]
    if rows.n_missing:
        lines.append(("dropped", printing.dropped(rows.n_missing)))
    if found.mean_prediction is not None and found.observed_rate is not None:
        lines.append(("mean prediction", f"{found.mean_prediction:.4f}"))
        lines.append(("observed rate", f"{found.observed_rate:.4f}"))
    printing.facts(lines, to_stdout=True)
    colours = [COLOURS[test.result] for test in found.findings]
    body = [_cells(test) for test in found.findings]
    printing.table(["test", "value", "noise level", "limit", "result"], body, colours)
    if found.groups:
        head, *lines_of_groups = _group_rows(found)
        colours = [COLOURS[group.result] for group in found.groups[:MOST_GROUPS]]
        printing.table(head, lines_of_groups, colours)
        if (more := len(found.groups) - MOST_GROUPS) > 0:
            printing.sentence(f"{printing.INDENT}… and {more:,} more; see --json")
    for text in _changes(found):
        printing.sentence(text)
    printing.sentence(*_conclusion(found))


def _changes(found: Check) -> list[str]:
    """Say where most has changed, if something has: on the whole, and in groups."""
    changed = []
    scans = [test.result for test in found.findings if test.name == "scan"]
    if scans == ["fail"]:
        changed.append(("Most has changed at ", found.interval))
    failed = [group for group in found.groups if group.result == "fail"]
    for group in failed[:MOST_NAMES]:
        name = printing.shortened(group_name(group.name))
        changed.append((f"In group {name}, most at ", group.interval))
    return [f"{text}{interval}." for text, interval in changed if interval is not None]


def _group_rows(found: Check) -> list[list[str]]:
    """Return a table of the groups, the smallest p-value first, its head first."""
    head = ["group", "rows", "positives", "mean prediction", "observed rate", "p"]
    return [[*head, "result"]] + [
        [
            printing.shortened(group_name(group.name)),
            f"{group.n_rows:,}",
            f"{group.n_positives:,}",
            f"{group.mean_prediction:.4f}",
            f"{group.observed_rate:.4f}",
            p_value(group.p_value),
            group.result,
        ]
        for group in found.groups[:MOST_GROUPS]
    ]


def _conclusion(found: Check) -> tuple[str, str]:
    """Return the last sentence, and its colour."""
    failed = [test.title for test in found.findings if test.result == "fail"]
    if failed:
        return f"Failed: {', '.join(failed)}.", BAD
    if found.approximate:
        return "No test failed, but the level is approximate.", UNSURE
    unsure = sum(test.result == "inconclusive" for test in found.findings)
    if unsure:
        verb = "was" if unsure == 1 else "were"
        return f"No test failed; {unsure} {verb} inconclusive.", UNSURE
    if found.n_positives is None:
        return "No test failed; without labels only the scores were tested.", UNSURE
    return "All tests passed.", GOOD


def _cells(test: Finding) -> list[str]:
    """Return the row of a test."""
    is_long = test.name == "scan" and test.result == "fail"  # see `_changes`
    reason = "" if is_long else test.reason
    result = f"{test.result} ({reason})" if reason else test.result
    sign = SIGNS[test.kind]
    value, noise = (
        "" if math.isnan(number) else f"{number:.4f}"
        for number in (test.value, test.noise_level)
    )
    limit = f"{sign} {test.limit:.3g}"
    if "p-value" in test.title and test.value < SMALLEST:
        value = f"<{SMALLEST}"
    return [test.title, value, noise, limit, result]
