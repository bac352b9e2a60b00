"""The page: an evaluation, a check, a comparison or a monitor as one HTML page."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from abers.errors import need
from abers.report import check_text, comparison_text, history, targets_text, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abers.comparison import Comparison
    from abers.evaluation.check import Check
    from abers.evaluation.evaluate import Evaluation
    from abers.evaluation.targets import RegressionEvaluation
    from abers.online.file_monitor import FileMonitor
    from abers.report.document import Document


def evaluation_page(
    evaluation: Evaluation,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Show an evaluation as a page."""
    described = text.document(evaluation, title=title, facts=facts)
    return _page(described, _figures().of_sections(evaluation))


def comparison_page(
    comparison: Comparison,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Show a comparison as a page."""
    described = comparison_text.document(comparison, title=title, facts=facts)
    return _page(described, {"figures": _figures().of_comparison(comparison)})


def check_page(
    checked: Check,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Show a check as a page, without figures."""
    return _page(check_text.document(checked, title=title, facts=facts), {})


def monitor_page(
    monitor: FileMonitor,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Show the history of a monitor of files as a page."""
    described = history.document(monitor, title=title, facts=facts)
    return _page(described, {"capital": [_figures().of_monitor(monitor)]})


def regression_page(
    evaluation: RegressionEvaluation,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> str:
    """Show an evaluation of a regressor as a page."""
    described = targets_text.document(evaluation, title=title, facts=facts)
    return _page(described, {"opening": [_figures().of_regression(evaluation)]})


def _figures() -> Any:
    need("matplotlib", "jinja2", extra="report", what="a page")
    from abers.report import figures

    return figures


def _page(document: Document, figures: Mapping[str, Any]) -> str:
    """Fill in the template; figures are named by the section they belong to."""
    need("jinja2", extra="report", what="a page")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("abers.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("page.html")
    return page.render(version=version("abers"), figures=figures, **document._asdict())
