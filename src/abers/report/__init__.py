"""Report: numbers as sentences, tables and figures, on one HTML page.

The page is a single file that needs no network and no script; `README.md` in this
folder explains how it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abers.report.page import (
        check_page,
        comparison_page,
        evaluation_page,
        monitor_page,
        regression_page,
    )

__all__ = [
    "check_page",
    "comparison_page",
    "evaluation_page",
    "monitor_page",
    "regression_page",
]


def __getattr__(name: str) -> Any:
    """Import the page when it is asked for: text alone needs no figures."""
    if name in __all__:
        from abers.report import page

        return getattr(page, name)
    msg = f"module 'abers.report' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
