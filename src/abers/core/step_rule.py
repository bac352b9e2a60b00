"""Step rules: the common part of all rules that are two step functions of a score."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers._kernel import Table
from abers.core.diagram import PERCENTS
from abers.core.fitted import (
    Contents,
    Fitted,
    are_tags,
    is_ascending,
    is_flag,
    is_total,
    plain_total,
    stored,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from abers.core.fitted import Arrays, Facts
    from abers.validation import FloatArray, IntArray


# The contents of every step rule.
ARRAYS = dict.fromkeys(("lower", "score_quantiles", "thresholds", "upper"), "f")
FACTS: dict[str, Callable[[Any], bool]] = {
    "increasing": is_flag,
    "metadata": are_tags,
    "n_rows": is_total,
}


class StepRule(Fitted):
    """Two step functions of the score, lower and upper, and facts about their fit.

    Piece j of both holds for thresholds[j-1] <= score < thresholds[j].
    """

    __slots__ = ("_increasing", "_n_rows", "_table")

    def __init__(
        self,
        table: Table,
        *,
        n_rows: float,
        increasing: bool,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        self._table = table
        self._n_rows = n_rows
        self._increasing = increasing
        self._metadata = MappingProxyType(dict(metadata or {}))

    @property
    def thresholds(self) -> FloatArray:
        """Ascending; piece j holds for thresholds[j-1] <= score < thresholds[j]."""
        return self._table.thresholds

    @property
    def lower(self) -> FloatArray:
        """Lower bound of each piece; one value more than there are thresholds."""
        return self._table.lower

    @property
    def upper(self) -> FloatArray:
        """Upper bound of each piece; one value more than there are thresholds."""
        return self._table.upper

    @property
    def score_quantiles(self) -> FloatArray:
        """The 101 percentiles of the calibration scores, each a score that occurred."""
        return self._table.quantiles

    @property
    def n_rows(self) -> float:
        """Total weight of the calibration set: its number of rows if all weigh 1."""
        return self._n_rows

    @property
    def increasing(self) -> bool:
        """Whether a higher score means a higher value."""
        return self._increasing

    def bounds(self, scores: ArrayLike, *, n_threads: int = 1) -> FloatArray:
        """Return the lower and upper bound of each score.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Real numbers, ±inf allowed, NaN refused.
        n_threads : int, default=1
            Number of threads, used if there are many rows.

        Returns
        -------
        ndarray of shape (n, 2)
            Columns lower and upper. Not a confidence interval; see the class.
        """
        s = validation.as_scores(scores)
        out = np.empty((s.size, 2))
        threads = validation.as_threads(n_threads)
        missing, first = self._table.bounds(s, out, threads)
        if missing:
            validation.refuse_missing_scores(
                missing, first, s.size, purpose="predicting"
            )
        return out

    def __hash__(self) -> int:
        return hash((self.thresholds.tobytes(), self.upper.tobytes(), self._increasing))

    def _contents(self) -> Contents:
        arrays = {name: stored(getattr(self, name)) for name in ARRAYS}
        facts = {
            "increasing": self._increasing,
            "metadata": dict(self._metadata),
            "n_rows": plain_total(self._n_rows),
        }
        return Contents(facts, arrays)

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        return _flaw_of_scores(facts, arrays) or _flaw_of_steps(facts, arrays)


def bounds_by_place(
    rules: Sequence[StepRule], places: IntArray, scores: FloatArray
) -> FloatArray:
    """Return the bounds of scores without NaN, each by the rule at its place.

    Place -1 is the last rule.
    """
    last = len(rules) - 1
    places = np.where(places < 0, last, places)
    sizes = np.bincount(places, minlength=len(rules)).tolist()
    # numpy sorts 16-bit integers by counting.
    order = np.argsort(places.astype(np.min_scalar_type(last)), kind="stable")
    by_rule, in_order = scores[order], np.empty((scores.size, 2))
    stop = 0
    for rule, size in zip(rules, sizes, strict=True):
        if size:
            start, stop = stop, stop + size
            table = rule._table  # noqa: SLF001 (a method would check each part)
            table.bounds(by_rule[start:stop], in_order[start:stop], 1)
    out = np.empty_like(in_order)
    # As items of 16 bytes: numpy is ten times slower with rows of two numbers.
    out.view(np.complex128)[order] = in_order.view(np.complex128)
    return out


def _flaw_of_scores(facts: Facts, arrays: Arrays) -> str | None:
    """Return why these cannot be the quantiles and thresholds of a fit, or None."""
    thresholds, quantiles = arrays["thresholds"], arrays["score_quantiles"]
    if not facts["n_rows"]:
        return "it was fitted to nothing"
    if quantiles.size != PERCENTS.size or (quantiles[1:] < quantiles[:-1]).any():
        return f"its score quantiles are not {PERCENTS.size} ascending scores"
    ends = quantiles[0], _next(quantiles[-1])
    if not is_ascending(thresholds) or not _lie_within(thresholds, *ends):
        return "its thresholds are not calibration scores in order"
    return None


def _flaw_of_steps(facts: Facts, arrays: Arrays) -> str | None:
    """Return why a fit cannot have made these steps, or None."""
    lower, upper = arrays["lower"], arrays["upper"]
    if not lower.size == upper.size == arrays["thresholds"].size + 1:
        return "its bounds are not one more than its thresholds"
    if not _are_steps(lower, upper, increasing=facts["increasing"]):
        return "its bounds are not monotone values that change at each threshold"
    return None


def table_of(arrays: Arrays) -> Table:
    """Return the kernel's table for checked arrays."""
    names = ("thresholds", "lower", "upper", "score_quantiles")
    return Table(*(arrays[name] for name in names))


def _next(score: float) -> float:
    with np.errstate(over="ignore"):  # inf comes after the largest number
        return float(np.nextafter(score, np.inf))


def _lie_within(values: FloatArray, least: float, most: float) -> bool:
    # No score is below -inf, so no piece would precede a threshold there.
    return not values.size or bool(
        least <= values[0] and values[-1] <= most and values[0] > -np.inf
    )


def _are_steps(lower: FloatArray, upper: FloatArray, *, increasing: bool) -> bool:
    rising = slice(None, None, 1 if increasing else -1)
    low, up = lower[rising], upper[rising]
    return bool(
        (low <= up).all()
        and (low[1:] >= low[:-1]).all()
        and (up[1:] >= up[:-1]).all()
        and ((low[1:] > low[:-1]) | (up[1:] > up[:-1])).all()
    )
