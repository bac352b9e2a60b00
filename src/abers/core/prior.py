"""Prior: probabilities for another base rate.

All of it assumes *prior shift* (also called label shift): the share of positives has
changed, but positives and negatives look as they did before: P(score | label) has not
changed. Then all odds change by one factor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.errors import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import ArrayLike

    from abers.validation import FloatArray

PRIOR_TAG = "abers:prior"  # the base rate to which a rule was adjusted


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
        each class, (n, C) with one column per class, as `predict_proba` returns it.
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
    >>> abers.rules.adjust_prior([0.5, 0.75], 0.5, 0.1)
    array([0.1 , 0.25])
    >>> proba = [[0.5, 0.5], [0.25, 0.75]]
    >>> abers.rules.adjust_prior(proba, [0.5, 0.5], [0.9, 0.1])
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
        raise InvalidData(msg)
    if p.ndim == 2 and p.shape[1] == 2 and (p[:, 0] > p[:, 1]).any():
        row = int((p[:, 0] > p[:, 1]).argmax())
        msg = (
            "probability of two columns must be bounds, lower <= upper, if rates are "
            f"single numbers; got {p[row].tolist()} at row {row}. Of predict_proba "
            "pass the column [:, 1], or a rate for each class."
        )
        raise InvalidData(msg)
    return adjusted(p, before, after)


def adjusted(p: FloatArray, before: float, after: float) -> FloatArray:
    """Adjust checked probabilities.

    Each step of 1 / (1 + ((1-p) b) / (p a)) is monotone in p even after rounding, so
    bounds and the steps of a rule stay in order.
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


def base_rate(metadata: Mapping[str, Any], n_positives: float, n_rows: float) -> float:
    """Return the base rate of a rule: that of its fit, or of a later `with_prior`."""
    fitted_rate = metadata.get(PRIOR_TAG)
    if fitted_rate is not None:
        return validation.as_rate(fitted_rate, f"the tag {PRIOR_TAG!r}")
    if not 0 < n_positives < n_rows:
        label = 0 if n_positives == 0 else 1
        msg = (
            "a rule to adjust to another base rate must have calibration rows of both "
            f"labels; all of this one's are {label}."
        )
        raise InvalidParameter(msg)
    return n_positives / n_rows
