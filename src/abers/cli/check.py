"""`abers check`: whether a rule or a calibrator is still calibrated."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from abers.cli import options, printer
from abers.cli.commands import command
from abers.cli.exits import CHECK_FAILED, FINE
from abers.cli.inputs import (
    loaded_rows,
    refuse_loss,
    refuse_two_pipes,
    rule_and_sha256,
)
from abers.formatting import group_name, p_value
from abers.thresholds import LARGE_DRIFT, LARGEST_ECE, SIGNIFICANCE

if TYPE_CHECKING:
    from abers.choices import LossName
    from abers.evaluation.check import Check, Finding
    from abers.tables.rows import LoadedRows

COLOURS = {"pass": "green", "fail": "bold red", "inconclusive": "yellow"}
GOOD, BAD, UNSURE = COLOURS.values()
SIGNS = {"at most": "≤", "at least": "≥"}
SMALLEST = 0.0001  # p-value to print
MOST_GROUPS = 20  # to print
MOST_NAMES = 5  # of groups whose scores are printed as well
LONGEST_NAME = 24  # of a group, in a table
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
    warnings = _warnings(checked)
    if json:
        facts = {"n_missing": rows.n_missing, "warnings": warnings}
        facts |= {"notes": list(rows.notes), "sha256": checksum}
        printer.print_json(checked.to_dict() | facts)
    else:
        classes = getattr(fitted, "classes", ())
        _print(checked, rows, is_top=len(classes) > TWO and rows.pos_label is None)
        for text in rows.notes:
            printer.note(text)
        for text in warnings:
            (printer.note if text == NO_LABELS else printer.alarm)(text)
    return FINE if checked.passed else CHECK_FAILED


def _warnings(checked: Check) -> list[str]:
    from abers.evaluation.in_sample import IN_SAMPLE

    texts = [IN_SAMPLE] if checked.in_sample else []
    return texts if checked.n_positives is not None else [*texts, NO_LABELS]


def _print(checked: Check, rows: LoadedRows, *, is_top: bool) -> None:
    """Print all findings; with `is_top`, they are about the top label."""
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
    colours = [COLOURS[test.result] for test in checked.findings]
    body = [_cells(test) for test in checked.findings]
    what = "limit of" if checked.untested else "test"
    printer.table([what, "value", "noise level", "limit", "result"], body, colours)
    if checked.groups:
        head, *lines_of_groups = _group_rows(checked)
        colours = [COLOURS[group.result] for group in checked.groups[:MOST_GROUPS]]
        printer.table(head, lines_of_groups, colours)
        if (more := len(checked.groups) - MOST_GROUPS) > 0:
            printer.sentence(f"{printer.INDENT}… and {more:,} more; see --json")
    for text in _changes(checked):
        printer.sentence(text)
    if checked.untested:
        printer.sentence(checked.untested)
    if checked.performance is not None:
        expected = checked.performance.table()
        printer.table(expected.head, expected.rows)
        printer.sentence(checked.performance.caveat)
    printer.sentence(*_conclusion(checked))


def _changes(checked: Check) -> list[str]:
    """If a test fails, describe where the change is largest, overall and in groups."""
    changed = []
    results = {test.name: test.result for test in checked.findings}
    if "fail" in {results.get("mean"), results.get("slope")}:
        changed.append(("Most has changed at ", checked.interval))
    failed = [group for group in checked.groups if group.result == "fail"]
    for group in failed[:MOST_NAMES]:
        name = group_name(group.name, LONGEST_NAME)
        changed.append((f"In group {name}, most at ", group.interval))
    return [f"{text}{interval}." for text, interval in changed if interval is not None]


def _group_rows(checked: Check) -> list[list[str]]:
    """Return a table of the groups with its header, smallest p-value first."""
    head = ["group", "rows", "positives", "mean prediction", "observed rate", "p"]
    return [[*head, "result"]] + [
        [
            group_name(group.name, LONGEST_NAME),
            f"{group.n_rows:,}",
            f"{group.n_positives:,}",
            f"{group.mean_prediction:.4f}",
            f"{group.observed_rate:.4f}",
            p_value(group.p_value),
            group.result,
        ]
        for group in checked.groups[:MOST_GROUPS]
    ]


def _conclusion(checked: Check) -> tuple[str, str]:
    """Return the last sentence, and its colour."""
    failed = [test.title for test in checked.findings if test.result == "fail"]
    if failed:
        return f"Failed: {', '.join(failed)}.", BAD
    if checked.approximate:
        return "No test failed, but the level is approximate.", UNSURE
    fine = "Nothing failed" if checked.untested else "No test failed"
    unsure = sum(test.result == "inconclusive" for test in checked.findings)
    if unsure:
        verb = "was" if unsure == 1 else "were"
        return f"{fine}; {unsure} {verb} inconclusive.", UNSURE
    if checked.n_positives is None:
        return f"{fine}; without labels only the scores were tested.", UNSURE
    if checked.untested:
        return "All values are within their limits.", GOOD
    return "All tests passed.", GOOD


def _cells(test: Finding) -> list[str]:
    """Return the row of a test."""
    result = f"{test.result} ({test.reason})" if test.reason else test.result
    sign = SIGNS[test.kind]
    value, noise = (
        "" if math.isnan(number) else f"{number:.4f}"
        for number in (test.value, test.noise_level)
    )
    limit = f"{sign} {test.limit:.3g}"
    if "p-value" in test.title and test.value < SMALLEST:
        value = f"<{SMALLEST}"
    return [test.title, value, noise, limit, result]
