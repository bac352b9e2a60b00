"""Calibration sets that change, and rules that stay up to date with them."""

from abers.online.monitor import Monitor, MonitorState
from abers.online.online_set import OnlineVennAbers
from abers.online.prequential import Prequential, prequential
from abers.online.protected import Protected

__all__ = [
    "Monitor",
    "MonitorState",
    "OnlineVennAbers",
    "Prequential",
    "Protected",
    "prequential",
]
