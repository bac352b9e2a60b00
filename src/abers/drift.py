"""Drift: how far scores have moved from those of the calibration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtri

from abers import validation
from abers.predictions import check_bins

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.validation import FloatArray

LITTLE, MUCH = 0.1, 0.2


def population_stability_index(
    reference: ArrayLike,
    scores: ArrayLike,
    *,
    bins: int = 10,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Measure how far scores have drifted from those of the calibration.

    Parameters
    ----------
    reference : array-like
        Calibration scores, or their percentiles (`rule.score_quantiles`).
    scores : array-like of shape (n,)
        Recent scores.
    bins : int, default=10
        Bins, cut at quantiles of the reference.
    sample_weight : array-like of shape (n,), default=None
        Weights of the recent scores.

    Returns
    -------
    float
        Below 0.1 little drift, above 0.2 much, by the usual rule of thumb.

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
    check_bins(bins)
    old, new = _scores(reference, "reference"), _scores(scores, "scores")
    cuts = _cuts(old, bins)
    weights = None
    if sample_weight is not None:
        weights = validation.as_weights(sample_weight, new.size)
        validation.check_total(weights, "sample_weight")
    cell = np.searchsorted(cuts, new, side="right")
    counts = np.bincount(cell, weights=weights, minlength=cuts.size + 1)
    return _index(_shares_of(old, cuts), counts / counts.sum(), new.size)


def stability_of(reference: ArrayLike, diagram: Diagram, *, bins: int = 10) -> float:
    """Measure the drift of scores that are counted already.

    Parameters
    ----------
    reference : array-like
        Calibration scores, or their percentiles (`rule.score_quantiles`).
    diagram : Diagram
        Number of rows at each distinct recent score.
    bins : int, default=10
        Bins, cut at quantiles of the reference.

    Returns
    -------
    float
        As by `population_stability_index`.
    """
    check_bins(bins)
    old = _scores(reference, "reference")
    cuts = _cuts(old, bins)
    below = np.append(0, np.cumsum(diagram.counts))
    total = below[-1].item()
    at_cuts = below[np.searchsorted(diagram.scores, cuts)]
    counts = np.diff(at_cuts, prepend=0, append=total)
    return _index(_shares_of(old, cuts), counts / total, total)


def chance_index(n_rows: float, n_reference: float, *, bins: int = 10) -> float:
    """Return the index that scores without any drift exceed once in a hundred times.

    Parameters
    ----------
    n_rows, n_reference : float
        Number of recent scores, and of those of the calibration.
    bins : int, default=10
        As for `population_stability_index`.

    Returns
    -------
    float
        About (1 / n_rows + 1 / n_reference) times a quantile of chi-square.

    Examples
    --------
    >>> from abers import drift
    >>> [round(drift.chance_index(n, 10**6), 3) for n in (50, 1_000)]  # 21.67 / n
    [0.433, 0.022]
    """
    check_bins(bins)
    return float(chdtri(bins - 1, 0.01) * (1 / n_rows + 1 / n_reference))


def drift_verdict(index: float, *, by_chance: float = 0.0) -> str:
    """Say in a word what a population stability index means, by the rule of thumb.

    Parameters
    ----------
    index : float
        As by `population_stability_index`.
    by_chance : float, default=0.0
        What chance can make, as by `chance_index`.

    Returns
    -------
    str
        "none" below 0.1 or within chance, "much" above 0.2, else "some".

    Examples
    --------
    >>> from abers import evaluation
    >>> [evaluation.drift_verdict(index) for index in (0.05, 0.1, 0.2, 0.25)]
    ['none', 'some', 'some', 'much']
    """
    if index < LITTLE or index <= by_chance:
        return "none"
    return "much" if index > MUCH else "some"


def _scores(values: ArrayLike, name: str) -> FloatArray:
    scores = validation.as_scores(values, name)
    missing = np.isnan(scores)
    if missing.any():
        validation.refuse_missing_scores(
            int(missing.sum()),
            int(missing.argmax()),
            scores.size,
            name=name,
            purpose="measuring drift",
        )
    return validation.as_calibration_scores(scores)


def _cuts(reference: FloatArray, bins: int) -> FloatArray:
    ordered = np.sort(reference)
    return np.unique(ordered[np.arange(1, bins) * ordered.size // bins])


def _shares_of(reference: FloatArray, cuts: FloatArray) -> FloatArray:
    cell = np.searchsorted(cuts, reference, side="right")
    counts = np.bincount(cell, minlength=cuts.size + 1)
    return np.maximum(counts, 0.5) / reference.size


def _index(expected: FloatArray, actual: FloatArray, rows: float) -> float:
    # Half a row for an empty bin: its logarithm must exist.
    share = np.maximum(actual, 0.5 / rows)
    return float(((share - expected) * np.log(share / expected)).sum())
