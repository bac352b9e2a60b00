"""The paper's losses, scaled so that an uninformed prediction costs 1.

With C classes, logarithms have base C and the Brier loss the factor C / (C - 1): always
predicting 1/C has loss 1. For two classes these are bits, and 4 (y - p)². Their names
say so: `paper_log_loss` is not `abers.evaluation.log_loss`, which has the natural
logarithm, as in scikit-learn, and appears in evaluations and reports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np

from abers import validation
from abers.choices import LossName
from abers.errors import InvalidData

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.validation import FloatArray, IntArray

    Weights = IntArray | FloatArray | NDArray[np.bool_]

__all__ = ["paper_brier_loss", "paper_log_loss", "paper_root_brier_loss"]


def paper_log_loss(y: ArrayLike, p: ArrayLike) -> float:
    """Return the paper's MLL, eq. (9): the mean of -log_C of the label's probability.

    For two classes these are bits: `abers.evaluation.log_loss` divided by ln 2.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1, or 0 … C - 1 if `p` has C columns.
    p : array-like of shape (n,) or (n, C)
        Probability of label 1, or of each label.

    Returns
    -------
    float
        Infinite if an observed label had probability 0.

    Examples
    --------
    >>> from abers import losses
    >>> losses.paper_log_loss([1, 0], [0.5, 0.5])
    1.0
    >>> losses.paper_log_loss([1, 0], [0.25, 0.5])  # (2 + 1) / 2
    1.5
    >>> losses.paper_log_loss([1], [0.0])
    inf
    """
    labels, probabilities = _as_labels_and_probabilities(y, p)
    rows = np.arange(labels.size)
    with np.errstate(divide="ignore"):
        each = -np.log2(probabilities[rows, labels])
    return float(np.mean(each) / np.log2(probabilities.shape[1]) + 0.0)


def paper_brier_loss(y: ArrayLike, p: ArrayLike) -> float:
    """Return the paper's MBL, eq. (9): the mean of C/(C-1) times the squared errors.

    For two classes it is four times `abers.evaluation.brier_loss`.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1, or 0 … C - 1 if `p` has C columns.
    p : array-like of shape (n,) or (n, C)
        Probability of label 1, or of each label.

    Returns
    -------
    float
        4 (y - p)² on average for two classes.

    Examples
    --------
    >>> from abers import losses
    >>> losses.paper_brier_loss([1, 0], [0.5, 1.0])  # (4 * 0.25 + 4) / 2
    2.5
    """
    labels, probabilities = _as_labels_and_probabilities(y, p)
    classes = probabilities.shape[1]
    errors = np.eye(classes)[labels] - probabilities
    return float(np.mean((errors**2).sum(axis=1)) * classes / (classes - 1))


def paper_root_brier_loss(y: ArrayLike, p: ArrayLike) -> float:
    """Return the square root of `paper_brier_loss`; 1 for an uninformed prediction.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1, or 0 … C - 1 if `p` has C columns.
    p : array-like of shape (n,) or (n, C)
        Probability of label 1, or of each label.

    Returns
    -------
    float
        The root of the mean, not the mean of the roots: the root of a single
        prediction's loss would not be a proper loss.

    Examples
    --------
    >>> from abers import losses
    >>> losses.paper_root_brier_loss([1, 0], [0.75, 0.25])  # 2 |y - p| on average
    0.5
    """
    return float(np.sqrt(paper_brier_loss(y, p)))


def _as_labels_and_probabilities(
    y: ArrayLike, p: ArrayLike
) -> tuple[validation.IntArray, FloatArray]:
    given = validation.as_numbers(p, "p")
    probabilities = np.stack((1 - given, given), axis=1) if given.ndim == 1 else given
    if probabilities.ndim != 2 or probabilities.shape[1] < 2:
        msg = f"p must have shape (n,) or (n, C); got {given.shape}."
        raise InvalidData(msg)
    outside = ~((probabilities >= 0) & (probabilities <= 1))
    if outside.any():
        row = int(np.argwhere(outside)[0, 0])
        msg = f"p must be between 0 and 1; got {given[row].tolist()!r} at row {row}."
        raise InvalidData(msg)
    labels = validation.as_labels(y, "y")
    validation.check_length(labels.size, len(probabilities), "y", "p")
    if not labels.size:
        msg = "y must not be empty; got no rows to score."
        raise InvalidData(msg)
    classes = probabilities.shape[1]
    bad = ~np.isin(labels, np.arange(classes))
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"y must be among 0 … {classes - 1}; "
            f"got {labels[row].item()!r} at row {row}."
        )
        raise InvalidData(msg)
    return labels.astype(np.int64), probabilities


def class_losses(p: FloatArray, labels: IntArray, loss: LossName) -> FloatArray:
    """Return the loss of each row of probabilities of C classes: (n,).

    Natural-log loss, infinite where the label had probability 0; or Brier loss, the sum
    of squared differences over the classes.
    """
    rows = np.arange(labels.size)
    if loss == "log":
        with np.errstate(divide="ignore"):
            logs: FloatArray = 0.0 - np.log(p[rows, labels])  # never -0.0
        return logs
    squares: FloatArray = (p**2).sum(axis=1) - p[rows, labels] ** 2
    return squares + (1 - p[rows, labels]) ** 2


def row_losses(
    p: FloatArray,
    negatives: Weights,
    positives: Weights,
    loss: LossName,
) -> FloatArray:
    """Return the loss of each prediction, given the weight of each label.

    Infinite where an observed label had probability 0.
    """
    losses: FloatArray = _OF_ROWS[loss](p, negatives, positives)
    return losses


def mean_loss(
    p: FloatArray,
    negatives: Weights,
    positives: Weights,
    loss: LossName,
) -> float:
    """Return the mean of `row_losses` over the weights."""
    total = row_losses(p, negatives, positives, loss).sum()
    return float(total / (negatives.sum() + positives.sum()))


def paired_difference(
    losses: FloatArray, others: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    """Return the mean difference of two losses over the same rows, and its error.

    The standard error is NaN where a loss is infinite, and with one row.

    >>> paired_difference(np.array([0.5, 0.5]), np.array([0.5, 1.5]), np.ones(2))
    (-0.5, 0.5)
    """
    if not (np.isfinite(losses).all() and np.isfinite(others).all()):
        with np.errstate(invalid="ignore"):
            return float(losses.sum() - others.sum()), float("nan")
    each = losses - others
    mean = np.average(each, weights=weights)
    if each.size == 1:
        return float(mean), float("nan")
    squares = (weights**2 * (each - mean) ** 2).sum() * each.size / (each.size - 1)
    return float(mean), float(np.sqrt(squares) / weights.sum())


def _log_losses(p: FloatArray, zeros: Weights, ones: Weights) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        of_zeros = np.where(zeros == 0, 0.0, zeros * np.log1p(-p))
        of_ones = np.where(ones == 0, 0.0, ones * np.log(p))
    losses: FloatArray = 0.0 - (of_ones + of_zeros)  # never -0.0
    return losses


def _brier_losses(p: FloatArray, zeros: Weights, ones: Weights) -> FloatArray:
    losses: FloatArray = ones * (1 - p) ** 2 + zeros * p**2
    return losses


_OF_ROWS = {"log": _log_losses, "brier": _brier_losses}
SCORING_LOSSES = get_args(LossName)  # bounds may be merged for other losses, too
LOSS_NAMES = {"log": "log loss", "brier": "Brier loss"}
