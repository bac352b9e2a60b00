"""Classifiers: any scikit-learn classifier becomes a Venn-Abers predictor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from abers import validation
from abers.estimators.base import VennAbersClassifier
from abers.estimators.folds import (
    calibration_pair,
    cross_pairs,
    warn_of_missing_classes,
)

if TYPE_CHECKING:
    from abers.estimators.folds import Pair


class IVAPClassifier(VennAbersClassifier):
    """A classifier with an inductive Venn-Abers predictor on rows it has not seen.

    The **bounds** of an object are the probability if it were a 0 (lower) and if it
    were a 1 (upper). One of the two is calibrated as long as new cases resemble the
    calibration cases. They are not a confidence interval, and they shrink to a point
    as data grow.

    Parameters
    ----------
    estimator : classifier, default=None
        Anything with `decision_function` or `predict_proba`; logistic regression if
        None. A `FrozenEstimator` is prefit: nothing is trained, all rows calibrate.
    calibration : float, int or array-like, default=0.2
        Fraction or number of rows that calibrate, drawn at random without stratifying
        (the guarantee needs it); or a boolean mask or row numbers of those rows, say
        the latest ones.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged to one probability.
    multiclass : {"auto", "ovo", "ovr"}, default="auto"
        With more than two classes: a rule for each pair of classes, coupled ("ovo"),
        or a rule for each class against the rest, merged for all classes at once
        ("ovr"). "auto" takes pairs where the two rarest classes together have enough
        calibration rows (2,000), and else one class against the rest.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What scores the objects. Probabilities score by their log-odds. "auto" takes
        `decision_function` for two classes and `predict_proba` for more, if they
        exist, since margins compare classes with each other, not one with the rest.
    random_state : int, RandomState instance or None, default=None
        Draws the calibration rows.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending.
    estimators_ : list of one classifier
        The fitted classifier.
    rules_ : list of one list of Rule
        A rule for each problem; two classes are one problem.
    multiclass_ : str
        "ovo" or "ovr", as chosen at fit; two classes are one pair.

    Examples
    --------
    >>> import abers
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = abers.IVAPClassifier(GaussianNB(), random_state=0).fit(X, y)
    >>> model.predict_proba(X[:2]).shape, model.predict_bounds(X[:2]).shape
    ((2, 2), (2, 2))
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: Any = 0.2,
        loss: str = "log",
        multiclass: str = "auto",
        response_method: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.calibration = calibration
        self.loss = loss
        self.multiclass = multiclass
        self.response_method = response_method
        self.random_state = random_state

    def _pairs(self, _X: Any, y: np.ndarray, _params: dict[str, Any], /) -> list[Pair]:
        if self._is_prefit():
            return [(None, np.arange(y.size))]
        return [calibration_pair(self.calibration, y.size, self.random_state)]


class CVAPClassifier(VennAbersClassifier):
    """A cross Venn-Abers predictor: K classifiers, calibrated by their own folds.

    In practice more accurate than one IVAP, because every row both trains and
    calibrates; no guarantee of calibration is proven. Exactly K classifiers are
    trained (K + 1 with `ensemble=False`), and rules are built once, at fit.

    Parameters
    ----------
    estimator : classifier, default=None
        Anything with `decision_function` or `predict_proba`; logistic regression if
        None.
    cv : int, splitter or iterable, default=5
        Number of folds (stratified, shuffled by `random_state`; None is 5), a
        scikit-learn splitter, or pairs (training rows, calibration rows).
    merge : {"pooled", "minimax"}, default="pooled"
        How K folds become one prediction. "pooled" does one isotonic regression on all
        folds at once, each in the order of its own classifier's scores; the model then
        keeps its calibration scores and labels. "minimax" merges the bounds of K rules
        (the paper's CVAP); it needs some 30 rows a fold, and more are better.
    ensemble : bool, default=True
        Whether the K classifiers predict together. If not, one more is trained on all
        rows and predicts alone, by one rule of all out-of-fold scores; as in
        scikit-learn's `CalibratedClassifierCV`.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged to one probability.
    multiclass : {"auto", "ovo", "ovr"}, default="auto"
        With more than two classes: a rule for each pair of classes, coupled ("ovo"),
        or a rule for each class against the rest, merged for all classes at once
        ("ovr"). "auto" takes pairs where the two rarest classes together have enough
        calibration rows (2,000), and else one class against the rest.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        What scores the objects. Probabilities score by their log-odds. "auto" takes
        `decision_function` for two classes and `predict_proba` for more, if they
        exist, since margins compare classes with each other, not one with the rest.
    n_jobs : int, default=None
        Folds that are trained at a time.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds if `cv` is a number.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending.
    estimators_ : list of K classifiers
        The fitted classifiers that predict; one with `ensemble=False`.
    rules_ : list of K lists of Rule
        For each fold a rule for each problem; two classes are one problem. One list
        with `ensemble=False`.
    pooled_rules_ : list of PooledRule
        With `merge="pooled"` one for each problem; else empty.
    multiclass_ : str
        "ovo" or "ovr", as chosen at fit; two classes are one pair.

    Examples
    --------
    >>> import abers
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = abers.CVAPClassifier(GaussianNB(), random_state=0).fit(X, y)
    >>> len(model.rules_), model.predict_proba(X[:2]).shape
    (5, (2, 2))
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        merge: str = "pooled",
        ensemble: bool = True,
        loss: str = "log",
        multiclass: str = "auto",
        response_method: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.merge = merge
        self.ensemble = ensemble
        self.loss = loss
        self.multiclass = multiclass
        self.response_method = response_method
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validation.as_flag(self.ensemble, "ensemble")

    def _jobs(self) -> int | None:
        return self.n_jobs

    def _merge(self) -> str:
        return self.merge

    def _is_ensemble(self) -> bool:
        return self.ensemble

    def _pairs(self, X: Any, y: np.ndarray, params: dict[str, Any], /) -> list[Pair]:
        pairs = cross_pairs(self.cv, X, y, self.random_state, params)
        if not self._is_prefit() and not isinstance(self.cv, int | np.integer):
            warn_of_missing_classes(pairs, y)  # a number of folds has its own warning
        return pairs

    def get_metadata_routing(self) -> MetadataRouter:
        """Tell scikit-learn where metadata goes.

        Returns
        -------
        MetadataRouter
            To itself, to the classifier and to the splitter.
        """
        router = super().get_metadata_routing()
        if hasattr(self.cv, "split"):
            router.add(
                splitter=self.cv,
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        return router
