"""Rule tables: what a rule set predicts with, without the diagrams it was fitted to.

A `RuleSet` holds the calibration set of each group, and fits all rules again when it is
unpickled. An engine that predicts on many workers, or has more groups than diagrams fit
on one machine, needs the rules alone. Here each is a message of `abers.core.messages`,
a few kilobytes, unpacked when its group is first asked for.

To fit groups on workers: the rows of a group meet at one worker, in a diagram, of which
`own_rule` makes the message of its rule, or None if the group is too small. Messages
and names alone come back. The rule of the rows that small groups leave over, and that
of all rows, are fitted from parts (`abers.core.blocks`), and `RuleTables` holds all.

>>> import abers
>>> rule_set = abers.fit_rules([1, 2, 1], [0, 1, 1], ["shop", "shop", "web"], minimum=1)
>>> tables = tables_of(rule_set)
>>> tables
RuleTables(2 groups, 1 with a rule of their own)
>>> tables["shop"] == rule_set["shop"]
True
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core import merging
from abers.core.fit import fit_rule_from_diagram
from abers.core.messages import from_bytes, to_bytes
from abers.core.rule import Rule
from abers.core.rule_set import as_groups, rows_by_group
from abers.errors import InvalidGroups

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.core.rule_set import Group, RuleSet
    from abers.validation import FloatArray


@dataclass(frozen=True, slots=True, repr=False)
class RuleTables:
    """Rules as messages: own ones of large groups, one for the rest, one of all.

    `rest` answers for groups that were seen and are too small for a rule of their own,
    `pooled` for groups that are missing or were never seen.
    """

    own: Mapping[Group, bytes]
    small: frozenset[Group]
    rest: bytes
    pooled: bytes
    metadata: Mapping[str, Any] = field(default_factory=dict)
    _unpacked: dict[bytes, Rule] = field(
        default_factory=dict, init=False, compare=False
    )

    def __post_init__(self) -> None:
        names = [*self.own, *self.small]
        if not names or len(set(names)) < len(names) or None in as_groups(names):
            msg = (
                f"groups must have names, each once, at least one; got {names!r:.200}."
            )
            raise InvalidGroups(msg)

    def __getitem__(self, group: Group | None) -> Rule:
        """Return the rule that answers for a group, seen or not."""
        (name,) = as_groups([group], fitted=self._type)
        return self._rule(self._message(name))

    def bounds(self, scores: ArrayLike, groups: ArrayLike) -> FloatArray:
        """Return the lower and upper probability of each score within its group."""
        s = validation.as_scores(scores)
        if np.isnan(s).any():
            self._rule(self.pooled).bounds(s)  # says where
        names = as_groups(groups, fitted=self._type)
        validation.check_length(len(names), s.size, "groups", "scores")
        out = np.empty((s.size, 2))
        for name, rows in rows_by_group(names).items():
            out[rows] = self._rule(self._message(name)).bounds(s[rows])
        return out

    def probability(
        self, scores: ArrayLike, groups: ArrayLike, loss: str = "log"
    ) -> FloatArray:
        """Return one probability for each score: the bounds merged by minimax."""
        validation.check_choice(loss, merging.LOSSES, "loss")
        lower, upper = self.bounds(scores, groups).T
        return merging.MINIMAX[loss](lower, upper)

    @property
    def _type(self) -> type:
        return type(next(iter(self.own or self.small)))

    def _message(self, group: Group | None) -> bytes:
        if group is None:
            return self.pooled
        own = self.own.get(group)
        return own or (self.rest if group in self.small else self.pooled)

    def _rule(self, message: bytes) -> Rule:
        if message not in self._unpacked:
            self._unpacked[message] = from_bytes(message, Rule)
        return self._unpacked[message]

    def __getstate__(self) -> dict[str, Any]:
        names = ("own", "small", "rest", "pooled", "metadata")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        RuleTables.__init__(self, **state)

    def __repr__(self) -> str:
        n_groups = len(self.own) + len(self.small)
        return (
            f"RuleTables({n_groups} groups, {len(self.own)} with a rule of their own)"
        )


def own_rule(
    diagram: Diagram, *, minimum: int, increasing: bool = True
) -> bytes | None:
    """Fit a group where its rows are; None if it is too small for a rule of its own.

    >>> from abers import Diagram
    >>> own_rule(Diagram([1, 2], negatives=[3, 0], positives=[0, 2]), minimum=3)
    """
    if min(diagram.negatives.sum(), diagram.positives.sum()) < minimum:
        return None
    return to_bytes(fit_rule_from_diagram(diagram, increasing=increasing))


def tables_of(rule_set: RuleSet) -> RuleTables:
    """Return what a rule set predicts with: the same bounds, without its diagrams."""
    pooled = to_bytes(rule_set.pooled)
    return RuleTables(
        own={name: to_bytes(rule) for name, rule in rule_set.rules.items()},
        small=frozenset(rule_set) - frozenset(rule_set.rules),
        rest=pooled,
        pooled=pooled,
        metadata=dict(rule_set.metadata),
    )
