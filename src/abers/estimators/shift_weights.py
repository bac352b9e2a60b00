"""Weights of rows under covariate shift, estimated with a classifier.

Let training rows come from P and new rows from Q, with the same P(y | x). Then rows
weighted by w(x) = dQ/dP at x represent new ones. A classifier that separates new rows
from training rows estimates w: its odds, corrected for the numbers of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import _num_samples

from abers.core.effective_sizes import effective_size
from abers.errors import InvalidData, warn
from abers.estimators.cross_fit import DEFAULT_FOLDS, cross_pairs, rows_of
from abers.estimators.scoring import class_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.validation import FloatArray

LARGEST_RATIO = 50.0  # weights are clipped to this, and to its inverse
FEW_ROWS = 100  # effective rows; below, there is a warning
SEED = 0  # of the folds, so that the same rows get the same weights
PARTS = np.array([0, 1])  # training rows, new rows


@dataclass(frozen=True, slots=True, eq=False)
class ShiftWeights:
    """Estimated weights of rows; made by `abers.rules.shift_weights`.

    Attributes
    ----------
    effective_size : float
        How many unweighted rows are as informative as the weighted training rows: (sum
        of w)^2 / sum of w^2, with out-of-fold weights.
    n_training, n_new : int
        Numbers of rows in the estimate.
    """

    effective_size: float
    n_training: int
    n_new: int
    _models: Sequence[Any]

    def weights(self, X: Any) -> FloatArray:
        """Estimate the weights of rows.

        Parameters
        ----------
        X : array-like of shape (n, features)
            Calibration rows or new rows. Use the same object for the calibration rows
            and for the cases to predict.

        Returns
        -------
        ndarray of shape (n,)
            Above 0, near 1 on average over training rows.
        """
        log_odds = np.mean([_log_odds(model, X) for model in self._models], axis=0)
        return _ratios(log_odds, self.n_training, self.n_new)


def shift_weights(X_train: Any, X_new: Any, estimator: Any = None) -> ShiftWeights:
    """Estimate how much more frequent rows are now than at training.

    For covariate shift: P(x) has changed, P(y | x) has not. Calibrate with the weights
    of the calibration rows, and pass each new case's own:
    `IVAPClassifier.predict_bounds(X, weight=…)`.

    Parameters
    ----------
    X_train : array-like of shape (n, features)
        Training rows, never calibration rows: the weight function must not depend on
        these.
    X_new : array-like of shape (m, features)
        Current rows without labels, other than those to predict.
    estimator : classifier, default=None
        Separates new rows from training rows; logistic regression on standardised
        columns if None.

    Returns
    -------
    ShiftWeights
        Its `weights(X)` estimates w(x), clipped to between 1/50 and 50.

    Warns
    -----
    AbersWarning
        If the weighted training rows are worth no more than 100 unweighted rows.

    Notes
    -----
    The guarantee is for known weights, not for estimated ones. The cost of estimating
    is bounded: with estimates v instead of w, the calibration error of the bound that
    belongs to the true label is at most E_P |w - v / E_P v| on average, if v depends
    neither on the calibration rows nor on the case.

    Examples
    --------
    >>> import abers, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> shift = abers.rules.shift_weights(
    ...     rng.normal(0, 1, (4000, 1)), rng.normal(1, 1, (4000, 1))
    ... )
    >>> shift.weights([[0.5], [1.5]]).round(1)  # the truth: 1 and 2.7
    array([1. , 2.8])
    """
    n_training, n_new = _num_samples(X_train), _num_samples(X_new)
    if min(n_training, n_new) < DEFAULT_FOLDS:
        msg = (
            f"X_train and X_new must have at least {DEFAULT_FOLDS} rows each; got "
            f"{n_training} and {n_new}."
        )
        raise InvalidData(msg)
    if estimator is None:
        estimator = make_pipeline(StandardScaler(), LogisticRegression())
    X = _joined(X_train, X_new)
    is_new = np.repeat([0, 1], [n_training, n_new])
    models, held_out = [], np.zeros(is_new.size)
    for train, rest in cross_pairs(DEFAULT_FOLDS, X, is_new, SEED, {}):
        model = clone(estimator).fit(rows_of(X, train, is_new.size), is_new[train])
        held_out[rest] = _log_odds(model, rows_of(X, rest, is_new.size))
        models.append(model)
    size = effective_size(_ratios(held_out[:n_training], n_training, n_new))
    if size < FEW_ROWS:
        warn(
            f"The weighted training rows tell no more than {size:.0f} rows without "
            f"weights, of {n_training}. Weights help little where new rows are so "
            "different, or training rows so few: get labels of new rows."
        )
    return ShiftWeights(size, n_training, n_new, tuple(models))


def _joined(X_train: Any, X_new: Any) -> Any:
    """Append new rows to training rows."""
    tables = [
        nw.from_native(X, eager_only=True, pass_through=True) for X in (X_train, X_new)
    ]
    if all(isinstance(table, nw.DataFrame) for table in tables):
        return nw.concat(tables).to_native()
    if any(sparse.issparse(table) for table in tables):
        return sparse.vstack(tables).tocsr()
    return np.concatenate([np.asarray(table) for table in tables])


def _log_odds(model: Any, X: Any) -> FloatArray:
    """Return the log-odds that rows are new."""
    scores = class_scores(model, X, _num_samples(X), PARTS, "predict_proba")
    return scores.of_pair(0, 1)


def _ratios(log_odds: FloatArray, n_training: int, n_new: int) -> FloatArray:
    """Return clipped density ratios."""
    limit = np.log(LARGEST_RATIO)
    ratios: FloatArray = np.exp(
        np.clip(log_odds - np.log(n_new / n_training), -limit, limit)
    )
    return ratios
