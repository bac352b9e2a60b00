"""Decisions: choose actions by costs and bounds, for the worst case within the bounds.

This is in core and not with decision curves, since a decision needs no labels, and
`abers decide` must start as fast as `abers predict`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, get_args

import numpy as np

from abers import validation
from abers.choices import Criterion
from abers.core.merging import MERGES
from abers.errors import InvalidData, InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from abers.validation import FloatArray, IntArray

    # A function of one cost per class: the largest expected cost within each row's
    # bounds.
    Worst = Callable[[FloatArray], FloatArray]

CRITERIA = get_args(Criterion)
REFER = -1
COST_TOLERANCE = 1e-12  # of the largest cost; costs that differ by less are equal
FUZZ = 1e-12  # of sums of bounds that should be 1


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What to do in each case.

    Attributes
    ----------
    action : ndarray of int, shape (n,)
        The chosen row of `costs`; -1 if the case is referred.
    worst_cost : ndarray of shape (n,)
        The action's largest expected cost (or regret, if that is the criterion) within
        the bounds.
    undetermined : ndarray of bool, shape (n,)
        Whether different actions are best for different probabilities within the
        bounds. Referring is not counted among these actions.
    n_empty : int
        With more than two classes, the number of cases whose bounds contain no
        probabilities that sum to 1; their actions are those of the normalised upper
        bounds.
    """

    action: IntArray
    worst_cost: FloatArray
    undetermined: NDArray[np.bool_]
    n_empty: int

    def __repr__(self) -> str:
        """Show how often each action was chosen."""
        actions, rows = np.unique(self.action, return_counts=True)
        chosen = ", ".join(
            f"referred: {n}" if action == REFER else f"action {action}: {n}"
            for action, n in zip(actions.tolist(), rows.tolist(), strict=True)
        )
        return f"Decisions({len(self.action)} rows{chosen and '; ' + chosen})"


def decide(
    bounds: ArrayLike,
    costs: ArrayLike | None = None,
    *,
    cost_fp: float | None = None,
    cost_fn: float | None = None,
    criterion: Criterion = "cost",
    refer: float | None = None,
) -> Decisions:
    """Choose the action whose worst expected cost within the bounds is least.

    Every probability between the bounds is considered possible. If both bounds are
    equal, this is the Bayes action. Costs that are equal up to rounding are a tie, and
    the last action wins: with `[[0, miss], [false_alarm, 0]]` that is acting, in line
    with the rule "act at a probability of t or more".

    Parameters
    ----------
    bounds : array-like of shape (n, 2) or (n, C, 2)
        Lower and upper probability of label 1, or of each of C classes, as from
        `Rule.bounds` and `predict_bounds`.
    costs : array-like of shape (actions, C), default=None
        What each action costs for each class; for two classes the columns are label 0
        and label 1, and `[[0, miss], [false_alarm, 0]]` is not acting and acting. Gains
        are negative costs. For two classes, `cost_fp` and `cost_fn` may be given
        instead.
    cost_fp, cost_fn : float, default=None
        The cost of a false positive (acting on a 0) and of a false negative (not acting
        on a 1); right actions cost nothing. Harder to mix up than the rows and columns
        of `costs`.
    criterion : {"cost", "regret"}, default="cost"
        What to minimise in the worst case: the expected cost, or the regret, which is
        the excess over the cost of the best action.
    refer : float, default=None
        The price of referring a case to an expert, whatever its class. Referring is one
        more action, taken if it is better than all others. None: never refer.

    Returns
    -------
    Decisions
        The actions, their worst costs, and whether the bounds determine them.

    Notes
    -----
    Let an expected cost be (1 - p) c0 + p c1 with p between p0 and p1. It is linear in
    p, so its worst case is at an end; the regret is the largest of such functions, so
    it is convex and the same holds.

    **Minimax cost is the log-minimax probability.** Let acting cost FP for a 0, not
    acting FN for a 1, and right actions nothing; let t = FP / (FP + FN). At worst,
    acting costs (1 - p0) FP and not acting costs p1 FN. Acting is chosen if (1 - p0) FP
    <= p1 FN, that is FP / (FP + FN) <= p1 / (1 - p0 + p1): if `log_minimax(p0, p1) >=
    t`. So the default probability of this library *is* the minimax decision, for every
    ratio of costs.

    **Minimax regret is the midpoint.** Let each of two actions be the better one for
    one class, acting for 1. With a = cost of acting - cost of not acting, a0 > 0 for a
    0 and a1 < 0 for a 1, the difference of expected costs is (1 - p) a0 + p a1 =
    (t - p)(a0 - a1) with t = a0 / (a0 - a1). In units of a0 - a1 the regret of acting
    is (t - p)+, at worst (t - p0)+; that of not acting is (p - t)+, at worst (p1 - t)+.
    If t lies within the bounds, acting is chosen if t - p0 <= p1 - t; outside of them
    one regret is 0; together: if (p0 + p1) / 2 >= t.

    Both hold **among actions that are not randomised**. Where p0 < t < p1, tossing a
    coin is strictly better: acting with probability 1 - t costs t FN whatever p is,
    less than either action at its worst; and acting with probability (p1 - t) / (p1 -
    p0) has the regret (t - p0)(p1 - t) / (p1 - p0), less than t - p0 and p1 - t. Few
    decision makers may toss coins, so decisions here are never random.

    With more classes, all probability vectors within the bounds that sum to 1 are
    possible. The worst one for an action starts with all classes at their lower bounds
    and raises the costliest classes first until the sum is 1. Bounds from
    `predict_bounds` always contain the predicted probabilities; other bounds may
    contain no vector that sums to 1, and such cases are counted.

    Examples
    --------
    A miss costs 4 times as much as a false alarm, so t = 1/5:

    >>> import abers
    >>> bounds = [[0.0, 0.1], [0.1, 0.3], [0.5, 0.6]]
    >>> decisions = abers.decide(bounds, cost_fp=1, cost_fn=4)  # or [[0, 4], [1, 0]]
    >>> decisions.action  # 0.1 / 1.1 < 1/5, 0.3 / 1.2 >= 1/5
    array([0, 1, 1])
    >>> decisions.worst_cost  # 0.1 · 4, 0.9 · 1, 0.5 · 1
    array([0.4, 0.9, 0.5])
    >>> decisions.undetermined
    array([False,  True, False])
    >>> abers.decide(bounds, [[0, 4], [1, 0]], refer=0.6)
    Decisions(3 rows; referred: 1, action 0: 1, action 1: 1)
    """
    lower, upper = _as_pairs(bounds)
    n_classes = 2 if lower.ndim == 1 else lower.shape[1]
    if costs is None or cost_fp is not None or cost_fn is not None:
        costs = _of_errors(costs, cost_fp, cost_fn, n_classes)
    table = _as_table(costs, n_classes, refer)
    n_actions = len(table) - (refer is not None)
    worst_of, n_empty = _worst_within(lower, upper)
    tie = COST_TOLERANCE * abs(table).max()
    action, worst_cost = _least(_worst(table, criterion, worst_of), n_actions, tie)
    return Decisions(
        action=action,
        worst_cost=worst_cost,
        undetermined=~_is_determined(table[:n_actions], worst_of, tie, len(lower)),
        n_empty=n_empty,
    )


def _as_pairs(bounds: ArrayLike) -> tuple[FloatArray, FloatArray]:
    pairs = validation.as_numbers(bounds, "bounds")
    if pairs.ndim not in {2, 3} or pairs.shape[-1] != 2 or pairs.shape[1] < 2:
        msg = (
            "bounds must have shape (n, 2), or (n, C, 2) for C classes; "
            f"got {pairs.shape}. Pass rule.bounds(scores) or predict_bounds(X)."
        )
        raise InvalidData(msg)
    lower, upper = (np.ascontiguousarray(pairs[..., end]) for end in (0, 1))
    if pairs.ndim == 2:
        _refuse_classes(lower, upper)
    return validation.as_bounds(lower, upper)


def _refuse_classes(lower: FloatArray, upper: FloatArray) -> None:
    """Raise for the two columns of `predict_proba`: most would pass as bounds."""
    swapped = lower > upper
    if swapped.any() and (abs(lower + upper - 1) < FUZZ).all():
        row = int(swapped.argmax())
        msg = (
            "bounds must be lower and upper probabilities; got "
            f"({lower[row].item()!r}, {upper[row].item()!r}) at row {row}, and rows "
            "that all add up to 1, as those of predict_proba do. Pass "
            "predict_bounds(X), or np.column_stack((p, p)) of single probabilities p."
        )
        raise InvalidData(msg)


def _of_errors(
    costs: ArrayLike | None,
    cost_fp: float | None,
    cost_fn: float | None,
    n_classes: int,
) -> list[list[float]]:
    """Return the costs of not acting and acting, given those of the errors."""
    if costs is not None or cost_fp is None or cost_fn is None:
        given = {"costs": costs, "cost_fp": cost_fp, "cost_fn": cost_fn}
        names = [name for name, value in given.items() if value is not None]
        msg = (
            "costs must be given as one table, or as cost_fp and cost_fn; "
            f"got {' and '.join(names) or 'neither'}."
        )
        raise InvalidParameter(msg)
    if n_classes > 2:
        msg = (
            f"cost_fp and cost_fn are for two classes; got bounds of {n_classes}. "
            "Pass costs, with a row for each action and a column for each class."
        )
        raise InvalidParameter(msg)
    false_positive = as_cost(cost_fp, "cost_fp", positive=True)
    false_negative = as_cost(cost_fn, "cost_fn", positive=True)
    return [[0.0, false_negative], [false_positive, 0.0]]


def _as_table(costs: ArrayLike, n_classes: int, refer: float | None) -> FloatArray:
    """Return the costs of all actions; referring, if allowed, is the last."""
    table = as_costs(costs, n_classes)
    if refer is None:
        return table
    price = as_cost(refer, "refer")
    return np.vstack((table, np.full(n_classes, price)))


def _worst_within(lower: FloatArray, upper: FloatArray) -> tuple[Worst, int]:
    """Return a function for worst expected costs, and the number of empty sets.

    >>> worst_of, _ = _worst_within(np.array([[0.1, 0.2, 0.3]]), np.array([[0.5] * 3]))
    >>> worst_of(np.array([0.0, 2.0, 1.0]))  # p = (0.1, 0.5, 0.4)
    array([1.4])
    """
    if lower.ndim == 1:
        return partial(_at_the_worse_end, lower, upper), 0
    sums = lower.sum(axis=1), upper.sum(axis=1)
    empty = (sums[0] > 1 + FUZZ) | (sums[1] < 1 - FUZZ)
    if empty.any():
        merge = MERGES["log"]
        pairs = np.stack((lower[empty], upper[empty]), axis=-1)
        lower, upper = lower.copy(), upper.copy()
        with np.errstate(invalid="ignore"):  # all upper bounds 0: nothing to normalise
            p = merge.of_class_terms(merge.class_term(pairs[np.newaxis]))
        p[np.isnan(p).any(axis=1)] = 1 / lower.shape[1]
        lower[empty] = upper[empty] = p
    return partial(_filled, lower, upper), int(empty.sum())


def _at_the_worse_end(
    lower: FloatArray, upper: FloatArray, costs: FloatArray
) -> FloatArray:
    zero, one = costs
    ends = ((1 - p) * zero + p * one for p in (lower, upper))
    worse: FloatArray = np.maximum(*ends)
    return worse


def _filled(lower: FloatArray, upper: FloatArray, costs: FloatArray) -> FloatArray:
    """Start at the lower bounds and raise the costliest classes first."""
    order = np.argsort(-costs, kind="stable")
    room = np.maximum(1 - lower.sum(axis=1, keepdims=True), 0)
    reached = np.minimum(np.cumsum((upper - lower)[:, order], axis=1), room)
    added = np.diff(reached, axis=1, prepend=0)
    expected: FloatArray = (lower[:, order] + added) @ costs[order]
    return expected


def _worst(table: FloatArray, criterion: Criterion, worst_of: Worst) -> FloatArray:
    """Return the worst cost, or regret, of each action: (actions, n)."""
    validation.check_choice(criterion, CRITERIA, "criterion")
    if criterion == "cost":
        return np.stack([worst_of(action) for action in table])
    # max over p of (own cost - least cost) is the max over the other actions of max
    # over p of (own - other), and each of these is a worst expected difference.
    return np.stack(
        [
            np.max([worst_of(action - other) for other in table], axis=0)
            for action in table
        ]
    )


def _least(
    worst: FloatArray, n_actions: int, tie: float
) -> tuple[IntArray, FloatArray]:
    """Choose the last of the best actions; refer only if that is strictly better."""
    own = worst[:n_actions]
    least: FloatArray = own.min(axis=0)
    action = np.zeros(least.size, dtype=np.int64)
    cost = own[0].copy()
    for place in range(1, n_actions):
        is_best = own[place] <= least + tie
        action[is_best] = place
        np.copyto(cost, own[place], where=is_best)
    if len(worst) > n_actions:  # referring is the last row
        is_best = worst[-1] < least - tie
        action[is_best] = REFER
        np.copyto(cost, worst[-1], where=is_best)
    return action, cost


def _is_determined(
    table: FloatArray, worst_of: Worst, tie: float, n_rows: int
) -> NDArray[np.bool_]:
    """Return where one action is best for all probabilities; ties go to the last."""
    determined = np.zeros(n_rows, dtype=np.bool_)
    for place, action in enumerate(table):
        best = np.ones(n_rows, dtype=np.bool_)
        for other_place, other in enumerate(table):
            if other_place != place:
                excess = worst_of(action - other)
                best &= excess <= tie if other_place < place else excess < -tie
        determined |= best
    return determined


# --- checks ---


def as_costs(values: object, n_classes: int) -> FloatArray:
    """Return the cost of each action for each class: finite, at least two actions."""
    costs = validation.as_numbers(values, "costs")
    if costs.ndim != 2 or len(costs) < 2 or costs.shape[1] != n_classes:
        msg = (
            "costs must have at least two rows (one per action) and "
            f"{n_classes} columns (one per class); got shape {costs.shape}. For two "
            "classes pass "
            "[[0, miss], [false_alarm, 0]]."
        )
        raise InvalidParameter(msg)
    bad = ~np.isfinite(costs)
    if bad.any():
        row, column = map(int, np.argwhere(bad)[0])
        msg = (
            "costs must be finite numbers; "
            f"got {validation.shown(costs[row, column])} for action {row} and class "
            f"{column}."
        )
        raise InvalidParameter(msg)
    return costs


def as_cost(value: object, name: str, *, positive: bool = False) -> float:
    """Return a finite number; text and booleans are refused."""
    number = validation.as_number(value)
    if number is None or not np.isfinite(number) or (positive and number <= 0):
        what = "a positive number" if positive else "a finite number"
        msg = f"{name} must be {what}; got {validation.shown(value)}."
        raise InvalidParameter(msg)
    return number
