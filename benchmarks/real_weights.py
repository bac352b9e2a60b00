"""Weights over ten orders of magnitude: errors of bounds beside their proven limit.

Each row is rounded by at most half a unit, and a new case weighs 2**scale units. So the
average of a block that holds the new case is off by at most half the number of its rows
of one label, over 2**scale; a bound, the largest of least averages, is off by no more
than its blocks are, and its quotient is rounded once.

`--write` puts the table into REAL_WEIGHTS.md.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import abers
from abers import reference
from abers.core.diagram import diagram_of_rows
from abers.core.units import magnitudes, scale_for

if TYPE_CHECKING:
    from collections.abc import Callable

    Weights = np.ndarray

PAGE = Path(__file__).parent / "REAL_WEIGHTS.md"
MARK = "<!-- measured -->"
CASES = 20_000
PROMISED = 1e-11  # for totals up to 10^4
LAST_BIT = Fraction(1, 2**54)  # of a quotient, which is rounded once


def spread(rng: np.random.Generator, size: int) -> Weights:
    """Draw weights over ten orders of magnitude."""
    return 10 ** rng.uniform(-5, 5, size)


def mean_one(rng: np.random.Generator, size: int) -> Weights:
    """Scale them to a mean of 1, as the guide recommends."""
    weights = spread(rng, size)
    return weights / weights.mean()


def total_up_to(power: float) -> Callable[[np.random.Generator, int], Weights]:
    """Scale them to a total between 1 and 10**power."""

    def drawn(rng: np.random.Generator, size: int) -> Weights:
        weights = spread(rng, size)
        return weights / weights.sum() * 10 ** rng.uniform(0, power)

    return drawn


FAMILIES = {
    "mean 1": mean_one,
    "total up to 10^4": total_up_to(4),
    "total up to 10^9": total_up_to(9),
}


def limit(labels: np.ndarray, scale: int) -> Fraction:
    """Return how far bounds can be from their definition."""
    rows = int(np.bincount(labels, minlength=2).max())
    return Fraction(rows, 2 ** (scale + 1)) + LAST_BIT


def error(
    rule: abers.rules.Rule, scores: np.ndarray, labels: np.ndarray, weights: Weights
) -> Fraction:
    """Return how far bounds at, between and beside the scores are from Fractions."""
    diagram = reference.Diagram.from_rows(
        scores.tolist(), labels.tolist(), weights.tolist()
    )
    tree = reference.tree(diagram)
    probes = np.arange(scores.min() - 0.5, scores.max() + 1, 0.5)
    return max(
        abs(Fraction(bound) - exact)
        for s, pair in zip(probes.tolist(), rule.bounds(probes).tolist(), strict=True)
        for bound, exact in zip(pair, reference.search(tree, s), strict=True)
    )


def same_bits_in_parts(
    scores: np.ndarray, labels: np.ndarray, weights: Weights, scale: int, cut: int
) -> bool:
    """Return whether two parts of one scale add up to the diagram of all rows."""
    whole = abers.rules.Diagram.from_rows(scores, labels, sample_weight=weights)
    parts = (
        diagram_of_rows(scores[part], labels[part] == 1, weights[part], scale)
        for part in (slice(cut), slice(cut, None))
    )
    return abers.rules.Diagram.sum(parts) == whole


def measured(draw: Callable[..., Weights], n_cases: int) -> list[str]:
    """Return a line of the table for each power of ten of the total."""
    rng = np.random.default_rng(20_261_119)
    lines: dict[int, list[tuple[Fraction, Fraction]]] = defaultdict(list)
    moved_by_order = moved_by_parts = 0
    for _ in range(n_cases):
        size = int(rng.integers(2, 17))
        scores = rng.integers(0, size, size).astype(float)
        labels = rng.integers(0, 2, size)
        weights = draw(rng, size)
        scale = scale_for(magnitudes(weights))
        rule = abers.fit_rule(scores, labels, sample_weight=weights)
        order = rng.permutation(size)
        again = abers.fit_rule(
            scores[order], labels[order], sample_weight=weights[order]
        )
        moved_by_order += rule != again or rule.n_rows != again.n_rows
        cut = int(rng.integers(1, size))
        moved_by_parts += not same_bits_in_parts(scores, labels, weights, scale, cut)
        power = max(0, math.ceil(math.log10(weights.sum())))
        lines[power].append(
            (error(rule, scores, labels, weights), limit(labels, scale))
        )
    table = []
    for power, cases in sorted(lines.items()):
        worst, most = (max(column) for column in zip(*cases, strict=True))
        share = max(far / allowed for far, allowed in cases)
        table.append(
            f"| 10^{power} | {len(cases):,} | {float(worst):.1e} | {float(most):.1e} | "
            f"{float(share):.2f} |"
        )
    table.append(
        f"\nBits that depend on the order of rows: in {moved_by_order} of {n_cases:,} "
        f"cases; on a cut into parts of one scale: in {moved_by_parts}."
    )
    return table


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--write", action="store_true", help="write REAL_WEIGHTS.md")
    options = parser.parse_args()
    pages = []
    for name, draw in FAMILIES.items():
        head = [
            f"## Weights over ten orders of magnitude, {name}",
            "",
            "| total at most | cases | largest error | proven limit | error / limit |",
            "|---|---|---|---|---|",
        ]
        pages.append("\n".join([*head, *measured(draw, options.cases)]))
        print(pages[-1], end="\n\n", flush=True)
    if options.write:
        text = PAGE.read_text(encoding="utf-8").partition(MARK)[0]
        PAGE.write_text(text + MARK + "\n\n" + "\n\n".join(pages) + "\n", "utf-8")


if __name__ == "__main__":
    main()
