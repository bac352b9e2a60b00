"""Plots: displays in the manner of scikit-learn, drawn with matplotlib.

Each display has a constructor that takes numbers, class methods `from_…` that compute
them and draw at once, and `plot`, after which `ax_` and `figure_` hold the picture.
Matplotlib is imported when something is drawn; `pip install "abers[plot]"` brings it.
"""

from __future__ import annotations

from abers.plots.classes import ClasswiseDisplay, ConfusionDisplay, TopLabelDisplay
from abers.plots.decision_curves import CostCurveDisplay, DecisionCurveDisplay
from abers.plots.losses import LossDisplay
from abers.plots.regression import RegressionRuleDisplay
from abers.plots.reliability import (
    BeforeAfterDisplay,
    GroupsDisplay,
    ReliabilityDisplay,
)
from abers.plots.rule import BandDisplay, RuleDisplay
from abers.plots.streams import MonitorDisplay
from abers.plots.svg import svg

__all__ = [
    "BandDisplay",
    "BeforeAfterDisplay",
    "ClasswiseDisplay",
    "ConfusionDisplay",
    "CostCurveDisplay",
    "DecisionCurveDisplay",
    "GroupsDisplay",
    "LossDisplay",
    "MonitorDisplay",
    "RegressionRuleDisplay",
    "ReliabilityDisplay",
    "RuleDisplay",
    "TopLabelDisplay",
    "svg",
]
