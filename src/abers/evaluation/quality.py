"""Quality: all numbers of one column of probabilities, and changes of the losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers.evaluation.calibration_tests import (
    hosmer_lemeshow_of,
    miscalibration_p_of,
    spiegelhalter_of,
    two_sided_p,
    z_score,
)
from abers.evaluation.decision_curves import cost_curve_of, decision_curve_of
from abers.evaluation.metrics import calibration_error_of, skill_of
from abers.evaluation.recalibration import recalibration_of
from abers.evaluation.reliability import (
    consistency_of,
    curve_of,
    decomposition_of,
    levels_of,
)
from abers.evaluation.smooth_error import smooth_error_of
from abers.formatting import places
from abers.thresholds import SIGNIFICANCE

if TYPE_CHECKING:
    from abers.core.diagram import Diagram
    from abers.evaluation.calibration_tests import CalibrationTest, HosmerLemeshowTest
    from abers.evaluation.counts import Pairs
    from abers.evaluation.decision_curves import CostCurve, DecisionCurve
    from abers.evaluation.recalibration import Recalibration
    from abers.evaluation.reliability import (
        ConsistencyBand,
        Decomposition,
        ReliabilityCurve,
    )
    from abers.validation import FloatArray

HISTOGRAM_BINS = 50
PLACES = 5  # of a loss or a difference, at least


@dataclass(frozen=True, slots=True, eq=False)
class Quality:
    """How good one column of probabilities is.

    Attributes
    ----------
    mean_prediction : float
        The mean probability.
    standard_error : float
        That of the mean label, if all probabilities are right.
    log, brier : Decomposition
        Natural-log loss and plain Brier loss, and their parts.
    calibration_error : float
        The ECE with 10 bins; mind what `expected_calibration_error` says of it.
    test : CalibrationTest
        Spiegelhalter's, which does not see a bias that is symmetric about 1/2.
    miscalibration_p : float
        The p-value of a test by the miscalibration, which sees every bias a monotone
        map would correct; by 200 draws, so at least 1/201.
    recalibration : Recalibration
        Cox's calibration intercept and slope, with standard errors.
    smooth_calibration_error : float
        The smooth ECE, which has no bins.
    hosmer_lemeshow : HosmerLemeshowTest
        With 10 bins; mind what `hosmer_lemeshow_test` says of it.
    log_skill, brier_skill : float
        1 - loss / loss of the base rate; NaN with one class.
    curve : ReliabilityCurve
        The CORP curve at no more than 500 points.
    consistency : ConsistencyBand
        Where the curve would lie if the probabilities were calibrated.
    histogram : ndarray of shape (50,)
        Share of the rows in bins of [0, 1] of equal width.
    decision_curve : DecisionCurve
        Net benefit of acting on the probabilities, at thresholds 0, 0.01, … 0.99.
    cost_curve : CostCurve
        Mean cost of it, at thresholds 0, 0.01, … 1.
    """

    mean_prediction: float
    standard_error: float
    log: Decomposition
    brier: Decomposition
    calibration_error: float
    test: CalibrationTest
    miscalibration_p: float
    recalibration: Recalibration
    smooth_calibration_error: float
    hosmer_lemeshow: HosmerLemeshowTest
    log_skill: float
    brier_skill: float
    curve: ReliabilityCurve
    consistency: ConsistencyBand
    histogram: FloatArray
    decision_curve: DecisionCurve
    cost_curve: CostCurve


@dataclass(frozen=True, slots=True)
class LossChange:
    """A mean loss (or accuracy) before and after, and their difference, paired."""

    before: float  # NaN if there is nothing before
    after: float
    difference: float  # after - before; NaN if both are infinite
    standard_error: float  # of the difference; NaN where a loss is infinite

    @property
    def is_significant(self) -> bool:
        """Whether the p-value of the difference is below 0.01."""
        if math.isinf(self.difference):
            return True
        z = z_score(self.difference, self.standard_error)
        return two_sided_p(z) < SIGNIFICANCE


def quality_of(
    diagram: Diagram,
    scatter: FloatArray | None,
    ones_scatter: FloatArray | None = None,
) -> Quality:
    """Measure predictions by their diagram, and their scatter if they have weights."""
    p, counts = diagram.scores, diagram.counts
    total = counts.sum().item()
    levels = levels_of(diagram)
    squares = counts / total**2 if scatter is None else scatter
    below = np.append(0, np.cumsum(counts))
    edges = np.searchsorted(p * HISTOGRAM_BINS, np.arange(1, HISTOGRAM_BINS))
    log, brier = (
        decomposition_of(diagram, loss=loss, levels=levels) for loss in ("log", "brier")
    )
    return Quality(
        mean_prediction=float((counts * p).sum() / total),
        standard_error=math.sqrt((squares * p * (1 - p)).sum()),
        log=log,
        brier=brier,
        calibration_error=calibration_error_of(diagram),
        test=spiegelhalter_of(diagram, scatter=scatter),
        miscalibration_p=miscalibration_p_of(diagram, scatter=scatter),
        recalibration=recalibration_of(
            diagram, scatter=scatter, ones_scatter=ones_scatter
        ),
        smooth_calibration_error=smooth_error_of(diagram),
        hosmer_lemeshow=hosmer_lemeshow_of(diagram, scatter=scatter),
        log_skill=skill_of(log.loss, log.uncertainty),
        brier_skill=skill_of(brier.loss, brier.uncertainty),
        curve=curve_of(diagram, levels=levels).thinned(),
        consistency=consistency_of(diagram, scatter=scatter),
        histogram=np.diff(below[edges], prepend=0, append=total) / total,
        decision_curve=decision_curve_of(diagram),
        cost_curve=cost_curve_of(diagram),
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
    """Return the change of loss for a 0 and for a 1; 0 where none was observed."""
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


def paired_change(
    before: FloatArray | None, after: FloatArray, weights: FloatArray
) -> LossChange:
    """Compare two means over the same rows, each with a weight; None: nothing before.

    >>> import numpy as np
    >>> found = paired_change(np.array([0.5, 1.5]), np.array([0.5, 0.5]), np.ones(2))
    >>> found.before, found.after, found.difference  # 0 and -1, on average
    (1.0, 0.5, -0.5)
    >>> found.standard_error  # √((1/4 + 1/4) / (2 · 1))
    0.5
    """
    mean = float(np.average(after, weights=weights))
    if before is None:
        return LossChange(math.nan, mean, math.nan, math.nan)
    known = float(np.average(before, weights=weights))
    if math.isinf(known) or math.isinf(mean):
        return LossChange(known, mean, mean - known, math.nan)
    each, size = after - before, after.size
    gain = float(np.average(each, weights=weights))
    if size == 1:
        return LossChange(known, mean, gain, math.nan)
    squares = float((weights**2 * (each - gain) ** 2).sum()) * size / (size - 1)
    return LossChange(known, mean, gain, math.sqrt(squares) / float(weights.sum()))


def loss_text(change: LossChange, *, least: int = PLACES) -> str:
    """Write a change in words, with so many decimal places at least."""
    if math.isnan(change.before):
        return f"{change.after:.{least}f}"
    text = f"{change.before:.{least}f} before, {change.after:.{least}f} after"
    if math.isnan(change.difference):
        return text
    error = change.standard_error
    shown = places(error, 2, least=least)
    plus_minus = "" if math.isnan(error) else f" ± {error:.{shown}f}"
    return f"{text} (difference {change.difference:+.{shown}f}{plus_minus})"
