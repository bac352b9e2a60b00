# Public names for type checkers; a test holds them equal to the table of __init__.py.

from abers.evaluation import reliability as reliability
from abers.evaluation.bands import (
    CalibrationBand as CalibrationBand,
    calibration_band as calibration_band,
)
from abers.evaluation.calibration_tests import (
    CalibrationTest as CalibrationTest,
    calibration_test as calibration_test,
)
from abers.evaluation.check import Check as Check
from abers.evaluation.decision_curves import (
    CostCurve as CostCurve,
    DecisionCurve as DecisionCurve,
    cost_curve as cost_curve,
    decision_curve as decision_curve,
)
from abers.evaluation.drift import (
    drift_level as drift_level,
    population_stability_index as population_stability_index,
)
from abers.evaluation.evaluate import Evaluation as Evaluation
from abers.evaluation.groups import by_group as by_group
from abers.evaluation.metrics import (
    BoundWidths as BoundWidths,
    auc as auc,
    bound_widths as bound_widths,
    brier_loss as brier_loss,
    brier_skill as brier_skill,
    expected_calibration_error as expected_calibration_error,
    log_loss as log_loss,
    log_skill as log_skill,
    smooth_calibration_error as smooth_calibration_error,
)
from abers.evaluation.performance import (
    PerformanceEstimate as PerformanceEstimate,
    estimate_performance as estimate_performance,
)
from abers.evaluation.recalibration import (
    Recalibration as Recalibration,
    logistic_recalibration as logistic_recalibration,
)
from abers.evaluation.sample_sizes import sample_size as sample_size
from abers.evaluation.targets import (
    RegressionEvaluation as RegressionEvaluation,
    evaluate_regressor as evaluate_regressor,
)
