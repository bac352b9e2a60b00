"""The study of `estimate_performance`: how often its intervals cover, and their width.

A cell is a curve P(label = 1 | score), a number of calibration rows, a shift of the
scores and a rate of positives. In each run a rule is fitted, new rows come without
labels, and what their metrics turn out to be is compared with the intervals: of the
rule's own probabilities, and of a fixed model's that are overconfident. `--write` puts
the tables into PERFORMANCE.md.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

import abers
from abers.evaluation import auc, brier_loss, estimate_performance, log_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Curve = Callable[[Floats], Floats]

PAGE = Path(__file__).parent / "PERFORMANCE.md"
MARK = "<!-- measured -->"
METRICS = ("accuracy", "log_loss", "brier", "auc", "cost")
LEAST = 0.93  # coverage of a nominal 95 %
RUNS, QUICK = 300, 40
SEED = 2206
COSTS = {"cost_fp": 1.0, "cost_fn": 5.0}


class Cell(NamedTuple):
    """A world: how scores and labels come, before and after."""

    title: str
    curve: Curve
    rows: int
    shift: float
    new_rows: int


def logistic(rate: float) -> Curve:
    """Return a logistic curve with this rate of positives at calibration."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights /= weights.sum()
    intercept = brentq(lambda a: weights @ expit(a + nodes) - rate, -20, 20)
    return lambda s: expit(intercept + s)


def cells() -> Iterator[Cell]:
    """List the grid, and six others: other curves and rare events."""
    grid = itertools.product(
        (300, 2_000, 20_000), (0.0, 0.5, 1.0, 2.0), (0.5, 0.05), (2_000, 20_000)
    )
    for rows, shift, rate, new_rows in grid:
        yield Cell(f"logistic, rate {rate:g}", logistic(rate), rows, shift, new_rows)

    for title, curve, rows, shift in (
        ("step at 0, .15 / .7", lambda s: np.where(s < 0, 0.15, 0.7), 1_000, 0.7),
        ("flat .3", lambda s: np.full_like(s, 0.3), 1_000, 0.7),
        ("steep: logistic of 6 s", lambda s: expit(6 * s), 3_000, -1.0),
        ("three levels", lambda s: np.select([s < -1, s < 1], [0, 0.4], 1), 1_000, 0.5),
        ("rare, rate .005", logistic(0.005), 10_000, 0.7),
        ("rare, rate .002", logistic(0.002), 100_000, 1.0),
    ):
        yield Cell(title, curve, rows, shift, 5_000)


class Result(NamedTuple):
    """Coverage and mean half-width, for each metric."""

    covered: dict[str, float]
    half_width: dict[str, float]


def model_of(curve: Curve, scores: Floats) -> Floats:
    """Return the probabilities of an overconfident model."""
    p = np.clip(curve(scores), 1e-3, 1 - 1e-3)
    return expit(1.7 * np.log(p / (1 - p)))


def measured(cell: Cell, runs: int, seed: int, *, of_model: bool) -> Result:
    """Estimate and then look at the labels, many times."""
    rng = np.random.default_rng([SEED, seed])
    hits = dict.fromkeys(METRICS, 0)
    widths: dict[str, list[float]] = {metric: [] for metric in METRICS}
    seen = dict.fromkeys(METRICS, 0)
    for _ in range(runs):
        scores = rng.normal(size=cell.rows)
        labels = rng.random(cell.rows) < cell.curve(scores)
        rule = abers.fit_rule(scores, labels)
        new = rng.normal(cell.shift, 1, cell.new_rows)
        p = model_of(cell.curve, new) if of_model else rule.probability(new)
        y = (rng.random(new.size) < cell.curve(new)).astype(int)
        given = p if of_model else None
        found = estimate_performance(rule, new, probabilities=given, **COSTS)
        for metric, value in realised(y, p).items():
            if np.isnan(value):
                continue
            seen[metric] += 1
            _, lower, upper = found[metric]
            hits[metric] += lower <= value <= upper
            widths[metric].append((upper - lower) / 2)
    return Result(
        {metric: hits[metric] / seen[metric] for metric in METRICS},
        {metric: float(np.mean(widths[metric])) for metric in METRICS},
    )


def realised(y: NDArray[np.int64], p: Floats) -> dict[str, float]:
    """Return what the metrics turn out to be."""
    acts = p > COSTS["cost_fp"] / sum(COSTS.values())
    errors = COSTS["cost_fp"] * (acts & (y == 0)) + COSTS["cost_fn"] * (
        ~acts & (y == 1)
    )
    return {
        "accuracy": float(((p > 0.5) == y).mean()),
        "log_loss": log_loss(y, p),
        "brier": brier_loss(y, p),
        "auc": auc(p, y),
        "cost": float(errors.mean()),
    }


def page(runs: int) -> Iterator[str]:
    """Write the table, line by line."""
    names = " | ".join(METRICS)
    yield f"| curve | rows | new | shift | judged | {names} | accuracy ± | AUC ± | |"
    yield f"|---|--:|--:|--:|---|{'--:|' * len(METRICS)}--:|--:|---|"
    for seed, cell in enumerate(cells()):
        for of_model in (False, True):
            result = measured(cell, runs, seed, of_model=of_model)
            shown = " | ".join(f"{result.covered[metric]:.3f}" for metric in METRICS)
            widths = " | ".join(
                f"{result.half_width[metric]:.3f}" for metric in ("accuracy", "auc")
            )
            holds = min(result.covered.values()) >= LEAST
            yield (
                f"| {cell.title} | {cell.rows:,} | {cell.new_rows:,} | {cell.shift:g} "
                f"| {'model' if of_model else 'rule'} | {shown} | {widths} "
                f"| {'holds' if holds else 'fails'} |"
            )


def times() -> Iterator[str]:
    """Time a call, best of three."""
    yield "\n| new rows | one call, ms |"
    yield "|--:|--:|"
    rng = np.random.default_rng(0)
    scores = rng.normal(size=100_000)
    rule = abers.fit_rule(scores, rng.random(100_000) < expit(scores))
    for rows in (1_000, 100_000, 1_000_000):
        new, took = rng.normal(size=rows), []
        for _ in range(3):
            start = time.perf_counter()
            estimate_performance(rule, new)
            took.append(time.perf_counter() - start)
        yield f"| {rows:,} | {1e3 * min(took):.3g} |"


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put it into the page")
    parser.add_argument("--quick", action="store_true", help="few runs")
    options = parser.parse_args()
    lines = []
    for line in itertools.chain(page(QUICK if options.quick else RUNS), times()):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        lines.append(line)
    if options.write:
        head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
        text = head + MARK + "\n\n" + "\n".join(lines) + "\n"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
