"""Compare: every method predicts the same held-out rows.

With a classifier to train, K models are trained once and used by all methods. Otherwise
only the given scores are used; a prefit model is one way to make them.
"""

from __future__ import annotations

import re
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import _num_samples, column_or_1d

from abers import validation
from abers.comparison.methods import METHODS, Scores, chosen, offered_with
from abers.comparison.result import compared
from abers.core.log_odds import are_probabilities, kind_of
from abers.errors import InvalidData, InvalidParameter
from abers.estimators.calibrators import as_columns
from abers.estimators.cross_fit import (
    calibration_pair,
    checked_weights,
    cross_pairs,
    rows_of,
)
from abers.estimators.scoring import RESPONSE_METHODS, innermost
from abers.estimators.venn_abers_classifiers import CVAPClassifier

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Self

    from numpy.typing import ArrayLike

    from abers.comparison.methods import Method
    from abers.comparison.result import Comparison
    from abers.estimators.cross_fit import Pair
    from abers.validation import FloatArray, IntArray

TEST_FRACTION = 0.25
RESPONSES = (*RESPONSE_METHODS[1:], "predict_log_proba")


def compare(
    X: Any,
    y: ArrayLike,
    *,
    estimator: Any = None,
    test: Any = None,
    cv: Any = 5,
    methods: Iterable[str] | None = None,
    reference: str | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
    pos_label: Any = None,
    n_jobs: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compare calibration methods on held-out rows.

    Parameters
    ----------
    X : array-like
        Without an estimator: scores of shape (n,) or (n, 1), or the probabilities of
        two classes (n, 2), or the scores of C classes (n, C), in the order of their
        labels. With one: whatever the classifier takes.
    y : array-like of shape (n,)
        Labels of two or more classes.
    estimator : classifier, default=None
        A classifier to train; None if X is scores. A `FrozenEstimator` is prefit and is
        not trained: pass rows that it was not trained on. It scores X, and everything
        else is as with scores.
    test : float, int or array-like, default=None
        Test rows: a fraction or number, drawn at random, or a boolean mask or row
        numbers, say of the latest rows. None: with a classifier to train, a quarter of
        the rows; with scores, every row, by cross-validation.
    cv : int, splitter or iterable, default=5
        Number of folds (stratified, shuffled by `random_state`), a scikit-learn
        splitter, or pairs (training rows, other rows). With a classifier to train, it
        splits the rows that are not in `test`, and row numbers refer to these.
    methods : iterable of str, default=None
        Names of methods (see below); None is all that apply.
    reference : str, default=None
        The method to which others are compared; None is the first in the table below.
    sample_weight : array-like of shape (n,), default=None
        A row of weight w counts as w rows, in fits and in losses.
    random_state : int, RandomState instance or None, default=0
        Draws the test rows and shuffles the folds.
    pos_label : object, default=None
        Which of two labels counts as 1; None is the greater one. A single column of
        scores is about this label.
    n_jobs : int, default=None
        Number of models to train in parallel.
    progress : callable, default=None
        Called with the number of steps done and the number of all steps. Training a
        model and comparing a method are one step each.

    Returns
    -------
    Comparison
        Losses, paired differences and predictions.

    Notes
    -----
    ========================= ======================================================
    "uncalibrated"            the probabilities as they are
    "Platt (probability)"     a sigmoid of the probability
    "Platt (log-odds)"        a sigmoid of its log-odds, if there are no margins
    "Platt (margin)"          a sigmoid of the margin (`decision_function`)
    "temperature"             the log-odds, or the margin, divided by a temperature
    "beta"                    beta calibration: the ends of log-odds bent apart
    "isotonic"                isotonic regression; its log loss is often infinite
    "isotonic with dummies"   with a 0 added at +inf and a 1 at -inf
    "IVAP"                    an inductive Venn-Abers predictor, merged by minimax
    "CVAP"                    a cross Venn-Abers predictor, its folds merged by minimax
    "CVAP pooled"             with one rule of all folds
    "stacked"                 a mixture of the model, beta and Venn-Abers
    ========================= ======================================================

    *With a classifier to train*, K models are trained, each without one fold of the
    rows that are not in `test`, and all methods share them. A method calibrates each
    model on its held-out fold, and the mean of the K probabilities is compared, as in
    scikit-learn's `CalibratedClassifierCV`; "uncalibrated" is the mean of the models'
    own. "CVAP" and "CVAP pooled" are `CVAPClassifier` with either `merge`, and
    "stacked" is `CalibratedClassifier`: they combine the K models in their own way.

    *Scores alone*, or those of a prefit model: each fold is predicted by methods fitted
    to the other folds. Scores are probabilities if all lie between 0 and 1, else
    margins. "stacked" is `StackedCalibrator`, and there is no "CVAP", which needs
    several models.

    *Scales*. Platt runs on both probability and margin if both exist, because the scale
    can make the difference. Temperature and beta use probabilities if there are any,
    else margins, treated as log-odds; so does "stacked", with Platt's sigmoid instead
    of beta on margins. Isotonic regression and IVAP use only the order of margins or
    log-odds. For Platt, an infinite score is replaced by the smallest or largest finite
    one seen in calibration.

    *With more than two classes* methods read the probabilities of all classes, or their
    margins if there are none: Platt, beta and isotonic regression one class against the
    rest, normalised; Platt runs on log-odds or margins. The Brier loss is the sum over
    classes of squared differences, as in scikit-learn; with two classes it would be
    twice the usual one.

    The best method is the one with the smallest loss on the test rows, for each loss
    separately. It is chosen on the same rows, so its lead is slightly exaggerated: a
    method within two standard errors may well be as good.

    The standard error of a weighted mean difference d is √(n/(n-1) Σ w²(d_i - d)²) / Σw
    over the n rows with w > 0. It is the error due to the choice of test rows; the
    effect of other training rows is not included. An infinite loss makes the difference
    infinite (NaN if both are) and its error NaN.

    Examples
    --------
    >>> from abers.comparison import compare
    >>> comparison = compare([1, 2, 1, 2], [0, 1, 0, 1], test=[2, 3], methods=["IVAP"])
    >>> comparison.probabilities["IVAP"]  # 1/2 / (1 - 0 + 1/2), 1 / (1 - 1/2 + 1)
    array([0.33333333, 0.66666667])
    >>> comparison.best, round(comparison.methods[0].brier_loss, 3)  # 1/9
    ('IVAP', 0.111)
    """
    _chosen_reference(reference, tuple(METHODS))  # before the work
    with _each_warning_once():
        if trains := not (estimator is None or isinstance(estimator, FrozenEstimator)):
            data = _rows(X, y, sample_weight, "rows of X")
            fit, rows = _test_pair(test, data.size, random_state)
            pairs = _folds(cv, data.part(fit), random_state)
            offer = offered_with(estimator, len(data.classes))
            how = _how_on_models(estimator, len(pairs), fit.size, rows.size)
        else:
            scores, data = _scored(X, y, sample_weight, estimator, pos_label)
            if test is None:
                pairs = _folds(cv, data, random_state)
            else:
                pairs = [_test_pair(test, data.size, random_state)]
            rows = _test_rows(pairs, data.size)
            offer = scores.offered()
            how = _how_on_scores(estimator, pairs, rows.size)
        first = estimator is not None and _is_first(pos_label, data.classes)
        names = chosen(methods, offer)
        reference = _chosen_reference(reference, names)
        tested = data.part(rows)
        if tested.weights is not None:
            validation.check_total(tested.weights, "sample_weight of the test rows")
        step = _counted(progress, len(names) + (len(pairs) if trains else 0))
        if trains:
            # A copy, since retraining a fitted model raises a warning.
            training = Training(clone(estimator), cv=pairs, n_jobs=n_jobs)
            models = training.models(data, fit, step)
            predict = partial(_by_models, models, data, fit, rows)
        else:
            predict = partial(_by_scores, scores, data, pairs, rows)
        probabilities = {}
        for name in names:
            probabilities[name] = predict(METHODS[name])
            step()
    return compared(
        probabilities,
        tested.labels,
        tested.weights,
        reference=reference,
        how=how,
        rows=rows,
        classes=data.classes,
        mirrored=first,
    )


def _chosen_reference(reference: str | None, names: tuple[str, ...]) -> str:
    if reference is None:
        return names[0]
    if reference not in names:
        msg = (
            f"reference must be one of the methods, {', '.join(map(repr, names))}; "
            f"got {reference!r}."
        )
        raise InvalidParameter(msg)
    return reference


def _counted(
    progress: Callable[[int, int], None] | None, total: int
) -> Callable[[], None]:
    """Return a function to call after each step."""
    done = count(1)
    return lambda: None if progress is None else progress(next(done), total)


@contextmanager
def _each_warning_once() -> Iterator[None]:
    """Show a warning once, even if methods and folds repeat it with other numbers."""
    with warnings.catch_warnings(record=True) as raised:
        yield
    shown = set()
    for each in raised:
        kind = each.category, re.sub(r"\d", "", str(each.message))
        if kind not in shown:
            shown.add(kind)
            warnings.warn_explicit(
                each.message, each.category, each.filename, each.lineno
            )


# --- predictions ---


def _by_scores(
    scores: Scores, data: Rows, pairs: Sequence[Pair], rows: IntArray, method: Method
) -> FloatArray:
    """Predict each fold by a calibrator fitted to the others: (n, C)."""
    p = np.full((data.size, len(data.classes)), np.nan)
    for fit, held in pairs:
        sample = data.labels[fit], data.weights_of(fit)
        p[held] = method.predict(scores.part(fit), *sample, scores.part(held))
    tested: FloatArray = p[rows]
    return tested


def _by_models(
    models: Sequence[FoldModel],
    data: Rows,
    fit: IntArray,
    rows: IntArray,
    method: Method,
) -> FloatArray:
    """Predict by K models: the mean of their calibrated predictions: (n, C)."""
    if method.crossed is not None:
        crossed = clone(method.crossed).set_params(
            estimator=TrainedModels(models),
            cv=[
                (np.searchsorted(fit, m.train), np.searchsorted(fit, m.held))
                for m in models
            ],
        )
        with config_context(enable_metadata_routing=False):
            crossed.fit(fit[:, np.newaxis], data.given[fit], data.weights_of(fit))
        p: FloatArray = crossed.predict_proba(rows[:, np.newaxis])
        return p
    predicted = [
        method.predict(
            model.scores(model.held),
            data.labels[model.held],
            data.weights_of(model.held),
            model.scores(rows),
        )
        for model in models
    ]
    mean: FloatArray = np.mean(predicted, axis=0)
    return mean


@dataclass(slots=True, eq=False)
class FoldModel:
    """A trained model of numbered rows, which scores each row once for all methods."""

    model: Any
    data: Rows
    train: IntArray  # the rows that it was trained on
    held: IntArray  # the rows that calibrate it
    responses: dict[tuple[str, bytes], Any] = field(default_factory=dict)

    def response(self, name: str, rows: IntArray) -> Any:
        """Return the output of a method of the model for these rows."""
        key = name, rows.tobytes()
        if key not in self.responses:
            objects = rows_of(self.data.X, rows, self.data.size)
            self.responses[key] = getattr(self.model, name)(objects)
        return self.responses[key]

    def scores(self, rows: IntArray) -> Scores:
        """Return the scores of rows."""
        fitted = TrainedModels([self]).fit(self.train[:, np.newaxis])
        return Scores.of_model(
            fitted, rows[:, np.newaxis], rows.size, self.data.classes
        )


class TrainedModels(ClassifierMixin, BaseEstimator):
    """K trained models posing as a classifier; its objects are row numbers.

    Fitted to the training rows of a fold, it becomes the model of that fold.
    """

    def __init__(self, models: Sequence[FoldModel]) -> None:
        self.models = models

    def __sklearn_clone__(self) -> Self:
        return type(self)(self.models)

    def fit(self, X: IntArray, _y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Find the model that was trained on these rows."""
        rows = X[:, 0]
        self.model_ = next(m for m in self.models if np.array_equal(m.train, rows))
        if hasattr(self.model_.model, "classes_"):
            self.classes_ = self.model_.model.classes_
        return self

    def __getattr__(self, name: str) -> Any:
        if name not in RESPONSES or not hasattr(self.models[0].model, name):
            raise AttributeError(name)
        return lambda X: self.model_.response(name, X[:, 0])


class Training(CVAPClassifier):
    """The first half of a cross-predictor: it trains K models."""

    def models(
        self, data: Rows, rows: IntArray, step: Callable[[], None]
    ) -> list[FoldModel]:
        """Train a model for each pair, `n_jobs` in parallel."""
        part = data.part(rows)
        classes, _, sample, pairs = self._training_rows(
            part.X, part.given, part.weights, {}
        )
        _refuse_unseen_classes(classes, data.classes)
        models = []
        at_once = effective_n_jobs(self.n_jobs)
        for start in range(0, len(pairs), at_once):
            some = pairs[start : start + at_once]
            for (train, held), fold in zip(
                some, self._train(sample, some, _unscored), strict=True
            ):
                models.append(FoldModel(fold.estimator, data, rows[train], rows[held]))
                step()
        return models


def _unscored(_model: Any, _X: Any, _size: int) -> None:
    """Do not score the rows of a fold yet."""


# --- rows ---


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Objects or scores, with labels of two classes or more."""

    X: Any
    given: np.ndarray  # labels as passed
    labels: IntArray  # class numbers
    weights: FloatArray | None
    classes: np.ndarray

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.labels.size

    def part(self, rows: IntArray) -> Self:
        """Return some of the rows."""
        return type(self)(
            rows_of(self.X, rows, self.size),
            self.given[rows],
            self.labels[rows],
            self.weights_of(rows),
            self.classes,
        )

    def weights_of(self, rows: IntArray) -> FloatArray | None:
        """Return the weights of some rows, if there are any."""
        return None if self.weights is None else self.weights[rows]


def _rows(
    X: Any, y: ArrayLike, sample_weight: ArrayLike | None, name: str, prefit: Any = None
) -> Rows:
    """Check labels and weights; a prefit model has its own classes."""
    size = _num_samples(X)
    given = column_or_1d(y)
    validation.check_length(given.size, size, "labels", name)
    validation.refuse_missing_labels(given, np.arange(size), "y")
    classes, labels = np.unique(given, return_inverse=True)
    if prefit is not None:
        classes, labels = CVAPClassifier(prefit)._labels(given)  # noqa: SLF001
    if len(classes) < 2:
        msg = (
            "y must hold two classes for methods to differ; "
            f"got {classes.tolist()!r} only, in {size} rows."
        )
        raise InvalidData(msg)
    weights = checked_weights(sample_weight, size)
    return Rows(X, given, labels.astype(np.int64), weights, classes)


def _scored(
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    prefit: Any,
    pos_label: Any,
) -> tuple[Scores, Rows]:
    """Return scores as passed, or from a prefit model."""
    if prefit is not None:
        data = _rows(X, y, sample_weight, "rows of X", prefit)
        return Scores.of_model(prefit, X, data.size, data.classes), data
    columns = as_columns(X)
    kind = kind_of(columns, "auto")
    data = _rows(columns, y, sample_weight, "scores")
    _refuse_other_columns(columns, len(data.classes))
    if _is_first(pos_label, data.classes):  # the score is about the positive class
        columns = columns[:, ::-1]
        data = replace(data, labels=1 - data.labels, classes=data.classes[::-1])
    return Scores.of_columns(columns, kind), data


def _refuse_other_columns(columns: FloatArray, n_classes: int) -> None:
    """Raise unless there is one column, two of probabilities, or one per class."""
    n_columns = columns.shape[1]
    if n_classes > 2 and n_columns != n_classes:
        msg = (
            f"X must have a column of scores for each of the {n_classes} classes of y, "
            f"in their order; got {n_columns}. Pass predict_proba, or the classifier."
        )
        raise InvalidData(msg)
    if n_classes == 2 and not (
        n_columns == 1 or (n_columns == 2 and are_probabilities(columns).all())
    ):
        msg = (
            "with two classes X must be one column of scores, or the probabilities of "
            f"both; got {n_columns} columns. Pass one column, or the classifier."
        )
        raise InvalidData(msg)


def _is_first(pos_label: Any, classes: np.ndarray) -> bool:
    """Return whether the positive class is the first of the two."""
    if pos_label is None:
        return False
    if len(classes) > 2:
        msg = (
            f"pos_label is for two classes; got {len(classes)}. To compare on one "
            f"class against the rest, pass np.asarray(y) == {pos_label!r} as y."
        )
        raise InvalidParameter(msg)
    return validation.place_among(pos_label, classes) == 0


def _refuse_unseen_classes(seen: np.ndarray, classes: np.ndarray) -> None:
    unseen = np.setdiff1d(classes, seen)
    if unseen.size:
        msg = (
            "the rows that are not in test must hold every class; "
            f"got none of {unseen.tolist()!r}. Choose other test rows."
        )
        raise InvalidData(msg)


# --- which rows are tested ---


def _folds(cv: Any, data: Rows, random_state: Any) -> list[Pair]:
    """Split rows K times; negative row numbers count from the end, and are resolved."""
    pairs = cross_pairs(cv, data.X, data.given, random_state, {})
    return [
        (np.asarray(fit) % data.size, np.asarray(held) % data.size)
        for fit, held in pairs
    ]


def _test_pair(test: Any, size: int, random_state: Any) -> Pair:
    """Split rows into training and test, at random or as specified by the user."""
    wanted = TEST_FRACTION if test is None else test
    try:
        np.ndim(wanted)
    except ValueError:  # X and y of different lengths
        msg = (
            "test must be a share, a count, a mask or row numbers of X and y; got a "
            f"{type(test).__name__} of {len(test)} arrays. Append the test rows to X "
            "and y, and pass their numbers."
        )
        raise InvalidParameter(msg) from None
    try:
        return calibration_pair(wanted, size, random_state)
    except InvalidParameter as wrong:
        msg = str(wrong).replace("calibration", "test", 1)
        raise InvalidParameter(msg) from None


def _test_rows(pairs: Sequence[Pair], size: int) -> IntArray:
    """Return the test rows; none may be repeated or used for training."""
    held_out = np.bincount(np.concatenate([held for _, held in pairs]), minlength=size)
    for fit, held in pairs:
        shared = np.isin(held, fit)
        if shared.any():
            msg = (
                "cv must hold rows out of the fit; "
                f"row {held[shared.argmax()]} stands on both sides of a pair."
            )
            raise InvalidParameter(msg)
    if held_out.max() > 1:
        row = int(held_out.argmax())
        msg = (
            "cv must hold each row out once at most, for paired differences; "
            f"row {row} is held out {held_out[row]} times."
        )
        raise InvalidParameter(msg)
    return np.flatnonzero(held_out)


# --- for messages ---


def _how_on_scores(prefit: Any, pairs: Sequence[Pair], tested: int) -> str:
    how = f"in {len(pairs)} folds, each by methods fitted to rows outside of it"
    if len(pairs) == 1:
        how = f"by methods fitted to {len(pairs[0][0]):,} others"
    rows = "scored rows"
    if prefit is not None:
        rows = f"rows scored by a prefit {type(innermost(prefit)).__name__}"
    return f"{tested:,} {rows}, predicted {how}."


def _how_on_models(estimator: Any, n_models: int, n_fit: int, tested: int) -> str:
    name = type(innermost(estimator)).__name__
    return (
        f"{name} trained on {n_fit:,} rows in {n_models} folds, each model calibrated "
        f"by every method on the fold it has not seen; tested on {tested:,} other rows."
    )
