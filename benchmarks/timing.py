"""Best-of-N times, taken in turns so that a ratio compares like with like."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Job = Callable[[], object]


def best_times(
    jobs: Sequence[Job], *, seconds: float = 1.0, most: int = 200
) -> list[float]:
    """Run the jobs in turns for about `seconds`, at least three rounds; least times."""
    best = [float("inf")] * len(jobs)
    started, rounds = perf_counter(), 0
    while rounds < 3 or (perf_counter() - started < seconds and rounds < most):
        for i, job in enumerate(jobs):
            start = perf_counter()
            job()
            best[i] = min(best[i], perf_counter() - start)
        rounds += 1
    return best


def once(job: Job) -> float:
    """Time one run."""
    start = perf_counter()
    job()
    return perf_counter() - start


def shown(seconds: float) -> str:
    """Show a time with the unit that fits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    if seconds >= 1e-6:
        return f"{seconds / 1e-6:.3g} µs"
    return f"{seconds / 1e-9:.3g} ns"
