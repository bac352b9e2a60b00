"""Claims: each statement of the paper, judged by the results of a run.

`claims.toml` is the table: whose claim it is, where it stands, its words, how often it
must be so, and what judges it. There are four kinds of judges. "order" compares the
losses of pairs of methods. The others count cases: "share" on the whole, "everywhere"
on the whole and at least half in each place, "each" in each place on its own.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.paper import cases
from experiments.paper.results import LOSSES
from experiments.paper.run import TABLES, TABLES_RATIO, WIDE
from experiments.paper.sklearn_engine import ALGORITHMS, OF_PAPER
from experiments.paper.tally import GRADES, NOT_RUN, Tally, combine
from experiments.paper.tasks import ALL, RATIOS, SIX, THIRDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from experiments.paper.results import ResultIndex
    from experiments.paper.run import Unit
    from experiments.paper.tally import Grade

    Where = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
    Query = Mapping[str, Any]  # the function of `cases`, and its arguments

PAPER, NOTE, FURTHER = "the paper", "the authors' notes", "asked further"
SOURCES = (PAPER, NOTE, FURTHER)
SPLIT = tuple(ratio for ratio in RATIOS if ratio != ALL)

# What the table calls some tasks, and places: their tasks, ratios and algorithms.

SMALL_SETS = ("covertype", "insurance", "spambase", "german")  # train on < 10,000 rows
LARGE_SETS = ("adult", "bank")
EXAMPLE = "adult"  # the set of the paper's first figures
TASKS: dict[str, tuple[str, ...]] = {
    "six": SIX,
    "small": SMALL_SETS,
    "large": LARGE_SETS,
    "adult": (EXAMPLE,),
    "others": tuple(task for task in SIX if task != EXAMPLE),
    "german": ("german",),
    "wide": (WIDE,),
    "six and wide": (*SIX, WIDE),
}


EVERY = tuple(ALGORITHMS)
_TABLES = ((TABLES,), (TABLES_RATIO,), OF_PAPER)
_SIX = (SIX, SPLIT, OF_PAPER)
PLACES: dict[str, tuple[Where, ...]] = {
    **{name: ((tasks, SPLIT, OF_PAPER),) for name, tasks in TASKS.items()},
    "tables": (_TABLES,),
    "tables and six": (_TABLES, _SIX),
    "every algorithm": (((TABLES,), (TABLES_RATIO,), EVERY), (SIX, SPLIT, EVERY)),
    "curves": (((EXAMPLE,), RATIOS, OF_PAPER),),
    "curves of networks": (((EXAMPLE,), RATIOS, (cases.NETWORK,)),),
    "german at all": ((("german",), (ALL,), OF_PAPER),),
    "thirds": ((THIRDS, ("1:1",), OF_PAPER),),
}


def places(index: ResultIndex, name: str) -> list[Unit]:
    """Return the units that have results, of places that the table names."""
    return [
        unit
        for tasks, ratios, algorithms in PLACES[name]
        for unit in index.units(tasks, ratios)
        if unit.algorithm in algorithms
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A row of the table."""

    name: str
    source: str  # whose claim it is
    place: str  # where it stands in the paper
    quote: str = ""  # the paper's words
    says: str  # ours
    grade: str  # how often it must be so
    judge: str  # the kind of judge
    holds_if: str = ""  # the condition, if the grade's words do not say it
    sets: str = ""  # the sets it is about, if some may not have been run
    engine: str = ""  # whose outputs it is about, if no other's can test it
    # "order": the places, the pairs of methods, the losses, what groups the places.
    units: str = ""
    pairs: list[list[str]] = field(default_factory=list)
    kinds: list[str] = field(default_factory=lambda: list(LOSSES))
    by: str = "data"
    # Other kinds: what is counted and judged, what is only shown, and the sentences.
    count: list[dict[str, Any]] = field(default_factory=list)
    show: dict[str, dict[str, Any]] = field(default_factory=dict)
    evidence: str | list[str] = ""

    @property
    def condition(self) -> str:
        """What must be so for the claim to hold."""
        words = GRADES[self.grade].words
        each = {"data": "data set"}.get(self.by, self.by)
        if self.judge in {"order", "everywhere"}:
            words += f", and in at least half of those of each {each}"
        return (self.holds_if or "{grade}").format(grade=words, **CONSTANTS)


@dataclass(frozen=True, slots=True)
class Claim:
    """What is claimed, and what the numbers say about it."""

    name: str
    says: str
    holds_if: str
    verdict: str
    evidence: str
    source: str
    place: str
    quote: str


def judge(index: ResultIndex, name: str) -> Claim:
    """Judge a claim by the results of a run."""
    row = STATEMENTS[name]
    by_kind = _judge_order if row.judge == "order" else _judge_cases
    verdict, evidence = by_kind(index, row, GRADES[row.grade])
    if evidence and not index.engine.startswith(row.engine):
        verdict = NOT_RUN
        evidence += f" By {index.engine}; the claim is about {row.engine}'s outputs."
    sets = TASKS[row.sets] if row.sets else ()
    units = places(index, row.sets) if row.sets else []
    n_run = len({unit.data for unit in units})
    if evidence and n_run < len(sets):
        evidence += f" {n_run} of {len(sets)} sets run."
    return Claim(
        name,
        row.says,
        row.condition,
        verdict,
        evidence,
        row.source,
        row.place,
        row.quote,
    )


def judge_all(index: ResultIndex) -> list[Claim]:
    """Judge every claim, in the order of the paper; further questions at the end."""
    return [judge(index, name) for name in STATEMENTS]


def _judge_order(index: ResultIndex, row: Statement, grade: Grade) -> tuple[str, str]:
    """Judge whether each first method's loss is no larger than the second's.

    It must be so for each pair and each loss, on the whole and in each place.
    """
    units = places(index, row.units)
    verdicts, sentences = [], []
    for first, second in row.pairs:
        tallies = {
            LOSSES[kind]: Tally(
                tuple(cases.no_larger(index, units, kind, first, second, by=row.by))
            )
            for kind in row.kinds
        }
        verdicts.append(combine(t.verdict_everywhere(grade) for t in tallies.values()))
        counts = ", ".join(
            f"{loss} {tally} (median {tally.change}{tally.clear})"
            for loss, tally in tallies.items()
            if tally
        )
        if counts:
            total = sum(tallies.values(), Tally()).by_place
            start = f"Loss of {first} no larger than of {second}"
            sentences.append(f"{start}: {counts}. {total}.")
    return combine(verdicts), " ".join(sentences)


def _judge_cases(index: ResultIndex, row: Statement, grade: Grade) -> tuple[str, str]:
    """Judge the share of cases in which something is so.

    Each of `count` must reach the grade. They are {0}, {1} … in the evidence, and {all}
    together; those of `show` are there under their names and are not judged. Evidence
    in several parts has one for each of `count`.
    """
    tallies = [_tally(index, query) for query in row.count]
    named = {name: _tally(index, query) for name, query in row.show.items()}
    named["all"] = sum(tallies, Tally())
    parts = (
        {row.evidence: named["all"]}
        if isinstance(row.evidence, str)
        else dict(zip(row.evidence, tallies, strict=True))
    )
    sentences = [
        text.format(*tallies, **named, **CONSTANTS)
        for text, tally in parts.items()
        if tally
    ]
    ways = {
        "share": Tally.verdict,
        "everywhere": Tally.verdict_everywhere,
        "each": Tally.verdict_each,
    }
    verdicts = [ways[row.judge](tally, grade) for tally in tallies]
    return combine(verdicts), " ".join(sentences)


def _tally(index: ResultIndex, query: Query) -> Tally:
    """Count the cases of a question, with its places and tasks looked up."""
    arguments = {name: value for name, value in query.items() if name != "cases"}
    if "units" in arguments:
        arguments["units"] = places(index, arguments["units"])
    if "tasks" in arguments:
        arguments["tasks"] = TASKS[arguments["tasks"]]
    return Tally(tuple(getattr(cases, query["cases"])(index, **arguments)))


CONSTANTS = {name: value for name, value in vars(cases).items() if name.isupper()}
_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
STATEMENTS = {row["name"]: Statement(**row) for row in _TABLE["claim"]}
