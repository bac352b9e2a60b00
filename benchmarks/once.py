"""Measurements that are made once: `python benchmarks/once.py hulls` or `large`."""

from __future__ import annotations

import resource
import sys

import kinds
import numpy as np
from timing import best_times

import abers
from abers.core import blocks


def hulls() -> None:
    """Print what eight parts of ten million scores exchange."""
    for kind in (kinds.normal, kinds.rare):
        scores, labels = kind(np.random.default_rng(0), 10**7)
        order = np.argsort(scores)
        scores, labels = scores[order], labels[order]
        parts = [
            abers.Diagram.from_observations(s, y)
            for s, y in zip(
                np.array_split(scores, 8), np.array_split(labels, 8), strict=True
            )
        ]
        summaries = [blocks.summarise(part) for part in parts]
        contexts = blocks.contexts(summaries)
        corners = [len(s.corners) for s in summaries]
        seen = [len(c.left) + len(c.right) for c in contexts]
        print(
            f"{kind.__name__}: corners of a part at most {max(corners)} "
            f"({16 * max(corners)} bytes), of a context at most {max(seen)} "
            f"({16 * max(seen)} bytes)"
        )


def large() -> None:
    """Fit a hundred million scores beside np.sort of them, best of three each."""
    rng = np.random.default_rng(0)
    size = 10**8
    labels = rng.integers(0, 2, size, dtype=np.int8).astype(bool)
    scores = rng.standard_normal(size)
    scores += labels
    rule = abers.fit_rule(scores, labels)
    fitting, sorting = best_times(
        [lambda: abers.fit_rule(scores, labels), lambda: np.sort(scores)]
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{rule}: fit {fitting:.2f} s, np.sort {sorting:.2f} s, "
        f"ratio {fitting / sorting:.2f}, peak {peak:.1f} GiB"
    )


if __name__ == "__main__":
    {"hulls": hulls, "large": large}[sys.argv[1]]()
