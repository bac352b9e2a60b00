"""Decision curves: the value and the cost of acting on predictions, by threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.errors import InvalidParameter
from abers.evaluation.counts import diagram_of

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.validation import FloatArray, IntArray

THRESHOLDS = np.arange(101) / 100


@dataclass(frozen=True, slots=True, eq=False)
class CostCurve:
    """Mean cost by threshold t: a false alarm costs t, a miss 1 - t.

    Attributes
    ----------
    thresholds : ndarray
        Probabilities t at which acting and not acting cost the same.
    cost : ndarray
        Mean cost of acting if the prediction is at least the threshold.
    treat_all, treat_none : ndarray
        Mean cost of always acting, and of never acting.
    """

    thresholds: FloatArray
    cost: FloatArray
    treat_all: FloatArray
    treat_none: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class DecisionCurve:
    """Net benefit by threshold, in true positives per row.

    Attributes
    ----------
    thresholds : ndarray
        Probabilities at which acting and not acting are worth the same.
    net_benefit : ndarray
        Net benefit of acting if the prediction is at least the threshold.
    treat_all, treat_none : ndarray
        Net benefit of always acting, and of never acting, which is 0.
    """

    thresholds: FloatArray
    net_benefit: FloatArray
    treat_all: FloatArray
    treat_none: FloatArray


def decision_curve(
    y: ArrayLike,
    p: ArrayLike,
    *,
    thresholds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> DecisionCurve:
    """Compute the net benefit of acting on predictions, threshold by threshold.

    Acting at probabilities of t or more means that one false alarm costs as much as t /
    (1 - t) hits are worth. The net benefit is the share of hits minus the share of
    false alarms at this price.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1, or any two with `pos_label`.
    p : array-like of shape (n,)
        Probabilities of label 1, or of `pos_label`.
    thresholds : array-like of shape (m,), default=None
        At least 0 and below 1; None takes 0, 0.01, … 0.99. Only thresholds that a
        decision maker could have matter, rarely all of them.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.
    pos_label : object, default=None
        Label that counts as 1; None if the labels are 0 and 1.

    Returns
    -------
    DecisionCurve
        Net benefit of the predictions, of treating all and of treating none.

    References
    ----------
    Vickers, Elkin: Decision curve analysis: a novel method for evaluating prediction
    models, Medical Decision Making 2006.

    Examples
    --------
    >>> from abers import evaluation
    >>> y, p = [0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9]
    >>> curve = evaluation.decision_curve(y, p, thresholds=[0.5])
    >>> curve.net_benefit  # 2 hits of 4, 1 false alarm at the price of 1
    array([0.25])
    >>> curve.treat_all  # 2 hits, 2 false alarms
    array([0.])
    """
    labels, _ = validation.binary_labels(y, pos_label, "y")
    return decision_curve_of(diagram_of(labels, p, sample_weight), thresholds)


def decision_curve_of(
    diagram: Diagram, thresholds: ArrayLike | None = None
) -> DecisionCurve:
    """Compute the net benefit of counted predictions."""
    t = THRESHOLDS[:-1].copy() if thresholds is None else _as_thresholds(thresholds)
    hits, alarms, first = _acted(diagram, t)
    price = t / (1 - t)
    return DecisionCurve(
        thresholds=t,
        net_benefit=hits[first] - price * alarms[first],
        treat_all=hits[0] - price * alarms[0],
        treat_none=np.zeros(t.size),
    )


def cost_curve(
    y: ArrayLike,
    p: ArrayLike,
    *,
    thresholds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
) -> CostCurve:
    """Compute the mean cost of acting on predictions, threshold by threshold.

    Acting at probabilities of t or more means that a false alarm costs t if a miss
    costs 1 - t; together they cost 1. The area below the curve is half the Brier loss,
    so the curve shows for which decision makers that loss arises.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1, or any two with `pos_label`.
    p : array-like of shape (n,)
        Probabilities of label 1, or of `pos_label`.
    thresholds : array-like of shape (m,), default=None
        Between 0 and 1; None takes 0, 0.01, … 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.
    pos_label : object, default=None
        Label that counts as 1; None if the labels are 0 and 1.

    Returns
    -------
    CostCurve
        Mean costs of the predictions, of treating all and of treating none.

    Notes
    -----
    A row labelled 0 with prediction p costs t for all thresholds up to p, in total the
    integral of t from 0 to p, p² / 2. A row labelled 1 costs 1 - t for those above p,
    in total (1 - p)² / 2. The mean of both is half the Brier loss.

    References
    ----------
    Hernández-Orallo, Flach, Ferri: Brier curves: a new cost-based visualisation of
    classifier performance, ICML 2011; there costs are twice as large.

    Examples
    --------
    >>> from abers import evaluation
    >>> y, p = [0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9]
    >>> curve = evaluation.cost_curve(y, p, thresholds=[0.2, 0.75])
    >>> curve.cost  # 1 false alarm of 4 at 0.2; 1 miss of 4 at 0.25
    array([0.05  , 0.0625])
    >>> curve.treat_all, curve.treat_none  # 2 false alarms; 2 misses
    (array([0.1  , 0.375]), array([0.4  , 0.125]))
    """
    labels, _ = validation.binary_labels(y, pos_label, "y")
    return cost_curve_of(diagram_of(labels, p, sample_weight), thresholds)


def cost_curve_of(diagram: Diagram, thresholds: ArrayLike | None = None) -> CostCurve:
    """Compute the mean cost of counted predictions."""
    t = (
        THRESHOLDS.copy()
        if thresholds is None
        else _as_thresholds(thresholds, with_one=True)
    )
    hits, alarms, first = _acted(diagram, t)
    misses = hits[0] - hits[first]
    return CostCurve(
        thresholds=t,
        cost=t * alarms[first] + (1 - t) * misses,
        treat_all=t * alarms[0],
        treat_none=(1 - t) * hits[0],
    )


def _acted(diagram: Diagram, t: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return shares of ones and zeros from each prediction on, and each t's index."""
    hits, alarms = (
        np.append(np.cumsum(column[::-1])[::-1], 0) / diagram.n_rows
        for column in (diagram.positives, diagram.negatives)
    )
    return hits, alarms, np.searchsorted(diagram.scores, t, side="left")


def _as_thresholds(thresholds: ArrayLike, *, with_one: bool = False) -> FloatArray:
    t = validation.as_scores(thresholds, "thresholds")
    bad = ~((t >= 0) & ((t <= 1) if with_one else (t < 1)))
    if bad.any():
        row = int(bad.argmax())
        limits = "between 0 and 1" if with_one else "at least 0 and below 1"
        msg = f"thresholds must be {limits}; got {t[row].item()!r} at place {row}."
        raise InvalidParameter(msg)
    if not t.size:
        msg = "thresholds must not be empty; got none."
        raise InvalidParameter(msg)
    return t.copy()
