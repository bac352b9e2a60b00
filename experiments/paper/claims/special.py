"""Special judges: claims that are neither an order of losses nor a share of cases."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from experiments.paper.claims.cases import (
    CERTAIN,
    CLOSE,
    EXISTING,
    GERMAN,
    ONCE,
    PAPER,
    REFUTED,
    line,
    lowest,
    p_values,
    refuted,
)
from experiments.paper.claims.judges import (
    EXAMPLE,
    FAILS,
    HOLDS,
    MIXED,
    NOT_RUN,
    PERMUTED,
    TIE,
    Case,
    Tally,
    anywhere,
    by_facts,
    in_figures,
    middle,
    no_larger,
    of_paper,
    signed,
    together,
    with_permuted,
)
from experiments.paper.protocol import ONE_MODEL, POOLED
from experiments.paper.results import LOSSES
from experiments.paper.tasks import ALL, SIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from experiments.paper.claims.judges import Grade
    from experiments.paper.results import ResultIndex
    from experiments.paper.run import Unit
    from experiments.paper.studies.many_classes import ManyClasses

NOTHING = 1.0  # the loss of always predicting 1/2
CONTRASTED = (
    "insurance",
    PERMUTED,
    "spambase",
)  # sets that German credit is harder than
GATHERED = 0.75  # share of margins near -1 and 1
GROWTH = 1.5  # of time, beyond that of what it is held against
DOUBLED = 2.0  # a query may take so much longer if data grow tenfold
MARGIN = CLOSE  # of miscalibration that tuning may add


def lowest_line(index: ResultIndex, grade: Grade) -> tuple[str, str]:
    """Judge whether CVAP has the lowest loss, on the whole and on each set."""
    tallies = {}
    winners: Counter[str] = Counter()
    for kind in LOSSES:
        cases = []
        for unit, best in lowest(index, in_figures(*SIX)(index), kind).items():
            ours, least = (index.loss(unit, method, kind) for method in ("CVAP", best))
            if ours is not None and least is not None:
                cases.append(Case(unit.data, ours <= least + TIE))
                winners[best] += not cases[-1].so
        tallies[kind] = Tally(tuple(cases))
    total = sum(tallies.values(), Tally())
    counts = ", ".join(f"{LOSSES[kind]} {tally}" for kind, tally in tallies.items())
    others = ", ".join(f"{name} {n}" for name, n in winners.most_common() if n)
    evidence = f"CVAP has the lowest loss: {counts}. {total.by_place}."
    evidence += f" Lowest in the other cases: {others}." if others else ""
    verdict = together(tally.judge_everywhere(grade) for tally in tallies.values())
    return verdict, evidence if total.cases else ""


def crossing(index: ResultIndex, grade: Grade) -> tuple[str, str]:
    """Judge what crossing gains, for each method and each loss."""
    steps = {"CVAP": "IVAP", "cross Platt": "Platt", "cross isotonic": "isotonic"}
    texts, verdicts = [], []
    for crossed, once in steps.items():
        counts = []
        for kind, name in LOSSES.items():
            pairs = index.pairs(in_figures(*SIX)(index), kind, crossed, once)
            if pairs:
                tally = no_larger(pairs)
                verdicts.append(tally.judge(grade))
                counts.append(f"{name} {tally} (median {middle(pairs)})")
        texts += [f"{crossed} {', '.join(counts)}"] if counts else []
    start = "Loss with crossing no larger than with a single split"
    return together(verdicts), f"{start}: {'; '.join(texts)}." if texts else ""


def regularisation_and_log_loss(index: ResultIndex, grade: Grade) -> tuple[str, str]:
    """Judge whether IVAP is finite where isotonic regression is not."""
    units = anywhere(index)
    methods = ("isotonic", "cross isotonic", "isotonic dummies", "IVAP", "CVAP")
    infinite = {
        m: [u for u in units if index.loss(u, m, "log_loss") == math.inf]
        for m in methods
    }
    cured = [unit not in infinite["IVAP"] for unit in infinite["isotonic"]]
    counts = ", ".join(f"{name} {len(where)}" for name, where in infinite.items())
    evidence = f"Number of infinite log losses in {len(units)} cases: {counts}."
    return grade.judge(sum(cured), len(cured)), evidence if units else ""


def cvap_is_calibrated(index: ResultIndex, grade: Grade) -> tuple[str, str]:
    """Judge whether CVAP inherits the calibration of IVAP.

    A test on the rows of one training set refutes IVAP as well: Proposition 1 averages
    over training sets. So CVAP is held against IVAP.
    """

    def units(index: ResultIndex) -> list[Unit]:
        return [unit for unit in anywhere(index) if unit.data != "bank"]

    parts: dict[str, dict[Unit, float]] = {}
    for method in (
        "underlying",
        "Platt",
        "isotonic",
        "IVAP",
        "CVAP",
        POOLED,
        ONE_MODEL,
    ):
        for unit in units(index):
            result = index.result(unit, method)
            if result is not None and result.miscalibration is not None:
                parts.setdefault(method, {})[unit] = result.miscalibration
    once, crossed = (parts.get(method, {}) for method in ("IVAP", "CVAP"))
    tally = Tally(
        tuple(
            Case(unit.data, crossed[unit] <= once[unit] + TIE)
            for unit in once
            if unit in crossed
        )
    )
    tests = {
        m: Tally(tuple(refuted(m, units)(index))) for m in (*PAPER, POOLED, ONE_MODEL)
    }
    verdicts = [tally.judge(grade)]
    if tests["CVAP"].cases:
        more_often = tests["CVAP"].yes > tests["IVAP"].yes
        verdicts.append(FAILS if more_often else HOLDS)
    medians = ", ".join(f"{m} {median(v.values()):.4f}" for m, v in parts.items())
    counts = ", ".join(f"{m} {test}" for m, test in tests.items() if test.cases)
    evidence = (
        f"Miscalibration of CVAP no larger than of IVAP in {tally}. {tally.by_place}. "
        f"Median miscalibration: {medians}. A test refutes calibration on the test "
        f"rows (p < {REFUTED}) for {counts}."
    )
    return together(verdicts), evidence if tally.cases else ""


def one_finite_loss(index: ResultIndex, _: Grade) -> tuple[str, str]:
    """Judge whether one log loss of isotonic regression for SVM is finite."""
    losses = line(index, (EXAMPLE, "SVM"), "isotonic", "log_loss")
    finite = [ratio for ratio, loss in losses.items() if math.isfinite(loss)]
    if not losses:
        return NOT_RUN, ""
    most = 2 * len(finite) > len(losses)
    verdict = HOLDS if len(finite) == 1 else FAILS if most else MIXED
    where = f" ({', '.join(finite)})" if finite else ""
    return verdict, f"{len(finite)} of {len(losses)} columns finite{where}."


def german_is_difficult(index: ResultIndex, _: Grade) -> tuple[str, str]:
    """Judge whether results on German credit are poor and mixed."""
    medians = {}
    for task in (*CONTRASTED, GERMAN):
        units = in_figures(task)(index)
        losses = [index.loss(unit, "CVAP", "brier_loss") for unit in units]
        if known := [loss for loss in losses if loss is not None]:
            medians[task] = median(known)
    if GERMAN not in medians or len(medians) == 1:
        return NOT_RUN, ""
    best = Counter(
        method
        for kind in LOSSES
        for method in lowest(index, in_figures(GERMAN)(index), kind).values()
    )
    verdict = by_facts(medians[GERMAN] == max(medians.values()), len(best) > 1)
    shown = ", ".join(f"{task} {value:.3f}" for task, value in medians.items())
    counts = ", ".join(f"{m} {best[m]}" for m in PAPER if m in best)
    evidence = f"Median Brier losses of CVAP: {shown}. Lowest loss on german: {counts}."
    return verdict, evidence


def no_bad_failures(index: ResultIndex, _: Grade) -> tuple[str, str]:
    """Judge German credit: IVAP and CVAP avoid bad failures of the others.

    The column `all` is counted beside, not judged. Section 6: "Since the values for the
    all column are so unstable, the reader might prefer to disregard them in the case
    of IVAP, Platt, and Isotonic."
    """

    def failures(units: Sequence[Unit], method: str) -> Tally:
        losses = (index.loss(unit, method, kind) for unit in units for kind in LOSSES)
        known = (loss for loss in losses if loss is not None)
        return Tally(tuple(Case("", loss > NOTHING, loss) for loss in known))

    tallies = {m: failures(in_figures(GERMAN)(index), m) for m in PAPER}
    if not tallies["CVAP"].cases:
        return NOT_RUN, ""
    ours = tallies["IVAP"].yes + tallies["CVAP"].yes
    others = sum(tallies[method].yes for method in EXISTING)
    counts = ", ".join(f"{method} {tally}" for method, tally in tallies.items())
    evidence = f"Losses above {NOTHING:.0f}, or infinite: {counts}."
    if at_all := of_paper(index.units((GERMAN,), (ALL,))):
        counts = ", ".join(f"{method} {failures(at_all, method)}" for method in ONCE)
        worst = failures(at_all, "IVAP").largest.value
        evidence += f" Column 'all', excluded: {counts} (IVAP at most {worst:.2f})."
    return FAILS if ours else HOLDS if others else MIXED, evidence


def deficiency(index: ResultIndex, grade: Grade) -> tuple[str, str]:
    """Judge log2(GM(1-p0) + GM(p1)), which the paper asks to look at.

    It is said of each prediction, so a mean above 0 proves nothing: rows are judged.
    Only the end at 0 can be crossed, since neither geometric mean exceeds 1.
    """
    means, rows, verdicts = [], [], []
    for method in ("IVAP", "CVAP"):
        units = with_permuted(index)
        results = [r for unit in units if (r := index.result(unit, method))]
        known = [r.deficiency for r in results if r.deficiency is not None]
        shares = [
            r.deficiency_negative for r in results if r.deficiency_negative is not None
        ]
        negative = [share for share in shares if share > 0]
        verdicts.append(grade.judge(len(shares) - len(negative), len(shares)))
        if known:
            spread = f"{signed(min(known))} to {signed(max(known))}"
            means.append(f"{method} {spread}, median {signed(median(known))}")
        if shares:
            some = f"median {median(shares):.1%} of the rows, at most {max(shares):.1%}"
            text = f"{method} {len(negative)} of {len(shares)}"
            rows.append(f"{text} ({some})" if negative else text)
    texts = [f"Means over test rows, in bits: {'; '.join(means)}."] if means else []
    if rows:
        texts.append(f"Cases with test rows of negative deficiency: {'; '.join(rows)}.")
    elif means:
        texts.append("The journal does not say how many test rows are negative.")
    return together(verdicts), " ".join(texts)


def sigmoid_stays_behind(index: ResultIndex, _: Grade) -> tuple[str, str]:
    """Judge a sigmoid of margins that gather at -1 and 1."""
    if not index.studies.machines:
        return NOT_RUN, ""
    last = index.studies.machines[-1]
    near = f"{last.near_one:.0%} of margins near ±1"
    if last.near_one < GATHERED:  # the limit was not approached
        return NOT_RUN, f"{last.n_train:,} training rows are too few: {near}."
    platt, ivap = last.platt - last.bayes, last.ivap - last.bayes
    verdict = HOLDS if ivap < platt / 2 else MIXED if ivap < platt else FAILS
    excess = f"excess over Bayes: Platt {platt:.4f} bits, IVAP {ivap:.4f}"
    return verdict, f"{last.n_train:,} training rows: {near}; {excess}."


def time_grows(index: ResultIndex, _: Grade) -> tuple[str, str]:
    """Judge time to fit, sorted and not, and to answer a query, as data grow."""
    if len(index.studies.timings) < 2:
        return NOT_RUN, ""
    first, last = index.studies.timings[0], index.studies.timings[-1]
    decades = math.log10(last.k / first.k)
    sort, fit, fit_sorted, query = (
        (getattr(last, field) / getattr(first, field)) ** (1 / decades)
        for field in ("sort", "fit_ivap", "fit_sorted", "query")
    )
    evidence = (
        f"From {first.k:,} to {last.k:,} scores, for ten times the scores: fit "
        f"{fit:.1f} times as long (np.sort {sort:.1f}), fit of sorted scores "
        f"{fit_sorted:.1f}, query {query:.2f}. {last.k:,} scores are fitted in "
        f"{1e3 * last.fit_ivap:.3g} ms (np.sort {1e3 * last.sort:.3g} ms); a query "
        f"takes {1e9 * last.query:.2g} ns."
    )
    if first.naive_query is not None:
        evidence += (
            f" By two isotonic regressions it takes {1e3 * first.naive_query:.2g} ms "
            f"with {first.k:,} scores."
        )
    facts = fit <= GROWTH * sort, fit_sorted <= GROWTH * 10, query <= DOUBLED
    return by_facts(*facts), evidence


def tuning(index: ResultIndex, grade: Grade) -> tuple[str, str]:
    """Judge whether calibration suffers from tuning on the calibrating folds."""
    tuned = {
        (one.data, one.algorithm, one.method, one.arm): one
        for one in index.studies.tuned
    }
    cases = []
    for (data, algorithm, method, arm), one in tuned.items():
        other = tuned.get((data, algorithm, method, "inner cross-validation"))
        if arm == "calibrating folds" and other is not None:
            change = one.miscalibration - other.miscalibration
            cases.append(Case(method, change > MARGIN, change))
    tally, texts, verdicts = Tally(tuple(cases)), [], []
    if cases:
        parts = tally.places.items()
        steps = ", ".join(f"{method} {signed(part.median)}" for method, part in parts)
        verdicts.append(tally.judge(grade))
        texts.append(
            f"More miscalibrated by more than {MARGIN} than with settings chosen by "
            f"inner cross-validation in {tally}; median change {steps}. "
            f"{tally.by_place}."
        )
    if checked := index.studies.tuned_validity:
        refuted_once = any(one.p_value < CERTAIN for one in checked)
        verdicts.append(HOLDS if refuted_once else FAILS)
        texts.append(
            "Proposition 1 with a setting chosen by each calibration set: p-values "
            f"{p_values(checked)}."
        )
    return together(verdicts), " ".join(texts)


def many_classes(index: ResultIndex, grade: Grade) -> tuple[str, str]:
    """Judge CVAP for many classes, which the paper planned."""
    texts, verdicts = [], []
    for way, name in (("ovo", "one-vs-one"), ("ovr", "one-vs-rest")):
        for other in ("underlying", "IVAP"):
            rivals = list(_rivals(index.studies.classes, way, other))
            counts, total = [], Tally()
            for kind, loss in LOSSES.items():
                pairs = [
                    (a.data, getattr(a, kind), getattr(b, kind)) for a, b in rivals
                ]
                tally = Tally(tuple(Case(data, a <= b + TIE) for data, a, b in pairs))
                verdicts.append(tally.judge(grade))
                total += tally
                n = sum(theirs == math.inf for _, _, theirs in pairs)
                infinite = f", of which {n} against an infinite loss" if n else ""
                counts.append(f"{loss} {tally}{infinite}")
            if rivals:
                texts.append(f"{name}, {other}: {', '.join(counts)}; {total.by_place}")
    return together(verdicts), f"{'. '.join(texts)}." if texts else ""


def _rivals(
    classes: Sequence[ManyClasses], way: str, other: str
) -> Iterator[tuple[ManyClasses, ManyClasses]]:
    """Go through CVAP and another method wherever CVAP was run in this way."""
    results = {(o.data, o.algorithm, o.method, o.multiclass): o for o in classes}
    for (data, algorithm, method, how), ours in results.items():
        if (method, how) == ("CVAP", way):
            scheme = way if other == "IVAP" else ""
            yield ours, results[data, algorithm, other, scheme]
