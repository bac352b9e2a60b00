"""Stacking: assign rows to folds, and weight parts by how they predict held-out rows.

Folds are shuffled, by a fixed seed, along the order of the scores within each label. So
they depend on counts alone, not on the order of the rows, or on whether rows are
repeated or counted. Without shuffling (0, 1, 2, 0, …), each fold would repeat the local
rates of the others, noise included, and a rule that fits noise would look good.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.core.curves import CACHED, SHORT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abers.validation import FloatArray

FOLDS = 3
PRIOR = 2.0  # pseudo-rows in favour of each part
NEWTON_STEPS = 100  # ten are usual
MOST_SHUFFLED = 2**22  # rows; with more, each fold gets its share at random
CONVERGED = 1e-10  # a Newton step shorter than this leaves an error of its square


def split_among_folds(
    masses: NDArray[Any], n_folds: int, *, counted: bool
) -> FloatArray:
    """Assign rows, in their order, to equal folds: (folds, cells).

    Counted rows of one cell may go to different folds. A cell of real weight is
    assigned as a whole, since it may be a single row.

    >>> split_among_folds(np.array([1, 4, 1]), 3, counted=True)
    array([[0., 2., 0.],
           [0., 1., 1.],
           [1., 1., 0.]])
    >>> split_among_folds(np.array([0.5, 0.0, 1.5]), 2, counted=False)
    array([[0. , 0. , 1.5],
           [0.5, 0. , 0. ]])
    """
    if n_folds == 0:  # one class only: nothing to judge by
        return np.zeros((0, masses.size))
    shuffler = _shuffler()
    if not counted:
        folds = np.full(masses.size, -1)
        (present,) = np.nonzero(masses)
        folds[present] = shuffler.permutation(np.arange(present.size) % n_folds)
        return np.where(folds == np.arange(n_folds)[:, np.newaxis], masses, 0.0)
    counts = masses.astype(np.int64)
    shape = n_folds, counts.size
    total = int(counts.sum())
    if total <= MOST_SHUFFLED:
        folds = shuffler.permutation(np.arange(total) % n_folds)
        cells = np.repeat(np.arange(counts.size), counts)
        flat = np.bincount(folds * counts.size + cells, minlength=math.prod(shape))
        return flat.reshape(shape).astype(np.float64)
    split = np.empty(shape)
    for fold in range(n_folds):
        split[fold] = shuffler.binomial(counts, 1 / (n_folds - fold))
        counts = counts - split[fold].astype(np.int64)
    return split


def _shuffler() -> np.random.RandomState:
    # Its stream is frozen; that of a Generator may change with numpy versions.
    return np.random.RandomState(0)


def stacked_weights(likelihoods: FloatArray, masses: FloatArray) -> FloatArray:
    """Return the weights of M parts that maximise the likelihood of held-out labels.

    `likelihoods` (M, m) are the probabilities that each part gives to the labels of
    held-out rows, and `masses` (m,) the weights of these rows. The weights w maximise

        sum_i masses_i log(likelihoods_i @ w) + 2 sum_j log w_j

    over the simplex. The multiplier of the constraint is known; with it, the problem is
    concave and unconstrained in w > 0, and its optimum sums to 1.

    >>> right, wrong = np.full((1, 100), 0.8), np.full((1, 100), 0.2)
    >>> stacked_weights(np.concatenate((right, wrong)), np.ones(100)).round(2)
    array([0.97, 0.03])
    """
    n_parts = len(likelihoods)
    scale = masses.sum() + PRIOR * n_parts
    shares, prior = masses / scale, PRIOR / scale
    parts = [slice(i, i + CACHED) for i in range(0, masses.size, CACHED)]

    def value(w: FloatArray) -> float:
        gain = prior * np.log(w).sum() - w.sum()
        for part in parts:
            gain += shares[part] @ np.log(w @ likelihoods[:, part])
        return float(gain)

    def newton_step(w: FloatArray) -> FloatArray:
        slope = prior / w - 1
        curvature = np.diag(prior / w**2)
        for part in parts:
            per_row = likelihoods[:, part] / (w @ likelihoods[:, part])
            weighted = per_row * shares[part]
            slope = slope + weighted.sum(axis=1)
            curvature += weighted @ per_row.T
        step: FloatArray = np.linalg.solve(curvature, slope)
        return step

    weights = np.full(n_parts, 1 / n_parts)
    here = value(weights)
    for _ in range(NEWTON_STEPS):
        step = newton_step(weights)
        while (weights + step).min() <= 0:
            step /= 2
        there = value(weights + step)
        # Near the optimum, values differ by less than their rounding error.
        while not there >= here and (abs(step) > SHORT * weights).any():
            step /= 2
            there = value(weights + step)
        weights, here = weights + step, there
        if abs(step).max() <= CONVERGED:
            break
    total: float = weights.sum()
    return weights / total
