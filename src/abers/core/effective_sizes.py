"""Effective sizes: how many equal weights vary as much as those given (Kish)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers.core.units import order_free_sum

if TYPE_CHECKING:
    from abers.validation import FloatArray, LabelArray


def effective_sizes(labels: LabelArray, weights: FloatArray) -> tuple[float, float]:
    """Return the effective numbers of zeros and of ones (Kish)."""
    zeros, ones = (weights[labels == label] for label in (0, 1))
    return effective_size(zeros), effective_size(ones)


def effective_size(weights: FloatArray) -> float:
    """Return how many equal weights would have the same relative variance (Kish).

    >>> effective_size(np.array([1.0, 1.0, 2.0, 2.0]))  # 6² / (1² + 1² + 2² + 2²)
    3.6
    """
    if not weights.any():
        return 0.0
    shares = weights / weights.max()  # avoids overflow in squares
    sums = order_free_sum(shares), order_free_sum(shares**2)
    return float(effective_size_of_sums(*map(np.asarray, sums)))


def effective_rows(weights: FloatArray | None, n_rows: int) -> float:
    """Return the effective number of rows; without weights, their number."""
    return n_rows if weights is None else effective_size(weights)


def effective_size_of_sums(weights: FloatArray, squares: FloatArray) -> FloatArray:
    """Return the effective size, given sums of weights and of squares; 0 if empty."""
    sizes: FloatArray = np.divide(
        weights**2, squares, out=np.zeros(np.shape(weights)), where=weights > 0
    )
    return sizes
