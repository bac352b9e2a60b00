"""An engine without machines: what a driver and workers do, in one process.

Everything that would travel goes through its bytes, and pieces arrive in any order.
"""

import numpy as np

from abers.core import blocks
from abers.engines import parts
from abers.engines.messages import from_bytes, to_bytes
from abers.rules import Diagram


def sent(value):
    """Return what arrives of a value; an empty diagram is not sent."""
    if isinstance(value, Diagram) and not value.scores.size:
        return value
    return from_bytes(to_bytes(value), type(value))


def sample(diagram, size=16):
    """Return how many scores a diagram has, and some of them, evenly spaced."""
    scores = diagram.scores
    places = np.linspace(0, scores.size - 1, min(size, scores.size)).astype(int)
    return scores.size, scores[places]


def fit(maps, n_parts, *, increasing=True, splitters=None, seed=0):
    """Fit a rule to the diagrams that workers have counted."""
    if splitters is None:
        samples = [sample(counted) for counted in maps if counted.scores.size]
        splitters = parts.splitters(samples, n_parts)
    shares = [[sent(d) for d in parts.cut(counted, splitters)] for counted in maps]
    held = [Diagram.sum(each) for each in zip(*shares, strict=True)]
    summaries = [sent(blocks.summarise(part, increasing=increasing)) for part in held]
    pieces = [
        sent(blocks.piece(sent(part), blocks.context(summaries, i)))
        for i, part in enumerate(held)
    ]
    order = np.random.default_rng(seed).permutation(len(pieces))
    return blocks.join([pieces[i] for i in order], summaries)
