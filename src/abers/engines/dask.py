"""Dask: rules from the rows of a Dask frame, and their bounds, wherever the rows are.

`fit_rule`, `fit_rules` and `fit_table` run immediately, on the current scheduler:
threads, processes or a cluster. They return what a fit in memory gives for the same
rows, bit for bit. `add_bounds` is lazy, like the frame.

The rows are read once and stay where they are. Workers count each partition in a
diagram, a few bytes per distinct score; the driver adds the diagrams and fits the rule.
`abers.engines.counting` describes the steps in between.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.metadata import version
from operator import itemgetter
from typing import TYPE_CHECKING, Any, cast

from abers import errors, validation
from abers.errors import (
    AbersError,
    InvalidData,
    InvalidParameter,
    InvalidType,
    MissingExtra,
)

errors.need("pyarrow", extra="dask", what="abers.engines.dask")

import numpy as np  # noqa: E402 (says first what to install)
import pyarrow as pa  # noqa: E402

from abers.engines import counting  # noqa: E402
from abers.engines.bounds import frame_bounds  # noqa: E402
from abers.engines.counting import (  # noqa: E402
    FRAME,
    CountedFrame,
    FitColumns,
    Tally,
    added_up,
    as_diagram,
)
from abers.tables.columns import check_tags, filled  # noqa: E402
from abers.tables.files import listed  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from abers.choices import LossName, OnMissing
    from abers.core.diagram import Diagram
    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet
    from abers.engines.bounds import FrameBounds
    from abers.engines.counting import Group
    from abers.tables.fit import Fit

    Messages = list[tuple[Group, bytes]]  # diagrams, each with its group

__all__ = ["add_bounds", "fit_rule", "fit_rules", "fit_table"]

BATCH_ROWS = 2**18  # of a partition, as Arrow batches
KINDS_SHOWN = 3


def fit_rule(
    df: Any,
    *,
    score: str,
    label: str | None = None,
    weight: str | None = None,
    count: str | None = None,
    positives: str | None = None,
    pos_label: object = None,
    increasing: bool = True,
) -> Rule:
    """Fit a rule to the rows of a Dask frame.

    Parameters
    ----------
    df : dask.dataframe.DataFrame
        The calibration rows. The named columns are read once.
    score : str
        Column of scores.
    label, weight, count, positives : str, default=None
        As for `abers.engines.spark.fit_rule`.
    pos_label : object, default=None
        As there.
    increasing : bool, default=True
        As there.

    Returns
    -------
    Rule
        Equal to `abers.fit_rule` of these rows, bit for bit. It is fitted in this
        process, to up to 20 million distinct scores.

    Warns
    -----
    InvertedScoresWarning
        As there.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from abers.engines.dask import fit_rule
    >>> rows = pd.DataFrame({"score": [1, 2, 3], "label": [0, 1, 0]})
    >>> df = dd.from_pandas(rows, npartitions=2)
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
    return cast("Rule", _fit(df, columns, increasing=increasing).rule)


def fit_rules(
    df: Any,
    *,
    score: str,
    label: str,
    by: str,
    pos_label: object = None,
    weight: str | None = None,
    minimum: int = 30,
    increasing: bool = True,
) -> RuleSet:
    """Fit a rule to each group of the rows of a Dask frame.

    Parameters
    ----------
    df : dask.dataframe.DataFrame
        The calibration rows. The named columns are read once.
    score, label, by : str
        As for `abers.engines.spark.fit_rules`.
    pos_label : object, default=None
        As there.
    weight : str, default=None
        As there.
    minimum : int, default=30
        As there.
    increasing : bool, default=True
        As there.

    Returns
    -------
    RuleSet
        Equal to `abers.fit_rules` of these rows.

    Warns
    -----
    InvertedScoresWarning
        As there.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from abers.engines.dask import fit_rules
    >>> rows = {"score": [1, 2, 1], "label": [0, 1, 1], "kind": ["shop", "shop", "web"]}
    >>> df = dd.from_pandas(pd.DataFrame(rows), npartitions=2)
    >>> rules = fit_rules(
    ...     df, score="score", label="label", by="kind", minimum=1
    ... )
    >>> list(rules), list(rules.rules)
    (['shop', 'web'], ['shop'])
    """
    columns = FitColumns.of(
        score=score, label=label, pos_label=pos_label, weight=weight, by=by
    )
    fit = _fit(df, columns, minimum=minimum, increasing=increasing)
    return cast("RuleSet", fit.rule)


def fit_table(
    df: Any,
    *,
    score: str,
    label: str | None = None,
    by: str | None = None,
    weight: str | None = None,
    count: str | None = None,
    positives: str | None = None,
    pos_label: object = None,
    minimum: int = 30,
    increasing: bool = True,
    drop_missing: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> Fit:
    """Fit a rule, or one for each group, and return facts about the fit.

    Parameters
    ----------
    df : dask.dataframe.DataFrame
        The calibration rows. The named columns are read once.
    score : str
        Column of scores.
    label, by, weight, count, positives : str, default=None
        As for `abers.tables.fit_table`; columns by their exact names.
    pos_label : object, default=None
        As there.
    minimum : int, default=30
        As there.
    increasing : bool, default=True
        As there.
    drop_missing : bool, default=False
        As there.
    metadata : mapping, default=None
        As there.

    Returns
    -------
    Fit
        The rule, with facts about its fit; `save` writes it with the names of the
        columns and a fingerprint of the rows, for `abers predict` and `abers check`.

    Warns
    -----
    InvertedScoresWarning
        As in `fit_rule` and `fit_rules`.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> from abers.engines.dask import fit_table
    >>> rows = pd.DataFrame({"score": [1, 2, 3], "rows": [2, 1, 1], "ones": [0, 1, 0]})
    >>> df = dd.from_pandas(rows, npartitions=2)
    >>> fit = fit_table(df, score="score", count="rows", positives="ones")
    >>> fit.n_rows, fit.total_weight, fit.n_positives
    (3, 4, 1)
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
    return _fit(df, columns, minimum=minimum, increasing=increasing, metadata=metadata)


def add_bounds(
    df: Any,
    rule: Any,
    *,
    score: str | Sequence[str] | None = None,
    by: str | None = None,
    prefix: str = "",
    loss: LossName = "log",
    missing: OnMissing = "null",
) -> Any:
    """Add the bounds and the probability of each row to a Dask frame, lazily.

    Parameters
    ----------
    df : dask.dataframe.DataFrame
        The rows. All columns are read, so first select those to keep.
    rule : Rule, RuleSet, PooledRule, StackedRule or any calibrator of `abers.load`
        The predictor; a rule is sent to the workers without its calibration rows.
    score : str or sequence of str, default=None
        Column of scores; None is the one of `fit_table`. Several columns for K models
        or C classes; for both, the C columns of the first model come first.
    by : str, default=None
        Column of groups, for a rule set; None is the one of `fit_table`.
    prefix : str, default=""
        Prefix of the names of the new columns: lower, upper, probability; with more
        than two classes, three for each, such as lower_0.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged into one probability.
    missing : {"null", "error"}, default="null"
        What rows without a score get: NaN, or an error when the frame is computed.

    Returns
    -------
    dask.dataframe.DataFrame
        The frame with the new columns; its rows, partitions and index are the same.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> import abers
    >>> from abers.engines.dask import add_bounds
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> df = dd.from_pandas(pd.DataFrame({"score": [2.0, None]}), npartitions=1)
    >>> add_bounds(df, rule, score="score").compute()
       score     lower     upper  probability
    0    2.0  0.333333  0.666667          0.5
    1    NaN       NaN       NaN          NaN
    """
    dask = _dask()
    _check_frame(df)
    bounds = frame_bounds(
        rule,
        _names(df),
        score=score,
        by=by,
        prefix=prefix,
        loss=loss,
        missing=missing,
    )
    # Delayed, so that the rule travels once to each worker, not with each partition.
    # Whole partitions, not only the columns: Dask may partition columns differently
    # from the rest of a file, and bounds would be added to the wrong rows.
    sent = dask.delayed(bounds, traverse=False)
    meta = _with_bounds(df._meta, bounds)  # noqa: SLF001 (as Dask has it for its users)
    return df.map_partitions(_with_bounds, sent, meta=meta)


def _dask() -> Any:
    """Return the module `dask`; if it is missing, say what to install."""
    errors.need("dask", "pandas", extra="dask", what="abers.engines.dask")
    import dask

    return dask


def _check_frame(df: Any) -> None:
    import dask.dataframe as dd

    if not isinstance(df, dd.DataFrame):
        msg = f"df must be a dask.dataframe.DataFrame; got a {type(df).__name__}."
        raise InvalidType(msg)


def _names(df: Any) -> list[str]:
    """Return the names of columns, which may be numbers in Dask."""
    return [name for name in df.columns if isinstance(name, str)]


def _fit(
    df: Any,
    columns: FitColumns,
    *,
    increasing: bool,
    minimum: int = 30,
    metadata: Mapping[str, Any] | None = None,
) -> Fit:
    """Fit a rule, or a rule to each group."""
    dask = _dask()
    _check_frame(df)
    check_tags(metadata)
    columns.check(_names(df))
    increasing = validation.as_flag(increasing, "increasing")
    minimum = validation.as_count(minimum, "minimum")
    partitions = df[columns.names].to_delayed()
    sent = dask.delayed(columns, traverse=False)  # travels once to each worker
    counted: list[Any] = []
    with _keeping(counted):
        counted += dask.persist(
            *_tasks(_counted, [(each, sent) for each in partitions])
        )
        tallies = dask.compute(*_tasks(itemgetter(0), [(each,) for each in counted]))
        frame = CountedFrame.of(tallies, columns)
        diagrams = _added_up(counted, tallies, frame)
    return frame.fit_diagrams(
        diagrams, minimum=minimum, increasing=increasing, metadata=metadata
    )


def _added_up(
    counted: list[Any], tallies: Iterable[str], frame: CountedFrame
) -> dict[Group, Diagram]:
    """Fetch the diagrams of some partitions at a time, and add them."""
    total: dict[Group, Diagram] = {}
    checksums = 0
    sizes = [Tally.from_text(each).n_scores for each in tallies]
    for bundle in _bundles(counted, sizes):
        fetching = _tasks(_diagrams, [(each, frame.scale) for each in bundle])
        fetched = _dask().compute(*fetching)
        messages = [pair for partition in fetched for pair in partition]
        checksums += counting.checksums(message for _, message in messages)
        for group, diagram in added_up(messages).items():
            total[group] = diagram + total[group] if group in total else diagram
        n_scores = sum(each.scores.size for each in total.values())
        if n_scores > counting.ADDED_SCORES:
            msg = (
                f"{FRAME} must have at most {counting.ADDED_SCORES:,} distinct scores "
                "to be fitted with Dask, because one process adds them up; got "
                f"{n_scores:,} or more. Round the scores, fit with `abers fit` on "
                "files, or use Spark."
            )
            raise InvalidParameter(msg)
    frame.check_same(checksums)
    return total


def _bundles(counted: list[Any], sizes: Iterable[int]) -> Iterator[list[Any]]:
    """Group partitions that together have no more scores than the driver can add."""
    bundle: list[Any] = []
    n_scores = 0
    for partition, size in zip(counted, sizes, strict=True):
        if bundle and n_scores + size > counting.ADDED_SCORES:
            yield bundle
            bundle, n_scores = [], 0
        bundle.append(partition)
        n_scores += size
    yield bundle


def _tasks(function: Any, arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
    call = _dask().delayed(function, pure=False)
    return [call(*each) for each in arguments]


@contextmanager
def _keeping(counted: list[Any]) -> Iterator[None]:
    """Release at the end what is kept on workers; raise their first failure.

    Tasks that waited for the one that failed were only cancelled.
    """
    try:
        yield
    except Exception as error:
        failed = [each for each in _futures(counted) if each.status == "error"]
        first = failed[0].exception() if failed else error
        if _lacks_abers(first):
            msg = (
                f"workers must have the abers of the driver, {version('abers')}; "
                "they have none. Install it on the scheduler and on all workers."
            )
            raise MissingExtra(msg) from first
        if first is error:
            raise
        raise first from first.__cause__
    finally:
        # Not left to the garbage collector: a traceback would keep them on the cluster.
        for future in _futures(counted):
            future.release()
        counted.clear()


def _futures(counted: list[Any]) -> list[Any]:
    """Return the futures on a cluster; other schedulers have none."""
    distributed = sys.modules.get("distributed")
    return distributed.futures_of(counted) if distributed else []


def _lacks_abers(error: BaseException | None) -> bool:
    """Return whether the cause of a failure is that a worker cannot import abers."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError):
            return str(error.name).split(".")[0] == "abers"
        error = error.__cause__ or error.__context__
    return False


# Functions that run on workers.


def _counted(frame: Any, columns: FitColumns) -> tuple[str, Messages]:
    """Return the tally of a partition, and its diagrams."""
    try:
        batches = _batches(frame, columns.names)
        rows = [each for some in counting.count(batches, columns) for each in some]
    except AbersError as error:  # raised again on the driver, where it can be read
        refusal = [type(error).__name__, str(error)]
        return Tally(n_rows=len(frame), refusals=[refusal]).to_text(), []
    *diagrams, last = rows
    return str(last.tally), [(each.group, each.diagram or b"") for each in diagrams]


def _diagrams(counted: tuple[str, Messages], scale: int) -> Messages:
    """Return the diagrams of a partition, given the scale of weights."""
    return [(group, as_diagram(message, scale)) for group, message in counted[1]]


def _with_bounds(frame: Any, bounds: FrameBounds) -> Any:
    """Return a partition with lower, upper and probability as new columns."""
    arrays = bounds.arrays(*(_arrow(frame[name]) for name in bounds.columns))
    new = (filled(array, np.nan) for array in arrays)
    return frame.assign(**dict(zip(bounds.names, new, strict=True)))


def _batches(frame: Any, names: list[str]) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(frame), BATCH_ROWS):
        rows = frame.iloc[start : start + BATCH_ROWS]
        yield pa.record_batch([_arrow(rows[name]) for name in names], names=names)


def _arrow(column: Any) -> pa.Array:
    """Return a pandas column as Arrow, with NaN as null."""
    try:
        values = pa.array(column, from_pandas=True)
    except pa.ArrowException as cause:
        kinds = sorted({type(value).__name__ for value in column.dropna()})
        msg = (
            f"column {column.name!r} must hold values of one kind; {FRAME} has "
            f"{listed(kinds[:KINDS_SHOWN])} in it. Convert it first."
        )
        raise InvalidData(msg) from cause
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values
