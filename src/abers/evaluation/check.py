"""Check: whether a rule still holds on recent rows."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

from abers import validation
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet, as_groups
from abers.errors import InvalidParameter, InvalidType
from abers.evaluation.bands import calibration_band
from abers.evaluation.drift import chance_index, population_stability_index
from abers.evaluation.evaluate import evaluate
from abers.formatting import as_json

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from abers.evaluation.evaluate import Evaluation
    from abers.validation import FloatArray, LabelArray


HOLDS, HOLDS_NOT, UNKNOWN = "holds", "does not hold", "cannot be told"
AT_MOST, AT_LEAST = "at most", "at least"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one test has found.

    Attributes
    ----------
    name : str
        "psi", "ece", "mean", "spiegelhalter", "auc" or "band".
    what : str
        The same in words.
    value, limit : float
        What was found, and what may be.
    kind : str
        What the limit is: "at most" or "at least".
    verdict : str
        "holds", "does not hold" or "cannot be told".
    why : str
        Why it cannot be told; empty otherwise.
    by_chance : float
        What chance alone can make of a right rule; NaN if that is not known.
    """

    name: str
    what: str
    value: float
    limit: float
    kind: str
    verdict: str
    why: str = ""
    by_chance: float = math.nan


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a rule is still right.

    Attributes
    ----------
    findings : tuple of Finding
        One for each test.
    n_rows : int
        Rows that have weight.
    n_positives : int or None
        Those of them labelled 1; None without labels.
    said, happened : float or None
        The mean probability, and the mean label; None without labels.
    judges_own_rows : bool
        Whether the rows look like those that the rule was fitted to.
    """

    findings: tuple[Finding, ...]
    n_rows: int
    n_positives: int | None = None
    said: float | None = None
    happened: float | None = None
    judges_own_rows: bool = False

    @property
    def holds(self) -> bool:
        """Whether no test has failed; one that cannot tell does not fail."""
        return all(found.verdict != HOLDS_NOT for found in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return all as plain types that JSON knows.

        Returns
        -------
        dict
            With a list of the findings. Infinity is "inf", what is not a number None.
        """
        plain: dict[str, Any] = as_json({"holds": self.holds, **asdict(self)})
        return plain


BINS = 10  # of the calibration error
FEW = 5  # rows of a class, below which no test of labels says anything
HALF = 0.5
SEED = 0  # draws the rows of the band


def check(
    rule: Rule | RuleSet,
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    max_psi: float = 0.2,
    max_ece: float = 0.02,
    alpha: float = 0.01,
    loss: str = "log",
) -> Check:
    """Test whether a rule still holds for recent rows.

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
        Most drift of the scores: the population stability index.
    max_ece : float, default=0.02
        Most expected calibration error, in 10 bins of equal width.
    alpha : float, default=0.01
        How often a test may fail though the rule is right.
    loss : {"log", "brier"}, default="log"
        The loss for which bounds are merged to the probabilities that are tested.

    Returns
    -------
    Check
        A finding for each test, and whether all hold.

    Notes
    -----
    "psi" and "ece" hold up to their limit, and fail where chance, which only adds to
    them, does not explain what exceeds it: once in a hundred times for the index, with
    probability `alpha` for the error. "mean" is the p-value of what was said on average
    against what happened, "spiegelhalter" that of his test, which sees probabilities
    that are too bold or too timid. Both add the scatter of the calibration rows to that
    of the recent ones: for rows of the same source they fail about as often as `alpha`
    says, however many they are. (The test of `evaluate` takes the rule for the truth; a
    million rows will always find it out.) "auc" fails if the score runs backwards,
    beyond three standard errors. "band" is the share of rows at which the probability
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
    >>> check(rule, scores[2_000:], labels[2_000:]).holds
    True
    >>> check(rule, scores[2_000:] ** 2).holds  # the scores have become smaller
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
        said=found.after.said,
        happened=found.base_rate,
        judges_own_rows=found.judges_own_rows,
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
        """The number of rows of equal weight that would scatter as much."""
        w = self.weights
        return self.scores.size if w is None else float(w.sum() ** 2 / (w**2).sum())

    def probabilities(self, rule: Rule | RuleSet, loss: str) -> FloatArray:
        """Return what the rule says."""
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
    """Hold the scores against those of the calibration."""
    quantiles = rows.fitted.score_quantiles
    index = population_stability_index(
        quantiles, rows.scores, sample_weight=rows.weights
    )
    chance = chance_index(rows.size, rows.fitted.n_observations)
    what = "score drift (PSI)"
    return _above(Finding("psi", what, index, limit, AT_MOST, HOLDS), chance)


def _error(
    found: Evaluation, rows: _Recent, p: FloatArray, limit: float, alpha: float
) -> Finding:
    """Hold the calibration error against its limit.

    Chance adds to the gap of each bin a normal variable of a known variance, so to the
    error at most the sum of their absolute values.
    """
    w = np.ones(p.size) if rows.weights is None else rows.weights
    cell = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    variances = np.bincount(cell, weights=w**2 * p * (1 - p)) / w.sum() ** 2
    mean = math.sqrt(2 / math.pi) * np.sqrt(variances).sum()
    scatter = math.sqrt((1 - 2 / math.pi) * variances.sum())
    chance = float(mean + ndtri(1 - alpha) * scatter)
    error, what = found.after.calibration_error, "calibration error (ECE)"
    return _above(Finding("ece", what, error, limit, AT_MOST, HOLDS), chance)


def _above(test: Finding, chance: float) -> Finding:
    """Fail a test of a number to which chance adds, unless chance explains it."""
    verdict, why = HOLDS, ""
    if test.value > test.limit + chance:
        verdict = HOLDS_NOT
    elif test.value > test.limit:
        verdict, why = UNKNOWN, "few rows"
    return replace(test, verdict=verdict, why=why, by_chance=chance)


def _mean(found: Evaluation, rows: _Recent, alpha: float) -> Finding:
    """Hold what was said on average against what happened."""
    gap, error = found.base_rate - found.after.said, found.after.standard_error
    test = Finding("mean", "mean (p-value)", math.nan, alpha, AT_LEAST, UNKNOWN)
    if not error:
        return replace(test, why="probabilities are all 0 or 1")
    return _scattered(test, gap / error, rows)


def _spiegelhalter(found: Evaluation, rows: _Recent, alpha: float) -> Finding:
    """Test the calibration as a whole."""
    what = "calibration (p-value)"
    test = Finding("spiegelhalter", what, math.nan, alpha, AT_LEAST, UNKNOWN)
    if math.isnan(found.after.test.statistic):
        return replace(test, why="probabilities are all 0, 1/2 or 1")
    return _scattered(test, found.after.test.statistic, rows)


def _scattered(test: Finding, statistic: float, rows: _Recent) -> Finding:
    """Test a sum that is about standard normal if the rule is the truth.

    The probabilities of a rule add up to the labels that it was fitted to, level by
    level. So a sum over levels scatters by both kinds of rows, and its variance is
    larger by the recent rows' number divided by that of the calibration.
    """
    inflated = math.sqrt(1 + rows.size / rows.fitted.n_observations)
    p_value = float(2 * ndtr(-abs(statistic) / inflated))
    verdict = HOLDS if p_value >= test.limit else HOLDS_NOT
    return replace(test, value=p_value, verdict=verdict)


def _order(found: Evaluation, rows: _Recent) -> Finding:
    """Ask whether the score runs backwards."""
    area = found.auc if rows.fitted.increasing else 1 - found.auc
    verdict, why = HOLDS, ""
    if found.runs_backwards:
        verdict = HOLDS_NOT
    elif math.isnan(area):
        verdict, why = UNKNOWN, "one class only"
    elif area < HALF:
        verdict, why = UNKNOWN, "few rows"
    return Finding("auc", "order of scores (AUC)", area, HALF, AT_LEAST, verdict, why)


def _band(rule: Rule | RuleSet, rows: _Recent, p: FloatArray, alpha: float) -> Finding:
    """Ask whether the rule leaves the band of the calibration curve.

    The band knows only how recent rows scatter. As many of them as the calibration had
    make it wide enough for what its rows scatter, too.
    """
    name, what = "band", "rows outside the band"
    if rows.weights is not None:
        why = "rows have weights"
        return Finding(name, what, math.nan, 0.0, AT_MOST, UNKNOWN, why)
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
    verdict = HOLDS_NOT if share else HOLDS
    return Finding(name, what, share, 0.0, AT_MOST, verdict)


def _doubted(test: Finding, found: Evaluation) -> Finding:
    """Take back what was found of too few rows of a class, come or expected."""
    n, ones, expected = found.n_rows, found.n_positives, found.after.said * found.n_rows
    for name, came, said in (
        ("positive", ones, expected),
        ("negative", n - ones, n - expected),
    ):
        if max(came, said) < FEW:
            why = f"only {came} {name} row{'s' * (came != 1)}"
            return replace(test, verdict=UNKNOWN, why=why)
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
