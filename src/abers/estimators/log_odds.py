"""Log-odds: what columns of scores say of a class, on a scale that keeps both ends.

A probability keeps its digits near 0 only; its log-odds keep them near 1, too. An
infinite one, of a probability that is exactly 0 or 1, is no number to fit a curve to:
the furthest finite one that was seen in calibration stands for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers.errors import InvalidProbabilities
from abers.estimators.columns import are_probabilities

if TYPE_CHECKING:
    from abers.validation import FloatArray

KINDS = ("probability", "margin")
SCORES = ("auto", *KINDS)


def kind_of(columns: FloatArray, scores: str) -> str:
    """Say what columns of scores are, if "auto" leaves that to us."""
    if scores != "auto":
        return scores
    if columns.shape[1] == 1:
        inside = bool(((columns >= 0) & (columns <= 1)).all())
        return "probability" if inside else "margin"
    return "probability" if are_probabilities(columns).all() else "margin"


def refuse_impossible(columns: FloatArray, kind: str) -> None:
    """Refuse scores that were taken for probabilities and cannot be any."""
    if kind != "probability":
        return
    outside = ((columns < 0) | (columns > 1)).any(axis=1)
    if outside.any():
        row = int(outside.argmax())
        got = ", ".join(map(repr, columns[row].tolist()))
        msg = (
            "scores must lie between 0 and 1, since they are probabilities; "
            f"got {got} at row {row}. Fit with scores='margin' if they are none."
        )
        raise InvalidProbabilities(msg)


def log_odds(columns: FloatArray, kind: str) -> FloatArray:
    """Score the second of two classes: (n, 1) or (n, 2) -> (n,)."""
    last = columns[:, -1]
    if columns.shape[1] == 1 and kind == "margin":
        return np.ascontiguousarray(last)
    if kind == "margin":
        return _compared(columns[:, 0], last)
    of_zero = columns[:, 0] if columns.shape[1] > 1 else None
    with np.errstate(divide="ignore"):
        logs = np.log1p(-last) if of_zero is None else np.log(of_zero)
        return _compared(logs, np.log(last))


def against_rest(columns: FloatArray, kind: str) -> list[FloatArray]:
    """Score each of many classes against all others: (n, C) -> C times (n,)."""
    if kind == "margin":
        return [np.ascontiguousarray(column) for column in columns.T]
    # The sum of the others without what cancels: those before, and those after.
    others = np.zeros_like(columns)
    others[:, 1:] += np.cumsum(columns[:, :-1], axis=1)
    others[:, :-1] += np.cumsum(columns[:, :0:-1], axis=1)[:, ::-1]
    with np.errstate(divide="ignore"):
        compared = _compared(np.log(others), np.log(columns))
    return [np.ascontiguousarray(column) for column in compared.T]


def finite_ends(scores: FloatArray) -> tuple[float, float]:
    """Return what stands for -inf and for +inf."""
    seen = scores[np.isfinite(scores)]
    low, high = (seen.min(), seen.max()) if seen.size else (0.0, 0.0)
    if low == high:
        low, high = low - 1, high + 1
    return float(low), float(high)


def within(scores: FloatArray, ends: tuple[float, float]) -> FloatArray:
    """Replace what is infinite; all else is left as it is."""
    return np.nan_to_num(scores, nan=np.nan, neginf=ends[0], posinf=ends[1])


def _compared(first: FloatArray, second: FloatArray) -> FloatArray:
    """Subtract; where neither of the two has a chance, nothing is said."""
    with np.errstate(invalid="ignore", over="ignore"):
        difference: FloatArray = second - first
    difference[np.isnan(difference)] = 0.0
    return difference
