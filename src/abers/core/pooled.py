"""The pooled rule: one isotonic regression on all folds of a cross predictor.

It has no table: a new case has K scores, and its bounds are searched for. ::

    scores, labels, folds ──> a diagram for each fold ──> PooledRule
                                                              │
             chains and corners of each fold                  │  kernel/pooled.hpp
                                                              v
    rows of K scores ──> places in K folds ──> root for label 0, 1 ──> bounds
                         kernel/keys.hpp
"""

from __future__ import annotations

import re
from fractions import Fraction
from numbers import Rational
from reprlib import repr as shortened
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from abers import _kernel, validation
from abers.core import guarantees, merging
from abers.core.auc import mann_whitney_of_diagram, summed
from abers.core.diagram import (
    ARRAYS_END_TO_END,
    NOTHING,
    Diagram,
    cut_apart,
    diagram_of_rows,
    end_to_end,
    flaw_of_parts,
)
from abers.core.effective_sizes import effective_sizes
from abers.core.fitted import Contents, Fitted, Layout, are_tags, checked_tags, is_flag
from abers.core.inverted import warn_if_inverted
from abers.core.units import (
    common_scale,
    magnitudes,
    rescaled,
    scale_for,
    total_text,
)
from abers.errors import InvalidData, InvalidParameter, InvalidType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from abers.choices import LossName
    from abers.core.auc import MannWhitney
    from abers.core.fitted import Arrays, Facts
    from abers.core.guarantees import Guarantee
    from abers.core.units import Units
    from abers.validation import FloatArray, IntArray, LabelArray

RENUMBER = "Renumber them: np.unique(folds, return_inverse=True)[1]."
# The form in which a Fraction prints itself. It also reads "1e999999999", which would
# fill the memory.
FRACTION = re.compile("N(/N)?".replace("N", "[1-9][0-9]{0,15}"))  # up to 2**53


def is_weight_of_a_case(value: object) -> bool:
    """Return whether this is the text of a reduced fraction."""
    return (
        isinstance(value, str)
        and FRACTION.fullmatch(value) is not None
        and str(Fraction(value)) == value
        and _can_weigh(Fraction(value))
    )


class PooledRule(Fitted):
    """A cross predictor as one rule: isotonic regression on the folds as a star.

    Made by `fit_pooled_rule`, or from a diagram for each fold. The calibration cases of
    each fold are ordered by the scores of the fold's own model. All K orders meet in
    the new case, which has K scores, and one isotonic regression respects them all. A
    pooled rule is immutable: equal rules compare equal, and threads may share one. It
    keeps the calibration scores and labels as one diagram per fold.

    The **bounds** are the estimated probability of label 1 after adding the new case to
    the calibration data with label 0 (lower) and with label 1 (upper). They are not a
    confidence interval, and they shrink to a point as data grow; they are narrow,
    because they use the cases of all folds. Unlike the bounds of a `Rule`, they have no
    proven guarantee of calibration. (The ordinary cross predictor, which merges the
    bounds of K rules, has none, either.)

    Parameters
    ----------
    diagrams : sequence of Diagram or None
        The calibration set of each fold; None for a fold without rows. If all are
        None, the bounds are 0 and 1.
    weight : int, Fraction or float, default=1
        The weight of the new case with its postulated label.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.
    metadata : mapping, default=None
        Your own tags.

    Notes
    -----
    This implements the end of Section 3 of the paper ("Isotonising the centre") in
    exact arithmetic: both bounds are rationals rounded once. For K = 1 and weight 1
    they equal those of `fit_rule`.

    Examples
    --------
    Two folds, each with a 0 below and a 1 above the new case, say (0, 1) and (0, 1).
    If the new case were a 1, it could stand with both ones above; if it were a 0, with
    both zeros below. In the last row it is above everything: as a 0, it must share
    one value with the two ones, 2/3.

    >>> import abers
    >>> scores, labels, folds = [1, 3, 1, 3], [0, 1, 0, 1], [0, 0, 1, 1]
    >>> rule = abers.rules.fit_pooled_rule(scores, labels, folds)
    >>> rule
    PooledRule(2 folds, 4 rows, 2 positive, weight 1)
    >>> rule.bounds([[2, 2], [4, 4]])
    array([[0.        , 1.        ],
           [0.66666667, 1.        ]])
    """

    __slots__ = ("_diagrams", "_increasing", "_kernel", "_weight")
    _layout: ClassVar = Layout(
        "pooled-rule",
        arrays=ARRAYS_END_TO_END,
        facts={
            "increasing": is_flag,
            "metadata": are_tags,
            "weight": is_weight_of_a_case,
        },
    )

    def __init__(
        self,
        diagrams: Sequence[Diagram | None],
        *,
        weight: float | Fraction = 1,
        increasing: bool = True,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._diagrams = tuple(diagrams)
        for fold, diagram in enumerate(self._diagrams):
            if diagram is not None:
                validation.check_type(diagram, Diagram, f"diagram of fold {fold}")
        check_folds_exist(self.n_folds)
        self._weight = as_fraction(weight, "weight")
        self._increasing = validation.as_flag(increasing, "increasing")
        self._metadata = MappingProxyType(checked_tags(metadata))
        self._kernel = _structure(
            self._diagrams, self._weight, increasing=self._increasing
        )

    @property
    def diagrams(self) -> tuple[Diagram | None, ...]:
        """The calibration set of each fold; None for a fold without rows."""
        return self._diagrams

    @property
    def n_folds(self) -> int:
        """Number of folds, which is the number of scores of a new case."""
        return len(self._diagrams)

    @property
    def weight(self) -> Fraction:
        """The weight of the new case with its postulated label."""
        return self._weight

    @property
    def increasing(self) -> bool:
        """Whether a higher score means a higher probability."""
        return self._increasing

    @property
    def n_rows(self) -> float:
        """Total weight of the calibration set; their number if all weigh 1."""
        return sum(diagram.n_rows for diagram in self._present())

    @property
    def n_positives(self) -> float:
        """Total weight of the calibration rows labelled 1."""
        return sum(diagram.n_positives for diagram in self._present())

    @property
    def guarantee(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        return guarantees.FOLDS

    def bounds(self, scores: ArrayLike, *, n_threads: int = 1) -> FloatArray:
        """Return the lower and upper probability of each row of K scores.

        Parameters
        ----------
        scores : array-like of shape (n, K)
            Column k holds the scores by the model of fold k; ±inf allowed, NaN refused.
        n_threads : int, default=1
            Number of threads, used if there are many rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper. Not a confidence interval; see the class.
        """
        s = as_score_columns(scores, self.n_folds)
        out = np.empty((len(s), 2))
        missing, first = self._kernel.bounds(s, out, validation.as_threads(n_threads))
        if missing:
            validation.refuse_missing_scores(
                missing, first, len(s), purpose="predicting"
            )
        return out

    def probability(
        self, scores: ArrayLike, loss: LossName = "log", *, n_threads: int = 1
    ) -> FloatArray:
        """Return one probability for each row: the bounds merged by minimax.

        Parameters
        ----------
        scores : array-like of shape (n, K)
            Column k holds the scores by the model of fold k; ±inf allowed, NaN refused.
        loss : {"log", "brier"}, default="log"
            The loss for which the merge is minimax.
        n_threads : int, default=1
            Number of threads, used if there are many rows.

        Returns
        -------
        ndarray of shape (n,)
            Between the bounds. No guarantee of calibration is proven for it.
        """
        validation.check_choice(loss, merging.LOSSES, "loss")
        lower, upper = self.bounds(scores, n_threads=n_threads).T
        return merging.MINIMAX[loss](lower, upper)

    def _present(self) -> Iterator[Diagram]:
        return (diagram for diagram in self._diagrams if diagram is not None)

    def _contents(self) -> Contents:
        facts = {
            "increasing": self._increasing,
            "metadata": dict(self._metadata),
            "weight": str(self._weight),
        }
        return Contents(facts, end_to_end(self._diagrams))

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        weight = Fraction(facts["weight"])
        PooledRule.__init__(self, cut_apart(arrays), **(facts | {"weight": weight}))

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        return flaw_of_parts(arrays, Fraction(facts["weight"]))

    def __repr__(self) -> str:
        direction = "" if self._increasing else ", decreasing"
        return (
            f"PooledRule({self.n_folds} folds, {total_text(self.n_rows)} rows, "
            f"{total_text(self.n_positives)} positive, "
            f"weight {self._weight}{direction})"
        )


def fit_pooled_rule(
    scores: ArrayLike,
    labels: ArrayLike,
    folds: ArrayLike,
    *,
    weight: float | Fraction = 1,
    sample_weight: ArrayLike | None = None,
    increasing: bool = True,
) -> PooledRule:
    """Fit one rule to the out-of-fold scores of a cross predictor.

    Parameters
    ----------
    scores : array-like of shape (n,)
        The score of each case by the model of its fold, which was not trained on it;
        ±inf allowed.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    folds : array-like of shape (n,)
        The fold of each case: integers 0 … K - 1, without gaps.
    weight : int, Fraction or float, default=1
        The weight of a new case with its postulated label: a positive integer, a
        `fractions.Fraction`, or a float 1/m with an integer m. With weight K, the
        bounds are about as wide as the merged bounds of K rules.
    sample_weight : array-like of shape (n,), default=None
        A row of weight w counts as w rows. A fold whose rows all have weight 0 is
        empty. Weights that are not all whole are rounded once, to multiples of a power
        of two; the rule is exact after that.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.

    Returns
    -------
    PooledRule
        Exact; see `PooledRule` for what its bounds are.

    Warns
    -----
    InvertedScoresWarning
        If the scores run the other way within the folds, significantly (p < 0.001).
        Real weights count by their effective number.

    Examples
    --------
    Below the new case of scores (2, 5) there is a 1 in fold 0 and a 0 in fold 1, above
    it a 0 in fold 0. All three of fold 0 must share one value: 1/3 if the new case is a
    0, 2/3 if it is a 1. The 0 in fold 1 lies below either.

    >>> import abers
    >>> rule = abers.rules.fit_pooled_rule([1, 3, 4], [1, 0, 0], folds=[0, 0, 1])
    >>> rule.bounds([[2, 5]])
    array([[0.33333333, 0.66666667]])
    """
    rule, test = fitted_pooled_rule(
        scores, labels, folds, sample_weight, weight=weight, increasing=increasing
    )
    warn_if_inverted(test, increasing=increasing)
    return rule


def fitted_pooled_rule(
    scores: ArrayLike,
    labels: ArrayLike,
    folds: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    weight: float | Fraction = 1,
    increasing: bool = True,
) -> tuple[PooledRule, MannWhitney | None]:
    """Fit a pooled rule without a warning; also test for inverted scores."""
    new_case = as_fraction(weight, "weight")
    if sample_weight is None:
        diagrams = _counted(scores, labels, folds)
        sizes: list[tuple[float, float] | None] = [None] * len(diagrams)
    else:
        diagrams, sizes = _weighted(scores, labels, folds, sample_weight, new_case)
    rule = PooledRule(diagrams, weight=new_case, increasing=increasing)
    return rule, summed(
        mann_whitney_of_diagram(diagram, size)
        for diagram, size in zip(diagrams, sizes, strict=True)
        if diagram is not None
    )


def _counted(scores: object, labels: object, folds: object) -> list[Diagram | None]:
    """Return a diagram for each fold, of rows of weight 1."""
    s, y, fold = _as_rows_of_folds(scores, labels, folds)
    validation.check_scores_and_labels(s, y)
    return [Diagram.from_rows(s[rows], y[rows]) for rows in _rows_of(fold)]


def _weighted(
    scores: object,
    labels: object,
    folds: object,
    sample_weight: object,
    new_case: Fraction,
) -> tuple[list[Diagram | None], list[tuple[float, float] | None]]:
    """Return a diagram of one common scale for each fold with weights.

    Also returns the effective numbers of zeros and ones, if weights are not whole.
    """
    s, y, fold = _as_rows_of_folds(scores, labels, folds)
    w = validation.as_weights(sample_weight, s.size)
    validation.check_total(w, "sample_weight")
    validation.check_scores_and_labels(s, y, w > 0)
    scale = scale_for(magnitudes(w), new_case=new_case)
    diagrams: list[Diagram | None] = []
    sizes: list[tuple[float, float] | None] = []
    for rows in _rows_of(fold):
        own = rows[w[rows] > 0]
        diagram = (
            diagram_of_rows(s[own], y[own] == 1, w[own], scale) if own.size else NOTHING
        )
        diagrams.append(diagram if diagram.scores.size else None)
        sizes.append(None if diagram.is_exact else effective_sizes(y[own], w[own]))
    return diagrams, sizes


def _rows_of(folds: IntArray) -> list[IntArray]:
    """Return the rows of each fold; fold numbers have no gaps."""
    sizes = np.bincount(folds)
    # Short integers are sorted in linear time.
    short = folds.astype(np.min_scalar_type(sizes.size - 1))
    return np.split(np.argsort(short, kind="stable"), np.cumsum(sizes)[:-1])


def _as_rows_of_folds(
    scores: object, labels: object, folds: object
) -> tuple[FloatArray, LabelArray, IntArray]:
    s = validation.as_calibration_scores(scores)
    y = validation.as_labels(labels)
    validation.check_length(y.size, s.size, "labels", "scores")
    return s, y, as_folds(folds, s.size)


def _structure(
    diagrams: Sequence[Diagram | None], weight: Fraction, *, increasing: bool
) -> _kernel.PooledCounts:
    """Build the kernel's search structure, in units of one scale."""
    masses, new_case = in_units(diagrams, weight)
    return _kernel.PooledCounts(
        [(NOTHING if fold is None else fold).scores for fold in diagrams],
        [each.negatives for each in masses],
        [each.positives for each in masses],
        weight.denominator,
        new_case,
        increasing,
    )


def in_units(
    diagrams: Sequence[Diagram | None], weight: Fraction
) -> tuple[list[Units], int]:
    """Return the masses of each fold, and the new case's, in units of one scale.

    A mass of one unit is multiplied by the denominator of the weight.
    """
    folds = [(NOTHING if fold is None else fold).units for fold in diagrams]
    scale = common_scale(folds, "diagrams", weight)
    return [rescaled(fold, scale) for fold in folds], weight.numerator << scale


# --- checks ---


def as_score_columns(values: object, n_columns: int) -> FloatArray:
    """Return a contiguous array of doubles, one column per fold; NaN is missing."""
    array = validation.as_table(values, "scores")
    if array.ndim != 2:
        msg = (
            f"scores must be two-dimensional, with K = {n_columns} columns, one a "
            f"fold; got shape {array.shape}. Pass np.column_stack of the K models' "
            "scores."
        )
        raise InvalidData(msg)
    if array.shape[1] != n_columns:
        msg = (
            f"scores must have K = {n_columns} columns, one a fold; "
            f"got {array.shape[1]}. Pass the scores of each fold's own model, in the "
            "order of the folds."
        )
        raise InvalidData(msg)
    return validation.exact_doubles(array, "scores")


def as_folds(values: object, size: int) -> IntArray:
    """Return the fold of each row: integers from 0, without gaps."""
    folds = validation.as_column(values, "folds")
    validation.check_length(folds.size, size, "folds", "scores")
    bad = ~np.isfinite(folds) | (folds != np.floor(folds))
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"folds must be integers; got {validation.shown(folds[row])} at row {row}. "
            f"{RENUMBER}"
        )
        raise InvalidData(msg)
    lowest, highest = folds.min().item(), folds.max().item()
    if (
        lowest < 0
        or highest >= size
        or (np.bincount(folds.astype(np.int64)) == 0).any()
    ):
        msg = (
            "folds must be numbered 0 … K - 1 without gaps; "
            f"got {np.unique(folds).size} numbers from {lowest:g} to {highest:g}. "
            f"{RENUMBER}"
        )
        raise InvalidData(msg)
    return np.ascontiguousarray(folds, dtype=np.int64)


def check_folds_exist(n_folds: int) -> None:
    """Raise if a pooled rule would have no folds."""
    if not n_folds:
        msg = "diagrams must not be empty; got no fold."
        raise InvalidData(msg)


def as_fraction(value: object, name: str) -> Fraction:
    """Return a positive fraction, from an integer, a Fraction or a float 1/m."""
    if isinstance(value, bool | np.bool_) or not isinstance(
        value, Rational | float | np.integer | np.floating
    ):
        msg = f"{name} must be a positive number; got {validation.shown_object(value)}."
        raise InvalidType(msg)
    fraction = _simple_fraction(value)
    if fraction is None:
        near = _nearby_fraction(value)
        msg = (
            f"{name} must be a positive integer, a fractions.Fraction, or a float that "
            f"is 1/m for an integer m; got {validation.shown(value)}, which is no such "
            f"fraction. Pass fractions.Fraction, for example {near!r}."
        )
        raise InvalidParameter(msg)
    if not _can_weigh(fraction):
        msg = (
            f"{name} must be a fraction whose numerator and denominator add up to at "
            f"most 2**53; got {shortened(value)}. Round it."
        )
        raise InvalidParameter(msg)
    return fraction


def _can_weigh(fraction: Fraction) -> bool:
    """Return whether a new case may have this weight next to rows of weight 1."""
    return (
        0
        < fraction.numerator + fraction.denominator
        <= validation.LARGEST_EXACT_INTEGER
    )


def _simple_fraction(value: Any) -> Fraction | None:
    """Return a positive fraction if the value is exactly one, else None."""
    if not 0 < value < np.inf:
        return None
    if isinstance(value, Rational):  # numpy's integers are registered as such
        return Fraction(int(value.numerator), int(value.denominator))
    number = float(value)
    if number.is_integer():
        return Fraction(int(number))
    if number * validation.LARGEST_EXACT_INTEGER < 1:
        return None
    part = round(1 / number)
    return Fraction(1, part) if part and 1 / part == number else None


def _nearby_fraction(value: Any) -> Fraction:
    """Suggest a nearby valid weight."""
    guess = Fraction(0)
    if np.isfinite(float(value)):
        guess = Fraction(float(value)).limit_denominator(1000)
    return guess if guess > 0 else Fraction(1, 2)
