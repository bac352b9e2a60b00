"""Tables: files of scores in, files of rules and probabilities out.

The same rule as in memory, to the last bit, from files of any size: rows are read in
batches, and what does not fit into memory waits on disk as sorted runs.
"""

from abers import errors

errors.need("pyarrow", extra="cli", what="a table")

from abers.tables.dialect import Dialect  # noqa: E402 (says first what to install)
from abers.tables.fit import Fit, fit_table  # noqa: E402
from abers.tables.predict import PredictionCounts, predict_table  # noqa: E402

__all__ = ["Dialect", "Fit", "PredictionCounts", "fit_table", "predict_table"]
