"""Other claims: on validity, sigmoids, speed and many classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from abers.formatting import p_value
from abers.paper.claims.verdicts import (
    ALWAYS,
    FAILS,
    HOLDS,
    MIXED,
    NOT_RUN,
    TENDS,
    TIE,
    Claim,
    Tally,
    together,
)
from abers.paper.results import LOSSES
from abers.paper.studies.artificial_data import sigmoid_limit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from abers.paper.studies import Studies
    from abers.paper.studies.many_classes import ManyClasses
    from abers.paper.studies.validity import Validity

EXCHANGEABLE = "exchangeable"
DOUBTFUL = 0.01  # a p-value that speaks against validity
CERTAIN = 0.001  # one that proves a break
BAYES, SIGMOID = 0.7213, 0.8113  # printed in section 5.1
GATHERED = 0.75  # share of margins near -1 and 1
GROWTH = 15.0  # of time, when data grow tenfold: k log k has less than 14 from 1,000 on


def selected_bound_is_calibrated(studies: Studies) -> Claim:
    """Judge Proposition 1, on real rows."""
    found = [one for one in studies.validity if one.how == EXCHANGEABLE]
    tally = Tally.of(("", one.p_value > DOUBTFUL) for one in found)
    told = ""
    if found:
        told = (
            f"{found[0].n_draws:,} draws each of a calibration set and a test row; "
            f"p-values of the observed rates: {_p_values(found)}."
        )
    says = "Proposition 1: the bound that the label selects is calibrated."
    words = f"p-values above {DOUBTFUL} for all sizes of calibration sets"
    return tally.claim("validity", says, ALWAYS, told, words)


def validity_can_be_broken(studies: Studies) -> Claim:
    """Judge what the proposition does not promise."""
    broken: dict[str, list[Validity]] = {}
    for one in studies.validity:
        if one.how != EXCHANGEABLE:
            broken.setdefault(one.how, []).append(one)
    tally = Tally.of(
        (how, min(one.p_value for one in found) < CERTAIN)
        for how, found in broken.items()
    )
    told = "; ".join(f"{how}: {_p_values(found)}" for how, found in broken.items())
    says = (
        "Without exchangeability it is not: one fixed calibration set, a stratified "
        "split, a shifted test row."
    )
    words = f"each is detected (p-value below {CERTAIN}) for some size"
    return tally.claim("validity broken on purpose", says, ALWAYS, f"{told}.", words)


def _p_values(found: Iterable[Validity]) -> str:
    return ", ".join(f"{p_value(one.p_value)} (k = {one.k:,})" for one in found)


def sigmoid_has_a_limit(_studies: Studies) -> Claim:
    """Judge the losses of Bayes and of the best sigmoid, as data grow."""
    limit = sigmoid_limit()
    near = [abs(limit.bayes - BAYES) <= TIE, abs(limit.sigmoid - SIGMOID) <= TIE]
    says = f"Section 5.1: log loss of {BAYES} bits for Bayes, {SIGMOID} for a sigmoid."
    told = f"By numerical integration: {limit.bayes:.4f} and {limit.sigmoid:.4f}."
    tally = Tally.of(("", so) for so in near)
    return tally.claim("limit of a sigmoid", says, ALWAYS, told, "both to four digits")


def sigmoid_stays_behind(studies: Studies) -> Claim:
    """Judge a sigmoid of margins that gather at -1 and 1."""
    says = (
        "Section 5.1: with more data the margins of an SVM concentrate at -1 and 1, "
        "where a sigmoid cannot tell them apart."
    )
    words = (
        f"{GATHERED:.0%} of margins within 0.1 of -1 or 1, and IVAP's excess over "
        "Bayes less than half of the sigmoid's"
    )
    name = "SVM and sigmoid"
    if not studies.machines:
        return Claim(name, says, words, NOT_RUN, "")
    last = studies.machines[-1]
    platt, ivap = last.platt - last.bayes, last.ivap - last.bayes
    facts = [last.near_one >= GATHERED, ivap < platt / 2]
    verdict = HOLDS if all(facts) else MIXED if any(facts) else FAILS
    told = (
        f"{last.n_train:,} training rows: {last.near_one:.0%} of margins near ±1; "
        f"excess over Bayes: Platt {platt:.4f} bits, IVAP {ivap:.4f}."
    )
    return Claim(name, says, words, verdict, told)


def fitting_is_as_fast_as_sorting(studies: Studies) -> Claim:
    """Judge whether time grows as k log k."""
    pairs = list(zip(studies.timings, studies.timings[1:], strict=False))
    growth = [
        (after.fit_ivap / before.fit_ivap) ** (1 / _decades(before.k, after.k))
        for before, after in pairs
    ]
    tally = Tally.of(("", rate <= GROWTH) for rate in growth)
    told = ""
    if growth:
        last = studies.timings[-1]
        told = (
            f"Ten times the data take {', '.join(f'{rate:.1f}' for rate in growth)} "
            f"times as long; {last.k:,} scores are fitted in "
            f"{last.fit_ivap * 1e3:.1f} ms (np.sort {last.sort * 1e3:.1f} ms), as many "
            f"predicted in {last.predict_ivap * 1e3:.1f} ms."
        )
    says = "An IVAP is fitted in time O(k log k) and predicts in time O(log k)."
    words = f"ten times the data take at most {GROWTH:.0f} times as long"
    return tally.claim("computation time", says, ALWAYS, told, words)


def _decades(few: int, many: int) -> float:
    return math.log10(many / few)


def many_classes(studies: Studies) -> Claim:
    """Judge CVAP for many classes, which the paper planned."""
    told, verdicts = [], []
    for way, name in (("ovo", "one-vs-one"), ("ovr", "one-vs-rest")):
        for other in ("underlying", "IVAP"):
            found = _rivals(studies, way, other)
            counts, total = [], Tally(())
            for kind, loss in LOSSES.items():
                tally = Tally.of(
                    (ours.data, getattr(ours, kind) <= getattr(theirs, kind) + TIE)
                    for ours, theirs in found
                )
                verdicts.append(tally.judge(TENDS))
                total += tally
                counts.append(f"{loss} {tally.text}{_against_infinity(found, kind)}")
            if found:
                told.append(f"{name}, {other}: {', '.join(counts)}; {total.by_place}")
    says = (
        "Planned in the paper: CVAP's multiclass loss is no larger than that of IVAP "
        "and of the underlying algorithm."
    )
    words = f"for each scheme, competing method and loss {TENDS.words}"
    evidence = f"{'. '.join(told)}." if told else ""
    return Claim("many classes", says, words, together(verdicts), evidence)


def _rivals(
    studies: Studies, way: str, other: str
) -> list[tuple[ManyClasses, ManyClasses]]:
    """Return CVAP and another method wherever CVAP was run in this way."""
    found = {
        (one.data, one.algorithm, one.method, one.multiclass): one
        for one in studies.classes
    }
    return [
        (ours, found[data, algorithm, other, way if other == "IVAP" else ""])
        for (data, algorithm, method, how), ours in found.items()
        if (method, how) == ("CVAP", way)
    ]


def _against_infinity(found: list[tuple[ManyClasses, ManyClasses]], kind: str) -> str:
    """Say how many rivals lose infinitely much: any finite loss beats them."""
    n = sum(getattr(theirs, kind) == math.inf for _, theirs in found)
    return f", of which {n} against an infinite loss" if n else ""


JUDGES = (
    selected_bound_is_calibrated,
    validity_can_be_broken,
    sigmoid_has_a_limit,
    sigmoid_stays_behind,
    fitting_is_as_fast_as_sorting,
    many_classes,
)
