"""Bets: capital that is not expected to grow while p-values are uniform.

A bet multiplies what is placed on it by a factor whose mean is 1 if the p-value is
uniform given those before it. So the capital is a test martingale: it starts at 1, and
the probability that it ever reaches c is at most 1/c (Ville). Which bets are made is
settled in advance; how capital moves between them depends on past factors of the same
test alone (`kernel/jumper.hpp`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers import _kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from abers.validation import FloatArray

    Factors = Callable[[FloatArray], FloatArray]

RATES = np.array([0.0, 1e-4, 1e-3])  # shares of the capital that jump in a round
STAKES = np.array([0.3, -0.3, 0.6, -0.6, 1.2, -1.2])  # of 1 + e (p - 1/2)
ROUNDS_AT_ONCE = 2**14  # rounds whose factors are held at a time


def on_one_side(p: FloatArray) -> FloatArray:
    """Bet that p-values are too small, or too large; the first bet is none at all."""
    return _with_none(1 + np.multiply.outer(p - 0.5, STAKES))


def on_either_side(p: FloatArray) -> FloatArray:
    """Bet on that, or that p-values are too near the ends, or the middle."""
    away = np.abs(2 * p - 1) - 0.5
    factors = 1 + np.multiply.outer(away, STAKES)
    return np.concatenate([on_one_side(p), factors], axis=1)


def _with_none(factors: FloatArray) -> FloatArray:
    return np.concatenate([np.ones((len(factors), 1)), factors], axis=1)


class Capital:
    """What bets have made of 1; given by its logarithm, for it may exceed a double."""

    def __init__(self, factors: Factors, n_bets: int) -> None:
        self.factors = factors
        self.weights = np.full((RATES.size, n_bets), 1 / (RATES.size * n_bets))
        self.log_scale = 0.0
        self.log = 0.0

    def play(self, p: FloatArray) -> FloatArray:
        """Play a round for each p-value; return the logarithm of the capital after it.

        Rounds may come one by one or many at a time: the bits are the same.
        """
        path = np.empty(p.size)
        for start in range(0, path.size, ROUNDS_AT_ONCE):
            rounds = slice(start, start + ROUNDS_AT_ONCE)
            factors = self.factors(p[rounds])
            self.log_scale = _kernel.jump(
                RATES,
                np.ascontiguousarray(factors),
                self.weights,
                self.log_scale,
                path[rounds],
            )
        if path.size:
            self.log = float(path[-1])
        return path


def capital_for(test: str) -> Capital:
    """Return the capital with which a test begins."""
    if test == "scores":
        return Capital(on_either_side, 1 + 2 * STAKES.size)
    return Capital(on_one_side, 1 + STAKES.size)


TESTS = ("scores", "labels", "slope")
