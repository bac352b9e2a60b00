"""Calibrators: scores in, probabilities out; the model that scored is not needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from abers import validation
from abers.core.merging import LOSSES
from abers.estimators.columns import (
    are_probabilities,
    as_columns,
    check_columns,
    check_names,
    encoded,
    refuse_reordered,
    remember_names,
)
from abers.estimators.problems import (
    MULTICLASS,
    MinimaxPredictor,
    chosen_multiclass,
    problems,
    samples_of,
)
from abers.estimators.scoring import ClassScores, of_probabilities
from abers.estimators.weights import checked_weights, warn_of_light

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from abers.validation import FloatArray

SCORES = ("auto", "probability", "margin")


class ScoreCalibrator(ClassifierMixin, BaseEstimator):
    """What all calibrators share: tags, and prediction from probabilities."""

    classes_: np.ndarray

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each class; each calibrator has its own way."""
        raise NotImplementedError

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return the more probable class of each row.

        Parameters
        ----------
        X : array-like
            Scores, as for `fit`.

        Returns
        -------
        ndarray of shape (n,)
            Members of `classes_`.
        """
        most_probable = self.predict_proba(X).argmax(axis=1)
        predicted: np.ndarray = self.classes_[most_probable]
        return predicted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


class IVAPCalibrator(ScoreCalibrator):
    """Calibrate scores by an inductive Venn-Abers predictor.

    The **bounds** of a score are the probability if the new case were a 0 (lower) and
    if it were a 1 (upper). One of the two is calibrated as long as new cases resemble
    the calibration cases. They are not a confidence interval, and they shrink to a
    point as data grow.

    Parameters
    ----------
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged to one probability.
    multiclass : {"auto", "ovo", "ovr"}, default="auto"
        With more than two classes: a rule for each pair of classes, coupled ("ovo"),
        or a rule for each class against the rest, merged for all classes at once
        ("ovr"). "auto" takes pairs where the two rarest classes together have enough
        calibration rows (2,000), and else one class against the rest.
    scores : {"auto", "probability", "margin"}, default="auto"
        What several columns of scores are. "auto" takes them for probabilities if at
        fit all lie between 0 and 1 and all rows sum to 1, give or take 0.0005 a
        column, as if they were rounded to three digits; else for margins.
        Probabilities are compared by their log-odds.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending; column c of the scores belongs to `classes_[c]`.
    rules_ : list of list of Rule
        One list, with a rule for each problem (two classes: one rule). None where a
        pair of classes had no calibration data.
    multiclass_ : str
        "ovo" or "ovr", as chosen at fit; two classes are one pair.
    scores_kind_ : str
        "probability" or "margin", as decided at fit.
    n_features_in_ : int
        Number of columns of scores.
    feature_names_in_ : ndarray of str
        Names of the columns, if X was a frame; a frame of other names, or in another
        order, is refused.

    Examples
    --------
    >>> import abers
    >>> calibrator = abers.IVAPCalibrator().fit([1, 2, 3], [0, 1, 0])
    >>> calibrator.predict_bounds([2])
    array([[0.33333333, 0.66666667]])
    >>> calibrator.predict_proba([2])
    array([[0.5, 0.5]])
    """

    def __init__(
        self, *, loss: str = "log", multiclass: str = "auto", scores: str = "auto"
    ) -> None:
        self.loss = loss
        self.multiclass = multiclass
        self.scores = scores

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit to calibration scores and labels.

        Parameters
        ----------
        X : array-like of shape (n,), (n, 1), (n, 2) or (n, C)
            One score a row, or one for each class, in the order of `classes_`: a
            frame whose columns are named like the classes must keep to it.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            An observation of weight w counts as w observations.

        Returns
        -------
        IVAPCalibrator
            Itself.
        """
        validation.check_choice(self.loss, LOSSES, "loss")
        validation.check_choice(self.multiclass, MULTICLASS, "multiclass")
        validation.check_choice(self.scores, SCORES, "scores")
        columns = as_columns(X)
        classes, labels = encoded(y, columns.shape[1])
        refuse_reordered(X, classes)
        validation.check_length(labels.size, len(columns), "y", "scores")
        weights = checked_weights(sample_weight, labels.size)
        warn_of_light(weights)
        remember_names(self, X)
        self.classes_ = classes
        self.scores_kind_ = _kind_of(columns, self.scores)
        sizes = np.bincount(labels, minlength=len(classes))
        self.multiclass_ = chosen_multiclass(self.multiclass, sizes)
        samples = samples_of(
            problems(len(classes), self.multiclass_),
            self._scores(columns),
            labels,
            weights,
        )
        self.rules_ = [[sample.rule() for sample in samples]]
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like
            Scores, as for `fit`.

        Returns
        -------
        ndarray of shape (n, C)
            Rows sum to 1.
        """
        return self._predictor().probability([self._new_scores(X)])

    def predict_bounds(self, X: ArrayLike) -> FloatArray:
        """Return lower and upper probability.

        Parameters
        ----------
        X : array-like
            Scores, as for `fit`.

        Returns
        -------
        ndarray of shape (n, 2) or (n, C, 2)
            For two classes, those of `classes_[1]`; for more, those of each class
            before normalising, so that the probability may lie outside of them.
        """
        return self._predictor().bounds([self._new_scores(X)])

    def _predictor(self) -> MinimaxPredictor:
        check_is_fitted(self)
        count = len(self.classes_)
        asked = problems(count, self.multiclass_)
        return MinimaxPredictor(asked, self.rules_, count, self.loss)

    def _new_scores(self, X: ArrayLike) -> ClassScores:
        check_names(self, X)
        columns = as_columns(X)
        check_columns(self, columns)
        return self._scores(columns)

    def _scores(self, columns: FloatArray) -> ClassScores:
        if columns.shape[1] == 1:
            return ClassScores(columns[:, 0], are_logarithms=False, are_exact=True)
        if self.scores_kind_ == "margin":
            return ClassScores(columns, are_logarithms=False, are_exact=True)
        return of_probabilities(columns, are_exact=True)


def _kind_of(columns: FloatArray, scores: str) -> str:
    if scores != "auto":
        return scores
    if columns.shape[1] == 1:
        return "margin"
    return "probability" if are_probabilities(columns).all() else "margin"
