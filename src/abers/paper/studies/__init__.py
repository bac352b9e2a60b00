"""Studies: experiments besides the tables and figures, each kept when done."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from abers.paper import tasks
from abers.paper.journal import add_entry, read_entries
from abers.paper.sklearn_engine import SklearnEngine
from abers.paper.studies import (
    artificial_data,
    calibration_curves,
    many_classes,
    validity,
)
from abers.paper.studies.artificial_data import SvmRun, Timing
from abers.paper.studies.calibration_curves import Curves
from abers.paper.studies.many_classes import ManyClasses
from abers.paper.studies.validity import Group, Validity

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator, Sequence

DRAWN_BY = "naive Bayes"  # the algorithm whose scores validity is checked on


@dataclass(frozen=True, slots=True)
class Scope:
    """How much of each study to do; what is empty is not done."""

    machines: tuple[int, ...] = ()  # training rows of support vector machines
    timings: tuple[int, ...] = ()  # calibration scores of the artificial set
    classes: tuple[str, ...] = ()  # sets of many classes
    pictured: tuple[tuple[str, str], ...] = ()  # tasks and algorithms
    drawn_from: str = ""  # the task whose test rows validity is checked on
    sizes: tuple[int, ...] = ()  # of calibration sets
    draws: int = 0

    def within(self, sets: Collection[str]) -> Scope:
        """Return what can be done with some data sets only."""

        def has(task: str) -> bool:
            return tasks.RECIPES[task].data in sets

        drawn = self.drawn_from if self.drawn_from and has(self.drawn_from) else ""
        return replace(
            self,
            classes=tuple(c for c in self.classes if c == "digits" or c in sets),
            pictured=tuple(entry for entry in self.pictured if has(entry[0])),
            drawn_from=drawn,
        )

    @property
    def sets(self) -> list[str]:
        """The data sets that are needed; the digits come with scikit-learn."""
        named = [task for task, _ in self.pictured]
        named += [self.drawn_from] if self.drawn_from else []
        needed = [tasks.RECIPES[task].data for task in named]
        needed += [name for name in self.classes if name != "digits"]
        return list(dict.fromkeys(needed))


WHOLE = Scope(
    artificial_data.SVM_SIZES,
    artificial_data.TIMED_SIZES,
    ("digits", "covertype"),
    (("adult-5000", "naive Bayes"), ("adult-5000", "boosting")),
    "adult-5000",
    validity.SIZES,
    validity.DRAWS,
)
SCOPES = {
    "miniature": Scope(
        (100, 400),
        (1_000, 10_000),
        ("digits",),
        (("spambase", "naive Bayes"),),
        "spambase",
        (20, 100),
        2_000,
    ),
    "tables": Scope(),
    "quick": WHOLE,
    "full": WHOLE,
}


@dataclass(frozen=True, slots=True)
class Studies:
    """What was found; empty where nothing was done."""

    machines: tuple[SvmRun, ...] = ()
    timings: tuple[Timing, ...] = ()
    classes: tuple[ManyClasses, ...] = ()
    curves: tuple[Curves, ...] = ()
    validity: tuple[Validity, ...] = ()


def _read_validity(entry: dict[str, Any]) -> Validity:
    groups = tuple(Group(**group) for group in entry.pop("groups"))
    return Validity(**entry, groups=groups)


def _read_curves(entry: dict[str, Any]) -> Curves:
    lines = {name: tuple(values) for name, values in entry.pop("lines").items()}
    for name in ("scores", "quantiles"):
        entry[name] = tuple(entry[name])
    return Curves(**entry, lines=lines)


READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "machines": lambda entry: SvmRun(**entry),
    "timings": lambda entry: Timing(**entry),
    "classes": lambda entry: ManyClasses(**entry),
    "curves": _read_curves,
    "validity": _read_validity,
}
Call = tuple[str, list[Any], "Callable[[], Sequence[Any]]"]


def run(
    scope: Scope,
    folder: str | os.PathLike[str],
    *,
    journal: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
) -> Studies:
    """Do the studies that the journal does not have, by scikit-learn's algorithms.

    What another version of scikit-learn has done is done again. Several jobs share the
    draws of validity; timings are taken alone.
    """
    done = dict(read_entries(journal, _study, "a study"))
    engine = SklearnEngine()
    calls = list(_calls(scope, folder, jobs, engine))
    found: dict[str, tuple[Any, ...]] = {}
    for number, (name, settings, work) in enumerate(calls):
        key = json.dumps([name, settings, engine.name])
        if key not in done:
            if progress is not None:
                progress(name, number, len(calls))
            done[key] = tuple(work())
            add_entry(journal, _line(key, done[key]))
        found[name] = done[key]
    return Studies(**found)


def _calls(
    scope: Scope, folder: str | os.PathLike[str], jobs: int, engine: SklearnEngine
) -> Iterator[Call]:
    def pictures() -> list[Curves]:
        return [
            calibration_curves.draw(tasks.load(task, folder), algorithm, engine)
            for task, algorithm in scope.pictured
        ]

    def many() -> list[ManyClasses]:
        loaded = (many_classes.load(name, folder) for name in scope.classes)
        return [result for task in loaded for result in many_classes.run(task)]

    def checked() -> list[Validity]:
        task = tasks.load(scope.drawn_from, folder)
        pool = validity.unseen(task, DRAWN_BY, engine)
        return validity.check_all(pool, sizes=scope.sizes, draws=scope.draws, jobs=jobs)

    if scope.pictured:
        yield "curves", [list(entry) for entry in scope.pictured], pictures
    if scope.machines:
        sizes = scope.machines
        yield "machines", list(sizes), lambda: artificial_data.svm_runs(sizes)
    if scope.timings:
        yield (
            "timings",
            list(scope.timings),
            lambda: artificial_data.timings(scope.timings),
        )
    if scope.classes:
        yield "classes", list(scope.classes), many
    if scope.drawn_from:
        settings = [scope.drawn_from, list(scope.sizes), scope.draws]
        yield "validity", settings, checked


def _study(line: str) -> tuple[str, tuple[Any, ...]]:
    raw = json.loads(line)
    name = json.loads(raw["study"])[0]
    return raw["study"], tuple(READERS[name](entry) for entry in raw["found"])


def _line(key: str, found: tuple[Any, ...]) -> str:
    return json.dumps({"study": key, "found": [asdict(entry) for entry in found]})
