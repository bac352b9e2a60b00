"""Columns: which of a table's columns is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abers.errors import InvalidTable
from abers.tables.reading import listed

if TYPE_CHECKING:
    from abers.tables.reading import Table

# Names by which a column is found if nobody names it, and only one has such a name.
USUAL = {
    "score": (
        *("score", "scores", "y_score", "prediction", "predictions", "pred", "y_pred"),
        *("p", "probability", "prob", "proba", "y_prob", "logit", "margin"),
    ),
    "label": ("label", "labels", "y", "y_true", "target", "outcome", "class"),
}


def column(
    table: Table, given: str | None, role: str, *, fitted: str | None = None
) -> str:
    """Return the column that plays a role: the one given, or the only usual one.

    `fitted` is the column that played the role when the rule was fitted.
    """
    if given is not None:
        if given not in table.columns:
            msg = (
                f"{table.name} must have the column {given!r}; "
                f"its columns are {listed(table.columns)}."
            )
            raise InvalidTable(msg)
        return given
    if fitted in table.columns:
        return str(fitted)
    usual = [name for name in table.columns if name.casefold() in USUAL[role]]
    if len(usual) != 1:
        both = "both" if len(usual) == 2 else "all"  # noqa: PLR2004
        what = "none looks like one"
        if usual:
            what = f"{listed(usual)} {both} look like one"
        advice = f"Name it with --{role}."
        if all(map(_is_number, table.columns)):
            advice = "The first line must name the columns."
        msg = (
            f"{table.name} must have one column of {role}s; {what} among its columns "
            f"{listed(table.columns)}. {advice}"
        )
        raise InvalidTable(msg)
    return usual[0]


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
