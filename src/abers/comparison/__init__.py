"""Comparison: the same held-out rows predicted by every method, and what that costs."""

from abers.comparison.compare import compare
from abers.comparison.methods import METHODS
from abers.comparison.result import Comparison, Difference, MethodLoss, Ranked

__all__ = [
    "METHODS",
    "Comparison",
    "Difference",
    "MethodLoss",
    "Ranked",
    "compare",
]
