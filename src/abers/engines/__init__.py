"""Engines: fits and bounds on Spark and Dask frames.

`counting` is what workers and driver do with rows, whatever the engine; `bounds` maps
scores to bounds on workers; `messages` defines the bytes that travel. `spark` and
`dask` are the adapters: they run these functions where the rows are.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["dask", "spark"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"abers.engines.{name}")
    msg = f"module 'abers.engines' has no attribute {name!r}"
    raise AttributeError(msg)
