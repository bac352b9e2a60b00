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
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core import guarantees
from abers.core.auc import mann_whitney_of_diagram
from abers.core.cells import cells_of_rows
from abers.core.diagram import Diagram
from abers.core.effective_sizes import effective_rows, effective_sizes
from abers.core.group_names import as_groups, rows_by_group
from abers.core.merging import LOSSES, MINIMAX
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet
from abers.errors import InvalidParameter
from abers.evaluation.calibration_tests import holm
from abers.evaluation.change import (
    Samples,
    change_of,
    error_if_unchanged,
    most_draws,
)
from abers.evaluation.counts import (
    bin_of,
    diagram_of,
    length_of,
    positive_weights,
    with_weight,
)
from abers.evaluation.drift import population_stability_index, stability_noise
from abers.evaluation.in_sample import in_sample
from abers.evaluation.metrics import calibration_error_of
from abers.evaluation.performance import performance_of
from abers.evaluation.predictor import (
    calibrated,
    predictions_of,
    predictions_without_labels,
    why_without_counts,
)
from abers.formatting import as_json, group_name
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
    from abers.core.predictions import FoldScores, Predictions
    from abers.evaluation.change import Change, ScoreInterval
    from abers.evaluation.performance import PerformanceEstimate
    from abers.validation import FloatArray

PASS, FAIL, INCONCLUSIVE = "pass", "fail", "inconclusive"
AT_MOST, AT_LEAST = "at most", "at least"
TITLES = {
    "mean": "change of the mean (p-value)",
    "slope": "change of the slope (p-value)",
}
HALF = 0.5
ERROR_DRAWS = 10_000  # of bins, for the noise of the calibration error
MOST_NAMES = 5  # of failing groups, in one line
WITHOUT_COSTS = ("accuracy", "log_loss", "brier", "auc")


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
    performance : PerformanceEstimate or None
        Without labels, what metrics are likely to be, as `estimate_performance` returns
        them; None with labels, and if there is no single rule with counts.
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
    performance: PerformanceEstimate | None = None

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
        drift of the scores is measured, and metrics are estimated.
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
    predictions, weights, names = _recent_rows(
        rule,
        scores,
        labels,
        groups=groups,
        sample_weight=sample_weight,
        loss=loss,
        pos_label=pos_label,
    )
    why = why_without_counts(rule, predictions)
    untested = f"There are limits but no tests: {why}." if why else ""
    if untested and groups is not None and not isinstance(rule, RuleSet):
        msg = f"groups must be None, since they would be tested. {untested}"
        raise InvalidParameter(msg)
    drift = _drift(predictions, weights, max_psi)
    if labels is None:
        return Check(
            (drift,),
            predictions.n_rows,
            alpha=alpha,
            untested=untested,
            performance=_performance(rule, predictions, weights, loss, why),
        )
    ones, p = predictions.column()
    if not untested:
        p = _merged(predictions, loss)
    error = calibration_error_of(diagram_of(ones, p, weights))
    if untested:
        tested = _Tested()
        of_error = _error_limit(error, predictions, weights, max_ece)
    else:
        strata = _strata(rule, predictions, p, weights, names)
        tested = _tests(strata, alpha, of_groups=isinstance(rule, RuleSet))
        rejected = any(finding.result == FAIL for finding in tested.findings)
        by_rule = strata if isinstance(rule, RuleSet) else strata[:1]
        samples = [stratum.samples for stratum in by_rule]
        of_error = _error(error, samples, max_ece, loss, rejected=rejected)
    order = _order(rule, predictions, weights, untested)
    summary = _summarise(p, ones, weights)
    return Check(
        findings=(drift, order, *tested.findings, of_error),
        n_rows=summary.n_rows,
        n_positives=summary.n_positives,
        mean_prediction=summary.mean_prediction,
        observed_rate=summary.observed_rate,
        in_sample=in_sample(predictions),
        groups=tested.groups,
        interval=tested.interval,
        alpha=alpha,
        approximate=tested.approximate,
        untested=untested,
    )


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
class _Stratum:
    """Recent rows to which one rule applies: all rows, or those of a group."""

    name: Group | None
    summary: _Summary
    samples: Samples


@dataclass(frozen=True, slots=True)
class _Tested:
    findings: tuple[Finding, ...] = ()
    groups: tuple[GroupCheck, ...] = ()
    interval: ScoreInterval | None = None
    approximate: bool = False


def _recent_rows(
    rule: Any,
    X: Any,
    labels: Any,
    *,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
    loss: LossName,
    pos_label: Any,
) -> tuple[Predictions, FloatArray | None, list[Group | None] | None]:
    """Predict the rows with weight; return their weights and groups, too."""
    predictor, X = calibrated(rule, X)
    if labels is None:
        if isinstance(predictor, RuleSet):
            predictor = predictor.pooled
        predictions = predictions_without_labels(predictor, X)
        predictions, weights, _ = with_weight(predictions, sample_weight)
        return predictions, weights, None
    n_rows = length_of(labels, "labels")
    weights, kept = positive_weights(sample_weight, n_rows)
    names: Any = None
    if groups is not None:
        names = as_groups(groups)
        validation.check_length(len(names), n_rows, "groups", "scores")
    predictions = predictions_of(
        predictor,
        X,
        labels,
        groups=names,
        loss=loss,
        counted=kept,
        pos_label=pos_label,
        name="scores",
        label_name="labels",
    )
    if predictions.shown == 0:
        msg = (
            f"pos_label must be {predictions.classes[1]!r}, the class that the rule of "
            f"this classifier is for; got {pos_label!r}. Leave it out."
        )
        raise InvalidParameter(msg)
    if names is not None and kept is not None:
        names = [*compress(names, kept)]
    return predictions, weights, names


def _merged(predictions: Predictions, loss: LossName) -> FloatArray:
    """Return the probabilities, merged from the bounds for this loss."""
    bounds = predictions.column_bounds()
    if bounds is None or predictions.guarantee is guarantees.STACKED:
        return predictions.column().probabilities
    return MINIMAX[loss](bounds[:, 0], bounds[:, 1])


def _error_limit(
    error: float, predictions: Predictions, weights: FloatArray | None, limit: float
) -> Finding:
    """Compare the calibration error with its limit and with noise."""
    p, by_fold = predictions.column().probabilities, predictions.by_fold
    noise = _error_noise(p, weights, by_fold[0].n_rows if by_fold else math.inf)
    result, reason = PASS, ""
    if error > limit + noise:
        result = FAIL
    elif error > limit:
        result, reason = INCONCLUSIVE, "few rows"
    title, most = "calibration error (ECE)", limit + noise
    return Finding("ece", title, error, most, AT_MOST, result, reason, noise)


def _error_noise(p: FloatArray, weights: FloatArray | None, n_fitted: float) -> float:
    """Return the error that right probabilities exceed with probability 0.01.

    Each bin has its own normal difference. The fit varies like the recent rows.
    """
    shares = np.full(p.size, 1 / p.size) if weights is None else weights / weights.sum()
    n_rows = effective_rows(weights, p.size)
    by_row = shares**2 * p * (1 - p) * (1 + n_rows / n_fitted)
    variances = np.bincount(bin_of(p), by_row, ECE_BINS)
    draws = np.random.default_rng(0).standard_normal((ERROR_DRAWS, ECE_BINS))
    errors = abs(draws) @ np.sqrt(variances)
    return float(np.quantile(errors, 1 - SIGNIFICANCE))


def _drift(
    predictions: Predictions, weights: FloatArray | None, limit: float
) -> Finding:
    """Compare the scores with those of the calibration; the largest of all classes."""
    by_fold = predictions.by_fold
    title, result, reason = "score drift (PSI)", PASS, ""
    if not by_fold or not all(set(each.fits) != {None} for each in by_fold):
        reason = "the model does not keep how its scores lay"
        return Finding("psi", title, math.nan, limit, AT_MOST, INCONCLUSIVE, reason)
    indices = [_stability(scores, weights) for scores in by_fold]
    index = max(indices)
    noise = stability_noise(
        effective_rows(weights, predictions.n_rows),
        by_fold[0].n_rows,
        level=SIGNIFICANCE / len(indices),
    )
    if index > limit + noise:
        result = FAIL
        if len(indices) > 1:
            reason = f"class {predictions.classes[indices.index(index)]!r}"
    elif index > limit:
        result, reason = INCONCLUSIVE, "few rows"
    return Finding("psi", title, index, limit, AT_MOST, result, reason, noise)


def _performance(
    rule: Any,
    predictions: Predictions,
    weights: FloatArray | None,
    loss: LossName,
    why_not: str,
) -> PerformanceEstimate | None:
    """Estimate metrics, if the scores are those of one rule with counts."""
    if why_not or isinstance(rule, RuleSet):
        return None
    p = _merged(predictions, loss)
    return performance_of(predictions, p, weights, WITHOUT_COSTS)


def _stability(by_fold: FoldScores, weights: FloatArray | None) -> float:
    """Measure the drift of one column of scores, or of those of all models together."""
    pairs = zip(by_fold.fits, by_fold.scores, strict=True)
    used = [(fit, scores) for fit, scores in pairs if fit is not None]
    quantiles = [fit.score_quantiles for fit, _ in used]
    if len(used) == 1:
        shares = None
    else:
        sizes = [fit.n_rows for fit, _ in used]
        shares = np.repeat(sizes, [each.size for each in quantiles])
        weights = None if weights is None else np.tile(weights, len(used))
    return population_stability_index(
        np.concatenate(quantiles),
        np.concatenate([scores for _, scores in used]),
        sample_weight=weights,
        reference_weight=shares,
    )


def _order(
    rule: Any, predictions: Predictions, weights: FloatArray | None, untested: str
) -> Finding:
    """Test whether the score is inverted."""
    labels, scores = predictions.column()
    increasing, sizes = True, None
    if not untested or isinstance(rule, Rule | RuleSet):
        single: Any = predictions.by_fold[0].fits[0]
        increasing, scores = single.increasing, predictions.by_fold[0].scores[0]
    if weights is not None:
        sizes = effective_sizes(labels, weights)
    diagram = Diagram.from_rows(scores, labels, sample_weight=weights)
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
    rule: Any,
    predictions: Predictions,
    p: FloatArray,
    weights: FloatArray | None,
    names: list[Group | None] | None,
) -> list[_Stratum]:
    """Count the rows: all of them, if one rule applies to them, and each group."""
    parts: list[tuple[Group | None, Any]] = [*rows_by_group(names or ()).items()]
    if not isinstance(rule, RuleSet):
        parts.insert(0, (None, slice(None)))
    single: Any = predictions.by_fold[0].fits[0]
    scores, labels = predictions.by_fold[0].scores[0], predictions.column().labels
    strata = []
    for name, rows in parts:
        own: Any = rule[name] if isinstance(rule, RuleSet) else single
        w = None if weights is None else weights[rows]
        recent = cells_of_rows(own.cells.cuts, scores[rows], labels[rows], w)
        summary = _summarise(p[rows], labels[rows], w)
        samples = Samples(own.cells, recent, own.increasing)
        strata.append(_Stratum(name, summary, samples))
    return strata


def _tests(strata: Sequence[_Stratum], alpha: float, *, of_groups: bool) -> _Tested:
    """Test all rows, the first stratum unless all are groups, and each group."""
    most = most_draws(alpha, len(strata))
    changes = [change_of(stratum.samples, most_draws=most) for stratum in strata]
    corrected = holm([change.p_value for change in changes]).tolist()
    approximate = any(change.approximate for change in changes)
    every = zip(strata, changes, corrected, strict=True)
    findings: tuple[Finding, ...] = ()
    interval = None
    if not of_groups:
        overall, change, p = next(every)
        findings = _overall(change, p, alpha, overall.summary.few)
        interval = change.interval
    groups = tuple(
        sorted(
            (_group(*each, alpha) for each in every),
            key=lambda group: (group.p_value, -group.n_rows),
        )
    )
    if groups:
        findings += (_all_groups(groups, alpha),)
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
    stratum: _Stratum, change: Change, p_value: float, alpha: float
) -> GroupCheck:
    """Describe a group and its tests."""
    summary = stratum.summary
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
    samples: Sequence[Samples],
    limit: float,
    loss: LossName,
    *,
    rejected: bool,
) -> Finding:
    """Compare the calibration error with that of an unchanged rule of this size."""
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
