"""Calibration curves: what each method makes of a score, and what many rows say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers.core.fit import fit_rule
from abers.estimators.calibrators import IsotonicCalibrator
from abers.paper.protocol import Fold, best
from abers.paper.sklearn_engine import of_probability
from abers.paper.tasks import split

if TYPE_CHECKING:
    from abers.paper.sklearn_engine import Engine
    from abers.paper.tasks import Task

RATIO = "4:1"
POINTS = 401
TEST = "test rows"  # isotonic regression of all test rows: nearly the truth
DRAWN = ("Platt", "Platt log-odds", "isotonic")


@dataclass(frozen=True, slots=True)
class Curves:
    """Calibration functions of one algorithm, over scores from 0 to 1."""

    data: str
    algorithm: str
    setting: str
    n_rows: int  # that calibrate
    scores: tuple[float, ...]
    lines: dict[str, tuple[float, ...]]  # by method; bounds are "lower" and "upper"
    quantiles: tuple[float, ...]  # of the calibration scores


def draw(task: Task, algorithm: str, engine: Engine) -> Curves:
    """Calibrate an algorithm by every method, and ask them at scores from 0 to 1."""
    labels, rows = task.table.labels, split(RATIO, task.n_train)
    pair = rows.pairs[rows.single]
    known = labels[pair.calibrate]
    candidates = engine.score(task.table, algorithm, [pair], task.test)
    chosen = best(candidates, [pair], [0], labels)
    calibration, test = chosen.pairs[0].calibration, chosen.pairs[0].test
    scores = np.linspace(0, 1, POINTS)
    fold = Fold(calibration, known, of_probability(scores))
    lower, upper = fit_rule(calibration.probability, known).bounds(scores).T
    truth = IsotonicCalibrator().fit(test.probability, labels[task.test])
    lines = {
        TEST: truth.predict_proba(scores)[:, 1],
        **{name: fold.calibrated(name) for name in DRAWN},
        "lower": lower,
        "upper": upper,
    }
    return Curves(
        task.name,
        algorithm,
        chosen.setting,
        known.size,
        tuple(scores.tolist()),
        {name: tuple(values.tolist()) for name, values in lines.items()},
        tuple(np.quantile(calibration.probability, np.linspace(0, 1, 101)).tolist()),
    )
