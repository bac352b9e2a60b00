"""Claims: each statement of the paper, checked against the results of a run.

Every claim says what must be so for it to hold, in how many cases it is, and by how
much. A claim fails as openly as it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from abers.paper.claims import method_order, ratios, study_claims
from abers.paper.claims.verdicts import FAILS, HOLDS, MIXED, NOT_RUN, VERDICTS, Claim

if TYPE_CHECKING:
    from abers.paper.claims.verdicts import Judge
    from abers.paper.results import ResultIndex
    from abers.paper.studies import Studies

__all__ = [
    "FAILS",
    "HOLDS",
    "MIXED",
    "NOT_RUN",
    "VERDICTS",
    "Claim",
    "judge",
]


def judge(index: ResultIndex, studies: Studies) -> list[Claim]:
    """Judge every claim."""
    by_index: list[Judge] = [
        *method_order.JUDGES,
        *ratios.JUDGES,
        *method_order.REASONS,
    ]
    return [of(index) for of in by_index] + [of(studies) for of in study_claims.JUDGES]
