"""Log-odds: what columns of scores say about one class against the others.

A probability has its full precision only near 0. Log-odds have it at both ends, and
exchanging two classes negates them exactly.

An infinite score, from a probability of exactly 0 or 1, cannot be fitted by a curve, so
the furthest finite score of the calibration rows replaces it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import numpy as np

from abers.choices import ScoreScale
from abers.errors import InvalidData
from abers.validation import FUZZ, THREE_DIGITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from abers.choices import ScoreKind, StackedScale
    from abers.validation import FloatArray

SCORES = get_args(ScoreScale)


def are_probabilities(columns: FloatArray) -> NDArray[np.bool_]:
    """Return whether columns, one per class, are probabilities, possibly rounded.

    They lie between 0 and 1 and sum to 1, give or take 0.0005 per column.
    """
    inside = ((columns >= 0) & (columns <= 1)).all(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):  # where they are not
        off = abs(columns.sum(axis=1) - 1)
    good: NDArray[np.bool_] = inside & (off <= columns.shape[1] * THREE_DIGITS + FUZZ)
    return good


def logarithms(probabilities: FloatArray) -> FloatArray:
    """Return natural logarithms, with -inf for 0."""
    with np.errstate(divide="ignore"):
        logs: FloatArray = np.log(probabilities)
    return logs


def log_sum_of_others(logs: FloatArray) -> FloatArray:
    """Return, for each class, the logarithm of the sum of all other probabilities.

    For every class but the largest, subtract its own probability from the sum of all:
    the largest remains in the difference, so nothing cancels. For the largest class,
    the others are summed directly, scaled by the second largest, since they would be
    lost in the sum of all.
    """
    size = len(logs)
    rows, top = np.arange(size), logs.argmax(axis=1)
    largest = logs[rows, top][:, np.newaxis]
    without = logs.copy()
    without[rows, top] = -np.inf
    second = without.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.exp(logs - largest)
        relative[np.isnan(relative)] = 0.0  # no class has any probability
        others: FloatArray = np.log(relative.sum(axis=1, keepdims=True) - relative)
        others += largest
        rest = np.exp(without - second)
        rest[np.isnan(rest)] = 0.0
        others[rows, top] = np.log(rest.sum(axis=1)) + second[:, 0]
    others[np.isnan(others)] = -np.inf
    return others


def difference(second: FloatArray, first: FloatArray) -> FloatArray:
    """Subtract the scores of two classes; 0 where both are impossible."""
    with np.errstate(invalid="ignore", over="ignore"):
        differences: FloatArray = second - first
    differences[np.isnan(differences)] = 0.0
    return differences


def kind_of(columns: FloatArray, scores: StackedScale) -> ScoreKind:
    """Return what kind of scores the columns hold, if `scores` is "auto"."""
    if scores != "auto":
        return scores
    if columns.shape[1] == 1:
        inside = bool(((columns >= 0) & (columns <= 1)).all())
        return "probability" if inside else "margin"
    return "probability" if are_probabilities(columns).all() else "margin"


def refuse_impossible(columns: FloatArray, kind: str, option: str = "scores") -> None:
    """Raise for scores that should be probabilities but cannot be."""
    if kind != "probability":
        return
    outside = ((columns < 0) | (columns > 1)).any(axis=1)
    if outside.any():
        row = int(outside.argmax())
        got = ", ".join(map(repr, columns[row].tolist()))
        msg = (
            "scores must lie between 0 and 1, since they are probabilities; "
            f"got {got} at row {row}. Fit with {option}='margin' if they are none."
        )
        raise InvalidData(msg)


def log_odds(columns: FloatArray, kind: str) -> FloatArray:
    """Score the second of two classes: (n, 1) or (n, 2) -> (n,)."""
    last = columns[:, -1]
    if columns.shape[1] == 1 and kind == "margin":
        return np.ascontiguousarray(last)
    if kind == "margin":
        return difference(last, columns[:, 0])
    if columns.shape[1] > 1:
        return difference(logarithms(last), logarithms(columns[:, 0]))
    with np.errstate(divide="ignore"):
        return difference(np.log(last), np.log1p(-last))


def against_rest(columns: FloatArray, kind: str) -> list[FloatArray]:
    """Score each of many classes against all others: (n, C) -> C times (n,)."""
    if kind == "margin":
        return [np.ascontiguousarray(column) for column in columns.T]
    logs = logarithms(columns)
    compared = difference(logs, log_sum_of_others(logs))
    return [np.ascontiguousarray(column) for column in compared.T]


def finite_ends(scores: FloatArray) -> tuple[float, float]:
    """Return the finite numbers that replace -inf and +inf."""
    seen = scores[np.isfinite(scores)]
    low, high = (seen.min(), seen.max()) if seen.size else (0.0, 0.0)
    if low == high:
        low, high = low - 1, high + 1
    return float(low), float(high)


def symmetric_ends(log_odds: FloatArray) -> tuple[float, float]:
    """Return the finite numbers that replace -inf and +inf, on their own sides of 0."""
    seen = abs(log_odds[np.isfinite(log_odds)])
    furthest = float(seen.max()) if seen.any() else 1.0
    return -furthest, furthest


def within(scores: FloatArray, ends: tuple[float, float]) -> FloatArray:
    """Replace infinite values; leave all others as they are."""
    return np.nan_to_num(scores, nan=np.nan, neginf=ends[0], posinf=ends[1])
