"""Fitting: the rule of the rows of a DataFrame, wherever they are.

Rows are counted where they are, once; the counts are exchanged between workers, cut at
splitters that the driver chooses once (`repartitionByRange` would choose anew for each
job); summaries and pieces of the rule come to the driver. Nothing is cast by Spark,
which would make 0 of 0.5 without a word.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from abers import validation
from abers.spark.frames import (
    check_unambiguous,
    collected,
    column,
    persisted,
    unmeasured_batches,
)
from abers.tables import frame_rows, parts
from abers.tables.fit import check_tags
from abers.tables.frame_rows import FitColumns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql import DataFrame

    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet
    from abers.tables.fit import Fit
    from abers.tables.parts import Judged
    from abers.validation import FloatArray

    Batches = Iterable[pa.RecordBatch]
    Label = str | float | bool | None

# Spark hands 10,000 rows at a time to a worker, or as many as have less than 2 GB:
# diagrams of two million rows, and parts of 50 million scores, stay below that.
COUNTED = "head binary, group string, diagram binary"
SHARES = "part int, share binary"
HELD = "part int, report binary, diagram binary"
GROUPED = "group string, n_scores bigint, diagram binary"


def fit_rule(
    df: DataFrame,
    *,
    score: str,
    label: str | None = None,
    positive: Label = None,
    weight: str | None = None,
    increasing: bool = True,
    n_parts: int | None = None,
    count: str | None = None,
    positives: str | None = None,
) -> Rule:
    """Fit a rule to a DataFrame: to the last bit what `abers.fit_rule` gives.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Rows to calibrate with. They are read once.
    score : str
        Column of scores, by its exact name.
    label : str, default=None
        Column of labels: 0 and 1, or true and false.
    positive : str or number, default=None
        The positive label, if labels are two others.
    weight : str, default=None
        Column of weights.
    increasing : bool, default=True
        Whether a higher score means a higher probability.
    n_parts : int, default=None
        Parts to cut the distinct scores into, each for one task; by default so many
        that each has about 5 million. The rule does not depend on it.
    count, positives : str, default=None
        Columns of a frame that is counted already: rows at each score, and how many of
        them are positive. They stand instead of label and weight.

    Returns
    -------
    Rule
        With its cells if there are no weights, and without tags; `fit_table` has those.

    Warns
    -----
    InvertedScoresWarning
        If the scores run the other way, significantly (p < 0.001); the rule is then
        nearly flat. Weights that are not all whole are not tested.

    Examples
    --------
    >>> from abers.spark import fit_rule
    >>> rows = [(1.0, 0), (2.0, 1), (3.0, 0)]
    >>> df = spark.createDataFrame(rows, "score double, label int")
    >>> rule = fit_rule(df, score="score", label="label")
    >>> rule.bounds([2])
    array([[0.33333333, 0.66666667]])
    """
    columns = FitColumns.of(
        score=score,
        label=label,
        positive=positive,
        weight=weight,
        count=count,
        positives=positives,
    )
    rule, auc, judged = _fitted(df, columns, n_parts=n_parts, increasing=increasing)
    parts.warn_of_inverted(rule, auc, judged)
    return rule


def fit_rules(
    df: DataFrame,
    *,
    score: str,
    label: str,
    by: str,
    positive: Label = None,
    weight: str | None = None,
    minimum: int = 30,
    increasing: bool = True,
) -> RuleSet:
    """Fit a rule to each group of rows: what `abers.fit_rules` gives.

    A rule set holds what its rules were fitted to, so that the driver must: about 10
    bytes for each distinct score of each group, of which there may be 100 million.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Rows to calibrate with. They are read once.
    score, label, by : str
        Columns of scores, labels and groups.
    positive : str or number, default=None
        The positive label, if labels are not 0 and 1 or true and false.
    weight : str, default=None
        Column of weights.
    minimum : int, default=30
        Least number of negatives and of positives for a rule of its own.
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
    >>> from abers.spark import fit_rules
    >>> rows = [(float(n), n % 2, "ab"[n % 4 > 1]) for n in range(400)]
    >>> df = spark.createDataFrame(rows, "score double, label int, shop string")
    >>> fit_rules(df, score="score", label="label", by="shop")
    RuleSet(2 groups, 2 with a rule of their own, 400 observations, 200 positive)
    """
    columns = FitColumns.of(
        score=score, label=label, positive=positive, weight=weight, by=by
    )
    rules, auc, judged = _grouped(df, columns, minimum=minimum, increasing=increasing)
    parts.warn_of_inverted(rules, auc, judged)
    return rules


def fit_table(
    df: DataFrame,
    *,
    score: str,
    label: str | None = None,
    by: str | None = None,
    positive: Label = None,
    weight: str | None = None,
    count: str | None = None,
    positives: str | None = None,
    minimum: int = 30,
    increasing: bool = True,
    n_parts: int | None = None,
    drop_missing: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> Fit:
    """Fit a rule, or a rule for each group, and tell what it was fitted to.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Rows to calibrate with. They are read once.
    score : str
        Column of scores.
    label : str, default=None
        Column of labels.
    by : str, default=None
        Column of groups: fit a rule to each.
    positive : str or number, default=None
        The positive label, if labels are not 0 and 1 or true and false.
    weight : str, default=None
        Column of weights.
    count, positives : str, default=None
        Columns of a frame that is counted already, instead of label and weight.
    minimum : int, default=30
        Least number of negatives and of positives that a group needs.
    increasing : bool, default=True
        Whether a higher score means a higher probability.
    n_parts : int, default=None
        As for `fit_rule`; groups are not cut.
    drop_missing : bool, default=False
        Leave out rows that lack a value; without it they are an error.
    metadata : mapping, default=None
        Tags to save with the rule.

    Returns
    -------
    Fit
        As `abers.tables.fit_table` returns it; what its `save` writes carries the tags
        that `abers predict` and `abers check` ask for. Beyond 2**53 pairs of a negative
        and a positive row, the AUC may differ by 1e-12 from that of a fit in memory.

    Warns
    -----
    InvertedScoresWarning
        As `fit_rule` and `fit_rules` warn.

    Examples
    --------
    >>> from abers.spark import fit_table
    >>> rows = [(1.0, 0), (2.0, 1), (3.0, 0), (None, 1)]
    >>> df = spark.createDataFrame(rows, "score double, label int")
    >>> fit = fit_table(df, score="score", label="label", drop_missing=True)
    >>> fit.n_rows, fit.n_missing, fit.rule.n_positives
    (4, 1, 1)
    """
    columns = FitColumns.of(
        score=score,
        label=label,
        positive=positive,
        weight=weight,
        count=count,
        positives=positives,
        by=by,
        drop_missing=validation.as_flag(drop_missing, "drop_missing"),
        fingerprinted=True,
    )
    check_tags(metadata)
    rule: Rule | RuleSet
    if by is None:
        rule, auc, judged = _fitted(df, columns, n_parts=n_parts, increasing=increasing)
    else:
        rule, auc, judged = _grouped(
            df, columns, minimum=minimum, increasing=increasing
        )
    parts.warn_of_inverted(rule, auc, judged)
    return judged.fit(rule, auc, increasing=increasing, metadata=metadata)


def _fitted(
    df: DataFrame, columns: FitColumns, *, n_parts: int | None, increasing: bool
) -> tuple[Rule, float, Judged]:
    """Fit one rule; return the AUC and what the rows are, too."""
    increasing = validation.as_flag(increasing, "increasing")
    if n_parts is not None:
        validation.as_count(n_parts, "n_parts")
    with _counted(df, columns) as (diagrams, judged):
        splitters = judged.splitters(n_parts)
        rule, auc = _fitted_from_parts(
            diagrams, judged, splitters, increasing=increasing
        )
    # How far weights scatter within a cell is not collected.
    return (
        rule if columns.weight is None else rule.with_cells(None),
        auc,
        judged,
    )


def _fitted_from_parts(
    diagrams: DataFrame, judged: Judged, splitters: FloatArray, *, increasing: bool
) -> tuple[Rule, float]:
    """Exchange counts between workers, then fit in two passes over them."""
    n_parts = splitters.size + 1
    cutting = _cutting(splitters, judged.scale)
    shares = diagrams.select("diagram").mapInArrow(cutting, SHARES)
    meeting = shares.repartitionById(n_parts, "part")
    held = meeting.mapInArrow(_merging(judged.scale, increasing=increasing), HELD)
    with persisted(held) as kept:
        told = collected(kept.select("part", "report"))
        reports = judged.reported(told, n_parts, increasing=increasing)
        asked = kept.select("part", "diagram")
        pieces = asked.mapInArrow(_piecing(reports.summaries), "piece binary")
        answers = (answer for (answer,) in collected(pieces))
        return parts.joined_rule(answers, reports), reports.auc


def _grouped(
    df: DataFrame, columns: FitColumns, *, minimum: int, increasing: bool
) -> tuple[RuleSet, float, Judged]:
    """Fit a rule to each group; return the AUC of all rows and what they are, too."""
    increasing = validation.as_flag(increasing, "increasing")
    minimum = validation.as_count(minimum, "minimum")
    with _counted(df, columns) as (diagrams, judged):
        merging = _merging_groups(judged.scale)
        merged = diagrams.repartition("group").mapInArrow(merging, GROUPED)
        with persisted(merged) as kept:
            parts.check_group_size(
                sum(n for (n,) in collected(kept.select("n_scores")))
            )
            rules, auc = parts.grouped_rules(
                collected(kept.select("group", "diagram")),
                judged,
                minimum=minimum,
                increasing=increasing,
            )
    return rules, auc, judged


@contextmanager
def _counted(df: DataFrame, columns: FitColumns) -> Iterator[tuple[DataFrame, Judged]]:
    """Count all rows where they are; give the counts, and what the rows are."""
    columns.check(df.columns)
    check_unambiguous(df, columns.names)
    # A name with a dot in it would be lost on the way to the workers.
    plain = [column(name).alias(f"c{i}") for i, name in enumerate(columns.names)]
    asked = df.select(*plain)
    with ExitStack() as kept:
        with unmeasured_batches(asked):
            rows = asked.mapInArrow(_counting(columns), COUNTED)
            counted = kept.enter_context(persisted(rows))
            told = collected(counted.where("head IS NOT NULL").select("head"))
        judged = parts.judged((head for (head,) in told), columns)
        yield counted.where("head IS NULL").select("group", "diagram"), judged


def _counting(columns: FitColumns) -> Any:
    """Return what a worker does with rows."""

    def count(batches: Batches) -> Iterator[pa.RecordBatch]:
        named = (batch.rename_columns(columns.names) for batch in batches)
        for head, diagrams in frame_rows.counted(named, columns):
            rows: list[tuple[Any, ...]] = [(None, *pair) for pair in diagrams]
            if head:
                rows.append((head, None, None))
            heads, groups, counts = zip(*rows, strict=True)
            arrays = [
                pa.array(heads, pa.binary()),
                pa.array(groups, pa.string()),
                pa.array(counts, pa.binary()),
            ]
            yield pa.record_batch(arrays, names=["head", "group", "diagram"])

    return count


def _cutting(splitters: FloatArray, scale: int) -> Any:
    """Return what a worker does with counts, before they meet in parts."""

    def cut(batches: Batches) -> Iterator[pa.RecordBatch]:
        for (diagram,) in _rows(batches):
            dealt = parts.dealt(diagram, splitters, scale)
            if not dealt:  # all weights vanish beside those of other rows
                continue
            numbers, shares = zip(*dealt, strict=True)
            arrays = [pa.array(numbers, pa.int32()), pa.array(shares, pa.binary())]
            yield pa.record_batch(arrays, names=["part", "share"])

    return cut


def _merging(scale: int, *, increasing: bool) -> Any:
    """Return what a worker does with the shares of a part."""

    def merge(batches: Batches) -> Iterator[pa.RecordBatch]:
        for number, shares in _by_key(_rows(batches)).items():
            part = parts.merged(shares)
            report = parts.summarised(part, scale, increasing=increasing)
            arrays = [
                pa.array([number], pa.int32()),
                pa.array([report], pa.binary()),
                pa.array([part], pa.binary()),
            ]
            yield pa.record_batch(arrays, names=["part", "report", "diagram"])

    return merge


def _piecing(summaries: list[bytes]) -> Any:
    """Return what a worker does with a part, once it knows of the others."""

    def piece(batches: Batches) -> Iterator[pa.RecordBatch]:
        for number, part in _rows(batches):
            answer = parts.pieced(part, number, summaries)
            yield pa.record_batch([pa.array([answer], pa.binary())], names=["piece"])

    return piece


def _merging_groups(scale: int) -> Any:
    """Return what a worker does with what was counted of whole groups."""

    def merge(batches: Batches) -> Iterator[pa.RecordBatch]:
        for group, counted in _by_key(_rows(batches)).items():
            merged = parts.merged_group(counted, scale)
            arrays = [
                pa.array([group], pa.string()),
                pa.array([parts.size_of(merged)], pa.int64()),
                pa.array([merged], pa.binary()),
            ]
            yield pa.record_batch(arrays, names=["group", "n_scores", "diagram"])

    return merge


def _rows(batches: Batches) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of small batches."""
    for batch in batches:
        yield from zip(*(each.to_pylist() for each in batch.columns), strict=True)


def _by_key(pairs: Iterable[tuple[Any, ...]]) -> dict[Any, list[bytes]]:
    found: dict[Any, list[bytes]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
