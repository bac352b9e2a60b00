"""Bets: capital that is not expected to grow while p-values are uniform.

A bet multiplies its stake by a factor whose mean is 1 if the p-value is uniform given
the earlier ones. So the capital is a test martingale: it starts at 1, and the
probability that it ever reaches c is at most 1/c (Ville). The bets are fixed in
advance; how capital moves between them depends only on past factors of the same test
(`kernel/jumper.hpp`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers import _kernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from abers.validation import FloatArray, IntArray

    Factors = Callable[[FloatArray], FloatArray]

RATES = np.array([0.0, 1e-4, 1e-3])  # shares of the capital that change bets per round
STAKES = np.array([0.3, -0.3, 0.6, -0.6, 1.2, -1.2])  # e in the factor 1 + e (p - 1/2)
BEFORE_ALL = -1  # in place of a row number
ROUNDS_AT_ONCE = 2**14  # rounds whose factors are in memory at once


def on_one_side(p: FloatArray) -> FloatArray:
    """Bet that p-values are too small, or too large; the first bet stakes nothing."""
    return _with_none(1 + np.multiply.outer(p - 0.5, STAKES))


def on_either_side(p: FloatArray) -> FloatArray:
    """Bet as above, or that p-values are too near the ends, or the middle."""
    away = np.abs(2 * p - 1) - 0.5
    factors = 1 + np.multiply.outer(away, STAKES)
    return np.concatenate([on_one_side(p), factors], axis=1)


def _with_none(factors: FloatArray) -> FloatArray:
    return np.concatenate([np.ones((len(factors), 1)), factors], axis=1)


class Capital:
    """What bets have made of a capital of 1, as a logarithm, since it may be huge."""

    def __init__(self, factors: Factors, n_bets: int) -> None:
        self.factors = factors
        self.weights = np.full((RATES.size, n_bets), 1 / (RATES.size * n_bets))
        self.log_scale = 0.0
        self.log = 0.0

    def play(self, p: FloatArray) -> FloatArray:
        """Play a round for each p-value; return the log-capital after each.

        Rounds may be played one by one or many at a time, with the same bits.
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


class TracedCapital(Capital):
    """Capital that also tracks where each bet was last at its minimum.

    Bets that win now were losing until something changed. So the minimum of the bet
    that has won most is an estimate of the time of the change. Running sums over the
    rows are stored at that minimum: the sums since then show the size of the change.
    """

    def __init__(self, factors: Factors, n_bets: int, n_sums: int) -> None:
        super().__init__(factors, n_bets)
        self.bet_logs = np.zeros(n_bets)
        self.least_logs = np.zeros(n_bets)
        self.least_rows = np.full(n_bets, BEFORE_ALL)  # after which it was there
        self.sums = np.zeros(n_sums)
        self.least_sums = np.zeros((n_bets, n_sums))

    def trace(self, p: FloatArray, rows: IntArray, terms: FloatArray) -> FloatArray:
        """Play, and track each bet; `terms` are what each row adds to the sums."""
        for start in range(0, p.size, ROUNDS_AT_ONCE):
            some = slice(start, start + ROUNDS_AT_ONCE)
            self._follow(np.log(self.factors(p[some])), rows[some], terms[some])
        return self.play(p)

    def _follow(self, gains: FloatArray, rows: IntArray, terms: FloatArray) -> None:
        # The earlier sum comes first, so sums do not depend on how rows are batched.
        logs = np.cumsum(np.vstack([self.bet_logs, gains]), axis=0)[1:]
        sums = np.cumsum(np.vstack([self.sums, terms]), axis=0)[1:]
        places = len(logs) - 1 - np.argmin(logs[::-1], axis=0)  # the last minimum
        least = np.take_along_axis(logs, places[None], axis=0)[0]
        lower = least <= self.least_logs
        self.least_logs[lower] = least[lower]
        self.least_rows[lower] = rows[places[lower]]
        self.least_sums[lower] = sums[places[lower]]
        self.bet_logs, self.sums = logs[-1], sums[-1]

    def floats(self) -> FloatArray:
        """Return all but `least_rows`, end to end."""
        parts = (
            *(self.weights.ravel(), np.array([self.log_scale, self.log])),
            *(self.bet_logs, self.least_logs, self.sums, self.least_sums.ravel()),
        )
        return np.concatenate(parts) + 0.0

    def restore(self, floats: FloatArray, least_rows: IntArray) -> None:
        """Restore the state from these numbers."""
        n_bets, n_sums = self.least_logs.size, self.sums.size
        sizes = [self.weights.size, 2, n_bets, n_bets, n_sums]
        weights, of_all, logs, least, sums, least_sums = np.split(
            floats, np.cumsum(sizes)
        )
        self.weights = weights.reshape(self.weights.shape).copy()
        self.log_scale, self.log = of_all.tolist()
        self.bet_logs, self.least_logs, self.sums = logs, least.copy(), sums
        self.least_sums = least_sums.reshape(n_bets, n_sums).copy()
        self.least_rows = least_rows.copy()

    def winner(self) -> int:
        """Return the bet with the most capital, among those that stake something."""
        return 1 + int(self.weights.sum(axis=0)[1:].argmax())


def capital_for(test: str) -> Capital:
    """Return the initial capital of a test."""
    return Capital(*BETS[test])


def traced_capital_for(test: str, n_sums: int) -> TracedCapital:
    """Return the initial capital of a test, with tracking."""
    return TracedCapital(*BETS[test], n_sums)


BETS: dict[str, tuple[Factors, int]] = {  # for each test, and how many
    "scores": (on_either_side, 1 + 2 * STAKES.size),
    "labels": (on_one_side, 1 + STAKES.size),
    "slope": (on_one_side, 1 + STAKES.size),
}


TESTS = tuple(BETS)
