"""Problems: many classes as several questions with two answers each.

Two classes are one problem. With more, `ovo` asks about each pair of classes, on the
rows that belong to one of the two, and couples the answers; `ovr` asks about each class
against the rest and normalises. A predictor holds, for each of K folds, one rule a
problem; it reads them with the scores of that fold's classifier, merges over the
folds, and puts the problems together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from abers.core.coupling import couple, pkpd
from abers.core.fitting import fit_rule
from abers.core.folds import merge_rules
from abers.core.merging import merge_folds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.core.rule import Rule
    from abers.estimators.scoring import ClassScores
    from abers.validation import FloatArray, IntArray

MULTICLASS = ("ovo", "ovr")


@dataclass(frozen=True, slots=True)
class Problem:
    """Is it class `positive`? Asked of rows of two classes, or of all rows."""

    positive: int
    negative: int | None = None  # None: all other classes

    def scores(self, scores: ClassScores) -> FloatArray:
        """Score the positive class: higher means more likely."""
        if self.negative is None:
            return scores.of_class(self.positive)
        return scores.of_pair(self.negative, self.positive)

    def scores_for(self, rule: Rule | None, scores: ClassScores) -> FloatArray:
        """Score new rows for reading a rule, settling what is in doubt.

        At a calibration score the bounds are narrower than beside it. So if one lies
        in the reach of a row's doubt, where the bounds are narrowest is read: a
        calibration row comes back to its own score, whoever it is scored together
        with. Elsewhere the bounds are the same within the doubt.
        """
        plain = self.scores(scores)
        if self.negative is None:
            doubt = scores.doubt_of_class(self.positive)
        else:
            doubt = scores.doubt_of_pair(self.negative, self.positive)
        if rule is None or doubt is None or not rule.thresholds.size:
            return plain
        rows = np.flatnonzero(doubt[0] != doubt[1])
        least, largest = doubt[0][rows], doubt[1][rows]
        after = np.searchsorted(rule.thresholds, least, side="right")
        step = np.clip(rule.thresholds.take(after, mode="clip"), least, largest)
        before_step = np.maximum(np.nextafter(step, -np.inf), least)
        offered = np.stack((plain[rows], least, largest, step, before_step))
        bounds = rule.bounds(offered.ravel()).reshape(len(offered), -1, 2)
        narrowest = np.argmin(bounds[..., 1] - bounds[..., 0], axis=0)
        settled = plain.copy()
        settled[rows] = offered[narrowest, np.arange(rows.size)]
        return settled

    def fit(
        self, scores: ClassScores, y: IntArray, weights: FloatArray | None
    ) -> Rule | None:
        """Fit a rule to the rows that the problem is about; None if there are none."""
        about = np.ones(y.size, bool)
        if self.negative is not None:
            about = (y == self.positive) | (y == self.negative)
        if weights is not None:
            about &= weights > 0
        if not about.any():
            return None
        return fit_rule(
            self.scores(scores)[about],
            y[about] == self.positive,
            sample_weight=None if weights is None else weights[about],
        )


def problems(n_classes: int, multiclass: str) -> list[Problem]:
    """List the problems of so many classes."""
    if n_classes == 2 or multiclass == "ovo":  # noqa: PLR2004
        return [Problem(j, i) for i, j in combinations(range(n_classes), 2)]
    return [Problem(c) for c in range(n_classes)]


def fit_fold(
    asked: Sequence[Problem],
    scores: ClassScores,
    y: IntArray,
    weights: FloatArray | None = None,
) -> list[Rule | None]:
    """Fit one rule a problem to the calibration rows of a fold."""
    return [problem.fit(scores, y, weights) for problem in asked]


@dataclass(frozen=True, slots=True, eq=False)
class Predictor:
    """K folds of rules, ready to read."""

    problems: list[Problem]
    folds: list[list[Rule | None]]  # by fold, then by problem
    n_classes: int
    loss: str

    def fold_bounds(self, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the bounds of each problem by each fold: (K, problems, n, 2)."""
        return np.stack(
            [
                np.stack(
                    [
                        _bounds(rule, problem.scores_for(rule, of_fold))
                        for problem, rule in zip(self.problems, rules, strict=True)
                    ]
                )
                for rules, of_fold in zip(self.folds, scores, strict=True)
            ]
        )

    def probability(self, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the probability of each class: (n, C)."""
        merged = np.stack(
            [self._merged(p, scores) for p in range(len(self.problems))], axis=1
        )
        if self.n_classes == 2:  # noqa: PLR2004
            return np.concatenate((1 - merged, merged), axis=1)
        if self.problems[0].negative is None:
            normalised: FloatArray = merged / merged.sum(axis=1, keepdims=True)
            return normalised
        return couple(self._matrix(1 - merged, merged))

    def bounds(self, scores: Sequence[ClassScores]) -> FloatArray:
        """Return lower and upper probability: (n, 2), or (n, C, 2) for C > 2."""
        by_fold = self.fold_bounds(scores)
        merged = np.stack(
            [_merged_bounds(by_fold[:, p], self.loss) for p in range(by_fold.shape[1])],
            axis=1,
        )
        lower, upper = merged[..., 0], merged[..., 1]
        if self.n_classes == 2:  # noqa: PLR2004
            p = self.probability(scores)[:, 1]
            # In exact arithmetic p lies between; rounding must not tell otherwise.
            return np.stack(
                (np.minimum(lower[:, 0], p), np.maximum(upper[:, 0], p)), axis=1
            )
        if self.problems[0].negative is None:
            return merged
        return np.stack(
            (
                pkpd(self._matrix(1 - upper, lower)),
                pkpd(self._matrix(1 - lower, upper)),
            ),
            axis=-1,
        )

    def _merged(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        rules = [fold[p] for fold in self.folds]
        columns = [
            self.problems[p].scores_for(rule, of_fold)
            for rule, of_fold in zip(rules, scores, strict=True)
        ]
        known = [rule for rule in rules if rule is not None]
        if len(known) == len(rules):
            return merge_rules(known, columns, self.loss)
        pairs = [_bounds(r, s) for r, s in zip(rules, columns, strict=True)]
        return merge_folds(pairs, self.loss)

    def _matrix(self, of_negative: FloatArray, of_positive: FloatArray) -> FloatArray:
        """Arrange (n, pairs) as pairwise probabilities (n, C, C)."""
        mu = np.full((len(of_positive), self.n_classes, self.n_classes), 0.5)
        for p, problem in enumerate(self.problems):
            mu[:, problem.negative, problem.positive] = of_negative[:, p]
            mu[:, problem.positive, problem.negative] = of_positive[:, p]
        return mu


def _bounds(rule: Rule | None, scores: FloatArray) -> FloatArray:
    """Read a rule; without any calibration data the definition gives (0, 1)."""
    if rule is None:
        return np.tile([0.0, 1.0], (scores.size, 1))
    return rule.bounds(scores)


def _merged_bounds(pairs: FloatArray, loss: str) -> FloatArray:
    """Merge bounds over the folds: (K, n, 2) -> (n, 2).

    For log loss the paper's fold pair (1 - GM(1-p0), GM(p1)), which may come reversed
    when folds disagree, sorted; for Brier loss the arithmetic means.
    """
    if len(pairs) == 1:
        only: FloatArray = pairs[0]
        return only
    if loss == "brier":
        means: FloatArray = pairs.mean(axis=0)
        return means
    with np.errstate(divide="ignore"):
        lower = 0.0 - np.expm1(np.log1p(-pairs[..., 0]).mean(axis=0))
        upper = np.exp(np.log(pairs[..., 1]).mean(axis=0))
    return np.sort(np.stack((lower, upper), axis=-1), axis=-1)
