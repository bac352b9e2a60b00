"""The study of the calibration band: coverage and width beside two other bands.

Six curves P(label = 1 | score) are known, so that one sees whether a band contains all
of them. `--write` puts the tables into BAND.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import betaincinv

from abers.evaluation.bands import calibration_band

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Curve = Callable[[np.ndarray], np.ndarray]
    Edges = tuple[np.ndarray, np.ndarray]

PAGE = Path(__file__).parent / "BAND.md"
MARK = "<!-- measured -->"
CONFIDENCE = 0.95
RESAMPLES = 200
# Rows: sets of rows for our band, and how many of them the slower bands see, too.
SIZES = {200: (300, 50), 500: (300, 30), 2_000: (100, 10), 5_000: (60, 6)}
QUICK = {200: (20, 2), 500: (20, 2)}


def uniform(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw scores between 0 and 1."""
    return rng.random(n)


def rare_scores(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw scores with mean 0.02, most of them close to 0."""
    return rng.beta(0.5, 24.5, n)


CURVES: dict[str, tuple[Callable[[np.random.Generator, int], np.ndarray], Curve]] = {
    "smooth, s^2": (uniform, np.square),
    "constant .3": (uniform, lambda s: np.full_like(s, 0.3)),
    "constant .07": (uniform, lambda s: np.full_like(s, 0.07)),
    "step, .2 / .8": (uniform, lambda s: np.where(s < 0.5, 0.2, 0.8)),
    "rare, s of mean .02": (rare_scores, lambda s: s),
    "ten steps, .05 to .95": (uniform, lambda s: 0.05 + 0.1 * np.floor(s * 10)),
}


def ours(labels: np.ndarray) -> Edges:
    """Return our band at each of the rows, which are in order."""
    rows = np.arange(labels.size)
    band = calibration_band(rows, labels, confidence=CONFIDENCE)
    below = np.searchsorted(band.scores, rows, side="right")
    above = np.searchsorted(band.scores, rows, side="left")
    return np.append(0.0, band.lower)[below], np.append(band.upper, 1.0)[above]


def all_runs(labels: np.ndarray, most: int = 500) -> Edges:
    """Bound by all runs of at most 500 cells, each at the same level (2023)."""
    n = labels.size
    cells = min(n, most)
    cut = np.arange(cells + 1) * n // cells
    ones = np.append(0, np.cumsum(labels))[cut]
    first, last = np.triu_indices(cells)
    level = (1 - CONFIDENCE) / (cells * (cells + 1))
    m, k = cut[last + 1] - cut[first], ones[last + 1] - ones[first]
    upper, lower = np.ones(cells + 1), np.zeros(cells + 1)
    some, no_less = k < m, k > 0
    limit = betaincinv(k[some] + 1, m[some] - k[some], 1 - level)
    np.minimum.at(upper, first[some], limit)
    limit = betaincinv(k[no_less], m[no_less] - k[no_less] + 1, level)
    np.maximum.at(lower, last[no_less] + 1, limit)
    upper = np.minimum.accumulate(upper[::-1])[::-1]
    lower = np.maximum.accumulate(lower)
    rows = np.arange(n)
    above = np.searchsorted(cut[:-1], rows, side="left")
    below = np.searchsorted(cut[1:] - 1, rows, side="right")
    return lower[below], upper[above]


def bootstrap(labels: np.ndarray) -> Edges:
    """Take quantiles of isotonic fits to resampled rows: at each row by itself."""
    n, rng = labels.size, np.random.default_rng(0)
    fits = np.empty((RESAMPLES, n))
    for fit in fits:
        drawn = np.sort(rng.integers(0, n, n))
        values = isotonic_regression(labels[drawn].astype(float)).x
        fit[:] = values[
            np.maximum(np.searchsorted(drawn, np.arange(n), "right") - 1, 0)
        ]
    tail = (1 - CONFIDENCE) / 2
    lower, upper = np.quantile(fits, [tail, 1 - tail], axis=0)
    return lower, upper


BANDS = {"ours": ours, "all runs": all_runs, "bootstrap": bootstrap}


def studied(name: str, n: int, sets: int, few: int) -> dict[str, list[tuple]]:
    """Return, for each band and set, its mean width and whether it holds."""
    scores, curve = CURVES[name]
    rng = np.random.default_rng([n, list(CURVES).index(name)])
    found: dict[str, list[tuple]] = {band: [] for band in BANDS}
    for i in range(sets):
        s = np.sort(scores(rng, n))
        truth = curve(s)
        labels = (rng.random(n) < truth).astype(np.int64)
        for band, edges in BANDS.items():
            if band == "ours" or i < few:
                lower, upper = edges(labels)
                inside = (lower <= truth) & (truth <= upper)
                found[band].append(((upper - lower).mean(), inside.all()))
    return found


def page(sizes: dict[int, tuple[int, int]]) -> Iterator[str]:
    """Write the tables."""
    coverage = ["| curve | " + " | ".join(f"{n:,} rows" for n in sizes) + " |"]
    width = [
        "| curve | rows | ours | / all runs | / bootstrap |",
        "|---|---|---|---|---|",
    ]
    coverage.append("|---|" + "---|" * len(sizes))
    ratios: dict[int, list[float]] = {n: [] for n in sizes}
    for name in CURVES:
        cells = []
        for n, (sets, few) in sizes.items():
            found = studied(name, n, sets, few)
            missed = [
                f"{sum(not whole for _, whole in found[band])} of {len(found[band])}"
                for band in BANDS
            ]
            cells.append("; ".join(missed))
            mean = {b: np.mean([w for w, _ in found[b][:few]]) for b in BANDS}
            ratios[n].append(mean["ours"] / mean["all runs"])
            width.append(
                f"| {name} | {n:,} | {mean['ours']:.3f} | {ratios[n][-1]:.3f} "
                f"| {mean['ours'] / mean['bootstrap']:.2f} |"
            )
        coverage.append(f"| {name} | " + " | ".join(cells) + " |")
    width.extend(
        f"| mean of the six | {n:,} | | {np.mean(ratio):.3f} | |"
        for n, ratio in ratios.items()
    )
    yield "## Sets whose curve leaves the band: ours; all runs; bootstrap\n"
    yield from coverage
    yield "\n## Mean width at the rows\n"
    yield from width
    yield "\n## Time of a call\n"
    yield from times()


def times() -> Iterator[str]:
    """Time our band, best of five."""
    rng = np.random.default_rng(0)
    yield "| rows | ms |"
    yield "|---|---|"
    for n in (500, 5_000, 10**6):
        s = rng.random(n)
        labels = rng.random(n) < s**2
        took = []
        for _ in range(5):
            start = time.perf_counter()
            calibration_band(s, labels)
            took.append(time.perf_counter() - start)
        yield f"| {n:,} | {1e3 * min(took):.3g} |"


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put it into BAND.md")
    parser.add_argument("--quick", action="store_true", help="few sets of few rows")
    options = parser.parse_args()
    lines = []
    for line in page(QUICK if options.quick else SIZES):
        sys.stdout.write(line + "\n")
        lines.append(line)
    if options.write:
        head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
        text = head + MARK + "\n\n" + "\n".join(lines) + "\n"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
