"""Discrimination: AUC, Gini and KS of a column, with 95 % intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers.core.auc import auc_of
from abers.core.diagram import Diagram
from abers.evaluation.metrics import PairedChange
from abers.losses import paired_difference

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from abers.evaluation.counts import Counted
    from abers.validation import FloatArray

CONFIDENCE = 0.95
Z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
# The distance between two large samples of one distribution exceeds this with
# probability 0.05, in units of the square root of 1 / zeros + 1 / ones; small samples
# exceed it less often.
KOLMOGOROV = math.sqrt(-math.log((1 - CONFIDENCE) / 2) / 2)
HALVINGS = 60
FEW = 2  # rows of a class without a variance


class Estimate(NamedTuple):
    """A number with a 95 % interval.

    Attributes
    ----------
    value : float
        NaN where it is undefined.
    lower, upper : float
        The ends of the interval.
    """

    value: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Discrimination:
    """How well a column separates ones from zeros.

    Attributes
    ----------
    auc : Estimate
        The area under the ROC curve. Each end of the interval is the wider of two:
        DeLong's on the log-odds scale, and Newcombe's, which is right if few pairs are
        out of order.
    gini : Estimate
        2 AUC - 1.
    ks : Estimate
        The largest distance between the distributions of zeros and of ones. The
        interval is Kolmogorov's band, which holds at all scores at once. A narrower one
        for the score where the distance is largest would be wrong: that score was
        chosen because the distance is large there.
    """

    auc: Estimate
    gini: Estimate
    ks: Estimate


def discrimination_of(column: Counted, *, falls: bool = False) -> Discrimination:
    """Measure how well a counted column separates ones from zeros.

    `falls` if higher numbers go with fewer ones.
    """
    diagram, zeros_squares, ones_squares = column.diagram, *squared_shares(column)
    sizes = _size(zeros_squares), _size(ones_squares)
    area = _auc(diagram, zeros_squares, ones_squares, sizes)
    if falls:
        area = Estimate(1 - area.value, 1 - area.upper, 1 - area.lower)
    gini = Estimate(*(2 * x - 1 for x in (area.value, area.lower, area.upper)))
    return Discrimination(area, gini, _ks(diagram, sizes))


class Placements(NamedTuple):
    """The position of each distinct score among the rows of the other class.

    The AUC is the mean of either, over the rows of its class.
    """

    among_zeros: FloatArray  # share of the zeros below; ties count half
    among_ones: FloatArray  # share of the ones above


def placements(diagram: Diagram) -> Placements:
    """Return the placements of both classes.

    >>> from abers.core.diagram import Diagram
    >>> placements(Diagram.from_rows([1, 2, 3], [0, 1, 0])).among_zeros
    array([0.25, 0.5 , 0.75])
    """
    zeros, ones = (np.asarray(c, float) for c in (diagram.negatives, diagram.positives))
    with np.errstate(invalid="ignore"):  # one class
        return Placements(
            (np.cumsum(zeros) - zeros / 2) / zeros.sum(),
            1 - (np.cumsum(ones) - ones / 2) / ones.sum(),
        )


def squared_shares(column: Counted) -> tuple[FloatArray, FloatArray]:
    """Sum the squared shares of zeros among all zeros, and the same for ones.

    The inverse of each sum is the effective number of rows.
    """
    diagram, scatter, ones_scatter = column
    zeros, ones = (np.asarray(c, float) for c in (diagram.negatives, diagram.positives))
    counts, total = zeros + ones, diagram.n_rows
    if scatter is None:
        scatter = counts / total**2
    of_ones = scatter * ones / counts if ones_scatter is None else ones_scatter
    shares = zeros.sum() / total, ones.sum() / total
    with np.errstate(invalid="ignore", divide="ignore"):  # one class
        return (scatter - of_ones) / shares[0] ** 2, of_ones / shares[1] ** 2


def _size(squares: FloatArray) -> float:
    """Return the effective number of rows of a class; 0 if it has none."""
    total = float(squares.sum())
    return 1 / total if total > 0 else 0.0


def class_variance(squares: FloatArray, deviations: FloatArray, size: float) -> float:
    """Return the variance of a mean over the rows of one class; NaN with one row."""
    if size < FEW:
        return math.nan
    return float((squares * deviations**2).sum()) * size / (size - 1)


def _auc(
    diagram: Diagram,
    zeros_squares: FloatArray,
    ones_squares: FloatArray,
    sizes: tuple[float, float],
) -> Estimate:
    among_zeros, among_ones = placements(diagram)
    area = auc_of(diagram)
    if math.isnan(area):
        return Estimate(area, area, area)
    variance = class_variance(zeros_squares, among_ones - area, sizes[0])
    variance += class_variance(ones_squares, among_zeros - area, sizes[1])
    outer = newcombe(area, *sizes)
    if math.isnan(variance) or area in {0.0, 1.0}:
        return outer
    margin = Z * math.sqrt(variance) / (area * (1 - area))
    log_odds = math.log(area / (1 - area))
    lower, upper = (1 / (1 + math.exp(x - log_odds)) for x in (margin, -margin))
    return Estimate(area, min(lower, outer.lower), max(upper, outer.upper))


def newcombe(area: float, zeros: float, ones: float) -> Estimate:
    """Return an AUC with Newcombe's interval, which exists at 0 and 1, too.

    References
    ----------
    Newcombe: Confidence intervals for an effect size measure based on the Mann-Whitney
    statistic, part 2, Statistics in Medicine 2006; method 5.

    >>> ten = newcombe(1.0, 10, 10)  # all of 100 pairs are in order
    >>> round(ten.lower, 3), ten.upper
    (0.8, 1.0)
    """

    def outside(theta: float) -> bool:
        mean_size = (zeros + ones) / 2 - 1
        spread = 1 + mean_size * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        variance = theta * (1 - theta) * spread / (zeros * ones)
        return (area - theta) ** 2 > Z**2 * variance

    return Estimate(area, *(_end(outside, area, end) for end in (0.0, 1.0)))


def _end(outside: Callable[[float], bool], inside: float, end: float) -> float:
    """Return an end of the interval around a number, by bisection."""
    if inside == end:
        return end
    for _ in range(HALVINGS):
        middle = (inside + end) / 2
        inside, end = (inside, middle) if outside(middle) else (middle, end)
    return inside


def _ks(diagram: Diagram, sizes: tuple[float, float]) -> Estimate:
    """Return the KS with Kolmogorov's band, which holds at all scores at once."""
    if not all(sizes):
        return Estimate(math.nan, math.nan, math.nan)
    zeros, ones = (
        np.cumsum(c) / np.sum(c) for c in (diagram.negatives, diagram.positives)
    )
    value = float(abs(zeros - ones).max())
    margin = KOLMOGOROV * math.sqrt(1 / sizes[0] + 1 / sizes[1])
    return Estimate(value, max(value - margin, 0.0), min(value + margin, 1.0))


def paired_auc(
    labels: NDArray[np.bool_],
    before: FloatArray,
    after: FloatArray,
    weights: FloatArray | None = None,
) -> PairedChange:
    """Compare the AUC of two columns of the same rows, by DeLong's paired error.

    >>> labels = np.array([False, False, True, True])
    >>> change = paired_auc(labels, np.array([1.0, 3, 2, 4]), np.array([1.0, 2, 3, 4]))
    >>> change.before, change.after, round(change.standard_error, 4)  # √(1/16 + 1/16)
    (0.75, 1.0, 0.3536)
    """
    w = np.ones(labels.size) if weights is None else weights
    areas, places = [], []
    for column in (before, after):
        diagram = Diagram.from_rows(column, labels, sample_weight=weights)
        among_zeros, among_ones = placements(diagram)
        at = np.searchsorted(diagram.scores, column).clip(max=diagram.scores.size - 1)
        areas.append(auc_of(diagram))
        places.append(np.where(labels, among_zeros[at], among_ones[at]))
    errors = [
        paired_difference(places[1][rows], places[0][rows], w[rows])[1]
        if rows.any()
        else math.nan
        for rows in (labels, ~labels)
    ]
    first, second = areas
    return PairedChange(first, second, second - first, math.hypot(*errors))
