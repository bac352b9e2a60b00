"""Drift: how far scores have moved since the calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core.effective_sizes import effective_rows
from abers.errors import need
from abers.thresholds import LARGE_DRIFT, MODERATE_DRIFT, SIGNIFICANCE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.rule import Rule
    from abers.validation import FloatArray


def population_stability_index(
    reference: ArrayLike,
    scores: ArrayLike,
    *,
    bins: int = 10,
    sample_weight: ArrayLike | None = None,
    reference_weight: ArrayLike | None = None,
) -> float:
    """Measure how far scores have drifted from the calibration scores.

    Parameters
    ----------
    reference : array-like
        Calibration scores, or their percentiles (`rule.score_quantiles`).
    scores : array-like of shape (n,)
        Recent scores.
    bins : int, default=10
        Number of bins, cut at quantiles of the reference.
    sample_weight : array-like of shape (n,), default=None
        Weights of the recent scores.
    reference_weight : array-like, default=None
        Weights of the reference.

    Returns
    -------
    float
        Below 0.1 stable, above 0.2 large drift, by the usual rule of thumb.

    Examples
    --------
    >>> import numpy as np
    >>> from abers import evaluation
    >>> reference = np.arange(100)
    >>> evaluation.population_stability_index(reference, reference)
    0.0
    >>> evaluation.population_stability_index(reference, reference + 50) > 0.2
    True
    """
    validation.check_positive_integer(bins, "bins")
    old, new = _scores(reference, "reference"), _scores(scores, "scores")
    old_weights = _weights(reference_weight, old.size, "reference_weight")
    cuts = _cuts(old, bins, old_weights)
    weights = _weights(sample_weight, new.size, "sample_weight")
    expected = _counts(old, cuts, old_weights)
    expected /= expected.sum()
    recent = _counts(new, cuts, weights)
    # Half a row for an empty bin, so that its logarithm exists.
    share = np.maximum(recent / recent.sum(), 0.5 / np.count_nonzero(weights))
    return float(((share - expected) * np.log(share / expected)).sum())


def stability_noise(
    n_rows: float, n_reference: float, *, bins: int = 10, level: float = SIGNIFICANCE
) -> float:
    """Return the index that scores without drift exceed with probability `level`.

    Examples
    --------
    >>> from abers.evaluation import drift
    >>> [round(drift.stability_noise(n, 10**6), 3) for n in (50, 1_000)]  # 21.67 / n
    [0.433, 0.022]
    """
    need("scipy", what="abers.evaluation")
    from scipy.special import chdtri

    validation.check_positive_integer(bins, "bins")
    return float(chdtri(bins - 1, level) * (1 / n_rows + 1 / n_reference))


def drift_level(index: float, *, noise: float = 0.0) -> str:
    """Return the usual word for a population stability index.

    Parameters
    ----------
    index : float
        As returned by `population_stability_index`.
    noise : float, default=0.0
        The index that scores without drift can reach; see `stability_noise`.

    Returns
    -------
    str
        "stable" below 0.1 or within the noise, "large" above 0.2, else "moderate".

    Examples
    --------
    >>> from abers import evaluation
    >>> [evaluation.drift_level(index) for index in (0.05, 0.1, 0.2, 0.25)]
    ['stable', 'moderate', 'moderate', 'large']
    """
    if index < MODERATE_DRIFT or index <= noise:
        return "stable"
    return "large" if index > LARGE_DRIFT else "moderate"


@dataclass(frozen=True, slots=True)
class Drift:
    """How far scores have moved since the calibration.

    Attributes
    ----------
    psi : float
        Population stability index of the scores, against those of the calibration.
    noise : float
        The value that the index exceeds with probability 0.01 if there is no drift.
    level : str
        "stable", "moderate" or "large".
    """

    psi: float
    noise: float
    level: str


def drift_of(
    rule: Rule, scores: FloatArray, weights: FloatArray | None
) -> Drift | None:
    """Compare scores with those of the calibration, if there are enough rows."""
    noise = stability_noise(effective_rows(weights, scores.size), rule.n_rows)
    if noise > LARGE_DRIFT:
        return None
    index = population_stability_index(
        rule.score_quantiles, scores, sample_weight=weights
    )
    return Drift(index, noise, drift_level(index, noise=noise))


def _scores(values: ArrayLike, name: str) -> FloatArray:
    scores = validation.as_scores(values, name)
    validation.check_scores(scores, name=name, purpose="measuring drift")
    validation.check_rows_exist(scores.size)
    return scores


def _weights(values: ArrayLike | None, size: int, name: str) -> FloatArray:
    if values is None:
        return np.ones(size)
    return validation.as_relative_weights(values, size, name)


def _cuts(reference: FloatArray, bins: int, weights: FloatArray) -> FloatArray:
    """Return cuts at quantiles; a bin begins at its cut, so each bin has weight."""
    kept = weights > 0
    order = np.argsort(reference[kept])
    ordered, below = reference[kept][order], np.cumsum(weights[kept][order])
    places = np.searchsorted(below * bins, np.arange(1, bins) * below[-1], side="right")
    cuts = np.unique(ordered[np.minimum(places, ordered.size - 1)])
    # No score is below the lowest: an empty bin there would look like drift if the
    # reference, which may be percentiles, has fewer rows.
    inner: FloatArray = cuts[cuts > ordered[0]]
    if not inner.size:
        inner = ordered[ordered > ordered[0]][:1]
    return inner


def _counts(scores: FloatArray, cuts: FloatArray, weights: FloatArray) -> FloatArray:
    cell = np.searchsorted(cuts, scores, side="right")
    counts = np.bincount(cell, weights=weights, minlength=cuts.size + 1)
    return np.asarray(counts, dtype=np.float64)
