# Public names for type checkers; a test holds them equal to the table of __init__.py.

from abers import (
    comparison as comparison,
    engines as engines,
    errors as errors,
    evaluation as evaluation,
    export as export,
    formula as formula,
    losses as losses,
    online as online,
    plots as plots,
    reference as reference,
    rules as rules,
)
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
    IsotonicCalibrator as IsotonicCalibrator,
    IVAPCalibrator as IVAPCalibrator,
    PlattCalibrator as PlattCalibrator,
    StackedCalibrator as StackedCalibrator,
    TemperatureCalibrator as TemperatureCalibrator,
)
from abers.estimators.regressors import (
    CVAPRegressor as CVAPRegressor,
    IVAPRegressor as IVAPRegressor,
)
from abers.estimators.unwrapping import predict_bounds as predict_bounds
from abers.estimators.venn_abers_classifiers import (
    CVAPClassifier as CVAPClassifier,
    IVAPClassifier as IVAPClassifier,
)
from abers.evaluation.check import check as check
from abers.evaluation.evaluate import evaluate as evaluate
from abers.online.monitor import Monitor as Monitor
from abers.online.online_set import OnlineVennAbers as OnlineVennAbers
from abers.online.protected import Protected as Protected
from abers.storage.files import load as load

__version__: str
