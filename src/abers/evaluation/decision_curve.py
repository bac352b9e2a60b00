"""Decision curve: what acting on predictions is worth, by the threshold for acting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.errors import InvalidParameter
from abers.evaluation.metrics import diagram_of

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.validation import FloatArray

THRESHOLDS = np.arange(100) / 100


@dataclass(frozen=True, slots=True, eq=False)
class DecisionCurve:
    """Net benefit by threshold, in true positives per row.

    Attributes
    ----------
    thresholds : ndarray
        Probabilities at which acting and not acting are worth the same.
    net_benefit : ndarray
        Of acting where the prediction is at least the threshold.
    treat_all, treat_none : ndarray
        Of acting always, and never: the latter is 0.
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
    positive: Any = None,
) -> DecisionCurve:
    """Compute the net benefit of acting on predictions, threshold by threshold.

    Who acts at a probability of t or more holds one false alarm to cost t / (1 - t)
    hits. The net benefit is the share of hits minus that of false alarms at this price.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1, or any two with `positive`.
    p : array-like of shape (n,)
        Probabilities of label 1, or of `positive`.
    thresholds : array-like of shape (m,), default=None
        At least 0 and below 1; None takes 0, 0.01, … 0.99. Those that a decision maker
        could have are what matters, seldom all of them.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.
    positive : object, default=None
        The label that counts as 1; None: labels are 0 and 1.

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
    labels, _ = validation.binary_labels(y, positive, "y")
    return decision_curve_of(diagram_of(labels, p, sample_weight), thresholds)


def decision_curve_of(
    diagram: Diagram, thresholds: ArrayLike | None = None
) -> DecisionCurve:
    """Compute the net benefit of predictions that are counted already."""
    t = THRESHOLDS.copy() if thresholds is None else _checked(thresholds)
    total = diagram.n_observations
    hits, alarms = (
        np.append(np.cumsum(column[::-1])[::-1], 0) / total
        for column in (diagram.positives, diagram.negatives)
    )
    first = np.searchsorted(diagram.scores, t, side="left")
    price = t / (1 - t)
    return DecisionCurve(
        thresholds=t,
        net_benefit=hits[first] - price * alarms[first],
        treat_all=hits[0] - price * alarms[0],
        treat_none=np.zeros(t.size),
    )


def _checked(thresholds: ArrayLike) -> FloatArray:
    t = validation.as_scores(thresholds, "thresholds")
    bad = ~((t >= 0) & (t < 1))
    if bad.any():
        row = int(bad.argmax())
        msg = (
            "thresholds must be at least 0 and below 1; "
            f"got {t[row].item()!r} at place {row}."
        )
        raise InvalidParameter(msg)
    if not t.size:
        msg = "thresholds must not be empty; got none."
        raise InvalidParameter(msg)
    return t.copy()
