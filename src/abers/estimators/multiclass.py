"""Problems: many classes as several questions with two answers each.

Two classes are one problem. With more, `ovo` asks about each pair of classes, on the
rows that belong to one of the two, and couples the answers; `ovr` asks about each class
against the rest and merges the answers for all classes at once. A predictor holds, for
each of K folds, one rule a problem; it reads them with the scores of that fold's
classifier. How the folds become one answer is the merge: `minimax` reads K rules, each
by itself, and `pooled` one rule of all folds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers import validation
from abers.core.coupling import couple, pkpd
from abers.core.diagram import Diagram
from abers.core.fit import fitted_rule
from abers.core.inverted import inverted, summed, warn
from abers.core.merging import MERGES as MERGES_BY_LOSS
from abers.core.merging import merge_folds, merge_rules
from abers.core.pooled import PooledRule
from abers.estimators.scoring import settled_for_keys, settled_for_rule
from abers.storage.fingerprint import fingerprint_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from abers.core.inverted import LabelOrder
    from abers.core.rule import Rule
    from abers.estimators.scoring import ClassScores, Scored
    from abers.validation import FloatArray, IntArray

MULTICLASS = ("auto", "ovo", "ovr")
# Calibration rows of the two rarest classes from which pairs of classes are taken. In
# experiments/accuracy/ACCURACY.md they lose with 934 rows and win with 3,737.
ROWS_FOR_PAIRS = 2000


class FittedRule(NamedTuple):
    """A rule, and what tells whether its scores are inverted."""

    rule: Rule | None
    order: LabelOrder | None  # None if they are surely not


class ProblemRows(NamedTuple):
    """Calibration rows of one problem."""

    scores: FloatArray
    labels: NDArray[np.bool_]
    weights: FloatArray | None
    times: IntArray | None = None  # that a row calibrates, in all folds; None: once

    def counted_as(self, unit: int) -> ProblemRows:
        """Weigh rows that calibrate r times by unit / r, so that r times are one row.

        Then a new case has the weight `unit`.
        """
        if self.times is None:
            return self
        shares = unit / self.times
        weights: FloatArray | None = shares
        if self.weights is not None:
            weights = self.weights * shares
        elif (shares == 1).all():
            weights = None
        return ProblemRows(self.scores, self.labels, weights)

    def rule(self, tags: Mapping[str, str] | None = None) -> FittedRule:
        """Fit a rule, and see how labels follow the scores; None without rows."""
        if not self.scores.size:
            return FittedRule(None, None)
        rule, order = fitted_rule(self.scores, self.labels, self.weights)
        return FittedRule(rule.with_metadata(tags) if tags else rule, order)

    def diagram(self) -> Diagram | None:
        """Count the rows by score; None without rows."""
        if not self.scores.size:
            return None
        return Diagram.from_observations(
            self.scores, self.labels, sample_weight=self.weights
        )

    def fingerprint(self) -> str:
        """Return what is needed to recognise these rows."""
        return fingerprint_of(self.scores, self.labels).to_text()


def joined(samples: Sequence[ProblemRows]) -> ProblemRows:
    """Return the rows of several samples as one."""
    weights = [s.weights for s in samples if s.weights is not None]
    times = [s.times for s in samples if s.times is not None]
    return ProblemRows(
        np.concatenate([sample.scores for sample in samples]),
        np.concatenate([sample.labels for sample in samples]),
        np.concatenate(weights) if weights else None,
        np.concatenate(times) if times else None,
    )


def common_unit(times: IntArray) -> int:
    """Return what rows that calibrate 1, 2, … times share into whole numbers.

    If their total would be too large for exact arithmetic, it is 1.
    """
    calibrating = times[times > 0]
    unit = math.lcm(*np.unique(calibrating).tolist())
    exact = unit * calibrating.size < validation.LARGEST_EXACT_INTEGER
    return unit if exact else 1


@dataclass(frozen=True, slots=True)
class Problem:
    """Is it class `positive`? Asked of rows of two classes, or of all rows."""

    positive: int
    negative: int | None = None  # None: all other classes

    def question(self, classes: NDArray[Any]) -> str:
        """Name the classes in a sentence."""
        names = classes.tolist()
        against = "the rest" if self.negative is None else repr(names[self.negative])
        return f"{names[self.positive]!r} against {against}"

    def scored(self, scores: ClassScores) -> Scored:
        """Score the positive class: higher means more likely."""
        if self.negative is None:
            return scores.of_class(self.positive)
        return scores.of_pair(self.negative, self.positive)

    def sample(
        self,
        scores: ClassScores,
        y: IntArray,
        weights: FloatArray | None,
        times: IntArray | None,
    ) -> ProblemRows:
        """Take the rows that the problem is about, and that count."""
        about = np.ones(y.size, bool)
        if self.negative is not None:
            about = (y == self.positive) | (y == self.negative)
        if weights is not None:
            about &= weights > 0
        return ProblemRows(
            self.scored(scores).values[about],
            y[about] == self.positive,
            None if weights is None else weights[about],
            None if times is None else times[about],
        )


def chosen_multiclass(multiclass: str, class_sizes: IntArray) -> str:
    """Decide between "ovo" and "ovr" by the calibration rows of each class."""
    if len(class_sizes) == 2:
        return "ovo"
    if multiclass != "auto":
        return multiclass
    rarest = np.sort(class_sizes)[:2].sum()
    return "ovo" if rarest >= ROWS_FOR_PAIRS else "ovr"


def problems(n_classes: int, multiclass: str) -> list[Problem]:
    """List the problems of so many classes."""
    if multiclass == "ovo":
        return [Problem(j, i) for i, j in combinations(range(n_classes), 2)]
    return [Problem(c) for c in range(n_classes)]


def samples_of(
    asked: Sequence[Problem],
    scores: ClassScores,
    y: IntArray,
    weights: FloatArray | None = None,
    times: IntArray | None = None,
) -> list[ProblemRows]:
    """Return the calibration rows of a fold, by problem."""
    return [problem.sample(scores, y, weights, times) for problem in asked]


def warn_of_inverted(
    asked: Sequence[Problem],
    folds: Sequence[Sequence[FittedRule]],
    classes: NDArray[Any],
    fix: str,
    *,
    times: float = 1.0,
    below_fit: int = 0,
) -> None:
    """Warn, once, of problems whose scores run against the labels.

    Each rule is tested, and the rows of all folds together, where a row comes so many
    `times` on average. The line that calls `fit` is shown; so many calls below `fit`
    is this called from.
    """
    orders = {
        (problem, fold): fitted.order
        for fold, of_fold in enumerate(folds)
        for problem, fitted in zip(asked, of_fold, strict=True)
    }
    for place, problem in enumerate(asked):
        together = summed([of_fold[place].order for of_fold in folds])
        if together is not None:
            together = together.of_rows_counted(times)
        orders[problem, -1 if len(folds) > 1 else 0] = together
    found = inverted(orders, increasing=True)
    if not found:
        return
    (problem, _), order = next(iter(found.items()))
    what = "" if len(classes) == 2 else f" of {problem.question(classes)}"
    wrong = len({problem for problem, _ in found})
    others = f", as are those of {wrong - 1} more of {len(asked)} problems"
    warn(
        f"The scores{what} are inverted on the calibration rows (AUC {order.auc:.3f})"
        f"{others if wrong > 1 else ''}: higher ones go with fewer rows of class "
        f"{classes.tolist()[problem.positive]!r}. {fix}",
        above=1 + below_fit,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Responses:
    """All that is known of some rows, with each inner model asked once.

    Attributes
    ----------
    probabilities : ndarray of shape (n, C)
        As by `predict_proba`.
    bounds : ndarray of shape (n, 2) or (n, C, 2)
        As by `predict_bounds`.
    scores : tuple of ndarray of shape (n,)
        What the rule of each fold was given in one problem.
    before : ndarray of shape (n, C) or None
        Probabilities before calibration, the mean over the inner models; None if they
        give none.
    problem : int
        The place of the problem that the scores are of: of many, the one that most
        rows calibrate.
    """

    probabilities: FloatArray
    bounds: FloatArray
    scores: tuple[FloatArray, ...]
    before: FloatArray | None
    problem: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Predictor(ABC):
    """Rules of K folds, ready to read."""

    problems: list[Problem]
    folds: list[list[Rule | None]]  # by fold, then by problem
    n_classes: int
    loss: str
    pooled: Sequence[PooledRule] = ()  # by problem, for those who read them

    @staticmethod
    def pool(
        _asked: Sequence[Problem],
        _folds: Sequence[Sequence[ProblemRows]],
        _unit: int,
    ) -> list[PooledRule]:
        """Fit what is made of all folds together, for each problem."""
        return []

    @abstractmethod
    def pair_probability(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the probability that problem p is answered by yes: (n,)."""

    @abstractmethod
    def class_term(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return what problem p adds to the probabilities of all classes: (n,)."""

    @abstractmethod
    def pair_bounds(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the bounds of problem p, merged over the folds: (n, 2)."""

    def fold_bounds(self, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the bounds of each problem by each fold: (K, problems, n, 2)."""
        by_problem = [self.bounds_by_fold(p, scores) for p in range(len(self.problems))]
        return np.stack(by_problem, axis=1)

    def bounds_by_fold(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the bounds of problem p by each fold: (K, n, 2)."""
        return np.stack(
            [
                _bounds(rules[p], self.problems[p].scored(of_fold))
                for rules, of_fold in zip(self.folds, scores, strict=True)
            ]
        )

    def largest_problem(self) -> int:
        """Return the place of the problem that most rows calibrate."""
        sizes = [
            sum(0 if rule is None else rule.n_observations for rule in rules)
            for rules in zip(*self.folds, strict=True)
        ]
        return sizes.index(max(sizes))

    def probability(self, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the probability of each class: (n, C)."""
        every = range(len(self.problems))
        if self.problems[0].negative is None:
            terms = np.stack([self.class_term(p, scores) for p in every], axis=1)
            return MERGES_BY_LOSS[self.loss].of_class_terms(terms)
        merged = np.stack([self.pair_probability(p, scores) for p in every], axis=1)
        if self.n_classes == 2:
            return np.concatenate((1 - merged, merged), axis=1)
        return couple(self._matrix(1 - merged, merged))

    def bounds(self, scores: Sequence[ClassScores]) -> FloatArray:
        """Return lower and upper probability: (n, 2), or (n, C, 2) for C > 2."""
        every = range(len(self.problems))
        merged = np.stack([self.pair_bounds(p, scores) for p in every], axis=1)
        lower, upper = merged[..., 0], merged[..., 1]
        if self.n_classes == 2:
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

    def _matrix(self, of_negative: FloatArray, of_positive: FloatArray) -> FloatArray:
        """Arrange (n, pairs) as pairwise probabilities (n, C, C)."""
        mu = np.full((len(of_positive), self.n_classes, self.n_classes), 0.5)
        for p, problem in enumerate(self.problems):
            mu[:, problem.negative, problem.positive] = of_negative[:, p]
            mu[:, problem.positive, problem.negative] = of_positive[:, p]
        return mu


class MinimaxPredictor(Predictor):
    """Read the rule of each fold, and merge what the folds say (Algorithm 7)."""

    __slots__ = ()

    def pair_probability(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the probability that problem p is answered by yes: (n,)."""
        rules = [fold[p] for fold in self.folds]
        known = [rule for rule in rules if rule is not None]
        if len(known) < len(rules):
            return merge_folds(self.bounds_by_fold(p, scores), self.loss)
        columns = [
            settled_for_rule(self.problems[p].scored(of_fold), rule)
            for rule, of_fold in zip(known, scores, strict=True)
        ]
        return merge_rules(known, columns, self.loss)

    def class_term(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return what problem p adds to the probabilities of all classes: (n,)."""
        by_fold = self.bounds_by_fold(p, scores)
        return MERGES_BY_LOSS[self.loss].class_term(by_fold)

    def pair_bounds(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the bounds of problem p, merged over the folds: (n, 2)."""
        by_fold = self.bounds_by_fold(p, scores)
        if len(by_fold) == 1:
            only: FloatArray = by_fold[0]
            return only
        return MERGES_BY_LOSS[self.loss].bounds_of_folds(by_fold)


class PooledPredictor(Predictor):
    """Read one rule of all folds: isotonic regression on their star order."""

    __slots__ = ()

    @staticmethod
    def pool(
        asked: Sequence[Problem],
        folds: Sequence[Sequence[ProblemRows]],
        unit: int,
    ) -> list[PooledRule]:
        """Fit one rule of all folds for each problem.

        Of C classes, each against the rest, the C - 1 that did not come are in doubt.
        A new observation of weight 1/(C-1) makes that one observation in all; it has
        weight 1 for pairs, and so for two classes. Where rows calibrate several folds,
        all weights are `unit` times as large, so that they are whole numbers.
        """
        against_rest = asked[0].negative is None
        weight = Fraction(unit, len(asked) - 1 if against_rest else 1)
        return [
            PooledRule(
                [sample.counted_as(unit).diagram() for sample in by_fold], weight=weight
            )
            for by_fold in zip(*folds, strict=True)
        ]

    def pair_probability(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the probability that problem p is answered by yes: (n,)."""
        bounds = self.pair_bounds(p, scores)
        return MERGES_BY_LOSS[self.loss].of_bounds(bounds[:, 0], bounds[:, 1])

    def class_term(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return what problem p adds to the probabilities of all classes: (n,)."""
        bounds = self.pair_bounds(p, scores)
        return MERGES_BY_LOSS[self.loss].class_term(bounds[np.newaxis])

    def pair_bounds(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the bounds of problem p by the pooled rule: (n, 2)."""
        rule, problem = self.pooled[p], self.problems[p]
        columns = []
        for diagram, of_fold in zip(rule.diagrams, scores, strict=True):
            keys = np.empty(0) if diagram is None else diagram.scores
            columns.append(settled_for_keys(problem.scored(of_fold), keys))
        return rule.bounds(np.stack(columns, axis=1))


def bounds_of_class(
    bounds: FloatArray, classes: NDArray[Any], positive: object | None
) -> FloatArray:
    """Return the bounds of one class, (n, 2), of those of `Predictor.bounds`.

    None leaves them as they are. The bounds of the first of two classes are those of
    the second, mirrored.
    """
    if positive is None:
        return bounds
    place = validation.place_among(positive, classes)
    if len(classes) > 2:
        one: FloatArray = bounds[:, place]
        return one
    return bounds if place == 1 else 1 - bounds[:, ::-1]


MERGES: dict[str, type[Predictor]] = {
    "pooled": PooledPredictor,
    "minimax": MinimaxPredictor,
}


def _bounds(rule: Rule | None, scored: Scored) -> FloatArray:
    """Read a rule; without any calibration data the definition gives (0, 1)."""
    if rule is None:
        return np.tile([0.0, 1.0], (scored.values.size, 1))
    return rule.bounds(settled_for_rule(scored, rule))
