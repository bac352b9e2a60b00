"""Artificial data: the limit of SVMs (section 5.1 of the paper), and time.

With more and more data the margins of a support vector machine with a universal kernel
gather at -1 and 1, so that a sigmoid of them can take two values only. If the true
probability η is uniform, the best log loss of a sigmoid tends to 0.8113 bits, where
Bayes has 0.7213.

Time is taken on labels plus noise, in growing sizes: to fit, from unsorted and from
sorted scores, with ties and with rare events, and to answer one query.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.integrate import quad
from scipy.special import xlogy
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from abers import losses
from abers.core.fit import fit_rule, fitted_rule
from abers.estimators.calibrators import IsotonicCalibrator, PlattCalibrator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from abers.validation import FloatArray, IntArray

    Drawn = tuple[FloatArray, IntArray]  # scores, or true probabilities, and labels


# The limit of SVMs.

SVM_SIZES = (100, 400, 1_600, 6_400)  # rows that train the machine
FRESH = 20_000  # rows to calibrate, and as many to test
NEAR = 0.1
GAMMA = 200.0  # a narrow kernel: steps are learnt from few rows


@dataclass(frozen=True, slots=True)
class SigmoidLimit:
    """Losses in bits as data grow, for one distribution of the true probability."""

    bayes: float
    sigmoid: float

    @property
    def excess(self) -> float:
        """Eq. (8): what a sigmoid loses for ever."""
        return self.sigmoid - self.bayes


@dataclass(frozen=True, slots=True)
class SvmRun:
    """A support vector machine, and calibrators of its margins; losses in bits."""

    n_train: int
    near_one: float  # share of test margins within 0.1 of -1 or 1
    bayes: float  # of the true probabilities, on the same test rows
    platt: float
    isotonic: float
    ivap: float


def sigmoid_limit(density: Callable[[float], float] | None = None) -> SigmoidLimit:
    """Integrate the losses of Bayes and of the best sigmoid of ±1.

    The best sigmoid predicts E(η | η > 1/2) or E(η | η < 1/2); η is uniform if no
    density is given.
    """
    weight = density or (lambda _: 1.0)
    bayes = sigmoid = 0.0
    for low, high in ((0.0, 0.5), (0.5, 1.0)):
        bayes += _integral(lambda eta: _entropy(eta) * weight(eta), low, high)
        mass = _integral(weight, low, high)
        says = _integral(lambda eta: eta * weight(eta), low, high) / mass
        sigmoid += mass * _entropy(says)
    return SigmoidLimit(bayes, sigmoid)


def svm_runs(sizes: Sequence[int] = SVM_SIZES, *, seed: int = 0) -> list[SvmRun]:
    """Train machines on more and more rows with η = x uniform, and calibrate them.

    The constant of the machine falls as 1/√m with m training rows, so that the paper's
    C_m tends to infinity but slower than m.
    """
    rng = np.random.default_rng(seed)
    calibrate, test = _sample(rng, FRESH), _sample(rng, FRESH)
    with threadpool_limits(1):
        return [_svm_run(_sample(rng, m), calibrate, test) for m in sizes]


def _sample(rng: np.random.Generator, size: int) -> Drawn:
    eta = rng.random(size)
    return eta, (rng.random(size) < eta).astype(np.int64)


def _svm_run(train: Drawn, calibrate: Drawn, test: Drawn) -> SvmRun:
    size = train[1].size
    machine = SVC(kernel="rbf", gamma=GAMMA, C=10 / np.sqrt(size), cache_size=500)
    machine.fit(train[0][:, np.newaxis], train[1])
    known, new = (
        machine.decision_function(x[:, np.newaxis]) for x in (calibrate[0], test[0])
    )
    labels = calibrate[1]
    predicted = (
        PlattCalibrator(regularised=False).fit(known, labels).predict_proba(new)[:, 1],
        IsotonicCalibrator().fit(known, labels).predict_proba(new)[:, 1],
        fit_rule(known, labels).probability(new),
    )
    found = [losses.paper_log_loss(test[1], p) for p in (test[0], *predicted)]
    near = float((abs(abs(new) - 1) <= NEAR).mean())
    return SvmRun(size, near, *found)


def _integral(f: Callable[[float], float], low: float, high: float) -> float:
    return float(quad(f, low, high, epsabs=1e-12)[0])


def _entropy(p: float) -> float:
    return float(-(xlogy(p, p) + xlogy(1 - p, 1 - p)) / np.log(2))


# Time.

TIMED_SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
REPEATS, MOST_REPEATS = 3, 30  # of what takes long, and of what does not
ENOUGH = 0.2  # seconds after which nothing is repeated more than it must be
QUERIES = 100_000  # new scores, asked at once: what one of them takes is their share
LARGEST_RIVAL = 1_000_000  # scores that the other methods are timed with, at most
LARGEST_NAIVE = 1_000  # and the definition, two regressions for each new score
NAIVE_QUERIES = 20
LEVELS = 1_000  # distinct scores where there are ties
RARE = 0.001  # share of ones where they are rare


@dataclass(frozen=True, slots=True)
class Timing:
    """Processor seconds, least of a few, on k artificial scores; None: not timed."""

    k: int
    sort: float  # np.sort of the scores: nothing that orders them can be quicker
    fit_ivap: float
    fit_sorted: float  # the same rows in the order of their scores
    fit_tied: float
    fit_rare: float
    query: float  # of one new score
    fit_isotonic: float | None
    fit_platt: float | None
    naive_query: float | None  # of one new score, by two isotonic regressions


def artificial(rng: np.random.Generator, size: int, rate: float = 0.5) -> Drawn:
    """Draw labels y, 1 at a rate, and scores y + ξ with ξ standard normal."""
    labels = (rng.random(size) < rate).astype(np.int64)
    return labels + rng.standard_normal(size), labels


def timings(sizes: Sequence[int] = TIMED_SIZES, *, seed: int = 0) -> list[Timing]:
    """Time an IVAP on artificial data, and sorting and the other methods."""
    rng = np.random.default_rng(seed)
    return [_timed(k, rng) for k in sizes]


def _timed(k: int, rng: np.random.Generator) -> Timing:
    scores, labels = artificial(rng, k)
    rare_scores, rare_labels = artificial(rng, k, RARE)
    tied = np.floor(LEVELS * rng.random(k))
    order = np.argsort(scores)
    ordered = scores[order], labels[order]
    rule, new = fit_rule(scores, labels), artificial(rng, QUERIES)[0]
    others = k <= LARGEST_RIVAL

    def naive() -> None:
        for score in new[:NAIVE_QUERIES]:
            for label in (0, 1):
                both = np.append(scores, score), np.append(labels, label)
                IsotonicCalibrator().fit(*both).predict_proba([score])

    return Timing(
        k,
        _seconds(lambda: np.sort(scores)),
        _seconds(lambda: fit_rule(scores, labels)),
        _seconds(lambda: fit_rule(*ordered)),
        _seconds(lambda: fitted_rule(tied, labels)),
        _seconds(lambda: fit_rule(rare_scores, rare_labels)),
        _seconds(lambda: rule.bounds(new)) / QUERIES,
        _seconds(lambda: IsotonicCalibrator().fit(scores, labels)) if others else None,
        _seconds(lambda: PlattCalibrator().fit(scores, labels)) if others else None,
        _seconds(naive) / NAIVE_QUERIES if k <= LARGEST_NAIVE else None,
    )


def _seconds(work: Callable[[], Any]) -> float:
    """Return the least processor time of a few runs; others may use the machine."""
    taken: list[float] = []
    while len(taken) < REPEATS or (len(taken) < MOST_REPEATS and sum(taken) < ENOUGH):
        start = process_time()
        work()
        taken.append(process_time() - start)
    return min(taken)


# Entropies: what the best constant prediction costs, by three losses.


def entropies(p: FloatArray) -> dict[str, FloatArray]:
    """Return the Gini index, its square root and Shannon's entropy, 1 at 1/2."""
    gini = 4 * p * (1 - p)
    shannon = -(xlogy(p, p) + xlogy(1 - p, 1 - p)) / np.log(2)
    return {
        "Gini index": gini,
        "square root of the Gini index": np.sqrt(gini),
        "Shannon entropy": shannon,
    }
