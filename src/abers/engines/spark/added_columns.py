"""Added columns: the bounds of a predictor beside the rows of a DataFrame.

There are two ways. One rule for a column of plain numbers is a table to look up, which
Spark does in Java, by its own Bucketizer: handing each row to Python and back would
cost more than writing it. Everything else goes to Python: groups, several columns of
scores, predictors other than a rule, text, numbers that doubles may not hold, rules of
many steps, sessions of Spark Connect.
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

# Columns that exist for a while:
BOUNDS, SCORE, PIECE = "__abers_bounds", "__abers_score", "__abers_piece"
PLAIN = (DoubleType, FloatType, IntegerType, ShortType, ByteType)  # all are doubles
MOST_PLANNED_STEPS = 2**14  # of a rule in a plan; of 10^9 rows there are some 16,000


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
    """Add the columns lower, upper and probability; nothing is computed yet.

    One rule is looked up by Spark itself if it has at most 16,384 steps and the score
    is a double, a float or an integer of at most 32 bits; no Python runs on workers.
    Otherwise, for groups, with `missing="error"` and behind Spark Connect, the scores
    and the group go to Python, and no other column. The bits are the same. Streaming
    DataFrames will do.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Rows to predict.
    rule : Rule, RuleSet, PooledRule, StackedRule or any calibrator of `abers.load`
        What predicts; it is sent to the workers, and has at most 50 MB.
    score : str or sequence of str, default=None
        Column of scores; the one of the fit if the rule knows it. Several for the
        scores of K models, or of C classes; of both, the C of the first model first.
    by : str, default=None
        Column of groups, for a rule set; the one of the fit.
    prefix : str, default=""
        What the names of the new columns begin with.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds are merged to one probability.
    missing : {"null", "error"}, default="null"
        What a row without a score gives: nulls, or an error when it is computed.

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
    # A search in Java tells two zeros apart; their sum is positive.
    scored = df.select(
        "*", (column(bounds.scores[0]).cast("double") + 0.0).alias(SCORE)
    )
    search = Bucketizer(
        splits=splits.tolist(), inputCol=SCORE, outputCol=PIECE, handleInvalid="keep"
    )
    # The last bucket includes infinity, which may have a piece of its own. A score that
    # is null or NaN, the largest of all to Spark, has none.
    is_last, is_other = column(SCORE) == np.inf, column(SCORE) < np.inf
    piece = F.when(is_last, pieces.size - 1).when(is_other, column(PIECE)).cast("int")
    new = [
        F.get(_array(each), piece).alias(name)
        for each, name in zip(values, bounds.names, strict=True)
    ]
    return search.transform(scored).select("*", *new).drop(SCORE, PIECE)


def _splits(thresholds: FloatArray) -> tuple[FloatArray, Any]:
    """Return the splits of a Bucketizer, and the piece of the rule in each bucket.

    Splits go from one infinity to the other, ascend, and are three at least. Beyond the
    last bucket there is one more piece, that of infinity alone.
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
    """Return an array of doubles that a plan holds once; text is quick to send."""
    return F.from_json(F.lit(json.dumps(values.tolist())), "array<double>")


def _field(place: int) -> str:
    """Return the name of a new column inside the struct that Python returns."""
    return f"c{place}"


def _bounds_function(bounds: FrameBounds) -> Any:
    """Return the function of columns; Spark reads in its types how to call it."""
    fields = [_field(i) for i in range(len(bounds.names))]

    def bounds_of(*columns: pa.Array) -> pa.Array:
        return pa.StructArray.from_arrays(bounds.arrays(*columns), fields)

    return F.arrow_udf(bounds_of, ", ".join(f"{name} double" for name in fields))
