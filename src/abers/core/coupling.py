"""Coupling: from pairwise probabilities to class probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.errors import InvalidData

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.validation import FloatArray

# How far mu[i, j] + mu[j, i] may be from 1: a few rounding errors.
TOLERANCE = 1e-9


def couple(pairwise: ArrayLike) -> FloatArray:
    """Turn pairwise probabilities into class probabilities (the PKPD formula).

    Parameters
    ----------
    pairwise : array-like of shape (n, C, C)
        Element [:, i, j] is the probability of class i given that the class is i or j,
        so elements [:, i, j] and [:, j, i] sum to 1. The diagonal is ignored.

    Returns
    -------
    ndarray of shape (n, C)
        1 / (sum over j of 1/pairwise[i, j] - (C - 2)), normalised; 1/C each where some
        pair rules out every class.

    References
    ----------
    Price, Knerr, Personnaz, Dreyfus: Pairwise neural network classifiers with
    probabilistic outputs, NIPS 1994.

    Examples
    --------
    >>> import abers
    >>> third = 2 / 3  # classes with probabilities 1/2, 1/4, 1/4
    >>> pairs = [[0, third, third], [1 - third, 0, 0.5], [1 - third, 0.5, 0]]
    >>> abers.rules.couple([pairs])
    array([[0.5 , 0.25, 0.25]])
    """
    mu = _as_pairwise(pairwise)
    classes = mu.shape[-1]
    unnormalised = pkpd(mu)
    total = unnormalised.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        coupled: FloatArray = np.where(total > 0, unnormalised / total, 1 / classes)
    return coupled


def pkpd(mu: FloatArray) -> FloatArray:
    """Apply the formula without normalising: (n, C, C) -> (n, C)."""
    classes = mu.shape[-1]
    off_diagonal = ~np.eye(classes, dtype=bool)
    with np.errstate(divide="ignore", over="ignore"):
        odds = np.where(off_diagonal, 1 / mu, 0.0)
        unnormalised: FloatArray = 1 / (odds.sum(axis=-1) - (classes - 2))
    return unnormalised


def _as_pairwise(pairwise: ArrayLike) -> FloatArray:
    mu = validation.as_numbers(pairwise, "pairwise")
    if mu.ndim != 3 or mu.shape[1] != mu.shape[2] or mu.shape[1] < 2:  # noqa: PLR2004
        msg = (
            "pairwise must have shape (n, C, C) with at least two classes; "
            f"got {mu.shape}."
        )
        raise InvalidData(msg)
    off_diagonal = ~np.eye(mu.shape[-1], dtype=bool)
    good = (mu >= 0) & (mu <= 1) & (abs(mu + mu.swapaxes(1, 2) - 1) <= TOLERANCE)
    if not good[:, off_diagonal].all():
        row, i, j = np.argwhere(~good & off_diagonal)[0]
        msg = (
            "pairwise must hold probabilities, "
            "and pairwise[i, j] + pairwise[j, i] must be 1; "
            f"got {mu[row, i, j].item()!r} and {mu[row, j, i].item()!r} "
            f"for classes {i} and {j} at row {row}."
        )
        raise InvalidData(msg)
    return mu
