"""Classwise: the metrics of each class against the rest, and of groups by top label."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.evaluation.calibration_tests import are_few, holm, two_sided_p, z_score
from abers.evaluation.counts import diagram_of, scatter_of
from abers.evaluation.groups import evaluate_groups
from abers.evaluation.metrics import auc_of, calibration_error_of, skill_of
from abers.evaluation.predictor import Answers
from abers.evaluation.reliability import consistency_of, curve_of
from abers.losses import mean_loss

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.core.diagram import Diagram
    from abers.core.rule_set import Group
    from abers.evaluation.predictor import ClassAnswers
    from abers.evaluation.reliability import ConsistencyBand, ReliabilityCurve
    from abers.validation import FloatArray, IntArray

MOST_BANDS = 12  # classes that a figure shows
RESAMPLES = (
    200  # of their bands, which are small; drawing labels takes most of the time
)


@dataclass(frozen=True, slots=True, eq=False)
class ClassEvaluation:
    """The metrics of one class against the rest.

    Attributes
    ----------
    name : object
        Its label.
    n_rows, n_predicted : int
        Rows of this class, and rows for which it is the most probable one.
    mean_prediction, observed_rate, difference : float
        The mean probability of the class, the share of its rows, and the former minus
        the latter.
    standard_error : float
        Of the difference, if all probabilities are right.
    p_value : float
        Of the difference, corrected for the number of classes (Holm).
    log_loss, brier_loss : float
        Of the probabilities of this class alone: is it this class, or not?
    log_skill, brier_skill : float
        1 - loss / loss of the base rate; NaN if the class does not occur.
    calibration_error : float
        The ECE with 10 bins.
    auc : float
        This class against the rest; NaN if it does not occur.
    recall, precision : float
        The share of its rows that are predicted to be in it, and of the rows predicted
        to be in it that are; NaN if there are none.
    mean_prediction_before, log_loss_before, brier_loss_before : float
        Before calibration; NaN if there is nothing before.
    calibration_error_before : float
        The same of the ECE.
    small : bool
        Fewer than five rows of it, or of the rest, expected and observed.
    curve : ReliabilityCurve
        At no more than 500 points.
    consistency : ConsistencyBand or None
        Of the first twelve classes.
    """

    name: Any
    n_rows: int
    n_predicted: int
    mean_prediction: float
    observed_rate: float
    difference: float
    standard_error: float
    p_value: float
    log_loss: float
    brier_loss: float
    log_skill: float
    brier_skill: float
    calibration_error: float
    auc: float
    recall: float
    precision: float
    mean_prediction_before: float
    log_loss_before: float
    brier_loss_before: float
    calibration_error_before: float
    small: bool
    curve: ReliabilityCurve
    consistency: ConsistencyBand | None

    @property
    def z(self) -> float:
        """The difference in standard errors."""
        return z_score(self.difference, self.standard_error)


@dataclass(frozen=True, slots=True)
class TopLabelGroup:
    """The metrics of one group of rows of many classes."""

    name: Group | None  # None: rows without a group
    n_rows: int
    mean_confidence: float  # the mean probability of the most probable class
    accuracy: float  # the share of rows of that class
    difference: float  # mean confidence - accuracy
    standard_error: float  # of the difference, if all confidences are right
    p_value: float  # of the difference, corrected for the number of groups (Holm)
    calibration_error: float  # of the top label, with 10 bins
    log_loss: float  # over all classes, as is the next
    brier_loss: float
    accuracy_before: float  # NaN if there is nothing before, here and below
    log_loss_before: float
    brier_loss_before: float
    small: bool  # fewer than five right or wrong, expected and observed

    @property
    def z(self) -> float:
        """The difference in standard errors."""
        return z_score(self.difference, self.standard_error)


def confusion_of(
    y: IntArray, p: FloatArray, weights: FloatArray | None
) -> IntArray | FloatArray:
    """Count rows by class (row) and by the most probable class (column).

    >>> confusion_of(np.array([0, 0, 1]), np.array([[0.9, 0.1]] * 3), None)
    array([[2, 0],
           [1, 0]])
    """
    count = p.shape[1]
    cells = y * count + p.argmax(axis=1)
    counted = np.bincount(cells, weights=weights, minlength=count**2)
    return counted.reshape(count, count)


def evaluate_each_class(
    answers: ClassAnswers, weights: FloatArray | None, confusion: IntArray | FloatArray
) -> tuple[ClassEvaluation, ...]:
    """Evaluate each class; the largest |z| first, small classes after all others."""
    p, y, count = answers.probabilities, answers.labels, len(answers.classes)
    w = np.ones(y.size) if weights is None else weights
    total = w.sum()
    rows = np.bincount(y, minlength=count)
    mean = w @ p / total
    rate = np.bincount(y, weights=w, minlength=count) / total
    errors = np.sqrt(w**2 @ (p * (1 - p))) / total
    z = map(z_score, (mean - rate).tolist(), errors.tolist())
    hits, true, chosen = (
        np.asarray(part, dtype=np.float64)
        for part in (confusion.diagonal(), confusion.sum(axis=1), confusion.sum(axis=0))
    )
    with np.errstate(invalid="ignore"):
        recall, precision = hits / true, hits / chosen
    columns = {
        "n_rows": rows,
        "n_predicted": np.bincount(p.argmax(axis=1), minlength=count),
        "mean_prediction": mean,
        "observed_rate": rate,
        "difference": mean - rate,
        "standard_error": errors,
        "p_value": holm([two_sided_p(value) for value in z]),
        "recall": recall,
        "precision": precision,
        "small": are_few(y.size, rows, mean),
    }
    found = [
        ClassEvaluation(
            name=name,
            **{key: column[c].item() for key, column in columns.items()},
            **_of_column(answers, c, weights),
        )
        for c, name in enumerate(answers.classes)
    ]
    order = sorted(
        range(count), key=lambda c: (found[c].small, -abs(found[c].z), -found[c].n_rows)
    )
    return tuple(
        _with_band(found[c], answers, c, weights) if at < MOST_BANDS else found[c]
        for at, c in enumerate(order)
    )


def _of_column(
    answers: ClassAnswers, c: int, weights: FloatArray | None
) -> dict[str, Any]:
    """Return the numbers that one class needs its own diagram for."""
    ones = answers.labels == c
    diagram = diagram_of(ones, answers.probabilities[:, c], weights)
    found = _losses(diagram) | {"calibration_error": calibration_error_of(diagram)}
    zeros, positives = (
        part.sum(keepdims=True) for part in (diagram.negatives, diagram.positives)
    )
    rate = positives / (zeros + positives)
    skills = {
        f"{loss}_skill": skill_of(
            found[f"{loss}_loss"], mean_loss(rate, zeros, positives, loss)
        )
        for loss in ("log", "brier")
    }
    before = dict.fromkeys(
        ("mean_prediction", "log_loss", "brier_loss", "calibration_error"), np.nan
    )
    if answers.before is not None:
        column = answers.before[:, c]
        earlier = diagram_of(ones, column, weights)
        before = _losses(earlier) | {
            "mean_prediction": float(np.average(column, weights=weights)),
            "calibration_error": calibration_error_of(earlier),
        }
    return {
        **found,
        **skills,
        **{f"{name}_before": value for name, value in before.items()},
        "auc": auc_of(diagram),
        "curve": curve_of(diagram).thinned(),
        "consistency": None,
    }


def _losses(diagram: Diagram) -> dict[str, float]:
    weights = diagram.negatives, diagram.positives
    return {
        f"{loss}_loss": mean_loss(diagram.scores, *weights, loss)
        for loss in ("log", "brier")
    }


def _with_band(
    found: ClassEvaluation, answers: ClassAnswers, c: int, weights: FloatArray | None
) -> ClassEvaluation:
    column = answers.probabilities[:, c]
    diagram = diagram_of(answers.labels == c, column, weights)
    scatter = scatter_of(diagram, column, weights)
    band = consistency_of(diagram, scatter=scatter, resamples=RESAMPLES)
    return replace(found, consistency=band)


def evaluate_top_label_groups(
    names: Sequence[Group | None],
    after: dict[str, FloatArray],
    before: dict[str, FloatArray] | None,
    weights: FloatArray | None,
) -> tuple[TopLabelGroup, ...]:
    """Evaluate each group; the largest |z| first, small groups after all others.

    What is given are columns of rows: "confidence", "right", "log" and "brier".
    """
    right = after["right"] == 1
    ordered = evaluate_groups(
        names, Answers(right, after["confidence"]), weights, rule_set=None
    )
    code_of = {group.name: code for code, group in enumerate(ordered)}
    codes = np.fromiter(map(code_of.__getitem__, names), np.int64, len(names))
    w = np.ones(right.size) if weights is None else weights
    total = np.bincount(codes, weights=w)
    unknown = dict.fromkeys(after, np.full(right.size, np.nan))
    means = {
        field: np.bincount(codes, weights=w * column) / total
        for field, column in (
            ("log_loss", after["log"]),
            ("brier_loss", after["brier"]),
            ("accuracy_before", (before or unknown)["right"]),
            ("log_loss_before", (before or unknown)["log"]),
            ("brier_loss_before", (before or unknown)["brier"]),
        )
    }
    return tuple(
        TopLabelGroup(
            name=group.name,
            n_rows=group.n_rows,
            mean_confidence=group.mean_prediction,
            accuracy=group.observed_rate,
            difference=group.difference,
            standard_error=group.standard_error,
            p_value=group.p_value,
            calibration_error=group.calibration_error,
            small=group.small,
            **{field: column[code].item() for field, column in means.items()},
        )
        for code, group in enumerate(ordered)
    )
