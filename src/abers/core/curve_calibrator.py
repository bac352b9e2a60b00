"""Curve calibrators: Platt's sigmoid, isotonic regression, temperature and beta.

With more than two classes, a temperature rescales all of them together. The others have
one curve per class against the rest, and the results are normalised.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from abers.core import guarantees
from abers.core.calibrator import FACTS, Calibrator, flaw_of_input
from abers.core.class_scores import rounded_log_odds
from abers.core.curves import Beta, clip_for, expit, read_steps, softmax
from abers.core.fitted import Contents, Layout, is_ascending, plain_total, stored
from abers.core.log_odds import against_rest, log_odds, logarithms, within
from abers.core.predictions import TWO, both_classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.core.fitted import Arrays, Facts
    from abers.core.guarantees import Guarantee
    from abers.validation import FloatArray

METHODS = ("platt", "isotonic", "temperature", "beta")
# A temperature does not change a logit beyond this.
SUREST = 52 * math.log(2)
NO_NUMBERS = np.empty(0)


class CurveCalibrator(Calibrator):
    """Platt's sigmoid, isotonic regression, a temperature or beta calibration.

    `calibrator_` of the estimator of that name returns it. It has no bounds.

    Examples
    --------
    >>> import abers
    >>> platt = abers.PlattCalibrator().fit([-10, 0, 1, 11], [0, 0, 1, 1]).calibrator_
    >>> platt
    CurveCalibrator(platt, 2 classes, 4 rows)
    >>> platt.probability([11]).round(3)
    array([0.761])
    """

    __slots__ = ("_method", "_numbers", "_steps", "_totals")
    _layout: ClassVar = Layout(
        "curve-calibrator",
        arrays={
            "lengths": "i",  # of the steps of each class
            "numbers": "f",  # the parameters of each class
            "thresholds": "f",
            "totals": "f",  # weight of the calibration rows of each class
            "values": "f",
        },
        facts={
            **FACTS,
            "method": lambda method: isinstance(method, str) and method in METHODS,
        },
    )

    def __init__(
        self,
        method: str,
        classes: Sequence[Any],
        *,
        reads: str,
        totals: FloatArray,
        numbers: FloatArray = NO_NUMBERS,
        steps: Sequence[tuple[FloatArray, FloatArray]] = (),
        **of_input: Any,
    ) -> None:
        self._set_input(classes, reads=reads, **of_input)
        self._method = method
        n_curves = n_curves_of(method, len(self._classes))
        self._numbers = np.reshape(numbers, (n_curves, -1))
        self._steps = tuple(steps)
        self._totals = totals

    @property
    def method(self) -> str:
        """The curve: "platt", "isotonic", "temperature" or "beta"."""
        return self._method

    @property
    def n_models(self) -> int:
        """Number of models whose scores a prediction needs: one."""
        return 1

    @property
    def n_rows(self) -> float:
        """Total weight of the calibration rows: their number if all weigh 1."""
        return plain_total(float(self._totals.sum()))

    @property
    def guarantee(self) -> Guarantee:
        """A curve has no bounds, and nothing is proven for its probability."""
        return guarantees.CURVE

    def _probabilities(self, by_model: list[FloatArray]) -> FloatArray:
        (table,) = by_model
        columns = table[:, np.newaxis] if table.ndim == 1 else table
        if self._method == "temperature":
            return self._by_temperature(columns)
        by_class = self._scores_by_class(columns)
        if self._method == "isotonic":
            read = [
                read_steps(*steps, scores)
                for steps, scores in zip(self._steps, by_class, strict=True)
            ]
        else:
            curve = _platt if self._method == "platt" else _beta
            read = [
                curve(numbers, scores)
                for numbers, scores in zip(self._numbers, by_class, strict=True)
            ]
        if self.n_classes == TWO:
            return both_classes(read[0])
        return _normalised(np.stack(read, axis=1))

    def _scores_by_class(self, columns: FloatArray) -> list[FloatArray]:
        """Return the input of each curve; two classes have one column."""
        if self._reads == "score":
            return [np.ascontiguousarray(columns[:, -1])]
        if self.n_classes == TWO:
            return [log_odds(columns, self._reads)]
        by_class = against_rest(columns, self._reads)
        return list(map(rounded_log_odds, by_class)) if self._is_rounded else by_class

    def _by_temperature(self, columns: FloatArray) -> FloatArray:
        inverse, *ends = self._numbers[0].tolist()
        logits = within(temperature_logits(columns, self._reads, self.n_classes), ends)
        gaps = _gaps(with_first(logits))
        with np.errstate(over="ignore"):
            return softmax(inverse * gaps)

    def __repr__(self) -> str:
        return f"CurveCalibrator({self._method}, {self._input_repr()})"

    def _contents(self) -> Contents:
        arrays = {
            "lengths": np.array([t.size for t, _ in self._steps], dtype=np.int64),
            "numbers": stored(self._numbers.reshape(-1)),
            "thresholds": stored(np.concatenate([NO_NUMBERS, *self._thresholds()])),
            "totals": stored(self._totals),
            "values": stored(np.concatenate([NO_NUMBERS, *self._values()])),
        }
        return Contents(self._input_facts() | {"method": self._method}, arrays)

    def _thresholds(self) -> list[FloatArray]:
        return [thresholds for thresholds, _ in self._steps]

    def _values(self) -> list[FloatArray]:
        return [values for _, values in self._steps]

    def _restore(self, facts: Facts, arrays: Arrays) -> None:
        CurveCalibrator.__init__(
            self,
            totals=arrays["totals"],
            numbers=arrays["numbers"],
            steps=_steps_of(arrays),
            **{name: facts[name] for name in facts if name != "n_models"},
        )

    @classmethod
    def _flaw(cls, facts: Facts, arrays: Arrays) -> str | None:
        n_classes = len(facts["classes"])
        is_rounded = has_rounded_steps(facts["method"], facts["reads"], n_classes)
        if facts["n_models"] != 1 or facts["is_rounded"] != is_rounded:
            return "its scores are not those of a table"
        totals = arrays["totals"]
        if totals.size != n_classes or not (
            (totals >= 0).all() and 0 < totals.sum() < np.inf
        ):
            return "its rows are not counted by class"
        flaw_of_curve = _flaw_of_steps if facts["method"] == "isotonic" else _flaw_of
        return flaw_of_curve(facts, arrays) or flaw_of_input(facts)


def n_curves_of(method: str, n_classes: int) -> int:
    """Return how many curves there are: one for two classes, else one per class."""
    return 1 if n_classes == TWO or method == "temperature" else n_classes


def has_rounded_steps(method: str, reads: str, n_classes: int) -> bool:
    """Return whether odds that are equal up to rounding must be tied."""
    return method == "isotonic" and reads == "probability" and n_classes > TWO


# --- temperature ---


def temperature_logits(columns: FloatArray, reads: str, n_classes: int) -> FloatArray:
    """Return log-odds (n, 1) for two classes, logits (n, C) for more."""
    logits = columns
    if n_classes == TWO:
        logits = log_odds(columns, reads)[:, np.newaxis]
    elif reads == "probability":
        logits = logarithms(columns)
    if reads == "margin":
        return logits
    return np.where(np.isinf(logits), logits, logits.clip(-SUREST, SUREST))


def with_first(logits: FloatArray) -> FloatArray:
    """Prepend the logit of the first of two classes, which is 0."""
    if logits.shape[1] > 1:
        return logits
    return np.concatenate((np.zeros_like(logits), logits), axis=1)


def _gaps(logits: FloatArray) -> FloatArray:
    """Return how far logits are below the largest of their row; always finite."""
    gaps = logits - logits.max(axis=1, keepdims=True)
    finite: FloatArray = np.maximum(gaps, np.finfo(np.float64).min)
    return finite


# --- curves of one class ---


def _platt(numbers: FloatArray, scores: FloatArray) -> FloatArray:
    """Evaluate the sigmoid 1 / (1 + exp(A s + B)); ends stand for infinite scores."""
    a, b, *ends = numbers.tolist()
    if ends:
        scores = within(scores, ends)
    with np.errstate(over="ignore"):  # expit takes infinities
        return expit(-(a * scores + b))


def _beta(numbers: FloatArray, scores: FloatArray) -> FloatArray:
    return expit(Beta(*numbers.tolist()).log_odds(scores))


def _normalised(p: FloatArray) -> FloatArray:
    """Scale rows to sum to 1; a row of zeros becomes uniform."""
    total = p.sum(axis=1, keepdims=True)
    nothing = total == 0
    shares: FloatArray = np.where(nothing, 1.0, p) / np.where(
        nothing, p.shape[1], total
    )
    return shares


# --- what a fit can make ---


def _flaw_of(facts: Facts, arrays: Arrays) -> str | None:
    """Return why these cannot be the parameters of curves, or None."""
    method, n_classes = facts["method"], len(facts["classes"])
    if any(arrays[name].size for name in ("lengths", "thresholds", "values")):
        return "its curve has steps"
    if (method == "platt" and n_classes == TWO) != (facts["reads"] == "score"):
        return "its curve does not take such scores"
    widths = {"platt": 2 if n_classes == TWO else 4, "temperature": 3, "beta": 4}
    numbers = arrays["numbers"]
    n_curves = n_curves_of(method, n_classes)
    if numbers.size != n_curves * widths[method] or not np.isfinite(numbers).all():
        return "its numbers are not those of its curves"
    curves = numbers.reshape(n_curves, -1).T
    if method == "beta":
        a, b, _, clip = curves
        valid = (a >= 0) & (b >= 0) & (clip > 0) & (clip <= clip_for(0))
    elif method == "temperature":
        inverse, low, high = curves
        valid = (inverse >= 0) & (low < high)
    else:
        valid = curves[-2] < curves[-1] if n_classes > TWO else np.array([True])
    return None if valid.all() else "its numbers are not those of fitted curves"


def _flaw_of_steps(facts: Facts, arrays: Arrays) -> str | None:
    """Return why these cannot be isotonic regressions, or None."""
    lengths, thresholds, values = (
        arrays[name] for name in ("lengths", "thresholds", "values")
    )
    n_classes = len(facts["classes"])
    if arrays["numbers"].size:
        return "its steps have parameters"
    if (n_classes == TWO) != (facts["reads"] == "score"):
        return "its steps do not take such scores"
    if not (
        lengths.size == n_curves_of("isotonic", n_classes)
        and (lengths > 0).all()
        and (lengths <= thresholds.size).all()  # the sum might overflow
        and lengths.sum() == thresholds.size == values.size
    ):
        return "its lengths are not those of its steps"
    if not ((values >= 0) & (values <= 1)).all():
        return "its values are not probabilities"
    if not all(
        is_ascending(t) and (np.diff(v) >= 0).all() for t, v in _steps_of(arrays)
    ):
        return "its steps are not ascending"
    return None


def _steps_of(arrays: Arrays) -> list[tuple[FloatArray, FloatArray]]:
    """Return the thresholds and values of each class."""
    stops = np.cumsum(arrays["lengths"])[:-1]
    if not arrays["lengths"].size:
        return []
    return list(
        zip(
            np.split(arrays["thresholds"], stops),
            np.split(arrays["values"], stops),
            strict=True,
        )
    )
