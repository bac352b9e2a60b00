"""Protocol: train, tune, calibrate, predict, measure; one unit of work."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from abers import losses
from abers.paper.methods import Fold, Prediction, predict_crossed, predict_once
from abers.paper.records import Finished, Result, Unit
from abers.paper.splits import split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.paper.scores import Candidate
    from abers.paper.splits import Pair
    from abers.paper.standins import Engine
    from abers.paper.tasks import Task
    from abers.validation import IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Predictions of the test objects by all methods, and the settings chosen."""

    labels: IntArray  # of the test objects
    predictions: tuple[Prediction, ...]
    settings: tuple[str, ...]  # of each prediction


def predict(task: Task, algorithm: str, ratio: str, engine: Engine) -> Outcome:
    """Run all methods on one task, one algorithm and one ratio.

    Parameters
    ----------
    task : Task
        Training and test rows.
    algorithm : str
        Name of an underlying algorithm.
    ratio : str
        Of proper training to calibration rows, or "all".
    engine : Engine
        Runs the algorithm.

    Returns
    -------
    Outcome
        Methods that split once use the setting whose raw scores have the smallest
        Brier loss on their calibration rows; crossed methods the one setting with the
        smallest sum over the folds.
    """
    labels = task.table.labels
    rows = split(ratio, task.n_train)
    candidates = engine.score(task.table, algorithm, rows.pairs, task.test)
    once = _best(candidates, rows.pairs, [rows.single], labels)
    folds = _folds(once, rows.pairs, labels)
    predictions = predict_once(folds[rows.single])
    settings = [once.setting] * len(predictions)
    if rows.is_crossed:
        crossed = _best(candidates, rows.pairs, range(len(rows.pairs)), labels)
        predictions += predict_crossed(_folds(crossed, rows.pairs, labels))
        settings += [crossed.setting] * (len(predictions) - len(settings))
    return Outcome(labels[task.test], tuple(predictions), tuple(settings))


def run(task: Task, unit: Unit, engine: Engine) -> Finished:
    """Do one unit of work: predict, and measure what was predicted.

    Parameters
    ----------
    task : Task
        The one that the unit names.
    unit : Unit
        Names of task, algorithm and ratio.
    engine : Engine
        Runs the algorithm.

    Returns
    -------
    Finished
        One result for each method.
    """
    start = perf_counter()
    outcome = predict(task, unit.algorithm, unit.ratio, engine)
    results = tuple(
        _measured(prediction, outcome.labels, unit, engine.name, setting)
        for prediction, setting in zip(
            outcome.predictions, outcome.settings, strict=True
        )
    )
    grid = engine.settings(unit.algorithm)
    return Finished(engine.name, unit, grid, perf_counter() - start, results)


def _best(
    candidates: Sequence[Candidate],
    pairs: Sequence[Pair],
    counted: Sequence[int],
    labels: IntArray,
) -> Candidate:
    """Return the candidate of smallest Brier loss, summed over the counted pairs."""

    def loss(candidate: Candidate) -> float:
        return sum(
            losses.mean_brier_loss(
                labels[pairs[i].calibrate], candidate.pairs[i].calibration.probability
            )
            * pairs[i].calibrate.size
            for i in counted
        )

    return min(candidates, key=loss)


def _folds(candidate: Candidate, pairs: Sequence[Pair], labels: IntArray) -> list[Fold]:
    return [
        Fold(scores.calibration, labels[pair.calibrate], scores.test)
        for scores, pair in zip(candidate.pairs, pairs, strict=True)
    ]


def _measured(
    prediction: Prediction, labels: IntArray, unit: Unit, engine: str, setting: str
) -> Result:
    p = prediction.probabilities
    widths = None if prediction.bounds is None else np.ptp(prediction.bounds, axis=1)
    return Result(
        engine=engine,
        data=unit.data,
        algorithm=unit.algorithm,
        ratio=unit.ratio,
        method=prediction.method,
        merging=prediction.merging,
        log_loss=np.nan if p is None else losses.mean_log_loss(labels, p),
        brier_loss=np.nan if p is None else losses.mean_brier_loss(labels, p),
        n_infinite=0 if p is None else int((p == 1 - labels).sum()),
        setting=setting,
        width_mean=None if widths is None else float(widths.mean()),
        width_median=None if widths is None else float(np.median(widths)),
        width_largest=None if widths is None else float(widths.max()),
        deficiency=prediction.deficiency,
        deficiency_negative=prediction.deficiency_negative,
        seconds=prediction.seconds,
        reason=prediction.reason,
    )
