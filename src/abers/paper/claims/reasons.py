"""Reasons: what crossing gains, and what regularisation and bounds do."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from abers.paper.claims.ordering import ordered
from abers.paper.claims.verdicts import (
    ALWAYS,
    EVERY_SET,
    LARGE_SETS,
    TENDS,
    Claim,
    Tally,
    in_figures,
    in_tables,
    middle,
    no_larger,
    of_sets,
    together,
)
from abers.paper.results import LOSSES
from abers.paper.tasks import SIX

if TYPE_CHECKING:
    from abers.paper.results import ResultIndex


@of_sets(SIX)
def crossing_helps(index: ResultIndex) -> Claim:
    """Judge crossing as a reason for CVAP's success."""
    told, verdicts = [], []
    steps = (
        ("CVAP", "IVAP"),
        ("cross Platt", "Platt"),
        ("cross isotonic", "isotonic"),
    )
    for crossed, once in steps:
        counts = []
        for kind, name in LOSSES.items():
            pairs = index.pairs(in_figures(index), kind, crossed, once)
            if pairs:
                tally = no_larger(pairs)
                verdicts.append(tally.judge(TENDS))
                counts.append(f"{name} {tally.text} (median {middle(pairs)})")
        if counts:
            told.append(f"{crossed} {', '.join(counts)}")
    says = "Crossing is an important reason for the gain, for both losses."
    evidence = f"Crossed loses no more than split once: {'; '.join(told)}."
    verdict = together(verdicts)
    words = f"each method, and each loss, {TENDS.words}"
    return Claim("crossing", says, words, verdict, evidence if told else "")


@of_sets(SIX)
def bounds_beyond_crossing(index: ResultIndex) -> Claim:
    """Judge what the bounds add to crossing and to two dummy observations."""
    units = in_tables(index) + in_figures(index)
    rivals = (
        "cross isotonic dummies",
        "cross Platt log-odds",
        "cross isotonic",
        "cross underlying",
    )
    found = [ordered(index, units, ("CVAP", rival), TENDS) for rival in rivals]
    says = (
        "The natural question, asked further: CVAP loses no more than isotonic "
        "regression, Platt on log-odds or the underlying algorithm that are crossed "
        "as well."
    )
    told = [text.split(". ")[0] for _, text in found if text]
    verdict = together([verdict for verdict, _ in found])
    words = f"each rival {TENDS.words}{EVERY_SET}"
    evidence = "; ".join(told) + "." if told else ""
    return Claim("bounds beyond crossing", says, words, verdict, evidence)


@of_sets(LARGE_SETS)
def regularisation_and_brier(index: ResultIndex) -> Claim:
    """Judge whether regularisation matters less than crossing for Brier loss."""
    cases, gains = [], []
    for unit in in_figures(index, LARGE_SETS):
        once, ivap, cvap = (
            index.loss(unit, method, "brier_loss")
            for method in ("isotonic", "IVAP", "CVAP")
        )
        if once is None or ivap is None or cvap is None:
            continue
        cases.append((unit.data, abs(ivap - once) <= abs(cvap - ivap)))
        gains.append((abs(ivap - once), abs(cvap - ivap)))
    tally = Tally.of(cases)
    told = ""
    if gains:
        ours, crossed = (median(g) for g in zip(*gains, strict=True))
        told = (
            f"From isotonic to IVAP changes less than from IVAP to CVAP in "
            f"{tally.text}; medians {ours:.4f} and {crossed:.4f}. {tally.by_place}."
        )
    says = "For Brier loss on large sets regularisation matters less than crossing."
    verdict = tally.judge(TENDS)
    return Claim("regularisation and Brier loss", says, TENDS.words, verdict, told)


@of_sets(SIX)
def regularisation_and_log(index: ResultIndex) -> Claim:
    """Judge whether regularisation matters for log loss."""
    units = in_tables(index) + in_figures(index)
    infinite = {
        method: [
            unit for unit in units if index.loss(unit, method, "log_loss") == math.inf
        ]
        for method in ("isotonic", "cross isotonic", "isotonic dummies", "IVAP", "CVAP")
    }
    cured = Tally.of(
        (unit.data, unit not in infinite["IVAP"]) for unit in infinite["isotonic"]
    )
    told = ", ".join(f"{name} {len(where)}" for name, where in infinite.items())
    says = "For log loss regularisation is important."
    words = f"IVAP is finite {ALWAYS.words} in which isotonic is infinite"
    verdict = cured.judge(ALWAYS)
    evidence = f"Infinite log losses among {len(units)}: {told}."
    return Claim(
        "regularisation and log loss", says, words, verdict, evidence if units else ""
    )


JUDGES = (
    crossing_helps,
    regularisation_and_log,
    regularisation_and_brier,
    bounds_beyond_crossing,
)
