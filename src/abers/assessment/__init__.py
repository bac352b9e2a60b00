"""Assessment: everything that is known about how good a predictor is, on fresh rows.

`answers` asks the predictor, `material` sorts and counts what it said, `quality`,
`grouped` and `provenance` turn that into numbers, `result` holds and shows them.
"""

from abers.assessment.evaluating import evaluate
from abers.assessment.grouped import GroupEvaluation
from abers.assessment.provenance import Provenance
from abers.assessment.quality import LossChange, Quality
from abers.assessment.result import Evaluation

__all__ = [
    "Evaluation",
    "GroupEvaluation",
    "LossChange",
    "Provenance",
    "Quality",
    "evaluate",
]
