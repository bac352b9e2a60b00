"""Venn-Abers prediction: the scores of any classifier become calibrated probabilities.

>>> import abers
>>> rule = abers.fit_rule(scores=[1, 2, 3], labels=[0, 1, 0])
>>> rule.bounds([2])  # estimated with the new case as a 0, and as a 1
array([[0.33333333, 0.66666667]])
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from abers import evaluation, export, losses, plots, reference
    from abers.comparison.compare import compare
    from abers.comparison.result import Comparison
    from abers.core.coupling import couple
    from abers.core.decisions import Decisions, decide
    from abers.core.diagram import Diagram
    from abers.core.fit import fit_rule, fit_rule_from_diagram
    from abers.core.merging import brier_minimax, log_minimax, merge_folds
    from abers.core.pooled import PooledRule, fit_pooled_rule
    from abers.core.poset import PosetRule, fit_poset_rule
    from abers.core.prior import adjust_prior
    from abers.core.prior_estimate import PriorEstimate, estimate_prior
    from abers.core.regression import RegressionRule, fit_regression_rule
    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet, fit_rules
    from abers.core.stacked import StackedRule
    from abers.core.stacked_fit import fit_stacked_rule, fit_stacked_rule_from_diagram
    from abers.errors import AbersError
    from abers.estimators.calibrated_classifier import CalibratedClassifier
    from abers.estimators.calibrators import (
        BetaCalibrator,
        IsotonicCalibrator,
        IVAPCalibrator,
        PlattCalibrator,
        StackedCalibrator,
        TemperatureCalibrator,
    )
    from abers.estimators.regressors import CVAPRegressor, IVAPRegressor
    from abers.estimators.skops_types import SKOPS_TYPES
    from abers.estimators.venn_abers_classifiers import CVAPClassifier, IVAPClassifier
    from abers.evaluation import reliability
    from abers.evaluation.bands import CalibrationBand, calibration_band
    from abers.evaluation.check import Check, check
    from abers.evaluation.evaluate import Evaluation, evaluate
    from abers.evaluation.multiclass_evaluation import MulticlassEvaluation
    from abers.evaluation.sample_size import sample_size
    from abers.online.monitor import Monitor, MonitorState
    from abers.online.online import OnlineVennAbers
    from abers.online.prequential import Prequential, prequential
    from abers.storage.files import load

__version__ = "0.1.0"

__all__ = [
    "SKOPS_TYPES",
    "AbersError",
    "BetaCalibrator",
    "CVAPClassifier",
    "CVAPRegressor",
    "CalibratedClassifier",
    "CalibrationBand",
    "Check",
    "Comparison",
    "Decisions",
    "Diagram",
    "Evaluation",
    "IVAPCalibrator",
    "IVAPClassifier",
    "IVAPRegressor",
    "IsotonicCalibrator",
    "Monitor",
    "MonitorState",
    "MulticlassEvaluation",
    "OnlineVennAbers",
    "PlattCalibrator",
    "PooledRule",
    "PosetRule",
    "Prequential",
    "PriorEstimate",
    "RegressionRule",
    "Rule",
    "RuleSet",
    "StackedCalibrator",
    "StackedRule",
    "TemperatureCalibrator",
    "__version__",
    "adjust_prior",
    "brier_minimax",
    "calibration_band",
    "check",
    "compare",
    "couple",
    "decide",
    "estimate_prior",
    "evaluate",
    "evaluation",
    "export",
    "fit_pooled_rule",
    "fit_poset_rule",
    "fit_regression_rule",
    "fit_rule",
    "fit_rule_from_diagram",
    "fit_rules",
    "fit_stacked_rule",
    "fit_stacked_rule_from_diagram",
    "load",
    "log_minimax",
    "losses",
    "merge_folds",
    "plots",
    "prequential",
    "reference",
    "reliability",
    "sample_size",
]

# All names are loaded when they are first used, from the modules that have them: the
# command `abers` must be able to answer an interrupt before numpy is loaded.
_LAZY_MODULES = {
    "dask": "dask",
    "errors": "errors",
    "evaluation": "evaluation",
    "export": "export",
    "formula": "formula",
    "losses": "losses",
    "plots": "plots",
    "reference": "reference",
    "reliability": "evaluation.reliability",
    "spark": "spark",
}
_LAZY_NAMES = {
    "AbersError": "errors",
    "Diagram": "core.diagram",
    "Rule": "core.rule",
    "RuleSet": "core.rule_set",
    "StackedRule": "core.stacked",
    "fit_stacked_rule": "core.stacked_fit",
    "fit_stacked_rule_from_diagram": "core.stacked_fit",
    "brier_minimax": "core.merging",
    "couple": "core.coupling",
    "fit_rule": "core.fit",
    "fit_rule_from_diagram": "core.fit",
    "fit_rules": "core.rule_set",
    "log_minimax": "core.merging",
    "merge_folds": "core.merging",
    "BetaCalibrator": "estimators.calibrators",
    "CVAPClassifier": "estimators.venn_abers_classifiers",
    "CalibratedClassifier": "estimators.calibrated_classifier",
    "CVAPRegressor": "estimators.regressors",
    "IVAPCalibrator": "estimators.calibrators",
    "IVAPClassifier": "estimators.venn_abers_classifiers",
    "IVAPRegressor": "estimators.regressors",
    "IsotonicCalibrator": "estimators.calibrators",
    "PlattCalibrator": "estimators.calibrators",
    "PooledRule": "core.pooled",
    "PosetRule": "core.poset",
    "PriorEstimate": "core.prior_estimate",
    "RegressionRule": "core.regression",
    "StackedCalibrator": "estimators.calibrators",
    "SKOPS_TYPES": "estimators.skops_types",
    "TemperatureCalibrator": "estimators.calibrators",
    "CalibrationBand": "evaluation.bands",
    "Check": "evaluation.check",
    "Comparison": "comparison.result",
    "Decisions": "core.decisions",
    "Evaluation": "evaluation.evaluate",
    "Monitor": "online.monitor",
    "MonitorState": "online.monitor",
    "MulticlassEvaluation": "evaluation.multiclass_evaluation",
    "OnlineVennAbers": "online.online",
    "Prequential": "online.prequential",
    "adjust_prior": "core.prior",
    "calibration_band": "evaluation.bands",
    "check": "evaluation.check",
    "compare": "comparison.compare",
    "decide": "core.decisions",
    "estimate_prior": "core.prior_estimate",
    "evaluate": "evaluation.evaluate",
    "fit_pooled_rule": "core.pooled",
    "fit_poset_rule": "core.poset",
    "fit_regression_rule": "core.regression",
    "load": "storage.files",
    "prequential": "online.prequential",
    "sample_size": "evaluation.sample_size",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY_MODULES:
        found: Any = import_module(f"abers.{_LAZY_MODULES[name]}")
    elif name in _LAZY_NAMES:
        found = getattr(import_module(f"abers.{_LAZY_NAMES[name]}"), name)
    else:
        msg = f"module 'abers' has no attribute {name!r}"
        raise AttributeError(msg)
    globals()[name] = found  # Python does not ask again
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
