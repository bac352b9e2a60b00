"""Spark: exact rules from DataFrames of any size, and their bounds as new columns.

Everything goes through the DataFrame API, so it works with Spark Connect, too. Workers
need the driver's version of abers. `abers.engines.counting` is what workers and driver
compute; this package is what Spark does with it.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from abers.errors import MissingExtra, brings_extra, need

need("pyspark", "pyarrow", "pandas", extra="spark", what="abers.engines.spark")
OLDEST = (4, 1)  # the first version with arrow_udf and repartitionById
if tuple(map(int, version("pyspark").split(".")[:2])) < OLDEST:
    msg = (
        f"abers.engines.spark needs pyspark 4.1 or newer; got {version('pyspark')}. "
        f"{brings_extra('spark', 'pip install --upgrade')}."
    )
    raise MissingExtra(msg)

from abers.engines.spark.added_columns import add_bounds  # noqa: E402 (after the checks)
from abers.engines.spark.fitting import fit_rule, fit_rules, fit_table  # noqa: E402
from abers.engines.spark.java import check_java  # noqa: E402

if TYPE_CHECKING:
    from abers.engines.spark.pipeline import IVAPCalibrator, IVAPModel

__all__ = [
    "IVAPCalibrator",
    "IVAPModel",
    "add_bounds",
    "check_java",
    "fit_rule",
    "fit_rules",
    "fit_table",
]


def __getattr__(name: str) -> Any:
    if name in {"IVAPCalibrator", "IVAPModel"}:  # pyspark.ml is slow to import
        from abers.engines.spark import pipeline

        return getattr(pipeline, name)
    msg = f"module 'abers.engines.spark' has no attribute {name!r}"
    raise AttributeError(msg)
