"""Measurements made once: `python benchmarks/once.py hulls`, `parts` or `large`."""

from __future__ import annotations

import resource
import sys

import kinds
import numpy as np
from timing import best_times

import abers
from abers.core import blocks
from abers.engines.messages import from_bytes, to_bytes
from abers.engines.parts import cut, splitters


def hulls() -> None:
    """Print what eight parts of ten million scores exchange."""
    for kind in (kinds.normal, kinds.rare):
        scores, labels = kind(np.random.default_rng(0), 10**7)
        order = np.argsort(scores)
        scores, labels = scores[order], labels[order]
        parts = [
            abers.rules.Diagram.from_rows(s, y)
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


def parts() -> None:
    """Print the time of each step of a fit by ten workers, as nanoseconds a row."""
    size, n_maps = 4 * 10**6, 10
    scores, labels = kinds.normal(np.random.default_rng(0), size)
    rows = list(
        zip(np.array_split(scores, n_maps), np.array_split(labels, n_maps), strict=True)
    )
    maps = [abers.rules.Diagram.from_rows(*each) for each in rows]
    borders = splitters([(d.scores.size, d.scores[::1000]) for d in maps], 4)
    packed = [[to_bytes(part) for part in cut(d, borders)] for d in maps]
    sent = [[from_bytes(b, abers.rules.Diagram) for b in each] for each in packed]
    merged = [abers.rules.Diagram.sum(shares) for shares in zip(*sent, strict=True)]
    summaries = [blocks.summarise(part) for part in merged]
    contexts = [blocks.context(summaries, i) for i in range(len(merged))]
    steps = {
        "np.sort": lambda: np.sort(scores),
        "fit_rule": lambda: abers.fit_rule(scores, labels),
        "count": lambda: [abers.rules.Diagram.from_rows(*each) for each in rows],
        "cut, pack": lambda: [
            [to_bytes(part) for part in cut(d, borders)] for d in maps
        ],
        "unpack": lambda: [
            [from_bytes(b, abers.rules.Diagram) for b in each] for each in packed
        ],
        "merge": lambda: [
            abers.rules.Diagram.sum(shares) for shares in zip(*sent, strict=True)
        ],
        "summarise": lambda: [blocks.summarise(part) for part in merged],
        "piece": lambda: list(map(blocks.piece, merged, contexts)),
    }
    for name, best in zip(steps, best_times(list(steps.values())), strict=True):
        print(f"{name:10} {best / size * 1e9:6.1f} ns a row")


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
    {"hulls": hulls, "parts": parts, "large": large}[sys.argv[1]]()
