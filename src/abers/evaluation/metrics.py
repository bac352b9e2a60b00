"""Metrics: how good probabilities are, in single numbers.

Each number is computed on a diagram of predictions: labels counted by what was
predicted for them, so that one sort serves them all. The form for rows sorts first.
Losses are those of scikit-learn: natural logarithm, plain Brier.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from abers import validation
from abers.core.diagram import Diagram
from abers.core.rule_set import as_groups, rows_by_group
from abers.errors import InvalidProbabilities
from abers.evaluation.calibration_tests import (
    CalibrationTest,
    HosmerLemeshowTest,
    hosmer_lemeshow_of,
    spiegelhalter_of,
)
from abers.losses import mean_loss
from abers.thresholds import ECE_BINS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from abers.core.rule_set import Group
    from abers.validation import FloatArray, IntArray


Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class BoundWidths:
    """How far apart the bounds are, upper minus lower, over rows.

    Attributes
    ----------
    mean, median, quantile_90, maximum : float
        Of the widths of all rows.
    """

    mean: float
    median: float
    quantile_90: float
    maximum: float


def log_loss(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean of -log of what the label got, natural logarithm.

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
    float
        Infinite if a label came that had probability 0; nothing is clipped.

    Examples
    --------
    >>> from abers import evaluation
    >>> round(evaluation.log_loss([1, 0], [0.5, 0.75]), 4)  # (log 2 + log 4) / 2
    1.0397
    >>> evaluation.log_loss([1, 0], [0.0, 0.5])
    inf
    """
    return _loss(y, p, sample_weight, "log")


def brier_loss(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean squared difference of label and probability.

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
    float
        Between 0 and 1.

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.brier_loss([1, 0], [0.5, 1.0])  # (0.25 + 1) / 2
    0.625
    """
    return _loss(y, p, sample_weight, "brier")


def log_skill(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return 1 - log loss / log loss of always predicting the base rate.

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
    float
        1 is perfect, 0 no better than the base rate of these rows, below 0 worse; NaN
        with one class. scikit-learn calls it D².

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.log_skill([1, 0], [0.5, 0.5])
    0.0
    >>> round(evaluation.log_skill([0, 1], [0.25, 0.75]), 3)  # 1 - log 4/3 / log 2
    0.585
    """
    return _skill(y, p, sample_weight, "log")


def brier_skill(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return 1 - Brier loss / Brier loss of always predicting the base rate.

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
    float
        1 is perfect, 0 no better than the base rate of these rows, below 0 worse; NaN
        with one class. Also called the scaled Brier score.

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.brier_skill([0, 1], [0.25, 0.75])  # 1 - 1/16 / (1/4)
    0.75
    """
    return _skill(y, p, sample_weight, "brier")


def expected_calibration_error(
    y: ArrayLike,
    p: ArrayLike,
    *,
    bins: int = ECE_BINS,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the ECE over bins of equal width. Biased, and it depends on the bins.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    bins : int, default=10
        Bins of [0, 1]. Compare values only at one number of bins, and of as many rows:
        even perfect probabilities have an ECE above 0, the more so the fewer rows a
        bin has, and errors that cancel within a bin do not show.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The mean over rows of |mean label - mean prediction| of their bin.

    Examples
    --------
    >>> from abers import evaluation
    >>> y, p = [0, 1, 1, 1], [0.5, 0.5, 0.75, 0.75]
    >>> evaluation.expected_calibration_error(y, p)  # (0 + 0 + 0.25 + 0.25) / 4
    0.125
    >>> evaluation.expected_calibration_error([0, 1], [0.75, 0.25], bins=1)  # they hide
    0.0
    """
    return calibration_error_of(diagram_of(y, p, sample_weight), bins=bins)


def spiegelhalter_test(
    y: ArrayLike, p: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> CalibrationTest:
    """Test whether probabilities are calibrated, by their Brier loss.

    Blind spot: a bias that is symmetric about 1/2, say labels 20 points too often at
    0.3 and at 0.7, cancels out; `calibration_tests.miscalibration_p_of` sees it.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows. Each row is one draw, whatever its weight.

    Returns
    -------
    CalibrationTest
        A statistic that is about standard normal for calibrated probabilities; NaN if
        all of them are 0, 1/2 or 1, of which the test learns nothing.

    References
    ----------
    Spiegelhalter: Probabilistic prediction in patient management and clinical trials,
    Statistics in Medicine 1986.

    Examples
    --------
    >>> from abers import evaluation
    >>> test = evaluation.spiegelhalter_test([0, 0, 0, 1], [0.25, 0.25, 0.25, 0.25])
    >>> test.statistic, test.p_value  # as many ones as were promised
    (0.0, 1.0)
    """
    diagram = diagram_of(y, p, sample_weight)
    return spiegelhalter_of(diagram, scatter=scatter_of(diagram, p, sample_weight))


def hosmer_lemeshow_test(
    y: ArrayLike,
    p: ArrayLike,
    *,
    bins: int = 10,
    in_sample: bool = False,
    sample_weight: ArrayLike | None = None,
) -> HosmerLemeshowTest:
    """Test whether probabilities are calibrated, by counts in bins.

    Known weaknesses: the p-value depends on the bins, and other bins of the same rows
    may give another answer; with few rows the test sees little, and errors that cancel
    within a bin never; with very many rows it rejects errors that do not matter. It is
    here because it is asked for: `calibration_tests.miscalibration_p_of` has no bins to
    choose, and intercept and slope with their errors say how large an error is.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels 0 or 1.
    p : array-like of shape (n,)
        Probabilities of label 1.
    bins : int, default=10
        Bins of about as many rows each; equal predictions stay in one bin, so there may
        be fewer.
    in_sample : bool, default=False
        Whether the probabilities were fitted to these rows, by logistic regression:
        that takes two degrees of freedom.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows. Each row is one draw, whatever its weight.

    Returns
    -------
    HosmerLemeshowTest
        The statistic, its degrees of freedom (the bins, on held-out rows) and p-value.
        A bin where all predictions are 0, or all 1, has none; one label against it
        makes the statistic infinite.

    References
    ----------
    Hosmer, Lemeshow: Goodness of fit tests for the multiple logistic regression model,
    Communications in Statistics 1980.

    Examples
    --------
    >>> from abers import evaluation
    >>> y, p = [0, 0, 0, 1, 0, 1, 1, 1], [0.25] * 4 + [0.5] * 4
    >>> evaluation.hosmer_lemeshow_test(y, p).statistic  # 0 + (3 - 2)² / (4 / 4)
    1.0
    """
    validation.check_bins(bins)
    diagram = diagram_of(y, p, sample_weight)
    return hosmer_lemeshow_of(
        diagram,
        bins=bins,
        in_sample=validation.as_flag(in_sample, "in_sample"),
        scatter=scatter_of(diagram, p, sample_weight),
    )


def auc(
    scores: ArrayLike, labels: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the area under the ROC curve; below one half the score runs backwards.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Real numbers, ±inf allowed.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    float
        The share of pairs of a one and a zero that the score puts in order, ties
        counting half; NaN if there is only one class.

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.auc([1, 2, 2, 3], [0, 0, 1, 1])  # three pairs in order, one tied
    0.875
    """
    return auc_of(
        Diagram.from_observations(scores, labels, sample_weight=sample_weight)
    )


def bound_widths(
    bounds: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> BoundWidths:
    """Describe how far apart bounds are. Wide bounds mean few calibration rows nearby.

    Parameters
    ----------
    bounds : array-like of shape (n, 2)
        Lower and upper, as `rule.bounds` or `predict_bounds` give them.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    BoundWidths
        Median and 90 % quantile are widths that occur: the least that so many rows do
        not exceed.

    Examples
    --------
    >>> from abers import evaluation
    >>> evaluation.bound_widths([[0.25, 0.5], [0.0, 0.5], [0.5, 0.5]])
    BoundWidths(mean=0.25, median=0.25, quantile_90=0.5, maximum=0.5)
    """
    pairs = validation.as_numbers(bounds, "bounds")
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not len(pairs):
        msg = f"bounds must have shape (n, 2) with at least one row; got {pairs.shape}."
        raise InvalidProbabilities(msg)
    lower, upper = validation.as_bounds(pairs[:, 0], pairs[:, 1])
    width, w = upper - lower, None
    if sample_weight is not None:
        w = validation.as_weights(sample_weight, width.size)
        validation.check_total(w, "sample_weight")
        width, w = width[w > 0], w[w > 0]
    median, high = np.quantile(width, (0.5, 0.9), method="inverted_cdf", weights=w)
    mean = np.average(width, weights=w)
    return BoundWidths(float(mean), float(median), float(high), float(width.max()))


def by_group(
    function: Callable[..., Value],
    groups: ArrayLike,
    *columns: ArrayLike,
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> dict[Group | None, Value]:
    """Evaluate each group of rows on its own.

    Parameters
    ----------
    function : callable
        Takes columns, and `sample_weight` if weights are given: any function of
        `evaluation`, `reliability` or `bands` that takes rows (drift with its
        reference, by `functools.partial`).
    groups : array-like of shape (n,)
        The group of each row: text, integers, floats or booleans, all of one type; or
        categories. Rows without a group are one, too: None.
    *columns : array-like of length n
        The columns that the function takes, say labels and probabilities.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows, passed on if given; groups without weight are left out.
    **options : dict
        Passed on as they are.

    Returns
    -------
    dict
        What the function returns, by group; groups in ascending order, None last.

    Examples
    --------
    >>> from abers import evaluation
    >>> y, p = [0, 1, 1], [0.5, 0.5, 1.0]
    >>> evaluation.by_group(evaluation.brier_loss, ["web", "web", "shop"], y, p)
    {'shop': 0.0, 'web': 0.25}
    """
    names = as_groups(groups)
    arrays = [np.asarray(column) for column in columns]
    for place, array in enumerate(arrays):
        length = len(array) if array.ndim else 0
        validation.check_length(length, len(names), f"column {place + 1}", "groups")
    weights = None
    if sample_weight is not None:
        weights = validation.as_weights(sample_weight, len(names))
    found = {}
    rows_of = rows_by_group(names)
    for name in sorted(rows_of, key=_place):
        rows = rows_of[name]
        chosen = dict(options)
        if weights is not None:
            rows = rows[weights[rows] > 0]
            chosen["sample_weight"] = weights[rows]
        if rows.size:
            found[name] = function(*(array[rows] for array in arrays), **chosen)
    return found


def _loss(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None, loss: str
) -> float:
    values = validation.as_probabilities(p)
    labels = validation.as_labels(y, "y")
    validation.check_length(labels.size, values.size, "y", "p")
    weights = np.ones(values.size)
    if sample_weight is not None:
        weights = validation.as_weights(sample_weight, values.size)
        validation.check_total(weights, "sample_weight")
    bad = (labels != 0) & (labels != 1) & (weights > 0)
    if bad.any():
        validation.refuse_bad_labels(labels, int(bad.sum()), int(bad.argmax()))
    ones = labels == 1
    zero_weight, one_weight = np.where(ones, 0.0, weights), np.where(ones, weights, 0.0)
    return mean_loss(values, zero_weight, one_weight, loss)


def _skill(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None, loss: str
) -> float:
    diagram = diagram_of(y, p, sample_weight)
    zeros, ones = diagram.negatives, diagram.positives
    sums = zeros.sum(keepdims=True), ones.sum(keepdims=True)
    known = mean_loss(sums[1] / (sums[0] + sums[1]), *sums, loss)
    return skill_of(mean_loss(diagram.scores, zeros, ones, loss), known)


def skill_of(loss: float, uncertainty: float) -> float:
    """Return the share of the loss of the base rate that predictions save."""
    return 1 - loss / uncertainty if uncertainty else float("nan")


def _place(name: Group | None) -> tuple[bool, Any]:
    """Sort names among themselves, and None after them."""
    return name is None, 0 if name is None else name


def diagram_of(
    y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None = None
) -> Diagram:
    """Count labels by prediction, after checking that predictions are probabilities."""
    values = validation.as_probabilities(p)
    return Diagram.from_observations(values, y, sample_weight=sample_weight)


def scatter_of(
    diagram: Diagram,
    p: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    among: NDArray[np.bool_] | None = None,
) -> FloatArray | None:
    """Add up the squared shares of the rows, or of some of them, at each prediction.

    A mean over weighted rows scatters as the squares of their shares of the total
    weight: a row of weight 3 is one row, not three, when it comes to noise.
    """
    if sample_weight is None:
        return None
    values = validation.as_scores(p)
    weights = validation.as_weights(sample_weight, values.size)
    kept = weights > 0
    square, ordered = (weights[kept] / diagram.n_observations) ** 2, values[kept]
    if among is not None:
        square *= among[kept]
    order = np.argsort(ordered, kind="stable")
    ordered = ordered[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    squares: FloatArray = np.add.reduceat(square[order], first)
    return squares


def ones_scatter_of(
    diagram: Diagram, y: ArrayLike, p: ArrayLike, sample_weight: ArrayLike | None
) -> FloatArray | None:
    """Return the scatter of the rows labelled 1; None if all rows weigh the same."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    used = weights[weights > 0]
    if (used == used[0]).all():
        return None
    return scatter_of(diagram, p, weights, among=np.equal(y, 1))


def calibration_error_of(diagram: Diagram, *, bins: int = ECE_BINS) -> float:
    """Return the ECE of predictions that are counted already."""
    validation.check_bins(bins)
    counts = diagram.counts
    gap = diagram.positives - diagram.scores * counts
    # Predictions ascend, so a bin is a run of them. 1 belongs to the last.
    start = np.searchsorted(diagram.scores * bins, np.arange(1, bins))
    start = np.unique(np.append(0, start[start < gap.size]))
    return float(abs(np.add.reduceat(gap, start)).sum() / counts.sum())


def bin_of(p: FloatArray, bins: int = ECE_BINS) -> IntArray:
    """Return the bin of equal width that each prediction is in; 1 is in the last."""
    return np.minimum((p * bins).astype(np.int64), bins - 1)


def auc_of(diagram: Diagram) -> float:
    """Return the area under the ROC curve of scores that are counted already."""
    zeros = diagram.negatives.astype(np.float64)
    below = np.cumsum(zeros) - zeros / 2
    with np.errstate(invalid="ignore"):
        pairs = np.float64(diagram.n_positives) * zeros.sum()
        return float((diagram.positives * below).sum() / pairs)
