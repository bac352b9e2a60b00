"""Evaluation: how good are probabilities, in numbers.

Everything here takes labels and what was predicted for them, on rows that were not
used for fitting, and returns numbers; nothing draws. Losses are those of scikit-learn:
natural logarithm, plain Brier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import rel_entr, xlogy
from scipy.stats import norm

from abers import validation
from abers.core.diagram import Diagram
from abers.core.merging import LOSSES
from abers.errors import InvalidParameter, InvalidProbabilities

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.validation import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class ReliabilityCurve:
    """What was said, and what happened: the CORP reliability curve."""

    probabilities: FloatArray  # distinct predictions, ascending
    frequencies: FloatArray  # isotonic regression of the labels on them
    weights: FloatArray  # of each prediction


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A mean loss as miscalibration - discrimination + uncertainty."""

    loss: float
    miscalibration: float  # what recalibrating would gain
    discrimination: float  # what the predictions know beyond the base rate
    uncertainty: float  # the loss of always predicting the base rate


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """Spiegelhalter's test, which asks if the Brier loss is the one to expect."""

    statistic: float  # standard normal if they are calibrated
    p_value: float


def reliability_curve(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> ReliabilityCurve:
    """Compute the CORP reliability curve: no bins to choose.

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
    >>> from abers import evaluation
    >>> curve = evaluation.reliability_curve([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8])
    >>> curve.probabilities, curve.frequencies
    (array([0.1, 0.4, 0.8]), array([0. , 0.5, 1. ]))
    """
    diagram = _diagram(y, p, sample_weight)
    weights = diagram.counts.astype(np.float64)
    means = diagram.positives / weights
    fitted = isotonic_regression(means, weights=weights).x
    return ReliabilityCurve(diagram.scores, fitted, weights)


def decompose(
    y: ArrayLike,
    p: ArrayLike,
    *,
    loss: str = "log",
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
        loss = miscalibration - discrimination + uncertainty. An infinite loss has
        infinite miscalibration.

    Examples
    --------
    >>> from abers import evaluation
    >>> parts = evaluation.decompose([0, 1, 0, 1], [0.1, 0.4, 0.4, 0.8], loss="brier")
    >>> round(parts.loss, 4)  # (0.01 + 0.36 + 0.16 + 0.04) / 4
    0.1425
    >>> parts.uncertainty, parts.discrimination  # 1/4; 1/4 - (0 + 1/4 + 1/4 + 0) / 4
    (0.25, 0.125)
    """
    validation.check_choice(loss, LOSSES, "loss")
    diagram = _diagram(y, p, sample_weight)
    curve = reliability_curve(y, p, sample_weight=sample_weight)
    means = diagram.positives / curve.weights
    share = curve.weights / curve.weights.sum()
    base = np.full_like(means, share @ means)
    # Against the label average of each prediction, both losses are a divergence plus
    # an entropy that all three predictors share.
    divergence = _kullback_leibler if loss == "log" else _squared
    said, fitted, known = (
        float(share @ divergence(means, q))
        for q in (curve.probabilities, curve.frequencies, base)
    )
    entropy = -xlogy(means, means) - xlogy(1 - means, 1 - means)
    rest = float(share @ (entropy if loss == "log" else means * (1 - means)))
    return Decomposition(
        loss=said + rest,
        miscalibration=said - fitted,
        discrimination=known - fitted,
        uncertainty=known + rest,
    )


def expected_calibration_error(
    y: ArrayLike,
    p: ArrayLike,
    *,
    bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the ECE over bins of equal width. Biased, and it depends on the bins.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    bins : int, default=10
        Bins of [0, 1]; compare values only at one number of bins. Even perfect
        probabilities have an ECE above 0, the more so the fewer rows a bin has.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The mean over rows of |mean label - mean prediction| of their bin.

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.expected_calibration_error([0, 1, 1, 1], [0.5, 0.5, 0.75, 0.75])
    0.125
    """
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        msg = f"bins must be a positive integer; got {bins!r}."
        raise InvalidParameter(msg)
    diagram = _diagram(y, p, sample_weight)
    cell = np.minimum((diagram.scores * bins).astype(np.int64), bins - 1)
    gap = diagram.positives - diagram.scores * diagram.counts
    return float(abs(np.bincount(cell, weights=gap)).sum() / diagram.n_observations)


def spiegelhalter_test(y: ArrayLike, p: ArrayLike) -> CalibrationTest:
    """Test whether probabilities are calibrated, by their Brier loss.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.

    Returns
    -------
    CalibrationTest
        A statistic that is about standard normal for calibrated probabilities; NaN if
        all of them are 0, 1/2 or 1, of which the test learns nothing.

    References
    ----------
    Spiegelhalter: Probabilistic prediction in patient management and clinical trials,
    Statistics in Medicine 1986.

    Examples
    --------
    >>> from abers import evaluation
    >>> test = evaluation.spiegelhalter_test([0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25])
    >>> test.statistic, test.p_value  # as many ones as were promised
    (0.0, 1.0)
    """
    diagram = _diagram(y, p, None)
    q, counts = diagram.scores, diagram.counts
    excess = ((diagram.positives - q * counts) * (1 - 2 * q)).sum()
    variance = (counts * (1 - 2 * q) ** 2 * q * (1 - q)).sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = float(excess / np.sqrt(variance))
    return CalibrationTest(statistic, float(2 * norm.sf(abs(statistic))))


def auc(
    scores: ArrayLike, labels: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the area under the ROC curve; below one half the score runs backwards.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Real numbers, ±inf allowed.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The share of pairs of a one and a zero that the score puts in order, ties
        counting half; NaN if there is only one class.

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.auc([1, 2, 2, 3], [0, 0, 1, 1])  # three pairs in order, one tied
    0.875
    """
    diagram = Diagram.from_observations(scores, labels, sample_weight=sample_weight)
    zeros = diagram.negatives.astype(np.float64)
    below = np.cumsum(zeros) - zeros / 2
    with np.errstate(invalid="ignore"):
        pairs = np.float64(diagram.n_positives) * zeros.sum()
        return float((diagram.positives * below).sum() / pairs)


def population_stability_index(
    reference: ArrayLike, scores: ArrayLike, *, bins: int = 10
) -> float:
    """Measure how far scores have drifted from those of the calibration.

    Parameters
    ----------
    reference : array-like
        Calibration scores, or their percentiles (`rule.score_quantiles`).
    scores : array-like of shape (n,)
        Recent scores.
    bins : int, default=10
        Bins, cut at quantiles of the reference.

    Returns
    -------
    float
        Below 0.1 little drift, above 0.2 much, by the usual rule of thumb.

    Examples
    --------
    >>> import numpy as np
    >>> from abers import evaluation
    >>> reference = np.arange(100)
    >>> evaluation.population_stability_index(reference, reference)
    0.0
    >>> evaluation.population_stability_index(reference, reference + 50) > 0.2
    True
    """
    old = np.sort(validation.as_calibration_scores(reference))
    new = validation.as_calibration_scores(scores)
    cuts = np.unique(old[np.arange(1, bins) * old.size // bins])
    shares = []
    for values in (old, new):
        counts = np.bincount(
            np.searchsorted(cuts, values, side="right"), minlength=cuts.size + 1
        )
        # Half an observation for an empty bin: its logarithm must exist.
        shares.append(np.maximum(counts, 0.5) / values.size)
    expected, actual = shares
    return float(((actual - expected) * np.log(actual / expected)).sum())


def _diagram(y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None) -> Diagram:
    """Count labels by prediction, after checking that predictions are probabilities."""
    values = validation.as_calibration_scores(p)
    bad = ~((values >= 0) & (values <= 1))
    if bad.any():
        row = int(bad.argmax())
        msg = f"p must be between 0 and 1; got {values[row].item()!r} at row {row}."
        raise InvalidProbabilities(msg)
    return Diagram.from_observations(values, y, sample_weight=sample_weight)


def _kullback_leibler(mean: FloatArray, p: FloatArray) -> FloatArray:
    divergence: FloatArray = rel_entr(mean, p) + rel_entr(1 - mean, 1 - p)
    return divergence


def _squared(mean: FloatArray, p: FloatArray) -> FloatArray:
    return (mean - p) ** 2
