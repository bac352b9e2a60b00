"""Plots: displays in the manner of scikit-learn, drawn with matplotlib.

Each display has a constructor that takes what was computed. `from_predictions` computes
it from labels and probabilities, `from_estimator` asks a classifier; both draw at once.
After `plot`, `ax_` and `figure_` hold the picture. Matplotlib is imported when a
display draws; `pip install "abers[plot]"` brings it.
"""

from __future__ import annotations

from abers.plots.classes import ClassesDisplay
from abers.plots.decision_curves import DecisionCurveDisplay
from abers.plots.losses import LossesDisplay
from abers.plots.monitor import MonitorDisplay
from abers.plots.reliability import ReliabilityDisplay
from abers.plots.rule import RuleDisplay
from abers.plots.svg import svg

__all__ = [
    "ClassesDisplay",
    "DecisionCurveDisplay",
    "LossesDisplay",
    "MonitorDisplay",
    "ReliabilityDisplay",
    "RuleDisplay",
    "svg",
]
