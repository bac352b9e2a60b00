"""Estimators: Venn-Abers prediction with the manners of scikit-learn."""

from abers.core.diagram import Diagram
from abers.core.pooled import PooledRule
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.estimators.calibrators import (
    BetaCalibrator,
    IsotonicCalibrator,
    IVAPCalibrator,
    PlattCalibrator,
    TemperatureCalibrator,
)
from abers.estimators.classifiers import CVAPClassifier, IVAPClassifier

__all__ = [
    "SKOPS_TYPES",
    "BetaCalibrator",
    "CVAPClassifier",
    "IVAPCalibrator",
    "IVAPClassifier",
    "IsotonicCalibrator",
    "PlattCalibrator",
    "TemperatureCalibrator",
]

# The types of ours that skops has to trust, to load what it has saved. Restoring one of
# them runs no code but our own checks of a state. A list, because MLflow writes it into
# a YAML file, which knows no tuples.
SKOPS_TYPES = [
    f"{kind.__module__}.{kind.__qualname__}"
    for kind in (
        BetaCalibrator,
        CVAPClassifier,
        Diagram,
        IVAPCalibrator,
        IVAPClassifier,
        IsotonicCalibrator,
        PlattCalibrator,
        PooledRule,
        Rule,
        RuleSet,
        TemperatureCalibrator,
    )
]
