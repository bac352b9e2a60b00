"""Venn-Abers prediction: the scores of any classifier become calibrated probabilities.

>>> import abers
>>> rule = abers.fit_rule(scores=[1, 2, 3], labels=[0, 1, 0])
>>> rule.bounds([2])  # estimated with the new case as a 0, and as a 1
array([[0.33333333, 0.66666667]])
"""

from __future__ import annotations

from abers._lazy import lazy_names

__version__ = "0.1.0"

# All names are loaded on first use, from the modules that define them: the command
# `abers` must be able to react to an interrupt before numpy is imported. Type checkers
# read __init__.pyi, which a test compares with this table.
_NAMES = {
    "comparison.compare": ["compare"],
    "core.decisions": ["decide"],
    "core.fit": ["fit_rule"],
    "core.rule_set": ["fit_rules"],
    "core.stacked_fit": ["fit_stacked_rule"],
    "errors": ["AbersError"],
    "estimators.calibrated_classifier": ["CalibratedClassifier"],
    "estimators.calibrators": [
        "BetaCalibrator",
        "IVAPCalibrator",
        "IsotonicCalibrator",
        "PlattCalibrator",
        "StackedCalibrator",
        "TemperatureCalibrator",
    ],
    "estimators.regressors": ["CVAPRegressor", "IVAPRegressor"],
    "estimators.unwrapping": ["predict_bounds"],
    "estimators.venn_abers_classifiers": ["CVAPClassifier", "IVAPClassifier"],
    "evaluation.check": ["check"],
    "evaluation.evaluate": ["evaluate"],
    "online.monitor": ["Monitor"],
    "online.online_set": ["OnlineVennAbers"],
    "online.protected": ["Protected"],
    "storage.files": ["load"],
}
_MODULES = [
    "comparison",
    "errors",
    "evaluation",
    "export",
    "losses",
    "online",
    "plots",
    "reference",
    "rules",
]
# Not in __all__: a star import would fail if the extra for one of them is missing.
_MODULES_OF_EXTRAS = ["engines", "formula"]

__all__ = [  # noqa: PLE0604 (all of them are text)
    "__version__",
    *_MODULES,
    *(name for names in _NAMES.values() for name in names),
]
__getattr__, __dir__ = lazy_names(
    __name__, _NAMES, submodules=[*_MODULES, *_MODULES_OF_EXTRAS]
)
