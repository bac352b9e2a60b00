"""Merging: from bounds to one probability, minimax for a loss (section 4).

With many classes, also from the bounds of each class to bounds of the normalised
probabilities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from abers import _kernel, validation
from abers.errors import InvalidData

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from abers.choices import LossName
    from abers.core.rule import Rule
    from abers.validation import FloatArray


def log_minimax(p0: ArrayLike, p1: ArrayLike) -> FloatArray:
    """Merge lower and upper probabilities, minimax for log loss.

    Parameters
    ----------
    p0, p1 : array-like
        Lower and upper probabilities, of one shape; 0 <= p0 <= p1 <= 1.

    Returns
    -------
    ndarray of that shape
        The values p1 / (1 - p0 + p1).

    Examples
    --------
    >>> import abers
    >>> abers.rules.log_minimax([0.0, 0.2], [0.5, 0.6])  # 0.5/1.5 and 0.6/1.4
    array([0.33333333, 0.42857143])
    """
    return _log_minimax(*validation.as_bounds(p0, p1))


def brier_minimax(p0: ArrayLike, p1: ArrayLike) -> FloatArray:
    """Merge lower and upper probabilities, minimax for Brier loss.

    Parameters
    ----------
    p0, p1 : array-like
        Lower and upper probabilities, of one shape; 0 <= p0 <= p1 <= 1.

    Returns
    -------
    ndarray of that shape
        The values p1 + (p0² - p1²) / 2.

    Examples
    --------
    >>> import abers
    >>> abers.rules.brier_minimax([0.0, 0.2], [0.5, 0.6])  # 0.5 - 0.125 and 0.6 - 0.16
    array([0.375, 0.44 ])
    """
    return _brier_minimax(*validation.as_bounds(p0, p1))


def merge_folds(bounds: ArrayLike, loss: LossName = "log") -> FloatArray:
    """Merge the bounds of K predictors into one probability (Algorithm 7).

    Parameters
    ----------
    bounds : array-like of shape (K, n, 2)
        Lower and upper probabilities of n rows by each of K predictors.
    loss : {"log", "brier"}, default="log"
        The loss for which the merge is minimax.

    Returns
    -------
    ndarray of shape (n,)
        For log loss GM(p1) / (GM(1-p0) + GM(p1)) where GM is the geometric mean over
        the K predictors, and 1/2 where both means are 0; for Brier loss the mean of p1
        + (p0² - p1²) / 2.

    Examples
    --------
    >>> import abers
    >>> folds = [[[0.0, 0.5]], [[0.5, 0.5]]]
    >>> abers.rules.merge_folds(folds, "brier")  # mean of 0.375 and 0.5
    array([0.4375])
    >>> abers.rules.merge_folds(folds)  # 1/2 / (√½ + 1/2)
    array([0.41421356])
    """
    validation.check_choice(loss, LOSSES, "loss")
    pairs = validation.as_numbers(bounds, "bounds")
    if pairs.ndim != 3 or pairs.shape[0] == 0 or pairs.shape[2] != 2:  # noqa: PLR2004
        msg = (
            "bounds must have shape (K, n, 2) with at least one predictor; "
            f"got {pairs.shape}."
        )
        raise InvalidData(msg)
    validation.as_bounds(pairs[..., 0], pairs[..., 1])
    out = np.empty(pairs.shape[1])
    _kernel.merge_folds(np.ascontiguousarray(pairs), MERGES[loss].code, out)
    return out


def _log_minimax(p0: FloatArray, p1: FloatArray) -> FloatArray:
    # Where the bounds nearly meet, rounding could push the merge outside by an ulp.
    merged: FloatArray = np.clip(p1 / ((1 - p0) + p1), p0, p1)
    return merged


def _brier_minimax(p0: FloatArray, p1: FloatArray) -> FloatArray:
    return p1 + (p0 - p1) * (p0 + p1) / 2


def _log_term(bounds: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        mean_logarithm: FloatArray = np.log(bounds[..., 1]).mean(axis=0)
    return mean_logarithm


def _normalised(logarithms: FloatArray) -> FloatArray:
    upper = np.exp(logarithms - logarithms.max(axis=-1, keepdims=True))
    probabilities: FloatArray = upper / upper.sum(axis=-1, keepdims=True)
    return probabilities


def _brier_term(bounds: FloatArray) -> FloatArray:
    mean: FloatArray = _brier_minimax(bounds[..., 0], bounds[..., 1]).mean(axis=0)
    return mean


def nearest_in_simplex(points: FloatArray) -> FloatArray:
    """Return the nearest probability vector for each row: shifted and cut off at 0."""
    descending = -np.sort(-points, axis=-1)
    ranks = np.arange(1, points.shape[-1] + 1)
    shifts = (np.cumsum(descending, axis=-1) - 1) / ranks
    support_size = (descending > shifts).sum(axis=-1, keepdims=True)  # at least 1
    shift = np.take_along_axis(shifts, support_size - 1, axis=-1)
    nearest: FloatArray = np.maximum(points - shift, 0.0)
    return nearest


def _log_bounds(bounds: FloatArray) -> FloatArray:
    """Merge to the paper's fold pair (1 - GM(1-p0), GM(p1)).

    The pair is sorted, since it may be reversed when folds disagree.
    """
    with np.errstate(divide="ignore"):
        lower = 0.0 - np.expm1(np.log1p(-bounds[..., 0]).mean(axis=0))
        upper = np.exp(np.log(bounds[..., 1]).mean(axis=0))
    return np.sort(np.stack((lower, upper), axis=-1), axis=-1)


def _brier_bounds(bounds: FloatArray) -> FloatArray:
    means: FloatArray = bounds.mean(axis=0)
    return means


def box(lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the range of each component of a normalised vector: (..., C) -> (..., C).

    Component c lies in its pair (l_c, u_c) before the vector is divided by its sum.
    After that it lies between l_c / (l_c + the sum of the other u) and u_c / (u_c + the
    sum of the other l), and attains both. Two classes whose pairs mirror each other
    keep them. Where all components could be 0, the quotient 0/0 becomes 0 for the lower
    end and 1 for the upper one.

    >>> lower, upper = box(np.array([0.2, 0.2, 0.1]), np.array([0.3, 0.6, 0.2]))
    >>> lower  # 0.2 / (0.2 + 0.8), 0.2 / (0.2 + 0.5), 0.1 / (0.1 + 0.9)
    array([0.2       , 0.28571429, 0.1       ])
    >>> upper  # 0.3 / (0.3 + 0.3), 0.6 / (0.6 + 0.3), 0.2 / (0.2 + 0.4)
    array([0.5       , 0.66666667, 0.33333333])
    """
    return _share(lower, upper, undefined=np.inf), _share(upper, lower, undefined=0.0)


def _share(parts: FloatArray, others: FloatArray, *, undefined: float) -> FloatArray:
    """Return part_c / (part_c + Σ_{j≠c} other_j).

    Each step of 1 / (1 + rest / part) is monotone in floating point, too, so the lower
    end of a box is never above the upper one. The sum over j ≠ c adds the terms before
    and after c, since subtracting c from the total would cancel.
    """
    before = np.cumsum(others, axis=-1)[..., :-1]
    after = np.cumsum(others[..., ::-1], axis=-1)[..., -2::-1]
    rest = np.zeros(others.shape)
    rest[..., 1:] += before
    rest[..., :-1] += after
    odds_against = np.full(rest.shape, undefined)
    with np.errstate(divide="ignore", over="ignore"):
        np.divide(rest, parts, out=odds_against, where=(rest > 0) | (parts > 0))
    shares: FloatArray = 1 / (1 + odds_against)
    return shares


class Merge(NamedTuple):
    """How to merge bounds for one loss.

    Bounds (K, n, C, 2) of C classes against the rest from K predictors become
    probabilities (n, C) in two steps: `class_term` for each class, then
    `of_class_terms`.

    *Log loss.* If the label is y, predictor k is compared with its upper bound u_y^k,
    the probability that it would have given to the observed label. The extra loss of a
    prediction p, summed over k, is K log(u_y / p_y) with u_y the geometric mean of
    u_y^k over the predictors. p_c = u_c / Σu makes it K log Σu for every y, and any
    other p in the simplex has some smaller p_y, so it is worse for that y. For two
    classes it is GM(p1) / (GM(1-p0) + GM(p1)).

    *Brier loss.* For label y the comparators are u_y^k for class y and l_c^k for the
    others. Averaged over k, the extra loss is ‖p‖² - 2 p_y + 2 b_y and a constant, with
    b_c the mean over k of u_c + (l_c² - u_c²) / 2. Its largest value over y is least
    where p is the point of the simplex nearest to b: there b_y - p_y is the same number
    for all y with p_y > 0 and no larger elsewhere, and the multipliers p_y satisfy the
    Karush-Kuhn-Tucker conditions of this convex problem. If no p_c is 0, p is b shifted
    until it sums to 1. For two classes it is the mean of p1 + (p0² - p1²) / 2.
    """

    code: int  # the kernel's name of the loss
    of_bounds: Callable[[FloatArray, FloatArray], FloatArray]  # p0, p1 -> p
    bounds_of_folds: Callable[[FloatArray], FloatArray]  # (K, n, 2) -> (n, 2)
    # One class against the rest, (K, n, 2) -> (n,); all of them, (n, C) -> (n, C).
    class_term: Callable[[FloatArray], FloatArray]
    of_class_terms: Callable[[FloatArray], FloatArray]


MERGES = {
    "log": Merge(0, _log_minimax, _log_bounds, _log_term, _normalised),
    "brier": Merge(1, _brier_minimax, _brier_bounds, _brier_term, nearest_in_simplex),
}
LOSSES = tuple(MERGES)
MINIMAX = {loss: merge.of_bounds for loss, merge in MERGES.items()}


def merge_rules(
    rules: Sequence[Rule], scores: Sequence[ArrayLike], loss: LossName = "log"
) -> FloatArray:
    """Predict with K rules and merge, with the same bits as `merge_folds`.

    `scores` holds, for each rule, the scores of the same n rows. The bounds of all rows
    are never in memory together, which also takes less time.

    >>> from abers import fit_rule
    >>> rules = [fit_rule([1, 2], [0, 1]), fit_rule([1, 2], [1, 0])]
    >>> bounds = [rule.bounds([1, 2]) for rule in rules]
    >>> merge_rules(rules, [[1, 2], [1, 2]]) == merge_folds(bounds)
    array([ True,  True])
    """
    validation.check_choice(loss, LOSSES, "loss")
    columns = [validation.as_scores(column) for column in scores]
    validation.check_length(len(columns), len(rules), "scores", "rules")
    sizes = {column.size for column in columns}
    for size in sizes:
        validation.check_length(
            size, columns[0].size, "scores of a fold", "of the first"
        )
    out = np.empty(columns[0].size)
    missing, first = _kernel.merge_rules(
        [rule._table for rule in rules],  # noqa: SLF001
        columns,
        MERGES[loss].code,
        out,
    )
    if missing:
        validation.refuse_missing_scores(missing, first, out.size, purpose="predicting")
    return out
