# Public names for type checkers; a test holds them equal to the table of __init__.py.

from abers import comparison as comparison
from abers import engines as engines
from abers import errors as errors
from abers import evaluation as evaluation
from abers import export as export
from abers import formula as formula
from abers import losses as losses
from abers import online as online
from abers import plots as plots
from abers import reference as reference
from abers import rules as rules
from abers.comparison.compare import compare as compare
from abers.core.decisions import decide as decide
from abers.core.fit import fit_rule as fit_rule
from abers.core.rule_set import fit_rules as fit_rules
from abers.core.stacked_fit import fit_stacked_rule as fit_stacked_rule
from abers.errors import AbersError as AbersError
from abers.estimators.calibrated_classifier import (
    CalibratedClassifier as CalibratedClassifier,
)
from abers.estimators.calibrators import (
    BetaCalibrator as BetaCalibrator,
)
from abers.estimators.calibrators import (
    IsotonicCalibrator as IsotonicCalibrator,
)
from abers.estimators.calibrators import (
    IVAPCalibrator as IVAPCalibrator,
)
from abers.estimators.calibrators import (
    PlattCalibrator as PlattCalibrator,
)
from abers.estimators.calibrators import (
    StackedCalibrator as StackedCalibrator,
)
from abers.estimators.calibrators import (
    TemperatureCalibrator as TemperatureCalibrator,
)
from abers.estimators.regressors import (
    CVAPRegressor as CVAPRegressor,
)
from abers.estimators.regressors import (
    IVAPRegressor as IVAPRegressor,
)
from abers.estimators.unwrapping import predict_bounds as predict_bounds
from abers.estimators.venn_abers_classifiers import (
    CVAPClassifier as CVAPClassifier,
)
from abers.estimators.venn_abers_classifiers import (
    IVAPClassifier as IVAPClassifier,
)
from abers.evaluation.check import check as check
from abers.evaluation.evaluate import evaluate as evaluate
from abers.online.monitor import Monitor as Monitor
from abers.online.online_set import OnlineVennAbers as OnlineVennAbers
from abers.online.protected import Protected as Protected
from abers.storage.files import load as load

__version__: str
