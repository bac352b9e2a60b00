"""Results: looked up by unit and method, and compared with Tables 1 and 2."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from experiments.paper import data
from experiments.paper.data import DataTable
from experiments.paper.protocol import ONE_MODEL, POOLED, POOLED_K
from experiments.paper.run import TABLES, TABLES_RATIO, Unit
from experiments.paper.sklearn_engine import ALGORITHMS
from experiments.paper.studies import Studies
from experiments.paper.tasks import ALL, RECIPES, WIDE_RATIOS, split

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from experiments.paper.run import Finished, PairedError, Result


# The index: results by where and by which method they were got.

NONE = Studies()
LOSSES = {"log_loss": "log loss", "brier_loss": "Brier loss"}
_RATIOS = (*WIDE_RATIOS, ALL)


@dataclass(frozen=True, slots=True)
class LossPair:
    """The losses of two methods in one place."""

    unit: Unit
    first: float
    second: float
    error: float | None = None  # standard error of the difference, over the test rows

    @property
    def difference(self) -> float:
        """The first minus the second; 0 where both are infinite."""
        return 0.0 if self.first == self.second else self.first - self.second

    @property
    def standard_errors(self) -> float | None:
        """The difference in standard errors; None where it has none."""
        if not self.error or not math.isfinite(self.difference):
            return None
        return self.difference / self.error


class ResultIndex:
    """Results of one engine; a later one replaces an earlier one of the same place."""

    def __init__(
        self,
        results: Iterable[Result],
        errors: Iterable[tuple[Unit, PairedError]] = (),
        studies: Studies = NONE,
    ) -> None:
        self.studies = studies
        self._results = {_key(result): result for result in results}
        self._units = {unit for unit, _, _ in self._results}
        self._errors = {(unit, pair.first, pair.second): pair for unit, pair in errors}

    @classmethod
    def of(cls, finished: Iterable[Finished], studies: Studies = NONE) -> ResultIndex:
        """Look up the results of finished units; the studies stand beside them."""
        units = list(finished)
        return cls(
            [result for one in units for result in one.results],
            [(one.unit, error) for one in units for error in one.errors],
            studies,
        )

    @property
    def engine(self) -> str:
        """Whose algorithms were run; empty without results."""
        return next((one.engine for one in self._results.values()), "")

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks with results, in the order of the paper."""
        present = {unit.data for unit in self._units}
        return tuple(name for name in RECIPES if name in present)

    def algorithms(self, *tasks: str) -> tuple[str, ...]:
        """Return the underlying algorithms that were run on some task of these."""
        present = {unit.algorithm for unit in self._units if unit.data in tasks}
        return tuple(name for name in ALGORITHMS if name in present)

    def ratios(self, *tasks: str) -> tuple[str, ...]:
        """Return the ratios that were run on some task of these, `all` last."""
        present = {unit.ratio for unit in self._units if unit.data in tasks}
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
        return self._results.get((unit, method, merging))

    def loss(
        self, unit: Unit, method: str, kind: str, merging: str | None = None
    ) -> float | None:
        """Return a loss; None if the method was not run there or has no prediction."""
        result = self.result(unit, method, merging)
        loss = None if result is None else float(getattr(result, kind))
        return None if loss is None or math.isnan(loss) else loss

    def pairs(
        self, units: Sequence[Unit], kind: str, first: str, second: str
    ) -> list[LossPair]:
        """Return the losses of two methods wherever both have one."""
        pairs = []
        for unit in units:
            loss, other = (self.loss(unit, m, kind) for m in (first, second))
            if loss is not None and other is not None:
                error = self.error(unit, kind, first, second)
                pairs.append(LossPair(unit, loss, other, error))
        return pairs

    def error(self, unit: Unit, kind: str, first: str, second: str) -> float | None:
        """Return the paired standard error of the difference of two methods."""
        for pair in ((first, second), (second, first)):
            if (unit, *pair) in self._errors:
                error: float | None = getattr(self._errors[unit, *pair], kind)
                return error
        return None


def _merging(method: str) -> str:
    if method in {"IVAP", "CVAP", POOLED, POOLED_K, ONE_MODEL}:
        return "log"
    return "mean" if method.startswith("cross ") else ""


def _key(result: Result) -> tuple[Unit, str, str]:
    unit = Unit(result.data, result.algorithm, result.ratio)
    return unit, result.method, result.merging


@cache
def training_rows(task: str) -> int:
    """Return how many rows of a task train and calibrate."""
    recipe = RECIPES[task]
    source, _ = data.READERS[recipe.data]
    empty = DataTable((), np.zeros(source.n_rows, np.int64))
    return recipe.make(empty)[1]


def calibration_rows(unit: Unit) -> int:
    """Return how many rows calibrate a method that splits once."""
    rows = split(unit.ratio, training_rows(unit.data))
    return rows.pairs[rows.single].calibrate.size


# Tables 1 and 2: what the paper prints, and what we get, cell by cell.

INF = math.inf
TABLE_METHODS = ("Platt", "isotonic", "IVAP", "CVAP")  # the columns

# Table 1, log loss: Platt, IR, IVAP, CVAP for each underlying algorithm.
LOG_LOSS = {
    "tree": (0.5226, INF, 0.5117, 0.5102),
    "bagging": (0.4949, INF, 0.4733, 0.4602),
    "logistic": (0.5111, INF, 0.4981, 0.4948),
    "naive Bayes": (0.5534, INF, 0.4839, 0.4747),
    "neural network": (0.5175, INF, 0.5023, 0.4805),
    "SVM": (0.5221, INF, 0.5015, 0.4997),
}
# Table 2, Brier loss.
BRIER_LOSS = {
    "tree": (0.4463, 0.4378, 0.4370, 0.4368),
    "bagging": (0.4225, 0.4153, 0.4123, 0.3990),
    "logistic": (0.4470, 0.4417, 0.4377, 0.4342),
    "naive Bayes": (0.4670, 0.4329, 0.4311, 0.4227),
    "neural network": (0.4525, 0.4574, 0.4440, 0.4234),
    "SVM": (0.4550, 0.4450, 0.4408, 0.4375),
}
PRINTED = {"log_loss": LOG_LOSS, "brier_loss": BRIER_LOSS}


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the paper, and ours."""

    loss: str  # "log_loss" (Table 1) or "brier_loss" (Table 2)
    algorithm: str
    weka: str  # what the paper calls it
    method: str
    paper: float
    ours: float | None  # None if it was not run

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's; 0 where both are infinite."""
        if self.ours is None:
            return None
        return 0.0 if self.ours == self.paper else self.ours - self.paper


@dataclass(frozen=True, slots=True)
class CellDifferences:
    """The absolute differences of the finite cells from the paper's."""

    n_cells: int
    median: float
    largest: float


def table_cells(results: Iterable[Result]) -> list[Cell]:
    """Compare our losses with those of Tables 1 and 2."""
    ours = {
        (result.algorithm, result.method): result
        for result in results
        if (result.data, result.ratio) == (TABLES, TABLES_RATIO)
        and result.merging in ("", "log")
    }
    return [
        Cell(
            loss,
            algorithm,
            ALGORITHMS[algorithm].weka,
            method,
            paper,
            getattr(ours.get((algorithm, method)), loss, None),
        )
        for loss, rows in PRINTED.items()
        for algorithm, row in rows.items()
        for method, paper in zip(TABLE_METHODS, row, strict=True)
    ]


def cell_differences(compared: Sequence[Cell]) -> CellDifferences:
    """Summarise the absolute differences of the cells that are finite in both."""
    differences = [
        abs(cell.difference)
        for cell in compared
        if cell.difference is not None
        and math.isfinite(cell.paper)
        and math.isfinite(cell.difference)
    ]
    if not differences:
        return CellDifferences(0, math.nan, math.nan)
    return CellDifferences(len(differences), median(differences), max(differences))
