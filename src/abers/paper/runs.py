"""Runs: the units of a plan, several at a time, each kept as soon as it is done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from joblib import Parallel, delayed

from abers.errors import InvalidFile
from abers.paper import protocol, tasks
from abers.paper.records import Finished, from_line, to_line
from abers.paper.standins import StandIns

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from abers.paper.plans import Plan
    from abers.paper.records import Unit
    from abers.paper.standins import Engine


def run(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    journal: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    engine: Engine | None = None,
    progress: Callable[[Finished, int, int], None] | None = None,
) -> list[Finished]:
    """Do the units of a plan that are not done yet.

    Parameters
    ----------
    plan : Plan
        What to do.
    folder : path-like
        Holds a folder for each data set.
    journal : path-like, default=None
        A file with one line for each finished unit; those that it has are not done
        again, and new ones are added as they finish. None keeps nothing.
    jobs : int, default=1
        Units at a time, each in its own process and with one thread.
    engine : Engine, default=None
        Runs the underlying algorithms; the installed scikit-learn if None.
    progress : callable, default=None
        Called with each unit that has just finished, how many are done, and of how
        many.

    Returns
    -------
    list of Finished
        All units of the plan, in its order.
    """
    engine = engine or StandIns()
    wanted = {(engine.name, u, engine.settings(u.algorithm)): u for u in plan.units}
    done = {f.key: f for f in read_journal(journal) if f.key in wanted}
    left = [unit for key, unit in wanted.items() if key not in done]
    for finished in _work(left, folder, jobs, engine):
        done[finished.key] = finished
        if journal is not None:
            with Path(journal).open("a", encoding="utf-8") as file:
                file.write(to_line(finished) + "\n")
        if progress is not None:
            progress(finished, len(done), len(wanted))
    return [done[key] for key in wanted]


def read_journal(journal: str | os.PathLike[str] | None) -> list[Finished]:
    """Return the finished units that a file has; none if there is no such file.

    Parameters
    ----------
    journal : path-like or None
        The file. A last line that was cut short, by a run that was stopped, is
        removed from it.

    Returns
    -------
    list of Finished
        In the order of the file.
    """
    if journal is None or not Path(journal).exists():
        return []
    path = Path(journal)
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    try:
        return [from_line(line) for line in whole.splitlines()]
    except (json.JSONDecodeError, KeyError, TypeError, ValueError) as damage:
        msg = (
            f"{path.name} must have a finished unit of work in each line; "
            f"{damage}. Remove the file to start anew."
        )
        raise InvalidFile(msg) from damage


def _work(
    units: list[Unit], folder: str | os.PathLike[str], jobs: int, engine: Engine
) -> Iterator[Finished]:
    names = dict.fromkeys(unit.data for unit in units)
    loaded = {name: tasks.load(name, folder) for name in names}
    workers = Parallel(n_jobs=jobs, return_as="generator_unordered")
    calls = (delayed(protocol.run)(loaded[unit.data], unit, engine) for unit in units)
    yield from workers(calls)
