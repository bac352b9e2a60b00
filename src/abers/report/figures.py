"""Figures: displays as images of the page, in both themes, with captions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np

from abers import plots
from abers.evaluation.classwise import MOST_BANDS
from abers.formatting import p_value
from abers.plots._confusion import MOST_CELLS, Confusion
from abers.plots._panels import Panel, Panels, panels_of
from abers.plots._targets import Targets
from abers.plots.losses import losses_of
from abers.plots.monitor import LedgerDisplay
from abers.plots.svg import recoloured
from abers.report import history

if TYPE_CHECKING:
    from abers.choices import LossName
    from abers.comparison import Comparison
    from abers.evaluation.bands import CalibrationBand
    from abers.evaluation.evaluate import Evaluation
    from abers.evaluation.targets import RegressionEvaluation
    from abers.online.file_monitor import FileMonitor
    from abers.validation import FloatArray, IntArray

PIXELS = 96  # to an inch
# What may stand in an attribute and in srcset unescaped; quotes become single ones.
PLAIN = "/:;=,+*()!$&@?~[]^|{}'"


@dataclass(frozen=True, slots=True)
class PageFigure:
    """An image for light and for dark pages, with a caption."""

    light: str  # data URIs
    dark: str
    alt: str
    sentence: str
    width: int
    height: int


def of_sections(evaluation: Evaluation) -> dict[str, list[PageFigure]]:
    """Draw the figures of an evaluation, by section of the page."""
    first, *others = of_evaluation(evaluation)
    return {
        "opening": [first],
        "figures": others,
        "challenger": of_challenger(evaluation),
        "decisions": of_decisions(evaluation),
        "groups": of_groups(evaluation),
    }


def of_evaluation(evaluation: Evaluation) -> list[PageFigure]:
    """Draw the figures of an evaluation."""
    drawn = [_reliability(evaluation)]
    if (band := evaluation.calibration.band) is not None:
        drawn.append(_rule(evaluation, band))
    if (confusion := evaluation.ranking.confusion) is not None:
        drawn += [_confusion(evaluation, confusion), _classwise(evaluation)]
    if evaluation.comparison is not None:
        drawn += of_comparison(evaluation.comparison)
    return drawn


def of_decisions(evaluation: Evaluation) -> list[PageFigure]:
    """Draw the net benefit and the cost of acting on the probabilities."""
    if (decisions := evaluation.decisions) is None:
        return []
    when = "" if decisions.cost_before is None else " before and after calibration"
    return [
        _figure(
            plots.DecisionCurveDisplay(
                decisions.net_benefit, before=decisions.net_benefit_before
            ),
            f"Net benefit by threshold{when}",
            f"Net benefit of acting where the probability{when} is at least the "
            "threshold, in true positives per row: the higher, the better.",
        ),
        _figure(
            plots.DecisionCurveDisplay(decisions.cost, before=decisions.cost_before),
            f"Mean cost by threshold{when}",
            f"Mean cost of the same decisions{when}, if a false positive costs the "
            "threshold and a false negative the rest of 1: the lower, the better. The "
            "area below the curve is half the Brier loss.",
        ),
    ]


def of_groups(evaluation: Evaluation) -> list[PageFigure]:
    """Draw the reliability of the worst groups, if there are any."""
    panels = panels_of(evaluation.counted_groups)
    if not panels:
        return []
    left_out = len(evaluation.groups) - len(panels)
    return [
        _figure(
            Panels(panels, left_out=left_out, top_label=_is_top_label(evaluation)),
            "Reliability by group",
            f"{_observed_by_predicted(evaluation)} in each group, in the order of the "
            f"table{', the first twelve' if left_out else ''}. Where many points in a "
            "row lie outside the band, the probabilities are wrong for this group.",
        )
    ]


def of_challenger(evaluation: Evaluation) -> list[PageFigure]:
    """Draw the reliability of two predictors side by side."""
    if evaluation.challenger is None:
        return []
    named = {"champion": evaluation, "challenger": evaluation.challenger.evaluation}
    panels = [
        Panel(name, e.calibration.after.curve, e.calibration.consistency, e.n_rows)
        for name, e in named.items()
    ]
    return [
        _figure(
            Panels(panels, what="predictors", top_label=_is_top_label(evaluation)),
            "Reliability of champion and challenger",
            f"{_observed_by_predicted(evaluation)} of both, each with the band in "
            "which the curve would lie if its probabilities were calibrated.",
        )
    ]


def of_comparison(comparison: Comparison) -> list[PageFigure]:
    """Draw losses by method."""
    names: dict[LossName, str] = {"log": "Log loss", "brier": "Brier loss"}
    return [
        _figure(
            plots.LossesDisplay(
                losses_of(comparison, loss), reference=comparison.reference, loss=loss
            ),
            f"{name} by method",
            f"{name} of each method; whiskers are two standard errors of the "
            f"difference from {comparison.reference}, paired over rows.",
        )
        for loss, name in names.items()
    ]


def of_regression(evaluation: RegressionEvaluation) -> PageFigure:
    """Draw the mean target by the mean prediction, in bands."""
    when = "" if evaluation.before_is is None else " before and after calibration"
    return _figure(
        Targets(evaluation.bands),
        f"Mean target by mean prediction{when}",
        f"Mean target by mean prediction{when}, in bands of the prediction. The means "
        "of calibrated predictions lie on the line, within their intervals.",
    )


def of_monitor(monitor: FileMonitor) -> PageFigure:
    """Draw the capital of the tests from file to file."""
    numbers = np.arange(1, len(monitor.ledger) + 1)
    # With several groups, a test has its alarm where the first of them has it.
    alarms: dict[str, int] = {}
    for alarm in monitor.alarms:
        alarms.setdefault(alarm.test, history.alarm_place(monitor, alarm) + 1)
    first = monitor.alarms[0] if monitor.alarms else None
    sentence = (
        "Capital of each test after each file, on a logarithmic scale. It starts at 1 "
        "and grows while rows are not like the calibration rows. At the dashed line "
        "there is an alarm. A label may come in a later file than its row."
    )
    if len(monitor.groups) > 1:
        sentence += f" The highest of {len(monitor.groups):,} groups is shown."
    display = LedgerDisplay(
        {test: (numbers, logs) for test, logs in history.capitals(monitor).items()},
        limit=monitor.limit,
        dates=[line.file.date for line in monitor.ledger],
        alarms=alarms,
        began=None if first is None else monitor.place_of(first.since_row) + 1,
    )
    return _figure(display, "Capital of each test after each file", sentence)


def _is_top_label(evaluation: Evaluation) -> bool:
    return evaluation.n_positives is None


def _observed_by_predicted(evaluation: Evaluation) -> str:
    if _is_top_label(evaluation):
        return "How often the most probable class is right, by its probability,"
    return "Observed rate by predicted probability"


def _reliability(evaluation: Evaluation) -> PageFigure:
    """Draw the reliability diagram, before and after."""
    calibration = evaluation.calibration
    before, after = calibration.before, calibration.after
    is_top_label = _is_top_label(evaluation)
    when = "" if before is None else " before and after calibration"
    both = [each for each in (before, after) if each is not None]
    return _figure(
        plots.ReliabilityDisplay(
            after.curve,
            calibration.consistency,
            before=None if before is None else before.curve,
            histograms=[each.histogram for each in both],
            top_label=is_top_label,
        ),
        f"{'Top-label reliability' if is_top_label else 'Reliability'}{when}, with a "
        "consistency band",
        f"{_observed_by_predicted(evaluation).rstrip(',')}{when}. Calibrated "
        "probabilities lie on the diagonal: if "
        f"those{'' if before is None else ' after'} are, "
        f"{calibration.consistency.confidence:.0%} of such curves lie inside the band "
        f"at each point. Calibration test: p = {p_value(after.test.p_value)}.",
    )


def _confusion(evaluation: Evaluation, confusion: IntArray | FloatArray) -> PageFigure:
    """Draw which classes are mistaken for which."""
    numbers = "Rows" if evaluation.total_weight is None else "Weights of the rows"
    rest = ""
    if (every := len(evaluation.classes)) > MOST_CELLS:
        rest = (
            f" Of {every:,} classes the {MOST_CELLS - 1} with the most errors are "
            "shown, and all others together."
        )
    return _figure(
        Confusion(confusion, evaluation.classes),
        "Confusion of the most probable class",
        f"{numbers} of each class (down) by the most probable class (across). The "
        "stronger the colour, the larger the share of the class; errors are orange."
        f"{rest}",
    )


def _classwise(evaluation: Evaluation) -> PageFigure:
    """Draw the reliability of each class, the worst first."""
    shown = evaluation.by_class[:MOST_BANDS]
    left = len(evaluation.by_class) - len(shown)
    rest = f" {left:,} classes are left out." if left else ""
    return _figure(
        plots.ClassesDisplay(
            [Panel(c.name, c.curve, c.consistency, c.n_rows) for c in shown],
            left_out=left,
        ),
        "Reliability of each class against the rest",
        "Observed rate by predicted probability, each class against the rest, largest "
        f"|z| first.{rest}",
    )


def _rule(evaluation: Evaluation, band: CalibrationBand) -> PageFigure:
    """Draw the rule over its scores, or the probabilities, with the band."""
    rule = evaluation.rule
    over = "probability" if rule is None else "score"
    runs = "rises" if rule is None or rule.increasing else "falls"
    sure = f"{band.confidence:.0%} confidence the true curve"
    title, sentence = "Calibration band of these rows, and the probabilities", ""
    wrong = "the line of the probabilities leaves it, they are wrong"
    if rule is not None:
        title = "The rule by score, and the calibration band of these rows"
        sentence = (
            "The rule: the estimated probability after adding the case to the "
            "calibration data as a 0 (lower) and as a 1 (upper), by score. "
        )
        wrong = "the rule leaves it, the rule is wrong"
    if band.is_empty:
        sentence += (
            "The band is empty, for its lower end lies above its upper end somewhere: "
            f"with {sure} is not one that {runs} with the {over}."
        )
    else:
        sentence += (
            f"With {sure} lies in the band as a whole, if it {runs} with the {over}. "
            f"Where {wrong}."
        )
    display = plots.RuleDisplay(
        rule,
        band,
        score_quantiles=None if rule is None else evaluation.score_quantiles,
        loss=evaluation.loss,
    )
    return _figure(display, title, sentence)


def _figure(display: Any, alt: str, sentence: str) -> PageFigure:
    """Draw a display in both themes."""
    picture = plots.svg(display, theme="light", transparent=True)
    dark = recoloured(picture, "dark")
    if display.mixes_colours:
        dark = plots.svg(display, theme="dark", transparent=True)
    width, height = (round(side * PIXELS) for side in display.size)
    return PageFigure(
        light=data_uri(picture),
        dark=data_uri(dark),
        alt=alt,
        sentence=sentence,
        width=width,
        height=height,
    )


def data_uri(svg: str) -> str:
    """Encode a picture as a data URI; shorter than base64."""
    return "data:image/svg+xml," + quote(svg.replace('"', "'"), safe=PLAIN)
