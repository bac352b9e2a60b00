"""Calibration curves: what each method makes of a score, and what many rows say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers.core.fit import fit_rule
from abers.core.merging import log_minimax, merge_folds
from abers.estimators.calibrators import IsotonicCalibrator
from experiments.paper.protocol import Fold, best
from experiments.paper.sklearn_engine import of_probability
from experiments.paper.tasks import split

if TYPE_CHECKING:
    from experiments.paper.sklearn_engine import Candidate, Engine
    from experiments.paper.tasks import Task

RATIO = "4:1"
POINTS = 401
CELLS = 50  # of test rows, in which CVAP is averaged
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
    # CVAP's mean score, mean probability and observed rate in percentiles of test rows
    crossed: tuple[tuple[float, float, float], ...] = ()


def draw(task: Task, algorithm: str, engine: Engine) -> Curves:
    """Calibrate an algorithm by every method, and ask them at scores from 0 to 1."""
    labels, rows = task.table.labels, split(RATIO, task.n_train)
    known = labels[rows.pairs[rows.single].calibrate]
    candidates = engine.score(task.table, algorithm, rows.pairs, task.test)
    chosen = best(candidates, rows.pairs, [rows.single], labels)
    scored = chosen.pairs[rows.single]
    calibration, test = scored.calibration, scored.test
    scores = np.linspace(0, 1, POINTS)
    fold = Fold(calibration, known, of_probability(scores))
    lower, upper = fit_rule(calibration.probability, known).bounds(scores).T
    truth = IsotonicCalibrator().fit(test.probability, labels[task.test])
    lines = {
        TEST: truth.predict_proba(scores)[:, 1],
        **{name: fold.calibrated(name) for name in DRAWN},
        "lower": lower,
        "upper": upper,
        "IVAP": log_minimax(lower, upper),
    }
    return Curves(
        task.name,
        algorithm,
        chosen.setting,
        known.size,
        tuple(scores.tolist()),
        {name: tuple(values.tolist()) for name, values in lines.items()},
        tuple(np.quantile(calibration.probability, np.linspace(0, 1, 101)).tolist()),
        _crossed(task, best(candidates, rows.pairs, range(len(rows.pairs)), labels)),
    )


def _crossed(task: Task, chosen: Candidate) -> tuple[tuple[float, float, float], ...]:
    """Return what CVAP says over the mean score of its models; no function of it."""
    labels, pairs = task.table.labels, split(RATIO, task.n_train).pairs
    bounds = [
        fit_rule(scores.calibration.probability, labels[pair.calibrate]).bounds(
            scores.test.probability
        )
        for scores, pair in zip(chosen.pairs, pairs, strict=True)
    ]
    p = merge_folds(np.stack(bounds))
    mean = np.mean([scores.test.probability for scores in chosen.pairs], axis=0)
    values = np.stack((mean, p, labels[task.test]), axis=1)
    cells = np.array_split(values[np.argsort(mean, kind="stable")], CELLS)
    return tuple(tuple(cell.mean(axis=0).tolist()) for cell in cells)
