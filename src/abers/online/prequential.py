"""Prequential evaluation: each row is predicted from the earlier ones, then learnt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers import _kernel, validation
from abers.core import merging
from abers.losses import SCORING_LOSSES, row_losses
from abers.online.online_set import OnlineVennAbers, arrivals_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.choices import LossName
    from abers.validation import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prequential:
    """Predictions along a stream, and their losses.

    Attributes
    ----------
    labels : ndarray of shape (n,)
        0 or 1.
    bounds : ndarray of shape (n, 2)
        Lower and upper probability of each row, from the rows before it.
    probability : ndarray of shape (n,)
        The bounds merged by minimax for `loss`.
    log_losses, brier_losses : ndarray of shape (n,)
        The losses of `probability`.
    window : int or None
        How many rows were kept; None for all.
    loss : str
        The loss for which the bounds were merged.

    Examples
    --------
    >>> import abers
    >>> sequence = abers.online.prequential([1, 2, 1], [0, 1, 0], loss="brier")
    >>> sequence.bounds  # no rows yet; one 0 below; a 0 here and a 1 above
    array([[0. , 1. ],
           [0. , 1. ],
           [0. , 0.5]])
    >>> sequence.probability  # 1/2 - (1/2)²/2 in the last row
    array([0.5  , 0.5  , 0.375])
    """

    labels: IntArray
    bounds: FloatArray
    probability: FloatArray
    log_losses: FloatArray
    brier_losses: FloatArray
    window: int | None = None
    loss: LossName = "log"

    @property
    def mean_log_loss(self) -> float:
        """The mean natural-log loss."""
        return float(self.log_losses.mean())

    @property
    def mean_brier_loss(self) -> float:
        """The mean Brier loss."""
        return float(self.brier_losses.mean())

    def __repr__(self) -> str:
        return (
            f"Prequential({self.labels.size} rows; mean log loss "
            f"{self.mean_log_loss:.4f}, mean Brier loss {self.mean_brier_loss:.4f})"
        )


def prequential(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    window: int | None = None,
    increasing: bool = True,
    loss: LossName = "log",
) -> Prequential:
    """Predict each row of a stream from the earlier ones, then learn its label.

    No row is predicted by a rule that was fitted to it, so the losses are honest, and
    all rows count. The bounds equal those of a rule refitted before each row, bit for
    bit.

    Parameters
    ----------
    scores : array-like of shape (n,)
        In the order in which the rows came. Real numbers, ±inf allowed, NaN refused.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    window : int, default=None
        How many of the preceding rows predict a row; None for all.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds are merged.

    Returns
    -------
    Prequential
        Bounds, probabilities and losses along the stream.

    Examples
    --------
    >>> import abers
    >>> sequence = abers.online.prequential([1, 2, 3], [0, 1, 0])
    >>> sequence.bounds  # of the third row: 1 / 2 with label 0, 1 with label 1
    array([[0. , 1. ],
           [0. , 1. ],
           [0.5, 1. ]])
    >>> sequence.probability
    array([0.5       , 0.5       , 0.66666667])
    >>> round(sequence.mean_brier_loss, 4)  # (1/4 + 1/4 + 4/9) / 3
    0.3148
    """
    validation.check_choice(loss, SCORING_LOSSES, "loss")
    options = OnlineVennAbers(window=window, increasing=increasing)  # checks arguments
    validation.as_calibration_scores(scores)
    rows = arrivals_of(scores, labels, None)
    online = _kernel.Online(options.window or 0, options.increasing)
    bounds = np.empty((rows.scores.size, 2))
    online.bounds_then_add(*rows, bounds)
    probability = merging.MINIMAX[loss](*bounds.T)
    counts = rows.negatives, rows.positives
    return Prequential(
        labels=rows.positives,
        bounds=bounds,
        probability=probability,
        log_losses=row_losses(probability, *counts, "log"),
        brier_losses=row_losses(probability, *counts, "brier"),
        window=options.window,
        loss=loss,
    )
