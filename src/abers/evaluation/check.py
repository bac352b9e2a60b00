"""Check: tests of a rule on recent rows."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from abers import validation
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet, as_groups
from abers.errors import InvalidParameter, InvalidType
from abers.evaluation.bands import calibration_band
from abers.evaluation.calibration_tests import two_sided_p
from abers.evaluation.drift import population_stability_index, stability_noise
from abers.evaluation.evaluate import evaluate
from abers.formatting import as_json
from abers.thresholds import FEW_EVENTS, LARGE_DRIFT, LARGEST_ECE, SIGNIFICANCE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.evaluation.evaluate import Evaluation
    from abers.validation import FloatArray, LabelArray


PASS, FAIL, INCONCLUSIVE = "pass", "fail", "inconclusive"
AT_MOST, AT_LEAST = "at most", "at least"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one test.

    Attributes
    ----------
    name : str
        "psi", "ece", "mean", "spiegelhalter", "auc" or "band".
    title : str
        The name of the test for people.
    value, limit : float
        The statistic or p-value, and its limit.
    kind : str
        What the limit is: "at most" or "at least".
    result : str
        "pass", "fail" or "inconclusive".
    reason : str
        Why the test is inconclusive; empty otherwise.
    noise_level : float
        What sampling noise alone can reach if the rule is right; NaN if unknown.
    """

    name: str
    title: str
    value: float
    limit: float
    kind: str
    result: str
    reason: str = ""
    noise_level: float = math.nan


@dataclass(frozen=True, slots=True, repr=False)
class Check:
    """The results of all tests.

    Attributes
    ----------
    findings : tuple of Finding
        One for each test.
    n_rows : int
        Rows that have weight.
    n_positives : int or None
        Those of them labelled 1; None without labels.
    mean_prediction, observed_rate : float or None
        The mean probability and the mean label; None without labels.
    in_sample : bool or None
        Whether the rows look like those that the rule was fitted to; None if unknown.
    """

    findings: tuple[Finding, ...]
    n_rows: int
    n_positives: int | None = None
    mean_prediction: float | None = None
    observed_rate: float | None = None
    in_sample: bool | None = None

    @property
    def passed(self) -> bool:
        """Whether no test failed; an inconclusive test does not fail."""
        return all(found.result != FAIL for found in self.findings)

    def __repr__(self) -> str:
        results = ", ".join(f"{found.name}: {found.result}" for found in self.findings)
        return f"Check({self.n_rows} rows; {results})"

    def to_dict(self) -> dict[str, Any]:
        """Return all as plain types that JSON knows.

        Returns
        -------
        dict
            With a list of the findings. Infinity is "inf", what is not a number None.
        """
        plain: dict[str, Any] = as_json({"passed": self.passed, **asdict(self)})
        return plain


BINS = 10  # of the calibration error
HALF = 0.5
SEED = 0  # draws the rows of the band


def check(
    rule: Rule | RuleSet,
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    max_psi: float = LARGE_DRIFT,
    max_ece: float = LARGEST_ECE,
    alpha: float = SIGNIFICANCE,
    loss: str = "log",
) -> Check:
    """Test whether a rule is still calibrated on recent rows.

    Parameters
    ----------
    rule : Rule or RuleSet
        What to check.
    scores : array-like of shape (n,)
        Recent scores.
    labels : array-like of shape (n,), default=None
        0 or 1. Without them only the drift of the scores is tested.
    groups : array-like of shape (n,), default=None
        The group of each row; needed to test a rule set by labels.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.
    max_psi : float, default=0.2
        The largest acceptable population stability index of the scores.
    max_ece : float, default=0.02
        The largest acceptable expected calibration error, in 10 bins of equal width.
    alpha : float, default=0.01
        The significance level of each test.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged to the probabilities that are tested.

    Returns
    -------
    Check
        A finding for each test, and whether none failed.

    Notes
    -----
    "psi" and "ece" pass up to their limit, and fail where sampling noise, which only
    adds to them, does not explain the excess: with probability 0.01 for the index, and
    `alpha` for the error. "mean" is calibration-in-the-large, the p-value of the mean
    prediction against the observed rate; "spiegelhalter" is that of his test, which
    sees probabilities that are too extreme or not extreme enough. Both add the scatter
    of the calibration rows to that of the recent ones: for rows of the same source they
    fail about as often as `alpha` says, however many they are. (The test of `evaluate`
    takes the rule for the truth; a million rows will always reject it.) "auc" fails if
    the score is inverted. "band" is the share of rows at which the probability
    leaves the band that holds the whole calibration curve at confidence 1 - `alpha`;
    the band is that of at most as many recent rows as the rule was fitted to, drawn at
    random.

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
    _check_options(rule, max_psi=max_psi, max_ece=max_ece, alpha=alpha)
    rows = _recent(rule, scores, labels, groups, sample_weight)
    drift = _drift(rows, max_psi)
    if rows.labels is None:
        return Check((drift,), rows.scores.size)
    found = evaluate(
        rule,
        rows.scores,
        rows.labels,
        sample_weight=rows.weights,
        groups=rows.groups,
        loss=loss,
    )
    p = rows.probabilities(rule, loss)
    tests = (
        _error(found, rows, p, max_ece, alpha),
        _mean(found, rows, alpha),
        _spiegelhalter(found, rows, alpha),
        _order(found, rows),
        _band(rule, rows, p, alpha),
    )
    return Check(
        findings=(drift, *(_doubted(test, found) for test in tests)),
        n_rows=found.n_rows,
        n_positives=found.n_positives,
        mean_prediction=found.after.mean_prediction,
        observed_rate=found.base_rate,
        in_sample=found.in_sample,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Recent:
    """The rows that count."""

    fitted: Rule  # whose counts and quantiles are those of the calibration
    scores: FloatArray
    labels: LabelArray | None
    groups: Any  # a list of names, or None
    weights: FloatArray | None

    @property
    def size(self) -> float:
        """The effective number of rows."""
        w = self.weights
        return self.scores.size if w is None else float(w.sum() ** 2 / (w**2).sum())

    def probabilities(self, rule: Rule | RuleSet, loss: str) -> FloatArray:
        """Return the predictions of the rule."""
        if isinstance(rule, RuleSet):
            return rule.probability(self.scores, self.groups, loss)
        return rule.probability(self.scores, loss)


def _recent(
    rule: Rule | RuleSet,
    scores: ArrayLike,
    labels: ArrayLike | None,
    groups: ArrayLike | None,
    sample_weight: ArrayLike | None,
) -> _Recent:
    """Leave out the rows without weight."""
    s = validation.as_scores(scores)
    names = None if groups is None or labels is None else as_groups(groups)
    y = None if labels is None else validation.as_labels(labels)
    for name, column in (("labels", y), ("groups", names)):
        if column is not None:
            validation.check_length(len(column), s.size, name, "scores")
    weights = None
    if sample_weight is not None:
        weights = validation.as_weights(sample_weight, s.size)
        validation.check_total(weights, "sample_weight")
        kept = np.flatnonzero(weights)
        s, weights = s[kept], weights[kept]
        y = None if y is None else y[kept]
        names = None if names is None else [names[row] for row in kept]
    pooled = rule.pooled if isinstance(rule, RuleSet) else rule
    return _Recent(pooled, s, y, names, weights)


def _drift(rows: _Recent, limit: float) -> Finding:
    """Compare the scores with those of the calibration."""
    quantiles = rows.fitted.score_quantiles
    index = population_stability_index(
        quantiles, rows.scores, sample_weight=rows.weights
    )
    noise = stability_noise(rows.size, rows.fitted.n_observations)
    title = "score drift (PSI)"
    return _above(Finding("psi", title, index, limit, AT_MOST, PASS), noise)


def _error(
    found: Evaluation, rows: _Recent, p: FloatArray, limit: float, alpha: float
) -> Finding:
    """Compare the calibration error with its limit.

    Noise adds to the gap of each bin a normal variable of a known variance, so to the
    error at most the sum of their absolute values.
    """
    w = np.ones(p.size) if rows.weights is None else rows.weights
    cell = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    variances = np.bincount(cell, weights=w**2 * p * (1 - p)) / w.sum() ** 2
    mean = math.sqrt(2 / math.pi) * np.sqrt(variances).sum()
    scatter = math.sqrt((1 - 2 / math.pi) * variances.sum())
    noise = float(mean + ndtri(1 - alpha) * scatter)
    error, title = found.after.calibration_error, "calibration error (ECE)"
    return _above(Finding("ece", title, error, limit, AT_MOST, PASS), noise)


def _above(test: Finding, noise: float) -> Finding:
    """Fail a test of a number to which noise adds, unless noise explains it."""
    result, reason = PASS, ""
    if test.value > test.limit + noise:
        result = FAIL
    elif test.value > test.limit:
        result, reason = INCONCLUSIVE, "few rows"
    return replace(test, result=result, reason=reason, noise_level=noise)


def _mean(found: Evaluation, rows: _Recent, alpha: float) -> Finding:
    """Compare the mean prediction with the observed rate."""
    gap, error = (
        found.base_rate - found.after.mean_prediction,
        found.after.standard_error,
    )
    title = "calibration-in-the-large (p-value)"
    test = Finding("mean", title, math.nan, alpha, AT_LEAST, INCONCLUSIVE)
    if not error:
        return replace(test, reason="probabilities are all 0 or 1")
    return _scattered(test, gap / error, rows)


def _spiegelhalter(found: Evaluation, rows: _Recent, alpha: float) -> Finding:
    """Test the calibration as a whole."""
    title = "Spiegelhalter test (p-value)"
    test = Finding("spiegelhalter", title, math.nan, alpha, AT_LEAST, INCONCLUSIVE)
    if math.isnan(found.after.test.statistic):
        return replace(test, reason="probabilities are all 0, 1/2 or 1")
    return _scattered(test, found.after.test.statistic, rows)


def _scattered(test: Finding, statistic: float, rows: _Recent) -> Finding:
    """Test a sum that is about standard normal if the rule is the truth.

    The probabilities of a rule add up to the labels that it was fitted to, level by
    level. So a sum over levels scatters by both kinds of rows, and its variance is
    larger by the recent rows' number divided by that of the calibration.
    """
    inflated = math.sqrt(1 + rows.size / rows.fitted.n_observations)
    p = two_sided_p(statistic / inflated)
    return replace(test, value=p, result=PASS if p >= test.limit else FAIL)


def _order(found: Evaluation, rows: _Recent) -> Finding:
    """Test whether the score is inverted."""
    area = found.auc if rows.fitted.increasing else 1 - found.auc
    result, reason = PASS, ""
    if found.is_inverted:
        result = FAIL
    elif math.isnan(area):
        result, reason = INCONCLUSIVE, "one class only"
    elif area < HALF:
        result, reason = INCONCLUSIVE, "few rows"
    return Finding("auc", "AUC", area, HALF, AT_LEAST, result, reason)


def _band(rule: Rule | RuleSet, rows: _Recent, p: FloatArray, alpha: float) -> Finding:
    """Test whether the rule leaves the band of the calibration curve.

    The band allows for the scatter of recent rows only. With as many of them as the
    calibration had it is wide enough for the scatter of both.
    """
    name, title = "band", "rows outside the band"
    if rows.weights is not None:
        reason = "rows have weights"
        return Finding(name, title, math.nan, 0.0, AT_MOST, INCONCLUSIVE, reason)
    x = p
    if isinstance(rule, Rule):
        x = rows.scores if rule.increasing else 0.0 - rows.scores
    most = max(1, int(rows.fitted.n_observations))
    drawn: NDArray[Any] | slice = slice(None)
    if most < x.size:
        drawn = np.random.default_rng(SEED).choice(x.size, most, replace=False)
    labels = validation.as_labels(rows.labels)
    band = calibration_band(x[drawn], labels[drawn], confidence=1 - alpha)
    lower = np.append(0.0, band.lower)[np.searchsorted(band.scores, x, side="right")]
    upper = np.append(band.upper, 1.0)[np.searchsorted(band.scores, x, side="left")]
    share = float(((p < lower) | (p > upper)).mean())
    return Finding(name, title, share, 0.0, AT_MOST, FAIL if share else PASS)


def _doubted(test: Finding, found: Evaluation) -> Finding:
    """Make a test inconclusive if a class has too few rows, observed or expected."""
    n, ones = found.n_rows, found.n_positives
    expected = found.after.mean_prediction * n
    for name, observed, predicted in (
        ("positive", ones, expected),
        ("negative", n - ones, n - expected),
    ):
        if max(observed, predicted) < FEW_EVENTS:
            reason = f"only {observed} {name} row{'s' * (observed != 1)}"
            return replace(test, result=INCONCLUSIVE, reason=reason)
    return test


def _check_options(rule: object, **limits: float) -> None:
    if not isinstance(rule, Rule | RuleSet):
        msg = f"rule must be a Rule or a RuleSet; got a {type(rule).__name__}."
        raise InvalidType(msg)
    for name, limit in limits.items():
        most = 1 if name == "alpha" else math.inf
        if not 0 < limit < most:
            msg = f"{name} must be above 0 and below {most}; got {limit!r}."
            raise InvalidParameter(msg)
