"""Findings: all that a run has found, ready to be shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from abers.paper import claims, tables
from abers.paper.algorithms import ALGORITHMS
from abers.paper.ledger import Ledger
from abers.paper.plans import TABLES
from abers.paper.splits import RATIOS, WIDE_RATIOS
from abers.paper.studies import Studies
from abers.paper.tasks import RECIPES, SIX

if TYPE_CHECKING:
    from abers.paper.claims import Claim
    from abers.paper.records import Finished, Result
    from abers.paper.tables import Cell


NONE = Studies()


@dataclass(frozen=True)
class Findings:
    """The finished units of a plan, and the studies beside them."""

    plan: str
    engine: str
    finished: tuple[Finished, ...]
    studies: Studies = NONE

    @cached_property
    def results(self) -> list[Result]:
        """All results, in the order of the plan."""
        return [result for unit in self.finished for result in unit.results]

    @cached_property
    def ledger(self) -> Ledger:
        """The results, to be looked up."""
        return Ledger(self.results)

    @cached_property
    def cells(self) -> list[Cell]:
        """Tables 1 and 2 beside ours."""
        return tables.cells(self.results)

    @cached_property
    def claims(self) -> list[Claim]:
        """All claims, judged."""
        return claims.judge(self.ledger, self.studies)

    @property
    def seconds(self) -> float:
        """Seconds that the units took, one after the other."""
        return sum(unit.seconds for unit in self.finished)

    @property
    def left_out(self) -> list[str]:
        """What the paper has and this plan has not, in words."""
        found = []
        ledger = self.ledger
        missing = [task for task in (TABLES, *SIX) if task not in ledger.tasks]
        if missing:
            found.append(f"tasks: {', '.join(missing)}")
        run = {name for task in ledger.tasks for name in ledger.algorithms(task)}
        absent = [a.name for a in ALGORITHMS.values() if a.weka and a.name not in run]
        if absent:
            found.append(f"algorithms: {', '.join(absent)}")
        ratios = {ratio for task in SIX for ratio in ledger.ratios(task)}
        if few := [ratio for ratio in RATIOS if ratio not in ratios]:
            found.append(f"ratios of the six sets: {', '.join(few)}")
        wide = ledger.ratios("adult-permuted")
        if few := [ratio for ratio in WIDE_RATIOS if ratio not in wide]:
            found.append(f"ratios of the wide figure: {', '.join(few)}")
        algorithms = ledger.algorithms("adult-permuted")
        if wide and (few := [name for name in run if name not in algorithms]):
            ordered = [name for name in ALGORITHMS if name in few]
            found.append(f"algorithms of the wide figure: {', '.join(ordered)}")
        return found

    @property
    def unanswered(self) -> list[str]:
        """Which methods had no answer, where and why, in words."""
        places: dict[tuple[str, str], dict[str, None]] = {}
        for result in self.results:
            if result.reason:
                place = f"{result.data}, {result.algorithm}, {result.ratio}"
                places.setdefault((result.method, result.reason), {})[place] = None
        return [
            f"no answer from {method} ({'; '.join(where)}): {reason}"
            for (method, reason), where in places.items()
        ]

    @property
    def recipes(self) -> list[tuple[str, str]]:
        """How each task of the run was made."""
        return [(task, RECIPES[task].how) for task in self.ledger.tasks]
