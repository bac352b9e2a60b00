"""The ledger: results by where and by which method they were got."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from abers.paper import data
from abers.paper.algorithms import ALGORITHMS
from abers.paper.columns import Table
from abers.paper.records import Unit
from abers.paper.splits import ALL, WIDE_RATIOS, split
from abers.paper.tasks import RECIPES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from abers.paper.records import Result

LOSSES = {"log_loss": "log loss", "brier_loss": "Brier loss"}
_RATIOS = (*WIDE_RATIOS, ALL)


@dataclass(frozen=True, slots=True)
class Pair:
    """The losses of two methods in one place."""

    unit: Unit
    first: float
    second: float

    @property
    def difference(self) -> float:
        """The first minus the second; 0 where both are infinite."""
        return 0.0 if self.first == self.second else self.first - self.second


class Ledger:
    """Results of one engine, to be looked up.

    Parameters
    ----------
    results : iterable of Result
        Of any run; a later result replaces an earlier one of the same place.
    """

    def __init__(self, results: Iterable[Result]) -> None:
        self._found = {_key(result): result for result in results}

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks with results, in the order of the paper."""
        present = {unit.data for unit, _, _ in self._found}
        return tuple(name for name in RECIPES if name in present)

    def algorithms(self, task: str) -> tuple[str, ...]:
        """Return the underlying algorithms that were run on a task."""
        present = {unit.algorithm for unit, _, _ in self._found if unit.data == task}
        return tuple(name for name in ALGORITHMS if name in present)

    def ratios(self, task: str) -> tuple[str, ...]:
        """Return the ratios that were run on a task, `all` last."""
        present = {unit.ratio for unit, _, _ in self._found if unit.data == task}
        return tuple(ratio for ratio in _RATIOS if ratio in present)

    def units(self, tasks: Iterable[str], ratios: Collection[str]) -> list[Unit]:
        """Return the places of some tasks and ratios that have results."""
        places = (
            Unit(task, algorithm, ratio)
            for task in tasks
            for algorithm in self.algorithms(task)
            for ratio in self.ratios(task)
            if ratio in ratios
        )
        return [unit for unit in places if self.result(unit, "IVAP") is not None]

    def result(
        self, unit: Unit, method: str, merging: str | None = None
    ) -> Result | None:
        """Return what a method got in a place; bounds are merged for log loss."""
        if merging is None:
            merging = _merging(method)
        return self._found.get((unit, method, merging))

    def loss(
        self, unit: Unit, method: str, kind: str, merging: str | None = None
    ) -> float | None:
        """Return a loss; None if the method was not run there or had no answer."""
        result = self.result(unit, method, merging)
        loss = None if result is None else float(getattr(result, kind))
        return None if loss is None or math.isnan(loss) else loss

    def pairs(
        self, units: Sequence[Unit], kind: str, first: str, second: str
    ) -> list[Pair]:
        """Return the losses of two methods wherever both have one."""
        found = []
        for unit in units:
            one, other = (self.loss(unit, m, kind) for m in (first, second))
            if one is not None and other is not None:
                found.append(Pair(unit, one, other))
        return found


def _merging(method: str) -> str:
    if method in {"IVAP", "CVAP"}:
        return "log"
    return "mean" if method.startswith("cross ") else ""


def _key(result: Result) -> tuple[Unit, str, str]:
    unit = Unit(result.data, result.algorithm, result.ratio)
    return unit, result.method, result.merging


@cache
def training_rows(task: str) -> int:
    """Return how many rows of a task train and calibrate.

    Examples
    --------
    >>> from abers.paper.ledger import training_rows
    >>> training_rows("german"), training_rows("adult-5000")
    (666, 5000)
    """
    recipe = RECIPES[task]
    source, _ = data.READERS[recipe.data]
    empty = Table((), np.zeros(source.n_rows, np.int64))
    return recipe.make(empty)[1]


def calibration_rows(unit: Unit) -> int:
    """Return how many rows calibrate a method that splits once.

    Examples
    --------
    >>> from abers.paper.ledger import calibration_rows
    >>> from abers.paper.records import Unit
    >>> calibration_rows(Unit("adult-5000", "tree", "4:1"))
    1000
    """
    rows = split(unit.ratio, training_rows(unit.data))
    return rows.pairs[rows.single].calibrate.size
