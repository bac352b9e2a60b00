"""Evaluation: how good probabilities are, on held-out rows.

`metrics`, `calibration_tests`, `recalibration`, `reliability`, `decision_curves`,
`bands` and `drift` take labels and predictions, and return numbers and curves.
`evaluate` asks a predictor (`predictor`), counts what it said (`counts`), and turns
that into numbers, by group if asked (`groups`), with a warning if the rows were those
of the fit (`in_sample`); of more than two classes, by `multiclass_evaluation` and
`classwise`. `check` asks of recent rows whether a rule still holds, by `change`.
`sample_size` asks beforehand how many rows a rule needs. `parameters` describes what
most of these functions take.
"""

from abers.evaluation.calibration_tests import (
    CalibrationTest,
    HosmerLemeshowTest,
    hosmer_lemeshow_test,
    spiegelhalter_test,
)
from abers.evaluation.decision_curves import (
    CostCurve,
    DecisionCurve,
    cost_curve,
    decision_curve,
)
from abers.evaluation.drift import drift_level, population_stability_index
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

__all__ = [
    "BoundWidths",
    "CalibrationTest",
    "CostCurve",
    "DecisionCurve",
    "HosmerLemeshowTest",
    "Recalibration",
    "auc",
    "bound_widths",
    "brier_loss",
    "brier_skill",
    "by_group",
    "cost_curve",
    "decision_curve",
    "drift_level",
    "expected_calibration_error",
    "hosmer_lemeshow_test",
    "log_loss",
    "log_skill",
    "logistic_recalibration",
    "population_stability_index",
    "smooth_calibration_error",
    "spiegelhalter_test",
]
