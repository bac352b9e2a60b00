"""The calibrated classifier: any scikit-learn classifier with the stacked probability.

K models are cross-fitted. One stacked rule, fitted to all out-of-fold scores, mixes the
models' probabilities, a parametric curve and a pooled Venn-Abers rule.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from abers import validation
from abers.core.calibrator import OUT_OF_FOLD, plain_classes
from abers.core.diagram import Diagram
from abers.core.multiclass import bounds_of_class
from abers.core.own_weight import with_diagram
from abers.core.predictions import FitSource, Predictions, both_classes
from abers.core.stacked_fit import fit_stacked_rule
from abers.errors import InvalidParameter
from abers.estimators.classification import CrossFitClassifier, warn_of_missing_classes
from abers.estimators.cross_fit import SplitIntoFolds
from abers.estimators.scoring import class_scores, response_of

if TYPE_CHECKING:
    from typing import Literal, Self

    from numpy.typing import ArrayLike

    from abers.choices import ResponseMethod, ScoreKind
    from abers.core.class_scores import ClassScores
    from abers.core.guarantees import Guarantee
    from abers.core.stacked import StackedRule
    from abers.estimators.cross_fit import Pair
    from abers.validation import FloatArray

__all__ = ["CalibratedClassifier"]


class CalibratedClassifier(SplitIntoFolds, CrossFitClassifier):
    """A classifier with accurate probabilities: the model, a curve and Venn-Abers.

    It replaces scikit-learn's `CalibratedClassifierCV`. Its probability is a mixture of
    three parts: the models' own probability, a parametric correction (beta calibration,
    or a matrix for many classes), and a Venn-Abers rule. Cross-fitting finds the
    weights, so no method has to be chosen. For two classes, the probability never falls
    as a model's score rises.

    `predict_bounds` returns the smallest and largest value of the probability over the
    possible labels of the new row, with weights and curve held fixed. They contain the
    probability, and are not a confidence interval. No guarantee is proven for them; the
    bounds of `IVAPClassifier` have one.

    Parameters
    ----------
    estimator : classifier, default=None
        Anything with `predict_proba` or `decision_function`; logistic regression if
        None. A `FrozenEstimator` is prefit: nothing is trained, all rows calibrate.
    cv : int, splitter or iterable, default=None
        Number of folds (stratified, shuffled by `random_state`; None is 5), a
        scikit-learn splitter, or pairs (training rows, calibration rows). A row that
        calibrates several folds counts as one row.
    ensemble : bool or "auto", default="auto"
        Whether all K models predict. If False, one more model is trained on all rows
        and predicts alone. "auto" is False for a frozen model, else True.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        The method that scores the rows. "auto" uses `predict_proba`, or
        `decision_function` if the model lacks it.
    n_jobs : int, default=None
        Number of models to train in parallel.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds if `cv` is a number.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending.
    estimators_ : list of classifiers
        The fitted models that predict: K, or one with `ensemble=False`.
    calibrator_ : StackedRule
        The map from the models' probabilities or scores to calibrated ones. It can be
        saved, and needs no model: pass `calibrator_.probability` the `predict_proba`
        columns of all `estimators_`, side by side.
    weights_ : dict of str to float
        The weight of each part of the mixture, by name.
    diagram_ : Diagram or None
        For a frozen model of two classes, counts of the calibration rows at each
        distinct score, used by `predict_interval`.
    response_method_ : str
        The method that scores the rows, as chosen at fit.

    Examples
    --------
    >>> import abers
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = abers.CalibratedClassifier(GaussianNB(), random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape, model.predict_bounds(X[:2]).shape
    ((2, 2), (2, 2))
    >>> list(model.weights_)
    ['model', 'beta', 'venn_abers']
    """

    calibrator_: StackedRule
    weights_: dict[str, float]
    diagram_: Diagram | None

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = None,
        ensemble: bool | Literal["auto"] = "auto",
        response_method: ResponseMethod = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.ensemble = ensemble
        self.response_method = response_method
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Train the models and fit the calibrator.

        Parameters
        ----------
        X : array-like of shape (n, features)
            Whatever the classifier takes.
        y : array-like of shape (n,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n,), default=None
            Passed to the classifier, if it takes weights, and used by the calibrator,
            where a row of weight w counts as w rows.
        **params : dict
            Further parameters for the `fit` of the classifier, or routed as metadata.

        Returns
        -------
        object
            Itself.
        """
        is_ensemble = self._is_ensemble()
        method = _preferred(self._inner(), self.response_method)
        classes, encoded, rows, pairs = self._training_rows(X, y, sample_weight, params)
        n_folds = len(pairs)
        if not is_ensemble and not self._is_prefit():
            everything = np.arange(encoded.size)
            pairs = [*pairs, (everything, everything[:0])]
        score = partial(_scored, classes=classes, response_method=method)
        trained = self._train(rows, pairs, score)
        held_out = trained[:n_folds]
        calibrating = np.concatenate([fold.rows for fold in held_out])
        weights = _counted_once(calibrating, rows.weights)
        sizes = [len(fold.rows) for fold in held_out]
        kind: ScoreKind = "log-odds" if held_out[0].scores.are_logarithms else "margin"
        stacked = fit_stacked_rule(
            np.concatenate([fold.scores.columns() for fold in held_out]),
            encoded[calibrating],
            kind=kind,
            folds=np.repeat(np.arange(n_folds), sizes) if is_ensemble else None,
            sample_weight=weights,
        )
        self.calibrator_ = stacked.read_as(
            "probability" if kind == "log-odds" else kind, is_rounded=True
        ).with_classes(plain_classes(classes))
        if not is_ensemble and not self._is_prefit():
            self.calibrator_ = self.calibrator_.with_metadata({OUT_OF_FOLD: "yes"})
        self.diagram_ = None
        if self._is_prefit() and not is_ensemble and len(classes) == 2:
            (only,) = held_out
            self.diagram_ = Diagram.from_rows(
                only.scores.columns(), encoded[only.rows], sample_weight=weights
            )
        self.classes_ = classes
        self.estimators_ = [
            fold.estimator for fold in (trained if is_ensemble else trained[-1:])
        ]
        self.weights_ = self.calibrator_.weights
        self.response_method_ = method
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (n, C)
            Rows sum to 1. No guarantee of calibration is proven.
        """
        check_is_fitted(self)
        p, _ = self.calibrator_.of_models(self._scores(X))
        return p if p.ndim > 1 else both_classes(p)

    def predict_bounds(self, X: Any, *, pos_label: Any = None) -> FloatArray:
        """Return the lower and upper bound of the probability.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.
        pos_label : object, default=None
            The class whose bounds to return; None is `classes_[1]` with two classes,
            and every class with more.

        Returns
        -------
        ndarray of shape (n, 2) or (n, C, 2)
            For two classes or one `pos_label`, (n, 2). They contain the probability.
            Not a confidence interval; see the class.
        """
        check_is_fitted(self)
        _, bounds = self.calibrator_.of_models(self._scores(X))
        return bounds_of_class(bounds, self.classes_, pos_label)

    def predict_interval(
        self, X: Any, confidence: float = 0.9, *, pos_label: Any = None
    ) -> FloatArray:
        """Return a confidence interval of the probability given the model's score.

        It answers "how sure are we of this 12 %?", which the bounds do not: the bounds
        show how far one more case could move the prediction, the interval how uncertain
        the calibration rows leave the probability. It needs a frozen model of two
        classes, calibrated without weights.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.
        confidence : float, default=0.9
            Coverage probability of a single interval, at least.
        pos_label : object, default=None
            The class of the probability; None is `classes_[1]`.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper: for P(class | score of the model), if that rises
            with the score, not for the probability given all of X. It depends on the
            calibration rows alone; a mixture that contradicts them lies outside.
        """
        check_is_fitted(self)
        diagram = getattr(self, "diagram_", None)
        if diagram is None:
            msg = (
                "predict_interval needs one model of two classes whose calibration "
                "rows it has not seen, for an ensemble or more classes no interval is "
                "proven; fit CalibratedClassifier(FrozenEstimator(model)) to held-out "
                "rows of two classes, or use IVAPClassifier."
            )
            raise InvalidParameter(msg)
        rule = with_diagram(self.calibrator_.rule, diagram)
        (scores,) = self._scores(X)
        interval = rule.interval(scores.columns(), confidence)
        return bounds_of_class(interval, self.classes_, pos_label)

    @property
    def guarantee_(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        check_is_fitted(self)
        return self.calibrator_.guarantee

    def predictions(self, X: Any) -> Predictions:
        """Return probabilities, bounds and the probabilities of the models.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        Predictions
            Each model is called once, if it scores by probabilities.
        """
        check_is_fitted(self)
        scores = self._scores(X)
        return replace(
            self.calibrator_.predictions_of_models(scores),
            classes=tuple(self.classes_.tolist()),
            before=self._before(X, scores),
            source=FitSource(metadata=self.calibrator_.metadata),
        )

    def _is_ensemble(self) -> bool:
        if isinstance(self.ensemble, str) and self.ensemble == "auto":
            return not self._is_prefit()
        return validation.as_flag(self.ensemble, "ensemble")

    def _pairs(self, X: Any, y: np.ndarray, split_params: dict[str, Any]) -> list[Pair]:
        if self._is_prefit() and not self._is_ensemble():
            return [(np.arange(0), np.arange(y.size))]
        pairs = super()._pairs(X, y, split_params)
        if not self._is_prefit() and not self._has_own_folds():  # these warn
            warn_of_missing_classes(pairs, y)
        return pairs


def _preferred(estimator: Any, response_method: str) -> str:
    """Name the method that gives scores; "auto" prefers probabilities."""
    many = 3  # classes; then probabilities are always preferred
    return response_of(estimator, response_method, n_classes=many)


def _scored(
    estimator: Any,
    X: Any,
    n_rows: int,
    classes: np.ndarray,
    response_method: str,
) -> ClassScores | None:
    """Score rows, if there are any."""
    if not n_rows:
        return None
    return class_scores(estimator, X, n_rows, classes, response_method)


def _counted_once(
    calibrating: np.ndarray, weights: FloatArray | None
) -> FloatArray | None:
    """Return weights with which a row that calibrates r times counts as one row."""
    repeats = np.bincount(calibrating)[calibrating]
    if repeats.max() > 1:
        shares: FloatArray = 1 / repeats
        return shares if weights is None else weights[calibrating] * shares
    return None if weights is None else weights[calibrating]
