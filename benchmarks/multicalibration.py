"""Where multicalibration helps: three models on adult, with the groups and without.

`ABERS_DATA=/path/to/data PYTHONPATH=. .venv/bin/python benchmarks/multicalibration.py
--write` puts the table into MULTICALIBRATION.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import abers
from experiments.paper import data

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PAGE = Path(__file__).parent / "MULTICALIBRATION.md"
MARK = "<!-- measured -->"
GROUPS = ("all", "married", "women", "below 30", "not white")
GROUPED_BY = ("age", "marital-status", "relationship", "race", "sex")
TRAINING = 15_000
CALIBRATION = (1_000, 5_000)
SPLITS = 10
METHODS = (
    "model",
    "rule",
    "multicalibrated",
    "rule on half, multicalibrated",
    "rules for groups",
)
HEAD = (
    "| model | calibration rows | method | log loss | Brier loss | worst group error |"
)


class Adult(NamedTuple):
    """The rows, and which groups each is in."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    nominal: list[int]
    hidden: list[int]  # columns that tell the groups


def adult(folder: str) -> Adult:
    """Read adult; nominal columns hold the positions of their levels."""
    read = data.load("adult", folder)
    columns = {column.name: column for column in read.columns}

    def is_level(name: str, *levels: str) -> np.ndarray:
        column = columns[name]
        return np.isin(np.asarray(column.levels)[column.values.astype(int)], levels)

    age = np.asarray(columns["age"].values, float)
    groups = np.stack(
        (
            np.ones(age.size, dtype=bool),
            is_level("marital-status", "Married-civ-spouse", "Married-AF-spouse"),
            is_level("sex", "Female"),
            age < 30,
            ~is_level("race", "White"),
        ),
        axis=1,
    )
    names = [column.name for column in read.columns]
    return Adult(
        np.stack([np.asarray(c.values, float) for c in read.columns], axis=1),
        np.asarray(read.labels),
        groups,
        [place for place, column in enumerate(read.columns) if len(column.levels) > 2],
        [names.index(name) for name in GROUPED_BY],
    )


def model(name: str, nominal: list[int]) -> Any:
    """Return a classifier with default settings."""
    if name == "naive Bayes":
        return GaussianNB()
    if name == "boosting":
        return HistGradientBoostingClassifier(random_state=0)
    levels = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((levels, nominal), remainder=StandardScaler())
    return make_pipeline(columns, LogisticRegression(max_iter=1000))


def predictions(
    p: np.ndarray, rows: Adult, calibrate: np.ndarray, test: np.ndarray
) -> Iterator[tuple[str, np.ndarray]]:
    """Calibrate a model's probabilities in all ways; predict the test rows."""
    y, groups = rows.y, rows.groups
    half = calibrate.size // 2
    yield "model", p[test]
    rule = abers.fit_rule(p[calibrate], y[calibrate])
    yield "rule", rule.probability(p[test])
    fitted = abers.fit_multicalibrated(p[calibrate], y[calibrate], groups[calibrate])
    yield "multicalibrated", fitted.probability(p[test], groups[test])
    first, second = calibrate[:half], calibrate[half:]
    rule = abers.fit_rule(p[first], y[first])
    fitted = abers.fit_multicalibrated(
        rule.probability(p[second]), y[second], groups[second]
    )
    yield (
        "rule on half, multicalibrated",
        fitted.probability(rule.probability(p[test]), groups[test]),
    )
    # Rules need groups that exclude each other: all combinations.
    names = groups @ (1 << np.arange(groups.shape[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", abers.errors.InvertedScoresWarning)
        rules = abers.fit_rules(p[calibrate], y[calibrate], names[calibrate])
    yield "rules for groups", rules.probability(p[test], names[test])


def measured(p: np.ndarray, y: np.ndarray, groups: np.ndarray) -> list[float]:
    """Return log loss, Brier loss, and the largest |mean of y - p| of a group."""
    errors = [abs((y - p)[member].mean()) for member in groups.T]
    return [
        abers.evaluation.log_loss(y, p),
        abers.evaluation.brier_loss(y, p),
        max(errors),
    ]


def study(rows: Adult, splits: int) -> dict[tuple[str, int, str], np.ndarray]:
    """Return the measures (splits, 3) of each model, number of rows and method."""
    found: dict[tuple[str, int, str], list[list[float]]] = {}
    seen = [i for i in range(rows.X.shape[1]) if i not in rows.hidden]
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(rows.y.size)
        train = order[:TRAINING]
        pool, test = np.split(order[TRAINING:], [max(CALIBRATION)])
        for name in ("naive Bayes", "logistic", "boosting"):
            for columns in (list(range(rows.X.shape[1])), seen):
                nominal = [columns.index(i) for i in rows.nominal if i in columns]
                X = rows.X[:, columns]
                fitted = model(name, nominal).fit(X[train], rows.y[train])
                p = fitted.predict_proba(X)[:, 1]
                title = name + ("" if columns is not seen else ", groups unseen")
                for size in CALIBRATION:
                    for method, q in predictions(p, rows, pool[:size], test):
                        numbers = measured(q, rows.y[test], rows.groups[test])
                        found.setdefault((title, size, method), []).append(numbers)
        print(f"split {seed + 1} of {splits}", file=sys.stderr)
    return {key: np.array(numbers) for key, numbers in found.items()}


def lines(found: dict[tuple[str, int, str], np.ndarray]) -> Iterator[str]:
    """Return the table: means over splits, differences from the rule with errors."""
    yield HEAD
    yield "|---|---|---|---|---|---|"
    for (title, size, method), numbers in found.items():
        rule = found[title, size, "rule"]
        cells = [_cell(numbers[:, j], rule[:, j], 3 + (j == 1)) for j in range(3)]
        yield f"| {title} | {size:,} | {method} | {' | '.join(cells)} |"


def _cell(values: np.ndarray, reference: np.ndarray, places: int) -> str:
    finite = np.isfinite(values)
    if not finite.all():
        return f"infinite in {(~finite).sum()} of {values.size}"
    difference = values - reference
    text = f"{values.mean():.{places}f}"
    if not difference.any() or not np.isfinite(difference).all():
        return text
    error = difference.std(ddof=1) / np.sqrt(values.size)
    return f"{text} ({difference.mean():+.{places}f} ± {error:.{places}f})"


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    folder = os.environ.get("ABERS_DATA")
    if not folder:
        msg = "ABERS_DATA must name the folder of the paper's data."
        raise SystemExit(msg)
    text = "\n".join(lines(study(adult(folder), options.splits)))
    print(text)
    if options.write:
        head = PAGE.read_text().partition(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n\n{text}\n")


if __name__ == "__main__":
    main()
