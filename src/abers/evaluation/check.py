"""Check: tests of a rule on recent rows.

Three kinds of findings. *Tests* ask whether P(label | score) has changed since the
calibration; together, over all groups, they fail a right rule with probability at most
alpha. *Limits* compare the drift of the scores and their AUC with a number; alpha has
no part in them. The calibration error is a *size*: it fails only where tests do, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.cells import cells_of_rows
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet, as_groups, rows_by_group
from abers.errors import InvalidParameter, InvalidType
from abers.evaluation.calibration_tests import holm, mean_difference_p
from abers.evaluation.change import (
    Samples,
    change_of,
    error_if_unchanged,
    most_draws,
)
from abers.evaluation.counts import effective_rows
from abers.evaluation.drift import population_stability_index, stability_noise
from abers.evaluation.evaluate import evaluate
from abers.evaluation.predictor import answers_of
from abers.formatting import as_json, group_name
from abers.thresholds import FEW_EVENTS, LARGE_DRIFT, LARGEST_ECE, SIGNIFICANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from abers.core.rule_set import Group
    from abers.evaluation.change import Change, ScoreInterval
    from abers.evaluation.evaluate import Evaluation
    from abers.validation import FloatArray, IntArray, LabelArray

PASS, FAIL, INCONCLUSIVE = "pass", "fail", "inconclusive"
AT_MOST, AT_LEAST = "at most", "at least"
TITLES = {
    "mean": "change of the mean (p-value)",
    "slope": "change of the slope (p-value)",
    "scan": "change at some scores (p-value)",
}
HALF = 0.5
MOST_NAMES = 5  # of groups that fail, in one line


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one test or limit.

    Attributes
    ----------
    name : str
        "mean", "slope" or "scan", which are tests; "ece", a size; "psi" or "auc",
        which are limits; "groups", all tests of groups together.
    title : str
        The name for people.
    value, limit : float
        The statistic or the corrected p-value, and its limit.
    kind : str
        What the limit is: "at most" or "at least".
    result : str
        "pass", "fail" or "inconclusive".
    reason : str
        Why it is inconclusive, or where the change is; empty otherwise.
    noise_level : float
        What sampling noise alone can reach, or is expected to, if the rule is right;
        NaN if that has no meaning.
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
        None: the rows without a group.
    n_rows, n_positives : int
        Recent rows, and those labelled 1.
    mean_prediction, observed_rate : float
        The mean probability and the mean label.
    p_value : float
        Of all tests of the group together, corrected for the number of groups (Holm).
    result : str
        "pass", "fail" or "inconclusive".
    interval : ScoreInterval or None
        The scores where most has changed.
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
        Rows that have weight.
    n_positives : int or None
        Those of them labelled 1; None without labels.
    mean_prediction, observed_rate : float or None
        The mean probability and the mean label; None without labels.
    in_sample : bool or None
        As of an `Evaluation`: whether the rows are those of the fit; None if unknown.
    groups : tuple of GroupCheck
        The smallest p-value first.
    interval : ScoreInterval or None
        The scores where most has changed, of all rows.
    alpha : float
        The level of all tests together.
    approximate : bool
        Whether the level is not exact: weights, or a rule that has no counts.
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

    @property
    def passed(self) -> bool:
        """Whether nothing failed; what is inconclusive does not fail."""
        results = [found.result for found in self.findings]
        return FAIL not in results + [group.result for group in self.groups]

    def to_dict(self) -> dict[str, Any]:
        """Return all as plain types that JSON knows.

        Returns
        -------
        dict
            With a list of the findings. Infinity is "inf", what is not a number None.
        """
        plain: dict[str, Any] = {"passed": self.passed, **as_json(self)}
        return plain

    def __repr__(self) -> str:
        results = ", ".join(f"{found.name}: {found.result}" for found in self.findings)
        failed = sum(group.result == FAIL for group in self.groups)
        groups = f"; {failed} of {len(self.groups)} groups failed" * bool(self.groups)
        return f"Check({self.n_rows} rows; {results}{groups})"


def check(
    rule: Any,
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    positive: Any = None,
    max_psi: float = LARGE_DRIFT,
    max_ece: float = LARGEST_ECE,
    alpha: float = SIGNIFICANCE,
    loss: str = "log",
) -> Check:
    """Test whether a rule is still calibrated on recent rows.

    Parameters
    ----------
    rule : Rule, RuleSet or fitted IVAPClassifier
        What to check.
    scores : array-like of shape (n,), or of (n, features) for a classifier
        Recent scores, or the features that the classifier scores.
    labels : array-like of shape (n,), default=None
        0 or 1; for a classifier, members of its `classes_`. Without them only the drift
        of the scores is looked at.
    groups : array-like of shape (n,), default=None
        The group of each row; each group is tested. Needed to test a rule set.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.
    positive : object, default=None
        The label that counts as 1, of any two labels; None if they are 0 and 1. A
        classifier knows its own.
    max_psi : float, default=0.2
        The largest acceptable population stability index of the scores.
    max_ece : float, default=0.02
        By how much the expected calibration error, in 10 bins of equal width, may
        exceed what a rule of this size has anyway.
    alpha : float, default=0.01
        The level of the whole check: the probability that any test, of all rows or of
        any group, fails although nothing has changed.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged to the probabilities.

    Returns
    -------
    Check
        A finding for each test and limit, and whether none failed.

    Notes
    -----
    The rule keeps how many calibration rows, and positives, lie in cells: the percents
    of its scores, of which the two outer ones are cut further, down to 20 rows. If
    P(label | score) is still what it was, and scores lie alike within a cell, then in
    each cell the recent rows and those of the calibration are one sample that was
    divided at random, so that the number of positives among the recent rows is
    hypergeometric, whatever the rule. "mean", "slope" and "scan" compare the recent
    rows with tables drawn that way; their p-values are corrected for each other
    (Westfall and Young) and for the number of groups (Holm). So the level is exact,
    however few rows the rule was fitted to, if rows are independent, have no weights,
    and scores have not drifted. If they have, drift within a cell adds a little to the
    level, the more the more rows there are: with 1,000,000 calibration rows and 200,000
    recent ones whose scores are 1.5 standard deviations higher, it was .01 to .02 at
    .01 in simulations. The scan names the scores where most has changed.

    "ece" fails only if a test fails and the error exceeds, by more than `max_ece`, the
    median error of rules of this size where nothing has changed (`noise_level`). "psi"
    fails above its limit, unless noise explains it (with probability 0.01), and "auc"
    if the score is inverted; these are limits, and `alpha` has no part in them.

    What is tested is a change since the calibration, not the arithmetic of the rule. A
    rule that was read from a file of version 1 has no counts: its test of the mean is
    approximate and never fails.

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
    rule, scores, labels = _resolved(rule, scores, labels, positive)
    rows = _recent(scores, labels, groups, sample_weight)
    fitted = rule.pooled if isinstance(rule, RuleSet) else rule
    drift = _drift(fitted, rows, max_psi)
    if rows.labels is None:
        return Check((drift,), rows.scores.size, alpha=alpha)
    found = evaluate(
        rule,
        rows.scores,
        rows.labels,
        sample_weight=rows.weights,
        groups=rows.names if isinstance(rule, RuleSet) else None,
        loss=loss,
    )
    overall = (
        [_stratum(None, rule, rows, slice(None))] if isinstance(rule, Rule) else []
    )
    strata = _groups_of(rule, rows)
    tested = _tests(overall, strata, rows, found, alpha)
    rejected = any(finding.result == FAIL for finding in tested.findings)
    error = _error(found, overall or strata, max_ece, loss, rejected=rejected)
    return Check(
        findings=(drift, _order(found, fitted), *tested.findings, error),
        n_rows=found.n_rows,
        n_positives=found.n_positives,
        mean_prediction=found.after.mean_prediction,
        observed_rate=found.base_rate,
        in_sample=found.in_sample,
        groups=tested.groups,
        interval=tested.interval,
        alpha=alpha,
        approximate=tested.approximate,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Recent:
    """The rows that count."""

    scores: FloatArray
    labels: LabelArray | None
    names: Any  # of the groups, a list; or None
    weights: FloatArray | None

    @property
    def size(self) -> float:
        """The effective number of rows."""
        if self.weights is None:
            return self.scores.size
        return effective_rows(self.weights)


@dataclass(frozen=True, slots=True, eq=False)
class _Stratum:
    """Rows that one rule is for; `samples` is None if the rule has no counts."""

    name: Group | None
    rule: Rule
    rows: IntArray | slice
    samples: Samples | None


@dataclass(frozen=True, slots=True)
class _Tested:
    findings: tuple[Finding, ...]
    groups: tuple[GroupCheck, ...] = ()
    interval: ScoreInterval | None = None
    approximate: bool = False


def _resolved(
    rule: Any, scores: Any, labels: Any, positive: Any
) -> tuple[Rule | RuleSet, ArrayLike, ArrayLike | None]:
    """Ask a classifier for its scores; rules have theirs, and labels of any kind."""
    if isinstance(rule, Rule | RuleSet):
        if labels is not None:
            labels, _ = validation.binary_labels(labels, positive)
        return rule, scores, labels
    if not hasattr(rule, "classes_") or not hasattr(rule, "responses"):
        msg = (
            "rule must be a Rule, a RuleSet or a fitted IVAPClassifier; got a "
            f"{type(rule).__name__}."
        )
        raise InvalidType(msg)
    from abers.estimators.venn_abers_classifiers import CVAPClassifier

    if isinstance(rule, CVAPClassifier):
        msg = (
            "a classifier to check must have one rule, whose calibration rows recent "
            f"rows can be compared with; a {type(rule).__name__} has the scores of "
            "several models. Use `evaluate`, or an IVAPClassifier."
        )
        raise InvalidType(msg)
    if len(rule.classes_) > 2:
        msg = (
            f"a classifier to check must have two classes; got {len(rule.classes_)}. "
            "Check one class against the rest: the rule `rules_[0][c]` and its scores."
        )
        raise InvalidType(msg)
    if positive is not None and positive != rule.classes_[1]:
        msg = (
            f"positive must be {rule.classes_[1]!r}, the class that the rule of this "
            f"classifier is for; got {positive!r}. Leave it out."
        )
        raise InvalidParameter(msg)
    if labels is None:
        return rule.rules_[0][0], rule.responses(scores).scores[0], None
    answers = answers_of(
        rule, scores, labels, groups=None, before=None, loss="log", counted=None
    )
    asked: Any = answers.scores
    return answers.rules[0], asked, answers.labels


def _recent(
    scores: ArrayLike,
    labels: ArrayLike | None,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> _Recent:
    """Check the columns, and leave out the rows without weight."""
    s = validation.as_scores(scores)
    names = None if groups is None or labels is None else as_groups(groups)
    y = None if labels is None else validation.as_labels(labels)
    for name, column in (("labels", y), ("groups", names)):
        if column is not None:
            validation.check_length(len(column), s.size, name, "scores")
    weights = None
    if sample_weight is not None:
        weights = validation.as_relative_weights(sample_weight, s.size)
        kept = np.flatnonzero(weights)
        s, weights = s[kept], weights[kept]
        y = None if y is None else y[kept]
        names = None if names is None else [names[row] for row in kept]
        if (weights == 1).all():
            weights = None
    return _Recent(s, y, names, weights)


def _drift(fitted: Rule, rows: _Recent, limit: float) -> Finding:
    """Compare the scores with those of the calibration."""
    index = population_stability_index(
        fitted.score_quantiles, rows.scores, sample_weight=rows.weights
    )
    noise = stability_noise(rows.size, fitted.n_observations)
    result, reason = PASS, ""
    if index > limit + noise:
        result = FAIL
    elif index > limit:
        result, reason = INCONCLUSIVE, "few rows"
    title = "score drift (PSI)"
    return Finding("psi", title, index, limit, AT_MOST, result, reason, noise)


def _order(found: Evaluation, fitted: Rule) -> Finding:
    """Look whether the score is inverted."""
    area = found.auc if fitted.increasing else 1 - found.auc
    result, reason = PASS, ""
    if found.is_inverted:
        result = FAIL
    elif math.isnan(area):
        result, reason = INCONCLUSIVE, "one class only"
    elif area < HALF:
        result, reason = INCONCLUSIVE, "few rows"
    return Finding("auc", "AUC", area, HALF, AT_LEAST, result, reason)


def _groups_of(rule: Rule | RuleSet, rows: _Recent) -> list[_Stratum]:
    """Count the recent rows of each group in the cells of its rule."""
    if rows.names is None:
        return []
    return [
        _stratum(name, rule if isinstance(rule, Rule) else rule[name], rows, places)
        for name, places in rows_by_group(rows.names).items()
    ]


def _stratum(
    name: Group | None, rule: Rule, rows: _Recent, places: IntArray | slice
) -> _Stratum:
    if rule.cells is None:
        return _Stratum(name, rule, places, None)
    labels: Any = rows.labels
    weights = None if rows.weights is None else rows.weights[places]
    recent = cells_of_rows(
        rule.cells.cuts, rows.scores[places], labels[places], weights
    )
    samples = Samples(rule.cells, recent, rule.increasing)
    return _Stratum(name, rule, places, samples)


def _tests(
    overall: Sequence[_Stratum],
    strata: Sequence[_Stratum],
    rows: _Recent,
    found: Evaluation,
    alpha: float,
) -> _Tested:
    """Test all rows, if they have one rule, and each group, corrected for both."""
    samples = [stratum.samples for stratum in (*overall, *strata)]
    if None in samples:
        return _Tested((_approximate_mean(found, rows, alpha),), approximate=True)
    most = most_draws(alpha, len(samples))
    changes = [change_of(each, most_draws=most) for each in samples if each is not None]
    corrected = holm([change.p_value for change in changes]).tolist()
    approximate = any(change.approximate for change in changes)
    n_overall = len(overall)
    tested = zip(strata, changes[n_overall:], corrected[n_overall:], strict=True)
    groups = tuple(
        sorted(
            (_group(stratum, rows, change, p, alpha) for stratum, change, p in tested),
            key=lambda group: (group.p_value, -group.n_rows),
        )
    )
    findings: tuple[Finding, ...] = ()
    if overall:
        few = _few(found.n_rows, found.n_positives, found.after.mean_prediction)
        findings = _overall(changes[0], corrected[0], alpha, few)
    if groups:
        findings += (_all_groups(groups, alpha),)
    interval = changes[0].interval if overall else None
    return _Tested(findings, groups, interval, approximate)


def _overall(
    change: Change, corrected: float, alpha: float, few: str
) -> tuple[Finding, ...]:
    """Return the tests of all rows, corrected for the groups as their minimum is."""
    findings = []
    factor = corrected / change.p_value
    for test in change.tests:
        p = min(1.0, test.p_value * factor)
        result, reason = _judged(p, alpha, few)
        if test.name == "scan" and result == FAIL and change.interval is not None:
            reason = str(change.interval)
        title = TITLES[test.name]
        findings.append(Finding(test.name, title, p, alpha, AT_LEAST, result, reason))
    return tuple(findings)


def _all_groups(groups: Sequence[GroupCheck], alpha: float) -> Finding:
    """Return the smallest p-value of all groups, with the names of those that fail."""
    failed = [group for group in groups if group.result == FAIL]
    result = FAIL if failed else PASS
    if not failed and all(group.result == INCONCLUSIVE for group in groups):
        result = INCONCLUSIVE
    shown = [group_name(group.name, 24) for group in failed[:MOST_NAMES]]
    left = len(failed) - MOST_NAMES
    more = f" and {left} more" if left > 0 else ""
    return Finding(
        "groups",
        "change in a group (p-value)",
        min(group.p_value for group in groups),
        alpha,
        AT_LEAST,
        result,
        ", ".join(shown) + more,
    )


def _group(
    stratum: _Stratum, rows: _Recent, change: Change, p_value: float, alpha: float
) -> GroupCheck:
    """Describe a group and its tests."""
    labels: Any = rows.labels
    y, w = labels[stratum.rows], None
    if rows.weights is not None:
        w = rows.weights[stratum.rows]
    p = stratum.rule.probability(rows.scores[stratum.rows])
    mean, n_positives = float(np.average(p, weights=w)), int((y == 1).sum())
    result, _ = _judged(p_value, alpha, _few(y.size, n_positives, mean))
    return GroupCheck(
        name=stratum.name,
        n_rows=y.size,
        n_positives=n_positives,
        mean_prediction=mean,
        observed_rate=float(np.average(y, weights=w)),
        p_value=p_value,
        result=result,
        interval=change.interval,
    )


def _judged(p: float, alpha: float, few: str) -> tuple[str, str]:
    """Fail what is below the level; with few events what is above tells nothing."""
    if p <= alpha:
        return FAIL, ""
    return (INCONCLUSIVE, few) if few else (PASS, "")


def _few(n_rows: int, n_positives: int, mean_prediction: float) -> str:
    """Say which class has too few rows, observed or expected; nothing if none has."""
    expected = mean_prediction * n_rows
    for name, observed, predicted in (
        ("positive", n_positives, expected),
        ("negative", n_rows - n_positives, n_rows - expected),
    ):
        if max(observed, predicted) < FEW_EVENTS:
            return f"only {observed} {name} row{'s' * (observed != 1)}"
    return ""


def _approximate_mean(found: Evaluation, rows: _Recent, alpha: float) -> Finding:
    """Compare the mean prediction with the observed rate, without counts of the fit."""
    p = mean_difference_p(
        found.after.mean_prediction - found.base_rate,
        found.after.standard_error,
        n_rows=rows.size,
        n_fitted=found.provenance.rule_observations,
    )
    result, reason = PASS, "approximate"
    if p <= alpha:
        result, reason = (
            INCONCLUSIVE,
            "approximate: the rule has no counts, fit it again",
        )
    return Finding("mean", TITLES["mean"], p, alpha, AT_LEAST, result, reason)


def _error(
    found: Evaluation,
    strata: Sequence[_Stratum],
    limit: float,
    loss: str,
    *,
    rejected: bool,
) -> Finding:
    """Compare the calibration error with what a rule of this size has anyway."""
    error, title = found.after.calibration_error, "calibration error (ECE)"
    samples = [stratum.samples for stratum in strata if stratum.samples is not None]
    expected = math.nan
    if len(samples) == len(strata):
        expected = error_if_unchanged(samples, loss=loss)
    result, reason = PASS, ""
    if math.isnan(expected):
        result, reason = (INCONCLUSIVE if error > limit else PASS), "approximate"
    else:
        limit += expected
        if error > limit:
            result, reason = (
                (FAIL, "") if rejected else (INCONCLUSIVE, "no test failed")
            )
    return Finding("ece", title, error, limit, AT_MOST, result, reason, expected)


def _check_limits(**limits: float) -> None:
    for name, limit in limits.items():
        most = 1 if name == "alpha" else math.inf
        if not 0 < limit < most:
            msg = f"{name} must be above 0 and below {most}; got {limit!r}."
            raise InvalidParameter(msg)
