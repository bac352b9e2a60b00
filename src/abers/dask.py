"""Dask: rules of the rows of a Dask frame, and their bounds, wherever the rows are.

`fit_rule`, `fit_rules` and `fit_table` run at once, on the scheduler that is current:
threads, processes or a cluster. They give what a fit in memory gives for the same rows,
to the last bit. `add_bounds` is lazy, as the frame is.

The rows are read once and stay where they are. Each partition is counted, a few bytes
for each distinct score; the counts are cut by score, and meet in parts; each part
yields its piece of the rule. `abers.tables.parts` says what happens in between.
"""

from __future__ import annotations

import sys
import zlib
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

from abers import errors, validation
from abers.errors import AbersError, InvalidTable, InvalidType, MissingExtra

errors.need("pyarrow", extra="dask", what="abers.dask")

import numpy as np  # noqa: E402 (says first what to install)
import pyarrow as pa  # noqa: E402

from abers.core.diagram import NOTHING  # noqa: E402
from abers.core.messages import to_bytes  # noqa: E402
from abers.tables import frame_rows, parts  # noqa: E402
from abers.tables.columns import filled  # noqa: E402
from abers.tables.files import listed  # noqa: E402
from abers.tables.fit import check_tags  # noqa: E402
from abers.tables.frame_bounds import frame_bounds  # noqa: E402
from abers.tables.frame_rows import FRAME, FitColumns  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet
    from abers.tables.fit import Fit
    from abers.tables.frame_bounds import FrameBounds
    from abers.tables.parts import Judged
    from abers.validation import FloatArray

    Diagrams = list[tuple[str | None, bytes]]

__all__ = ["add_bounds", "fit_rule", "fit_rules", "fit_table"]

BATCH_ROWS = 2**18  # of a partition, as Arrow has them
BUNDLED_SCORES = 2**21  # of small partitions, dealt by one task; 20 MB
MOST_SHARES = 20_000  # tasks of an exchange; a scheduler takes a millisecond for each
KINDS_SHOWN = 3
EMPTY = to_bytes(NOTHING)


def fit_rule(
    df: Any,
    *,
    score: str,
    label: str | None = None,
    positive: object = None,
    weight: str | None = None,
    increasing: bool = True,
    n_parts: int | None = None,
    count: str | None = None,
    positives: str | None = None,
) -> Rule:
    """Fit a rule to the rows of a Dask frame.

    Parameters
    ----------
    df : dask.dataframe.DataFrame
        The calibration rows; the columns that are named are read, once.
    score : str
        Column of scores.
    label : str, default=None
        Column of labels.
    positive : object, default=None
        The positive label, if labels are not 0 and 1 or true and false.
    weight : str, default=None
        Column of weights.
    increasing : bool, default=True
        Whether a higher score means a higher probability.
    n_parts : int, default=None
        Parts to fit in; one for each five million distinct scores if None. The rule
        does not depend on it.
    count, positives : str, default=None
        Columns of a frame that is counted already: rows at each score, and how many of
        them are positive. They stand instead of label and weight.

    Returns
    -------
    Rule
        What `abers.fit_rule` gives for these rows, to the last bit.

    Warns
    -----
    InvertedScoresWarning
        If the scores run the other way, significantly (p < 0.001); the rule is then
        nearly flat. Weights that are not all whole are not tested.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> import abers.dask
    >>> rows = pd.DataFrame({"score": [1, 2, 3], "label": [0, 1, 0]})
    >>> df = dd.from_pandas(rows, npartitions=2)
    >>> rule = abers.dask.fit_rule(df, score="score", label="label")
    >>> rule.bounds([2])
    array([[0.33333333, 0.66666667]])
    """
    columns = _columns(
        score=score,
        label=label,
        positive=positive,
        weight=weight,
        count=count,
        positives=positives,
    )
    rule: Rule
    rule, auc, judged = _fitted(df, columns, increasing=increasing, n_parts=n_parts)
    parts.warn_of_inverted(rule, auc, judged)
    return rule


def fit_rules(
    df: Any,
    *,
    score: str,
    label: str,
    by: str,
    positive: object = None,
    weight: str | None = None,
    minimum: int = 30,
    increasing: bool = True,
) -> RuleSet:
    """Fit a rule to each group of the rows of a Dask frame.

    Parameters
    ----------
    df : dask.dataframe.DataFrame
        The calibration rows; the columns that are named are read, once.
    score, label, by : str
        Columns; `by` is that of the groups.
    positive : object, default=None
        The positive label, if labels are not 0 and 1 or true and false.
    weight : str, default=None
        Column of weights.
    minimum : int, default=30
        Least number of negatives and of positives that a group needs.
    increasing : bool, default=True
        Whether a higher score means a higher probability.

    Returns
    -------
    RuleSet
        What `abers.fit_rules` gives for these rows. It is made here, in one process,
        from up to a hundred million distinct scores of all groups together.

    Warns
    -----
    InvertedScoresWarning
        If scores run the other way, in all groups together or in some.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> import abers.dask
    >>> rows = {"score": [1, 2, 1], "label": [0, 1, 1], "kind": ["shop", "shop", "web"]}
    >>> df = dd.from_pandas(pd.DataFrame(rows), npartitions=2)
    >>> rules = abers.dask.fit_rules(
    ...     df, score="score", label="label", by="kind", minimum=1
    ... )
    >>> list(rules), list(rules.rules)
    (['shop', 'web'], ['shop'])
    """
    columns = _columns(
        score=score, label=label, positive=positive, weight=weight, by=by
    )
    rules: RuleSet
    rules, auc, judged = _fitted(df, columns, minimum=minimum, increasing=increasing)
    parts.warn_of_inverted(rules, auc, judged)
    return rules


def fit_table(
    df: Any,
    *,
    score: str,
    label: str | None = None,
    by: str | None = None,
    positive: object = None,
    weight: str | None = None,
    count: str | None = None,
    positives: str | None = None,
    minimum: int = 30,
    increasing: bool = True,
    n_parts: int | None = None,
    drop_missing: bool = False,
    metadata: Mapping[str, Any] | None = None,
) -> Fit:
    """Fit a rule, or one to each group, and tell what it was fitted to.

    Parameters
    ----------
    df : dask.dataframe.DataFrame
        The calibration rows; the columns that are named are read, once.
    score : str
        Column of scores.
    label : str, default=None
        Column of labels.
    by : str, default=None
        Column of groups: fit a rule to each.
    positive : object, default=None
        The positive label, if labels are not 0 and 1 or true and false.
    weight : str, default=None
        Column of weights.
    count, positives : str, default=None
        Columns of a frame that is counted already: rows at each score, and how many of
        them are positive. They stand instead of label and weight.
    minimum : int, default=30
        Least number of negatives and of positives that a group needs.
    increasing : bool, default=True
        Whether a higher score means a higher probability.
    n_parts : int, default=None
        Parts to fit one rule in, as for `fit_rule`.
    drop_missing : bool, default=False
        Leave out rows that lack a value; without it they are an error.
    metadata : mapping, default=None
        Tags to save with the rule.

    Returns
    -------
    Fit
        The rule, and what to know about it; `save` writes it with the names of the
        columns and a fingerprint of the rows, for `abers predict` and `abers check`.

    Warns
    -----
    InvertedScoresWarning
        As `fit_rule` and `fit_rules` warn.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> import abers.dask
    >>> rows = pd.DataFrame({"score": [1, 2, 3], "rows": [2, 1, 1], "ones": [0, 1, 0]})
    >>> df = dd.from_pandas(rows, npartitions=2)
    >>> fit = abers.dask.fit_table(df, score="score", count="rows", positives="ones")
    >>> fit.n_rows, fit.n_observations, fit.n_positives
    (3, 4, 1)
    """
    check_tags(metadata)
    columns = _columns(
        score=score,
        label=label,
        positive=positive,
        weight=weight,
        count=count,
        positives=positives,
        by=by,
        drop_missing=drop_missing,
        fingerprinted=True,
    )
    rule, auc, judged = _fitted(
        df, columns, minimum=minimum, increasing=increasing, n_parts=n_parts
    )
    parts.warn_of_inverted(rule, auc, judged)
    return judged.fit(rule, auc, increasing=increasing, metadata=metadata)


def add_bounds(
    df: Any,
    rule: Rule | RuleSet,
    *,
    score: str | None = None,
    by: str | None = None,
    prefix: str = "",
    loss: str = "log",
    missing: str = "null",
) -> Any:
    """Add the bounds and the probability of each row to a Dask frame, lazily.

    Parameters
    ----------
    df : dask.dataframe.DataFrame
        The rows. All its columns are read, so select those to keep first.
    rule : Rule or RuleSet
        What predicts; it is sent to the workers without the rows it was fitted to.
    score, by : str, default=None
        Columns of scores and, for a rule set, of groups; those that `fit_table` wrote
        down if None.
    prefix : str, default=""
        Put before the names of the new columns: lower, upper, probability.
    loss : {"log", "brier"}, default="log"
        Loss for which the probability is minimax.
    missing : {"null", "error"}, default="null"
        What rows without a score get: NaN, or an error when the frame is computed.

    Returns
    -------
    dask.dataframe.DataFrame
        The frame with three more columns; its rows, partitions and index are the same.

    Examples
    --------
    >>> import dask.dataframe as dd
    >>> import pandas as pd
    >>> import abers
    >>> import abers.dask
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> df = dd.from_pandas(pd.DataFrame({"score": [2.0, None]}), npartitions=1)
    >>> abers.dask.add_bounds(df, rule, score="score").compute()
       score     lower     upper  probability
    0    2.0  0.333333  0.666667          0.5
    1    NaN       NaN       NaN          NaN
    """
    dask = _dask()
    _check_frame(df)
    asked = frame_bounds(
        rule,
        _names(df),
        score=score,
        by=by,
        prefix=prefix,
        loss=loss,
        missing=missing,
    )
    # Delayed, the rule travels once to each worker, not with each partition. Whole
    # partitions, not the columns alone: those that Dask reads apart from the rest of a
    # file may come in other partitions, and bounds would meet the rows of others.
    sent = dask.delayed(asked, traverse=False)
    meta = _with_bounds(df._meta, asked)  # noqa: SLF001 (as Dask has it for its users)
    return df.map_partitions(_with_bounds, sent, meta=meta)


def _dask() -> Any:
    """Return dask, or say what to install."""
    errors.need("dask", "pandas", extra="dask", what="abers.dask")
    import dask

    return dask


def _check_frame(df: Any) -> None:
    import dask.dataframe as dd

    if not isinstance(df, dd.DataFrame):
        msg = f"df must be a dask.dataframe.DataFrame; got a {type(df).__name__}."
        raise InvalidType(msg)


def _names(df: Any) -> list[str]:
    """Return the columns that can be named; Dask has numbers as names, too."""
    return [name for name in df.columns if isinstance(name, str)]


def _columns(**given: Any) -> FitColumns:
    """Return the columns of a fit; their names are text, as files will have them."""
    for role in ("score", "label", "weight", "count", "positives", "by"):
        if given.get(role) is not None:
            validation.check_type(given[role], str, role)
    return FitColumns.of(**given)


def _fitted(
    df: Any,
    columns: FitColumns,
    *,
    increasing: bool,
    minimum: int = 30,
    n_parts: int | None = None,
) -> tuple[Any, float, Judged]:
    """Fit to a frame; return the rule or rule set, the AUC, and what the rows are."""
    _dask()
    _check_frame(df)
    columns.check(_names(df))
    increasing = validation.as_flag(increasing, "increasing")
    validation.as_count(minimum, "minimum")
    if n_parts is not None:
        parts.as_n_parts(n_parts)
    rule: Any
    with _Workers() as workers:
        what = workers.send(columns)
        partitions = df[columns.names].to_delayed()
        counted = workers.hold(_counted, [(each, what) for each in partitions])
        heads = workers.ask(itemgetter(0), [(each,) for each in counted])
        judged = parts.judged(heads, columns)
        if columns.by is None:
            rule, auc = _joined(
                workers, counted, judged, n_parts, increasing=increasing
            )
        else:
            diagrams = _brought(workers, counted, judged)
            rule, auc = parts.grouped_rules(
                diagrams, judged, minimum=minimum, increasing=increasing
            )
    return rule, auc, judged


def _joined(
    workers: _Workers,
    counted: list[Any],
    judged: Judged,
    n_parts: int | None,
    *,
    increasing: bool,
) -> tuple[Rule, float]:
    """Cut the counts by score, and join the pieces of all parts."""
    splitters = judged.splitters(n_parts)
    bundles = _bundled(counted, judged.n_scores, splitters.size + 1)
    deal = partial(_dealt, scale=judged.scale)
    held = workers.exchange(bundles, deal, splitters, splitters.size + 1)
    summarised = partial(_summarised, scale=judged.scale, increasing=increasing)
    told = workers.ask(summarised, [(part,) for part in held])
    reports = judged.reported(enumerate(told), len(held), increasing=increasing)
    summaries = workers.send(reports.summaries)
    tasks = [(part, i, summaries) for i, part in enumerate(held)]
    return parts.joined_rule(workers.ask(_pieced, tasks), reports), reports.auc


def _brought(workers: _Workers, counted: list[Any], judged: Judged) -> Any:
    """Bring the diagrams of all groups here."""
    n_parts = -(-judged.n_scores // parts.PART_SCORES)
    bundles = _bundled(counted, judged.n_scores, n_parts)
    deal = partial(_dealt_by_group, scale=judged.scale)
    held = workers.exchange(bundles, deal, n_parts, n_parts)
    parts.check_group_size(sum(workers.ask(_n_scores, [(part,) for part in held])))
    return list(chain(*workers.ask(list, [(part,) for part in held])))


def _bundled(counted: list[Any], n_scores: int, n_parts: int) -> list[list[Any]]:
    """Put small partitions together, and large ones if the exchange were too large."""
    small = len(counted) * BUNDLED_SCORES // n_scores
    size = max(1, small, -(-len(counted) * n_parts // MOST_SHARES))
    return [counted[i : i + size] for i in range(0, len(counted), size)]


class _Workers:
    """Tasks on whatever scheduler is current; nothing is left there in the end."""

    def __init__(self) -> None:
        self._dask = _dask()
        self._held: list[Any] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        # Not left to the garbage collector: a traceback would keep them on the cluster.
        for future in self._futures():
            future.release()
        self._held.clear()

    def send(self, value: Any) -> Any:
        """Return a value that many tasks share, and that travels once."""
        return self._dask.delayed(value, traverse=False)

    def hold(self, task: Any, arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Run a task for each of some arguments; results stay where they were made."""
        with self._explained_failures():
            held = list(self._dask.persist(*self._tasks(task, arguments)))
        self._held += held
        return held

    def ask(self, task: Any, arguments: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
        """Run a task for each of some arguments, and bring the results here."""
        with self._explained_failures():
            answers: tuple[Any, ...] = self._dask.compute(*self._tasks(task, arguments))
        return answers

    def exchange(
        self, bundles: list[Any], deal: Any, how: Any, n_parts: int
    ) -> list[Any]:
        """Deal what was counted to parts, and merge what meets in each."""
        shared = self.send(how)
        dealt = self._tasks(deal, [(bundle, shared) for bundle in bundles])
        shares = [
            self._tasks(_share, [(each, part) for each in dealt])
            for part in range(n_parts)
        ]
        return self.hold(_met, [(own,) for own in shares])

    def _futures(self) -> list[Any]:
        """Return what a cluster holds for us; other schedulers have no futures."""
        distributed = sys.modules.get("distributed")
        return distributed.futures_of(self._held) if distributed else []

    @contextmanager
    def _explained_failures(self) -> Iterator[None]:
        """Raise what has failed first: what waited for it is cancelled only."""
        try:
            yield
        except Exception as error:
            failed = [each for each in self._futures() if each.status == "error"]
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

    def _tasks(self, task: Any, arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
        call = self._dask.delayed(task, pure=False)
        return [call(*each) for each in arguments]


def _lacks_abers(error: BaseException | None) -> bool:
    """Tell whether the cause of a failure is that a worker cannot import abers."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError):
            return str(error.name).split(".")[0] == "abers"
        error = error.__cause__ or error.__context__
    return False


# What workers do. `Diagrams` are bytes, each with its group if there are groups.


def _counted(frame: Any, columns: FitColumns) -> tuple[bytes, Diagrams]:
    """Return the head of a partition, and its diagrams."""
    try:
        answers = list(frame_rows.counted(_batches(frame, columns.names), columns))
    except AbersError as error:  # to be raised where somebody can read it
        refused = [type(error).__name__, str(error), 0, []]
        return frame_rows.Head(n_rows=len(frame), refused=[refused]).to_bytes(), []
    return answers[-1].head, [pair for answer in answers for pair in answer.diagrams]


def _dealt(
    bundle: list[tuple[bytes, Diagrams]], splitters: FloatArray, *, scale: int
) -> dict[int, Diagrams]:
    """Cut what some partitions hold; return what goes to each part."""
    dealt: dict[int, Diagrams] = {}
    for _, diagrams in bundle:
        for _, diagram in diagrams:
            for part, share in parts.dealt(diagram, splitters, scale):
                dealt.setdefault(part, []).append((None, share))
    return {part: _met([own]) for part, own in dealt.items()}


def _dealt_by_group(
    bundle: list[tuple[bytes, Diagrams]], n_parts: int, *, scale: int
) -> dict[int, Diagrams]:
    """Return which groups of some partitions go to each part, by hash."""
    dealt: dict[int, Diagrams] = {}
    for _, diagrams in bundle:
        for group, diagram in diagrams:
            part = zlib.crc32(str(group).encode()) % n_parts
            counted = parts.merged_group([diagram], scale)
            dealt.setdefault(part, []).append((group, counted))
    return {part: _met([own]) for part, own in dealt.items()}


def _share(dealt: dict[int, Diagrams], part: int) -> Diagrams:
    return dealt.get(part, [])


def _met(shares: Iterable[Diagrams]) -> Diagrams:
    """Merge all diagrams of each group."""
    by_group: dict[str | None, list[bytes]] = {}
    for group, diagram in chain.from_iterable(shares):
        by_group.setdefault(group, []).append(diagram)
    return [
        (group, own[0] if len(own) == 1 else parts.merged(own))
        for group, own in by_group.items()
    ]


def _only(part: Diagrams) -> bytes:
    """Return the diagram of a part; there are no groups, or no rows."""
    return part[0][1] if part else EMPTY


def _summarised(part: Diagrams, *, scale: int, increasing: bool) -> bytes:
    return parts.summarised(_only(part), scale, increasing=increasing)


def _pieced(part: Diagrams, number: int, summaries: list[bytes]) -> bytes:
    return parts.pieced(_only(part), number, summaries)


def _n_scores(part: Diagrams) -> int:
    return sum(parts.size_of(diagram) for _, diagram in part)


def _with_bounds(frame: Any, asked: FrameBounds) -> Any:
    """Return a partition with lower, upper and probability as new columns."""
    answers = asked.answers(*(_arrow(frame[name]) for name in asked.columns))
    new = (filled(answer, np.nan) for answer in answers)
    return frame.assign(**dict(zip(asked.names, new, strict=True)))


def _batches(frame: Any, names: list[str]) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(frame), BATCH_ROWS):
        rows = frame.iloc[start : start + BATCH_ROWS]
        yield pa.record_batch([_arrow(rows[name]) for name in names], names=names)


def _arrow(column: Any) -> pa.Array:
    """Return a column of pandas as Arrow has it, NaN as null."""
    try:
        values = pa.array(column, from_pandas=True)
    except pa.ArrowException as cause:
        kinds = sorted({type(value).__name__ for value in column.dropna()})
        msg = (
            f"column {column.name!r} must hold values of one kind; {FRAME} has "
            f"{listed(kinds[:KINDS_SHOWN])} in it. Convert it first."
        )
        raise InvalidTable(msg) from cause
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    return values
