"""Studies: experiments besides the tables and figures, each kept when done."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from experiments.paper import tasks
from experiments.paper.journal import add_entry, read_entries
from experiments.paper.sklearn_engine import SklearnEngine
from experiments.paper.studies import (
    artificial_data,
    calibration_curves,
    many_classes,
    tiny_sets,
    tuning,
    validity,
    width_of_bounds,
)
from experiments.paper.studies.artificial_data import SvmRun, Timing
from experiments.paper.studies.calibration_curves import Curves
from experiments.paper.studies.many_classes import ManyClasses
from experiments.paper.studies.tiny_sets import TinySet
from experiments.paper.studies.tuning import TuningStudy
from experiments.paper.studies.validity import Group, Validity
from experiments.paper.studies.width_of_bounds import WidthStudy

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Iterator, Sequence

DRAWN_BY = "naive Bayes"  # the algorithm whose scores validity is checked on
TUNED_SHARE = 5  # one draw in so many where each chooses a setting, too


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
    tiny: tuple[str, ...] = ()  # sets of a few hundred rows
    widths: tuple[tuple[str, str], ...] = ()  # tasks and algorithms
    tuned: tuple[tuple[str, str], ...] = ()

    def within(self, sets: Collection[str]) -> Scope:
        """Return what can be done with some data sets only."""

        def has(task: str) -> bool:
            return tasks.RECIPES[task].data in sets

        def kept(entries: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
            return tuple(entry for entry in entries if has(entry[0]))

        drawn = self.drawn_from if self.drawn_from and has(self.drawn_from) else ""
        return replace(
            self,
            classes=tuple(c for c in self.classes if c == "digits" or c in sets),
            pictured=kept(self.pictured),
            drawn_from=drawn,
            tiny=tuple(t for t in self.tiny if t in tiny_sets.OF_SKLEARN or has(t)),
            widths=kept(self.widths),
            tuned=kept(self.tuned),
        )

    @property
    def sets(self) -> list[str]:
        """The data sets that are needed; some others come with scikit-learn."""
        named = [task for task, _ in (*self.pictured, *self.widths, *self.tuned)]
        named += [self.drawn_from] if self.drawn_from else []
        named += [name for name in self.tiny if name not in tiny_sets.OF_SKLEARN]
        needed = [tasks.RECIPES[task].data for task in named]
        needed += [name for name in self.classes if name != "digits"]
        return list(dict.fromkeys(needed))


WHOLE = Scope(
    artificial_data.SVM_SIZES,
    artificial_data.TIMED_SIZES,
    ("digits", "covertype"),
    tuple(("adult-5000", name) for name in ("naive Bayes", "bagging", "boosting")),
    "adult-5000",
    validity.SIZES,
    validity.DRAWS,
    tiny_sets.NAMES,
    tuple(
        (task, name)
        for task in ("adult-5000", "german")
        for name in ("tree", "bagging", "logistic", "naive Bayes")
    ),
    tuple(
        (task, name)
        for task in ("adult-5000", "german")
        for name in ("tree", "bagging", "logistic")
    ),
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
        ("wine, class 1",),
        (("spambase", "naive Bayes"),),
        (("german", "tree"),),
    ),
    "tables": Scope(),
    "sets": Scope(),
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
    tiny: tuple[TinySet, ...] = ()
    widths: tuple[WidthStudy, ...] = ()
    tuned: tuple[TuningStudy, ...] = ()
    tuned_validity: tuple[Validity, ...] = ()


def _read_validity(entry: dict[str, Any]) -> Validity:
    groups = tuple(Group(**group) for group in entry.pop("groups"))
    return Validity(**entry, groups=groups)


def _read_curves(entry: dict[str, Any]) -> Curves:
    lines = {name: tuple(values) for name, values in entry.pop("lines").items()}
    for name in ("scores", "quantiles"):
        entry[name] = tuple(entry[name])
    crossed = tuple(tuple(pair) for pair in entry.pop("crossed"))
    return Curves(**entry, lines=lines, crossed=crossed)


def _read_widths(entry: dict[str, Any]) -> WidthStudy:
    whole: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in entry.items()
    }
    return WidthStudy(**whole)


READERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "machines": lambda entry: SvmRun(**entry),
    "timings": lambda entry: Timing(**entry),
    "classes": lambda entry: ManyClasses(**entry),
    "curves": _read_curves,
    "validity": _read_validity,
    "tiny": lambda entry: TinySet(**entry),
    "widths": _read_widths,
    "tuned": lambda entry: TuningStudy(**entry),
    "tuned_validity": _read_validity,
}
Call = tuple[str, list[Any], "Callable[[], Sequence[Any]]"]


def run(
    scope: Scope,
    folder: str | os.PathLike[str],
    *,
    journal: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    progress: Callable[[str], None] | None = None,
) -> Studies:
    """Do the studies that the journal does not have, by scikit-learn's algorithms.

    What another version of scikit-learn has done is done again. Several jobs share the
    draws of validity; timings are taken alone.
    """
    done = dict(read_entries(journal, _study, "a study"))
    engine = SklearnEngine()
    calls = list(_calls(scope, folder, jobs, engine))
    found: dict[str, tuple[Any, ...]] = {}
    for number, (name, settings, work) in enumerate(calls, start=1):
        key = json.dumps([name, settings, engine.name])
        if key not in done:
            start = perf_counter()
            done[key] = tuple(work())
            add_entry(journal, _line(key, done[key]))
            if progress is not None:
                seconds = perf_counter() - start
                progress(f"study {number} of {len(calls)}: {name}: {seconds:.1f} s")
        found[name] = done[key]
    return Studies(**found)


def _calls(
    scope: Scope, folder: str | os.PathLike[str], jobs: int, engine: SklearnEngine
) -> Iterator[Call]:
    """List the studies of a scope: their names, settings and what does them."""
    load = partial(tasks.load, folder=folder)
    pool = scope.drawn_from
    works: dict[str, tuple[list[Any], Callable[[], Sequence[Any]]]] = {
        "curves": (
            [list(entry) for entry in scope.pictured],
            lambda: [
                calibration_curves.draw(load(task), algorithm, engine)
                for task, algorithm in scope.pictured
            ],
        ),
        "machines": (
            list(scope.machines),
            lambda: artificial_data.svm_runs(scope.machines),
        ),
        "timings": (
            list(scope.timings),
            lambda: artificial_data.timings(scope.timings),
        ),
        "classes": (
            list(scope.classes),
            lambda: [
                found
                for name in scope.classes
                for found in many_classes.run(many_classes.load(name, folder))
            ],
        ),
        "validity": (
            [pool, list(scope.sizes), scope.draws] if pool else [],
            lambda: validity.check_all(
                validity.unseen(load(pool), DRAWN_BY, engine),
                sizes=scope.sizes,
                draws=scope.draws,
                jobs=jobs,
            ),
        ),
        "tiny": (
            list(scope.tiny),
            lambda: [
                found
                for name in scope.tiny
                for found in tiny_sets.run(name, folder, engine)
            ],
        ),
        "widths": (
            [list(entry) for entry in scope.widths],
            lambda: [
                width_of_bounds.study(load(task), algorithm, engine)
                for task, algorithm in scope.widths
            ],
        ),
        "tuned": (
            [list(entry) for entry in scope.tuned],
            lambda: [
                found
                for task, algorithm in scope.tuned
                for found in tuning.study(load(task), algorithm, engine)
            ],
        ),
        "tuned_validity": (
            [list(scope.tuned[0]), list(scope.sizes), scope.draws]
            if scope.tuned
            else [],
            lambda: [
                tuning.validity(
                    load(scope.tuned[0][0]),
                    scope.tuned[0][1],
                    engine,
                    k=k,
                    draws=scope.draws // TUNED_SHARE,
                )
                for k in scope.sizes
            ],
        ),
    }
    for name, (settings, work) in works.items():
        if settings:
            yield name, settings, work


def _study(line: str) -> tuple[str, tuple[Any, ...]]:
    raw = json.loads(line)
    name = json.loads(raw["study"])[0]
    return raw["study"], tuple(READERS[name](entry) for entry in raw["found"])


def _line(key: str, found: tuple[Any, ...]) -> str:
    return json.dumps({"study": key, "found": [asdict(entry) for entry in found]})
