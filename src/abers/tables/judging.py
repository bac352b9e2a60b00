"""Judging: how scores order the labels, and how a rule does on rows it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers.losses import row_losses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from abers.core.diagram import Diagram
    from abers.core.rule import Rule
    from abers.validation import FloatArray


class Auc:
    """The area under the ROC curve, of a diagram that comes in ascending parts."""

    def __init__(self) -> None:
        self._zeros = 0.0
        self._ones = 0.0
        self._in_order = 0.0  # pairs of a zero and a one; a tie counts half

    def watch(self, parts: Iterable[Diagram]) -> Iterator[Diagram]:
        """Pass parts on, and take note of them."""
        for part in parts:
            zeros = part.negatives.astype(np.float64)
            below = self._zeros + np.cumsum(zeros) - zeros / 2
            self._in_order += float((part.positives * below).sum())
            self._zeros += float(zeros.sum())
            self._ones += float(part.positives.sum())
            yield part

    @property
    def value(self) -> float:
        """Share of pairs in order; NaN if there is only one class."""
        pairs = self._zeros * self._ones
        return self._in_order / pairs if pairs else float("nan")


@dataclass(frozen=True, slots=True)
class Losses:
    """Mean losses over rows: natural logarithm, plain Brier."""

    log_loss: float
    brier_loss: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """How a rule does on rows that were held out of its fit."""

    n_rows: float  # by weight
    n_positives: float
    rule: Losses
    scores: Losses | None  # of the scores themselves, if they are probabilities


def judge(answers: Iterable[tuple[Rule, Diagram]]) -> Judgement:
    """Judge rules by diagrams of held-out rows that they answer for."""
    weight, positives, are_probabilities = 0.0, 0.0, True
    of_rule, of_scores = np.zeros(2), np.zeros(2)
    for rule, part in answers:
        weight += float(part.n_observations)
        positives += float(part.n_positives)
        of_rule += _losses(part, rule.probability(part.scores))
        are_probabilities &= bool(part.scores[0] >= 0 and part.scores[-1] <= 1)
        if are_probabilities:
            of_scores += _losses(part, part.scores)
    return Judgement(
        n_rows=weight,
        n_positives=positives,
        rule=Losses(*(of_rule / weight).tolist()),
        scores=Losses(*(of_scores / weight).tolist()) if are_probabilities else None,
    )


def _losses(part: Diagram, p: FloatArray) -> FloatArray:
    """Sum the losses of a probability for each score."""
    each = (
        row_losses(p, part.negatives, part.positives, loss) for loss in ("log", "brier")
    )
    return np.array([losses.sum() for losses in each])
