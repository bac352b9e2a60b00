"""What classifiers predict: trained once, kept on disk, shown to every method alike.

Two protocols. *Post hoc*: a classifier is trained on some rows, and calibrators see its
probabilities on others. *K models*: classifiers are trained without one fold each, and
one on all rows; `Replay` is then a classifier that gives their predictions again, so
that estimators of any library are cross-fitted on the same K models without training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from pathlib import Path

    from abers.validation import FloatArray, IntArray
    from experiments.accuracy.sources import Table

FOLDS = 5
TEST_ROWS = 5_000  # at most a third of a set
POST_HOC_TRAIN = 3_000  # at most a third of it
CALIBRATION_ROWS = 20_000  # at most what is left
CALIBRATION_SIZES = (100, 1_000, 10_000)  # besides all, if they are at most half of all
CROSS_FIT_ROWS = 5_000  # at most two thirds of a set
CROSS_FIT_SIZES = (500,)  # besides all, if they are at most half of all
LEAST_OF_A_CLASS = 3  # calibration rows; sizes that leave fewer are not run

MODELS = (
    "logistic regression",
    "random forest",
    "naive Bayes",
    "LightGBM",
    "nearest neighbours",
)


def classifier(name: str, seed: int) -> Any:
    """Return a classifier with the settings of its library, in one thread."""
    if name == "logistic regression":
        return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    if name == "random forest":
        return RandomForestClassifier(random_state=seed, n_jobs=1)
    if name == "naive Bayes":
        return GaussianNB()
    if name == "nearest neighbours":
        return make_pipeline(StandardScaler(), KNeighborsClassifier())
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


@dataclass(frozen=True, eq=False)
class PostHoc:
    """A classifier's probabilities, (n, C), of calibration and of test rows."""

    p_calibration: FloatArray
    y_calibration: IntArray
    p_test: FloatArray
    y_test: IntArray

    @classmethod
    def trained(cls, table: Table, model: str, seed: int) -> PostHoc:
        """Split the rows into three parts, train on one, predict the others."""
        third = len(table.y) // 3
        rows, test = drawn(
            np.arange(len(table.y)), table.y, min(third, TEST_ROWS), seed
        )
        rows, train = drawn(rows, table.y, min(third, POST_HOC_TRAIN), seed)
        calibration = rows[:CALIBRATION_ROWS]
        with threadpool_limits(1):
            fitted = classifier(model, seed).fit(table.X[train], table.y[train])
            parts = [
                fitted.predict_proba(table.X[part]) for part in (calibration, test)
            ]
        return cls(parts[0], table.y[calibration], parts[1], table.y[test])

    def sizes(self) -> list[int]:
        """Return the numbers of calibration rows to try; of fewer, the first."""
        n, classes = self.p_calibration.shape
        smaller = [size for size in CALIBRATION_SIZES if 2 * size <= n]
        return [
            size
            for size in (*smaller, n)
            if np.bincount(self.y_calibration[:size], minlength=classes).min()
            >= LEAST_OF_A_CLASS
        ]

    def first(self, size: int) -> PostHoc:
        """Return the same with fewer calibration rows."""
        return PostHoc(
            self.p_calibration[:size],
            self.y_calibration[:size],
            self.p_test,
            self.y_test,
        )


@dataclass(frozen=True, eq=False)
class CrossFit:
    """Predictions of K models, and of one trained on all rows, for all rows.

    Training rows come first, then the test rows.
    """

    y_train: IntArray
    y_test: IntArray
    folds: IntArray  # of each training row
    probabilities: FloatArray  # (K + 1, n, C)
    log_probabilities: FloatArray  # (K + 1, n, C); as the model gives them, if it does
    decisions: FloatArray  # (K + 1, n) or (K + 1, n, C); empty if the model has none

    @classmethod
    def trained(cls, table: Table, model: str, seed: int, size: int) -> CrossFit:
        """Draw training and test rows, and train the K + 1 models."""
        train, test = cls.rows(table, seed, size)
        X, y = table.X[train], table.y[train]
        folds = np.empty(size, int)
        splitter = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
        for k, (_, held_out) in enumerate(splitter.split(X, y)):
            folds[held_out] = k
        rows = np.concatenate((X, table.X[test]))
        with threadpool_limits(1):
            models = [
                classifier(model, seed).fit(X[folds != k], y[folds != k])
                for k in range(FOLDS + 1)  # no row is in fold K
            ]
            p = np.stack([fitted.predict_proba(rows) for fitted in models])
            if hasattr(models[0], "predict_log_proba"):
                logs = np.stack([fitted.predict_log_proba(rows) for fitted in models])
            else:
                with np.errstate(divide="ignore"):
                    logs = np.log(p)
            decisions = np.empty(0)
            if hasattr(models[0], "decision_function"):
                decisions = np.stack([m.decision_function(rows) for m in models])
        return cls(y, table.y[test], folds, p, logs, decisions)

    @staticmethod
    def rows(table: Table, seed: int, size: int) -> tuple[IntArray, IntArray]:
        """Draw the rows to train on, and those to test."""
        everything = np.arange(len(table.y))
        rest, test = drawn(everything, table.y, min(len(table.y) // 3, TEST_ROWS), seed)
        return rest if size == len(rest) else drawn(rest, table.y, size, seed)[1], test

    @staticmethod
    def sizes(table: Table) -> list[int]:
        """Return the numbers of training rows to try."""
        n = min(len(table.y) - min(len(table.y) // 3, TEST_ROWS), CROSS_FIT_ROWS)
        smaller = [size for size in CROSS_FIT_SIZES if 2 * size <= n]
        least = np.bincount(table.y).min() / len(table.y)
        return [size for size in (*smaller, n) if size * least >= FOLDS]

    @property
    def X_train(self) -> FloatArray:  # noqa: N802 (as scikit-learn has it)
        """What estimators are given to train on: numbers of rows."""
        return np.arange(float(len(self.y_train)))[:, None]

    @property
    def X_test(self) -> FloatArray:  # noqa: N802
        """What they are given to predict."""
        return len(self.y_train) + np.arange(float(len(self.y_test)))[:, None]

    def held_out(self) -> FloatArray:
        """Return the probabilities of each training row by the model without it."""
        return self.probabilities[self.folds, np.arange(len(self.folds))]

    def of_test(self) -> FloatArray:
        """Return the K models' probabilities of the test rows, (K, m, C)."""
        return self.probabilities[:FOLDS, len(self.y_train) :]


class Replay(ClassifierMixin, BaseEstimator):
    """A classifier that was trained already: X is the number of a row.

    Fitted to the rows of all folds but one, it is the model that was trained so.
    """

    def __init__(self, recorded: CrossFit) -> None:
        self.recorded = recorded

    def __sklearn_clone__(self) -> Replay:
        return Replay(self.recorded)  # predictions are not copied

    def fit(self, X: FloatArray, y: IntArray) -> Replay:
        """Find the model that was trained on these rows."""
        present = np.unique(self.recorded.folds[self._rows(X)])
        absent = np.setdiff1d(np.arange(FOLDS + 1), present)  # K is in no fold
        self.model_ = int(absent[0])
        expected = np.flatnonzero(self.recorded.folds != self.model_)
        if not np.array_equal(np.sort(self._rows(X)), expected):
            msg = f"rows must be those of all folds but one; got {len(X)} others."
            raise ValueError(msg)
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the model's probabilities."""
        return self.recorded.probabilities[self.model_, self._rows(X)]

    def predict_log_proba(self, X: FloatArray) -> FloatArray:
        """Return their logarithms, as the model gave them."""
        return self.recorded.log_probabilities[self.model_, self._rows(X)]

    @available_if(lambda self: self.recorded.decisions.size > 0)
    def decision_function(self, X: FloatArray) -> FloatArray:
        """Return the model's margins."""
        return self.recorded.decisions[self.model_, self._rows(X)]

    def predict(self, X: FloatArray) -> IntArray:
        """Return the most probable class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def splitter(self) -> PredefinedSplit:
        """Return the folds that the models were trained on."""
        return PredefinedSplit(self.recorded.folds)

    @staticmethod
    def _rows(X: FloatArray) -> IntArray:
        return np.asarray(X)[:, 0].astype(int)


def drawn(
    rows: IntArray, y: IntArray, size: int, seed: int
) -> tuple[IntArray, IntArray]:
    """Draw `size` rows at random, by class; return the others first, shuffled."""
    others, chosen = train_test_split(
        rows, test_size=size, random_state=seed, stratify=y[rows]
    )
    return others, chosen


def kept(path: Path, make: Any, kind: type[PostHoc | CrossFit]) -> Any:
    """Return what a file has; make it first if there is no such file."""
    if path.exists():
        with np.load(path) as arrays:
            return kind(**arrays)
    made = make()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial.npz")
    np.savez(partial, **vars(made))
    partial.rename(path)
    return made
