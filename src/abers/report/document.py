"""Document: the text of a report, for both the page and Markdown."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from abers.errors import InvalidParameter
from abers.evaluation.provenance import versions_in_use
from abers.formatting import Table, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 120  # characters of a title
LONGEST_CELL = 40
MOST_ROWS = 50  # of a table
ESCAPED = str.maketrans({c: f"\\{c}" for c in r"\`*_[]<>|#"} | {"\n": " ", "\r": " "})

Facts = Sequence[tuple[str, str]]


class Section(NamedTuple):
    """A heading and its content; `figures` names those of the page."""

    title: str
    lead: Sequence[str] = ()
    figures: str = ""
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    points: Sequence[str] = ()


class Document(NamedTuple):
    """A report without its figures."""

    title: str
    warnings: Sequence[str]
    headline: str
    summary: Sequence[str]
    sections: Sequence[Section]
    facts: Facts

    def markdown(self) -> str:
        r"""Return the document in Markdown, with tables as GitHub writes them.

        >>> table = Table("Two", ["", "a|b"], [["x", "1"]])
        >>> section = Section("Numbers", tables=[table])
        >>> print(Document("A", [], "Good.", [], [section], [("n", "2")]).markdown())
        # A
        <BLANKLINE>
        **Good.**
        <BLANKLINE>
        ## Numbers
        <BLANKLINE>
        *Two*
        <BLANKLINE>
        |  | a\|b |
        | --- | ---: |
        | x | 1 |
        <BLANKLINE>
        ## Data and versions
        <BLANKLINE>
        - n: 2
        <BLANKLINE>
        """
        blocks = [f"# {_plain(self.title)}"]
        blocks += [f"> **Warning:** {_plain(text)}" for text in self.warnings]
        blocks += [f"**{_plain(self.headline)}**"] if self.headline else []
        blocks += map(_plain, self.summary)
        for section in self.sections:
            shown = [*map(_plain, section.lead)]
            for table in section.tables:
                shown += [f"*{_plain(table.caption)}*", _markdown_table(table)]
            shown += [*map(_plain, section.notes), *_points(section.points)]
            if shown:  # not only figures
                blocks += [f"## {_plain(section.title)}", *shown]
        data = [f"{name}: {value}" for name, value in self.facts]
        blocks += ["## Data and versions", *_points(data)]
        return "\n\n".join(blocks) + "\n"


def _plain(text: object) -> str:
    """Escape text, so that no name becomes a link, an image or a tag."""
    return str(text).translate(ESCAPED)


def _points(texts: Sequence[str]) -> list[str]:
    return ["\n".join(f"- {_plain(text)}" for text in texts)] if texts else []


def _markdown_table(table: Table) -> str:
    rule = ["---", *["---:"] * (len(table.head) - 1)]
    rows = [map(_plain, table.head), rule, *(map(_plain, row) for row in table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def dated(facts: Mapping[str, object] | None, own: Facts) -> list[tuple[str, str]]:
    """List the date, the caller's facts, the report's facts, and versions."""
    given = [(cut(name), cut(value)) for name, value in (facts or {}).items()]
    versions = [f"{name} {version}" for name, version in versions_in_use().items()]
    return [("date", _date()), *given, *own, ("versions", ", ".join(versions))]


def cut(value: object) -> str:
    """Shorten text of arbitrary length."""
    return shorten(str(value), LONGEST)


def _date() -> str:
    """Return the time of SOURCE_DATE_EPOCH, for equal pages, or the current time."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        made = datetime.fromtimestamp(int(fixed), UTC) if fixed else datetime.now(UTC)
    except (ValueError, OverflowError, OSError):
        msg = f"SOURCE_DATE_EPOCH must be seconds since 1970; got {fixed!r}. Unset it."
        raise InvalidParameter(msg) from None
    return f"{made:%Y-%m-%d %H:%M} UTC"
