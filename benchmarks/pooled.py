"""The pooled rule: what it costs to fit, to keep and to ask."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

import numpy as np
from kinds import normal, rare, tied
from timing import best_times, shown

import abers
from abers.core.pooled import PooledRule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Kind = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
    Row = tuple[str, str, str, bool]

ASKED = 10**5  # rows: so many that the caches do not remember them from the last time


def targets(rng: np.random.Generator, *, quick: bool) -> Iterator[Row]:
    """Set what was measured beside its target."""
    for kind, most in ((normal, 8.0), (tied, 4.0)):
        ratio = fit_ratio(rng, kind)
        what = f"fit_pooled_rule / 5 np.sorts, {kind.__name__}, 1e+05"
        yield what, f"{ratio:.3g} x", f"<= {most:g} x", ratio <= most
    rule = fitted(rng, normal, 10**5, 5)
    kept = bytes_a_score(rule)
    yield "pooled rule, a distinct score", f"{kept:.3g} B", "<= 56 B", kept <= 56
    (single,) = best_times([lambda: rule.bounds(np.zeros((1, 5)))], most=5000)
    yield "pooled bounds, one row", shown(single), "<= 15 µs", single <= 15e-6
    cases = [
        (normal, 10**5, 5, 0.8),
        (rare, 10**5, 5, 0.5),
        (normal, 10**6, 5, 1.5),
        (normal, 10**5, 10, 1.5),
    ]
    for kind, size, k, most in cases:
        if quick and size > 10**5:
            continue
        one = seconds_a_row(rng, fitted(rng, kind, size, k), kind)
        what = f"pooled bounds, a row, {kind.__name__}, {size:.0e}, K = {k}"
        yield what, shown(one), f"<= {most:g} µs", one <= most * 1e-6
    one = seconds_a_row(rng, adversary(5, 99), normal)
    what = "pooled bounds, a row, convex adversary, 2e+06"
    yield what, shown(one), "<= 5 µs", one <= 5e-6


def growth(rng: np.random.Generator, *, quick: bool) -> Iterator[str]:
    """Cost of a row by the number of calibration rows."""
    sizes = [10**e for e in range(3, 7 if quick else 8)]
    yield "| kind | " + " | ".join(f"{size:.0e}" for size in sizes) + " |"
    yield "|---|" + "---|" * len(sizes)
    for kind in (normal, rare, tied):
        cells = [
            shown(seconds_a_row(rng, fitted(rng, kind, size, 5), kind))
            for size in sizes
        ]
        yield f"| {kind.__name__} | " + " | ".join(cells) + " |"


def fit_ratio(rng: np.random.Generator, kind: Kind) -> float:
    """Return the time of a fit over that of sorting the scores of each fold."""
    scores, labels = kind(rng, 10**5)
    folds = rng.integers(0, 5, scores.size)
    parts = [scores[folds == k] for k in range(5)]
    ours, sorts = best_times(
        [
            lambda: abers.rules.fit_pooled_rule(scores, labels, folds),
            lambda: [np.sort(part) for part in parts],
        ],
        seconds=2,
    )
    return ours / sorts


def fitted(rng: np.random.Generator, kind: Kind, size: int, k: int) -> PooledRule:
    """Fit rows of one kind, dealt to k folds."""
    scores, labels = kind(rng, size)
    return abers.rules.fit_pooled_rule(scores, labels, rng.permutation(size) % k)


def seconds_a_row(rng: np.random.Generator, rule: PooledRule, kind: Kind) -> float:
    """Ask for rows whose K scores are independent: the worst for the caches."""
    rows = np.column_stack([kind(rng, ASKED)[0] for _ in range(rule.n_folds)])
    (all_rows,) = best_times([lambda: rule.bounds(rows)], seconds=4, most=100)
    return all_rows / ASKED


def bytes_a_score(rule: PooledRule) -> float:
    """Count the bytes of the diagrams and of what the kernel derives from them."""
    diagrams = [diagram for diagram in rule.diagrams if diagram is not None]
    arrays = [array for d in diagrams for array in (d.scores, d.negatives, d.positives)]
    derived = rule._kernel.bytes  # noqa: SLF001
    return (sum(array.nbytes for array in arrays) + derived) / sum(
        diagram.scores.size for diagram in diagrams
    )


def adversary(k: int, order: int) -> PooledRule:
    """Fit folds whose cumulated points are as convex as integers can be.

    A fold holds every fraction of a denominator up to `order` as the rate of one score,
    in ascending order, and either zeros after them or ones before them that put one
    edge of the minorant under all.
    """
    slopes = sorted(
        (ones / total, total, ones)
        for total in range(2, order + 1)
        for ones in range(1, total)
        if gcd(ones, total) == 1
    )
    totals, positives = (np.array([s[i] for s in slopes]) for i in (1, 2))
    many = totals.sum()
    scores = np.linspace(-3, 4, totals.size)
    left = abers.rules.Diagram.from_counts(
        [*scores, 5], [*totals, many], [*positives, 0]
    )
    right = abers.rules.Diagram.from_counts(
        [-4, *scores], [many, *totals], [many, *positives]
    )
    return PooledRule([(left, right)[fold % 2] for fold in range(k)])
