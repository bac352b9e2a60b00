"""The page: an evaluation or a comparison as one page of HTML."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.errors import InvalidParameter, need
from abers.evaluation.predictor import versions_in_use
from abers.formatting import label_name, shorten
from abers.report import class_text, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abers.comparison import Comparison
    from abers.evaluation.evaluate import Evaluation
    from abers.evaluation.multiclass_evaluation import MulticlassEvaluation


def evaluation_page(
    found: Evaluation,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Show an evaluation as a page."""
    date = _date()  # before the work
    return _page(
        "evaluation.html",
        title=_heading(title, found.name),
        warnings=text.warnings(found),
        summary=text.summary(found),
        heading=text.heading(found),
        **_compared(found.comparison, text.quality_tables(found)),
        figures=_figures().of_evaluation(found),
        decision_figures=_figures().of_decisions(found),
        cost_table=text.cost_table(found),
        groups_figure=_figures().of_groups(found),
        groups=text.group_table(found.groups) if found.groups else None,
        groups_note=text.group_note(found.groups),
        facts=[("date", date), *text.facts(found, facts)],
        has_bounds=found.widths is not None,
        guarantee=found.guarantee,
    )


def multiclass_page(
    found: MulticlassEvaluation,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Show an evaluation of more than two classes as a page."""
    date = _date()  # before the work
    return _page(
        "multiclass.html",
        title=_heading(title, found.name),
        warnings=class_text.warnings(found),
        summary=class_text.summary(found),
        heading="Losses and tests" if found.before is None else "Before and after",
        **_compared(found.comparison, class_text.quality_tables(found)),
        figures=_figures().of_classes(found),
        classes=class_text.class_table(found),
        classes_note=class_text.class_note(found.by_class),
        errors=class_text.error_table(found),
        groups=class_text.group_table(found) if found.groups else None,
        groups_note=class_text.group_note(found.groups),
        facts=[("date", date), *class_text.facts(found, facts)],
        has_bounds=found.widths is not None,
        guarantee=found.guarantee,
    )


def comparison_page(
    found: Comparison,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Show a comparison as a page."""
    date = _date()  # before the work
    name = label_name(found.positive)
    meaning = f", that is {name}" if name else ""
    rows = f"{found.n_rows:,} of {len(found.classes)} classes"
    if found.n_positives is not None:
        rows = f"{found.n_rows:,} ({found.n_positives:,} positive{meaning})"
    return _page(
        "comparison.html",
        title="Methods compared" if title is None else shorten(title, text.LONGEST),
        warnings=[],
        summary=text.comparison_summary(found),
        tables=text.comparison_tables(found),
        notes=text.infinite_note(found),
        figures=_figures().of_comparison(found),
        facts=[
            ("date", date),
            *text.given_facts(facts or {}),
            ("rows", rows),
            ("SHA-256 of labels and predictions", _hash_of(found)),
            ("versions", text.listed(versions_in_use())),
        ],
    )


def _compared(
    comparison: Comparison | None, tables: list[text.NumberTable]
) -> dict[str, Any]:
    """Return tables and notes, those of a comparison first if there is one."""
    if comparison is None:
        return {"tables": tables, "notes": []}
    return {
        "tables": [*text.comparison_tables(comparison), *tables],
        "notes": [comparison.how, *text.infinite_note(comparison)],
    }


def _heading(title: str | None, name: str | None) -> str:
    """Return the title that was asked for, or one that has the name in it."""
    if title is not None:
        return shorten(title, text.LONGEST)
    named = "" if name is None else f": {shorten(name, text.LONGEST)}"
    return f"Calibration report{named}"


def _date() -> str:
    """Return the time, or what stands for it where the same page is made twice."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        made = datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        msg = f"SOURCE_DATE_EPOCH must be seconds since 1970; got {fixed!r}. Unset it."
        raise InvalidParameter(msg) from None
    return f"{made:%Y-%m-%d %H:%M} UTC"


def _hash_of(found: Comparison) -> str:
    """Return the SHA-256 of the labels and of every method's predictions."""
    sha = hashlib.sha256(np.ascontiguousarray(found.labels, dtype="<i8").data)
    for name in sorted(found.probabilities):
        sha.update(np.ascontiguousarray(found.probabilities[name], "<f8").data)
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
