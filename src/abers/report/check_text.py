"""Check text: the results of a check in sentences and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from abers.formatting import Table, group_name, p_value
from abers.report.document import Document, Section, cut, dated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abers.evaluation.check import Check, Finding

SIGNS = {"at most": "≤", "at least": "≥"}
SMALLEST = 0.0001  # p-value to print
MOST_GROUPS = 20  # to print
MOST_NAMES = 5  # of groups whose scores are printed as well
LONGEST_NAME = 24  # of a group, in a table


def document(
    checked: Check,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> Document:
    """Describe a check."""
    rows = f"{checked.n_rows:,}"
    if checked.n_positives is not None:
        rows += f" ({checked.n_positives:,} positive)"
    summary = [f"{rows} rows were checked, without labels."]
    if checked.mean_prediction is not None:
        means = checked.mean_prediction, checked.observed_rate
        summary = ["Mean prediction {:.4f}, observed rate {:.4f}.".format(*means)]
    notes = changes(checked)
    if checked.untested:
        notes.append(checked.untested)
    sections = [
        Section(
            "Tests and limits",
            tables=[findings_table(checked), *group_tables(checked)],
            notes=notes,
        )
    ]
    if checked.performance is not None:
        sections.append(
            Section(
                "Performance, before the labels come",
                tables=[checked.performance.table()],
                notes=[checked.performance.caveat],
            )
        )
    text, result = conclusion(checked)
    return Document(
        "Check" if title is None else cut(title),
        [text] if result == "fail" else [],
        "" if result == "fail" else text,
        summary,
        sections,
        dated(facts, [("rows", rows)]),
    )


def findings_table(checked: Check) -> Table:
    """Return a row for each test and limit."""
    what = "limit of" if checked.untested else "test"
    return Table(
        "Each value and its limit",
        [what, "value", "noise level", "limit", "result"],
        [_cells(finding) for finding in checked.findings],
    )


def _cells(finding: Finding) -> list[str]:
    result = finding.result + (f" ({finding.reason})" if finding.reason else "")
    value, noise = (
        "" if math.isnan(number) else f"{number:.4f}"
        for number in (finding.value, finding.noise_level)
    )
    limit = f"{SIGNS[finding.kind]} {finding.limit:.3g}"
    if "p-value" in finding.title and finding.value < SMALLEST:
        value = f"<{SMALLEST}"
    return [finding.title, value, noise, limit, result]


def group_tables(checked: Check) -> list[Table]:
    """Return a table of the groups, smallest p-value first, if there are any."""
    if not checked.groups:
        return []
    table = Table.of(
        checked.groups,
        {
            "group": lambda group: group_name(group.name, LONGEST_NAME),
            "rows": lambda group: f"{group.n_rows:,}",
            "positives": lambda group: f"{group.n_positives:,}",
            "mean prediction": lambda group: f"{group.mean_prediction:.4f}",
            "observed rate": lambda group: f"{group.observed_rate:.4f}",
            "p": lambda group: p_value(group.p_value),
            "result": lambda group: group.result,
        },
        caption="Groups, the smallest p-value first",
        most=MOST_GROUPS,
    )
    return [table]


def changes(checked: Check) -> list[str]:
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


def conclusion(checked: Check) -> tuple[str, str]:
    """Return the last sentence, and the result of all findings together."""
    failed = [test.title for test in checked.findings if test.result == "fail"]
    if failed:
        return f"Failed: {', '.join(failed)}.", "fail"
    if checked.approximate:
        return "No test failed, but the level is approximate.", "inconclusive"
    fine = "Nothing failed" if checked.untested else "No test failed"
    unsure = sum(test.result == "inconclusive" for test in checked.findings)
    if unsure:
        verb = "was" if unsure == 1 else "were"
        return f"{fine}; {unsure} {verb} inconclusive.", "inconclusive"
    if checked.n_positives is None:
        text = f"{fine}; without labels only the scores were tested."
        return text, "inconclusive"
    if checked.untested:
        return "All values are within their limits.", "pass"
    return "All tests passed.", "pass"
