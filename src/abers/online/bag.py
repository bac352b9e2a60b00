"""A bag of rows: the p-values of each new row, given those before it.

The hypothesis is that the calibration rows and the rows of the stream are exchangeable:
drawn from one distribution, in no particular order. Then, given all rows so far but not
their order, the newest is equally likely to be any of them. So three p-values of a row
are uniform, and each is independent of the earlier ones of its kind:

- of its score, by its rank among all scores so far, with ties broken at random;
- of its label. The bounds at its score, before it joins the bag, are (p0, p1). Once it
  has joined, it lies in a level set of the isotonic regression whose share of ones is
  v = p1 if its label is 1, and v = p0 if it is 0. Given that the newest row falls into
  the set, it is a one with probability v. So U v for a one and v + U (1 - v) for a zero
  are uniform, U being uniform on [0, 1];
- of its label once more, reversed where v is not above the share of ones in the bag: a
  function of the bag and the level set, so this is uniform, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers import _kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abers.validation import FloatArray, IntArray


class LabelTests(NamedTuple):
    """The results of testing labels, row by row."""

    p: FloatArray
    turned: NDArray[np.bool_]
    expected: FloatArray  # the midpoint of the bounds before the row

    @property
    def slope(self) -> FloatArray:
        """The p-values, reversed where the test of the slope requires it."""
        return np.where(self.turned, 1 - self.p, self.p)


class Bag:
    """A growing bag of rows, and the random numbers that break ties.

    Scores and labels are two separate bags, since a row may never get a label.
    """

    def __init__(
        self,
        scores: FloatArray,
        negatives: IntArray,
        positives: IntArray,
        *,
        increasing: bool,
        seed: np.random.SeedSequence,
        others: IntArray | None = None,
    ) -> None:
        """Start with these counts at distinct scores; `others` have no label."""
        # As counts: a short file may hold large ones, and must not need their size in
        # memory.
        counts = negatives + positives
        self.n_labels = int(counts.sum())
        if others is not None:
            counts = counts + others
        self.n_scores = int(counts.sum())
        self._ranks = _kernel.Ranks(scores, counts)
        at = negatives + positives > 0
        self._labels = _kernel.Online.of_counts(
            scores[at], negatives[at], positives[at], increasing
        )
        self._for_scores, self._for_labels = map(np.random.PCG64, seed.spawn(2))

    def diagram(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Return the distinct scores, and the labels at each."""
        scores, negatives, positives = self._labels.diagram()
        return scores, negatives.view(np.int64), positives.view(np.int64)

    def skip(self, n_scores: int, n_labels: int) -> None:
        """Skip the random numbers of this many rows and labels."""
        self._for_scores.advance(n_scores)
        self._for_labels.advance(n_labels)

    def add_scores(self, scores: FloatArray) -> tuple[IntArray, IntArray]:
        """Add scores; return how many earlier ones are below each, or equal it."""
        below, equal = (np.empty(scores.size, dtype=np.int64) for _ in range(2))
        self._ranks.rank_then_add(scores, below, equal)
        self.n_scores += scores.size
        return below, equal

    def test_scores(self, scores: FloatArray) -> FloatArray:
        """Add scores; return the p-value of each among the earlier ones."""
        n_with = self.n_scores + np.arange(1, scores.size + 1)
        below, equal = self.add_scores(scores)
        draws = _uniform(self._for_scores, scores.size)
        p: FloatArray = (below + draws * (equal + 1)) / n_with
        return p

    def test_labels(self, scores: FloatArray, y: IntArray) -> LabelTests:
        """Add labels; return the result for each, given the bounds before it."""
        ones_before = self._labels.totals()[1]
        n_with = self.n_labels + np.arange(1, y.size + 1)
        bounds = np.empty((y.size, 2))
        self._labels.bounds_then_add(np.ascontiguousarray(scores), 1 - y, y, bounds)
        self.n_labels += y.size
        lower, upper = bounds.T
        draws = _uniform(self._for_labels, y.size)
        share = np.where(y == 1, upper, lower)  # of ones in the level set, with the row
        p = np.where(y == 1, draws * share, share + draws * (1 - share))
        rate = (ones_before + np.cumsum(y)) / n_with
        return LabelTests(p, share <= rate, (lower + upper) / 2)


def _uniform(generator: np.random.PCG64, n: int) -> FloatArray:
    """Draw numbers strictly between 0 and 1.

    The raw bits of a generator never change between versions of numpy.
    """
    bits = generator.random_raw(n)
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
