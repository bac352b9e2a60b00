"""Bounds: what a rule gives for the columns of a frame, on any worker.

A worker needs the steps of a rule, not the rows that it was fitted to. `FrameBounds` is
made on the driver, pickled as a few kilobytes, and called with each batch of rows. A
pickled `RuleSet` would bring the calibration set of each group, and fit all rules again
when it is unpickled; `RuleSteps` has the rules alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from abers import validation
from abers.core.merging import LOSSES, MINIMAX
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet, as_groups
from abers.engines.counting import FRAME, check_column
from abers.engines.messages import from_bytes, to_bytes
from abers.errors import InvalidData, InvalidParameter
from abers.tables.columns import (
    ABSENT,
    GROUP_TAG,
    SCORE_TAG,
    Groups,
    Numbers,
    doubles,
    rows_by_code,
)
from abers.tables.files import Batch, listed
from abers.tables.predict import ADDED, ON_MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abers.choices import LossName, OnMissing
    from abers.core.rule_set import Group
    from abers.validation import FloatArray

MOST_BYTES = 50_000_000  # of a rule in the closure of a task


@dataclass(frozen=True)  # slots: see core/diagram.py
class RuleSteps:
    """The rules of a set as messages, each unpacked when its group first comes.

    `rest` is for groups that were seen and are too small for a rule of their own,
    `pooled` for groups that are missing or were never seen. One rule for all rows is
    `pooled` alone.
    """

    pooled: bytes
    rest: bytes = b""
    own: Mapping[Group, bytes] = field(default_factory=dict)
    small: frozenset[Group] = frozenset()
    _unpacked: dict[bytes, Rule] = field(
        default_factory=dict, init=False, compare=False
    )

    @staticmethod
    def of(rule: Rule | RuleSet) -> RuleSteps:
        """Return what a rule or a rule set predicts with."""
        if isinstance(rule, Rule):
            return RuleSteps(to_bytes(rule.without_diagram()))
        pooled = to_bytes(rule.pooled)
        return RuleSteps(
            pooled,
            rest=pooled if rule.rest is None else to_bytes(rule.rest),
            own={name: to_bytes(each) for name, each in rule.rules.items()},
            small=frozenset(rule) - frozenset(rule.rules),
        )

    @property
    def n_bytes(self) -> int:
        """Bytes of all rules."""
        return sum(map(len, [*self.own.values(), self.rest, self.pooled]))

    def __getitem__(self, group: Group | None) -> Rule:
        """Return the rule that applies to a group, seen or not."""
        message = self.pooled
        if self.own or self.small:
            fitted = type(next(iter(self.own or self.small)))
            (name,) = as_groups([group], fitted=fitted)
            if name is not None:
                fallback = self.rest if name in self.small else self.pooled
                message = self.own.get(name, fallback)
        if message not in self._unpacked:
            self._unpacked[message] = from_bytes(message, Rule)
        return self._unpacked[message]

    def __getstate__(self) -> tuple[object, ...]:
        return (self.pooled, self.rest, self.own, self.small)

    def __setstate__(self, state: tuple[object, ...]) -> None:
        RuleSteps.__init__(self, *state)  # type: ignore[arg-type]


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

    steps: RuleSteps
    score: str
    by: str | None
    names: tuple[str, ...]  # of the new columns
    loss: LossName
    missing: str

    @property
    def columns(self) -> list[str]:
        """The columns that are read: the score, and the group if there is one."""
        return [self.score] if self.by is None else [self.score, self.by]

    def arrays(
        self, scores: pa.Array, groups: pa.Array | None = None
    ) -> list[pa.Array]:
        """Return the new columns, null where the score is missing."""
        s = Numbers(self.score).values(_batch(self.score, scores))
        missing = np.isnan(s)
        if self.missing == "error" and missing.any():
            msg = (
                f"column {self.score!r} must not be empty, null or NaN; it is in "
                f"{int(missing.sum())} of {s.size} rows of a batch. With "
                'missing="null", such rows get null.'
            )
            raise InvalidData(msg)
        lower, upper = self._bounds(np.where(missing, 0.0, s), groups).T
        merged = MINIMAX[self.loss](lower, upper)
        return [doubles(p, missing) for p in (lower, upper, merged)]

    def _bounds(self, scores: FloatArray, groups: pa.Array | None) -> FloatArray:
        if self.by is None:
            return self.steps[None].bounds(scores)
        reader = Groups(self.by)
        codes = reader.values(_batch(self.by, groups))
        bounds = np.empty((scores.size, 2))
        for code, rows in rows_by_code(codes):
            name = None if code == ABSENT else reader.names[code]
            bounds[rows] = self.steps[name].bounds(scores[rows])
        return bounds


def frame_bounds(
    rule: Rule | RuleSet,
    present: Sequence[str],
    *,
    score: str | None = None,
    by: str | None = None,
    prefix: str = "",
    loss: LossName = "log",
    missing: OnMissing = "null",
) -> FrameBounds:
    """Return what workers call, if the frame has the columns for it."""
    validation.check_choice(loss, LOSSES, "loss")
    validation.check_choice(missing, ON_MISSING, "missing")
    if not isinstance(rule, Rule | RuleSet):
        validation.check_type(rule, Rule, "rule")
    score = score if score is not None else rule.metadata.get(SCORE_TAG)
    if score is None:
        msg = (
            "a rule that was not fitted to a table needs score=, the column of scores."
        )
        raise InvalidParameter(msg)
    check_column(score, present)
    names = tuple(prefix + name for name in ADDED)
    # Engines that do not distinguish upper from lower case would see two columns later.
    taken = [name for name in present if name.lower() in {n.lower() for n in names}]
    if taken:
        msg = (
            f"{FRAME} must not have columns that are to be added; it has "
            f"{listed(taken)} already. Choose other names with prefix=."
        )
        raise InvalidData(msg)
    by = _group_column(rule, by, present)
    steps = RuleSteps.of(rule)
    if steps.n_bytes > MOST_BYTES:
        msg = (
            f"a rule must have at most {MOST_BYTES // 10**6} MB to be sent to workers; "
            f"this one has {steps.n_bytes / 10**6:.0f} MB. Round the scores before the "
            "fit, or predict files with `abers predict`."
        )
        raise InvalidParameter(msg)
    return FrameBounds(steps, score, by, names, loss, missing)


def _group_column(
    rule: Rule | RuleSet, by: str | None, present: Sequence[str]
) -> str | None:
    """Return the column of groups, which rules for groups need."""
    if isinstance(rule, Rule):
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


def _batch(column: str, values: pa.Array | None) -> Batch:
    return Batch(pa.record_batch([values], names=[column]), FRAME, 1, 0)
