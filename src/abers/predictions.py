"""Predictions: labels counted by what was predicted for them.

The diagram of predictions (see `Diagram`, with predictions in the place of scores) is
all that most numbers of an evaluation need: one sort serves them all. `evaluation` has
the same numbers for rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtr, xlog1py, xlogy

from abers import validation
from abers.bands import cell_starts
from abers.core.diagram import Diagram
from abers.errors import InvalidParameter, InvalidProbabilities

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.validation import FloatArray, IntArray

DRAWS = 200  # of labels, for a p-value
SEED = 0
ROUNDING = 1e-9  # relative; draws that differ by less are ties


class Cells(NamedTuple):
    """Neighbouring predictions put together."""

    weights: FloatArray  # shares of the total
    means: FloatArray  # of the predictions
    rows: FloatArray  # whole numbers: how many unweighted rows scatter as much


@dataclass(frozen=True, slots=True)
class CalibrationTest:
    """Spiegelhalter's test, which asks if the Brier loss is the one to expect."""

    statistic: float  # standard normal if they are calibrated
    p_value: float


def diagram_of(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None = None
) -> Diagram:
    """Count labels by prediction, after checking that predictions are probabilities.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    Diagram
        Weights of zeros and ones at each distinct prediction.
    """
    values = as_probabilities(p)
    return Diagram.from_observations(values, y, sample_weight=sample_weight)


def scatter_of(
    diagram: Diagram, p: ArrayLike, sample_weight: ArrayLike | None
) -> FloatArray | None:
    """Add up the squared shares of the rows at each prediction.

    A mean over weighted rows scatters as the squares of their shares of the total
    weight: a row of weight 3 is one row, not three, when it comes to noise.

    Parameters
    ----------
    diagram : Diagram
        The predictions, counted with these weights.
    p : array-like of shape (n,)
        The predictions.
    sample_weight : array-like of shape (n,) or None
        Weights of the rows.

    Returns
    -------
    ndarray or None
        None without weights: then all shares are equal, and the diagram tells.
    """
    if sample_weight is None:
        return None
    values = validation.as_scores(p)
    weights = validation.as_weights(sample_weight, values.size)
    kept = weights > 0
    share, ordered = weights[kept] / diagram.n_observations, values[kept]
    order = np.argsort(ordered, kind="stable")
    ordered = ordered[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    squares: FloatArray = np.add.reduceat(share[order] ** 2, first)
    return squares


def losses_of(
    p: FloatArray,
    negatives: IntArray | FloatArray,
    positives: IntArray | FloatArray,
    loss: str,
) -> FloatArray:
    """Return the loss of each prediction with so much weight of each label.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Predictions.
    negatives, positives : ndarray of shape (n,)
        Weights of the labels 0 and 1 that came.
    loss : {"log", "brier"}
        Natural-log loss or plain Brier loss.

    Returns
    -------
    ndarray of shape (n,)
        Infinite where a label came that had probability 0.
    """
    losses: FloatArray = _LOSSES[loss](p, negatives, positives)
    return losses


_LOSSES = {
    "log": lambda p, zeros, ones: (
        0.0 - (xlogy(ones, p) + xlog1py(zeros, -p))
    ),  # no -0.0
    "brier": lambda p, zeros, ones: ones * (1 - p) ** 2 + zeros * p**2,
}


def mean_loss(
    p: FloatArray,
    negatives: IntArray | FloatArray,
    positives: IntArray | FloatArray,
    loss: str,
) -> float:
    """Return the mean loss of predictions with so much weight of each label.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Predictions.
    negatives, positives : ndarray of shape (n,)
        Weights of the labels 0 and 1 that came.
    loss : {"log", "brier"}
        Natural-log loss or plain Brier loss.

    Returns
    -------
    float
        Infinite if a label came that had probability 0.
    """
    total = losses_of(p, negatives, positives, loss).sum()
    return float(total / (negatives.sum() + positives.sum()))


def calibration_error_of(diagram: Diagram, *, bins: int = 10) -> float:
    """Return the ECE of predictions that are counted already.

    Parameters
    ----------
    diagram : Diagram
        Weights per distinct prediction.
    bins : int, default=10
        Bins of [0, 1]; see `expected_calibration_error` for what to mind.

    Returns
    -------
    float
        As by `expected_calibration_error`.
    """
    check_bins(bins)
    counts = diagram.counts
    gap = diagram.positives - diagram.scores * counts
    # Predictions ascend, so a bin is a run of them. 1 belongs to the last.
    start = np.searchsorted(diagram.scores * bins, np.arange(1, bins))
    start = np.unique(np.append(0, start[start < gap.size]))
    return float(abs(np.add.reduceat(gap, start)).sum() / counts.sum())


def spiegelhalter_of(
    diagram: Diagram, *, scatter: FloatArray | None = None
) -> CalibrationTest:
    """Test whether predictions that are counted already are calibrated.

    Parameters
    ----------
    diagram : Diagram
        Weights per distinct prediction.
    scatter : ndarray, default=None
        As by `predictions.scatter_of`; None if weights are numbers of rows.

    Returns
    -------
    CalibrationTest
        As by `spiegelhalter_test`.
    """
    q, counts = diagram.scores, diagram.counts
    total, lever = counts.sum(), 1 - 2 * q
    squares = counts / total**2 if scatter is None else scatter
    excess = ((diagram.positives - q * counts) @ lever) / total
    variance = squares @ (lever**2 * (q * (1 - q)))
    with np.errstate(invalid="ignore", divide="ignore"):
        statistic = float(excess / np.sqrt(variance))
    return CalibrationTest(statistic, float(2 * ndtr(-abs(statistic))))


def cells_of(
    diagram: Diagram, start: IntArray, *, scatter: FloatArray | None = None
) -> Cells:
    """Put runs of predictions into cells.

    Parameters
    ----------
    diagram : Diagram
        Weights per distinct prediction.
    start : ndarray of int
        The place of the first prediction of each cell.
    scatter : ndarray, default=None
        As by `predictions.scatter_of`; None if weights are numbers of rows.

    Returns
    -------
    Cells
        Weighted rows count as (sum of weights)² / (sum of squared weights), rounded.

    Examples
    --------
    >>> from abers import predictions
    >>> diagram = predictions.diagram_of([0, 1, 0, 1], [0.25, 0.5, 0.75, 0.75])
    >>> cells = predictions.cells_of(diagram, [0, 2])
    >>> cells.weights, cells.means, cells.rows
    (array([0.5, 0.5]), array([0.375, 0.75 ]), array([2., 2.]))
    """
    counts = diagram.counts
    total = counts.sum()
    share = counts / total
    weights = np.add.reduceat(share, start)
    means = np.add.reduceat(share * diagram.scores, start) / weights
    squares = share / total if scatter is None else scatter
    return Cells(
        weights,
        np.clip(means, 0.0, 1.0),  # rounding may leave them by an ulp
        np.maximum(1, (weights**2 / np.add.reduceat(squares, start)).round()),
    )


def miscalibration_p_of(
    diagram: Diagram, *, scatter: FloatArray | None = None
) -> float:
    """Test by their miscalibration whether predictions are calibrated, of any kind.

    Parameters
    ----------
    diagram : Diagram
        Weights per distinct prediction.
    scatter : ndarray, default=None
        As by `predictions.scatter_of`; None if weights are numbers of rows.

    Returns
    -------
    float
        How often, of 201 times, labels drawn from the predictions have at least the
        miscalibration of those that came; the latter count as one of the draws.

    Notes
    -----
    Predictions are put into at most 500 cells. The miscalibration, by Brier loss, is
    what isotonic regression would gain over the mean prediction of each cell. Unlike
    Spiegelhalter's test this one sees every bias that a rising map would mend.

    Examples
    --------
    >>> from abers import predictions
    >>> diagram = predictions.diagram_of([1] * 20 + [0] * 20, [0.5] * 40)
    >>> predictions.miscalibration_p_of(diagram)  # one half came: nothing to mend
    1.0
    """
    start = cell_starts(diagram.counts)
    weights, means, rows = cells_of(diagram, start, scatter=scatter)
    total = diagram.counts.sum()

    def gain(frequencies: FloatArray) -> float:
        fitted = isotonic_regression(frequencies, weights=weights).x
        return float(
            weights @ ((frequencies - means) ** 2 - (frequencies - fitted) ** 2)
        )

    came = gain(np.add.reduceat(diagram.positives / total, start) / weights)
    drawn = np.random.default_rng(SEED).binomial(
        rows.astype(np.int64), means, size=(DRAWS, means.size)
    )
    least = came * (1 - ROUNDING) - ROUNDING**2
    exceeded = sum(gain(ones / rows) >= least for ones in drawn)
    return (1 + exceeded) / (1 + DRAWS)


def auc_of(diagram: Diagram) -> float:
    """Return the area under the ROC curve of scores that are counted already.

    Parameters
    ----------
    diagram : Diagram
        Weights per distinct score.

    Returns
    -------
    float
        As by `auc`.
    """
    zeros = diagram.negatives.astype(np.float64)
    below = np.cumsum(zeros) - zeros / 2
    with np.errstate(invalid="ignore"):
        pairs = np.float64(diagram.n_positives) * zeros.sum()
        return float((diagram.positives * below).sum() / pairs)


def as_probabilities(values: object, name: str = "p") -> FloatArray:
    """Return a column of numbers between 0 and 1; at least one.

    Parameters
    ----------
    values : array-like of shape (n,)
        The numbers.
    name : str, default="p"
        What to call them in a message.

    Returns
    -------
    ndarray of shape (n,)
        Contiguous doubles.
    """
    p = validation.as_scores(values, name)
    bad: NDArray[np.bool_] = ~((p >= 0) & (p <= 1))
    if bad.any():
        row = int(bad.argmax())
        msg = f"{name} must be between 0 and 1; got {p[row].item()!r} at row {row}."
        raise InvalidProbabilities(msg)
    if not p.size:
        msg = f"{name} must not be empty; got no rows to judge."
        raise InvalidProbabilities(msg)
    return p


def check_bins(bins: int) -> None:
    """Refuse a number of bins that cannot be.

    Parameters
    ----------
    bins : int
        To be positive.
    """
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or bins < 1:
        msg = f"bins must be a positive integer; got {bins!r}."
        raise InvalidParameter(msg)
