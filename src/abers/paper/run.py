"""Run: the units of a plan, several at a time, each kept as soon as it is done."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import asdict, dataclass, field, fields
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, delayed

from abers import losses
from abers.formatting import as_json
from abers.paper import tasks
from abers.paper.calibration_methods import (
    Fold,
    Prediction,
    predict_crossed,
    predict_once,
)
from abers.paper.journal import add_entry, read_entries
from abers.paper.sklearn_engine import ALGORITHMS, SklearnEngine
from abers.paper.tasks import RATIOS, SIX, WIDE_RATIOS, split

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from abers.paper.sklearn_engine import Candidate, Engine
    from abers.paper.tasks import RowPair, Task
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


def write_csv(results: Iterable[Result], path: str | os.PathLike[str]) -> None:
    """Write results as a table, one row each, all digits.

    Parameters
    ----------
    results : iterable of Result
        In the order to write.
    path : path-like
        The file; an existing one is replaced.
    """
    names = [one.name for one in fields(Result)]
    with open(path, "w", newline="", encoding="utf-8") as file:  # noqa: PTH123
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(result) for result in results)


def _result(entry: dict[str, Any]) -> Result:
    for name in ("log_loss", "brier_loss"):
        loss = entry[name]  # None: no answer
        entry[name] = math.nan if loss is None else float(loss)
    return Result(**entry)


# Plans: which units of work a run consists of.

TABLES = "adult-5000"  # the task of Tables 1 and 2
TABLES_RATIO = "4:1"
WIDE = "adult-permuted"
SEVEN = (*SIX, "bank-permuted")  # bank is in order of time: both ways are shown
SLOW = "neural network"


@dataclass(frozen=True, slots=True)
class Plan:
    """A run: its name, and what it consists of, quickest answers first."""

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


# Protocol: train, tune, calibrate, predict, measure; one unit of work.


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Predictions of the test objects by all methods, and the settings chosen."""

    labels: IntArray  # of the test objects
    predictions: tuple[Prediction, ...]
    settings: tuple[str, ...]  # of each prediction


def predict_all_methods(
    task: Task, algorithm: str, ratio: str, engine: Engine
) -> Outcome:
    """Run all methods on one task, one algorithm and one ratio.

    Parameters
    ----------
    task : Task
        Training and test rows.
    algorithm : str
        Name of an underlying algorithm.
    ratio : str
        Of proper training to calibration rows, or "all".
    engine : Engine
        Runs the algorithm.

    Returns
    -------
    Outcome
        Methods that split once use the setting whose raw scores have the smallest
        Brier loss on their calibration rows; crossed methods the one setting with the
        smallest sum over the folds.
    """
    labels = task.table.labels
    rows = split(ratio, task.n_train)
    candidates = engine.score(task.table, algorithm, rows.pairs, task.test)
    once = _best(candidates, rows.pairs, [rows.single], labels)
    folds = _folds(once, rows.pairs, labels)
    predictions = predict_once(folds[rows.single])
    settings = [once.setting] * len(predictions)
    if rows.is_crossed:
        crossed = _best(candidates, rows.pairs, range(len(rows.pairs)), labels)
        predictions += predict_crossed(_folds(crossed, rows.pairs, labels))
        settings += [crossed.setting] * (len(predictions) - len(settings))
    return Outcome(labels[task.test], tuple(predictions), tuple(settings))


def run_unit(task: Task, unit: Unit, engine: Engine) -> Finished:
    """Do one unit of work: predict, and measure what was predicted.

    Parameters
    ----------
    task : Task
        The one that the unit names.
    unit : Unit
        Names of task, algorithm and ratio.
    engine : Engine
        Runs the algorithm.

    Returns
    -------
    Finished
        One result for each method.
    """
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


def _best(
    candidates: Sequence[Candidate],
    pairs: Sequence[RowPair],
    counted: Sequence[int],
    labels: IntArray,
) -> Candidate:
    """Return the candidate of smallest Brier loss, summed over the counted pairs."""

    def loss(candidate: Candidate) -> float:
        return sum(
            losses.mean_brier_loss(
                labels[pairs[i].calibrate], candidate.pairs[i].calibration.probability
            )
            * pairs[i].calibrate.size
            for i in counted
        )

    return min(candidates, key=loss)


def _folds(
    candidate: Candidate, pairs: Sequence[RowPair], labels: IntArray
) -> list[Fold]:
    return [
        Fold(scores.calibration, labels[pair.calibrate], scores.test)
        for scores, pair in zip(candidate.pairs, pairs, strict=True)
    ]


def _measured(
    prediction: Prediction, labels: IntArray, unit: Unit, engine: str, setting: str
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


# The run: units of a plan that are not done yet, and the journal of those that are.


def run_plan(
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
    return read_entries(journal, from_line, "a finished unit of work")


def _work(
    units: list[Unit], folder: str | os.PathLike[str], jobs: int, engine: Engine
) -> Iterator[Finished]:
    names = dict.fromkeys(unit.data for unit in units)
    loaded = {name: tasks.load(name, folder) for name in names}
    workers = Parallel(n_jobs=jobs, return_as="generator_unordered")
    calls = (delayed(run_unit)(loaded[unit.data], unit, engine) for unit in units)
    yield from workers(calls)
