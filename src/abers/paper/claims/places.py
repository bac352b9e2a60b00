"""Places: where a claim is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abers.paper.algorithms import ALGORITHMS
from abers.paper.plans import TABLES, TABLES_RATIO
from abers.paper.splits import ALL, RATIOS
from abers.paper.tasks import SIX

if TYPE_CHECKING:
    from collections.abc import Collection

    from abers.paper.ledger import Ledger
    from abers.paper.records import Unit

SPLIT = tuple(ratio for ratio in RATIOS if ratio != ALL)
PERMUTED = "bank-permuted"
SMALL = 10_000  # rows of training, below which a set is called small


def in_tables(ledger: Ledger) -> list[Unit]:
    """Return the places of Tables 1 and 2."""
    units = ledger.units((TABLES,), (TABLES_RATIO,))
    return [unit for unit in units if ALGORITHMS[unit.algorithm].weka]


def in_figures(ledger: Ledger, tasks: Collection[str] = SIX) -> list[Unit]:
    """Return the places of the six sets' figures, without the column `all`."""
    return ledger.units(tasks, SPLIT)


def by_data(unit: Unit) -> str:
    """Name the task of a place."""
    return unit.data


def by_algorithm(unit: Unit) -> str:
    """Name the algorithm of a place."""
    return unit.algorithm


def named(unit: Unit) -> str:
    """Name a place in full."""
    return f"{unit.data}, {unit.algorithm}, {unit.ratio}"
