"""The types of ours that skops must trust to load what it saved."""

from abers.core.curve_calibrator import CurveCalibrator
from abers.core.diagram import Diagram
from abers.core.own_weight import RuleWithDiagram
from abers.core.pooled import PooledRule
from abers.core.poset import PosetRule
from abers.core.regression import RegressionRule
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.core.stacked import StackedRule
from abers.core.top import TopRule
from abers.core.venn_abers_calibrator import VennAbersCalibrator
from abers.estimators import (
    calibrated_classifier,
    calibrators,
    regressors,
    venn_abers_classifiers,
)

_ESTIMATORS = [
    getattr(module, name)
    for module in (
        calibrated_classifier,
        calibrators,
        regressors,
        venn_abers_classifiers,
    )
    for name in module.__all__
]

# Restoring one of them runs no code but our own checks of a state. A list, because
# MLflow writes it into YAML, which has no tuples.
SKOPS_TYPES = sorted(
    f"{kind.__module__}.{kind.__qualname__}"
    for kind in (
        *(Diagram, PooledRule, PosetRule, RegressionRule, Rule, RuleSet, StackedRule),
        *(CurveCalibrator, RuleWithDiagram, VennAbersCalibrator),
        TopRule,
        *_ESTIMATORS,
    )
)
