"""Run: the units of a plan, several at a time, each kept as soon as it is done."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed

from abers import losses
from abers.formatting import as_json
from abers.paper import tasks
from abers.paper.journal import add_entry, read_entries
from abers.paper.protocol import predict_all_methods
from abers.paper.sklearn_engine import ALGORITHMS, SklearnEngine
from abers.paper.tasks import RATIOS, SIX, WIDE_RATIOS

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from abers.paper.protocol import MethodPrediction
    from abers.paper.sklearn_engine import Engine
    from abers.paper.tasks import Task
    from abers.validation import IntArray


# Records: one line for each number of the experiments, to file and back.


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit of work: the trainings that all methods share."""

    data: str
    algorithm: str
    ratio: str


@dataclass(frozen=True, slots=True)
class Result:
    """How a method did on a task; losses in the paper's scales, infinities kept."""

    engine: str
    data: str
    algorithm: str
    ratio: str
    method: str
    merging: str
    log_loss: float  # bits
    brier_loss: float  # times 4
    n_infinite: int  # test rows of infinite log loss
    setting: str  # chosen from the grid
    width_mean: float | None  # of the bounds
    width_median: float | None
    width_largest: float | None
    deficiency: float | None  # mean over test rows
    # share of test rows; None in journals that were written before it was counted
    deficiency_negative: float | None = field(default=None, kw_only=True)
    seconds: float  # to calibrate and predict
    reason: str  # why there is no loss, if it is nan


@dataclass(frozen=True, slots=True)
class Finished:
    """A unit of work that is done."""

    engine: str
    unit: Unit
    grid: tuple[str, ...]
    seconds: float
    results: tuple[Result, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """What must agree for the work not to be done again."""
        return self.engine, self.unit, self.grid


def to_line(finished: Finished) -> str:
    """Write a finished unit as one line of JSON."""
    return json.dumps(as_json(finished), allow_nan=False)


def from_line(line: str) -> Finished:
    """Read what `to_line` has written."""
    raw = json.loads(line)
    return Finished(
        raw["engine"],
        Unit(**raw["unit"]),
        tuple(raw["grid"]),
        float(raw["seconds"]),
        tuple(_result(entry) for entry in raw["results"]),
    )


def _result(entry: dict[str, Any]) -> Result:
    for name in ("log_loss", "brier_loss"):
        loss = entry[name]  # None: no prediction
        entry[name] = math.nan if loss is None else float(loss)
    return Result(**entry)


# Plans: which units of work a run consists of.

TABLES = "adult-5000"  # the task of Tables 1 and 2
TABLES_RATIO = "4:1"
WIDE = "adult-permuted"
SEVEN = (*SIX, "bank-permuted")  # bank is in order of time: both orders are run
SLOW = "neural network"


@dataclass(frozen=True, slots=True)
class Plan:
    """A run: its name, and what it consists of, quickest results first."""

    name: str
    units: tuple[Unit, ...]
    usual: tuple[str, ...] = tuple(ALGORITHMS)  # run if no algorithms are named

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that it needs, each once."""
        return tuple(dict.fromkeys(unit.data for unit in self.units))

    def only(self, algorithms: tuple[str, ...]) -> Plan:
        """Return the part of the plan that concerns some algorithms."""
        units = tuple(unit for unit in self.units if unit.algorithm in algorithms)
        return Plan(self.name, units, self.usual)


def _units(
    tasks: tuple[str, ...], algorithms: tuple[str, ...], ratios: tuple[str, ...]
) -> tuple[Unit, ...]:
    return tuple(Unit(*names) for names in product(tasks, algorithms, ratios))


EVERY = tuple(ALGORITHMS)
FAST = tuple(name for name in EVERY if name != SLOW)
MINIATURE = Plan(
    "miniature",
    _units(("german", "spambase"), ("logistic", "naive Bayes"), RATIOS),
)
TABLES_ONLY = Plan("tables", _units((TABLES,), EVERY, (TABLES_RATIO,)), FAST)
QUICK = Plan(
    "quick",
    TABLES_ONLY.units
    + _units(SEVEN, EVERY, ("1:1", "4:1", "all"))
    + _units((WIDE,), ("logistic", "naive Bayes"), ("1:9", "1:4", "1:1", "4:1", "9:1")),
    FAST,
)
FULL = Plan(
    "full",
    TABLES_ONLY.units
    + _units(SEVEN, EVERY, RATIOS)
    + _units((WIDE,), EVERY, WIDE_RATIOS),
)
PLANS = {plan.name: plan for plan in (MINIATURE, TABLES_ONLY, QUICK, FULL)}


# The run: units of a plan that are not done yet, and the journal of those that are.


def run_unit(task: Task, unit: Unit, engine: Engine) -> Finished:
    """Do one unit of work: predict, and measure what was predicted."""
    start = perf_counter()
    outcome = predict_all_methods(task, unit.algorithm, unit.ratio, engine)
    results = tuple(
        _measured(prediction, outcome.labels, unit, engine.name, setting)
        for prediction, setting in zip(
            outcome.predictions, outcome.settings, strict=True
        )
    )
    grid = engine.settings(unit.algorithm)
    return Finished(engine.name, unit, grid, perf_counter() - start, results)


def _measured(
    prediction: MethodPrediction,
    labels: IntArray,
    unit: Unit,
    engine: str,
    setting: str,
) -> Result:
    p = prediction.probabilities
    widths = None if prediction.bounds is None else np.ptp(prediction.bounds, axis=1)
    return Result(
        engine=engine,
        data=unit.data,
        algorithm=unit.algorithm,
        ratio=unit.ratio,
        method=prediction.method,
        merging=prediction.merging,
        log_loss=np.nan if p is None else losses.mean_log_loss(labels, p),
        brier_loss=np.nan if p is None else losses.mean_brier_loss(labels, p),
        n_infinite=0 if p is None else int((p == 1 - labels).sum()),
        setting=setting,
        width_mean=None if widths is None else float(widths.mean()),
        width_median=None if widths is None else float(np.median(widths)),
        width_largest=None if widths is None else float(widths.max()),
        deficiency=prediction.deficiency,
        deficiency_negative=prediction.deficiency_negative,
        seconds=prediction.seconds,
        reason=prediction.reason,
    )


def run_plan(
    plan: Plan,
    folder: str | os.PathLike[str],
    *,
    journal: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    engine: Engine | None = None,
    progress: Callable[[Finished, int, int], None] | None = None,
) -> list[Finished]:
    """Do the units of a plan that the journal does not have yet; return all of them.

    Each unit is added to the journal as it finishes. With several jobs each unit has
    its own process and one thread.
    """
    engine = engine or SklearnEngine()
    wanted = {(engine.name, u, engine.settings(u.algorithm)): u for u in plan.units}
    done = {f.key: f for f in read_journal(journal) if f.key in wanted}
    left = [unit for key, unit in wanted.items() if key not in done]
    for finished in _work(left, folder, jobs, engine):
        done[finished.key] = finished
        add_entry(journal, to_line(finished))
        if progress is not None:
            progress(finished, len(done), len(wanted))
    return [done[key] for key in wanted]


def read_journal(journal: str | os.PathLike[str] | None) -> list[Finished]:
    """Return the finished units that a file has; none if there is no such file."""
    return read_entries(journal, from_line, "a finished unit of work")


def _work(
    units: list[Unit], folder: str | os.PathLike[str], jobs: int, engine: Engine
) -> Iterator[Finished]:
    names = dict.fromkeys(unit.data for unit in units)
    loaded = {name: tasks.load(name, folder) for name in names}
    workers = Parallel(n_jobs=jobs, return_as="generator_unordered")
    calls = (delayed(run_unit)(loaded[unit.data], unit, engine) for unit in units)
    yield from workers(calls)
