"""Names: text of users, made harmless and short enough to be drawn."""

from __future__ import annotations

LONGEST = 32


def shown(name: object, longest: int = LONGEST) -> str:
    r"""Return a name as matplotlib may draw it: one line, no formula, not too long.

    Parameters
    ----------
    name : object
        Whatever the user calls a group or a method.
    longest : int, default=32
        Characters to keep; the middle of a longer name becomes an ellipsis.

    Returns
    -------
    str
        Dollar signs are escaped, for two of them would enclose a formula.

    Examples
    --------
    >>> from abers.plots.names import shown
    >>> shown("a" * 20 + "z" * 20, longest=7)
    'aaa…zzz'
    >>> print(shown("US$ or\nAU$"))
    US\$ or AU\$
    """
    text = " ".join("".join(c if c.isprintable() else " " for c in str(name)).split())
    if not text:
        return "(no name)"
    if len(text) > longest:
        kept = longest - 1
        text = text[: (kept + 1) // 2] + "…" + text[len(text) - kept // 2 :]
    return text.replace("$", r"\$")
