"""An engine without machines: what a driver and workers do, in one process.

Everything that would travel goes through its bytes, and pieces arrive in any order.
"""

import numpy as np

from abers import Diagram
from abers.core import blocks
from abers.core.blocks import Content, content_of
from abers.core.messages import from_bytes, to_bytes


def sent(value):
    """Return what arrives of a value."""
    return from_bytes(to_bytes(value), type(value))


def fit(maps, n_parts, *, increasing=True, splitters=None, seed=0):
    """Fit a rule to the diagrams that map tasks have counted."""
    if splitters is None:
        samples = [sent(blocks.sample(counted, 16)) for counted in maps]
        splitters = blocks.splitters(samples, n_parts)
    cut = [[sent(d) for d in blocks.cut(counted, splitters)] for counted in maps]
    parts = [Diagram.sum(shares) for shares in zip(*cut, strict=True)]
    summaries = [sent(blocks.summarise(part, increasing=increasing)) for part in parts]
    counted = sum((sent(content_of(each)) for each in maps), start=Content())
    assert sum((each.content for each in summaries), start=Content()) == counted
    pieces = [
        sent(blocks.piece(sent(part), blocks.context(summaries, i)))
        for i, part in enumerate(parts)
    ]
    order = np.random.default_rng(seed).permutation(len(pieces))
    return blocks.join([pieces[i] for i in order], summaries)
