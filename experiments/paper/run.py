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
from abers.evaluation.calibration_tests import calibration_test_of
from abers.evaluation.counts import diagram_of
from abers.evaluation.reliability import decomposition_of
from abers.formatting import as_json
from experiments.paper import tasks
from experiments.paper.journal import add_entry, read_entries
from experiments.paper.protocol import (
    BRIER_THEN_LOG,
    LOG_THEN_BRIER,
    ONE_MODEL,
    POOLED,
    POOLED_K,
    predict_all_methods,
)
from experiments.paper.sklearn_engine import ALGORITHMS, SklearnEngine
from experiments.paper.tasks import (
    ALL,
    COMPLETE,
    HALVES,
    IN_FILE_ORDER,
    RATIOS,
    SIX,
    THIRDS,
    WIDE_RATIOS,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from abers.validation import FloatArray, IntArray
    from experiments.paper.protocol import MethodPrediction, Outcome
    from experiments.paper.sklearn_engine import Engine
    from experiments.paper.tasks import Task


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
    deficiency_negative: float | None = field(default=None, kw_only=True)  # share of
    # them with one below 0
    miscalibration: float | None = field(default=None, kw_only=True)  # part of the
    # Brier loss that isotonic regression of the test rows would take away
    miscalibration_p: float | None = field(default=None, kw_only=True)  # of a test
    training: float | None = field(default=None, kw_only=True)  # seconds of the unit
    seconds: float  # to calibrate and predict
    reason: str  # why there is no loss, if it is nan


@dataclass(frozen=True, slots=True)
class PairedError:
    """Standard errors of the difference of two methods' losses, over the test rows."""

    first: str
    second: str
    log_loss: float | None  # None where a loss is infinite
    brier_loss: float


@dataclass(frozen=True, slots=True)
class Finished:
    """A unit of work that is done."""

    engine: str
    unit: Unit
    grid: tuple[str, ...]
    seconds: float
    results: tuple[Result, ...]
    errors: tuple[PairedError, ...] = ()
    measures: int = 3  # which numbers of which rows; other ones are taken again

    @property
    def key(self) -> tuple[Any, ...]:
        """What must agree for the work not to be done again."""
        return self.engine, self.unit, self.grid, self.measures


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
        tuple(PairedError(**entry) for entry in raw.get("errors", ())),
        raw.get("measures", 1),
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


@dataclass(frozen=True, slots=True)
class Plan:
    """A run: its name, and what it consists of, quickest results first."""

    name: str
    units: tuple[Unit, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that it needs, each once."""
        return tuple(dict.fromkeys(unit.data for unit in self.units))

    def only(self, algorithms: tuple[str, ...]) -> Plan:
        """Return the part of the plan that concerns some algorithms."""
        units = tuple(unit for unit in self.units if unit.algorithm in algorithms)
        return Plan(self.name, units)


def _units(
    tasks: tuple[str, ...], algorithms: tuple[str, ...], ratios: tuple[str, ...]
) -> tuple[Unit, ...]:
    return tuple(Unit(*names) for names in product(tasks, algorithms, ratios))


EVERY = tuple(ALGORITHMS)
SMALL = ("covertype", "insurance", "spambase", "german")
SLOW = "neural network"  # has some of the wide figure's ratios only
SOME_RATIOS = ("1:9", "1:4", "1:1", "4:1", "9:1")
MINIATURE = Plan(
    "miniature",
    _units(("german", "spambase"), ("logistic", "naive Bayes"), RATIOS),
)
TABLES_ONLY = Plan("tables", _units((TABLES,), EVERY, (TABLES_RATIO,)))
SETS_ONLY = Plan("sets", _units(SIX, EVERY, ("1:1", TABLES_RATIO, ALL)))


def _parts(sets: tuple[str, ...]) -> tuple[Unit, ...]:
    """Return the units of three equal parts, and of two, for some sets."""
    thirds, halves = (
        tuple(task for task in tasks if task.rpartition("-")[0] in sets)
        for tasks in (THIRDS, HALVES)
    )
    return _units(thirds, EVERY, ("1:1",)) + _units(halves, EVERY, (TABLES_RATIO,))


QUICK = Plan(
    "quick",
    TABLES_ONLY.units
    + SETS_ONLY.units
    + _units((WIDE,), ("logistic", "naive Bayes"), SOME_RATIOS)
    + _units(IN_FILE_ORDER, EVERY, (TABLES_RATIO,))
    + _parts(SMALL),
)
FULL = Plan(
    "full",
    TABLES_ONLY.units
    + _units(SIX, EVERY, RATIOS)
    + _units((COMPLETE, *IN_FILE_ORDER), EVERY, (TABLES_RATIO,))
    + _parts(SIX)
    + _units((WIDE,), tuple(n for n in EVERY if n != SLOW), WIDE_RATIOS)
    + _units((WIDE,), (SLOW,), SOME_RATIOS),
)
PLANS = {plan.name: plan for plan in (MINIATURE, TABLES_ONLY, SETS_ONLY, QUICK, FULL)}


# The run: units of a plan that are not done yet, and the journal of those that are.


def run_unit(task: Task, unit: Unit, engine: Engine) -> Finished:
    """Do one unit of work: predict, and measure what was predicted."""
    start = perf_counter()
    outcome = predict_all_methods(task, unit.algorithm, unit.ratio, engine)
    results = tuple(
        _measured(outcome, place, unit, engine.name)
        for place in range(len(outcome.predictions))
    )
    errors = tuple(_paired_errors(outcome))
    grid = engine.settings(unit.algorithm)
    return Finished(engine.name, unit, grid, perf_counter() - start, results, errors)


def _measured(outcome: Outcome, place: int, unit: Unit, engine: str) -> Result:
    prediction, setting = outcome.predictions[place], outcome.settings[place]
    labels, p = outcome.labels, prediction.probabilities
    widths = None if prediction.bounds is None else np.ptp(prediction.bounds, axis=1)
    miscalibration, miscalibration_p = _calibration(prediction, labels)
    return Result(
        engine=engine,
        data=unit.data,
        algorithm=unit.algorithm,
        ratio=unit.ratio,
        method=prediction.method,
        merging=prediction.merging,
        log_loss=np.nan if p is None else losses.paper_log_loss(labels, p),
        brier_loss=np.nan if p is None else losses.paper_brier_loss(labels, p),
        n_infinite=0 if p is None else int((p == 1 - labels).sum()),
        setting=setting,
        width_mean=None if widths is None else float(widths.mean()),
        width_median=None if widths is None else float(np.median(widths)),
        width_largest=None if widths is None else float(widths.max()),
        deficiency=prediction.deficiency,
        deficiency_negative=prediction.deficiency_negative,
        miscalibration=miscalibration,
        miscalibration_p=miscalibration_p,
        training=outcome.training,
        seconds=prediction.seconds,
        reason=prediction.reason,
    )


def _calibration(
    prediction: MethodPrediction, labels: IntArray
) -> tuple[float | None, float | None]:
    """Return the miscalibration, on the paper's scale, and the p-value of its test."""
    if prediction.probabilities is None or prediction.merging == "brier":
        return None, None
    diagram = diagram_of(labels, prediction.probabilities)
    part = 4 * decomposition_of(diagram, loss="brier").miscalibration
    tested = prediction.method in TESTED
    return part, calibration_test_of(diagram).p_value if tested else None


# Methods whose calibration is tested, and pairs whose losses are compared row by row.
TESTED = ("underlying", "Platt", "isotonic", "IVAP", "CVAP", POOLED, ONE_MODEL)
PAIRS = (
    ("IVAP", "Platt"),
    ("IVAP", "isotonic"),
    ("IVAP", "Platt log-odds"),
    ("Platt", "isotonic"),
    ("cross Platt", "Platt"),
    ("cross isotonic", "isotonic"),
    *(("CVAP", name) for name in (
        "IVAP", "underlying", "Platt", "isotonic", "Platt log-odds",
        "cross isotonic dummies", "cross Platt log-odds", "cross isotonic",
        "cross underlying",
    )),
    *((name, "CVAP") for name in (
        POOLED, POOLED_K, LOG_THEN_BRIER, BRIER_THEN_LOG, ONE_MODEL,
    )),
)  # fmt: skip


def _paired_errors(outcome: Outcome) -> Iterator[PairedError]:
    """Compare pairs of methods row by row."""
    rows = {}
    for one in outcome.predictions:
        if one.probabilities is not None and one.merging != "brier":
            rows[one.method] = _row_losses(one.probabilities, outcome.labels)
    for first, second in PAIRS:
        if first in rows and second in rows:
            (log, brier), (other_log, other_brier) = rows[first], rows[second]
            finite = np.isfinite(log).all() and np.isfinite(other_log).all()
            yield PairedError(
                first,
                second,
                _standard_error(log - other_log) if finite else None,
                _standard_error(brier - other_brier),
            )


def _row_losses(p: FloatArray, labels: IntArray) -> tuple[FloatArray, FloatArray]:
    with np.errstate(divide="ignore"):
        log = -np.log2(np.where(labels == 1, p, 1 - p))
    return log, 4 * (labels - p) ** 2


def _standard_error(differences: FloatArray) -> float:
    return float(differences.std(ddof=1) / math.sqrt(differences.size))


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
    wanted = {
        Finished(engine.name, u, engine.settings(u.algorithm), 0.0, ()).key: u
        for u in plan.units
    }
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
