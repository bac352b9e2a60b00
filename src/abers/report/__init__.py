"""Report: numbers become sentences, tables and figures, and those one page of HTML.

The page is one file that needs no network and no script: `README.md` beside this file
says how it is made.
"""

from abers.report.page import comparison_page, evaluation_page, multiclass_page

__all__ = ["comparison_page", "evaluation_page", "multiclass_page"]
