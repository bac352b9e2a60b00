"""Chance: how large a difference is beside what would come without any reason."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FEW = 5  # zeros or ones; below, a standard error says little


def in_standard_errors(difference: float, standard_error: float) -> float:
    """Return the size of a difference in standard errors.

    Parameters
    ----------
    difference : float
        Of either sign.
    standard_error : float
        Of the difference; 0 if nothing was left to chance.

    Returns
    -------
    float
        Infinite if there is a difference where none could come by chance.

    Examples
    --------
    >>> from abers import chance
    >>> chance.in_standard_errors(-0.5, 0.25)
    2.0
    >>> chance.in_standard_errors(0.0, 0.0), chance.in_standard_errors(1, 0)
    (0.0, inf)
    """
    if difference == 0:
        return 0.0
    return abs(difference) / standard_error if standard_error else math.inf


def are_few(rows: ArrayLike, positives: ArrayLike, said: ArrayLike) -> Any:
    """Say of groups whether they are too small for a standard error to say much.

    Parameters
    ----------
    rows, positives : array-like
        Rows of each group, and those with label 1.
    said : array-like
        The mean prediction of each.

    Returns
    -------
    bool or ndarray of bool
        Whether fewer than five zeros, or ones, both were expected and came.

    Examples
    --------
    >>> from abers import chance
    >>> chance.are_few([100, 100], [1, 1], [0.01, 0.1])  # 1 expected, and 10
    array([ True, False])
    """
    n, ones = np.asarray(rows), np.asarray(positives)
    expected = n * np.asarray(said)
    most_ones = np.maximum(ones, expected)
    most_zeros = np.maximum(n - ones, n - expected)
    return np.minimum(most_ones, most_zeros) < FEW
