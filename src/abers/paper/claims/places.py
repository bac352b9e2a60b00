"""Places: where a claim is judged, and how much of it was run."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING

from abers.paper.algorithms import ALGORITHMS
from abers.paper.plans import TABLES, TABLES_RATIO
from abers.paper.splits import ALL, RATIOS
from abers.paper.tasks import SIX

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from abers.paper.claims.grades import Claim
    from abers.paper.ledger import Ledger
    from abers.paper.records import Unit

    Judge = Callable[[Ledger], Claim]

SPLIT = tuple(ratio for ratio in RATIOS if ratio != ALL)
PERMUTED = "bank-permuted"
SMALL_SETS = ("covertype", "insurance", "spambase", "german")  # train on < 10,000 rows
LARGE_SETS = ("adult", "bank", PERMUTED)


def in_tables(ledger: Ledger) -> list[Unit]:
    """Return the places of Tables 1 and 2, with the paper's algorithms."""
    return of_paper(ledger.units((TABLES,), (TABLES_RATIO,)))


def in_figures(ledger: Ledger, tasks: Collection[str] = SIX) -> list[Unit]:
    """Return the places of the six sets' figures, without the column `all`."""
    return of_paper(ledger.units(tasks, SPLIT))


def with_every_algorithm(ledger: Ledger) -> list[Unit]:
    """Return the places of tables and figures, for questions that are not the paper's.

    Algorithms that the paper does not have are there too.
    """
    return ledger.units((TABLES,), (TABLES_RATIO,)) + ledger.units(SIX, SPLIT)


def of_paper(units: Collection[Unit]) -> list[Unit]:
    """Return the places whose algorithm is one of the paper's six."""
    return [unit for unit in units if ALGORITHMS[unit.algorithm].weka]


def panels(ledger: Ledger, *tasks: str) -> Iterator[tuple[str, str]]:
    """Go through tasks and those of the paper's algorithms that were run on them."""
    for task in tasks:
        for algorithm in ledger.algorithms(task):
            if ALGORITHMS[algorithm].weka:
                yield task, algorithm


def of_sets(tasks: Collection[str]) -> Callable[[Judge], Judge]:
    """Let a judge of some sets say how many of them were run, if not all were."""

    def decorate(judge: Judge) -> Judge:
        @wraps(judge)
        def judged(ledger: Ledger) -> Claim:
            claim = judge(ledger)
            n_run = len({unit.data for unit in in_figures(ledger, tasks)})
            if not claim.evidence or n_run == len(tasks):
                return claim
            told = f"{claim.evidence} {n_run} of {len(tasks)} sets run."
            return replace(claim, evidence=told)

        return judged

    return decorate


def by_data(unit: Unit) -> str:
    """Name the task of a place."""
    return unit.data


def by_algorithm(unit: Unit) -> str:
    """Name the algorithm of a place."""
    return unit.algorithm


def named(unit: Unit) -> str:
    """Name a place in full."""
    return f"{unit.data}, {unit.algorithm}, {unit.ratio}"
