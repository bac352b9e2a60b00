"""What the study of accuracy is about: data sets, their splits, and classifiers.

All of it was fixed before the first full run. A set that is large enough is drawn at
500, 2,000 and 8,000 training rows, and each size counts as a set. Rows are drawn at
random, by class, and never the first ones of a file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from lightgbm import LGBMClassifier
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from experiments.paper import data

TEST_ROWS = 5_000  # at most
BUNDLED = {
    "breast cancer": datasets.load_breast_cancer,
    "iris": datasets.load_iris,
    "wine": datasets.load_wine,
    "digits": datasets.load_digits,
}
# Covertype is taken three times: class 2 against the rest as the paper does, its three
# largest classes (so that some pairs of classes have thousands of rows), and all seven.
COVERTYPES = {"covertype": 2, "covertype 3 classes": 3, "covertype 7 classes": 7}


@dataclass(frozen=True)
class Sample:
    """A data set of the study: a source, and how many rows train."""

    source: str
    rows: int | None = None  # None: two thirds of all

    @property
    def name(self) -> str:
        """What the tables call it."""
        return self.source if self.rows is None else f"{self.source} {self.rows:,}"


SAMPLES = (
    *(Sample(source) for source in (*BUNDLED, "german")),
    *(Sample("spambase", rows) for rows in (500, 2_000)),
    *(
        Sample(source, rows)
        for rows in (500, 2_000, 8_000)
        for source in ("adult", "bank", "insurance", *COVERTYPES)
    ),
)
MODELS = (
    "logistic regression",
    "naive Bayes",
    "random forest",
    "HistGradientBoosting",
    "LightGBM",
)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers; nominal columns hold the positions of their levels."""

    X: np.ndarray
    y: np.ndarray  # 0 ... C - 1
    nominal: list[int]  # columns with more than two levels


@cache
def table(source: str) -> Table:
    """Read a source; those of the paper are in the folder ABERS_DATA."""
    if source in BUNDLED:
        X, y = BUNDLED[source](return_X_y=True)
        return Table(X, y, [])
    folder = os.environ.get("ABERS_DATA")
    if not folder:
        msg = f"ABERS_DATA must name the folder of the paper's data to read {source}."
        raise SystemExit(msg)
    file = "covertype" if source in COVERTYPES else source
    read = data.load(file, folder)
    X = np.stack([np.asarray(c.values, float) for c in read.columns], axis=1)
    nominal = [i for i, c in enumerate(read.columns) if len(c.levels) > 2]
    y = read.labels
    if source == "covertype":
        y = (y == 1).astype(int)
    elif source == "covertype 3 classes":
        X, y = X[y < 3], y[y < 3]
    return Table(X, y, nominal)


def split(sample: Sample, seed: int) -> tuple[np.ndarray, ...]:
    """Return X to train, X to test, y to train, y to test."""
    t = table(sample.source)
    train = sample.rows or len(t.y) * 2 // 3
    test = min(TEST_ROWS, len(t.y) - train)
    return tuple(
        train_test_split(
            t.X, t.y, train_size=train, test_size=test, random_state=seed, stratify=t.y
        )
    )


def classifier(name: str, source: str, seed: int) -> Any:
    """Return a classifier with default settings, in one thread.

    Logistic regression is given standardised numbers, indicators of levels, and
    enough iterations; the others the positions of the levels as numbers.
    """
    if name == "naive Bayes":
        return GaussianNB()
    if name == "random forest":
        return RandomForestClassifier(random_state=seed, n_jobs=1)
    if name == "HistGradientBoosting":
        return HistGradientBoostingClassifier(random_state=seed)
    if name == "LightGBM":
        return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    levels = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer(
        (levels, table(source).nominal), remainder=StandardScaler()
    )
    return make_pipeline(columns, LogisticRegression(max_iter=1000))
