"""Number tables: numbers as text, and tables of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abers.comparison import LOSS_NAMES
from abers.evaluation.groups import GroupStyle
from abers.evaluation.groups import group_table as groups_as_text
from abers.formatting import p_value, places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.comparison import Comparison, Difference
    from abers.evaluation.evaluate import Evaluation
    from abers.evaluation.groups import GroupEvaluation

LONGEST = 120  # characters of a title that a reader takes in
LONGEST_CELL = 40
MOST_GROUPS = 50
PLACES = 4  # of a loss or a difference, at least
SHOWN_THRESHOLDS = (5, 10, 20, 30, 50)  # in hundredths, as the curves have them
MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class NumberTable:
    """A table as text; the first cell of a row names it."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def percent(p: float) -> str:
    """Show a probability with three significant digits: 0.0123 as 1.23 %."""
    if not math.isfinite(p):
        return "-"
    digits = 1 if p == 0 else max(1, 2 - math.floor(math.log10(100 * abs(p)) + 1e-9))
    return f"{100 * p:.{min(digits, 6)}f} %".replace("-", MINUS)


def number(value: float, digits: int = 4, sign: str = "") -> str:
    """Show a number; infinity as a sign, and nothing for what is not a number."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return f"{MINUS if value < 0 else '+' if sign else ''}∞"
    return f"{value:{sign}.{digits}f}".replace("-", MINUS)


def cost(value: float) -> str:
    """Show a loss to four places; small ones, of rare events, to three digits."""
    return number(value, places(value, 3, least=PLACES))


def change(mean: float, error: float) -> str:
    """Show a difference, and its standard error, if it has one, to two digits."""
    if math.isnan(error):
        return number(mean, places(mean, 2, least=PLACES), "+")
    shown = places(error, 2, least=PLACES)
    return f"{number(mean, shown, '+')} ± {number(error, shown)}"


def plus_minus(value: float, error: float) -> str:
    """Show a number and its standard error, if it has one, to two digits."""
    if math.isnan(error):
        return number(value, 2)
    shown = places(error, 2, least=2)
    return f"{number(value, shown)} ± {number(error, shown)}"


def count(n: int, what: str) -> str:
    """Count things: 1 row, 2 rows."""
    return f"{n:,} {what}" + ("" if n == 1 else "s")


def cost_table(found: Evaluation) -> NumberTable:
    """Show what decisions cost at a few thresholds, before and after."""
    columns = {"after": found.after.cost_curve.cost}
    if found.before is None:
        columns = {"these probabilities": found.after.cost_curve.cost}
    else:
        columns = {"before": found.before.cost_curve.cost, **columns}
    curve = found.after.cost_curve
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


def quality_tables(found: Evaluation) -> list[NumberTable]:
    """Show losses with their parts, and calibration tests, before and after."""
    single = found.before is None
    columns = [("the probabilities" if single else "after", found.after)]
    if found.before is not None:
        columns.insert(0, ("before", found.before))
    parts = tuple(
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
    rest = tuple(
        (
            when,
            percent(quality.mean_prediction),
            cost(quality.calibration_error),
            p_value(quality.test.p_value),
            p_value(quality.miscalibration_p),
        )
        for when, quality in columns
    )
    fitted = tuple(
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
    return [
        NumberTable(
            "Losses" if single else "Losses, before and after calibration",
            ("", "mean", "miscalibration", "discrimination", "uncertainty"),
            parts,
        ),
        NumberTable(
            "Mean prediction and calibration tests (observed rate "
            f"{percent(found.base_rate)})",
            ("", "mean prediction", "ECE", "Spiegelhalter, p", "miscalibration, p"),
            rest,
        ),
        NumberTable(
            "Recalibration: intercept (0 is best) and slope (1 is best), ± one "
            "standard error; skill against the base rate",
            (
                *("", "intercept", "slope", "smooth ECE", "Hosmer-Lemeshow, p"),
                *("log skill", "Brier skill"),
            ),
            fitted,
        ),
    ]


def comparison_tables(found: Comparison) -> list[NumberTable]:
    """Show what each method costs, the best first: a table for each loss."""
    return [
        NumberTable(
            f"{name[0].upper()}{name[1:]} of {count(found.n_rows, 'row')}; differences "
            f"from {found.reference} and from the best method, paired over rows, ± one "
            "standard error",
            ("method", name, f"from {found.reference}", "from the best"),
            tuple(
                (
                    method.name,
                    cost(method.loss),
                    _against(method.from_reference, "reference"),
                    _against(method.from_best, "best"),
                )
                for method in found.ranked(loss)
            ),
        )
        for loss, name in LOSS_NAMES.items()
    ]


def _against(difference: Difference | None, itself: str) -> str:
    if difference is None:
        return itself
    return change(difference.mean, difference.standard_error)


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


def percent_points(p: float) -> str:
    """Show a difference of probabilities, with its sign."""
    return number(100 * p, 2, "+") + " %"
