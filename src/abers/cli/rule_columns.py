"""The rows that a rule is judged by: it knows what some columns are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from abers.cli import printing
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers import Rule, RuleSet
    from abers.tables.rows import LoadedRows


def loaded_rows(
    rule: Rule | RuleSet | None, files: Sequence[str], *, by: str | None, **options: Any
) -> LoadedRows:
    """Read the columns that judge a rule, or probabilities if there is none."""
    from abers import RuleSet
    from abers.tables.fit import GROUP_TAG, LABEL_TAG, POSITIVE_TAG, SCORE_TAG
    from abers.tables.rows import Fitted, load_rows

    tags = {} if rule is None else rule.metadata
    if isinstance(rule, RuleSet):
        by = by or tags.get(GROUP_TAG)
        if by is None:
            msg = "rules for groups need the column of groups; name it with --by."
            raise InvalidParameter(msg)
    known = (tags.get(tag) for tag in (SCORE_TAG, LABEL_TAG, POSITIVE_TAG))
    fitted = Fitted(*(None if tag is None else str(tag) for tag in known))
    with printing.progress("reading") as progress:
        return load_rows(files, by=by, fitted=fitted, progress=progress, **options)
