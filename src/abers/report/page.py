"""The page: what an evaluation or a comparison has found, as one page of HTML."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.errors import need
from abers.evaluation.evaluate import versions_in_use
from abers.formatting import label_name
from abers.report import number_tables, text

if TYPE_CHECKING:
    from abers.comparison import Comparison
    from abers.evaluation.evaluate import Evaluation


def evaluation_page(found: Evaluation, *, title: str | None = None) -> str:
    """Show an evaluation as a page.

    Parameters
    ----------
    found : Evaluation
        What to show.
    title : str, default=None
        The heading; None makes one of the evaluation's name.

    Returns
    -------
    str
        A whole page that loads nothing.
    """
    named = "Calibration report"
    if found.name is not None:
        named += f": {number_tables.shortened(found.name)}"
    tables = number_tables.quality_tables(found)
    notes = []
    if found.comparison is not None:
        tables = [*number_tables.comparison_tables(found.comparison), *tables]
        notes = [found.comparison.how, *text.infinite_note(found.comparison)]
    return _page(
        "evaluation.html",
        title=named if title is None else number_tables.shortened(title),
        warnings=text.warnings(found),
        verdict=text.verdict(found),
        heading=text.heading(found),
        tables=tables,
        notes=notes,
        pictures=_figures().of_evaluation(found),
        groups=number_tables.group_table(found.groups) if found.groups else None,
        groups_note=text.group_note(found.groups),
        facts=text.facts(found),
        has_bounds=found.widths is not None,
        has_band=found.band is not None,
    )


def comparison_page(found: Comparison, *, title: str | None = None) -> str:
    """Show a comparison as a page.

    Parameters
    ----------
    found : Comparison
        What to show.
    title : str, default=None
        The heading.

    Returns
    -------
    str
        A whole page that loads nothing.
    """
    rows = f"{found.n_rows:,}, of them {found.n_positives:,} positive"
    if name := label_name(found.positive):
        rows += f" ({name})"
    return _page(
        "comparison.html",
        title="Methods compared" if title is None else number_tables.shortened(title),
        warnings=[],
        verdict=text.comparison_verdict(found),
        tables=number_tables.comparison_tables(found),
        notes=text.infinite_note(found),
        pictures=_figures().of_comparison(found),
        facts=[
            ("rows judged", rows),
            ("hash of labels and predictions", _hash_of(found)),
            ("versions", text.listed(versions_in_use())),
        ],
    )


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
