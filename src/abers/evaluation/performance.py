"""Performance without labels: what metrics of unlabelled rows are likely to be.

Accuracy, cost, log loss and Brier loss of some rows are c0 + sum_j c_j y_j, where the
coefficients depend on the predictions alone; AUC nearly is, near the expected labels.
If P(label = 1 | score) is still what it was at calibration, pi_j, the isotonic fit to
the calibration rows at the score of row j, is an estimate of it, and c0 + sum_j c_j
pi_j one of the metric. The merged probability would not do: it is pulled towards 1/2,
and a metric estimated from it says how good the rule would be if it were right.

Two things make the metric differ from the estimate. The labels of the new rows vary,
by c_j^2 pi_j (1 - pi_j) each. And the isotonic fit varies with its calibration rows:
rows of a block share its value, so a block adds (sum of its c_j)^2 times the variance
of a mean of its n calibration rows, r (1 - r) / n with r = (y + 1/2) / (n + 1).

The isotonic fit is biased as well, in two ways. It is too coarse where its blocks are
wide and the curve is steep: so each end of the interval begins at the bounds, the lower
or the upper one, whichever moves the metric to that side. And it is too fine where the
curve is flat: there it sees differences where there are none, and AUC looks too good.
So the metric is computed from a coarser fit, too, whose neighbouring blocks differ
significantly, and the interval is widened to that side by the difference.

Rules do not keep all their calibration rows, but count them in cells of a percent or
less. Blocks are those of the isotonic fit to these counts. Its values are moved into
the bounds of each score, between which the isotonic fit to the rows themselves lies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from abers import validation
from abers.choices import MetricName
from abers.core.decisions import as_cost
from abers.core.isotonic import isotonic_regression
from abers.core.rule_set import RuleSet
from abers.errors import InvalidParameter, InvalidType
from abers.evaluation.counts import positive_weights
from abers.evaluation.discrimination import Estimate
from abers.evaluation.predictor import (
    calibrated,
    predictions_without_labels,
    why_without_counts,
)
from abers.formatting import Table, as_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from abers.core.cells import Cells
    from abers.core.predictions import Predictions
    from abers.validation import FloatArray, IntArray

METRICS: tuple[MetricName, ...] = get_args(MetricName)
CONFIDENCE = 0.95
ROUNDING = 1e-12  # of a sum over all rows
HALF = 0.5
TITLES = {
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "brier": "Brier loss",
    "auc": "AUC",
    "cost": "mean cost",
}
CAVEAT = (
    "This holds only if the probability of a label, given the score, is still what it "
    "was at calibration; without labels nothing can show whether it is."
)


@dataclass(frozen=True, slots=True, repr=False)
class PerformanceEstimate(Mapping[str, Estimate]):
    """Metrics of unlabelled rows: a mapping from metric to (value, lower, upper).

    Attributes
    ----------
    estimates : dict
        An `Estimate` for each metric. NaN: the AUC if only one class is expected, and
        the log loss of probabilities of 0 or 1, which one label makes infinite.
    n_rows : int
        Number of rows with positive weight.
    confidence : float
        The nominal coverage of each interval.
    caveat : str
        What must hold, in a sentence.
    """

    estimates: dict[str, Estimate]
    n_rows: int
    confidence: float = CONFIDENCE
    caveat: str = CAVEAT

    def __getitem__(self, metric: str) -> Estimate:
        return self.estimates[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def table(self) -> Table:
        """Return the estimates as a table for people.

        Returns
        -------
        Table
            One row per metric.
        """
        return Table.of(
            list(self.estimates.items()),
            {
                "expected": lambda item: TITLES[item[0]],
                "estimate": lambda item: _number(item[1].value),
                f"{100 * self.confidence:g} % from": lambda item: _number(
                    item[1].lower
                ),
                "to": lambda item: _number(item[1].upper),
            },
            caption="Expected without labels",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON types.

        Returns
        -------
        dict
            Infinity becomes "inf", NaN becomes None.
        """
        plain: dict[str, Any] = as_json(self)
        return plain

    def __repr__(self) -> str:
        return f"{self.table().text()}\n{self.caveat}"


def estimate_performance(
    predictor: Any,
    X: Any,
    *,
    metrics: Sequence[MetricName] = METRICS,
    probabilities: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    confidence: float = CONFIDENCE,
) -> PerformanceEstimate:
    """Estimate metrics of rows whose labels are not known yet.

    Parameters
    ----------
    predictor : Rule, calibrator or fitted classifier
        With a single rule for two classes that counted its calibration rows, such as an
        IVAPClassifier or a CalibratedClassifier of a frozen model.
    X : array-like of shape (n,), or (n, features) for a classifier
        Scores for a rule, the columns that a calibrator reads, or the features that a
        classifier scores.
    metrics : sequence of str, default=("accuracy", "log_loss", "brier", "auc", "cost")
        What to estimate. Classes are predicted, and actions taken, at probabilities
        above 1/2, and above cost_fp / (cost_fp + cost_fn).
    probabilities : array-like of shape (n,), default=None
        Probabilities of label 1 to judge instead of those of the predictor: those of
        the model before calibration, say.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.
    cost_fp, cost_fn : float, default=1
        The cost of a false positive and of a false negative; with both 1, "cost" is the
        share of wrong classes.
    confidence : float, default=0.95
        Nominal coverage of each interval.

    Returns
    -------
    PerformanceEstimate
        A mapping from metric to (value, lower, upper), and a `caveat`.

    Notes
    -----
    The interval is for the metric that these rows will have when their labels are
    known. It allows for the chance in these labels, for the calibration rows that the
    rule has, and for the bias of isotonic regression, by the bounds. It assumes that
    P(label = 1 | score) is what it was at calibration and rises with the score. If that
    has changed, or if the rule was fitted to other rows than its scores come from,
    nothing can be said; that scores come more or less often than they did does no harm,
    but where there are few calibration rows the interval is wide.

    In simulations the intervals covered in .94 and more of the runs:
    `benchmarks/PERFORMANCE.md`.

    Examples
    --------
    >>> import numpy as np
    >>> import abers
    >>> from abers.evaluation import estimate_performance
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(2_000)
    >>> rule = abers.fit_rule(scores, rng.random(2_000) < scores)
    >>> new = rng.random(5_000) ** 2  # more low scores than there were
    >>> estimated = estimate_performance(rule, new, metrics=["accuracy", "auc"])
    >>> value, lower, upper = estimated["accuracy"]
    >>> labels = rng.random(5_000) < new  # they come later
    >>> observed = ((rule.probability(new) > 0.5) == labels).mean()
    >>> bool(lower < observed < upper)
    True
    """
    for place, metric in enumerate(metrics):
        validation.check_choice(metric, METRICS, f"metrics[{place}]")
    validation.check_confidence(confidence)
    costs = Costs(
        as_cost(cost_fp, "cost_fp", positive=True),
        as_cost(cost_fn, "cost_fn", positive=True),
    )
    rule, X = calibrated(predictor, X)
    if isinstance(rule, RuleSet):
        msg = (
            "predictor must be a single rule, since each group has counts of its own; "
            "got a RuleSet. Estimate group by group, with rules[group]."
        )
        raise InvalidType(msg)
    predictions = predictions_without_labels(rule, X)
    if why := why_without_counts(rule, predictions):
        msg = (
            "predictor must have a single rule for two classes that counted its "
            f"calibration rows; {why}."
        )
        raise InvalidParameter(msg)
    p = predictions.probabilities[:, -1]
    if probabilities is not None:
        p = validation.as_probabilities(probabilities, "probabilities")
        validation.check_length(p.size, predictions.n_rows, "probabilities", "X")
    weights, kept = positive_weights(sample_weight, predictions.n_rows)
    if kept is not None:
        predictions, p = predictions.taken(kept), p[kept]
    return performance_of(
        predictions, p, weights, metrics, costs=costs, confidence=confidence
    )


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.4f}"


class Costs(NamedTuple):
    """What wrong decisions cost."""

    false_positive: float
    false_negative: float


UNIT_COSTS = Costs(1.0, 1.0)


class Linear(NamedTuple):
    """A metric as constant + coefficients @ labels, and the values it can have."""

    constant: float
    coefficients: FloatArray
    most: float


def performance_of(
    predictions: Predictions,
    probabilities: FloatArray,
    weights: FloatArray | None = None,
    metrics: Sequence[str] = METRICS,
    *,
    costs: Costs = UNIT_COSTS,
    confidence: float = CONFIDENCE,
) -> PerformanceEstimate:
    """Estimate metrics of probabilities; `predictions` are by one rule with counts."""
    rule: Any = predictions.by_fold[0].fits[0]
    scores, p = predictions.by_fold[0].scores[0], probabilities
    shares = np.full(p.size, 1 / p.size) if weights is None else weights / weights.sum()
    lower, upper = rule.bounds(scores).T
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    blocks = _Blocks.of(rule.cells, scores, z, increasing=rule.increasing)
    pi = np.clip(blocks.values, lower, upper)

    def estimate(metric: Callable[[FloatArray], Linear]) -> Estimate:
        linear, coarse = metric(pi), metric(blocks.coarse)
        constant, c, most = linear
        value = constant + c @ pi
        if math.isnan(value):
            return Estimate(math.nan, math.nan, math.nan)
        noise = z * math.sqrt((c**2) @ (pi * (1 - pi)) + blocks.variance(c)) + ROUNDING
        bias = coarse.constant + coarse.coefficients @ blocks.coarse - value
        below = constant + c @ np.where(c > 0, lower, upper) + min(0.0, bias) - noise
        above = constant + c @ np.where(c > 0, upper, lower) + max(0.0, bias) + noise
        return Estimate(float(value), float(max(0.0, below)), float(min(most, above)))

    functions = {
        "accuracy": partial(_accuracy, p, shares),
        "log_loss": partial(_log_loss, p, shares),
        "brier": partial(_brier, p, shares),
        "auc": partial(_auc, p, shares),
        "cost": partial(_cost, p, shares, costs),
    }
    estimates = {metric: estimate(functions[metric]) for metric in metrics}
    return PerformanceEstimate(estimates, p.size, confidence)


class _Blocks(NamedTuple):
    """The isotonic fit to the counts of a rule, at some scores."""

    place: IntArray  # the block of each score
    values: FloatArray  # the fit at each score
    coarse: FloatArray  # the coarser fit at each score
    variances: FloatArray  # of the value of each block

    @classmethod
    def of(
        cls, cells: Cells, scores: FloatArray, z: float, *, increasing: bool
    ) -> _Blocks:
        """Fit the rates of the cells; the coarser fit differs by z standard errors."""
        held = cells.counts > 0  # the first cell is empty if its cut is the least score
        starts = np.append(-np.inf, cells.cuts)[held]
        counts, ones = cells.counts[held], cells.positives[held]
        fit = isotonic_regression(ones / counts, counts, increasing=increasing)
        n, y = (np.add.reduceat(each, fit.first) for each in (counts, ones))
        if cells.squares is not None:  # by the effective number of rows
            effective = n**2 / np.add.reduceat(cells.squares[held], fit.first)
            n, y = effective, y / n * effective
        cell = np.maximum(np.searchsorted(starts, scores, side="right") - 1, 0)
        place = np.searchsorted(fit.first, cell, side="right") - 1
        coarse = _merged(n, y, z)[place]
        return cls(place, fit.values[cell], coarse, _variances(n, y))

    def variance(self, coefficients: FloatArray) -> float:
        """Return the variance of the metric that comes from the calibration rows."""
        sums = np.bincount(self.place, coefficients, self.variances.size)
        return float(sums**2 @ self.variances)


def _variances(n: FloatArray, y: FloatArray) -> FloatArray:
    """Return the variances of shares of y ones among n rows."""
    r = (y + HALF) / (n + 1)
    return r * (1 - r) / n


def _merged(n: FloatArray, y: FloatArray, z: float) -> FloatArray:
    """Merge the neighbours that differ least, until all differ by z standard errors.

    >>> _merged(np.array([100.0, 100.0, 100.0]), np.array([10.0, 12.0, 90.0]), 2.0)
    array([0.11, 0.11, 0.9 ])
    """
    sizes = np.ones(n.size, dtype=np.int64)
    while n.size > 1:
        variances, rates = _variances(n, y), (y + HALF) / (n + 1)
        distances = abs(np.diff(rates)) / np.sqrt(variances[1:] + variances[:-1])
        place = int(distances.argmin())
        if distances[place] >= z:
            break
        first = np.delete(np.arange(n.size), place + 1)
        n, y, sizes = (np.add.reduceat(each, first) for each in (n, y, sizes))
    return np.repeat(y / n, sizes)


def _accuracy(p: FloatArray, shares: FloatArray, _: FloatArray) -> Linear:
    is_one = p > HALF
    return Linear(shares[~is_one].sum(), np.where(is_one, shares, -shares), 1.0)


def _cost(p: FloatArray, shares: FloatArray, costs: Costs, _: FloatArray) -> Linear:
    false_positive, false_negative = costs
    acts = p > false_positive / (false_positive + false_negative)
    return Linear(
        false_positive * shares[acts].sum(),
        shares * np.where(acts, -false_positive, false_negative),
        max(costs),
    )


def _brier(p: FloatArray, shares: FloatArray, _: FloatArray) -> Linear:
    return Linear(float(shares @ p**2), shares * (1 - 2 * p), 1.0)


def _log_loss(p: FloatArray, shares: FloatArray, _: FloatArray) -> Linear:
    if ((p == 0) | (p == 1)).any():  # one wrong label makes it infinite
        return Linear(math.nan, np.zeros(p.size), math.inf)
    of_zero, of_one = -np.log1p(-p), -np.log(p)
    return Linear(float(shares @ of_zero), shares * (of_one - of_zero), math.inf)


def _auc(p: FloatArray, shares: FloatArray, pi: FloatArray) -> Linear:
    """Return the tangent of the AUC at the expected labels.

    The AUC is N / D, with N = sum of w_i w_j y_i (1 - y_j) k_ij over pairs of different
    rows, k_ij = 1, 1/2 or 0 for p_i above, at or below p_j, and D the same without k.
    """
    _, place = np.unique(p, return_inverse=True)
    ones, zeros = shares * pi, shares * (1 - pi)

    def below(masses: FloatArray) -> FloatArray:
        """Return what lies below each row, and half of what is tied with it."""
        at = np.bincount(place, masses)
        return (np.cumsum(at) - at / 2)[place]

    above = ones.sum() - below(ones)  # half of the ties, too
    # A row is not paired with itself.
    in_order = below(zeros) - above - (zeros - ones) / 2
    pairs = zeros.sum() - ones.sum() - (zeros - ones)
    n = ones @ (below(zeros) - zeros / 2)
    d = ones @ (zeros.sum() - zeros)
    if not d > 0:
        return Linear(math.nan, np.zeros(p.size), 1.0)
    auc = n / d
    slopes = shares * (in_order - auc * pairs) / d
    return Linear(auc - slopes @ pi, slopes, 1.0)
