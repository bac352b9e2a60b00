"""The formula of a stacked rule, described once for every target.

A stacked rule of one model is a table of steps and a formula: what the model says and
its curve, weighed, are added to the weighed value of the step. Targets differ only in
how they write or compute the operations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from abers.core.calibrator import TWO
from abers.core.fitted import contents_of
from abers.core.stacked import StackedRule
from abers.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet

X = TypeVar("X")
FAR = 700.0  # log-odds beyond it: exp overflows soon, and probabilities are 0 or 1
TINY = 1e-300  # a weight of less may underflow, which PostgreSQL refuses


class Operations(Protocol[X]):
    """Arithmetic of a target, on whatever stands for a number there."""

    def number(self, value: float) -> X:
        """Return a constant."""

    def plus(self, a: X, b: X) -> X:
        """Return a sum."""

    def times(self, a: X, b: X) -> X:
        """Return a product."""

    def inverse(self, a: X) -> X:
        """Return 1 by a number."""

    def exp(self, a: X) -> X:
        """Return a power of e."""

    def log(self, a: X) -> X:
        """Return a natural logarithm."""

    def within(self, a: X, low: float, high: float) -> X:
        """Return a number that is moved into an interval."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Weights, curve and kind of scores of a stacked rule.

    The coefficients are a, b, c and the clip of a beta curve, or slope, intercept and
    both ends of a sigmoid.
    """

    kind: str
    increasing: bool
    weights: dict[str, float]
    coefficients: dict[str, float]

    @property
    def of_rule(self) -> float:
        """The weight of the step's value."""
        return self.weights["venn_abers"]

    def facts(self) -> dict[str, Any]:
        """Return what a reader of JSON needs beside the steps."""
        return {
            "kind": self.kind,
            "increasing": self.increasing,
            "weights": self.weights,
            "coefficients": self.coefficients,
        }

    def fixed(self, ops: Operations[X], score: X) -> X:
        """Return what the model and its curve add to the weighed step.

        Clipped numbers, not clipped logarithms: databases refuse the logarithm of 0.
        """
        make, curve = ops.number, self.coefficients
        if self.kind == "margin":
            x = score if self.increasing else ops.times(make(-1.0), score)
            x = ops.within(x, curve["low"], curve["high"])
            x = ops.times(make(curve["slope"]), x)
            logit = ops.plus(x, make(curve["intercept"]))
            return ops.times(make(self.weights["sigmoid"]), _expit(ops, logit))
        p, rest = self._both(ops, score)
        clip = curve["clip"]
        of_p = ops.log(ops.within(p, clip, 1 - clip))
        of_rest = ops.log(ops.within(rest, clip, 1 - clip))
        bent = ops.plus(
            ops.times(make(curve["a"]), of_p), ops.times(make(-curve["b"]), of_rest)
        )
        beta = _expit(ops, ops.plus(bent, make(curve["c"])))
        return ops.plus(
            ops.times(make(self.weights["model"]), ops.within(p, TINY, 1.0)),
            ops.times(make(self.weights["beta"]), beta),
        )

    def _both(self, ops: Operations[X], score: X) -> tuple[X, X]:
        """Return the model's probability of label 1, and that of label 0."""
        minus = ops.times(ops.number(-1.0), score)
        if self.kind == "probability":
            p, rest = score, ops.plus(ops.number(1.0), minus)
        else:
            p, rest = _expit(ops, score), _expit(ops, minus)
        return (p, rest) if self.increasing else (rest, p)


def _expit(ops: Operations[X], logit: X) -> X:
    minus = ops.times(ops.number(-1.0), ops.within(logit, -FAR, FAR))
    return ops.inverse(ops.plus(ops.number(1.0), ops.exp(minus)))


@dataclass(frozen=True, slots=True)
class Words:
    """Operations that are written as text: in source code, or in SQL."""

    number: Callable[[float], str]
    exp_name: str
    log_name: str
    least: str
    greatest: str

    def plus(self, a: str, b: str) -> str:
        """Write a sum."""
        return f"({a} + {b})"

    def times(self, a: str, b: str) -> str:
        """Write a product."""
        return f"({a} * {b})"

    def inverse(self, a: str) -> str:
        """Write 1 by a number."""
        return f"({self.number(1.0)} / {a})"

    def exp(self, a: str) -> str:
        """Write a power of e."""
        return f"{self.exp_name}({a})"

    def log(self, a: str) -> str:
        """Write a natural logarithm."""
        return f"{self.log_name}({a})"

    def within(self, a: str, low: float, high: float) -> str:
        """Write a number that is moved into an interval."""
        least, greatest = map(self.number, (high, low))
        return f"{self.least}({self.greatest}({a}, {greatest}), {least})"


def rule_and_mixture(
    rule: Rule | RuleSet | StackedRule, loss: str
) -> tuple[Rule | RuleSet, Mixture | None]:
    """Return what has the steps, and the formula of a stacked rule."""
    if not isinstance(rule, StackedRule):
        return rule, None
    if flaw := _flaw(rule, loss):
        raise InvalidParameter(flaw)
    names = ("slope", "intercept", "low", "high")
    if rule.kind != "margin":
        names = ("a", "b", "c", "clip")
    numbers = contents_of(rule).arrays["coefficients"].tolist()
    coefficients = dict(zip(names, numbers, strict=True))
    return rule.rule, Mixture(rule.kind, rule.increasing, rule.weights, coefficients)


def _flaw(rule: StackedRule, loss: str) -> str | None:
    """Say why a stacked rule cannot be exported, and what can."""
    if rule.n_models > 1:
        return (
            "a stacked rule must read one model to be exported; got one of "
            f"{rule.n_models} models. Fit with ensemble=False or a frozen model."
        )
    if rule.n_classes > TWO:
        return (
            "a stacked rule must have two classes to be exported; got "
            f"{rule.n_classes}. Load its file with abers.load instead."
        )
    if contents_of(rule).facts["is_rounded"] or rule.reads != rule.kind:
        return (
            "a stacked rule must read scores as they were fitted; got the rule of a "
            "classifier, which rounds them. Export one of abers.fit_stacked_rule."
        )
    if loss != "log":
        return f"loss must be 'log', as a stacked rule is mixed for it; got {loss!r}."
    return None
