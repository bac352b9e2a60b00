"""Predictor: the scores, bounds and probabilities of whatever is evaluated."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.merging import MINIMAX
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.errors import (
    InvalidGroups,
    InvalidLabels,
    InvalidParameter,
    InvalidScores,
    InvalidType,
    LengthMismatch,
)
from abers.validation import as_probabilities

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.estimators.multiclass import Responses
    from abers.validation import FloatArray

PAIR = 2  # classes, or columns


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Columns of equal length; those that the predictor does not have are None."""

    labels: NDArray[np.bool_]
    probabilities: FloatArray | None = None  # None: those of the rule
    before: FloatArray | None = None  # probabilities before calibration
    bounds: FloatArray | None = None
    scores: FloatArray | None = None  # what the first of the rules was given
    rules: tuple[Rule, ...] = ()
    fold_scores: tuple[FloatArray, ...] = ()  # what each fold's rule was given
    # Share of the rows of the fit that the rules calibrate by; None if it is unknown.
    calibrated: float | None = 1.0
    positive: Any = None  # the label that counts as 1; None: there are 0 and 1 only
    # What the classifier was fitted for, if these answers are about its first class.
    as_fitted: Answers | None = None

    def spelled_out(self, loss: str) -> Answers:
        """Fill in the bounds and probabilities of a rule, row by row."""
        if self.probabilities is not None or self.scores is None:
            return self
        bounds = self.rules[0].bounds(self.scores)
        return replace(
            self, bounds=bounds, probabilities=MINIMAX[loss](bounds[:, 0], bounds[:, 1])
        )

    def mirrored(self, positive: Any) -> Answers:
        """Return the answers about the other class, with the rules of that class."""
        fold_scores = tuple(0.0 - column for column in self.fold_scores)
        scores = None if self.scores is None else 0.0 - self.scores
        bounds = None if self.bounds is None else 1 - self.bounds[:, ::-1]
        p, before = (
            None if column is None else 1 - column
            for column in (self.probabilities, self.before)
        )
        return replace(
            self,
            labels=~self.labels,
            probabilities=p,
            before=before,
            bounds=bounds,
            scores=fold_scores[0] if fold_scores else scores,
            rules=tuple(rule.mirrored() for rule in self.rules),
            fold_scores=fold_scores,
            positive=positive,
            as_fitted=self,
        )

    def taken(self, rows: NDArray[Any]) -> Answers:
        """Take some of the rows, by a mask or by their numbers."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        part = {id(c): c[rows] for c in columns.values() if c is not None}
        # Scores and probabilities before may be one column: they stay one.
        chosen: dict[str, Any] = {n: part.get(id(c)) for n, c in columns.items()}
        chosen["fold_scores"] = tuple(
            part[id(c)] if id(c) in part else c[rows] for c in self.fold_scores
        )
        if self.as_fitted is not None:
            chosen["as_fitted"] = self.as_fitted.taken(rows)
        return replace(self, **chosen)


_COLUMNS = [
    field.name
    for field in fields(Answers)
    if field.name not in {"rules", "fold_scores", "calibrated", "positive", "as_fitted"}
]


def answers_of(
    predictor: Any,
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None,
    before: ArrayLike | None,
    loss: str,
    counted: NDArray[np.bool_] | None,
    positive: Any = None,
) -> Answers:
    """Ask a predictor of any kind; `counted` are the rows that have weight, None all.

    All rows are checked before some are left out, so that messages name the right
    ones. For a rule, the scores and labels of rows without weight may be anything.
    """
    if isinstance(predictor, Rule | RuleSet):
        labels, known = _labels(y, counted, positive)
        answers = _by_rules(predictor, X, labels, groups, loss, counted)
        answers = replace(answers, positive=known)
    elif predictor is None:
        labels, known = _labels(y, counted, positive)
        p = as_probabilities(X, "X")
        validation.check_length(labels.size, p.size, "y", "X")
        answers = Answers(labels, probabilities=p, positive=known)
    else:
        answers = _by_classifier(predictor, X, y, positive)
        classes = classes_of(predictor)
        if (
            len(classes) == PAIR
            and positive is not None
            and not validation.place_among(positive, classes)
        ):
            answers = answers.mirrored(classes.tolist()[0])
    if before is not None:
        answers = replace(answers, before=as_probabilities(before, "before"))
    for name in ("probabilities", "before"):
        column = getattr(answers, name)
        if column is not None:
            validation.check_length(column.size, answers.labels.size, name, "labels")
    return answers if counted is None else answers.taken(counted)


def _by_rules(  # noqa: PLR0917
    predictor: Rule | RuleSet,
    X: Any,
    labels: NDArray[np.bool_],
    groups: ArrayLike | None,
    loss: str,
    counted: NDArray[np.bool_] | None,
) -> Answers:
    scores = validation.as_scores(X)
    if not scores.size:
        msg = "scores must not be empty; got no rows."
        raise InvalidScores(msg)
    validation.check_length(labels.size, scores.size, "y", "X")
    if counted is not None:
        scores = np.where(counted, scores, 0.0)
    _refuse_missing(scores)
    before = _if_probabilities(scores) if predictor.increasing else None
    answers = Answers(labels, scores=scores, before=before)
    if isinstance(predictor, Rule):
        return replace(answers, rules=(predictor,))
    if groups is None:
        msg = "groups must be given to judge a rule set; pass the group of each row."
        raise InvalidGroups(msg)
    bounds = predictor.bounds(scores, groups)
    shared = () if predictor.rest is None else (predictor.rest,)
    return replace(
        answers,
        rules=(predictor.pooled, *shared, *predictor.rules.values()),
        bounds=bounds,
        probabilities=MINIMAX[loss](bounds[:, 0], bounds[:, 1]),
    )


def _by_classifier(predictor: Any, X: Any, y: ArrayLike, positive: Any) -> Answers:
    if isinstance(predictor, type) or not hasattr(predictor, "predict_proba"):
        is_class = isinstance(predictor, type)
        got = "the class" if is_class else "a"
        name = predictor.__name__ if is_class else type(predictor).__name__
        msg = (
            "predictor must be a Rule, a RuleSet, a fitted classifier with "
            f"predict_proba, or None for probabilities; got {got} {name}."
        )
        raise InvalidType(msg)
    ours = predictor.responses(X) if is_ours(predictor) else None
    table = ours.probabilities if ours else predictor.predict_proba(X)
    table = np.asarray(table, dtype=np.float64)
    classes = classes_of(predictor)
    if len(classes) > PAIR and positive is not None:
        before = None if ours is None else ours.before
        return _against_the_rest(table, before, classes, y, positive)
    if classes.shape != (PAIR,) or table.shape[1:] != (PAIR,):
        msg = (
            f"the classifier must have two classes; got {len(classes)}. To evaluate "
            "one class against the rest, pass it: "
            f"positive={classes.tolist()[0]!r}."
        )
        raise InvalidParameter(msg)
    answers = Answers(
        labels_among(classes, y),
        as_probabilities(table[:, 1], "predict_proba"),
        positive=classes.tolist()[1],
    )
    if ours:
        return replace(answers, bounds=ours.bounds, **_of_our_own(predictor, ours))
    if hasattr(predictor, "predict_bounds"):
        answers = replace(answers, bounds=np.asarray(predictor.predict_bounds(X)))
    return answers


def _against_the_rest(
    table: FloatArray,
    before: FloatArray | None,
    classes: NDArray[Any],
    y: ArrayLike,
    positive: Any,
) -> Answers:
    """Return the answers about one of several classes: its probabilities alone."""
    place = validation.place_among(positive, classes)
    return Answers(
        is_class(classes, y, place),
        as_probabilities(table[:, place], "predict_proba"),
        before=None if before is None else before[:, place],
        positive=classes.tolist()[place],
    )


def is_ours(predictor: Any) -> bool:
    """Tell whether a predictor has rules, without loading scikit-learn for others."""
    if not hasattr(predictor, "rules_") or not hasattr(predictor, "responses"):
        return False
    from abers.estimators.calibrators import IVAPCalibrator
    from abers.estimators.classifiers import VennAbersClassifier

    return isinstance(predictor, VennAbersClassifier | IVAPCalibrator)


def _of_our_own(predictor: Any, ours: Responses) -> dict[str, Any]:
    """Return rules, the scores that each was given, and what there was before."""
    rules = tuple(fold[0] for fold in predictor.rules_)
    before = None if ours.before is None else _if_probabilities(ours.before[:, 1])
    found: dict[str, Any] = {
        "rules": rules,
        "scores": ours.scores[0],
        "before": before,
    }
    if hasattr(predictor, "estimators_"):
        found |= {"fold_scores": ours.scores, "calibrated": ours.calibrated}
    return found


def _if_probabilities(values: FloatArray) -> FloatArray | None:
    return values if ((values >= 0) & (values <= 1)).all() else None


def _labels(
    y: ArrayLike, counted: NDArray[np.bool_] | None, positive: Any
) -> tuple[NDArray[np.bool_], Any]:
    """Return which labels are positive, and the label that they have."""
    labels, known = validation.binary_labels(y, positive, "y", counted=counted)
    ones: NDArray[np.bool_] = labels == 1
    if known is None:
        bad = ~ones & (labels != 0)
        if counted is not None:
            bad &= counted
        if bad.any():
            n_bad, first = int(bad.sum()), int(bad.argmax())
            validation.refuse_bad_labels(labels, n_bad, first, takes_positive=True)
    return ones, known


def classes_of(predictor: Any) -> NDArray[Any]:
    """Return the classes that a classifier has probabilities of."""
    return np.asarray(getattr(predictor, "classes_", [0, 1]))


def labels_among(classes: NDArray[Any], y: ArrayLike) -> NDArray[np.bool_]:
    """Return which labels are the second class; all must be one of the two."""
    return is_class(classes, y, 1)


def is_class(classes: NDArray[Any], y: ArrayLike, place: int) -> NDArray[np.bool_]:
    """Return which labels are one of the classes; all must be among these."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        msg = f"y must be one column of labels; got shape {labels.shape}."
        raise LengthMismatch(msg)
    ones = np.asarray(labels == classes[place], dtype=np.bool_)
    bad = ~ones
    for other in (c for at, c in enumerate(classes) if at != place):
        bad &= np.asarray(labels != other, dtype=np.bool_)
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"y must be among the classes of the classifier, {classes.tolist()!r}; "
            f"got {labels[row : row + 1].tolist()[0]!r} at row {row}."
        )
        raise InvalidLabels(msg)
    return ones


def _refuse_missing(scores: FloatArray) -> None:
    missing = np.isnan(scores)
    if missing.any():
        validation.refuse_missing_scores(
            int(missing.sum()), int(missing.argmax()), scores.size, purpose="judging"
        )
