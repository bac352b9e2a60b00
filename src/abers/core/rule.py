"""The rule: the calibration map, all that prediction needs."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from abers import validation
from abers._kernel import Table
from abers.core import cells as cell_counts, guarantees, merging, prior
from abers.core.fitted import (
    SUM_TOLERANCE,
    Contents,
    Layout,
    are_equal,
    checked_tags,
    contents_of,
    is_total,
    plain_total,
    twin,
)
from abers.core.step_rule import ARRAYS, FACTS, StepRule, table_of
from abers.core.units import total_text
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from abers.choices import LossName
    from abers.core.cells import Cells
    from abers.core.fitted import Arrays, Facts, Tags
    from abers.core.guarantees import Guarantee
    from abers.validation import FloatArray

    Weight = ArrayLike | tuple[ArrayLike, ArrayLike]  # of label 0 and of label 1

LAST_BITS = 2.0**-50  # of a probability that `mirrored` rounds once more


class Rule(StepRule):
    """A fitted inductive Venn-Abers predictor: two step functions of the score.

    Made by `fit_rule`, `fit_rule_from_diagram` or `abers.load`. A rule is immutable:
    its arrays are read-only, equal rules compare equal, and threads may share one.

    The **bounds** of a score are the estimated probability of label 1 after adding the
    new case to the calibration data with label 0 (lower) and with label 1 (upper). One
    of the two is calibrated as long as new cases resemble the calibration cases and all
    of these have weight 1; after `with_prior` that is not proven. They are not a
    confidence interval, and they shrink to a point as data grow; `interval` returns
    confidence intervals.

    Examples
    --------
    >>> import abers
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> rule.bounds([1, 2, 3])
    array([[0.        , 0.5       ],
           [0.33333333, 0.66666667],
           [0.33333333, 0.66666667]])
    >>> rule.probability([2])  # 2/3 / (1 - 1/3 + 2/3)
    array([0.5])
    """

    __slots__ = ("_cells", "_n_positives")
    _layout: ClassVar = Layout(
        "rule",
        arrays={**ARRAYS, **cell_counts.ARRAYS},
        facts={**FACTS, "n_positives": is_total},
    )

    def __init__(
        self,
        table: Table,
        *,
        n_rows: float,
        n_positives: float,
        increasing: bool,
        metadata: Mapping[str, Any] | None = None,
        cells: Cells | None = None,
    ) -> None:
        super().__init__(
            table,
            n_rows=n_rows,
            increasing=increasing,
            metadata=metadata,
        )
        self._n_positives = n_positives
        self._cells = cells

    @property
    def n_positives(self) -> float:
        """Total weight of the calibration rows labelled 1."""
        return self._n_positives

    @property
    def cells(self) -> Cells | None:
        """Rows and positives between the distinct percentiles of the scores.

        None for a diagram with real weights, after `with_prior`, and for a `mirrored`
        rule.
        """
        return self._cells

    @property
    def guarantee(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        if prior.PRIOR_TAG in self._metadata:
            return guarantees.ADJUSTED
        # Rows that are counted have cells without squared weights.
        is_counted = self._cells is not None and self._cells.squares is None
        return guarantees.PAIR if is_counted else guarantees.WEIGHTED

    def bounds(
        self, scores: ArrayLike, *, weight: Weight | None = None, n_threads: int = 1
    ) -> FloatArray:
        """Return the lower and upper probability of each score.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        weight : float, array-like of shape (n,) or tuple of two, default=None
            The weight of each new case; None is 1. Other weights need a rule fitted
            with `keep_diagram=True`.
        n_threads : int, default=1
            Number of threads, used if there are many rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper. Not a confidence interval; see the class.
        """
        if weight is not None:
            msg = (
                "weight must be None, because this rule does not keep its diagram; fit "
                "it with keep_diagram=True."
            )
            raise InvalidParameter(msg)
        return super().bounds(scores, n_threads=n_threads)

    def probability(
        self,
        scores: ArrayLike,
        loss: LossName = "log",
        *,
        weight: Weight | None = None,
        n_threads: int = 1,
    ) -> FloatArray:
        """Return one probability for each score: the bounds merged by minimax.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        loss : {"log", "brier"}, default="log"
            The loss for which the merge is minimax.
        weight : float, array-like of shape (n,) or tuple of two, default=None
            The weight of each new case, as for `bounds`.
        n_threads : int, default=1
            Number of threads, used if there are many rows.

        Returns
        -------
        ndarray of shape (n,)
            Between the bounds. No guarantee of calibration is proven for it.
        """
        validation.check_choice(loss, merging.LOSSES, "loss")
        lower, upper = self.bounds(scores, weight=weight, n_threads=n_threads).T
        return merging.MINIMAX[loss](lower, upper)

    def interval(self, scores: ArrayLike, confidence: float = 0.9) -> FloatArray:
        """Return a confidence interval of P(label = 1 | score), for each score.

        It answers "how sure are we of this 12 %?", which the bounds do not. The rule
        must have been fitted with `keep_diagram=True`, to rows without weights.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        confidence : float, default=0.9
            Coverage probability of the interval of a single score, at least.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper; the bounds lie inside.
        """
        del scores, confidence
        msg = (
            "interval needs the diagram of the calibration rows, which this rule does "
            "not keep; fit it with fit_rule(…, keep_diagram=True)."
        )
        raise InvalidParameter(msg)

    def with_metadata(self, metadata: Tags) -> Rule:
        """Return the same rule with more tags; existing names are overwritten.

        Parameters
        ----------
        metadata : mapping
            Your own tags (model, date, …).

        Returns
        -------
        Rule
            It shares its arrays with this one.

        Examples
        --------
        >>> import abers
        >>> rule = abers.fit_rule([1, 2], [0, 1]).with_metadata({"model": "v7"})
        >>> dict(rule.metadata)
        {'model': 'v7'}
        """
        tags = {**self._metadata, **checked_tags(metadata)}
        return twin(type(self), self, _metadata=MappingProxyType(tags))

    def with_prior(self, rate: float) -> Rule:
        """Return the rule for cases with another share of positives.

        It assumes that P(score | label) is what it was at calibration and only the
        share of positives has changed: by under-sampling before the fit, say, or
        because the rule is used elsewhere. Nothing is guaranteed for the new bounds,
        and `guarantee` says so. Steps that rounding makes equal are dropped.

        Parameters
        ----------
        rate : float
            The share of positives among future cases, above 0 and below 1;
            `abers.rules.estimate_prior` estimates it.

        Returns
        -------
        Rule
            With all odds multiplied by the ratio of the odds of the new rate and of the
            old one, which is that of the calibration rows, or of an earlier prior. It
            has no cells, so `check` tests its mean only.

        Examples
        --------
        >>> import abers
        >>> rule = abers.fit_rule([1, 2, 3, 4], [0, 1, 0, 1])  # half are positive
        >>> rule.bounds([4])  # odds of 1 and infinity
        array([[0.5, 1. ]])
        >>> rule.with_prior(0.2).bounds([4])  # odds of 1/4
        array([[0.2, 1. ]])
        """
        new = validation.as_rate(rate, "rate")
        old = prior.base_rate(self._metadata, self._n_positives, self._n_rows)
        if new == old:
            return self
        lower, upper = (
            prior.adjusted(bound, old, new) for bound in (self.lower, self.upper)
        )
        return twin(
            Rule,
            self,
            _table=_table(self.thresholds, lower, upper, self.score_quantiles.copy()),
            _metadata=MappingProxyType({**self._metadata, prior.PRIOR_TAG: new}),
            _cells=None,
        )

    def with_cells(self, cells: Cells | None) -> Rule:
        """Return the same rule with other cells, or without cells.

        Parameters
        ----------
        cells : Cells or None
            Of the distinct inner percentiles of the scores.

        Returns
        -------
        Rule
            It shares its arrays with this one.
        """
        return twin(Rule, self, _cells=cells)

    @property
    def keeps_diagram(self) -> bool:
        """Whether it was fitted with `keep_diagram=True`."""
        return False

    def without_diagram(self) -> Rule:
        """Return the rule with the same step functions and without the diagram.

        Returns
        -------
        Rule
            This rule itself if it keeps no diagram.
        """
        return self

    def mirrored(self) -> Rule:
        """Return the rule of the other class: scores negated, labels swapped.

        Returns
        -------
        Rule
            Its bounds at -score are one minus this rule's upper and lower bound at the
            score. It has no cells.

        Examples
        --------
        >>> import abers
        >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
        >>> rule.mirrored().bounds([-1])  # 1 - 1/2 and 1 - 0
        array([[0.5, 1. ]])
        """
        # Piece j begins at its threshold; its mirror image ends there, threshold
        # included.
        with np.errstate(over="ignore"):  # inf comes after the largest number
            thresholds = np.nextafter(-self.thresholds[::-1], np.inf)
        table = _table(
            thresholds,
            1 - self.upper[::-1],
            1 - self.lower[::-1],
            0.0 - self.score_quantiles[::-1],
        )
        negatives = self._n_rows - self._n_positives
        return twin(Rule, self, _table=table, _n_positives=negatives, _cells=None)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rule):
            return NotImplemented
        # What only one of two rules keeps of its rows is not compared.
        if self.keeps_diagram != other.keeps_diagram:
            return self.without_diagram() == other.without_diagram()
        mine, theirs = self._contents(), contents_of(other)
        # Bounds do not determine cells. A diagram of real weights cannot have them, and
        # repeated rows have no squared weights.
        both = self._cells is not None and other._cells is not None
        for name in ["cell_squares"] if both else cell_counts.ARRAYS:
            del mine.arrays[name], theirs.arrays[name]
        return are_equal(mine, theirs)

    __hash__ = StepRule.__hash__  # without the cells and the diagram

    def __repr__(self) -> str:
        direction = "" if self._increasing else ", decreasing"
        rows, ones = total_text(self._n_rows), total_text(self._n_positives)
        return (
            f"Rule({rows} rows, {ones} positive, {self.lower.size} pieces{direction})"
        )

    def _contents(self) -> Contents:
        facts, arrays = super()._contents()
        return Contents(
            facts | {"n_positives": plain_total(self._n_positives)},
            arrays | cell_counts.to_arrays(self._cells),
        )

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        cells = cell_counts.from_arrays(arrays)
        Rule.__init__(self, table_of(arrays), **facts, cells=cells)

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        return (
            super()._flaw(facts, arrays)
            or _flaw_of_bounds(facts, arrays)
            or cell_counts.flaw_of(facts, arrays)
        )


def _table(
    thresholds: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    quantiles: FloatArray,
) -> Table:
    """Return a table without the steps that rounding made equal."""
    changes = (np.diff(lower) != 0) | (np.diff(upper) != 0)
    kept = np.append(True, changes)  # the first piece is always kept
    return Table(thresholds[changes], lower[kept], upper[kept], quantiles)


def _flaw_of_bounds(facts: Facts, arrays: Arrays) -> str | None:
    """Return why this many rows cannot have such bounds, or None."""
    lower, upper = arrays["lower"], arrays["upper"]
    total, ones = facts["n_rows"], facts["n_positives"]
    if ones > total:
        return "its positives are more than its rows"
    if lower.min() < 0 or upper.max() > 1:
        return "its bounds are not probabilities"
    if prior.PRIOR_TAG in facts["metadata"]:
        return None  # all odds were rescaled
    # Integer cells count rows; other sums of weights are rounded. A score adds at most
    # two thresholds, one at itself and one right above.
    counts = arrays["cell_counts"]
    is_whole = counts.size > 0 and counts.dtype.kind == "i"
    if is_whole and arrays["thresholds"].size > 2 * total:
        return "its steps are more than its rows can make"
    # A new case has weight 1: as a 1 it shares a level with at most all zeros, as a 0
    # with at most all ones, and either label moves the level by at least 1 / (total +
    # 1).
    error = 0 if is_whole else SUM_TOLERANCE * total
    zeros, ones = total - ones + error, ones + error
    if not (
        lower.max() <= ones / (ones + 1) * (1 + SUM_TOLERANCE) + LAST_BITS
        and upper.min() * (1 + SUM_TOLERANCE) + LAST_BITS >= 1 / (zeros + 1)
        and ((upper - lower) * (1 + SUM_TOLERANCE) + LAST_BITS >= 1 / (total + 1)).all()
    ):
        return "its bounds are not those of its rows"
    return None
