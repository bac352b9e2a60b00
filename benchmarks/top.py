"""The exactly valid predictor of many classes beside one-against-rest.

Half of the rows train a model, a quarter calibrates it, the rest is predicted; mean
over ten splits. `--write` puts the table into TOP.md; covertype is read from the folder
given by `--covertype`.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn import datasets
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import abers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from sklearn.base import ClassifierMixin

    Set = tuple[NDArray[np.float64], NDArray[np.int64]]

PAGE = Path(__file__).parent / "TOP.md"
MARK = "<!-- measured -->"
SPLITS = 10
MOST = 6_000  # rows of covertype
DECOMPOSITIONS = ("top", "ovr")


def synthetic(n: int, classes: int, **options: float) -> Callable[[], Set]:
    """Return a maker of a set with this many classes."""
    return lambda: datasets.make_classification(
        n,
        n_features=12,
        n_informative=8,
        n_classes=classes,
        random_state=0,
        **options,
    )


SETS: dict[str, Callable[[], Set]] = {
    "iris": lambda: datasets.load_iris(return_X_y=True),
    "wine": lambda: datasets.load_wine(return_X_y=True),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "synthetic, 3 classes": synthetic(2_000, 3),
    "synthetic, 5 classes": synthetic(4_000, 5),
    "synthetic, 10 classes": synthetic(6_000, 10),
    "synthetic, 4, noisy": synthetic(4_000, 4, flip_y=0.3, class_sep=0.7),
}


def covertype(folder: str) -> Callable[[], Set]:
    """Return a maker of a sample of covertype."""

    def made() -> Set:
        (file,) = Path(folder).glob("covtype.data*")
        opened = gzip.open if file.suffix == ".gz" else open
        with opened(file, "rt") as lines:
            table = np.loadtxt(lines, delimiter=",", dtype=np.float64)
        rows = np.random.default_rng(0).permutation(len(table))[:MOST]
        return table[rows, :-1], table[rows, -1].astype(np.int64)

    return made


MODELS: dict[str, Callable[[], ClassifierMixin]] = {
    "naive Bayes": GaussianNB,
    "logistic": lambda: make_pipeline(
        StandardScaler(), LogisticRegression(max_iter=2_000)
    ),
    "forest": lambda: RandomForestClassifier(100, random_state=0),
}


class Result(NamedTuple):
    """What one decomposition is like, on average over splits."""

    log_loss: float
    brier: float
    width: float  # of the bounds of all classes
    top_width: float  # of the bounds of the most probable class


def measured(X: np.ndarray, y: np.ndarray, model: str, decomposition: str) -> Result:
    """Calibrate and predict, split by split."""
    found = []
    for split in range(SPLITS):
        kept, test = train_test_split(
            np.arange(y.size), test_size=0.25, random_state=split, stratify=y
        )
        classifier = abers.IVAPClassifier(
            MODELS[model](),
            calibration=1 / 3,
            multiclass=decomposition,
            random_state=split,
        ).fit(X[kept], y[kept])
        p = classifier.predict_proba(X[test])
        bounds = classifier.predict_bounds(X[test])
        widths = bounds[..., 1] - bounds[..., 0]
        hits = y[test][:, np.newaxis] == classifier.classes_
        top = p.argmax(axis=1)
        found.append(
            (
                log_loss(y[test], p, labels=classifier.classes_),
                ((p - hits) ** 2).sum(axis=1).mean(),
                widths.mean(),
                widths[np.arange(top.size), top].mean(),
            )
        )
    return Result(*np.mean(found, axis=0).tolist())


def page(sets: dict[str, Callable[[], Set]]) -> Iterator[str]:
    """Write the table, line by line."""
    yield (
        "| set | rows | classes | model | log loss, top | ovr | Brier, top | ovr | "
        "width, top | ovr | of the top class, top | ovr |"
    )
    yield f"|---|--:|--:|---|{'--:|' * 8}"
    won = {"log_loss": 0, "brier": 0, "width": 0, "top_width": 0}
    for name, made in sets.items():
        X, y = made()
        for model in MODELS:
            top, ovr = (measured(X, y, model, each) for each in DECOMPOSITIONS)
            for field in won:
                won[field] += getattr(top, field) < getattr(ovr, field)
            pairs = " | ".join(
                f"{mine:.3f} | {theirs:.3f}"
                for mine, theirs in zip(top, ovr, strict=True)
            )
            yield f"| {name} | {y.size:,} | {np.unique(y).size} | {model} | {pairs} |"
    count = len(sets) * len(MODELS)
    yield (
        f"\nOf {count} pairs of set and model, `top` has the smaller log loss in "
        f"{won['log_loss']}, the smaller Brier loss in {won['brier']}, narrower bounds "
        f"in {won['width']}, and of the top class in {won['top_width']}."
    )


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--covertype", help="the folder of UCI's covertype")
    parser.add_argument("--write", action="store_true", help="put it into TOP.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = dict(SETS)
    if options.covertype:
        sets["covertype, a sample"] = covertype(options.covertype)
    lines = []
    for line in page(sets):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
        lines.append(line)
    if options.write:
        head = PAGE.read_text(encoding="utf-8").split(MARK)[0]
        text = head + MARK + "\n\n" + "\n".join(lines) + "\n"
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
