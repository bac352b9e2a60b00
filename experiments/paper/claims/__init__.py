"""Claims: each statement of the paper, checked against the results of a run.

Every claim says what must be so for it to hold, in how many cases it is, and by how
much. A claim fails as openly as it holds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from experiments.paper.claims import method_order, ratios, study_claims, underlying
from experiments.paper.claims.statements import SOURCES, STATEMENTS
from experiments.paper.claims.verdicts import (
    FAILS,
    HOLDS,
    MIXED,
    NOT_RUN,
    VERDICTS,
    Claim,
)

if TYPE_CHECKING:
    from experiments.paper.claims.verdicts import Judge
    from experiments.paper.results import ResultIndex
    from experiments.paper.studies import Studies

__all__ = [
    "FAILS",
    "HOLDS",
    "MIXED",
    "NOT_RUN",
    "SOURCES",
    "VERDICTS",
    "Claim",
    "judge",
]


def judge(index: ResultIndex, studies: Studies) -> list[Claim]:
    """Judge every claim; they come in the order of the paper, ours at the end."""
    by_index: list[Judge] = [
        *method_order.JUDGES,
        *ratios.JUDGES,
        *method_order.REASONS,
        *underlying.JUDGES,
    ]
    judged = [of(index) for of in by_index]
    judged += [of(studies) for of in study_claims.JUDGES]
    found = {claim.name: claim for claim in judged}
    return [
        replace(found[name], source=one.source, place=one.place, quote=one.quote)
        for name, one in STATEMENTS.items()
    ]
