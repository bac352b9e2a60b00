"""Sample size: how many calibration rows a desired accuracy takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from abers import validation
from abers.core.diagram import Diagram
from abers.core.fit import rule_of_diagram
from abers.errors import InvalidParameter, need
from abers.evaluation.bands import band_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from abers.validation import FloatArray, IntArray

SCORE_CELLS = 4_000  # of scores; a rule of ten million rows has some hundred steps
REACH = 8.5  # standard deviations that hold all scores
N_SETS = 400  # calibration sets; they give the mean ECE to 2 %, the rows to 5 %
BANDS = 8  # their width varies by some percent
CALIBRATION_SEED = 0
LARGEST_DRAWN = 10_000_000  # rows; beyond, errors fall as the cube root
LEAST_ROWS, MOST_ROWS = 2, 10**12
CLOSE = 0.02  # relative change of the rows at which the search ends
MOST_SECANTS = 30


def sample_size(
    *,
    ece: float | None = None,
    band_width: float | None = None,
    base_rate: float,
    auc: float = 0.75,
    confidence: float = 0.95,
) -> int:
    """Return how many calibration rows a rule needs, before there are any data.

    Pass exactly one target: the calibration error of the rule, or the width of the
    confidence band of the calibration curve. The latter takes far more rows.

    Parameters
    ----------
    ece : float, default=None
        The expected calibration error that the rule may have on average, by itself: the
        mean over new cases of |probability - observed rate of the cases that get this
        probability|, if there were infinitely many new cases. No bins are involved; the
        ECE of 10 bins is smaller, apart from the noise of the rows it is measured on.
    band_width : float, default=None
        The mean width, over rows, of `calibration_band`.
    base_rate : float
        The share of positives.
    auc : float, default=0.75
        The area under the ROC curve of the score.
    confidence : float, default=0.95
        Of the calibration band; not used for `ece`.

    Returns
    -------
    int
        The number of rows, rounded up to two digits.

    Notes
    -----
    The model is binormal: the scores of both classes are normal with equal variances,
    whose distance sqrt(2) Phi^-1(auc) gives the AUC. So P(label = 1 | score) is a
    logistic curve.

    The ECE is the mean over 400 calibration sets drawn from this model (with a fixed
    seed): a rule is fitted to each and compared with the true curve. The search for the
    number of rows stops at 2 %. For many rows it agrees with theory: isotonic
    regression is off by 0.413 (4 p (1 - p) p' / n)^(1/3) on average, where p' is the
    slope of the curve over quantiles of the score (Chernoff's distribution). The ECE is
    about 0.8 of the mean of that, because errors within a step of the rule cancel. Rare
    events need more rows, up to some hundred positives. The width of the band is the
    mean of 8 sets. benchmarks/SAMPLE_SIZE.md compares both with simulated rows.

    Examples
    --------
    >>> import abers
    >>> few = abers.evaluation.sample_size(ece=0.04, base_rate=0.5)
    >>> many = abers.evaluation.sample_size(ece=0.02, base_rate=0.5)
    >>> few < 1_000 < many < 8 * 1_000  # half the error, eight times the rows
    True
    """
    aim = _aim(ece, band_width)
    _check_between(base_rate, "base_rate", 0.0)
    _check_between(auc, "auc", 0.5)
    validation.check_confidence(confidence)
    scores = _Scores.binormal(float(base_rate), float(auc))

    def width(n: float) -> float:
        return scores.band_width(n, confidence)

    return _rows_for(aim, scores.ece if band_width is None else width)


def _aim(ece: float | None, band_width: float | None) -> float:
    if (ece is None) == (band_width is None):
        came = "none" if ece is None else "both"
        msg = f"give exactly one of ece and band_width; got {came}."
        raise InvalidParameter(msg)
    if ece is None:
        _check_between(band_width, "band_width", 0.0)
    else:
        _check_between(ece, "ece", 0.0)
    return float(ece if band_width is None else band_width)  # type: ignore[arg-type]


def _check_between(value: object, name: str, low: float) -> None:
    """Raise unless a value lies strictly between a limit and 1."""
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not low < float(value) < 1:  # type: ignore[arg-type]
        msg = f"{name} must be between {low:g} and 1, both excluded; got {value!r}."
        raise InvalidParameter(msg)


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Cells of scores: the share of rows in each, and their true probability."""

    shares: FloatArray
    p: FloatArray

    @classmethod
    def binormal(cls, base_rate: float, auc: float) -> _Scores:
        """Cut the scores into cells that are small for both classes."""
        need("scipy", what="abers.evaluation")
        from scipy.special import ndtr, ndtri

        distance = math.sqrt(2) * float(ndtri(auc))
        edges = np.linspace(-REACH, distance + REACH, 40 * SCORE_CELLS + 1)
        zeros, ones = ndtr(edges), ndtr(edges - distance)
        # Equal steps of this angle give small shares at both ends.
        angle = np.arcsin(np.sqrt(zeros)) + np.arcsin(np.sqrt(ones))
        steps = np.linspace(angle[0], angle[-1], SCORE_CELLS + 1)[1:-1]
        cut = np.unique(np.searchsorted(angle, steps))
        negatives, positives = (
            np.diff(column[cut], prepend=0.0, append=1.0) for column in (zeros, ones)
        )
        negatives *= 1 - base_rate
        positives *= base_rate
        shares = negatives + positives
        return cls(shares / shares.sum(), positives / shares)

    def ece(self, n: float) -> float:
        """Return the mean ECE of rules fitted to n rows."""
        rows = min(round(n), LARGEST_DRAWN)
        rng = np.random.default_rng(CALIBRATION_SEED)
        mean = sum(self._drawn_ece(rng, rows) for _ in range(N_SETS)) / N_SETS
        return float(mean * (rows / n) ** (1 / 3))

    def _drawn_ece(self, rng: np.random.Generator, rows: int) -> float:
        counts = rng.multinomial(rows, self.shares)
        rule = rule_of_diagram(_diagram(counts, rng.binomial(counts, self.p)))
        given = rule.probability(np.arange(self.p.size))
        start = np.flatnonzero(np.append(True, given[1:] != given[:-1]))
        gaps = np.add.reduceat(self.shares * (given - self.p), start)
        return float(abs(gaps).sum())

    def band_width(self, n: float, confidence: float) -> float:
        """Return the mean width of the bands of n rows."""
        rng = np.random.default_rng(CALIBRATION_SEED)
        widths = [self._drawn_width(rng, round(n), confidence) for _ in range(BANDS)]
        return sum(widths) / BANDS

    def _drawn_width(
        self, rng: np.random.Generator, rows: int, confidence: float
    ) -> float:
        counts = rng.multinomial(rows, self.shares)
        ones = rng.binomial(counts, self.p)
        band = band_of(_diagram(counts, ones), confidence=confidence)
        cell = np.arange(self.p.size)
        below = np.searchsorted(band.scores, cell, side="right") - 1
        above = np.searchsorted(band.scores, cell, side="left")
        lower = np.append(band.lower, 0.0)[below]  # -1: nothing is below
        upper = np.append(band.upper, 1.0)[above]
        return float(self.shares @ (upper - lower))


def _diagram(counts: IntArray, ones: IntArray) -> Diagram:
    kept = np.flatnonzero(counts)
    return Diagram.from_counts(kept.astype(np.float64), counts[kept], ones[kept])


def _rows_for(aim: float, error: Callable[[float], float]) -> int:
    """Find the number of rows with the desired error, by secants on the log scale."""
    n, rate = 1_000.0, 3.0  # errors fall about as the cube root
    tried: list[tuple[float, float]] = []
    for _ in range(MOST_SECANTS):
        excess = math.log(error(n) / aim)
        tried.append((math.log(n), excess))
        if len(tried) > 1:
            (x0, e0), (x1, e1) = tried[-2:]
            rate = min(max((x1 - x0) / (e0 - e1), 1.0), 4.0) if e0 != e1 else rate
        step = rate * excess
        n = min(max(n * math.exp(step), LEAST_ROWS), MOST_ROWS)
        if abs(step) < CLOSE or (n == LEAST_ROWS and excess < 0):
            break
        if n == MOST_ROWS and tried[-1][0] == math.log(MOST_ROWS):
            msg = (
                f"the aim {aim!r} takes more than {MOST_ROWS:.0e} rows, or no number "
                "of rows reaches it; aim at more."
            )
            raise InvalidParameter(msg)
    digit: int = 10 ** max(math.floor(math.log10(n)) - 1, 0)
    return math.ceil(n / digit) * digit
