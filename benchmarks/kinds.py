"""Calibration sets of six kinds, from friendly to hostile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    Sample = tuple[np.ndarray, np.ndarray]


def normal(rng: np.random.Generator, size: int) -> Sample:
    """Draw the paper's artificial set: a fair label plus a standard normal."""
    labels = rng.integers(0, 2, size)
    return labels + rng.standard_normal(size), labels


def uniform(rng: np.random.Generator, size: int) -> Sample:
    """Draw calibrated scores, uniform."""
    scores = rng.random(size)
    return scores, _labels(rng, scores)


def tied(rng: np.random.Generator, size: int) -> Sample:
    """Draw uniform scores rounded to three decimals."""
    scores = rng.random(size).round(3)
    return scores, _labels(rng, scores)


def skewed(rng: np.random.Generator, size: int) -> Sample:
    """Draw calibrated scores u^8: most are near zero."""
    scores = rng.random(size) ** 8
    return scores, _labels(rng, scores)


def rare(rng: np.random.Generator, size: int) -> Sample:
    """Draw one per cent positives, calibrated scores Beta(.05, 4.95)."""
    scores = rng.beta(0.05, 4.95, size)
    return scores, _labels(rng, scores)


def noise(rng: np.random.Generator, size: int) -> Sample:
    """Draw labels independent of the scores."""
    return rng.random(size), rng.integers(0, 2, size)


KINDS: dict[str, Callable[[np.random.Generator, int], Sample]] = {
    "normal": normal,
    "uniform": uniform,
    "tied to 3 decimals": tied,
    "skewed (u^8)": skewed,
    "rare events": rare,
    "noise": noise,
}


def _labels(rng: np.random.Generator, scores: np.ndarray) -> np.ndarray:
    return (rng.random(scores.size) < scores).astype(np.int64)
