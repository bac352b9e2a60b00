"""Evaluating: from a predictor and fresh rows to all that is known about it."""

from __future__ import annotations

import math
from collections.abc import Sized
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from abers import validation
from abers.assessment.answers import answers_of
from abers.assessment.freshness import freshness_of
from abers.assessment.grouped import evaluate_groups
from abers.assessment.material import of_rows, of_scores
from abers.assessment.provenance import provenance_of
from abers.assessment.quality import LossChange, loss_change, quality_of
from abers.assessment.result import Evaluation
from abers.bands import band_of, calibration_band
from abers.core.diagram import Diagram
from abers.core.group_names import as_groups
from abers.core.merging import LOSSES
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.drift import (
    MUCH,
    chance_index,
    population_stability_index,
    stability_of,
)
from abers.errors import InvalidLabels
from abers.predictions import auc_of
from abers.storage.fingerprint import TAG, TRAINING_TAG

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from abers.assessment.answers import Answers
    from abers.assessment.grouped import GroupEvaluation
    from abers.assessment.material import Counted, Material
    from abers.core.group_names import Group
    from abers.validation import FloatArray

ERRORS = 3  # standard errors; beyond that, chance does not explain it


def evaluate(
    predictor: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    before: ArrayLike | None = None,
    comparison: Any = None,
    loss: str = "log",
    name: str | None = None,
) -> Evaluation:
    """Judge a predictor of two classes by rows that were not used to fit it.

    Parameters
    ----------
    predictor : Rule, RuleSet, classifier or None
        What to judge: a rule; a rule set (`groups` are needed); anything fitted that
        has `predict_proba`, with bounds if it has `predict_bounds`; or None if `X`
        are probabilities already.
    X : array-like
        Scores for a rule or rule set, features for a classifier, or probabilities.
    y : array-like of shape (n,)
        Labels 0 or 1; for a classifier, members of its `classes_`.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows. In means a row of weight w counts as w rows; in standard
        errors it is one row.
    groups : array-like of shape (n,), default=None
        The group of each row, to be judged one by one.
    before : array-like of shape (n,), default=None
        Probabilities before calibration. By default the scores of a rule, if they lie
        between 0 and 1; for our classifiers, the mean of what the inner ones say.
    comparison : Comparison, default=None
        To be shown on the page, as `compare` returns it.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds of a rule are merged to one probability.
    name : str, default=None
        What to call it.

    Returns
    -------
    Evaluation
        Numbers, with `to_dict`, `to_html` and a short text.

    Examples
    --------
    >>> import abers
    >>> from abers.assessment import evaluate
    >>> rule = abers.fit_rule([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    >>> found = evaluate(rule, [0.1, 0.5, 0.9], [0, 0, 1])
    >>> found.n_rows, found.n_positives, found.auc
    (3, 1, 1.0)
    >>> round(found.brier_loss.before, 4)  # (0.01 + 0.25 + 0.01) / 3
    0.09
    """
    validation.check_choice(loss, LOSSES, "loss")
    weights, counted = _weights(sample_weight, y)
    names = _names(groups, y, counted)
    answers = answers_of(
        predictor, X, y, groups=groups, before=before, loss=loss, counted=counted
    )
    if isinstance(predictor, Rule) and weights is None and before is None:
        material = of_scores(predictor, answers, loss)
    else:
        answers = answers.spelled_out(loss)
        material = of_rows(answers, weights)
    judged: tuple[GroupEvaluation, ...] = ()
    if names is not None:
        own = predictor.rules if isinstance(predictor, RuleSet) else None
        judged = evaluate_groups(names, answers.spelled_out(loss), weights, own=own)
    fitted = 1 if isinstance(predictor, RuleSet) else len(answers.rules)
    tags: Mapping[str, Any] = {}
    if isinstance(predictor, Rule | RuleSet):
        tags = predictor.metadata
    elif answers.rules and TRAINING_TAG in answers.rules[0].metadata:
        tags = {TAG: answers.rules[0].metadata[TRAINING_TAG]}
    numbers = _of_probabilities(answers, material)
    return Evaluation(
        name=name,
        groups=judged,
        comparison=comparison,
        provenance=provenance_of(answers, fitted, weights),
        **numbers,
        **_of_scores(answers, material, weights),
        **freshness_of(answers, material, tags, numbers["brier_loss"]),
        **_weight(material, weights),
        positive=answers.positive,
    )


def _of_probabilities(answers: Answers, material: Material) -> dict[str, Any]:
    """Return what does not depend on the scores."""
    after = quality_of(*material.after)
    before = None if material.before is None else quality_of(*material.before)
    diagram = material.after.diagram
    changes = {}
    for loss in LOSSES:
        cost = getattr(after, loss).loss
        changes[f"{loss}_loss"] = LossChange(math.nan, cost, math.nan, math.nan)
        if material.pairs is not None:
            changes[f"{loss}_loss"] = loss_change(
                material.pairs,
                loss=loss,
                before=getattr(before, loss).loss,
                after=cost,
                n_rows=answers.labels.size,
            )
    return {
        "n_rows": answers.labels.size,
        "n_positives": int(answers.labels.sum()),
        "base_rate": diagram.n_positives / diagram.n_observations,
        "before": before,
        "after": after,
        **changes,
        "widths": material.widths,
    }


def _of_scores(
    answers: Answers, material: Material, weights: FloatArray | None
) -> dict[str, Any]:
    """Return what depends on the scores, and on the rules that they were for."""
    scores, rules = material.scores, answers.rules
    single = rules[0] if len(rules) == 1 and scores is not None else None
    falls = scores is not None and bool(rules) and not rules[0].increasing
    ranked = scores or material.after.diagram
    area = auc_of(ranked)
    n_rows = _effective_rows(material.after)
    drift: dict[str, Any] = {"drift": None, "drift_by_chance": None}
    if scores is not None and rules:
        drift = _drift(answers, scores, weights, n_rows)
    if weights is None:
        banded = material.after.diagram if single is None else ranked
        band = band_of(_negated(banded) if falls and single is not None else banded)
    else:
        column = answers.probabilities if single is None else answers.scores
        x = validation.as_scores(column)
        x = 0.0 - x if falls and single is not None else x
        band = calibration_band(x, answers.labels, sample_weight=weights)
    rate = material.after.diagram.n_positives / material.after.diagram.n_observations
    return {
        "rule": single,
        "auc": area,
        "runs_backwards": _runs_backwards(1 - area if falls else area, rate, n_rows),
        "band": band,
        "score_quantiles": None if scores is None else scores.score_quantiles,
        **drift,
    }


def _drift(
    answers: Answers, scores: Diagram, weights: FloatArray | None, n_rows: float
) -> dict[str, Any]:
    """Return the drift from what the first rule was fitted to."""
    rule = answers.rules[0]
    if weights is None:
        drift = stability_of(rule.score_quantiles, scores)
    else:
        column = validation.as_scores(answers.scores)
        drift = population_stability_index(
            rule.score_quantiles, column, sample_weight=weights
        )
    chance = chance_index(n_rows, rule.n_observations)
    told = chance <= MUCH  # with fewer rows chance drifts much
    return {
        "drift": drift if told else None,
        "drift_by_chance": chance if told else None,
    }


def _weight(material: Material, weights: FloatArray | None) -> dict[str, Any]:
    """Return how much the rows weigh, and how many equal ones scatter as much."""
    if weights is None:
        return {"total_weight": None, "effective_rows": None}
    return {
        "total_weight": float(weights.sum()),
        "effective_rows": _effective_rows(material.after),
    }


def _effective_rows(column: Counted) -> float:
    if column.scatter is None:
        return float(column.diagram.n_observations)
    return float(1 / column.scatter.sum())


def _runs_backwards(area: float, rate: float, n_rows: float) -> bool:
    """Tell whether a score puts pairs in the wrong order more often than by chance."""
    if math.isnan(area):
        return False
    # The variance of Mann and Whitney's statistic for a score that knows nothing.
    pairs = n_rows**2 * rate * (1 - rate)
    return 0.5 - area > ERRORS * math.sqrt((n_rows + 1) / (12 * pairs))


def _negated(diagram: Diagram) -> Diagram:
    """Turn the scores round, so that a curve that falls rises."""
    return Diagram(
        -diagram.scores[::-1] + 0.0,  # one kind of zero
        diagram.negatives[::-1],
        diagram.positives[::-1],
    )


def _weights(
    sample_weight: ArrayLike | None, y: ArrayLike
) -> tuple[FloatArray | None, NDArray[np.bool_] | None]:
    """Return the weights of the rows that have some, and which these are.

    None and None if all weigh 1; None for the latter if all rows have weight.
    """
    if sample_weight is None:
        return None, None
    weights = validation.as_weights(sample_weight, _length(y))
    validation.check_total(weights, "sample_weight")
    if (weights == 1).all():
        return None, None
    counted = weights > 0
    return weights[counted], None if counted.all() else counted


def _names(
    groups: ArrayLike | None, y: ArrayLike, counted: NDArray[np.bool_] | None
) -> list[Group | None] | None:
    if groups is None:
        return None
    names = as_groups(groups)
    validation.check_length(len(names), _length(y), "groups", "labels")
    if counted is None:
        return names
    return [name for name, kept in zip(names, counted, strict=True) if kept]


def _length(y: ArrayLike) -> int:
    if not isinstance(y, Sized):
        msg = f"y must be one column of labels; got {shortened(y)}."
        raise InvalidLabels(msg)
    return len(y)
