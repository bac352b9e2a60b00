"""Reproduction: from a plan and a folder of data to findings, and to their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abers.errors import InvalidParameter
from abers.paper import outputs, plans, runs, studies
from abers.paper.algorithms import ALGORITHMS
from abers.paper.data import READERS, verify
from abers.paper.findings import Findings
from abers.paper.plans import Plan
from abers.paper.standins import StandIns
from abers.paper.tasks import RECIPES
from abers.paper.weka import Weka
from abers.paper.weka.classifiers import COMMANDS

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from abers.paper.records import Finished
    from abers.paper.standins import Engine


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
    progress: Callable[[str, int, int], None] | None = None,
) -> Findings:
    """Run a plan, judge the paper's claims, write tables, figures and the page.

    Parameters
    ----------
    data : path-like
        Holds a folder for each data set.
    output : path-like
        The folder to write to. What an earlier run has finished there is not done
        again.
    plan : {"quick", "full", "miniature", "tables"}, default="quick"
        How much to do.
    sets : sequence of str, default=()
        Data sets to take; all of the plan if empty.
    algorithms : sequence of str, default=()
        Underlying algorithms to take; all of the plan if empty.
    jobs : int, default=1
        Units of work at a time.
    weka : str, default=None
        The jar of Weka, whose algorithms then take the place of scikit-learn's.
    force : bool, default=False
        Forget what an earlier run has done, and take any folder; only when all that
        the run needs is there.
    progress : callable, default=None
        Called with what is being done, how many units are done, and of how many.

    Returns
    -------
    Findings
        All that was found.
    """
    engine: Engine = StandIns() if weka is None else Weka(weka)
    chosen = choose(plan, sets, algorithms, engine)
    scope = studies.SCOPES[plan].within(sets or READERS)
    # All that the run needs is looked at before anything is written or forgotten.
    if isinstance(engine, Weka):
        engine.check()
    verify(dict.fromkeys([*_sets(chosen), *scope.sets]), data)
    folder = outputs.prepare(output, force=force)
    finished = runs.run(
        chosen,
        data,
        journal=folder / outputs.JOURNAL,
        jobs=jobs,
        engine=engine,
        progress=None if progress is None else _of_units(progress),
    )
    beside = studies.run(
        scope,
        data,
        journal=folder / outputs.STUDIES,
        jobs=jobs,
        progress=progress,
    )
    found = Findings(plan, engine.name, tuple(finished), beside)
    if progress is not None:
        progress("figures and page", 0, 1)
    outputs.write(found, folder)
    return found


def choose(
    plan: str, sets: Sequence[str], algorithms: Sequence[str], engine: Engine
) -> Plan:
    """Return the part of a plan that concerns some sets and algorithms.

    Parameters
    ----------
    plan : str
        One of `abers.paper.plans.PLANS`.
    sets, algorithms : sequence of str
        Names; empty for all sets, and for the algorithms that the plan usually has.
    engine : Engine
        Weka has no boosting.

    Returns
    -------
    Plan
        With at least one unit.
    """
    _check("plan", [plan], plans.PLANS)
    _check("sets", sets, READERS)
    _check("algorithms", algorithms, ALGORITHMS)
    wanted = algorithms or plans.PLANS[plan].usual
    if isinstance(engine, Weka):
        wanted = [name for name in wanted if name in COMMANDS]
    units = tuple(
        unit
        for unit in plans.PLANS[plan].only(tuple(wanted)).units
        if not sets or RECIPES[unit.data].data in sets
    )
    if not units:
        msg = (
            f"the plan {plan!r} must have something to do; it has nothing of these "
            "sets and algorithms. Choose others, or --full."
        )
        raise InvalidParameter(msg)
    return Plan(plan, units, plans.PLANS[plan].usual)


def _sets(plan: Plan) -> list[str]:
    return [RECIPES[task].data for task in plan.tasks]


def _check(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            listed = ", ".join(known)
            msg = f"{what} must be among {listed}; got {name!r}."
            raise InvalidParameter(msg)


def _of_units(
    progress: Callable[[str, int, int], None],
) -> Callable[[Finished, int, int], None]:
    def done(finished: Finished, count: int, total: int) -> None:
        unit = finished.unit
        progress(f"{unit.data}, {unit.algorithm}, {unit.ratio}", count, total)

    return done
