"""Class scores: what a model or a table says of rows, as scores that compare classes.

Probabilities become log-odds: log p1 - log p0 of two classes, log p_j - log p_i of a
pair, log p_c - log(the sum of the others) of one class against the rest. A probability
itself keeps its digits near 0 only; log-odds keep both ends, and exchanging two classes
negates them to the bit.

A classifier does not know its scores to the last bit: a row scored alone and in a batch
may differ, and a step function would see it. So scores are rounded, at fit and later,
to steps far wider than the noise (docs/decisions/0005).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from abers.core.log_odds import difference, log_sum_of_others, logarithms

if TYPE_CHECKING:
    from abers.validation import FloatArray, IntArray

STEPS_PER_UNIT = 2.0**22  # log-odds are rounded to multiples of 1 / 2^22


@dataclass(frozen=True, eq=False)
class ClassScores:
    """What a classifier says of n rows.

    `values` are log-probabilities or margins of the classes, (n, C), or the margin of
    the second of two classes, (n,). Scores that are not exact are rounded.
    """

    values: FloatArray
    are_logarithms: bool
    are_exact: bool = False
    given: FloatArray | None = None  # probabilities (n, C), if that is what was given

    @cached_property
    def probabilities(self) -> FloatArray | None:
        """The probabilities (n, C) that the classifier gave; None if it did not."""
        if not self.are_logarithms:
            return None
        return np.exp(self.values) if self.given is None else self.given

    def part(self, rows: IntArray) -> ClassScores:
        """Return what is said of some of the rows."""
        given = None if self.given is None else self.given[rows]
        return replace(self, values=self.values[rows], given=given)

    def of_pair(self, i: int, j: int) -> FloatArray:
        """Score class j against class i: higher means j."""
        if self.values.ndim == 1:
            return self._rounded(self.values)
        return self._rounded(difference(self._columns[j], self._columns[i]))

    def of_class(self, c: int) -> FloatArray:
        """Score class c against all others."""
        if self.values.ndim == 1:
            return self._rounded(self.values)
        if not self.are_logarithms:
            return self._rounded(self._columns[c])
        return self._rounded(difference(self._columns[c], self._others[:, c]))

    @cached_property
    def _columns(self) -> FloatArray:
        return np.ascontiguousarray(self.values.T)

    @cached_property
    def _others(self) -> FloatArray:
        return log_sum_of_others(self.values)

    def rounded(self) -> FloatArray:
        """Return the scores of all classes as they are compared."""
        return self._rounded(self.values)

    def columns(self) -> FloatArray:
        """Return scores as they are compared: (n,) of two classes, (n, C) of more."""
        if self.values.ndim == 1 or self.values.shape[1] == 2:
            return self.of_pair(0, 1)
        return self.rounded()

    def _rounded(self, scores: FloatArray) -> FloatArray:
        if self.are_exact:
            return scores
        return rounded_log_odds(scores) if self.are_logarithms else rounded(scores)


def rounded(scores: FloatArray) -> FloatArray:
    """Round margins to single precision."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64) + 0.0


def rounded_log_odds(scores: FloatArray) -> FloatArray:
    """Round log-odds to multiples of 2^-22, then to single precision.

    The noise of log-odds does not fall with them: where two probabilities are equal
    but for it, they are to be a tie.
    """
    with np.errstate(over="ignore"):
        return rounded(np.rint(scores * STEPS_PER_UNIT) / STEPS_PER_UNIT)


def of_probabilities(probabilities: FloatArray) -> ClassScores:
    """Make scores of probabilities (n, C)."""
    return ClassScores(
        logarithms(probabilities), are_logarithms=True, given=probabilities
    )
