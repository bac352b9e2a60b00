"""Report: numbers as sentences, tables and figures, on one HTML page.

The page is a single file that needs no network and no script; `README.md` in this
folder explains how it is made.
"""

from abers.report.page import (
    check_page,
    comparison_page,
    evaluation_page,
    monitor_page,
)

__all__ = ["check_page", "comparison_page", "evaluation_page", "monitor_page"]
