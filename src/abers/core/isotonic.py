"""Isotonic regression of weighted rates, by the kernel's minorant.

scipy has one, too, but importing scipy.optimize takes longer than a command on a small
file, and an image that only scores has no scipy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers import _kernel

if TYPE_CHECKING:
    from abers.validation import FloatArray, IntArray

BITS = 52  # of the total weight; rounding is then finer than that of doubles


class Isotonic(NamedTuple):
    """Blocks of equal value, and the value at each position."""

    first: IntArray  # the position where each block begins
    values: FloatArray


def isotonic_regression(
    rates: FloatArray, weights: FloatArray | IntArray, *, increasing: bool = True
) -> Isotonic:
    """Return the monotone least-squares fit to nonnegative rates.

    The values are the slopes of the greatest convex minorant of the cumulated weights
    and weighted rates. Whole weights and sums below 2**52 are kept exactly.

    >>> fit = isotonic_regression(np.array([0.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0]))
    >>> fit.first.tolist(), fit.values.tolist()
    ([0, 1], [0.0, 0.5, 0.5])
    """
    if not increasing:
        reverse = isotonic_regression(rates[::-1], weights[::-1])
        ends = rates.size - np.append(reverse.first[1:], rates.size)
        return Isotonic(ends[::-1], reverse.values[::-1])
    masses = np.column_stack((weights, rates * weights))
    sums = masses.cumsum(axis=0)
    # A power of two, so that whole sums stay whole.
    sums = np.ldexp(sums, BITS - math.frexp(sums[-1].max())[1])
    places = np.zeros((rates.size + 1, 2), dtype=np.int64)
    places[1:] = np.rint(sums)
    corners = _kernel.minorant(places)[:-1, 0]
    first = np.searchsorted(places[:, 0], corners)
    mass, total = np.add.reduceat(masses, first).T
    sizes = np.diff(np.append(first, rates.size))
    return Isotonic(first, np.repeat(total / mass, sizes))
