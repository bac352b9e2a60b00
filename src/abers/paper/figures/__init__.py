"""Figures: the paper's, and those that it planned; SVG in both themes."""

from abers.paper.figures.beside import machines, time, validity, widths
from abers.paper.figures.calibration import calibration
from abers.paper.figures.panels import losses
from abers.paper.figures.writing import darkened, on_paper, svg

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
