"""Fitting: the rule of the rows of a DataFrame, wherever they are.

Rows are counted once, where they are. The driver adds the diagrams, or workers exchange
them if they are too large. Spark must not cast anything: it would silently truncate 0.5
to 0.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from abers import validation
from abers.engines import counting
from abers.engines.counting import CountedFrame, FitColumns, added_up, as_diagram
from abers.engines.spark import exchange
from abers.engines.spark.frames import (
    check_unambiguous,
    collected,
    column,
    persisted,
    record_batch,
    rows_of,
    unmeasured_batches,
)
from abers.tables.columns import check_tags

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet
    from abers.engines.spark.frames import Batches
    from abers.tables.fit import Fit

    Label = str | float | bool | None

# Spark passes 10,000 rows at a time to a worker, as long as they have less than 2 GB:
# diagrams of two million rows, and parts of 50 million scores, stay below that.
COUNTED = "tally string, group string, n_scores bigint, sample binary, diagram binary"
DIAGRAMS = "group string, diagram binary"


def fit_rule(
    df: DataFrame,
    *,
    score: str,
    label: str | None = None,
    weight: str | None = None,
    count: str | None = None,
    positives: str | None = None,
    pos_label: Label = None,
    increasing: bool = True,
    n_parts: int | None = None,
) -> Rule:
    """Fit a rule to a DataFrame: equal to `abers.fit_rule`, bit for bit.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The calibration rows. They are read once.
    score : str
        Column of scores, by its exact name.
    label, weight, count, positives : str, default=None
        As for `abers.tables.fit_table`, by their exact names.
    pos_label : str or number, default=None
        As for `abers.tables.fit_table`.
    increasing : bool, default=True
        Whether a higher score means a higher probability.
    n_parts : int, default=None
        Number of parts of the distinct scores, one task each; by default, each has
        about 5 million. The rule does not depend on it.

    Returns
    -------
    Rule
        With cells if there are no weights, and without tags; `fit_table` adds these.

    Warns
    -----
    InvertedScoresWarning
        If the scores run the other way, significantly (p < 0.001); the rule is then
        nearly flat. Real weights are not tested.

    Examples
    --------
    >>> from abers.engines.spark import fit_rule
    >>> rows = [(1.0, 0), (2.0, 1), (3.0, 0)]
    >>> df = spark.createDataFrame(rows, "score double, label int")
    >>> rule = fit_rule(df, score="score", label="label")
    >>> rule.bounds([2])
    array([[0.33333333, 0.66666667]])
    """
    columns = FitColumns.of(
        score=score,
        label=label,
        pos_label=pos_label,
        weight=weight,
        count=count,
        positives=positives,
    )
    fit = _fit(df, columns, n_parts=n_parts, increasing=increasing)
    return cast("Rule", fit.rule)


def fit_rules(
    df: DataFrame,
    *,
    score: str,
    label: str,
    by: str,
    pos_label: Label = None,
    weight: str | None = None,
    minimum: int = 30,
    increasing: bool = True,
) -> RuleSet:
    """Fit a rule to each group of rows: equal to `abers.fit_rules`.

    The driver holds the counts of all groups during the fit: about 10 bytes for each
    distinct score of each group, and at most 100 million scores.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The calibration rows. They are read once.
    score, label, by : str
        Columns of scores, labels and groups.
    pos_label : str or number, default=None
        As for `abers.tables.fit_table`.
    weight : str, default=None
        Column of weights.
    minimum : int, default=30
        Smallest number of negatives and of positives for a group's own rule.
    increasing : bool, default=True
        Whether a higher score means a higher probability.

    Returns
    -------
    RuleSet
        Without tags.

    Warns
    -----
    InvertedScoresWarning
        If scores run the other way, in all groups together or in some.

    Examples
    --------
    >>> from abers.engines.spark import fit_rules
    >>> rows = [(float(n), n % 2, "ab"[n % 4 > 1]) for n in range(400)]
    >>> df = spark.createDataFrame(rows, "score double, label int, shop string")
    >>> fit_rules(df, score="score", label="label", by="shop")
    RuleSet(2 groups, 2 with a rule of their own, 400 rows, 200 positive)
    """
    columns = FitColumns.of(
        score=score, label=label, pos_label=pos_label, weight=weight, by=by
    )
    fit = _fit(df, columns, minimum=minimum, increasing=increasing)
    return cast("RuleSet", fit.rule)


def fit_table(
    df: DataFrame,
    *,
    score: str,
    label: str | None = None,
    by: str | None = None,
    weight: str | None = None,
    count: str | None = None,
    positives: str | None = None,
    pos_label: Label = None,
    minimum: int = 30,
    increasing: bool = True,
    n_parts: int | None = None,
    drop_missing: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> Fit:
    """Fit a rule, or one for each group, and return facts about the fit.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The calibration rows. They are read once.
    score : str
        Column of scores.
    label, by, weight, count, positives : str, default=None
        As for `abers.tables.fit_table`; columns by their exact names.
    pos_label : str or number, default=None
        As there.
    minimum : int, default=30
        As there.
    increasing : bool, default=True
        As there.
    n_parts : int, default=None
        As for `fit_rule`; groups are not cut.
    drop_missing : bool, default=False
        As for `abers.tables.fit_table`.
    metadata : mapping, default=None
        As there.

    Returns
    -------
    Fit
        As from `abers.tables.fit_table`; its `save` includes the tags that `abers
        predict` and `abers check` need. With more than 2**53 (negative, positive)
        pairs, the AUC may differ by 1e-12 from that of a fit in memory.

    Warns
    -----
    InvertedScoresWarning
        As in `fit_rule` and `fit_rules`.

    Examples
    --------
    >>> from abers.engines.spark import fit_table
    >>> rows = [(1.0, 0), (2.0, 1), (3.0, 0), (None, 1)]
    >>> df = spark.createDataFrame(rows, "score double, label int")
    >>> fit = fit_table(df, score="score", label="label", drop_missing=True)
    >>> fit.n_rows, fit.n_missing, fit.rule.n_positives
    (4, 1, 1)
    """
    columns = FitColumns.of(
        score=score,
        label=label,
        pos_label=pos_label,
        weight=weight,
        count=count,
        positives=positives,
        by=by,
        drop_missing=drop_missing,
        fingerprinted=True,
    )
    return _fit(
        df,
        columns,
        n_parts=n_parts,
        minimum=minimum,
        increasing=increasing,
        metadata=metadata,
    )


def _fit(
    df: DataFrame,
    columns: FitColumns,
    *,
    increasing: bool,
    n_parts: int | None = None,
    minimum: int = 30,
    metadata: Mapping[str, Any] | None = None,
) -> Fit:
    """Fit a rule, or a rule to each group."""
    increasing = validation.as_flag(increasing, "increasing")
    minimum = validation.as_count(minimum, "minimum")
    if n_parts is not None:
        exchange.as_n_parts(n_parts)
    check_tags(metadata)
    columns.check(df.columns)
    check_unambiguous(df, columns.names)
    with _counted(df, columns) as (counted, frame):
        is_small = frame.tally.n_scores <= counting.ADDED_SCORES
        if columns.by is None and (n_parts is not None or not is_small):
            rule, auc = exchange.fit_parts(
                counted, frame, n_parts, increasing=increasing
            )
            return frame.fit(rule, auc, increasing=increasing, metadata=metadata)
        if is_small:
            diagrams = _fetched(counted, frame)
        else:
            diagrams = exchange.merged_groups(counted, frame)
    return frame.fit_diagrams(
        diagrams, minimum=minimum, increasing=increasing, metadata=metadata
    )


@contextmanager
def _counted(
    df: DataFrame, columns: FitColumns
) -> Iterator[tuple[DataFrame, CountedFrame]]:
    """Count all rows where they are; return the diagrams and the tally."""
    # A name with a dot would be misread on the way to the workers.
    plain = [column(name).alias(f"c{i}") for i, name in enumerate(columns.names)]
    rows = df.select(*plain)
    with persisted(rows.mapInArrow(counting_rows(columns), COUNTED)) as counted:
        with unmeasured_batches(rows):
            tallies = collected(counted.where("tally IS NOT NULL").select("tally"))
        frame = CountedFrame.of((tally for (tally,) in tallies), columns)
        yield counted.where("tally IS NULL"), frame


def _fetched(counted: DataFrame, frame: CountedFrame) -> dict[str | None, Any]:
    """Fetch all diagrams, and add them on the driver."""
    diagrams = counted.select("group", "diagram")
    if frame.scale:
        diagrams = diagrams.mapInArrow(scaling(frame.scale), DIAGRAMS)
    fetched = collected(diagrams)
    frame.check_same(counting.checksums(message for _, message in fetched))
    return added_up(fetched)


def counting_rows(columns: FitColumns) -> Any:
    """Return a worker's function that counts rows."""

    def count(batches: Batches) -> Iterator[pa.RecordBatch]:
        named = (batch.rename_columns(columns.names) for batch in batches)
        for rows in counting.count(named, columns):
            yield record_batch(rows, COUNTED)

    return count


def scaling(scale: int) -> Any:
    """Return a worker's function that counts rows once their scale is known."""

    def scaled(batches: Batches) -> Iterator[pa.RecordBatch]:
        for group, message in rows_of(batches):
            yield record_batch([(group, as_diagram(message, scale))], DIAGRAMS)

    return scaled
