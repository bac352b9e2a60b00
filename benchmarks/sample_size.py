"""Hold `sample_size` against simulated rows: `python benchmarks/sample_size.py`.

Rows are drawn one by one, with other seeds; `--write` puts the table into
SAMPLE_SIZE.md. The rows that a simulation takes are interpolated between three numbers
of rows around the planned one.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

import abers

PAGE = Path(__file__).parent / "SAMPLE_SIZE.md"
BASE_RATES, AREAS = (0.01, 0.1, 0.5), (0.65, 0.75, 0.85, 0.95)
ECES = {0.01: 0.003, 0.1: 0.015, 0.5: 0.025}
WIDTHS = {0.01: 0.06, 0.1: 0.2, 0.5: 0.35}
AROUND = (0.7, 1.0, 1.4)


def drawn(
    rng: np.random.Generator, n: int, base_rate: float, distance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draw scores and labels of the binormal model."""
    y = rng.random(n) < base_rate
    return rng.normal(size=n) + distance * y, y


def simulated_ece(
    rng: np.random.Generator, n: int, base_rate: float, distance: float
) -> float:
    """Fit a rule to rows; return its ECE by the normal distribution function."""
    rule = abers.fit_rule(*drawn(rng, n, base_rate, distance))
    edges = np.concatenate(([-np.inf], rule.thresholds, [np.inf]))
    given = rule.probability(np.concatenate(([-np.inf], rule.thresholds)))
    ones = base_rate * np.diff(ndtr(edges - distance))
    rows = (1 - base_rate) * np.diff(ndtr(edges)) + ones
    return float(abs(rows * given - ones).sum())


def simulated_width(
    rng: np.random.Generator, n: int, base_rate: float, distance: float
) -> float:
    """Return the mean width of the 95 % band at its rows."""
    scores, labels = drawn(rng, n, base_rate, distance)
    band = abers.evaluation.calibration_band(scores, labels)
    below = np.searchsorted(band.scores, scores, side="right") - 1
    above = np.searchsorted(band.scores, scores, side="left")
    return float((band.upper[above] - band.lower[below]).mean())


MEASURES = {"ece": (simulated_ece, 300), "band_width": (simulated_width, 12)}


def simulated_rows(kind: str, aim: float, base_rate: float, auc: float, n: int) -> int:
    """Return how many rows reach the aim, by simulation around n."""
    measure, repeats = MEASURES[kind]
    distance = math.sqrt(2) * float(ndtri(auc))
    sizes = [round(n * factor) for factor in AROUND]
    means = []
    for size in sizes:
        rng = np.random.default_rng(size)
        values = [measure(rng, size, base_rate, distance) for _ in range(repeats)]
        means.append(np.mean(values))
    slope, level = np.polyfit(np.log(sizes), np.log(means), 1)
    return round(math.exp((math.log(aim) - level) / slope))


def rows_of(kind: str, base_rate: float, auc: float) -> tuple[float, int, int]:
    """Return an aim, the planned rows, and those of a simulation."""
    aim = (ECES if kind == "ece" else WIDTHS)[base_rate]
    planned = abers.evaluation.sample_size(**{kind: aim}, base_rate=base_rate, auc=auc)
    return aim, planned, simulated_rows(kind, aim, base_rate, auc, planned)


def table() -> str:
    """Return the comparison as Markdown."""
    lines = [
        "| aim | base rate | AUC | planned rows | simulated | ratio |",
        "|---|---|---|---|---|---|",
    ]
    for kind in MEASURES:
        for base_rate in BASE_RATES:
            for auc in AREAS:
                aim, planned, simulated = rows_of(kind, base_rate, auc)
                cells = f"{planned:,} | {simulated:,} | {planned / simulated:.2f}"
                lines.append(f"| {kind} {aim:g} | {base_rate:g} | {auc:g} | {cells} |")
                print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Print the table, and write it if asked."""
    text = table()
    if "--write" in sys.argv[1:]:
        head = PAGE.read_text().split("<!-- measured -->", maxsplit=1)[0]
        PAGE.write_text(f"{head}<!-- measured -->\n\n{text}\n")


if __name__ == "__main__":
    main()
