"""Claims: each statement of the paper, checked against the results of a run.

Every claim says what must be so for it to hold, in how many cases it is, and by how
much. A claim fails as openly as it holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.paper.claims.judges import in_figures
from experiments.paper.claims.table import STATEMENTS

if TYPE_CHECKING:
    from experiments.paper.results import ResultIndex


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed, and what the numbers say to it."""

    name: str
    says: str
    holds_if: str
    verdict: str
    evidence: str
    source: str  # whose claim it is
    place: str  # where it stands in the paper
    quote: str  # in the paper's words


def judge(index: ResultIndex, name: str) -> Claim:
    """Judge a claim by the results of a run."""
    source, one = STATEMENTS[name]
    verdict, evidence = one.judge(index, one.grade)
    n_run = len({unit.data for unit in in_figures(*one.sets)(index)})
    if evidence and n_run < len(one.sets):
        evidence += f" {n_run} of {len(one.sets)} sets run."
    words = one.holds_if or one.grade.words
    return Claim(name, one.says, words, verdict, evidence, source, one.place, one.quote)


def judge_all(index: ResultIndex) -> list[Claim]:
    """Judge every claim, in the order of the paper; further questions at the end."""
    return [judge(index, name) for name in STATEMENTS]
