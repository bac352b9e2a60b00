"""Merging: from bounds to one probability, minimax for a loss (section 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers import _kernel, validation
from abers.errors import InvalidProbabilities

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.validation import FloatArray

LOSSES = ("log", "brier")


def log_minimax(p0: ArrayLike, p1: ArrayLike) -> FloatArray:
    """Merge lower and upper probabilities, minimax for log loss.

    Parameters
    ----------
    p0, p1 : array-like
        Lower and upper probabilities, of one shape; 0 <= p0 <= p1 <= 1.

    Returns
    -------
    ndarray of that shape
        p1 / (1 - p0 + p1).

    Examples
    --------
    >>> import abers
    >>> abers.log_minimax([0.0, 0.2], [0.5, 0.6])  # 0.5/1.5 and 0.6/1.4
    array([0.33333333, 0.42857143])
    """
    return _log_minimax(*validation.as_bounds(p0, p1))


def brier_minimax(p0: ArrayLike, p1: ArrayLike) -> FloatArray:
    """Merge lower and upper probabilities, minimax for Brier loss.

    Parameters
    ----------
    p0, p1 : array-like
        Lower and upper probabilities, of one shape; 0 <= p0 <= p1 <= 1.

    Returns
    -------
    ndarray of that shape
        p1 + (p0² - p1²) / 2.

    Examples
    --------
    >>> import abers
    >>> abers.brier_minimax([0.0, 0.2], [0.5, 0.6])  # 0.5 - 0.125 and 0.6 - 0.16
    array([0.375, 0.44 ])
    """
    return _brier_minimax(*validation.as_bounds(p0, p1))


def merge_folds(bounds: ArrayLike, loss: str = "log") -> FloatArray:
    """Merge the bounds of K predictors into one probability (Algorithm 7).

    Parameters
    ----------
    bounds : array-like of shape (K, n, 2)
        Lower and upper probabilities of n objects by each of K predictors.
    loss : {"log", "brier"}, default="log"
        The loss whose worst excess over the better bounds is made smallest.

    Returns
    -------
    ndarray of shape (n,)
        For log loss GM(p1) / (GM(1-p0) + GM(p1)) with GM the geometric mean over
        the K predictors, and 1/2 where both means are 0; for Brier loss the mean of
        p1 + (p0² - p1²) / 2.

    Examples
    --------
    >>> import abers
    >>> folds = [[[0.0, 0.5]], [[0.5, 0.5]]]
    >>> abers.merge_folds(folds, "brier")  # mean of 0.375 and 0.5
    array([0.4375])
    >>> abers.merge_folds(folds)  # 1/2 / (√½ + 1/2)
    array([0.41421356])
    """
    validation.check_choice(loss, LOSSES, "loss")
    pairs = validation.as_numbers(bounds, "bounds")
    if pairs.ndim != 3 or pairs.shape[0] == 0 or pairs.shape[2] != 2:  # noqa: PLR2004
        msg = (
            "bounds must have shape (K, n, 2) with at least one predictor; "
            f"got {pairs.shape}."
        )
        raise InvalidProbabilities(msg)
    validation.as_bounds(pairs[..., 0], pairs[..., 1])
    out = np.empty(pairs.shape[1])
    _kernel.merge_folds(np.ascontiguousarray(pairs), loss == "log", out)
    return out


def _log_minimax(p0: FloatArray, p1: FloatArray) -> FloatArray:
    # Where the bounds nearly meet, rounding could leave them by an ulp.
    merged: FloatArray = np.clip(p1 / ((1 - p0) + p1), p0, p1)
    return merged


def _brier_minimax(p0: FloatArray, p1: FloatArray) -> FloatArray:
    return p1 + (p0 - p1) * (p0 + p1) / 2


MINIMAX = {"log": _log_minimax, "brier": _brier_minimax}
