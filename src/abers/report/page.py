"""The page: an evaluation, a comparison or a monitor as one page of HTML."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.errors import InvalidParameter, need
from abers.evaluation.provenance import versions_in_use
from abers.formatting import label_name, shorten
from abers.report import history, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abers.comparison import Comparison
    from abers.evaluation.evaluate import Evaluation
    from abers.online.file_monitor import FileMonitor


def evaluation_page(
    evaluation: Evaluation,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Show an evaluation as a page."""
    date = _date()  # before the work
    figures = _figures()
    first, *drawn = figures.of_evaluation(evaluation)
    comparison = evaluation.comparison
    tables, notes = text.quality_tables(evaluation), []
    if comparison is not None:
        tables = [*text.comparison_tables(comparison), *tables]
        notes = [comparison.how, *text.infinite_note(comparison)]
    return _page(
        "evaluation.html",
        title=_heading(title, evaluation.name),
        warnings=text.warnings(evaluation),
        headline=text.headline(evaluation),
        first_figure=first,
        summary=text.summary(evaluation),
        heading=text.heading(evaluation),
        tables=tables,
        notes=notes,
        is_binary=evaluation.n_positives is not None,
        figures=drawn,
        decision_figures=figures.of_decisions(evaluation),
        cost_table=text.cost_table(evaluation),
        classes=text.class_table(evaluation),
        classes_note=text.class_note(evaluation),
        errors=text.error_table(evaluation),
        groups=text.group_table(evaluation),
        groups_note=text.group_note(evaluation),
        groups_figure=figures.of_groups(evaluation),
        facts=[("date", date), *text.facts(evaluation, facts)],
        guarantee=evaluation.guarantee,
        interval_note=text.interval_note(evaluation),
    )


def comparison_page(
    comparison: Comparison,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Show a comparison as a page."""
    date = _date()  # before the work
    name = label_name(comparison.pos_label)
    meaning = f", that is {name}" if name else ""
    rows = f"{comparison.n_rows:,} of {len(comparison.classes)} classes"
    if comparison.n_positives is not None:
        rows = f"{comparison.n_rows:,} ({comparison.n_positives:,} positive{meaning})"
    return _page(
        "comparison.html",
        title="Methods compared" if title is None else shorten(title, text.LONGEST),
        warnings=[],
        summary=text.comparison_summary(comparison),
        tables=text.comparison_tables(comparison),
        notes=text.infinite_note(comparison),
        figures=_figures().of_comparison(comparison),
        facts=[
            ("date", date),
            *text.given_facts(facts or {}),
            ("rows", rows),
            ("SHA-256 of labels and predictions", _hash_of(comparison)),
            ("versions", text.listed(versions_in_use())),
        ],
    )


def monitor_page(
    monitor: FileMonitor,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Show the history of a monitor of files as a page."""
    date = _date()  # before the work
    return _page(
        "monitor.html",
        title="Monitor" if title is None else shorten(title, text.LONGEST),
        warnings=history.warnings(monitor),
        summary=history.summary(monitor),
        picture=_figures().of_monitor(monitor),
        tests=history.test_table(monitor),
        ledger=history.ledger_table(monitor),
        facts=[
            ("date", date),
            *text.given_facts(facts or {}),
            *history.facts(monitor),
            ("versions", text.listed(versions_in_use())),
        ],
    )


def _heading(title: str | None, name: str | None) -> str:
    """Return the title as given, or one with the name in it."""
    if title is not None:
        return shorten(title, text.LONGEST)
    named = "" if name is None else f": {shorten(name, text.LONGEST)}"
    return f"Calibration report{named}"


def _date() -> str:
    """Return the time of SOURCE_DATE_EPOCH, for equal pages, or the current time."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        made = datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        msg = f"SOURCE_DATE_EPOCH must be seconds since 1970; got {fixed!r}. Unset it."
        raise InvalidParameter(msg) from None
    return f"{made:%Y-%m-%d %H:%M} UTC"


def _hash_of(comparison: Comparison) -> str:
    """Return the SHA-256 of the labels and of every method's predictions."""
    sha = hashlib.sha256(np.ascontiguousarray(comparison.labels, dtype="<i8").data)
    for name in sorted(comparison.probabilities):
        sha.update(np.ascontiguousarray(comparison.probabilities[name], "<f8").data)
    return sha.hexdigest()


def _figures() -> Any:
    need("matplotlib", "jinja2", extra="report", what="a page")
    from abers.report import figures

    return figures


def _page(template: str, **content: Any) -> str:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("abers.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(template)
    return page.render(version=version("abers"), **content)
