"""Classwise: the metrics of each of several classes against the rest."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from abers.core.auc import auc_of
from abers.evaluation.counts import bin_of, counted
from abers.evaluation.groups import PartEvaluation, ordered
from abers.evaluation.metrics import column_skill
from abers.evaluation.reliability import consistency_of, curve_of
from abers.thresholds import ECE_BINS

if TYPE_CHECKING:
    from abers.core.diagram import Diagram
    from abers.core.predictions import Predictions
    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve
    from abers.validation import FloatArray, IntArray

MOST_BANDS = 12  # classes shown in a figure
RESAMPLES = 200  # for their bands, which are drawn small


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassEvaluation(PartEvaluation):
    """The metrics of one class against the rest.

    Attributes
    ----------
    name : object
        Its label.
    n_rows, n_predicted : int
        Rows of this class, and rows for which it is the most probable one.
    mean_prediction, observed_rate, difference : float
        The mean probability of the class, the share of its rows, and the former minus
        the latter.
    standard_error : float
        Standard error of the difference, if all probabilities are right.
    p_value : float
        For the difference, corrected for the number of classes (Holm).
    log_loss, brier_loss : float
        Losses of this class's probability alone: this class or not.
    log_skill, brier_skill : float
        1 - loss / loss of the base rate; NaN if the class does not occur.
    calibration_error : float
        The ECE with 10 bins.
    auc : float
        This class against the rest; NaN if it does not occur.
    recall, precision : float
        The share of its rows that are predicted as this class, and the share of rows
        predicted as this class that belong to it; NaN if there are none.
    mean_prediction_before, log_loss_before, brier_loss_before : float
        Before calibration; NaN if unknown.
    calibration_error_before : float
        The same for the ECE.
    small : bool
        Fewer than five rows of it, or of the rest, expected and observed.
    curve : ReliabilityCurve
        With at most 500 points.
    consistency : ConsistencyBand or None
        For the first twelve classes only.
    """

    n_predicted: int
    log_skill: float
    brier_skill: float
    recall: float
    precision: float
    curve: ReliabilityCurve
    consistency: ConsistencyBand | None


def confusion_of(
    predictions: Predictions, weights: FloatArray | None = None
) -> IntArray | FloatArray:
    """Count rows by class (row) and by most probable class (column).

    >>> from abers.core.predictions import Predictions
    >>> p = np.array([[0.9, 0.1]] * 3)
    >>> confusion_of(Predictions(p, ("a", "b"), np.array([0, 0, 1])))
    array([[2, 0],
           [1, 0]])
    """
    count = len(predictions.classes)
    cells = predictions.labels * count + predictions.probabilities.argmax(axis=1)
    sums = np.bincount(cells, weights=weights, minlength=count**2)
    return sums.reshape(count, count)


def classwise_error(
    predictions: Predictions, weights: FloatArray | None = None, bins: int = ECE_BINS
) -> float:
    """Return the classwise ECE: the mean over classes, each against the rest.

    >>> from abers.core.predictions import Predictions
    >>> p = np.array([[0.5, 0.25, 0.25], [0.25, 0.75, 0.0]])
    >>> y = np.array([0, 1])  # bins of one row: off by 1/2, 1/4; 1/4, 1/4; 1/4, 0
    >>> classwise_error(Predictions(p, (0, 1, 2), y))  # (3/4 + 1/2 + 1/4) / 2 / 3
    0.25
    """
    y, p = predictions.labels, predictions.probabilities
    w = np.ones(y.size) if weights is None else weights
    count = p.shape[1]
    gap = -p * w[:, np.newaxis]
    gap[np.arange(y.size), y] += w
    cells = bin_of(p, bins) + bins * np.arange(count)
    sums = np.bincount(cells.ravel(), weights=gap.ravel(), minlength=bins * count)
    return float(abs(sums).sum() / w.sum() / count)


def evaluate_classes(
    predictions: Predictions, weights: FloatArray | None = None
) -> tuple[ClassEvaluation, ...]:
    """Evaluate each class; the largest |z| first, small classes after all others."""
    confusion = np.asarray(confusion_of(predictions, weights), dtype=np.float64)
    top = predictions.probabilities.argmax(axis=1)
    n_predicted = np.bincount(top, minlength=len(predictions.classes))
    every = []
    columns = {}
    for place, name in enumerate(predictions.classes):
        part = predictions.against_rest(place)
        columns[name] = column = counted(*part.column(), weights)
        hits = confusion[place, place]
        every.append(
            ClassEvaluation.of(
                name,
                part,
                weights,
                column.diagram,
                n_rows=int(part.labels.sum()),
                n_predicted=n_predicted[place].item(),
                auc=auc_of(column.diagram),
                log_skill=column_skill(column.diagram, "log"),
                brier_skill=column_skill(column.diagram, "brier"),
                recall=_ratio(hits, confusion[place].sum()),
                precision=_ratio(hits, confusion[:, place].sum()),
                curve=curve_of(column.diagram).thinned(),
                consistency=None,
            )
        )
    first, rest = (classes := ordered(every))[:MOST_BANDS], classes[MOST_BANDS:]
    return (
        *(replace(each, consistency=_band(*columns[each.name][:2])) for each in first),
        *rest,
    )


def _band(diagram: Diagram, scatter: FloatArray | None) -> ConsistencyBand:
    return consistency_of(diagram, scatter=scatter, resamples=RESAMPLES)


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else math.nan
