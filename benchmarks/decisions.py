"""What the bounds add to a decision beyond the probability, on the paper's data.

`ABERS_DATA=/path/to/data PYTHONPATH=. .venv/bin/python benchmarks/decisions.py --write`
puts the tables into DECISIONS.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import abers
from experiments.paper import data

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parent / "DECISIONS.md"
MARK = "<!-- measured -->"
SETS = ("adult", "bank", "spambase", "german")
THRESHOLDS = (0.05, 0.1, 0.2, 0.5, 0.8)
CALIBRATION = (100, 400)
FITS = 20  # of each set and model
MOST_TEST = 4_000
MODELS = {
    "logistic": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=500)
    ),
    "naive Bayes": GaussianNB,
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=50, random_state=0),
}
WAYS = ("log-minimax", "midpoint", "Brier-minimax", "lower bound")


def costs_of(acted: np.ndarray, y: np.ndarray, t: float) -> np.ndarray:
    """Return what each decision costs: t for a false alarm, 1 - t for a miss."""
    return np.where(acted, t * (y == 0), (1 - t) * (y == 1))


def fits(folder: str, n_fits: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Return the number of calibration rows, the bounds and labels of test rows."""
    for name in SETS:
        read = data.load(name, folder)
        X = np.stack([np.asarray(c.values, float) for c in read.columns], axis=1)
        y = np.asarray(read.labels)
        for seed in range(n_fits):
            order = np.random.default_rng(seed).permutation(y.size)
            train, rest = np.split(order, [min(y.size * 2 // 5, 3_000)])
            pool, test = np.split(rest, [max(CALIBRATION)])
            test = test[:MOST_TEST]
            for model in MODELS.values():
                fitted = model().fit(X[train], y[train])
                score = fitted.predict_proba(X)[:, 1]
                for size in CALIBRATION:
                    if test.size >= 150:
                        rule = abers.fit_rule(score[pool[:size]], y[pool[:size]])
                        yield size, rule.bounds(score[test]), y[test]
        print(name, file=sys.stderr)


def study(folder: str, n_fits: int) -> tuple[dict, dict]:
    """Return costs of the ways to decide, and of undetermined and nearest cases."""
    ways: dict = {}
    cases: dict = {}
    for size, bounds, y in fits(folder, n_fits):
        lower, upper = bounds.T
        p = abers.rules.log_minimax(lower, upper)
        values = (
            p,
            (lower + upper) / 2,
            abers.rules.brier_minimax(lower, upper),
            lower,
        )
        for t in THRESHOLDS:
            each = [costs_of(value >= t, y, t) for value in values]
            means = [cost.mean() for cost in each]
            ways.setdefault((size, t), []).append(means)
            found = abers.decide(bounds, [[0, 1 - t], [t, 0]])
            n = int(found.undetermined.sum())
            if n and means[0] > 0:
                nearest = np.argsort(abs(p - t), kind="stable")[:n]
                row = [
                    n / y.size,
                    each[0][found.undetermined].mean(),
                    each[0][nearest].mean(),
                    means[0],
                ]
                cases.setdefault((size, t), []).append([*row, n])
    return ways, cases


def lines(ways: dict, cases: dict) -> Iterator[str]:
    """Return the two tables."""
    yield "Mean cost, the log-minimax probability being 1:"
    yield ""
    yield f"| calibration rows | t | {' | '.join(WAYS)} |"
    yield "|---|---|" + "---|" * len(WAYS)
    for (size, t), means in sorted(ways.items()):
        mean = np.mean(means, axis=0)
        cells = " | ".join(f"{value:.3f}" for value in mean / mean[0])
        yield f"| {size} | {t} | {cells} |"
    yield ""
    yield (
        "Mean cost of undetermined cases, and of as many cases nearest to t by their "
        "probability, divided by that of all cases; ± one standard error over fits of "
        "the difference:"
    )
    yield ""
    yield "| calibration rows | t | undetermined | their cost | of the nearest | more |"
    yield "|---|---|---|---|---|---|"
    for (size, t), rows in sorted(cases.items()):
        share, open_cost, near_cost, mean, n = np.array(rows).T
        base = np.average(mean, weights=n)
        more = (open_cost - near_cost) * n / n.mean() / base
        error = more.std(ddof=1) / np.sqrt(more.size)
        first, second = (
            np.average(c, weights=n) / base for c in (open_cost, near_cost)
        )
        yield (
            f"| {size} | {t} | {100 * share.mean():.1f} % | {first:.2f} | "
            f"{second:.2f} | {more.mean():+.2f} ± {error:.2f} |"
        )


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fits", type=int, default=FITS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    folder = os.environ.get("ABERS_DATA")
    if not folder:
        msg = "ABERS_DATA must name the folder of the paper's data."
        raise SystemExit(msg)
    text = "\n".join(lines(*study(folder, options.fits)))
    print(text)
    if options.write:
        head = PAGE.read_text().partition(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n\n{text}\n")


if __name__ == "__main__":
    main()
