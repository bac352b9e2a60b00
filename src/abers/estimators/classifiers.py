"""Classifiers: any scikit-learn classifier becomes a Venn-Abers predictor.

An IVAP is a CVAP with one pair of training and calibration rows, so the two public
classes differ in how they choose the pairs, and share all else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _num_samples,
    check_is_fitted,
    validate_data,
)

from abers import validation
from abers.core.merging import LOSSES
from abers.errors import InvalidLabels, InvalidParameter
from abers.estimators.folds import (
    calibrating_once,
    calibration_pair,
    cross_pairs,
    rows_of,
    warn_of_few,
    warn_of_missing_classes,
    warn_of_overlap,
)
from abers.estimators.multiclass import (
    MERGES,
    MULTICLASS,
    Responses,
    bounds_of_class,
    chosen_multiclass,
    common_unit,
    joined,
    problems,
    samples_of,
    warn_of_inverted,
)
from abers.estimators.score_columns import as_class_labels, refuse_dispatched
from abers.estimators.scoring import class_scores, response_of
from abers.estimators.weights import (
    checked_weights,
    warn_of_light,
    weights_to_calibrate,
)
from abers.estimators.wrapper import (
    CrossWrapper,
    ProbabilisticClassifier,
    Wrapper,
    warn_of_fitted,
)
from abers.storage.fingerprint import TRAINING_TAG

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from abers.core.pooled import PooledRule
    from abers.core.rule import Rule
    from abers.estimators.folds import Pair
    from abers.estimators.multiclass import (
        FittedRule,
        Predictor,
        Problem,
        ProblemRows,
    )
    from abers.estimators.scoring import ClassScores
    from abers.validation import FloatArray, IntArray

__all__ = ["CVAPClassifier", "IVAPClassifier"]


CHECK_LABELS = (
    "Check that labels mean the same where the classifier was trained as where it is "
    "calibrated, and that its columns are in the order of its classes_."
)


@dataclass(frozen=True, slots=True, eq=False)
class Observations:
    """All rows that a classifier was given, to train on and to calibrate with."""

    X: Any
    classes: np.ndarray
    encoded: IntArray  # each row's place in the classes
    weights: FloatArray | None  # in the rules
    fit_params: dict[str, Any]  # of the classifier, some of them by row
    times: IntArray | None = None  # that each row calibrates; None: at most once

    def labels(self, rows: IntArray | slice = slice(None)) -> np.ndarray:
        """Return labels as they were given."""
        labels: np.ndarray = self.classes[self.encoded[rows]]
        return labels

    def rows(self, values: Any, rows: IntArray) -> Any:
        """Take these rows of features, or of a parameter that has as many."""
        return rows_of(values, rows, self.encoded.size)


class VennAbersClassifier(ProbabilisticClassifier, Wrapper):
    """K classifiers, each with the rules of its calibration rows."""

    default_estimator = LogisticRegression
    loss: str
    multiclass: str
    response_method: str
    random_state: Any
    estimators_: list[Any]
    rules_: list[list[Rule | None]]
    pooled_rules_: list[PooledRule]
    multiclass_: str
    response_method_: str

    def _pairs(self, X: Any, y: np.ndarray, params: dict[str, Any], /) -> list[Pair]:
        """Return pairs of training rows (None: no training) and calibration rows."""
        raise NotImplementedError

    def _merge(self) -> str:
        return "minimax"

    def _is_ensemble(self) -> bool:
        """Whether the classifiers that were trained for calibration also predict."""
        return True

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
            Goes to the classifier, if it takes weights, and into the rules, where an
            observation of weight w counts as w observations.
        **params : dict
            Further parameters for the `fit` of the classifier, or routed as metadata.

        Returns
        -------
        object
            Itself.
        """
        self._check_parameters()
        warn_of_fitted(self._inner())
        classes, encoded = self._labels(y)
        refuse_dispatched(X, "X")
        X, encoded = indexable(X, encoded)
        validate_data(self, X, skip_check_array=True)
        weights = checked_weights(sample_weight, encoded.size, "rows of X")
        fit_params, split_params = self._routed(sample_weight, params)
        data = Observations(X, classes, encoded, weights, fit_params)
        pairs = self._pairs(X, data.labels(), split_params)
        warn_of_light(weights_to_calibrate(weights, pairs))
        if self._merge() == "minimax" and self._is_ensemble():
            warn_of_few(pairs)
        calibrating = np.concatenate([calibrate for _, calibrate in pairs])
        times = np.bincount(calibrating, minlength=encoded.size)
        if times.max() > 1:
            data = replace(data, times=times)
        sizes = np.bincount(encoded[times > 0], minlength=len(classes))
        multiclass = chosen_multiclass(self.multiclass, sizes)
        asked = problems(len(classes), multiclass)
        estimators, folds = self._train(data, pairs, asked)
        self.classes_, self.multiclass_ = classes, multiclass
        self.response_method_ = self.response_method
        fitted = self._calibrate(estimators, folds, asked, common_unit(times))
        # Last, so that the classifier is fitted even if warnings are errors.
        repeats = calibrating.size / np.count_nonzero(times)
        warn_of_inverted(asked, fitted, classes, CHECK_LABELS, times=repeats)
        return self

    def _train(
        self, data: Observations, pairs: list[Pair], asked: list[Problem]
    ) -> tuple[list[Any], list[list[ProblemRows]]]:
        """Train a classifier for each pair; return them and what they calibrate by.

        Without an ensemble, one more is trained on all rows, and scores them all.
        """
        if not self._is_ensemble():
            everything = np.arange(data.encoded.size)
            pairs = [*pairs, (everything, everything)]
        fitted = Parallel(n_jobs=self._jobs())(
            delayed(fit_pair)(
                clone(self._inner()), data, pair, asked, self.response_method
            )
            for pair in pairs
        )
        estimators, folds = zip(*fitted, strict=True)
        return list(estimators), list(folds)

    def _calibrate(
        self,
        estimators: list[Any],
        folds: list[list[ProblemRows]],
        asked: list[Problem],
        unit: int,
    ) -> list[list[FittedRule]]:
        """Fit the rules, and return them with the order of their labels.

        Without an ensemble, all folds make one rule a problem, and the last classifier
        predicts. A fingerprint of its scores of its training rows goes with the rules,
        since no score of theirs is among those that the rules are made of. `unit` is
        for the merge, to weigh rows that calibrate several folds.
        """
        tags: list[dict[str, str]] = [{} for _ in folds[0]]
        in_rules = folds  # each fold has a rule, in which a row comes once
        if not self._is_ensemble():
            *folds, trained_on = folds
            folds = [[joined(samples) for samples in zip(*folds, strict=True)]]
            in_rules = [[sample.counted_as(1) for sample in folds[0]]]
            estimators = estimators[-1:]
            tags = [{TRAINING_TAG: sample.fingerprint()} for sample in trained_on]
        self.estimators_ = estimators
        fitted = [
            [sample.rule(tag) for sample, tag in zip(samples, tags, strict=True)]
            for samples in in_rules
        ]
        self.rules_ = [[each.rule for each in of_fold] for of_fold in fitted]
        self.pooled_rules_ = MERGES[self._merge()].pool(asked, folds, unit)
        return fitted

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

    def predict_bounds(self, X: Any, *, positive: Any = None) -> FloatArray:
        """Return lower and upper probability.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.
        positive : object, default=None
            The class whose bounds to return; None is `classes_[1]` of two classes, and
            every class of more.

        Returns
        -------
        ndarray of shape (n, 2) or (n, C, 2)
            For two classes or one `positive`, (n, 2); for more, those of each class
            before normalising, so that the probability may lie outside of them. The
            probability if the case were a 0, and if it were a 1; not a confidence
            interval.
        """
        check_is_fitted(self)
        bounds = self._predictor().bounds(self._scores(X))
        return bounds_of_class(bounds, self.classes_, positive)

    def predict_fold_bounds(self, X: Any) -> FloatArray:
        """Return the bounds by each fold, before merging.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        ndarray of shape (K, problems, n, 2)
            Two classes are one problem; more are one for each pair or each class.
        """
        check_is_fitted(self)
        return self._predictor().fold_bounds(self._scores(X))

    def responses(self, X: Any) -> Responses:
        """Return probabilities, bounds, scores and what the classifiers say themselves.

        Parameters
        ----------
        X : array-like of shape (n, features)
            As for `fit`.

        Returns
        -------
        Responses
            Each inner classifier is asked once, if it scores by probabilities.
        """
        check_is_fitted(self)
        scores, predictor = self._scores(X), self._predictor()
        place = predictor.largest_problem()
        problem = predictor.problems[place]
        return Responses(
            probabilities=predictor.probability(scores),
            bounds=predictor.bounds(scores),
            scores=tuple(problem.scored(s).values for s in scores),
            before=self._before(X, scores),
            calibrated=self._calibrated_share(),
            problem=place,
        )

    def _before(self, X: Any, scores: list[ClassScores]) -> FloatArray | None:
        """Return the mean of the classifiers' own probabilities, if they have any."""
        tables: list[Any] = [each.probabilities for each in scores]
        if any(table is None for table in tables):
            if not all(hasattr(model, "predict_proba") for model in self.estimators_):
                return None
            rows = _num_samples(X)
            tables = [
                class_scores(
                    model, X, self.classes_, "predict_proba", rows
                ).probabilities
                for model in self.estimators_
            ]
        mean: FloatArray = np.mean(tables, axis=0)
        return mean

    def _calibrated_share(self) -> float | None:
        return 1.0  # of a cross predictor each row calibrates one fold

    def _check_choices(self) -> None:
        """Check what may have been set since the fit, and matters after it, too."""
        validation.check_choice(self.loss, LOSSES, "loss")
        validation.check_choice(self._merge(), tuple(MERGES), "merge")

    def _check_parameters(self) -> None:
        self._check_choices()
        validation.check_choice(self.multiclass, MULTICLASS, "multiclass")
        response_of(self._inner(), self.response_method)

    def _labels(self, y: ArrayLike) -> tuple[np.ndarray, IntArray]:
        """Return the classes and each label's place; those of a prefit model rule."""
        labels = as_class_labels(y, type(self).__name__)
        classes, encoded = np.unique(labels, return_inverse=True)
        inner = self._inner()
        if self._is_prefit() and hasattr(inner, "classes_"):
            known = np.unique(inner.classes_)
            unknown = ~np.isin(labels, known)
            if unknown.any():
                row = int(unknown.argmax())
                msg = (
                    f"labels must be among those of the prefit model, "
                    f"{known.tolist()!r}; got {labels.tolist()[row]!r} at row {row}."
                )
                raise InvalidLabels(msg)
            encoded = np.searchsorted(known, classes)[encoded]
            return known, encoded
        if len(classes) < 2:
            got = f"one class only, {classes.tolist()!r}" if classes.size else "no rows"
            msg = (
                f"{type(self).__name__} needs labels of at least two classes; "
                f"got {got}."
            )
            raise InvalidLabels(msg)
        return classes, encoded

    def _scores(self, X: Any) -> list[ClassScores]:
        if getattr(X, "ndim", 2) != 1:  # the classifier words that one better
            validate_data(self, X, skip_check_array=True, reset=False)
        return [
            class_scores(
                estimator, X, self.classes_, self.response_method_, _num_samples(X)
            )
            for estimator in self.estimators_
        ]

    def _predictor(self) -> Predictor:
        count = len(self.classes_)
        self._check_choices()
        if self._merge() == "pooled" and not self.pooled_rules_:
            msg = "merge was 'minimax' at fit; fit again to predict by 'pooled'."
            raise InvalidParameter(msg)
        return MERGES[self._merge()](
            problems(count, self.multiclass_),
            self.rules_,
            count,
            self.loss,
            self.pooled_rules_,
        )


def trained(model: Any, X: Any, labels: np.ndarray) -> Any:
    """Train a copy of a classifier, of the default one if there is none."""
    if model is None:
        model = VennAbersClassifier.default_estimator()
    response_of(model, "auto")
    return clone(model).fit(X, labels)


def fit_pair(
    estimator: Any,
    data: Observations,
    pair: Pair,
    asked: list[Problem],
    response_method: str,
) -> tuple[Any, list[ProblemRows]]:
    """Train on one side of a pair, score the other."""
    train, calibrate = pair
    if train is not None and not isinstance(estimator, FrozenEstimator):
        seen = np.unique(data.encoded[train])
        if len(seen) < 2:
            msg = (
                "the training rows must hold at least two classes; got only "
                f"{data.classes[seen].tolist()!r}. Use more rows, or another split."
            )
            raise InvalidLabels(msg)
        chosen = {name: data.rows(v, train) for name, v in data.fit_params.items()}
        estimator.fit(data.rows(data.X, train), data.labels(train), **chosen)
    part = data.rows(data.X, calibrate)
    scores = class_scores(
        estimator, part, data.classes, response_method, len(calibrate)
    )
    weights = None if data.weights is None else data.weights[calibrate]
    times = None if data.times is None else data.times[calibrate]
    return estimator, samples_of(asked, scores, data.encoded[calibrate], weights, times)


class IVAPClassifier(VennAbersClassifier):
    """A classifier with an inductive Venn-Abers predictor on rows it has not seen.

    The **bounds** of an object are the probability if it were a 0 (lower) and if it
    were a 1 (upper). With two classes and unit weights, one of the two is calibrated as
    long as new cases resemble the calibration cases. They are not a confidence
    interval, and they shrink to a point as data grow.

    Parameters
    ----------
    estimator : classifier, default=None
        Anything with `decision_function` or `predict_proba`; logistic regression if
        None. A `FrozenEstimator` is prefit: nothing is trained, all rows calibrate.
    calibration : float, int or array-like, default=0.2
        Fraction or number of rows that calibrate, drawn at random without stratifying
        (the guarantee needs it); or a boolean mask or row numbers of those rows, say
        the latest ones. All others train, in the order of the data.
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
    response_method_ : str
        `response_method` as at fit, which also scores new objects.

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

    def _calibrated_share(self) -> float | None:
        if self._is_prefit():
            return 1.0
        given = np.asarray(self.calibration)
        if given.dtype.kind == "b":
            return float(given.mean())
        return float(given) if given.ndim == 0 and given.dtype.kind == "f" else None

    def _pairs(self, _X: Any, y: np.ndarray, _params: dict[str, Any], /) -> list[Pair]:
        if self._is_prefit():
            return [(None, np.arange(y.size))]
        return [calibration_pair(self.calibration, y.size, self.random_state)]


class CVAPClassifier(CrossWrapper, VennAbersClassifier):
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
        scikit-learn splitter, or pairs (training rows, calibration rows). A row that
        calibrates several folds counts as one row.
    merge : {"minimax", "pooled"}, default="minimax"
        How K folds become one prediction. "minimax" merges the bounds of K rules (the
        paper's Algorithm 7); it needs some 30 rows per fold, and more are better.
        "pooled" (Algorithm 8) does one isotonic regression on all folds at once, each
        in the order of its own classifier's scores: more accurate as a rule, but the
        model keeps its calibration scores and labels.
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
    response_method_ : str
        `response_method` as at fit, which also scores new objects.

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
        merge: str = "minimax",
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

    def _merge(self) -> str:
        return self.merge

    def _is_ensemble(self) -> bool:
        return self.ensemble

    def _pairs(self, X: Any, y: np.ndarray, params: dict[str, Any], /) -> list[Pair]:
        pairs = cross_pairs(self.cv, X, y, self.random_state, params)
        pairs = calibrating_once(pairs, y.size)
        if not self._is_prefit():
            warn_of_overlap(pairs, y.size)
            if not isinstance(self.cv, int | np.integer):  # it has its own warning
                warn_of_missing_classes(pairs, y)
        return pairs
