"""Regression text: an evaluation of a regressor in sentences and tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from abers.evaluation.calibration_tests import two_sided_p
from abers.formatting import MINUS, Printout, Table, count, number, p_value, percent
from abers.report.document import Document, Section, cut, dated
from abers.thresholds import SIGNIFICANCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from abers.evaluation.targets import RegressionEvaluation, TargetBand

LARGE = 1e4  # numbers from here on have no decimal places
PARTS_NOTE = (
    "Squared error = miscalibration \N{MINUS SIGN} discrimination + uncertainty. "
    "Miscalibration is the most that an increasing map of the predictions could gain "
    "on these rows; it is above 0 even for calibrated predictions. R² is 1 "
    "\N{MINUS SIGN} squared error / variance of the targets."
)
BAND_NOTE = (
    "A mean prediction agrees if it lies in the 95 % interval of the mean target: the "
    "mean target ± 1.96 standard errors of target minus prediction. Each interval is "
    "for one line, and it is approximate: with few rows, or a few very large targets, "
    "it is too short. Of ten right bands, at least one disagrees in about 40 % of "
    "reports."
)
BOUNDS_ARE = (
    "The bounds of a case are the values that it gets if its target is as low, and as "
    "high, as possible. They are bounds for a mean, not an interval in which the "
    "target lies, and they shrink to a point as data grow."
)
NOT_PROVEN = (
    "Nothing is proven about these predictions. This page shows how they did on these "
    "rows, and nothing about cases from another source or time."
)
MIDPOINT = "Not guaranteed: that the prediction, the midpoint, is calibrated."


def document(
    evaluation: RegressionEvaluation,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> Document:
    """Describe an evaluation; the page and Markdown show it."""
    named = "" if evaluation.name is None else f": {cut(evaluation.name)}"
    notes = [PARTS_NOTE]
    if evaluation.before_is is not None:
        notes.insert(0, f"Before: {evaluation.before_is}.")
    return Document(
        f"Calibration report{named}" if title is None else cut(title),
        [],
        headline(evaluation),
        summary(evaluation),
        [
            Section("Before and after", tables=[error_table(evaluation)], notes=notes),
            Section(
                "Bands of the prediction",
                tables=[band_table(evaluation.bands[::-1])],
                notes=[BAND_NOTE],
            ),
            *_groups(evaluation),
            *_guarantees(evaluation),
        ],
        dated(facts, _facts(evaluation)),
    )


def headline(evaluation: RegressionEvaluation) -> str:
    """Return one line: whether calibration helped, and what remains."""
    change = evaluation.squared_error
    if evaluation.before_is is None:
        start = f"Mean squared error {amount(change.after)}"
    else:
        verdict = "No significant difference"
        if change.is_significant:
            helped = "helped" if change.difference < 0 else "did harm"
            verdict = f"Calibration {helped}"
        start = (
            f"{verdict}: mean squared error {amount(change.before)} → "
            f"{amount(change.after)} ({_difference(evaluation)})"
        )
    off = sum(not band.agrees for band in evaluation.bands)
    bands = count(len(evaluation.bands), "band")
    return f"{start}; the mean target is off the prediction in {off} of {bands}."


def summary(evaluation: RegressionEvaluation) -> list[str]:
    """Return the overall mean, and what share of the variance is explained."""
    every, held = evaluation.overall, ""
    if evaluation.held_out:
        held = " (held out, as stated by the user)"
    means = (
        f"On {count(evaluation.n_rows, 'row')}{held} the mean prediction is "
        f"{amount(every.mean_prediction)} and the mean target "
        f"{amount(every.mean_target.value)}{_mean_test(every)}."
    )
    after = f"R² is {number(evaluation.parts_after.skill, 3)}"
    if evaluation.parts_before is not None:
        after += f", before calibration {number(evaluation.parts_before.skill, 3)}"
    lines = [means, f"{after}."]
    if not math.isnan(evaluation.mean_width):
        width = amount(evaluation.mean_width)
        lines.append(f"The bounds are {width} apart on average.")
    return [*lines, "This applies to cases from the same source as these rows."]


def error_table(evaluation: RegressionEvaluation) -> Table:
    """Return a table of the squared error and its parts."""
    change = evaluation.squared_error
    lines = [("after", change.after, evaluation.parts_after)]
    if evaluation.parts_before is not None:
        lines.insert(0, ("before", change.before, evaluation.parts_before))
    rows = [
        [
            *(when, amount(error), amount(math.sqrt(error))),
            *(number(parts.skill, 3), amount(parts.miscalibration)),
            *(amount(parts.discrimination), amount(parts.uncertainty)),
        ]
        for when, error, parts in lines
    ]
    head = ["", "squared error", "its root", "R²", "miscalibration"]
    return Table(
        "Mean squared error and its parts",
        [*head, "discrimination", "uncertainty"],
        rows,
    )


def band_table(bands: Sequence[TargetBand], first: str = "band") -> Table:
    """Return a table of mean predictions and mean targets, by band or group."""
    columns = {
        first: _name,
        "rows": lambda band: f"{band.n_rows:,}",
        "mean prediction": lambda band: amount(band.mean_prediction),
        "mean target": lambda band: amount(band.mean_target.value),
        "95 % interval": _interval,
        "agrees": lambda band: "yes" if band.agrees else "NO",
    }
    if not all(math.isnan(band.mean_prediction_before) for band in bands):
        earlier = {"mean before": lambda band: amount(band.mean_prediction_before)}
        columns = dict([*list(columns.items())[:2], *earlier.items()]) | columns
    what = "highest first" if first == "band" else "as they come"
    return Table.of(bands, columns, caption=f"{count(len(bands), first)}, {what}")


def printout(evaluation: RegressionEvaluation) -> Printout:
    """Return the printed form."""
    change, name = evaluation.squared_error, evaluation.name
    error = amount(change.after)
    if evaluation.before_is is not None:
        error = (
            f"{amount(change.before)} before, {error} after ({_difference(evaluation)})"
        )
    held = ", held-out (as stated by the user)" if evaluation.held_out else ""
    every = evaluation.overall
    facts = [
        ("rows", f"{evaluation.n_rows:,}{held}"),
        ("mean squared error", error),
        ("R²", number(evaluation.parts_after.skill, 3)),
        ("mean prediction", amount(every.mean_prediction)),
        ("mean target", f"{amount(every.mean_target.value)}{_mean_test(every)}"),
    ]
    tables = [band_table(evaluation.bands[::-1])]
    title = "Evaluation" if name is None else f"Evaluation of {name}"
    return Printout(title, facts, tables, [], headline(evaluation))


def amount(value: float) -> str:
    """Format a number of any size: 4 digits, and no fewer than those before the point.

    >>> amount(21737.6), amount(0.000123456), amount(-3.0)
    ('21,738', '0.0001235', '−3')
    """
    if math.isnan(value):
        return "-"
    text = f"{value:,.0f}" if LARGE <= abs(value) < math.inf else f"{value:,.4g}"
    return text.replace("-", MINUS)


def _difference(evaluation: RegressionEvaluation) -> str:
    change = evaluation.squared_error
    sign = "" if change.difference < 0 else "+"
    return f"{sign}{amount(change.difference)} ± {amount(change.standard_error)}"


def _mean_test(band: TargetBand) -> str:
    """Return the p-value of the difference of means, in brackets."""
    error = band.standard_error
    if math.isnan(error) or not error:
        return ""
    p = two_sided_p((band.mean_prediction - band.mean_target.value) / error)
    shown = p_value(p)
    if not shown.startswith("<"):
        shown = f"= {shown}"
    verdict = "significant" if p < SIGNIFICANCE else "not significant"
    return f" (p {shown}, {verdict})"


def _name(band: TargetBand) -> str:
    if band.name is not None:
        return cut(band.name)
    if math.isinf(band.start) and math.isinf(band.end):
        return "all"
    if math.isinf(band.start):
        return f"below {amount(band.end)}"
    if math.isinf(band.end):
        return f"from {amount(band.start)}"
    return f"{amount(band.start)} to {amount(band.end)}"


def _interval(band: TargetBand) -> str:
    mean = band.mean_target
    if math.isnan(mean.lower):
        return "-"
    return f"{amount(mean.lower)} to {amount(mean.upper)}"


def _groups(evaluation: RegressionEvaluation) -> list[Section]:
    columns = dict.fromkeys(group.column for group in evaluation.groups)
    tables = [
        band_table([g for g in evaluation.groups if g.column == column], "group")
        for column in columns
    ]
    tables = [
        table
        if column is None
        else table._replace(caption=f"{cut(column)}: {table.caption}")
        for column, table in zip(columns, tables, strict=True)
    ]
    return [Section("Groups", tables=tables)] if tables else []


def _guarantees(evaluation: RegressionEvaluation) -> list[Section]:
    title = "Guarantees and limits"
    if math.isnan(evaluation.mean_width):
        return [Section(title, [NOT_PROVEN])]
    points = [MIDPOINT]
    if evaluation.guarantee is not None:
        points.insert(0, str(evaluation.guarantee))
    return [Section("What the bounds are", [BOUNDS_ARE]), Section(title, points=points)]


def _facts(evaluation: RegressionEvaluation) -> list[tuple[str, str]]:
    used = "no, as stated by the user" if evaluation.held_out else "unknown"
    share = evaluation.mean_width / math.sqrt(evaluation.parts_after.uncertainty or 1)
    facts = [("rows", f"{evaluation.n_rows:,}"), ("used for fitting", used)]
    if not math.isnan(share):
        facts.append(
            (
                "mean width of the bounds",
                f"{percent(share)} of the targets' standard deviation",
            )
        )
    return facts
