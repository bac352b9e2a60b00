"""The stacked rule against fit_rule, and CalibratedClassifier beyond its models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scipy.special import expit, softmax
from sklearn.naive_bayes import GaussianNB
from timing import best_times, shown

import abers
from abers.estimators.cross_fit import cross_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    Row = tuple[str, str, str, bool]

MOST_OF_A_FIT = 40.0  # times fit_rule
MOST_PER_ROW = 100e-9  # seconds
MOST_OF_TEN_CLASSES = 1.0
MOST_BEYOND_MODELS = 0.1


def overconfident(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities whose log-odds are twice the true ones, and labels."""
    logits = rng.normal(scale=2, size=size)
    return expit(2 * logits), rng.random(size) < expit(logits)


def targets(rng: np.random.Generator) -> Iterator[Row]:
    """Set what was measured beside its target."""
    for size in (10**5, 10**6):
        p, y = overconfident(rng, size)
        stacked, plain = best_times(
            [lambda: abers.fit_stacked_rule(p, y), lambda: abers.fit_rule(p, y)],  # noqa: B023
            seconds=6,
        )
        what = f"fit_stacked_rule / fit_rule, {size:.0e}"
        ratio = stacked / plain
        yield what, f"{ratio:.3g} x", f"<= {MOST_OF_A_FIT:g} x", ratio <= MOST_OF_A_FIT
    p, y = overconfident(rng, 10**5)
    rule = abers.fit_stacked_rule(p, y)
    new, _ = overconfident(rng, 10**6)
    (seconds,) = best_times([lambda: rule.probability(new)])
    per_row = seconds / new.size
    good = per_row <= MOST_PER_ROW
    yield "stacked probability, a row of 1e+06", shown(per_row), "<= 100 ns", good
    logits = rng.normal(scale=2, size=(10**4, 10))
    y = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    p = softmax(2 * logits, axis=1)
    (seconds,) = best_times([lambda: abers.fit_stacked_rule(p, y)], seconds=4)
    good = seconds <= MOST_OF_TEN_CLASSES
    yield "fit_stacked_rule, 10 classes, 1e+04", shown(seconds), "<= 1 s", good
    yield _beyond_models(rng)


def _beyond_models(rng: np.random.Generator) -> Row:
    """Time what fitting costs besides training and asking the models."""
    X = rng.normal(size=(10**4, 10))
    y = (X[:, 0] + rng.logistic(size=len(X)) > 0).astype(int)
    pairs = cross_pairs(5, X, y, 0, {})

    def models() -> None:
        for train, rest in pairs:
            GaussianNB().fit(X[train], y[train]).predict_log_proba(X[rest])

    model = abers.CalibratedClassifier(GaussianNB(), cv=pairs)
    whole, alone = best_times([lambda: model.fit(X, y), models], seconds=4)
    good = whole - alone <= MOST_BEYOND_MODELS
    what = "CalibratedClassifier.fit beyond its models, 1e+04"
    return what, shown(whole - alone), "<= 100 ms", good
