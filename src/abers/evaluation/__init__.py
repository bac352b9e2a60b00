"""Evaluation: how good probabilities are, on held-out rows.

`metrics`, `reliability`, `bands` and `drift` take labels and predictions, and return
numbers and curves. `evaluate` asks a predictor (`predictor`), counts what it said
(`counts`), and turns that into numbers, by group if asked (`groups`), with a warning if
the rows were those of the fit (`in_sample`). `check` asks of recent rows whether a rule
still holds.
"""

from abers.evaluation.calibration_tests import CalibrationTest
from abers.evaluation.drift import drift_level, population_stability_index
from abers.evaluation.metrics import (
    BoundWidths,
    auc,
    bound_widths,
    brier_loss,
    by_group,
    expected_calibration_error,
    log_loss,
    spiegelhalter_test,
)

__all__ = [
    "BoundWidths",
    "CalibrationTest",
    "auc",
    "bound_widths",
    "brier_loss",
    "by_group",
    "drift_level",
    "expected_calibration_error",
    "log_loss",
    "population_stability_index",
    "spiegelhalter_test",
]
