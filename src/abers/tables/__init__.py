"""Tables: files of scores in, files of rules and probabilities out.

The rule is the same as in memory, bit for bit, from files of any size: rows are read in
batches, and what does not fit into memory is kept on disk as sorted runs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from abers import errors

errors.need("pyarrow", extra="cli", what="a table")

if TYPE_CHECKING:
    from abers.tables.decide import DecisionCounts, decide_table
    from abers.tables.files import Dialect
    from abers.tables.fit import Fit, fit_table
    from abers.tables.predict import predict_table
    from abers.tables.predictors import PredictionCounts

__all__ = [
    "DecisionCounts",
    "Dialect",
    "Fit",
    "PredictionCounts",
    "decide_table",
    "fit_table",
    "predict_table",
]

# Predicting needs nothing that belongs to fitting.
_MODULES = {
    "DecisionCounts": "decide",
    "Dialect": "files",
    "Fit": "fit",
    "PredictionCounts": "predictors",
    "decide_table": "decide",
    "fit_table": "fit",
    "predict_table": "predict",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"abers.tables.{_MODULES[name]}"), name)
    msg = f"module 'abers.tables' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
