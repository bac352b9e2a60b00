"""Comparison: the same held-out rows predicted by every method, and what that costs."""

from abers.comparison.methods import METHODS, calibrated
from abers.comparison.result import (
    LOSS_NAMES,
    Comparison,
    Difference,
    MethodLoss,
    Ranked,
    compare,
)

__all__ = [
    "LOSS_NAMES",
    "METHODS",
    "Comparison",
    "Difference",
    "MethodLoss",
    "Ranked",
    "calibrated",
    "compare",
]
