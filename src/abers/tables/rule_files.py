"""Rule files: whatever abers has saved, without saying what it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from abers import files

if TYPE_CHECKING:
    import os

    from abers.core.diagram import Diagram
    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet

BEGINNING = 200  # bytes, in which a file says what it is


def load_any(path: str | os.PathLike[str]) -> Rule | RuleSet | Diagram:
    """Read a rule, a rule set or a diagram.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Rule, RuleSet or Diagram
        Whichever it is.
    """
    with Path(path).open("rb") as file:
        beginning = file.read(BEGINNING)
    if b"abers-rule-set" in beginning:
        return files.load_rule_set(path)
    if b"abers-diagram" in beginning:
        return files.load_diagram(path)
    return files.load_rule(path)
