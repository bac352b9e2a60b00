"""Evaluate: how good a predictor is, measured on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Sized
from dataclasses import dataclass, fields, replace
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any, overload

from abers import validation
from abers.core.diagram import Diagram, trusted_diagram
from abers.core.inverted import inverted_sentence
from abers.core.merging import LOSSES
from abers.core.prior import PRIOR_TAG
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet, as_groups
from abers.errors import InvalidLabels
from abers.evaluation.bands import band_of, band_of_rows
from abers.evaluation.calibration_tests import two_sided_p, z_score
from abers.evaluation.counts import count_groups, count_rows, count_scores
from abers.evaluation.drift import (
    drift_level,
    population_stability_index,
    stability_noise,
    stability_of,
)
from abers.evaluation.groups import GroupStyle, evaluate_groups, group_table
from abers.evaluation.in_sample import were_fitted
from abers.evaluation.metrics import (
    LossChange,
    auc_of,
    bound_widths,
    loss_change,
    loss_text,
    quality_of,
)
from abers.evaluation.multiclass_evaluation import evaluate_classes
from abers.evaluation.predictor import (
    answers_of,
    class_answers_of,
    has_many_classes,
    provenance_of,
)
from abers.formatting import Printout, as_json, label_as_json, label_name
from abers.losses import SCORING_LOSSES
from abers.storage.atomic import replace_text
from abers.storage.fingerprint import TAG, TRAINING_TAG
from abers.thresholds import LARGE_DRIFT, SIGNIFICANCE

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from abers.core.guarantees import Guarantee
    from abers.core.rule_set import Group
    from abers.evaluation.bands import CalibrationBand
    from abers.evaluation.counts import Counted, CountedGroup, Counts
    from abers.evaluation.groups import GroupEvaluation
    from abers.evaluation.metrics import BoundWidths, Quality
    from abers.evaluation.multiclass_evaluation import MulticlassEvaluation
    from abers.evaluation.predictor import Answers, Provenance
    from abers.validation import FloatArray


HALF = 0.5
MOST_POINTS = 500  # of a curve in a dictionary
MOST_GROUPS = 10  # in a printed summary
MOST_COUNTED = 12  # groups that can be drawn
GROUP_STYLE = GroupStyle(24, "{:.4f}".format, "{:.4f}".format, "{:+.1f}".format)
NOT_IN_JSON = ("rule", "comparison", "positive", "counted_groups")
IN_SAMPLE = (
    "These look like the rows the rule was fitted to, so the results are too good. "
    "Evaluate on held-out rows."
)
ADJUSTED = (
    "The rule was adjusted to another base rate than that of its calibration rows, so "
    "its bounds have no guarantee."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation:
    """How good a predictor is; printed, a short summary.

    Attributes
    ----------
    name : str or None
        The name given to it.
    n_rows, n_positives : int
        Rows that have weight, and those of them labelled 1.
    total_weight, effective_rows : float or None
        The sum of the weights, and the number of rows of equal weight that would
        scatter as much. None without weights.
    base_rate : float
        The observed rate of positives: the mean label.
    before, after : Quality
        The probabilities before calibration, None if unknown, and after it.
    log_loss, brier_loss : LossChange
        Losses before and after; the difference is paired over rows.
    auc : float
        Of the score if there is one; of the probabilities of a cross predictor, which
        has several, and of what has none. NaN with one class.
    is_inverted : bool
        Whether the AUC is significantly on the wrong side of one half.
    band : CalibrationBand
        A 95 % confidence band of the calibration curve: over the score if there is one
        rule (over the negated score if the rule falls), else over the probabilities
        after.
    widths : BoundWidths or None
        The widths of the bounds.
    drift : float or None
        Population stability index of the scores, against those of the calibration;
        None if these are unknown, or the rows too few to tell drift from noise, and for
        a cross predictor, which keeps no calibration probabilities to compare with.
    drift_noise : float or None
        What the index exceeds with probability 0.01 if there is no drift.
    in_sample : bool or None
        Whether most of the rows are those that the rule was fitted to, by the
        fingerprint of its fit. None if that is unknown: there is no fingerprint (`abers
        fit` keeps one in its file, and `CVAPClassifier(ensemble=False)`), scores repeat
        too often, or the rows are too few compared with those of the fit.
    groups : tuple of GroupEvaluation
        The largest |z| first; small groups after all others.
    comparison : Comparison or None
        As it was given.
    provenance : Provenance
        Hashes, versions, and what the rules were fitted to.
    rule : Rule or None
        The rule evaluated, if it is one.
    guarantee : Guarantee or None
        Whether it is proven that one of the bounds is calibrated, or why not; None
        without bounds.
    score_quantiles : ndarray of shape (101,) or None
        Percentiles of the scores.
    positive : object
        The label that counts as 1; None if labels were 0 and 1.
    loss : {"log", "brier"}
        The loss that bounds are merged for.
    counted_groups : tuple of CountedGroup
        Predictions and labels of the first twelve groups, to be drawn.
    """

    name: str | None
    n_rows: int
    n_positives: int
    total_weight: float | None
    effective_rows: float | None
    base_rate: float
    before: Quality | None
    after: Quality
    log_loss: LossChange
    brier_loss: LossChange
    auc: float
    is_inverted: bool
    band: CalibrationBand
    widths: BoundWidths | None
    drift: float | None
    drift_noise: float | None
    in_sample: bool | None
    groups: tuple[GroupEvaluation, ...]
    comparison: Any
    provenance: Provenance
    rule: Rule | None
    guarantee: Guarantee | None
    score_quantiles: FloatArray | None
    positive: Any = None
    loss: str = "log"
    counted_groups: tuple[CountedGroup, ...] = ()

    @property
    def drift_level(self) -> str | None:
        """The drift in a word: "stable", "moderate" or "large"; None if unknown."""
        if self.drift is None:
            return None
        return drift_level(self.drift, noise=self.drift_noise or 0.0)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain types that JSON knows.

        Returns
        -------
        dict
            Infinity is "inf", what is not a number is None, and no curve has more than
            500 points. The rule is left out, but its hash is there, and so are the
            predictions of groups.
        """
        found = {
            field.name: as_json(getattr(self, field.name), longest=MOST_POINTS)
            for field in fields(self)
            if field.name not in NOT_IN_JSON
        }
        compared = None if self.comparison is None else self.comparison.to_dict()
        return {
            **found,
            "positive": label_as_json(self.positive),
            "drift_level": self.drift_level,
            "comparison": compared,
        }

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        """Write one self-contained page; an existing one is replaced at once or not.

        It is dated; with SOURCE_DATE_EPOCH in the environment, by that.

        Parameters
        ----------
        path : path-like
            File to write.
        title : str, default=None
            Heading of the page.
        facts : mapping, default=None
            Facts to list beside the hashes and versions at the end of the page, such as
            file names and the version of the data.
        """
        from abers.report import evaluation_page

        page: str = evaluation_page(self, title=title, facts=facts)
        replace_text(path, page)

    def __repr__(self) -> str:
        called = "" if self.name is None else f"{self.name!r}, "
        return (
            f"Evaluation({called}{self.n_rows} rows, {self.n_positives} positive, "
            f"log loss {self.log_loss.after:.4g})"
        )

    def __str__(self) -> str:
        return self._printout().text()

    def _repr_html_(self) -> str:
        return self._printout().html()

    def _printout(self) -> Printout:
        title = "Evaluation" if self.name is None else f"Evaluation of {self.name}"
        tables = [self.group_rows()] if self.groups else []
        return Printout(title, self.summary(), tables, self.warnings())

    def summary(self) -> list[tuple[str, str]]:
        """Return the main results.

        Returns
        -------
        list of tuple of str
            Names and values.
        """
        mean = f"{self.after.mean_prediction:.4f}"
        if self.before is not None:
            mean = f"{self.before.mean_prediction:.4f} before, {mean} after calibration"
        auc = "undefined (one class)" if math.isnan(self.auc) else f"{self.auc:.4f}"
        lines = [
            ("rows", self.row_counts()),
            ("mean prediction", mean),
            ("observed rate", f"{self.base_rate:.4f}"),
            ("log loss", loss_text(self.log_loss)),
            ("Brier loss", loss_text(self.brier_loss)),
            ("AUC", auc),
        ]
        if self.drift is not None:
            text = f"{self.drift_level} (PSI {self.drift:.3f})"
            lines.append(("score drift", text))
        if self.widths is not None:
            lines.append(("mean width of bounds", f"{self.widths.mean:.4f}"))
        return lines

    def group_rows(self) -> list[list[str]]:
        """Return the groups as a table, the largest |z| first.

        Returns
        -------
        list of list of str
            A head, and a row for each of the first ten groups; a last row counts those
            left out.
        """
        rows = group_table(self.groups[:MOST_GROUPS], GROUP_STYLE)
        if (more := len(self.groups) - MOST_GROUPS) > 0:
            rows.append([f"… and {more:,} more", *[""] * (len(rows[0]) - 1)])
        return rows

    @property
    def is_adjusted(self) -> bool:
        """Whether the bounds were adjusted to another base rate, by `with_prior`."""
        return PRIOR_TAG in self.provenance.tags

    def warnings(self) -> list[str]:
        """Return reasons to doubt the results.

        Returns
        -------
        list of str
            Sentences; mostly none.
        """
        sentences = [IN_SAMPLE] if self.in_sample else []
        if self.is_inverted:
            sentences.append(inverted_sentence(self.auc))
        if self.is_adjusted:
            sentences.append(ADJUSTED)
        if self.band.is_empty:
            rising = self.rule is None or self.rule.increasing
            sentences.append(self.band.empty_sentence(rising=rising))
        return sentences

    def row_counts(self) -> str:
        """Return the numbers of rows and of positives.

        Returns
        -------
        str
            Such as "400 (42 positive)".
        """
        name = label_name(self.positive)
        meaning = f", that is {name}" if name else ""
        return f"{self.n_rows:,} ({self.n_positives:,} positive{meaning})"


@overload
def evaluate(
    predictor: Rule | RuleSet,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    before: ArrayLike | None = None,
    comparison: Any = None,
    loss: str = "log",
    name: str | None = None,
    positive: Any = None,
    classes: None = None,
) -> Evaluation: ...


@overload
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
    positive: Any = None,
    classes: ArrayLike | None = None,
) -> Evaluation | MulticlassEvaluation: ...


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
    positive: Any = None,
    classes: ArrayLike | None = None,
) -> Evaluation | MulticlassEvaluation:
    """Evaluate a predictor of two or more classes on rows not used to fit it.

    Parameters
    ----------
    predictor : Rule, RuleSet, classifier or None
        What to evaluate: a rule; a rule set (`groups` are needed); anything fitted that
        has `predict_proba`, with bounds if it has `predict_bounds`; or None if `X`
        are probabilities already.
    X : array-like
        Scores for a rule or rule set, features for a classifier; or probabilities, of
        label 1, (n,), or of each of more than two classes, (n, C).
    y : array-like of shape (n,)
        Labels 0 or 1, or any two with `positive`; for a classifier, members of its
        `classes_`; for probabilities of many classes, members of `classes`.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows. In means a row of weight w counts as w rows; in standard
        errors it is one row.
    groups : array-like of shape (n,), default=None
        The group of each row; each group is evaluated.
    before : array-like of shape (n,) or (n, C), default=None
        Probabilities before calibration. By default the scores of a rule, if they lie
        between 0 and 1; for our classifiers, the mean prediction of the inner ones.
    comparison : Comparison, default=None
        The result of `compare`, to be shown on the page.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds of a rule are merged to one probability.
    name : str, default=None
        Name shown in the report.
    positive : object, default=None
        The label that counts as 1. For a rule or for probabilities it is what they are
        about; None: labels are 0 and 1. For a classifier one of its two classes, by
        default `classes_[1]`; for `classes_[0]`, its probabilities, bounds, scores and
        rules are mirrored. Of more than two classes, the one that is evaluated against
        the rest; None evaluates all of them.
    classes : array-like of shape (C,), default=None
        The labels of the columns, if `X` are probabilities of more than two classes;
        None: the labels in `y`, ascending.

    Returns
    -------
    Evaluation or MulticlassEvaluation
        Results, with `to_dict`, `to_html` and a short text; the latter for more than
        two classes, unless one is `positive`.

    Examples
    --------
    >>> import abers
    >>> from abers.evaluation.evaluate import evaluate
    >>> rule = abers.fit_rule([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    >>> found = evaluate(rule, [0.1, 0.5, 0.9], [0, 0, 1])
    >>> found.n_rows, found.n_positives, found.auc
    (3, 1, 1.0)
    >>> round(found.brier_loss.before, 4)  # (0.01 + 0.25 + 0.01) / 3
    0.09
    >>> evaluate(rule, [0.1, 0.9], ["good", "bad"], positive="bad").auc
    1.0
    >>> p = [[0.5, 0.25, 0.25], [0.25, 0.75, 0.0]]
    >>> many = evaluate(None, p, ["a", "b"], classes=["a", "b", "c"])
    >>> many.accuracy.after, round(many.log_loss.after, 4)  # (log 2 + log 4/3) / 2
    (1.0, 0.4904)
    """
    validation.check_choice(loss, LOSSES, "loss")
    weights, counted = _weights(sample_weight, y)
    names = _names(groups, y, counted)
    if positive is None and has_many_classes(predictor, X):
        every = class_answers_of(
            predictor, X, y, classes=classes, before=before, counted=counted
        )
        found = evaluate_classes(
            every, weights, names=names, name=name, comparison=comparison
        )
        return replace(found, total_weight=_total_weight(weights, sample_weight))
    answers = answers_of(
        predictor,
        X,
        y,
        groups=groups,
        before=before,
        loss=loss,
        counted=counted,
        positive=positive,
        classes=classes,
    )
    if isinstance(predictor, Rule) and weights is None and before is None:
        counts = count_scores(predictor, answers, loss)
    else:
        answers = answers.spelled_out(loss)
        counts = count_rows(answers, weights)
    tags = _tags_of(predictor, answers)
    fitted = 1 if isinstance(predictor, RuleSet) else len(answers.rules)
    return Evaluation(
        name=name,
        comparison=comparison,
        provenance=provenance_of(answers, fitted, weights, tags),
        **_of_probabilities(answers, counts),
        **_of_scores(answers, counts, weights),
        in_sample=were_fitted(tags, answers.as_fitted or answers),
        **_weight(counts, weights, sample_weight),
        **_of_groups(predictor, answers, names, weights, loss),
        guarantee=answers.guarantee,
        positive=answers.positive,
        loss=_loss_of(predictor, answers, loss),
    )


def _tags_of(predictor: Any, answers: Answers) -> Mapping[str, Any]:
    """Return the metadata of a rule or rule set; of a classifier, its fingerprint."""
    if isinstance(predictor, Rule | RuleSet):
        return predictor.metadata
    if answers.rules and TRAINING_TAG in answers.rules[0].metadata:
        return {TAG: answers.rules[0].metadata[TRAINING_TAG]}
    return {}


def _of_groups(
    predictor: Any,
    answers: Answers,
    names: Sequence[Group | None] | None,
    weights: FloatArray | None,
    loss: str,
) -> dict[str, Any]:
    """Return the metrics of each group, and the predictions of those to be drawn."""
    if names is None:
        return {"groups": (), "counted_groups": ()}
    answers = answers.spelled_out(loss)
    rule_set = predictor if isinstance(predictor, RuleSet) else None
    found = evaluate_groups(names, answers, weights, rule_set=rule_set)
    worst = [group.name for group in found[:MOST_COUNTED]]
    drawn = count_groups(worst, names, answers, weights)
    return {"groups": found, "counted_groups": drawn}


def _loss_of(predictor: Any, answers: Answers, loss: str) -> str:
    """Return what bounds are merged for: our estimators decide that themselves."""
    if answers.rules and not isinstance(predictor, Rule | RuleSet):
        return str(predictor.loss)
    return loss


def _of_probabilities(answers: Answers, counts: Counts) -> dict[str, Any]:
    """Return what does not depend on the scores."""
    after = quality_of(*counts.after)
    before = None if counts.before is None else quality_of(*counts.before)
    diagram, bounds, widths = counts.after.diagram, counts.bounds, None
    if bounds is not None:
        widths = bound_widths(bounds.bounds, sample_weight=bounds.weights)
    changes = {}
    for loss in SCORING_LOSSES:
        cost = getattr(after, loss).loss
        changes[f"{loss}_loss"] = LossChange(math.nan, cost, math.nan, math.nan)
        if counts.pairs is not None:
            changes[f"{loss}_loss"] = loss_change(
                counts.pairs,
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
        "widths": widths,
    }


def _of_scores(
    answers: Answers, counts: Counts, weights: FloatArray | None
) -> dict[str, Any]:
    """Return what depends on the scores, and on the rules that they were for."""
    scores, rules = counts.scores, answers.rules
    single = rules[0] if len(rules) == 1 and scores is not None else None
    falls = scores is not None and bool(rules) and not rules[0].increasing
    ranked = scores or counts.after.diagram
    area = auc_of(ranked)
    n_rows = _effective_rows(counts.after)
    drift: dict[str, Any] = {"drift": None, "drift_noise": None}
    if scores is not None and rules:
        drift = _drift(answers, scores, weights, n_rows)
    if weights is None:
        banded = counts.after.diagram if single is None else ranked
        band = band_of(_negated(banded) if falls and single is not None else banded)
    else:
        column = answers.probabilities if single is None else answers.scores
        x = validation.as_scores(column)
        x = 0.0 - x if falls and single is not None else x
        band = band_of_rows(x, answers.labels, sample_weight=weights)
    rate = counts.after.diagram.n_positives / counts.after.diagram.n_observations
    return {
        "rule": single,
        "auc": area,
        "is_inverted": _is_inverted(1 - area if falls else area, rate, n_rows),
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
    noise = stability_noise(n_rows, rule.n_observations)
    known = noise <= LARGE_DRIFT  # fewer rows cannot tell drift from noise
    return {
        "drift": drift if known else None,
        "drift_noise": noise if known else None,
    }


def _weight(
    counts: Counts, weights: FloatArray | None, given: ArrayLike | None
) -> dict[str, Any]:
    """Return the total weight as it was given, and the effective number of rows."""
    rows = None if weights is None else _effective_rows(counts.after)
    return {"total_weight": _total_weight(weights, given), "effective_rows": rows}


def _total_weight(weights: FloatArray | None, given: ArrayLike | None) -> float | None:
    """Return the sum of the weights as they were given; None if all weigh 1."""
    if weights is None:
        return None
    return float(validation.as_scores(given, "sample_weight").sum())


def _effective_rows(column: Counted) -> float:
    if column.scatter is None:
        return float(column.diagram.n_observations)
    return float(1 / column.scatter.sum())


def _is_inverted(area: float, rate: float, n_rows: float) -> bool:
    """Tell whether the area under the curve is significantly below one half."""
    if math.isnan(area) or area >= HALF:
        return False
    # The variance of Mann and Whitney's statistic for an uninformative score.
    variance = (n_rows + 1) / (12 * n_rows**2 * rate * (1 - rate))
    return two_sided_p(z_score(area - HALF, math.sqrt(variance))) < SIGNIFICANCE


def _negated(diagram: Diagram) -> Diagram:
    """Negate the scores, so that a decreasing curve increases."""
    negatives, positives, scale = diagram.units
    return trusted_diagram(
        -diagram.scores[::-1] + 0.0,  # one kind of zero
        negatives[::-1],
        positives[::-1],
        scale,
    )


def _weights(
    sample_weight: ArrayLike | None, y: ArrayLike
) -> tuple[FloatArray | None, NDArray[np.bool_] | None]:
    """Return the weights of the rows that have some, and which these are.

    None and None if all weigh 1; None for the latter if all rows have weight.
    """
    if sample_weight is None:
        return None, None
    weights = validation.as_relative_weights(sample_weight, _length(y))
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
