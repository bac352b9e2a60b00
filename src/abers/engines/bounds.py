"""Bounds: a predictor's results for the columns of a frame, on any worker.

A worker needs the steps of a rule, not its calibration rows: it gets rules without
diagrams. `FrameBounds` is made on the driver, pickled as a few kilobytes, and called
with each batch of rows.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from abers import validation
from abers.engines.counting import FRAME, FrameBatch, check_column
from abers.errors import InvalidData, InvalidParameter
from abers.tables.columns import SCORE_TAG
from abers.tables.files import listed
from abers.tables.predict import ON_MISSING
from abers.tables.predictors import AddedColumns, Shape, group_column, is_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.choices import LossName, OnMissing

MOST_BYTES = 50_000_000  # of a predictor in the closure of a task


@dataclass(frozen=True, slots=True)
class FrameBounds:
    """Lower, upper and probability of the rows of a frame.

    >>> import abers
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> bounds = frame_bounds(rule, ["s"], score="s")
    >>> lower, upper, probability = bounds.arrays(pa.array([2, None]))
    >>> lower.to_pylist(), upper.to_pylist()
    ([0.3333333333333333, None], [0.6666666666666666, None])
    """

    predictor: Any  # a rule or a rule set without diagrams
    scores: tuple[str, ...]
    by: str | None
    names: tuple[str, ...]  # of the new columns
    loss: LossName
    missing: str

    @property
    def columns(self) -> list[str]:
        """The columns that are read: the scores, and the group if there is one."""
        return [*self.scores, *([] if self.by is None else [self.by])]

    def arrays(self, *columns: pa.Array) -> list[pa.Array]:
        """Return the new columns, null where a score is missing."""
        named = dict(zip(self.columns, columns, strict=True))
        rows = pa.record_batch([*named.values()], names=[*named])
        batch = FrameBatch(rows, FRAME, 1, 0)
        # Per call: threads share this object, and readers of groups have state.
        added = AddedColumns(self.predictor, loss=self.loss)
        added.read(self.scores, self.by)
        arrays = added.arrays_of(batch, is_complete=self.missing == "error")
        return arrays[: len(self.names)]

    def __reduce__(self) -> tuple[Any, ...]:
        predictor, *others = (getattr(self, field.name) for field in fields(self))
        return _arrived, (pickle.dumps(predictor), *others)


@lru_cache(maxsize=2)
def _unpacked(pickled: bytes) -> Any:
    """Unpack a predictor once per process: it takes 0.3 ms per group."""
    return pickle.loads(pickled)  # noqa: S301 (itself part of a pickle)


def _arrived(pickled: bytes, *others: Any) -> FrameBounds:
    """Unpack a message on a worker."""
    return FrameBounds(_unpacked(pickled), *others)


def frame_bounds(
    rule: Any,
    present: Sequence[str],
    *,
    score: str | Sequence[str] | None = None,
    by: str | None = None,
    prefix: str = "",
    loss: LossName = "log",
    missing: OnMissing = "null",
) -> FrameBounds:
    """Return what workers call; raise if the frame lacks the columns for it."""
    shape = AddedColumns(rule, loss=loss).shape
    validation.check_choice(missing, ON_MISSING, "missing")
    scores = _score_columns(rule, shape, score)
    for name in scores:
        check_column(name, present)
    names = tuple(prefix + name for name in shape.new_columns)
    # Engines that ignore case would see two equal columns later.
    taken = [name for name in present if name.lower() in {n.lower() for n in names}]
    if taken:
        msg = (
            f"{FRAME} must not have columns that are to be added; it has "
            f"{listed(taken)} already. Choose other names with prefix=."
        )
        raise InvalidData(msg)
    group = group_column(rule, by, option="by=")
    if group is not None:
        check_column(group, present)
    sent = rule.without_diagram() if is_rule(rule) else rule
    if (n_bytes := len(pickle.dumps(sent))) > MOST_BYTES:
        msg = (
            f"a rule must have at most {MOST_BYTES // 10**6} MB to be sent to workers; "
            f"this one has {n_bytes / 10**6:.0f} MB. Round the scores before the "
            "fit, or predict files with `abers predict`."
        )
        raise InvalidParameter(msg)
    return FrameBounds(sent, scores, group, names, loss, missing)


def _score_columns(
    rule: Any, shape: Shape, given: str | Sequence[str] | None
) -> tuple[str, ...]:
    """Return the columns of scores: those given, or that of the fit."""
    if given is None:
        given = getattr(rule, "metadata", {}).get(SCORE_TAG)
    if given is None:
        msg = (
            "a rule that was not fitted to a table needs score=, the column of scores."
        )
        raise InvalidParameter(msg)
    names = (given,) if isinstance(given, str) else tuple(given)
    if len(names) != shape.n_scores:
        of_classes = "" if shape.is_binary else f" of {len(shape.classes)} classes each"
        msg = (
            f"score must name {shape.n_scores} columns, for {shape.n_models} models"
            f"{of_classes}; got {len(names)}: {listed(names)}."
        )
        raise InvalidParameter(msg)
    return names
