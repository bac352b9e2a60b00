"""Bounds under a known shift, with the weight of each case and without any.

The score is x1; y depends on x1 + x2, and x2 shifts by d. Then dQ/dP at x is
exp(d x2 - d^2 / 2). In the last two cells the share of ones changes instead, with
P(x | y) as it was. What should be 0 is the mean of Y minus the bound of the true label.

    python -m experiments.world.own_weights
    python -m experiments.world.own_weights --cost

Measured, mean error and its standard error:

| shift | rows | own weights | no weights | estimated weights |
|---|---|---|---|---|
| x2 by 0.5 | 300 | +0.0002 ± 0.0024 | +0.0873 ± 0.0023 | +0.0001 ± 0.0025 |
| x2 by 1.0 | 300 | -0.0019 ± 0.0029 | +0.1649 ± 0.0025 | -0.0019 ± 0.0029 |
| x2 by 1.0 | 2000 | -0.0020 ± 0.0021 | +0.1715 ± 0.0021 | -0.0018 ± 0.0022 |
| x2 by -1.5 | 2000 | +0.0018 ± 0.0019 | -0.2452 ± 0.0017 | -0.0007 ± 0.0019 |
| share of ones to 0.1 | 300 | -0.0014 ± 0.0013 | -0.3304 ± 0.0020 | - |
| share of ones to 0.1 | 2000 | -0.0013 ± 0.0013 | -0.3429 ± 0.0016 | - |
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import TYPE_CHECKING

import numpy as np

import abers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.core.rule import Weight

    Rows = tuple[NDArray[np.float64], NDArray[np.int64]]

RUNS, NEW_ROWS, TRAINING = 300, 200, 2_000
SHIFTS = [(0.5, 300), (1.0, 300), (1.0, 2_000), (-1.5, 2_000)]
PRIORS = [(0.1, 300), (0.1, 2_000)]  # the share of ones, which was 1/2


def drawn(rng: np.random.Generator, n: int, shift: float = 0.0) -> Rows:
    """Return two columns and labels."""
    x = rng.normal((0.0, shift), 1.0, (n, 2))
    return x, (rng.random(n) < 1 / (1 + np.exp(-x.sum(axis=1)))).astype(int)


def of_rate(rng: np.random.Generator, n: int, rate: float) -> Rows:
    """Return rows of which this share are ones, with P(x | y) as in `drawn`."""
    x, y = drawn(rng, 40 * n)
    wanted = rng.random(n) < rate
    rows = np.empty(n, dtype=int)
    for label in (0, 1):
        rows[wanted == label] = np.flatnonzero(y == label)[: (wanted == label).sum()]
    return x[rows], y[rows]


def errors(
    rng: np.random.Generator, n: int, *, shift: float = 0.0, rate: float | None = None
) -> tuple[float, float, float]:
    """Return mean errors of one run: own weights, none, estimated ones."""
    x, y = drawn(rng, n)
    own: Weight
    estimated = None
    if rate is None:
        new, labels = drawn(rng, NEW_ROWS, shift)
        weights = np.exp(shift * x[:, 1] - shift**2 / 2)
        own = np.exp(shift * new[:, 1] - shift**2 / 2)
        others = drawn(rng, TRAINING)[0], drawn(rng, TRAINING, shift)[0]
        estimated = abers.rules.shift_weights(*others)
    else:
        new, labels = of_rate(rng, NEW_ROWS, rate)
        of_label = 2 * (1 - rate), 2 * rate
        weights = np.where(y == 1, of_label[1], of_label[0])
        own = of_label
    scores, at = x[:, 0], new[:, 0]

    def error(sample_weight: ArrayLike | None, weight: Weight | None) -> float:
        rule = abers.fit_rule(scores, y, sample_weight=sample_weight, keep_diagram=True)
        pair = rule.bounds(at, weight=weight)
        return float(np.mean(labels - pair[np.arange(NEW_ROWS), labels]))

    by_estimate = np.nan
    if estimated is not None:
        by_estimate = error(estimated.weights(x), estimated.weights(new))
    return error(weights, own), error(None, None), by_estimate


def study() -> None:
    """Print one line per cell: each mean error, with its standard error."""
    print("| shift | rows | own weights | no weights | estimated weights |")
    print("|---|---|---|---|---|")
    cells = [(f"x2 by {d}", n, {"shift": d}) for d, n in SHIFTS]
    cells += [(f"share of ones to {r}", n, {"rate": r}) for r, n in PRIORS]
    for seed, (title, n, options) in enumerate(cells):
        rng = np.random.default_rng(seed)
        every = np.array([errors(rng, n, **options) for _ in range(RUNS)])
        means, spread = every.mean(axis=0), every.std(axis=0, ddof=1) / np.sqrt(RUNS)
        shown = " | ".join(
            "-" if np.isnan(m) else f"{m:+.4f} ± {s:.4f}"
            for m, s in zip(means, spread, strict=True)
        )
        print(f"| {title} | {n} | {shown} |", flush=True)


def cost() -> None:
    """Print microseconds per row, with a weight and without."""
    rng = np.random.default_rng(0)
    for size in (10_000, 1_000_000):
        scores = rng.normal(size=size)
        labels = rng.random(size) < 1 / (1 + np.exp(-scores))
        weights = rng.exponential(size=size)
        rule = abers.fit_rule(scores, labels, sample_weight=weights, keep_diagram=True)
        new, own = rng.normal(size=100_000), rng.exponential(size=100_000)
        rule.bounds(new[:1], weight=own[:1])
        start = time.perf_counter()
        rule.bounds(new, weight=own)
        middle = time.perf_counter()
        rule.bounds(new)
        end = time.perf_counter()
        print(
            f"{size} rows: {(middle - start) * 10:.2f} µs with its own weight, "
            f"{(end - middle) * 10:.3f} µs without"
        )


def main() -> None:
    """Run the study, or measure the cost of a row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cost", action="store_true")
    warnings.simplefilter("ignore")
    if parser.parse_args().cost:
        cost()
    else:
        study()


if __name__ == "__main__":
    main()
