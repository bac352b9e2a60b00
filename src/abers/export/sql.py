"""SQL: a rule as tables of a database, and the query that applies it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from abers import validation
from abers.core.merging import LOSSES
from abers.core.rule_set import RuleSet
from abers.errors import InvalidParameter, InvalidType
from abers.export.engines import ENGINES, Names, group_literal, stacked_query
from abers.export.mixture import served
from abers.export.step_table import pieces_of, rules_with_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from abers.choices import LossName, SqlDialect
    from abers.core.rule import Rule
    from abers.core.stacked import StackedRule
    from abers.core.venn_abers_calibrator import VennAbersCalibrator
    from abers.export.engines import SqlEngine
    from abers.export.mixture import Mixture

    Row = tuple[Any, ...]

MOST_ROWS = 1_000  # in one INSERT
COLUMNS = ("rule", "piece", "start", "lower", "upper", "probability")


@dataclass(frozen=True, slots=True)
class Sql:
    """Statements that load a rule into a database, and the query that applies it.

    Made by `to_sql`.

    Attributes
    ----------
    setup : tuple of str
        Statements to run once, in order: they create the steps and fill them.
    query : str
        Adds lower, upper and probability to all columns of the scores.
    parameters : tuple of lists
        For each statement of the setup, the rows to bind to it (`executemany`); an
        empty list if there are none. Only SQLite needs them, since it parses decimal
        numbers inexactly.
    query_of_one : str or None
        PostgreSQL: a query for a single score, $1, which uses an index and is far
        quicker than the query for many. None elsewhere, and with groups.
    """

    setup: tuple[str, ...]
    query: str
    parameters: tuple[list[Row], ...]
    query_of_one: str | None = None

    @property
    def script(self) -> str:
        """The setup and the query as one text, if there is nothing to bind."""
        if any(self.parameters):
            msg = (
                "the numbers of SQLite must be bound, not written; run the statements "
                "of `setup` with the rows of `parameters`."
            )
            raise InvalidParameter(msg)
        return "".join(f"{statement};\n" for statement in (*self.setup, self.query))


def to_sql(
    rule: Rule | RuleSet | StackedRule | VennAbersCalibrator,
    dialect: SqlDialect,
    *,
    table: str | tuple[str, ...],
    scores: str | tuple[str, ...],
    score: str,
    group: str | None = None,
    loss: LossName = "log",
) -> Sql:
    """Return the SQL that applies a rule to a table of scores, bit for bit.

    For NaN and NULL, and for values that are not numbers (possible in SQLite), lower,
    upper and probability are NULL.

    Parameters
    ----------
    rule : Rule, RuleSet, StackedRule or VennAbersCalibrator
        What to export. A calibrator must have two classes and one model. The results of
        a stacked rule agree within 1e-12.
    dialect : {"duckdb", "postgres", "sqlite", "spark"}
        The database.
    table : str or tuple of str
        The table to create for the steps; a schema may come first, as in
        `("public", "steps")`. With groups there is a second one, `steps_groups`.
    scores : str or tuple of str
        The table of scores.
    score : str
        Its column of scores.
    group : str, default=None
        Its column of groups, for a rule set. Missing and unseen groups are treated as
        in the rule set.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds are merged into one probability.

    Returns
    -------
    Sql
        The setup, the query, and the rows to bind.

    Examples
    --------
    >>> import sqlite3
    >>> import abers
    >>> rule = abers.fit_rule([1, 2], [0, 1])
    >>> sql = abers.export.to_sql(
    ...     rule, "sqlite", table="steps", scores="new", score="s"
    ... )
    >>> database = sqlite3.connect(":memory:")
    >>> _ = database.executescript("create table new (s); insert into new values (1.5)")
    >>> for statement, rows in zip(sql.setup, sql.parameters):
    ...     _ = database.executemany(statement, rows or [()])
    >>> database.execute(sql.query).fetchall()  # s, lower, upper, probability
    [(1.5, 0.0, 1.0, 0.5)]
    """
    validation.check_choice(dialect, tuple(ENGINES), "dialect")
    validation.check_choice(loss, LOSSES, "loss")
    own, mixture, reading = served(rule, loss)
    _check_group(own, group)
    engine = ENGINES[dialect]
    parts = rules_with_groups(own)
    steps = [
        _rows(k, pieces_of(each, loss, reading=reading))
        for k, (_, each) in enumerate(parts)
    ]
    longest = max(map(len, steps))
    kind, names = _kind(own), _parts(table, "table")
    groups = (*names[:-1], f"{names[-1]}_groups")
    quoted = Names(
        steps=_quoted(engine, names),
        groups=_quoted(engine, groups),
        scores=_quoted(engine, _parts(scores, "scores")),
        score=_quoted(engine, _parts(score, "score")),
        group=_group_expression(engine, group, kind),
        n_levels=(longest - 1).bit_length(),
    )
    named = [(name, k) for k, (shared, _) in enumerate(parts) for name in shared if k]
    statements = [
        *_steps_setup(engine, quoted, [row for rows in steps for row in rows])
    ]
    if kind is not None:
        statements += _groups_setup(engine, quoted, named, kind)
    statements += [(text.format(table=quoted.steps), []) for text in engine.after]
    query = engine.query(quoted)
    of_one = engine.of_one(quoted) if engine.of_one and kind is None else None
    if mixture is not None:
        _check_single_precision(mixture, dialect)
        query = stacked_query(engine, quoted, mixture, query)
        of_one = of_one and stacked_query(engine, quoted, mixture, of_one)
    return Sql(
        setup=tuple(text for text, _ in statements),
        query=query,
        parameters=tuple(bound for _, bound in statements),
        query_of_one=of_one,
    )


def _check_single_precision(mixture: Mixture, dialect: str) -> None:
    """Raise for a formula that rounds to single precision, if the engine cannot."""
    if mixture.is_rounded and not ENGINES[dialect].single:
        msg = (
            "dialect must have single precision, to which the calibrator of a "
            f"classifier rounds; got {dialect!r}. Take another, or export C."
        )
        raise InvalidParameter(msg)


def _check_group(rule: Rule | RuleSet, group: str | None) -> None:
    """Raise for groups without a rule set, and for a rule set without groups."""
    if isinstance(rule, RuleSet) and group is None:
        msg = "group must name the column of groups that a rule set needs; got None."
        raise InvalidParameter(msg)
    if not isinstance(rule, RuleSet) and group is not None:
        msg = f"group must go with a rule set; got {group!r} and one rule for all."
        raise InvalidParameter(msg)


def _kind(rule: Rule | RuleSet) -> type | None:
    """Return the type of the groups; None if there are none."""
    return type(next(iter(rule))) if isinstance(rule, RuleSet) else None


def _parts(name: str | tuple[str, ...], what: str) -> tuple[str, ...]:
    """Return the parts of a name; raise if no database allows it."""
    parts = (name,) if isinstance(name, str) else tuple(name)
    for part in parts or [""]:
        if not isinstance(part, str):
            msg = f"{what} must be a name, or a tuple of names; got {name!r}."
            raise InvalidType(msg)
        if not part or "\0" in part:
            msg = f"{what} must be a name of at least one character; got {name!r}."
            raise InvalidParameter(msg)
    return parts


def _quoted(engine: SqlEngine, parts: tuple[str, ...]) -> str:
    return ".".join(map(engine.identifier, parts))


def _group_expression(engine: SqlEngine, group: str | None, kind: type | None) -> str:
    """Return the expression for the group of a row; empty without groups."""
    if group is None:
        return ""
    column = f"s.{_quoted(engine, _parts(group, 'group'))}"
    return engine.text_group.format(group=column) if kind is str else column


def _rows(number: int, pieces: Sequence[NDArray[Any]]) -> list[Row]:
    """Return the steps of a rule as rows of its table."""
    rows = zip(*(column.tolist() for column in pieces), strict=True)
    return [(number, piece, *row) for piece, row in enumerate(rows, start=1)]


def _steps_setup(
    engine: SqlEngine, names: Names, rows: list[Row]
) -> list[tuple[str, list[Row]]]:
    """Return the statements that create the steps."""
    types = [engine.integer] * 2 + [engine.double] * 4
    columns = ", ".join(
        f"{engine.identifier(column)} {type_}"
        for column, type_ in zip(COLUMNS, types, strict=True)
    )
    create = f"CREATE TABLE {names.steps} ({columns}{engine.table_end}"
    if engine.is_bound:
        return [(create, []), (_insert(names.steps, ["(?, ?, ?, ?, ?, ?)"]), rows)]
    if engine.is_by_columns:
        parts = [rows[first : first + MOST_ROWS] for first in _firsts(rows)]
        texts = [_insert_columns(names.steps, part, types) for part in parts]
        return [(text, []) for text in (create, *texts)]
    texts = [
        f"({rule}, {piece}, {', '.join(map(engine.number, numbers))})"
        for rule, piece, *numbers in rows
    ]
    return [(create, []), *_inserts(names.steps, texts)]


def _groups_setup(
    engine: SqlEngine, names: Names, named: list[Row], kind: type
) -> list[tuple[str, list[Row]]]:
    """Return the statements that map groups to rules."""
    group, rule = map(engine.identifier, ("group", "rule"))
    columns = f"{group} {engine.group_types[kind]}, {rule} {engine.integer}"
    create = f"CREATE TABLE {names.groups} ({columns}{engine.group_end}"
    if engine.is_bound:
        bound = [(_insert(names.groups, ["(?, ?)"]), named)] if named else []
        return [(create, []), *bound]
    texts = [f"({group_literal(engine, name)}, {rule})" for name, rule in named]
    return [(create, []), *_inserts(names.groups, texts)]


def _insert(table: str, rows: Sequence[str]) -> str:
    return f"INSERT INTO {table} VALUES\n" + ",\n".join(rows)


def _inserts(table: str, rows: Sequence[str]) -> list[tuple[str, list[Row]]]:
    """Insert rows, in as few statements as engines accept."""
    return [
        (_insert(table, rows[first : first + MOST_ROWS]), []) for first in _firsts(rows)
    ]


def _firsts(rows: Sequence[object]) -> range:
    """Return the first row of each statement."""
    return range(0, len(rows), MOST_ROWS)


def _insert_columns(table: str, rows: Sequence[Row], types: Sequence[str]) -> str:
    """Insert columns, each as one text that holds a list."""
    texts = (" ".join(map(repr, column)) for column in zip(*rows, strict=True))
    columns = (
        f"unnest(string_split('{text}', ' ')::{type_}[])"
        for text, type_ in zip(texts, types, strict=True)
    )
    return f"INSERT INTO {table} SELECT\n" + ",\n".join(columns)
