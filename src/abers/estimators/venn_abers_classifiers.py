"""Venn-Abers classifiers: any scikit-learn classifier becomes a Venn-Abers predictor.

An IVAP is a CVAP with one pair of training and calibration rows, so the two public
classes differ only in how they choose the pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from abers import validation
from abers.core import guarantees
from abers.core.calibrator import plain_classes
from abers.core.merging import LOSSES
from abers.core.multiclass import (
    MERGES,
    MULTICLASS,
    MULTICLASS_OF_ONE_RULE,
    MinimaxPredictor,
    bounds_of_class,
    can_try_pairs,
    chosen_multiclass,
    common_unit,
    joined,
    problems_of,
    warn_of_inverted,
    with_weight,
)
from abers.core.top import MIN_CLASSES, TopPredictor, refuse_weights, top_rule_of
from abers.core.venn_abers_calibrator import VennAbersCalibrator
from abers.errors import InvalidParameter
from abers.estimators.classification import CrossFitClassifier, warn_of_missing_classes
from abers.estimators.cross_fit import (
    SplitIntoFolds,
    SplitOnce,
    warn_of_few,
)
from abers.estimators.scoring import (
    class_scores,
    response_of,
)
from abers.losses import class_losses
from abers.storage.fingerprint import TRAINING_TAG, fingerprint_of

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from abers.choices import (
        LossName,
        Merging,
        Multiclass,
        MulticlassOfOneRule,
        ResponseMethod,
    )
    from abers.core.auc import MannWhitney
    from abers.core.guarantees import Guarantee
    from abers.core.multiclass import Predictor, Problem, ProblemRows
    from abers.core.pooled import PooledRule
    from abers.core.predictions import Predictions
    from abers.core.rule import Weight
    from abers.estimators.cross_fit import Pair, ScoredFold
    from abers.validation import FloatArray, IntArray

__all__ = ["CVAPClassifier", "IVAPClassifier"]

FEW_ROWS_EFFECT = (
    "that draws probabilities towards 1/2: use fewer folds, or merge='pooled'"
)
MOST_ROWS_TO_JUDGE = 5000  # of each fold, by which multiclass="auto" is decided
CHECK_LABELS = (
    "Check that labels mean the same where the classifier was trained as where it is "
    "calibrated, and that its columns are in the order of its classes_."
)


@dataclass(frozen=True, slots=True, eq=False)
class OutOfFold:
    """Scores of rows from classifiers that were not trained on them."""

    classes: np.ndarray
    labels: IntArray  # of all rows, as class numbers
    weights: FloatArray | None  # of all rows
    repeats: IntArray  # how many folds each row calibrates
    folds: list[ScoredFold]
    whole: ScoredFold | None  # without an ensemble: the classifier trained on all rows

    @property
    def estimators(self) -> list[Any]:
        """The classifiers that predict."""
        predicting = self.folds if self.whole is None else [self.whole]
        return [fold.estimator for fold in predicting]

    @property
    def class_sizes(self) -> IntArray:
        """Number of calibration rows of each class."""
        return np.bincount(self.labels[self.repeats > 0], minlength=len(self.classes))

    def by_problem(
        self, fold: ScoredFold, problems: list[Problem]
    ) -> list[ProblemRows]:
        """Return the calibration rows of a fold for each problem."""
        labels, repeats = self.labels[fold.rows], None
        weights = None if self.weights is None else self.weights[fold.rows]
        if self.repeats.max() > 1:
            repeats = self.repeats[fold.rows]
        return [p.rows(fold.scores, labels, weights, repeats) for p in problems]

    def sample(self, most: int) -> OutOfFold:
        """Take at most this many rows of each fold, evenly spaced, none twice."""
        taken = np.zeros(self.labels.size, bool)
        folds = []
        for fold in self.folds:
            (new,) = np.nonzero(~taken[fold.rows])
            taken[fold.rows] = True
            new = new[:: -(-new.size // most) or 1]
            if new.size:
                part = fold.scores.part(new)
                folds.append(fold._replace(rows=fold.rows[new], scores=part))
        return replace(self, repeats=taken.astype(np.int64), folds=folds)


class VennAbersClassifier(CrossFitClassifier):
    """K classifiers, each with the rules fitted to its calibration rows."""

    loss: LossName
    multiclass: MulticlassOfOneRule
    merge = "minimax"
    _is_cross = True  # whether models saw each other's calibration rows
    decompositions: tuple[str, ...] = MULTICLASS
    ensemble = True  # whether the classifiers that score the folds also predict
    rules_: list[list[Any]]  # of Rule or None, or one TopRule
    pooled_rules_: list[PooledRule]
    multiclass_: str

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> Self:
        """Train the classifier and fit the rules.

        Parameters
        ----------
        X : array-like of shape (n, features)
            Whatever the classifier takes.
        y : array-like of shape (n,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n,), default=None
            Passed to the classifier, if it takes weights, and used by the rules, where
            a row of weight w counts as w rows.
        **params : dict
            Further parameters for the `fit` of the classifier, or routed as metadata.

        Returns
        -------
        object
            Itself.
        """
        return self._calibrate(self._cross_fit(X, y, sample_weight, params))

    def _cross_fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        params: dict[str, Any],
    ) -> OutOfFold:
        """Train a classifier for each fold, and score its calibration rows.

        Without an ensemble, one more is trained on all rows and scores all of them.
        """
        self._check_parameters()
        classes, encoded, rows, pairs = self._training_rows(X, y, sample_weight, params)
        if self.multiclass == "top" and len(classes) > MIN_CLASSES:
            refuse_weights(rows.weights)
        if self.merge == "minimax" and self.ensemble:
            warn_of_few(pairs, FEW_ROWS_EFFECT)
        calibrating = np.concatenate([calibrate for _, calibrate in pairs])
        repeats = np.bincount(calibrating, minlength=encoded.size)
        if not self.ensemble:
            everything = np.arange(encoded.size)
            pairs = [*pairs, (everything, everything)]
        score = partial(
            class_scores, classes=classes, response_method=self.response_method
        )
        folds = self._train(rows, pairs, score)
        whole = None if self.ensemble else folds.pop()
        return OutOfFold(classes, encoded, rows.weights, repeats, folds, whole)

    def _calibrate(self, trained: OutOfFold) -> Self:
        """Fit the rules.

        Without an ensemble, all folds together give one rule per problem. It also gets
        a fingerprint of the training rows with the scores of the final classifier,
        which differ from the out-of-fold scores that the rule was fitted to.
        """
        classes = trained.classes
        multiclass = self._chosen_multiclass(trained)
        problems = problems_of(len(classes), multiclass)
        folds = [trained.by_problem(fold, problems) for fold in trained.folds]
        tags: list[dict[str, str]] = [{} for _ in problems]
        if trained.whole is not None:
            training = trained.by_problem(trained.whole, problems)
            prints = [fingerprint_of(rows.scores, rows.labels) for rows in training]
            tags = [{TRAINING_TAG: each.to_text()} for each in prints]
        unit = common_unit(trained.repeats)
        rules, tests = self._fitted(problems, folds, tags, unit)
        self.classes_, self.estimators_ = classes, trained.estimators
        self.multiclass_ = multiclass
        self.response_method_ = self.response_method
        scored = next(fold.scores for fold in trained.folds)
        self.scores_kind_ = "probability" if scored.are_logarithms else "margin"
        for name in ("rules_", "pooled_rules_"):  # those of an earlier fit
            self.__dict__.pop(name, None)
        if self.merge == "minimax":
            self.rules_ = rules
        else:
            self.pooled_rules_ = rules
        # Last, so that the classifier is fitted even if warnings raise.
        calibrating = trained.repeats[trained.repeats > 0]
        warn_of_inverted(
            problems, tests, classes, CHECK_LABELS, repeats=calibrating.mean()
        )
        return self

    def _fitted(
        self,
        problems: list[Problem],
        folds: list[list[ProblemRows]],
        tags: list[dict[str, str]],
        unit: int,
    ) -> tuple[Any, list[list[MannWhitney | None]]]:
        """Fit rules to the rows of each fold and problem.

        Without an ensemble, the rows of all folds form one fold. Also returns the tests
        for inverted scores.
        """
        if not self.ensemble:
            folds = [[joined(rows) for rows in zip(*folds, strict=True)]]
            if self.merge == "minimax":
                folds = [[rows.counted_as(1) for rows in folds[0]]]
        return MERGES[self.merge].fitted(problems, folds, tags, unit)

    def _chosen_multiclass(self, trained: OutOfFold) -> str:
        """Choose "ovo" or "ovr" by the numbers of rows.

        Never by the labels of calibration rows: that would void the guarantee.
        """
        return chosen_multiclass(self.multiclass, trained.class_sizes)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (n, C)
            Rows sum to 1. No guarantee of calibration is proven for merged numbers.
        """
        check_is_fitted(self)
        return self._predictor().probability(self._scores(X))

    def predict_bounds(self, X: Any, *, pos_label: Any = None) -> FloatArray:
        """Return the lower and upper probability.

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
            For two classes or one `pos_label`, (n, 2); for more, those of each class.
            The probability lies between them. They are the estimates after adding the
            new case to the calibration data with label 0 and with label 1, not a
            confidence interval; with more than two classes, they are the smallest and
            largest probability of a class while each rule's estimate stays within its
            own bounds. One class against the rest with `loss="brier"` merges by a
            projection that often leaves these bounds; they are then widened to contain
            the probability.
        """
        check_is_fitted(self)
        bounds = self._predictor().bounds(self._scores(X))
        return bounds_of_class(bounds, self.classes_, pos_label)

    def predict_interval(
        self, X: Any, confidence: float = 0.9, *, pos_label: Any = None
    ) -> FloatArray:
        """Return a confidence interval of the probability given the score.

        It answers "how sure are we of this 12 %?", which the bounds do not: the bounds
        show how far one more case could move the estimate, the interval how far the
        estimate itself may be off. It needs two classes and one model (an
        `IVAPClassifier`), fitted without weights.

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
            with the score, not for the probability given all of X. The bounds lie
            inside.
        """
        check_is_fitted(self)
        if len(self.classes_) > 2:
            msg = (
                "predict_interval is for two classes, since with more the probability "
                f"depends on several scores; got {len(self.classes_)} classes. Fit a "
                "classifier of one class against the rest."
            )
            raise InvalidParameter(msg)
        if self._is_cross:
            msg = (
                f"predict_interval needs one model and its calibration rows; a "
                f"{type(self).__name__} merges several, for which no interval is "
                "proven. Use IVAPClassifier."
            )
            raise InvalidParameter(msg)
        ((rule,),) = self.rules_
        (scores,) = self._scores(X)
        (problem,) = problems_of(2, self.multiclass_)
        interval = rule.interval(problem.scored(scores), confidence)
        return bounds_of_class(interval, self.classes_, pos_label)

    @property
    def calibrator_(self) -> VennAbersCalibrator:
        """The map from the models' scores to probabilities, by the current `loss`.

        It can be saved. Its inputs are the `scores_kind_` scores of all `estimators_`.
        """
        check_is_fitted(self)
        predictor = self._predictor()
        if isinstance(predictor, TopPredictor):
            msg = "multiclass='top' has no calibrator; save rules_[0][0], or fit 'ovr'."
            raise AttributeError(msg)  # noqa: TRY004 (hasattr and notebooks ask)
        return VennAbersCalibrator(
            predictor.rules,
            plain_classes(self.classes_),
            reads=self.scores_kind_,
            is_rounded=True,
            merge=self.merge,
            multiclass=self.multiclass_,
            loss=self.loss,
            is_cross=self._is_cross,
        )

    @property
    def guarantee_(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        return self.calibrator_.guarantee

    def predict_fold_bounds(self, X: Any) -> FloatArray:
        """Return the bounds from each fold, before merging.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (K, problems, n, 2)
            Two classes are one problem; with more, each pair or each class is one. For
            an `IVAPClassifier`, each pair of bounds has the guarantee for two classes.
            Only `merge="minimax"` has a rule for each fold.
        """
        check_is_fitted(self)
        predictor = self._predictor()
        if not isinstance(predictor, MinimaxPredictor):
            msg = (
                "merge must be 'minimax' for folds to have bounds of their own; got "
                f"{self.merge!r}. Fit with merge='minimax'."
            )
            raise InvalidParameter(msg)
        return predictor.fold_bounds(self._scores(X))

    def predictions(self, X: Any) -> Predictions:
        """Return probabilities, bounds, scores and the probabilities before.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        Predictions
            Each inner classifier is called only once, if it scores by probabilities.
        """
        check_is_fitted(self)
        scores = self._scores(X)
        return self._predictor().predictions(
            scores,
            self.classes_,
            before=self._before(X, scores),
            guarantee=self.guarantee_,
        )

    def _check_choices(self) -> None:
        """Check parameters that may have changed since the fit and still matter."""
        validation.check_choice(self.loss, LOSSES, "loss")
        validation.check_choice(self.merge, tuple(MERGES), "merge")

    def _check_parameters(self) -> None:
        self._check_choices()
        validation.check_choice(self.multiclass, self.decompositions, "multiclass")
        response_of(self._inner(), self.response_method)

    def _predictor(self) -> Predictor | TopPredictor:
        self._check_choices()
        name = "rules_" if self.merge == "minimax" else "pooled_rules_"
        if not hasattr(self, name):
            other = "pooled" if self.merge == "minimax" else "minimax"
            msg = f"merge was {other!r} at fit; fit again to predict by {self.merge!r}."
            raise InvalidParameter(msg)
        count = len(self.classes_)
        problems = problems_of(count, self.multiclass_)
        return MERGES[self.merge](problems, count, self.loss, getattr(self, name))


def trained(model: Any, X: Any, labels: np.ndarray) -> Any:
    """Train a copy of a classifier, or of the default one."""
    if model is None:
        model = VennAbersClassifier.default_estimator()
    response_of(model, "auto")
    return clone(model).fit(X, labels)


class IVAPClassifier(SplitOnce, VennAbersClassifier):
    """A classifier with an inductive Venn-Abers predictor on held-out rows.

    The **bounds** are the estimated probability of the second class after adding the
    new case to the calibration data with the first class (lower) and with the second
    (upper). With two classes and unit weights, one of the two is calibrated as
    long as new cases resemble the calibration cases. They are not a confidence
    interval, and they shrink to a point as data grow.

    Parameters
    ----------
    estimator : classifier, default=None
        Anything with `decision_function` or `predict_proba`; logistic regression if
        None. A `FrozenEstimator` is prefit: nothing is trained, all rows calibrate.
    calibration : float, int or array-like, default=0.2
        Fraction or number of calibration rows, drawn at random without stratifying (as
        the guarantee requires); or a boolean mask or row numbers, say of the latest
        rows. All other rows train, in their order.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged into one probability.
    multiclass : {"auto", "ovo", "ovr", "top"}, default="auto"
        With more than two classes: a rule for each pair of classes, coupled ("ovo"), or
        a rule for each class against the rest, merged for all classes at once ("ovr").
        "auto" uses pairs if the two rarest classes together have enough calibration
        rows (2,000), else one class against the rest. Only "top" has a guarantee, for
        rows without weights: it predicts the frequencies of all classes among rows with
        the same top class and a similar score; see `abers.rules.fit_top_rule`.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        The method that scores the rows. Probabilities become log-odds. "auto" uses
        `decision_function` for two classes and `predict_proba` for more, if available,
        since margins compare classes with each other, not one class with the rest.
    random_state : int, RandomState instance or None, default=None
        Draws the calibration rows.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending.
    estimators_ : list of one classifier
        The fitted classifier.
    rules_ : list of one list of Rule
        A rule with its diagram for each problem; two classes are one problem.
    multiclass_ : str
        "ovo", "ovr" or "top", as chosen at fit; two classes are one pair.
    response_method_ : str
        The method chosen at fit, which also scores new rows.

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

    decompositions = MULTICLASS_OF_ONE_RULE
    _is_cross = False

    def __init__(
        self,
        estimator: Any = None,
        *,
        calibration: Any = 0.2,
        loss: LossName = "log",
        multiclass: MulticlassOfOneRule = "auto",
        response_method: ResponseMethod = "auto",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.calibration = calibration
        self.loss = loss
        self.multiclass = multiclass
        self.response_method = response_method
        self.random_state = random_state

    def predict_bounds(
        self, X: Any, *, pos_label: Any = None, weight: Weight | None = None
    ) -> FloatArray:
        """Return the lower and upper probability.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.
        pos_label : object, default=None
            The class whose bounds to return; None is `classes_[1]` with two classes,
            and every class with more.
        weight : float, array-like of shape (n,) or tuple of two, default=None
            The weight of each new case, in the unit of `sample_weight`; None is 1. A
            tuple (w0, w1) if it depends on the class, of two. With
            known weights, the guarantee for two classes still holds;
            `abers.rules.shift_weights` estimates weights.

        Returns
        -------
        ndarray of shape (n, 2) or (n, C, 2)
            For two classes or one `pos_label`, (n, 2); for more, those of each class,
            as `CVAPClassifier.predict_bounds` returns them. Without a weight the
            probability lies between them.
        """
        check_is_fitted(self)
        predictor = with_weight(self._predictor(), weight)
        bounds = predictor.bounds(self._scores(X))
        return bounds_of_class(bounds, self.classes_, pos_label)

    def _fitted(
        self,
        problems: list[Problem],
        folds: list[list[ProblemRows]],
        tags: list[dict[str, str]],
        _unit: int,
    ) -> tuple[Any, list[list[MannWhitney | None]]]:
        """Fit the rules, which keep their diagrams."""
        if self.multiclass == "top" and len(problems) > 1:
            rule, tests = top_rule_of(folds[0])
            return [[rule]], [tests]
        fitted = [
            rows.rule(tag, keep_diagram=True)
            for rows, tag in zip(folds[0], tags, strict=True)
        ]
        return [[rule for rule, _ in fitted]], [[test for _, test in fitted]]

    def predict_fold_bounds(self, X: Any) -> FloatArray:
        """Return the bounds of each rule.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (1, problems, n, 2)
            Two classes are one problem; with more, each pair or each class is one. Each
            pair of bounds has the guarantee for two classes.
        """
        check_is_fitted(self)
        if self.multiclass_ == "top":
            msg = (
                "multiclass must be 'ovo' or 'ovr' for problems to have bounds; got "
                "'top', which answers all at once. Call predict_bounds."
            )
            raise InvalidParameter(msg)
        return super().predict_fold_bounds(X)

    @property
    def guarantee_(self) -> Guarantee:
        """Whether the predictions are proven to be calibrated; if not, why."""
        check_is_fitted(self)
        return guarantees.VECTOR if self.multiclass_ == "top" else super().guarantee_

    def _predictor(self) -> Predictor | TopPredictor:
        if self.multiclass_ == "top":
            self._check_choices()
            return TopPredictor(self.rules_[0][0], self.loss)
        return super()._predictor()


class CVAPClassifier(SplitIntoFolds, VennAbersClassifier):
    """A cross Venn-Abers predictor: K classifiers, calibrated by their own folds.

    It is usually more accurate than one IVAP, because every row both trains and
    calibrates; no guarantee of calibration is proven. Exactly K classifiers are trained
    (K + 1 with `ensemble=False`), and rules are built once, at fit.

    Parameters
    ----------
    estimator : classifier, default=None
        Anything with `decision_function` or `predict_proba`; logistic regression if
        None.
    cv : int, splitter or iterable, default=5
        Number of folds (stratified, shuffled by `random_state`; None is 5), a
        scikit-learn splitter, or pairs (training rows, calibration rows). A row that
        calibrates several folds counts as one row.
    merge : {"minimax", "pooled"}, default="minimax"
        How K folds become one prediction. "minimax" merges the bounds of K rules (the
        paper's Algorithm 7); it needs some 30 rows per fold, and more are better.
        "pooled" (Algorithm 8) fits one isotonic regression to all folds at once, each
        in the order of its own classifier's scores. It is usually more accurate, but
        the model keeps its calibration scores and labels.
    ensemble : bool, default=True
        Whether all K classifiers predict. If False, one more is trained on all rows and
        predicts alone, with one rule fitted to all out-of-fold scores, as in
        scikit-learn's `CalibratedClassifierCV`.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged into one probability.
    multiclass : {"auto", "ovo", "ovr"}, default="auto"
        With more than two classes: a rule for each pair of classes, coupled ("ovo"), or
        a rule for each class against the rest, merged for all classes at once ("ovr").
        "auto" chooses the one with the smaller log loss when the rules of the other
        folds predict each fold. With one fold, or if this would take more than 30,000
        rules of pairs, it decides as `IVAPClassifier` does.
    response_method : {"auto", "decision_function", "predict_proba"}, default="auto"
        The method that scores the rows. Probabilities become log-odds. "auto" uses
        `decision_function` for two classes and `predict_proba` for more, if available,
        since margins compare classes with each other, not one class with the rest.
    n_jobs : int, default=None
        Number of folds to train in parallel.
    random_state : int, RandomState instance or None, default=None
        Shuffles the folds if `cv` is a number.

    Attributes
    ----------
    classes_ : ndarray of shape (C,)
        The labels, ascending.
    estimators_ : list of K classifiers
        The fitted classifiers that predict; one with `ensemble=False`.
    rules_ : list of K lists of Rule
        Only with `merge="minimax"`: a rule for each fold and problem; two classes are
        one problem. One list with `ensemble=False`.
    pooled_rules_ : list of PooledRule
        Only with `merge="pooled"`: one rule for each problem.
    multiclass_ : str
        "ovo" or "ovr", as chosen at fit; two classes are one pair.
    response_method_ : str
        The method chosen at fit, which also scores new rows.

    Examples
    --------
    >>> import abers
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = abers.CVAPClassifier(GaussianNB(), random_state=0).fit(X, y)
    >>> len(model.estimators_), model.predict_proba(X[:2]).shape
    (5, (2, 2))
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        cv: Any = 5,
        merge: Merging = "minimax",
        ensemble: bool = True,
        loss: LossName = "log",
        multiclass: Multiclass = "auto",
        response_method: ResponseMethod = "auto",
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

    def _chosen_multiclass(self, trained: OutOfFold) -> str:
        """Choose "ovo" or "ovr" by out-of-fold log loss if there are enough rows."""
        if self.multiclass == "auto" and len(trained.classes) > 2:
            sample = trained.sample(MOST_ROWS_TO_JUDGE)
            if can_try_pairs(len(trained.classes), len(sample.folds)):
                return min(("ovr", "ovo"), key=partial(self._out_of_fold_loss, sample))
        return super()._chosen_multiclass(trained)

    def _out_of_fold_loss(self, trained: OutOfFold, multiclass: str) -> float:
        """Return the log loss of each fold under the rules of all others, summed.

        Always log loss, because `loss` may change after the fit.
        """
        count, total = len(trained.classes), 0.0
        problems = problems_of(count, multiclass)
        folds = [trained.by_problem(fold, problems) for fold in trained.folds]
        no_tags: list[dict[str, str]] = [{} for _ in problems]
        for k, fold in enumerate(trained.folds):
            others = folds[:k] + folds[k + 1 :]
            rules, _ = self._fitted(problems, others, no_tags, 1)
            predictor = MERGES[self.merge](problems, count, "log", rules)
            # Each rule gets the score from the one classifier that was not trained on
            # the row.
            scores = [fold.scores] * (len(others) if self.ensemble else 1)
            losses = class_losses(
                predictor.probability(scores), trained.labels[fold.rows], "log"
            )
            if trained.weights is not None:
                losses = losses * trained.weights[fold.rows]
            total += float(losses.sum())
        return total

    def _check_parameters(self) -> None:
        super()._check_parameters()
        validation.as_flag(self.ensemble, "ensemble")

    def _pairs(self, X: Any, y: np.ndarray, split_params: dict[str, Any]) -> list[Pair]:
        pairs = super()._pairs(X, y, split_params)
        if not self._is_prefit() and not self._has_own_folds():  # those have a warning
            warn_of_missing_classes(pairs, y)
        return pairs
