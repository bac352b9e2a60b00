"""Regression: bounds for the mean of a numeric target, by isotonic regression.

A target y between a and b counts as (y - a) / (b - a) ones and (b - y) / (b - a) zeros.
The isotonic regression of these counts is that of the targets, so the bounds are those
of a rule, rescaled from [0, 1] to [a, b]. An unknown end is replaced by one of the most
extreme targets, and targets beyond it are moved to it (`_Ends`).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, NoReturn

import numpy as np

from abers import validation
from abers._kernel import Table
from abers.core import guarantees
from abers.core.diagram import Diagram, diagram_of_counts
from abers.core.fit import rule_of_diagram
from abers.core.fitted import Contents, Layout, is_number_or_none, is_whole
from abers.core.inverted import FALSE_ALARMS, FEW_PIECES
from abers.core.step_rule import ARRAYS, FACTS, StepRule, table_of
from abers.core.units import magnitudes, scale_for, shown, total_text, units
from abers.errors import (
    InvalidData,
    InvalidParameter,
    InvalidType,
    InvertedScoresWarning,
    warn,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from abers.core.fitted import Arrays, Facts
    from abers.core.guarantees import Guarantee
    from abers.validation import FloatArray

BOUND_TOLERANCE = 1e-12  # of bounds, relative to the distance of the ends
UNIT = 2.0**-50  # of counted targets, relative to the total weight
INVERTED = (
    "The score is inverted (rank correlation {:.3f}): higher scores go with {} targets."
    " Fit with increasing={}, or negate the score."
)


class RegressionRule(StepRule):
    """A fitted inductive Venn-Abers regressor: two step functions of the score.

    Made by `fit_regression_rule` or `abers.load`. It is immutable: its arrays are
    read-only, equal rules compare equal, and threads may share one.

    The **bounds** of a score are the value that isotonic regression gives the new case
    if its target is as low as possible, and if it is as high as possible. The value for
    the target that the case really has lies between the two, and is calibrated as long
    as new cases resemble the calibration cases and all of these have weight 1. They are
    bounds for a mean, not an interval in which the target lies, and they shrink to a
    point as data grow.

    With both `low` and `high`, that holds for the targets themselves. An end that was
    not given is **trimmed**: the `trim` most extreme targets at that end are moved to
    the next one, and the value is calibrated for the moved targets. At most
    `trimmed_share` of new targets are moved.

    Examples
    --------
    >>> import abers
    >>> rule = abers.rules.fit_regression_rule([1, 2, 3], [10, 30, 20], low=10, high=30)
    >>> rule.bounds([1, 2, 3])  # of 2: (10 + 30 + 20) / 3, (30 + 30 + 20) / 3
    array([[10.        , 20.        ],
           [20.        , 26.66666667],
           [20.        , 26.66666667]])
    >>> rule.value([1])  # the midpoint
    array([15.])
    """

    __slots__ = ("_high", "_low", "_trim")
    _layout: ClassVar = Layout(
        "regression-rule",
        arrays=ARRAYS,
        facts={
            **FACTS,
            "high": is_number_or_none,
            "low": is_number_or_none,
            "trim": is_whole,
        },
    )

    def __init__(
        self,
        table: Table,
        *,
        n_rows: float,
        low: float | None,
        high: float | None,
        trim: int,
        increasing: bool,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            table,
            n_rows=n_rows,
            increasing=increasing,
            metadata=metadata,
        )
        self._low = low
        self._high = high
        self._trim = trim

    @property
    def low(self) -> float | None:
        """The smallest possible target; None if this end is trimmed."""
        return self._low

    @property
    def high(self) -> float | None:
        """The largest possible target; None if this end is trimmed."""
        return self._high

    @property
    def trim(self) -> int:
        """The number of targets trimmed at each end that was not given; else 0."""
        return self._trim

    @property
    def trimmed_share(self) -> float:
        """The largest probability that a new target is itself moved by trimming.

        It is `trim / (n_rows + 1)` for each end that was not given, for cases
        that resemble the calibration cases; 0 if both ends were given.
        """
        ends = (self._low is None) + (self._high is None)
        return ends * self._trim / (self._n_rows + 1)

    @property
    def guarantee(self) -> Guarantee:
        """Whether one of the bounds is proven to be calibrated; if not, why."""
        whole = self._n_rows == int(self._n_rows)
        return guarantees.MEAN if whole else guarantees.WEIGHTED

    def value(self, scores: ArrayLike, *, n_threads: int = 1) -> FloatArray:
        """Return one value for each score: the midpoint of its bounds.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        n_threads : int, default=1
            Number of threads, used if there are many rows.

        Returns
        -------
        ndarray of shape (n,)
            No guarantee of calibration is proven for it.
        """
        return midpoints(self.bounds(scores, n_threads=n_threads))

    def _contents(self) -> Contents:
        facts, arrays = super()._contents()
        ends = {"low": self._low, "high": self._high, "trim": self._trim}
        return Contents(facts | ends, arrays)

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        RegressionRule.__init__(self, table_of(arrays), **facts)

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        return super()._flaw(facts, arrays) or _flaw_of_ends(facts, arrays)

    def __repr__(self) -> str:
        low, high = (
            "trimmed" if end is None else f"{end:g}" for end in (self._low, self._high)
        )
        direction = "" if self._increasing else ", decreasing"
        return (
            f"RegressionRule({total_text(self._n_rows)} rows, low {low}, "
            f"high {high}, {self.lower.size} pieces{direction})"
        )


def _flaw_of_ends(facts: Facts, arrays: Arrays) -> str | None:
    """Return why no targets between these ends can have these bounds, or None."""
    lower, upper = arrays["lower"], arrays["upper"]
    low, high, trim = facts["low"], facts["high"], facts["trim"]
    total = facts["n_rows"]
    if low is not None and high is not None and low >= high:
        return "its low is not below its high"
    given = low is not None and high is not None
    if given != (trim == 0) or total < least_weight(low, high, trim):
        return "it is not trimmed by fewer targets than it has"
    least = lower.min() if low is None else low
    most = upper.max() if high is None else high
    if not (least <= lower.min() and upper.max() <= most):
        return "its bounds are not between its ends"
    with np.errstate(over="ignore"):
        span = most - least
    # The new target has weight 1, and moves its value from one end towards the other.
    error = (BOUND_TOLERANCE + UNIT * total) * span
    error += 8 * np.spacing(max(abs(least), abs(most)))
    if not (
        math.isfinite(span) and (upper - lower + error >= span / (total + 1)).all()
    ):
        return "its bounds are not those of targets"
    return None


def fit_regression_rule(
    scores: ArrayLike,
    targets: ArrayLike,
    *,
    low: float | None = None,
    high: float | None = None,
    trim: int = 1,
    sample_weight: ArrayLike | None = None,
    increasing: bool = True,
) -> RegressionRule:
    """Fit an inductive Venn-Abers regressor to calibration scores and targets.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Any real numbers that order the rows, ±inf allowed: a model's predictions for
        rows that it was not trained on.
    targets : array-like of shape (n,)
        Finite numbers.
    low, high : float, default=None
        The smallest and largest possible target, now and later. They must be known in
        advance, not taken from the data: 0 and 1 for a share, 1 and 5 for a rating, 0
        and the limit for a claim. An end that is None is trimmed.
    trim : int, default=1
        How many of the most extreme targets are moved inwards at an end that is None.
        Has no effect if both ends are given.
    sample_weight : array-like of shape (n,), default=None
        A row of weight w counts as w rows, a new case as one. The
        guarantee of the bounds is for unit weights.
    increasing : bool, default=True
        Whether a higher score means a higher target.

    Returns
    -------
    RegressionRule
        The two step functions; see `RegressionRule` for what its bounds are. Targets,
        and weights that are not all whole, are rounded once, to multiples of a power of
        two: bounds of 10**6 rows are off by some 1e-11 of the distance between the
        ends.

    Warns
    -----
    InvertedScoresWarning
        If the scores run the other way, significantly (Spearman, p < 0.001); the rule
        is then nearly flat.

    Notes
    -----
    The target y of a new case is unknown. The isotonic regression of the calibration
    set with (s, y) rises with y at each point, so its value at s lies between those for
    the smallest and the largest possible y. The value is the mean target of a set of
    rows, of which the new one is equally likely to be any, by exchangeability: so it is
    calibrated.

    If y has no known end, the k + 1 targets are first clipped to the range from the
    (m+1)-th smallest to the (m+1)-th largest of them, m = `trim`. All clipped targets
    still rise with y, and the two bounds belong to y = -inf and y = inf. For the lower
    one, calibration targets are clipped to y(m) and y(k-m), and the new one is y(m);
    for the upper one, they are clipped to y(m+1) and y(k-m+1), and the new one is
    y(k-m+1) (Petej and Vovk, "Inductive Venn-Abers and related regressors").

    Examples
    --------
    With ends, 0 to 1: if the case at 2 has target 0, it shares the mean of 0, 0.8 and
    0.4; if it has 1, that of 1, 0.8 and 0.4.

    >>> import abers
    >>> targets = [0.1, 0.8, 0.4]
    >>> rule = abers.rules.fit_regression_rule([1, 2, 3], targets, low=0, high=1)
    >>> rule.bounds([2])
    array([[0.4       , 0.73333333]])

    Without, the new target is at least the smallest of three, at most the largest; and
    for the lower bound targets above the second largest, 5, are moved to it.

    >>> rule = abers.rules.fit_regression_rule([1, 2, 3], [1, 5, 900])
    >>> rule.bounds([3]), rule.trimmed_share  # (1 + 5 + 5) / 3 … and 2 / 4
    (array([[  3.66666667, 900.        ]]), 0.5)
    """
    rule, inverted = fitted_regression_rule(
        scores,
        targets,
        low=low,
        high=high,
        trim=trim,
        sample_weight=sample_weight,
        increasing=increasing,
    )
    if inverted is not None and inverted.p_value < FALSE_ALARMS:
        lower = "lower" if increasing else "higher"
        sentence = INVERTED.format(inverted.correlation, lower, not increasing)
        warn(sentence, InvertedScoresWarning)
    return rule


class RankCorrelation(NamedTuple):
    """Spearman's correlation of scores and targets, and its p-value."""

    correlation: float
    p_value: float  # one-sided


def fitted_regression_rule(
    scores: ArrayLike,
    targets: ArrayLike,
    *,
    low: float | None = None,
    high: float | None = None,
    trim: int = 1,
    sample_weight: ArrayLike | None = None,
    increasing: bool = True,
) -> tuple[RegressionRule, RankCorrelation | None]:
    """Fit a rule; also return a test for inverted scores, or None if none is needed."""
    increasing = validation.as_flag(increasing, "increasing")
    low, high = as_ends(low, high)
    trim = trim_of(low, high, trim)
    s = validation.as_calibration_scores(scores)
    y = as_targets(targets)
    validation.check_length(y.size, s.size, "targets", "scores")
    w = np.ones(s.size)
    if sample_weight is not None:
        w = validation.as_weights(sample_weight, s.size)
        validation.check_total(w, "sample_weight")
    check_scores_and_targets(s, y, w > 0, low, high)
    scale = scale_for(magnitudes(w))
    w = shown(units(w, scale), scale).astype(np.float64)  # sums of these are exact
    rows = np.argsort(s, kind="stable")  # once: sorting sorted rows is cheap
    rows = rows[w[rows] > 0]
    s, y, w = s[rows], y[rows] + 0.0, w[rows]
    ends = _Ends.of(y, w, low, high, trim)
    thresholds, lower, upper = _bounds(s, y, w, ends, increasing=increasing)
    whole = Diagram.from_counts(s, w, np.zeros(s.size))
    rule = RegressionRule(
        Table(thresholds, lower, upper, whole.score_quantiles),
        n_rows=whole.n_rows,
        low=low,
        high=high,
        trim=trim,
        increasing=increasing,
    )
    if lower.size > FEW_PIECES:
        return rule, None
    return rule, _against(s, y, w, increasing=increasing)


def midpoints(bounds: FloatArray) -> FloatArray:
    """Return the midpoint of each pair along the last axis; none overflows."""
    middle: FloatArray = bounds[..., 0] / 2 + bounds[..., 1] / 2
    return middle


class _Ends(NamedTuple):
    """The ranges that targets are clipped to, for the lower and for the upper bound."""

    lower_floor: float  # postulated for the lower bound
    lower_ceiling: float
    upper_floor: float
    upper_ceiling: float  # postulated for the upper bound

    @classmethod
    def of(
        cls,
        targets: FloatArray,
        weights: FloatArray,
        low: float | None,
        high: float | None,
        trim: int,
    ) -> _Ends:
        """Use the given ends, and order statistics in place of the others."""
        order = np.argsort(targets)
        rising, w = targets[order], weights[order]
        total, least = w.sum().item(), least_weight(low, high, trim)
        if total < least:
            refuse_few_targets(total, least, trim)
        # One for the lower bound and one for the upper bound.
        floors = _at_ranks(rising, w, trim, trim + 1) if low is None else (low, low)
        ceilings = (
            _at_ranks(rising[::-1], w[::-1], trim + 1, trim)
            if high is None
            else (high, high)
        )
        ends = cls(
            floors[0],
            # With whole weights, the inner ends cannot pass the outer ones.
            max(ceilings[0], floors[0]),
            min(floors[1], ceilings[1]),
            ceilings[1],
        )
        if not math.isfinite(max(ends) - min(ends)):
            refuse_wide_targets(min(ends), max(ends))
        return ends


def _at_ranks(
    values: FloatArray, weights: FloatArray, first: int, second: int
) -> tuple[float, float]:
    """Return the values at two weighted ranks, counted from 1, in the given order."""
    places = np.searchsorted(np.cumsum(weights), (first, second))
    chosen: list[float] = values[np.minimum(places, values.size - 1)].tolist()
    return chosen[0], chosen[1]


def _bounds(
    scores: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    ends: _Ends,
    *,
    increasing: bool,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return thresholds, and the lower and upper bound of each piece."""
    columns = (scores, targets, weights)
    held = {ends[:2], ends[2:]}
    fits = {pair: _isotonic(*columns, *pair, increasing=increasing) for pair in held}
    at_lower, lower, _ = fits[ends[:2]]
    at_upper, _, upper = fits[ends[2:]]
    thresholds = at_lower
    if len(held) > 1:  # one table for both: a value holds from its threshold on
        thresholds = np.union1d(at_lower, at_upper)
        starts = np.concatenate(([-np.inf], thresholds))
        lower = lower[np.searchsorted(at_lower, starts, side="right")]
        upper = upper[np.searchsorted(at_upper, starts, side="right")]
    lower = np.minimum(lower, upper)  # they may be the same value, rounded twice
    changes = (lower[1:] != lower[:-1]) | (upper[1:] != upper[:-1])
    first = np.concatenate(([True], changes))
    return thresholds[changes], lower[first] + 0.0, upper[first] + 0.0


def _isotonic(
    scores: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    floor: float,
    ceiling: float,
    *,
    increasing: bool,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return thresholds, and the values with `floor` and with `ceiling` postulated."""
    if floor == ceiling:
        return np.empty(0), np.array([floor]), np.array([ceiling])
    span = ceiling - floor
    ones = (np.clip(targets, floor, ceiling) - floor) / span
    positives = weights * ones
    scale = scale_for(magnitudes(weights, positives), "weighted targets")
    diagram = diagram_of_counts(scores, weights, positives, scale)
    rule = rule_of_diagram(diagram, increasing=increasing)
    lower, upper = (
        # In this order, values rise with p, however they are rounded, and reach both
        # ends.
        np.where(p == 1, ceiling, np.minimum(floor + span * p, ceiling))
        for p in (rule.lower, rule.upper)
    )
    return rule.thresholds, lower, upper


def _against(
    scores: FloatArray, targets: FloatArray, weights: FloatArray, *, increasing: bool
) -> RankCorrelation | None:
    """Test whether scores and targets have opposite ranks.

    Under random assignment, Spearman's correlation has the variance 1 / (n - 1), with
    or without ties. Real weights count by their effective number.
    """
    x, y = (_midranks(values, weights) for values in (scores, targets))
    shares = weights / weights.max()
    n = weights.sum()
    if (weights != np.floor(weights)).any():
        n = shares.sum() ** 2 / (shares @ shares)
    scatter = math.sqrt((shares @ x**2) * (shares @ y**2))
    if n < 2 or not math.isfinite(n) or scatter == 0:
        return None
    correlation = float(shares @ (x * y) / scatter)
    against = -correlation if increasing else correlation
    p_value = math.erfc(against * math.sqrt((n - 1) / 2)) / 2
    return RankCorrelation(correlation, p_value)


def _midranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Return midranks as shares of the total weight, minus their mean."""
    _, places = np.unique(values, return_inverse=True)
    at = np.bincount(places, weights / weights.max())
    ranks = (np.cumsum(at) - at / 2) / at.sum()
    centred: FloatArray = (ranks - 0.5)[places]
    return centred


def least_weight(low: float | None, high: float | None, trim: int) -> int:
    """Return how many rows are needed to fit a rule."""
    trimmed = (low is None) + (high is None)
    return max(trimmed * trim, trim + 1 if trimmed else 0)


def trim_of(low: float | None, high: float | None, trim: object) -> int:
    """Return how many targets are trimmed at an end: 0 if both ends are given."""
    count = validation.as_number_of_rows(trim, "trim")
    if low is not None and high is not None:
        return 0
    if not count:
        msg = (
            "trim must be at least 1 where low or high is not given; got 0. A target "
            "without an end can move a mean anywhere."
        )
        raise InvalidParameter(msg)
    return count


# --- checks ---


def as_targets(values: object, name: str = "targets") -> FloatArray:
    """Return one contiguous column of doubles; NaN stands for missing."""
    return validation.as_scores(values, name)


def as_ends(low: object, high: object) -> tuple[float | None, float | None]:
    """Return the smallest and largest possible target, None where unknown."""
    ends: list[float | None] = []
    for end, name in ((low, "low"), (high, "high")):
        if end is None:
            ends.append(None)
            continue
        number = validation.as_number(end)
        if number is None:
            msg = (
                f"{name} must be a finite number or None; "
                f"got {validation.shown_object(end)}."
            )
            raise InvalidType(msg)
        if not np.isfinite(number):
            msg = (
                f"{name} must be a finite number, or None if targets have no such end; "
                f"got {validation.shown(end)}."
            )
            raise InvalidParameter(msg)
        ends.append(number + 0.0)
    least, most = ends
    if least is not None and most is not None and not 0 < most - least < np.inf:
        msg = (
            "low must be below high, and not infinitely far; "
            f"got low={validation.shown(low)} and high={validation.shown(high)}."
        )
        raise InvalidParameter(msg)
    return least, most


def check_scores_and_targets(
    scores: FloatArray,
    targets: FloatArray,
    kept: NDArray[np.bool_],
    low: float | None,
    high: float | None,
) -> None:
    """Raise for NaN scores and impossible targets in rows that count."""
    validation.check_scores(scores, kept)
    check_targets(targets, kept, low, high)


def check_targets(
    targets: FloatArray,
    kept: NDArray[np.bool_],
    low: float | None,
    high: float | None,
    name: str = "targets",
) -> None:
    """Raise for targets that are infinite or beyond their ends in rows that count."""
    bad = kept & ~np.isfinite(targets)
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"{name} must be finite; got {validation.shown(targets[row])} at row {row} "
            f"({int(bad.sum())} of {targets.size} rows are bad). Drop these rows."
        )
        raise InvalidData(msg)
    for end, outside, word, limit in (
        (low, targets < (-np.inf if low is None else low), "below", "low"),
        (high, targets > (np.inf if high is None else high), "above", "high"),
    ):
        beyond = kept & outside
        if beyond.any():
            row = int(beyond.argmax())
            msg = (
                f"{name} must not be {word} {limit}={validation.shown(end)}; "
                f"got {validation.shown(targets[row])} at row {row} "
                f"({int(beyond.sum())} of {targets.size} rows are). "
                f"Pass the {limit} that targets can have, or {limit}=None."
            )
            raise InvalidData(msg)


def refuse_few_targets(total: float, least: int, trim: int) -> NoReturn:
    """Raise if there are fewer targets than are trimmed."""
    msg = (
        f"targets must have a total weight of at least {least} to be trimmed by "
        f"{trim}; got {total:g}. Give low and high if they are known, or more rows."
    )
    raise InvalidData(msg)


def refuse_wide_targets(least: float, most: float) -> NoReturn:
    """Raise if the range of the targets exceeds the largest double."""
    msg = (
        "targets must be less than 1.8e308 apart; "
        f"got {validation.shown(least)} and {validation.shown(most)}. Rescale them."
    )
    raise InvalidData(msg)
