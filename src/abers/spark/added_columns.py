"""Added columns: the bounds of a rule beside the rows of a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.functions import arrow_udf

from abers.spark.frames import check_unambiguous, column
from abers.tables.frame_bounds import frame_bounds
from abers.tables.predict import ADDED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet
    from abers.tables.frame_bounds import FrameBounds

ANSWER = "__abers_answer"  # while it is taken apart
STRUCT = ", ".join(f"{name} double" for name in ADDED)


def add_bounds(
    df: DataFrame,
    rule: Rule | RuleSet,
    *,
    score: str | None = None,
    by: str | None = None,
    prefix: str = "",
    loss: str = "log",
    missing: str = "null",
) -> DataFrame:
    """Add the columns lower, upper and probability; nothing is computed yet.

    Only the score, and the group, go to Python. Streaming DataFrames will do.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        Rows to predict.
    rule : Rule or RuleSet
        What predicts; it is sent to the workers, and has at most 50 MB.
    score : str, default=None
        Column of scores; the one of the fit if the rule knows it.
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
        All columns of `df`, then the new ones. A score that is no number is an error
        when it is computed.

    Examples
    --------
    >>> import abers
    >>> from abers.spark import add_bounds
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> new = spark.createDataFrame([(2.0,), (None,)], "score double")
    >>> add_bounds(new, rule, score="score").select("score", "lower").collect()
    [Row(score=2.0, lower=0.3333333333333333), Row(score=None, lower=None)]
    """
    asked = frame_bounds(
        rule,
        df.columns,
        score=score,
        by=by,
        prefix=prefix,
        loss=loss,
        missing=missing,
    )
    check_unambiguous(df, asked.columns)
    answer = _answering(asked)(*map(column, asked.columns)).alias(ANSWER)
    new = [
        column(ANSWER)[field].alias(name)
        for field, name in zip(ADDED, asked.names, strict=True)
    ]
    return df.select("*", answer).select("*", *new).drop(ANSWER)


def _answering(asked: FrameBounds) -> Any:
    """Return the function of columns; Spark reads in its types how to call it."""
    if asked.by is None:

        def of_scores(scores: pa.Array) -> pa.Array:
            return pa.StructArray.from_arrays(asked.answers(scores), ADDED)

        return arrow_udf(of_scores, STRUCT)

    def of_groups(scores: pa.Array, groups: pa.Array) -> pa.Array:
        return pa.StructArray.from_arrays(asked.answers(scores, groups), ADDED)

    return arrow_udf(of_groups, STRUCT)
