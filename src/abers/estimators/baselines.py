"""Baselines: Platt's sigmoid and isotonic regression, without bounds (section 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import isotonic_regression, minimize
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from abers import validation
from abers.core.diagram import Diagram
from abers.errors import InvalidScores
from abers.estimators.calibrators import ScoreCalibrator
from abers.estimators.columns import (
    as_columns,
    binary_scores,
    check_names,
    encoded,
    refuse_reordered,
    remember_names,
)
from abers.estimators.weights import checked_weights, warn_of_light

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from abers.validation import FloatArray, IntArray


class PlattCalibrator(ScoreCalibrator):
    """Calibrate scores by Platt's method: the sigmoid 1 / (1 + exp(A s + B)).

    Parameters
    ----------
    regularised : bool, default=True
        Aim at (k_+ + 1) / (k_+ + 2) and 1 / (k_- + 2) instead of 1 and 0, where k_+
        and k_- count the labels 1 and 0. The predictions do not stay between the two.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, ascending.
    A_, B_ : float
        The parameters of the sigmoid. A is not forced to be negative.
    feature_names_in_ : ndarray of str
        Names of the columns, if X was a frame; a frame of other names, or in another
        order, is refused.

    Examples
    --------
    >>> import abers
    >>> calibrator = abers.PlattCalibrator().fit([-10, 0, 1, 11], [0, 0, 1, 1])
    >>> calibrator.predict_proba([11])[0, 1].round(3)  # above 3/4, the target
    np.float64(0.761)
    """

    def __init__(self, *, regularised: bool = True) -> None:
        self.regularised = regularised

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the sigmoid to calibration scores and labels.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, 2)
            One finite score a row; of two columns the second counts.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            An observation of weight w counts as w observations.

        Returns
        -------
        PlattCalibrator
            Itself.
        """
        regularised = validation.as_flag(self.regularised, "regularised")
        scores, labels, weights = _binary(self, X, y, sample_weight)
        if not np.isfinite(scores).all():
            row = int(np.argmin(np.isfinite(scores)))
            msg = (
                "scores must be finite for a sigmoid; "
                f"got {scores[row].item()!r} at row {row}."
            )
            raise InvalidScores(msg)
        ones, zeros = weights[labels == 1].sum(), weights[labels == 0].sum()
        if regularised:
            warn_of_light(weights)  # the targets add rows of weight 1
            targets = np.where(labels == 1, (ones + 1) / (ones + 2), 1 / (zeros + 2))
        else:
            _refuse_separable(scores[weights > 0], labels[weights > 0])
            targets = labels.astype(np.float64)
        self.A_, self.B_ = _fitted_sigmoid(scores, targets, weights)
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like
            Scores, as for `fit`.

        Returns
        -------
        ndarray of shape (n, 2)
            Rows sum to 1.
        """
        check_is_fitted(self)
        check_names(self, X)
        p = expit(-(self.A_ * binary_scores(as_columns(X)) + self.B_))
        return np.stack((1 - p, p), axis=1)


class IsotonicCalibrator(ScoreCalibrator):
    """Calibrate scores by isotonic regression, without any bounds.

    Between two calibration scores the value of the one below holds, and left of all
    the first value. Predictions of 0 and 1 are usual, and with them infinite log loss.

    Parameters
    ----------
    dummies : bool, default=False
        Add an observation labelled 0 at +inf and one labelled 1 at -inf, which keeps
        all predictions off 0 and 1.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, ascending.
    thresholds_, values_ : ndarray
        The distinct calibration scores and the isotonic regression there.
    feature_names_in_ : ndarray of str
        Names of the columns, if X was a frame; a frame of other names, or in another
        order, is refused.

    Examples
    --------
    >>> import abers
    >>> calibrator = abers.IsotonicCalibrator().fit([1, 2, 3], [0, 1, 0])
    >>> calibrator.predict_proba([1, 2.5])[:, 1]
    array([0. , 0.5])
    """

    def __init__(self, *, dummies: bool = False) -> None:
        self.dummies = dummies

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit isotonic regression to calibration scores and labels.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1) or (n, 2)
            One score a row; of two columns the second counts.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            An observation of weight w counts as w observations.

        Returns
        -------
        IsotonicCalibrator
            Itself.
        """
        dummies = validation.as_flag(self.dummies, "dummies")
        scores, labels, weights = _binary(self, X, y, sample_weight)
        if dummies:
            warn_of_light(weights)  # of the dummies each has weight 1
            scores = np.concatenate((scores, [np.inf, -np.inf]))
            labels = np.concatenate((labels, [0, 1]))
            weights = np.concatenate((weights, [1.0, 1.0]))
        diagram = Diagram.from_observations(scores, labels, sample_weight=weights)
        means = diagram.positives / diagram.counts
        self.thresholds_ = diagram.scores
        self.values_ = isotonic_regression(means, weights=diagram.counts).x
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like
            Scores, as for `fit`.

        Returns
        -------
        ndarray of shape (n, 2)
            Rows sum to 1.
        """
        check_is_fitted(self)
        check_names(self, X)
        scores = binary_scores(as_columns(X))
        below = np.searchsorted(self.thresholds_, scores, side="right") - 1
        p = self.values_[np.maximum(below, 0)]
        return np.stack((1 - p, p), axis=1)


def _binary(
    calibrator: ScoreCalibrator, X: Any, y: ArrayLike, sample_weight: Any
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Check what a calibrator of two classes is fitted to; sets classes and names."""
    columns = as_columns(X)
    scores = binary_scores(columns)
    classes, labels = encoded(y, 2)
    refuse_reordered(X, classes)
    validation.check_length(labels.size, scores.size, "y", "scores")
    weights = checked_weights(sample_weight, scores.size)
    remember_names(calibrator, X)
    calibrator.classes_ = classes
    return scores, labels, np.ones(scores.size) if weights is None else weights


def _refuse_separable(scores: FloatArray, encoded: IntArray) -> None:
    ones, zeros = scores[encoded == 1], scores[encoded == 0]
    if not ones.size or not zeros.size:
        reason = "only one class"
    elif scores.min() == scores.max():
        return
    elif zeros.max() <= ones.min() or ones.max() <= zeros.min():
        reason = "classes that a threshold separates"
    else:
        return
    msg = (
        "a sigmoid must have a finite best fit to plain labels; "
        f"got {reason}. Use regularised=True."
    )
    raise InvalidScores(msg)


def _fitted_sigmoid(
    scores: FloatArray, targets: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    """Minimise Platt's eq. (3) by Newton steps, on standardised scores."""
    mean = np.average(scores, weights=weights)
    reach = float(abs(scores - mean)[weights > 0].max())
    if reach == 0:
        t = np.average(targets, weights=weights)
        return 0.0, float(np.log((1 - t) / t))
    z = (scores - mean) / reach  # of any scale: its squares are neither 0 nor inf
    spread = reach * float(np.sqrt(np.average(z**2, weights=weights)))
    design = np.stack(((scores - mean) / spread, np.ones_like(scores)))
    share = weights / weights.sum()

    def loss(parameters: FloatArray) -> float:
        z = parameters @ design
        return float(share @ (np.logaddexp(0, z) - (1 - targets) * z))

    def gradient(parameters: FloatArray) -> FloatArray:
        result: FloatArray = design @ (
            share * (targets - expit(-(parameters @ design)))
        )
        return result

    def curvature(parameters: FloatArray) -> FloatArray:
        p = expit(parameters @ design)
        result: FloatArray = (design * (share * p * (1 - p))) @ design.T
        return result

    found = minimize(
        loss,
        np.zeros(2),
        jac=gradient,
        hess=curvature,
        method="trust-exact",
        options={"gtol": 1e-13, "maxiter": 500},
    ).x
    return float(found[0] / spread), float(found[1] - found[0] * mean / spread)
