"""Estimate the base rate of unlabelled rows from the distribution of their scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers import validation
from abers.core.prior import base_rate
from abers.core.rule import Rule
from abers.errors import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.cells import Cells
    from abers.validation import FloatArray, IntArray

POWER = 3  # of the ranks; puts most weight where the rarer label is most frequent
HALF = 0.5
SMALLEST_DISTANCE = 1e-12  # between two means in [0, 1]


@dataclass(frozen=True, slots=True)
class PriorEstimate:
    """A base rate, estimated from unlabelled rows.

    Attributes
    ----------
    rate : float
        The share of positives among these rows, between 0 and 1.
    standard_error : float
        The uncertainty due to both samples. Infinite if the scores do not separate the
        labels, if a label has only one row, or if there is only one new row.
    n_rows : int
        Number of rows that it was estimated from.
    """

    rate: float
    standard_error: float
    n_rows: int


class _Mean(NamedTuple):
    """The mean of a function of the rows, and the variance of that mean."""

    value: float
    variance: float


def estimate_prior(rule: Rule, scores: ArrayLike) -> PriorEstimate:
    """Estimate the share of positives among unlabelled rows.

    It assumes that P(score | label) is what it was at calibration, so that only the
    share of positives has changed. **If something else has changed, the estimate is
    wrong, and nothing here would notice.** It does not use the rule's probabilities:
    merged bounds are pulled towards one half, and an estimate based on them would be,
    too.

    Parameters
    ----------
    rule : Rule
        Fitted without weights, to rows of both labels; not adjusted to another rate.
    scores : array-like of shape (n,)
        Scores of the new rows, on the scale of the calibration scores; ±inf allowed,
        NaN refused.

    Returns
    -------
    PriorEstimate
        The rate, with its standard error.

    Notes
    -----
    Let f be any function of the score, m1 and m0 its means over the calibration rows
    with label 1 and 0, and m its mean over the new rows. If the scores of positives and
    of negatives are distributed as before, m = q m1 + (1 - q) m0 for the new rate q, so
    that q = (m - m0) / (m1 - m0). With v1, v0 and v, the variances of the three means,
    and D = m1 - m0, the squared standard error is (q² v1 + (1 - q)² v0 + v) / D². A
    quotient of means is biased; the bias to second order, (q (v1 + v0) - v0) / D², is
    subtracted. The result is clipped to [0, 1].

    f is r³ (1 - (1 - r)³ if more than half of the calibration rows are positive), where
    r is the rank among calibration rows and new rows together, in the direction of the
    rule. It does not depend on labels, and is steep where the rarer label is frequent.
    Ranks are computed from the rule's cells, the only counts of its rows that it keeps.

    Examples
    --------
    The score is 1 for nine tenths of the positives and for one tenth of the negatives.
    Of the new rows 34 % have a score of 1:

    >>> import abers
    >>> diagram = abers.rules.Diagram.from_counts([0, 1], [1000, 1000], [100, 900])
    >>> rule = abers.rules.fit_rule_from_diagram(diagram)
    >>> estimate = abers.rules.estimate_prior(rule, [1] * 34 + [0] * 66)
    >>> round(estimate.rate, 3)  # (0.34 - 0.1) / (0.9 - 0.1)
    0.3
    >>> round(estimate.standard_error, 3)  # sqrt(0.34 · 0.66 / 99) / 0.8, and a little
    0.06
    """
    validation.check_type(rule, Rule, "rule")
    cells = _cells_of(rule)
    old = base_rate(rule.metadata, rule.n_positives, rule.n_rows)
    s = validation.as_scores(scores)
    if not s.size:
        msg = "scores must not be empty; got no rows to estimate from."
        raise InvalidData(msg)
    validation.check_scores(s, purpose="estimating")
    cuts = cells.cuts
    new = np.bincount(np.searchsorted(cuts, s, side="right"), minlength=cuts.size + 1)
    counts, positives = _centred(cells, np.isin(cuts, s))
    f = _powers_of_ranks(counts + new, rare=old <= HALF, increasing=rule.increasing)
    ones, zeros = _mean(f, positives), _mean(f, counts - positives)
    return _estimated(ones, zeros, _mean(f, new), old, s.size)


def _cells_of(rule: Rule) -> Cells:
    """Return the calibration rows of a rule by cell, or None if unknown."""
    if rule.cells is None:
        msg = (
            "rule must know where its calibration rows were; got one that does not, "
            "because it was adjusted to another base rate, was saved by an earlier "
            "version, or is of a diagram with fractional weights. Pass the rule as "
            "fitted, by fit_rule."
        )
        raise InvalidParameter(msg)
    if rule.cells.squares is not None:
        msg = (
            "rule must be fitted without weights, because it does not keep those of "
            "each label, on which the standard error depends; got one with weights. "
            "If they depend on the label alone, fit a rule to the same rows without "
            "them: the estimate is the same."
        )
        raise InvalidParameter(msg)
    return rule.cells


def _centred(cells: Cells, shared: np.ndarray) -> tuple[FloatArray, FloatArray]:
    """Return rows and positives by cell, half of each row on a cut moved below it.

    A cut is a calibration score, and is counted in the cell above it. No new row lies
    there, unless scores are tied (`shared`), so calibration rows would seem to rank
    half a row too high. The label of such a row is unknown; the mean of its cell is
    used.
    """
    moved = np.append(0.0, np.where(shared, 0.0, HALF))
    share = moved / np.maximum(cells.counts, 1)
    counts, positives = (
        mass - mass * share + np.append((mass * share)[1:], 0.0)
        for mass in (cells.counts, cells.positives)
    )
    return counts, positives


def _powers_of_ranks(rows: FloatArray, *, rare: bool, increasing: bool) -> FloatArray:
    """Return the value for each cell of the function whose means are compared."""
    rank = (np.cumsum(rows) - rows / 2) / rows.sum()
    if not increasing:
        rank = 1 - rank
    powers: FloatArray = rank**POWER if rare else 1 - (1 - rank) ** POWER
    return powers


def _mean(f: FloatArray, rows: FloatArray | IntArray) -> _Mean:
    """Return the mean over rows; the variance of a single row is unknown."""
    size = round(rows.sum().item())  # half rows add up to whole ones, but for rounding
    value = (rows @ f).item() / size
    if size == 1:
        return _Mean(value, math.inf)
    return _Mean(value, (rows @ (f - value) ** 2).item() / size / (size - 1))


def _estimated(
    ones: _Mean, zeros: _Mean, new: _Mean, old: float, n_rows: int
) -> PriorEstimate:
    """Solve for the rate, and correct the second-order bias of the quotient."""
    distance = ones.value - zeros.value
    if abs(distance) < SMALLEST_DISTANCE:  # every rate fits as well as the old one
        return PriorEstimate(old, math.inf, n_rows)
    q = (new.value - zeros.value) / distance
    bias, error = 0.0, math.inf
    both = ones.variance + zeros.variance
    if both < math.inf:
        bias = (q * both - zeros.variance) / distance**2
    if both + new.variance < math.inf:
        variance = q**2 * ones.variance + (1 - q) ** 2 * zeros.variance + new.variance
        error = math.sqrt(variance) / abs(distance)
    return PriorEstimate(min(max(q - bias, 0.0), 1.0), error, n_rows)
