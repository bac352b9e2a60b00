"""Class text: the results of more than two classes in sentences and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers.formatting import (
    cost,
    count,
    number,
    p_value,
    percent,
    percent_points,
    shorten,
)
from abers.report.text import (
    LONGEST_CELL,
    MOST_GROUPS,
    NumberTable,
    before_and_after,
    bound_facts,
    given_facts,
    listed,
    losses,
    mean_test,
    name_facts,
    rows_text,
    weight_facts,
)
from abers.thresholds import FEW_LABELS, SIGNIFICANCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from abers.evaluation.classwise import ClassEvaluation, TopLabelGroup
    from abers.evaluation.multiclass_evaluation import (
        ClassesQuality,
        MulticlassEvaluation,
    )

MOST_ERRORS = 10


def summary(found: MulticlassEvaluation) -> list[str]:
    """Return the three sentences that come before all tables."""
    scope = "This applies to cases from the same source as these rows."
    return [_accuracy(found), losses(found), scope]


def _accuracy(found: MulticlassEvaluation) -> str:
    rows = rows_text(found)
    top = found.after.top_label
    tested = mean_test(found, top, found.after.accuracy)
    share = percent(found.accuracy.after)
    mean = f"{percent(top.mean_prediction)} ({tested})"
    if found.before is None:
        return (
            f"On {rows} of {len(found.classes)} classes the most probable class was "
            f"right in {share} of cases; its mean probability was {mean}."
        )
    earlier = found.before.top_label.mean_prediction
    return (
        f"On {rows} of {len(found.classes)} classes the most probable class was right "
        f"in {percent(found.accuracy.before)} of cases before calibration, where its "
        f"mean probability was {percent(earlier)}. After calibration it is right in "
        f"{share}, and its mean probability is {mean}."
    )


def warnings(found: MulticlassEvaluation) -> list[str]:
    """List reasons to doubt the results."""
    sentences = found.warnings()
    few = sum(each.n_rows < FEW_LABELS for each in found.by_class)
    if few:
        have = "has" if few == 1 else "have"
        sentences.append(
            f"{few:,} of {len(found.classes)} classes {have} fewer than {FEW_LABELS} "
            "rows here: read their results with their standard errors."
        )
    return sentences


def quality_tables(found: MulticlassEvaluation) -> list[NumberTable]:
    """Show losses and calibration over all classes, before and after."""
    columns: list[tuple[str, ClassesQuality]] = before_and_after(found)
    totals = tuple(
        (
            when,
            cost(quality.log_loss),
            cost(quality.brier_loss),
            percent(quality.log_skill),
            percent(quality.brier_skill),
        )
        for when, quality in columns
    )
    tops = tuple(
        (
            when,
            percent(quality.accuracy),
            percent(quality.top_label.mean_prediction),
            number(quality.top_label.calibration_error),
            p_value(quality.top_label.miscalibration_p),
            cost(quality.classwise_error),
        )
        for when, quality in columns
    )
    return [
        NumberTable(
            "Losses over all classes; skill against the base rates",
            ("", "log loss", "Brier loss", "log skill", "Brier skill"),
            totals,
        ),
        NumberTable(
            "The most probable class (top label)",
            (
                *("", "accuracy", "mean confidence", "top-label ECE"),
                *("miscalibration, p", "classwise ECE"),
            ),
            tops,
        ),
    ]


def class_table(found: MulticlassEvaluation) -> NumberTable:
    """Show the classes, as they are ordered."""
    shown = found.by_class[:MOST_GROUPS]
    before = found.before is not None
    head = ["class", "rows", *["mean before"] * before, "mean prediction"]
    head += ["observed rate", "difference", "z", "p", *["ECE before"] * before, "ECE"]
    head += ["AUC", "log loss", "Brier skill", "recall", "precision"]
    rows = []
    for each in shown:
        row = [_class_name(each), f"{each.n_rows:,}"]
        row += [percent(each.mean_prediction_before)] * before
        row += [percent(each.mean_prediction), percent(each.observed_rate)]
        row += [percent_points(each.difference), number(each.z, 1, "+")]
        row += [p_value(each.p_value)]
        row += [number(each.calibration_error_before)] * before
        row += [number(each.calibration_error), number(each.auc), cost(each.log_loss)]
        row += [percent(each.brier_skill), percent(each.recall)]
        rows.append((*row, percent(each.precision)))
    caption = _counted(len(found.by_class), len(shown), "class", "classes")
    return NumberTable(caption, tuple(head), tuple(rows))


def class_note(classes: Sequence[ClassEvaluation]) -> str:
    """Count the classes whose mean prediction is significantly wrong."""
    large = [each for each in classes if not each.small]
    off = sum(each.p_value < SIGNIFICANCE for each in large)
    return (
        f"In {off} of {len(large):,} classes with enough rows the mean prediction "
        f"differs significantly from the observed rate (p < {SIGNIFICANCE}, corrected "
        "for the number of classes by Holm's method). Each class is set against the "
        "rest; recall is the share of its rows that are taken for it, precision the "
        "share of rows taken for it that are of it."
    )


def error_table(found: MulticlassEvaluation) -> NumberTable | None:
    """Show which classes are taken for which most often; None without errors."""
    cells = np.asarray(found.after.confusion, dtype=np.float64)
    errors = cells - np.diag(cells.diagonal())
    sums = cells.sum(axis=1)
    order = np.argsort(-errors, axis=None, kind="stable")[:MOST_ERRORS]
    places = np.stack(np.unravel_index(order, errors.shape), axis=1)
    rows = tuple(
        (
            f"{_label(found.classes[true])} → {_label(found.classes[taken])}",
            f"{errors[true, taken]:,.6g}",
            percent(errors[true, taken] / sums[true]),
        )
        for true, taken in places.tolist()
        if errors[true, taken] > 0
    )
    if not rows:
        return None
    what = "rows" if found.total_weight is None else "weight"
    return NumberTable(
        "Most frequent errors: class → most probable class",
        ("", what, "share of the class"),
        rows,
    )


def group_table(found: MulticlassEvaluation) -> NumberTable:
    """Show the groups, as they are ordered."""
    shown = found.groups[:MOST_GROUPS]
    before = found.before is not None
    head = ["group", "rows", *["accuracy before"] * before, "mean confidence"]
    head += ["accuracy", "difference", "z", "p", "top-label ECE"]
    head += [*["log loss before"] * before, "log loss", "Brier loss"]
    rows = []
    for group in shown:
        row = [_group_name(group), f"{group.n_rows:,}"]
        row += [percent(group.accuracy_before)] * before
        row += [percent(group.mean_confidence), percent(group.accuracy)]
        row += [percent_points(group.difference), number(group.z, 1, "+")]
        row += [p_value(group.p_value), number(group.calibration_error)]
        row += [cost(group.log_loss_before)] * before
        rows.append((*row, cost(group.log_loss), cost(group.brier_loss)))
    caption = _counted(len(found.groups), len(shown), "group", "groups")
    return NumberTable(caption, tuple(head), tuple(rows))


def group_note(groups: Sequence[TopLabelGroup]) -> str:
    """Count the groups whose mean confidence is significantly wrong."""
    large = [group for group in groups if not group.small]
    off = sum(group.p_value < SIGNIFICANCE for group in large)
    return (
        f"In {off} of {count(len(large), 'group')} with enough rows the mean "
        f"confidence differs significantly from the accuracy (p < {SIGNIFICANCE}, "
        "corrected for the number of groups by Holm's method)."
    )


def facts(
    found: MulticlassEvaluation, given: Mapping[str, object] | None = None
) -> list[tuple[str, str]]:
    """List the sources of the results, and what else is given of them."""
    source = found.provenance
    names = ", ".join(_label(label) for label in found.classes[:MOST_ERRORS])
    more = len(found.classes) - MOST_ERRORS
    fitted = []
    if source.rule_hash is not None:
        fitted = [
            ("rules fitted to", f"{source.rule_observations:,} rows"),
            ("SHA-256 of the rules' numbers", source.rule_hash),
        ]
    return [
        *name_facts(found),
        *given_facts(given or {}),
        ("rows", f"{found.n_rows:,}"),
        ("classes", names + (f" and {more:,} more" if more > 0 else "")),
        ("SHA-256 of probabilities and labels", source.data_hash),
        *weight_facts(found),
        *fitted,
        *bound_facts(found, "width of the bounds (top label)"),
        ("versions", listed(source.versions)),
    ]


def _counted(every: int, shown: int, one: str, many: str) -> str:
    left = every - shown
    text = f"{every:,} {one if every == 1 else many}"
    return text + (f", {left:,} not shown" if left else "")


def _class_name(each: ClassEvaluation) -> str:
    return _label(each.name) + (" (few rows)" if each.small else "")


def _group_name(group: TopLabelGroup) -> str:
    name = "(no group)" if group.name is None else _label(group.name)
    return f"{name} (few rows)" if group.small else name


def _label(name: Any) -> str:
    return shorten(str(name), LONGEST_CELL)
