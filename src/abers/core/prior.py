"""Prior: probabilities for another base rate, and the base rate of unlabelled rows.

All of it assumes *prior shift* (also called label shift): the share of positives is
another one, but positives look as positives did before, and negatives as negatives:
P(score | label) has not changed. Then all odds change by one factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.errors import InvalidParameter, InvalidProbabilities

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike

    from abers.validation import FloatArray

PRIOR_TAG = "abers:prior"  # the base rate that a rule was adjusted to
GUARANTEE_TAG = "abers:guarantee"
NO_GUARANTEE = "none: the bounds were adjusted to another base rate"
HALVINGS = 64  # of an interval: its ends are then equal


@dataclass(frozen=True, slots=True)
class PriorEstimate:
    """A base rate, estimated from rows without labels.

    Attributes
    ----------
    rate : float
        The share of positives that makes the predictions most likely.
    standard_error : float
        By the curvature of the likelihood: what so many rows leave open if the
        probabilities are right. Infinite if all of them are the old base rate; not to
        be used where the rate is 0 or 1.
    n_rows : int
        Rows that it was estimated from.
    """

    rate: float
    standard_error: float
    n_rows: int


def adjust_prior(
    probability: ArrayLike, from_rate: ArrayLike, to_rate: ArrayLike
) -> FloatArray:
    """Turn probabilities for one base rate into those for another.

    For models trained on an under-sampled class, and for places and times with another,
    known share of positives. It assumes that P(features | label) is the same at both
    rates. No guarantee of bounds survives it: neither the assumption nor the new rate
    can be checked without labels.

    Parameters
    ----------
    probability : array-like
        Probabilities of label 1 of any shape, bounds too: (n,), (n, 2). With a rate for
        each class, (n, C) with a column a class, as `predict_proba` returns it.
    from_rate : float or array-like of shape (C,)
        Share of positives, or of each class, among the rows that the probabilities were
        calibrated with; above 0 and below 1.
    to_rate : float or array-like of shape (C,)
        The share to adjust to.

    Returns
    -------
    ndarray of the same shape
        All odds p / (1 - p) are multiplied by the ratio of the odds of the two rates;
        with a rate a class, p_c · to_c / from_c, normalised. 0 and 1 stay.

    Examples
    --------
    Negatives were thinned out until half of the rows were positive; really 1 in 10 is.
    Odds of 1 and 3 become 1/9 and 3/9:

    >>> import abers
    >>> abers.adjust_prior([0.5, 0.75], 0.5, 0.1)
    array([0.1 , 0.25])
    >>> proba = [[0.5, 0.5], [0.25, 0.75]]
    >>> abers.adjust_prior(proba, [0.5, 0.5], [0.9, 0.1])
    array([[0.9 , 0.1 ],
           [0.75, 0.25]])
    """
    if np.ndim(from_rate) or np.ndim(to_rate):
        return _adjusted_classes(probability, from_rate, to_rate)
    before = validation.as_rate(from_rate, "from_rate")
    after = validation.as_rate(to_rate, "to_rate")
    p = validation.as_numbers(probability, "probability")
    outside = ~((p >= 0) & (p <= 1))
    if outside.any():
        place = tuple(map(int, np.argwhere(outside)[0]))
        msg = (
            f"probability must be between 0 and 1; got {p[place].item()!r} "
            f"at index {place}."
        )
        raise InvalidProbabilities(msg)
    if p.ndim == 2 and p.shape[1] == 2 and (p[:, 0] > p[:, 1]).any():
        row = int((p[:, 0] > p[:, 1]).argmax())
        msg = (
            "probability of two columns must be bounds, lower <= upper, if rates are "
            f"single numbers; got {p[row].tolist()} at row {row}. Of predict_proba "
            "pass the column [:, 1], or a rate for each class."
        )
        raise InvalidProbabilities(msg)
    return adjusted(p, before, after)


def adjusted(p: FloatArray, before: float, after: float) -> FloatArray:
    """Adjust what is checked already.

    Each step of 1 / (1 + ((1-p) b) / (p a)) is monotone in p after rounding, too:
    bounds stay in order, and so do the steps of a rule.
    """
    if before == after:
        return p.copy()
    ones, zeros = after / before, (1 - after) / (1 - before)
    with np.errstate(divide="ignore", over="ignore"):
        odds_against = ((1 - p) * zeros) / (p * ones)
    moved: FloatArray = 1 / (1 + odds_against)
    return moved


def _adjusted_classes(
    probability: ArrayLike, from_rate: ArrayLike, to_rate: ArrayLike
) -> FloatArray:
    p = validation.as_class_probabilities(probability, "probability")
    before, after = (
        _as_rates(rates, p.shape[1], name)
        for rates, name in ((from_rate, "from_rate"), (to_rate, "to_rate"))
    )
    if np.array_equal(before, after):
        return p.copy()
    joint = p * (after / before)
    moved: FloatArray = joint / joint.sum(axis=1, keepdims=True)
    return moved


def _as_rates(values: ArrayLike, size: int, name: str) -> FloatArray:
    rates = validation.as_numbers(values, name)
    if rates.shape != (size,):
        msg = (
            f"{name} must be a rate for each of the {size} columns of probability; "
            f"got shape {rates.shape}."
        )
        raise InvalidParameter(msg)
    if not (rates > 0).all() or abs(rates.sum() - 1) > validation.FUZZ:
        msg = (
            f"{name} must be positive rates that add up to 1; got {rates.tolist()}, "
            f"of sum {rates.sum().item():.6g}."
        )
        raise InvalidParameter(msg)
    return rates


def estimate_prior(probability: ArrayLike, from_rate: float) -> PriorEstimate:
    """Estimate the share of positives among rows without labels.

    The rate under which the observed predictions are most likely: the limit of the EM
    algorithm of Saerens, Latinne and Decaestecker. It assumes that P(score | label) is
    what it was, so that only the share of positives has changed, and that the
    probabilities are calibrated at the old rate. **If something else has changed, the
    estimate is wrong, and nothing here would notice.**

    Parameters
    ----------
    probability : array-like of shape (n,)
        Probabilities of label 1 for the new rows, calibrated at the old rate, as from
        `Rule.probability`.
    from_rate : float
        The old rate: the share of positives among the calibration rows.

    Returns
    -------
    PriorEstimate
        The rate, with its standard error.

    Notes
    -----
    The likelihood of a rate q, in terms of the old rate r, is the product over rows of
    q p / r + (1 - q)(1 - p) / (1 - r). Its logarithm is concave in q, so that EM climbs
    to its one maximum from anywhere, but slowly; here it is found by halving an
    interval.

    References
    ----------
    Saerens, Latinne, Decaestecker: Adjusting the outputs of a classifier to new a
    priori probabilities: a simple procedure, Neural Computation 2002.

    Examples
    --------
    Two predictions at the old rate of 1/2 are 4/5, one is 1/5. With rate q they have
    likelihoods of 2 (0.2 + 0.6 q) and 2 (0.8 - 0.6 q), and the product of the three is
    largest where 2 (0.8 - 0.6 q) = 0.2 + 0.6 q:

    >>> import abers
    >>> found = abers.estimate_prior([0.8, 0.8, 0.2], 0.5)
    >>> round(found.rate, 6)  # 1.4 / 1.8
    0.777778
    >>> abers.adjust_prior([0.8, 0.2], 0.5, found.rate).round(4)  # odds of 14 and 7/8
    array([0.9333, 0.4667])
    """
    rate = validation.as_rate(from_rate, "from_rate")
    p = validation.as_probabilities(probability, "probability")
    distinct, counts = np.unique(p, return_counts=True)
    ones, zeros = distinct / rate, (1 - distinct) / (1 - rate)

    def relative(q: float) -> FloatArray:
        """Return the derivative of the log-likelihood, row by row."""
        with np.errstate(divide="ignore", invalid="ignore"):
            change: FloatArray = (ones - zeros) / (q * ones + (1 - q) * zeros)
        return change

    if not (ones != zeros).any():  # every rate is as likely as the old one
        return PriorEstimate(rate, math.inf, p.size)
    low, high = 0.0, 1.0
    if counts @ relative(low) <= 0:
        high = low
    elif counts @ relative(high) >= 0:
        low = high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if counts @ relative(middle) > 0:
            low = middle
        else:
            high = middle
    found = (low + high) / 2
    information = float(counts @ relative(found) ** 2)
    return PriorEstimate(found, 1 / math.sqrt(information), p.size)


def base_rate(
    metadata: Mapping[str, Any], n_positives: float, n_observations: float
) -> float:
    """Return the base rate that a rule is for: that of its fit, or a later prior."""
    known = metadata.get(PRIOR_TAG)
    if known is not None:
        return validation.as_rate(known, f"the tag {PRIOR_TAG!r}")
    if not 0 < n_positives < n_observations:
        label = 0 if n_positives == 0 else 1
        msg = (
            "a rule to adjust to another base rate must have calibration rows of both "
            f"labels; all of this one's are {label}."
        )
        raise InvalidParameter(msg)
    return n_positives / n_observations
