"""Verdicts: how often something must be so for a claim to hold, and where."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import wraps
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING

from experiments.paper.run import TABLES, TABLES_RATIO
from experiments.paper.sklearn_engine import OF_PAPER
from experiments.paper.tasks import ALL, RATIOS, SIX

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from experiments.paper.results import LossPair, ResultIndex
    from experiments.paper.run import Unit

    Judge = Callable[[ResultIndex], "Claim"]


# Grades: how often something must be so for a claim to hold.

HOLDS, MIXED, FAILS, NOT_RUN = "holds", "mixed", "fails", "not run"
VERDICTS = (HOLDS, MIXED, FAILS, NOT_RUN)
TIE = 0.00005  # the paper prints four digits
ERRORS = 2  # standard errors of a difference that is called clear


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed, and what the numbers say to it."""

    name: str
    says: str
    holds_if: str
    verdict: str  # one of `VERDICTS`
    evidence: str
    source: str = ""  # whose claim it is: one of `SOURCES`
    place: str = ""  # where it stands in the paper
    quote: str = ""  # in the paper's words


@dataclass(frozen=True, slots=True)
class Grade:
    """The share of cases that a word of the paper stands for."""

    share: float
    words: str

    def judge(self, yes: int, cases: int) -> str:
        """Return the verdict; mixed is at least half of what it takes to hold."""
        if not cases:
            return NOT_RUN
        if yes >= self.share * cases:
            return HOLDS
        return MIXED if yes >= self.share / 2 * cases else FAILS


EVERY_SET = ", and in at least half of those of each data set"
EVERY_ALGORITHM = ", and in at least half of those of each algorithm"
ALWAYS = Grade(1.0, "in all cases")
CONSISTENTLY = Grade(0.9, "in at least 90% of the cases")
TENDS = Grade(0.75, "in at least 75% of the cases")
OFTEN = Grade(0.5, "in at least half of the cases")


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

    def claim(
        self, name: str, says: str, grade: Grade, evidence: str, holds_if: str = ""
    ) -> Claim:
        """Return a claim with its verdict; without cases there is no evidence."""
        told = evidence if self.cases else ""
        return Claim(name, says, holds_if or grade.words, self.judge(grade), told)

    def judge_everywhere(self, grade: Grade) -> str:
        """Return the verdict; mixed if it is so on the whole but not in some place."""
        verdict = self.judge(grade)
        places = {place for place, _ in self.cases}
        parts = [Tally.of(c for c in self.cases if c[0] == place) for place in places]
        if verdict == HOLDS and any(part.judge(OFTEN) != HOLDS for part in parts):
            return MIXED
        return verdict


def no_larger(pairs: Sequence[LossPair]) -> Tally:
    """Count where the first loss is no larger than the second, to four digits."""
    return Tally.of((p.unit.data, p.difference <= TIE) for p in pairs)


def middle(pairs: Sequence[LossPair]) -> str:
    """Write the median difference where both losses are finite: "−0.0031"."""
    finite = [p.difference for p in pairs if math.isfinite(p.first + p.second)]
    return signed(median(finite)) if finite else "-"


def clear(pairs: Sequence[LossPair]) -> str:
    """Count the differences beyond two standard errors, in both directions."""
    known = [p.standard_errors for p in pairs if p.standard_errors is not None]
    if not known:
        return ""
    below, above = (sum(sign * z > ERRORS for z in known) for sign in (-1, 1))
    return f"; by more than {ERRORS} standard errors lower {below}, higher {above}"


def signed(value: float) -> str:
    """Write a difference with its sign and four digits."""
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


def together(verdicts: Sequence[str]) -> str:
    """Make one verdict of several: it fails if none holds and one fails."""
    known = {verdict for verdict in verdicts if verdict != NOT_RUN}
    if not known:
        return NOT_RUN
    if known == {HOLDS}:
        return HOLDS
    return FAILS if FAILS in known and HOLDS not in known else MIXED


# Selection: where a claim is judged, and how much of it was run.

SPLIT = tuple(ratio for ratio in RATIOS if ratio != ALL)
PERMUTED = "bank-permuted"
SMALL_SETS = ("covertype", "insurance", "spambase", "german")  # train on < 10,000 rows
LARGE_SETS = ("adult", "bank", PERMUTED)


def in_tables(index: ResultIndex) -> list[Unit]:
    """Return the places of Tables 1 and 2, with the paper's algorithms."""
    return of_paper(index.units((TABLES,), (TABLES_RATIO,)))


def in_figures(index: ResultIndex, tasks: Collection[str] = SIX) -> list[Unit]:
    """Return the places of the six sets' figures, without the column `all`."""
    return of_paper(index.units(tasks, SPLIT))


def with_every_algorithm(index: ResultIndex) -> list[Unit]:
    """Return the places of tables and figures, for questions that are not the paper's.

    Algorithms that the paper does not have are there too.
    """
    return index.units((TABLES,), (TABLES_RATIO,)) + index.units(SIX, SPLIT)


def of_paper(units: Collection[Unit]) -> list[Unit]:
    """Return the places whose algorithm is one of the paper's six."""
    return [unit for unit in units if unit.algorithm in OF_PAPER]


def panels(index: ResultIndex, *tasks: str) -> Iterator[tuple[str, str]]:
    """Go through tasks and those of the paper's algorithms that were run on them."""
    for task in tasks:
        for algorithm in index.algorithms(task):
            if algorithm in OF_PAPER:
                yield task, algorithm


def of_sets(tasks: Collection[str]) -> Callable[[Judge], Judge]:
    """Let a judge of some sets say how many of them were run, if not all were."""

    def decorate(judge: Judge) -> Judge:
        @wraps(judge)
        def judged(index: ResultIndex) -> Claim:
            return with_sets_run(judge(index), index, tasks)

        return judged

    return decorate


def with_sets_run(claim: Claim, index: ResultIndex, tasks: Collection[str]) -> Claim:
    """Say how many of the sets of a claim were run, if not all were."""
    n_run = len({unit.data for unit in in_figures(index, tasks)})
    if not claim.evidence or n_run == len(tasks):
        return claim
    told = f"{claim.evidence} {n_run} of {len(tasks)} sets run."
    return replace(claim, evidence=told)


by_data, by_algorithm = attrgetter("data"), attrgetter("algorithm")  # of a unit


def named(unit: Unit) -> str:
    """Name a place in full."""
    return f"{unit.data}, {unit.algorithm}, {unit.ratio}"
