"""Figures: the paper's, and those that it planned; SVG in both themes."""

from abers.paper.figures.loss_panels import losses
from abers.paper.figures.other_figures import (
    calibration,
    machines,
    time,
    validity,
    widths,
)
from abers.paper.figures.short_svg import darkened, on_paper, svg

__all__ = [
    "calibration",
    "darkened",
    "losses",
    "machines",
    "on_paper",
    "svg",
    "time",
    "validity",
    "widths",
]
