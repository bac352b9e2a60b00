"""Fit a stacked rule: from scores and labels, or from a diagram of two classes.

All parts are fitted to all rows. Their weights are those with which parts fitted
without a fold best predict the labels of that fold.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers import validation
from abers.core.calibrator import refuse_no_probabilities
from abers.core.curves import (
    HUGE,
    TINY,
    UNCHANGED,
    Beta,
    Matrix,
    Sigmoid,
    best_inverse_temperature,
    beta_design,
    beta_of,
    centred,
    clip_for,
    expit,
    fitted_beta_design,
    fitted_matrix,
    fitted_sigmoid,
    moderate_ends,
    softmax,
)
from abers.core.diagram import Diagram, trusted_diagram
from abers.core.fit import fitted_rule, mann_whitney_if_flat, rule_of_diagram
from abers.core.inverted import inverted, warn_if_inverted
from abers.core.pooled import as_folds, fitted_pooled_rule
from abers.core.stacked import (
    KINDS,
    StackedRule,
    against_rest,
    class_logits,
    point_of_classes,
    stated_probability,
    upright,
)
from abers.core.stacking import FOLDS, split_among_folds, stacked_weights
from abers.core.units import magnitudes, scale_for, units
from abers.errors import InvalidData, InvalidParameter, InvertedScoresWarning, warn

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from abers.choices import ScoreKind
    from abers.core.pooled import PooledRule
    from abers.core.rule import Rule
    from abers.validation import FloatArray, IntArray

LEAST_COLUMNS = 3  # of scores with one column per class
LARGEST_LOGIT = 1e6  # of scaled margins


def fit_stacked_rule(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    kind: ScoreKind = "probability",
    folds: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    increasing: bool = True,
) -> StackedRule:
    """Fit the most accurate probability to calibration scores and labels.

    Parameters
    ----------
    scores : array-like of shape (n,) or (n, C)
        Two classes: one score per row, that of label 1. C > 2 classes: one column per
        class.
    labels : array-like of shape (n,)
        0 or 1, or bool; for C > 2 classes the column of the class, 0 … C - 1.
    kind : {"probability", "log-odds", "margin"}, default="probability"
        What the scores are. Log-odds of two classes are log p - log(1 - p); those of
        more are logits, whose softmax gives the probabilities. Margins only order the
        rows, so the model has no probability of its own to mix.
    folds : array-like of shape (n,), default=None
        For out-of-fold scores of K models: which model scored the row, 0 … K - 1.
        Predictions then take the scores of all K models.
    sample_weight : array-like of shape (n,), default=None
        A row of weight w counts as w rows.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.

    Returns
    -------
    StackedRule
        The mixture; its `weights` say how much each part counts.

    Warns
    -----
    InvertedScoresWarning
        If the scores run the other way, significantly (p < 0.001).

    Notes
    -----
    *Parts of two classes*: the model's own p; the beta curve of `BetaCalibrator`; the
    minimax point of a Venn-Abers rule, with K models that of `fit_pooled_rule`. *Of
    more*: p; softmax(A log p + b), with a ridge around A = 1, b = 0; one Venn-Abers
    rule per class against the rest, normalised. *Of margins*: Platt's sigmoid, or
    softmax(A s + b), and the rule.

    *Weights* maximise the log-likelihood of held-out labels, plus two pseudo-rows for
    each part. Each part is fitted to two thirds of the rows and judged on the others.
    The thirds depend on ranks within each label and a fixed seed, so the result is
    reproducible.

    *K models*: the mean of the models' p, the curve at the mean of its logits, and the
    pooled rule.

    Examples
    --------
    >>> import abers
    >>> p, y = [0.1, 0.2, 0.3, 0.6, 0.7, 0.8], [0, 1, 0, 1, 0, 1]
    >>> stacked = abers.fit_stacked_rule(p, y)
    >>> stacked.probability([0.2, 0.7]).round(2)
    array([0.33, 0.63])
    """
    validation.check_choice(kind, KINDS, "kind")
    increasing = validation.as_flag(increasing, "increasing")
    values = validation.as_numbers(scores, "scores")
    if values.ndim == 1:
        return _fitted_to_two(
            values, labels, kind, folds, sample_weight, increasing=increasing
        )
    if not increasing:
        msg = "increasing must be True with one column per class; got False."
        raise InvalidParameter(msg)
    return _fitted_to_many(values, labels, kind, folds, sample_weight)


def fit_stacked_rule_from_diagram(
    diagram: Diagram, *, kind: ScoreKind = "probability", increasing: bool = True
) -> StackedRule:
    """Fit a stacked rule of two classes to a diagram: counts per distinct score.

    Parameters
    ----------
    diagram : Diagram
        Counts per distinct score.
    kind : {"probability", "log-odds", "margin"}, default="probability"
        What the scores are.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.

    Returns
    -------
    StackedRule
        Equal to that of the rows, if these have weight 1 or integer weights.

    Examples
    --------
    >>> import abers
    >>> scores, labels = [0.2, 0.2, 0.6, 0.9], [0, 1, 0, 1]
    >>> diagram = abers.rules.Diagram.from_rows(scores, labels)
    >>> of_counts = abers.rules.fit_stacked_rule_from_diagram(diagram)
    >>> of_counts == abers.fit_stacked_rule(scores, labels)
    True
    """
    validation.check_choice(kind, KINDS, "kind")
    rule = rule_of_diagram(diagram, increasing=increasing)
    refuse_no_probabilities(diagram.scores, kind)
    folds = _dealt_diagram(diagram, increasing=increasing)
    stacked = _stacked_of_two(diagram, folds, rule, kind, increasing=increasing)
    warn_if_inverted(mann_whitney_if_flat(rule, diagram), increasing=increasing)
    return stacked


# --- two classes ---


class ByFold(NamedTuple):
    """Masses of both labels by fold: arrays of shape (folds, distinct scores)."""

    zeros: FloatArray
    ones: FloatArray


def _fitted_to_two(
    scores: FloatArray,
    labels: ArrayLike,
    kind: str,
    folds: ArrayLike | None,
    sample_weight: ArrayLike | None,
    *,
    increasing: bool,
) -> StackedRule:
    """Stack the parts of two classes."""
    rule: Rule | PooledRule
    models = _models(folds, scores.size)
    if models is None:
        rule, test = fitted_rule(scores, labels, sample_weight, increasing=increasing)
    else:
        rule, test = fitted_pooled_rule(
            scores, labels, models, sample_weight, increasing=increasing
        )
    counted = scores
    if sample_weight is not None:  # rows of weight 0 may have any score
        weights = validation.as_weights(sample_weight, scores.size)
        counted = np.where(weights > 0, scores, 0.5)
    refuse_no_probabilities(counted, kind)
    diagram = Diagram.from_rows(scores, labels, sample_weight=sample_weight)
    if diagram.is_exact:
        by_fold = _dealt_diagram(diagram, increasing=increasing)
    else:
        by_fold = _dealt_rows(
            diagram, scores, labels, sample_weight, increasing=increasing
        )
    stacked = _stacked_of_two(diagram, by_fold, rule, kind, increasing=increasing)
    warn_if_inverted(test, increasing=increasing)
    return stacked


def _models(folds: ArrayLike | None, size: int) -> IntArray | None:
    """Return which model scored each row; None if there is only one."""
    if folds is None:
        return None
    models = as_folds(folds, size)
    return models if models.any() else None


def _dealt_diagram(diagram: Diagram, *, increasing: bool) -> ByFold:
    """Assign counted rows to folds, or, with real weights, the mass at each score."""
    counted = diagram.is_exact
    masses = diagram.negatives, diagram.positives
    rows = [mass.sum() if counted else np.count_nonzero(mass) for mass in masses]
    n_folds = int(min(FOLDS, *rows))
    # In order of the label's own probability, so that swapping the labels changes no
    # fold.
    steps = (-1, 1) if increasing else (1, -1)
    zeros, ones = (
        split_among_folds(mass[::step], n_folds, counted=counted)[:, ::step]
        for mass, step in zip(masses, steps, strict=True)
    )
    return ByFold(zeros, ones)


def _dealt_rows(
    diagram: Diagram,
    scores: FloatArray,
    labels: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    increasing: bool,
) -> ByFold:
    """Assign rows of real weight to folds, and add them at their scores."""
    y = validation.as_labels(labels)
    w = _rounded(validation.as_weights(sample_weight, scores.size))
    cells = np.searchsorted(diagram.scores, scores)
    kept = w > 0
    own = scores if increasing else -scores  # rises with the probability of label 1
    zeros, ones = (
        order[kept[order] & (y[order] == label)]
        for label, order in enumerate((np.lexsort((w, -own)), np.lexsort((w, own))))
    )
    n_folds = min(FOLDS, zeros.size, ones.size)
    by_fold = ByFold(*np.zeros((2, n_folds, diagram.scores.size)))
    for rows, masses in zip((zeros, ones), by_fold, strict=True):
        by_row = split_among_folds(w[rows], n_folds, counted=False)
        for fold in range(n_folds):
            np.add.at(masses[fold], cells[rows], by_row[fold])
    return by_fold


def _rounded(weights: FloatArray) -> FloatArray:
    """Round weights as rules do: negligible ones become 0."""
    scale = scale_for(magnitudes(weights))
    rounded: FloatArray = units(weights, scale) / 2.0**scale
    return rounded


def _stacked_of_two(
    diagram: Diagram,
    by_fold: ByFold,
    rule: Rule | PooledRule,
    kind: str,
    *,
    increasing: bool,
) -> StackedRule:
    """Stack a rule with the other parts, fitted to the diagram."""
    scores = diagram.scores
    logits = upright(scores, kind, increasing=increasing)
    fit_curve = _curve_fitter(logits, kind, float(diagram.n_rows))
    curve, _ = fit_curve(diagram.negatives, diagram.positives)
    own = [] if kind == "margin" else [stated_probability(scores, kind)]
    if not increasing:
        own = [1 - p for p in own]
    n_folds = len(by_fold.zeros)

    whole = [masses.sum(axis=0) for masses in by_fold]

    def held_out(fold: int) -> tuple[FloatArray, FloatArray]:
        """Return the likelihoods of held-out labels under each part, and masses."""
        masses = by_fold.zeros[fold], by_fold.ones[fold]
        zeros, ones = (total - part for total, part in zip(whole, masses, strict=True))
        _, curved = fit_curve(zeros, ones, curve)
        without = rule_of_diagram(
            _diagram_of(scores, zeros, ones, counted=diagram.is_exact),
            increasing=increasing,
        )
        of_zero, of_one = (np.flatnonzero(mass) for mass in masses)
        parts = (*own, expit(curved), without.probability(scores))
        likelihoods = [np.concatenate((1 - p[of_zero], p[of_one])) for p in parts]
        return (
            np.stack(likelihoods, axis=1).T,
            np.concatenate((masses[0][of_zero], masses[1][of_one])),
        )

    weights = _cross_fitted_weights(held_out, n_folds, len(own) + 2)
    return StackedRule([rule], curve, weights, kind=kind, increasing=increasing)


def _diagram_of(
    scores: FloatArray, negatives: FloatArray, positives: FloatArray, *, counted: bool
) -> Diagram:
    """Return the diagram of the scores that have a mass; counts need no check."""
    (present,) = np.nonzero(negatives + positives)
    scores, negatives, positives = (
        array[present] for array in (scores, negatives, positives)
    )
    if counted:
        return trusted_diagram(
            scores, negatives.astype(np.int64), positives.astype(np.int64)
        )
    return Diagram(scores, negatives, positives)


def _curve_fitter(
    logits: FloatArray, kind: str, n_rows: float
) -> Callable[..., tuple[Any, FloatArray]]:
    """Return a function that fits a curve to masses at these logits."""

    def sigmoid(
        zeros: FloatArray, ones: FloatArray, _near: Any = None
    ) -> tuple[Sigmoid, FloatArray]:
        curve = fitted_sigmoid(logits, zeros, ones)
        return curve, curve.log_odds(logits)

    if kind == "margin":
        return sigmoid
    clip = clip_for(n_rows)
    design = beta_design(logits, clip)

    def beta(
        zeros: FloatArray, ones: FloatArray, near: Beta | None = None
    ) -> tuple[Beta, FloatArray]:
        start = UNCHANGED if near is None else np.array(near[:3])
        parameters = fitted_beta_design(design, zeros, ones, start)
        return beta_of(parameters, clip), parameters @ design

    return beta


def _cross_fitted_weights(
    held_out: Callable[[int], tuple[FloatArray, FloatArray]], n_folds: int, n_parts: int
) -> FloatArray:
    """Return the weights of the parts; the Venn-Abers part is last."""
    if n_folds == 0:  # one class only
        only_last: FloatArray = np.eye(n_parts)[-1]
        return only_last
    if n_folds == 1:  # one row against all others: nothing can be held out
        return np.full(n_parts, 1 / n_parts)
    pieces = [held_out(fold) for fold in range(n_folds)]
    likelihoods = np.concatenate([piece for piece, _ in pieces], axis=1)
    return stacked_weights(likelihoods, np.concatenate([mass for _, mass in pieces]))


# --- many classes ---


def _fitted_to_many(
    values: FloatArray,
    labels: ArrayLike,
    kind: str,
    folds: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> StackedRule:
    """Stack the parts of many classes."""
    _check_table(values)
    n_rows, n_classes = values.shape
    y = validation.as_class_places(labels, n_rows, n_classes)
    models = _models(folds, n_rows)
    masses = np.ones(n_rows)
    if sample_weight is not None:
        masses = validation.as_weights(sample_weight, n_rows)
        validation.check_total(masses, "sample_weight")
        masses = _rounded(masses)
    kept = masses > 0
    validation.check_scores(values, kept)
    # Rows of weight 0 may have any score.
    values = np.where(kept[:, np.newaxis], values, 1 / n_classes)
    refuse_no_probabilities(values, kind)
    logits = class_logits(values, kind)
    columns = against_rest(logits, kind)

    def rules_of(rows: IntArray, masses: FloatArray) -> list[tuple[Rule, Any]]:
        weights = None if (masses == 1).all() else masses
        return [
            fitted_rule(column[rows], y[rows] == c, weights)
            for c, column in enumerate(columns)
        ]

    fitted: list[tuple[Any, Any]]
    if models is None:
        fitted = rules_of(np.flatnonzero(kept), masses[kept])
    else:
        new_row = Fraction(1, n_classes - 1)  # in doubt in C - 1 classes
        fitted = [
            fitted_pooled_rule(column, y == c, models, sample_weight, weight=new_row)
            for c, column in enumerate(columns)
        ]
    curve = _fitted_matrix(logits[kept], y[kept], masses[kept], kind)
    own = [] if kind == "margin" else [softmax(logits)]
    by_fold = _dealt_classes(values, y, masses)
    n_folds = len(by_fold)

    def held_out(fold: int) -> tuple[FloatArray, FloatArray]:
        """Return the likelihoods of held-out labels under each part, and masses."""
        others = by_fold[np.arange(n_folds) != fold].sum(axis=0)
        rows, out = np.flatnonzero(others), np.flatnonzero(by_fold[fold])
        without = _fitted_matrix(logits[rows], y[rows], others[rows], kind, curve)
        bounds = [
            rule.bounds(column[out])
            for (rule, _), column in zip(
                rules_of(rows, others[rows]), columns, strict=True
            )
        ]
        parts = np.stack(
            [
                *(p[out] for p in own),
                softmax(without.logits(logits[out])),
                point_of_classes(np.stack(bounds, axis=1)),
            ]
        )
        return parts[:, np.arange(out.size), y[out]], by_fold[fold][out]

    weights = _cross_fitted_weights(held_out, n_folds, len(own) + 2)
    stacked = StackedRule([rule for rule, _ in fitted], curve, weights, kind=kind)
    against = inverted({c: test for c, (_, test) in enumerate(fitted)}, increasing=True)
    for c, test in list(against.items())[:1]:
        warn(
            f"The scores of class {c} are inverted (AUC {test.auc:.3f}): higher ones "
            "go with fewer rows of it. Put the columns in the order of the labels.",
            InvertedScoresWarning,
        )
    return stacked


def _fitted_matrix(
    logits: FloatArray,
    labels: IntArray,
    weights: FloatArray,
    kind: str,
    near: Matrix | None = None,
) -> Matrix:
    """Fit a matrix; margins are first rescaled by a temperature."""
    if near is not None:
        low, high = near.low, near.high
    elif kind == "margin":
        low, high = moderate_ends(logits)
    else:
        low, high = math.log(clip_for(float(weights.sum()))), 0.0
    features = centred(logits.clip(low, high))
    scale = 1.0
    if kind == "margin":
        best = best_inverse_temperature(features, labels, weights)
        # If margins are uninformative or inverted, scale the largest difference to 1.
        least = 1 / max(high - low, TINY)
        scale = min(max(best, least), LARGEST_LOGIT * least, HUGE)
    start = None if near is None else (near.coefficients / scale, near.intercepts)
    coefficients, intercepts = fitted_matrix(features * scale, labels, weights, start)
    return Matrix(coefficients * scale, intercepts, low, high)


def _dealt_classes(
    values: FloatArray, labels: IntArray, masses: FloatArray
) -> FloatArray:
    """Assign the rows of each class, ordered by its score, to folds: (folds, rows).

    The other columns and the weight break ties, so the order of rows does not matter.
    Each class continues where the last one stopped, so folds have equal sizes even if
    classes have few rows.
    """
    n_classes = values.shape[1]
    sizes = np.bincount(labels, weights=masses, minlength=n_classes)
    outside = sizes.sum() - sizes.max()  # of the largest class
    n_folds = int(min(FOLDS, np.ceil(outside)))
    counted = bool((masses == np.floor(masses)).all())
    by_fold = np.zeros((n_folds, labels.size))
    first = 0
    for c in range(n_classes if n_folds else 0):
        rows = np.flatnonzero((labels == c) & (masses > 0))
        others = [values[rows, j] for j in range(n_classes) if j != c]
        rows = rows[np.lexsort((masses[rows], *others, values[rows, c]))]
        of_class = split_among_folds(masses[rows], n_folds, counted=counted)
        by_fold[:, rows] = np.roll(of_class, first, axis=0)
        first += int(masses[rows].sum()) if counted else rows.size
    return by_fold


def _check_table(values: FloatArray) -> None:
    if values.ndim != 2 or values.shape[1] < LEAST_COLUMNS or not len(values):
        msg = (
            "scores must have shape (n,), or (n, C) with one column for each of C > 2 "
            f"classes; got {values.shape}. Scores of two classes are one column, that "
            "of label 1."
        )
        raise InvalidData(msg)
