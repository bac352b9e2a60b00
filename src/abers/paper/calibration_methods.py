"""Calibration methods: from scores and labels to probabilities of test objects.

Methods that split once take one fold; crossed methods take K folds. Crossed Platt and
crossed isotonic regression predict the arithmetic mean of what their K calibrators
predict, so that what crossing gains and what the bounds gain can be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from abers.core.fit import fit_rule
from abers.core.merging import merge_folds
from abers.errors import InvalidScores
from abers.estimators import IsotonicCalibrator, PlattCalibrator

if TYPE_CHECKING:
    from abers.paper.sklearn_engine import Scores
    from abers.validation import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Calibration scores and labels, and the test scores of the same model."""

    calibration: Scores
    labels: IntArray
    test: Scores


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What a method predicts of the test objects."""

    method: str
    merging: str  # "log", "brier", "mean" or ""
    probabilities: FloatArray | None  # None if the method has no answer
    bounds: FloatArray | None = None  # (n, 2); of Venn-Abers predictors only
    deficiency: float | None = None  # mean of log2(GM(1-p0) + GM(p1)), at most 1
    deficiency_negative: float | None = None  # share of test objects with one below 0
    seconds: float = 0.0  # to calibrate and to predict
    reason: str = ""  # why there is no answer


Calibrate = Callable[[Fold], "FloatArray"]
ROUNDING = 1e-12  # of a deficiency: 0 may come out this much below it


def underlying(fold: Fold) -> FloatArray:
    """Return the underlying algorithm's own probabilities."""
    return fold.test.probability


def platt(fold: Fold) -> FloatArray:
    """Fit a sigmoid of probabilities to plain labels, as the paper does."""
    model = PlattCalibrator(regularised=False)
    model.fit(fold.calibration.probability, fold.labels)
    return model.predict_proba(fold.test.probability)[:, 1]


def platt_regularised(fold: Fold) -> FloatArray:
    """Fit a sigmoid of probabilities to Platt's regularised targets."""
    model = PlattCalibrator().fit(fold.calibration.probability, fold.labels)
    return model.predict_proba(fold.test.probability)[:, 1]


def platt_log_odds(fold: Fold) -> FloatArray:
    """Fit a sigmoid of log-odds, or of margins, to plain labels."""
    model = PlattCalibrator(regularised=False)
    model.fit(fold.calibration.margin, fold.labels)
    return model.predict_proba(fold.test.margin)[:, 1]


def isotonic(fold: Fold) -> FloatArray:
    """Fit isotonic regression."""
    model = IsotonicCalibrator().fit(fold.calibration.probability, fold.labels)
    return model.predict_proba(fold.test.probability)[:, 1]


def isotonic_dummies(fold: Fold) -> FloatArray:
    """Fit isotonic regression with a 0 at +inf and a 1 at -inf: a footnote's idea."""
    model = IsotonicCalibrator(dummies=True)
    model.fit(fold.calibration.probability, fold.labels)
    return model.predict_proba(fold.test.probability)[:, 1]


PLAIN: dict[str, Calibrate] = {
    "underlying": underlying,
    "Platt": platt,
    "Platt regularised": platt_regularised,
    "Platt log-odds": platt_log_odds,
    "isotonic": isotonic,
    "isotonic dummies": isotonic_dummies,
}


def predict_once(fold: Fold) -> list[Prediction]:
    """Predict by every method that splits once; IVAP by both mergings."""
    plain = [_averaged(name, "", f, [fold]) for name, f in PLAIN.items()]
    return plain + _venn_abers("IVAP", [fold])


def predict_crossed(folds: Sequence[Fold]) -> list[Prediction]:
    """Predict by every crossed method; CVAP by both mergings."""
    plain = [_averaged(f"cross {name}", "mean", f, folds) for name, f in PLAIN.items()]
    return plain + _venn_abers("CVAP", folds)


def _averaged(
    name: str, merging: str, calibrate: Calibrate, folds: Sequence[Fold]
) -> Prediction:
    start = perf_counter()
    try:
        predicted = [calibrate(fold) for fold in folds]
    except InvalidScores as refusal:  # a sigmoid without a finite best fit
        return Prediction(name, merging, None, reason=str(refusal))
    mean: FloatArray = np.mean(predicted, axis=0)
    return Prediction(name, merging, mean, seconds=perf_counter() - start)


def _venn_abers(name: str, folds: Sequence[Fold]) -> list[Prediction]:
    start = perf_counter()
    bounds = np.stack(
        [
            fit_rule(fold.calibration.probability, fold.labels).bounds(
                fold.test.probability
            )
            for fold in folds
        ]
    )
    shared = perf_counter() - start
    found = []
    for merging, pair in (("log", _fold_pair(bounds)), ("brier", bounds.mean(axis=0))):
        start = perf_counter()
        merged = merge_folds(bounds, merging)
        seconds = shared + perf_counter() - start
        found.append(Prediction(name, merging, merged, np.sort(pair), seconds=seconds))
    deficiency = _deficiency(bounds)
    mean, negative = deficiency.mean(), (deficiency < -ROUNDING).mean()
    log = replace(found[0], deficiency=float(mean), deficiency_negative=float(negative))
    return [log, found[1]]


def _geometric_means(bounds: FloatArray) -> tuple[FloatArray, FloatArray]:
    with np.errstate(divide="ignore"):
        absent = np.exp(np.log1p(-bounds[..., 0]).mean(axis=0))
        present = np.exp(np.log(bounds[..., 1]).mean(axis=0))
    return absent, present


def _fold_pair(bounds: FloatArray) -> FloatArray:
    """Return (1 - GM(1-p0), GM(p1)); reversed where the folds disagree."""
    absent, present = _geometric_means(bounds)
    return np.stack((1 - absent, present), axis=1)


def _deficiency(bounds: FloatArray) -> FloatArray:
    """Return log2(GM(1-p0) + GM(p1)) of each test object."""
    absent, present = _geometric_means(bounds)
    deficiency: FloatArray = np.log2(absent + present)
    return deficiency
