"""Pictures: displays as images of the page, in both themes, with a sentence each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from abers import plots
from abers.plots.losses import Loss
from abers.report import cells

if TYPE_CHECKING:
    from abers.assessment import Evaluation
    from abers.comparison import Comparison

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
    drawn = []
    if found.before is not None:
        drawn.append(
            _picture(
                plots.BeforeAfterDisplay(
                    found.before.curve,
                    found.after.curve,
                    histograms=(found.before.histogram, found.after.histogram),
                ),
                "Reliability before and after calibration",
                "What was said against what happened, before and after calibration. "
                "Right probabilities lie on the diagonal.",
            )
        )
    drawn.append(
        _picture(
            plots.ReliabilityDisplay(
                found.after.curve,
                found.after.consistency,
                histogram=found.after.histogram,
            ),
            "Reliability after calibration, with a consistency band",
            _consistency(found),
        )
    )
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
    if found.rule is not None and found.band is not None:
        drawn.append(
            _picture(
                plots.BandDisplay(found.band, found.rule, found.score_quantiles),
                "Calibration band of the judged rows, and the rule",
                f"With {found.band.confidence:.0%} confidence the true curve lies in "
                "the band as a whole, if it rises with the score. Where the rule "
                "leaves it, the rule is wrong.",
            )
        )
    if found.comparison is not None:
        drawn += of_comparison(found.comparison)
    return drawn


def of_comparison(found: Comparison) -> list[Picture]:
    """Draw losses by method."""
    return [
        _picture(
            plots.LossDisplay(
                _losses(found, loss), reference=found.reference, loss=loss
            ),
            f"{name} by method",
            f"{name} of each method; whiskers are two standard errors of the "
            f"difference from {found.reference}, paired over rows.",
        )
        for loss, name in (("log", "Log loss"), ("brier", "Brier loss"))
    ]


def _losses(found: Comparison, loss: str) -> list[Loss]:
    return [
        Loss(
            method.name,
            getattr(method, f"{loss}_loss"),
            getattr(method, f"{loss}_difference").standard_error,
        )
        for method in found.methods
    ]


def _consistency(found: Evaluation) -> str:
    band = found.after.consistency
    return (
        "After calibration, closer: were the probabilities right, "
        f"{band.confidence:.0%} of such curves would be inside the band at each point. "
        f"Spiegelhalter's test: p-value {cells.p_value(found.after.test.p_value)}."
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
