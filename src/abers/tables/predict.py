"""Predict: a table in, the same table with probabilities out, whole or not at all."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from abers import validation
from abers.core.merging import LOSSES, MINIMAX
from abers.core.prior import adjusted, base_rate
from abers.core.rule_set import RuleSet
from abers.errors import InvalidParameter, InvalidScores, InvalidTable
from abers.tables.columns import (
    ABSENT,
    GROUP_TAG,
    SCORE_TAG,
    Groups,
    Numbers,
    column,
    doubles,
    rows_by_code,
)
from abers.tables.files import (
    FORMATS,
    InputTable,
    Scratch,
    listed,
    named_format,
    names_of,
)
from abers.tables.writing import STDOUT, WRITERS, check_output, output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from abers.core.rule import Rule
    from abers.tables.files import Batch, Dialect, Progress, StrPath
    from abers.validation import FloatArray

ADDED = ("lower", "upper", "probability")
ON_MISSING = ("null", "error")


@dataclass(slots=True)
class PredictionCounts:
    """What was predicted.

    Attributes
    ----------
    n_rows : int
        Rows read, and written.
    n_missing : int
        Rows without a score; their probabilities are null.
    n_rest : int
        Rows for which the rule that small groups share answered.
    n_pooled : int
        Rows for which the rule of all rows answered: their group was not seen, or is
        missing, or small where small groups share no rule.
    """

    n_rows: int = 0
    n_missing: int = 0
    n_rest: int = 0
    n_pooled: int = 0


class NewColumns(Protocol):
    """Columns that are made of bounds."""

    @property
    def fields(self) -> dict[str, pa.DataType]:
        """Their names, and what they hold."""

    def of(self, bounds: FloatArray, missing: NDArray[np.bool_]) -> list[pa.Array]:
        """Return them, null where the score is missing."""


class Probabilities:
    """The bounds, and the probability that they are merged to."""

    def __init__(self, loss: str = "log") -> None:
        self._merge = MINIMAX[loss]

    @property
    def fields(self) -> dict[str, pa.DataType]:
        """Lower, upper and probability."""
        return dict.fromkeys(ADDED, pa.float64())

    def of(self, bounds: FloatArray, missing: NDArray[np.bool_]) -> list[pa.Array]:
        """Return them, null where the score is missing."""
        lower, upper = bounds.T
        values = (lower, upper, self._merge(lower, upper))
        return [doubles(p, missing) for p in values]


def predict_table(
    rule: Rule | RuleSet,
    files: StrPath | Sequence[StrPath],
    to: StrPath,
    *,
    score: str | None = None,
    by: str | None = None,
    prefix: str = "",
    loss: str = "log",
    prior: float | None = None,
    missing: str = "null",
    format: str | None = None,  # noqa: A002 (it is what users call it)
    dialect: Dialect | None = None,
    force: bool = False,
    temp: StrPath | None = None,
    progress: Progress | None = None,
) -> PredictionCounts:
    """Add lower, upper and probability to each row of a table.

    All other columns, and the order of rows, stay as they are. Rows are read and
    written in batches, so tables may be of any size.

    Parameters
    ----------
    rule : Rule or RuleSet
        What predicts.
    files : path-like or sequence of path-like
        As for `fit_table`.
    to : path-like
        The file to write; its name tells the format and the compression. `-` writes to
        standard output, in the format of the input.
    score : str, default=None
        Column of scores; the one of the fit, or found by its usual name if the rule
        does not remember one.
    by : str, default=None
        Column of groups, for a rule set; the one of the fit.
    prefix : str, default=""
        What the names of the new columns begin with.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds are merged to one probability.
    prior : float, default=None
        The share of positives among these rows, if it is another than among the
        calibration rows; see `adjust_prior` for what that assumes.
    missing : {"null", "error"}, default="null"
        What a row without a score gives.
    format : {"csv", "tsv", "parquet", "arrow", "json"}, default=None
        The format to write, if the name does not tell.
    dialect : Dialect, default=None
        How CSV and TSV are written: delimiter, decimal mark, encoding. Files that are
        written follow it, too.
    force : bool, default=False
        Whether an existing file may be replaced.
    temp : path-like, default=None
        Folder for what must wait on disk; the system's own if None.
    progress : callable, default=None
        Called with the number of rows read, and of how many or None.

    Returns
    -------
    PredictionCounts
        How many rows there were, and how many without a score.
    """
    validation.check_choice(loss, LOSSES, "loss")
    return add_columns(
        rule,
        files,
        to,
        Probabilities(loss),
        score=score,
        by=by,
        prefix=prefix,
        prior=prior,
        missing=missing,
        format=format,
        dialect=dialect,
        force=force,
        temp=temp,
        progress=progress,
    )


def add_columns(
    rule: Rule | RuleSet,
    files: StrPath | Sequence[StrPath],
    to: StrPath,
    new: NewColumns,
    *,
    score: str | None,
    by: str | None,
    prefix: str,
    prior: float | None,
    missing: str,
    format: str | None,  # noqa: A002
    dialect: Dialect | None,
    force: bool,
    temp: StrPath | None,
    progress: Progress | None,
) -> PredictionCounts:
    """Write a table with columns that are made of bounds; see `predict_table`."""
    validation.check_choice(missing, ON_MISSING, "missing")
    if format is not None:
        validation.check_choice(format, tuple(FORMATS), "format")
    inputs, target = names_of(files), os.fspath(to)
    check_output(target, force=force, inputs=inputs)
    with Scratch(temp) as scratch:
        asked = format or named_format(target)[0]
        table = InputTable(inputs, scratch, dialect, to=asked)
        form = _output_format(target, format, table)
        answers = _Answers(
            rule, table, new, score=score, by=by, prior=prior, missing=missing
        )
        added = _added(table, new, prefix)
        schema = pa.schema([*table.schema, *added], table.schema.metadata)
        origin = table.reader if table.format == form else None
        raw = FORMATS[form].raw if origin else None
        if raw is None:
            table.check_types()
        columns = [*answers.columns, raw] if raw else None
        with output(target, force=force) as sink:
            rows = WRITERS[form](sink, schema, origin, table.dialect)
            for batch in table.batches(columns, progress=progress):
                kept = batch.columns.select([raw]) if raw else batch.columns
                if origin is None:  # in another format, all must be text
                    kept = batch.select(table.columns)
                rows.write(
                    pa.record_batch(
                        [*kept.columns, *answers.to(batch)],
                        schema=pa.schema([*kept.schema, *added], schema.metadata),
                    )
                )
            rows.close()
        return answers.given


def _output_format(path: str, given: str | None, table: InputTable) -> str:
    """Return the format asked for, or told by the name, or else that of the input."""
    form, compression = named_format(path)
    ending = "" if path == STDOUT or compression else Path(path).suffix
    if given is None and form is None and ending:
        *most, last = (form.endings[0] for form in FORMATS.values())
        msg = (
            f"{path!r} must have the ending of a format that abers writes, "
            f"{', '.join(most)} or {last}, and of a compression .gz or .zst; "
            f"got {ending!r}."
        )
        raise InvalidParameter(msg)
    form = given or form or table.format
    if not FORMATS[form].is_text and path == STDOUT and sys.stdout.isatty():
        msg = (
            f"{form.capitalize()} must go to a file or a pipe; got a terminal. "
            "Name one with -o."
        )
        raise InvalidParameter(msg)
    return form


def _added(table: InputTable, new: NewColumns, prefix: str) -> list[pa.Field]:
    """Return the new columns; refuse to overwrite one."""
    try:
        prefix.encode()
    except UnicodeEncodeError as cause:  # bytes of a command line that are not UTF-8
        msg = f"prefix must be text; got {prefix!r:.40}."
        raise InvalidParameter(msg) from cause
    fields = {prefix + name: kind for name, kind in new.fields.items()}
    if taken := [name for name in fields if name in table.columns]:
        msg = (
            f"{table.name} must not have columns that are to be added; it has "
            f"{listed(taken)} already. Choose other names with --prefix."
        )
        raise InvalidTable(msg)
    return [pa.field(name, kind) for name, kind in fields.items()]


def rates_of(rule: Rule | RuleSet, prior: float) -> tuple[float, float]:
    """Return the base rate that a rule is for, of all its groups, and the new one.

    The odds of all groups change by one factor, that of the overall rates: positives
    are as many times more frequent in each of them.
    """
    whole = rule.pooled if isinstance(rule, RuleSet) else rule
    new = validation.as_rate(prior, "prior")
    return base_rate(rule.metadata, whole.n_positives, whole.n_observations), new


class _Answers:
    """What a rule, or a set of them, says to batches of rows."""

    def __init__(
        self,
        rule: Rule | RuleSet,
        table: InputTable,
        new: NewColumns,
        *,
        score: str | None,
        by: str | None,
        prior: float | None,
        missing: str,
    ) -> None:
        tags = rule.metadata
        self._rule = rule
        self._rates = None if prior is None else rates_of(rule, prior)
        name = column(table, score, "score", fitted=tags.get(SCORE_TAG))
        self._score = Numbers(name)
        self._new = new
        self._missing = missing
        self._groups = None
        self._rules: list[Rule] = []  # of each group seen, by code
        self.given = PredictionCounts()
        if isinstance(rule, RuleSet):
            by = by if by is not None else tags.get(GROUP_TAG)
            if by is None:
                msg = "rules for groups need the column of groups; name it with --by."
                raise InvalidParameter(msg)
            kind = type(next(iter(rule)))
            self._groups = Groups(column(table, by, "group"), kind)
        elif by is not None:
            msg = "--by must go with rules for groups; got one rule for all."
            raise InvalidParameter(msg)

    @property
    def columns(self) -> list[str]:
        """The columns that are looked at."""
        group = [self._groups.column] if self._groups else []
        return list(dict.fromkeys([self._score.column, *group]))

    def to(self, batch: Batch) -> list[pa.Array]:
        """Return the new columns; nulls where the score is missing."""
        scores = self._score.values(batch)
        missing = np.isnan(scores)
        self.given.n_rows += scores.size
        n_missing = int(missing.sum())
        if n_missing and self._missing == "error":
            row = int(missing.argmax())
            msg = (
                f"column {self._score.column!r} must not be empty, null or NaN; "
                f"it is in {batch.place(row)}. Without --missing error, such rows "
                "get empty probabilities."
            )
            raise InvalidScores(msg)
        self.given.n_missing += n_missing
        known = np.where(missing, 0.0, scores) if n_missing else scores
        bounds = self._bounds(known, batch)
        if self._rates is not None:
            bounds = adjusted(bounds, *self._rates)
        return self._new.of(bounds, missing)

    def _bounds(self, scores: FloatArray, batch: Batch) -> FloatArray:
        if not isinstance(self._rule, RuleSet):
            return self._rule.bounds(scores)
        codes = self._groups.values(batch) if self._groups else np.zeros(0, np.int64)
        names = self._groups.names if self._groups else []
        self._rules += [self._rule[name] for name in names[len(self._rules) :]]
        bounds = np.empty((scores.size, 2))
        for code, rows in rows_by_code(codes):
            rule = self._rule.pooled if code == ABSENT else self._rules[code]
            bounds[rows] = rule.bounds(scores[rows])
            self.given.n_rest += rows.size * (rule is self._rule.rest)
            self.given.n_pooled += rows.size * (rule is self._rule.pooled)
        return bounds
