"""What protection gains on four real streams, in bits per row, by the labels' delay.

The first 5,000 rows train a logistic regression, the next 2,000 calibrate it, and the
others come one by one: `python -m experiments.world.protected_gains FOLDER`, where the
folder holds UCI's files (see `experiments/README.md`).
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import abers
from experiments.paper import data

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Rows = tuple[NDArray[np.float64], NDArray[np.bool_]]

TRAINING, CALIBRATION, MOST = 5_000, 2_000, 25_000
DELAYS = (0, 10, 100)
SEED = 22


def stream(name: str, folder: str, *, permuted: bool) -> tuple[Rows, Rows]:
    """Return scores and labels of the calibration rows, and of the stream."""
    table = data.load(name, folder, in_file_order=not permuted)
    X = np.stack([np.asarray(column.values) for column in table.columns], axis=1)
    nominal = [j for j, column in enumerate(table.columns) if column.levels]
    others = [j for j, column in enumerate(table.columns) if not column.levels]
    y = table.labels == 1
    rows = np.arange(y.size)
    if permuted:
        rows = np.random.default_rng(SEED).permutation(rows)
    rows = rows[: TRAINING + CALIBRATION + MOST]
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), nominal),
            (StandardScaler(), others),
        ),
        LogisticRegression(max_iter=1_000),
    )
    model.fit(X[rows[:TRAINING]], y[rows[:TRAINING]])
    scores = model.decision_function(X[rows])
    labels = y[rows]
    middle = slice(TRAINING, TRAINING + CALIBRATION)
    end = slice(TRAINING + CALIBRATION, None)
    return (scores[middle], labels[middle]), (scores[end], labels[end])


def bits(probabilities: NDArray[np.float64], labels: NDArray[np.bool_]) -> float:
    """Return the mean log loss in bits."""
    hit = np.where(labels, probabilities, 1 - probabilities)
    return float(-np.log2(hit).mean())


def follow(
    rows: Rows,
    delay: int,
    predict: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    update: Callable[..., object],
) -> NDArray[np.float64]:
    """Predict each row; learn its label after `delay` more rows were predicted."""
    scores, labels = rows
    issued = np.empty(scores.size)
    for t in range(scores.size + delay):
        if t < scores.size:
            issued[t : t + 1] = predict(scores[t : t + 1])
        if t >= delay:
            row = slice(t - delay, t - delay + 1)
            update(scores[row], labels[row])
    return issued


def measured(calibration: Rows, rows: Rows) -> list[float]:
    """Return bits per row: model, rule, set, then both protected, by delay."""
    scores, labels = rows
    rule = abers.fit_rule(*calibration)
    online = abers.OnlineVennAbers.from_rows(*calibration)
    plain = follow(rows, 0, online.probability, online.add_many)
    losses = [
        bits(1 / (1 + np.exp(-scores)), labels),
        bits(rule.probability(scores), labels),
        bits(plain, labels),
    ]
    for start in (
        lambda: rule,
        lambda: abers.OnlineVennAbers.from_rows(*calibration),
    ):
        for delay in DELAYS:
            protected = abers.Protected(start())
            issued = follow(rows, delay, protected.predict, protected.update)
            losses.append(bits(issued, labels))
    return losses


STREAMS = {
    "bank, file order": ("bank", False),
    "covertype, file order": ("covertype", False),
    "adult, permuted": ("adult", True),
    "bank, permuted": ("bank", True),
}


def main() -> None:
    """Print one line per stream."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    folder = parser.parse_args().folder
    of_delays = " / ".join(map(str, DELAYS))
    print(f"| stream | model | rule | set | rule, {of_delays} | set, {of_delays} |")
    print("|---|---|---|---|---|---|")
    for title, (name, permuted) in STREAMS.items():
        losses = measured(*stream(name, folder, permuted=permuted))
        cells = [f"{loss:.4f}" for loss in losses]
        rule, online = " / ".join(cells[3:6]), " / ".join(cells[6:])
        print(f"| {title} | {' | '.join(cells[:3])} | {rule} | {online} |", flush=True)


if __name__ == "__main__":
    main()
