"""Plots: displays in the manner of scikit-learn, drawn with matplotlib.

Each display has a constructor that takes numbers, class methods `from_…` that compute
them and draw at once, and `plot`, after which `ax_` and `figure_` hold the picture.
Matplotlib is imported when something is drawn; `pip install "abers[plot]"` brings it.
"""

from __future__ import annotations

from abers.plots.confusion import ConfusionDisplay
from abers.plots.decision_curves import DecisionCurveDisplay
from abers.plots.losses import LossDisplay
from abers.plots.monitor import MonitorDisplay
from abers.plots.reliability import PanelsDisplay, ReliabilityDisplay
from abers.plots.rule import RuleDisplay
from abers.plots.svg import svg

__all__ = [
    "ConfusionDisplay",
    "DecisionCurveDisplay",
    "LossDisplay",
    "MonitorDisplay",
    "PanelsDisplay",
    "ReliabilityDisplay",
    "RuleDisplay",
    "svg",
]
