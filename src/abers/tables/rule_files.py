"""Rule files: whatever abers has saved, without saying what it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from abers import files
from abers.container import LENGTH_BYTES, MAGIC

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from abers.core.diagram import Diagram
    from abers.core.pooled import PooledRule
    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet

    Saved = Rule | RuleSet | PooledRule | Diagram

LOADERS: dict[str, Callable[[str | os.PathLike[str]], Saved]] = {
    "rule": files.load_rule,
    "rule-set": files.load_rule_set,
    "pooled-rule": files.load_pooled_rule,
    "diagram": files.load_diagram,
}
BEGINNING = 200  # bytes, in which a file says what it is


def load_any(path: str | os.PathLike[str]) -> Saved:
    """Read a rule, a rule set, a pooled rule or a diagram.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    Rule, RuleSet, PooledRule or Diagram
        Whichever it is.
    """
    with Path(path).open("rb") as file:
        beginning = file.read(BEGINNING)
    for kind, load in LOADERS.items():
        # Only in this place: a tag, too, may say "abers-diagram".
        said = MAGIC + rf"{{\"format\":\"abers-{kind}\"".encode()
        if beginning.startswith(said, LENGTH_BYTES):
            return load(path)
    return files.load_rule(path)  # which says what is wrong with it
