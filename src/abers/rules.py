"""Rules, and what they are made of: the names one level below `abers` itself.

Types of fitted rules, diagrams and fits to them, pooled rules, rules of several scores,
and regression rules; functions that merge bounds, couple pairs of classes, and adjust
to another base rate.
"""

from __future__ import annotations

from abers._lazy import lazy_names

# Type checkers read rules.pyi, which a test compares with this table.
_NAMES = {
    "core.calibrator": ["Calibrator"],
    "core.coupling": ["couple"],
    "core.curve_calibrator": ["CurveCalibrator"],
    "core.decisions": ["Decisions"],
    "core.diagram": ["Diagram"],
    "core.fit": ["fit_rule_from_diagram"],
    "core.merging": ["brier_minimax", "log_minimax", "merge_folds"],
    "core.pooled": ["PooledRule", "fit_pooled_rule"],
    "core.poset": ["PosetRule", "fit_poset_rule"],
    "core.prior": ["adjust_prior"],
    "core.prior_estimate": ["PriorEstimate", "estimate_prior"],
    "core.regression": ["RegressionRule", "fit_regression_rule"],
    "core.rule": ["Rule"],
    "core.rule_set": ["RuleSet"],
    "core.stacked": ["StackedRule"],
    "core.stacked_fit": ["fit_stacked_rule_from_diagram"],
    "core.top": ["TopRule", "fit_top_rule"],
    "core.venn_abers_calibrator": ["VennAbersCalibrator"],
    "estimators.shift_weights": ["ShiftWeights", "shift_weights"],
    "estimators.skops_types": ["SKOPS_TYPES"],
}

__all__ = [name for names in _NAMES.values() for name in names]
__getattr__, __dir__ = lazy_names(__name__, _NAMES)
