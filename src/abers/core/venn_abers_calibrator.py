"""Venn-Abers calibrators: the rules of classes and folds, merged to probabilities."""

from __future__ import annotations

import math
from dataclasses import replace
from math import isclose
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from abers import validation
from abers.core import guarantees
from abers.core.calibrator import FACTS, Calibrator, flaw_of_input
from abers.core.fitted import (
    Contents,
    Layout,
    from_json_bytes,
    is_flag,
    json_bytes,
    plain_total,
    restored,
)
from abers.core.merging import LOSSES
from abers.core.multiclass import MERGES, doubts, problems_of
from abers.core.nested import (
    ARRAYS,
    flaw_of_nested,
    nested_rules,
    rules_as_arrays,
)
from abers.core.pooled import PooledRule
from abers.core.predictions import TWO
from abers.core.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from abers.choices import LossName
    from abers.core.class_scores import ClassScores
    from abers.core.fitted import Arrays, Facts
    from abers.core.guarantees import Guarantee
    from abers.core.multiclass import Predictor
    from abers.core.predictions import Predictions
    from abers.validation import FloatArray


def is_one_of(choices: Sequence[str]) -> Any:
    """Return a check that a fact is one of these texts."""
    return lambda value: isinstance(value, str) and value in choices


class VennAbersCalibrator(Calibrator):
    """Venn-Abers rules for two or more classes, and for one or more folds.

    It is `calibrator_` of an `IVAPClassifier`, a `CVAPClassifier` or an
    `IVAPCalibrator`. Each class, or each pair of classes, has one rule per fold, or one
    pooled rule. Their answers are merged exactly as in these estimators.

    Examples
    --------
    >>> import abers
    >>> calibrator = abers.IVAPCalibrator().fit([1, 2, 3], [0, 1, 0]).calibrator_
    >>> calibrator
    VennAbersCalibrator(2 classes, 3 rows)
    >>> calibrator.bounds([2]), calibrator.probability([2])
    (array([[0.33333333, 0.66666667]]), array([0.5]))
    """

    __slots__ = ("_is_cross", "_loss", "_merge", "_multiclass", "_predictor")
    _layout: ClassVar = Layout(
        "venn-abers-calibrator",
        arrays={**ARRAYS, "rules": "u"},  # the facts of each rule, as JSON
        facts={
            **FACTS,
            "is_cross": is_flag,
            "loss": is_one_of(LOSSES),
            "merge": is_one_of(tuple(MERGES)),
            "multiclass": is_one_of(("ovo", "ovr")),
        },
    )

    def __init__(
        self,
        rules: Sequence[Any],
        classes: Sequence[Any],
        *,
        reads: str,
        merge: str = "minimax",
        multiclass: str = "ovo",
        loss: LossName = "log",
        is_cross: bool = False,
        **of_input: Any,
    ) -> None:
        self._set_input(classes, reads=reads, **of_input)
        self._loss, self._merge, self._multiclass = loss, merge, multiclass
        self._is_cross = is_cross
        if merge == "minimax":  # a file holds no diagrams
            rules = [
                [rule and rule.without_diagram() for rule in of_fold]
                for of_fold in rules
            ]
        problems = problems_of(len(self._classes), multiclass)
        make = MERGES[merge]
        self._predictor: Predictor = make(problems, len(self._classes), loss, rules)

    @property
    def n_models(self) -> int:
        """Number of models whose scores a prediction needs."""
        rules = self._predictor.rules
        return rules[0].n_folds if self._merge == "pooled" else len(rules)

    @property
    def n_rows(self) -> float:
        """Total weight of the calibration rows: their number if all weigh 1."""
        rules = self._predictor.rules
        unit = 1
        if self._merge == "pooled":
            unit = int(rules[0].weight * doubts(self._predictor.problems))
            rules = [rules]
        return plain_total(self._predictor.sizes(rules)[0] / unit)

    @property
    def loss(self) -> LossName:
        """The loss for which bounds are merged into one probability."""
        return self._loss

    @property
    def rules(self) -> list[list[Rule | None]]:
        """The rules of single folds: by fold, then by class or pair of classes."""
        return self._predictor.fold_rules()

    @property
    def guarantee(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        if self.n_classes > TWO:
            return guarantees.CLASSES
        if self._is_cross:
            return guarantees.CROSS
        rule = self._predictor.rules[0][0]
        return guarantees.UNKNOWN if rule is None else rule.guarantee

    def bounds(self, scores: ArrayLike) -> FloatArray:
        """Return the lower and upper probability.

        Parameters
        ----------
        scores : array-like of shape (n, n_columns)
            As for `probability`.

        Returns
        -------
        ndarray of shape (n, 2) or (n, C, 2)
            They contain the probability. Not a confidence interval; see the class.
        """
        return self._predictor.bounds(self._class_scores(self._by_model(scores)))

    def _probabilities(self, by_model: list[FloatArray]) -> FloatArray:
        return self._predictor.probability(self._class_scores(by_model))

    def _predicted(self, by_model: list[FloatArray]) -> Predictions:
        classes = np.empty(self.n_classes, dtype=object)
        classes[:] = self._classes
        predictions = self._predictor.predictions(
            self._class_scores(by_model),
            classes,
            before=self._before(by_model),
            guarantee=self.guarantee,
        )
        source = replace(predictions.source, metadata=self._metadata)
        return replace(predictions, source=source)

    def _class_scores(self, by_model: list[FloatArray]) -> list[ClassScores]:
        return [self._scores_of(table) for table in by_model]

    def __repr__(self) -> str:
        return f"VennAbersCalibrator({self._input_repr()})"

    def _contents(self) -> Contents:
        rules = self._predictor.rules
        kind: type[Any] = PooledRule
        if self._merge == "minimax":
            kind, rules = Rule, [rule for fold in rules for rule in fold]
        facts, arrays = rules_as_arrays(kind, rules)
        own = {
            "is_cross": self._is_cross,
            "loss": self._loss,
            "merge": self._merge,
            "multiclass": self._multiclass,
        }
        return Contents(
            self._input_facts() | own, arrays | {"rules": json_bytes(facts)}
        )

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        kind, parts = _nested(facts, arrays)
        rules = [
            None if part is None else restored(kind, part)
            for part in cast("list[Contents | None]", parts)
        ]
        grouped: Sequence[Any] = rules
        if facts["merge"] == "minimax":
            count = len(rules) // facts["n_models"]
            grouped = [rules[i : i + count] for i in range(0, len(rules), count)]
        others = {name: facts[name] for name in facts if name != "n_models"}
        VennAbersCalibrator.__init__(self, grouped, **others)

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        kind, parts = _nested(facts, arrays)
        if len(facts["classes"]) == TWO and facts["multiclass"] != "ovo":
            return "its two classes are not one pair"
        if not facts["is_cross"] and facts["n_models"] > 1:
            return "its folds are not those of a cross predictor"
        return (
            flaw_of_nested(kind, parts)
            or _flaw_of_rules(facts, kind, parts or [])
            or flaw_of_input(facts)
        )


def _nested(
    facts: Facts, arrays: Arrays
) -> tuple[type[Any], list[Contents | None] | None]:
    """Return the class of the rules and the contents of each; None if invalid."""
    kind: type[Any] = Rule if facts["merge"] == "minimax" else PooledRule
    listed = from_json_bytes(arrays["rules"])
    if not isinstance(listed, list) or not listed:
        return kind, None
    return kind, nested_rules(kind, listed, arrays)


def _flaw_of_rules(
    facts: Facts, kind: type[Any], parts: Sequence[Contents | None]
) -> str | None:
    """Return why these cannot be the rules of these classes and folds, or None."""
    n_classes, n_models = len(facts["classes"]), facts["n_models"]
    n_folds = 1 if kind is PooledRule else n_models
    is_pairs = facts["multiclass"] == "ovo"
    n_problems = math.comb(n_classes, 2) if is_pairs else n_classes
    if len(parts) != n_problems * n_folds:  # before a list is made, which may be long
        return "its rules are not one per problem and fold"
    problems = problems_of(n_classes, facts["multiclass"])
    rules: list[Any] = [part and restored(kind, part) for part in parts]
    if any(rule is not None and not rule.increasing for rule in rules):
        return "its rules are not all increasing"
    if kind is PooledRule and not _are_of_folds(rules, n_models, doubts(problems)):
        return "its rules are not those of its folds"
    folds = [rules[i :: len(problems)] for i in range(len(problems))]
    by_fold = zip(*folds, strict=True)
    if not all(_are_of_one_sample(fold, problems, n_classes) for fold in by_fold):
        return "its rules are not those of one set of rows"
    return None


def _are_of_folds(rules: Sequence[Any], n_folds: int, n_doubts: int) -> bool:
    """Return whether pooled rules have this many folds, and the same weight."""
    if None in rules or any(rule.n_folds != n_folds for rule in rules):
        return False
    weight = rules[0].weight
    whole = (weight * n_doubts).denominator == 1
    return whole and all(rule.weight == weight for rule in rules)


def _are_of_one_sample(
    rules: Sequence[Any], problems: Sequence[Any], n_classes: int
) -> bool:
    """Return whether all problems count the same rows of each class."""
    sizes: list[list[float]] = [[] for _ in range(n_classes)]
    totals = []
    for problem, rule in zip(problems, rules, strict=True):
        ones = 0 if rule is None else rule.n_positives
        total = 0 if rule is None else rule.n_rows
        sizes[problem.positive].append(ones)
        if problem.negative is None:
            totals.append(total)
        else:
            sizes[problem.negative].append(total - ones)
    near = validation.LARGEST_EXACT_INTEGER**-0.5  # for sums of rounded weights
    if any(not isclose(size, of[0], rel_tol=near) for of in sizes for size in of):
        return False
    together = sum(of[0] for of in sizes)
    return all(isclose(total, together, rel_tol=near) for total in totals)
