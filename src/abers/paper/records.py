"""Records: one line for each number of the experiments, to file and back."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from abers.formatting import as_json

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


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
