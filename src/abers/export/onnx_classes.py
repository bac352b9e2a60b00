"""ONNX for more than two classes: all rules and the curve in one graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers.core.class_scores import STEPS_PER_UNIT
from abers.core.stacked import STEPS_PER_UNIT as STEPS_AGAINST_REST
from abers.validation import FUZZ, THREE_DIGITS

if TYPE_CHECKING:
    from abers.export.description import Description
    from abers.export.mixture import Mixture
    from abers.export.onnx_graph import Graph


class GraphOfClasses:
    """The nodes for a calibrator of one model and C classes."""

    def __init__(self, graph: Graph, described: Description) -> None:
        self.graph, self.described = graph, described
        self.of_logs = described.reads != "margin"
        self.size = described.n_classes

    def answers(self, given: str) -> list[str]:
        """Return lower, upper and probability (n, C), given inputs (n, C)."""
        add, described = self.graph.add, self.described
        mixture, logits = described.mixture, given
        if described.reads == "probability":
            logits = add("Log", given)
        stated = curve = ""
        if mixture is not None:
            if described.is_rounded:
                logits = self._rounded(logits)
            if self.of_logs:
                stated = self._softmax(logits)
                logits = self._log_softmax(logits)
            curve = self._softmax(self._new_logits(logits, mixture))
        values = self._boxes(self._scores(logits))
        if mixture is not None:
            values = [self._mixed(v, stated, curve, mixture) for v in values]
        lower, upper, p = values
        ends = [add("Min", lower, p), add("Max", upper, p), p]
        return [self._or_missing(given, value) for value in ends]

    def _number(self, value: float) -> str:
        return self.graph.constant(np.float64(value))

    def _axis(self) -> str:
        return self.graph.constant(np.array([1]))

    def _sum(self, table: str) -> str:
        return self.graph.add("ReduceSum", table, self._axis())

    def _gaps(self, logits: str) -> str:
        """Return how far logits are below the largest of their row, without NaN."""
        add = self.graph.add
        gaps = add("Sub", logits, add("ReduceMax", logits, axes=[1]))
        return add("Where", add("IsNaN", gaps), self._number(0.0), gaps)

    def _softmax(self, logits: str) -> str:
        powers = self.graph.add("Exp", self._gaps(logits))
        return self.graph.add("Div", powers, self._sum(powers))

    def _log_softmax(self, logits: str) -> str:
        add, gaps = self.graph.add, self._gaps(logits)
        return add("Sub", gaps, add("Log", self._sum(add("Exp", gaps))))

    def _rounded(self, scores: str) -> str:
        """Round as classifiers do: log-odds to multiples of 2^-22, then to floats."""
        add = self.graph.add
        if self.of_logs:
            scores = self._coarse(scores, STEPS_PER_UNIT)
        single = self.graph.cast(scores, np.float32)
        return add("Add", self.graph.cast(single, np.float64), self._number(0.0))

    def _coarse(self, scores: str, steps: float) -> str:
        add = self.graph.add
        whole = add("Round", add("Mul", scores, self._number(steps)))
        return add("Div", whole, self._number(steps))

    def _new_logits(self, logits: str, mixture: Mixture) -> str:
        """Return the logits of the curve, which is linear in all inputs."""
        add, c = self.graph.add, mixture.coefficients
        above = add("Max", logits, self._number(c["low"]))
        inside = add("Min", above, self._number(c["high"]))
        mean = add("Div", self._sum(inside), self._number(self.size))
        matrix = self.graph.constant(np.array(c["matrix"]).T)
        new = add("MatMul", add("Sub", inside, mean), matrix)
        return add("Add", new, self.graph.constant(np.array(c["intercepts"])))

    def _scores(self, logits: str) -> str:
        """Return the inputs of the rules: each class against the rest."""
        described = self.described
        scores = self._against_rest(logits) if self.of_logs else logits
        if described.mixture is None:
            return self._rounded(scores) if described.is_rounded else scores
        return self._coarse(scores, STEPS_AGAINST_REST) if self.of_logs else scores

    def _against_rest(self, logs: str) -> str:
        """Subtract the logarithm of the sum of all other probabilities.

        As (n, C, C): row c has the logarithms of all classes but c.
        """
        add = self.graph.add
        own = self.graph.constant(np.where(np.eye(self.size) == 1, -np.inf, 0.0))
        others = add("Add", add("Unsqueeze", logs, self._axis()), own)
        largest = add("ReduceMax", others, axes=[2])
        gaps = add("Sub", others, largest)
        gaps = add("Where", add("IsNaN", gaps), self._number(-np.inf), gaps)
        two = self.graph.constant(np.array([2]))
        total = add("Log", add("ReduceSum", add("Exp", gaps), two))
        rest = add("Squeeze", add("Add", total, largest), two)
        odds = add("Sub", logs, rest)
        return add("Where", add("IsNaN", odds), self._number(0.0), odds)

    def _boxes(self, scores: str) -> list[str]:
        """Return lower, upper and point after normalising the rules' results."""
        add, graph = self.graph.add, self.graph
        columns: dict[str, list[str]] = {"lower": [], "upper": []}
        two = graph.constant(np.array([1]))
        for c, (table,) in enumerate(self.described.tables):
            own = add("Gather", scores, graph.constant(np.int64(c)), axis=1)
            steps = graph.steps_of(own, table["start"])
            for name, names in columns.items():
                names.append(add("Unsqueeze", graph.read(table[name], steps), two))
        lower, upper = (add("Concat", *names, axis=1) for names in columns.values())
        point = add("Div", upper, self._sum(upper))
        return [self._share(lower, upper, 0.0), self._share(upper, lower, 1.0), point]

    def _share(self, parts: str, others: str, undefined: float) -> str:
        """Return part / (part + the sum of `others` over the other classes)."""
        add = self.graph.add
        rest = add("MatMul", others, self.graph.constant(1.0 - np.eye(self.size)))
        share = add("Div", parts, add("Add", parts, rest))
        return add("Where", add("IsNaN", share), self._number(undefined), share)

    def _mixed(self, value: str, stated: str, curve: str, mixture: Mixture) -> str:
        """Mix the rules' results with the model and the curve."""
        add = self.graph.add
        total = add("Mul", self._number(mixture.of_curve), curve)
        if stated:
            model = add("Mul", self._number(mixture.of_model), stated)
            total = add("Add", model, total)
        whole = add("Add", add("Mul", self._number(mixture.of_rule), value), total)
        return add("Min", whole, self._number(1.0))

    def _or_missing(self, given: str, answers: str) -> str:
        """Return NaN for rows with a NaN, and for rows that are not probabilities."""
        add, nan = self.graph.add, self._number(np.nan)
        # The sum of a row is NaN if a number is; infinities may cancel.
        wrong = self.graph.cast(add("IsNaN", given), np.float64)
        if self.described.reads == "probability":
            inside = add("Min", add("Max", given, self._number(0.0)), self._number(1.0))
            moved = add("Not", add("Equal", inside, given))
            off = add("Abs", add("Sub", self._sum(given), self._number(1.0)))
            most = self._number(self.size * THREE_DIGITS + FUZZ)
            is_off = self.graph.cast(add("Less", most, off), np.float64)
            wrong = add("Add", self.graph.cast(moved, np.float64), wrong)
            wrong = add("Add", wrong, is_off)
        is_wrong = add("Less", self._number(0.0), self._sum(wrong))
        return add("Where", is_wrong, nan, answers)
