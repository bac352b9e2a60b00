"""Evaluate: how good a predictor is on held-out rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.auc import auc_of, mann_whitney
from abers.core.calibrator import Calibrator
from abers.core.effective_sizes import effective_rows, effective_size
from abers.core.merging import LOSSES
from abers.core.own_weight import RuleWithDiagram
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.errors import InvalidData
from abers.evaluation.bands import band_of_rows
from abers.evaluation.classwise import classwise_error, confusion_of, evaluate_classes
from abers.evaluation.counts import count_columns, length_of, positive_weights
from abers.evaluation.decision_curves import cost_curve_of, decision_curve_of
from abers.evaluation.discrimination import discrimination_of, paired_auc
from abers.evaluation.drift import drift_of
from abers.evaluation.groups import columns_of_groups, evaluate_groups
from abers.evaluation.in_sample import in_sample
from abers.evaluation.metrics import (
    bound_widths,
    column_calibration,
    paired_change,
    skill_of,
)
from abers.evaluation.predictor import predictions_of, what_is_before
from abers.evaluation.provenance import provenance_of
from abers.evaluation.reliability import consistency_of, decomposition_of
from abers.evaluation.score_bands import edges_of, score_bands
from abers.formatting import Printout, as_json, label_as_json
from abers.losses import SCORING_LOSSES
from abers.storage.atomic import replace_text
from abers.thresholds import SIGNIFICANCE

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from abers.choices import LossName
    from abers.core.group_names import Group
    from abers.core.guarantees import Guarantee
    from abers.core.predictions import Predictions
    from abers.evaluation.bands import CalibrationBand
    from abers.evaluation.classwise import ClassEvaluation
    from abers.evaluation.counts import Counted, Counts
    from abers.evaluation.decision_curves import CostCurve, DecisionCurve
    from abers.evaluation.discrimination import Discrimination
    from abers.evaluation.drift import Drift
    from abers.evaluation.groups import CountedGroup, GroupEvaluation
    from abers.evaluation.metrics import BoundWidths, ColumnCalibration, PairedChange
    from abers.evaluation.provenance import Provenance
    from abers.evaluation.reliability import ConsistencyBand, Decomposition
    from abers.evaluation.score_bands import ScoreBand
    from abers.validation import FloatArray, IntArray


MOST_POINTS = 500  # of a curve in a dictionary
MOST_COUNTED = 12  # groups drawn at most
NOT_IN_JSON = ("rule", "comparison", "challenger", "counted_groups")


@dataclass(frozen=True, slots=True)
class LossParts:
    """Losses relative to those of the base rates, before or after calibration.

    Attributes
    ----------
    log_skill, brier_skill : float
        1 - loss / loss of the base rates; NaN with one class.
    log, brier : Decomposition or None
        The parts of the losses; None with more than two classes.
    """

    log_skill: float
    brier_skill: float
    log: Decomposition | None
    brier: Decomposition | None


@dataclass(frozen=True, slots=True)
class MeanLosses:
    """Mean losses, as scikit-learn defines them.

    Attributes
    ----------
    log : PairedChange
        Natural-log loss before and after calibration; infinite if an observed label had
        probability 0. The difference is paired over rows.
    brier : PairedChange
        Plain Brier loss; with more than two classes, squared differences are summed
        over the classes, from 0 to 2.
    before, after : LossParts
        Skill and parts of both losses; `before` is None if it is unknown.
    """

    log: PairedChange
    brier: PairedChange
    before: LossParts | None
    after: LossParts


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """How well classes are separated.

    Attributes
    ----------
    auc : float
        AUC of the score, or of the probabilities if there is not exactly one score. NaN
        with one class, or with more than two; `by_class` has the AUC of each.
    is_inverted : bool
        Whether the AUC is significantly on the wrong side of one half.
    before, after : Discrimination or None
        AUC, Gini and KS with 95 % intervals, before and after calibration; before are
        the probabilities, or the scores if these are not probabilities. None with more
        than two classes, and if nothing is known from before.
    accuracy : PairedChange or None
        The share of rows whose most probable class is right; None with two classes.
    confusion, confusion_before : ndarray of shape (C, C) or None
        Rows of each class (row) by the most probable class (column): numbers, or sums
        of weights. None with two classes, and before calibration if that is unknown.
    """

    auc: float
    is_inverted: bool
    before: Discrimination | None = None
    after: Discrimination | None = None
    accuracy: PairedChange | None = None
    confusion: IntArray | FloatArray | None = None
    confusion_before: IntArray | FloatArray | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """How far probabilities agree with observed rates.

    With two classes, this is about the probability of `pos_label`; with more, about the
    top label: is the most probable class right as often as its probability says?

    Attributes
    ----------
    observed_rate : float
        The rate of positives; with more than two classes, the accuracy.
    before, after : ColumnCalibration
        The column before calibration, None if unknown, and after it.
    consistency : ConsistencyBand
        Where the curve after calibration would lie if the probabilities were
        calibrated.
    band : CalibrationBand or None
        A 95 % confidence band of the calibration curve: over the score if there is one
        rule (over the negated score if the rule falls), else over the probabilities
        after. None with more than two classes.
    score_bands : tuple of ScoreBand
        Mean predictions and observed rates by ranges of the score if there is one rule,
        else of the probabilities after; with more than two classes, of those of the top
        label.
    before_is : str or None
        What the probabilities before calibration are: those given, the scores of a
        rule, or the mean of the probabilities of K models.
    classwise_error, classwise_error_before : float
        The classwise ECE: the mean over classes of the ECE, each against the rest, with
        10 bins. NaN with two classes.
    """

    observed_rate: float
    before: ColumnCalibration | None
    after: ColumnCalibration
    consistency: ConsistencyBand
    band: CalibrationBand | None
    score_bands: tuple[ScoreBand, ...]
    before_is: str | None
    classwise_error: float = math.nan
    classwise_error_before: float = math.nan


@dataclass(frozen=True, slots=True, eq=False)
class DecisionCurves:
    """The value of acting on the probabilities, by threshold.

    Attributes
    ----------
    net_benefit, net_benefit_before : DecisionCurve
        Net benefit at thresholds 0, 0.01, … 0.99; the one before is None if unknown.
    cost, cost_before : CostCurve
        Mean cost at thresholds 0, 0.01, … 1.
    """

    net_benefit: DecisionCurve
    net_benefit_before: DecisionCurve | None
    cost: CostCurve
    cost_before: CostCurve | None


@dataclass(frozen=True, slots=True, eq=False)
class Challenger:
    """A second predictor of the same rows; changes are from the first to it.

    Attributes
    ----------
    evaluation : Evaluation
        Of the second predictor.
    log, brier : PairedChange
        Losses, paired over rows.
    auc : PairedChange or None
        With DeLong's standard error for two columns of the same rows; None with more
        than two classes.
    """

    evaluation: Evaluation
    log: PairedChange
    brier: PairedChange
    auc: PairedChange | None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Evaluation:
    """The evaluation of a predictor; printed, a short summary.

    Attributes
    ----------
    name : str or None
        The predictor's name.
    n_rows : int
        Number of rows with positive weight.
    classes : tuple
        The labels, in the order of the columns; with two classes, the first may be
        None, for unknown.
    pos_label : object
        With two classes, the one that the numbers are about; None with more.
    n_positives : int or None
        Number of rows of this class; None with more than two classes.
    total_weight, effective_rows : float or None
        The sum of the weights, and the effective number of rows. None without weights.
    held_out : bool
        Whether you said that the rows were held out.
    in_sample : bool or None
        Whether most of the rows were used for the fit, by its fingerprint. None if that
        is unknown: there is no fingerprint (`abers fit` keeps one in its file, and so
        does `CVAPClassifier(ensemble=False)`), scores repeat too often, or the rows are
        too few compared with those of the fit.
    losses : MeanLosses
        Log loss and Brier loss, before and after calibration.
    ranking : Ranking
        AUC; with more than two classes, accuracy and confusion.
    calibration : Calibration
        Mean predictions, ECE, Cox's intercept and slope, a test, curves and bands.
    decisions : DecisionCurves or None
        Net benefit and cost by threshold; None with more than two classes.
    drift : Drift or None
        None if the calibration scores are unknown, if the rows are too few to tell
        drift from noise, and for a cross predictor, which keeps no calibration
        probabilities.
    widths : BoundWidths or None
        The widths of the bounds; with more than two classes, of the top label.
    interval_widths : BoundWidths or None
        The widths of the 90 % confidence intervals of single scores, `Rule.interval`.
        None unless there is a single rule, with a diagram of unweighted rows.
    groups : tuple of GroupEvaluation
        The largest |z| first; small groups after all others.
    by_class : tuple of ClassEvaluation
        Each of more than two classes against the rest, in the same order.
    guarantee : Guarantee or None
        Whether it is proven that one of the bounds is calibrated, or why not; None
        without bounds.
    provenance : Provenance
        Hashes, versions, and what the rules were fitted to.
    comparison : Comparison or None
        As passed by the user.
    challenger : Challenger or None
        A second predictor of the same rows, if one was given.
    rule : Rule or None
        The rule evaluated, if there is one.
    score_quantiles : ndarray of shape (101,) or None
        Percentiles of the scores.
    loss : {"log", "brier"}
        The loss for which bounds are merged.
    counted_groups : tuple of CountedGroup
        Predictions and labels of the first twelve groups, for figures.
    """

    name: str | None
    n_rows: int
    classes: tuple[Any, ...]
    pos_label: Any
    n_positives: int | None
    total_weight: float | None
    effective_rows: float | None
    held_out: bool
    in_sample: bool | None
    losses: MeanLosses
    ranking: Ranking
    calibration: Calibration
    decisions: DecisionCurves | None
    drift: Drift | None
    widths: BoundWidths | None
    interval_widths: BoundWidths | None
    groups: tuple[GroupEvaluation, ...]
    by_class: tuple[ClassEvaluation, ...]
    guarantee: Guarantee | None
    provenance: Provenance
    comparison: Any
    challenger: Challenger | None
    rule: Rule | None
    score_quantiles: FloatArray | None
    loss: LossName
    counted_groups: tuple[CountedGroup, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as plain JSON types, nested like the attributes.

        Returns
        -------
        dict
            Infinity becomes "inf", NaN becomes None, and no curve has more than 500
            points. The rule is replaced by its hash; predictions of groups are left
            out.
        """
        plain: dict[str, Any] = {
            field.name: as_json(getattr(self, field.name), longest=MOST_POINTS)
            for field in fields(self)
            if field.name not in NOT_IN_JSON
        }
        plain["pos_label"] = label_as_json(self.pos_label)
        plain["classes"] = [label_as_json(label) for label in self.classes]
        for each, part in zip(plain["by_class"], self.by_class, strict=True):
            each["name"] = label_as_json(part.name)
        # There may be more classes than points on a curve.
        for name in ("confusion", "confusion_before"):
            plain["ranking"][name] = as_json(getattr(self.ranking, name))
        comparison = self.comparison
        plain["comparison"] = None if comparison is None else comparison.to_dict()
        plain["challenger"] = None
        if (challenger := self.challenger) is not None:
            plain["challenger"] = {
                "evaluation": challenger.evaluation.to_dict(),
                "log": as_json(challenger.log),
                "brier": as_json(challenger.brier),
                "auc": as_json(challenger.auc),
            }
        return plain

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        """Write one self-contained page; an existing one is replaced atomically.

        It shows today's date, or that of SOURCE_DATE_EPOCH in the environment.

        Parameters
        ----------
        path : path-like
            File to write.
        title : str, default=None
            Heading of the page.
        facts : mapping, default=None
            Extra facts to list with the hashes and versions at the end of the page,
            such as file names and the version of the data.
        """
        from abers.report import evaluation_page

        page: str = evaluation_page(self, title=title, facts=facts)
        replace_text(path, page)

    def to_markdown(
        self,
        *,
        title: str | None = None,
        facts: Mapping[str, object] | None = None,
    ) -> str:
        """Return the sentences and tables of the page, for a model card.

        Parameters
        ----------
        title : str, default=None
            Heading of the document.
        facts : mapping, default=None
            Facts to list at its end, as on the page.

        Returns
        -------
        str
            Markdown, with tables as GitHub and Hugging Face read them.
        """
        from abers.report import text

        return text.document(self, title=title, facts=facts).markdown()

    def printout(self) -> Printout:
        """Return the printed form of an evaluation.

        Returns
        -------
        Printout
            The main results, tables of classes and groups, and warnings.
        """
        from abers.report import text

        return text.printout(self)

    def __repr__(self) -> str:
        called = "" if self.name is None else f"{self.name!r}, "
        rows = f"{len(self.classes)} classes"
        if self.n_positives is not None:
            rows = f"{self.n_positives} positive"
        loss = f"log loss {self.losses.log.after:.4g}"
        return f"Evaluation({called}{self.n_rows} rows, {rows}, {loss})"

    def __str__(self) -> str:
        return self.printout().text()

    def _repr_html_(self) -> str:
        return self.printout().html()


def evaluate(
    predictor: Any,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    groups: Any = None,
    before: ArrayLike | None = None,
    bands: int | ArrayLike = 10,
    challenger: Any = None,
    comparison: Any = None,
    loss: LossName = "log",
    name: str | None = None,
    pos_label: Any = None,
    classes: ArrayLike | None = None,
    held_out: bool = False,
) -> Evaluation:
    """Evaluate a predictor of two or more classes on rows not used to fit it.

    Parameters
    ----------
    predictor : Rule, RuleSet, Calibrator, classifier or None
        What to evaluate: a rule; a rule set (`groups` are needed); anything fitted that
        has `predict_proba`, with bounds if it has `predict_bounds`; or None if `X`
        are probabilities already.
    X : array-like
        Scores for a rule or rule set, features for a classifier; or probabilities, of
        label 1, (n,), or of each class, (n, C).
    y : array-like of shape (n,)
        Labels 0 or 1, or any two with `pos_label`; for a classifier, members of its
        `classes_`; for probabilities of each class, members of `classes`.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows. A row of weight w counts as w rows in means, and as one row
        in standard errors.
    groups : array-like of shape (n,), mapping or data frame, default=None
        The group of each row; each group is evaluated. Several columns have names:
        `{"region": …, "product": …}`, or a data frame; for a rule set the first one has
        its groups. P-values are corrected for the groups of all columns.
    before : array-like of shape (n,) or (n, C), default=None
        Probabilities before calibration. By default, the scores of a rule or
        calibrator, if they are probabilities; for our classifiers, the mean probability
        of their models.
    bands : int or array-like, default=10
        How many score bands of about equal size; or the scores at which all bands but
        the first start (probabilities, if no single rule reads scores).
    challenger : predictor or array-like, default=None
        A second predictor that takes the same `X`, or its probabilities for these rows,
        to be set against the first.
    comparison : Comparison, default=None
        The result of `compare`, to show on the page.
    loss : {"log", "brier"}, default="log"
        The loss for which the bounds of a rule are merged into one probability.
    name : str, default=None
        Name shown in the report.
    pos_label : object, default=None
        The label that counts as 1. For a rule or for probabilities, the label they are
        about; None if labels are 0 and 1. For a classifier, one of its two classes, by
        default `classes_[1]`; for `classes_[0]`, its probabilities, bounds, scores and
        rules are mirrored. With more than two classes, the one to evaluate against the
        rest; None evaluates all of them.
    classes : array-like of shape (C,), default=None
        The labels of the columns, if `X` are probabilities of each class; None: the
        labels in `y`, ascending.
    held_out : bool, default=False
        Whether you know that no row was used for the fit. The report says that you said
        so, unless the fingerprint of the fit shows otherwise.

    Returns
    -------
    Evaluation
        Results, with `to_dict`, `to_html` and a short text.

    Examples
    --------
    >>> import abers
    >>> from abers.evaluation.evaluate import evaluate
    >>> rule = abers.fit_rule([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    >>> evaluation = evaluate(rule, [0.1, 0.5, 0.9], [0, 0, 1])
    >>> evaluation.n_rows, evaluation.n_positives, evaluation.ranking.auc
    (3, 1, 1.0)
    >>> round(evaluation.losses.brier.before, 4)  # (0.01 + 0.25 + 0.01) / 3
    0.09
    >>> evaluate(rule, [0.1, 0.9], ["good", "bad"], pos_label="bad").ranking.auc
    1.0
    >>> p = [[0.5, 0.25, 0.25], [0.25, 0.75, 0.0]]
    >>> many = evaluate(None, p, ["a", "b"], classes=["a", "b", "c"])
    >>> many.ranking.accuracy.after
    1.0
    >>> round(many.losses.log.after, 4)  # (log 2 + log 4/3) / 2
    0.4904
    """
    validation.check_choice(loss, LOSSES, "loss")
    held_out = validation.as_flag(held_out, "held_out")
    weights, has_weight = positive_weights(sample_weight, length_of(y))
    columns = {} if groups is None else columns_of_groups(groups)
    first: Any = next(iter(columns.values()), None)
    options: dict[str, Any] = {"loss": loss, "counted": has_weight, "groups": first}
    columns = _with_weight(columns, y, has_weight)
    predictions = predictions_of(
        predictor, X, y, before=before, pos_label=pos_label, classes=classes, **options
    )
    facts: dict[str, Any] = {
        "total_weight": None if weights is None else _total(sample_weight),
        "held_out": held_out,
        "bands": bands,
    }
    before_is = None
    if predictions.before is not None:
        before_is = what_is_before(predictor, X, before)
    evaluation = replace(
        _evaluated(
            predictor, predictions, weights, columns, before_is=before_is, **facts
        ),
        name=name,
        comparison=comparison,
    )
    if challenger is None:
        return evaluation
    second, second_X = challenger, X
    labels: dict[str, Any] = {"pos_label": predictions.pos_label}
    if not _is_predictor(challenger):
        second, second_X = None, challenger
        n_given = length_of(challenger, "challenger")
        validation.check_length(n_given, length_of(y), "challenger", "labels")
        if np.ndim(challenger) > 1:
            labels = {"classes": list(predictions.classes), "pos_label": pos_label}
    other = predictions_of(second, second_X, y, **labels, **options)
    return replace(
        evaluation,
        challenger=_challenger(
            predictions, other, weights, _evaluated(second, other, weights, {}, **facts)
        ),
    )


def _is_predictor(thing: Any) -> bool:
    """Return whether this is a predictor, not an array of probabilities."""
    kinds = Rule | RuleSet | Calibrator
    return isinstance(thing, kinds) or hasattr(thing, "predict_proba")


def _challenger(
    first: Predictions,
    second: Predictions,
    weights: FloatArray | None,
    evaluation: Evaluation,
) -> Challenger:
    """Compare a second predictor with the first one."""
    if first.probabilities.shape != second.probabilities.shape:
        msg = (
            "challenger must have the rows and classes of the predictor, "
            f"{first.probabilities.shape}; got {second.probabilities.shape}."
        )
        raise InvalidData(msg)
    log, brier = (
        paired_change(first.row_losses(loss), second.row_losses(loss), weights)
        for loss in SCORING_LOSSES
    )
    area = None
    if first.shown is not None:
        (labels, p), (_, q) = first.column(), second.column()
        area = paired_auc(labels, p, q, weights)
    return Challenger(evaluation, log, brier, area)


def _evaluated(
    predictor: Any,
    predictions: Predictions,
    weights: FloatArray | None,
    columns: Mapping[str | None, list[Group | None]],
    *,
    total_weight: float | None,
    held_out: bool,
    bands: int | ArrayLike,
    before_is: str | None = None,
) -> Evaluation:
    """Evaluate predictions with their labels."""
    counts = count_columns(predictions, weights)
    bounds = predictions.column_bounds()
    rule_set = predictor if isinstance(predictor, RuleSet) else None
    groups, counted_groups = evaluate_groups(
        columns, predictions, weights, rule_set=rule_set
    )
    is_binary = predictions.shown is not None
    return Evaluation(
        name=None,
        n_rows=predictions.n_rows,
        classes=predictions.classes,
        pos_label=predictions.pos_label,
        n_positives=int(predictions.column().labels.sum()) if is_binary else None,
        total_weight=total_weight,
        effective_rows=None if weights is None else effective_size(weights),
        held_out=held_out,
        in_sample=in_sample(predictions),
        losses=_losses(predictions, counts, weights),
        ranking=_ranking(predictions, counts, weights),
        calibration=_calibration(predictions, counts, weights, bands, before_is),
        decisions=_decisions(counts) if is_binary else None,
        drift=_drift(predictions, weights),
        widths=None if bounds is None else bound_widths(bounds, sample_weight=weights),
        interval_widths=_interval_widths(predictions, weights),
        groups=groups,
        by_class=() if is_binary else evaluate_classes(predictions, weights),
        guarantee=predictions.guarantee,
        provenance=provenance_of(predictions, weights),
        comparison=None,
        challenger=None,
        rule=_only_rule(predictions),
        score_quantiles=None
        if counts.scores is None
        else counts.scores.diagram.score_quantiles,
        loss=predictions.loss,
        counted_groups=counted_groups[:MOST_COUNTED],
    )


def _score_bands(
    predictions: Predictions,
    counts: Counts,
    weights: FloatArray | None,
    bands: int | ArrayLike,
) -> tuple[ScoreBand, ...]:
    """Cut the scores into bands if there is one rule, else the probabilities."""
    scores = predictions.column_scores()
    if _only_rule(predictions) is None or scores is None or counts.scores is None:
        scores = predictions.column().probabilities
        edges = edges_of(bands, counts.after.diagram)
    else:
        edges = edges_of(bands, counts.scores.diagram)
    return score_bands(predictions, scores, edges, weights)


def _losses(
    predictions: Predictions, counts: Counts, weights: FloatArray | None
) -> MeanLosses:
    earlier = predictions.earlier
    log, brier = (
        paired_change(
            None if earlier is None else earlier.row_losses(loss),
            predictions.row_losses(loss),
            weights,
        )
        for loss in ("log", "brier")
    )
    after = _loss_parts(predictions, counts.after, weights, log.after, brier.after)
    before = None
    if counts.before is not None:
        before = _loss_parts(
            predictions, counts.before, weights, log.before, brier.before
        )
    return MeanLosses(log=log, brier=brier, before=before, after=after)


def _loss_parts(
    predictions: Predictions,
    column: Counted,
    weights: FloatArray | None,
    log: float,
    brier: float,
) -> LossParts:
    if predictions.shown is not None:
        of_log = decomposition_of(column.diagram, loss="log")
        of_brier = decomposition_of(column.diagram, loss="brier")
        return LossParts(
            log_skill=skill_of(of_log.loss, of_log.uncertainty),
            brier_skill=skill_of(of_brier.loss, of_brier.uncertainty),
            log=of_log,
            brier=of_brier,
        )
    count = len(predictions.classes)
    sums = np.bincount(predictions.labels, weights=weights, minlength=count)
    rates = sums / sums.sum()
    occurring = rates[rates > 0]
    return LossParts(
        log_skill=skill_of(log, float(-(occurring * np.log(occurring)).sum())),
        brier_skill=skill_of(brier, float(1 - (rates**2).sum())),
        log=None,
        brier=None,
    )


def _ranking(
    predictions: Predictions, counts: Counts, weights: FloatArray | None
) -> Ranking:
    if predictions.shown is None:
        earlier = predictions.earlier
        right = predictions.column().labels.astype(np.float64)
        right_before = None
        if earlier is not None:
            right_before = earlier.column().labels.astype(np.float64)
        return Ranking(
            auc=math.nan,
            is_inverted=False,
            accuracy=paired_change(right_before, right, weights),
            confusion=confusion_of(predictions, weights),
            confusion_before=None
            if earlier is None
            else confusion_of(earlier, weights),
        )
    rule, diagram = predictions.column_rule(), counts.after.diagram
    area = auc_of(diagram if counts.scores is None else counts.scores.diagram)
    falls = counts.scores is not None and rule is not None and not rule.increasing
    n_rows = effective_rows(weights, predictions.n_rows)
    ones = n_rows * diagram.n_positives / diagram.n_rows
    test = mann_whitney(area * (n_rows - ones) * ones, n_rows - ones, ones)
    before = None
    column = counts.scores if counts.before is None else counts.before
    if column is not None:
        before = discrimination_of(column, falls=falls and counts.before is None)
    return Ranking(
        area,
        2 * test.p_value(increasing=not falls) < SIGNIFICANCE,
        before,
        discrimination_of(counts.after),
    )


def _calibration(
    predictions: Predictions,
    counts: Counts,
    weights: FloatArray | None,
    bands: int | ArrayLike,
    before_is: str | None,
) -> Calibration:
    after, before = counts.after, counts.before
    diagram, earlier = after.diagram, predictions.earlier
    is_binary = predictions.shown is not None
    classwise = classwise_before = math.nan
    if not is_binary:
        classwise = classwise_error(predictions, weights)
        if earlier is not None:
            classwise_before = classwise_error(earlier, weights)
    return Calibration(
        observed_rate=diagram.n_positives / diagram.n_rows,
        before=None if before is None else column_calibration(before),
        after=column_calibration(after),
        consistency=consistency_of(diagram, scatter=after.scatter),
        band=_band(predictions, weights) if is_binary else None,
        score_bands=_score_bands(predictions, counts, weights, bands),
        before_is=before_is,
        classwise_error=classwise,
        classwise_error_before=classwise_before,
    )


def _band(predictions: Predictions, weights: FloatArray | None) -> CalibrationBand:
    """Compute the band over the scores of the only rule, or over probabilities."""
    rule, (labels, column) = _only_rule(predictions), predictions.column()
    scores = predictions.column_scores()
    if rule is not None and scores is not None:
        column = scores if rule.increasing else 0.0 - scores
    return band_of_rows(column, labels, sample_weight=weights)


def _decisions(counts: Counts) -> DecisionCurves:
    after, before = counts.after.diagram, counts.before
    return DecisionCurves(
        net_benefit=decision_curve_of(after),
        net_benefit_before=None
        if before is None
        else decision_curve_of(before.diagram),
        cost=cost_curve_of(after),
        cost_before=None if before is None else cost_curve_of(before.diagram),
    )


def _drift(predictions: Predictions, weights: FloatArray | None) -> Drift | None:
    rule, scores = predictions.column_rule(), predictions.column_scores()
    if predictions.shown is None or rule is None or scores is None:
        return None
    return drift_of(rule, scores, weights)


def _interval_widths(
    predictions: Predictions, weights: FloatArray | None
) -> BoundWidths | None:
    """Return the widths of the intervals of the only rule, if it has any."""
    rule, scores = predictions.source.rule, predictions.scores
    if (
        _only_rule(predictions) is None
        or scores is None
        or not isinstance(rule, RuleWithDiagram)
        or not rule.has_intervals
    ):
        return None
    return bound_widths(rule.interval(scores), sample_weight=weights)


def _only_rule(predictions: Predictions) -> Rule | None:
    """Return the rule of the scores, if there is exactly one."""
    if predictions.shown is None or len(predictions.source.rules) != 1:
        return None
    return predictions.column_rule()


def _total(sample_weight: ArrayLike | None) -> float:
    """Return the sum of the original weights, before they are scaled."""
    return float(validation.as_scores(sample_weight, "sample_weight").sum())


def _with_weight(
    columns: dict[str | None, list[Group | None]],
    y: ArrayLike,
    has_weight: NDArray[np.bool_] | None,
) -> dict[str | None, list[Group | None]]:
    """Return the groups of the rows that have weight, by column."""
    for column, names in columns.items():
        what = "groups" if column is None else f"groups[{column!r}]"
        validation.check_length(len(names), length_of(y), what, "labels")
    if has_weight is None:
        return columns
    return {column: [*compress(names, has_weight)] for column, names in columns.items()}
