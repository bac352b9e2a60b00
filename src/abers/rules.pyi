# Public names for type checkers; a test holds them equal to the table of rules.py.

from abers.core.calibrator import Calibrator as Calibrator
from abers.core.coupling import couple as couple
from abers.core.curve_calibrator import CurveCalibrator as CurveCalibrator
from abers.core.decisions import Decisions as Decisions
from abers.core.diagram import Diagram as Diagram
from abers.core.fit import fit_rule_from_diagram as fit_rule_from_diagram
from abers.core.merging import (
    brier_minimax as brier_minimax,
    log_minimax as log_minimax,
    merge_folds as merge_folds,
)
from abers.core.pooled import (
    PooledRule as PooledRule,
    fit_pooled_rule as fit_pooled_rule,
)
from abers.core.poset import (
    PosetRule as PosetRule,
    fit_poset_rule as fit_poset_rule,
)
from abers.core.prior import adjust_prior as adjust_prior
from abers.core.prior_estimate import (
    PriorEstimate as PriorEstimate,
    estimate_prior as estimate_prior,
)
from abers.core.regression import (
    RegressionRule as RegressionRule,
    fit_regression_rule as fit_regression_rule,
)
from abers.core.rule import Rule as Rule
from abers.core.rule_set import RuleSet as RuleSet
from abers.core.stacked import StackedRule as StackedRule
from abers.core.stacked_fit import (
    fit_stacked_rule_from_diagram as fit_stacked_rule_from_diagram,
)
from abers.core.top import TopRule as TopRule, fit_top_rule as fit_top_rule
from abers.core.venn_abers_calibrator import (
    VennAbersCalibrator as VennAbersCalibrator,
)
from abers.estimators.shift_weights import (
    ShiftWeights as ShiftWeights,
    shift_weights as shift_weights,
)
from abers.estimators.skops_types import SKOPS_TYPES as SKOPS_TYPES
