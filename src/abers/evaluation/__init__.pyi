# Public names for type checkers; a test holds them equal to the table of __init__.py.

from abers.evaluation import reliability as reliability
from abers.evaluation.bands import CalibrationBand as CalibrationBand
from abers.evaluation.bands import calibration_band as calibration_band
from abers.evaluation.calibration_tests import CalibrationTest as CalibrationTest
from abers.evaluation.calibration_tests import calibration_test as calibration_test
from abers.evaluation.check import Check as Check
from abers.evaluation.decision_curves import CostCurve as CostCurve
from abers.evaluation.decision_curves import DecisionCurve as DecisionCurve
from abers.evaluation.decision_curves import cost_curve as cost_curve
from abers.evaluation.decision_curves import decision_curve as decision_curve
from abers.evaluation.drift import drift_level as drift_level
from abers.evaluation.drift import (
    population_stability_index as population_stability_index,
)
from abers.evaluation.evaluate import Evaluation as Evaluation
from abers.evaluation.groups import by_group as by_group
from abers.evaluation.metrics import BoundWidths as BoundWidths
from abers.evaluation.metrics import auc as auc
from abers.evaluation.metrics import bound_widths as bound_widths
from abers.evaluation.metrics import brier_loss as brier_loss
from abers.evaluation.metrics import brier_skill as brier_skill
from abers.evaluation.metrics import (
    expected_calibration_error as expected_calibration_error,
)
from abers.evaluation.metrics import log_loss as log_loss
from abers.evaluation.metrics import log_skill as log_skill
from abers.evaluation.metrics import (
    smooth_calibration_error as smooth_calibration_error,
)
from abers.evaluation.recalibration import Recalibration as Recalibration
from abers.evaluation.recalibration import (
    logistic_recalibration as logistic_recalibration,
)
from abers.evaluation.sample_sizes import sample_size as sample_size
