"""Grades: how often something must be so for a claim to hold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from abers.paper.ledger import Pair

HOLDS, MIXED, FAILS, NOT_RUN = "holds", "mixed", "fails", "not run"
VERDICTS = (HOLDS, MIXED, FAILS, NOT_RUN)
TIE = 0.00005  # the paper prints four digits


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed, and what the numbers say to it."""

    name: str
    says: str
    holds_if: str
    verdict: str  # one of `VERDICTS`
    evidence: str


@dataclass(frozen=True, slots=True)
class Grade:
    """The share of cases that a word of the paper stands for."""

    share: float
    words: str

    def judge(self, yes: int, cases: int) -> str:
        """Return the verdict; mixed is at least half of what it takes to hold.

        Examples
        --------
        >>> from abers.paper.claims.grades import TENDS
        >>> TENDS.judge(3, 4), TENDS.judge(2, 4), TENDS.judge(1, 4), TENDS.judge(0, 0)
        ('holds', 'mixed', 'fails', 'not run')
        """
        if not cases:
            return NOT_RUN
        if yes >= self.share * cases:
            return HOLDS
        return MIXED if yes >= self.share / 2 * cases else FAILS


EVERY_SET = ", and in half of those of each set"
EVERY_ALGORITHM = ", and in half of those of each algorithm"
ALWAYS = Grade(1.0, "in all cases")
CONSISTENTLY = Grade(0.9, "in nine cases of ten")
TENDS = Grade(0.75, "in three cases of four")
OFTEN = Grade(0.5, "in half of the cases")


@dataclass(frozen=True, slots=True)
class Tally:
    """Cases by where they are, and whether it is so."""

    cases: tuple[tuple[str, bool], ...]

    @classmethod
    def of(cls, cases: Iterable[tuple[str, bool]]) -> Tally:
        """Count cases."""
        return cls(tuple(cases))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.cases + other.cases)

    @property
    def yes(self) -> int:
        """In how many cases it is so."""
        return sum(so for _, so in self.cases)

    @property
    def text(self) -> str:
        """The count in words: "5 of 6"."""
        return f"{self.yes} of {len(self.cases)}"

    @property
    def by_place(self) -> str:
        """The counts of each place: "adult 3/4, german 4/4"."""
        places = dict.fromkeys(place for place, _ in self.cases)
        return ", ".join(
            f"{place} {sum(answers)}/{len(answers)}"
            for place in places
            for answers in [[so for other, so in self.cases if other == place]]
        )

    def judge(self, grade: Grade) -> str:
        """Return the verdict."""
        return grade.judge(self.yes, len(self.cases))

    def judge_everywhere(self, grade: Grade) -> str:
        """Return the verdict; mixed if it is so on the whole but not in some place."""
        verdict = self.judge(grade)
        places = {place for place, _ in self.cases}
        parts = [Tally.of(c for c in self.cases if c[0] == place) for place in places]
        if verdict == HOLDS and any(part.judge(OFTEN) != HOLDS for part in parts):
            return MIXED
        return verdict


def no_larger(pairs: Sequence[Pair]) -> Tally:
    """Count where the first loss is no larger than the second, to four digits."""
    return Tally.of((p.unit.data, p.difference <= TIE) for p in pairs)


def middle(pairs: Sequence[Pair]) -> str:
    """Write the median difference where both losses are finite: "−0.0031"."""
    finite = [p.difference for p in pairs if math.isfinite(p.first + p.second)]
    return signed(median(finite)) if finite else "-"


def signed(value: float) -> str:
    """Write a difference with its sign and four digits."""
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


def together(verdicts: Sequence[str]) -> str:
    """Make one verdict of several: it fails if none holds and one fails.

    Examples
    --------
    >>> from abers.paper.claims.grades import together
    >>> together(["holds", "not run"]), together(["holds", "fails"])
    ('holds', 'mixed')
    >>> together(["mixed", "mixed"]), together(["mixed", "fails"])
    ('mixed', 'fails')
    """
    known = {verdict for verdict in verdicts if verdict != NOT_RUN}
    if not known:
        return NOT_RUN
    if known == {HOLDS}:
        return HOLDS
    return FAILS if FAILS in known and HOLDS not in known else MIXED
