"""Quality: how good a column of probabilities is, and what calibrating changed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers.predictions import (
    calibration_error_of,
    miscalibration_p_of,
    spiegelhalter_of,
)
from abers.reliability import consistency_of, curve_of, decomposition_of, levels_of

if TYPE_CHECKING:
    from abers.core.diagram import Diagram
    from abers.predictions import CalibrationTest
    from abers.reliability import ConsistencyBand, Decomposition, ReliabilityCurve
    from abers.validation import FloatArray, IntArray

HISTOGRAM_BINS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """How good one column of probabilities is.

    Attributes
    ----------
    said : float
        The mean probability.
    standard_error : float
        How far the mean label would scatter about it, were all probabilities right.
    log, brier : Decomposition
        Natural-log loss and plain Brier loss, and their parts.
    calibration_error : float
        The ECE with 10 bins; mind what `expected_calibration_error` says of it.
    test : CalibrationTest
        Spiegelhalter's, which does not see a bias that is symmetric about 1/2.
    miscalibration_p : float
        The p-value of a test by the miscalibration, which sees every bias that a rising
        map would mend; of 200 draws, so at least 1/201.
    curve : ReliabilityCurve
        The CORP curve at no more than 500 points.
    consistency : ConsistencyBand
        Where the curve would be if the probabilities were calibrated.
    histogram : ndarray of shape (50,)
        Share of the rows in bins of [0, 1] of equal width.
    """

    said: float
    standard_error: float
    log: Decomposition
    brier: Decomposition
    calibration_error: float
    test: CalibrationTest
    miscalibration_p: float
    curve: ReliabilityCurve
    consistency: ConsistencyBand
    histogram: FloatArray


@dataclass(frozen=True, slots=True)
class LossChange:
    """A mean loss before and after, and their difference paired over rows."""

    before: float  # NaN if there is nothing before
    after: float
    difference: float  # after - before; NaN if both are infinite
    standard_error: float  # of the difference; NaN where a loss is infinite


class Pairs(NamedTuple):
    """Probabilities before and after, side by side, with the rows that they are for."""

    before: FloatArray
    after: FloatArray
    negatives: IntArray | FloatArray  # weight of the rows labelled 0
    positives: IntArray | FloatArray
    scatter: tuple[FloatArray, FloatArray] | None  # of both; None if weights count rows


def quality_of(diagram: Diagram, scatter: FloatArray | None) -> Quality:
    """Judge predictions by their diagram, and by their scatter if they have weights."""
    p, counts = diagram.scores, diagram.counts
    total = counts.sum().item()
    levels = levels_of(diagram)
    squares = counts / total**2 if scatter is None else scatter
    below = np.append(0, np.cumsum(counts))
    edges = np.searchsorted(p * HISTOGRAM_BINS, np.arange(1, HISTOGRAM_BINS))
    return Quality(
        said=float((counts * p).sum() / total),
        standard_error=math.sqrt((squares * p * (1 - p)).sum()),
        log=decomposition_of(diagram, loss="log", levels=levels),
        brier=decomposition_of(diagram, loss="brier", levels=levels),
        calibration_error=calibration_error_of(diagram),
        test=spiegelhalter_of(diagram, scatter=scatter),
        miscalibration_p=miscalibration_p_of(diagram, scatter=scatter),
        curve=curve_of(diagram, levels=levels).thinned(),
        consistency=consistency_of(diagram, scatter=scatter),
        histogram=np.diff(below[edges], prepend=0, append=total) / total,
    )


def loss_change(
    pairs: Pairs, *, loss: str, before: float, after: float, n_rows: int
) -> LossChange:
    """Compare the mean losses before and after, row by row."""
    if math.isinf(before) or math.isinf(after):
        return LossChange(before, after, after - before, math.nan)
    weights = pairs.negatives, pairs.positives
    total = weights[0].sum() + weights[1].sum()
    gains = _gains(pairs, loss)
    mean = sum(float(w @ gain) for w, gain in zip(weights, gains, strict=True))
    mean /= float(total)
    squares = pairs.scatter or tuple(w / total**2 for w in weights)
    variance = sum(
        float(square @ (gain - mean) ** 2)
        for square, gain in zip(squares, gains, strict=True)
    )
    error = math.sqrt(variance * n_rows / (n_rows - 1)) if n_rows > 1 else math.nan
    return LossChange(before, after, mean, error)


def _gains(pairs: Pairs, loss: str) -> tuple[FloatArray, FloatArray]:
    """Return by how much the loss changes for a 0, and for a 1; 0 where none came."""
    gains = _GAINS[loss](pairs.before, pairs.after)
    for gain, weight in zip(gains, (pairs.negatives, pairs.positives), strict=True):
        gain[weight == 0] = 0.0
    return gains


def _log_gains(before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log1p(-before) - np.log1p(-after), np.log(before) - np.log(after)


def _brier_gains(
    before: FloatArray, after: FloatArray
) -> tuple[FloatArray, FloatArray]:
    return after**2 - before**2, (1 - after) ** 2 - (1 - before) ** 2


_GAINS = {"log": _log_gains, "brier": _brier_gains}
