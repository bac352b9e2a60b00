"""Calibrate a million scores of the paper's artificial set, and say what happened."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

import abers

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 10**6


def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels are fair coins; a score is the label plus a standard normal."""
    labels = rng.integers(0, 2, SIZE)
    return labels + rng.standard_normal(SIZE), labels


def best_of(times: int, job: Callable[[], object]) -> float:
    """Return the least time of several runs, in milliseconds."""
    seconds = []
    for _ in range(times):
        start = perf_counter()
        job()
        seconds.append(perf_counter() - start)
    return 1000 * min(seconds)


def losses(labels: np.ndarray, p: np.ndarray) -> tuple[float, float]:
    """Natural-log loss and plain Brier loss, as scikit-learn has them."""
    with np.errstate(divide="ignore"):
        log_loss = -np.log(np.where(labels == 1, p, 1 - p)).mean()
    return float(log_loss), float(((labels - p) ** 2).mean())


def main() -> None:
    """Fit, predict, compare, explain."""
    styles = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("",) * 3
    bold, dim, end = styles
    rng = np.random.default_rng(2015)
    scores, labels = draw(rng)
    new_scores, new_labels = draw(rng)

    rule = abers.fit_rule(scores, labels)
    sorting = best_of(5, lambda: np.sort(scores))
    fitting = best_of(5, lambda: abers.fit_rule(scores, labels))
    predicting = best_of(5, lambda: rule.bounds(new_scores))

    print(f"{bold}abers {abers.__version__}{end}: {SIZE:,} scores to learn from,")
    print(f"{SIZE:,} new ones to predict. A score is its label plus noise.\n")
    print(f"{bold}Time{end} {dim}(best of 5){end}")
    for what, milliseconds in (
        ("np.sort of the scores", sorting),
        ("abers.fit_rule", fitting),
        ("rule.bounds of the new scores", predicting),
    ):
        ratio = milliseconds / sorting
        print(f"  {what:<32}{milliseconds:8.1f} ms {dim}{ratio:6.2f} x sort{end}")

    logistic = 1 / (1 + np.exp(-new_scores))
    methods = {
        "the score through 1/(1+exp(-s))": logistic,
        "abers, rule.probability": rule.probability(new_scores),
        "the true probability": 1 / (1 + np.exp(0.5 - new_scores)),
    }
    print(f"\n{bold}Loss on the new scores{end}{'log':>22}{'Brier':>10}")
    for name, p in methods.items():
        log_loss, brier = losses(new_labels, p)
        print(f"  {name:<34}{log_loss:8.5f}{brier:10.5f}")

    print(f"\n{bold}Bounds of two new cases{end}{'lower':>21}{'upper':>10}")
    for score, (lower, upper) in zip((1, 5.5), rule.bounds([1, 5.5]), strict=True):
        print(f"  score {score:<28}{lower:8.5f}{upper:10.5f}")
    print(
        "The probability if the new case were a 0, and if it were a 1. One of the two\n"
        "is calibrated as long as new cases resemble the calibration cases. They are\n"
        "not a confidence interval, and they shrink to a point as data grow: at score\n"
        "1 there are many, at 5.5 almost none."
    )
    print(f"\n{dim}{rule}{end}")


if __name__ == "__main__":
    main()
