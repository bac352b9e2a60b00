"""Engines: how each database creates the table of steps and looks up scores.

All tables have one row per step: rule (0 is for missing and unseen groups), piece (from
1 within a rule), start, lower, upper, probability. Engines differ in how they find the
last start not above a score without comparing all, how they quote names, and how they
read a number exactly. The SQL is written by hand: SQL translators do not know the first
and the third (docs/decisions/0010).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from abers.export.mixture import Words

if TYPE_CHECKING:
    from collections.abc import Callable

    from abers.export.mixture import Mixture

ANSWERS = ("lower", "upper", "probability")


class Names(NamedTuple):
    """The names in a query, quoted."""

    steps: str  # table of steps
    groups: str  # table of groups
    scores: str  # table of scores
    score: str  # its column of scores
    group: str  # the expression for a row's group; empty for one rule
    n_levels: int  # number of halvings to find a step


@dataclass(frozen=True, slots=True)
class SqlEngine:
    """The SQL of one database."""

    identifier: Callable[[str], str]
    number: Callable[[float], str]
    text: Callable[[str], str]
    double: str  # types of columns
    integer: str
    group_types: dict[type, str]
    query: Callable[[Names], str]
    text_group: str = "{group}"  # a text column, for comparison with groups
    table_end: str = ")"  # end of the statement that creates the steps
    group_end: str = ")"
    of_one: Callable[[Names], str] | None = None  # a query for one score
    after: tuple[str, ...] = ()  # statements at the end of the setup
    is_by_columns: bool = False  # each column is inserted as one text
    is_bound: bool = False  # numbers are bound, not written
    constant: str = "CAST('{!r}' AS DOUBLE)"  # a number in an expression
    least: str = "least"
    greatest: str = "greatest"
    single: str = "CAST(CAST({} AS FLOAT) AS DOUBLE)"  # rounded; empty if impossible


def _doubled(mark: str) -> Callable[[str], str]:
    """Return a function that quotes names by doubling the mark inside."""
    return lambda name: mark + name.replace(mark, mark * 2) + mark


def _escaped(text: str) -> str:
    """Quote text in which a backslash escapes."""
    marks = str.maketrans(
        {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    )
    return f"'{text.translate(marks)}'"


def _as_text(value: float) -> str:
    """Write a number as text, which the column type converts to a double."""
    return f"'{value!r}'"


def _java_double(value: float) -> str:
    """Write a number with the suffix of a double."""
    return f"{value!r}D" if math.isfinite(value) else f"double('{value!r}')"


def _rule(names: Names, column: str, *, start: str = "0") -> str:
    """Return the number of the rule that applies."""
    return f"COALESCE(g.{column}, {start})" if names.group else start


def _joined(names: Names, condition: str) -> str:
    """Return the join that finds the rule of a group."""
    if not names.group:
        return ""
    return f"\nLEFT JOIN {names.groups} AS g ON {condition.format(group=names.group)}"


def _duckdb(names: Names) -> str:
    """Sort and merge both sides: ASOF. In DuckDB, NaN is above all, hence the CASE.

    A single rule needs no rule number, which would double the query's time.
    """
    same = 'r."rule" = s."abers rule" AND ' if names.group else ""
    return f"""\
SELECT s.* EXCLUDE ("abers rule", "abers score"), r."lower", r."upper", r."probability"
FROM (
  SELECT s.*, {_rule(names, '"rule"')} AS "abers rule",
    CASE WHEN NOT isnan(CAST(s.{names.score} AS DOUBLE))
      THEN CAST(s.{names.score} AS DOUBLE) END AS "abers score"
  FROM {names.scores} AS s{_joined(names, 'g."group" = {group}')}
) AS s
ASOF LEFT JOIN {names.steps} AS r
  ON {same}s."abers score" >= r."start\""""


def _postgres(names: Names) -> str:
    """Search an array of starts, built once: width_bucket. Joins are far slower."""
    return f"""\
SELECT s.*, r."lower", r."upper", r."probability"
FROM {names.scores} AS s{_joined(names, 'g."group" = {group}')}
LEFT JOIN (
  SELECT "rule", array_agg("start" ORDER BY "piece") AS "starts"
  FROM {names.steps} GROUP BY "rule"
) AS a ON a."rule" = {_rule(names, '"rule"')}
LEFT JOIN {names.steps} AS r ON r."rule" = a."rule" AND r."piece" =
  width_bucket(nullif(CAST(s.{names.score} AS double precision), 'NaN'), a."starts")"""


def _postgres_of_one(names: Names) -> str:
    """Find the step of a single score, $1, with the index on starts."""
    return f"""\
SELECT r."lower", r."upper", r."probability"
FROM (
  SELECT nullif(CAST($1 AS double precision), 'NaN') AS {names.score}
) AS s
LEFT JOIN LATERAL (
  SELECT * FROM {names.steps} AS m
  WHERE m."rule" = 0 AND m."start" <= s.{names.score}
  ORDER BY m."start" DESC LIMIT 1
) AS r ON true"""


def _sqlite(names: Names) -> str:
    """Look up the largest start in the primary key. Only numbers are looked up."""
    rule = _rule(names, '"rule"')
    return f"""\
SELECT s.*, r."lower", r."upper", r."probability"
FROM {names.scores} AS s{_joined(names, 'g."group" = {group}')}
LEFT JOIN {names.steps} AS r ON r."rule" = {rule} AND r."start" = (
  SELECT max(m."start") FROM {names.steps} AS m
  WHERE m."rule" = {rule} AND m."start" <= s.{names.score}
) AND typeof(s.{names.score}) IN ('integer', 'real')"""


def _spark(names: Names) -> str:
    """Find the step by halving, with equality joins on rule and piece.

    A join on start <= score alone would compare each score with every start. Level k
    moves on by a power of two if the start there is not above the score. NaN is above
    all.
    """
    rule = _rule(names, "`rule`")
    here, joins = "1", []
    levels = [f"n{k}.`piece`" for k in range(names.n_levels)]
    for k in range(names.n_levels):
        joins.append(
            f"LEFT JOIN {names.steps} AS n{k} ON n{k}.`rule` = {rule} "
            f"AND n{k}.`piece` = {here} + {2 ** (names.n_levels - 1 - k)} "
            f"AND n{k}.`start` <= s.{names.score}"
        )
        here = f"COALESCE({', '.join(reversed(levels[: k + 1]))}, 1)"
    joins.append(
        f"LEFT JOIN {names.steps} AS r ON r.`rule` = {rule} "
        f"AND r.`piece` = {here} "
        f"AND s.{names.score} IS NOT NULL AND NOT isnan(s.{names.score})"
    )
    return "\n".join(
        (
            "SELECT s.*, r.`lower`, r.`upper`, r.`probability`",
            f"FROM {names.scores} AS s{_joined(names, 'g.`group` = {group}')}",
            *joins,
        )
    )


def _types(text: str, integer: str, double: str, boolean: str) -> dict[type, str]:
    return {str: text, int: integer, float: double, bool: boolean}


_KEY = ', PRIMARY KEY ("rule", "{}"))'

ENGINES: dict[str, SqlEngine] = {
    "duckdb": SqlEngine(
        identifier=_doubled('"'),
        number=_as_text,
        text=_doubled("'"),
        double="DOUBLE",
        integer="INTEGER",
        group_types=_types("VARCHAR", "BIGINT", "DOUBLE", "BOOLEAN"),
        query=_duckdb,
        is_by_columns=True,  # row values take ten times as long
    ),
    "postgres": SqlEngine(
        identifier=_doubled('"'),
        number=_as_text,
        text=_doubled("'"),
        double="double precision",
        integer="integer",
        group_types=_types("text", "bigint", "double precision", "boolean"),
        query=_postgres,
        text_group='{group} COLLATE "C"',
        table_end=_KEY.format("piece"),
        group_end=', PRIMARY KEY ("group"))',
        of_one=_postgres_of_one,
        after=('CREATE INDEX ON {table} ("rule", "start")', "ANALYZE {table}"),
        constant="CAST('{!r}' AS double precision)",
        single="CAST(CAST({} AS real) AS double precision)",
    ),
    "sqlite": SqlEngine(
        identifier=_doubled('"'),
        number=repr,
        text=_doubled("'"),
        double="REAL",
        integer="INTEGER",
        group_types=_types("TEXT", "INTEGER", "REAL", "INTEGER"),
        query=_sqlite,
        text_group="{group} COLLATE BINARY",
        table_end=_KEY.format("start") + " WITHOUT ROWID",
        group_end=', PRIMARY KEY ("group")) WITHOUT ROWID',
        is_bound=True,
        constant="{!r}",
        least="min",
        greatest="max",
        single="",
    ),
    "spark": SqlEngine(
        identifier=_doubled("`"),
        number=_java_double,
        text=_escaped,
        double="DOUBLE",
        integer="INT",
        group_types=_types("STRING", "BIGINT", "DOUBLE", "BOOLEAN"),
        query=_spark,
        table_end=") USING parquet",
        group_end=") USING parquet",
    ),
}


def stacked_query(engine: SqlEngine, names: Names, mixture: Mixture, query: str) -> str:
    """Mix the steps that a query finds with the model and its curve.

    In the query, the columns of the steps belong to `r`; each is replaced by the
    formula. Where no step matches, the sum is NULL.
    """
    write = engine.constant.format
    words = Words(write, "exp", "ln", engine.least, engine.greatest, engine.single)
    score = f"s.{names.score}"
    if not engine.is_bound:
        score = f"CAST({score} AS {engine.double})"
    fixed = mixture.fixed(words, score)
    heads = [f"r.{engine.identifier(name)}" for name in ANSWERS]
    mixed = []
    for name, head in zip(ANSWERS, heads, strict=True):
        value = f"{write(mixture.of_rule)} * {head} + {fixed}"
        inside = f"{head} IS NOT NULL"
        if mixture.reads == "probability":
            inside += f" AND {score} BETWEEN 0 AND 1"
        value = f"{engine.least}({value}, {write(1.0)})"
        mixed.append(
            f"CASE WHEN {inside}\n  THEN {value} END AS {engine.identifier(name)}"
        )
    return query.replace(", ".join(heads), ",\n".join(mixed), 1)


def group_literal(engine: SqlEngine, group: Any) -> str:
    """Write the name of a group."""
    if isinstance(group, str):
        return engine.text(group)
    if isinstance(group, bool):
        return "TRUE" if group else "FALSE"
    return engine.number(group) if isinstance(group, float) else str(group)
