"""Tables 1 and 2: what the paper prints, and what we get, cell by cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from abers.paper.algorithms import ALGORITHMS
from abers.paper.plans import TABLES, TABLES_RATIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from abers.paper.records import Result

INF = math.inf
METHODS = ("Platt", "isotonic", "IVAP", "CVAP")  # the columns

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
    """A number of the paper beside ours."""

    loss: str  # "log_loss" (Table 1) or "brier_loss" (Table 2)
    algorithm: str
    weka: str  # what the paper calls it
    method: str
    paper: float
    ours: float | None  # None if it was not run

    @property
    def distance(self) -> float | None:
        """Ours minus the paper's; 0 where both are infinite."""
        if self.ours is None:
            return None
        return 0.0 if self.ours == self.paper else self.ours - self.paper


@dataclass(frozen=True, slots=True)
class Summary:
    """How far the finite cells are from the paper's."""

    n_cells: int
    median: float
    largest: float


def cells(results: Iterable[Result]) -> list[Cell]:
    """Put our losses beside those of Tables 1 and 2.

    Parameters
    ----------
    results : iterable of Result
        Of one engine, by a plan that has the tables.

    Returns
    -------
    list of Cell
        Six algorithms by four methods by two losses, in the order of the paper.
    """
    found = {
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
            getattr(found.get((algorithm, method)), loss, None),
        )
        for loss, rows in PRINTED.items()
        for algorithm, row in rows.items()
        for method, paper in zip(METHODS, row, strict=True)
    ]


def summary(compared: Sequence[Cell]) -> Summary:
    """Say how far the cells are apart that are finite in both.

    Parameters
    ----------
    compared : sequence of Cell
        As `cells` returns them.

    Returns
    -------
    Summary
        Median and largest distance, in size.
    """
    distances = [
        abs(cell.distance)
        for cell in compared
        if cell.distance is not None
        and math.isfinite(cell.paper)
        and math.isfinite(cell.distance)
    ]
    if not distances:
        return Summary(0, math.nan, math.nan)
    return Summary(len(distances), median(distances), max(distances))
