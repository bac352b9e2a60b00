"""The formula of a stacked rule, described once for every target.

A stacked rule of one model is a table of steps and a formula: the weighted sum of the
model's probability, its curve, and the value of the step. Targets differ only in how
they write or compute the operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from abers.core.fitted import contents_of
from abers.core.predictions import TWO
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.core.stacked import StackedRule
from abers.core.venn_abers_calibrator import VennAbersCalibrator
from abers.errors import InvalidParameter, InvalidType
from abers.export.reading import Reading, reading_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from abers.choices import LossName

X = TypeVar("X")
BETA = ("a", "b", "c", "clip")
FAR = 700.0  # log-odds; beyond, exp overflows and probabilities are 0 or 1
TINY = 1e-300  # smaller products may underflow, which PostgreSQL refuses
LARGE = 1e38  # margins beyond are infinite in single precision, or nearly so
SMALL = 1e-20  # smaller margins, at a slope of 1, count as 0: they may underflow
# Added and subtracted again, this rounds to multiples of 2^-22: doubles of its size
# have no finer ones. The order of the two operations matters.
COARSE = 1.5 * 2.0**30


class Operations(Protocol[X]):
    """The arithmetic of a target, on its representation of numbers."""

    def number(self, value: float) -> X:
        """Return a constant."""

    def plus(self, a: X, b: X) -> X:
        """Return a sum."""

    def times(self, a: X, b: X) -> X:
        """Return a product."""

    def inverse(self, a: X) -> X:
        """Return 1 divided by a number."""

    def exp(self, a: X) -> X:
        """Return e to the power of a number."""

    def log(self, a: X) -> X:
        """Return a natural logarithm."""

    def within(self, a: X, low: float, high: float) -> X:
        """Return a number clipped to an interval."""

    def single(self, a: X) -> X:
        """Return a number rounded to single precision."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """The weights, curve and kind of scores of a stacked rule.

    The coefficients are a, b, c and the clip of a beta curve; slope, intercept and both
    ends of a sigmoid; or, for more than two classes, matrix, intercepts and both ends.
    """

    kind: str
    reads: str
    is_rounded: bool
    increasing: bool
    weights: dict[str, float]
    coefficients: dict[str, Any]

    @property
    def of_rule(self) -> float:
        """The weight of the step's value."""
        return self.weights["venn_abers"]

    @property
    def of_model(self) -> float:
        """The weight of the model's probability; 0 for margins."""
        return self.weights.get("model", 0.0)

    @property
    def of_curve(self) -> float:
        """The weight of the curve: the rest."""
        names = set(self.weights) - {"model", "venn_abers"}
        return self.weights[names.pop()]

    def facts(self) -> dict[str, Any]:
        """Return the facts that JSON needs in addition to the steps."""
        return {
            "kind": self.kind,
            "reads": self.reads,
            "is_rounded": self.is_rounded,
            "increasing": self.increasing,
            "weights": self.weights,
            "coefficients": self.coefficients,
        }

    def fixed(self, ops: Operations[X], score: X) -> X:
        """Return the contribution of the model and its curve.

        Probabilities are clipped before logarithms are taken: databases refuse the
        logarithm of 0.
        """
        make, score = ops.number, self.as_fitted(ops, score)
        beta = ops.times(make(self.of_curve), _expit(ops, self.logit(ops, score)))
        if self.kind == "margin":
            return beta
        return ops.plus(ops.times(make(self.of_model), self.stated(ops, score)), beta)

    def stated(self, ops: Operations[X], score: X) -> X:
        """Return the model's probability for a score as fitted; margins have none."""
        if self.kind == "margin":
            return ops.number(0.0)
        return ops.within(self._both(ops, score)[0], TINY, 1.0)

    def logit(self, ops: Operations[X], score: X) -> X:
        """Return the curve's log-odds, given a score as fitted."""
        make, curve = ops.number, self.coefficients
        if self.kind == "margin":
            return ops.plus(self._scaled(ops, score), make(curve["intercept"]))
        p, rest = self._both(ops, score)
        clip = curve["clip"]
        of_p = ops.log(ops.within(p, clip, 1 - clip))
        of_rest = ops.log(ops.within(rest, clip, 1 - clip))
        bent = ops.plus(
            ops.times(make(curve["a"]), of_p), ops.times(make(-curve["b"]), of_rest)
        )
        return ops.plus(bent, make(curve["c"]))

    def as_fitted(self, ops: Operations[X], given: X) -> X:
        """Return the score in the form of the fit: log-odds, rounded."""
        if self.reads != self.kind:  # log-odds, of a probability
            rest = ops.plus(ops.number(1.0), ops.times(ops.number(-1.0), given))
            of_p, of_rest = (ops.log(ops.within(x, TINY, 1.0)) for x in (given, rest))
            given = ops.plus(of_p, ops.times(ops.number(-1.0), of_rest))
        if not self.is_rounded:
            return given
        if self.kind == "log-odds":
            coarse = ops.plus(ops.within(given, -FAR, FAR), ops.number(COARSE))
            return ops.single(ops.plus(coarse, ops.number(-COARSE)))
        tiny = SMALL / max(self.coefficients["slope"], 1.0)
        opposite = ops.times(ops.number(-1.0), given)
        return ops.single(_parted(ops, given, opposite, (-LARGE, LARGE), tiny))

    def _scaled(self, ops: Operations[X], margin: X) -> X:
        """Return slope times margin, clipped to the ends."""
        slope = self.coefficients["slope"]
        ends = self.coefficients["low"], self.coefficients["high"]
        x, opposite = margin, ops.times(ops.number(-1.0), margin)
        if not self.increasing:
            x, opposite = opposite, x
        tiny = TINY / min(max(slope, 1e-200), 1.0)
        return ops.times(ops.number(slope), _parted(ops, x, opposite, ends, tiny))

    def _both(self, ops: Operations[X], score: X) -> tuple[X, X]:
        """Return the model's probabilities of label 1 and label 0."""
        minus = ops.times(ops.number(-1.0), score)
        if self.kind == "probability":
            p, rest = score, ops.plus(ops.number(1.0), minus)
        else:
            p, rest = _expit(ops, score), _expit(ops, minus)
        return (p, rest) if self.increasing else (rest, p)


def _parted(
    ops: Operations[X], x: X, opposite: X, ends: tuple[float, float], tiny: float
) -> X:
    """Return a number clipped to the ends; 0 if it is tiny.

    PostgreSQL refuses products and casts that underflow. So positive and negative parts
    are moved away from 0 and back again, by so little that nothing else changes.
    """
    low, high = ends
    above = ops.within(x, max(low, tiny), max(high, tiny))
    below = ops.within(opposite, max(-high, tiny), max(-low, tiny))
    return ops.plus(above, ops.times(ops.number(-1.0), below))


def _expit(ops: Operations[X], logit: X) -> X:
    minus = ops.times(ops.number(-1.0), ops.within(logit, -FAR, FAR))
    return ops.inverse(ops.plus(ops.number(1.0), ops.exp(minus)))


@dataclass(frozen=True, slots=True)
class Words:
    """Operations written as text: in source code or SQL."""

    number: Callable[[float], str]
    exp_name: str
    log_name: str
    least: str
    greatest: str
    cast: str  # to single precision, and back

    def plus(self, a: str, b: str) -> str:
        """Write a sum."""
        return f"({a} + {b})"

    def times(self, a: str, b: str) -> str:
        """Write a product."""
        return f"({a} * {b})"

    def inverse(self, a: str) -> str:
        """Write 1 divided by a number."""
        return f"({self.number(1.0)} / {a})"

    def exp(self, a: str) -> str:
        """Write e to the power of a number."""
        return f"{self.exp_name}({a})"

    def log(self, a: str) -> str:
        """Write a natural logarithm."""
        return f"{self.log_name}({a})"

    def within(self, a: str, low: float, high: float) -> str:
        """Write a number clipped to an interval."""
        least, greatest = map(self.number, (high, low))
        return f"{self.least}({self.greatest}({a}, {greatest}), {least})"

    def single(self, a: str) -> str:
        """Write a number rounded to single precision."""
        return self.cast.format(a)


class Served(NamedTuple):
    """What has steps, the formula of a stacked rule if any, and how inputs are read."""

    rule: Rule | RuleSet
    mixture: Mixture | None = None
    reading: Reading | None = None


def served(fitted: object, loss: LossName) -> Served:
    """Return what a target applies; raise if it is more than steps and a formula."""
    if isinstance(fitted, Rule | RuleSet):
        return Served(fitted)
    if not isinstance(fitted, StackedRule | VennAbersCalibrator):
        msg = (
            "rule must be a Rule, a RuleSet, a StackedRule or a VennAbersCalibrator, "
            f"which have steps; got a {type(fitted).__name__}. Fit a stacked "
            "calibrator or a rule instead."
        )
        raise InvalidType(msg)
    if flaw := _flaw_of_size(fitted) or flaw_of_merge(fitted, loss):
        raise InvalidParameter(flaw)
    if isinstance(fitted, VennAbersCalibrator):
        (rule,) = (rule for rule in fitted.rules[0] if rule is not None)
        return Served(rule, None, reading_of(fitted))
    return Served(fitted.rule, mixture_of(fitted), reading_of(fitted))


def mixture_of(stacked: StackedRule) -> Mixture:
    """Return the weights and the curve of a stacked rule."""
    numbers = contents_of(stacked).arrays["coefficients"]
    coefficients: dict[str, Any]
    if (size := stacked.n_classes) > TWO:
        matrix, intercepts, ends = np.split(numbers, [size**2, size**2 + size])
        coefficients = {
            "matrix": matrix.reshape(size, size).tolist(),
            "intercepts": intercepts.tolist(),
            "low": float(ends[0]),
            "high": float(ends[1]),
        }
    else:
        is_margin = stacked.kind == "margin"
        names = ("slope", "intercept", "low", "high") if is_margin else BETA
        coefficients = dict(zip(names, numbers.tolist(), strict=True))
    return Mixture(
        stacked.kind,
        stacked.reads,
        stacked.is_rounded,
        stacked.increasing,
        stacked.weights,
        coefficients,
    )


def _flaw_of_size(fitted: StackedRule | VennAbersCalibrator) -> str | None:
    """Return why a calibrator is more than steps and a formula, and what helps."""
    kind = type(fitted).__name__
    if fitted.n_models > 1:
        return (
            f"a {kind} must read one model to be exported so; got one of "
            f"{fitted.n_models} models. Fit with ensemble=False or a frozen model, or "
            "export C or JSON: to_source(…, 'c') or to_json."
        )
    if fitted.n_classes > TWO:
        return (
            f"a {kind} must have two classes to be exported so; got "
            f"{fitted.n_classes}. Export ONNX, C or JSON: to_onnx, to_source(…, 'c') "
            "or to_json."
        )
    return None


def flaw_of_merge(
    fitted: StackedRule | VennAbersCalibrator, loss: LossName
) -> str | None:
    """Return why a calibrator does not merge or read like this, or None."""
    kind = type(fitted).__name__
    own = fitted.loss if isinstance(fitted, VennAbersCalibrator) else "log"
    if loss != own:
        return f"loss must be {own!r}, for which this {kind} merges; got {loss!r}."
    if isinstance(fitted, VennAbersCalibrator):
        return None
    if fitted.is_rounded and fitted.kind == "probability":
        return "a stacked rule of rounded scores must be of log-odds or margins."
    return None
