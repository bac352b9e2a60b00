"""The study of `abers.rules.estimate_prior`; `--write` puts its table into PRIOR.md.

Normal scores of negatives around 0 and of positives around a distance; calibration rows
at one rate, new rows without labels at another. A stream is one calibration set, its
rule and one set of new rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np

import abers

PAGE = Path(__file__).parent / "PRIOR.md"
MARK = "<!-- measured -->"
STREAMS = 2_000
NEW = 2_000  # rows without labels in a stream
CALIBRATION = (300, 2_000, 20_000)
SHIFTS = ((0.1, 0.1), (0.1, 0.4))
DISTANCES = (2.0, 1.2)  # AUC .92 and .80
SEED = 617
MOST_BIAS, LEAST_COVERAGE = 0.01, 0.92


class Cell(NamedTuple):
    """What estimates are like in one setting."""

    rows: int
    before: float
    after: float
    distance: float
    bias: float
    deviation: float  # of the estimates
    coverage: float  # within two standard errors

    @property
    def holds(self) -> bool:
        """Whether bias and coverage are what was promised."""
        return abs(self.bias) <= MOST_BIAS and self.coverage >= LEAST_COVERAGE


def drawn(
    rng: np.random.Generator, size: int, rate: float, distance: float
) -> tuple[np.ndarray, np.ndarray]:
    """Draw scores and labels."""
    labels = rng.random(size) < rate
    return rng.normal(size=size) + distance * labels, labels


def measured(rows: int, before: float, after: float, distance: float) -> Cell:
    """Estimate the rate of many streams."""
    rng = np.random.default_rng([SEED, rows, round(100 * after), round(10 * distance)])
    rates, errors = np.empty(STREAMS), np.empty(STREAMS)
    for stream in range(STREAMS):
        rule = abers.fit_rule(*drawn(rng, rows, before, distance))
        estimate = abers.rules.estimate_prior(rule, drawn(rng, NEW, after, distance)[0])
        rates[stream], errors[stream] = estimate.rate, estimate.standard_error
    within = abs(rates - after) <= 2 * errors
    bias, deviation = rates.mean() - after, rates.std()
    return Cell(rows, before, after, distance, bias, deviation, within.mean())


def table(cells: list[Cell]) -> str:
    """Return the table in Markdown."""
    head = (
        "| calibration rows | rate before | now | distance | bias | s.d. "
        "| within 2 s.e. | |\n|---|---|---|---|---|---|---|---|"
    )
    lines = (
        f"| {cell.rows:,} | {cell.before} | {cell.after} | {cell.distance} | "
        f"{cell.bias:+.4f} | {cell.deviation:.4f} | {cell.coverage:.1%} | "
        f"{'holds' if cell.holds else 'fails'} |"
        for cell in cells
    )
    return "\n".join((head, *lines))


def main() -> None:
    """Measure all cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="also into PRIOR.md")
    options = parser.parse_args()
    found = table(
        [
            measured(rows, *shift, distance)
            for distance in DISTANCES
            for rows in CALIBRATION
            for shift in SHIFTS
        ]
    )
    print(found)
    if options.write:
        above = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
        PAGE.write_text(f"{above}{MARK}\n\n{found}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
