"""Reproduction: from a plan and a folder of data to findings, and to their files."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from abers.errors import InvalidParameter
from experiments.paper import claims, output_folder, studies
from experiments.paper.data import READERS, verify
from experiments.paper.results import NONE, ResultIndex, table_cells
from experiments.paper.run import PLANS, TABLES, WIDE, Plan, run_plan
from experiments.paper.sklearn_engine import ALGORITHMS, OF_PAPER, SklearnEngine
from experiments.paper.tasks import ALL, RATIOS, RECIPES, SIX, WIDE_RATIOS
from experiments.paper.weka import COMMANDS, Weka

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from experiments.paper.claims import Claim
    from experiments.paper.results import Cell
    from experiments.paper.run import Finished, Result
    from experiments.paper.sklearn_engine import Engine
    from experiments.paper.studies import Studies


# Findings: all that a run has found, as it is presented.

ROOT = Path(__file__).parents[2]
SOURCES = ("experiments", "kernel", "src")  # what results depend on


@dataclass(frozen=True)
class Findings:
    """The finished units of a plan, and the other studies."""

    plan: str
    engine: str
    finished: tuple[Finished, ...]
    studies: Studies = NONE

    @cached_property
    def results(self) -> list[Result]:
        """All results, in the order of the plan."""
        return [result for unit in self.finished for result in unit.results]

    @cached_property
    def index(self) -> ResultIndex:
        """The results, to be looked up."""
        return ResultIndex.of(self.finished, self.studies)

    @cached_property
    def cells(self) -> list[Cell]:
        """Tables 1 and 2 with our losses."""
        return table_cells(self.results)

    @cached_property
    def claims(self) -> list[Claim]:
        """All claims with their verdicts."""
        return claims.judge_all(self.index)

    @property
    def commit(self) -> str:
        """Which code has run: the commit, or the version outside of a repository."""
        return _commit()

    @property
    def seconds(self) -> float:
        """Seconds that the units took, one after the other."""
        return sum(unit.seconds for unit in self.finished)

    @property
    def left_out(self) -> list[str]:
        """What the paper has and this plan has not, in words."""
        index = self.index
        run, wide = index.algorithms(*index.tasks), index.ratios(WIDE)
        wanted: dict[str, tuple[Iterable[str], Iterable[str]]] = {
            "tasks": ((TABLES, *SIX, WIDE), index.tasks),
            "algorithms": (OF_PAPER, run),
            "ratios of the six data sets": (RATIOS, index.ratios(*SIX)),
            "ratios of the wide figure": (WIDE_RATIOS if wide else (), wide),
        }
        for name in run:  # what an algorithm lacks that others have
            lacking = [t for t in index.tasks if name not in index.algorithms(t)]
            wanted[f"{name} on"] = (lacking, ())
            for what, tasks in (("six data sets", SIX), ("wide figure", (WIDE,))):
                units = index.units(tasks, WIDE_RATIOS)
                ratios = {unit.ratio for unit in units if unit.algorithm == name}
                others = [ratio for ratio in index.ratios(*tasks) if ratio != ALL]
                if ratios:
                    wanted[f"{name}, ratios of the {what}"] = (others, ratios)
        found = []
        for what, (names, present) in wanted.items():
            missing = [name for name in names if name not in present]
            found += [f"{what}: {', '.join(missing)}"] if missing else []
        return found

    @property
    def unanswered(self) -> list[str]:
        """Which methods have no prediction, where and why, in words."""
        places: dict[tuple[str, str], dict[str, None]] = {}
        for result in self.results:
            if result.reason:
                place = f"{result.data}, {result.algorithm}, {result.ratio}"
                places.setdefault((result.method, result.reason), {})[place] = None
        return [
            f"no prediction by {method} ({'; '.join(where)}): {reason}"
            for (method, reason), where in places.items()
        ]

    @property
    def recipes(self) -> list[tuple[str, str]]:
        """How each task of the run was made."""
        return [(task, RECIPES[task].how) for task in self.index.tasks]


# Reproduction: all of it, from the names on a command line to files.


def reproduce(
    data: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    plan: str = "quick",
    sets: Sequence[str] = (),
    algorithms: Sequence[str] = (),
    jobs: int = 1,
    weka: str | None = None,
    force: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Findings:
    """Run a plan, check the paper's claims, write tables, figures and the page.

    Empty `sets` and `algorithms` stand for all those of the plan. What an earlier run
    has finished in the folder is not done again, unless `force` discards it. With the
    jar of Weka its algorithms take the place of scikit-learn's. `progress` is called
    with a line for each piece of work that is done.
    """
    engine: Engine = SklearnEngine() if weka is None else Weka(weka)
    chosen = choose(plan, sets, algorithms, engine)
    scope = studies.SCOPES[plan].within(sets or READERS)
    # All that the run needs is looked at before anything is written or forgotten.
    if isinstance(engine, Weka):
        engine.check()
    verify(dict.fromkeys([*_sets(chosen), *scope.sets]), data)
    folder = output_folder.prepare(output, force=force)
    finished = run_plan(
        chosen,
        data,
        journal=folder / output_folder.JOURNAL,
        jobs=jobs,
        engine=engine,
        progress=None if progress is None else _of_units(progress),
    )
    others = studies.run(
        scope,
        data,
        journal=folder / output_folder.STUDIES,
        jobs=jobs,
        progress=progress,
    )
    found = Findings(plan, engine.name, tuple(finished), others)
    output_folder.write(found, folder)
    return found


def choose(
    plan: str, sets: Sequence[str], algorithms: Sequence[str], engine: Engine
) -> Plan:
    """Return the part of a plan that concerns some sets and algorithms."""
    _check("plan", [plan], PLANS)
    _check("sets", sets, READERS)
    _check("algorithms", algorithms, ALGORITHMS)
    wanted = algorithms or tuple(ALGORITHMS)
    if isinstance(engine, Weka):
        wanted = [name for name in wanted if name in COMMANDS]
    units = tuple(
        unit
        for unit in PLANS[plan].only(tuple(wanted)).units
        if not sets or RECIPES[unit.data].data in sets
    )
    if not units:
        msg = (
            f"the plan {plan!r} must have something to do; it has no units with "
            "these sets and algorithms. Choose others, or --plan full."
        )
        raise InvalidParameter(msg)
    return Plan(plan, units)


def _commit() -> str:
    """Return the commit of the sources, and whether they were changed since."""
    git = shutil.which("git")

    def output(*arguments: str) -> str | None:
        done = subprocess.run(  # noqa: S603 (fixed arguments)
            [git or "git", "-C", str(ROOT), *arguments],
            check=False,
            capture_output=True,
            text=True,
        )
        return None if done.returncode else done.stdout.strip()

    # A copy inside another repository is not that repository's code.
    if git is None or not output("ls-files", "--error-unmatch", __file__):
        return f"abers {version('abers')}, outside of its repository"
    changed = output("status", "--porcelain", "--", *SOURCES)
    return f"commit {output('rev-parse', 'HEAD')}{', changed since' if changed else ''}"


def _sets(plan: Plan) -> list[str]:
    return [RECIPES[task].data for task in plan.tasks]


def _check(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            listed = ", ".join(known)
            msg = f"{what} must be among {listed}; got {name!r}."
            raise InvalidParameter(msg)


def _of_units(
    progress: Callable[[str], None],
) -> Callable[[Finished, int, int], None]:
    def done(finished: Finished, count: int, total: int) -> None:
        unit, seconds = finished.unit, finished.seconds
        name = f"{unit.data}, {unit.algorithm}, {unit.ratio}"
        progress(f"unit {count} of {total}: {name}: {seconds:.1f} s")

    return done
