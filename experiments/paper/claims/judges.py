"""Judges: kinds of claims, and how often something must be so for one to hold.

A judge looks at the results of a run and returns a verdict and the evidence. `order`
compares the losses of methods; `share` counts cases of any kind; claims that neither
fits have a judge of their own in `special`.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from experiments.paper.results import LOSSES
from experiments.paper.run import TABLES, TABLES_RATIO
from experiments.paper.sklearn_engine import OF_PAPER
from experiments.paper.tasks import ALL, RATIOS, SIX

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from experiments.paper.results import LossPair, ResultIndex
    from experiments.paper.run import Unit

    Units = Callable[[ResultIndex], list[Unit]]
    Cases = Callable[[ResultIndex], Iterable["Case"]]
    Judge = Callable[[ResultIndex, "Grade"], tuple[str, str]]


# Verdicts: how often something must be so.

HOLDS, MIXED, FAILS, NOT_RUN = "holds", "mixed", "fails", "not run"
VERDICTS = (HOLDS, MIXED, FAILS, NOT_RUN)
TIE = 0.00005  # the paper prints four digits
ERRORS = 2  # standard errors of a difference that is called clear


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


ALWAYS = Grade(1.0, "in all cases")
CONSISTENTLY = Grade(0.9, "in at least 90% of the cases")
TENDS = Grade(0.75, "in at least 75% of the cases")
OFTEN = Grade(0.5, "in at least half of the cases")
MANY = Grade(0.25, "in at least a quarter of the cases")


def together(verdicts: Iterable[str]) -> str:
    """Make one verdict of several: it fails if none holds and one fails."""
    known = {verdict for verdict in verdicts if verdict != NOT_RUN}
    if not known:
        return NOT_RUN
    if known == {HOLDS}:
        return HOLDS
    return FAILS if FAILS in known and HOLDS not in known else MIXED


def by_facts(*facts: bool) -> str:
    """Return the verdict on facts that must all be so; it fails if none is."""
    return HOLDS if all(facts) else MIXED if any(facts) else FAILS


def signed(value: float) -> str:
    """Write a difference with its sign and four digits."""
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


# Cases: what is counted, and in which words the counts are evidence.


class Case(NamedTuple):
    """Whether it is so in some place; a number and a text for the evidence."""

    place: str
    so: bool
    value: float = math.nan
    text: str = ""


@dataclass(frozen=True)
class Tally:
    """Cases, counted."""

    cases: tuple[Case, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.cases + other.cases)

    def __len__(self) -> int:
        return len(self.cases)

    def __str__(self) -> str:
        return f"{self.yes} of {len(self)}"

    @property
    def yes(self) -> int:
        """In how many cases it is so."""
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
        """The median of the cases' numbers."""
        return median(c.value for c in self.cases if not math.isnan(c.value))

    @property
    def change(self) -> str:
        """The same with its sign: "+0.0120"."""
        return signed(self.median)

    @property
    def medians(self) -> str:
        """The median of each place: "IVAP 0.0120, CVAP 0.0100"."""
        parts = self.places.items()
        return ", ".join(f"{place} {t.median:.4f}" for place, t in parts)

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
        """The same, where they have commas of their own."""
        return "; ".join(case.text for case in self.cases)

    @property
    def commonest(self) -> str:
        """The most frequent texts, and how often they occur."""
        common = Counter(case.text for case in self.cases).most_common(4)
        return ", ".join(f"{text} {n}" for text, n in common)

    def judge(self, grade: Grade) -> str:
        """Return the verdict."""
        return grade.judge(self.yes, len(self))

    def judge_everywhere(self, grade: Grade) -> str:
        """Return the verdict; mixed if it is so on the whole but not in some place."""
        verdict = self.judge(grade)
        parts = self.places.values()
        if verdict == HOLDS and any(part.judge(OFTEN) != HOLDS for part in parts):
            return MIXED
        return verdict


def share(text: str | tuple[str, ...], *judged: Cases, **beside: Cases) -> Judge:
    """Judge the share of cases in which something is so.

    Each of `judged` must reach the grade. They are {0}, {1} … in the text, and {all}
    together; those of `beside` are there under their names and are not judged. A text
    of several parts has one for each of `judged`.
    """

    def judge(index: ResultIndex, grade: Grade) -> tuple[str, str]:
        tallies = [Tally(tuple(cases(index))) for cases in judged]
        others = {name: Tally(tuple(cases(index))) for name, cases in beside.items()}
        others["all"] = sum(tallies, Tally())
        parts = (
            {text: others["all"]}
            if isinstance(text, str)
            else dict(zip(text, tallies, strict=True))
        )
        texts = [t.format(*tallies, **others) for t, tally in parts.items() if tally]
        return together(tally.judge(grade) for tally in tallies), " ".join(texts)

    return judge


# Where: the places of the tables and figures, with the paper's algorithms.

SPLIT = tuple(ratio for ratio in RATIOS if ratio != ALL)
PERMUTED = "bank-permuted"
SMALL_SETS = ("covertype", "insurance", "spambase", "german")  # train on < 10,000 rows
LARGE_SETS = ("adult", "bank", PERMUTED)
EXAMPLE = "adult"  # the set of the paper's first figures
by_data, by_algorithm = attrgetter("data"), attrgetter("algorithm")  # of a unit


def of_paper(units: Collection[Unit]) -> list[Unit]:
    """Return the places whose algorithm is one of the paper's six."""
    return [unit for unit in units if unit.algorithm in OF_PAPER]


def in_tables(index: ResultIndex) -> list[Unit]:
    """Return the places of Tables 1 and 2."""
    return of_paper(index.units((TABLES,), (TABLES_RATIO,)))


def in_figures(*tasks: str) -> Units:
    """Return what lists the places of some sets' figures, without the column `all`."""
    return lambda index: of_paper(index.units(tasks, SPLIT))


def anywhere(index: ResultIndex) -> list[Unit]:
    """Return the places of the tables and of the six sets' figures."""
    return in_tables(index) + in_figures(*SIX)(index)


def with_permuted(index: ResultIndex) -> list[Unit]:
    """Return the same, and bank in random order."""
    return anywhere(index) + in_figures(PERMUTED)(index)


def with_every_algorithm(index: ResultIndex) -> list[Unit]:
    """Return the same with algorithms that the paper does not have."""
    return index.units((TABLES,), (TABLES_RATIO,)) + index.units(SIX, SPLIT)


def named(unit: Unit) -> str:
    """Name a place in full."""
    return f"{unit.data}, {unit.algorithm}, {unit.ratio}"


# Order: one method's loss is no larger than another's.

EVERY_SET = ", and in at least half of those of each data set"
EVERY_ALGORITHM = ", and in at least half of those of each algorithm"


def no_larger(pairs: Iterable[LossPair], by: Callable[[Unit], str] = by_data) -> Tally:
    """Count where the first loss is no larger than the second, to four digits."""
    return Tally(tuple(Case(by(p.unit), p.difference <= TIE) for p in pairs))


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


def order(
    units: Units,
    *pairs: tuple[str, str],
    kinds: Collection[str] = tuple(LOSSES),
    by: Callable[[Unit], str] = by_data,
    permuted: bool = False,
    brief: bool = False,
) -> Judge:
    """Judge whether the first method's loss is no larger than the second's.

    It must be so for each pair and each loss, on the whole and in each place. With
    `permuted` bank in random order is counted beside: in file order its rows drift.
    A `brief` evidence, of pairs with the same first method, has no places.
    """

    def judge(index: ResultIndex, grade: Grade) -> tuple[str, str]:
        verdicts, texts = [], []
        for first, second in pairs:
            parts, counts, total = [], [], Tally()
            for kind in kinds:
                compared = index.pairs(units(index), kind, first, second)
                if compared:
                    tally = no_larger(compared, by)
                    parts.append(tally.judge_everywhere(grade))
                    detail = f"median {middle(compared)}{clear(compared)}"
                    counts.append(f"{LOSSES[kind]} {tally} ({detail})")
                    total += tally
            verdicts.append(together(parts))
            text = f"of {second}: {', '.join(counts)}"
            start = f"Loss of {first} no larger than "
            if counts:
                texts.append(text if brief else f"{start}{text}. {total.by_place}.")
        if brief and texts:
            texts = [f"{start}{'; '.join(texts)}."]
        if permuted and (beside := _on_permuted(index, *pairs)):
            texts.append(f"On bank permuted: {beside}.")
        return together(verdicts), " ".join(texts)

    return judge


def _on_permuted(index: ResultIndex, *pairs: tuple[str, str]) -> Tally:
    units = in_figures(PERMUTED)(index)
    compared = (no_larger(index.pairs(units, k, *p)) for k in LOSSES for p in pairs)
    return sum(compared, Tally())
