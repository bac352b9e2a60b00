"""Class scores: what a model or a table says about each row, comparable across classes.

Probabilities become log-odds: log p1 - log p0 for two classes, log p_j - log p_i for a
pair, log p_c - log(the sum of the others) for one class against the rest. A probability
has its full precision only near 0; log-odds have it at both ends, and exchanging two
classes negates them exactly.

A classifier's scores are not exactly reproducible: a row scored alone and in a
batch may differ slightly, and a step function would turn that into different bounds. So
scores are rounded, at fit and later, to steps far wider than the noise
(docs/decisions/0005).
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
    """The scores of n rows, as a classifier gives them.

    `values` are log-probabilities or margins of the classes, (n, C), or the margin of
    the second of two classes, (n,). Scores that are not exact are rounded.
    """

    values: FloatArray
    are_logarithms: bool
    are_exact: bool = False
    given: FloatArray | None = None  # probabilities (n, C), if these were given

    @cached_property
    def probabilities(self) -> FloatArray | None:
        """The classifier's probabilities (n, C); None if it gave none."""
        if not self.are_logarithms:
            return None
        return np.exp(self.values) if self.given is None else self.given

    def part(self, rows: IntArray) -> ClassScores:
        """Return the scores of some of the rows."""
        given = None if self.given is None else self.given[rows]
        return replace(self, values=self.values[rows], given=given)

    def of_pair(self, i: int, j: int) -> FloatArray:
        """Score class j against class i; higher means j."""
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
        """Return the scores of all classes, rounded as they are when compared."""
        return self._rounded(self.values)

    def columns(self) -> FloatArray:
        """Return the rounded scores: (n,) for two classes, (n, C) for more."""
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

    The noise of log-odds does not shrink near 0. Probabilities that differ by noise
    alone must be tied.
    """
    with np.errstate(over="ignore"):
        return rounded(np.rint(scores * STEPS_PER_UNIT) / STEPS_PER_UNIT)


def of_probabilities(probabilities: FloatArray) -> ClassScores:
    """Make scores of probabilities (n, C)."""
    return ClassScores(
        logarithms(probabilities), are_logarithms=True, given=probabilities
    )
