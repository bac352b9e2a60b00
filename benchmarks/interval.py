"""The study of `Rule.interval`: coverage and width beside the simultaneous band.

Four curves P(label = 1 | score) are known, so that one sees whether an interval
contains them. A set is one calibration sample; its intervals are looked at in 20 places
of the distribution of the scores. `--write` puts the table into INTERVAL.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import expit

import abers
from abers.evaluation import calibration_band

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Curve = Callable[[np.ndarray], np.ndarray]

PAGE = Path(__file__).parent / "INTERVAL.md"
MARK = "<!-- measured -->"
CONFIDENCE = 0.9
SIZES = (300, 2_000, 20_000)
PLACES = (np.arange(20) + 0.5) / 20  # of the distribution of the scores
# Bands are slow; their widths hardly differ from set to set.
SETS, SETS_WITH_BAND = 1_000, 50
QUICK = 30
SEED = 417

# Scores are uniform; a curve gives the probability at each.
CURVES: dict[str, Curve] = {
    "logistic": lambda u: expit(3 * np.log(u / (1 - u))),
    "step, .2 / .8": lambda u: np.where(u < 0.5, 0.2, 0.8),
    "constant .3": lambda u: np.full_like(u, 0.3),
    "rare, mean .02": lambda u: 0.1 * u**4,
}


class Cell(NamedTuple):
    """What intervals are like for one curve and size."""

    curve: str
    rows: int
    coverage: float
    least: float  # coverage of a place
    width: float
    of_band: float  # its mean width
    of_bounds: float

    @property
    def holds(self) -> bool:
        """Whether all places are covered as was promised."""
        return self.least >= CONFIDENCE


def measured(name: str, rows: int, sets: int) -> Cell:
    """Look at many calibration samples."""
    curve = CURVES[name]
    rng = np.random.default_rng([SEED, rows, list(CURVES).index(name)])
    truth = curve(PLACES)
    covered = np.zeros(PLACES.size)
    widths = np.zeros(3)
    for number in range(sets):
        scores = rng.random(rows)
        labels = rng.random(rows) < curve(scores)
        rule = abers.fit_rule(scores, labels, keep_diagram=True)
        lower, upper = rule.interval(PLACES, CONFIDENCE).T
        covered += (lower <= truth) & (truth <= upper)
        widths[0] += (upper - lower).mean() / sets
        widths[2] += np.diff(rule.bounds(PLACES)).mean() / sets
        if number < min(sets, SETS_WITH_BAND):
            widths[1] += width_of_band(scores, labels) / min(sets, SETS_WITH_BAND)
    share = covered / sets
    return Cell(name, rows, share.mean(), share.min(), *widths)


def width_of_band(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean width of the simultaneous band in the same places."""
    band = calibration_band(scores, labels, confidence=CONFIDENCE)
    below = np.searchsorted(band.scores, PLACES, side="right")
    above = np.searchsorted(band.scores, PLACES, side="left")
    upper, lower = np.append(band.upper, 1.0)[above], np.append(0.0, band.lower)[below]
    return float((upper - lower).mean())


def page(sets: int) -> Iterator[str]:
    """Write the table, line by line."""
    yield "| curve | rows | coverage | in the worst place | width | band | bounds | |"
    yield "|---|--:|--:|--:|--:|--:|--:|---|"
    for name in CURVES:
        for rows in SIZES:
            cell = measured(name, rows, sets)
            yield (
                f"| {name} | {rows:,} | {cell.coverage:.3f} | {cell.least:.3f} | "
                f"{cell.width:.4f} | {cell.of_band:.4f} | {cell.of_bounds:.4f} | "
                f"{'holds' if cell.holds else 'fails'} |"
            )
    yield from times()


def times() -> Iterator[str]:
    """Time a call, best of three."""
    rng = np.random.default_rng(0)
    yield "\n| calibration rows | one call, ms |"
    yield "|--:|--:|"
    for rows in (1_000, 100_000, 1_000_000):
        scores = rng.random(rows)
        labels = rng.random(rows) < scores**2
        rule = abers.fit_rule(scores, labels, keep_diagram=True)
        took = []
        for _ in range(3):
            start = time.perf_counter()
            rule.interval(PLACES)
            took.append(time.perf_counter() - start)
        yield f"| {rows:,} | {1e3 * min(took):.3g} |"


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put it into INTERVAL.md")
    parser.add_argument("--quick", action="store_true", help="few sets")
    options = parser.parse_args()
    lines = []
    for line in page(QUICK if options.quick else SETS):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        lines.append(line)
    if options.write:
        head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
        text = head + MARK + "\n\n" + "\n".join(lines) + "\n"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
