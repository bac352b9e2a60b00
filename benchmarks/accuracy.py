"""Losses of calibrated classifiers: print the table, `--write` puts it in ACCURACY.md.

Nothing here was chosen by looking at the losses: classifiers have default settings
(logistic regression more iterations), seeds are 0, 1, 2, ..., and all methods are given
the same five folds. CalibratedClassifierCV trains a classifier without each fold,
calibrates it on the fold and averages; here it is given those that CVAP has trained,
which is the same (`--check` compares) and takes a third of the time.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import abers

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULTS = Path(__file__).parent / "ACCURACY.md"
MARK = "<!-- measured -->"
METHODS = ("underlying", "isotonic", "sigmoid", "temperature", "IVAP", "CVAP")
LOSSES = ("log loss", "Brier loss")
NUMERIC = [0, 2, 4, 10, 11, 12]  # the columns of adult that are numbers
NOMINAL = [1, 3, 5, 6, 7, 8, 9, 13]
SIZES = (500, 2_000, 8_000)  # rows of adult, for --sizes
SEEDS = (0, 1, 2)

Split = tuple[Any, Any, Any, Any]  # X_train, X_test, y_train, y_test


@dataclass
class Data:
    """A data set: its splits and the classifiers that suit its columns."""

    name: str
    about: str
    splits: list[Split]
    classifiers: dict[str, Any]


@dataclass
class Losses:
    """The two losses of a method, averaged over splits."""

    values: list[tuple[float, float]] = field(default_factory=list)
    infinite: bool = False  # some true class got probability 0

    def add(self, y: np.ndarray, p: np.ndarray) -> None:
        """Measure one more split; labels are 0, 1, ..., C - 1."""
        two = p.shape[1] == 2
        brier = brier_score_loss(y, p[:, 1]) if two else brier_score_loss(y, p)
        self.values.append((log_loss(y, p), brier))
        self.infinite |= bool((p[np.arange(len(y)), y] == 0).any())

    def mean(self, loss: str) -> float:
        """Average over the splits."""
        return float(np.mean(self.values, axis=0)[LOSSES.index(loss)])


def random_splits(X: np.ndarray, y: np.ndarray, count: int) -> list[Split]:
    """Split at random, two thirds to train."""
    return [
        tuple(train_test_split(X, y, test_size=1 / 3, random_state=seed, stratify=y))
        for seed in range(count)
    ]


def plain_classifiers() -> dict[str, Any]:
    """Return classifiers for columns that are all numbers."""
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return {
        "logistic regression": logistic,
        "naive Bayes": GaussianNB(),
        "gradient boosting": HistGradientBoostingClassifier(random_state=0),
        "random forest": RandomForestClassifier(random_state=0, n_jobs=1),
    }


def adult_classifiers() -> dict[str, Any]:
    """Return the same for adult: nominal columns are one-hot or numbered."""
    one_hot = make_column_transformer(
        (StandardScaler(), NUMERIC), (OneHotEncoder(handle_unknown="ignore"), NOMINAL)
    )
    numbers = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbered = make_column_transformer(("passthrough", NUMERIC), (numbers, NOMINAL))
    return {
        name: make_pipeline(clone(numbered), model)
        if name != "logistic regression"
        else make_pipeline(one_hot, LogisticRegression(max_iter=1000))
        for name, model in plain_classifiers().items()
    }


def adult_rows(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read a raw file of adult; "?" is a value like any other."""
    with gzip.open(path, "rt") as lines:
        rows = [line.strip().rstrip(".").split(", ") for line in lines]
    cells = np.array([row for row in rows if len(row) == 15], dtype=object)
    X = cells[:, :-1]
    X[:, NUMERIC] = X[:, NUMERIC].astype(float)
    return X, (cells[:, -1] == ">50K").astype(int)


def data_sets() -> Iterator[Data]:
    """Yield the data sets that are at hand."""
    X, y = load_breast_cancer(return_X_y=True)
    about = f"{len(y)} rows, 2 classes, mean of 10 random splits 2:1"
    yield Data("breast cancer", about, random_splits(X, y, 10), plain_classifiers())
    X, y = load_digits(return_X_y=True)
    about = f"{len(y)} rows, 10 classes, mean of 3 random splits 2:1"
    yield Data("digits", about, random_splits(X, y, 3), plain_classifiers())
    if "ABERS_DATA" not in os.environ:
        print("ABERS_DATA is not set: adult is left out.", file=sys.stderr)
        return
    folder = Path(os.environ["ABERS_DATA"]) / "adult"
    train, test = (adult_rows(folder / f"adult.{part}.gz") for part in ("data", "test"))
    about = f"{len(train[1])} rows to train, {len(test[1])} to test, 2 classes"
    splits = [(train[0], test[0], train[1], test[1])]
    yield Data("adult", about, splits, adult_classifiers())


def predictions(
    classifier: Any, seed: int, X: Any, y: np.ndarray, new: Any
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the probabilities of the new rows by each method."""
    yield "underlying", clone(classifier).fit(X, y).predict_proba(new)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    cvap = abers.CVAPClassifier(classifier, cv=folds).fit(X, y)
    parts = [rows for _, rows in folds.split(X, y)]
    for method in ("isotonic", "sigmoid", "temperature"):
        calibrated = [
            CalibratedClassifierCV(FrozenEstimator(model), method=method)
            .fit(X[rows], y[rows])
            .predict_proba(new)
            for model, rows in zip(cvap.estimators_, parts, strict=True)
        ]
        yield method, np.mean(calibrated, axis=0)
    ivap = abers.IVAPClassifier(classifier, random_state=seed)
    yield "IVAP", ivap.fit(X, y).predict_proba(new)
    yield "CVAP", cvap.predict_proba(new)


def check() -> None:
    """Compare with CalibratedClassifierCV as everybody calls it."""
    for data in data_sets():
        X, new, y, _ = data.splits[0]
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        for name, classifier in data.classifiers.items():
            ours = dict(predictions(classifier, 0, X, y, new))
            for method in ("isotonic", "sigmoid", "temperature"):
                theirs = CalibratedClassifierCV(classifier, method=method, cv=folds)
                gap = abs(theirs.fit(X, y).predict_proba(new) - ours[method]).max()
                print(f"{data.name}, {name}, {method}: differ by {gap:.1e}", flush=True)


def measure(data: Data) -> dict[str, dict[str, Losses]]:
    """Return the losses by classifier and method."""
    results = {}
    for name, classifier in data.classifiers.items():
        start = time.perf_counter()
        row = {method: Losses() for method in METHODS}
        for seed, (X, X_test, y, y_test) in enumerate(data.splits):
            for method, p in predictions(classifier, seed, X, y, X_test):
                row[method].add(y_test, p)
        results[name] = row
        seconds = time.perf_counter() - start
        print(f"{data.name}, {name}: {seconds:.0f} s", file=sys.stderr)
    return results


def header() -> Iterator[str]:
    """Yield the first lines of a table."""
    yield "| | " + " | ".join(METHODS) + " |"
    yield "|---|" + "---|" * len(METHODS)


def table_row(name: str, row: dict[str, Losses], loss: str) -> str:
    """Return a line of a table: the best in bold, a CVAP that is worse with a star."""
    cells = []
    best = min(losses.mean(loss) for losses in row.values())
    for method, losses in row.items():
        cell = f"{losses.mean(loss):.5f}"
        if losses.mean(loss) == best:
            cell = f"**{cell}**"
        elif method == "CVAP":
            cell += " *"
        if losses.infinite and loss == "log loss":
            cell += " (inf)"
        cells.append(cell)
    return f"| {name} | " + " | ".join(cells) + " |"


def tables(data: Data, results: dict[str, dict[str, Losses]]) -> Iterator[str]:
    """Yield a table for each loss."""
    for loss in LOSSES:
        yield f"\n### {data.name}, {loss}\n\n{data.about}.\n"
        yield from header()
        for name, row in results.items():
            yield table_row(name, row, loss)


def by_size() -> Iterator[str]:
    """Yield the log losses on adult for a growing number of training rows."""
    *_, adult = data_sets()
    X, X_test, y, y_test = adult.splits[0]
    results = {}
    for size in SIZES:
        drawn = [
            np.random.default_rng(seed).permutation(len(y))[:size] for seed in SEEDS
        ]
        splits = [(X[rows], X_test, y[rows], y_test) for rows in drawn]
        results[size] = measure(Data(f"{size:,} rows", "", splits, adult.classifiers))
    yield from header()
    for name in adult.classifiers:
        for size in SIZES:
            yield table_row(f"{name}, {size:,}", results[size][name], "log loss")


def worse(data: Data, results: dict[str, dict[str, Losses]]) -> Iterator[str]:
    """Yield a sentence for each cell where CVAP is not the best."""
    for loss in LOSSES:
        for name, row in results.items():
            ours = row["CVAP"].mean(loss)
            better = {m: v.mean(loss) for m, v in row.items() if v.mean(loss) < ours}
            if better:
                others = ", ".join(
                    f"{m} {value:.5f}"
                    for m, value in sorted(better.items(), key=lambda item: item[1])
                )
                yield f"- {data.name}, {name}, {loss}: CVAP {ours:.5f}; {others}."


def report() -> Iterator[str]:
    """Yield the lines of the page."""
    yield (
        f"Measured with abers {abers.__version__}, scikit-learn "
        f"{version('scikit-learn')}, numpy {version('numpy')}."
    )
    lost: list[str] = []
    cells = 0
    for data in data_sets():
        results = measure(data)
        cells += len(LOSSES) * len(results)
        lost += worse(data, results)
        yield from tables(data, results)
    yield f"\n### Where CVAP is not the best: {len(lost)} of {cells} cells\n"
    yield from lost


def main() -> None:
    """Print the tables, and keep them if asked to."""
    with threadpool_limits(1):
        if "--check" in sys.argv[1:]:
            check()
            return
        if "--sizes" in sys.argv[1:]:
            print(*by_size(), sep="\n")
            return
        lines = []
        for line in report():
            print(line, flush=True)
            lines.append(line)
    if "--write" in sys.argv[1:]:
        head = RESULTS.read_text().split(MARK)[0]
        RESULTS.write_text(head + MARK + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
