"""Underlying algorithms: claims on which is best, and on what they leave to methods."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING

from experiments.paper.claims.method_order import EXAMPLE, PAPER
from experiments.paper.claims.verdicts import (
    CONSISTENTLY,
    OFTEN,
    TENDS,
    TIE,
    Claim,
    Grade,
    Tally,
    in_figures,
    in_tables,
    of_paper,
    of_sets,
    together,
)
from experiments.paper.results import LOSSES
from experiments.paper.run import TABLES
from experiments.paper.tasks import ALL, RATIOS, SIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from experiments.paper.results import ResultIndex
    from experiments.paper.run import Unit

BAGGING, NETWORK = "bagging", "neural network"
PROBABILISTIC = ("logistic", "naive Bayes", NETWORK)  # they predict probabilities
MANY = Grade(0.25, "in at least a quarter of the cases")
SHARE = 0.1  # of the time to train that calibration may take


def _places(index: ResultIndex, tasks: Sequence[str]) -> Iterator[list[Unit]]:
    """Go through sets and ratios; return the units of the paper's algorithms there."""
    for task in tasks:
        ratios = [r for r in index.ratios(task) if r != ALL]
        for ratio in ratios:
            units = of_paper(index.units((task,), (ratio,)))
            if len(units) > 1:
                yield units


def bagging_is_best(index: ResultIndex) -> Claim:
    """Judge Figures 1 and 2: bagging has the lowest losses of the algorithms."""
    cases = []
    for units in _places(index, (EXAMPLE,)):
        for kind in LOSSES:
            for method in ("Platt", "IVAP", "CVAP"):
                losses = {u.algorithm: index.loss(u, method, kind) for u in units}
                known = {a: loss for a, loss in losses.items() if loss is not None}
                if BAGGING in known:
                    best = min(known.values())
                    cases.append((method, known[BAGGING] <= best + TIE))
    tally = Tally.of(cases)
    told = f"Lowest loss of the algorithms in {tally.text}. {tally.by_place}."
    says = "adult: bagged trees achieve the best performance of the six algorithms."
    return tally.claim("bagging is best", says, CONSISTENTLY, told)


@of_sets(SIX)
def efficiency_is_the_algorithm_s(index: ResultIndex) -> Claim:
    """Judge whether better underlying algorithms make better CVAPs."""
    cases = []
    for units in _places(index, (TABLES, *SIX)):
        losses = [
            [index.loss(unit, method, "brier_loss") for unit in units]
            for method in ("underlying", "CVAP")
        ]
        both = [(a, b) for a, b in zip(*losses, strict=True) if None not in (a, b)]
        for (a, b), (c, d) in combinations(both, 2):
            cases.append((units[0].data, (a - c) * (b - d) >= 0))
    tally = Tally.of(cases)
    told = (
        "Of two algorithms, the one with the lower Brier loss has the CVAP with the "
        f"lower one in {tally.text} pairs. {tally.by_place}."
    )
    says = "Predictive efficiency is determined by the underlying algorithm."
    words = f"two algorithms and their CVAPs are in the same order {TENDS.words}"
    return tally.claim("predictive efficiency", says, TENDS, told, words)


@of_sets(SIX)
def calibration_takes_little_time(index: ResultIndex) -> Claim:
    """Judge whether the time of a CVAP is that of its underlying algorithm."""
    shares = []
    for unit in in_tables(index) + in_figures(index):
        result = index.result(unit, "CVAP")
        if result is not None and result.training:
            shares.append((unit.algorithm, result.seconds / result.training))
    tally = Tally.of((name, share <= SHARE) for name, share in shares)
    told = ""
    if shares:
        values = [share for _, share in shares]
        told = (
            f"CVAP's calibration and prediction take at most {SHARE:.0%} of the time "
            f"to train and score in {tally.text}; median {median(values):.2%}, largest "
            f"{max(values):.1%}. {tally.by_place}."
        )
    says = "The time of a CVAP is that of its underlying algorithm."
    words = f"the overhead is at most {SHARE:.0%} {CONSISTENTLY.words}"
    return tally.claim("overhead", says, CONSISTENTLY, told, words)


@of_sets(SIX)
def best_is_not_probabilistic(index: ResultIndex) -> Claim:
    """Judge whether trees or machines, calibrated, have the lowest losses."""
    cases: list[tuple[str, bool]] = []
    winners: Counter[str] = Counter()
    for units in _places(index, (TABLES, *SIX)):
        for kind in LOSSES:
            found = {
                (unit.algorithm, method): loss
                for unit in units
                for method in PAPER
                if (loss := index.loss(unit, method, kind)) is not None
            }
            algorithm, method = min(found, key=lambda names: found[names])
            so = algorithm not in PROBABILISTIC and method != "underlying"
            cases.append((units[0].data, so))
            winners[f"{algorithm} by {method}"] += 1
    tally = Tally.of(cases)
    best = ", ".join(f"{name} {n}" for name, n in winners.most_common(4))
    told = f"So in {tally.text}. {tally.by_place}. Lowest most often: {best}."
    says = (
        "The best results are obtained by non-probabilistic predictors (trees, bagged "
        "trees, support vector machines) combined with a calibration method."
    )
    return tally.claim("non-probabilistic predictors", says, TENDS, told)


@of_sets(SIX)
def log_losses_are_large(index: ResultIndex) -> Claim:
    """Judge whether many algorithms have disproportionately large log losses."""
    cases, infinite = [], 0
    for unit in in_tables(index) + in_figures(index):
        log, brier = (index.loss(unit, "underlying", kind) for kind in LOSSES)
        if log is not None and brier is not None:
            cases.append((unit.algorithm, log > 1 > brier))
            infinite += log == math.inf
    tally = Tally.of(cases)
    says = "Many prediction algorithms suffer disproportionately large log losses."
    words = (
        "the uncalibrated log loss exceeds that of always predicting 1/2, while the "
        f"Brier loss does not, {MANY.words}"
    )
    told = f"So in {tally.text}, infinite in {infinite}. {tally.by_place}."
    return tally.claim("large log losses", says, MANY, told, words)


def curves_are_missing(index: ResultIndex) -> Claim:
    """Judge Figure 1: isotonic regression and neural networks have infinite losses."""
    units = of_paper(index.units((EXAMPLE,), RATIOS))
    asked = [("isotonic", unit) for unit in units]
    asked += [("underlying", unit) for unit in units if unit.algorithm == NETWORK]
    names = {"isotonic": "isotonic regression", "underlying": "neural network"}
    found = [(names[m], index.loss(unit, m, "log_loss")) for m, unit in asked]
    tally = Tally.of(
        (name, loss == math.inf) for name, loss in found if loss is not None
    )
    parts = [
        Tally.of(case for case in tally.cases if case[0] == name)
        for name in names.values()
    ]
    verdicts = [part.judge(OFTEN) for part in parts if part.cases]
    says = (
        "adult: many log losses of isotonic regression and of neural networks are "
        "infinite."
    )
    words = f"for each of the two {OFTEN.words}"
    told = f"Infinite: {tally.by_place}." if tally.cases else ""
    return Claim("missing curves", says, words, together(verdicts), told)


JUDGES = (
    bagging_is_best,
    efficiency_is_the_algorithm_s,
    calibration_takes_little_time,
    best_is_not_probabilistic,
    log_losses_are_large,
    curves_are_missing,
)
