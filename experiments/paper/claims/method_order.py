"""Method order: claims that one method's loss is no larger than another's, and why."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING

from experiments.paper.claims.verdicts import (
    ALWAYS,
    CONSISTENTLY,
    EVERY_ALGORITHM,
    EVERY_SET,
    FAILS,
    HOLDS,
    LARGE_SETS,
    OFTEN,
    PERMUTED,
    SMALL_SETS,
    TENDS,
    TIE,
    Claim,
    Grade,
    Tally,
    by_algorithm,
    by_data,
    clear,
    in_figures,
    in_tables,
    middle,
    named,
    no_larger,
    of_paper,
    of_sets,
    together,
    with_every_algorithm,
    with_sets_run,
)
from experiments.paper.protocol import (
    BRIER_THEN_LOG,
    LOG_THEN_BRIER,
    ONE_MODEL,
    POOLED,
    POOLED_K,
)
from experiments.paper.results import LOSSES
from experiments.paper.tasks import SIX, THIRDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from experiments.paper.results import ResultIndex
    from experiments.paper.run import Unit

PAPER = ("underlying", "Platt", "isotonic", "IVAP", "CVAP")  # its figures' methods
TENDS_EVERYWHERE = TENDS.words + EVERY_SET
EXAMPLE = "adult"  # the set of the paper's first figures
CLOSE = 0.002  # what one does not see in the paper's figures


# Claims that differ only in the two methods, and in where they are compared.


@dataclass(frozen=True, slots=True)
class Order:
    """The claim that the first method's loss is no larger than the second's."""

    name: str
    says: str
    methods: tuple[str, str]
    grade: Grade
    units: Callable[[ResultIndex], list[Unit]]
    everywhere: str = ""  # what it takes in each place, in words
    kinds: Collection[str] = tuple(LOSSES)
    place: Callable[[Unit], str] = by_data
    sets: Collection[str] = ()  # those it is about; the tables' if there are none
    permuted: bool = False  # count on bank in random order, too

    def __call__(self, index: ResultIndex) -> Claim:
        """Judge it by the results of a run."""
        verdict, told = ordered(
            index,
            self.units(index),
            self.methods,
            self.grade,
            kinds=self.kinds,
            place=self.place,
        )
        if self.permuted:
            told += permuted_too(index, self.methods)
        words = self.grade.words + self.everywhere
        claim = Claim(self.name, self.says, words, verdict, told)
        return with_sets_run(claim, index, self.sets) if self.sets else claim


def ordered(
    index: ResultIndex,
    units: Sequence[Unit],
    names: tuple[str, str],
    grade: Grade,
    *,
    kinds: Collection[str] = tuple(LOSSES),
    place: Callable[[Unit], str] = by_data,
) -> tuple[str, str]:
    """Judge whether the first method's loss is no larger than the second's.

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
        detail = f"median {middle(pairs)}{clear(pairs)}"
        told.append(f"{LOSSES[kind]} {tally.text} ({detail})")
    if not told:
        return together(verdicts), ""
    counts = f"Loss of {first} no larger than of {second}: {', '.join(told)}"
    return together(verdicts), f"{counts}. {total.by_place}."


def permuted_too(index: ResultIndex, names: tuple[str, str]) -> str:
    """Count the same on bank in random order: in file order its rows drift."""
    total = Tally(())
    for kind in LOSSES:
        total += no_larger(index.pairs(in_figures(index, (PERMUTED,)), kind, *names))
    return f" On bank permuted: {total.text}." if total.cases else ""


cvap_in_tables = Order(
    "tables: CVAP and IVAP",
    "Tables 1 and 2: CVAP's loss is no larger than IVAP's.",
    ("CVAP", "IVAP"),
    ALWAYS,
    in_tables,
    place=by_algorithm,
)
ivap_in_tables = Order(
    "tables: IVAP and Platt",
    "Tables 1 and 2: IVAP's loss is no larger than that of Platt on probabilities.",
    ("IVAP", "Platt"),
    ALWAYS,
    in_tables,
    place=by_algorithm,
)
isotonic_in_table_2 = Order(
    "tables: IVAP and isotonic",
    "Table 2: IVAP is consistently better than isotonic regression.",
    ("IVAP", "isotonic"),
    CONSISTENTLY,
    in_tables,
    kinds=("brier_loss",),
    place=by_algorithm,
)
cvap_in_figures = Order(
    "figures: CVAP and IVAP",
    "Six data sets: CVAP's loss is no larger than IVAP's.",
    ("CVAP", "IVAP"),
    TENDS,
    in_figures,
    EVERY_SET,
    sets=SIX,
    permuted=True,
)
ivap_in_figures = Order(
    "figures: IVAP and Platt",
    "Six data sets: IVAP's loss is no larger than that of Platt on probabilities.",
    ("IVAP", "Platt"),
    TENDS,
    in_figures,
    EVERY_SET,
    sets=SIX,
    permuted=True,
)
isotonic_on_small_sets = Order(
    "figures: isotonic, small sets",
    "Small sets: IVAP is consistently better than isotonic in Brier loss.",
    ("IVAP", "isotonic"),
    CONSISTENTLY,
    lambda index: in_figures(index, SMALL_SETS),
    EVERY_SET,
    kinds=("brier_loss",),
    sets=SMALL_SETS,
)
log_odds_and_ivap = Order(
    "Platt on log-odds and IVAP",
    "IVAP's loss is no larger than that of Platt on log-odds or margins.",
    ("IVAP", "Platt log-odds"),
    TENDS,
    with_every_algorithm,
    EVERY_ALGORITHM,
    place=by_algorithm,
    sets=SIX,
)
log_odds_and_cvap = Order(
    "Platt on log-odds and CVAP",
    "CVAP's loss is no larger than that of Platt on log-odds or margins.",
    ("CVAP", "Platt log-odds"),
    TENDS,
    with_every_algorithm,
    EVERY_ALGORITHM,
    place=by_algorithm,
    sets=SIX,
)


isotonic_overfits = Order(
    "isotonic overfits",
    "Small sets: Platt's Brier loss is no larger than that of isotonic regression.",
    ("Platt", "isotonic"),
    TENDS,
    lambda index: in_figures(index, SMALL_SETS),
    EVERY_SET,
    kinds=("brier_loss",),
    sets=SMALL_SETS,
)
decisions = Order(
    "decisions",
    "Decisions by CVAP cost no more than those by the underlying algorithm. (The mean "
    "cost over all ratios of two costs is the Brier loss, up to a factor.)",
    ("CVAP", "underlying"),
    TENDS,
    in_figures,
    EVERY_SET,
    kinds=("brier_loss",),
    sets=SIX,
)
pooled_and_cvap = Order(
    "pooled CVAP",
    "One isotonic regression on all folds has a loss no larger than CVAP's.",
    (POOLED, "CVAP"),
    TENDS,
    lambda index: in_tables(index) + in_figures(index),
    EVERY_SET,
    sets=SIX,
    permuted=True,
)
pooled_k_and_cvap = Order(
    "pooled CVAP, weight K",
    "The same with a new object that weighs K.",
    (POOLED_K, "CVAP"),
    TENDS,
    lambda index: in_tables(index) + in_figures(index),
    EVERY_SET,
    sets=SIX,
    permuted=True,
)
one_model_and_cvap = Order(
    "one model",
    "Five folds: one model of all rows, calibrated by the folds' scores, has a loss "
    "no larger than CVAP's.",
    (ONE_MODEL, "CVAP"),
    TENDS,
    lambda index: in_tables(index) + in_figures(index),
    EVERY_SET,
    sets=SIX,
    permuted=True,
)


# Claims of their own kind.

EXISTING = ("Platt", "isotonic")


def _beats_existing(index: ResultIndex, ours: Sequence[str]) -> tuple[str, str]:
    """Judge some methods against Platt and isotonic regression, everywhere."""
    units = in_tables(index) + in_figures(index)
    told, verdicts = [], []
    for mine in ours:
        for theirs in EXISTING:
            verdict, text = ordered(index, units, (mine, theirs), CONSISTENTLY)
            verdicts.append(verdict)
            told += [text] if text else []
    return together(verdicts), " ".join(told)


@of_sets(SIX)
def merged_is_more_accurate(index: ResultIndex) -> Claim:
    """Judge the abstract: precise IVAP and CVAP beat the existing methods."""
    verdict, told = _beats_existing(index, ("IVAP", "CVAP"))
    says = (
        "Tables and six data sets: the losses of IVAP and of CVAP are no larger than "
        "those of Platt on probabilities and of isotonic regression."
    )
    words = f"for each pair of methods and each loss {CONSISTENTLY.words}{EVERY_SET}"
    return Claim("more accurate", says, words, verdict, told)


@of_sets(SIX)
def cvap_outperforms(index: ResultIndex) -> Claim:
    """Judge the introduction: CVAP outperforms the two existing methods."""
    verdict, told = _beats_existing(index, ("CVAP",))
    says = (
        "Tables and six data sets: CVAP's loss is no larger than that of Platt on "
        "probabilities and of isotonic regression."
    )
    words = f"for each method and each loss {CONSISTENTLY.words}{EVERY_SET}"
    return Claim("CVAP outperforms", says, words, verdict, told)


def parts_in_thirds(index: ResultIndex) -> Claim:
    """Judge three equal parts: to train, to calibrate and to test."""
    units = of_paper(index.units(THIRDS, ("1:1",)))
    found = [ordered(index, units, ("IVAP", name), TENDS) for name in EXISTING]
    says = (
        "Three equal parts: IVAP's loss is no larger than that of Platt on "
        "probabilities and of isotonic regression."
    )
    words = f"for each method and each loss {TENDS.words}{EVERY_SET}"
    told = " ".join(text for _, text in found if text)
    return Claim(
        "three equal parts", says, words, together([v for v, _ in found]), told
    )


@of_sets(SIX)
def merging_in_two_steps(index: ResultIndex) -> Claim:
    """Judge mixed mergings: one loss within a fold, the other between folds."""
    units = in_tables(index) + in_figures(index)
    names = (LOG_THEN_BRIER, BRIER_THEN_LOG)
    found = [ordered(index, units, (name, "CVAP"), TENDS) for name in names]
    says = "Merging in two steps, for one loss and then the other, is no worse."
    words = f"for each order and each loss no larger than CVAP {TENDS.words}{EVERY_SET}"
    told = " ".join(text for _, text in found if text)
    return Claim("two steps", says, words, together([v for v, _ in found]), told)


@of_sets(SIX)
def typical_of_other_sets(index: ResultIndex) -> Claim:
    """Judge whether the picture on adult is that on the other sets."""
    cases, told = [], []
    for task in SIX:
        units = in_figures(index, (task,))
        pairs = [
            pair
            for kind in LOSSES
            for name in (*EXISTING, "IVAP")
            for pair in index.pairs(units, kind, "CVAP", name)
        ]
        tally = no_larger(pairs)
        if tally.cases:
            told.append(f"{task} {tally.text}")
            if task != EXAMPLE:
                cases.append((task, tally.judge(TENDS) == "holds"))
    tally = Tally.of(cases)
    says = (
        "The picture on adult (CVAP's loss no larger than that of IVAP, Platt and "
        "isotonic regression) is that on the other data sets."
    )
    words = f"CVAP's loss is no larger {TENDS.words} on each of the other sets"
    evidence = f"{', '.join(told)}." if told else ""
    return tally.claim("typical", says, ALWAYS, evidence, words)


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
    evidence = f"CVAP has the lowest loss: {', '.join(told)}. {total.by_place}."
    evidence += f" Lowest in the other cases: {lower}." if lower else ""
    says = "Six data sets: the lines of CVAP tend to be at the bottom in all plots."
    verdict = together(verdicts)
    return Claim(
        "figures: the lowest line",
        says,
        TENDS_EVERYWHERE,
        verdict,
        evidence if total.cases else "",
    )


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
            f"Brier losses differ by at most {CLOSE} in {tally.text}; the largest "
            f"difference is {abs(far.difference):.4f} ({named(far.unit)}). "
            f"{tally.by_place}."
        )
    says = "Large sets: IVAP and isotonic are very close in Brier loss."
    words = f"within {CLOSE} {CONSISTENTLY.words}"
    return tally.claim("figures: isotonic, large sets", says, CONSISTENTLY, told, words)


# Calibration: the part of the Brier loss that recalibrating would take away.

REFUTED = 0.01  # a p-value that speaks against calibration


def _miscalibrations(
    index: ResultIndex, units: Sequence[Unit], methods: Sequence[str]
) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for method in methods:
        for unit in units:
            result = index.result(unit, method)
            if result is not None and result.miscalibration is not None:
                found.setdefault(method, []).append(result.miscalibration)
    return found


def _refuted(index: ResultIndex, units: Sequence[Unit], method: str) -> Tally:
    """Count where a test refutes that a method is calibrated."""
    found = ((unit, index.result(unit, method)) for unit in units)
    return Tally.of(
        (unit.data, result.miscalibration_p < REFUTED)
        for unit, result in found
        if result is not None and result.miscalibration_p is not None
    )


def _calibration_told(index: ResultIndex, units: Sequence[Unit]) -> str:
    names = ("underlying", "Platt", "isotonic", "IVAP", "CVAP", POOLED, ONE_MODEL)
    parts = _miscalibrations(index, units, names)
    medians = ", ".join(f"{m} {median(values):.4f}" for m, values in parts.items())
    tests = {name: _refuted(index, units, name) for name in names}
    refuted = ", ".join(f"{m} {t.text}" for m, t in tests.items() if t.cases)
    return (
        f"Median miscalibration: {medians}. A test refutes calibration on the test "
        f"rows (p < {REFUTED}) for {refuted}."
    )


@of_sets(SIX)
def cvap_is_calibrated(index: ResultIndex) -> Claim:
    """Judge whether CVAP inherits the calibration of IVAP.

    A test on the rows of one training set refutes IVAP as well: Proposition 1 averages
    over training sets. So CVAP is held against IVAP.
    """
    units = [u for u in in_tables(index) + in_figures(index) if u.data != "bank"]
    cases = []
    for unit in units:
        once, crossed = (index.result(unit, method) for method in ("IVAP", "CVAP"))
        parts = [r.miscalibration for r in (once, crossed) if r is not None]
        if len(parts) == 2 and None not in parts:
            cases.append((unit.data, parts[1] <= parts[0] + TIE))  # type: ignore[operator]
    tally = Tally.of(cases)
    ivap, cvap = (_refuted(index, units, method) for method in ("IVAP", "CVAP"))
    verdicts = [tally.judge(TENDS)]
    if cvap.cases:
        verdicts.append(HOLDS if cvap.yes <= ivap.yes else FAILS)
    says = "CVAP is no less calibrated than IVAP, whose calibration is proved."
    words = (
        f"its miscalibration is no larger {TENDS.words}, and a test refutes it no more "
        "often; bank in order of time, where nothing is calibrated, is left out"
    )
    told = (
        f"Miscalibration of CVAP no larger than of IVAP in {tally.text}. "
        f"{tally.by_place}. {_calibration_told(index, units)}"
    )
    shown = told if tally.cases else ""
    return Claim("CVAP is calibrated", says, words, together(verdicts), shown)


@of_sets(SIX)
def isotonic_is_miscalibrated(index: ResultIndex) -> Claim:
    """Judge whether isotonic regression is often miscalibrated."""
    units = in_tables(index) + in_figures(index)
    tally = _refuted(index, units, "isotonic")
    ours = _refuted(index, units, "IVAP")
    says = "Isotonic regression often produces miscalibrated probabilities."
    words = f"a test on the test rows refutes calibration {OFTEN.words}"
    told = (
        f"Refuted (p < {REFUTED}) in {tally.text}; IVAP, merged, in {ours.text}. "
        f"{tally.by_place}."
    )
    return tally.claim("isotonic miscalibrated", says, OFTEN, told, words)


SAME_SCORES = ("Platt", "isotonic", "IVAP")  # calibrated by them, row for row


@of_sets(SIX)
def miscalibration_costs(index: ResultIndex) -> Claim:
    """Judge whether lack of calibration shows in the loss.

    Beside it stands how often it decides between two methods: their losses differ by
    how well they tell rows apart, too.
    """
    refuted, decided = [], []
    for unit in in_tables(index) + in_figures(index):
        found = [index.result(unit, method) for method in SAME_SCORES]
        known = [r for r in found if r is not None and r.miscalibration is not None]
        parts = [(r.miscalibration or 0.0, r) for r in known]
        refuted += [
            (unit.data, part > TIE)
            for part, r in parts
            if r.miscalibration_p is not None and r.miscalibration_p < REFUTED
        ]
        decided += [
            (unit.data, (one.brier_loss > other.brier_loss) == (part > other_part))
            for (part, one), (other_part, other) in combinations(parts, 2)
            if abs(part - other_part) > TIE
        ]
    tally, pairs = Tally.of(refuted), Tally.of(decided)
    says = "Lack of calibration increases the loss."
    words = (
        "wherever a test refutes the calibration of Platt, isotonic regression or "
        "IVAP, isotonic regression of the test rows lowers the Brier loss"
    )
    told = (
        f"So in {tally.text}. Of two of these methods, the less calibrated one has the "
        f"larger Brier loss in {pairs.text} pairs. {pairs.by_place}."
    )
    return tally.claim("lack of calibration", says, ALWAYS, told, words)


@of_sets(SIX)
def scores_of_machines(index: ResultIndex) -> Claim:
    """Judge whether it matters that an SVM's scores are probabilities already."""
    units = [u for u in in_tables(index) + in_figures(index) if u.algorithm == "SVM"]
    tally = Tally.of(
        (LOSSES[kind], abs(pair.difference) <= TIE)
        for kind in LOSSES
        for pair in index.pairs(units, kind, "Platt", "Platt log-odds")
    )
    says = (
        "Calibrating the probabilities of an SVM is equivalent to calibrating its "
        "scores."
    )
    words = "so for all methods, with the losses of Platt equal to four digits"
    told = (
        "Isotonic regression, IVAP and CVAP see the order alone, which is the same. "
        f"Platt's losses are equal in {tally.text}. {tally.by_place}."
    )
    verdicts = [HOLDS, tally.judge(ALWAYS)] if tally.cases else []
    shown = told if tally.cases else ""
    return Claim("SVM scores", says, words, together(verdicts), shown)


# Reasons: what crossing gains, and what regularisation and bounds do.


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
    evidence = (
        f"Loss with crossing no larger than with a single split: {'; '.join(told)}."
    )
    verdict = together(verdicts)
    words = f"for each method and each loss {TENDS.words}"
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
        "CVAP's loss is no larger than that of crossed isotonic "
        "regression, crossed Platt on log-odds and the crossed underlying algorithm."
    )
    same = "Loss of CVAP no larger than "
    told = [text.split(". ")[0].removeprefix(same) for _, text in found if text]
    verdict = together([verdict for verdict, _ in found])
    words = f"for each competing method {TENDS.words}{EVERY_SET}"
    evidence = f"{same}{'; '.join(told)}." if told else ""
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
            f"The loss changes less from isotonic to IVAP than from IVAP to CVAP in "
            f"{tally.text}; median changes {ours:.4f} and {crossed:.4f}. "
            f"{tally.by_place}."
        )
    says = "For Brier loss on large sets regularisation matters less than crossing."
    return tally.claim("regularisation and Brier loss", says, TENDS, told)


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
    evidence = f"Number of infinite log losses in {len(units)} cases: {told}."
    return Claim(
        "regularisation and log loss", says, words, verdict, evidence if units else ""
    )


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
    merged_is_more_accurate,
    cvap_outperforms,
    typical_of_other_sets,
    isotonic_overfits,
    isotonic_is_miscalibrated,
    cvap_is_calibrated,
    miscalibration_costs,
    scores_of_machines,
    decisions,
    parts_in_thirds,
    merging_in_two_steps,
    pooled_and_cvap,
    pooled_k_and_cvap,
    one_model_and_cvap,
)
REASONS = (
    crossing_helps,
    regularisation_and_log,
    regularisation_and_brier,
    bounds_beyond_crossing,
)
