"""Evaluation: how good probabilities are, on held-out rows.

`metrics`, `calibration_tests`, `recalibration`, `reliability`, `decision_curves`,
`bands` and `drift` take labels and predictions, and return numbers and curves.
`evaluate` makes predictions (`predictor`), counts their columns (`counts`) and computes
all metrics, also for each group (`groups`) and each of several classes (`classwise`),
with a warning if the rows were those of the fit (`in_sample`). `check` tests on recent
rows whether a rule still holds (`change`). `sample_size` tells beforehand how many rows
a rule needs.
"""

from abers.evaluation import reliability
from abers.evaluation.bands import CalibrationBand, calibration_band
from abers.evaluation.calibration_tests import (
    CalibrationTest,
    calibration_test,
)
from abers.evaluation.check import Check
from abers.evaluation.decision_curves import (
    CostCurve,
    DecisionCurve,
    cost_curve,
    decision_curve,
)
from abers.evaluation.drift import drift_level, population_stability_index
from abers.evaluation.evaluate import Evaluation
from abers.evaluation.groups import by_group
from abers.evaluation.metrics import (
    BoundWidths,
    auc,
    bound_widths,
    brier_loss,
    brier_skill,
    expected_calibration_error,
    log_loss,
    log_skill,
    smooth_calibration_error,
)
from abers.evaluation.recalibration import Recalibration, logistic_recalibration
from abers.evaluation.sample_size import sample_size

__all__ = [
    "BoundWidths",
    "CalibrationBand",
    "CalibrationTest",
    "Check",
    "CostCurve",
    "DecisionCurve",
    "Evaluation",
    "Recalibration",
    "auc",
    "bound_widths",
    "brier_loss",
    "brier_skill",
    "by_group",
    "calibration_band",
    "calibration_test",
    "cost_curve",
    "decision_curve",
    "drift_level",
    "expected_calibration_error",
    "log_loss",
    "log_skill",
    "logistic_recalibration",
    "population_stability_index",
    "reliability",
    "sample_size",
    "smooth_calibration_error",
]
