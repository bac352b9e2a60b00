"""The study of false alarms: run it, `--write` puts its tables into CHECK_LEVEL.md.

What was fixed before the run, and what was not, stands in CHECK_LEVEL.md. A *level*
cell draws calibration rows and recent rows from one world, a *power* cell recent rows
from a changed one. The share of runs that find a change is compared with alpha plus
three standard errors, and against a test that was made for the change.
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri
from sklearn.linear_model import LogisticRegression

import abers
from abers.core.cells import Cells, cell_cuts, cells_of_rows
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
MOVED_RUNS = 200  # of very many rows
ALPHAS = (0.01, 0.05)
SEED = 1_117
TRAINED = 500  # rows for the model inside a classifier
WIDTH = 0.15  # of the scores that a change at some place concerns
FORMULA_RUNS = 20  # that say how many rows the cells compare
NEAR = 0.05  # by how much less power is called near
VERIFIED = 250  # one run of so many is done by `abers.check` itself, too
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
    model: bool = False  # whether a classifier is fitted, whose scores they are


class Run(NamedTuple):
    """What a check is given, with the scores and the rule that it comes down to."""

    predictor: abers.rules.Rule | abers.IVAPClassifier
    X: Floats
    labels: NDArray[np.bool_]
    weights: Floats | None
    rule: abers.rules.Rule
    scores: Floats

    @property
    def samples(self) -> change.Samples:
        """Calibration rows and recent ones, in the cells of the rule."""
        cells = self.rule.cells
        recent = cells_of_rows(cells.cuts, self.scores, self.labels, self.weights)
        return change.Samples(cells, recent)


@dataclass(frozen=True)
class Cell:
    """A world, how many rows it gives, and what has become of its curve."""

    world: World
    n: int
    m: int
    what: str = "nothing"
    changed: Curve | None = None
    kind: str = "mean"  # of the change: "mean", "slope" or "place"
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
MODEL = World(
    "classifier", TAIL.draw, lambda s: expit(1.5 * s + 0.5 * s**2 - 1), model=True
)
VOTES = World(
    "votes",
    lambda rng, size: rng.binomial(10, 0.4, size) / 10,
    lambda s: 0.1 + 0.6 * s**2,
    weighted=True,
)
LINE = World("line", lambda rng, size: rng.beta(1, 3, size), lambda s: 0.02 + 0.9 * s)


def moved(by: float) -> World:
    """Return a world whose recent scores lie higher, where few were calibrated."""
    name = f"normal scores, {by:g} higher"
    return World(
        name,
        TAIL.draw,
        lambda s: expit(s - 3),
        lambda rng, size: rng.normal(by, size=size),
    )


def moved_cells() -> list[Cell]:
    """List the cells of many rows, in which nothing or little has changed."""
    still, near, far = map(moved, (0.0, 1.0, 1.5))
    return [
        Cell(far, 10**5, 10**5),
        Cell(near, 10**6, 2 * 10**5),
        Cell(far, 10**6, 2 * 10**5),
        Cell(still, 10**5, 10**5, "times .96", times(still, 0.96)),
        Cell(near, 10**5, 10**5, "times .97", times(near, 0.97)),
    ]


def in_percents(run: Run) -> change.Samples:
    """Return the samples in the hundred percents of the calibration scores."""
    samples, cuts = run.samples, cell_cuts(run.rule.score_quantiles)
    starts = np.append(0, 1 + samples.calibration.cuts.searchsorted(cuts))
    both = (
        Cells(cuts, *(np.add.reduceat(x, starts) for x in cells[1:3]))
        for cells in samples[:2]
    )
    return change.Samples(*both)


def shares_in_cells(cell: Cell, runs: int) -> Iterator[str]:
    """Return how often the least level rejects, by cells and by percents; and ms."""
    most = change.most_draws(min(ALPHAS), 1)
    found, spent = np.zeros((2, runs)), 0.0
    for number in range(runs):
        run = drawn(cell, number)
        start = time.process_time()
        found[0, number] = change.change_of(run.samples, most_draws=most).p_value
        spent += time.process_time() - start
        found[1, number] = change.change_of(in_percents(run), most_draws=most).p_value
    for p in found:
        yield from (f"{(p <= alpha).mean():.3f}" for alpha in ALPHAS)
    yield f"{1_000 * spent / runs:.0f}"


def level_cells() -> list[Cell]:
    """List the cells in which nothing has changed."""
    known = [Cell(w, n, m) for w in (SMOOTH, RARE, SHARP) for n, m in SIZES]
    few = ((500, 500), (500, 5_000), (2_000, 5_000))
    fresh = (TIED, WEIGHTED, STEPS, TAIL, DRIFTED, MODEL, VOTES, LINE)
    return [*known, *(Cell(w, n, m) for w in fresh for n, m in few)]


def times(world: World, factor: float) -> Curve:
    """Make all probabilities smaller."""
    return lambda s: factor * world.curve(s)


def raised(world: World, low: float, high: float, by: float) -> Curve:
    """Raise the probabilities of some scores."""
    return lambda s: world.curve(s) + np.where((s >= low) & (s < high), by, 0.0)


def flatter(world: World, factor: float, centre: float) -> Curve:
    """Draw log-odds nearer to a number."""
    return lambda s: expit(centre + factor * (logit(world.curve(s)) - centre))


def power_cells() -> list[Cell]:
    """List the cells in which something has changed."""
    return [
        Cell(SMOOTH, 2_000, 500, "times .8", times(SMOOTH, 0.8)),
        Cell(SMOOTH, 2_000, 5_000, "times .9", times(SMOOTH, 0.9)),
        Cell(SHARP, 2_000, 5_000, "slope 4 to 3", lambda s: expit(3 * s), "slope"),
        Cell(
            SMOOTH,
            2_000,
            5_000,
            "+.15 for 15 % of scores",
            raised(SMOOTH, 0.4, 0.55, 0.15),
            "place",
        ),
        Cell(SMOOTH, 500, 5_000, "times .8", times(SMOOTH, 0.8)),
        Cell(RARE, 2_000, 5_000, "times .8", times(RARE, 0.8)),
        Cell(RARE, 500, 5_000, "times .6", times(RARE, 0.6)),
        Cell(TIED, 2_000, 500, "times .8", times(TIED, 0.8)),
        Cell(
            TIED,
            2_000,
            5_000,
            "+.15 for 3 scores",
            raised(TIED, 0.4, 0.55, 0.15),
            "place",
        ),
        Cell(WEIGHTED, 2_000, 5_000, "times .8", times(WEIGHTED, 0.8)),
        Cell(
            WEIGHTED,
            2_000,
            5_000,
            "slope to 1.6",
            lambda s: expit(1.6 * s - 1),
            "slope",
        ),
        Cell(STEPS, 2_000, 5_000, "times .9", times(STEPS, 0.9)),
        Cell(STEPS, 500, 5_000, "times .8", times(STEPS, 0.8)),
        Cell(TAIL, 20_000, 5_000, "times .7", times(TAIL, 0.7)),
        Cell(MODEL, 2_000, 5_000, "times .93", times(MODEL, 0.93)),
        Cell(VOTES, 5_000, 5_000, "times .85", times(VOTES, 0.85)),
        Cell(LINE, 500, 2_000, "times .75", times(LINE, 0.75)),
        Cell(LINE, 2_000, 5_000, "times .88", times(LINE, 0.88)),
        Cell(LINE, 2_000, 5_000, "slope times .8", flatter(LINE, 0.8, -1.0), "slope"),
    ]


def drawn(cell: Cell, run: int) -> Run:
    """Draw calibration rows and recent ones, and fit a rule or a classifier."""
    rng = np.random.default_rng([SEED, cell.place, run])
    world = cell.world
    then = world.draw(rng, TRAINED + cell.n if world.model else cell.n)
    now = (world.recent_draw or world.draw)(rng, cell.m)
    curves = world.curve, cell.changed or world.curve
    columns = []
    for s, curve in zip((then, now), curves, strict=True):
        y = rng.random(s.size) < curve(s)
        w = rng.exponential(size=s.size) + 0.1 if world.weighted else None
        columns.append((s, y, w))
    (s, y, w), (new, labels, weights) = columns
    if world.model:
        model = abers.IVAPClassifier(
            LogisticRegression(), calibration=cell.n, random_state=run
        )
        X = new[:, np.newaxis]
        model.fit(s[:, np.newaxis], y)
        scores = model.predictions(X).scores
        return Run(model, X, labels, None, model.rules_[0][0], scores)
    rule = abers.fit_rule(s, y, sample_weight=w)
    return Run(rule, new, labels, weights, rule, new)


def p_values(run: Run) -> list[float]:
    """Return the p-values of the tests that checks at either level do.

    They begin with the same tables, which are all where many are as extreme.
    """
    low, high = (change.most_draws(alpha, 1) for alpha in ALPHAS)
    found = change.change_of(run.samples, most_draws=high).p_value
    if found > max(ALPHAS):
        return [found, found]
    return [change.change_of(run.samples, most_draws=low).p_value, found]


def checked(run: Run, alpha: float) -> float:
    """Return the smallest p-value of `abers.check`: it fails at this level."""
    found = abers.check(
        run.predictor, run.X, run.labels, sample_weight=run.weights, alpha=alpha
    )
    return min(test.value for test in found.findings if test.name in change.TESTS)


def shares(cell: Cell, runs: int) -> list[float]:
    """Return how often a change is found, for each alpha."""
    found = np.zeros(len(ALPHAS))
    for number in range(runs):
        run = drawn(cell, number)
        p = p_values(run)
        if number % VERIFIED == 0 and p != [checked(run, alpha) for alpha in ALPHAS]:
            msg = f"abers.check has other p-values than {p} in run {number} of {cell}."
            raise ValueError(msg)
        found += np.less_equal(p, ALPHAS)
    return (found / runs).tolist()


def shares_of_made_test(cell: Cell, runs: int) -> list[float]:
    """Return the same for a test that was made for the kind of change."""
    p = np.array([made_p_value(cell, drawn(cell, run), run) for run in range(runs)])
    return [float((p <= alpha).mean()) for alpha in ALPHAS]


def made_p_value(cell: Cell, run: Run, seed: int) -> float:
    """Test for the kind of change alone, against tables of the same margins."""
    samples = change.in_rows(run.samples)
    tables = change.Tables.of(samples)
    observed = samples.recent.positives[tables.cells, np.newaxis]
    draw = change.table_sampler(tables, np.random.default_rng(seed))
    excess = np.concatenate((observed, draw(change.DRAWN_TABLES)), axis=1)
    excess = excess - tables.expected[:, np.newaxis]
    if cell.kind == "place":
        sizes = _windows(excess) / np.sqrt(_windows(tables.variance[:, np.newaxis]))
        sizes = abs(sizes).max(axis=0)
    elif cell.kind == "slope":  # Neyman and Pearson: the change of log-odds is known
        s = run.scores
        cells = np.searchsorted(samples.calibration.cuts, s, side="right")
        each = logit(cell.changed(s)) - logit(cell.world.curve(s))
        total = np.bincount(
            cells, weights=each, minlength=samples.calibration.cuts.size + 1
        )
        sizes = abs(total[tables.cells] / tables.recent @ excess)
    else:
        sizes = abs(excess.sum(axis=0))
    sizes = sizes.round(change.DIGITS)
    return float((sizes >= sizes[0]).mean())


def _windows(column: Floats) -> Floats:
    """Add up windows of 15 % of the cells, the right width, at all places."""
    width = round(WIDTH * len(column))
    above = np.concatenate((np.zeros((1, column.shape[1])), np.cumsum(column, axis=0)))
    return above[width:] - above[:-width]


def errors(cell: Cell, runs: int) -> tuple[float, float]:
    """Return the median calibration error, and that of what was to be expected."""
    found = []
    for number in range(runs):
        run = drawn(cell, number)
        p = run.rule.probability(run.scores)
        error = metrics.expected_calibration_error(
            run.labels, p, sample_weight=run.weights
        )
        found.append((error, change.error_if_unchanged([run.samples])))
    came, expected = np.median(found, axis=0).tolist()
    return came, expected


def allowed(alpha: float, runs: int) -> float:
    """Return what a right level exceeds about once in a thousand cells."""
    return alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)


def formula(cell: Cell, alpha: float) -> float:
    """Return the power of the test that was made, by the normal approximation.

    Of the mean label, or along the change that each probability undergoes, by the
    information that the cells leave; in search of its place, corrected for as many as
    lie side by side.
    """
    rng = np.random.default_rng(SEED)
    s = cell.world.draw(rng, 400_000)
    p, q = cell.world.curve(s), (cell.changed or cell.world.curve)(s)
    pooled = (cell.n * p + cell.m * q) / (cell.n + cell.m)
    noise = pooled * (1 - pooled)
    size = np.mean([compared_rows(drawn(cell, run)) for run in range(FORMULA_RUNS)])
    gap = q - p
    z = math.sqrt(size * (gap**2 / noise).mean())
    if cell.kind == "mean":
        z = abs(gap.mean()) * math.sqrt(size / noise.mean())
    elif cell.kind == "place":
        alpha *= WIDTH
    limit = ndtri(1 - alpha / 2)
    return float(ndtr(z - limit) + ndtr(-z - limit))


def compared_rows(run: Run) -> float:
    """Return n m / (n + m), which is less in cells that are filled unequally."""
    then, now, _ = change.in_rows(run.samples)
    n, m = then.counts, now.counts
    return float((n * m / np.maximum(n + m, 1)).sum())


def numbered(cells: list[Cell], first: int) -> list[Cell]:
    """Give each cell random numbers of its own."""
    return [replace(cell, place=place) for place, cell in enumerate(cells, start=first)]


def page(runs: int) -> Iterator[str]:
    """Write the tables, line by line."""
    start = time.process_time()
    yield f"Measured with abers {abers.__version__}, {runs} runs a cell."
    limits = ", ".join(f"{allowed(alpha, runs):.3f} at {alpha}" for alpha in ALPHAS)
    yield f"\n### Power\n\nBelow is what misses the formula by more than {NEAR}.\n"
    yield (
        "| world | calibration / recent | change | made for | at .01 | made | formula "
        "| at .05 | made | formula |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for cell in numbered(power_cells(), 1_000):
        columns = [cell.world.name, f"{cell.n:,} / {cell.m:,}", cell.what, cell.kind]
        rows = shares(cell, runs), shares_of_made_test(cell, runs), ALPHAS
        for share, made, alpha in zip(*rows, strict=True):
            bar = formula(cell, alpha)
            mark = " **below**" * (share < bar - NEAR)
            columns += (f"{share:.3f}{mark}", f"{made:.3f}", f"{bar:.3f}")
        yield "| " + " | ".join(columns) + " |"
    yield f"\n### False alarms\n\nAllowed, alpha + 3 standard errors: {limits}.\n"
    yield "| world | calibration / recent | at .01 | at .05 | median ECE | expected |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for cell in numbered(level_cells(), 0):
        marks = (
            f"{share:.3f}" + " **above**" * (share > allowed(alpha, runs))
            for share, alpha in zip(shares(cell, runs), ALPHAS, strict=True)
        )
        both = (f"{error:.4f}" for error in errors(cell, min(runs, ERROR_RUNS)))
        sizes = f"{cell.n:,} / {cell.m:,}"
        yield "| " + " | ".join((cell.world.name, sizes, *marks, *both)) + " |"
    yield "\n### Scores far from those of the calibration\n"
    yield f"{min(runs, MOVED_RUNS)} runs a cell.\n"
    yield (
        "| world | calibration / recent | change | at .01 | at .05 "
        "| in 100 cells at .01 | at .05 | ms |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for cell in numbered(moved_cells(), 2_000):
        columns = [cell.world.name, f"{cell.n:,} / {cell.m:,}", cell.what]
        columns += shares_in_cells(cell, min(runs, MOVED_RUNS))
        yield "| " + " | ".join(columns) + " |"
    yield f"\n{(time.process_time() - start) / 60:.0f} minutes of one core."


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
