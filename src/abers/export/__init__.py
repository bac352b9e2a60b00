"""Export: a rule for programs that do not run Python, to the last bit.

A rule is a table of steps, and to read it is to find the last step whose start is not
above the score. `steps` is that table. A calibrator of several models or classes has
tables and formulas; `to_json` and C have room for all of them.
"""

from abers.export.description import to_json
from abers.export.onnx import to_onnx
from abers.export.source_code import to_source
from abers.export.sql import Sql, to_sql
from abers.export.step_table import Steps, steps

__all__ = ["Sql", "Steps", "steps", "to_json", "to_onnx", "to_source", "to_sql"]
