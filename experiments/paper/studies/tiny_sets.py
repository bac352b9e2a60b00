"""Tiny sets: all rows train and calibrate, as in the paper that introduced the method.

Section 6 quotes nine very small data sets (Vovk and Petej, UAI 2014), on which the
simplified predictor was better than isotonic regression in 52 of 54 cases. Those sets
are not at hand; nine others of a few hundred rows stand in for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)

from experiments.paper import tasks
from experiments.paper.data import Attribute, DataTable
from experiments.paper.protocol import predict_all_methods
from experiments.paper.sklearn_engine import OF_PAPER
from experiments.paper.tasks import ALL, Task

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from abers.validation import FloatArray, IntArray
    from experiments.paper.sklearn_engine import Engine

ROWS = 300  # of a sample of a larger set
ORDERS = 3  # in which the rows are put; the first two thirds train
CROSSED = "4:1"
METHODS = ("isotonic", "IVAP", "CVAP")


@dataclass(frozen=True, slots=True)
class TinySet:
    """Brier losses on a set, over the test rows of all orders; IVAP is simplified."""

    data: str
    algorithm: str
    n_rows: int
    isotonic: float  # calibrated by the rows that train
    ivap: float
    cvap: float  # by five folds
    error: float  # of the difference of the first two, paired


def _one_of(labels: IntArray, positive: int) -> IntArray:
    chosen: IntArray = (labels == positive).astype(np.int64)
    return chosen


def _iris() -> tuple[FloatArray, IntArray]:
    x, y = load_iris(return_X_y=True)
    return x[y > 0], _one_of(y[y > 0], 1)  # the other class is separated at once


def _digits() -> tuple[FloatArray, IntArray]:
    x, y = load_digits(return_X_y=True)
    chosen = (y == 3) | (y == 8)  # noqa: PLR2004 (two digits that look alike)
    return x[chosen], _one_of(y[chosen], 8)


def _diabetes() -> tuple[FloatArray, IntArray]:
    x, progress = load_diabetes(return_X_y=True)
    return x, (progress > np.median(progress)).astype(np.int64)


def _wine() -> tuple[FloatArray, IntArray]:
    x, y = load_wine(return_X_y=True)
    return x, _one_of(y, 1)


OF_SKLEARN: dict[str, Callable[[], tuple[FloatArray, IntArray]]] = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "diabetes, above the median": _diabetes,
    "wine, class 1": _wine,
    "iris, versicolor or virginica": _iris,
    "digits, 3 or 8": _digits,
}
SAMPLED = ("german", "adult", "bank", "spambase")  # 300 random rows of each
NAMES = (*OF_SKLEARN, *SAMPLED)


def load(name: str, folder: str | os.PathLike[str]) -> DataTable:
    """Return a tiny set."""
    if name in SAMPLED:
        table = tasks.load(name, folder).table
        rows = np.random.default_rng(tasks.SEED).permutation(table.n_rows)[:ROWS]
        return table.take(rows)
    x, y = OF_SKLEARN[name]()
    columns = tuple(Attribute(f"a{i}", values) for i, values in enumerate(x.T))
    return DataTable(columns, y.astype(np.int64))


def run(name: str, folder: str | os.PathLike[str], engine: Engine) -> Iterator[TinySet]:
    """Calibrate the paper's six algorithms on a tiny set, in a few orders of it."""
    table = load(name, folder)
    for algorithm in OF_PAPER:
        rows = [
            _squares(table, algorithm, np.random.default_rng(seed), engine)
            for seed in range(ORDERS)
        ]
        isotonic, ivap, cvap = np.concatenate(rows, axis=1)
        difference = ivap - isotonic
        # A row is tested in several orders, so that few rows are independent.
        error = difference.std(ddof=1) / np.sqrt(min(difference.size, table.n_rows))
        yield TinySet(
            name,
            algorithm,
            table.n_rows,
            float(isotonic.mean()),
            float(ivap.mean()),
            float(cvap.mean()),
            float(error),
        )


def _squares(
    table: DataTable, algorithm: str, rng: np.random.Generator, engine: Engine
) -> FloatArray:
    """Return the Brier losses of the test rows by each method: (3, n)."""
    shuffled = table.take(rng.permutation(table.n_rows))
    task = Task("tiny", shuffled, 2 * table.n_rows // 3)
    labels = shuffled.labels[task.test]
    found = {}
    for ratio, names in ((ALL, METHODS[:2]), (CROSSED, METHODS[2:])):
        outcome = predict_all_methods(task, algorithm, ratio, engine)
        for one in outcome.predictions:
            p = one.probabilities
            if p is not None and one.method in names and one.merging != "brier":
                found[one.method] = 4 * (labels - p) ** 2
    return np.stack([found[name] for name in METHODS])
