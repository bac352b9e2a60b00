"""Trials: what each method says of rows that it has not seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import _num_samples, column_or_1d

from abers import validation
from abers.comparison.methods import (
    CVAP_POOLED,
    LOGIT_CURVES,
    MERGES,
    METHODS,
    OF_CLASSES,
    OF_KIND,
    PLATT_ON_LOG_ODDS,
    PLATT_ON_MARGIN,
    PLATT_ON_PROBABILITY,
    STEPS,
    UNDERLYING,
    calibrated,
    calibrated_classes,
    chosen,
)
from abers.core.log_odds import are_probabilities
from abers.errors import InvalidLabels, InvalidParameter, InvalidScores
from abers.estimators.calibrators import as_columns
from abers.estimators.cross_fit import calibration_pair, cross_pairs, rows_of
from abers.estimators.scoring import class_scores, innermost, response_of
from abers.estimators.venn_abers_classifiers import CVAPClassifier

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from numpy.typing import ArrayLike

    from abers.validation import FloatArray, IntArray

    Split = tuple[IntArray, IntArray]  # rows to fit, rows held out

TEST_FRACTION = 0.25


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Predictions of each method for the same rows."""

    rows: IntArray  # the test rows, by their place in the data
    labels: IntArray  # places in the classes
    weights: FloatArray | None
    probabilities: dict[str, FloatArray]  # (n,) of the second class, or (n, C)
    how: str  # one sentence
    classes: np.ndarray  # the last of two is the positive one
    mirrored: bool = False  # the positive class is the first one after all


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Objects or scores, with labels of two classes or more."""

    X: Any
    given: np.ndarray  # labels as they were given
    labels: IntArray  # places in the classes
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
            None if self.weights is None else self.weights[rows],
            self.classes,
        )


def try_on_scores(
    X: Any,
    y: ArrayLike,
    *,
    test: Any = None,
    cv: Any = 5,
    methods: Iterable[str] | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
    positive: Any = None,
) -> Trial:
    """Fit every method to a part of the scores and predict the rest, in turn."""
    columns, kind = _columns_of_scores(X)
    data = _rows(columns, y, sample_weight, "scores")
    n_classes = len(data.classes)
    _refuse_other_columns(columns, n_classes)
    if _is_first(positive, data.classes):  # the score is about the positive class
        columns = columns[:, ::-1]
        data = replace(
            data, X=columns, labels=1 - data.labels, classes=data.classes[::-1]
        )
    names = chosen(methods, (OF_KIND if n_classes == 2 else OF_CLASSES)[kind])
    if test is None:
        pairs = _folds(cv, data, random_state)
    else:
        pairs = [_test_pair(test, data.size, random_state)]
    rows = _test_rows(pairs, data.size)
    shape = data.size if n_classes == 2 else columns.shape
    predicted = {name: np.full(shape, np.nan) for name in names}
    for fit, held in pairs:
        sample = data.part(fit)
        rest: Any = {} if n_classes > 2 else {"random_state": random_state}
        fold = (calibrated if n_classes == 2 else calibrated_classes)(
            sample.X,
            sample.labels,
            columns[held],
            kind=kind,
            methods=names,
            sample_weight=sample.weights,
            **rest,
        )
        for name in names:
            predicted[name][held] = fold[name]
    tested = {name: p[rows] for name, p in predicted.items()}
    return _trial(rows, data.part(rows), tested, _how_on_scores(pairs, rows.size))


def try_on_classifier(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    *,
    test: Any = None,
    cv: Any = 5,
    methods: Iterable[str] | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
    positive: Any = None,
) -> Trial:
    """Train and calibrate on some rows, predict the others by every method."""
    data = _rows(X, y, sample_weight, "rows of X", estimator)
    n_classes = len(data.classes)
    mirrored = _is_first(positive, data.classes)
    names = chosen(methods, _offered_with(estimator, n_classes))
    fit, rows = _test_pair(test, data.size, random_state)
    train, new = data.part(fit), data.part(rows)
    pairs = _folds(cv, train, random_state)
    predicted: dict[str, FloatArray] = {}
    if set(names) - {UNDERLYING}:
        crossed = [name for name in names if name in MERGES]
        needed = pairs if crossed else pairs[-1:]
        # A copy, since a fitted model would be warned of, and is trained again here.
        model = CVAPClassifier(clone(estimator), cv=needed, merge=MERGES[CVAP_POOLED])
        trained = model._cross_fit(train.X, train.given, train.weights, {})  # noqa: SLF001
        _refuse_unseen_classes(trained.classes, data.classes)
        for name in crossed:
            merged = clone(model).set_params(merge=MERGES[name])
            merged._calibrate(trained)  # noqa: SLF001
            predicted[name] = _of_interest(merged.predict_proba(new.X))
        by_last = _calibrated_by if n_classes == 2 else _classes_calibrated_by
        predicted |= by_last(
            trained.estimators[-1], train.part(pairs[-1][1]), new, names
        )
    if UNDERLYING in names:
        alone = _trained_on_all(estimator, train, warned=bool(predicted))
        if n_classes == 2:
            predicted[UNDERLYING] = _probabilities(alone, new.X)[:, -1]
        else:
            predicted[UNDERLYING] = _class_columns(alone, new, "probability")
    how = _how_on_classifier(estimator, pairs, names, train.size, new.size)
    tested = {name: predicted[name] for name in names}
    return replace(_trial(rows, new, tested, how), mirrored=mirrored)


def _of_interest(p: FloatArray) -> FloatArray:
    """Return the column of the second of two classes, or all of more."""
    of_second: FloatArray = p[:, 1] if p.shape[1] == 2 else p
    return of_second


def _is_first(positive: Any, classes: np.ndarray) -> bool:
    """Tell whether the positive class is the first of the two."""
    if positive is None:
        return False
    if len(classes) > 2:
        msg = (
            f"positive is for two classes; got {len(classes)}. To compare on one class "
            f"against the rest, pass np.asarray(y) == {positive!r} as y."
        )
        raise InvalidParameter(msg)
    return validation.place_among(positive, classes) == 0


def _trained_on_all(estimator: Any, train: Rows, *, warned: bool) -> Any:
    """Train apart from the folds, with the labels and parameters that they get."""
    folds = CVAPClassifier(estimator)
    with warnings.catch_warnings():
        if warned:  # of a classifier without weights, when the folds were trained
            warnings.simplefilter("ignore", UserWarning)
        classes, _ = folds._labels(train.given)  # noqa: SLF001
        params, _ = folds._routed(train.weights, {})  # noqa: SLF001
    _refuse_unseen_classes(classes, train.classes)
    model = clone(estimator)
    if not isinstance(model, FrozenEstimator):
        model.fit(train.X, train.given, **params)
    return model


def _calibrated_by(
    last: Any, sample: Rows, new: Rows, names: Sequence[str]
) -> dict[str, FloatArray]:
    """Calibrate the last fold's classifier by every method that needs only one."""

    def scores(rows: Rows, *, are_exact: bool = False) -> FloatArray:
        scores = class_scores(last, rows.X, rows.size, rows.classes, "auto")
        return replace(scores, are_exact=are_exact).of_pair(0, 1)

    def probabilities(rows: Rows) -> FloatArray:
        return _probabilities(last, rows.X)

    on_scores, on_probabilities = _scales(last)
    predicted: dict[str, FloatArray] = {}
    for group, kind, read in (
        (STEPS, "margin", scores),  # rounded, as classifiers do
        (on_scores, "margin", partial(scores, are_exact=True)),
        (on_probabilities, "probability", probabilities),
    ):
        if wanted := [name for name in group if name in names]:
            predicted |= calibrated(
                read(sample),
                sample.labels,
                read(new),
                kind=kind,
                methods=wanted,
                sample_weight=sample.weights,
            )
    return predicted


def _classes_calibrated_by(
    last: Any, sample: Rows, new: Rows, names: Sequence[str]
) -> dict[str, FloatArray]:
    """Do the same with more than two classes, all methods on one scale."""
    kind = _kind_of(last)
    wanted = [name for name in OF_CLASSES[kind] if name in names and name != UNDERLYING]
    if not wanted:
        return {}
    return calibrated_classes(
        _class_columns(last, sample, kind),
        sample.labels,
        _class_columns(last, new, kind),
        kind=kind,
        methods=wanted,
        sample_weight=sample.weights,
    )


def _kind_of(estimator: Any) -> str:
    """Name the scores of more than two classes: probabilities, if there are any."""
    method = response_of(estimator, "auto", n_classes=3)
    return "probability" if method == "predict_proba" else "margin"


def _class_columns(estimator: Any, rows: Rows, kind: str) -> FloatArray:
    """Return a column for each class, also for one that the classifier never saw."""
    method = "predict_proba" if kind == "probability" else "decision_function"
    scores = class_scores(estimator, rows.X, rows.size, rows.classes, method)
    return scores.values if scores.probabilities is None else scores.probabilities


def _scales(estimator: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Name the curves of scores, and those of probabilities."""
    on_scores: tuple[str, ...] = (PLATT_ON_MARGIN,)
    on_probabilities: tuple[str, ...] = (PLATT_ON_PROBABILITY, PLATT_ON_LOG_ODDS)
    if response_of(estimator, "auto") == "decision_function":
        return (*on_scores, *LOGIT_CURVES), on_probabilities
    return on_scores, (*on_probabilities, *LOGIT_CURVES)


def _probabilities(estimator: Any, X: Any) -> FloatArray:
    """Return what a classifier says, unrounded: near 1 each digit counts."""
    return as_columns(estimator.predict_proba(X))


def _offered_with(estimator: Any, n_classes: int) -> tuple[str, ...]:
    """Name the methods that a classifier allows."""
    if n_classes > 2:
        return (*OF_CLASSES[_kind_of(estimator)], *MERGES)
    margins = response_of(estimator, "auto") == "decision_function"
    if not margins:
        return (*OF_KIND["probability"], CVAP_POOLED)
    if not hasattr(estimator, "predict_proba"):
        return (*OF_KIND["margin"], CVAP_POOLED)
    return tuple(name for name in METHODS if name != PLATT_ON_LOG_ODDS)


def _columns_of_scores(X: Any) -> tuple[FloatArray, str]:
    """Return the columns of scores, and what they are."""
    columns = as_columns(X)
    inside = ((columns >= 0) & (columns <= 1)).all(axis=1)
    good = inside if columns.shape[1] == 1 else are_probabilities(columns)
    return columns, "probability" if good.all() else "margin"


def _refuse_other_columns(columns: FloatArray, n_classes: int) -> None:
    """Refuse what is neither one column, two probabilities, nor C of C classes."""
    n_columns = columns.shape[1]
    if n_classes > 2 and n_columns != n_classes:
        msg = (
            f"X must have a column of scores for each of the {n_classes} classes of y, "
            f"in their order; got {n_columns}. Pass predict_proba, or the classifier."
        )
        raise InvalidScores(msg)
    if n_classes == 2 and not (
        n_columns == 1 or (n_columns == 2 and are_probabilities(columns).all())
    ):
        msg = (
            "with two classes X must be one column of scores, or the probabilities of "
            f"both; got {n_columns} columns. Pass one column, or the classifier."
        )
        raise InvalidScores(msg)


def _rows(
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    name: str,
    estimator: Any = None,
) -> Rows:
    """Check labels and weights; the classes of a prefit model rule."""
    size = _num_samples(X)
    given = column_or_1d(y)
    validation.check_length(given.size, size, "labels", name)
    _refuse_missing_labels(given)
    classes, labels = np.unique(given, return_inverse=True)
    if isinstance(estimator, FrozenEstimator):
        classes, labels = CVAPClassifier(estimator)._labels(given)  # noqa: SLF001
    if len(classes) < 2:
        msg = (
            "y must hold two classes for methods to differ; "
            f"got {classes.tolist()!r} only, in {size} rows."
        )
        raise InvalidLabels(msg)
    weights = None
    if sample_weight is not None:
        weights = validation.as_weights(sample_weight, size)
        validation.check_total(weights, "sample_weight")
    return Rows(X, given, labels.astype(np.int64), weights, classes)


def _refuse_missing_labels(given: np.ndarray) -> None:
    if given.dtype.kind == "O":
        missing = np.array([_is_missing(value) for value in given])
    else:
        missing = given != given  # noqa: PLR0124 (NaN)
    if missing.any():
        msg = (
            f"y must not be NaN; got NaN in {int(missing.sum())} of {given.size} rows, "
            f"first at row {int(missing.argmax())}. Drop the rows without a label."
        )
        raise InvalidLabels(msg)


def _is_missing(value: Any) -> bool:
    return value is None or type(value).__name__ == "NAType" or value != value  # noqa: PLR0124


def _refuse_unseen_classes(known: np.ndarray, classes: np.ndarray) -> None:
    unseen = np.setdiff1d(classes, known)
    if unseen.size:
        msg = (
            "the rows that are not in test must hold every class; "
            f"got none of {unseen.tolist()!r}. Choose other test rows."
        )
        raise InvalidLabels(msg)


def _folds(cv: Any, data: Rows, random_state: Any) -> list[Split]:
    """Split rows K times; a row has one number only, though -1 may be the last."""
    pairs = cross_pairs(cv, data.X, data.given, random_state, {})
    return [
        (np.asarray(fit) % data.size, np.asarray(held) % data.size)
        for fit, held in pairs
    ]


def _test_pair(test: Any, size: int, random_state: Any) -> Split:
    """Split rows into training and test, at random or as the user says."""
    wanted = TEST_FRACTION if test is None else test
    try:
        np.ndim(wanted)
    except ValueError:  # of X and y of other rows
        msg = (
            "test must be a share, a count, a mask or row numbers of X and y; got a "
            f"{type(test).__name__} of {len(test)} arrays. Append the test rows to X "
            "and y, and pass their numbers."
        )
        raise InvalidParameter(msg) from None
    try:
        train, rows = calibration_pair(wanted, size, random_state)
    except InvalidParameter as wrong:
        msg = str(wrong).replace("calibration", "test", 1)
        raise InvalidParameter(msg) from None
    return np.asarray(train), rows


def _test_rows(pairs: Sequence[Split], size: int) -> IntArray:
    """Return the rows that are held out; none may be twice, or fitted to."""
    held_out = np.bincount(np.concatenate([held for _, held in pairs]), minlength=size)
    for fit, held in pairs:
        shared = np.zeros(size, bool)
        shared[fit] = True
        if shared[held].any():
            row = int(held[shared[held].argmax()])
            msg = (
                "cv must hold rows out of the fit; "
                f"row {row} stands on both sides of a pair."
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


def _trial(
    rows: IntArray, tested: Rows, probabilities: dict[str, FloatArray], how: str
) -> Trial:
    if tested.weights is not None:
        validation.check_total(tested.weights, "sample_weight of the test rows")
    return Trial(
        rows, tested.labels, tested.weights, probabilities, how, tested.classes
    )


def _how_on_scores(pairs: Sequence[Split], tested: int) -> str:
    how = f"in {len(pairs)} folds, each by methods fitted to rows outside of it"
    if len(pairs) == 1:
        how = f"by methods fitted to {len(pairs[0][0]):,} others"
    return f"{tested:,} scored rows, predicted {how}."


def _how_on_classifier(
    estimator: Any, pairs: Sequence[Split], names: Sequence[str], train: int, new: int
) -> str:
    prefit = isinstance(estimator, FrozenEstimator)
    name = type(innermost(estimator)).__name__
    fit, calibrate = (len(side) for side in pairs[-1])
    parts = []
    if others := [name for name in names if name not in {UNDERLYING, *MERGES}]:
        trained = "" if prefit else f"trained on {fit:,} rows and "
        families = ", ".join(dict.fromkeys(name.split()[0] for name in others))
        parts.append(f"{trained}calibrated on {calibrate:,} ({families})")
    if set(MERGES) & set(names):
        what = "calibrated" if prefit else "trained and calibrated"
        parts.append(f"{what} in {len(pairs)} folds of {train:,} (CVAP)")
    if UNDERLYING in names:
        parts.append(f"{'prefit' if prefit else f'trained on {train:,}'} (underlying)")
    return f"{name} tested on {new:,} other rows: {'; '.join(parts)}."
