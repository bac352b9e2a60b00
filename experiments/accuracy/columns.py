"""The columns of the study of accuracy: from K trained classifiers to probabilities.

All columns of a cell share one set of K classifiers, each trained without its fold, and
one classifier trained on all rows. None is fitted to a test row.

Scores of the Venn-Abers columns keep both ends: for two classes decision_function if
there is one, else log p1 - log p0; for more log p_c - log(sum of the others), and for
pairs log p_j - log p_i. Infinite scores are legal, and 0 against 0 gives 0. Isotonic,
sigmoid and temperature see what scikit-learn shows them (decision_function, else
predict_proba) and are scikit-learn's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import _SigmoidCalibration, _TemperatureScaling
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import StratifiedKFold

import abers
from abers.estimators.scoring import ClassScores, rounded

Array = np.ndarray
Problem = tuple[int, int | None]  # class, and the class it is compared with; None: all
RIDGE = 1e-8  # of beta calibration, for folds that a threshold separates


@dataclass(eq=False)
class Outputs:
    """What one classifier says of some rows."""

    probabilities: Array  # (n, C)
    logarithms: Array  # of the probabilities, not by way of them if possible
    decisions: Array | None  # (n,) for two classes, else (n, C)
    _scores: dict[Problem, Array] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Any, X: Array) -> Outputs:
        """Ask a fitted classifier."""
        p = model.predict_proba(X)
        with np.errstate(divide="ignore"):
            logs = np.log(p)
        if hasattr(model, "predict_log_proba"):
            logs = model.predict_log_proba(X)
        margins = hasattr(model, "decision_function")
        return cls(p, logs, model.decision_function(X) if margins else None)

    def response(self) -> Array:
        """Return what CalibratedClassifierCV calibrates."""
        return self.probabilities if self.decisions is None else self.decisions

    def response_of(self, c: int) -> Array:
        """Return the column of it that belongs to a class."""
        seen = self.response()
        return seen if seen.ndim == 1 else seen[:, c]

    def for_and_against(self, c: int) -> tuple[Array, Array]:
        """Return log p and log(1 - p) of a class, both with all their digits."""
        others = np.delete(self.logarithms, c, axis=1)
        return self.logarithms[:, c], np.logaddexp.reduce(others, axis=1)

    def scores(self, problem: Problem) -> Array:
        """Score a class against another one, or against all others."""
        if problem not in self._scores:
            self._scores[problem] = self._score(*problem)
        return self._scores[problem]

    def _score(self, positive: int, negative: int | None) -> Array:
        if self.decisions is not None and self.decisions.ndim == 1:
            return rounded(self.decisions)
        scores = ClassScores(self.logarithms, are_logarithms=True)
        if negative is None:
            return scores.of_class(positive)
        return scores.of_pair(negative, positive)


@dataclass(eq=False)
class Cell:
    """K classifiers: what they say of their folds and of the test rows."""

    labels: Array  # of the training rows, 0 ... C - 1
    folds: list[Array]  # rows
    held_out: list[Outputs]  # of each fold's rows
    test: list[Outputs]  # of the test rows, by each fold's classifier
    refitted: Outputs  # of the test rows, by the classifier trained on all rows

    @classmethod
    def trained(cls, model: Any, X: Array, y: Array, new: Array, folds: Any) -> Cell:
        """Train the K + 1 classifiers."""
        pairs = list(folds.split(X, y))
        models = [clone(model).fit(X[rows], y[rows]) for rows, _ in pairs]
        held = [rows for _, rows in pairs]
        return cls(
            y,
            held,
            [Outputs.of(m, X[rows]) for m, rows in zip(models, held, strict=True)],
            [Outputs.of(m, new) for m in models],
            Outputs.of(clone(model).fit(X, y), new),
        )

    @property
    def n_classes(self) -> int:
        """Number of classes; each classifier knows them all."""
        return self.refitted.probabilities.shape[1]

    def all_held_out(self, problem: Problem) -> tuple[Array, Array]:
        """Return scores and labels of all folds, fold after fold."""
        scores = np.concatenate([outputs.scores(problem) for outputs in self.held_out])
        return scores, self.labels[np.concatenate(self.folds)]

    def least_pair(self) -> int:
        """Return the number of rows of the two smallest classes."""
        return int(np.sort(np.bincount(self.labels))[:2].sum())


def shuffled(k: int, seed: int) -> StratifiedKFold:
    """Return the folds of all columns."""
    return StratifiedKFold(k, shuffle=True, random_state=seed)


# Problems with two answers each, and their answers put together.


def problems(classes: int, how: str) -> list[Problem]:
    """List the questions: one for two classes, else a class or a pair each."""
    if classes == 2 or how == "ovo":
        return [(j, i) for i, j in combinations(range(classes), 2)]
    return [(c, None) for c in range(classes)]


def normalised(columns: Sequence[Array]) -> Array:
    """Return the probabilities of all classes; one column is that of class 1."""
    if len(columns) == 1:
        return np.stack((1 - columns[0], columns[0]), axis=1)
    p = np.stack(columns, axis=1)
    total = p.sum(axis=1, keepdims=True)
    even = np.full_like(p, 1 / len(columns))
    return np.divide(p, total, out=even, where=total > 0)


def coupled(columns: Sequence[Array], classes: int) -> Array:
    """Put probabilities of pairs of classes together."""
    pairwise = np.full((len(columns[0]), classes, classes), 0.5)
    for (j, i), p in zip(problems(classes, "ovo"), columns, strict=True):
        pairwise[:, j, i], pairwise[:, i, j] = p, 1 - p
    return abers.couple(pairwise)


# Calibrators of one fold: (scores, labels, new scores) -> probabilities of label 1.


def isotonic(scores: Array, labels: Array, new: Array) -> Array:
    """Apply scikit-learn's isotonic regression."""
    return IsotonicRegression(out_of_bounds="clip").fit(scores, labels).predict(new)


def sigmoid(scores: Array, labels: Array, new: Array) -> Array:
    """Apply scikit-learn's version of Platt's method."""
    return _SigmoidCalibration().fit(scores, labels).predict(new)


def isotonic_with_dummies(scores: Array, labels: Array, new: Array) -> Array:
    """Apply isotonic regression with a 0 added at +inf and a 1 at -inf."""
    scores = np.concatenate((scores, [np.inf, -np.inf]))
    labels = np.concatenate((labels, [0, 1]))
    fitted = abers.IsotonicCalibrator().fit(scores, labels)
    return fitted.predict_proba(new)[:, 1]


def midpoint(scores: Array, labels: Array, new: Array) -> Array:
    """Return the middle of the bounds."""
    return abers.fit_rule(scores, labels).bounds(new).mean(axis=1)


def beta(logs: tuple[Array, Array], labels: Array, new: tuple[Array, Array]) -> Array:
    """Fit the odds e^c p^a / (1 - p)^b with a, b >= 0 (Kull et al., 2017)."""
    columns, new_columns = [], []
    for column, of_new, sign in zip(logs, new, (1, -1), strict=True):
        seen = column[np.isfinite(column)]
        least = seen.min() if seen.size else 0.0
        scale = sign * max(abs(least), 1.0)
        columns.append(np.where(np.isfinite(column), column, least) / scale)
        new_columns.append(np.where(np.isfinite(of_new), of_new, least) / scale)
    design = np.stack((*columns, np.ones(len(labels))))
    signs = np.where(labels, -1.0, 1.0)

    def loss(parameters: Array) -> tuple[float, Array]:
        z = signs * (parameters @ design)
        slopes = np.array([*parameters[:2], 0.0])
        value = np.logaddexp(0, z).sum() + RIDGE / 2 * slopes @ slopes
        return value, design @ (signs * expit(z)) + RIDGE * slopes

    bounds = [(0, None), (0, None), (None, None)]
    options = {"ftol": 1e-12, "gtol": 1e-6, "maxiter": 1000}
    found = minimize(loss, [1.0, 1.0, 0.0], jac=True, bounds=bounds, options=options).x
    return expit(found @ np.stack((*new_columns, np.ones(len(new[0])))))


def averaged(
    calibrate: Callable[[Any, Array, Any], Array], seen: Callable[[Outputs, int], Any]
) -> Callable[[Cell], Array]:
    """Calibrate each classifier on its fold, class by class, and average."""

    def column(cell: Cell) -> Array:
        classes = [1] if cell.n_classes == 2 else range(cell.n_classes)
        by_fold = [
            normalised(
                [
                    calibrate(seen(held, c), cell.labels[rows] == c, seen(test, c))
                    for c in classes
                ]
            )
            for rows, held, test in zip(
                cell.folds, cell.held_out, cell.test, strict=True
            )
        ]
        return np.mean(by_fold, axis=0)

    return column


def against_rest(outputs: Outputs, c: int) -> Array:
    """Score a class against all others, as Venn-Abers predictors do."""
    return outputs.scores((1, 0) if outputs.probabilities.shape[1] == 2 else (c, None))


def tempered(seen: Array, labels: Array, new: Array) -> Array:
    """Apply scikit-learn's temperature scaling."""
    return _TemperatureScaling().fit(seen, labels).predict(new)


def temperature(cell: Cell) -> Array:
    """Scale each classifier on its fold and average."""
    by_fold = [
        tempered(held.response(), cell.labels[rows], test.response())
        for rows, held, test in zip(cell.folds, cell.held_out, cell.test, strict=True)
    ]
    return np.mean(by_fold, axis=0)


def temperature_refitted(cell: Cell) -> Array:
    """Scale the refitted classifier by the scores of all held-out rows."""
    seen = np.concatenate([outputs.response() for outputs in cell.held_out])
    labels = cell.labels[np.concatenate(cell.folds)]
    return tempered(seen, labels, cell.refitted.response())


# Venn-Abers predictors: readers give the bounds of a problem, (folds, n, 2).

Reader = Callable[[Cell, Problem], Array]


def about(labels: Array, problem: Problem) -> Array:
    """Return the rows that a problem is about."""
    positive, negative = problem
    if negative is None:
        return np.arange(len(labels))
    return np.flatnonzero((labels == positive) | (labels == negative))


def bounds(scores: Array, labels: Array, new: Array, problem: Problem) -> Array:
    """Fit a rule and read it; without any row the definition gives (0, 1)."""
    rows = about(labels, problem)
    if not rows.size:
        return np.tile([0.0, 1.0], (len(new), 1))
    return abers.fit_rule(scores[rows], labels[rows] == problem[0]).bounds(new)


def of_fold(cell: Cell, problem: Problem, k: int) -> Array:
    """Read a fold's rule by the scores of its classifier."""
    scores = cell.held_out[k].scores(problem)
    labels = cell.labels[cell.folds[k]]
    return bounds(scores, labels, cell.test[k].scores(problem), problem)


def of_each_fold(cell: Cell, problem: Problem) -> Array:
    """Read the rules of all folds: a CVAP."""
    return np.stack([of_fold(cell, problem, k) for k in range(len(cell.folds))])


def of_last_fold(cell: Cell, problem: Problem) -> Array:
    """Read one rule only: an IVAP."""
    return of_fold(cell, problem, -1)[None]


def of_all_rows(cell: Cell, problem: Problem, new: Sequence[Outputs]) -> Array:
    """Read one rule of all held-out scores by each of some classifiers."""
    scores, labels = cell.all_held_out(problem)
    by_model = [outputs.scores(problem) for outputs in new]
    return np.stack([bounds(scores, labels, of_new, problem) for of_new in by_model])


def pooled(weight: Callable[[int], Fraction]) -> Reader:
    """Return a reader of one isotonic regression on the star of all folds."""

    def reader(cell: Cell, problem: Problem) -> Array:
        held, labels = cell.all_held_out(problem)
        rows = about(labels, problem)
        numbers = np.repeat(np.arange(len(cell.folds)), [len(f) for f in cell.folds])
        # A fold without a row of the pair has no say.
        known, folds = np.unique(numbers[rows], return_inverse=True)
        rule = abers.fit_pooled_rule(
            held[rows],
            labels[rows] == problem[0],
            folds,
            weight=weight(cell.n_classes),
        )
        new = np.stack([cell.test[k].scores(problem) for k in known], axis=1)
        return rule.bounds(new)[None]

    return reader


def merged(read: Reader, how: str = "ovr") -> Callable[[Cell], Array]:
    """Merge the bounds, minimax for log loss, and put the classes together.

    Classes against the rest: p_c = u_c / sum u, u_c the geometric mean over the folds
    of the upper bounds of class c.
    """

    def column(cell: Cell) -> Array:
        asked = problems(cell.n_classes, how)
        if cell.n_classes > 2 and how == "ovr":
            upper = [np.log(read(cell, problem)[..., 1]) for problem in asked]
            return normalised([np.exp(u.mean(axis=0)) for u in upper])
        answers = [abers.merge_folds(read(cell, problem)) for problem in asked]
        if cell.n_classes == 2:
            return normalised(answers)
        return coupled(answers, cell.n_classes)

    return column


COMMON: dict[str, Callable[[Cell], Array]] = {
    "underlying": lambda cell: cell.refitted.probabilities,
    "mean of models": lambda cell: np.mean(
        [outputs.probabilities for outputs in cell.test], axis=0
    ),
    "isotonic": averaged(isotonic, Outputs.response_of),
    "sigmoid": averaged(sigmoid, Outputs.response_of),
    "temperature": temperature,
    "temperature, refitted": temperature_refitted,
    "beta": averaged(beta, Outputs.for_and_against),
    "midpoints": averaged(midpoint, against_rest),
    "isotonic with dummies": averaged(isotonic_with_dummies, against_rest),
    "one rule": merged(lambda cell, problem: of_all_rows(cell, problem, cell.test)),
    "one rule, refitted": merged(
        lambda cell, problem: of_all_rows(cell, problem, [cell.refitted])
    ),
    "IVAP": merged(of_last_fold),
}
TWO_CLASSES = COMMON | {
    "minimax": merged(of_each_fold),
    "pooled": merged(pooled(lambda _: Fraction(1))),
}
MANY_CLASSES = COMMON | {
    "minimax ovr": merged(of_each_fold),
    "minimax ovo": merged(of_each_fold, "ovo"),
    "pooled ovr 1": merged(pooled(lambda _: Fraction(1))),
    "pooled ovr 2/C": merged(pooled(lambda c: Fraction(2, c))),
    "pooled ovr 1/(C-1)": merged(pooled(lambda c: Fraction(1, c - 1))),
    "pooled ovr 1/C": merged(pooled(lambda c: Fraction(1, c))),
    "pooled ovo 1": merged(pooled(lambda _: Fraction(1)), "ovo"),
    "pooled ovo 1/(C-1)": merged(pooled(lambda c: Fraction(1, c - 1)), "ovo"),
}
# With other numbers of folds than five, only these.
BY_FOLDS = {
    "mean of models",
    "temperature",
    "minimax",
    "pooled",
    "minimax ovr",
    "minimax ovo",
    "pooled ovr 1",
    "pooled ovr 1/(C-1)",
}


def columns(n_classes: int, k: int) -> dict[str, Callable[[Cell], Array]]:
    """Return the columns of a cell with so many classes and folds."""
    offered = TWO_CLASSES if n_classes == 2 else MANY_CLASSES
    return {name: f for name, f in offered.items() if k == 5 or name in BY_FOLDS}
