"""Predictor: turn any kind of predictor, with rows and labels, into predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core import guarantees
from abers.core.calibrator import OUT_OF_FOLD, Calibrator
from abers.core.merging import MINIMAX
from abers.core.predictions import (
    TWO,
    FitSource,
    FoldScores,
    Predictions,
    both_classes,
    bounds_of_both as of_both,
)
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet, bounds_at, places_of
from abers.errors import InvalidData, InvalidParameter, InvalidType

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.choices import LossName
    from abers.validation import FloatArray, IntArray

    Rules = Rule | RuleSet

NO_COUNTS = "the rule keeps no counts of its calibration rows"


def predictions_of(
    predictor: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    before: ArrayLike | None = None,
    loss: LossName = "log",
    counted: NDArray[np.bool_] | None = None,
    pos_label: Any = None,
    classes: ArrayLike | None = None,
    name: str = "X",
    label_name: str = "y",
) -> Predictions:
    """Predict rows with labels; `counted` are those with weight, None is all.

    All rows are checked before some are dropped, so that messages name the right ones.
    For a rule, the scores and labels of rows without weight may be anything. With more
    than two classes, `pos_label` is compared with the rest.
    """
    if classes is not None and not (predictor is None and _is_table(X)):
        _refuse_classes(predictor)
    predictor, X = unwrapped(predictor, X)
    if isinstance(predictor, Calibrator):
        predictions = _by_calibrator(predictor, X, y, counted, pos_label)
    elif isinstance(predictor, Rule | RuleSet):
        scores = validation.as_scores(X)
        labels, names = _binary_labels(y, counted, pos_label, label_name)
        validation.check_length(labels.size, scores.size, label_name, name)
        if counted is not None:
            scores = np.where(counted, scores, 0.0)
        predictions = _by_rule(predictor, scores, groups, loss)
        predictions = replace(predictions, labels=labels, classes=names)
    elif predictor is not None:
        predictions = _by_classifier(predictor, X, y)
    elif _is_table(X):
        predictions = _of_table(X, y, classes, name)
    else:
        p = validation.as_probabilities(X, name)
        labels, names = _binary_labels(y, counted, pos_label)
        predictions = Predictions.of_two_classes(p, names, labels=labels)
    if before is not None:
        predictions = replace(predictions, before=_as_before(before, predictions))
    other = f"rows of {name}" if np.ndim(X) > 1 else name
    n_labels = predictions.labels.size
    validation.check_length(n_labels, predictions.n_rows, label_name, other)
    if pos_label is not None:
        names_of_columns = np.empty(len(predictions.classes), dtype=object)
        names_of_columns[:] = predictions.classes
        place = validation.place_among(pos_label, names_of_columns)
        if len(predictions.classes) > TWO:
            predictions = predictions.against_rest(place)
        else:
            predictions = replace(predictions, shown=place)
    return predictions if counted is None else predictions.taken(counted)


def what_is_before(predictor: Any, X: Any, before: object) -> str:
    """Describe the probabilities that stand for "before calibration"."""
    if before is not None:
        return "the probabilities given as those before"
    predictor, _ = unwrapped(predictor, X)
    if isinstance(predictor, Rule | RuleSet):
        return "the scores"
    models = len(getattr(predictor, "estimators_", ()))
    models = getattr(predictor, "n_models", models)
    if models > 1:
        return f"the mean of the probabilities of {models} models"
    return "the probabilities of the model"


def predictions_without_labels(predictor: Any, X: Any) -> Predictions:
    """Predict rows by a rule, a calibrator or a classifier."""
    predictor, X = unwrapped(predictor, X)
    if isinstance(predictor, Rule):
        return _by_rule(predictor, X)
    if isinstance(predictor, Calibrator):
        return predictor.predictions(X)
    return _of_classifier(predictor, X)


def _by_rule(
    rule: Rules,
    X: Any,
    groups: ArrayLike | None = None,
    loss: LossName = "log",
) -> Predictions:
    scores = validation.as_scores(X)
    if not scores.size:
        msg = "scores must not be empty; got no rows."
        raise InvalidData(msg)
    validation.check_scores(scores, purpose="judging")
    if isinstance(rule, Rule):
        bounds = rule.bounds(scores)
        rules: tuple[Rule, ...] = (rule,)
    elif groups is None:
        msg = "groups must be given to judge a rule set; pass the group of each row."
        raise InvalidData(msg)
    else:
        # Without a warning: an evaluation shows which rule each group used.
        bounds = bounds_at(rule, places_of(rule, groups), scores)
        shared = () if rule.rest is None else (rule.rest,)
        rules = (rule.pooled, *shared, *rule.rules.values())
    return Predictions.of_two_classes(
        MINIMAX[loss](bounds[:, 0], bounds[:, 1]),
        bounds=bounds,
        before=_if_probabilities(scores) if rule.increasing else None,
        scores=scores,
        source=FitSource(
            rules,
            rules[0].n_rows,
            rules[0].n_positives,
            rule.metadata,
            rules[0],
        ),
        by_fold=(FoldScores((rules[0],), (scores,), rules[0].n_rows),),
        guarantee=rule.guarantee,
        loss=loss,
    )


def _by_calibrator(
    calibrator: Calibrator,
    X: Any,
    y: ArrayLike,
    counted: NDArray[np.bool_] | None,
    pos_label: Any,
) -> Predictions:
    predictions = calibrator.predictions(X)
    if calibrator.classes == (0, 1):  # any two labels, as for a rule
        labels, names = _binary_labels(y, counted, pos_label)
        return replace(predictions, labels=labels, classes=names)
    labels = validation.class_places(y, list(calibrator.classes))
    return replace(predictions, labels=labels)


def _by_classifier(predictor: Any, X: Any, y: ArrayLike) -> Predictions:
    predictions = _of_classifier(predictor, X)
    labels = validation.class_places(y, list(predictions.classes))
    return replace(predictions, labels=labels)


def _of_classifier(predictor: Any, X: Any) -> Predictions:
    if isinstance(predictor, type) or not hasattr(predictor, "predict_proba"):
        got = f"a {type(predictor).__name__}"
        if isinstance(predictor, type):
            got = f"the class {predictor.__name__}"
        msg = (
            "predictor must be a Rule, a RuleSet, a calibrator, a fitted classifier "
            f"with predict_proba, or None for probabilities; got {got}."
        )
        if hasattr(predictor, "predict"):
            msg += " Regressors are for abers.evaluation.evaluate_regressor."
        raise InvalidType(msg)
    if gives_predictions(predictor):
        predictions: Predictions = predictor.predictions(X)
    else:
        predictions = _by_any_classifier(predictor, X)
    if predictions.before is not None:
        before = _if_probabilities(predictions.before)
        predictions = replace(predictions, before=before)
    return predictions


def _by_any_classifier(predictor: Any, X: Any) -> Predictions:
    """Get all outputs of a classifier with scikit-learn's API."""
    table = validation.as_class_probabilities(
        predictor.predict_proba(X), "predict_proba"
    )
    classes = np.asarray(getattr(predictor, "classes_", [0, 1])).tolist()
    if table.shape[1] != len(classes):
        msg = (
            f"predict_proba must have a column for each of {len(classes)} classes; "
            f"got {table.shape[1]}."
        )
        raise InvalidData(msg)
    bounds = before = guarantee = None
    has_two = len(classes) == TWO
    if hasattr(predictor, "predict_bounds"):
        bounds = np.asarray(predictor.predict_bounds(X))
        bounds = of_both(bounds) if has_two else bounds
        guarantee = getattr(predictor, "guarantee_", guarantees.UNKNOWN)
    if getattr(predictor, "scores_kind_", None) == "probability":  # our calibrators
        before = validation.as_numbers(X, "X")
        if before.size == len(table):  # one column, of the second class
            before = both_classes(before.reshape(-1))
    return Predictions(
        table,
        tuple(classes),
        shown=1 if has_two else None,
        bounds=bounds,
        before=before,
        guarantee=guarantee,
    )


def _of_table(
    X: Any, y: ArrayLike, classes: ArrayLike | None, name: str
) -> Predictions:
    table = validation.as_class_probabilities(X, name)
    labels = validation.as_classes(classes, table.shape[1], y, name)
    if hasattr(X, "columns"):
        from abers.estimators.calibrators import refuse_reordered

        refuse_reordered(X, np.array(labels, dtype=object))
    return Predictions(
        table,
        tuple(labels),
        validation.class_places(y, labels),
        shown=1 if len(labels) == TWO else None,
    )


def _as_before(before: ArrayLike, predictions: Predictions) -> FloatArray:
    """Return probabilities before calibration, in the shape of those after."""
    shape = predictions.probabilities.shape
    if np.ndim(before) < TWO and shape[1] == TWO:
        p = validation.as_probabilities(before, "before")
        validation.check_length(p.size, shape[0], "before", "labels")
        return both_classes(p)
    table = validation.as_class_probabilities(before, "before")
    if table.shape != shape:
        msg = (
            "before must have the rows of X and a column for each class, "
            f"{shape}; got {table.shape}."
        )
        raise InvalidData(msg)
    return table


def _binary_labels(
    y: ArrayLike,
    counted: NDArray[np.bool_] | None,
    pos_label: Any,
    name: str = "y",
) -> tuple[IntArray, tuple[Any, Any]]:
    """Return labels as indices into two classes, and these classes."""
    labels, positive = validation.binary_labels(y, pos_label, name, counted=counted)
    if positive is None:
        ones = validation.as_ones(labels, counted, takes_positive=True)
        return ones.astype(np.int64), (0, 1)
    ones = labels == 1
    given = np.asarray(y)
    others = given[~ones if counted is None else ~ones & counted]
    negative = others[:1].tolist()[0] if others.size else None
    return ones.astype(np.int64), (negative, positive)


def _if_probabilities(values: FloatArray) -> FloatArray | None:
    return values if ((values >= 0) & (values <= 1)).all() else None


def _is_table(X: Any) -> bool:
    """Return whether probabilities have one column per class."""
    try:
        shape = np.shape(X)
    except ValueError:  # rows of different lengths, which are refused elsewhere
        return False
    return len(shape) == TWO and shape[1] >= TWO


def gives_predictions(predictor: Any) -> bool:
    """Return whether a fitted predictor returns `Predictions` itself, as ours do."""
    return hasattr(predictor, "classes_") and hasattr(predictor, "predictions")


def unwrapped(predictor: Any, X: Any) -> tuple[Any, Any]:
    """Return the calibrated model in a pipeline or a search, and X as it takes it."""
    if not hasattr(predictor, "predict_proba") or isinstance(predictor, Calibrator):
        return predictor, X
    from abers.estimators.unwrapping import calibrated_inside

    return calibrated_inside(predictor, X)


def calibrated(predictor: Any, X: Any) -> tuple[Any, Any]:
    """Return the rule, calibrator or calibrated classifier, and X as it takes it."""
    predictor, X = unwrapped(predictor, X)
    if isinstance(predictor, Rule | RuleSet):
        return predictor, X
    if not hasattr(predictor, "predictions"):  # such as a BetaCalibrator
        predictor = getattr(predictor, "calibrator_", predictor)
    if not isinstance(predictor, Calibrator) and not gives_predictions(predictor):
        msg = (
            "rule must be a Rule, a RuleSet, a calibrator or a fitted classifier that "
            f"has one, such as CalibratedClassifier; got a {type(predictor).__name__}."
        )
        raise InvalidType(msg)
    return predictor, X


def why_without_counts(predictor: Any, predictions: Predictions) -> str:
    """Return why recent rows cannot be compared with those of the fit, or ""."""
    if isinstance(predictor, Rule | RuleSet):
        has_counts = all(each.cells is not None for each in predictions.source.rules)
        return "" if has_counts else NO_COUNTS
    n_classes, by_fold = predictions.probabilities.shape[1], predictions.by_fold
    why = ""
    if n_classes > TWO or isinstance(predictions.classes[0], tuple):
        why = "tests are for two classes, and this model has more"
    elif not by_fold:
        why = "the model keeps no counts of its calibration rows"
    elif len(by_fold[0].fits) > 1:
        why = (
            f"the probabilities come from {len(by_fold[0].fits)} models, and each "
            "calibration row was scored by one of them"
        )
    elif (
        predictions.guarantee is guarantees.CROSS
        or OUT_OF_FOLD in predictions.source.metadata
    ):
        why = "the calibration rows were scored by other models than the recent ones"
    elif not isinstance(by_fold[0].fits[0], Rule):
        why = "the model has no rule of a single fold"
    elif by_fold[0].fits[0].cells is None:
        why = NO_COUNTS
    return why


def _refuse_classes(predictor: Any) -> None:
    """Raise if labels of columns are given, but columns are not classes."""
    has = "X has one column"
    if predictor is not None:
        has = f"a {type(predictor).__name__} has its own"
    msg = (
        "classes must be given only for probabilities with a column per class; "
        f"{has}. Leave classes out."
    )
    raise InvalidParameter(msg)
