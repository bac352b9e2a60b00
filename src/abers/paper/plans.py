"""Plans: which units of work a run consists of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from abers.paper.algorithms import ALGORITHMS
from abers.paper.records import Unit
from abers.paper.splits import RATIOS, WIDE_RATIOS
from abers.paper.tasks import SIX

TABLES = "adult-5000"  # the task of Tables 1 and 2
TABLES_RATIO = "4:1"
WIDE = "adult-permuted"
SEVEN = (*SIX, "bank-permuted")  # bank is in order of time: both ways are shown
SLOW = "neural network"


@dataclass(frozen=True, slots=True)
class Plan:
    """A run: its name, and what it consists of, quickest answers first."""

    name: str
    units: tuple[Unit, ...]
    usual: tuple[str, ...] = tuple(ALGORITHMS)  # run if no algorithms are named

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that it needs, each once."""
        return tuple(dict.fromkeys(unit.data for unit in self.units))

    def only(self, algorithms: tuple[str, ...]) -> Plan:
        """Return the part of the plan that concerns some algorithms."""
        units = tuple(unit for unit in self.units if unit.algorithm in algorithms)
        return Plan(self.name, units, self.usual)


def _units(
    tasks: tuple[str, ...], algorithms: tuple[str, ...], ratios: tuple[str, ...]
) -> tuple[Unit, ...]:
    return tuple(Unit(*names) for names in product(tasks, algorithms, ratios))


EVERY = tuple(ALGORITHMS)
FAST = tuple(name for name in EVERY if name != SLOW)
MINIATURE = Plan(
    "miniature",
    _units(("german", "spambase"), ("logistic", "naive Bayes"), RATIOS),
)
TABLES_ONLY = Plan("tables", _units((TABLES,), EVERY, (TABLES_RATIO,)), FAST)
QUICK = Plan(
    "quick",
    TABLES_ONLY.units
    + _units(SEVEN, EVERY, ("1:1", "4:1", "all"))
    + _units((WIDE,), ("logistic", "naive Bayes"), ("1:9", "1:4", "1:1", "4:1", "9:1")),
    FAST,
)
FULL = Plan(
    "full",
    TABLES_ONLY.units
    + _units(SEVEN, EVERY, RATIOS)
    + _units((WIDE,), EVERY, WIDE_RATIOS),
)
PLANS = {plan.name: plan for plan in (MINIATURE, TABLES_ONLY, QUICK, FULL)}
