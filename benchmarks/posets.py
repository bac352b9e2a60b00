"""Rules of partially ordered scores: what they cost to fit and to ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from timing import best_times, once, shown

import abers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abers.core.poset import PosetRule

    Row = tuple[str, str, str, bool]

ASKED = 100  # rows
SIZES = {2: (500, 2_000, 10_000, 50_000), 3: (500, 2_000, 10_000), 5: (500, 2_000)}


def sample(
    rng: np.random.Generator, size: int, columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the scores of models of about equal strength, and labels."""
    risk = rng.normal(size=size)
    labels = rng.random(size) < 1 / (1 + np.exp(-2 * risk))
    return risk[:, None] + 0.7 * rng.normal(size=(size, columns)), labels


def measured(
    rng: np.random.Generator, size: int, columns: int
) -> tuple[float, float, PosetRule]:
    """Return the seconds of a fit, those of a row, and the rule."""
    scores, labels = sample(rng, size, columns)
    (fit,) = best_times(
        [lambda: abers.rules.fit_poset_rule(scores, labels)], seconds=0.5, most=20
    )
    rule = abers.rules.fit_poset_rule(scores, labels)
    rows, _ = sample(rng, ASKED, columns)
    (asked,) = best_times([lambda: rule.bounds(rows)], seconds=1, most=50)
    return fit, asked / ASKED, rule


def targets(rng: np.random.Generator) -> Iterator[Row]:
    """Set what was measured beside its target."""
    for columns, most in ((2, 2e-3), (3, 100e-3)):
        fit, row, rule = measured(rng, 2_000, columns)
        what = f"poset bounds, a row, 2e+03, d = {columns}"
        yield what, shown(row), f"<= {1e3 * most:g} ms", row <= most
        yield f"fit_poset_rule, 2e+03, d = {columns}", shown(fit), "<= 1 s", fit <= 1
        rows, _ = sample(rng, 10, columns)
        out = np.empty((10, 2))
        simple = once(lambda: rule._kernel.bounds(rows, out, 1, from_all=True))  # noqa: B023, SLF001
        ratio = simple / 10 / row
        what = f"the same from all points / from those near the row, d = {columns}"
        yield what, f"{ratio:.3g} x", "", True


def table(rng: np.random.Generator) -> Iterator[str]:
    """Yield the cost of a row, and of a fit, by calibration rows and columns."""
    sizes = SIZES[2]
    yield "| scores | " + " | ".join(f"{size:.0e}" for size in sizes) + " |"
    yield "|---|" + "---|" * len(sizes)
    for columns, measurable in SIZES.items():
        cells = []
        for size in measurable:
            fit, row, _ = measured(rng, size, columns)
            cells.append(f"{shown(row)} ({shown(fit)})")
        cells += ["-"] * (len(sizes) - len(cells))
        yield f"| {columns} | " + " | ".join(cells) + " |"
