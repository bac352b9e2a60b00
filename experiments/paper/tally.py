"""Tallies: in how many cases something is so, and which verdict that is."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

HOLDS, MIXED, FAILS, NOT_RUN = "holds", "mixed", "fails", "not run"
VERDICTS = (HOLDS, MIXED, FAILS, NOT_RUN)
ERRORS = 2  # a difference of more standard errors is called clear


@dataclass(frozen=True, slots=True)
class Grade:
    """The share of cases that a word of the paper stands for."""

    share: float
    words: str

    def verdict(self, yes: int, cases: int) -> str:
        """Judge a count; mixed is at least half of what it takes to hold."""
        if not cases:
            return NOT_RUN
        if yes >= self.share * cases:
            return HOLDS
        return MIXED if yes >= self.share / 2 * cases else FAILS


GRADES = {
    "always": Grade(1.0, "in all cases"),
    "consistently": Grade(0.9, "in at least 90% of the cases"),
    "tends": Grade(0.75, "in at least 75% of the cases"),
    "often": Grade(0.5, "in at least half of the cases"),
    "many": Grade(0.25, "in at least a quarter of the cases"),
}


def combine(verdicts: Iterable[str]) -> str:
    """Make one verdict of several: it fails if one fails and none holds."""
    run = set(verdicts) - {NOT_RUN}
    if not run:
        return NOT_RUN
    if run == {HOLDS}:
        return HOLDS
    return FAILS if FAILS in run and HOLDS not in run else MIXED


def signed(value: float) -> str:
    """Write a difference with its sign and four digits; "-" if there is none."""
    if math.isnan(value):
        return "-"
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


class Case(NamedTuple):
    """Whether something is so in one place, with a number or text as evidence."""

    place: str
    so: bool
    value: float = math.nan
    text: str = ""
    z: float | None = None  # the value in standard errors


@dataclass(frozen=True)
class Tally:
    """Counted cases, and the ways in which a sentence of evidence writes them."""

    cases: tuple[Case, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.cases + other.cases)

    def __len__(self) -> int:
        return len(self.cases)

    def __str__(self) -> str:
        return f"{self.yes} of {len(self)}"

    @property
    def yes(self) -> int:
        """The number of cases in which it is so."""
        return sum(case.so for case in self.cases)

    @cached_property
    def places(self) -> dict[str, Tally]:
        """The cases of each place."""
        places: dict[str, list[Case]] = {}
        for case in self.cases:
            places.setdefault(case.place, []).append(case)
        return {place: Tally(tuple(cases)) for place, cases in places.items()}

    @property
    def by_place(self) -> str:
        """The counts of each place: "adult 3/4, german 4/4"."""
        parts = self.places.items()
        return ", ".join(f"{place} {t.yes}/{len(t)}" for place, t in parts)

    @property
    def counts(self) -> str:
        """The same in words: "adult 3 of 4, german 4 of 4"."""
        return ", ".join(f"{place} {tally}" for place, tally in self.places.items())

    @property
    def median(self) -> float:
        """The median of the cases' finite numbers, or NaN."""
        values = [case.value for case in self.cases if math.isfinite(case.value)]
        return median(values) if values else math.nan

    @property
    def change(self) -> str:
        """The median with its sign: "+0.0120"."""
        return signed(self.median)

    @property
    def medians(self) -> str:
        """The median of each place: "IVAP 0.0120, CVAP 0.0100"."""
        parts = self.places.items()
        return ", ".join(f"{place} {t.median:.4f}" for place, t in parts)

    @property
    def changes(self) -> str:
        """The median of each place with its sign: "IVAP +0.0120, CVAP −0.0100"."""
        return ", ".join(f"{place} {t.change}" for place, t in self.places.items())

    @property
    def clear(self) -> str:
        """The numbers of clear differences in both directions, if errors exist."""
        z = [case.z for case in self.cases if case.z is not None]
        if not z:
            return ""
        below, above = (sum(sign * each > ERRORS for each in z) for sign in (-1, 1))
        return f"; by more than {ERRORS} standard errors lower {below}, higher {above}"

    @property
    def largest(self) -> Case:
        """The case with the largest number."""
        return max(self.cases, key=attrgetter("value"))

    @property
    def listed(self) -> str:
        """The texts of the cases."""
        return ", ".join(case.text for case in self.cases)

    @property
    def parts(self) -> str:
        """The same, if texts contain commas."""
        return "; ".join(case.text for case in self.cases)

    @property
    def commonest(self) -> str:
        """The most frequent texts, with their numbers."""
        texts = Counter(case.text for case in self.cases if case.text)
        return ", ".join(f"{text} {n}" for text, n in texts.most_common(4)) or "none"

    def verdict(self, grade: Grade) -> str:
        """Judge the cases on the whole."""
        return grade.verdict(self.yes, len(self))

    def verdict_everywhere(self, grade: Grade) -> str:
        """Judge the same, but mixed if some place reaches less than half."""
        verdict, often = self.verdict(grade), GRADES["often"]
        parts = self.places.values()
        if verdict == HOLDS and any(part.verdict(often) != HOLDS for part in parts):
            return MIXED
        return verdict

    def verdict_each(self, grade: Grade) -> str:
        """Judge each place on its own and combine the verdicts."""
        return combine(part.verdict(grade) for part in self.places.values())
