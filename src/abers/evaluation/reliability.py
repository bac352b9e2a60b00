"""Reliability: observed rates by prediction, as a curve and as parts of a loss.

Functions take labels and predictions. Their counterparts, whose names end in `_of`,
take the diagram of the predictions (weights per distinct prediction), so that rows are
sorted only once. Losses are defined as in scikit-learn: natural logarithm, plain Brier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers import validation
from abers.core.isotonic import isotonic_regression
from abers.errors import InvalidParameter
from abers.evaluation.counts import (
    MOST_CELLS,
    cell_starts,
    cells_of,
    counted,
    diagram_of,
)
from abers.losses import SCORING_LOSSES, mean_loss

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.choices import LossName
    from abers.core.diagram import Diagram
    from abers.validation import FloatArray, IntArray

__all__ = [
    "ConsistencyBand",
    "Decomposition",
    "ReliabilityCurve",
    "consistency_band",
    "decompose",
    "reliability_curve",
]


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityCurve:
    """The CORP reliability curve: observed rates by predicted probability.

    Attributes
    ----------
    probabilities : ndarray of shape (k,)
        The distinct predictions, ascending.
    frequencies : ndarray of shape (k,)
        The isotonic regression of the labels on them.
    weights : ndarray of shape (k,)
        The weight of each prediction.
    """

    probabilities: FloatArray
    frequencies: FloatArray
    weights: FloatArray

    def thinned(self, points: int = 500) -> ReliabilityCurve:
        """Keep the ends of each level, and at most this many points.

        The ends of the levels, joined by straight lines, are the whole curve.

        Parameters
        ----------
        points : int, default=500
            Largest number of points, at least 2.

        Returns
        -------
        ReliabilityCurve
            Each point has its own weight plus that of the points dropped before it.
        """
        level = self.frequencies
        step = level[1:] != level[:-1]
        kept = np.flatnonzero(np.append(True, step) | np.append(step, True))
        if kept.size > points:
            places = np.linspace(0, kept.size - 1, max(points, 2))
            kept = kept[places.round().astype(np.int64)]
        weights = np.diff(np.cumsum(self.weights)[kept], prepend=0.0)
        return ReliabilityCurve(self.probabilities[kept], level[kept], weights)


@dataclass(frozen=True, slots=True, eq=False)
class ConsistencyBand:
    """Where the reliability curve would be if the predictions were calibrated.

    Attributes
    ----------
    probabilities : ndarray of shape (k,)
        Predictions, ascending.
    lower, upper : ndarray of shape (k,)
        The ends of the band at each of them.
    confidence : float
        For each prediction separately.
    """

    probabilities: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A mean loss as miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    loss : float
        The mean over rows.
    miscalibration : float
        What recalibration would save.
    discrimination : float
        What the predictions save compared with the base rate.
    uncertainty : float
        The loss of always predicting the base rate.
    """

    loss: float
    miscalibration: float
    discrimination: float
    uncertainty: float


class Levels(NamedTuple):
    """The runs of predictions to which isotonic regression gives one value."""

    start: IntArray  # index of each run's first prediction
    weights: IntArray | FloatArray
    positives: IntArray | FloatArray


def reliability_curve(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> ReliabilityCurve:
    """Compute the CORP reliability curve, which needs no bins.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    ReliabilityCurve
        The isotonic regression of the labels on the predictions.

    References
    ----------
    Dimitriadis, Gneiting, Jordan: Stable reliability diagrams for probabilistic
    classifiers, PNAS 2021.

    Examples
    --------
    >>> from abers.evaluation import reliability
    >>> curve = reliability.reliability_curve([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    >>> curve.probabilities, curve.frequencies
    (array([0.1, 0.4, 0.8]), array([0. , 0.5, 1. ]))
    """
    return curve_of(diagram_of(y, p, sample_weight))


def curve_of(diagram: Diagram) -> ReliabilityCurve:
    """Compute the CORP reliability curve of counted predictions."""
    start, weights, ones = levels_of(diagram)
    sizes = np.diff(start, append=diagram.scores.size)
    level = np.maximum.accumulate(ones / weights)  # rounding must not make it fall
    counts = diagram.counts.astype(np.float64)
    return ReliabilityCurve(diagram.scores, np.repeat(level, sizes), counts)


def consistency_band(
    p: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.9,
    resamples: int = 1000,
    random_state: int | np.random.Generator = 0,
) -> ConsistencyBand:
    """Compute where the reliability curve would lie if predictions were calibrated.

    Labels are drawn repeatedly from the predictions themselves. So this is a yardstick
    for one observed curve, at each prediction separately. It says nothing about the
    true curve; for that see `calibration_band`.

    Parameters
    ----------
    p : array-like of shape (n,)
        Probabilities of label 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.
    confidence : float, default=0.9
        Share of the curves that lie inside, at each prediction separately.
    resamples : int, default=1000
        Number of label sets.
    random_state : int or numpy.random.Generator, default=0
        Draws the labels.

    Returns
    -------
    ConsistencyBand
        At the mean predictions of at most 500 cells, including the lowest and highest
        prediction.

    Notes
    -----
    Rows are put into at most 500 cells by prediction, smaller ones towards both ends;
    equal predictions share a cell. The number of ones in a cell is drawn from a
    binomial distribution with its mean prediction; the curve is their isotonic
    regression. Weighted rows count as (sum of weights)² / (sum of squared weights),
    rounded.

    Examples
    --------
    >>> from abers.evaluation import reliability
    >>> band = reliability.consistency_band([0.0, 0.5, 0.5, 1.0])
    >>> band.probabilities, band.lower, band.upper  # two rows may both be 0, or 1
    (array([0. , 0.5, 1. ]), array([0., 0., 1.]), array([0., 1., 1.]))
    """
    values = validation.as_probabilities(p)
    column = counted(np.zeros(values.size), values, sample_weight)
    return consistency_of(
        column.diagram,
        scatter=column.scatter,
        confidence=confidence,
        resamples=resamples,
        random_state=random_state,
    )


def consistency_of(
    diagram: Diagram,
    *,
    scatter: FloatArray | None = None,
    confidence: float = 0.9,
    resamples: int = 1000,
    random_state: int | np.random.Generator = 0,
) -> ConsistencyBand:
    """Compute the consistency band of counted predictions."""
    validation.check_confidence(confidence)
    if validation.as_count(resamples, "resamples") == 0:
        msg = "resamples must be a positive integer; got 0."
        raise InvalidParameter(msg)
    share = diagram.counts / diagram.counts.sum()
    # Equal steps of this angle give small shares at both ends, where curves are steep.
    angle = np.arcsin(np.sqrt(np.minimum(np.cumsum(share), 1.0)))
    start = cell_starts(np.diff(angle, prepend=0.0), MOST_CELLS - 2)
    start = np.union1d(start, [min(1, share.size - 1), share.size - 1])
    weights, means, rows = cells_of(diagram, start, scatter=scatter)
    draws = np.random.default_rng(random_state).binomial(
        rows.astype(np.int64), means, size=(resamples, means.size)
    )
    curves = [isotonic_regression(ones / rows, weights).values for ones in draws]
    tail = (1 - confidence) / 2
    lower, upper = np.quantile(curves, (tail, 1 - tail), axis=0)
    return ConsistencyBand(means, lower, upper, confidence)


def decompose(
    y: ArrayLike,
    p: ArrayLike,
    *,
    loss: LossName = "log",
    sample_weight: ArrayLike | None = None,
) -> Decomposition:
    """Split a mean loss into miscalibration, discrimination and uncertainty.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    loss : {"log", "brier"}, default="log"
        Natural-log loss or plain Brier loss.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    Decomposition
        Its parts: loss = miscalibration - discrimination + uncertainty. An infinite
        loss has infinite miscalibration.

    Examples
    --------
    >>> from abers.evaluation import reliability
    >>> parts = reliability.decompose([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8], loss="brier")
    >>> round(parts.loss, 4)  # (0.01 + 0.36 + 0.16 + 0.04) / 4
    0.1425
    >>> parts.uncertainty, parts.discrimination  # 1/4; 1/4 - (0 + 1/4 + 1/4 + 0) / 4
    (0.25, 0.125)
    """
    validation.check_choice(loss, SCORING_LOSSES, "loss")
    return decomposition_of(diagram_of(y, p, sample_weight), loss=loss)


def decomposition_of(diagram: Diagram, *, loss: LossName = "log") -> Decomposition:
    """Split the mean loss of counted predictions."""
    validation.check_choice(loss, SCORING_LOSSES, "loss")
    _, weights, ones = levels_of(diagram)
    actual = mean_loss(diagram.scores, diagram.negatives, diagram.positives, loss)
    fitted = mean_loss(ones / weights, weights - ones, ones, loss)
    one, every = ones.sum(keepdims=True), weights.sum(keepdims=True)
    uncertainty = mean_loss(one / every, every - one, one, loss)
    return Decomposition(
        loss=actual,
        miscalibration=max(actual - fitted, 0.0),  # rounding may make it negative
        discrimination=max(uncertainty - fitted, 0.0),
        uncertainty=uncertainty,
    )


def levels_of(diagram: Diagram) -> Levels:
    """Find the runs of predictions to which isotonic regression gives one value."""
    counts, ones = diagram.counts, diagram.positives
    means = ones / counts
    # A level never ends where means do not rise, which saves most of the work.
    start = np.flatnonzero(np.append(True, means[1:] > means[:-1]))
    counts, ones = np.add.reduceat(counts, start), np.add.reduceat(ones, start)
    first = isotonic_regression(ones / counts, counts).first
    return Levels(
        start[first], np.add.reduceat(counts, first), np.add.reduceat(ones, first)
    )
