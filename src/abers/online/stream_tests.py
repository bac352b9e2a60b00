"""The tests of a stream in bounded memory: counts on a grid of scores, and bets.

A score is first rounded to a few significant bits. The grid is the same for all data,
so rounded rows are exchangeable if the rows are, and p-values are exact. Only the
counts at its points are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers.online.alarms import LABEL_SUMS, SCORE_SUMS, label_terms, score_terms
from abers.online.bag import Bag
from abers.online.bets import TESTS, traced_capital_for

if TYPE_CHECKING:
    from abers.validation import FloatArray, IntArray

SUMS = {"scores": SCORE_SUMS, "labels": LABEL_SUMS, "slope": LABEL_SUMS}


def rounded(scores: FloatArray, bits: int) -> FloatArray:
    """Round to this many significant bits, ties to even.

    >>> rounded(np.array([9, 11, np.inf]), 3)  # 4.5 and 5.5 times 2
    array([ 8., 12., inf])
    """
    mantissa, exponent = np.frexp(scores)
    with np.errstate(over="ignore"):  # the largest doubles overflow
        grid: FloatArray = np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits)
    return np.where(np.isinf(scores), scores, grid) + 0.0


class GridCounts(NamedTuple):
    """Counts of rows at distinct scores: those without a label, and those tested."""

    scores: FloatArray
    others: IntArray
    negatives: IntArray
    positives: IntArray


class Reached(NamedTuple):
    """Where the capital of a test reached the limit, and which bet had won."""

    test: str
    row: int
    bet: int
    after: int  # the row of the bet's last minimum; -1: the beginning
    since: dict[str, float]  # sums over the rows since then


class Sizes(NamedTuple):
    """The lengths of the arrays that describe bets."""

    floats: int
    rows: int


class StreamTests:
    """The three tests of one stream."""

    def __init__(
        self, counts: GridCounts, *, increasing: bool, seed: np.random.SeedSequence
    ) -> None:
        self._scores = counts.scores
        self._rows = counts.others + counts.negatives + counts.positives
        self._bag = Bag(
            *(counts.scores, counts.negatives, counts.positives),
            increasing=increasing,
            seed=seed,
            others=counts.others,
        )
        self.capital = {
            test: traced_capital_for(test, len(SUMS[test])) for test in TESTS
        }
        self.reached: dict[str, Reached] = {}
        self._alarmed: set[str] = set()  # tests whose alarm was raised earlier

    @property
    def n_scores(self) -> int:
        """Number of calibration rows and rows of the stream."""
        return self._bag.n_scores

    @property
    def n_labels(self) -> int:
        """Number of calibration rows and tested labels of the stream."""
        return self._bag.n_labels

    @property
    def counts(self) -> GridCounts:
        """The counts that are kept."""
        scores, negatives, positives = self._bag.diagram()
        at = np.searchsorted(self._scores, scores)
        labels = np.zeros((2, self._scores.size), dtype=np.int64)
        labels[:, at] = negatives, positives
        return GridCounts(self._scores, self._rows - labels.sum(axis=0), *labels)

    def test_scores(self, scores: FloatArray, rows: IntArray, limit: float) -> None:
        """Test new scores, given their rows; `limit` is a logarithm."""
        distinct, n = np.unique(scores, return_counts=True)
        every, at = np.unique(
            np.concatenate([self._scores, distinct]), return_inverse=True
        )
        n_rows = np.zeros(every.size, dtype=np.int64)
        np.add.at(n_rows, at, np.concatenate([self._rows, n]))
        self._scores, self._rows = every, n_rows
        p = self._bag.test_scores(scores)
        self._bet("scores", p, rows, score_terms(p), limit)

    def test_labels(
        self, scores: FloatArray, y: IntArray, rows: IntArray, limit: float
    ) -> None:
        """Test labels of rows whose scores were tested."""
        tested = self._bag.test_labels(scores, y)
        terms = label_terms(y, tested.expected, tested.turned)
        self._bet("labels", tested.p, rows, terms, limit)
        self._bet("slope", tested.slope, rows, terms, limit)

    def skip(self, n_scores: int, n_labels: int) -> None:
        """Skip the random numbers of this many rows and labels."""
        self._bag.skip(n_scores, n_labels)

    def restore(self, floats: FloatArray, rows: IntArray) -> None:
        """Restore bets from `TracedCapital.floats` and `least_rows`."""
        for capital in self.capital.values():
            n_floats, n_rows = capital.floats().size, capital.least_rows.size
            capital.restore(floats[:n_floats], rows[:n_rows])
            floats, rows = floats[n_floats:], rows[n_rows:]

    def has_alarm(self, test: str) -> None:
        """Record that a test has raised the alarm."""
        self._alarmed.add(test)

    def _bet(
        self, test: str, p: FloatArray, rows: IntArray, terms: FloatArray, limit: float
    ) -> None:
        capital = self.capital[test]
        path = capital.trace(p, rows, terms)
        reached = path >= limit
        if test in self._alarmed or not reached.any():
            return
        self._alarmed.add(test)
        bet = capital.winner()
        since = capital.sums - capital.least_sums[bet]
        self.reached[test] = Reached(
            test,
            int(rows[reached.argmax()]),
            bet,
            int(capital.least_rows[bet]),
            dict(zip(SUMS[test], since.tolist(), strict=True)),
        )


def fresh_bets() -> Sizes:
    """Return the lengths of the arrays that describe the bets of a stream."""
    fresh = [traced_capital_for(test, len(SUMS[test])) for test in TESTS]
    return Sizes(
        sum(each.floats().size for each in fresh),
        sum(each.least_rows.size for each in fresh),
    )


def are_bets(floats: FloatArray) -> bool:
    """Return whether the weights in this array are valid: not negative, not all 0."""
    for test in TESTS:
        fresh = traced_capital_for(test, len(SUMS[test]))
        weights = floats[: fresh.weights.size]
        if (weights < 0).any() or not 0 < weights.sum() < np.inf:
            return False
        floats = floats[fresh.floats().size :]
    return True
