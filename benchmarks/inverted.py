"""The study of inverted scores: run it, `--write` puts its tables into INVERTED.md.

How often a fit warns of scores that tell nothing, how often of inverted ones, and how
many pieces the rules have that it warns of: those with more than the limit of
`may_be_inverted` would escape.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

import abers
from abers.core.auc import mann_whitney_of_classes
from abers.core.diagram import sorted_classes
from abers.core.fit import fitted_rule
from abers.core.inverted import FALSE_ALARMS, FEW_PIECES, PIECES_PER_RARER, inverted
from abers.errors import InvertedScoresWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

PAGE = Path(__file__).parent / "INVERTED.md"
MARK = "<!-- measured -->"
RUNS = 20_000
SEED = 2_026
NOISE_ROWS = (20, 100, 1_000)
NOISE_RATES = (0.5, 0.1, 0.02)
ROWS = {100: 150, 1_000: 150, 10_000: 60, 100_000: 15, 1_000_000: 3}  # and runs
RATES = (0.5, 0.2, 0.05, 0.01, 0.001)
DISTANCES = (4, 5, 7, 12, 40)  # of the AUC from one half, in standard errors


def tied(rng: np.random.Generator, scores: Floats, kind: str) -> Floats:
    """Return scores that are all different, rounded, or mostly one."""
    if kind == "rounded":
        return scores.round()
    if kind == "mostly one":
        return np.where(rng.random(scores.size) < 0.95, 0.0, scores)
    return scores


def is_warned_of(scores: Floats, labels: NDArray[np.bool_]) -> bool:
    """Fit a rule, and see whether it would be warned of."""
    _, test = fitted_rule(scores, labels)
    return bool(inverted({"": test}, increasing=True))


def noise(runs: int) -> Iterator[str]:
    """Count the warnings of scores that tell nothing."""
    allowed = FALSE_ALARMS + 3 * math.sqrt(FALSE_ALARMS * (1 - FALSE_ALARMS) / runs)
    yield "### Scores that tell nothing\n"
    yield f"Of {runs:,} fits each; at most {allowed:.4f}."
    yield "\n| rows | positives | distinct | rounded | mostly one |"
    yield "| --- | --- | --- | --- | --- |"
    rng = np.random.default_rng(SEED)
    for n in NOISE_ROWS:
        for rate in NOISE_RATES:
            shares = []
            for kind in ("distinct", "rounded", "mostly one"):
                found = 0
                for _ in range(runs):
                    scores = tied(rng, rng.standard_normal(n), kind)
                    found += is_warned_of(scores, rng.random(n) < rate)
                share = found / runs
                shares.append(f"{share:.4f}" + " **above**" * (share > allowed))
            yield f"| {n:,} | {rate:g} | " + " | ".join(shares) + " |"


def pieces() -> Iterator[str]:
    """Measure the rules of scores that are significantly inverted."""
    yield "\n### Inverted scores\n"
    yield (
        "Normal scores, half of them rounded to one decimal. Of those with a p-value "
        f"below {FALSE_ALARMS}, the most pieces of a rule; and at most which part of "
        f"{FEW_PIECES} + {PIECES_PER_RARER} n / k. Above 1, one escapes.\n"
    )
    yield "| rows | positives | inverted | most pieces | of the limit |"
    yield "| --- | --- | --- | --- | --- |"
    rng = np.random.default_rng(SEED)
    for n, runs in ROWS.items():
        for rate in RATES:
            found = [
                rule
                for distance in DISTANCES
                for _ in range(runs)
                if (rule := inverted_rule(rng, n, rate, distance)) is not None
            ]
            if not found:
                continue
            most = max(rule.lower.size for rule in found)
            part = max(rule.lower.size / limit(rule) for rule in found)
            yield f"| {n:,} | {rate:g} | {len(found)} | {most:,} | {part:.2f} |"


def inverted_rule(
    rng: np.random.Generator, n: int, rate: float, distance: float
) -> abers.rules.Rule | None:
    """Draw inverted scores and fit a rule; None if they are not significantly so."""
    auc = 0.5 - distance / math.sqrt(12 * rate * (1 - rate) * n)
    if auc <= 0:
        return None
    labels = rng.random(n) < rate
    scores = rng.standard_normal(n) + math.sqrt(2) * float(ndtri(auc)) * labels
    scores = scores.round(1) if rng.random() < 0.5 else scores
    test = mann_whitney_of_classes(sorted_classes(scores, labels))
    if test.p_value(increasing=True) >= FALSE_ALARMS:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InvertedScoresWarning)
        return abers.fit_rule(scores, labels)


def limit(rule: abers.rules.Rule) -> float:
    """Return the most pieces that a rule may have to be tested."""
    rarer = min(rule.n_positives, rule.n_rows - rule.n_positives)
    return FEW_PIECES + PIECES_PER_RARER * rule.n_rows / rarer


def page(runs: int) -> Iterator[str]:
    """Run the study, line by line of the page."""
    start = time.perf_counter()
    yield from noise(runs)
    yield from pieces()
    yield f"\n{(time.perf_counter() - start) / 60:.0f} minutes of one core."


def main() -> None:
    """Read the options, run, and print or write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS, help="of noise, a cell")
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
