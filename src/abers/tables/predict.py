"""Predict: a table in, the same table with a rule's predictions out."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pyarrow as pa

from abers import validation
from abers.choices import OnMissing
from abers.errors import InvalidData, InvalidParameter
from abers.tables.files import (
    FORMATS,
    InputTable,
    Scratch,
    listed,
    named_format,
    names_of,
)
from abers.tables.predictors import AddedColumns, PredictionCounts
from abers.tables.writing import STDOUT, check_output, table_writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abers.choices import LossName, TableFormat
    from abers.core.calibrator import Calibrator
    from abers.core.pooled import PooledRule
    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet
    from abers.tables.decide import ActionColumns
    from abers.tables.files import Dialect, Progress, StrPath

CALIBRATOR_KEY = "abers:calibrator-sha256"  # in formats with metadata
ON_MISSING = get_args(OnMissing)


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
    actions: ActionColumns | None = None,
    missing: OnMissing = "null",
    format: TableFormat | None = None,  # noqa: A002 (it is what users call it)
    dialect: Dialect | None = None,
    force: bool = False,
    metadata: Mapping[str, str] | None = None,
    temp: StrPath | None = None,
    progress: Progress | None = None,
) -> PredictionCounts:
    """Add lower, upper and probability to each row of a table.

    All other columns and the order of rows are unchanged. Rows are read and written in
    batches, so tables may be of any size.

    Parameters
    ----------
    rule : Rule, RuleSet, Calibrator or PooledRule
        The predictor.
    files : path-like or sequence of path-like
        As for `fit_table`.
    to : path-like
        The file to write; its name gives the format and the compression. `-` writes to
        standard output, in the format of the input.
    score : str or sequence of str, default=None
        Column of scores; by default the one of the fit, or, if unknown, one with a
        usual name. For a calibrator with several columns, all of them or patterns.
    by : str, default=None
        Column of groups, for a rule set; the one of the fit.
    prefix : str, default=""
        Prefix of the names of the new columns.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds are merged into one probability.
    prior : float, default=None
        The share of positives among these rows, if it differs from that of the
        calibration rows; see `adjust_prior` for the assumption.
    actions : ActionColumns, default=None
        An action for each row, whose columns come last; see `decide_table`.
    missing : {"null", "error"}, default="null"
        What to do with rows without a score.
    format : str, default=None
        The output format, such as "parquet", if the name does not show it.
    dialect : Dialect, default=None
        How CSV and TSV are written: delimiter, decimal mark, encoding. It also applies
        to the output.
    force : bool, default=False
        Whether an existing file may be replaced.
    metadata : mapping of str to str, default=None
        Metadata for Parquet and Arrow files.
    temp : path-like, default=None
        Folder for temporary files; None is the system's.
    progress : callable, default=None
        Called with the number of rows read, and the total or None.

    Returns
    -------
    PredictionCounts
        How many rows there were, in total and without a score.
    """
    added = AddedColumns(rule, loss=loss, prior=prior, actions=actions)
    validation.check_choice(missing, ON_MISSING, "missing")
    if format is not None:
        validation.check_choice(format, tuple(FORMATS), "format")
    inputs, target = names_of(files), os.fspath(to)
    check_output(target, force=force, inputs=inputs)
    with Scratch(temp) as scratch:
        named = format or named_format(target)[0]
        table = InputTable(inputs, scratch, dialect, to=named)
        to_format = _output_format(target, format, table)
        read = added.find(table, score, by)
        fields = _new_fields(table, added, prefix)
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
        with table_writer(
            target, to_format, schema, table.dialect, force=force, origin=origin
        ) as writer:
            for batch in table.batches(columns, progress=progress):
                new = added.arrays_of(batch, is_complete=missing == "error")
                old = batch.columns
                if raw:  # the reader keeps every original value
                    old = old.select([raw, *table.partition])
                extended = pa.schema([*old.schema, *fields], schema.metadata)
                writer.write(pa.record_batch([*old.columns, *new], schema=extended))
    return added.counts


def _output_format(path: str, given: str | None, table: InputTable) -> str:
    """Return the format given, else that of the file name, else that of the input."""
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


def _new_fields(table: InputTable, added: AddedColumns, prefix: str) -> list[pa.Field]:
    """Return the new columns; raise if one exists already."""
    try:
        prefix.encode()
    except UnicodeEncodeError as cause:  # the command line had bytes that are not UTF-8
        msg = f"prefix must be text; got {prefix!r:.40}."
        raise InvalidParameter(msg) from cause
    fields = [pa.field(prefix + name, kind) for name, kind in added.types.items()]
    if taken := [field.name for field in fields if field.name in table.columns]:
        msg = (
            f"{table.name} must not have columns that are to be added; it has "
            f"{listed(taken)} already. Choose other names with --prefix."
        )
        raise InvalidData(msg)
    return fields
