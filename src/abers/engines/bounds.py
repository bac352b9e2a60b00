"""Bounds: what a predictor gives for the columns of a frame, on any worker.

A predictor is whatever `abers.load` gives that has `probability`, and `bounds` unless
it has none. A worker needs the steps of a rule, not the rows that it was fitted to: it
gets rules without their diagrams. `FrameBounds` is made on the driver, pickled as a few
kilobytes, and called with each batch of rows.
"""

from __future__ import annotations

import inspect
import pickle
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from abers import validation
from abers.core.merging import LOSSES, MINIMAX
from abers.core.pooled import PooledRule
from abers.core.poset import PosetRule
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet, bounds_at, places_of
from abers.engines.counting import FRAME, check_column
from abers.errors import InvalidData, InvalidParameter, InvalidType
from abers.tables.columns import (
    GROUP_TAG,
    SCORE_TAG,
    Groups,
    Numbers,
    doubles,
)
from abers.tables.files import Batch, listed
from abers.tables.predict import ADDED, ON_MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.choices import LossName, OnMissing
    from abers.validation import FloatArray

MOST_BYTES = 50_000_000  # of a predictor in the closure of a task


@dataclass(frozen=True, slots=True)
class Shape:
    """Which scores a predictor reads, and what it gives for them.

    >>> import abers
    >>> Shape.of(abers.fit_rule([1, 2, 3], [0, 1, 0])).n_scores
    1
    """

    n_models: int
    classes: tuple[Any, ...]
    is_table: bool  # even one column of scores has two dimensions
    has_bounds: bool
    is_merged: bool  # the probability is a merge of the bounds, for a loss

    @staticmethod
    def of(predictor: Any) -> Shape:
        """Ask a predictor; raise if it does not predict probabilities."""
        if isinstance(predictor, RuleSet):
            predictor = predictor.pooled
        probability = getattr(predictor, "probability", None)
        if not callable(probability) or isinstance(predictor, type):
            msg = (
                "rule must be a rule or a calibrator, as abers.load returns it; got a "
                f"{type(predictor).__name__}."
            )
            raise InvalidType(msg)
        numbers = ("n_models", "n_folds", "n_scores")
        given = (getattr(predictor, name, None) for name in numbers)
        classes = getattr(predictor, "classes_", None)
        if classes is None:
            classes = range(getattr(predictor, "n_classes", 2))
        return Shape(
            n_models=next((number for number in given if number is not None), 1),
            classes=tuple(classes),
            is_table=isinstance(predictor, PooledRule | PosetRule),
            has_bounds=callable(getattr(predictor, "bounds", None)),
            is_merged="loss" in inspect.signature(probability).parameters,
        )

    @property
    def is_binary(self) -> bool:
        """Whether one probability says all."""
        return len(self.classes) == 2

    @property
    def n_scores(self) -> int:
        """Number of columns of scores: by model, then by class if there are many."""
        return self.n_models * (1 if self.is_binary else len(self.classes))

    @property
    def new_columns(self) -> list[str]:
        """Names of what is added; of many classes, those of the first class first."""
        added = ADDED if self.has_bounds else ADDED[-1:]
        if self.is_binary:
            return list(added)
        return [f"{name}_{label}" for label in self.classes for name in added]

    def as_scores(self, columns: FloatArray) -> FloatArray:
        """Return columns of scores in the shape that the predictor takes."""
        shape = [len(columns)]
        shape += [self.n_models] * (self.n_models > 1 or self.is_table)
        shape += [len(self.classes)] * (not self.is_binary)
        return columns.reshape(shape)


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

    predictor: Any  # a rule or a rule set without its diagrams
    shape: Shape
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
        scores = np.column_stack(
            [Numbers(each).values(_batch(each, named[each])) for each in self.scores]
        )
        missing = np.asarray(np.isnan(scores).any(axis=1))
        if self.missing == "error" and missing.any():
            raise self._missing_scores(scores)
        groups = None if self.by is None else named[self.by]
        if not missing.any():
            return [doubles(p, missing) for p in self._values(scores, groups)]
        if groups is not None:
            groups = groups.filter(pa.array(~missing))
        new = np.zeros((len(self.names), missing.size))
        new[:, ~missing] = self._values(scores[~missing], groups)
        return [doubles(p, missing) for p in new]

    def _values(self, columns: FloatArray, groups: pa.Array | None) -> FloatArray:
        """Return the new columns of rows that lack no score."""
        scores, predictor = self.shape.as_scores(columns), self.predictor
        added = []
        if isinstance(predictor, RuleSet):
            reader = Groups(str(self.by))
            codes = reader.values(_batch(reader.column, groups))
            places = places_of(predictor, [*reader.names, None])[codes]
            added = [bounds_at(predictor, places, scores)]
        elif self.shape.has_bounds:
            added = [predictor.bounds(scores)]
        if added and self.shape.is_merged:
            probability = MINIMAX[self.loss](*np.moveaxis(added[0], -1, 0))
        else:
            probability = predictor.probability(scores)
        added.append(probability[..., np.newaxis])
        table = np.concatenate(added, axis=-1)
        return table.reshape(len(columns), len(self.names)).T

    def __reduce__(self) -> tuple[Any, ...]:
        predictor, *others = (getattr(self, field.name) for field in fields(self))
        return _arrived, (pickle.dumps(predictor), *others)

    def _missing_scores(self, scores: FloatArray) -> InvalidData:
        """Return the refusal of rows that lack a score."""
        counts = np.isnan(scores).sum(axis=0).tolist()
        name, count = next(
            (name, n) for name, n in zip(self.scores, counts, strict=True) if n
        )
        return InvalidData(
            f"column {name!r} must not be empty, null or NaN; it is in {count} of "
            f'{len(scores)} rows of a batch. With missing="null", such rows get null.'
        )


@lru_cache(maxsize=2)
def _unpacked(pickled: bytes) -> Any:
    """Unpack a predictor once per process: it takes 0.3 ms per group."""
    return pickle.loads(pickled)  # noqa: S301 (itself part of a pickle)


def _arrived(pickled: bytes, *others: Any) -> FrameBounds:
    """Return what has arrived on a worker."""
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
    """Return what workers call, if the frame has the columns for it."""
    validation.check_choice(loss, LOSSES, "loss")
    validation.check_choice(missing, ON_MISSING, "missing")
    shape = Shape.of(rule)
    if loss != "log" and not shape.is_merged:
        msg = (
            f"loss must be left out for a {type(rule).__name__}, whose probability is "
            f"not merged from bounds for a loss; got {loss!r}."
        )
        raise InvalidParameter(msg)
    scores = _score_columns(rule, shape, score)
    for name in scores:
        check_column(name, present)
    names = tuple(prefix + name for name in shape.new_columns)
    # Engines that do not distinguish upper from lower case would see two columns later.
    taken = [name for name in present if name.lower() in {n.lower() for n in names}]
    if taken:
        msg = (
            f"{FRAME} must not have columns that are to be added; it has "
            f"{listed(taken)} already. Choose other names with prefix=."
        )
        raise InvalidData(msg)
    by = _group_column(rule, by, present)
    sent = rule.without_diagram() if isinstance(rule, Rule | RuleSet) else rule
    if (n_bytes := len(pickle.dumps(sent))) > MOST_BYTES:
        msg = (
            f"a rule must have at most {MOST_BYTES // 10**6} MB to be sent to workers; "
            f"this one has {n_bytes / 10**6:.0f} MB. Round the scores before the "
            "fit, or predict files with `abers predict`."
        )
        raise InvalidParameter(msg)
    return FrameBounds(sent, shape, scores, by, names, loss, missing)


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


def _group_column(rule: Any, by: str | None, present: Sequence[str]) -> str | None:
    """Return the column of groups, which rules for groups need."""
    if not isinstance(rule, RuleSet):
        if by is not None:
            msg = "by= must go with rules for groups; got one rule for all."
            raise InvalidParameter(msg)
        return None
    by = by if by is not None else rule.metadata.get(GROUP_TAG)
    if by is None:
        msg = "rules for groups need the column of groups; name it with by=."
        raise InvalidParameter(msg)
    check_column(by, present)
    return by


def _batch(column: str, values: pa.Array) -> Batch:
    return Batch(pa.record_batch([values], names=[column]), FRAME, 1, 0)
