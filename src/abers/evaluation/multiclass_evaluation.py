"""Multiclass evaluation: how good probabilities of more than two classes are."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from abers.core.guarantees import CLASSES
from abers.evaluation.classwise import (
    confusion_of,
    evaluate_each_class,
    evaluate_top_label_groups,
)
from abers.evaluation.counts import (
    diagram_of,
    effective_rows,
    scatter_of,
)
from abers.evaluation.in_sample import were_fitted
from abers.evaluation.metrics import (
    bin_of,
    bound_widths,
    loss_text,
    paired_change,
    quality_of,
    skill_of,
)
from abers.evaluation.predictor import provenance_of_classes
from abers.formatting import Printout, as_json, label_as_json, p_value, shorten
from abers.losses import class_losses
from abers.storage.atomic import replace_text
from abers.storage.fingerprint import TAG, TRAINING_TAG
from abers.thresholds import ECE_BINS

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from abers.core.guarantees import Guarantee
    from abers.core.rule_set import Group
    from abers.evaluation.classwise import ClassEvaluation, TopLabelGroup
    from abers.evaluation.metrics import BoundWidths, LossChange, Quality
    from abers.evaluation.predictor import ClassAnswers, Provenance
    from abers.validation import FloatArray, IntArray

MOST_POINTS = 500  # of a curve in a dictionary
MOST_ROWS = 10  # of a table in a printed summary
LONGEST = 24  # characters of a name there
QUALITIES = ("before", "after")
IN_SAMPLE = (
    "These look like rows that the predictor was fitted to, so the results are too "
    "good. Evaluate on held-out rows."
)


@dataclass(frozen=True, slots=True, eq=False)
class ClassesQuality:
    """How good one table of probabilities of all classes is.

    Attributes
    ----------
    log_loss, brier_loss : float
        Over all classes: natural-log loss, infinite if a class was observed that had
        probability 0, and the squared differences added up over the classes, from 0 to
        2. Both as scikit-learn defines them.
    log_skill, brier_skill : float
        1 - loss / loss of the base rates; NaN with one class.
    accuracy, standard_error : float
        The share of rows of the most probable class, and the standard error of this
        share if all its probabilities are right.
    top_label : Quality
        Of the most probable class: is its probability, the confidence, how often it is
        right? With top-label ECE, tests, reliability curve and consistency band.
    classwise_error : float
        The classwise ECE: the mean over classes of the ECE, each against the rest, with
        10 bins.
    confusion : ndarray of shape (C, C)
        Rows of each class (row) by the most probable class (column): numbers, or sums
        of weights.
    """

    log_loss: float
    brier_loss: float
    log_skill: float
    brier_skill: float
    accuracy: float
    standard_error: float
    top_label: Quality
    classwise_error: float
    confusion: IntArray | FloatArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MulticlassEvaluation:
    """How good a predictor of more than two classes is; printed, a short summary.

    Attributes
    ----------
    name : str or None
        The name given to it.
    n_rows : int
        Rows that have weight.
    classes : tuple
        The labels, in the order of the columns.
    total_weight, effective_rows : float or None
        The sum of the weights, and the number of rows of equal weight that would
        scatter as much. None without weights.
    before, after : ClassesQuality
        The probabilities before calibration, None if unknown, and after it.
    log_loss, brier_loss, accuracy : LossChange
        Before and after; the difference is paired over rows.
    by_class : tuple of ClassEvaluation
        Each class against the rest, the largest |z| first; small classes after all
        others.
    groups : tuple of TopLabelGroup
        The largest |z| first; small groups after all others.
    widths : BoundWidths or None
        The widths of the bounds of the most probable class.
    in_sample : bool or None
        Whether most of the rows are those that the predictor was fitted to, by the
        fingerprint of its fit, which `CVAPClassifier(ensemble=False)` keeps; None if
        that is unknown.
    comparison : Comparison or None
        As it was given.
    provenance : Provenance
        Hashes, versions, and what the rules were fitted to.
    guarantee : Guarantee or None
        Whether it is proven that bounds are calibrated, or why not; None without
        bounds.
    """

    name: str | None
    n_rows: int
    classes: tuple[Any, ...]
    total_weight: float | None
    effective_rows: float | None
    before: ClassesQuality | None
    after: ClassesQuality
    log_loss: LossChange
    brier_loss: LossChange
    accuracy: LossChange
    by_class: tuple[ClassEvaluation, ...]
    groups: tuple[TopLabelGroup, ...]
    widths: BoundWidths | None
    in_sample: bool | None
    comparison: Any
    provenance: Provenance
    guarantee: Guarantee | None

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain types that JSON knows.

        Returns
        -------
        dict
            Infinity is "inf", what is not a number is None, and no curve has more than
            500 points.
        """
        found = {
            field.name: as_json(getattr(self, field.name), longest=MOST_POINTS)
            for field in fields(self)
            if field.name not in {"comparison", "classes", "by_class", *QUALITIES}
        }
        compared = None if self.comparison is None else self.comparison.to_dict()
        return {
            **found,
            **{name: _quality_as_json(getattr(self, name)) for name in QUALITIES},
            "classes": [label_as_json(label) for label in self.classes],
            "by_class": [
                as_json(each, longest=MOST_POINTS) | {"name": label_as_json(each.name)}
                for each in self.by_class
            ],
            "comparison": compared,
        }

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        """Write one self-contained page; an existing one is replaced at once or not.

        It is dated; with SOURCE_DATE_EPOCH in the environment, by that.

        Parameters
        ----------
        path : path-like
            File to write.
        title : str, default=None
            Heading of the page.
        facts : mapping, default=None
            Facts to list beside the hashes and versions at the end of the page, such as
            file names and the version of the data.
        """
        from abers.report import multiclass_page

        page: str = multiclass_page(self, title=title, facts=facts)
        replace_text(path, page)

    def __repr__(self) -> str:
        called = "" if self.name is None else f"{self.name!r}, "
        return (
            f"MulticlassEvaluation({called}{self.n_rows} rows, {len(self.classes)} "
            f"classes, log loss {self.log_loss.after:.4g})"
        )

    def __str__(self) -> str:
        return self._printout().text()

    def _repr_html_(self) -> str:
        return self._printout().html()

    def _printout(self) -> Printout:
        title = "Evaluation" if self.name is None else f"Evaluation of {self.name}"
        tables = [self.class_rows(), *[self.group_rows()] * bool(self.groups)]
        return Printout(title, self.summary(), tables, self.warnings())

    def summary(self) -> list[tuple[str, str]]:
        """Return the main results.

        Returns
        -------
        list of tuple of str
            Names and values.
        """
        lines = [
            ("rows", f"{self.n_rows:,} of {len(self.classes)} classes"),
            ("log loss", loss_text(self.log_loss)),
            ("Brier loss", loss_text(self.brier_loss)),
            ("accuracy", loss_text(self.accuracy, least=4)),
            ("mean confidence", self._both("top_label.mean_prediction")),
            ("top-label ECE", self._both("top_label.calibration_error")),
            ("classwise ECE", self._both("classwise_error")),
        ]
        if self.widths is not None:
            lines.append(("mean width of bounds", f"{self.widths.mean:.4f}"))
        return lines

    def _both(self, path: str) -> str:
        """Show a number before and after."""
        shown = []
        for found in (self.before, self.after):
            value: Any = found
            for name in path.split(".") if found is not None else ():
                value = getattr(value, name)
            shown.append("" if found is None else f"{value:.4f}")
        return f"{shown[0]} before, {shown[1]} after" if shown[0] else shown[1]

    def class_rows(self) -> list[list[str]]:
        """Return the classes as a table, the largest |z| first.

        Returns
        -------
        list of list of str
            A head, and a row for each of the first ten classes; a last row counts those
            left out.
        """
        head = ["class", "rows", "mean prediction", "observed rate", "z", "p", "ECE"]
        rows = [[*head, "AUC"]]
        for each in self.by_class[:MOST_ROWS]:
            few = " (few)" if each.small else ""
            rows.append(
                [
                    shorten(str(each.name), LONGEST) + few,
                    f"{each.n_rows:,}",
                    f"{each.mean_prediction:.4f}",
                    f"{each.observed_rate:.4f}",
                    f"{each.z:+.1f}",
                    p_value(each.p_value),
                    f"{each.calibration_error:.4f}",
                    "-" if math.isnan(each.auc) else f"{each.auc:.4f}",
                ]
            )
        return _with_rest(rows, len(self.by_class))

    def group_rows(self) -> list[list[str]]:
        """Return the groups as a table, the largest |z| first.

        Returns
        -------
        list of list of str
            A head, and a row for each of the first ten groups; a last row counts those
            left out.
        """
        head = ["group", "rows", "mean confidence", "accuracy", "z", "p", "log loss"]
        rows = [head]
        for group in self.groups[:MOST_ROWS]:
            named = "(no group)" if group.name is None else str(group.name)
            few = " (few)" if group.small else ""
            rows.append(
                [
                    shorten(named, LONGEST) + few,
                    f"{group.n_rows:,}",
                    f"{group.mean_confidence:.4f}",
                    f"{group.accuracy:.4f}",
                    f"{group.z:+.1f}",
                    p_value(group.p_value),
                    f"{group.log_loss:.4f}",
                ]
            )
        return _with_rest(rows, len(self.groups))

    def warnings(self) -> list[str]:
        """Return reasons to doubt the results.

        Returns
        -------
        list of str
            Sentences; mostly none.
        """
        return [IN_SAMPLE] if self.in_sample else []


def _quality_as_json(quality: ClassesQuality | None) -> dict[str, Any] | None:
    """Shorten curves, but not the confusion: there may be more classes than points."""
    if quality is None:
        return None
    rest = replace(quality, confusion=np.empty(0))
    found: dict[str, Any] = as_json(rest, longest=MOST_POINTS)
    return found | {"confusion": quality.confusion.tolist()}


def _with_rest(rows: list[list[str]], count: int) -> list[list[str]]:
    """Add a row that counts what is left out."""
    if (more := count - MOST_ROWS) > 0:
        rows.append([f"… and {more:,} more", *[""] * (len(rows[0]) - 1)])
    return rows


def evaluate_classes(
    answers: ClassAnswers,
    weights: FloatArray | None,
    *,
    names: Sequence[Group | None] | None,
    name: str | None,
    comparison: Any,
) -> MulticlassEvaluation:
    """Evaluate probabilities of many classes on rows that all have weight."""
    y, p, earlier = answers.labels, answers.probabilities, answers.before
    w = np.ones(y.size) if weights is None else weights
    rows = _row_numbers(y, p)
    rows_before = None if earlier is None else _row_numbers(y, earlier)
    after = _quality_of(answers, p, rows, weights)
    before = None
    if earlier is not None and rows_before is not None:
        before = _quality_of(answers, earlier, rows_before, weights)
    changes: dict[str, Any] = {
        field: paired_change(
            None if rows_before is None else rows_before[column], rows[column], w
        )
        for field, column in (
            ("log_loss", "log"),
            ("brier_loss", "brier"),
            ("accuracy", "right"),
        )
    }
    return MulticlassEvaluation(
        name=name,
        n_rows=y.size,
        classes=answers.classes,
        total_weight=None if weights is None else float(w.sum()),
        effective_rows=None if weights is None else effective_rows(weights),
        before=before,
        after=after,
        **changes,
        by_class=evaluate_each_class(answers, weights, after.confusion),
        groups=(
            ()
            if names is None
            else evaluate_top_label_groups(names, rows, rows_before, weights)
        ),
        widths=_widths(answers, weights),
        in_sample=_in_sample(answers),
        comparison=comparison,
        provenance=provenance_of_classes(answers, weights),
        guarantee=None if answers.bounds is None else CLASSES,
    )


def _row_numbers(y: IntArray, p: FloatArray) -> dict[str, FloatArray]:
    """Return what is known of each row: losses, the confidence, whether it is right."""
    top = p.argmax(axis=1)
    return {
        "log": class_losses(p, y, "log"),
        "brier": class_losses(p, y, "brier"),
        "confidence": p[np.arange(y.size), top],
        "right": (top == y).astype(np.float64),
    }


def _quality_of(
    answers: ClassAnswers,
    p: FloatArray,
    rows: dict[str, FloatArray],
    weights: FloatArray | None,
) -> ClassesQuality:
    y, count = answers.labels, len(answers.classes)
    w = np.ones(y.size) if weights is None else weights
    total = float(w.sum())
    rates = np.bincount(y, weights=w, minlength=count) / total
    log, brier, accuracy = (
        float(np.average(rows[column], weights=w))
        for column in ("log", "brier", "right")
    )
    occurring = rates[rates > 0]
    confidence = rows["confidence"]
    top = diagram_of(rows["right"], confidence, weights)
    top_label = quality_of(top, scatter_of(top, confidence, weights))
    return ClassesQuality(
        log_loss=log,
        brier_loss=brier,
        log_skill=skill_of(log, float(-(occurring * np.log(occurring)).sum())),
        brier_skill=skill_of(brier, float(1 - (rates**2).sum())),
        accuracy=accuracy,
        standard_error=top_label.standard_error,
        top_label=top_label,
        classwise_error=classwise_error(y, p, w),
        confusion=confusion_of(y, p, weights),
    )


def classwise_error(
    y: IntArray, p: FloatArray, w: FloatArray, bins: int = ECE_BINS
) -> float:
    """Return the mean over classes of the ECE, each against the rest.

    >>> p = np.array([[0.5, 0.25, 0.25], [0.25, 0.75, 0.0]])
    >>> y = np.array([0, 1])  # bins of one row: off by 1/2, 1/4; 1/4, 1/4; 1/4, 0
    >>> classwise_error(y, p, np.ones(2))  # (3/4 + 1/2 + 1/4) / 2 / 3
    0.25
    """
    count = p.shape[1]
    gap = -p * w[:, np.newaxis]
    gap[np.arange(y.size), y] += w
    cells = bin_of(p, bins) + bins * np.arange(count)
    sums = np.bincount(cells.ravel(), weights=gap.ravel(), minlength=bins * count)
    return float(abs(sums).sum() / w.sum() / count)


def _widths(answers: ClassAnswers, weights: FloatArray | None) -> BoundWidths | None:
    """Describe the bounds of the most probable class."""
    if answers.bounds is None:
        return None
    top = answers.probabilities.argmax(axis=1)
    bounds = answers.bounds[np.arange(top.size), top]
    return bound_widths(bounds, sample_weight=weights)


def _in_sample(answers: ClassAnswers) -> bool | None:
    """Tell by one of the problems whether the rows are those of the fit."""
    question = answers.question
    if question is None or not question.about.any():
        return None
    tags = question.answers.rules[0].metadata
    if TRAINING_TAG in tags:
        tags = {TAG: tags[TRAINING_TAG]}
    return were_fitted(tags, question.answers)
