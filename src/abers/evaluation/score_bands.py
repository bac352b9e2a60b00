"""Score bands: how often the label occurred in each range of scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from reprlib import repr as shortened
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core.effective_sizes import effective_size
from abers.core.intervals import exact_limits
from abers.errors import InvalidParameter
from abers.evaluation.counts import cell_starts
from abers.evaluation.discrimination import CONFIDENCE, Estimate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.diagram import Diagram
    from abers.core.predictions import Predictions
    from abers.validation import FloatArray

MOST_BANDS = 100
SIDE = (1 - CONFIDENCE) / 2


@dataclass(frozen=True, slots=True)
class ScoreBand:
    """The rows of one range of scores.

    Attributes
    ----------
    start, end : float
        The band has the scores from `start` on that are below `end`; the first starts
        at -inf, the last ends at inf.
    n_rows, n_positives : int
        Rows, and those labelled 1.
    mean_prediction, mean_prediction_before : float
        The latter is NaN if nothing is known of the time before calibration.
    observed_rate : Estimate
        With the 95 % interval of Clopper and Pearson; weighted rows count as their
        effective number.
    """

    start: float
    end: float
    n_rows: int
    n_positives: int
    mean_prediction: float
    mean_prediction_before: float
    observed_rate: Estimate

    @property
    def agrees(self) -> bool:
        """Whether the mean prediction lies in the interval of the observed rate."""
        rate = self.observed_rate
        return rate.lower <= self.mean_prediction <= rate.upper


def edges_of(bands: int | ArrayLike, column: Diagram) -> FloatArray:
    """Return where bands but the first start; a number asks for bands of equal size.

    Ties stay in one band, so that there may be fewer.

    >>> from abers.core.diagram import Diagram
    >>> column = Diagram.from_rows([1, 2, 2, 3], [0, 0, 1, 1])
    >>> edges_of(2, column), edges_of([2.5], column)
    (array([3.]), array([2.5]))
    """
    if np.ndim(bands) == 0:
        number = validation.as_count(bands, "bands")
        if not 1 <= number <= MOST_BANDS:
            msg = f"bands must be between 1 and {MOST_BANDS}; got {number}."
            raise InvalidParameter(msg)
        return column.scores[cell_starts(column.counts, number)[1:]]
    edges = validation.as_numbers(bands, "bands")
    is_ascending = edges.ndim == 1 and np.isfinite(edges).all()
    if not is_ascending or not (np.diff(edges) > 0).all() or edges.size >= MOST_BANDS:
        msg = (
            f"bands must be a number of bands, or fewer than {MOST_BANDS} ascending "
            f"scores; got {shortened(bands)}. Name the score at which each band but "
            "the first starts."
        )
        raise InvalidParameter(msg)
    return edges


def score_bands(
    predictions: Predictions,
    scores: FloatArray,
    edges: FloatArray,
    weights: FloatArray | None,
) -> tuple[ScoreBand, ...]:
    """Compare predictions with observed rates in each band that has rows."""
    labels, p = predictions.column()
    earlier = predictions.earlier
    before = None if earlier is None else earlier.column().probabilities
    w = np.ones(p.size) if weights is None else weights
    places = np.searchsorted(edges, scores, side="right")
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], np.arange(edges.size + 2))
    ends = [-math.inf, *edges.tolist(), math.inf]
    bands = []
    for (start, end), (first, last) in zip(
        pairwise(ends), pairwise(starts), strict=True
    ):
        if first == last:
            continue
        rows = order[first:last]
        rate = float(np.average(labels[rows], weights=w[rows]))
        bands.append(
            ScoreBand(
                start,
                end,
                n_rows=rows.size,
                n_positives=int(labels[rows].sum()),
                mean_prediction=float(np.average(p[rows], weights=w[rows])),
                mean_prediction_before=math.nan
                if before is None
                else float(np.average(before[rows], weights=w[rows])),
                observed_rate=_with_interval(rate, effective_size(w[rows])),
            )
        )
    return tuple(bands)


def _with_interval(rate: float, n_rows: float) -> Estimate:
    """Return a rate with the limits of Clopper and Pearson.

    >>> _with_interval(0.0, 10.0).upper  # 1 - 0.025 ** (1 / 10)
    0.3084971...
    """
    n, ones = np.array([n_rows]), np.array([n_rows * rate])
    upper = exact_limits(n, ones, SIDE)[0]
    lower = 1 - exact_limits(n, n - ones, SIDE)[0]
    return Estimate(rate, min(float(lower), rate), max(float(upper), rate))
