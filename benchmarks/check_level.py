"""The study of false alarms: run it, `--write` puts its tables into CHECK_LEVEL.md.

Written down before the first full run: worlds, sizes, changes and the number of runs.
A *level* cell draws calibration rows and recent rows from one world, a *power* cell
recent rows from a changed one. The share of runs that find a change is held against
alpha plus three standard errors, and against what a normal approximation allows.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, ndtr, ndtri

import abers
from abers.core.cells import cell_cuts, cells_of_rows
from abers.evaluation import change, metrics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Curve = Callable[[Floats], Floats]
    Draw = Callable[[np.random.Generator, int], Floats]

PAGE = Path(__file__).parent / "CHECK_LEVEL.md"
MARK = "<!-- measured -->"
RUNS = 500
ERROR_RUNS = 50  # of them, to compare calibration errors
ALPHAS = (0.01, 0.05)
SEED = 2_026
SIZES = (
    (500, 500),
    (2_000, 500),
    (20_000, 500),
    (500, 5_000),
    (2_000, 5_000),
    (20_000, 5_000),
    (500, 50_000),
    (300, 5_000),
)


@dataclass(frozen=True)
class World:
    """Scores, P(label | score), and weights."""

    name: str
    draw: Draw
    curve: Curve
    recent_draw: Draw | None = None  # where the scores have drifted
    weighted: bool = False


class Rows(NamedTuple):
    """What a check is given: scores, labels, weights."""

    scores: Floats
    labels: NDArray[np.bool_]
    weights: Floats | None


@dataclass(frozen=True)
class Cell:
    """A world, how many rows it gives, and what has become of its curve."""

    world: World
    n: int
    m: int
    what: str = "nothing"
    changed: Curve | None = None
    place: int = field(default=0, compare=False)


SMOOTH = World("smooth", lambda rng, size: rng.random(size), lambda s: s**2)
RARE = World("rare", lambda rng, size: rng.beta(0.5, 24.5, size), lambda s: s)
SHARP = World("sharp", lambda rng, size: rng.normal(size=size), lambda s: expit(4 * s))
# Worlds that had no part in choosing the tests.
TIED = World(
    "20 scores",
    lambda rng, size: rng.integers(0, 20, size) / 20,
    lambda s: 0.05 + 0.8 * s**1.5,
)
WEIGHTED = World(
    "weighted",
    lambda rng, size: rng.normal(size=size),
    lambda s: expit(1.2 * s - 1),
    weighted=True,
)
STEPS = World(
    "steps",
    lambda rng, size: rng.beta(2, 2, size),
    lambda s: np.array([0.05, 0.15, 0.5, 0.7])[np.minimum((4 * s).astype(int), 3)],
)
TAIL = World(
    "rare margins",
    lambda rng, size: rng.normal(size=size),
    lambda s: expit(1.2 * s - 4.5),
)
DRIFTED = World(
    "scores drifted", SMOOTH.draw, SMOOTH.curve, lambda r, k: r.random(k) ** 2
)


def level_cells() -> list[Cell]:
    """List the cells in which nothing has changed."""
    known = [Cell(w, n, m) for w in (SMOOTH, RARE, SHARP) for n, m in SIZES]
    few = ((500, 500), (500, 5_000), (2_000, 5_000))
    fresh = (TIED, WEIGHTED, STEPS, TAIL, DRIFTED)
    return [*known, *(Cell(w, n, m) for w in fresh for n, m in few)]


def times(world: World, factor: float) -> Curve:
    """Make all probabilities smaller."""
    return lambda s: factor * world.curve(s)


def raised(world: World, low: float, high: float, by: float) -> Curve:
    """Raise the probabilities of some scores."""
    return lambda s: world.curve(s) + np.where((s >= low) & (s < high), by, 0.0)


def power_cells() -> list[Cell]:
    """List the cells in which something has changed."""
    return [
        Cell(SMOOTH, 2_000, 500, "times .8", times(SMOOTH, 0.8)),
        Cell(SMOOTH, 2_000, 5_000, "times .9", times(SMOOTH, 0.9)),
        Cell(SHARP, 2_000, 5_000, "slope 4 to 3", lambda s: expit(3 * s)),
        Cell(
            SMOOTH,
            2_000,
            5_000,
            "+.15 for 15 % of scores",
            raised(SMOOTH, 0.4, 0.55, 0.15),
        ),
        Cell(SMOOTH, 500, 5_000, "times .8", times(SMOOTH, 0.8)),
        Cell(RARE, 2_000, 5_000, "times .8", times(RARE, 0.8)),
        Cell(RARE, 500, 5_000, "times .6", times(RARE, 0.6)),
        Cell(TIED, 2_000, 500, "times .8", times(TIED, 0.8)),
        Cell(TIED, 2_000, 5_000, "+.15 for 3 scores", raised(TIED, 0.4, 0.55, 0.15)),
        Cell(WEIGHTED, 2_000, 5_000, "times .8", times(WEIGHTED, 0.8)),
        Cell(WEIGHTED, 2_000, 5_000, "slope to 1.6", lambda s: expit(1.6 * s - 1)),
        Cell(STEPS, 2_000, 5_000, "times .9", times(STEPS, 0.9)),
        Cell(STEPS, 500, 5_000, "times .8", times(STEPS, 0.8)),
        Cell(TAIL, 20_000, 5_000, "times .7", times(TAIL, 0.7)),
    ]


def p_value(calibration: Rows, recent: Rows) -> float:
    """Return the smallest p-value of `abers.check`: it fails at this level."""
    rule = abers.fit_rule(
        calibration.scores, calibration.labels, sample_weight=calibration.weights
    )
    found = abers.check(
        rule, recent.scores, recent.labels, sample_weight=recent.weights, alpha=0.05
    )
    return min(test.value for test in found.findings if test.name in change.TESTS)


def samples(calibration: Rows, recent: Rows) -> change.Samples:
    """Count both in the cells of the rule."""
    s, y, w = calibration
    rule = abers.fit_rule(s, y, sample_weight=w)
    cuts = cell_cuts(rule.score_quantiles)
    counted = (
        cells_of_rows(cuts, rows.scores, rows.labels, rows.weights)
        for rows in (calibration, recent)
    )
    return change.Samples(cuts, *counted)


def rows(cell: Cell, run: int) -> tuple[Rows, Rows]:
    """Draw calibration rows and recent ones."""
    rng = np.random.default_rng([SEED, cell.place, run])
    world = cell.world
    then = world.draw(rng, cell.n)
    now = (world.recent_draw or world.draw)(rng, cell.m)
    curves = world.curve, cell.changed or world.curve
    drawn = []
    for s, curve in zip((then, now), curves, strict=True):
        y = rng.random(s.size) < curve(s)
        w = rng.exponential(size=s.size) + 0.1 if world.weighted else None
        drawn.append(Rows(s, y, w))
    return drawn[0], drawn[1]


def shares(cell: Cell, runs: int) -> tuple[float, ...]:
    """Return how often a change is found, for each alpha."""
    p = np.array([p_value(*rows(cell, run)) for run in range(runs)])
    return tuple(float((p <= alpha).mean()) for alpha in ALPHAS)


def errors(cell: Cell, runs: int) -> tuple[float, float]:
    """Return the median calibration error, and that of what was to be expected."""
    found = []
    for run in range(runs):
        calibration, recent = rows(cell, run)
        s, y, w = calibration
        p = abers.fit_rule(s, y, sample_weight=w).probability(recent.scores)
        error = metrics.expected_calibration_error(
            recent.labels, p, sample_weight=recent.weights
        )
        found.append((error, change.error_if_unchanged([samples(calibration, recent)])))
    came, expected = np.median(found, axis=0).tolist()
    return came, expected


def allowed(alpha: float, runs: int) -> float:
    """Return what a right level exceeds about once in a thousand cells."""
    return alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)


def formula(cell: Cell, alpha: float) -> tuple[float, float]:
    """Return the power of two tests by the normal approximation.

    The test of the mean label, and the one that knows in which direction each
    probability has changed; no honest test of both sides has more than the latter.
    """
    rng = np.random.default_rng(SEED)
    s = cell.world.draw(rng, 400_000)
    p, q = cell.world.curve(s), (cell.changed or cell.world.curve)(s)
    pooled = (cell.n * p + cell.m * q) / (cell.n + cell.m)
    noise = pooled * (1 - pooled)
    size = cell.n * cell.m / (cell.n + cell.m)
    if cell.world.weighted:  # 1 + 1 / 10 on average, its square 1 + 1.1²
        size *= 1.1**2 / (1 + 1.1**2)
    gap = q - p
    mean = abs(gap.mean()) * math.sqrt(size / noise.mean())
    best = math.sqrt(size * (gap**2 / noise).mean())
    limit = ndtri(1 - alpha / 2)
    return tuple(float(ndtr(z - limit) + ndtr(-z - limit)) for z in (mean, best))


def numbered(cells: list[Cell], first: int) -> list[Cell]:
    """Give each cell random numbers of its own."""
    return [
        Cell(c.world, c.n, c.m, c.what, c.changed, place)
        for place, c in enumerate(cells, start=first)
    ]


def page(runs: int) -> Iterator[str]:
    """Write the tables, line by line."""
    start = time.perf_counter()
    yield f"Measured with abers {abers.__version__}, {runs} runs a cell."
    limits = ", ".join(f"{allowed(alpha, runs):.3f} at {alpha}" for alpha in ALPHAS)
    yield f"\n### False alarms\n\nAllowed, alpha + 3 standard errors: {limits}.\n"
    yield "| world | calibration / recent | at .01 | at .05 | median ECE | expected |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for cell in numbered(level_cells(), 0):
        found = shares(cell, runs)
        marks = (
            f"{share:.3f}" + " **above**" * (share > allowed(alpha, runs))
            for share, alpha in zip(found, ALPHAS, strict=True)
        )
        both = (f"{error:.4f}" for error in errors(cell, min(runs, ERROR_RUNS)))
        sizes = f"{cell.n:,} / {cell.m:,}"
        yield "| " + " | ".join((cell.world.name, sizes, *marks, *both)) + " |"
    yield "\n### Power\n\nBeside it that of the mean and of the best direction.\n"
    yield (
        "| world | calibration / recent | change | at .01 | mean | best "
        "| at .05 | mean | best |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for cell in numbered(power_cells(), 1_000):
        columns = [cell.world.name, f"{cell.n:,} / {cell.m:,}", cell.what]
        for share, alpha in zip(shares(cell, runs), ALPHAS, strict=True):
            columns += (f"{x:.2f}" for x in (share, *formula(cell, alpha)))
        yield "| " + " | ".join(columns) + " |"
    yield f"\n{(time.perf_counter() - start) / 60:.0f} minutes of one core."


def main() -> None:
    """Read the options, run, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="a cell")
    parser.add_argument("--write", action="store_true", help="put it in the page")
    options = parser.parse_args()
    lines = []
    for line in page(options.runs):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        head = PAGE.read_text().split(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
