"""Plots: displays in scikit-learn's style, drawn with matplotlib.

Each display has a constructor that takes computed results. `from_predictions` computes
them from labels and probabilities, `from_estimator` from a fitted classifier; both draw
at once. After `plot`, `ax_` and `figure_` hold the result. Matplotlib is imported when
a display draws; install it with `pip install "abers[plot]"`.
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
