"""AUC: the share of (zero, one) pairs that the scores put in the right order.

The Mann-Whitney test asks whether fewer pairs are in order than chance would put there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers import _kernel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from abers.core.diagram import Classes, Diagram
    from abers.validation import FloatArray, IntArray


def pairs_in_order(
    negatives: IntArray | FloatArray, positives: IntArray | FloatArray
) -> float:
    """Count the pairs in which the row labelled 1 scores higher; a tie counts half.

    >>> pairs_in_order(np.array([1, 1, 0]), np.array([0, 1, 1]))
    3.5
    """
    zeros = negatives.astype(np.float64)
    in_order = np.cumsum(zeros)
    in_order -= np.multiply(zeros, 0.5, out=zeros)
    in_order *= positives
    return float(in_order.sum())


class RunningAuc:
    """The AUC of rows that arrive in parts, in ascending order of their scores."""

    def __init__(self) -> None:
        self._zeros = 0.0
        self._ones = 0.0
        self._in_order = 0.0

    def add(self, in_order: float, zeros: float, ones: float) -> None:
        """Add a part, given its pairs in order and the weight of each label."""
        self._in_order += in_order + self._zeros * ones
        self._zeros += zeros
        self._ones += ones

    def watch(self, parts: Iterable[Diagram]) -> Iterator[Diagram]:
        """Yield each part after adding it."""
        for part in parts:
            negatives, positives = part.negatives, part.positives
            in_order = pairs_in_order(negatives, positives)
            self.add(in_order, float(negatives.sum()), float(positives.sum()))
            yield part

    @property
    def value(self) -> float:
        """Share of correctly ordered pairs; NaN if there is only one class."""
        pairs = self._zeros * self._ones
        return self._in_order / pairs if pairs else math.nan


def auc_of(diagram: Diagram) -> float:
    """Return the AUC of the scores in a diagram; NaN with only one class."""
    auc = RunningAuc()
    list(auc.watch([diagram]))
    return auc.value


class MannWhitney(NamedTuple):
    """Counts of (zero, one) pairs; the counts of several sets of rows add up."""

    in_order: float  # pairs in which the one has the higher score; a tie counts half
    pairs: float
    variance: float  # of `in_order` if labels are assigned at random to distinct scores

    @property
    def auc(self) -> float:
        """Share of the pairs in order; NaN if there is only one label."""
        return self.in_order / self.pairs if self.pairs else math.nan

    def p_value(self, *, increasing: bool) -> float:
        """Return the one-sided p-value against inverted scores: normal approximation.

        Ties make the variance smaller, but with rare labels they also skew the
        statistic; with the variance of distinct scores the test keeps its level
        (decision 5).
        """
        if not self.variance:
            return 1.0
        against = self.pairs / 2 - self.in_order
        # Continuity correction.
        z = ((against if increasing else -against) - 0.5) / math.sqrt(self.variance)
        return math.erfc(z / math.sqrt(2)) / 2

    def of_rows_counted(self, times: float) -> MannWhitney:
        """Return the test for rows that were each counted this many times.

        Counting a row again adds no evidence.
        """
        return self._replace(variance=self.variance * times)


NO_PAIRS = MannWhitney(0.0, 0.0, 0.0)


def mann_whitney(in_order: float, zeros: float, ones: float) -> MannWhitney:
    """Test the pairs of this many zeros and ones."""
    pairs = zeros * ones
    return MannWhitney(in_order, pairs, pairs * (zeros + ones + 1) / 12)


def mann_whitney_of_classes(classes: Classes) -> MannWhitney:
    """Test rows of weight 1, given the sorted scores of each class."""
    in_order = _kernel.pairs_in_order(*classes)
    return mann_whitney(in_order, classes.zeros.size, classes.ones.size)


def mann_whitney_of_diagram(
    diagram: Diagram, sizes: tuple[float, float] | None = None
) -> MannWhitney | None:
    """Test the rows of a diagram; None if their number is unknown.

    `sizes` are the effective numbers of zeros and ones, if weights are not row counts.
    """
    if sizes is None and not diagram.is_exact:
        return None
    negatives, positives, _ = diagram.units
    in_order = pairs_in_order(negatives, positives)
    counts = float(negatives.sum()), float(positives.sum())
    if sizes is None or not all(counts):
        return mann_whitney(in_order, *counts)
    auc = in_order / (counts[0] * counts[1])
    return mann_whitney(auc * sizes[0] * sizes[1], *sizes)


def summed(tests: Iterable[MannWhitney | None]) -> MannWhitney | None:
    """Add tests, each of rows compared within one set; None if one of them is None."""
    sums = np.zeros(3)
    for test in tests:
        if test is None:
            return None
        sums += test
    return MannWhitney(*sums.tolist())
