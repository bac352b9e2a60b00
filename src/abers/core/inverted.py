"""Inverted scores: a higher one goes with fewer positives, and the rule is nearly flat.

Isotonic regression pools whatever falls, so that a rule of inverted scores predicts the
base rate almost everywhere, and looks well calibrated. Mann and Whitney's test tells.
It costs a pass over the data, so it is made for rules with few pieces only.
"""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from abers import _kernel
from abers.core.units import order_free_sum
from abers.errors import InvertedScoresWarning

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abers.core.diagram import Classes, Diagram
    from abers.validation import FloatArray, LabelArray

Name = TypeVar("Name")

FALSE_ALARMS = 0.001  # share of the fits to uninformative scores that are warned of
# A rule may be inverted if it has at most 96 + 8 n / k pieces, k being the number of
# rows with the rarer label. In decision 18 those that are warned of have three quarters
# of that at most. A rule that increases as it should has more: of 10^6 rows some 2,000.
FEW_PIECES, PIECES_PER_RARER = 96, 8
LARGEST_SKEWNESS = 1.0  # at which Wilson and Hilferty's approximation is trusted
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
    """Say that a score is inverted, whose AUC is on the wrong side of one half."""
    # An increasing score is inverted below one half, a decreasing one above.
    return (INVERTED if auc < HALF else INVERTED_FALLING).format(auc)


class RankSum(NamedTuple):
    """What the kernel counts of labels in the order of scores."""

    in_order: float  # pairs of a zero and a higher one; a tie counts half
    zeros: float
    ones: float
    tied: float  # chance that two rows, drawn with replacement, have one score
    variance: float  # central moments of the midranks, as shares of the rows
    third: float
    fourth: float


class LabelOrder(NamedTuple):
    """How the labels follow the score, and how they would by chance.

    The statistic is the sum of the midranks of the ones, as shares of the rows, minus
    what it is on average if labels are dealt at random; then it has these cumulants.
    Those of several sets of rows add up to the test of van Elteren, which compares
    only rows of one set.
    """

    in_order: float
    pairs: float
    shift: float  # the statistic; negative if higher scores go with fewer ones
    step: float  # for continuity: half the mean gap between midranks, or more
    variance: float
    third: float
    fourth: float

    def plus(self, other: LabelOrder) -> LabelOrder:
        """Take rows of another set into the test."""
        return LabelOrder(
            self.in_order + other.in_order,
            self.pairs + other.pairs,
            self.shift + other.shift,
            max(self.step, other.step),
            self.variance + other.variance,
            self.third + other.third,
            self.fourth + other.fourth,
        )

    def of_rows_counted(self, times: float) -> LabelOrder:
        """Return the test of rows each of which was counted so many times.

        Counted again, a row brings no new evidence; cumulants add up over rows.
        """
        return self._replace(
            shift=self.shift / times,
            variance=self.variance / times,
            third=self.third / times,
            fourth=self.fourth / times,
        )

    @property
    def auc(self) -> float:
        """Share of the pairs in order."""
        return self.in_order / self.pairs

    def p_value(self, *, increasing: bool) -> float:
        """Return the p-value of the one-sided test of Mann and Whitney.

        An approximation: normal, with the variance that ties leave, and corrected for
        skewness and heavy tails, which rare labels bring if many rows have one score.
        Its level was computed exactly for small sets: see decision 18. Where it would
        be bad, Cantelli's inequality gives a bound.
        """
        sign = 1 if increasing else -1
        against = -sign * self.shift - self.step
        if against <= 0 or self.variance <= 0:
            return 1.0
        deviation = math.sqrt(self.variance)
        z = against / deviation
        skewness = -sign * self.third / (self.variance * deviation)
        # Of a Poisson variable the excess kurtosis is the square of the skewness.
        tail = max(skewness, math.sqrt(max(self.fourth, 0.0)) / self.variance)
        if tail > LARGEST_SKEWNESS:
            return 1 / (1 + z * z)
        if tail > 0:  # Wilson and Hilferty's cube root
            z = 6 / tail * math.expm1(math.log1p(tail * z / 2) / 3) + tail / 6
        return math.erfc(z / math.sqrt(2)) / 2


def may_be_inverted(n_pieces: int, zeros: float, ones: float) -> bool:
    """Tell whether a rule of so many pieces may be one of inverted scores."""
    rarer = min(zeros, ones)
    most = FEW_PIECES * rarer + PIECES_PER_RARER * (zeros + ones)
    return rarer > 0 and n_pieces * rarer <= most


def order_of_classes(classes: Classes) -> LabelOrder | None:
    """Order rows of weight one; None if all have one label."""
    return order_of_ranks(RankSum(*_kernel.rank_sum_of_classes(*classes)))


def order_of_diagram(
    diagram: Diagram, sizes: tuple[float, float] | None = None
) -> LabelOrder | None:
    """Order the rows of a diagram; None if nothing can be said.

    `sizes` are the effective numbers of zeros and ones, if weights are no numbers of
    rows; without them nobody knows how far sums of weights scatter. The rows are then
    taken to have different scores: what ties leave depends on where the weight lies.
    """
    if sizes is None and not diagram.is_exact:
        return None
    negatives, positives, _ = diagram.units
    ranks = RankSum(*_kernel.rank_sum_of_diagram(negatives, positives))
    if sizes is None:
        return order_of_ranks(ranks)
    pairs = ranks.zeros * ranks.ones
    if not pairs:
        return None  # one label
    return order_of_untied(ranks.in_order / pairs, *sizes)


def order_of_untied(auc: float, zeros: float, ones: float) -> LabelOrder | None:
    """Order rows of which only the AUC is known, as if no two had the same score.

    Ties would leave a smaller variance, and so a smaller p-value.
    """
    if zeros * ones == 0:
        return None
    in_order, tied = auc * zeros * ones, 1 / (zeros + ones)
    return order_of_ranks(RankSum(in_order, zeros, ones, tied, 1 / 12, 0.0, 1 / 80))


def effective_sizes(labels: LabelArray, weights: FloatArray) -> tuple[float, float]:
    """Return the effective numbers of zeros and of ones (Kish)."""
    zeros, ones = (weights[labels == label] for label in (0, 1))
    return effective_size(zeros), effective_size(ones)


def effective_size(weights: FloatArray) -> float:
    """Return the number of equal weights that would scatter as much (Kish)."""
    if not weights.any():
        return 0.0
    shares = weights / weights.max()  # squares of large weights overflow
    return order_free_sum(shares) ** 2 / order_free_sum(shares**2)


def order_of_ranks(ranks: RankSum) -> LabelOrder | None:
    """Turn moments of midranks to cumulants of the statistic; None with one label."""
    zeros, ones = ranks.zeros, ranks.ones
    pairs, rows = zeros * ones, zeros + ones
    if pairs == 0:
        return None
    p = ones / rows
    scatter = pairs / rows  # n p q
    skewed = 1 - 2 * p
    heavy = (1 - 6 * p * (1 - p)) * ranks.fourth - 3 * skewed**2 * ranks.variance**2
    return LabelOrder(
        in_order=ranks.in_order,
        pairs=pairs,
        shift=scatter * (ranks.in_order / pairs - HALF),
        step=ranks.tied / 2,
        variance=scatter * ranks.variance * rows / (rows - 1),
        third=scatter * skewed * ranks.third,
        fourth=scatter * heavy,
    )


def inverted(
    orders: Mapping[Name, LabelOrder | None], *, increasing: bool
) -> dict[Name, LabelOrder]:
    """Return those of the rules of one fit whose scores are inverted, surest first.

    The level is that of the whole fit (Bonferroni), so all rules must be among these;
    None stands for one that needs no test.
    """
    found = {}
    for name, order in orders.items():
        if order is None:
            continue
        p = order.p_value(increasing=increasing)
        if p * len(orders) < FALSE_ALARMS:
            found[name] = (p, order)
    surest = sorted(found.items(), key=lambda item: item[1][0])
    return {name: order for name, (_, order) in surest}


def warn_if_inverted(
    order: LabelOrder | None, *, increasing: bool, above: int = 0
) -> None:
    """Warn of a rule whose scores are inverted."""
    if order is None:
        return
    if order.p_value(increasing=increasing) < FALSE_ALARMS:
        warn(inverted_sentence(order.auc), above=1 + above)


def warn(message: str, *, above: int = 0) -> None:
    """Warn at the line that called the caller's function, or so many calls above."""
    warnings.warn(message, InvertedScoresWarning, stacklevel=3 + above)


def summed(orders: Sequence[LabelOrder | None]) -> LabelOrder | None:
    """Add orders up; None if one of them is None, or there are none."""
    total = None
    for order in orders:
        if order is None:
            return None
        total = order if total is None else total.plus(order)
    return total
