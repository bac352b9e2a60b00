"""Inverted scores: higher scores go with fewer positives; the rule is nearly flat.

Isotonic regression pools whatever falls, so a rule of inverted scores predicts the base
rate almost everywhere, and looks well calibrated. The Mann-Whitney test detects this.
It costs a pass over the data, so only rules with few pieces are tested.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from abers import _kernel
from abers.core.auc import pairs_in_order
from abers.core.units import order_free_sum
from abers.errors import InvertedScoresWarning, warn

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from abers.core.diagram import Classes, Diagram
    from abers.validation import FloatArray, LabelArray

Name = TypeVar("Name")

FALSE_ALARMS = 0.001  # share of fits to uninformative scores that raise a warning
# A rule may be inverted if it has at most 96 + 8 n / k pieces, where k is the number of
# rows with the rarer label. In decision 5, rules with a warning have at most three
# quarters of that. A rule of informative scores has more: some 2,000 for 10^6 rows.
FEW_PIECES, PIECES_PER_RARER = 96, 8
HALF = 0.5
INVERTED = (
    "The score is inverted (AUC {:.3f}): higher scores go with fewer positives. Fit "
    "with increasing=False (command line: --descending), or negate the score."
)
INVERTED_FALLING = (
    "The score is inverted for a decreasing rule (AUC {:.3f}): higher scores go with "
    "more positives. Fit without increasing=False (command line: --descending)."
)


def inverted_sentence(auc: float) -> str:
    """Return the message on an inverted score, given its AUC."""
    # An increasing score is inverted below one half, a decreasing one above.
    return (INVERTED if auc < HALF else INVERTED_FALLING).format(auc)


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
        z = ((against if increasing else -against) - HALF) / math.sqrt(self.variance)
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


def may_be_inverted(n_pieces: int, zeros: float, ones: float) -> bool:
    """Return whether a rule with this many pieces may come from inverted scores."""
    rarer = min(zeros, ones)
    most = FEW_PIECES * rarer + PIECES_PER_RARER * (zeros + ones)
    return n_pieces * rarer <= most


def inverted(
    tests: Mapping[Name, MannWhitney | None], *, increasing: bool
) -> dict[Name, MannWhitney]:
    """Return the rules of one fit whose scores are inverted, most significant first.

    The level holds for the fit as a whole (Bonferroni), so pass all its rules; None
    stands for one that needs no test.
    """
    against = {
        name: (p, test)
        for name, test in tests.items()
        if test is not None
        and (p := test.p_value(increasing=increasing)) * len(tests) < FALSE_ALARMS
    }
    surest = sorted(against.items(), key=lambda item: item[1][0])
    return {name: test for name, (_, test) in surest}


def warn_if_inverted(test: MannWhitney | None, *, increasing: bool) -> None:
    """Warn if the scores of a rule are inverted."""
    if test is not None and test.p_value(increasing=increasing) < FALSE_ALARMS:
        warn(inverted_sentence(test.auc), InvertedScoresWarning)
