"""Classification: the common part of all classifiers that train a user's model.

Labels of any kind, scores from trained models, and predictions from probabilities.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import _num_samples, validate_data

from abers.core.log_odds import logarithms
from abers.errors import InvalidData, warn
from abers.estimators.cross_fit import CrossFit, warn_of_fitted
from abers.estimators.scoring import as_class_labels, class_scores, refuse_dispatched

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.class_scores import ClassScores
    from abers.estimators.cross_fit import FitRows, Pair
    from abers.validation import FloatArray, IntArray


class CrossFitClassifier(ClassifierMixin, CrossFit):
    """A classifier that trains models and calibrates their scores."""

    default_estimator = LogisticRegression
    response_method: str
    classes_: np.ndarray
    estimators_: list[Any]
    response_method_: str

    @abstractmethod
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class."""

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (n, C)
            The natural logarithms of `predict_proba`, one column per class.
        """
        return logarithms(self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (n,)
            Members of `classes_`.
        """
        most_probable = self.predict_proba(X).argmax(axis=1)
        predicted: np.ndarray = self.classes_[most_probable]
        return predicted

    def _training_rows(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        params: dict[str, Any],
    ) -> tuple[np.ndarray, IntArray, FitRows, list[Pair]]:
        """Check what `fit` got; return classes, class numbers, rows and pairs."""
        warn_of_fitted(self._inner())
        classes, encoded = self._labels(y)
        refuse_dispatched(X, "X")
        rows, pairs = self._rows(X, classes[encoded], sample_weight, params)
        if not self._is_prefit():
            _check_training_classes(pairs, classes, encoded)
        return classes, encoded, rows, pairs

    def _labels(self, y: ArrayLike) -> tuple[np.ndarray, IntArray]:
        """Return the classes (a prefit model has its own) and labels as numbers."""
        labels = as_class_labels(y, type(self).__name__)
        classes, encoded = np.unique(labels, return_inverse=True)
        inner = self._inner()
        if self._is_prefit() and hasattr(inner, "classes_"):
            trained = np.unique(inner.classes_)
            unknown = ~np.isin(labels, trained)
            if unknown.any():
                row = int(unknown.argmax())
                msg = (
                    f"labels must be among those of the prefit model, "
                    f"{trained.tolist()!r}; got {labels.tolist()[row]!r} at row {row}."
                )
                raise InvalidData(msg)
            encoded = np.searchsorted(trained, classes)[encoded]
            return trained, encoded
        if len(classes) < 2:
            got = f"one class only, {classes.tolist()!r}" if classes.size else "no rows"
            msg = (
                f"{type(self).__name__} needs labels of at least two classes; "
                f"got {got}."
            )
            raise InvalidData(msg)
        return classes, encoded

    def _scores(self, X: Any) -> list[ClassScores]:
        """Score X once with each model."""
        if getattr(X, "ndim", 2) != 1:  # its own message is better
            validate_data(self, X, skip_check_array=True, reset=False)
        return [
            class_scores(
                estimator, X, _num_samples(X), self.classes_, self.response_method_
            )
            for estimator in self.estimators_
        ]

    def _before(self, X: Any, scores: list[ClassScores]) -> FloatArray | None:
        """Return the mean of the models' own probabilities, if they have any."""
        tables: list[Any] = [each.probabilities for each in scores]
        if any(table is None for table in tables):
            if not all(hasattr(model, "predict_proba") for model in self.estimators_):
                return None
            rows = _num_samples(X)
            tables = [
                class_scores(
                    model, X, rows, self.classes_, "predict_proba"
                ).probabilities
                for model in self.estimators_
            ]
        mean: FloatArray = np.mean(tables, axis=0)
        return mean


def _check_training_classes(
    pairs: list[Pair], classes: np.ndarray, encoded: IntArray
) -> None:
    """Raise if a classifier would be trained on one class."""
    for train, _ in pairs:
        (seen,) = np.bincount(encoded[train], minlength=len(classes)).nonzero()
        if len(seen) < 2:
            msg = (
                "the training rows must hold at least two classes; got only "
                f"{classes[seen].tolist()!r}. Use more rows, or another split."
            )
            raise InvalidData(msg)


def warn_of_missing_classes(pairs: list[Pair], y: np.ndarray) -> None:
    """Warn if classifiers never see a class: they give it probability 0."""
    classes, encoded = np.unique(y, return_inverse=True)
    lacking = np.zeros(len(classes), dtype=np.int64)
    for train, _ in pairs:
        lacking += np.bincount(encoded[train], minlength=len(classes)) == 0
    if lacking.any() and len(classes) > 2:  # a single class is refused elsewhere
        c = int(lacking.argmax())
        warn(
            f"class {classes.tolist()[c]!r} is missing from the training rows of "
            f"{lacking[c]} of {len(pairs)} folds, whose classifiers give it no chance: "
            "use folds that keep every class, such as cv=5."
        )
