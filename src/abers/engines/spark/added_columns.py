"""Added columns: a predictor's bounds for the rows of a DataFrame.

There are two ways. Rules for a column of plain numbers are one lookup table for Spark's
own Bucketizer, in Java: passing each row to Python and back would cost more than
writing it. Everything else goes to Python: several columns of scores, other predictors,
text as scores, numbers that doubles may not hold, rules with many steps or groups, and
sessions of Spark Connect.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (as every user of Spark calls it)
from pyspark.sql.types import (
    ByteType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
)

from abers.core.merging import MINIMAX
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.engines.bounds import frame_bounds
from abers.engines.spark.frames import check_unambiguous, column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from abers.choices import LossName, OnMissing
    from abers.engines.bounds import FrameBounds
    from abers.validation import FloatArray

# Temporary columns:
BOUNDS, SCORE, PIECE = "__abers_bounds", "__abers_score", "__abers_piece"
INTEGERS = (IntegerType, ShortType, ByteType)
PLAIN = (DoubleType, FloatType, *INTEGERS)  # these fit doubles
MOST_PLANNED_STEPS = 2**14  # of a rule in a plan; 10^9 rows give some 16,000
MOST_PLANNED_GROUPS = 100  # Spark compares the group of a row with each of them


def add_bounds(
    df: DataFrame,
    rule: Any,
    *,
    score: str | Sequence[str] | None = None,
    by: str | None = None,
    prefix: str = "",
    loss: LossName = "log",
    missing: OnMissing = "null",
) -> DataFrame:
    """Add the columns lower, upper and probability, lazily.

    Spark itself looks up rules if the score is a double, a float or an integer of at
    most 32 bits, and groups are text or integers, as in the fit; then no Python runs on
    workers. One rule may have 16,384 steps; rules for up to 100 groups, as many values
    in their common table. Otherwise, with `missing="error"` and with Spark Connect, the
    scores and the group go to Python, and no other column. The bits are the same.
    Streaming DataFrames work, too.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Rows to predict.
    rule : Rule, RuleSet, PooledRule, StackedRule or any calibrator of `abers.load`
        The predictor; it is sent to the workers, and may have up to 50 MB.
    score : str or sequence of str, default=None
        Column of scores; by default the one of the fit. Several columns for K models or
        C classes; for both, the C columns of the first model come first.
    by : str, default=None
        Column of groups, for a rule set; the one of the fit.
    prefix : str, default=""
        Prefix of the names of the new columns.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds are merged into one probability.
    missing : {"null", "error"}, default="null"
        What a row without a score gets: nulls, or an error when it is computed.

    Returns
    -------
    pyspark.sql.DataFrame
        All columns of `df`, then the new ones; with more than two classes, three for
        each, such as lower_0. A score that is not a number is an error when it is
        computed.

    Examples
    --------
    >>> import abers
    >>> from abers.engines.spark import add_bounds
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> new = spark.createDataFrame([(2.0,), (None,)], "score double")
    >>> add_bounds(new, rule, score="score").select("score", "lower").collect()
    [Row(score=2.0, lower=0.3333333333333333), Row(score=None, lower=None)]
    """
    bounds = frame_bounds(
        rule,
        df.columns,
        score=score,
        by=by,
        prefix=prefix,
        loss=loss,
        missing=missing,
    )
    check_unambiguous(df, bounds.columns)
    if _is_plain(df, bounds):
        edges, rules = _edges(bounds.predictor), _rules(bounds.predictor)
        if edges.size * len(rules) <= MOST_PLANNED_STEPS:
            return _looked_up(df, bounds, edges, rules)
    struct = _bounds_function(bounds)(*map(column, bounds.columns)).alias(BOUNDS)
    new = [column(BOUNDS)[_field(i)].alias(name) for i, name in enumerate(bounds.names)]
    return df.select("*", struct).select("*", *new).drop(BOUNDS)


def _is_plain(df: DataFrame, bounds: FrameBounds) -> bool:
    """Return whether Spark itself can look up the bounds of each row."""
    is_connect = type(df).__module__.startswith("pyspark.sql.connect")
    if is_connect or bounds.missing == "error":
        return False
    fields = df.select(*map(column, bounds.columns)).schema
    score, *groups = (field.dataType for field in fields)
    if not isinstance(score, PLAIN):
        return False
    if isinstance(bounds.predictor, RuleSet):
        return _are_plain_groups(bounds.predictor, groups[0])
    return isinstance(bounds.predictor, Rule)


def _are_plain_groups(rules: RuleSet, kind: Any) -> bool:
    """Return whether Spark's equality of groups is ours."""
    if len(rules) > MOST_PLANNED_GROUPS:
        return False
    if all(type(group) is int and abs(group) < 2**63 for group in rules):
        return isinstance(kind, (*INTEGERS, LongType))
    return all(type(group) is str for group in rules) and kind == StringType()


def _rules(predictor: Rule | RuleSet) -> list[Rule]:
    """Return the rule of rows without a known group, then that of each group."""
    if isinstance(predictor, Rule):
        return [predictor]
    return [predictor.pooled, *(predictor[group] for group in predictor)]


def _edges(predictor: Rule | RuleSet) -> FloatArray:
    """Return where any rule changes, from -infinity to infinity; at least three."""
    thresholds = [rule.thresholds for rule in _rules(predictor)]
    inner = np.unique(np.concatenate(thresholds))
    inner = inner[np.isfinite(inner)]
    return np.concatenate(([-np.inf], inner if inner.size else [0.0], [np.inf]))


def _looked_up(
    df: DataFrame, bounds: FrameBounds, edges: FloatArray, rules: Sequence[Rule]
) -> DataFrame:
    """Add columns by a search among the edges, in Java."""
    from pyspark.ml.feature import Bucketizer  # slow to load

    # Between two edges, the bounds are those at the left one; those at infinity are for
    # infinity alone.
    at_edges = np.concatenate([rule.bounds(edges) for rule in rules])
    probability = MINIMAX[bounds.loss](*at_edges.T)
    # A search in Java distinguishes -0.0 from 0.0; adding 0.0 makes it positive.
    scored = df.select(
        "*", (column(bounds.scores[0]).cast("double") + 0.0).alias(SCORE)
    )
    search = Bucketizer(
        splits=edges.tolist(), inputCol=SCORE, outputCol=PIECE, handleInvalid="keep"
    )
    # The last bucket includes infinity. A null score has none, and neither has NaN,
    # which Spark orders above all numbers.
    is_last, is_other = column(SCORE) == np.inf, column(SCORE) < np.inf
    piece = F.when(is_last, edges.size - 1).when(is_other, column(PIECE)).cast("int")
    if bounds.by is not None:
        piece += edges.size * _number_of_group(bounds.predictor, column(bounds.by))
    new = [
        F.get(_array(each), piece).alias(name)
        for each, name in zip((*at_edges.T, probability), bounds.names, strict=True)
    ]
    return search.transform(scored).select("*", *new).drop(SCORE, PIECE)


def _number_of_group(rules: RuleSet, group: Column) -> Column:
    """Return the place of a row's group from 1, or 0 if it is unknown or missing."""
    # An empty text is a missing group.
    names = F.array(*(F.lit(None if name == "" else name) for name in rules))
    return F.coalesce(F.array_position(names, group), F.lit(0)).cast("int")


def _array(values: FloatArray) -> Column:
    """Return an array of doubles as one constant of a plan; text is quick to send."""
    return F.from_json(F.lit(json.dumps(values.tolist())), "array<double>")


def _field(place: int) -> str:
    """Return the name of a new column within the struct that Python returns."""
    return f"c{place}"


def _bounds_function(bounds: FrameBounds) -> Any:
    """Return the function of columns; its type hints tell Spark how to call it."""
    fields = [_field(i) for i in range(len(bounds.names))]

    def bounds_of(*columns: pa.Array) -> pa.Array:
        return pa.StructArray.from_arrays(bounds.arrays(*columns), fields)

    return F.arrow_udf(bounds_of, ", ".join(f"{name} double" for name in fields))
