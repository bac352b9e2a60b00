"""Readings: the numbers that a calibrator is given, and the scores that its rules read.

A calibrator of a model takes logarithms of probabilities, and rounds scores, before its
rules read them. As a function of the number that is given this is a staircase that
rises, and so is what a rule says of it. Its steps are searched for here, among all
doubles, with the arithmetic of abers: a target compares numbers as they come, and need
not repeat a logarithm to the last bit.
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

BITS = 64  # halvings that tell all doubles apart
MAGNITUDE = np.int64(2**63 - 1)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the calibrator of two classes makes of one number per model."""

    calibrator: StackedRule | VennAbersCalibrator

    def scores(self, given: FloatArray) -> FloatArray:
        """Return the scores that rules read."""
        return self.calibrator._scores_of(given).columns()  # noqa: SLF001 (its own)

    def starts(self, thresholds: FloatArray) -> FloatArray:
        """Return the least number whose score is not below each threshold."""
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
    """Return how numbers are read; None if rules read them as they are."""
    of_rules = getattr(calibrator, "kind", "log-odds")
    # Venn-Abers rules take log-odds of probabilities, and anything else as it is.
    is_same = calibrator.reads == of_rules or calibrator.reads in ("margin", "score")
    return None if is_same and not calibrator.is_rounded else Reading(calibrator)


def _places(numbers: FloatArray) -> NDArray[np.int64]:
    """Return the place of each double among all of them."""
    bits = numbers.view(np.int64)
    return bits ^ ((bits >> (BITS - 1)) & MAGNITUDE)


def _doubles(places: NDArray[np.int64]) -> FloatArray:
    """Return the double at each place."""
    bits = places ^ ((places >> (BITS - 1)) & MAGNITUDE)
    return bits.view(np.float64) + 0.0  # one kind of zero
