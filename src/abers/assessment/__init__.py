"""Assessment: everything that is known about how good a predictor is, on fresh rows.

`answers` asks the predictor, `material` sorts and counts what it said, `quality`,
`grouped`, `freshness` and `provenance` turn that into numbers, `result` holds and
shows them. `checking` asks of recent rows whether a rule still holds; `findings` are
its answers.
"""

from abers.assessment.checking import check
from abers.assessment.evaluating import evaluate
from abers.assessment.findings import Check, Finding
from abers.assessment.grouped import GroupEvaluation
from abers.assessment.provenance import Provenance
from abers.assessment.quality import LossChange, Quality
from abers.assessment.result import Evaluation

__all__ = [
    "Check",
    "Evaluation",
    "Finding",
    "GroupEvaluation",
    "LossChange",
    "Provenance",
    "Quality",
    "check",
    "evaluate",
]
