"""Predictor: what a predictor of any kind says of rows, and where that comes from.

Answers about one class have columns: scores, bounds, probabilities, and whether each
label is of that class. Class answers have tables with a column for each class. Both
know the rules behind them, of which provenance keeps hashes and sizes.
"""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from abers import validation
from abers.core import guarantees
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
from abers.storage.fingerprint import TAG, TRAINING_TAG
from abers.validation import as_probabilities

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from abers.core.guarantees import Guarantee
    from abers.estimators.multiclass import Responses
    from abers.validation import FloatArray, IntArray

PAIR = 2  # classes, or columns
FINGERPRINTS = (TAG, TRAINING_TAG)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Columns of equal length; those that the predictor does not have are None."""

    labels: NDArray[np.bool_]
    probabilities: FloatArray | None = None  # None: those of the rule
    before: FloatArray | None = None  # probabilities before calibration
    bounds: FloatArray | None = None
    # What the rules were given; None for a cross predictor, whose probabilities follow
    # no single column of scores.
    scores: FloatArray | None = None
    rules: tuple[Rule, ...] = ()
    positive: Any = None  # the label that counts as 1; None: there are 0 and 1 only
    guarantee: Guarantee | None = None  # of the bounds; None if there are none
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
            scores=scores,
            rules=tuple(rule.mirrored() for rule in self.rules),
            positive=positive,
            as_fitted=self,
        )

    def taken(self, rows: NDArray[Any]) -> Answers:
        """Take some of the rows, by a mask or by their numbers."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        part = {id(c): c[rows] for c in columns.values() if c is not None}
        # Scores and probabilities before may be one column: they stay one.
        chosen: dict[str, Any] = {n: part.get(id(c)) for n, c in columns.items()}
        if self.as_fitted is not None:
            chosen["as_fitted"] = self.as_fitted.taken(rows)
        return replace(self, **chosen)


_COLUMNS = [
    field.name
    for field in fields(Answers)
    if field.name not in {"rules", "positive", "guarantee", "as_fitted"}
]


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One of the problems that many classes are split into, by which rows are known."""

    about: NDArray[np.bool_]  # the rows that it is asked of
    answers: Answers  # of these rows


@dataclass(frozen=True, slots=True, eq=False)
class ClassAnswers:
    """Tables of n rows and C classes; those that the predictor does not have are None.

    `rules` are those of all problems and folds, `rules_a_row` how many of them a row
    of the fit calibrates.
    """

    classes: tuple[Any, ...]  # in the order of the columns
    labels: IntArray  # places among the classes
    probabilities: FloatArray
    before: FloatArray | None = None
    bounds: FloatArray | None = None  # (n, C, 2)
    rules: tuple[Rule, ...] = ()
    rules_a_row: int = 1
    question: Question | None = None

    def taken(self, rows: NDArray[np.bool_]) -> ClassAnswers:
        """Take some of the rows."""
        tables: dict[str, Any] = {
            name: None if table is None else table[rows]
            for name in ("labels", "probabilities", "before", "bounds")
            for table in (getattr(self, name),)
        }
        question = self.question
        if question is not None:
            kept = rows[question.about]
            question = Question(question.about[rows], question.answers.taken(kept))
        return replace(self, **tables, question=question)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the numbers come from."""

    # SHA-256 of the scores, the labels, and the weights if there are any: little-endian
    # doubles, bytes, and doubles again.
    data_hash: str
    rule_hash: str | None  # SHA-256 of the arrays and counts of all rules
    rule_observations: float | None  # total weight that the rules were fitted to
    rule_positives: float | None
    tags: dict[str, Any]  # metadata of the rule or rule set, without fingerprints
    versions: dict[str, str]


def has_many_classes(predictor: Any, X: Any) -> bool:
    """Tell whether a predictor is about more than two classes."""
    if isinstance(predictor, Rule | RuleSet | type):
        return False
    if predictor is None:
        try:
            shape = np.shape(X)
        except ValueError:  # rows of different lengths, which are refused elsewhere
            return False
        return len(shape) == 2 and shape[1] > PAIR
    return hasattr(predictor, "predict_proba") and len(classes_of(predictor)) > PAIR


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
    classes: ArrayLike | None = None,
) -> Answers:
    """Ask about one class; `counted` are the rows that have weight, None all.

    All rows are checked before some are left out, so that messages name the right
    ones. For a rule, the scores and labels of rows without weight may be anything.
    """
    is_table = predictor is None and has_many_classes(predictor, X)
    if classes is not None and not is_table:
        _refuse_classes(predictor)
    if is_table and positive is not None:
        answers = _one_of_table(X, y, classes, positive)
    elif isinstance(predictor, Rule | RuleSet | None):
        labels, known = _labels(y, counted, positive)
        if predictor is None:
            answers = _of_column(X, labels)
        else:
            answers = _by_rules(predictor, X, labels, groups, loss, counted)
        answers = replace(answers, positive=known)
    else:
        answers = _by_classifier(predictor, X, y, positive)
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
    validation.check_scores(scores, purpose="judging")
    before = _if_probabilities(scores) if predictor.increasing else None
    answers = Answers(
        labels, scores=scores, before=before, guarantee=predictor.guarantee
    )
    if isinstance(predictor, Rule):
        return replace(answers, rules=(predictor,))
    if groups is None:
        msg = "groups must be given to judge a rule set; pass the group of each row."
        raise InvalidGroups(msg)
    # Without a warning: an evaluation says of each group which rule was used.
    bounds = predictor._bounds(scores, groups)  # noqa: SLF001
    shared = () if predictor.rest is None else (predictor.rest,)
    return replace(
        answers,
        rules=(predictor.pooled, *shared, *predictor.rules.values()),
        bounds=bounds,
        probabilities=MINIMAX[loss](bounds[:, 0], bounds[:, 1]),
    )


def _by_classifier(predictor: Any, X: Any, y: ArrayLike, positive: Any) -> Answers:
    if isinstance(predictor, type) or not hasattr(predictor, "predict_proba"):
        got = f"a {type(predictor).__name__}"
        if isinstance(predictor, type):
            got = f"the class {predictor.__name__}"
        msg = (
            "predictor must be a Rule, a RuleSet, a fitted classifier with "
            f"predict_proba, or None for probabilities; got {got}."
        )
        raise InvalidType(msg)
    ours, said = _asked(predictor, X)
    table = np.asarray(said, dtype=np.float64)
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
        is_class(classes, y, 1),
        as_probabilities(table[:, 1], "predict_proba"),
        positive=classes.tolist()[1],
    )
    if ours:
        answers = replace(answers, bounds=ours.bounds, **_of_our_own(ours))
    elif hasattr(predictor, "predict_bounds"):
        answers = replace(answers, bounds=np.asarray(predictor.predict_bounds(X)))
    if answers.bounds is not None:
        guarantee = getattr(predictor, "guarantee_", guarantees.UNKNOWN)
        answers = replace(answers, guarantee=guarantee)
    if positive is None or validation.place_among(positive, classes):
        return answers
    return answers.mirrored(classes.tolist()[0])


def _of_column(X: Any, labels: NDArray[np.bool_]) -> Answers:
    p = as_probabilities(X, "X")
    validation.check_length(labels.size, p.size, "y", "X")
    return Answers(labels, probabilities=p)


def _one_of_table(
    X: Any, y: ArrayLike, classes: ArrayLike | None, positive: Any
) -> Answers:
    """Return the answers about one column of a table of probabilities."""
    every = _of_table(X, y, classes, "X")
    place = validation.place_among(positive, np.array(every.classes, dtype=object))
    labels, p = every.labels == place, every.probabilities[:, place]
    return Answers(labels, probabilities=p, positive=positive)


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


def _of_our_own(ours: Responses) -> dict[str, Any]:
    """Return rules, the scores that they were given, and what there was before."""
    rules = tuple(fold[0] for fold in ours.rules)
    before = None if ours.before is None else _if_probabilities(ours.before[:, 1])
    return {"rules": rules, "scores": _single(ours.scores), "before": before}


def _single(fold_scores: Sequence[FloatArray]) -> FloatArray | None:
    """Return the only column of scores; None if there are more."""
    return fold_scores[0] if len(fold_scores) == 1 else None


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


def class_answers_of(
    predictor: Any,
    X: Any,
    y: ArrayLike,
    *,
    classes: ArrayLike | None,
    before: ArrayLike | None,
    counted: NDArray[np.bool_] | None,
    name: str = "X",
) -> ClassAnswers:
    """Ask for all classes; `counted` are the rows that have weight, None all."""
    if predictor is None:
        answers = _of_table(X, y, classes, name)
    else:
        if classes is not None:
            _refuse_classes(predictor)
        answers = _classes_by_classifier(predictor, X, y)
    if before is not None:
        table = validation.as_class_probabilities(before, "before")
        if table.shape != answers.probabilities.shape:
            msg = (
                "before must have a row for each case and a column for each class, "
                f"{answers.probabilities.shape}; got {table.shape}."
            )
            raise InvalidScores(msg)
        answers = replace(answers, before=table)
    return answers if counted is None else answers.taken(counted)


def _of_table(
    X: Any, y: ArrayLike, classes: ArrayLike | None, name: str
) -> ClassAnswers:
    table = validation.as_class_probabilities(X, name)
    labels = validation.as_classes(classes, table.shape[1], y, name)
    if hasattr(X, "columns"):
        from abers.estimators.calibrators import refuse_reordered

        refuse_reordered(X, np.array(labels, dtype=object))
    return _checked_classes(
        ClassAnswers(tuple(labels), validation.class_places(y, labels), table)
    )


def _classes_by_classifier(predictor: Any, X: Any, y: ArrayLike) -> ClassAnswers:
    ours, said = _asked(predictor, X)
    table = validation.as_class_probabilities(said, "predict_proba")
    classes = classes_of(predictor).tolist()
    places = validation.class_places(y, classes)
    answers = _checked_classes(ClassAnswers(tuple(classes), places, table))
    if ours is not None and not ours.rules:
        return replace(answers, bounds=ours.bounds, before=ours.before)
    if ours is not None:
        return _classes_of_our_own(predictor, ours, answers)
    if hasattr(predictor, "predict_bounds"):
        answers = replace(answers, bounds=np.asarray(predictor.predict_bounds(X)))
    if getattr(predictor, "scores_kind_", None) == "probability":  # our calibrators
        answers = replace(answers, before=validation.as_numbers(X, "X"))
    return answers


def _checked_classes(answers: ClassAnswers) -> ClassAnswers:
    """Refuse tables that do not fit the labels."""
    n_rows, n_columns = answers.probabilities.shape
    validation.check_length(answers.labels.size, n_rows, "y", "rows of X")
    if n_columns != len(answers.classes):
        msg = (
            f"predict_proba must have a column for each of {len(answers.classes)} "
            f"classes; got {n_columns}."
        )
        raise InvalidScores(msg)
    return answers


def _classes_of_our_own(
    predictor: Any, ours: Responses, answers: ClassAnswers
) -> ClassAnswers:
    """Add bounds, rules, what there was before, and the question with most rows."""
    from abers.estimators.multiclass import problems_of

    problems = problems_of(len(answers.classes), predictor.multiclass_)
    problem, y = problems[ours.problem], answers.labels
    about = np.ones(y.size, dtype=np.bool_)
    if problem.negative is not None:
        about = (y == problem.positive) | (y == problem.negative)
    question = None
    rule, column = ours.rules[0][ours.problem], _single(ours.scores)
    if rule is not None and column is not None:
        ones = (y == problem.positive)[about]
        question = Question(about, Answers(ones, scores=column[about], rules=(rule,)))
    count = len(answers.classes)
    return replace(
        answers,
        before=ours.before,
        bounds=ours.bounds,
        rules=tuple(r for fold in ours.rules for r in fold if r is not None),
        rules_a_row=count if problem.negative is None else count - 1,
        question=question,
    )


def _refuse_classes(predictor: Any) -> NoReturn:
    """Raise for labels of columns where there is no column a class."""
    has = "X has one column"
    if predictor is not None:
        has = f"a {type(predictor).__name__} has its own"
    msg = (
        "classes must be given only for probabilities with more than two columns; "
        f"{has}. Leave classes out."
    )
    raise InvalidParameter(msg)


def _asked(predictor: Any, X: Any) -> tuple[Responses | None, Any]:
    """Return all that a classifier of ours says, None for others, and probabilities."""
    if not _is_ours(predictor):
        return None, predictor.predict_proba(X)
    ours: Responses = predictor.responses(X)
    return ours, ours.probabilities


def _is_ours(predictor: Any) -> bool:
    """Tell whether a predictor has rules, without loading scikit-learn for others."""
    if not hasattr(predictor, "classes_") or not hasattr(predictor, "responses"):
        return False
    from abers.estimators.calibrated_classifier import CalibratedClassifier
    from abers.estimators.calibrators import IVAPCalibrator
    from abers.estimators.venn_abers_classifiers import VennAbersClassifier

    kinds = CalibratedClassifier | VennAbersClassifier | IVAPCalibrator
    return isinstance(predictor, kinds)


def classes_of(predictor: Any) -> NDArray[Any]:
    """Return the classes that a classifier has probabilities of."""
    return np.asarray(getattr(predictor, "classes_", [0, 1]))


def provenance_of(
    answers: Answers,
    fitted: int,
    weights: FloatArray | None,
    metadata: Mapping[str, Any],
) -> Provenance:
    """Describe the rows, and the rules; the first `fitted` of them share no row."""
    given = answers.as_fitted or answers  # the same rows, whichever class is positive
    column = given.probabilities if given.scores is None else given.scores
    sha = hashlib.sha256(np.ascontiguousarray(column, dtype="<f8").data)
    sha.update(np.ascontiguousarray(given.labels).view(np.uint8).data)
    if weights is not None:
        sha.update(np.ascontiguousarray(weights, dtype="<f8").data)
    own = answers.rules[:fitted]
    return Provenance(
        data_hash=sha.hexdigest(),
        rule_hash=_hash_of(given.rules) if given.rules else None,
        rule_observations=sum(r.n_observations for r in own) if own else None,
        rule_positives=sum(rule.n_positives for rule in own) if own else None,
        tags={key: tag for key, tag in metadata.items() if key not in FINGERPRINTS},
        versions=versions_in_use(),
    )


def provenance_of_classes(
    answers: ClassAnswers, weights: FloatArray | None
) -> Provenance:
    """Describe rows of many classes, and the rules of all problems.

    A row calibrates a rule of each class, or of each pair that its class is in.
    """
    sha = hashlib.sha256(np.ascontiguousarray(answers.probabilities, "<f8").data)
    sha.update(np.ascontiguousarray(answers.labels, dtype="<i8").data)
    if weights is not None:
        sha.update(np.ascontiguousarray(weights, dtype="<f8").data)
    rules = answers.rules
    counted = sum(rule.n_observations for rule in rules) / answers.rules_a_row
    return Provenance(
        data_hash=sha.hexdigest(),
        rule_hash=_hash_of(rules) if rules else None,
        rule_observations=(int(counted) if counted == int(counted) else counted)
        if rules
        else None,
        rule_positives=None,
        tags={},
        versions=versions_in_use(),
    )


def versions_in_use() -> dict[str, str]:
    """Return what the numbers were computed with."""
    return {
        "abers": version("abers"),
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def _hash_of(rules: Sequence[Rule]) -> str:
    sha = hashlib.sha256()
    for rule in rules:
        facts = (rule.n_observations, rule.n_positives, rule.increasing)
        arrays = (rule.thresholds, rule.lower, rule.upper, rule.score_quantiles)
        for array in (*arrays, facts):
            sha.update(np.ascontiguousarray(array, dtype="<f8").data)
    return sha.hexdigest()
