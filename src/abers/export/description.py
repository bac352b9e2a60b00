"""Plain numbers that describe a calibrator of several models or classes.

Such a calibrator is not a single table of steps: its rules read several scores, and
their answers are merged. C and JSON have room for all of that: a table for each rule
and model, the weights and coefficients of a stacked rule, and the meaning of the
numbers.

A table holds steps, or the calibration rows of a fold, which a pooled rule searches
(`kernel/pooled.hpp` says how). With two classes, a table's starts are compared with the
input as it is, rounding included; with more, with scores that the target must compute.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.fitted import contents_of
from abers.core.merging import LOSSES
from abers.core.pooled import PooledRule, in_units
from abers.core.predictions import TWO
from abers.core.stacked import StackedRule
from abers.core.venn_abers_calibrator import VennAbersCalibrator
from abers.errors import InvalidParameter, InvalidType
from abers.export.mixture import flaw_of_merge, mixture_of
from abers.export.reading import reading_of
from abers.export.step_table import json_number, pieces_of, steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abers.choices import LossName
    from abers.core.diagram import Diagram
    from abers.core.rule import Rule
    from abers.core.units import Units
    from abers.export.mixture import Mixture
    from abers.export.reading import Reading

    Table = dict[str, NDArray[np.float64]]

FALLING = (
    "a rule of several models must be increasing to be exported; negate the scores and "
    "fit again."
)


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """A calibrator of C classes and K models, in numbers.

    `tables` has one entry per class, or a single one for two classes, each with one
    table per model. A table of steps has columns start, lower and upper. A table of a
    pooled rule has columns start and after (the smallest number that is not below, and
    that is above, each score of the fold), zeros and ones; there a row counts `row`
    units, and the new case `new_case`.
    """

    reads: str
    is_rounded: bool
    n_models: int
    n_classes: int
    loss: LossName
    tables: list[list[Table]]
    merge: str = "minimax"
    row: int = 1
    new_case: int = 1
    mixture: Mixture | None = None  # of a stacked rule

    def facts(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        stacked = {} if self.mixture is None else {"stacked": self.mixture.facts()}
        pooled = {"row": self.row, "new_case": self.new_case}
        return {
            "reads": self.reads,
            "is_rounded": self.is_rounded,
            "n_models": self.n_models,
            "n_classes": self.n_classes,
            "loss": self.loss,
            "merge": self.merge,
            **(pooled if self.merge == "pooled" else {}),
            "rules": [[_plain(table) for table in of_rule] for of_rule in self.tables],
            **stacked,
        }

    def to_json(self) -> str:
        """Return one JSON object; infinite starts become text."""
        return json.dumps(self.facts(), allow_nan=False, ensure_ascii=False) + "\n"


def _plain(table: Table) -> dict[str, list[Any]]:
    return {name: list(map(json_number, table[name].tolist())) for name in table}


def described(fitted: object, loss: LossName = "log") -> Description:
    """Describe a calibrator; raise if that is not possible."""
    if isinstance(fitted, PooledRule):
        flaw = None if fitted.increasing else FALLING
        reads, is_rounded, mixture, reading = "score", False, None, None
        rules: list[list[Any]] = [[fitted]]
        n_models, n_classes = fitted.n_folds, TWO
    elif isinstance(fitted, StackedRule | VennAbersCalibrator):
        flaw, rules = _flaw(fitted, loss), _rules_of(fitted)
        reads, is_rounded = fitted.reads, fitted.is_rounded
        n_models, n_classes = fitted.n_models, fitted.n_classes
        mixture = mixture_of(fitted) if isinstance(fitted, StackedRule) else None
        reading = reading_of(fitted) if n_classes == TWO else None
    else:
        msg = (
            "the calibrator must be a Rule, a RuleSet, a StackedRule, a "
            "VennAbersCalibrator or a PooledRule to be exported; got a "
            f"{type(fitted).__name__}. Load its file with abers.load instead."
        )
        raise InvalidType(msg)
    if flaw:
        raise InvalidParameter(flaw)
    first = rules[0][0]
    make = partial(
        Description, reads, is_rounded, n_models, n_classes, loss, mixture=mixture
    )
    if not isinstance(first, PooledRule):
        return make([[_steps(one, reading) for one in of_class] for of_class in rules])
    tables = []
    for (rule,) in rules:
        masses, new_case = in_units(rule.diagrams, rule.weight)
        pairs = zip(rule.diagrams, masses, strict=True)
        tables.append([_fold(*pair, reading) for pair in pairs])
    row = first.weight.denominator
    return make(tables, merge="pooled", row=row, new_case=new_case)


def needs_more(fitted: object) -> bool:
    """Return whether a calibrator is more than steps and a formula."""
    if isinstance(fitted, StackedRule | VennAbersCalibrator):
        return fitted.n_models > 1 or fitted.n_classes > TWO
    return isinstance(fitted, PooledRule)


def is_of_classes(fitted: object) -> bool:
    """Return whether this is a calibrator of one model and more than two classes."""
    if not isinstance(fitted, StackedRule | VennAbersCalibrator):
        return False
    return fitted.n_models == 1 and fitted.n_classes > TWO


def to_json(fitted: object, *, loss: LossName = "log") -> str:
    """Return everything that a program needs to apply a calibrator, as one JSON object.

    Parameters
    ----------
    fitted : Rule, RuleSet, StackedRule, VennAbersCalibrator or PooledRule
        What to export, for any number of models and classes.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged into one probability.

    Returns
    -------
    str
        The columns of `steps`, or the tables of every class and model, with weights and
        coefficients; docs/serving.md explains how to use them.

    Examples
    --------
    >>> import abers
    >>> pooled = abers.rules.fit_pooled_rule([1, 3, 2], [0, 1, 1], folds=[0, 0, 1])
    >>> made = json.loads(abers.export.to_json(pooled))
    >>> made["rules"][0][1]  # the second fold
    {'start': [2.0], 'after': [2.0000000000000004], 'zeros': [0.0], 'ones': [1.0]}
    """
    validation.check_choice(loss, LOSSES, "loss")
    if not needs_more(fitted):
        made: Any = fitted
        return steps(made, loss=loss).to_json()
    return described(fitted, loss).to_json()


def _rules_of(fitted: StackedRule | VennAbersCalibrator) -> list[list[Any]]:
    """Return the rules of each class: one per model, or one pooled rule."""
    if isinstance(fitted, StackedRule):
        return [[rule] for rule in fitted._rules]  # noqa: SLF001 (they are its parts)
    rules = fitted._predictor.rules  # noqa: SLF001
    if isinstance(rules[0], PooledRule):
        return [[rule] for rule in rules]
    return [list(of_class) for of_class in zip(*rules, strict=True)]


def _flaw(fitted: StackedRule | VennAbersCalibrator, loss: LossName) -> str | None:
    """Return why a calibrator cannot be described, or None."""
    kind = type(fitted).__name__
    if flaw := flaw_of_merge(fitted, loss):
        return flaw
    if isinstance(fitted, StackedRule):
        return None if fitted.increasing else FALLING
    pairs = contents_of(fitted).facts["multiclass"] == "ovo"
    if fitted.n_classes > TWO and (pairs or loss != "log"):
        return (
            f"a {kind} of more than two classes must compare each with the rest, for "
            "log loss, to be exported. Fit with multiclass='ovr'."
        )
    return None


def _steps(rule: Rule | None, reading: Reading | None) -> Table:
    """Return the steps of a rule; without rows, its bounds are 0 and 1."""
    if rule is None:
        return {
            "start": np.array([-np.inf]),
            "lower": np.array([0.0]),
            "upper": np.array([1.0]),
        }
    start, lower, upper, _ = pieces_of(rule, "log", reading=reading)
    return {"start": start, "lower": lower, "upper": upper}


def _fold(diagram: Diagram | None, mass: Units, reading: Reading | None) -> Table:
    """Return the calibration rows of a fold, in units."""
    scores = np.empty(0) if diagram is None else diagram.scores
    start, after = scores, np.nextafter(scores, np.inf)
    if reading is not None:
        start, after = reading.starts(start), reading.starts(after)
    after = np.where(scores == np.inf, np.nan, after)  # there is no larger number
    return {
        "start": start + 0.0,
        "after": after + 0.0,
        "zeros": mass.negatives.astype(np.float64),
        "ones": mass.positives.astype(np.float64),
    }
