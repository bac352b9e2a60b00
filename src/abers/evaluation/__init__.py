"""Evaluation: how good probabilities are, on held-out rows.

`metrics`, `calibration_tests`, `recalibration`, `reliability`, `decision_curves`,
`bands` and `drift` take labels and predictions, and return numbers and curves.
`evaluate` makes predictions (`predictor`), counts their columns (`counts`) and computes
all metrics, also per group (`groups`) and per class (`classwise`), with a warning if
the rows were used for the fit (`in_sample`). `check` tests on recent rows whether a
rule is still calibrated (`change`). `performance` estimates metrics of rows without
labels. `sample_size` plans how many rows a rule needs.
"""

from __future__ import annotations

from abers._lazy import lazy_names

# Loaded on first use: one test of a command need not wait for all the others. Type
# checkers read __init__.pyi, which a test compares with this table.
_NAMES = {
    "evaluation.bands": ["CalibrationBand", "calibration_band"],
    "evaluation.calibration_tests": ["CalibrationTest", "calibration_test"],
    "evaluation.check": ["Check"],
    "evaluation.decision_curves": [
        "CostCurve",
        "DecisionCurve",
        "cost_curve",
        "decision_curve",
    ],
    "evaluation.drift": ["drift_level", "population_stability_index"],
    "evaluation.evaluate": ["Evaluation"],
    "evaluation.groups": ["by_group"],
    "evaluation.metrics": [
        "BoundWidths",
        "auc",
        "bound_widths",
        "brier_loss",
        "brier_skill",
        "expected_calibration_error",
        "log_loss",
        "log_skill",
        "smooth_calibration_error",
    ],
    "evaluation.performance": ["PerformanceEstimate", "estimate_performance"],
    "evaluation.recalibration": ["Recalibration", "logistic_recalibration"],
    "evaluation.targets": ["RegressionEvaluation", "evaluate_regressor"],
    "evaluation.sample_sizes": ["sample_size"],
}

__all__ = [  # noqa: PLE0604 (all of them are text)
    "reliability",
    *(name for names in _NAMES.values() for name in names),
]
__getattr__, __dir__ = lazy_names(__name__, _NAMES, submodules=["reliability"])
