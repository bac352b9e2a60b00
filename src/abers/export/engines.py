"""Engines: how each database creates the steps, and looks scores up in them.

All tables have one row a step: rule (0 answers for missing and unseen groups), piece
(from 1 within a rule), start, lower, upper, probability. What differs is how an engine
finds the last start that is not above a score without comparing all, how it quotes
names, and how it reads a number to the last bit. Each is written by hand: no translator
of SQL knows the first and the third (docs/decisions/0021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


class Names(NamedTuple):
    """What a query speaks of, quoted."""

    steps: str  # table of steps
    groups: str  # table of groups
    scores: str  # table of scores
    score: str  # its column of scores
    group: str  # the group of a row, an expression; empty for one rule
    n_levels: int  # halvings that find a step


@dataclass(frozen=True, slots=True)
class SqlEngine:
    """How one database is spoken to."""

    identifier: Callable[[str], str]
    number: Callable[[float], str]
    text: Callable[[str], str]
    double: str  # types of columns
    integer: str
    group_types: dict[type, str]
    query: Callable[[Names], str]
    text_group: str = "{group}"  # a column of text, as it is compared with groups
    table_end: str = ")"  # what follows the columns of the steps
    group_end: str = ")"
    after: tuple[str, ...] = ()  # statements to end the setup with
    is_by_columns: bool = False  # each column is inserted as one text
    has_infinity: bool = True  # or else no score is infinite, and no start
    is_bound: bool = False  # numbers are bound, not written
    is_run: bool = True  # by the tests of abers


def _doubled(mark: str) -> Callable[[str], str]:
    """Return how a name is quoted where the mark is doubled inside."""
    return lambda name: mark + name.replace(mark, mark * 2) + mark


def _escaped(mark: str) -> Callable[[str], str]:
    """Return how text is quoted where a backslash escapes."""
    marks = str.maketrans(
        {"\\": "\\\\", mark: "\\" + mark, "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    )
    return lambda text: mark + text.translate(marks) + mark


def _as_text(value: float) -> str:
    """Write a number as text, which the type of its column makes a double."""
    return f"'{value!r}'"


def _as_bits(value: float) -> str:
    """Write the bits of a number: how exactly text is read depends on a setting."""
    return f"reinterpretAsFloat64(toUInt64({np.float64(value).view(np.uint64)}))"


def _with_exponent(value: float) -> str:
    """Write a number with an exponent, without which it would be a decimal."""
    return repr(value) if "e" in repr(value) else f"{value!r}e0"


def _java_double(value: float) -> str:
    """Write a number with the suffix of a double."""
    return f"{value!r}D" if math.isfinite(value) else f"double('{value!r}')"


def _cast_if_infinite(value: float) -> str:
    """Write a number where every literal is a double."""
    finite = math.isfinite(value)
    return _with_exponent(value) if finite else f"CAST('{value!r}' AS FLOAT64)"


def _hexadecimal(text: str) -> str:
    return f"X'{text.encode().hex()}'"


def _rule(names: Names, column: str, *, start: str = "0") -> str:
    """Return the number of the rule that answers."""
    return f"COALESCE(g.{column}, {start})" if names.group else start


def _joined(names: Names, condition: str) -> str:
    """Return the join that finds the rule of a group."""
    if not names.group:
        return ""
    return f"\nLEFT JOIN {names.groups} AS g ON {condition.format(group=names.group)}"


def _duckdb(names: Names) -> str:
    """Sort both sides and merge them: ASOF. NaN is above all there, hence the CASE.

    One rule does without its number, which would make the query twice as long.
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
    """Search an array of starts, made once: width_bucket. Joins are far slower."""
    return f"""\
SELECT s.*, r."lower", r."upper", r."probability"
FROM {names.scores} AS s{_joined(names, 'g."group" = {group}')}
LEFT JOIN (
  SELECT "rule", array_agg("start" ORDER BY "piece") AS "starts"
  FROM {names.steps} GROUP BY "rule"
) AS a ON a."rule" = {_rule(names, '"rule"')}
LEFT JOIN {names.steps} AS r ON r."rule" = a."rule" AND r."piece" =
  width_bucket(nullif(CAST(s.{names.score} AS double precision), 'NaN'), a."starts")"""


def _sqlite(names: Names) -> str:
    """Look the largest start up in the primary key. What is no number is not read."""
    rule = _rule(names, '"rule"')
    return f"""\
SELECT s.*, r."lower", r."upper", r."probability"
FROM {names.scores} AS s{_joined(names, 'g."group" = {group}')}
LEFT JOIN {names.steps} AS r ON r."rule" = {rule} AND r."start" = (
  SELECT max(m."start") FROM {names.steps} AS m
  WHERE m."rule" = {rule} AND m."start" <= s.{names.score}
) AND typeof(s.{names.score}) IN ('integer', 'real')"""


def _clickhouse(names: Names) -> str:
    """Sort and merge: ASOF. It takes no NULL and reads NaN as the largest number."""
    return f"""\
SELECT s.* EXCEPT (`abers rule`, `abers score`),
  if(isNaN(s.`abers score`), NULL, r.`lower`) AS `lower`,
  if(isNaN(s.`abers score`), NULL, r.`upper`) AS `upper`,
  if(isNaN(s.`abers score`), NULL, r.`probability`) AS `probability`
FROM (
  SELECT s.*, toInt32({_rule(names, "`rule`")}) AS `abers rule`,
    ifNull(toFloat64(s.{names.score}), nan) AS `abers score`
  FROM {names.scores} AS s{_joined(names, "g.`group` = {group}")}
) AS s
ASOF LEFT JOIN {names.steps} AS r
  ON r.`rule` = s.`abers rule` AND s.`abers score` >= r.`start`"""


def _halving(names: Names, rule: str, present: str, joined: str) -> str:
    """Find the step by halvings, each a look into the primary key.

    For engines that would compare a score with every start. Level k goes on by a
    power of two if the start there is not above the score.
    """
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
        f"AND r.`piece` = {here} AND {present}"
    )
    return "\n".join(
        (
            "SELECT s.*, r.`lower`, r.`upper`, r.`probability`",
            f"FROM {names.scores} AS s{joined}",
            *joins,
        )
    )


def _mysql(names: Names) -> str:
    """Halve."""
    joined = _joined(names, "g.`group` = {group}")
    return _halving(
        names, _rule(names, "`rule`"), f"s.{names.score} IS NOT NULL", joined
    )


def _spark(names: Names) -> str:
    """Halve. NaN is above all there."""
    present = f"s.{names.score} IS NOT NULL AND NOT isnan(s.{names.score})"
    joined = _joined(names, "g.`group` = {group}")
    return _halving(names, _rule(names, "`rule`"), present, joined)


def _bigquery(names: Names) -> str:
    """Search an array of starts: RANGE_BUCKET, to which NaN and NULL are NULL."""
    return f"""\
SELECT s.*, r.`lower`, r.`upper`, r.`probability`
FROM {names.scores} AS s{_joined(names, "g.`group` = {group}")}
LEFT JOIN (
  SELECT `rule`, ARRAY_AGG(`start` ORDER BY `piece`) AS `starts`
  FROM {names.steps} GROUP BY `rule`
) AS a ON a.`rule` = {_rule(names, "`rule`")}
LEFT JOIN {names.steps} AS r ON r.`rule` = a.`rule`
  AND r.`piece` = RANGE_BUCKET(CAST(s.{names.score} AS FLOAT64), a.`starts`)"""


def _snowflake(names: Names) -> str:
    """Sort and merge: ASOF. NaN is above all there."""
    return f"""\
SELECT s.* EXCLUDE ("abers rule", "abers score"), r."lower", r."upper", r."probability"
FROM (
  SELECT s.*, {_rule(names, '"rule"')} AS "abers rule",
    NULLIF(CAST(s.{names.score} AS FLOAT), 'NaN'::FLOAT) AS "abers score"
  FROM {names.scores} AS s{_joined(names, 'g."group" = {group}')}
) AS s
ASOF JOIN {names.steps} AS r
  MATCH_CONDITION (s."abers score" >= r."start") ON s."abers rule" = r."rule\""""


def _types(text: str, integer: str, double: str, boolean: str) -> dict[type, str]:
    return {str: text, int: integer, float: double, bool: boolean}


def _snowflake_text(text: str) -> str:
    return _doubled("'")(text.replace("\\", "\\\\"))


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
        is_by_columns=True,  # rows of values take ten times as long
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
        after=("ANALYZE {table}",),
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
    ),
    "clickhouse": SqlEngine(
        identifier=_escaped("`"),
        number=_as_bits,
        text=_escaped("'"),
        double="Float64",
        integer="Int32",
        group_types=_types("String", "Int64", "Float64", "Bool"),
        query=_clickhouse,
        table_end=") ENGINE = MergeTree ORDER BY (`rule`, `piece`)",
        group_end=") ENGINE = MergeTree ORDER BY `group`",
    ),
    "mysql": SqlEngine(
        identifier=_doubled("`"),
        number=_with_exponent,
        text=_hexadecimal,
        double="DOUBLE",
        integer="INTEGER",
        group_types=_types("VARBINARY({longest})", "BIGINT", "DOUBLE", "BOOLEAN"),
        query=_mysql,
        # By its bytes: collations ignore case and spaces.
        text_group="CAST(CONVERT({group} USING utf8mb4) AS BINARY)",
        table_end=", PRIMARY KEY (`rule`, `piece`))",
        group_end=", PRIMARY KEY (`group`))",
        has_infinity=False,
    ),
    "spark": SqlEngine(
        identifier=_doubled("`"),
        number=_java_double,
        text=_escaped("'"),
        double="DOUBLE",
        integer="INT",
        group_types=_types("STRING", "BIGINT", "DOUBLE", "BOOLEAN"),
        query=_spark,
        table_end=") USING parquet",
        group_end=") USING parquet",
    ),
    "bigquery": SqlEngine(
        identifier=_escaped("`"),
        number=_cast_if_infinite,
        text=_escaped("'"),
        double="FLOAT64",
        integer="INT64",
        group_types=_types("STRING", "INT64", "FLOAT64", "BOOL"),
        query=_bigquery,
        is_run=False,
    ),
    "snowflake": SqlEngine(
        identifier=_doubled('"'),
        number=lambda value: f"'{value!r}'::FLOAT",
        text=_snowflake_text,
        double="FLOAT",
        integer="INTEGER",
        group_types=_types("VARCHAR", "INTEGER", "FLOAT", "BOOLEAN"),
        query=_snowflake,
        is_run=False,
    ),
}


def group_literal(engine: SqlEngine, group: Any) -> str:
    """Write the name of a group."""
    if isinstance(group, str):
        return engine.text(group)
    if isinstance(group, bool):
        return "TRUE" if group else "FALSE"
    return engine.number(group) if isinstance(group, float) else str(group)
