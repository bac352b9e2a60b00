"""Real Weka as an engine: its own classifiers, by the system's Java."""

from abers.paper.weka.engine import Weka

__all__ = ["Weka"]
