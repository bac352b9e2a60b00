"""Class answers: what is predicted for many classes, and the place of each label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from abers import validation
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.errors import InvalidParameter, InvalidScores
from abers.evaluation.predictor import PAIR, Answers, classes_of, is_ours

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.estimators.multiclass import Responses
    from abers.validation import FloatArray, IntArray


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
            refuse_classes(predictor)
        answers = _by_classifier(predictor, X, y)
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


def refuse_classes(predictor: Any) -> NoReturn:
    """Raise for labels of columns where there is no column a class."""
    has = "X has one column"
    if predictor is not None:
        has = f"a {type(predictor).__name__} has its own"
    msg = (
        "classes must be given only for probabilities with more than two columns; "
        f"{has}. Leave classes out."
    )
    raise InvalidParameter(msg)


def one_against_rest(
    X: Any, y: ArrayLike, classes: ArrayLike | None, positive: Any
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Return the probabilities of one class, and which rows are of it."""
    answers = _of_table(X, y, classes, "X")
    place = validation.place_among(positive, np.array(answers.classes, dtype=object))
    return answers.probabilities[:, place], answers.labels == place


def _of_table(
    X: Any, y: ArrayLike, classes: ArrayLike | None, name: str
) -> ClassAnswers:
    table = validation.as_class_probabilities(X, name)
    labels = validation.as_classes(classes, table.shape[1], y, name)
    if hasattr(X, "columns"):
        from abers.estimators.score_columns import refuse_reordered

        refuse_reordered(X, np.array(labels, dtype=object))
    return _checked(
        ClassAnswers(tuple(labels), validation.class_places(y, labels), table)
    )


def _by_classifier(predictor: Any, X: Any, y: ArrayLike) -> ClassAnswers:
    ours = predictor.responses(X) if is_ours(predictor) else None
    table = validation.as_class_probabilities(
        ours.probabilities if ours else predictor.predict_proba(X), "predict_proba"
    )
    classes = classes_of(predictor).tolist()
    places = validation.class_places(y, classes)
    answers = _checked(ClassAnswers(tuple(classes), places, table))
    if ours is not None:
        return _of_our_own(predictor, ours, answers)
    if hasattr(predictor, "predict_bounds"):
        answers = replace(answers, bounds=np.asarray(predictor.predict_bounds(X)))
    if getattr(predictor, "scores_kind_", None) == "probability":  # our calibrators
        answers = replace(answers, before=validation.as_numbers(X, "X"))
    return answers


def _checked(answers: ClassAnswers) -> ClassAnswers:
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


def _of_our_own(predictor: Any, ours: Responses, answers: ClassAnswers) -> ClassAnswers:
    """Add bounds, rules, what there was before, and the question with most rows."""
    from abers.estimators.multiclass import problems

    asked = problems(len(answers.classes), predictor.multiclass_)
    problem, y = asked[ours.problem], answers.labels
    about = np.ones(y.size, dtype=np.bool_)
    if problem.negative is not None:
        about = (y == problem.positive) | (y == problem.negative)
    known = [
        (fold[ours.problem], column[about])
        for fold, column in zip(predictor.rules_, ours.scores, strict=True)
        if fold[ours.problem] is not None
    ]
    question = None
    if known:
        rules, columns = zip(*known, strict=True)
        question = Question(
            about,
            Answers(
                labels=(y == problem.positive)[about],
                probabilities=answers.probabilities[about, problem.positive],
                scores=columns[0],
                rules=rules,
                fold_scores=columns if hasattr(predictor, "estimators_") else (),
                calibrated=ours.calibrated,
            ),
        )
    count = len(answers.classes)
    return replace(
        answers,
        before=ours.before,
        bounds=ours.bounds,
        rules=tuple(r for fold in predictor.rules_ for r in fold if r is not None),
        rules_a_row=count if problem.negative is None else count - 1,
        question=question,
    )
