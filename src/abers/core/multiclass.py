"""Problems: many classes as several two-class questions.

Two classes are one problem. With more, `ovo` asks about each pair of classes, on the
rows of those two classes, and couples the answers; `ovr` asks about each class against
the rest and merges the answers for all classes at once. A predictor holds one rule per
problem for each of K folds, and applies it to the scores of that fold's classifier. The
merge decides how the folds become one answer: `minimax` applies K rules separately, and
`pooled` applies one rule of all folds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, get_args

import numpy as np

from abers import validation
from abers.choices import Multiclass, MulticlassOfOneRule
from abers.core.auc import NO_PAIRS, mann_whitney_of_diagram, summed
from abers.core.coupling import couple, pkpd
from abers.core.diagram import Diagram, diagram_of_rows
from abers.core.effective_sizes import effective_sizes
from abers.core.fit import fitted_rule, rule_of_diagram
from abers.core.inverted import inverted
from abers.core.merging import MERGES as MERGES_BY_LOSS, box, merge_folds, merge_rules
from abers.core.pooled import PooledRule
from abers.core.predictions import (
    FitSource,
    FoldScores,
    Predictions,
    bounds_of_both,
)
from abers.core.units import magnitudes, scale_for
from abers.errors import InvalidParameter, InvertedScoresWarning, warn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from abers.choices import LossName
    from abers.core.auc import MannWhitney
    from abers.core.class_scores import ClassScores
    from abers.core.guarantees import Guarantee
    from abers.core.rule import Rule, Weight
    from abers.validation import FloatArray, IntArray

P = TypeVar("P")

MULTICLASS = get_args(Multiclass)
MULTICLASS_OF_ONE_RULE = get_args(MulticlassOfOneRule)
# Pairs of classes are used from this many calibration rows in the two rarest classes:
# in decision 7 they lose with 934 rows and win with 3,737.
ROWS_FOR_PAIRS = 2000
MOST_RULES_TO_JUDGE = 30_000  # to try pairs out of fold; some 80 microseconds each


class ProblemRows(NamedTuple):
    """Calibration rows of one problem."""

    scores: FloatArray
    labels: NDArray[np.bool_]
    weights: FloatArray | None
    repeats: IntArray | None = None  # folds that a row calibrates; None is one

    def counted_as(self, unit: int) -> ProblemRows:
        """Weight each row by unit / r if it calibrates r folds, so that it counts once.

        A new case then has the weight `unit`.
        """
        if self.repeats is None:
            return self
        shares = unit / self.repeats
        weights: FloatArray | None = shares
        if self.weights is not None:
            weights = self.weights * shares
        elif (shares == 1).all():
            weights = None
        return ProblemRows(self.scores, self.labels, weights)

    def rule(
        self, tags: Mapping[str, str] | None = None, *, keep_diagram: bool = False
    ) -> tuple[Rule | None, MannWhitney | None]:
        """Fit a rule, and test whether its scores are inverted; None without rows."""
        if not self.scores.size:
            return None, NO_PAIRS
        rule, test = fitted_rule(
            self.scores, self.labels, self.weights, keep_diagram=keep_diagram
        )
        return rule.with_metadata(tags) if tags else rule, test

    def diagram(
        self, scale: int, unit: int
    ) -> tuple[Diagram | None, MannWhitney | None]:
        """Count rows, each as `unit`, and test for inverted scores."""
        s, y, w, _ = self
        if w is None:
            if not s.size:
                return None, NO_PAIRS
            diagram = Diagram.from_rows(s, y)
            return diagram, mann_whitney_of_diagram(diagram)
        kept = w > 0
        if not kept.any():
            return None, NO_PAIRS
        s, y, w = s[kept], y[kept], w[kept]
        diagram = diagram_of_rows(s, y, w, scale)
        if not diagram.scores.size:
            return None, NO_PAIRS
        # Counts are numbers of rows, unless a row counts as several.
        sizes = None
        if unit > 1 or not diagram.is_exact:
            sizes = effective_sizes(y, w)
        return diagram, mann_whitney_of_diagram(diagram, sizes)


def joined(samples: Sequence[ProblemRows]) -> ProblemRows:
    """Concatenate the rows of several samples."""
    weights = [s.weights for s in samples if s.weights is not None]
    repeats = [s.repeats for s in samples if s.repeats is not None]
    return ProblemRows(
        np.concatenate([sample.scores for sample in samples]),
        np.concatenate([sample.labels for sample in samples]),
        np.concatenate(weights) if weights else None,
        np.concatenate(repeats) if repeats else None,
    )


def common_unit(repeats: IntArray) -> int:
    """Return the unit in which 1/r is whole for each number r of folds per row.

    If the total would be too large for exact arithmetic, the unit is 1.
    """
    calibrating = repeats[repeats > 0]
    unit = math.lcm(*np.flatnonzero(np.bincount(calibrating)).tolist())
    exact = unit * calibrating.size < validation.LARGEST_EXACT_INTEGER
    return unit if exact else 1


@dataclass(frozen=True, slots=True)
class Problem:
    """A two-class question: class `positive` against another one, or all others."""

    positive: int
    negative: int | None = None  # None: all other classes

    def question(self, classes: NDArray[Any]) -> str:
        """Name the classes, for a message."""
        names = classes.tolist()
        against = "the rest" if self.negative is None else repr(names[self.negative])
        return f"{names[self.positive]!r} against {against}"

    def scored(self, scores: ClassScores) -> FloatArray:
        """Score the positive class; higher means more likely."""
        if self.negative is None:
            return scores.of_class(self.positive)
        return scores.of_pair(self.negative, self.positive)

    def rows(
        self,
        scores: ClassScores,
        y: IntArray,
        weights: FloatArray | None = None,
        repeats: IntArray | None = None,
    ) -> ProblemRows:
        """Return the rows that the problem is about and that have a weight."""
        about = np.ones(y.size, bool)
        if self.negative is not None:
            about = (y == self.positive) | (y == self.negative)
        if weights is not None:
            about &= weights > 0
        return ProblemRows(
            self.scored(scores)[about],
            y[about] == self.positive,
            None if weights is None else weights[about],
            None if repeats is None else repeats[about],
        )


def chosen_multiclass(multiclass: str, class_sizes: IntArray) -> str:
    """Choose "ovo" or "ovr" by the number of calibration rows per class."""
    if len(class_sizes) == 2:
        return "ovo"
    if multiclass != "auto":
        return multiclass
    rarest = np.sort(class_sizes)[:2].sum()
    return "ovo" if rarest >= ROWS_FOR_PAIRS else "ovr"


def can_try_pairs(n_classes: int, n_folds: int) -> bool:
    """Return whether rules of pairs can be tried out of fold at a low cost."""
    rules = math.comb(n_classes, 2) * n_folds * (n_folds - 1)
    return n_classes > 2 and 0 < rules <= MOST_RULES_TO_JUDGE


def problems_of(n_classes: int, multiclass: str) -> list[Problem]:
    """List the problems for this many classes."""
    if multiclass == "ovo":
        return [Problem(j, i) for i, j in combinations(range(n_classes), 2)]
    return [Problem(c) for c in range(n_classes)]


def warn_of_inverted(
    problems: Sequence[Problem],
    folds: Sequence[Sequence[MannWhitney | None]],
    classes: NDArray[Any],
    fix: str,
    *,
    repeats: float = 1.0,
) -> None:
    """Warn once about all problems with inverted scores.

    Rows are compared within their fold, and the folds of a problem are tested together;
    a row appears there `repeats` times on average.
    """
    tests: dict[Problem, MannWhitney | None] = {}
    for problem, by_fold in zip(problems, zip(*folds, strict=True), strict=True):
        together = summed(by_fold)
        tests[problem] = together and together.of_rows_counted(repeats)
    against = inverted(tests, increasing=True)
    if not against:
        return
    problem, test = next(iter(against.items()))
    what = "" if len(classes) == 2 else f" of {problem.question(classes)}"
    more = len(against) - 1
    others = f", as are those of {more} more of {len(problems)} problems"
    warn(
        f"The scores{what} are inverted on the calibration rows (AUC {test.auc:.3f})"
        f"{others if more else ''}: higher ones go with fewer rows of class "
        f"{classes.tolist()[problem.positive]!r}. {fix}",
        InvertedScoresWarning,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Predictor(ABC):
    """The rules of K folds, ready for prediction."""

    problems: list[Problem]
    n_classes: int
    loss: LossName
    rules: Any  # what `fitted` returns
    weight: Any = None  # of new cases, as in `Rule.bounds`

    @staticmethod
    @abstractmethod
    def fitted(
        problems: Sequence[Problem],
        folds: Sequence[Sequence[ProblemRows]],
        tags: Sequence[Mapping[str, str]],
        unit: int,
    ) -> tuple[Any, list[list[MannWhitney | None]]]:
        """Fit rules to the rows of each fold and problem, each row sorted once.

        `tags` has those of each problem. If rows calibrate several folds, `unit` is the
        weight that a row may count as. Also returns the tests for inverted scores, by
        fold and problem.
        """

    @abstractmethod
    def fold_rules(self) -> list[list[Rule | None]]:
        """Return the rules of single folds: by fold, then by problem."""

    @abstractmethod
    def pair_probability(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the probability that the answer to problem p is yes: (n,)."""

    @abstractmethod
    def class_term(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the share of problem p in the probabilities of all classes: (n,)."""

    @abstractmethod
    def pair_bounds(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the bounds of problem p, merged over the folds: (n, 2)."""

    def predictions(
        self,
        scores: Sequence[ClassScores],
        classes: NDArray[Any],
        *,
        before: FloatArray | None,
        guarantee: Guarantee,
    ) -> Predictions:
        """Return probabilities, bounds, and the rules behind them."""
        probabilities = self.probability(scores)
        bounds = self.bounds_around(probabilities, scores)
        if self.n_classes == 2:
            bounds = bounds_of_both(bounds)
        rules = self.fold_rules()
        place = _largest_problem(rules)
        problem, rule = self.problems[place], rules[0][place]
        # The rule of one model follows its scores; several models share no score.
        has_scores = len(scores) == 1 and rule is not None
        return Predictions(
            probabilities,
            tuple(classes.tolist()),
            shown=1 if self.n_classes == 2 else None,
            bounds=bounds,
            before=before,
            scores=problem.scored(scores[0]) if has_scores else None,
            source=FitSource(
                tuple(rule for fold in rules for rule in fold if rule is not None),
                *self.sizes(rules),
                rule=rule if has_scores else None,
                separated=(problem.positive, problem.negative),
            ),
            by_fold=self._by_fold(rules, scores),
            guarantee=guarantee,
            loss=self.loss,
        )

    def _by_fold(
        self,
        rules: Sequence[Sequence[Rule | None]],
        scores: Sequence[ClassScores],
    ) -> tuple[FoldScores, ...]:
        """Return the scores of each class; nothing if classes are compared in pairs."""
        if self.n_classes > 2 and self.problems[0].negative is not None:
            return ()
        n_rows, _ = self.sizes(rules)
        return tuple(
            FoldScores(
                tuple(by_fold),
                tuple(problem.scored(of_fold) for of_fold in scores),
                n_rows,
            )
            for problem, by_fold in zip(
                self.problems, zip(*rules, strict=True), strict=True
            )
        )

    def sizes(
        self, rules: Sequence[Sequence[Rule | None]] | None = None
    ) -> tuple[float, float | None]:
        """Return the number of calibration rows, and of positives for two classes."""
        rules = self.fold_rules() if rules is None else rules
        every = [rule for fold in rules for rule in fold if rule is not None]
        total = sum(rule.n_rows for rule in every)
        if self.n_classes == 2:
            return total, sum(rule.n_positives for rule in every)
        # A row calibrates the rule of its class, or of each pair that includes its
        # class.
        is_pair = self.problems[0].negative is not None
        counted = total / (self.n_classes - is_pair)
        return int(counted) if counted == int(counted) else counted, None

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
        return self.bounds_around(self.probability(scores), scores)

    def bounds_around(
        self, probabilities: FloatArray, scores: Sequence[ClassScores]
    ) -> FloatArray:
        """Return the bounds, given what `probability` returns for the same scores.

        With more than two classes, they are the box: the range of each class's
        probability while each answer stays within its own bounds. Coupling is
        increasing in each pair, so its ends follow from the ends of the pairs.
        """
        every = range(len(self.problems))
        merged = np.stack([self.pair_bounds(p, scores) for p in every], axis=1)
        lower, upper = merged[..., 0], merged[..., 1]
        if self.n_classes == 2:
            lower, upper, inside = lower[:, 0], upper[:, 0], probabilities[:, 1]
        else:
            if self.problems[0].negative is not None:
                ends = self._matrix(1 - upper, lower), self._matrix(1 - lower, upper)
                lower, upper = map(pkpd, ends)
            lower, upper = box(lower, upper)
            inside = probabilities
        # In exact arithmetic the probability lies between the bounds; rounding must not
        # change that. Only Brier loss may leave the box, since it merges by projection.
        return np.stack((np.minimum(lower, inside), np.maximum(upper, inside)), axis=-1)

    def _matrix(self, of_negative: FloatArray, of_positive: FloatArray) -> FloatArray:
        """Arrange (n, pairs) as pairwise probabilities (n, C, C)."""
        mu = np.full((len(of_positive), self.n_classes, self.n_classes), 0.5)
        for p, problem in enumerate(self.problems):
            mu[:, problem.negative, problem.positive] = of_negative[:, p]
            mu[:, problem.positive, problem.negative] = of_positive[:, p]
        return mu


def _largest_problem(rules: Sequence[Sequence[Rule | None]]) -> int:
    """Return the index of the problem with the most calibration rows."""
    sizes = [
        sum(0 if rule is None else rule.n_rows for rule in by_fold)
        for by_fold in zip(*rules, strict=True)
    ]
    return sizes.index(max(sizes))


class MinimaxPredictor(Predictor):
    """Apply the rule of each fold, and merge the results (Algorithm 7)."""

    __slots__ = ()

    @staticmethod
    def fitted(
        _problems: Sequence[Problem],
        folds: Sequence[Sequence[ProblemRows]],
        tags: Sequence[Mapping[str, str]],
        _unit: int,
    ) -> tuple[list[list[Rule | None]], list[list[MannWhitney | None]]]:
        """Fit a rule to the rows of each fold and problem; a row is in a fold once."""
        fitted = [
            [rows.rule(tag) for rows, tag in zip(fold, tags, strict=True)]
            for fold in folds
        ]
        return (
            [[rule for rule, _ in fold] for fold in fitted],
            [[test for _, test in fold] for fold in fitted],
        )

    def fold_rules(self) -> list[list[Rule | None]]:
        """Return the rules of single folds: by fold, then by problem."""
        rules: list[list[Rule | None]] = self.rules
        return rules

    def fold_bounds(self, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the bounds of each problem by each fold: (K, problems, n, 2)."""
        by_problem = [self.bounds_by_fold(p, scores) for p in range(len(self.problems))]
        return np.stack(by_problem, axis=1)

    def bounds_by_fold(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the bounds of problem p by each fold: (K, n, 2)."""
        return np.stack(
            [
                _bounds(rules[p], self.problems[p].scored(of_fold), self.weight)
                for rules, of_fold in zip(self.rules, scores, strict=True)
            ]
        )

    def pair_probability(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the probability that the answer to problem p is yes: (n,)."""
        rules = [fold[p] for fold in self.rules]
        if self.weight is not None or any(rule is None for rule in rules):
            return merge_folds(self.bounds_by_fold(p, scores), self.loss)
        columns = [self.problems[p].scored(of_fold) for of_fold in scores]
        return merge_rules(rules, columns, self.loss)

    def class_term(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the share of problem p in the probabilities of all classes: (n,)."""
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
    """Apply one rule of all folds: isotonic regression on their star-shaped order."""

    __slots__ = ()

    @staticmethod
    def fitted(
        problems: Sequence[Problem],
        folds: Sequence[Sequence[ProblemRows]],
        tags: Sequence[Mapping[str, str]],
        unit: int,
    ) -> tuple[list[PooledRule], list[list[MannWhitney | None]]]:
        """Fit one rule of all folds for each problem.

        With each of C classes against the rest, the postulated label of a new row is
        wrong in up to C - 1 problems. At weight 1/(C-1) these add up to one row. For
        pairs, and hence for two classes, the weight is 1. If rows calibrate several
        folds, all weights are multiplied by `unit`, which makes them whole.
        """
        weight = Fraction(unit, doubts(problems))
        rules, tests = [], []
        for by_fold, tag in zip(zip(*folds, strict=True), tags, strict=True):
            counted = [rows.counted_as(unit) for rows in by_fold]
            scale = _common_scale(counted, weight)
            pairs = [rows.diagram(scale, unit) for rows in counted]
            diagrams = [diagram for diagram, _ in pairs]
            rules.append(PooledRule(diagrams, weight=weight, metadata=tag))
            tests.append([test for _, test in pairs])
        return rules, [list(fold) for fold in zip(*tests, strict=True)]

    def fold_rules(self) -> list[list[Rule | None]]:
        """Make the rules of single folds: by fold, then by problem."""
        by_problem = [self._rules_of(pooled) for pooled in self.rules]
        return [list(fold) for fold in zip(*by_problem, strict=True)]

    def _rules_of(self, pooled: PooledRule) -> list[Rule | None]:
        """Make one rule per fold for one problem, in which each row counts as 1."""
        unit = int(pooled.weight * doubts(self.problems))
        return [
            None
            if diagram is None
            else rule_of_diagram(diagram, row=unit).with_metadata(pooled.metadata)
            for diagram in pooled.diagrams
        ]

    def pair_probability(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the probability that the answer to problem p is yes: (n,)."""
        bounds = self.pair_bounds(p, scores)
        return MERGES_BY_LOSS[self.loss].of_bounds(bounds[:, 0], bounds[:, 1])

    def class_term(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the share of problem p in the probabilities of all classes: (n,)."""
        bounds = self.pair_bounds(p, scores)
        return MERGES_BY_LOSS[self.loss].class_term(bounds[np.newaxis])

    def pair_bounds(self, p: int, scores: Sequence[ClassScores]) -> FloatArray:
        """Return the bounds of problem p by the pooled rule: (n, 2)."""
        columns = [self.problems[p].scored(of_fold) for of_fold in scores]
        bounds: FloatArray = self.rules[p].bounds(np.stack(columns, axis=1))
        return bounds


def with_weight(predictor: P, weight: Weight | None) -> P:
    """Return a predictor with diagrams for cases of this weight; None is 1."""
    if weight is None:
        return predictor
    if not isinstance(predictor, Predictor):
        msg = "weight must be None with multiclass='top', whose cases have weight 1."
        raise InvalidParameter(msg)
    if isinstance(weight, tuple) and predictor.n_classes > 2:
        msg = (
            "weight must not depend on the label with more than two classes; got a "
            "tuple. Pass one weight per row."
        )
        raise InvalidParameter(msg)
    return replace(predictor, weight=weight)


def bounds_of_class(
    bounds: FloatArray, classes: NDArray[Any], pos_label: object | None
) -> FloatArray:
    """Return the bounds of one class, (n, 2), from those of `Predictor.bounds`.

    If the class is None, all bounds are returned. The bounds of the first of two
    classes mirror those of the second.
    """
    if pos_label is None:
        return bounds
    place = validation.place_among(pos_label, classes)
    if len(classes) > 2:
        one: FloatArray = bounds[:, place]
        return one
    return bounds if place == 1 else 1 - bounds[:, ::-1]


MERGES: dict[str, type[Predictor]] = {
    "pooled": PooledPredictor,
    "minimax": MinimaxPredictor,
}


def _bounds(rule: Rule | None, scores: FloatArray, weight: Weight | None) -> FloatArray:
    """Apply a rule; without calibration data the bounds are (0, 1) by definition."""
    if rule is None:
        return np.tile([0.0, 1.0], (scores.size, 1))
    return rule.bounds(scores, weight=weight)


def doubts(problems: Sequence[Problem]) -> int:
    """Return how many problems may mislabel a new case: C - 1 classes, or one pair."""
    return len(problems) - 1 if problems[0].negative is None else 1


def _common_scale(folds: Sequence[ProblemRows], weight: Fraction) -> int:
    """Return the common scale of the weights of all folds."""
    weights = [rows.weights for rows in folds if rows.weights is not None]
    if not weights:
        return 0
    return scale_for(magnitudes(np.concatenate(weights)), new_case=weight)
