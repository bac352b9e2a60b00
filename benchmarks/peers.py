"""What others offer for the same job, each called as its own documentation says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from kinds import KINDS
from timing import best_times, once, shown

import abers
from abers.core.merging import merge_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kinds import Sample

LIMIT = 20.0  # seconds that one run of a peer may take


def ours(scores: np.ndarray, labels: np.ndarray, new: np.ndarray) -> object:
    """Fit and predict with abers."""
    return abers.fit_rule(scores, labels).bounds(new)


def sort(scores: np.ndarray, _labels: np.ndarray, _new: np.ndarray) -> object:
    """Only sort."""
    return np.sort(scores)


def argsort(scores: np.ndarray, _labels: np.ndarray, _new: np.ndarray) -> object:
    """Only sort, indirectly."""
    return np.argsort(scores)


def scipy_isotonic(scores: np.ndarray, labels: np.ndarray, _new: np.ndarray) -> object:
    """Fit one isotonic regression, of the two families that we fit; no prediction."""
    from scipy.optimize import isotonic_regression

    return isotonic_regression(labels[np.argsort(scores)])


def sklearn_isotonic(scores: np.ndarray, labels: np.ndarray, new: np.ndarray) -> object:
    """Fit and predict one isotonic regression."""
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
    return model.predict(new)


def venn_abers(scores: np.ndarray, labels: np.ndarray, new: np.ndarray) -> object:
    """Fit and predict with the package venn-abers; it wants two columns."""
    from venn_abers import VennAbers

    model = VennAbers()
    model.fit(np.stack((1 - scores, scores), axis=1), labels)
    return model.predict_proba(np.stack((1 - new, new), axis=1))


def mapie(scores: np.ndarray, labels: np.ndarray, new: np.ndarray) -> object:
    """Fit and predict with MAPIE's Venn-Abers core."""
    from mapie._venn_abers import VennAbers

    model = VennAbers()
    model.fit(np.stack((1 - scores, scores), axis=1), labels)
    return model.predict_proba(np.stack((1 - new, new), axis=1))


PEERS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], object]] = {
    "np.sort": sort,
    "np.argsort": argsort,
    "abers": ours,
    "scipy argsort + isotonic": scipy_isotonic,
    "sklearn IsotonicRegression": sklearn_isotonic,
    "venn-abers": venn_abers,
    "MAPIE": mapie,
}
SLOW = ("venn-abers", "MAPIE")


def table(
    rng: np.random.Generator, sizes: Sequence[int], *, quick: bool
) -> Iterator[str]:
    """Yield a table for each kind: peers by sizes."""
    for kind, draw in KINDS.items():
        yield f"\n### {kind}\n"
        yield "| | " + " | ".join(f"{size:.0e}" for size in sizes) + " |"
        yield "|---|" + "---|" * len(sizes)
        samples = [(*draw(rng, size), draw(rng, size)[0]) for size in sizes]
        sorts = [_time(sort, sample) for sample in samples]
        for name, peer in PEERS.items():
            if quick and name in SLOW:
                continue
            cells, last, stopped = [], 0.0, False
            for sample, base in zip(samples, sorts, strict=True):
                # Ten times the data take ten times as long at the very least.
                stopped = stopped or last * 10 > LIMIT
                if stopped:
                    cells.append("-")
                    continue
                last = _time(peer, sample)
                cells.append(f"{shown(last)} ({last / base:.3g})")
            yield f"| {name} | " + " | ".join(cells) + " |"


def _time(
    peer: Callable[[np.ndarray, np.ndarray, np.ndarray], object],
    sample: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> float:
    first = once(lambda: peer(*sample))
    if first > 1:
        return first
    return min(first, *best_times([lambda: peer(*sample)], seconds=0.5))


def our_folds(parts: list[Sample], new: list[np.ndarray]) -> object:
    """Fit K rules, read and merge them."""
    rules = [abers.fit_rule(scores, labels) for scores, labels in parts]
    return merge_rules(rules, new)


def isotonic_folds(parts: list[Sample], new: list[np.ndarray]) -> object:
    """Fit K isotonic regressions, read and average them, as CalibratedClassifierCV."""
    from sklearn.isotonic import IsotonicRegression

    models = [
        IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
        for scores, labels in parts
    ]
    values = [model.predict(scores) for model, scores in zip(models, new, strict=True)]
    return np.mean(values, axis=0)
