"""Partially ordered scores: one rule for several scores, with no formula for them.

The rule has no table: it consists of its calibration cases, in the partial order of
their scores. ::

    rows of d scores, labels ──> equal ones pooled ──> PosetRule
                                                           │
             levels of the cases alone                     │  kernel/poset.hpp
             best upper set: d <= 2                        │  kernel/upper_sweep.hpp
             best upper set: d >= 3                        v  kernel/upper_flow.hpp
    rows of d scores ──> levels around each ──> slices, split at averages ──> bounds
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from abers import _kernel, validation
from abers.core import guarantees, merging
from abers.core.auc import mann_whitney_of_diagram
from abers.core.diagram import Diagram, are_weights
from abers.core.fitted import Contents, Fitted, Layout, are_tags, checked_tags, frozen
from abers.core.inverted import inverted
from abers.errors import (
    AbersError,
    InvalidData,
    InvalidParameter,
    InvalidType,
    InvertedScoresWarning,
    warn,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from abers.choices import LossName
    from abers.core.auc import MannWhitney
    from abers.core.fitted import Arrays, Facts
    from abers.core.guarantees import Guarantee
    from abers.validation import FloatArray, IntArray

LARGEST_VECTOR_TOTAL = 2**32 - 1  # with a new case, products of counts have 62 bits
MOST_VECTORS = 10_000  # in three or more columns, where all pairs are compared
MOST_NUMBERED = 2**31 - 1  # in one or two columns, by integers of 32 bits
_ROWS_A_CALL = 256  # between checks for Ctrl-C, in each thread


def are_flags(value: object) -> bool:
    """Return whether this is a list of at least one bool."""
    return (
        isinstance(value, list) and bool(value) and all(type(v) is bool for v in value)
    )


class PosetRule(Fitted):
    """A Venn-Abers predictor for cases that have several scores each.

    Made by `fit_poset_rule`. One case is above another if none of its scores is lower.
    If each of two cases has a score higher than the other's, they are not comparable.
    The rule is the isotonic regression on this partial order. It assumes that a higher
    score never means a lower probability, and nothing about how the scores combine. A
    rule is immutable: equal rules compare equal, and threads may share one.

    The **bounds** are the estimated probability of label 1 after adding the new case to
    the calibration data with label 0 (lower) and with label 1 (upper). With unit
    weights, one of the two is calibrated as long as new cases resemble the calibration
    cases. They are not a confidence interval, and they shrink to a point as data grow.
    They are wider than those of one score, since fewer cases can be compared.

    Parameters
    ----------
    scores : array-like of shape (k, d)
        Vectors of scores; equal ones are pooled.
    negatives : array-like of shape (k,)
        Rows labelled 0 with these scores.
    positives : array-like of shape (k,)
        Rows labelled 1 with these scores.
    increasing : bool or sequence of d bools, default=True
        Whether a higher score means a higher probability, for all columns or for each.
    metadata : mapping, default=None
        Your own tags.

    Notes
    -----
    This is the remark on partially ordered scores in Section 2 of the paper. Bounds are
    exact rationals, rounded once; with one column they are those of `fit_rule`. The
    regression is found by splitting the cases above and below an average: by a maximum
    flow, or, for one or two columns, by a sweep that needs no network.

    Examples
    --------
    The case (1, 1) is below both others, of which neither is above the other. A new
    case (2, 2) is above (1, 1) alone: as a 0 it may have the value 0, as a 1 the value
    1. A new case (4, 4) is above all; as a 0 it shares one value with the two ones.

    >>> import abers
    >>> rule = abers.rules.fit_poset_rule([[1, 1], [1, 3], [3, 1]], [0, 1, 1])
    >>> rule
    PosetRule(2 scores, 3 rows, 2 positive)
    >>> rule.bounds([[2, 2], [4, 4]])
    array([[0.        , 1.        ],
           [0.66666667, 1.        ]])
    """

    __slots__ = ("_increasing", "_kernel", "_negatives", "_points", "_positives")
    _layout: ClassVar = Layout(
        "poset-rule",
        # The rows of scores are stored end to end.
        arrays={"negatives": "i", "positives": "i", "scores": "f"},
        facts={"increasing": are_flags, "metadata": are_tags},
    )

    def __init__(
        self,
        scores: ArrayLike,
        negatives: ArrayLike,
        positives: ArrayLike,
        *,
        increasing: bool | Sequence[bool] = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        s = as_score_vectors(scores)
        zeros = as_whole_weights(negatives, len(s), "negatives")
        ones = as_whole_weights(positives, len(s), "positives")
        counts, name = zeros + ones, "negatives and positives"
        validation.check_total(counts, name)
        check_vector_total(int(counts.sum()), name)
        kept = counts > 0
        validation.check_scores(s, kept)
        self._increasing = as_directions(increasing, s.shape[1], "increasing")
        self._points, self._negatives, self._positives = _pooled(
            self._turned(s[kept]), zeros[kept], ones[kept]
        )
        check_vector_points(*self._points.shape)
        self._kernel = _kernel.Poset(self._points, self._negatives, self._positives)
        self._metadata = MappingProxyType(checked_tags(metadata))

    @property
    def scores(self) -> FloatArray:
        """The distinct vectors of scores (k, d) among the calibration cases."""
        return frozen(self._turned(self._points))

    @property
    def negatives(self) -> IntArray:
        """Rows labelled 0 with each vector of scores."""
        return self._negatives

    @property
    def positives(self) -> IntArray:
        """Rows labelled 1 with each vector of scores."""
        return self._positives

    @property
    def n_scores(self) -> int:
        """Number of scores that a case must have."""
        return len(self._increasing)

    @property
    def increasing(self) -> tuple[bool, ...]:
        """Whether a higher score means a higher probability, for each column."""
        return self._increasing

    @property
    def n_rows(self) -> int:
        """Total weight of the calibration set; their number if all weigh 1."""
        return int(self._negatives.sum()) + self.n_positives

    @property
    def n_positives(self) -> int:
        """Total weight of the calibration rows labelled 1."""
        return int(self._positives.sum())

    @property
    def guarantee(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        return guarantees.PAIR

    def bounds(self, scores: ArrayLike, *, n_threads: int = 1) -> FloatArray:
        """Return the lower and upper probability of each row of scores.

        Parameters
        ----------
        scores : array-like of shape (n, d)
            Columns as in the fit; ±inf allowed, NaN refused.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper. Not a confidence interval; see the class.
        """
        s = as_score_vectors(scores, self.n_scores)
        threads = validation.as_threads(n_threads)
        validation.check_scores(s, purpose="predicting")
        turned = self._turned(s)
        out = np.empty((len(s), 2))
        step = _ROWS_A_CALL * threads
        for start in range(0, len(s), step):
            rows = slice(start, start + step)
            self._kernel.bounds(turned[rows], out[rows], threads)
        return out

    def probability(
        self, scores: ArrayLike, loss: LossName = "log", *, n_threads: int = 1
    ) -> FloatArray:
        """Return one probability for each row: the bounds merged by minimax.

        Parameters
        ----------
        scores : array-like of shape (n, d)
            Columns as in the fit; ±inf allowed, NaN refused.
        loss : {"log", "brier"}, default="log"
            The loss for which the merge is minimax.
        n_threads : int, default=1
            Number of threads.

        Returns
        -------
        ndarray of shape (n,)
            Between the bounds. No guarantee of calibration is proven for it.
        """
        validation.check_choice(loss, merging.LOSSES, "loss")
        lower, upper = self.bounds(scores, n_threads=n_threads).T
        return merging.MINIMAX[loss](lower, upper)

    def _turned(self, scores: FloatArray) -> FloatArray:
        """Negate the decreasing columns, or undo that; -0.0 becomes 0.0."""
        turned: FloatArray = scores * np.where(self._increasing, 1.0, -1.0) + 0.0
        return turned

    def _contents(self) -> Contents:
        facts = {
            "increasing": list(self._increasing),
            "metadata": dict(self._metadata),
        }
        arrays = {
            "negatives": self._negatives,
            "positives": self._positives,
            "scores": self.scores.reshape(-1),
        }
        return Contents(facts, arrays)

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        vectors = arrays["scores"].reshape(-1, len(facts["increasing"]))
        counts = arrays["negatives"], arrays["positives"]
        PosetRule.__init__(self, vectors, *counts, **facts)

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        negatives, positives = arrays["negatives"], arrays["positives"]
        n_scores = len(facts["increasing"])
        if not (
            negatives.size == positives.size > 0
            and arrays["scores"].size == n_scores * negatives.size
        ):
            return "its arrays do not have the lengths of its scores"
        if not are_weights(negatives, positives) or not _can_be_solved(
            n_scores, negatives.size, int(negatives.sum() + positives.sum())
        ):
            return "its counts are not those of calibration rows"
        signs = np.where(facts["increasing"], 1.0, -1.0)
        points = arrays["scores"].reshape(-1, n_scores) * signs
        if not np.array_equal(_pooled(points, negatives, positives)[0], points):
            return "its scores are not distinct and in order"
        return None

    def __repr__(self) -> str:
        falling = [str(c) for c, rises in enumerate(self._increasing) if not rises]
        columns = "column" if len(falling) == 1 else "columns"
        direction = f", decreasing in {columns} {', '.join(falling)}" if falling else ""
        if len(falling) == self.n_scores:
            direction = ", decreasing"
        scores = "score" if self.n_scores == 1 else "scores"
        return (
            f"PosetRule({self.n_scores} {scores}, {self.n_rows} rows, "
            f"{self.n_positives} positive{direction})"
        )


def fit_poset_rule(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    increasing: bool | Sequence[bool] = True,
    sample_weight: ArrayLike | None = None,
) -> PosetRule:
    """Fit one rule to several scores per case, say those of two models.

    Parameters
    ----------
    scores : array-like of shape (n, d)
        The scores of each case, one per column; ±inf allowed. Columns need no common
        scale: only the order within each counts.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    increasing : bool or sequence of d bools, default=True
        Whether a higher score means a higher probability of label 1, for all columns
        or for each.
    sample_weight : array-like of shape (n,), default=None
        Whole numbers: a row of weight w counts as w rows.

    Returns
    -------
    PosetRule
        Exact; see `PosetRule` for what its bounds are.

    Warns
    -----
    InvertedScoresWarning
        If a column runs the other way, significantly (p < 0.001).

    Notes
    -----
    With one or two columns, any number of rows is allowed; with 10,000, a prediction
    takes a fraction of a millisecond. With three or more columns, at most 10,000
    distinct rows are allowed, since all pairs are compared; a prediction takes some
    milliseconds.

    The more columns, the fewer cases are comparable and the wider the bounds. This is
    meant for two or three models of about equal strength. If one is much better than
    the others, combine them first (say, by logistic regression on other rows) and
    calibrate the result with `fit_rule`.

    Examples
    --------
    Two tests, of which the second falls as the risk rises. The new case (2, 2) stands
    between the second case, a 1, and the third, a 0. These three must share one value:
    1/3 if the new case is a 0, 2/3 if it is a 1.

    >>> import abers
    >>> rule = abers.rules.fit_poset_rule(
    ...     [[0, 4], [1, 3], [3, 1]], [0, 1, 0], increasing=[True, False]
    ... )
    >>> rule.bounds([[2, 2]])
    array([[0.33333333, 0.66666667]])
    """
    s = as_score_vectors(scores)
    validation.check_rows_exist(len(s))
    y = validation.as_labels(labels)
    validation.check_length(y.size, len(s), "labels", "scores")
    flags = as_directions(increasing, s.shape[1], "increasing")
    if sample_weight is None:
        w = np.ones(len(s), np.int64)
    else:
        w = as_whole_weights(sample_weight, len(s))
        validation.check_total(w, "sample_weight")
    kept = w > 0
    validation.check_scores_and_labels(s, y, kept)
    s, y, w = s[kept], y[kept], w[kept]
    rule = PosetRule(s, w * (y == 0), w * (y == 1), increasing=flags)
    tests = {
        c: mann_whitney_of_diagram(Diagram.from_rows(column, y, sample_weight=w))
        for c, column in enumerate((np.where(flags, 1.0, -1.0) * s).T)
    }
    _warn_of_inverted_columns(inverted(tests, increasing=True), flags)
    return rule


def _pooled(
    points: FloatArray, zeros: IntArray, ones: IntArray
) -> tuple[FloatArray, IntArray, IntArray]:
    """Sort points by their columns, and add the counts of equal points."""
    order = np.lexsort(points.T[::-1])
    points = points[order]
    starts = np.flatnonzero(
        np.concatenate(([True], (points[1:] != points[:-1]).any(axis=1)))
    )
    return (
        frozen(np.ascontiguousarray(points[starts])),
        frozen(np.add.reduceat(zeros[order], starts)),
        frozen(np.add.reduceat(ones[order], starts)),
    )


def _can_be_solved(n_scores: int, n_points: int, total: int) -> bool:
    """Return whether the kernel can solve an order of this size."""
    try:
        check_vector_total(total, "counts")
        check_vector_points(n_points, n_scores)
    except AbersError:
        return False
    return True


def _warn_of_inverted_columns(
    against: dict[int, MannWhitney], flags: tuple[bool, ...]
) -> None:
    """Warn once about columns with inverted scores, the most significant first."""
    if not against:
        return
    column, test = next(iter(against.items()))
    auc, trend = (test.auc, "fewer") if flags[column] else (1 - test.auc, "more")
    others = f", as are {len(against) - 1} more" if len(against) > 1 else ""
    wanted = [flag != (c in against) for c, flag in enumerate(flags)]
    warn(
        f"Column {column} of the scores is inverted (AUC {auc:.3f}){others}: higher "
        f"scores go with {trend} positives. Fit with increasing={wanted}.",
        InvertedScoresWarning,
    )


# --- checks ---


def as_score_vectors(values: object, n_columns: int | None = None) -> FloatArray:
    """Return contiguous rows of doubles, each a vector of scores; NaN is missing.

    `n_columns` is the required number of columns; None requires at least one.
    """
    array = validation.as_table(values, "scores")
    if array.ndim != 2:
        fix = "np.column_stack of the models' scores"
        if array.ndim == 1:
            fix += ", or scores.reshape(-1, 1) for a single score"
        msg = (
            "scores must be two-dimensional, with a row for each case and a column for "
            f"each score; got shape {array.shape}. Pass {fix}."
        )
        raise InvalidData(msg)
    given = array.shape[1]
    if not given:
        msg = f"scores must have at least one column; got shape {array.shape}."
        raise InvalidData(msg)
    if n_columns not in (None, given):
        msg = (
            f"scores must have {n_columns} columns, as when the rule was fitted; "
            f"got {given}. Pass the same scores in the same order."
        )
        raise InvalidData(msg)
    return validation.exact_doubles(array, "scores")


def as_directions(value: object, n_columns: int, name: str) -> tuple[bool, ...]:
    """Return a bool for each column, given one for all or one for each."""
    if isinstance(value, bool | np.bool_):
        return (bool(value),) * n_columns
    flags = list(value) if isinstance(value, list | tuple | np.ndarray) else [None]
    if any(not isinstance(flag, bool | np.bool_) for flag in flags):
        msg = (
            f"{name} must be True or False, or a list of these; "
            f"got {validation.shown_object(value)}."
        )
        raise InvalidType(msg)
    if len(flags) != n_columns:
        msg = (
            f"{name} must have one flag for each of the {n_columns} columns of scores; "
            f"got {len(flags)}."
        )
        raise InvalidParameter(msg)
    return tuple(map(bool, flags))


def as_whole_weights(
    values: object, size: int, name: str = "sample_weight", other: str = "scores"
) -> IntArray:
    """Return weights that are whole numbers; all may be zero."""
    weights = validation.as_weights(values, size, name, other)
    broken = weights != np.floor(weights)
    if broken.any():
        row = int(broken.argmax())
        msg = (
            f"{name} must be whole numbers, because partial orders are solved in "
            f"integers; got {validation.shown(weights[row])} at row {row} "
            f"({int(broken.sum())} of {size} rows are not). Scale and round them; a "
            "new case counts as 1."
        )
        raise InvalidData(msg)
    with np.errstate(over="ignore"):
        check_vector_total(weights.sum(), name)
    return weights.astype(np.int64)


def check_vector_total(total: float, name: str) -> None:
    """Raise if there are more rows than exact products of 62 bits allow."""
    if total >= LARGEST_VECTOR_TOTAL:
        msg = (
            f"{name} must add up to less than 2**32 - 1, because partial orders are "
            f"solved in integers of 64 bits; got {total:.6g}. Scale them down."
        )
        raise InvalidData(msg)


def check_vector_points(n_points: int, n_columns: int) -> None:
    """Raise for more points than can be compared in pairs, or numbered."""
    if n_columns > 2 and n_points > MOST_VECTORS:
        msg = (
            f"with {n_columns} columns of scores there must be at most {MOST_VECTORS} "
            f"different rows, because all pairs are compared; got {n_points}. Use a "
            "random part of the rows, round the scores, or take two columns, which "
            "have no such limit."
        )
        raise InvalidData(msg)
    if n_points > MOST_NUMBERED:
        msg = (
            f"scores must have at most {MOST_NUMBERED} different rows; got {n_points}. "
            "Use a random part of the rows, or round the scores."
        )
        raise InvalidData(msg)
