"""Check: tests of a rule on recent rows.

There are three kinds of findings. *Tests* ask whether P(label | score) has changed
since the calibration; if the rule is still right, the probability that any of them
fails, in any group, is at most alpha. *Limits* compare the drift of the scores and
their AUC with a number; alpha does not apply to them. The calibration error is a
*size*: it fails only if a test fails. Models without a rule that can be tested have
limits alone, and there the calibration error is one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core import guarantees
from abers.core.calibrator import OUT_OF_FOLD, Calibrator
from abers.core.cells import cells_of_rows
from abers.core.diagram import Diagram
from abers.core.group_names import as_groups, rows_by_group
from abers.core.inverted import (
    effective_rows,
    effective_sizes,
    mann_whitney_of_diagram,
)
from abers.core.merging import LOSSES
from abers.core.predictions import TWO, FoldScores
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.errors import InvalidData, InvalidParameter, InvalidType
from abers.evaluation.calibration_tests import holm
from abers.evaluation.change import (
    Samples,
    change_of,
    error_if_unchanged,
    most_draws,
)
from abers.evaluation.counts import bin_of, diagram_of
from abers.evaluation.drift import population_stability_index, stability_noise
from abers.evaluation.in_sample import in_sample, were_fitted
from abers.evaluation.metrics import calibration_error_of
from abers.evaluation.predictor import (
    gives_predictions,
    predictions_of,
    predictions_without_labels,
    unwrapped,
)
from abers.formatting import as_json, group_name
from abers.storage.fingerprint import TAG
from abers.thresholds import (
    ECE_BINS,
    FEW_EVENTS,
    LARGE_DRIFT,
    LARGEST_ECE,
    SIGNIFICANCE,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from abers.choices import LossName
    from abers.core.group_names import Group
    from abers.core.predictions import Predictions
    from abers.evaluation.change import Change, ScoreInterval
    from abers.validation import FloatArray, IntArray, LabelArray

    Places = IntArray | slice  # of rows

PASS, FAIL, INCONCLUSIVE = "pass", "fail", "inconclusive"
AT_MOST, AT_LEAST = "at most", "at least"
TITLES = {
    "mean": "change of the mean (p-value)",
    "slope": "change of the slope (p-value)",
}
HALF = 0.5
ERROR_DRAWS = 10_000  # of bins, for the noise of the calibration error
MOST_NAMES = 5  # of failing groups, in one line
NO_TESTS = "There are limits but no tests: {}."
NO_COUNTS = "the rule keeps no counts of its calibration rows"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one test or limit.

    Attributes
    ----------
    name : str
        "mean" or "slope" (tests), "ece" (a size), "psi" or "auc" (limits), or "groups"
        (all tests of groups together).
    title : str
        The name that is shown.
    value, limit : float
        The statistic or the corrected p-value, and its limit.
    kind : str
        What the limit is: "at most" or "at least".
    result : str
        "pass", "fail" or "inconclusive".
    reason : str
        Why it is inconclusive, or the groups that fail; empty otherwise.
    noise_level : float
        The value that sampling noise alone can reach, or is expected to reach, if
        nothing has changed; NaN if that has no meaning.
    """

    name: str
    title: str
    value: float
    limit: float
    kind: str
    result: str
    reason: str = ""
    noise_level: float = math.nan


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """The tests of one group.

    Attributes
    ----------
    name : str, int, float, bool or None
        None for the rows without a group.
    n_rows, n_positives : int
        Recent rows, and those labelled 1.
    mean_prediction, observed_rate : float
        The mean probability and the mean label.
    p_value : float
        For all tests of the group together, corrected for the number of groups (Holm).
    result : str
        "pass", "fail" or "inconclusive".
    interval : ScoreInterval or None
        The decile of the calibration scores that has changed most; not a test.
    """

    name: Group | None
    n_rows: int
    n_positives: int
    mean_prediction: float
    observed_rate: float
    p_value: float
    result: str
    interval: ScoreInterval | None


@dataclass(frozen=True, slots=True, repr=False)
class Check:
    """The results of all tests and limits.

    Attributes
    ----------
    findings : tuple of Finding
        Limits, tests and the calibration error of all rows.
    n_rows : int
        Number of rows with positive weight.
    n_positives : int or None
        Number of these labelled 1; None without labels.
    mean_prediction, observed_rate : float or None
        The mean probability and the mean label; None without labels.
    in_sample : bool or None
        Whether the rows were used for the fit; None if unknown.
    groups : tuple of GroupCheck
        Smallest p-value first.
    interval : ScoreInterval or None
        The decile that has changed most, for all rows.
    alpha : float
        The level of all tests together.
    approximate : bool
        Whether the level is only approximate, because rows have weights.
    untested : str
        Why there are only limits and no tests, in a sentence; empty if there are tests.
    """

    findings: tuple[Finding, ...]
    n_rows: int
    n_positives: int | None = None
    mean_prediction: float | None = None
    observed_rate: float | None = None
    in_sample: bool | None = None
    groups: tuple[GroupCheck, ...] = ()
    interval: ScoreInterval | None = None
    alpha: float = SIGNIFICANCE
    approximate: bool = False
    untested: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing failed; inconclusive findings do not count as failures."""
        results = [finding.result for finding in self.findings]
        return FAIL not in results + [group.result for group in self.groups]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON types.

        Returns
        -------
        dict
            With a list of the findings. Infinity becomes "inf", NaN becomes None.
        """
        plain: dict[str, Any] = {"passed": self.passed, **as_json(self)}
        return plain

    def __repr__(self) -> str:
        results = ", ".join(
            f"{finding.name}: {finding.result}" for finding in self.findings
        )
        failed = sum(group.result == FAIL for group in self.groups)
        groups = f"; {failed} of {len(self.groups)} groups failed" * bool(self.groups)
        untested = f"; {self.untested}" * bool(self.untested)
        return f"Check({self.n_rows} rows; {results}{groups}{untested})"


def check(
    rule: Any,
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    pos_label: Any = None,
    max_psi: float = LARGE_DRIFT,
    max_ece: float = LARGEST_ECE,
    alpha: float = SIGNIFICANCE,
    loss: LossName = "log",
) -> Check:
    """Test whether a rule or a calibrated model is still calibrated on recent rows.

    Parameters
    ----------
    rule : Rule, RuleSet, calibrator or fitted classifier
        What to check: for example what `abers.load` returns, or a CalibratedClassifier,
        IVAPClassifier or CVAPClassifier. Without a single rule for two classes that
        counted its calibration rows there are only limits, and `untested` says why.
    scores : array-like of shape (n,), (n, columns), or (n, features) for a classifier
        Recent scores, the columns that a calibrator reads, or the features that the
        classifier scores.
    labels : array-like of shape (n,), default=None
        0 or 1; for a classifier, members of its `classes_`. Without labels, only the
        drift of the scores is measured.
    groups : array-like of shape (n,), default=None
        The group of each row; each group is tested. Needed to test a rule set, and
        refused where there are no tests.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.
    pos_label : object, default=None
        The label that counts as 1; None if labels are 0 and 1. A classifier knows its
        own. With more than two classes, the class to check, instead of the most
        probable class of each row.
    max_psi : float, default=0.2
        The largest acceptable population stability index of the scores.
    max_ece : float, default=0.02
        How far the expected calibration error, in 10 bins of equal width, may exceed
        that of an unchanged rule of this size.
    alpha : float, default=0.01
        The level of the whole check: the probability that any test, of all rows or of
        any group, fails although nothing has changed.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged into one probability.

    Returns
    -------
    Check
        A finding for each test and limit, and whether all passed.

    Notes
    -----
    The rule keeps how many calibration rows, and positives, lie in cells: the percents
    of its scores, of which the two outer ones are cut further, down to 20 rows. If
    P(label | score) is still what it was, and scores lie alike within a cell, then in
    each cell the recent rows and those of the calibration are one sample that was
    divided at random, so that the number of positives among the recent rows is
    hypergeometric, whatever the rule. "mean" and "slope" compare the recent rows with
    tables drawn that way; their p-values are corrected for each other (Westfall and
    Young) and for the number of groups (Holm). So the level is exact, however few rows
    the rule was fitted to, if rows are independent, have no weights, and scores have
    not drifted. If they have, drift within a cell adds a little to the level, the more
    the more rows there are: with 1,000,000 calibration rows and 200,000 recent ones
    whose scores are 1.5 standard deviations higher, it was .01 to .02 at .01 in
    simulations. `interval` names the decile that has changed most, without a test.

    "ece" fails only if a test fails and the error exceeds, by more than `max_ece`, the
    median error of rules of this size where nothing has changed (`noise_level`). "psi"
    fails above its limit, unless noise explains it (with probability 0.01), and "auc"
    if the score is inverted; these are limits, and `alpha` does not apply to them.

    What is tested is a change since the calibration, not the arithmetic of the rule.

    A CalibratedClassifier of a frozen model is tested by the rule inside, on the scores
    that this rule is given. Other models have limits only, and so has a rule without
    counts, such as one fitted to a diagram of real weights. Their "ece" is that of the
    probabilities, of the most probable class if there are more than two, and fails
    above `max_ece` plus what right probabilities exceed with probability 0.01
    (`noise_level`). Their "psi" compares the scores by all models with those by which
    each fold was calibrated; with many classes, the largest one counts.

    Examples
    --------
    >>> import numpy as np
    >>> import abers
    >>> from abers.evaluation.check import check
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(4_000)
    >>> labels = rng.random(4_000) < scores**2
    >>> rule = abers.fit_rule(scores[:2_000], labels[:2_000])
    >>> check(rule, scores[2_000:], labels[2_000:]).passed
    True
    >>> check(rule, scores[2_000:] ** 2).passed  # the scores have become smaller
    False
    """
    _check_limits(max_psi=max_psi, max_ece=max_ece, alpha=alpha)
    validation.check_choice(loss, LOSSES, "loss")
    subject = (
        _of_rule(rule, scores, labels, pos_label)
        if isinstance(rule, Rule | RuleSet)
        else _of_model(rule, scores, labels, pos_label)
    )
    if subject.untested and groups is not None and not isinstance(rule, RuleSet):
        msg = f"groups must be None, since they would be tested. {subject.untested}"
        raise InvalidParameter(msg)
    rows = _recent_rows(subject, None if labels is None else groups, sample_weight)
    drift = _drift(subject, rows, max_psi)
    if labels is None:
        return Check((drift,), rows.scores.size, alpha=alpha, untested=subject.untested)
    by_group, overall = _strata(subject, rows, loss)
    p = np.empty(rows.scores.size)
    for stratum in overall or by_group:
        p[stratum.places] = stratum.probabilities
    summary = _summarise(p, rows.labels, rows.weights)
    order = _order(rows, increasing=subject.increasing)
    error = calibration_error_of(diagram_of(rows.labels, p, rows.weights))
    if subject.untested:
        tested = _Tested()
        fitted = subject.by_fold[0].n_rows if subject.by_fold else math.inf
        of_error = _error_limit(error, p, rows, fitted, max_ece)
    else:
        tested = _tests(overall, by_group, rows, summary, alpha)
        rejected = any(finding.result == FAIL for finding in tested.findings)
        of_error = _error(error, overall or by_group, max_ece, loss, rejected=rejected)
    if subject.predictions is None:
        fingerprint = rule.metadata.get(TAG)
        seen = were_fitted(fingerprint, rows.scores, rows.labels)
    else:
        seen = in_sample(subject.predictions)
    return Check(
        findings=(drift, order, *tested.findings, of_error),
        n_rows=summary.n_rows,
        n_positives=summary.n_positives,
        mean_prediction=summary.mean_prediction,
        observed_rate=summary.observed_rate,
        in_sample=seen,
        groups=tested.groups,
        interval=tested.interval,
        alpha=alpha,
        approximate=tested.approximate,
        untested=subject.untested,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Subject:
    """What is checked, with its scores and labels of all recent rows."""

    rule: Rule | RuleSet | None  # None if there is no single one
    scores: FloatArray
    labels: LabelArray | None
    by_fold: Sequence[FoldScores]
    untested: str
    predictions: Predictions | None = None  # of a model
    probabilities: FloatArray | None = None  # None: as the rule predicts

    @property
    def increasing(self) -> bool:
        return self.rule is None or self.rule.increasing


def _of_rule(
    rule: Rule | RuleSet, scores: ArrayLike, labels: Any, pos_label: Any
) -> _Subject:
    ones = None
    if labels is not None:
        ones, _ = validation.binary_labels(labels, pos_label)
    column = validation.as_scores(scores)
    pooled = rule.pooled if isinstance(rule, RuleSet) else rule
    rules = [pooled]
    if isinstance(rule, RuleSet):
        rules += [*rule.rules.values(), *([] if rule.rest is None else [rule.rest])]
    has_counts = all(each.cells is not None for each in rules)
    return _Subject(
        rule,
        column,
        ones,
        [FoldScores((pooled,), (column,), pooled.n_rows)],
        "" if has_counts else NO_TESTS.format(NO_COUNTS),
    )


def _of_model(model: Any, X: Any, labels: Any, pos_label: Any) -> _Subject:
    """Predict by a calibrator, or a classifier that has one."""
    predictions = _predicted(model, X, labels, pos_label)
    untested = _why_untested(predictions)
    ones, p = None, predictions.probabilities[:, -1]
    if labels is not None:
        ones, p = predictions.column()
    by_fold = predictions.by_fold
    if untested:
        return _Subject(None, p, ones, by_fold, untested, predictions, p)
    rule: Any = by_fold[0].fits[0]
    given = p if predictions.guarantee is guarantees.STACKED else None
    scores = by_fold[0].scores[0]
    return _Subject(rule, scores, ones, by_fold, "", predictions, given)


@dataclass(frozen=True, slots=True, eq=False)
class _RecentRows:
    """The rows with positive weight."""

    scores: FloatArray
    labels: NDArray[np.bool_]  # empty without labels
    group_names: list[Group | None] | None
    weights: FloatArray | None  # None: all are equal
    kept: Places  # their positions among all rows

    @property
    def effective_size(self) -> float:
        return effective_rows(self.weights, self.scores.size)

    def weights_of(self, places: Places) -> FloatArray | None:
        return None if self.weights is None else self.weights[places]


@dataclass(frozen=True, slots=True, eq=False)
class _Stratum:
    """Recent rows to which one rule applies: all rows, or those of a group."""

    name: Group | None
    places: Places
    probabilities: FloatArray
    samples: Samples | None  # None if the rule has no counts


@dataclass(frozen=True, slots=True)
class _Summary:
    """A few numbers that summarise predictions and labels."""

    n_rows: int
    n_positives: int
    mean_prediction: float
    observed_rate: float

    @property
    def few(self) -> str:
        """Which class has too few rows, observed or expected; "" if neither has."""
        expected = self.mean_prediction * self.n_rows
        for name, observed, predicted in (
            ("positive", self.n_positives, expected),
            ("negative", self.n_rows - self.n_positives, self.n_rows - expected),
        ):
            if max(observed, predicted) < FEW_EVENTS:
                return f"only {observed} {name} row{'s' * (observed != 1)}"
        return ""


def _summarise(
    p: FloatArray, labels: NDArray[np.bool_], weights: FloatArray | None
) -> _Summary:
    return _Summary(
        labels.size,
        int(labels.sum()),
        float(np.average(p, weights=weights)),
        float(np.average(labels, weights=weights)),
    )


@dataclass(frozen=True, slots=True)
class _Tested:
    findings: tuple[Finding, ...] = ()
    groups: tuple[GroupCheck, ...] = ()
    interval: ScoreInterval | None = None
    approximate: bool = False


def _predicted(predictor: Any, X: Any, labels: Any, pos_label: Any) -> Predictions:
    """Predict with a calibrator, or a classifier that has one."""
    predictor, X = unwrapped(predictor, X)
    if not hasattr(predictor, "predictions"):  # such as a BetaCalibrator
        predictor = getattr(predictor, "calibrator_", predictor)
    if not isinstance(predictor, Calibrator) and not gives_predictions(predictor):
        msg = (
            "rule must be a Rule, a RuleSet, a calibrator or a fitted classifier that "
            f"has one, such as CalibratedClassifier; got a {type(predictor).__name__}."
        )
        raise InvalidType(msg)
    if labels is None:
        return predictions_without_labels(predictor, X)
    predictions = predictions_of(predictor, X, labels, pos_label=pos_label)
    if predictions.shown == 0:
        msg = (
            f"pos_label must be {predictions.classes[1]!r}, the class that the rule of "
            f"this classifier is for; got {pos_label!r}. Leave it out."
        )
        raise InvalidParameter(msg)
    return predictions


def _why_untested(predictions: Predictions) -> str:
    """Return why recent rows cannot be compared with those of the fit, or ""."""
    n_classes, by_fold = predictions.probabilities.shape[1], predictions.by_fold
    why = ""
    if n_classes > TWO or isinstance(predictions.classes[0], tuple):
        why = "tests are for two classes, and this model has more"
    elif not by_fold:
        why = "the model keeps no counts of its calibration rows"
    elif len(by_fold[0].fits) > 1:
        why = (
            f"the probabilities come from {len(by_fold[0].fits)} models, and each "
            "calibration row was scored by one of them"
        )
    elif (
        predictions.guarantee is guarantees.CROSS
        or OUT_OF_FOLD in predictions.source.metadata
    ):
        why = "the calibration rows were scored by other models than the recent ones"
    elif not isinstance(by_fold[0].fits[0], Rule):
        why = "the model has no rule of a single fold"
    elif by_fold[0].fits[0].cells is None:
        why = NO_COUNTS
    return NO_TESTS.format(why) if why else ""


def _error_limit(
    error: float, p: FloatArray, rows: _RecentRows, n_fitted: float, limit: float
) -> Finding:
    """Compare the calibration error with its limit and with noise."""
    noise = _error_noise(p, rows, n_fitted)
    result, reason = PASS, ""
    if error > limit + noise:
        result = FAIL
    elif error > limit:
        result, reason = INCONCLUSIVE, "few rows"
    title, most = "calibration error (ECE)", limit + noise
    return Finding("ece", title, error, most, AT_MOST, result, reason, noise)


def _error_noise(p: FloatArray, rows: _RecentRows, n_fitted: float) -> float:
    """Return the error that right probabilities exceed with probability 0.01.

    Each bin has its own normal difference. The fit varies like the recent rows.
    """
    weights = rows.weights
    shares = np.full(p.size, 1 / p.size) if weights is None else weights / weights.sum()
    by_row = shares**2 * p * (1 - p) * (1 + rows.effective_size / n_fitted)
    variances = np.bincount(bin_of(p), by_row, ECE_BINS)
    draws = np.random.default_rng(0).standard_normal((ERROR_DRAWS, ECE_BINS))
    errors = abs(draws) @ np.sqrt(variances)
    return float(np.quantile(errors, 1 - SIGNIFICANCE))


def _recent_rows(
    subject: _Subject, groups: ArrayLike | None, sample_weight: ArrayLike | None
) -> _RecentRows:
    """Check the columns, and drop the rows without weight."""
    scores, labels, weights = subject.scores, subject.labels, None
    names = None if groups is None else as_groups(groups)
    for name, column in (("labels", labels), ("groups", names)):
        if column is not None:
            validation.check_length(len(column), scores.size, name, "scores")
    kept: Places = slice(None)
    if sample_weight is not None:
        weights = validation.as_relative_weights(sample_weight, scores.size)
        kept = np.flatnonzero(weights)
        scores, weights = scores[kept], weights[kept]
        names = None if names is None else [names[row] for row in kept]
        if (weights == 1).all():
            weights = None
    ones = np.empty(0, np.bool_)
    if labels is not None:
        ones = validation.as_ones(labels[kept], takes_positive=True)
    return _RecentRows(scores, ones, names, weights, kept)


def _drift(subject: _Subject, rows: _RecentRows, limit: float) -> Finding:
    """Compare the scores with those of the calibration; the largest of all classes."""
    by_fold = subject.by_fold
    title, result, reason = "score drift (PSI)", PASS, ""
    if not by_fold or not all(set(each.fits) != {None} for each in by_fold):
        reason = "the model does not keep how its scores lay"
        return Finding("psi", title, math.nan, limit, AT_MOST, INCONCLUSIVE, reason)
    indices = [_stability(scores, rows) for scores in by_fold]
    index = max(indices)
    noise = stability_noise(
        rows.effective_size, by_fold[0].n_rows, level=SIGNIFICANCE / len(indices)
    )
    if index > limit + noise:
        result = FAIL
        if len(indices) > 1:
            model: Any = subject.predictions
            reason = f"class {model.classes[indices.index(index)]!r}"
    elif index > limit:
        result, reason = INCONCLUSIVE, "few rows"
    return Finding("psi", title, index, limit, AT_MOST, result, reason, noise)


def _stability(by_fold: FoldScores, rows: _RecentRows) -> float:
    """Measure the drift of one column of scores, or of those of all models together."""
    pairs = zip(by_fold.fits, by_fold.scores, strict=True)
    used = [(fit, scores) for fit, scores in pairs if fit is not None]
    quantiles = [fit.score_quantiles for fit, _ in used]
    weights = rows.weights
    if len(used) == 1:
        shares = None
    else:
        sizes = [fit.n_rows for fit, _ in used]
        shares = np.repeat(sizes, [each.size for each in quantiles])
        weights = None if weights is None else np.tile(weights, len(used))
    return population_stability_index(
        np.concatenate(quantiles),
        np.concatenate([scores[rows.kept] for _, scores in used]),
        sample_weight=weights,
        reference_weight=shares,
    )


def _order(rows: _RecentRows, *, increasing: bool) -> Finding:
    """Test whether the score is inverted."""
    sizes = None
    if rows.weights is not None:
        sizes = effective_sizes(rows.labels, rows.weights)
    diagram = Diagram.from_rows(rows.scores, rows.labels, sample_weight=rows.weights)
    test: Any = mann_whitney_of_diagram(diagram, sizes)
    auc = test.auc if increasing else 1 - test.auc
    result, reason = PASS, ""
    # One-sided, at half the level of a two-sided test.
    if auc < HALF and 2 * test.p_value(increasing=increasing) < SIGNIFICANCE:
        result = FAIL
    elif math.isnan(auc):
        result, reason = INCONCLUSIVE, "one class only"
    elif auc < HALF:
        result, reason = INCONCLUSIVE, "few rows"
    return Finding("auc", "AUC", auc, HALF, AT_LEAST, result, reason)


def _strata(
    subject: _Subject, rows: _RecentRows, loss: LossName
) -> tuple[list[_Stratum], list[_Stratum]]:
    """Return the groups; and all rows as one stratum, if one rule applies to them."""
    rule: Any = subject.rule
    if isinstance(rule, RuleSet) and rows.group_names is None:
        msg = "groups must be given to judge a rule set; pass the group of each row."
        raise InvalidData(msg)

    def stratum(name: Group | None, places: Places) -> _Stratum:
        own = rule[name] if isinstance(rule, RuleSet) else rule
        scores, labels = rows.scores[places], rows.labels[places]
        if subject.probabilities is None:
            p = own.probability(scores, loss)
        else:
            p = subject.probabilities[rows.kept][places]
        if subject.untested:
            return _Stratum(name, places, p, None)
        weights = rows.weights_of(places)
        cells: Any = own.cells
        recent = cells_of_rows(cells.cuts, scores, labels, weights)
        return _Stratum(name, places, p, Samples(cells, recent, own.increasing))

    groups = rows_by_group(rows.group_names or ()).items()
    by_group = [stratum(name, places) for name, places in groups]
    if isinstance(rule, RuleSet):
        return by_group, []
    return by_group, [stratum(None, slice(None))]


def _tests(
    overall: Sequence[_Stratum],
    by_group: Sequence[_Stratum],
    rows: _RecentRows,
    summary: _Summary,
    alpha: float,
) -> _Tested:
    """Test all rows, if they share one rule, and each group, corrected for both."""
    every = (*overall, *by_group)
    samples = [stratum.samples for stratum in every if stratum.samples is not None]
    most = most_draws(alpha, len(samples))
    changes = [change_of(each, most_draws=most) for each in samples]
    corrected = holm([change.p_value for change in changes]).tolist()
    approximate = any(change.approximate for change in changes)
    n_overall = len(overall)
    tested = zip(by_group, changes[n_overall:], corrected[n_overall:], strict=True)
    groups = tuple(
        sorted(
            (_group(stratum, rows, change, p, alpha) for stratum, change, p in tested),
            key=lambda group: (group.p_value, -group.n_rows),
        )
    )
    findings: tuple[Finding, ...] = ()
    if overall:
        findings = _overall(changes[0], corrected[0], alpha, summary.few)
    if groups:
        findings += (_all_groups(groups, alpha),)
    interval = changes[0].interval if overall else None
    return _Tested(findings, groups, interval, approximate)


def _overall(
    change: Change, corrected: float, alpha: float, few: str
) -> tuple[Finding, ...]:
    """Return the tests of all rows, corrected together with the groups."""
    findings = []
    factor = corrected / change.p_value
    for test in change.tests:
        p = min(1.0, test.p_value * factor)
        result, reason = _result(p, alpha, few)
        title = TITLES[test.name]
        findings.append(Finding(test.name, title, p, alpha, AT_LEAST, result, reason))
    return tuple(findings)


def _all_groups(groups: Sequence[GroupCheck], alpha: float) -> Finding:
    """Return the smallest p-value of all groups, and the names of those that fail."""
    failed = [group for group in groups if group.result == FAIL]
    result = FAIL if failed else PASS
    if not failed and all(group.result == INCONCLUSIVE for group in groups):
        result = INCONCLUSIVE
    names = [group_name(group.name, 24) for group in failed[:MOST_NAMES]]
    left = len(failed) - MOST_NAMES
    more = f" and {left} more" if left > 0 else ""
    return Finding(
        "groups",
        "change in a group (p-value)",
        min(group.p_value for group in groups),
        alpha,
        AT_LEAST,
        result,
        ", ".join(names) + more,
    )


def _group(
    stratum: _Stratum, rows: _RecentRows, change: Change, p_value: float, alpha: float
) -> GroupCheck:
    """Describe a group and its tests."""
    places = stratum.places
    summary = _summarise(
        stratum.probabilities, rows.labels[places], rows.weights_of(places)
    )
    result, _ = _result(p_value, alpha, summary.few)
    return GroupCheck(
        name=stratum.name,
        n_rows=summary.n_rows,
        n_positives=summary.n_positives,
        mean_prediction=summary.mean_prediction,
        observed_rate=summary.observed_rate,
        p_value=p_value,
        result=result,
        interval=change.interval,
    )


def _result(p: float, alpha: float, few: str) -> tuple[str, str]:
    """Return "fail" up to the level; above it, few events make a test inconclusive."""
    if p <= alpha:
        return FAIL, ""
    return (INCONCLUSIVE, few) if few else (PASS, "")


def _error(
    error: float,
    strata: Sequence[_Stratum],
    limit: float,
    loss: LossName,
    *,
    rejected: bool,
) -> Finding:
    """Compare the calibration error with that of an unchanged rule of this size."""
    samples = [stratum.samples for stratum in strata if stratum.samples is not None]
    expected = error_if_unchanged(samples, loss=loss)
    limit += expected
    result, reason = PASS, ""
    if error > limit:
        result, reason = (FAIL, "") if rejected else (INCONCLUSIVE, "no test failed")
    title = "calibration error (ECE)"
    return Finding("ece", title, error, limit, AT_MOST, result, reason, expected)


def _check_limits(**limits: float) -> None:
    for name, limit in limits.items():
        most = 1 if name == "alpha" else math.inf
        if not 0 < limit < most:
            msg = f"{name} must be above 0 and below {most}; got {limit!r}."
            raise InvalidParameter(msg)
