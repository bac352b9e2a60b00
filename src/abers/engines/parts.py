"""Parts: the diagrams of many workers, cut by score into parts, one worker each.

No score is in two parts. `abers.core.blocks` fits a rule to such parts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from abers.core.auc import RunningAuc
from abers.core.diagram import Diagram, trusted_diagram
from abers.core.units import Units, canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.core.blocks import Summary
    from abers.validation import FloatArray

PART_SCORES = 5_000_000  # 50 MB in a part
MOST_PART_SCORES = 50_000_000  # 500 MB; a cell of a frame holds less than 2 GB


def splitters(
    samples: Sequence[tuple[int, FloatArray]], n_parts: int | None = None
) -> FloatArray:
    """Choose where parts begin, so that they have about equally many distinct scores.

    Each sample is a diagram's number of scores, with some of these scores, evenly
    spaced. Part i holds the scores from splitters[i - 1] up to, but not including,
    splitters[i]. There are fewer splitters than `n_parts`, all distinct; no part has
    more than 50 million scores.

    >>> splitters([(4, np.arange(4.0)), (4, np.array([9.0]))], 2)
    array([9.])
    """
    n_scores = sum(size for size, _ in samples)
    wanted = -(-n_scores // PART_SCORES) if n_parts is None else n_parts
    wanted = max(wanted, -(-n_scores // MOST_PART_SCORES))
    scores = np.concatenate([sample for _, sample in samples])
    weights = np.concatenate([np.full(len(s), size / len(s)) for size, s in samples])
    order = np.argsort(scores, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    places = np.searchsorted(before, n_scores * np.arange(1, wanted) / wanted)
    chosen = scores[order][places[places < scores.size]]
    return np.unique(chosen[chosen > scores.min()])  # every part has scores


def cut(diagram: Diagram, splitters: FloatArray) -> list[Diagram]:
    """Cut a diagram into parts, one more than splitters, which share its arrays."""
    inner = np.searchsorted(diagram.scores, splitters).tolist()
    negatives, positives, scale = diagram.units
    return [
        trusted_diagram(
            diagram.scores[a:b],
            *canonical(Units(negatives[a:b], positives[a:b], scale)),
        )
        for a, b in pairwise([0, *inner, diagram.scores.size])
    ]


def auc_of_parts(in_order: Sequence[float], summaries: Sequence[Summary]) -> float:
    """Return the AUC, given the pairs in order within each part."""
    auc = RunningAuc()
    for within, summary in zip(in_order, summaries, strict=True):
        unit = 2.0**-summary.scale
        auc.add(within, summary.n_negatives * unit, summary.n_positives * unit)
    return auc.value
