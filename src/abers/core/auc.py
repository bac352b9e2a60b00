"""AUC: the share of (zero, one) pairs that the scores put in the right order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from abers.core.diagram import Diagram
    from abers.validation import FloatArray, IntArray


def pairs_in_order(
    negatives: IntArray | FloatArray, positives: IntArray | FloatArray
) -> float:
    """Count the pairs in which the row labelled 1 scores higher; a tie counts half.

    >>> pairs_in_order(np.array([1, 1, 0]), np.array([0, 1, 1]))
    3.5
    """
    zeros = negatives.astype(np.float64)
    return float((positives * (np.cumsum(zeros) - zeros / 2)).sum())


class RunningAuc:
    """The AUC of rows that arrive in parts, in ascending order of their scores."""

    def __init__(self) -> None:
        self._zeros = 0.0
        self._ones = 0.0
        self._in_order = 0.0

    def add(self, in_order: float, zeros: float, ones: float) -> None:
        """Add a part, given its pairs in order and the weight of each label."""
        self._in_order += in_order + self._zeros * ones
        self._zeros += zeros
        self._ones += ones

    def watch(self, parts: Iterable[Diagram]) -> Iterator[Diagram]:
        """Yield each part after adding it."""
        for part in parts:
            negatives, positives = part.negatives, part.positives
            in_order = pairs_in_order(negatives, positives)
            self.add(in_order, float(negatives.sum()), float(positives.sum()))
            yield part

    @property
    def value(self) -> float:
        """Share of correctly ordered pairs; NaN if there is only one class."""
        pairs = self._zeros * self._ones
        return self._in_order / pairs if pairs else math.nan


def auc_of(diagram: Diagram) -> float:
    """Return the AUC of the scores in a diagram; NaN with only one class."""
    auc = RunningAuc()
    list(auc.watch([diagram]))
    return auc.value
