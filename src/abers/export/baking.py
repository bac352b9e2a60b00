"""Baking: a classifier's way to read a rule, as steps of the score before rounding.

A classifier rounds its score and reads its rule where the bounds are narrowest between
two ends (docs/decisions/0010). All of that depends on the raw score alone, and changes
only where the rounded score, or an end, reaches something that it is compared with. So
it is a step function itself: the least double of each step is searched for, and abers
reads the rule there. Whoever has the table compares a raw score with it, and nothing is
left to round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import log_expit

from abers.estimators.scoring import (
    ClassScores,
    Scored,
    settled_for_keys,
    settled_for_rule,
)

if TYPE_CHECKING:
    from abers.core.pooled import PooledRule
    from abers.core.rule import Rule
    from abers.validation import FloatArray, IntArray

Scoring = Callable[["FloatArray"], Scored]
LEAST = np.iinfo(np.int64).min


class RawSteps(NamedTuple):
    """Steps of a raw score: the least of each, the first -inf, and its bounds."""

    start: FloatArray
    bounds: FloatArray  # (steps, 2)


def margins(noise: float) -> Scoring:
    """Score by margins, which may be off by so much."""

    def scored(raw: FloatArray) -> Scored:
        return ClassScores(raw, are_logarithms=False, noise=noise).of_pair(0, 1)

    return scored


def log_odds(noise: float, *, of_pair: bool) -> Scoring:
    """Score by log-odds: of two classes, or of one against the rest."""

    def scored(raw: FloatArray) -> Scored:
        logs = np.stack((log_expit(-raw), log_expit(raw)), axis=1)
        scores = ClassScores(logs, are_logarithms=True, noise=noise)
        return scores.of_pair(0, 1) if of_pair else scores.of_class(1)

    return scored


def unrounded(noise: float) -> Scoring:
    """Score by what a calibrator compares as it is, but is computed elsewhere."""

    def scored(raw: FloatArray) -> Scored:
        by = np.where(np.isinf(raw), 0.0, noise * (1 + abs(raw)))
        return Scored(raw, raw - by, raw + by)

    return scored


def baked(rule: Rule | None, scored: Scoring) -> RawSteps:
    """Return the steps of a rule in terms of raw scores."""
    if rule is None:  # without calibration rows nothing is known
        return RawSteps(np.array([-np.inf]), np.array([[0.0, 1.0]]))
    percentiles = np.unique(rule.score_quantiles)
    compared = np.concatenate((rule.thresholds, percentiles, _next(percentiles)))
    return _steps(
        compared, scored, lambda found: rule.bounds(settled_for_rule(found, rule))
    )


def baked_pooled(rule: PooledRule, scored: Scoring) -> RawSteps:
    """Return the steps of a pooled rule of one fold in terms of raw scores."""
    (diagram,) = rule.diagrams
    keys = np.empty(0) if diagram is None else diagram.scores
    finite = keys[np.isfinite(keys)]
    middles = finite[:-1] / 2 + finite[1:] / 2  # where the nearer key is another one
    compared = np.concatenate((keys, _next(keys), middles, _next(middles)))

    def read(found: Scored) -> FloatArray:
        return rule.bounds(settled_for_keys(found, keys)[:, np.newaxis])

    return _steps(compared, scored, read)


def _steps(
    compared: FloatArray, scored: Scoring, read: Callable[[Scored], FloatArray]
) -> RawSteps:
    """Search for the raw scores at which a comparison changes, and read there."""
    targets = np.unique(compared)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        parts = [k for k, part in enumerate(scored(targets)) if part is not None]
        found = [_reaching(targets, scored, part) for part in parts]
        start = np.unique(np.concatenate(([-np.inf], *found))) + 0.0  # one kind of zero
        bounds = read(scored(start))
    changes = (bounds[1:] != bounds[:-1]).any(axis=1)
    kept = np.concatenate(([True], changes))
    return RawSteps(start[kept], bounds[kept])


def _reaching(targets: FloatArray, scored: Scoring, part: int) -> FloatArray:
    """Return the least raw scores whose value, or end, is not below the targets."""

    def reached(places: IntArray) -> np.ndarray:
        known = scored(_doubles(places))[part]
        return np.asarray(known) >= targets

    low = np.full(targets.size, _places(np.array(-np.inf)))
    high = np.full(targets.size, _places(np.array(np.inf)))
    while (low < high).any():
        middle = (low >> 1) + (high >> 1) + (low & high & 1)  # rounded down
        is_reached = reached(middle)
        high = np.where(is_reached, middle, high)
        low = np.where(is_reached, low, np.minimum(middle + 1, high))
    return _doubles(high[reached(high)])


def _places(values: FloatArray) -> IntArray:
    """Return the numbers of doubles in their order; of both zeros 0."""
    bits = values.view(np.int64)
    return np.where(bits < 0, LEAST - bits, bits)


def _doubles(places: IntArray) -> FloatArray:
    """Return the doubles of these numbers."""
    return np.where(places < 0, LEAST - places, places).view(np.float64)


def _next(values: FloatArray) -> FloatArray:
    return np.nextafter(values, np.inf)
