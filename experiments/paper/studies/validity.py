"""Validity on data: Proposition 1, and three ways to break it.

The proposition says that the bound which the true label selects, P_Y, is calibrated:
among cases with P_Y near a level, that share of labels is 1. It averages over
calibration sets, so a test has to draw a new one for each test row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import chi2

from abers import validation
from abers.core.fit import fit_rule
from experiments.paper.tasks import split

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.random import Generator

    from abers.validation import FloatArray, IntArray
    from experiments.paper.sklearn_engine import Engine
    from experiments.paper.tasks import Task

    Draw = tuple[IntArray, int]  # rows that calibrate, and the row that tests

SIZES = (20, 100, 1_000)  # of calibration sets
DRAWS = 100_000
MOST_GROUPS = 20
SHIFT = 2.0  # how much likelier a positive test row becomes


@dataclass(frozen=True, slots=True)
class Group:
    """Cases of about the same level."""

    level: float  # mean P_Y
    mean_label: float
    count: int
    z: float  # standard normal if P_Y is calibrated


@dataclass(frozen=True, slots=True)
class Validity:
    """Whether P_Y was calibrated over many draws."""

    how: str  # one of `DRAWINGS`
    k: int  # calibration rows
    n_draws: int
    groups: tuple[Group, ...]
    chi_square: float  # the sum of z²
    p_value: float


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Scores and labels of rows that the model has not seen."""

    scores: FloatArray
    labels: IntArray


def exchangeable(pool: Pool, k: int, n: int, rng: Generator) -> Iterator[Draw]:
    """Draw k + 1 rows without replacement; the last one tests."""
    for _ in range(n):
        rows = rng.choice(pool.labels.size, k + 1, replace=False)
        yield rows[:-1], int(rows[-1])


def fixed(pool: Pool, k: int, n: int, rng: Generator) -> Iterator[Draw]:
    """Draw one calibration set for all test rows."""
    calibrate, rest = np.split(rng.permutation(pool.labels.size), [k])
    for test in rng.choice(rest, n):
        yield calibrate, int(test)


def stratified(pool: Pool, k: int, n: int, rng: Generator) -> Iterator[Draw]:
    """Draw calibration sets that all have the pool's share of ones."""
    ones, zeros = (np.flatnonzero(pool.labels == label) for label in (1, 0))
    n_ones = round(k * ones.size / pool.labels.size)
    for test in rng.integers(pool.labels.size, size=n):
        # One too many of each: the test row is left out, or else the last.
        some = rng.choice(ones, n_ones + 1, replace=False)
        others = rng.choice(zeros, k - n_ones + 1, replace=False)
        kept = some[some != test][:n_ones], others[others != test][: k - n_ones]
        yield np.concatenate(kept), int(test)


def shifted(pool: Pool, k: int, n: int, rng: Generator) -> Iterator[Draw]:
    """Draw test rows among which ones are twice as likely as in the pool."""
    weights = np.where(pool.labels == 1, SHIFT, 1.0)
    tests = rng.choice(pool.labels.size, n, p=weights / weights.sum())
    for test in tests:
        rows = rng.choice(pool.labels.size, k + 1, replace=False)
        yield rows[rows != test][:k], int(test)


DRAWINGS: dict[str, Callable[..., Iterator[Draw]]] = {
    "exchangeable": exchangeable,
    "one fixed calibration set": fixed,
    "stratified split": stratified,
    "shifted test row": shifted,
}


def unseen(task: Task, algorithm: str, engine: Engine) -> Pool:
    """Score the test rows by an algorithm trained with its first setting."""
    pairs = split("all", task.n_train).pairs
    candidate = engine.score(task.table, algorithm, pairs, task.test)[0]
    return Pool(candidate.pairs[0].test.probability, task.table.labels[task.test])


def check(
    pool: Pool, k: int, *, how: str = "exchangeable", draws: int = DRAWS, seed: int = 0
) -> Validity:
    """Draw calibration sets and test rows, and compare labels with levels.

    Ways of drawing other than "exchangeable" break the proposition on purpose.
    """
    validation.check_choice(how, tuple(DRAWINGS), "how")
    rng = np.random.default_rng(seed)
    levels, labels = np.empty(draws), np.empty(draws)
    rule, fitted = None, None
    for i, (rows, test) in enumerate(DRAWINGS[how](pool, k, draws, rng)):
        if rule is None or rows is not fitted:
            rule, fitted = fit_rule(pool.scores[rows], pool.labels[rows]), rows
        labels[i] = pool.labels[test]
        levels[i] = rule.bounds(pool.scores[test : test + 1])[0, pool.labels[test]]
    return judged(how, k, levels, labels)


def check_all(
    pool: Pool, *, sizes: Sequence[int] = SIZES, draws: int = DRAWS, jobs: int = 1
) -> list[Validity]:
    """Check every size and every way of drawing."""
    calls = (
        delayed(check)(pool, k, how=how, draws=draws) for how in DRAWINGS for k in sizes
    )
    found: list[Validity] = Parallel(n_jobs=jobs)(calls)
    return found


def judged(how: str, k: int, levels: FloatArray, labels: FloatArray) -> Validity:
    """Compare labels with levels, in groups of about the same level."""
    groups = tuple(_groups(levels, labels))
    total = float(sum(group.z**2 for group in groups))
    uncertain = sum(0 < group.level < 1 for group in groups)
    p_value = float(chi2.sf(total, uncertain))
    return Validity(how, k, levels.size, groups, total, p_value)


def _groups(levels: FloatArray, labels: FloatArray) -> Iterator[Group]:
    """Group equal levels, and neighbours until a group is large enough."""
    _, place, counts = np.unique(levels, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2
    cell = (middle * MOST_GROUPS / levels.size).astype(np.int64)[place]
    for number in np.unique(cell):
        chosen = cell == number
        p, y = levels[chosen], labels[chosen]
        excess, variance = (y - p).sum(), (p * (1 - p)).sum()
        # Levels 0 and 1 are certain: one label that differs is proof enough.
        certain = 0.0 if excess == 0 else np.inf
        z = excess / np.sqrt(variance) if variance > 0 else certain
        yield Group(float(p.mean()), float(y.mean()), int(p.size), float(z))
