"""Plots: displays in the manner of scikit-learn, drawn with matplotlib.

Each display has a constructor that takes numbers, class methods `from_…` that compute
them and draw at once, and `plot`, after which `ax_` and `figure_` hold the picture.
Matplotlib is imported when something is drawn; `pip install "abers[plot]"` brings it.
"""

from __future__ import annotations

from abers.plots.band import BandDisplay
from abers.plots.before_after import BeforeAfterDisplay
from abers.plots.groups import GroupsDisplay
from abers.plots.losses import LossDisplay
from abers.plots.reliability import ReliabilityDisplay
from abers.plots.rendering import svg
from abers.plots.rule import RuleDisplay

__all__ = [
    "BandDisplay",
    "BeforeAfterDisplay",
    "GroupsDisplay",
    "LossDisplay",
    "ReliabilityDisplay",
    "RuleDisplay",
    "svg",
]
