"""Protocol: train, tune, calibrate and predict, for one task, algorithm and ratio.

Methods that split once take one fold; crossed methods take K folds. Crossed Platt and
crossed isotonic regression predict the arithmetic mean of what their K calibrators
predict, so that what crossing gains and what the bounds gain can be told apart.

Beside the paper's CVAP there are its relatives: one isotonic regression on all folds
(pooled, the new object weighing 1 or K), merging in two steps by two losses, and one
model of all training rows with the scores of the folds to calibrate it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers import losses
from abers.comparison.methods import FINITE, Method, Scores, Uncalibrated
from abers.core.fit import fit_rule
from abers.core.merging import brier_minimax, log_minimax, merge_folds
from abers.core.pooled import fit_pooled_rule
from abers.errors import InvalidData, InvertedScoresWarning
from abers.estimators.calibrators import IsotonicCalibrator, PlattCalibrator
from experiments.paper.tasks import RowPair, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.choices import LossName
    from abers.validation import FloatArray, IntArray
    from experiments.paper.sklearn_engine import (
        Candidate,
        Engine,
        Scores as ModelScores,
    )
    from experiments.paper.tasks import Task

ROUNDING = 1e-12  # of a deficiency: 0 may come out this much below it
WITH_ONE_MODEL = "4:1"  # five folds: the ratio at which a model of all rows is trained

POOLED, POOLED_K = "CVAP pooled", "CVAP pooled, weight K"
LOG_THEN_BRIER, BRIER_THEN_LOG = "CVAP log, then Brier", "CVAP Brier, then log"
ONE_MODEL = "CVAP one model"
RELATIVES = (POOLED, POOLED_K, LOG_THEN_BRIER, BRIER_THEN_LOG, ONE_MODEL)


class MethodOnScale(NamedTuple):
    """A method, and which of the scores it sees: "probability" or "margin"."""

    method: Method
    scale: str = "probability"


PLATT = PlattCalibrator(regularised=False)  # the paper fits sigmoids to plain labels
METHODS = {
    "underlying": MethodOnScale(Method(Uncalibrated())),
    "Platt": MethodOnScale(Method(PLATT)),
    "Platt regularised": MethodOnScale(Method(PlattCalibrator())),
    "Platt log-odds": MethodOnScale(Method(PLATT, FINITE), "margin"),
    "isotonic": MethodOnScale(Method(IsotonicCalibrator())),
    # A footnote's idea.
    "isotonic dummies": MethodOnScale(Method(IsotonicCalibrator(dummies=True))),
}


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Calibration scores and labels, and the test scores of the same model."""

    calibration: ModelScores
    labels: IntArray
    test: ModelScores

    def calibrated(self, name: str) -> FloatArray:
        """Fit a method of `METHODS`, and predict the test objects."""
        method, scale = METHODS[name]
        scores, new = (
            Scores.of_columns(getattr(rows, scale)[:, np.newaxis], scale)
            for rows in (self.calibration, self.test)
        )
        p: FloatArray = method.predict(scores, self.labels, None, new)[:, 1]
        return p


@dataclass(frozen=True, slots=True, eq=False)
class MethodPrediction:
    """What a method predicts for the test objects."""

    method: str
    merging: str  # "log", "brier", "mean" or ""
    probabilities: FloatArray | None  # None if the method has no prediction
    bounds: FloatArray | None = None  # (n, 2); of Venn-Abers predictors only
    deficiency: float | None = None  # mean of log2(GM(1-p0) + GM(p1)), at most 1
    deficiency_negative: float | None = None  # share of test objects with one below 0
    seconds: float = 0.0  # to calibrate and to predict
    reason: str = ""  # why there is no prediction


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Predictions for the test objects by all methods, and the settings chosen."""

    labels: IntArray  # of the test objects
    predictions: tuple[MethodPrediction, ...]
    settings: tuple[str, ...]  # of each prediction
    training: float = 0.0  # seconds to train and to score, all settings together


def predict_all_methods(
    task: Task, algorithm: str, ratio: str, engine: Engine
) -> Outcome:
    """Run all methods on one task, one algorithm and one ratio.

    Methods that split once use the setting whose raw scores have the smallest Brier
    loss on their calibration rows; crossed methods the one setting with the smallest
    sum over the folds.
    """
    labels = task.table.labels
    rows = split(ratio, task.n_train)
    pairs = rows.pairs + (_whole(task) if ratio == WITH_ONE_MODEL else ())
    start = perf_counter()
    candidates = engine.score(task.table, algorithm, pairs, task.test)
    training = perf_counter() - start
    once = best(candidates, rows.pairs, [rows.single], labels)
    with warnings.catch_warnings():
        # On `bank` in time order some scores are inverted: a result, not a mistake.
        warnings.simplefilter("ignore", InvertedScoresWarning)
        predictions = predict_once(_folds(once, rows.pairs, labels)[rows.single])
        settings = [once.setting] * len(predictions)
        if rows.is_crossed:
            crossed = best(candidates, rows.pairs, range(len(rows.pairs)), labels)
            folds = _folds(crossed, rows.pairs, labels)
            predictions += predict_crossed(folds)
            if rows.is_partition:
                predictions += _pooled(folds)
            if len(pairs) > len(rows.pairs):
                predictions.append(_by_one_model(folds, crossed.pairs[-1].test))
            settings += [crossed.setting] * (len(predictions) - len(settings))
    return Outcome(labels[task.test], tuple(predictions), tuple(settings), training)


def _whole(task: Task) -> tuple[RowPair]:
    """Return a pair that trains on all rows; what it calibrates is not used."""
    rows = np.arange(task.n_train)
    return (RowPair(rows, rows[:1]),)


def best(
    candidates: Sequence[Candidate],
    pairs: Sequence[RowPair],
    counted: Sequence[int],
    labels: IntArray,
) -> Candidate:
    """Return the candidate of smallest Brier loss, summed over the counted pairs."""

    def loss(candidate: Candidate) -> float:
        return sum(
            losses.paper_brier_loss(
                labels[pairs[i].calibrate], candidate.pairs[i].calibration.probability
            )
            * pairs[i].calibrate.size
            for i in counted
        )

    return min(candidates, key=loss)


def _folds(
    candidate: Candidate, pairs: Sequence[RowPair], labels: IntArray
) -> list[Fold]:
    return [
        Fold(scores.calibration, labels[pair.calibrate], scores.test)
        for scores, pair in zip(candidate.pairs, pairs, strict=False)
    ]


def predict_once(fold: Fold) -> list[MethodPrediction]:
    """Predict by every method that splits once; IVAP by both mergings."""
    plain = [_averaged(name, [fold]) for name in METHODS]
    return plain + _venn_abers("IVAP", [fold])


def predict_crossed(folds: Sequence[Fold]) -> list[MethodPrediction]:
    """Predict by every crossed method; CVAP by both mergings."""
    plain = [_averaged(name, folds, "cross ", "mean") for name in METHODS]
    return plain + _venn_abers("CVAP", folds) + _two_steps(folds)


def _averaged(
    name: str, folds: Sequence[Fold], prefix: str = "", merging: str = ""
) -> MethodPrediction:
    start = perf_counter()
    try:
        predicted = [fold.calibrated(name) for fold in folds]
    except InvalidData as refusal:  # a sigmoid without a finite best fit
        return MethodPrediction(prefix + name, merging, None, reason=str(refusal))
    mean: FloatArray = np.mean(predicted, axis=0)
    seconds = perf_counter() - start
    return MethodPrediction(prefix + name, merging, mean, seconds=seconds)


def _venn_abers(name: str, folds: Sequence[Fold]) -> list[MethodPrediction]:
    start = perf_counter()
    bounds = _bounds(folds)
    shared = perf_counter() - start
    absent, present = _geometric_means(bounds)
    # (1 - GM(1-p0), GM(p1)) comes reversed where the folds disagree, so it is sorted.
    pairs: dict[LossName, FloatArray] = {
        "log": np.sort(np.stack((1 - absent, present), axis=1)),
        "brier": np.sort(bounds.mean(axis=0)),
    }
    found = []
    for merging, pair in pairs.items():
        start = perf_counter()
        merged = merge_folds(bounds, merging)
        seconds = shared + perf_counter() - start
        found.append(MethodPrediction(name, merging, merged, pair, seconds=seconds))
    deficiency = np.log2(absent + present)
    mean, negative = deficiency.mean(), (deficiency < -ROUNDING).mean()
    log = replace(found[0], deficiency=float(mean), deficiency_negative=float(negative))
    return [log, found[1]]


def _bounds(folds: Sequence[Fold]) -> FloatArray:
    """Return the bounds of the test objects by each fold: (K, n, 2)."""
    return np.stack(
        [
            fit_rule(fold.calibration.probability, fold.labels).bounds(
                fold.test.probability
            )
            for fold in folds
        ]
    )


def _two_steps(folds: Sequence[Fold]) -> list[MethodPrediction]:
    """Merge each fold's bounds for one loss, then the folds for the other."""
    start = perf_counter()
    bounds = _bounds(folds)
    shared = perf_counter() - start
    p0, p1 = bounds[..., 0], bounds[..., 1]
    steps: dict[str, tuple[FloatArray, LossName]] = {
        # Two numbers that are equal leave the second step nothing but the means.
        LOG_THEN_BRIER: (log_minimax(p0, p1), "brier"),
        BRIER_THEN_LOG: (brier_minimax(p0, p1), "log"),
    }
    found = []
    for name, (precise, then) in steps.items():
        start = perf_counter()
        merged = merge_folds(np.stack((precise, precise), axis=-1), then)
        seconds = shared + perf_counter() - start
        found.append(MethodPrediction(name, "", merged, seconds=seconds))
    return found


def _pooled(folds: Sequence[Fold]) -> list[MethodPrediction]:
    """Predict by one isotonic regression on the folds as a star."""
    scores, labels = _out_of_fold(folds)
    place = np.repeat(np.arange(len(folds)), [fold.labels.size for fold in folds])
    new = np.stack([fold.test.probability for fold in folds], axis=1)
    found = []
    for name, weight in ((POOLED, 1), (POOLED_K, len(folds))):
        start = perf_counter()
        bounds = fit_pooled_rule(scores, labels, place, weight=weight).bounds(new)
        merged = log_minimax(bounds[:, 0], bounds[:, 1])
        seconds = perf_counter() - start
        found.append(MethodPrediction(name, "log", merged, bounds, seconds=seconds))
    return found


def _by_one_model(folds: Sequence[Fold], test: ModelScores) -> MethodPrediction:
    """Calibrate a model of all training rows by the scores of the folds' models."""
    start = perf_counter()
    bounds = fit_rule(*_out_of_fold(folds)).bounds(test.probability)
    merged = log_minimax(bounds[:, 0], bounds[:, 1])
    seconds = perf_counter() - start
    return MethodPrediction(ONE_MODEL, "log", merged, bounds, seconds=seconds)


def _out_of_fold(folds: Sequence[Fold]) -> tuple[FloatArray, IntArray]:
    scores = np.concatenate([fold.calibration.probability for fold in folds])
    return scores, np.concatenate([fold.labels for fold in folds])


def _geometric_means(bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return GM(1-p0) and GM(p1) over the folds."""
    with np.errstate(divide="ignore"):
        absent = np.exp(np.log1p(-bounds[..., 0]).mean(axis=0))
        present = np.exp(np.log(bounds[..., 1]).mean(axis=0))
    return absent, present
