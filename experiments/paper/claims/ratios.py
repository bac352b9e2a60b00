"""Ratios: claims on what happens from one to another, at `all`, and to bounds."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from experiments.paper.claims.method_order import EXAMPLE, PAPER
from experiments.paper.claims.verdicts import (
    ALWAYS,
    CONSISTENTLY,
    FAILS,
    HOLDS,
    LARGE_SETS,
    MIXED,
    NOT_RUN,
    OFTEN,
    PERMUTED,
    TENDS,
    TIE,
    Claim,
    Tally,
    by_algorithm,
    by_data,
    in_figures,
    in_tables,
    named,
    of_paper,
    of_sets,
    panels,
    signed,
    together,
)
from experiments.paper.results import LOSSES
from experiments.paper.run import WIDE, Unit
from experiments.paper.tasks import ALL, IN_FILE_ORDER, SIX, WIDE_RATIOS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from experiments.paper.results import ResultIndex


# Ratios: claims on the way from one to another, and on the column `all`.

ONCE = ("Platt", "isotonic", "IVAP")  # methods that the column `all` is about
SAME = 0.002  # losses this close are called virtually the same
NOTHING = 1.0  # the loss of always predicting 1/2
GERMAN = "german"
CONTRASTED = ("insurance", PERMUTED, "spambase")  # sets that it is called harder than
ALMOST = 0.02  # a mean width of the bounds that is called almost precise
AWFUL = 0.05  # bits
SVM = "SVM"


def line(
    index: ResultIndex, panel: tuple[str, str], method: str, kind: str
) -> dict[str, float]:
    """Return the loss of a method at each ratio that has one, infinities too."""
    task, algorithm = panel
    found = {
        ratio: index.loss(Unit(task, algorithm, ratio), method, kind)
        for ratio in index.ratios(task)
    }
    return {ratio: loss for ratio, loss in found.items() if loss is not None}


def columns(
    index: ResultIndex, panel: tuple[str, str], method: str, kind: str
) -> tuple[list[float], float | None]:
    """Return the losses at the ratios in order, and that of the column `all`."""
    losses = line(index, panel, method, kind)
    at_all = losses.pop(ALL, None)
    return list(losses.values()), at_all


def infinite_in_table_1(index: ResultIndex) -> Claim:
    """Judge Table 1: isotonic regression is infinite everywhere."""
    tally = _infinite(index, in_tables(index), by_algorithm)
    told = f"Infinite for {tally.text} algorithms. {tally.by_place}."
    says = "Table 1: isotonic regression has an infinite log loss in every row."
    return tally.claim("tables: isotonic infinite", says, ALWAYS, told)


@of_sets(SIX)
def infinite_in_figures(index: ResultIndex) -> Claim:
    """Judge the six sets: isotonic regression is often infinite."""
    tally = _infinite(index, in_figures(index), by_data)
    told = f"Infinite in {tally.text} cases. {tally.by_place}."
    says = "Six data sets: isotonic regression often suffers infinite log losses."
    return tally.claim("figures: isotonic infinite", says, OFTEN, told)


def _infinite(
    index: ResultIndex, units: Sequence[Unit], place: Callable[[Unit], str]
) -> Tally:
    losses = ((unit, index.loss(unit, "isotonic", "log_loss")) for unit in units)
    return Tally.of(
        (place(unit), loss == math.inf) for unit, loss in losses if loss is not None
    )


def svm_is_finite_once(index: ResultIndex) -> Claim:
    """Judge Figure 1: one log loss of isotonic regression for SVM is finite."""
    losses = line(index, (EXAMPLE, SVM), "isotonic", "log_loss")
    finite = [ratio for ratio, loss in losses.items() if math.isfinite(loss)]
    verdict = NOT_RUN
    if losses:
        most = 2 * len(finite) > len(losses)
        verdict = HOLDS if len(finite) == 1 else FAILS if most else MIXED
    says = "adult: one log loss of isotonic regression for SVM is finite."
    words = "exactly one column is finite; it is mixed if most are infinite"
    where = f" ({', '.join(finite)})" if finite else ""
    told = f"{len(finite)} of {len(losses)} columns finite{where}." if losses else ""
    return Claim("SVM: one finite loss", says, words, verdict, told)


def platt_is_finite(index: ResultIndex) -> Claim:
    """Judge section 5.2: Platt never suffers an infinite log loss."""
    found = [
        (unit.data, index.loss(unit, "Platt", "log_loss"))
        for unit in in_tables(index) + in_figures(index, (*SIX, PERMUTED))
    ]
    tally = Tally.of((d, math.isfinite(loss)) for d, loss in found if loss is not None)
    says = "Platt's method never suffers an infinite log loss."
    return tally.claim("Platt is finite", says, ALWAYS, f"Finite in {tally.text}.")


@of_sets(SIX)
def mergings_agree(index: ResultIndex) -> Claim:
    """Judge whether both mergings give virtually the same results."""
    found = []
    for unit in in_tables(index) + in_figures(index, (*SIX, PERMUTED)):
        for method in ("IVAP", "CVAP"):
            for kind in LOSSES:
                log, brier = (
                    index.loss(unit, method, kind, merging)
                    for merging in ("log", "brier")
                )
                if log is not None and brier is not None:
                    found.append((unit, method, abs(brier - log)))
    tally = Tally.of((unit.data, gap <= SAME) for unit, _, gap in found)
    told = ""
    if found:
        unit, method, gap = max(found, key=lambda entry: entry[2])
        told = (
            f"Within {SAME} in {tally.text}; median {median(g for *_, g in found):.4f},"
            f" largest {gap:.4f} ({method}: {named(unit)}). {tally.by_place}."
        )
    says = "Merging for Brier loss leads to virtually the same results."
    words = f"within {SAME} {CONSISTENTLY.words}"
    return tally.claim("merging", says, CONSISTENTLY, told, words)


@of_sets(SIX)
def cvap_is_stable(index: ResultIndex) -> Claim:
    """Judge whether CVAP changes little from ratio to ratio."""
    ranges: dict[str, list[float]] = {}
    cases = []
    for panel in panels(index, *SIX, WIDE):
        for kind in LOSSES:
            found = {}
            for method in ("CVAP", *ONCE):
                split, _ = columns(index, panel, method, kind)
                if len(split) > 1 and math.isfinite(max(split)):
                    found[method] = max(split) - min(split)
                    ranges.setdefault(method, []).append(found[method])
            if "CVAP" in found and "IVAP" in found:
                cases.append((panel[0], found["CVAP"] <= found["IVAP"] + TIE))
    tally = Tally.of(cases)
    spread = ", ".join(f"{m} {median(values):.4f}" for m, values in ranges.items())
    told = (
        f"The range of the loss over the ratios is no larger for CVAP than for IVAP in "
        f"{tally.text}. Median ranges: {spread}. {tally.by_place}."
    )
    says = "CVAP is very stable across the ratios."
    words = f"no less stable than IVAP {TENDS.words}"
    return tally.claim("stability", says, TENDS, told, words)


def german_is_stable(index: ResultIndex) -> Claim:
    """Judge German credit: IVAP and CVAP change little from ratio to ratio."""
    ranges: dict[str, list[float]] = {}
    cases = []
    for panel in panels(index, GERMAN):
        for kind in LOSSES:
            found = {m: columns(index, panel, m, kind)[0] for m in ("CVAP", *ONCE)}
            spread = {
                method: math.inf if math.inf in split else max(split) - min(split)
                for method, split in found.items()
                if len(split) > 1
            }
            for method, value in spread.items():
                ranges.setdefault(method, []).append(value)
            others = [spread[m] for m in ("Platt", "isotonic") if m in spread]
            cases += [
                (method, spread[method] <= max(others) + TIE)
                for method in ("IVAP", "CVAP")
                if method in spread and others
            ]
    tally = Tally.of(cases)
    medians = ", ".join(f"{m} {median(v):.4f}" for m, v in ranges.items())
    told = (
        "The range of the loss over the ratios is no larger than that of Platt or of "
        f"isotonic regression in {tally.text}. {tally.by_place}. Median ranges (an "
        f"infinite loss has an infinite one): {medians}."
    )
    says = "German credit: IVAP and CVAP produce stable results."
    words = f"no less stable than the less stable of Platt and isotonic {TENDS.words}"
    return tally.claim("German credit: stable", says, TENDS, told, words)


def german_is_difficult(index: ResultIndex) -> Claim:
    """Judge German credit: poor and mixed results."""
    medians, lowest = {}, []
    for task in (*CONTRASTED, GERMAN):
        found = [
            loss
            for unit in in_figures(index, (task,))
            if (loss := index.loss(unit, "CVAP", "brier_loss")) is not None
        ]
        if found:
            medians[task] = median(found)
    for unit in in_figures(index, (GERMAN,)):
        for kind in LOSSES:
            losses = {m: index.loss(unit, m, kind) for m in PAPER}
            known = {m: loss for m, loss in losses.items() if loss is not None}
            lowest.append(min(known, key=lambda name: known[name]))
    verdict = NOT_RUN
    if GERMAN in medians and len(medians) > 1:
        hardest = medians[GERMAN] == max(medians.values())
        facts = (hardest, len(set(lowest)) > 1)
        verdict = HOLDS if all(facts) else MIXED if any(facts) else FAILS
    says = "German credit is much more difficult: results are poor and mixed."
    words = (
        "its median Brier loss of CVAP exceeds that of insurance, bank (permuted) and "
        "spambase, and no method is the best everywhere"
    )
    told = ", ".join(f"{task} {value:.3f}" for task, value in medians.items())
    best = ", ".join(f"{m} {lowest.count(m)}" for m in PAPER if m in lowest)
    evidence = f"Median Brier losses of CVAP: {told}. Lowest loss on german: {best}."
    shown = "" if verdict == NOT_RUN else evidence
    return Claim("German credit: difficult", says, words, verdict, shown)


@of_sets(("adult", "bank"))
def all_is_good_on_large_sets(index: ResultIndex) -> Claim:
    """Judge whether `all` often leads to good results on larger sets."""
    cases = []
    for panel in panels(index, "adult", "bank", PERMUTED):
        for method in ONCE:
            split, at_all = columns(index, panel, method, "brier_loss")
            if at_all is not None and split:
                cases.append((panel[0], at_all <= median(split) + TIE))
    tally = Tally.of(cases)
    told = (
        "The Brier loss of Platt, isotonic and IVAP at 'all' is no larger than the "
        f"median of the other columns in {tally.text}. {tally.by_place}."
    )
    says = "The column 'all' often leads to good results on larger data sets."
    return tally.claim("all: good on large sets", says, OFTEN, told)


@of_sets(SIX)
def all_is_unstable(index: ResultIndex) -> Claim:
    """Judge whether the column `all` is far from the others."""
    cases, changes = [], []
    for panel in panels(index, *SIX):
        for method in ONCE:
            split, at_all = columns(index, panel, method, "brier_loss")
            if at_all is None or len(split) < 2:  # a range
                continue
            change = at_all - split[-1]
            cases.append((panel[0], abs(change) > max(split) - min(split)))
            changes.append((change, f"{method}, {', '.join(panel)}"))
    tally = Tally.of(cases)
    told = ""
    if changes:
        worse = max(changes)
        told = (
            "The change of the Brier loss at 'all' exceeds the range of the other "
            f"columns in {tally.text}; it is an improvement in "
            f"{sum(c < 0 for c, _ in changes)}, and {signed(worse[0])} at worst "
            f"({worse[1]}). {tally.by_place}."
        )
    says = "The column 'all' is unstable for Platt, isotonic and IVAP."
    words = f"a change larger than the range of the others {TENDS.words}"
    return tally.claim("all: unstable", says, TENDS, told, words)


@of_sets(SIX)
def all_is_good_for_isotonic(index: ResultIndex) -> Claim:
    """Judge whether `all` is often the best for isotonic regression."""
    cases = []
    for panel in panels(index, *SIX):
        split, at_all = columns(index, panel, "isotonic", "brier_loss")
        if at_all is not None and split:
            cases.append((panel[0], at_all <= min(split) + TIE))
    tally = Tally.of(cases)
    told = f"Lowest Brier loss at 'all' in {tally.text}. {tally.by_place}."
    says = "The column 'all' often gives isotonic regression its best result."
    return tally.claim("all: good for isotonic", says, OFTEN, told)


@of_sets(SIX)
def all_is_bad_for_bagging(index: ResultIndex) -> Claim:
    """Judge whether `all` is very poor for bagged trees."""
    cases, steps = [], []
    for task in SIX:
        for method in ONCE:
            for kind in LOSSES:
                split, at_all = columns(index, (task, "bagging"), method, kind)
                if at_all is None or not split or max(split) == math.inf:
                    continue  # `all` cannot be worse than an infinite loss
                cases.append((task, at_all > max(split) + TIE))
                if kind == "brier_loss":
                    steps.append(at_all - split[-1])
    tally = Tally.of(cases)
    told = ""
    if cases:
        example = Tally.of(case for case in cases if case[0] == EXAMPLE)
        first = f"on {EXAMPLE}, the paper's example, in {example.text}; "
        told = (
            "The losses of Platt, isotonic and IVAP are larger at 'all' than in any "
            f"other column: {first if example.cases else ''}on all data sets in "
            f"{tally.text}; median change of the Brier loss {signed(median(steps))}. "
            f"{tally.by_place}."
        )
    says = "The column 'all' is very poor for bagging (Platt, isotonic, IVAP)."
    return tally.claim("all: bad for bagging", says, CONSISTENTLY, told)


def five_or_ten_folds(index: ResultIndex) -> Claim:
    """Judge whether 5 and 10 folds differ much."""
    told, cases = [], []
    for panel in panels(index, WIDE):
        for kind, name in LOSSES.items():
            losses = line(index, panel, "CVAP", kind)
            if "4:1" in losses and "9:1" in losses:
                change = losses["9:1"] - losses["4:1"]
                cases.append((panel[1], abs(change) <= SAME))
                told.append(f"{panel[1]} {name} {signed(change)}")
    says = "There is not much difference between 5 and 10 folds for most algorithms."
    evidence = f"Change of CVAP's loss from 5 to 10 folds: {', '.join(told)}."
    words = f"within {SAME} {TENDS.words}"
    return Tally.of(cases).claim("5 and 10 folds", says, TENDS, evidence, words)


def logistic_deteriorates(index: ResultIndex) -> Claim:
    """Judge whether logistic regression gets worse with more training rows."""
    told, cases = [], []
    for method in ("Platt", "IVAP", "CVAP"):
        for kind, name in LOSSES.items():
            losses = line(index, (WIDE, "logistic"), method, kind)
            if "1:1" in losses and "9:1" in losses:
                change = losses["9:1"] - losses["1:1"]
                cases.append((method, change > TIE))
                told.append(f"{method} {name} {signed(change)}")
    says = "Wide range: logistic regression deteriorates as its training set grows."
    evidence = f"Change of the loss from 1:1 to 9:1: {', '.join(told)}."
    return Tally.of(cases).claim("logistic deteriorates", says, TENDS, evidence)


def no_bad_failures(index: ResultIndex) -> Claim:
    """Judge German credit: IVAP and CVAP avoid bad failures of the others.

    The column `all` is counted beside, not judged. Section 6: "Since the values for the
    all column are so unstable, the reader might prefer to disregard them in the case
    of IVAP, Platt, and Isotonic."
    """
    units = in_figures(index, (GERMAN,))
    failures = {method: _failures(index, units, method) for method in PAPER}
    verdict = NOT_RUN
    if failures["CVAP"].cases:
        ours = failures["IVAP"].yes + failures["CVAP"].yes
        others = failures["Platt"].yes + failures["isotonic"].yes
        verdict = FAILS if ours else HOLDS if others else MIXED
    told = ", ".join(f"{m} {tally.text}" for m, tally in failures.items())
    evidence = f"Losses above {NOTHING:.0f}, or infinite: {told}."
    says = "German credit: IVAP and CVAP avoid the bad failures of the others."
    words = (
        "without the column 'all' no loss of theirs exceeds that of always predicting "
        "1/2 (otherwise it fails), and some loss of Platt or isotonic does"
    )
    shown = "" if verdict == NOT_RUN else evidence + _failures_at_all(index)
    return Claim("German credit", says, words, verdict, shown)


def _failures(index: ResultIndex, units: Collection[Unit], method: str) -> Tally:
    """Count the losses above that of always predicting 1/2."""
    return Tally.of(("", loss > NOTHING) for loss in _losses(index, units, method))


def _losses(index: ResultIndex, units: Collection[Unit], method: str) -> list[float]:
    found = (index.loss(unit, method, kind) for unit in units for kind in LOSSES)
    return [loss for loss in found if loss is not None]


def _failures_at_all(index: ResultIndex) -> str:
    units = of_paper(index.units((GERMAN,), (ALL,)))
    if not units:
        return ""
    told = ", ".join(f"{m} {_failures(index, units, m).text}" for m in ONCE)
    worst = max(_losses(index, units, "IVAP"))
    return f" Column 'all', excluded: {told} (IVAP at most {worst:.2f})."


def file_order_is_awful(index: ResultIndex) -> Claim:
    """Judge covertype in the order of its file, which is not exchangeable."""
    cases, told = [], []
    for algorithm in index.algorithms(IN_FILE_ORDER):
        losses = [
            index.loss(Unit(task, algorithm, "4:1"), "CVAP", "log_loss")
            for task in (IN_FILE_ORDER, "covertype")
        ]
        if None not in losses:
            ordered, drawn = losses
            cases.append((algorithm, ordered > drawn + AWFUL))  # type: ignore[operator]
            told.append(f"{algorithm} {ordered:.3f} and {drawn:.3f}")
    says = "covertype in file order gives awful results."
    words = f"CVAP's log loss is larger by more than {AWFUL} bits {TENDS.words}"
    evidence = f"Log loss of CVAP in file order and in random order: {', '.join(told)}."
    tally = Tally.of(cases)
    return tally.claim("covertype in file order", says, TENDS, evidence, words)


# Bounds: claims on how far apart they are, and on what merging costs.


@of_sets(SIX)
def bounds_shrink(index: ResultIndex) -> Claim:
    """Judge whether bounds are narrower where more rows calibrate."""
    cases, widths = [], []
    for task, algorithm in panels(index, *SIX, WIDE):
        ratios = [r for r in WIDE_RATIOS if r in index.ratios(task)]
        found = [index.result(Unit(task, algorithm, r), "IVAP") for r in ratios]
        wide = [r.width_mean for r in found if r and r.width_mean is not None]
        if len(wide) > 1:  # ratios are in order of ever fewer calibration rows
            cases.append((task, wide[0] <= wide[-1]))
            widths.append((wide[0], wide[-1]))
    tally = Tally.of(cases)
    told = ""
    if widths:
        many, few = (median(side) for side in zip(*widths, strict=True))
        told = (
            f"The mean width of IVAP's bounds grows from the most to the fewest "
            f"calibration rows in {tally.text}; median widths {many:.4f} and "
            f"{few:.4f}. {tally.by_place}."
        )
    large = [
        result.width_mean
        for unit in in_figures(index, LARGE_SETS)
        if (result := index.result(unit, "IVAP")) and result.width_mean is not None
    ]
    precise = Tally.of(("", width <= ALMOST) for width in large)
    if large:
        told += (
            f" On large sets the mean width is at most {ALMOST} in {precise.text}, "
            f"median {median(large):.4f}."
        )
    says = (
        "The bounds get narrower as the calibration set grows, and are almost precise "
        "for large data sets."
    )
    words = f"narrower, and a mean width of at most {ALMOST}, each {CONSISTENTLY.words}"
    verdict = together([tally.judge(CONSISTENTLY), precise.judge(CONSISTENTLY)])
    return Claim("width of the bounds", says, words, verdict, told)


@of_sets(SIX)
def deficiency_is_small(index: ResultIndex) -> Claim:
    """Judge log2(GM(1-p0) + GM(p1)), which the paper asks to look at.

    It is said of each prediction, so a mean above 0 proves nothing: rows are judged.
    Only the end at 0 can be crossed, since neither geometric mean exceeds 1.
    """
    means, rows, verdicts = [], [], []
    units = in_tables(index) + in_figures(index, (*SIX, PERMUTED))
    for method in ("IVAP", "CVAP"):
        results = [r for unit in units if (r := index.result(unit, method))]
        found = [r.deficiency for r in results if r.deficiency is not None]
        shares = [
            r.deficiency_negative for r in results if r.deficiency_negative is not None
        ]
        verdicts.append(Tally.of(("", not share) for share in shares).judge(ALWAYS))
        if found:
            spread = f"{signed(min(found))} to {signed(max(found))}"
            means.append(f"{method} {spread}, median {signed(median(found))}")
        if shares:
            rows.append(f"{method} {_negative(shares)}")
    told = [f"Means over test rows, in bits: {'; '.join(means)}."] if means else []
    if rows:
        told.append(f"Cases with test rows of negative deficiency: {'; '.join(rows)}.")
    elif means:
        told.append("The journal does not say how many test rows are negative.")
    says = "The deficiency log2(GM(1-p0) + GM(p1)) is in [0, 1]; how small is it?"
    words = "no test row is outside [0, 1]"
    return Claim("deficiency", says, words, together(verdicts), " ".join(told))


def _negative(shares: Sequence[float]) -> str:
    """Count the cases with negative rows, and say how many rows: folds disagree."""
    some = Tally.of(("", share > 0) for share in shares)
    if not some.yes:
        return some.text
    rows = f"median {median(shares):.1%} of the rows, at most {max(shares):.1%}"
    return f"{some.text} ({rows})"


JUDGES = (
    infinite_in_table_1,
    infinite_in_figures,
    svm_is_finite_once,
    platt_is_finite,
    mergings_agree,
    cvap_is_stable,
    german_is_stable,
    german_is_difficult,
    all_is_good_on_large_sets,
    all_is_unstable,
    all_is_good_for_isotonic,
    all_is_bad_for_bagging,
    five_or_ten_folds,
    logistic_deteriorates,
    no_bad_failures,
    file_order_is_awful,
    bounds_shrink,
    deficiency_is_small,
)
