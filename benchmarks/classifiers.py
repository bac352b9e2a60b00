"""Cross predictors end to end: what they cost beyond training and scoring."""

from __future__ import annotations

import pickle
import warnings
from typing import TYPE_CHECKING

from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_limits
from timing import best_times, shown

import abers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    Row = tuple[str, str, str, bool]

FOLDS = 5
ROWS = 10**5


class Floor:
    """K trainings and K scorings, and nothing else."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Floor:
        """Train on each fold's complement and score the fold."""
        self.models = []
        splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        for train, test in splitter.split(X, y):
            self.models.append(clone(GaussianNB()).fit(X[train], y[train]))
            self.models[-1].predict_log_proba(X[test])
        return self

    def predict_proba(self, X: np.ndarray) -> list[np.ndarray]:
        """Score by every model, as ours does."""
        return [model.predict_log_proba(X) for model in self.models]


def _venn_abers() -> object:
    from venn_abers import VennAbersCalibrator

    return VennAbersCalibrator(
        estimator=GaussianNB(), inductive=False, n_splits=FOLDS, random_state=0
    )


def _mapie() -> object:
    from mapie.calibration import VennAbersCalibrator

    return VennAbersCalibrator(
        estimator=GaussianNB(), inductive=False, n_splits=FOLDS, random_state=0
    )


CONTENDERS: dict[str, Callable[[], object]] = {
    "abers CVAPClassifier, pooled": lambda: abers.CVAPClassifier(
        GaussianNB(), cv=FOLDS, merge="pooled", random_state=0
    ),
    "abers CVAPClassifier, minimax": lambda: abers.CVAPClassifier(
        GaussianNB(), cv=FOLDS, merge="minimax", random_state=0
    ),
    "CalibratedClassifierCV isotonic": lambda: CalibratedClassifierCV(
        GaussianNB(), method="isotonic", cv=FOLDS
    ),
    "venn-abers": _venn_abers,
    "MAPIE": _mapie,
}


def rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return rows to fit, their labels, and rows to predict."""
    X, y = make_classification(2 * ROWS, 20, n_informative=8, random_state=0)
    return X[:ROWS], y[:ROWS], X[ROWS:]


def targets() -> Iterator[Row]:
    """Set what was measured beside its target, on one core."""
    X, y, new = rows()
    with threadpool_limits(1):
        for merge, most in (("pooled", 100e-3), ("minimax", 20e-3)):
            model = abers.CVAPClassifier(merge=merge, random_state=0).fit(X, y)
            ours, models = best_times(
                [
                    lambda m=model: m.predict_proba(new),
                    lambda m=model: [e.decision_function(new) for e in m.estimators_],
                ],
                seconds=3,
            )
            beyond = ours - models
            what = f"CVAPClassifier.predict_proba beyond K models, {merge}, 1e+05"
            yield what, shown(beyond), f"<= {most * 1e3:g} ms", beyond <= most
            kept = len(pickle.dumps(model)) / ROWS
            yield f"pickled CVAPClassifier, {merge}, a row", f"{kept:.3g} B", "", True


def table() -> Iterator[str]:
    """Yield fit, predict and one-row times beyond the floor."""
    X, y, new = rows()
    floor = Floor()
    floor_fit, floor_predict, floor_one = _times(floor, X, y, new)
    yield "| | fit beyond floor | predict beyond floor | one row / K scorings |"
    yield "|---|---|---|---|"
    yield (
        f"| floor: {FOLDS} trainings and scorings | {shown(floor_fit)} in all | "
        f"{shown(floor_predict)} in all | {shown(floor_one)} in all |"
    )
    for name, make in CONTENDERS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit, predict, one = _times(make(), X, y, new)
        yield (
            f"| {name} | {_signed(fit - floor_fit)} | "
            f"{_signed(predict - floor_predict)} | {one / floor_one:.3g} x |"
        )


def _times(model: object, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> list[float]:
    (fit,) = best_times([lambda: model.fit(X, y)], seconds=2)
    (predict,) = best_times([lambda: model.predict_proba(new)], seconds=2)
    (one,) = best_times([lambda: model.predict_proba(new[:1])], seconds=1)
    return [fit, predict, one]


def _signed(seconds: float) -> str:
    return ("-" if seconds < 0 else "+") + shown(abs(seconds))


if __name__ == "__main__":
    for line in table():
        print(line, flush=True)
