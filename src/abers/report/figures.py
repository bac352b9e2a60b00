"""Figures: displays as images of the page, in both themes, with a sentence each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from abers import plots
from abers.plots.losses import losses_of
from abers.report.number_tables import p_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abers.comparison import Comparison
    from abers.evaluation.bands import CalibrationBand
    from abers.evaluation.evaluate import Evaluation

PIXELS = 100  # to an inch
# What may stand in an attribute and in srcset as it is; quotes become single ones.
PLAIN = "/:;=,+*()!$&@?~[]^|{}'"


@dataclass(frozen=True, slots=True)
class Picture:
    """An image for light and for dark pages; `sentence` says what to see in it."""

    light: str  # data URIs
    dark: str
    alt: str
    sentence: str
    width: int
    height: int


def of_evaluation(found: Evaluation) -> list[Picture]:
    """Draw what an evaluation can be seen by."""
    drawn = [*_reliability(found)]
    if found.rule is not None:
        drawn.append(
            _picture(
                plots.RuleDisplay(found.rule),
                "The rule: lower and upper probability over the score",
                "The rule itself: the probability if the case were a 0 (lower) and if "
                "it were a 1 (upper), over the score; below, where calibration scores "
                "were.",
            )
        )
    if found.band is not None:
        drawn.append(_band(found, found.band))
    if found.comparison is not None:
        drawn += of_comparison(found.comparison)
    return drawn


def of_comparison(found: Comparison) -> list[Picture]:
    """Draw losses by method."""
    return [
        _picture(
            plots.LossDisplay(
                losses_of(found, loss), reference=found.reference, loss=loss
            ),
            f"{name} by method",
            f"{name} of each method; whiskers are two standard errors of the "
            f"difference from {found.reference}, paired over rows.",
        )
        for loss, name in (("log", "Log loss"), ("brier", "Brier loss"))
    ]


def _reliability(found: Evaluation) -> Iterator[Picture]:
    """Draw what was said against what happened."""
    if found.before is not None:
        yield _picture(
            plots.BeforeAfterDisplay(
                found.before.curve,
                found.after.curve,
                histograms=(found.before.histogram, found.after.histogram),
            ),
            "Reliability before and after calibration",
            "What was said against what happened, before and after calibration. "
            "Right probabilities lie on the diagonal.",
        )
    when = "" if found.before is None else " after calibration"
    yield _picture(
        plots.ReliabilityDisplay(
            found.after.curve,
            found.after.consistency,
            histogram=found.after.histogram,
        ),
        f"Reliability{when}, with a consistency band",
        _consistency(found),
    )


def _band(found: Evaluation, band: CalibrationBand) -> Picture:
    """Draw the honest band, over scores if one rule answered, else probabilities."""
    sure = f"With {band.confidence:.0%} confidence the true curve lies in the band"
    if found.rule is None:
        return _picture(
            plots.BandDisplay(band),
            "Calibration band of the judged rows, and the probabilities",
            f"{sure} as a whole, if it rises with the probability. Where the line of "
            "the probabilities leaves it, they are wrong.",
        )
    runs = "rises" if found.rule.increasing else "falls"
    return _picture(
        plots.BandDisplay(band, found.rule, found.score_quantiles),
        "Calibration band of the judged rows, and the rule",
        f"{sure} as a whole, if it {runs} with the score. Where the rule leaves it, "
        "the rule is wrong.",
    )


def _consistency(found: Evaluation) -> str:
    after = found.after
    when = "After calibration, closer" if found.before is not None else "Reliability"
    return (
        f"{when}: were the probabilities right, {after.consistency.confidence:.0%} of "
        "such curves would be inside the band at each point. Miscalibration as large "
        f"as this would come by chance with probability "
        f"{p_value(after.miscalibration_p)}."
    )


def _picture(display: Any, alt: str, sentence: str) -> Picture:
    width, height = display.size
    return Picture(
        light=data_uri(plots.svg(display, theme="light", transparent=True)),
        dark=data_uri(plots.svg(display, theme="dark", transparent=True)),
        alt=alt,
        sentence=sentence,
        width=round(width * PIXELS),
        height=round(height * PIXELS),
    )


def data_uri(svg: str) -> str:
    """Turn a picture into an address that holds it; shorter than base64."""
    return "data:image/svg+xml," + quote(svg.replace('"', "'"), safe=PLAIN)
