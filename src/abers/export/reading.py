"""Readings: the inputs of a calibrator, and the scores that its rules read.

A calibrator of a classifier takes logarithms of probabilities, and rounds scores,
before its rules read them. As a function of the input, that is a rising staircase, and
so is each bound. Its steps are located here among all doubles, with abers' own
arithmetic, so that a target can compare inputs directly and need not compute the very
same logarithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abers.core.stacked import StackedRule
    from abers.core.venn_abers_calibrator import VennAbersCalibrator
    from abers.validation import FloatArray

BITS = 64  # halvings that separate all doubles
MAGNITUDE = np.int64(2**63 - 1)


@dataclass(frozen=True, slots=True)
class Reading:
    """How a two-class calibrator turns one input per model into scores."""

    calibrator: StackedRule | VennAbersCalibrator

    def scores(self, given: FloatArray) -> FloatArray:
        """Return the scores that the rules read."""
        return self.calibrator._scores_of(given).columns()  # noqa: SLF001 (its own)

    def starts(self, thresholds: FloatArray) -> FloatArray:
        """Return the smallest input whose score is not below each threshold."""
        is_probability = self.calibrator.reads == "probability"
        ends = np.array([0.0, 1.0] if is_probability else [-np.inf, np.inf])
        least, greatest = _places(ends)
        below = np.full(thresholds.size, least - 1)  # -0.0, or NaN
        above = np.full(thresholds.size, greatest)  # its score is inf
        for _ in range(BITS):
            middle = (below >> 1) + (above >> 1) + (below & above & 1)
            reaches = self.scores(_doubles(middle)) >= thresholds
            above = np.where(reaches, middle, above)
            below = np.where(reaches, below, middle)
        return _doubles(above)


def reading_of(calibrator: StackedRule | VennAbersCalibrator) -> Reading | None:
    """Return how inputs are read; None if the rules read them unchanged."""
    of_rules = getattr(calibrator, "kind", "log-odds")
    # Venn-Abers rules read log-odds of probabilities, and anything else unchanged.
    is_same = calibrator.reads == of_rules or calibrator.reads in ("margin", "score")
    return None if is_same and not calibrator.is_rounded else Reading(calibrator)


def _places(numbers: FloatArray) -> NDArray[np.int64]:
    """Return the position of each double in the order of all doubles."""
    bits = numbers.view(np.int64)
    return bits ^ ((bits >> (BITS - 1)) & MAGNITUDE)


def _doubles(places: NDArray[np.int64]) -> FloatArray:
    """Return the double at each position."""
    bits = places ^ ((places >> (BITS - 1)) & MAGNITUDE)
    return bits.view(np.float64) + 0.0  # one kind of zero
