"""Ordering: claims that one method loses no more than another."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from abers.paper.claims.verdicts import (
    ALWAYS,
    CONSISTENTLY,
    EVERY_ALGORITHM,
    EVERY_SET,
    LARGE_SETS,
    PERMUTED,
    SMALL_SETS,
    TENDS,
    TIE,
    Claim,
    Tally,
    by_algorithm,
    by_data,
    in_figures,
    in_tables,
    middle,
    named,
    no_larger,
    of_sets,
    together,
    with_every_algorithm,
)
from abers.paper.results import LOSSES
from abers.paper.tasks import SIX

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from abers.paper.claims.verdicts import Grade
    from abers.paper.results import ResultIndex
    from abers.paper.run import Unit

PAPER = ("underlying", "Platt", "isotonic", "IVAP", "CVAP")  # its figures' methods
TENDS_EVERYWHERE = TENDS.words + EVERY_SET
CLOSE = 0.002  # what one does not see in the paper's figures


def ordered(
    index: ResultIndex,
    units: Sequence[Unit],
    names: tuple[str, str],
    grade: Grade,
    *,
    kinds: Collection[str] = tuple(LOSSES),
    place: Callable[[Unit], str] = by_data,
) -> tuple[str, str]:
    """Judge whether the first method loses no more than the second.

    Return the verdict and the evidence, with cases counted by place.
    """
    first, second = names
    told, verdicts, total = [], [], Tally(())
    for kind in kinds:
        pairs = index.pairs(units, kind, first, second)
        if not pairs:
            continue
        tally = Tally.of((place(p.unit), p.difference <= TIE) for p in pairs)
        verdicts.append(tally.judge_everywhere(grade))
        total += tally
        told.append(f"{LOSSES[kind]} {tally.text} (median {middle(pairs)})")
    if not told:
        return together(verdicts), ""
    counts = f"{first} loses no more than {second}: {', '.join(told)}"
    return together(verdicts), f"{counts}. {total.by_place}."


def permuted_too(index: ResultIndex, names: tuple[str, str]) -> str:
    """Count the same on bank in random order: in file order its rows drift."""
    total = Tally(())
    for kind in LOSSES:
        total += no_larger(index.pairs(in_figures(index, (PERMUTED,)), kind, *names))
    return f" Permuted, bank has {total.text}." if total.cases else ""


def cvap_in_tables(index: ResultIndex) -> Claim:
    """Judge Tables 1 and 2: CVAP against IVAP."""
    units = in_tables(index)
    found = ordered(index, units, ("CVAP", "IVAP"), ALWAYS, place=by_algorithm)
    says = "Tables 1 and 2: CVAP loses no more than IVAP."
    return Claim("tables: CVAP and IVAP", says, ALWAYS.words, *found)


def ivap_in_tables(index: ResultIndex) -> Claim:
    """Judge Tables 1 and 2: IVAP against Platt."""
    units = in_tables(index)
    found = ordered(index, units, ("IVAP", "Platt"), ALWAYS, place=by_algorithm)
    says = "Tables 1 and 2: IVAP loses no more than Platt on probabilities."
    return Claim("tables: IVAP and Platt", says, ALWAYS.words, *found)


def isotonic_in_table_2(index: ResultIndex) -> Claim:
    """Judge Table 2: IVAP against isotonic regression."""
    found = ordered(
        index,
        in_tables(index),
        ("IVAP", "isotonic"),
        CONSISTENTLY,
        kinds=("brier_loss",),
        place=by_algorithm,
    )
    says = "Table 2: IVAP is consistently better than isotonic regression."
    return Claim("tables: IVAP and isotonic", says, CONSISTENTLY.words, *found)


@of_sets(SIX)
def cvap_in_figures(index: ResultIndex) -> Claim:
    """Judge the six sets: CVAP against IVAP."""
    names = ("CVAP", "IVAP")
    verdict, told = ordered(index, in_figures(index), names, TENDS)
    says = "Six sets: CVAP loses no more than IVAP."
    told += permuted_too(index, names)
    return Claim("figures: CVAP and IVAP", says, TENDS_EVERYWHERE, verdict, told)


@of_sets(SIX)
def ivap_in_figures(index: ResultIndex) -> Claim:
    """Judge the six sets: IVAP against Platt."""
    names = ("IVAP", "Platt")
    verdict, told = ordered(index, in_figures(index), names, TENDS)
    says = "Six sets: IVAP loses no more than Platt on probabilities."
    told += permuted_too(index, names)
    return Claim("figures: IVAP and Platt", says, TENDS_EVERYWHERE, verdict, told)


@of_sets(SIX)
def cvap_at_the_bottom(index: ResultIndex) -> Claim:
    """Judge the six sets: CVAP is the lowest line."""
    told, verdicts, total = [], [], Tally(())
    winners: Counter[str] = Counter()
    for kind in LOSSES:
        cases = []
        for unit in in_figures(index):
            found = {m: index.loss(unit, m, kind) for m in PAPER}
            known = {m: loss for m, loss in found.items() if loss is not None}
            if "CVAP" in known:
                best = min(known, key=lambda name: known[name])
                is_best = known["CVAP"] <= known[best] + TIE
                cases.append((unit.data, is_best))
                winners[best] += not is_best
        tally = Tally.of(cases)
        verdicts.append(tally.judge_everywhere(TENDS))
        total += tally
        told.append(f"{LOSSES[kind]} {tally.text}")
    lower = ", ".join(f"{name} {n}" for name, n in winners.most_common() if n)
    evidence = f"CVAP is the lowest: {', '.join(told)}. {total.by_place}."
    evidence += f" Lower than CVAP: {lower}." if lower else ""
    says = "Six sets: the lines of CVAP tend to be at the bottom in all plots."
    verdict = together(verdicts)
    return Claim(
        "figures: the lowest line",
        says,
        TENDS_EVERYWHERE,
        verdict,
        evidence if total.cases else "",
    )


@of_sets(SMALL_SETS)
def isotonic_on_small_sets(index: ResultIndex) -> Claim:
    """Judge small sets: IVAP is better than isotonic even in Brier loss."""
    found = ordered(
        index,
        in_figures(index, SMALL_SETS),
        ("IVAP", "isotonic"),
        CONSISTENTLY,
        kinds=("brier_loss",),
    )
    says = "Small sets: IVAP is consistently better than isotonic in Brier loss."
    words = CONSISTENTLY.words + EVERY_SET
    return Claim("figures: isotonic, small sets", says, words, *found)


@of_sets(LARGE_SETS)
def isotonic_on_large_sets(index: ResultIndex) -> Claim:
    """Judge large sets: IVAP and isotonic are close in Brier loss."""
    units = in_figures(index, LARGE_SETS)
    pairs = index.pairs(units, "brier_loss", "IVAP", "isotonic")
    tally = Tally.of((p.unit.data, abs(p.difference) <= CLOSE) for p in pairs)
    told = ""
    if pairs:
        far = max(pairs, key=lambda pair: abs(pair.difference))
        told = (
            f"Brier losses differ by at most {CLOSE} in {tally.text}; by "
            f"{abs(far.difference):.4f} at most ({named(far.unit)}). {tally.by_place}."
        )
    says = "Large sets: IVAP and isotonic are very close in Brier loss."
    verdict = tally.judge(CONSISTENTLY)
    words = f"within {CLOSE} {CONSISTENTLY.words}"
    return Claim("figures: isotonic, large sets", says, words, verdict, told)


@of_sets(SIX)
def log_odds_and_ivap(index: ResultIndex) -> Claim:
    """Judge IVAP against a sigmoid of log-odds, which the paper does not try."""
    units = with_every_algorithm(index)
    names = ("IVAP", "Platt log-odds")
    found = ordered(index, units, names, TENDS, place=by_algorithm)
    says = (
        "Not in the paper: IVAP loses no more than Platt also when the sigmoid is of "
        "log-odds or margins."
    )
    words = TENDS.words + EVERY_ALGORITHM
    return Claim("Platt on log-odds and IVAP", says, words, *found)


@of_sets(SIX)
def log_odds_and_cvap(index: ResultIndex) -> Claim:
    """Judge CVAP against the same."""
    units = with_every_algorithm(index)
    names = ("CVAP", "Platt log-odds")
    found = ordered(index, units, names, TENDS, place=by_algorithm)
    says = "Not in the paper: CVAP loses no more than Platt on log-odds."
    words = TENDS.words + EVERY_ALGORITHM
    return Claim("Platt on log-odds and CVAP", says, words, *found)


JUDGES = (
    cvap_in_tables,
    ivap_in_tables,
    isotonic_in_table_2,
    cvap_in_figures,
    ivap_in_figures,
    cvap_at_the_bottom,
    isotonic_on_small_sets,
    isotonic_on_large_sets,
    log_odds_and_ivap,
    log_odds_and_cvap,
)
