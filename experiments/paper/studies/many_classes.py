"""Many classes: covertype with all seven, and digits, with losses scaled for C classes.

The paper's plan, never carried out in it: pairs of classes, each with its own rule,
coupled; beside it, each class against the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from abers import losses
from abers.estimators.venn_abers_classifiers import CVAPClassifier, IVAPClassifier
from experiments.paper import data
from experiments.paper.data import Attribute, DataTable
from experiments.paper.tasks import SMALL_TRAIN, Preparation, Task, split

if TYPE_CHECKING:
    import os

    from abers.validation import FloatArray

FOLDS = "4:1"
SEED = 0


@dataclass(frozen=True, slots=True)
class ManyClasses:
    """A method on a task of C classes; always guessing 1/C costs 1."""

    data: str
    n_classes: int
    algorithm: str
    method: str  # underlying, IVAP or CVAP
    multiclass: str  # "ovo", "ovr" or ""
    log_loss: float  # base C
    brier_loss: float  # times C / (C - 1)
    accuracy: float
    seconds: float  # to train, calibrate and predict


def models() -> dict[str, Any]:
    """Return the underlying algorithms, at fixed settings: nothing is tuned here."""
    return {
        "tree": DecisionTreeClassifier(
            criterion="entropy", min_samples_leaf=2, ccp_alpha=0.002, random_state=SEED
        ),
        "logistic": LogisticRegression(C=0.1, solver="newton-cholesky", tol=1e-8),
        "naive Bayes": GaussianNB(var_smoothing=1e-3),
    }


def load(name: str, folder: str | os.PathLike[str]) -> Task:
    """Read covertype (30,000 rows, the first 5,000 train) or digits (two thirds)."""
    if name == "covertype":
        return Task(name, data.load(name, folder), SMALL_TRAIN)
    pixels, labels = load_digits(return_X_y=True)
    columns = tuple(Attribute(f"a{i}", values) for i, values in enumerate(pixels.T))
    return Task(name, DataTable(columns, labels.astype(np.int64)), 2 * labels.size // 3)


def run(task: Task) -> list[ManyClasses]:
    """Calibrate each algorithm by pairs of classes, and by each class and the rest.

    Underlying and IVAP train on the first four fifths of the training rows; CVAP has
    five contiguous folds. Numbers are standardised by those four fifths.
    """
    rows = np.arange(task.n_train)
    pairs = [(pair.train, pair.calibrate) for pair in split(FOLDS, rows.size).pairs]
    train, calibrate = pairs[-1]
    inputs = Preparation.of(task.table, train).apply(task.table)
    classes = int(task.table.labels.max()) + 1
    found = []
    with threadpool_limits(1):
        for name, model in models().items():
            asked: list[tuple[str, str, Any, Any]] = [("underlying", "", model, train)]
            for way in ("ovo", "ovr"):
                # Probabilities: a margin of a multinomial model says little of one
                # class against the rest.
                how: Any = {"multiclass": way, "response_method": "predict_proba"}
                once = IVAPClassifier(model, calibration=calibrate, **how)
                crossed = CVAPClassifier(model, cv=pairs, merge="minimax", **how)
                asked += [("IVAP", way, once, rows), ("CVAP", way, crossed, rows)]
            for method, way, predictor, known in asked:
                numbers = _measured(task, inputs.design, predictor, known)
                names = (task.name, classes, name, method, way)
                found.append(ManyClasses(*names, *numbers))
    return found


def _measured(
    task: Task, design: FloatArray, predictor: Any, known: Any
) -> tuple[float, float, float, float]:
    start = perf_counter()
    labels = task.table.labels
    fitted = clone(predictor).fit(design[known], labels[known])
    p = fitted.predict_proba(design[task.test])
    seconds = perf_counter() - start
    y = labels[task.test]
    return (
        losses.paper_log_loss(y, p),
        losses.paper_brier_loss(y, p),
        float((p.argmax(axis=1) == y).mean()),
        seconds,
    )
