"""Comparison: all methods predict the same held-out rows; losses with errors."""

from abers.errors import need

need("narwhals", "scipy", "sklearn", what="abers.comparison")

from abers.comparison.compare import compare  # noqa: E402 (after the check)
from abers.comparison.methods import METHODS  # noqa: E402
from abers.comparison.result import (  # noqa: E402
    Comparison,
    Difference,
    MethodLoss,
    Ranked,
)

__all__ = [
    "METHODS",
    "Comparison",
    "Difference",
    "MethodLoss",
    "Ranked",
    "compare",
]
