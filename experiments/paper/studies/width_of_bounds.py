"""Width of the bounds: whether it says how far a merged probability can be trusted.

The paper's conclusion: "the distance between them provides information about the
reliability of the merged probability prediction. Finding interesting ways of using
this extra information is one of the directions of further research."
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

from abers.core.fit import fit_rule
from abers.core.merging import log_minimax
from abers.estimators.calibrators import IsotonicCalibrator
from experiments.paper.protocol import best
from experiments.paper.tasks import split

if TYPE_CHECKING:
    from abers.validation import FloatArray, IntArray
    from experiments.paper.sklearn_engine import Engine
    from experiments.paper.tasks import Task

RATIO = "4:1"
TENTHS = 10
REPEATS = 200  # of a bootstrap
KEPT = (0.9, 0.7, 0.5)  # shares of the rows that a reject option decides on


@dataclass(frozen=True, slots=True)
class WidthStudy:
    """Test rows of one algorithm in tenths by the width of IVAP's bounds."""

    data: str
    algorithm: str
    widths: tuple[float, ...]  # mean of each tenth
    excess_log: tuple[float, ...]  # log loss minus its expectation if p is right, bits
    excess_brier: tuple[float, ...]  # Brier loss minus its expectation, times 4
    distance: tuple[float, ...]  # of p from isotonic regression of the test rows
    correlation: float  # of ranks: width and that distance
    low: float  # of a bootstrap interval of 95 %
    high: float
    beyond: float  # the correlation of ranks that is left given p (1 - p)
    beyond_low: float
    beyond_high: float
    by_width: tuple[float, ...]  # Brier loss without the widest rows, at `KEPT`
    by_middle: tuple[float, ...]  # without those whose p is nearest to 1/2


def study(task: Task, algorithm: str, engine: Engine) -> WidthStudy:
    """Train and calibrate once, as for Tables 1 and 2, and look at the bounds."""
    labels, rows = task.table.labels, split(RATIO, task.n_train)
    pair = rows.pairs[rows.single]
    candidates = engine.score(task.table, algorithm, [pair], task.test)
    scores = best(candidates, [pair], [0], labels).pairs[0]
    rule = fit_rule(scores.calibration.probability, labels[pair.calibrate])
    bounds = rule.bounds(scores.test.probability)
    p = log_minimax(bounds[:, 0], bounds[:, 1])
    truth = IsotonicCalibrator().fit(scores.test.probability, labels[task.test])
    near = truth.predict_proba(scores.test.probability)[:, 1]
    names = (task.name, algorithm)
    return studied(names, np.ptp(bounds, axis=1), p, (labels[task.test], near))


def studied(
    names: tuple[str, str],
    width: FloatArray,
    p: FloatArray,
    truth: tuple[IntArray, FloatArray],
) -> WidthStudy:
    """Hold widths and merged probabilities against labels and true probabilities."""
    y, near = truth
    log = -np.log2(np.where(y == 1, p, 1 - p))
    entropy = -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
    brier, spread = 4 * (y - p) ** 2, 4 * p * (1 - p)
    distance = 4 * (p - near) ** 2
    order = np.argsort(width, kind="stable")
    tenths = np.array_split(order, TENTHS)
    ranks = np.stack([rankdata(each) for each in (width, distance, spread)])
    (correlation, *ends), (beyond, *beyond_ends) = _bootstrapped(ranks)
    middle = np.argsort(spread, kind="stable")

    def means(values: FloatArray) -> tuple[float, ...]:
        return tuple(float(values[rows].mean()) for rows in tenths)

    def kept(rows: IntArray) -> tuple[float, ...]:
        """Return the losses of the rows that come first, for each share."""
        return tuple(float(brier[rows[: int(x * y.size)]].mean()) for x in KEPT)

    return WidthStudy(
        *names,
        widths=means(width),
        excess_log=means(log - entropy),
        excess_brier=means(brier - spread),
        distance=means(distance),
        correlation=correlation,
        low=ends[0],
        high=ends[1],
        beyond=beyond,
        beyond_low=beyond_ends[0],
        beyond_high=beyond_ends[1],
        by_width=kept(order),
        by_middle=kept(middle),
    )


def _bootstrapped(ranks: FloatArray) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return correlations with intervals: of the first two, and given the third."""
    rng = np.random.default_rng(0)
    n = ranks.shape[1]
    drawn = [_correlations(ranks[:, rng.integers(n, size=n)]) for _ in range(REPEATS)]
    ends = np.quantile(np.array(drawn), (0.025, 0.975), axis=0)
    found = _correlations(ranks)
    low, high = ends.tolist()
    return (found[0], low[0], high[0]), (found[1], low[1], high[1])


def _correlations(ranks: FloatArray) -> tuple[float, float]:
    table = np.asarray(np.corrcoef(ranks))
    plain, width, distance = table[0, 1], table[0, 2], table[1, 2]
    left = (1 - width**2) * (1 - distance**2)
    return float(plain), float((plain - width * distance) / np.sqrt(left))
