"""Text: the results in sentences and tables."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abers.evaluation.calibration_tests import mean_difference_p, two_sided_p, z_score
from abers.evaluation.groups import GroupStyle
from abers.evaluation.groups import group_table as groups_as_text
from abers.formatting import (
    PRIOR_NAMES,
    TAG_NAMES,
    change,
    cost,
    count,
    label_name,
    number,
    p_value,
    percent,
    percent_points,
    plus_minus,
    shorten,
)
from abers.losses import LOSS_NAMES
from abers.thresholds import FEW_LABELS, SIGNIFICANCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from abers.comparison import Comparison, Difference
    from abers.evaluation.evaluate import Evaluation
    from abers.evaluation.groups import GroupEvaluation
    from abers.evaluation.metrics import LossChange, Quality
    from abers.evaluation.multiclass_evaluation import MulticlassEvaluation

LONGEST = 120  # characters of a title that a reader takes in
LONGEST_CELL = 40
MOST_GROUPS = 50
SHOWN_THRESHOLDS = (5, 10, 20, 30, 50)  # in hundredths, as the curves have them
ORIGIN = {
    True: "{} in-sample {}",
    False: "{} held-out {}",
    None: "{} {} (whether they were used for fitting is unknown)",
}


@dataclass(frozen=True, slots=True)
class NumberTable:
    """A table as text; the first cell of a row names it."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def summary(found: Evaluation) -> list[str]:
    """Return the sentences that come before all tables: three, and one on groups."""
    return [_means(found), losses(found), _scope(found), *_groups(found.groups)]


def _means(found: Evaluation) -> str:
    rows = rows_text(found)
    if name := label_name(found.positive):
        rows += f", {found.n_positives:,} of them {name},"
    rate = percent(found.base_rate)
    tested = mean_test(found, found.after, found.base_rate)
    mean = f"{percent(found.after.mean_prediction)} ({tested})"
    if found.before is None:
        return f"On {rows} the mean prediction was {mean} and the observed rate {rate}."
    return (
        f"On {rows} the mean score was {percent(found.before.mean_prediction)} and the "
        f"observed rate {rate}. After calibration the mean prediction is {mean}."
    )


def rows_text(found: Evaluation | MulticlassEvaluation) -> str:
    """Count the rows, and say whether they were used for fitting."""
    rows = "row" if found.n_rows == 1 else "rows"
    return ORIGIN[found.in_sample].format(f"{found.n_rows:,}", rows)


def mean_test(
    found: Evaluation | MulticlassEvaluation, quality: Quality, observed: float
) -> str:
    """Test a mean prediction against what was observed."""
    p = mean_difference_p(
        quality.mean_prediction - observed,
        quality.standard_error,
        n_rows=found.n_rows,
        n_fitted=found.provenance.rule_observations,
    )
    return f"p {compared(p)}, {judged(significant=p < SIGNIFICANCE)}"


def compared(p: float) -> str:
    """Return a p-value with its sign: "= 0.031" or "< 0.001"."""
    shown = p_value(p)
    return f"< {shown[1:]}" if shown.startswith("<") else f"= {shown}"


def judged(*, significant: bool) -> str:
    """Say whether a difference is significant."""
    return "significant" if significant else "not significant"


def losses(found: Evaluation | MulticlassEvaluation) -> str:
    """Return the losses, before and after if both are known."""
    if found.before is None:
        return (
            f"Log loss {cost(found.log_loss.after)}, Brier loss "
            f"{cost(found.brier_loss.after)} (no uncalibrated probabilities were "
            "given)."
        )
    return (
        f"{_change('Log loss', found.log_loss)} "
        f"{_change('Brier loss', found.brier_loss)}"
    )


def _change(name: str, loss: LossChange) -> str:
    difference = change(loss.difference, loss.standard_error)
    certainty = _certainty(loss)
    trend = f"({difference}, {certainty})" if certainty else f"({difference})"
    if math.isnan(loss.difference):
        trend = "(both infinite: a label was observed that had probability 0)"
    return f"{name} {cost(loss.before)} before, {cost(loss.after)} after {trend}."


def _certainty(loss: LossChange) -> str:
    if math.isinf(loss.difference):
        return "better" if loss.difference < 0 else "worse"
    if math.isnan(loss.standard_error):
        return ""
    if not loss.is_significant:
        return "not significant"
    return "better" if loss.difference < 0 else "worse"


def _scope(found: Evaluation) -> str:
    scope = "This applies to cases from the same source as these rows."
    if found.drift is None:
        return f"{scope} Whether scores have drifted since calibration is unknown."
    words = {
        "stable": "The scores have been stable since calibration",
        "moderate": "The scores have drifted moderately since calibration",
        "large": "The scores have drifted strongly since calibration: refit",
    }
    drifted = words[str(found.drift_level)]
    return f"{scope} {drifted} (PSI {number(found.drift, 3)})."


def _groups(groups: Sequence[GroupEvaluation]) -> list[str]:
    """Name the group whose mean prediction is most wrong, if one's is."""
    off = [group for group in groups if not group.small and _is_off(group)]
    if not off:
        return []
    worst, large = off[0], sum(not group.small for group in groups)
    name = "(no group)" if worst.name is None else shorten(str(worst.name), LONGEST)
    text = (
        f"In {len(off)} of {count(large, 'group')} the mean prediction differs "
        f"significantly from the observed rate, most in {name}: "
        f"{percent(worst.mean_prediction)} against {percent(worst.observed_rate)}."
    )
    return [text]


def _is_off(group: GroupEvaluation) -> bool:
    return group.p_value < SIGNIFICANCE


def heading(found: Evaluation) -> str:
    """Name the section of the tables."""
    if found.comparison is not None:
        return "Methods compared"
    return "Losses and tests" if found.before is None else "Before and after"


def warnings(found: Evaluation) -> list[str]:
    """List reasons to doubt the results."""
    sentences = found.warnings()
    few = min(found.n_positives, found.n_rows - found.n_positives)
    if few < FEW_LABELS:
        of = "positive" if found.n_positives == few else "negative"
        some = f"only {count(few, of)}" if few else f"no {of}s"
        verb = "is" if few == 1 else "are"
        sentences.append(
            f"There {verb} {some} here: read the results with their standard errors."
        )
    return sentences


def comparison_summary(found: Comparison) -> list[str]:
    """Name the best method, its lead, and how certain it is."""
    best, *others = found.methods
    text = f"{best.name} has the smallest log loss, {cost(best.log_loss)}"
    if others:
        text += f"; {others[-1].name} the largest, {cost(others[-1].log_loss)}"
    return [f"{text}.{_as_good(found)}", _lead(found), found.how]


def _as_good(found: Comparison) -> str:
    """Name the methods that are not significantly worse than the best."""
    names = [
        method.name
        for method in found.ranked("log")
        if method.from_best is not None and not _differs(method.from_best)
    ]
    if not names:
        return ""
    return f" Not significantly worse: {', '.join(names)}."


def _differs(difference: Difference) -> bool:
    z = z_score(difference.mean, difference.standard_error)
    return math.isinf(difference.mean) or two_sided_p(z) < SIGNIFICANCE


def _lead(found: Comparison) -> str:
    best = found.methods[0]
    if best.name == found.reference:
        return f"No method is better than {found.reference}, the reference."
    difference = best.log_difference
    text = change(difference.mean, difference.standard_error)
    certainty = judged(significant=_differs(difference))
    if math.isinf(difference.mean):
        certainty = "the reference has an infinite loss"
    elif math.isnan(difference.standard_error):
        certainty = "one row has no standard error"
    return f"Its difference from {found.reference} is {text} ({certainty})."


def infinite_note(found: Comparison) -> list[str]:
    """Explain infinite losses, if there are any."""
    names = [m.name for m in found.methods if math.isinf(m.log_loss)]
    if not names:
        return []
    text = (
        f"An infinite log loss ({', '.join(names)}) means that a label was observed "
        "to which the method had given probability 0."
    )
    return [text]


def group_note(groups: Sequence[GroupEvaluation]) -> str:
    """Count the groups whose mean prediction is significantly wrong."""
    large = [group for group in groups if not group.small]
    off = sum(map(_is_off, large))
    return (
        f"In {off} of {count(len(large), 'group')} with enough rows the mean "
        f"prediction differs significantly from the observed rate (p < {SIGNIFICANCE}, "
        "corrected for the number of groups by Holm's method)."
    )


def quality_tables(found: Evaluation) -> list[NumberTable]:
    """Show losses with their parts, and calibration tests, before and after."""
    columns = before_and_after(found)
    return [
        _loss_table(columns),
        _test_table(columns, found.base_rate),
        _recalibration_table(columns),
    ]


def before_and_after(found: Any) -> list[tuple[str, Any]]:
    """Return what there is of before and after calibration, with its name."""
    if found.before is None:
        return [("the probabilities", found.after)]
    return [("before", found.before), ("after", found.after)]


def _loss_table(columns: list[tuple[str, Quality]]) -> NumberTable:
    single = len(columns) == 1
    rows = tuple(
        (
            name if single else f"{name}, {when}",
            cost(part.loss),
            cost(part.miscalibration),
            cost(part.discrimination),
            cost(part.uncertainty),
        )
        for name, kind in (("log loss", "log"), ("Brier loss", "brier"))
        for when, quality in columns
        for part in (getattr(quality, kind),)
    )
    return NumberTable(
        "Losses" if single else "Losses, before and after calibration",
        ("", "mean", "miscalibration", "discrimination", "uncertainty"),
        rows,
    )


def _test_table(columns: list[tuple[str, Quality]], base_rate: float) -> NumberTable:
    rows = tuple(
        (
            when,
            percent(quality.mean_prediction),
            cost(quality.calibration_error),
            p_value(quality.test.p_value),
            p_value(quality.miscalibration_p),
        )
        for when, quality in columns
    )
    return NumberTable(
        f"Mean prediction and calibration tests (observed rate {percent(base_rate)})",
        ("", "mean prediction", "ECE", "Spiegelhalter, p", "miscalibration, p"),
        rows,
    )


def _recalibration_table(columns: list[tuple[str, Quality]]) -> NumberTable:
    rows = tuple(
        (
            when,
            plus_minus(line.intercept, line.intercept_error),
            plus_minus(line.slope, line.slope_error),
            cost(quality.smooth_calibration_error),
            p_value(quality.hosmer_lemeshow.p_value),
            percent(quality.log_skill),
            percent(quality.brier_skill),
        )
        for when, quality in columns
        for line in (quality.recalibration,)
    )
    return NumberTable(
        "Recalibration: intercept (0 is best) and slope (1 is best), ± one standard "
        "error; skill against the base rate",
        (
            *("", "intercept", "slope", "smooth ECE", "Hosmer-Lemeshow, p"),
            *("log skill", "Brier skill"),
        ),
        rows,
    )


def cost_table(found: Evaluation) -> NumberTable:
    """Show what decisions cost at a few thresholds, before and after."""
    curve = found.after.cost_curve
    columns = {"these probabilities": curve.cost}
    if found.before is not None:
        columns = {"before": found.before.cost_curve.cost, "after": curve.cost}
    columns |= {"treat all": curve.treat_all, "treat none": curve.treat_none}
    return NumberTable(
        "Mean cost per row, where a false positive costs the threshold and a false "
        "negative the rest of 1",
        ("threshold", *columns),
        tuple(
            (
                f"t = {place / 100:.2f}",
                *(cost(c[place].item()) for c in columns.values()),
            )
            for place in SHOWN_THRESHOLDS
        ),
    )


def comparison_tables(found: Comparison) -> list[NumberTable]:
    """Show what each method costs, the best first: a table for each loss."""
    tables = []
    for loss, name in LOSS_NAMES.items():
        head, *rows = found.table(loss)
        caption = (
            f"{name[0].upper()}{name[1:]} of {count(found.n_rows, 'row')}; differences "
            f"from {found.reference} and from the best method, paired over rows, ± one "
            "standard error"
        )
        tables.append(NumberTable(caption, tuple(head), tuple(map(tuple, rows))))
    return tables


def group_table(groups: Sequence[GroupEvaluation]) -> NumberTable:
    """Show the groups, as they are ordered."""
    shown = groups[:MOST_GROUPS]
    style = GroupStyle(LONGEST_CELL, percent, cost, _signed, percent_points)
    head, *rows = groups_as_text(shown, style)
    left = len(groups) - len(shown)
    caption = f"{count(len(groups), 'group')}" + (f", {left} not shown" if left else "")
    return NumberTable(caption, tuple(head), tuple(map(tuple, rows)))


def _signed(z: float) -> str:
    return number(z, 1, "+")


def facts(
    found: Evaluation, given: Mapping[str, object] | None = None
) -> list[tuple[str, str]]:
    """List the sources of the results, and what else is given of them."""
    source = found.provenance
    fitted = []
    if source.rule_hash is not None:
        rows = f"{source.rule_observations:,} rows ({source.rule_positives:,} positive)"
        fitted = [
            ("rule fitted to", rows),
            ("SHA-256 of the rule's numbers", source.rule_hash),
        ]
    tags = [
        (
            f"{TAG_NAMES[key]} of the fit"
            if key in TAG_NAMES
            else PRIOR_NAMES.get(key, f"tag {_short(key)}"),
            _short(tag),
        )
        for key, tag in source.tags.items()
    ]
    return [
        *name_facts(found),
        *given_facts(given or {}),
        ("rows", found.row_counts()),
        (f"SHA-256 of {_columns(found)}", source.data_hash),
        ("AUC", number(found.auc)),
        *weight_facts(found),
        *fitted,
        *tags,
        *bound_facts(found, "width of the bounds"),
        ("versions", listed(source.versions)),
    ]


def name_facts(found: Evaluation | MulticlassEvaluation) -> list[tuple[str, str]]:
    """List the name, if there is one."""
    return [] if found.name is None else [("name", shorten(found.name, LONGEST))]


def weight_facts(found: Evaluation | MulticlassEvaluation) -> list[tuple[str, str]]:
    """List what is known of the weights, if there are any."""
    if found.total_weight is None or found.effective_rows is None:
        return []
    weights = (
        f"{found.total_weight:,.6g} in total, effective sample size "
        f"{found.effective_rows:,.0f}"
    )
    return [("weights", weights)]


def bound_facts(
    found: Evaluation | MulticlassEvaluation, what: str
) -> list[tuple[str, str]]:
    """List how wide the bounds are, if there are any."""
    if (wide := found.widths) is None:
        return []
    shown = [number(w, 5) for w in (wide.mean, wide.median, wide.maximum)]
    return [(what, "mean {}, median {}, maximum {}".format(*shown))]


def given_facts(given: Mapping[str, object]) -> list[tuple[str, str]]:
    """List facts that only the caller knows."""
    return [(_short(name), _short(value)) for name, value in given.items()]


def _short(value: object) -> str:
    return shorten(str(value), LONGEST)


def _columns(found: Evaluation) -> str:
    """Name the columns that are hashed."""
    first = "probabilities" if found.provenance.rule_hash is None else "scores"
    if found.total_weight is not None:
        return f"{first}, labels and weights"
    return f"{first} and labels"


def listed(versions: Mapping[str, str]) -> str:
    """Name packages with their versions."""
    return ", ".join(f"{name} {version}" for name, version in versions.items())
