"""The stacked rule: one probability, mixed from three parts by cross-fitting.

The parts are the model's own probability, a parametric curve of it, and the minimax
point of a Venn-Abers rule. How far to trust each depends on the model and the number of
rows, so held-out rows decide: each part is fitted without a third of the rows and
judged on that third. The weights can be read: "0.10 model, 0.35 beta, 0.55 Venn-Abers".

For two classes, everything is a function of the counts per distinct score. So a diagram
is enough, and it does not matter in which order rows come, or whether they are counted
or repeated.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isclose
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, get_args

import numpy as np

from abers.choices import ScoreKind
from abers.core import guarantees, merging
from abers.core.calibrator import FACTS, Calibrator, flaw_of_input
from abers.core.curves import (
    Beta,
    Matrix,
    Sigmoid,
    clip_for,
    expit,
    log_softmax,
    softmax,
)
from abers.core.fitted import (
    SUM_TOLERANCE,
    Contents,
    Layout,
    are_equal,
    contents_of,
    is_flag,
    restored,
    stored,
    twin,
)
from abers.core.log_odds import (
    difference,
    log_odds,
    log_sum_of_others,
    logarithms,
)
from abers.core.nested import (
    ARRAYS,
    flaw_of_nested,
    nested_rules,
    rules_as_arrays,
)
from abers.core.pooled import PooledRule
from abers.core.predictions import (
    TWO,
    FitSource,
    FoldScores,
    Predictions,
    both_classes,
    bounds_of_both as of_both,
)
from abers.core.rule import Rule
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from abers.core.class_scores import ClassScores
    from abers.core.fitted import Arrays, Facts
    from abers.core.guarantees import Guarantee
    from abers.validation import FloatArray

    Curve = Beta | Sigmoid | Matrix

KINDS = get_args(ScoreKind)
VENN_ABERS = "venn_abers"
# Log-odds against the rest are rounded to multiples of 2^-16: estimators pass logits
# rounded to 2^-22, and few sums of these lie that close to the middle between two
# steps.
STEPS_PER_UNIT = 2.0**16


class Parts(NamedTuple):
    """What the parts predict: the probability of label 1, or of every class."""

    fixed: list[FloatArray]  # of the curve, and of the model unless scores are margins
    lower: FloatArray  # of the Venn-Abers part
    point: FloatArray
    upper: FloatArray
    scores: list[list[FloatArray]]  # the inputs of the rules, by model


class StackedRule(Calibrator):
    """A calibration map that mixes the model, a curve and a Venn-Abers rule.

    Made by `fit_stacked_rule`, `fit_stacked_rule_from_diagram` or `abers.load`. It is
    immutable: equal rules compare equal, and threads may share one.

    The **bounds** are the smallest and largest value of this probability over the
    possible labels of the new row, with weights and curve held fixed. They contain the
    probability. They are not a confidence interval, and no guarantee is proven for
    them; the pair from `rule.bounds` has one.

    Examples
    --------
    A calibrated model, and enough rows to show it:

    >>> import abers
    >>> p = [0.1] * 1000 + [0.9] * 1000
    >>> y = ([1] + [0] * 9) * 100 + ([0] + [1] * 9) * 100
    >>> stacked = abers.fit_stacked_rule(p, y)
    >>> stacked.probability([0.1, 0.9]).round(3)
    array([0.1, 0.9])
    >>> stacked.bounds([0.9]).round(4)
    array([[0.8997, 0.9   ]])
    """

    __slots__ = (
        "_curve",
        "_increasing",
        "_kind",
        "_n_models",
        "_rules",
        "_weights",
    )
    _layout: ClassVar = Layout(
        "stacked-rule",
        arrays={"coefficients": "f", "weights": "f", **ARRAYS},
        facts={
            **FACTS,
            "increasing": is_flag,
            "kind": lambda kind: isinstance(kind, str) and kind in KINDS,
            "rules": lambda rules: isinstance(rules, list) and len(rules) > 0,
        },
    )

    def __init__(
        self,
        rules: Sequence[Rule | PooledRule],
        curve: Curve,
        weights: FloatArray,
        *,
        kind: str,
        increasing: bool = True,
        classes: Sequence[Any] | None = None,
        reads: str | None = None,
        is_rounded: bool = False,
        columns: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._rules = tuple(rules)
        self._set_input(
            range(max(TWO, len(self._rules))) if classes is None else classes,
            reads=reads or kind,
            is_rounded=is_rounded,
            columns=columns,
            metadata=metadata,
        )
        self._curve = curve
        self._weights: tuple[float, ...] = tuple(weights.tolist())
        self._kind = kind
        self._increasing = increasing
        first = self._rules[0]
        self._n_models = first.n_folds if isinstance(first, PooledRule) else 1

    @property
    def kind(self) -> str:
        """The kind of scores in the fit: "probability", "log-odds" or "margin"."""
        return self._kind

    @property
    def n_models(self) -> int:
        """Number of models whose scores a prediction needs."""
        return self._n_models

    @property
    def n_rows(self) -> float:
        """Total weight of the calibration rows: their number if all weigh 1."""
        return self._rules[0].n_rows

    @property
    def increasing(self) -> bool:
        """Whether a higher score means a higher probability."""
        return self._increasing

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each part, by name; they sum to 1."""
        names = part_names(self._kind, self.n_classes)
        return dict(zip(names, self._weights, strict=True))

    @property
    def guarantee(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        return guarantees.STACKED

    @property
    def rule(self) -> Rule:
        """The rule of the Venn-Abers part, whose bounds have the guarantee.

        With more than two classes, or with scores of several models, there is no such
        rule, and an AttributeError is raised.
        """
        first = self._rules[0]
        if len(self._rules) == 1 and isinstance(first, Rule):
            return first
        reason = (
            f"the scores of {self._n_models} models are pooled in one"
            if self._n_models > 1
            else f"each of its {self.n_classes} classes has a rule of its own"
        )
        msg = f"this StackedRule has no rule with a guarantee: {reason}."
        raise AttributeError(msg)

    def probability(self, scores: ArrayLike) -> FloatArray:
        """Return the probability of the second of two classes, or of each class.

        Parameters
        ----------
        scores : array-like of shape (n,), (n, C), (n, K) or (n, K, C)
            As for the fit. After a fit with `folds`, each of the K models has its own
            column, or C columns.

        Returns
        -------
        ndarray of shape (n,) or (n, C)
            For two classes, nondecreasing in every score. The log loss of every label
            is finite. No guarantee of calibration is proven for it.
        """
        return self._mixed(self._parts(self._by_model(scores)))

    def bounds(self, scores: ArrayLike) -> FloatArray:
        """Return the lower and upper bound of the probability.

        Parameters
        ----------
        scores : array-like of shape (n,), (n, C), (n, K) or (n, K, C)
            As for `probability`.

        Returns
        -------
        ndarray of shape (n, 2) or (n, C, 2)
            They contain the probability. Not a confidence interval; see the class.
        """
        parts = self._parts(self._by_model(scores))
        return self._mixed_bounds(parts, self._mixed(parts))

    def read_as(self, reads: ScoreKind, *, is_rounded: bool = False) -> StackedRule:
        """Return the same rule for scores of another form.

        Parameters
        ----------
        reads : {"probability", "log-odds", "margin"}
            What new scores are: the `kind` of the rule, or, for a rule of log-odds,
            probabilities.
        is_rounded : bool, default=False
            Whether to round scores, as classifiers do when they are calibrated.

        Returns
        -------
        StackedRule
            It shares its rules with this one.
        """
        facts = self._input_facts() | {"kind": self._kind, "rules": self._rules}
        if flaw := _flaw_of_input(facts | {"reads": reads}):
            msg = f"reads must fit a rule of kind {self._kind!r}: {flaw}."
            raise InvalidParameter(msg)
        return twin(StackedRule, self, _reads=reads, _is_rounded=is_rounded)

    def of_models(self, scores: Sequence[ClassScores]) -> tuple[FloatArray, FloatArray]:
        """Return probabilities and bounds from the scores of classifiers.

        Parameters
        ----------
        scores : sequence of ClassScores
            The scores of each model.

        Returns
        -------
        tuple of ndarray
            As `probability` and `bounds` return them.
        """
        parts = self._parts_by_table([each.columns() for each in scores])
        p = self._mixed(parts)
        return p, self._mixed_bounds(parts, p)

    def _probabilities(self, by_model: list[FloatArray]) -> FloatArray:
        p = self._mixed(self._parts(by_model))
        return p if p.ndim > 1 else both_classes(p)

    def predictions_of_models(self, scores: Sequence[ClassScores]) -> Predictions:
        """Return predictions from the scores of classifiers.

        Parameters
        ----------
        scores : sequence of ClassScores
            The scores of each model.

        Returns
        -------
        Predictions
            As `predictions` returns them, without probabilities before calibration.
        """
        parts = self._parts_by_table([each.columns() for each in scores])
        return self._predictions_of_parts(parts)

    def _predicted(self, by_model: list[FloatArray]) -> Predictions:
        predictions = self._predictions_of_parts(self._parts(by_model))
        before = self._before(by_model) if self._increasing else None
        return replace(predictions, before=before)

    def _predictions_of_parts(self, parts: Parts) -> Predictions:
        p = self._mixed(parts)
        bounds = self._mixed_bounds(parts, p)
        has_two = self.n_classes == TWO
        return Predictions(
            both_classes(p) if has_two else p,
            self._classes,
            shown=1 if has_two else None,
            bounds=of_both(bounds) if has_two else bounds,
            source=FitSource(n_rows=self.n_rows, metadata=self._metadata),
            by_fold=tuple(
                FoldScores(
                    rule.diagrams if isinstance(rule, PooledRule) else (rule,),
                    tuple(columns),
                    self.n_rows,
                )
                for rule, columns in zip(self._rules, parts.scores, strict=True)
            ),
            guarantee=self.guarantee,
        )

    def _mixed_bounds(self, parts: Parts, p: FloatArray) -> FloatArray:
        lower = self._mixed(parts._replace(point=parts.lower))
        upper = self._mixed(parts._replace(point=parts.upper))
        # In exact arithmetic p lies between the bounds; rounding must not change that.
        return np.stack((np.minimum(lower, p), np.maximum(upper, p)), axis=-1)

    def _mixed(self, parts: Parts) -> FloatArray:
        *fixed, last = self._weights
        mixture = last * parts.point
        for weight, part in zip(fixed, parts.fixed, strict=True):
            mixture = mixture + weight * part
        return np.minimum(mixture, 1.0)  # weights sum to 1 up to rounding

    def _parts(self, by_model: list[FloatArray]) -> Parts:
        return self._parts_by_table([self._as_fitted(table) for table in by_model])

    def _parts_by_table(self, tables: list[FloatArray]) -> Parts:
        if self.n_classes == TWO:
            return self._parts_of_two(tables)
        return self._parts_of_many(tables)

    def _as_fitted(self, table: FloatArray) -> FloatArray:
        """Return a model's scores in the form of the fit: (n,) or (n, C)."""
        if self._reads != self._kind or self._is_rounded:
            return self._scores_of(table).columns()
        if self.n_classes > TWO or table.ndim == 1:
            return table
        if self._kind == "probability":
            return np.ascontiguousarray(table[:, 1])
        return difference(table[:, 1], table[:, 0])

    def _parts_of_two(self, by_model: list[FloatArray]) -> Parts:
        curve: Any = self._curve
        logits = [upright(s, self._kind, increasing=self._increasing) for s in by_model]
        fixed = [expit(_mean([curve.log_odds(x) for x in logits]))]
        if self._kind != "margin":
            model = _mean([stated_probability(s, self._kind) for s in by_model])
            fixed = [model if self._increasing else 1 - model, *fixed]
        lower, upper = self._rules[0].bounds(_side_by_side(by_model)).T
        point = merging.MINIMAX["log"](lower, upper)
        return Parts(fixed, lower, point, upper, [by_model])

    def _parts_of_many(self, by_model: list[FloatArray]) -> Parts:
        curve: Any = self._curve
        logits = [class_logits(table, self._kind) for table in by_model]
        fixed = [softmax(_mean([curve.logits(table) for table in logits]))]
        if self._kind != "margin":
            fixed = [_mean([softmax(table) for table in logits]), *fixed]
        columns = [against_rest(table, self._kind) for table in logits]
        by_class = [list(of_class) for of_class in zip(*columns, strict=True)]
        bounds = np.stack(
            [
                rule.bounds(_side_by_side(of_class))
                for rule, of_class in zip(self._rules, by_class, strict=True)
            ],
            axis=1,
        )
        lower, upper = merging.box(bounds[..., 0], bounds[..., 1])
        return Parts(fixed, lower, point_of_classes(bounds), upper, by_class)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StackedRule):
            return NotImplemented
        # Rules may be equal but keep different counts of their rows.
        mine, theirs = (
            Contents(
                {name: facts[name] for name in facts if name != "rules"},
                {name: arrays[name] for name in ("coefficients", "weights")},
            )
            for facts, arrays in (self._contents(), contents_of(other))
        )
        return self._rules == other._rules and are_equal(mine, theirs)

    def __hash__(self) -> int:
        return hash((self._kind, self._weights, self._rules))

    def __repr__(self) -> str:
        return f"StackedRule({self._input_repr()}: {shown_weights(self.weights)})"

    def _contents(self) -> Contents:
        facts, arrays = rules_as_arrays(type(self._rules[0]), self._rules)
        arrays["coefficients"] = stored(
            np.concatenate([np.ravel(part) for part in self._curve])
        )
        arrays["weights"] = np.array(self._weights)
        return Contents(
            {
                **self._input_facts(),
                "increasing": self._increasing,
                "kind": self._kind,
                "rules": facts,
            },
            arrays,
        )

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        kind = _kind_of_rules(facts)
        parts = nested_rules(kind, facts["rules"], arrays) or []
        rules = [restored(kind, part) for part in parts if part is not None]
        curve: Any = _curve_of(facts["kind"], len(rules), arrays["coefficients"])
        StackedRule.__init__(
            self,
            rules,
            curve,
            arrays["weights"],
            **{n: facts[n] for n in facts if n not in ("n_models", "rules")},
        )

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        return (
            _flaw_of_rules(facts, arrays)
            or _flaw_of_mixture(facts, arrays)
            or _flaw_of_input(facts)
        )


def part_names(kind: str, n_classes: int) -> tuple[str, ...]:
    """Name the parts, in the order of their weights."""
    if kind == "margin":
        return ("sigmoid" if n_classes == 2 else "matrix", VENN_ABERS)
    return ("model", "beta" if n_classes == 2 else "matrix", VENN_ABERS)


def shown_weights(weights: Mapping[str, float]) -> str:
    """Return the weights as text.

    >>> shown_weights({"model": 0.104, "venn_abers": 0.896})
    '0.10 model, 0.90 Venn-Abers'
    """
    shown = {VENN_ABERS: "Venn-Abers"}
    return ", ".join(f"{w:.2f} {shown.get(name, name)}" for name, w in weights.items())


# --- scores ---


def upright(scores: FloatArray, kind: str, *, increasing: bool) -> FloatArray:
    """Return log-odds or margins of label 1, rising with its probability."""
    logits = scores
    if kind == "probability":
        logits = log_odds(scores[:, np.newaxis], kind)
    return logits if increasing else -logits


def stated_probability(scores: FloatArray, kind: str) -> FloatArray:
    """Return the probability that the scores stand for."""
    return scores if kind == "probability" else expit(scores)


def class_logits(values: FloatArray, kind: str) -> FloatArray:
    """Return log-probabilities (n, C), or margins as they are."""
    if kind == "margin":
        return values
    return log_softmax(logarithms(values) if kind == "probability" else values)


def against_rest(logits: FloatArray, kind: str) -> list[FloatArray]:
    """Score each class against the rest: by its margin, or by rounded log-odds.

    The votes of a forest give a class the same probability in many rows. Sums over the
    other classes differ in their last bits, and a rule would take this for an order of
    the rows. So log-odds are rounded, and ties stay ties.
    """
    if kind == "margin":
        return [np.ascontiguousarray(column) for column in logits.T]
    with np.errstate(over="ignore"):
        steps = difference(logits, log_sum_of_others(logits)) * STEPS_PER_UNIT
    return [np.rint(column) / STEPS_PER_UNIT + 0.0 for column in steps.T]


def point_of_classes(bounds: FloatArray) -> FloatArray:
    """Merge the bounds (n, C, 2) of classes against the rest to probabilities."""
    merge = merging.MERGES["log"]
    return merge.of_class_terms(merge.class_term(bounds[np.newaxis]))


def _mean(tables: Sequence[FloatArray]) -> FloatArray:
    """Return the mean over the models, summed in their order."""
    total = tables[0]
    for table in tables[1:]:
        total = total + table
    return total if len(tables) == 1 else total / len(tables)


def _side_by_side(columns: Sequence[FloatArray]) -> FloatArray:
    """Return the scores of a single model unchanged, those of several as columns."""
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


# --- checks of contents ---


def _kind_of_rules(facts: Facts) -> type[Rule | PooledRule]:
    return Rule if facts["n_models"] == 1 else PooledRule


def _curve_of(kind: str, n_rules: int, coefficients: FloatArray) -> Curve | None:
    """Return the curve with these coefficients; None if no curve has this many."""
    if n_rules > 1:
        if coefficients.size != n_rules**2 + n_rules + 2:
            return None
        matrix, intercepts, ends = np.split(
            coefficients, [n_rules**2, n_rules**2 + n_rules]
        )
        return Matrix(matrix.reshape(n_rules, -1), intercepts, *ends.tolist())
    if coefficients.size != 4:  # noqa: PLR2004 (of either curve)
        return None
    return (Sigmoid if kind == "margin" else Beta)(*coefficients.tolist())


def _flaw_of_rules(facts: Facts, arrays: Arrays) -> str | None:
    """Return why these cannot be the rules of a stack, or None."""
    kind = _kind_of_rules(facts)
    nested = nested_rules(kind, facts["rules"], arrays)
    if nested is not None and None in nested:
        return "its rules are not described"
    if flaw := flaw_of_nested(kind, nested):
        return flaw
    rules = [restored(kind, part) for part in nested or [] if part is not None]
    if not _fit_together(rules, facts):
        return "its rules are not those of one set of rows"
    return None


def _flaw_of_input(facts: Facts) -> str | None:
    """Return why no rule of this kind can read such scores, or None."""
    if len(facts["classes"]) != max(TWO, len(facts["rules"])):
        return "its classes are not those of its rules"
    kind, reads = facts["kind"], facts["reads"]
    if reads != kind and (kind, reads) != ("log-odds", "probability"):
        return "its scores are not of the kind that it was fitted to"
    return flaw_of_input(facts)


def _fit_together(rules: Sequence[Any], facts: Facts) -> bool:
    """Return whether rules have the same rows and models."""
    if len(rules) == 2 or (len(rules) > 1 and not facts["increasing"]):
        return False  # two classes have one rule
    of_models = facts["n_models"] == 1 or all(
        rule.n_folds == facts["n_models"]
        and rule.weight == Fraction(1, max(1, len(rules) - 1))
        for rule in rules
    )
    total = rules[0].n_rows
    of_rows = all(
        rule.increasing == facts["increasing"]
        and rule.n_rows == total
        and not rule.metadata  # such as another prior
        for rule in rules
    )
    positives = sum(rule.n_positives for rule in rules)  # a row has one class
    return of_models and of_rows and (len(rules) == 1 or isclose(positives, total))


def _flaw_of_mixture(facts: Facts, arrays: Arrays) -> str | None:
    """Return why these cannot be weights and coefficients of a stack, or None."""
    n_rules = len(facts["rules"])
    weights, coefficients = arrays["weights"], arrays["coefficients"]
    if weights.size != len(part_names(facts["kind"], max(2, n_rules))):
        return "its weights are not one per part"
    if weights.min() < 0 or abs(weights.sum() - 1) > SUM_TOLERANCE or not weights[-1]:
        return "its weights are not shares of 1, with some for the rule"
    curve = _curve_of(facts["kind"], n_rules, coefficients)
    if curve is None or not np.isfinite(coefficients).all() or not _is_fitted(curve):
        return "its coefficients are not those of a fitted curve"
    return None


def _is_fitted(curve: Curve) -> bool:
    """Return whether a fit can produce this curve; with two classes it never falls."""
    if isinstance(curve, Beta):
        return min(curve.a, curve.b) >= 0 and 0 < curve.clip <= clip_for(0)
    if isinstance(curve, Sigmoid) and curve.slope < 0:
        return False
    return curve.low <= curve.high
