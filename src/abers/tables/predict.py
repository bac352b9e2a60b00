"""Predict: a table in, the same table with the columns that a rule adds out."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pyarrow as pa

from abers import validation
from abers.choices import OnMissing
from abers.core.merging import LOSSES, MINIMAX
from abers.core.prior import adjusted, base_rate
from abers.core.rule_set import POOLED, REST, RuleSet, bounds_at, places_of
from abers.errors import InvalidData, InvalidParameter
from abers.tables.calibrators import CalibratorInput, as_calibrator
from abers.tables.columns import (
    SCORE_TAG,
    Groups,
    Numbers,
    chosen_texts,
    column,
    doubles,
    group_column,
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
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from abers.choices import LossName, TableFormat
    from abers.core.calibrator import Calibrator
    from abers.core.pooled import PooledRule
    from abers.core.rule import Rule
    from abers.tables.decide import ActionColumns
    from abers.tables.files import Batch, Dialect, Progress, StrPath
    from abers.validation import FloatArray, IntArray

    Mask = NDArray[np.bool_]

CALIBRATOR_KEY = "abers:calibrator-sha256"  # in files that can keep it
ADDED = ("lower", "upper", "probability")
ON_MISSING = get_args(OnMissing)
TWO = 2


@dataclass(slots=True)
class PredictionCounts:
    """How many rows were predicted, and by which rules.

    Attributes
    ----------
    n_rows : int
        Rows read and written.
    n_missing : int
        Rows without a score; their probabilities are null.
    n_rest : int
        Rows predicted by the rule that small groups share.
    n_pooled : int
        Rows predicted by the rule of all rows: their group was not seen, or is missing,
        or is small where small groups share no rule.
    """

    n_rows: int = 0
    n_missing: int = 0
    n_rest: int = 0
    n_pooled: int = 0


class Probabilities:
    """Lower, upper and probability of scores, as columns of a table.

    >>> import abers
    >>> columns = Probabilities(abers.fit_rule([1, 2, 3], [0, 1, 0]))
    >>> lower, upper, probability = columns.arrays(np.array([2, np.nan]))
    >>> lower.to_pylist(), upper.to_pylist()
    ([0.3333333333333333, None], [0.6666666666666666, None])
    """

    def __init__(
        self,
        rule: Rule | RuleSet,
        *,
        loss: LossName = "log",
        prior: float | None = None,
        actions: ActionColumns | None = None,
    ) -> None:
        validation.check_choice(loss, LOSSES, "loss")
        self.rule = rule
        self.counts = PredictionCounts()
        self._merge = MINIMAX[loss]
        self._rates = None if prior is None else rates_of(rule, prior)
        self._actions = actions

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The type of each column, by name."""
        more = {} if self._actions is None else self._actions.types
        return dict.fromkeys(ADDED, pa.float64()) | more

    def inputs(self, table: InputTable, score: Any, by: str | None) -> list[str]:
        """Find the columns to read, and return their names."""
        self._scores, self._groups = _score_and_group(table, self.rule, score, by)
        groups = [] if self._groups is None else [self._groups.column]
        return [self._scores.column, *groups]

    def arrays_of(self, batch: Batch, *, is_complete: bool) -> list[pa.Array]:
        """Return the columns for some rows; `is_complete` refuses missing scores."""
        values = self._scores.values(batch)
        if is_complete:
            _check_complete(values, batch, self._scores.column)
        if self._groups is None:
            return self.arrays(values)
        return self.arrays(values, self._groups.values(batch), self._groups.names)

    def arrays(
        self,
        scores: FloatArray,
        codes: IntArray | None = None,
        names: Sequence[Any] = (),
    ) -> list[pa.Array]:
        """Return the columns, null where the score is NaN.

        Rules for groups need the code of each row's group, which is its place among the
        names, or -1 if it is missing.
        """
        missing = np.isnan(scores)
        self.counts.n_rows += scores.size
        self.counts.n_missing += int(missing.sum())
        scores = np.where(missing, 0.0, scores)
        if isinstance(self.rule, RuleSet):
            bounds = self._bounds_of_groups(self.rule, scores, codes, [*names, None])
        else:
            bounds = self.rule.bounds(scores)
        if self._rates is not None:
            bounds = adjusted(bounds, *self._rates)
        lower, upper = bounds.T
        values = (lower, upper, self._merge(lower, upper))
        arrays = [doubles(p, missing) for p in values]
        more = [] if self._actions is None else self._actions.arrays(bounds, missing)
        return arrays + more

    def _bounds_of_groups(
        self, rules: RuleSet, scores: FloatArray, codes: Any, names: list[Any]
    ) -> FloatArray:
        kinds = rules.kind_of(names)
        self.counts.n_rest += int((kinds == REST)[codes].sum())
        self.counts.n_pooled += int((kinds == POOLED)[codes].sum())
        return bounds_at(rules, places_of(rules, names)[codes], scores)


class ClassProbabilities:
    """What a calibrator of several columns adds to a table.

    Two classes: lower, upper and probability. More: a probability of each class and,
    if there are bounds, its lower and upper one, then the most probable class. Without
    bounds, probabilities alone.
    """

    def __init__(
        self, calibrator: Calibrator, *, actions: ActionColumns | None = None
    ) -> None:
        self.rule = calibrator
        self.counts = PredictionCounts()
        self._classes = calibrator.classes
        self._has_bounds = hasattr(calibrator, "bounds")
        self._actions = actions

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The type of each column, by name."""
        added = ADDED if self._has_bounds else ADDED[-1:]
        more = {} if self._actions is None else self._actions.types
        if len(self._classes) == TWO:
            return dict.fromkeys(added, pa.float64()) | more
        names = [f"{what}_{label}" for label in self._classes for what in added]
        return {
            **dict.fromkeys(names, pa.float64()),
            "prediction": pa.string(),
            **more,
        }

    def inputs(self, table: InputTable, score: Any, by: str | None) -> list[str]:
        """Find the columns to read, and return their names."""
        if by is not None:
            msg = "--by must go with rules for groups; got one calibrator for all."
            raise InvalidParameter(msg)
        wanted = [score] if isinstance(score, str) else score
        self._input = CalibratorInput(self.rule, table, wanted)
        return self._input.names

    def arrays_of(self, batch: Batch, *, is_complete: bool) -> list[pa.Array]:
        """Return the columns for some rows; `is_complete` refuses missing scores."""
        values = {role: r.values(batch) for role, r in self._input.roles.items()}
        if is_complete:
            for role, reader in self._input.roles.items():
                _check_complete(values[role], batch, reader.column)
        scores = self._input.scores(values, batch.place)
        missing: Mask = np.isnan(scores).max(axis=1)
        self.counts.n_rows += len(scores)
        self.counts.n_missing += int(missing.sum())
        table = self._predicted(scores, missing)
        arrays = self._arrays(table, missing)
        if self._actions is None:
            return arrays
        both = table[:, :2] if self._has_bounds else table[:, [2, 2]]
        bounds = np.nan_to_num(both.swapaxes(1, 2))
        one = bounds[:, 0] if bounds.shape[1] == 1 else bounds
        return [*arrays, *self._actions.arrays(one, missing)]

    def _predicted(self, scores: FloatArray, missing: Mask) -> FloatArray:
        """Return lower, upper and probability, of the second of two classes or all."""
        n_classes, shown = len(self._classes), ~missing
        table = np.full((len(scores), 3, 1 if n_classes == TWO else n_classes), np.nan)
        if shown.any():
            whole = scores[shown]
            table[shown, -1] = self.rule.probability(whole).reshape(len(whole), -1)
            if self._has_bounds:
                with_bounds: Any = self.rule
                bounds = with_bounds.bounds(whole).reshape(len(whole), -1, 2)
                table[shown, :2] = bounds.swapaxes(1, 2)
        return table

    def _arrays(self, table: FloatArray, missing: Mask) -> list[pa.Array]:
        first = 0 if self._has_bounds else 2
        arrays = [
            doubles(np.ascontiguousarray(table[:, what, c]), missing)
            for c in range(table.shape[2])
            for what in range(first, 3)
        ]
        if len(self._classes) == TWO:
            return arrays
        places = np.where(missing, 0, np.nan_to_num(table[:, -1]).argmax(axis=1))
        names = [*map(str, self._classes)]
        return [*arrays, chosen_texts(names, places, missing)]


def columns_of(
    rule: Rule | RuleSet | Calibrator | PooledRule,
    *,
    loss: LossName = "log",
    prior: float | None = None,
    actions: ActionColumns | None = None,
) -> Probabilities | ClassProbabilities:
    """Return what adds columns to a table, for a rule or a calibrator."""
    from abers.core.rule import Rule

    if isinstance(rule, Rule | RuleSet):
        return Probabilities(rule, loss=loss, prior=prior, actions=actions)
    for option, is_given in (("--prior", prior is not None), ("--loss", loss != "log")):
        if is_given:
            msg = f"{option} must go with a rule; got a calibrator. Leave it out."
            raise InvalidParameter(msg)
    return ClassProbabilities(as_calibrator(rule), actions=actions)


def rates_of(rule: Rule | RuleSet, prior: float) -> tuple[float, float]:
    """Return the base rate that a rule is for, over all its groups, and the new one.

    The odds of all groups change by one factor, that of the overall rates: positives
    become as many times more frequent in each group.
    """
    whole = rule.pooled if isinstance(rule, RuleSet) else rule
    new = validation.as_rate(prior, "prior")
    return base_rate(rule.metadata, whole.n_positives, whole.n_rows), new


def predict_table(
    rule: Rule | RuleSet | Calibrator | PooledRule,
    files: StrPath | Sequence[StrPath],
    to: StrPath,
    *,
    score: str | Sequence[str] | None = None,
    by: str | None = None,
    prefix: str = "",
    loss: LossName = "log",
    prior: float | None = None,
    missing: OnMissing = "null",
    format: TableFormat | None = None,  # noqa: A002 (it is what users call it)
    dialect: Dialect | None = None,
    force: bool = False,
    metadata: Mapping[str, str] | None = None,
    temp: StrPath | None = None,
    progress: Progress | None = None,
) -> PredictionCounts:
    """Add lower, upper and probability to each row of a table.

    All other columns, and the order of rows, stay as they are. Rows are read and
    written in batches, so tables may be of any size.

    Parameters
    ----------
    rule : Rule, RuleSet, Calibrator or PooledRule
        What predicts.
    files : path-like or sequence of path-like
        As for `fit_table`.
    to : path-like
        The file to write; its name tells the format and the compression. `-` writes to
        standard output, in the format of the input.
    score : str or sequence of str, default=None
        Column of scores; the one of the fit, or found by its usual name if the rule
        does not remember one. A calibrator of several columns needs them all, or
        patterns of them.
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
    format : str, default=None
        The format to write, such as "parquet", if the name does not tell.
    dialect : Dialect, default=None
        How CSV and TSV are written: delimiter, decimal mark, encoding. Files that are
        written follow it, too.
    force : bool, default=False
        Whether an existing file may be replaced.
    metadata : mapping of str to str, default=None
        What Parquet and Arrow files are to keep beside their columns.
    temp : path-like, default=None
        Folder for what must wait on disk; the system's own if None.
    progress : callable, default=None
        Called with the number of rows read, and of how many or None.

    Returns
    -------
    PredictionCounts
        How many rows there were, and how many without a score.
    """
    probabilities = columns_of(rule, loss=loss, prior=prior)
    add_columns(
        probabilities,
        files,
        to,
        score=score,
        by=by,
        prefix=prefix,
        missing=missing,
        format=format,
        dialect=dialect,
        force=force,
        metadata=metadata,
        temp=temp,
        progress=progress,
    )
    return probabilities.counts


def add_columns(
    new: Probabilities | ClassProbabilities,
    files: StrPath | Sequence[StrPath],
    to: StrPath,
    *,
    score: str | Sequence[str] | None = None,
    by: str | None = None,
    prefix: str = "",
    missing: OnMissing = "null",
    format: TableFormat | None = None,  # noqa: A002
    dialect: Dialect | None = None,
    force: bool = False,
    metadata: Mapping[str, str] | None = None,
    temp: StrPath | None = None,
    progress: Progress | None = None,
) -> None:
    """Write a table with the columns that a rule adds; see `predict_table`."""
    validation.check_choice(missing, ON_MISSING, "missing")
    if format is not None:
        validation.check_choice(format, tuple(FORMATS), "format")
    inputs, target = names_of(files), os.fspath(to)
    check_output(target, force=force, inputs=inputs)
    with Scratch(temp) as scratch:
        named = format or named_format(target)[0]
        table = InputTable(inputs, scratch, dialect, to=named)
        to_format = _output_format(target, format, table)
        read = new.inputs(table, score, by)
        fields = _new_fields(table, new, prefix)
        kept = {**(table.schema.metadata or {}), **(metadata or {})}
        schema = pa.schema([*table.schema, *fields], kept or None)
        is_converted = to_format != table.format
        raw = None if is_converted else FORMATS[to_format].raw
        columns = None
        if raw is None:
            table.check_types()
        else:
            columns = list(dict.fromkeys([*read, raw, *table.partition]))
        origin = None if is_converted else table.reader
        with output(target, force=force) as sink:
            writer = WRITERS[to_format](sink, schema, origin, table.dialect)
            for batch in table.batches(columns, progress=progress):
                added = new.arrays_of(batch, is_complete=missing == "error")
                old = batch.columns
                if raw:  # which keeps all that the file has
                    old = old.select([raw, *table.partition])
                if is_converted:
                    old = batch.select(table.columns)  # which checks that it is text
                extended = pa.schema([*old.schema, *fields], schema.metadata)
                writer.write(pa.record_batch([*old.columns, *added], schema=extended))
            writer.close()


def _score_and_group(
    table: InputTable, rule: Rule | RuleSet, score: str | None, by: str | None
) -> tuple[Numbers, Groups | None]:
    """Return the columns to read: those given, or those of the fit."""
    fitted = rule.metadata.get(SCORE_TAG)
    scores = Numbers(column(table, score, "score", fitted=fitted))
    if isinstance(rule, RuleSet):
        name = column(table, group_column(rule, by), "group")
        return scores, Groups(name, type(next(iter(rule))))
    if by is not None:
        msg = "--by must go with rules for groups; got one rule for all."
        raise InvalidParameter(msg)
    return scores, None


def _check_complete(scores: FloatArray, batch: Batch, name: str) -> None:
    """Raise if a score is missing."""
    missing = np.isnan(scores)
    if missing.any():
        row = int(missing.argmax())
        msg = (
            f"column {name!r} must not be empty, null or NaN; "
            f"it is in {batch.place(row)}. Without --missing error, such rows "
            "get empty probabilities."
        )
        raise InvalidData(msg)


def _output_format(path: str, given: str | None, table: InputTable) -> str:
    """Return the format given, or that of the file name, or else that of the input."""
    named, compression = named_format(path)
    ending = "" if path == STDOUT or compression else Path(path).suffix
    if given is None and named is None and ending:
        *most, last = (form.endings[0] for form in FORMATS.values())
        msg = (
            f"{path!r} must have the ending of a format that abers writes, "
            f"{', '.join(most)} or {last}, and of a compression .gz or .zst; "
            f"got {ending!r}."
        )
        raise InvalidParameter(msg)
    chosen = given or named or table.format
    if not FORMATS[chosen].is_text and path == STDOUT and sys.stdout.isatty():
        msg = (
            f"{chosen.capitalize()} must go to a file or a pipe; got a terminal. "
            "Name one with -o."
        )
        raise InvalidParameter(msg)
    return chosen


def _new_fields(
    table: InputTable, new: Probabilities | ClassProbabilities, prefix: str
) -> list[pa.Field]:
    """Return the new columns; refuse to overwrite one."""
    try:
        prefix.encode()
    except UnicodeEncodeError as cause:  # bytes of a command line that are not UTF-8
        msg = f"prefix must be text; got {prefix!r:.40}."
        raise InvalidParameter(msg) from cause
    fields = [pa.field(prefix + name, kind) for name, kind in new.types.items()]
    if taken := [field.name for field in fields if field.name in table.columns]:
        msg = (
            f"{table.name} must not have columns that are to be added; it has "
            f"{listed(taken)} already. Choose other names with --prefix."
        )
        raise InvalidData(msg)
    return fields
