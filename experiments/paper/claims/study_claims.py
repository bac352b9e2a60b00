"""Other claims: on validity, sigmoids, time, tiny sets, bounds, tuning, classes."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from abers import losses
from abers.formatting import p_value
from experiments.paper.claims.verdicts import (
    ALWAYS,
    CONSISTENTLY,
    ERRORS,
    FAILS,
    HOLDS,
    MIXED,
    NOT_RUN,
    OFTEN,
    TENDS,
    TIE,
    Claim,
    Tally,
    signed,
    together,
)
from experiments.paper.results import LOSSES
from experiments.paper.studies.artificial_data import entropies, sigmoid_limit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from experiments.paper.studies import Studies
    from experiments.paper.studies.many_classes import ManyClasses
    from experiments.paper.studies.validity import Validity

EXCHANGEABLE = "exchangeable"
DOUBTFUL = 0.01  # a p-value that speaks against validity
CERTAIN = 0.001  # one that proves a break
BAYES, SIGMOID = 0.7213, 0.8113  # printed in section 5.1
GATHERED = 0.75  # share of margins near -1 and 1
GROWTH = 1.5  # of time, beyond that of what it is held against
DOUBLED = 2.0  # a query may take so much longer if data grow tenfold
HALF = 0.5  # the probability of who knows nothing
MARGIN = 0.002  # of miscalibration that tuning may add


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
        "IVAP's excess over Bayes is less than half of the sigmoid's, once "
        f"{GATHERED:.0%} of margins are within 0.1 of -1 or 1"
    )
    name = "SVM and sigmoid"
    if not studies.machines:
        return Claim(name, says, words, NOT_RUN, "")
    last = studies.machines[-1]
    if last.near_one < GATHERED:  # the limit was not approached
        told = (
            f"{last.n_train:,} training rows are too few: {last.near_one:.0%} of "
            "margins near ±1."
        )
        return Claim(name, says, words, NOT_RUN, told)
    platt, ivap = last.platt - last.bayes, last.ivap - last.bayes
    verdict = HOLDS if ivap < platt / 2 else MIXED if ivap < platt else FAILS
    told = (
        f"{last.n_train:,} training rows: {last.near_one:.0%} of margins near ±1; "
        f"excess over Bayes: Platt {platt:.4f} bits, IVAP {ivap:.4f}."
    )
    return Claim(name, says, words, verdict, told)


def time_grows_as_promised(studies: Studies) -> Claim:
    """Judge time to fit, sorted and not, and to answer a query, as data grow."""
    says = (
        "An IVAP is fitted in time O(k log k), in O(k) if the scores are sorted, and "
        "answers a query in O(log k)."
    )
    words = (
        f"with ten times the scores, the time of a fit grows by at most {GROWTH} times "
        "the growth of np.sort in the same run, that of a fit of sorted scores by at "
        f"most {10 * GROWTH:.0f}, that of a query by at most {DOUBLED:.0f}"
    )
    name = "computation time"
    if len(studies.timings) < 2:
        return Claim(name, says, words, NOT_RUN, "")
    first, last = studies.timings[0], studies.timings[-1]
    decades = math.log10(last.k / first.k)
    growth = {
        field: (getattr(last, field) / getattr(first, field)) ** (1 / decades)
        for field in ("sort", "fit_ivap", "fit_sorted", "query")
    }
    facts = [
        growth["fit_ivap"] <= GROWTH * growth["sort"],
        growth["fit_sorted"] <= GROWTH * 10,
        growth["query"] <= DOUBLED,
    ]
    told = (
        f"From {first.k:,} to {last.k:,} scores, for ten times the scores: fit "
        f"{growth['fit_ivap']:.1f} times as long (np.sort {growth['sort']:.1f}), fit "
        f"of sorted scores {growth['fit_sorted']:.1f}, query {growth['query']:.2f}. "
        f"{last.k:,} scores are fitted in {1e3 * last.fit_ivap:.3g} ms (np.sort "
        f"{1e3 * last.sort:.3g} ms); a query takes {1e9 * last.query:.2g} ns."
    )
    if first.naive_query is not None:
        told += (
            f" By two isotonic regressions it takes {1e3 * first.naive_query:.2g} ms "
            f"with {first.k:,} scores."
        )
    verdict = HOLDS if all(facts) else MIXED if any(facts) else FAILS
    return Claim(name, says, words, verdict, told)


# Tiny sets, the width of the bounds, and tuning.


def better_on_tiny_sets(studies: Studies) -> Claim:
    """Judge the simplified predictor against isotonic regression on tiny sets."""
    found = studies.tiny
    tally = Tally.of((one.data, one.ivap <= one.isotonic + TIE) for one in found)
    crossed = Tally.of(("", one.cvap <= one.isotonic + TIE) for one in found)
    says = (
        "Tiny sets, all rows train and calibrate: IVAP's Brier loss is no larger than "
        "that of isotonic regression (other sets than the nine of the authors)."
    )
    told = (
        f"No larger in {tally.text}. {tally.by_place}. CVAP's with five folds no "
        f"larger in {crossed.text}."
    )
    return tally.claim("tiny sets", says, CONSISTENTLY, told)


def clearly_better_on_tiny_sets(studies: Studies) -> Claim:
    """Judge whether it is usually significantly better."""
    tally = Tally.of(
        (one.data, one.ivap < one.isotonic - ERRORS * one.error) for one in studies.tiny
    )
    says = "Tiny sets: IVAP is usually significantly better."
    words = f"lower by more than {ERRORS} standard errors {OFTEN.words}"
    told = f"So in {tally.text}. {tally.by_place}."
    return tally.claim("tiny sets: significant", says, OFTEN, told, words)


def width_says_more(studies: Studies) -> Claim:
    """Judge whether the width of the bounds tells how reliable a probability is."""
    found = studies.widths
    plain = Tally.of((one.data, one.low > 0) for one in found)
    partial = Tally.of((one.data, one.beyond_low > 0) for one in found)
    says = (
        "The width of the bounds says how reliable the merged probability is, also "
        "beyond what the probability itself says."
    )
    words = (
        "the rank correlation of the width with the squared distance of p from "
        "isotonic regression of all test rows is positive (bootstrap interval of 95 %),"
        f" and so is what is left of it given p (1 - p), each {TENDS.words}"
    )
    told = ""
    if found:
        middle = median(one.correlation for one in found)
        left = median(one.beyond for one in found)
        reject = Tally.of(("", one.by_width[-1] <= one.by_middle[-1]) for one in found)
        told = (
            f"Positive in {plain.text} (median {middle:.2f}), given p (1 - p) in "
            f"{partial.text} (median {left:.2f}). {partial.by_place}. Leaving out the "
            "half with the widest bounds costs no more than leaving out the half with "
            f"p nearest 1/2 in {reject.text}."
        )
    verdict = together([plain.judge(TENDS), partial.judge(TENDS)])
    return Claim("width and reliability", says, words, verdict, told)


def tuning_hurts(studies: Studies) -> Claim:
    """Judge whether calibration suffers from tuning on the calibrating folds."""
    found = {
        (one.data, one.algorithm, one.method, one.arm): one for one in studies.tuned
    }
    cases: list[tuple[str, bool]] = []
    gains: dict[str, list[float]] = {}
    for (data, algorithm, method, arm), one in found.items():
        other = found.get((data, algorithm, method, "inner cross-validation"))
        if arm == "calibrating folds" and other is not None:
            change = one.miscalibration - other.miscalibration
            cases.append((method, change > MARGIN))
            gains.setdefault(method, []).append(change)
    tally = Tally.of(cases)
    told = ""
    if cases:
        steps = ", ".join(f"{m} {signed(median(v))}" for m, v in gains.items())
        told = (
            f"More miscalibrated by more than {MARGIN} than with settings chosen by "
            f"inner cross-validation in {tally.text}; median change {steps}. "
            f"{tally.by_place}."
        )
    if studies.tuned_validity:
        told += (
            " Proposition 1 with a setting chosen by each calibration set: p-values "
            f"{_p_values(studies.tuned_validity)}."
        )
    says = "The calibration of CVAPs suffers from tuning on the calibrating folds."
    words = (
        f"its miscalibration is larger by more than {MARGIN} {OFTEN.words}, and "
        f"Proposition 1 is refuted (p-value below {CERTAIN}) for some size"
    )
    verdicts = [tally.judge(OFTEN)]
    if checked := studies.tuned_validity:
        broken = any(one.p_value < CERTAIN for one in checked)
        verdicts.append(HOLDS if broken else FAILS)
    return Claim("tuning", says, words, together(verdicts), told)


def log_loss_is_intermediate(_studies: Studies) -> Claim:
    """Judge where Shannon's entropy lies between the Gini index and its root."""
    gini, root, shannon = entropies(np.linspace(0, 1, 1001)[1:-1]).values()
    inside = (gini <= shannon + 1e-12) & (shannon <= root + 1e-12)
    tally = Tally.of(("", bool(so)) for so in inside)
    says = "Shannon's entropy lies between the Gini index and its square root."
    told = f"So at {tally.text} probabilities."
    return tally.claim("entropies", says, ALWAYS, told)


def nothing_known_costs_one(_studies: Studies) -> Claim:
    """Judge the scales of the losses: always 1/2 costs 1, all else more at worst."""
    cases = []
    for p in np.linspace(0, 1, 1001)[1:-1]:
        for loss in (losses.mean_log_loss, losses.mean_brier_loss):
            worst = max(loss([label], [p]) for label in (0, 1))
            cases.append(("", worst == 1 if p == HALF else worst > 1))
    tally = Tally.of(cases)
    says = (
        "Always predicting 1/2 suffers loss 1, and every other constant suffers more "
        "if its label is chosen against it."
    )
    told = f"So in {tally.text}: both losses at 999 probabilities."
    return tally.claim("no information", says, ALWAYS, told)


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
        "CVAP's multiclass loss is no larger than that of IVAP "
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
    time_grows_as_promised,
    better_on_tiny_sets,
    clearly_better_on_tiny_sets,
    width_says_more,
    tuning_hurts,
    log_loss_is_intermediate,
    nothing_known_costs_one,
    many_classes,
)
