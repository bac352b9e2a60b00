"""Added columns: a predictor's bounds for the rows of a DataFrame.

There are two ways. A single rule for a column of plain numbers is a lookup table for
Spark's own Bucketizer, in Java: passing each row to Python and back would cost more
than writing it. Everything else goes to Python: groups, several columns of scores,
other predictors, text, numbers that doubles may not hold, rules with many steps, and
sessions of Spark Connect.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (as every user of Spark calls it)
from pyspark.sql.types import ByteType, DoubleType, FloatType, IntegerType, ShortType

from abers.core.merging import MINIMAX
from abers.core.rule import Rule
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
PLAIN = (DoubleType, FloatType, IntegerType, ShortType, ByteType)  # these fit doubles
MOST_PLANNED_STEPS = 2**14  # of a rule in a plan; 10^9 rows give some 16,000


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

    Spark itself looks up a single rule if it has at most 16,384 steps and the score is
    a double, a float or an integer of at most 32 bits; then no Python runs on workers.
    Otherwise (for groups, with `missing="error"`, with Spark Connect) the scores and
    the group go to Python, and no other column. The bits are the same. Streaming
    DataFrames work, too.

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
    if isinstance(rule, Rule) and _is_plain(df, rule, bounds):
        return _looked_up(df, rule, bounds)
    struct = _bounds_function(bounds)(*map(column, bounds.columns)).alias(BOUNDS)
    new = [column(BOUNDS)[_field(i)].alias(name) for i, name in enumerate(bounds.names)]
    return df.select("*", struct).select("*", *new).drop(BOUNDS)


def _is_plain(df: DataFrame, rule: Rule, bounds: FrameBounds) -> bool:
    """Return whether Spark itself can look up the bounds of each row."""
    return (
        not type(df).__module__.startswith("pyspark.sql.connect")
        and bounds.missing == "null"
        and rule.thresholds.size <= MOST_PLANNED_STEPS
        and isinstance(df.select(column(bounds.scores[0])).schema[0].dataType, PLAIN)
    )


def _looked_up(df: DataFrame, rule: Rule, bounds: FrameBounds) -> DataFrame:
    """Add columns by a search among the thresholds, in Java."""
    from pyspark.ml.feature import Bucketizer  # slow to load

    splits, pieces = _splits(rule.thresholds)
    probability = MINIMAX[bounds.loss](rule.lower, rule.upper)
    values = [each[pieces] for each in (rule.lower, rule.upper, probability)]
    # A search in Java distinguishes -0.0 from 0.0; adding 0.0 makes it positive.
    scored = df.select(
        "*", (column(bounds.scores[0]).cast("double") + 0.0).alias(SCORE)
    )
    search = Bucketizer(
        splits=splits.tolist(), inputCol=SCORE, outputCol=PIECE, handleInvalid="keep"
    )
    # The last bucket includes infinity, which may have its own piece. A null score has
    # none, and neither has NaN, which Spark orders above all numbers.
    is_last, is_other = column(SCORE) == np.inf, column(SCORE) < np.inf
    piece = F.when(is_last, pieces.size - 1).when(is_other, column(PIECE)).cast("int")
    new = [
        F.get(_array(each), piece).alias(name)
        for each, name in zip(values, bounds.names, strict=True)
    ]
    return search.transform(scored).select("*", *new).drop(SCORE, PIECE)


def _splits(thresholds: FloatArray) -> tuple[FloatArray, Any]:
    """Return the splits of a Bucketizer, and the piece of the rule in each bucket.

    Splits ascend from -infinity to infinity, and there are at least three. After the
    last bucket comes one more piece, for infinity alone.
    """
    inner = thresholds[np.isfinite(thresholds)]
    first = int(np.searchsorted(thresholds, -np.inf, side="right"))
    pieces = first + np.arange(inner.size + 1)
    if not inner.size:
        inner, pieces = np.zeros(1), np.repeat(pieces, 2)
    return (
        np.concatenate(([-np.inf], inner, [np.inf])),
        np.append(pieces, thresholds.size),
    )


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
