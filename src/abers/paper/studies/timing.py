"""Timing: the paper's artificial set, labels plus noise, in growing sizes."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.core.fit import fit_rule
from abers.estimators import IsotonicCalibrator, PlattCalibrator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from abers.validation import FloatArray, IntArray

SIZES = (1_000, 10_000, 100_000, 1_000_000)
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds, the least of a few, to calibrate with k scores and to predict k more."""

    k: int
    sort: float  # np.sort of the scores: nothing that orders them can be quicker
    fit_ivap: float
    predict_ivap: float
    fit_isotonic: float
    fit_platt: float


def artificial(rng: np.random.Generator, size: int) -> tuple[FloatArray, IntArray]:
    """Draw fair labels y, and scores y + ξ with ξ standard normal.

    Parameters
    ----------
    rng : numpy.random.Generator
        Draws them.
    size : int
        Number of observations.

    Returns
    -------
    tuple of ndarray
        Scores and labels.
    """
    labels = rng.integers(0, 2, size)
    return labels + rng.standard_normal(size), labels


def run(sizes: Sequence[int] = SIZES, *, seed: int = 0) -> list[Timing]:
    """Time an IVAP on the artificial set, beside sorting and the other methods.

    Parameters
    ----------
    sizes : sequence of int, default=(1000, 10000, 100000, 1000000)
        Numbers of calibration scores.
    seed : int, default=0
        Seed of the data.

    Returns
    -------
    list of Timing
        One for each size.
    """
    rng = np.random.default_rng(seed)
    return [_timed(*artificial(rng, k), artificial(rng, k)[0]) for k in sizes]


def _timed(scores: FloatArray, labels: IntArray, new: FloatArray) -> Timing:
    rule = fit_rule(scores, labels)
    return Timing(
        scores.size,
        _seconds(lambda: np.sort(scores)),
        _seconds(lambda: fit_rule(scores, labels)),
        _seconds(lambda: rule.bounds(new)),
        _seconds(lambda: IsotonicCalibrator().fit(scores, labels)),
        _seconds(lambda: PlattCalibrator().fit(scores, labels)),
    )


def _seconds(work: Callable[[], Any]) -> float:
    taken = []
    for _ in range(REPEATS):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return min(taken)
