"""A calibration set that changes: what a row costs to add, remove and ask."""

from __future__ import annotations

from time import process_time_ns, thread_time_ns
from typing import TYPE_CHECKING

import numpy as np
from kinds import normal, rare
from timing import shown

import abers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from abers import OnlineVennAbers

    Row = tuple[str, str, str, bool]
    Sample = tuple[np.ndarray, np.ndarray]

ASKED = 2_000  # rows added, removed, and scores asked, in a round


def one_class(rng: np.random.Generator, size: int) -> Sample:
    """Draw scores of zeros alone: each is a step of the upper bound."""
    return rng.standard_normal(size), np.zeros(size, dtype=np.int64)


def arriving_sorted(rng: np.random.Generator, size: int) -> Sample:
    """Draw the normal set in the order of its scores."""
    scores, labels = normal(rng, size)
    order = np.argsort(scores)
    return scores[order], labels[order]


def convex(_: np.random.Generator, size: int) -> Sample:
    """Return labels with as many corners of the minorant as there can be.

    The rates of all fractions up to a denominator, in ascending order; a/b takes b
    rows, its zeros before its ones.
    """
    order = 2 + round((size * np.pi**2 / 2) ** (1 / 3))
    totals, ones = np.indices((order, order))[:, 2:, 1:].reshape(2, -1)
    is_reduced = (ones < totals) & (np.gcd(ones, totals) == 1)
    totals, ones = totals[is_reduced], ones[is_reduced]
    ascending = np.argsort(ones / totals)
    runs = np.stack([totals - ones, ones], axis=1)[ascending]
    labels = np.repeat(np.tile([0, 1], len(runs)), runs.ravel())
    middle = labels.size // 2
    labels = labels[max(0, middle - size // 2) :][:size]
    return np.arange(labels.size) / labels.size, labels


KINDS = {
    "normal": normal,
    "rare": rare,
    "one class": one_class,
    "sorted arrival": arriving_sorted,
    "convex": convex,
}
LEAST = {"add": 1500, "remove": 1500, "bounds": 700}  # times faster than a fit
GROWN = 10**6  # rows that are added one by one; more are counted at once


def filled(name: str, scores: np.ndarray, labels: np.ndarray) -> OnlineVennAbers:
    """Return a set of rows; what arrives sorted has grown that way."""
    if name == "sorted arrival" and scores.size <= GROWN:
        return abers.OnlineVennAbers().add_many(scores, labels)
    diagram = abers.rules.Diagram.from_rows(scores, labels)
    return abers.OnlineVennAbers.from_diagram(diagram)


def seconds(
    rng: np.random.Generator, name: str, size: int
) -> tuple[list[float], float]:
    """Return the seconds of an add, a removal and a pair of bounds; and the bytes."""
    scores, labels = KINDS[name](rng, size + ASKED)
    chosen = np.zeros(scores.size, dtype=bool)
    if name == "sorted arrival":
        chosen[-ASKED:] = True
    else:
        chosen[rng.choice(scores.size, ASKED, replace=False)] = True
    order = np.flatnonzero(chosen)
    if name != "sorted arrival":
        order = rng.permutation(order)
    new, new_labels = scores[order], labels[order]
    online = filled(name, scores[~chosen], labels[~chosen])
    asked = rng.permutation(new)[:1_000]
    best = [float("inf")] * 3
    for _ in range(7):
        jobs = [
            lambda: online.add_many(new, new_labels),
            lambda: online.bounds(asked),
            lambda: online.remove_many(new, new_labels),
        ]
        times = [_cpu(job) for job in jobs]
        best = [min(old, time) for old, time in zip(best, times, strict=True)]
    add, bounds, remove = best
    kept = online._kept.bytes / len(online)  # noqa: SLF001
    return [add / ASKED, remove / ASKED, bounds / asked.size], kept


def _cpu(job: Callable[[], object]) -> float:
    """Return the CPU time of a job: another process may have the processor."""
    start = process_time_ns()
    job()
    return (process_time_ns() - start) / 1e9


def targets(rng: np.random.Generator, *, quick: bool) -> Iterator[Row]:
    """Set what was measured at a million rows beside its target."""
    size = 10**5 if quick else 10**6
    scores, labels = normal(rng, size)
    fit = min(_cpu(lambda: abers.fit_rule(scores, labels)) for _ in range(9))
    for name in KINDS:
        times, kept = seconds(rng, name, size)
        for (what, at_a_million), time in zip(LEAST.items(), times, strict=True):
            least = at_a_million * size / 10**6  # a fit is as much faster
            ratio = fit / time
            label = f"fit_rule / online {what}, {name}, {size:.0e}"
            yield label, f"{ratio:,.0f} x", f">= {least:g} x", ratio >= least
        label = f"online, a row, {name}, {size:.0e}"
        yield label, f"{kept:.3g} B", "<= 100 B", kept <= 100
    mean, longest = latency(rng, size)
    what = f"longest of {size:.0e} online adds, and their mean, CPU time"
    yield what, f"{shown(longest)}, {shown(mean)}", "", True


def latency(rng: np.random.Generator, size: int) -> tuple[float, float]:
    """Return the mean and the largest CPU time of an add, from nothing on.

    Of each add the least of three runs is taken: what the machine does beside is not
    repeated, what the set does is.
    """
    scores, labels = (column.tolist() for column in normal(rng, size))
    least = np.full(size, np.iinfo(np.int64).max)
    for _ in range(3):
        online = abers.OnlineVennAbers()
        times = np.empty(size, dtype=np.int64)
        for i, (score, label) in enumerate(zip(scores, labels, strict=True)):
            start = thread_time_ns()
            online.add(score, label)
            times[i] = thread_time_ns() - start
        least = np.minimum(least, times)
    return least.mean() / 1e9, least.max() / 1e9


def growth(rng: np.random.Generator, *, quick: bool) -> Iterator[str]:
    """Print the cost of an add, a removal and a pair of bounds by size."""
    sizes = [10**e for e in range(4, 7 if quick else 8)]
    yield "| kind | " + " | ".join(f"{size:.0e}" for size in sizes) + " |"
    yield "|---|" + "---|" * len(sizes)
    for name in KINDS:
        cells = []
        for size in sizes:
            times, kept = seconds(rng, name, size)
            shares = ", ".join(f"{1e6 * time:.3g}" for time in times)
            cells.append(f"{shares} µs, {kept:.0f} B")
        yield f"| {name} | " + " | ".join(cells) + " |"


if __name__ == "__main__":  # as a part of `make bench`, but alone
    import sys

    generator = np.random.default_rng(0)
    small = "--quick" in sys.argv
    for row in targets(generator, quick=small):
        print(" | ".join(map(str, row)), flush=True)
    for line in growth(generator, quick=small):
        print(line, flush=True)
