"""Export: rules for programs that do not run Python, bit for bit.

A rule is a table of steps; to apply it, find the last step whose start is not above the
score. `steps` is that table. A calibrator of several models or classes has several
tables and formulas; `to_json` and C support all of them.
"""

from abers.export.description import to_json
from abers.export.onnx import to_onnx
from abers.export.source_code import to_source
from abers.export.sql import Sql, to_sql
from abers.export.step_table import Steps, steps

__all__ = ["Sql", "Steps", "steps", "to_json", "to_onnx", "to_source", "to_sql"]
