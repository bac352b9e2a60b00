"""Cases: what the claims count, from the results and the studies of a run.

Each function yields the cases of one question. `claims.toml` names it and gives its
arguments; `units` and `tasks` are lists that `claims` has looked up by name.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from abers import losses
from abers.formatting import p_value
from experiments.paper.results import LOSSES
from experiments.paper.run import Unit
from experiments.paper.sklearn_engine import OF_PAPER
from experiments.paper.studies.artificial_data import entropies, sigmoid_limit
from experiments.paper.tally import ERRORS, GRADES, HOLDS, Case, Tally, signed
from experiments.paper.tasks import ALL, WIDE_RATIOS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from experiments.paper.results import ResultIndex
    from experiments.paper.studies.artificial_data import Timing
    from experiments.paper.studies.validity import Validity

    Panel = tuple[str, str]  # a task and an algorithm
    Cases = Iterator[Case]
    Units = Sequence[Unit]
    Tasks = Sequence[str]

METHODS = ("underlying", "Platt", "isotonic", "IVAP", "CVAP")  # of the paper's figures
EXISTING = ("Platt", "isotonic")
SPLIT_ONCE = ("Platt", "isotonic", "IVAP")  # calibrated by the same rows
BAGGING, NETWORK = "bagging", "neural network"
PROBABILISTIC = ("logistic", "naive Bayes", NETWORK)  # they predict probabilities
CONTRASTED = ("insurance", "bank", "spambase")  # easier than German credit

TIE = 0.00005  # the paper prints four digits
CLOSE = 0.002  # losses this close are called virtually the same
SHARE = 0.1  # of the time to train that calibration may take
REFUTED = 0.01  # a p-value that speaks against calibration
CERTAIN = 0.001  # a p-value that proves a break
ALMOST = 0.02  # a mean width of the bounds that is called almost precise
AWFUL = 0.05  # bits
BAYES, SIGMOID = 0.7213, 0.8113  # printed in section 5.1
HALF = 0.5  # the probability if nothing is known
NOTHING = 1.0  # the loss of always predicting 1/2
GATHERED = 0.75  # share of margins near -1 and 1
GROWTH = 1.5  # of time, relative to what it is compared with
DOUBLED = 2.0  # growth of a query's time if the data grow tenfold


# Losses in one place.


def no_larger(
    index: ResultIndex,
    units: Units,
    kind: str,
    first: str,
    second: str,
    *,
    by: str = "data",
) -> Cases:
    """Compare the losses of two methods, to four digits."""
    for pair in index.pairs(units, kind, first, second):
        finite = math.isfinite(pair.first + pair.second)
        yield Case(
            getattr(pair.unit, by),
            pair.difference <= TIE,
            pair.difference if finite else math.nan,
            z=pair.standard_errors,
        )


def infinite(index: ResultIndex, units: Units, method: str, by: str = "data") -> Cases:
    """Look where a method's log loss is infinite."""
    for unit in units:
        loss = index.loss(unit, method, "log_loss")
        if loss is not None:
            yield Case(getattr(unit, by, by), math.isinf(loss))


def finite(index: ResultIndex, units: Units, method: str) -> Cases:
    """Look where a method's log loss is finite."""
    for case in infinite(index, units, method):
        yield case._replace(so=not case.so)


def numbers_of_infinite(
    index: ResultIndex, units: Units, methods: Collection[str]
) -> Cases:
    """Count the infinite log losses of some methods."""
    for method in methods:
        n = sum(index.loss(unit, method, "log_loss") == math.inf for unit in units)
        yield Case(method, so=True, text=f"{method} {n}")


def cured(index: ResultIndex, units: Units) -> Cases:
    """Look whether IVAP is finite where isotonic regression is infinite."""
    for unit in units:
        isotonic, ivap = (
            index.loss(unit, method, "log_loss") for method in ("isotonic", "IVAP")
        )
        if isotonic == math.inf:
            yield Case(unit.data, ivap != math.inf)


def one_finite(index: ResultIndex, tasks: Tasks) -> Cases:
    """Look whether one log loss of isotonic regression for SVM is finite."""
    for task in tasks:
        losses_at = _line(index, (task, "SVM"), "isotonic", "log_loss")
        ratios = [ratio for ratio, loss in losses_at.items() if math.isfinite(loss)]
        if losses_at:
            where = f" ({', '.join(ratios)})" if ratios else ""
            text = f"{len(ratios)} of {len(losses_at)} columns finite{where}"
            yield Case("exactly one", len(ratios) == 1, text=text)
            yield Case("most infinite", 2 * len(ratios) <= len(losses_at))


def close(
    index: ResultIndex, units: Units, kind: str, first: str, second: str
) -> Cases:
    """Look where two methods' losses are virtually the same."""
    for pair in index.pairs(units, kind, first, second):
        gap = abs(pair.difference)
        yield Case(pair.unit.data, gap <= CLOSE, gap, _name(pair.unit))


def mergings_close(index: ResultIndex, units: Units) -> Cases:
    """Compare bounds merged for log loss and for Brier loss."""
    for unit in units:
        for method in ("IVAP", "CVAP"):
            for kind in LOSSES:
                log, brier = (
                    index.loss(unit, method, kind, merging)
                    for merging in ("log", "brier")
                )
                if log is not None and brier is not None:
                    gap = abs(brier - log)
                    text = f"{method}: {_name(unit)}"
                    yield Case(unit.data, gap <= CLOSE, gap, text)


def _name(unit: Unit) -> str:
    return f"{unit.data}, {unit.algorithm}, {unit.ratio}"


def typical(index: ResultIndex, units: Units) -> Cases:
    """Look on which sets CVAP's loss tends to be no larger than the others'."""
    for task in dict.fromkeys(unit.data for unit in units):
        here = [unit for unit in units if unit.data == task]
        tally = Tally(
            tuple(
                case
                for kind in LOSSES
                for method in SPLIT_ONCE
                for case in no_larger(index, here, kind, "CVAP", method)
            )
        )
        if tally:
            so = tally.verdict(GRADES["tends"]) == HOLDS
            yield Case(task, so, text=f"{task} {tally}")


def lowest_line(index: ResultIndex, units: Units, kind: str) -> Cases:
    """Look where CVAP has the lowest loss; the text names the winner elsewhere."""
    for unit, best in _lowest(index, units, kind).items():
        ours, least = (index.loss(unit, method, kind) for method in ("CVAP", best))
        if ours is not None and least is not None:
            so = ours <= least + TIE
            yield Case(unit.data, so, text="" if so else best)


def _lowest(index: ResultIndex, units: Units, kind: str) -> dict[Unit, str]:
    """Return which of the paper's methods has the lowest loss in each place."""
    best = {}
    for unit in units:
        by_method = _known({m: index.loss(unit, m, kind) for m in METHODS})
        if by_method:
            best[unit] = min(by_method, key=lambda name: by_method[name])
    return best


def _known(values: dict[str, float | None]) -> dict[str, float]:
    return {name: value for name, value in values.items() if value is not None}


def brier_steps(index: ResultIndex, units: Units, step: int) -> Cases:
    """Compare what regularisation (0) and crossing (1) do to the Brier loss."""
    for unit in units:
        once, ivap, cvap = (
            index.loss(unit, method, "brier_loss")
            for method in ("isotonic", "IVAP", "CVAP")
        )
        if once is not None and ivap is not None and cvap is not None:
            steps = abs(ivap - once), abs(cvap - ivap)
            yield Case(unit.data, steps[0] <= steps[1], steps[step])


def crossing(index: ResultIndex, units: Units) -> Cases:
    """Compare crossed methods with those that split once, by method and loss."""
    once = {"CVAP": "IVAP", "cross Platt": "Platt", "cross isotonic": "isotonic"}
    for crossed, single in once.items():
        for kind, name in LOSSES.items():
            for case in no_larger(index, units, kind, crossed, single):
                yield case._replace(place=f"{crossed} {name}")


def svm_scales(index: ResultIndex, units: Units, *, by_order: bool = False) -> Cases:
    """Compare Platt on probabilities and on margins, for support vector machines.

    Methods that see only the order of the scores give the same on both.
    """
    machines = [unit for unit in units if unit.algorithm == "SVM"]
    for kind, name in LOSSES.items():
        for pair in index.pairs(machines, kind, "Platt", "Platt log-odds"):
            yield Case(name, by_order or abs(pair.difference) <= TIE)


def german_is_difficult(index: ResultIndex, units: Units) -> Cases:
    """Look whether the results on German credit are poor, and mixed."""
    medians = {}
    for task in (*CONTRASTED, "german"):
        values = [index.loss(u, "CVAP", "brier_loss") for u in units if u.data == task]
        if any(value is not None for value in values):
            medians[task] = median(value for value in values if value is not None)
    if "german" not in medians or len(medians) == 1:
        return
    german = [unit for unit in units if unit.data == "german"]
    best = Counter(m for kind in LOSSES for m in _lowest(index, german, kind).values())
    shown = ", ".join(f"{task} {value:.3f}" for task, value in medians.items())
    counts = ", ".join(f"{m} {best[m]}" for m in METHODS if m in best)
    poor = medians["german"] == max(medians.values())
    yield Case("poor", poor, text=f"Median Brier losses of CVAP: {shown}")
    yield Case("mixed", len(best) > 1, text=f"Lowest loss on german: {counts}")


def bad_failures(index: ResultIndex, units: Units) -> Cases:
    """Look for losses above that of always predicting 1/2, by method."""
    for method in METHODS:
        for unit in units:
            values = (index.loss(unit, method, kind) for kind in LOSSES)
            for loss in values:
                if loss is not None:
                    yield Case(method, loss > NOTHING, loss)


def no_bad_failures(index: ResultIndex, units: Units) -> Cases:
    """Look whether IVAP and CVAP avoid bad failures that the others have."""
    failures = Tally(tuple(bad_failures(index, units))).places
    if "CVAP" in failures:
        bad = {method: tally.yes for method, tally in failures.items()}
        none_of_ours = not (bad.get("IVAP", 0) + bad["CVAP"])
        some_of_theirs = any(bad.get(method, 0) for method in EXISTING)
        yield Case("none of ours", none_of_ours)
        yield Case("some of theirs", none_of_ours and some_of_theirs)


def deficient(index: ResultIndex, units: Units, method: str) -> Cases:
    """Look whether no test row has log2(GM(1-p0) + GM(p1)) below 0.

    The statement is about each prediction, so a mean above 0 proves nothing. Neither
    geometric mean exceeds 1, so that the end at 1 cannot be crossed.
    """
    for unit in units:
        result = index.result(unit, method)
        if result is not None and result.deficiency_negative is not None:
            share = result.deficiency_negative
            yield Case(method, share == 0, share or math.nan)


def deficiencies(index: ResultIndex, units: Units) -> Cases:
    """List the range and the median of the mean deficiency of each method."""
    for method in ("IVAP", "CVAP"):
        results = (index.result(unit, method) for unit in units)
        means = [r.deficiency for r in results if r and r.deficiency is not None]
        if means:
            ends = f"{signed(min(means))} to {signed(max(means))}"
            text = f"{method} {ends}, median {signed(median(means))}"
            yield Case(method, so=True, text=text)


# Calibration.


def refuted(index: ResultIndex, units: Units, method: str) -> Cases:
    """Look where a test refutes that a method is calibrated."""
    for unit in units:
        result = index.result(unit, method)
        if result is not None and result.miscalibration_p is not None:
            yield Case(unit.data, result.miscalibration_p < REFUTED)


def refutations(index: ResultIndex, units: Units, methods: Collection[str]) -> Cases:
    """Look the same up for several methods, by method."""
    for method in methods:
        for case in refuted(index, units, method):
            yield case._replace(place=method)


def refuted_no_more_often(index: ResultIndex, units: Units) -> Cases:
    """Look whether a test refutes CVAP no more often than IVAP."""
    ivap, cvap = (
        Tally(tuple(refuted(index, units, method))) for method in ("IVAP", "CVAP")
    )
    if cvap:
        yield Case("", cvap.yes <= ivap.yes)


def cvap_no_less_calibrated(index: ResultIndex, units: Units) -> Cases:
    """Compare the miscalibration of CVAP and IVAP.

    A test on the rows of one training set refutes IVAP, too: Proposition 1 averages
    over training sets. So CVAP is compared with IVAP.
    """
    for unit in units:
        once, crossed = (
            result.miscalibration if (result := index.result(unit, method)) else None
            for method in ("IVAP", "CVAP")
        )
        if once is not None and crossed is not None:
            yield Case(unit.data, crossed <= once + TIE)


def miscalibrations(
    index: ResultIndex, units: Units, methods: Collection[str]
) -> Cases:
    """List the miscalibration of each method."""
    for method in methods:
        for unit in units:
            result = index.result(unit, method)
            if result is not None and result.miscalibration is not None:
                yield Case(method, so=True, value=result.miscalibration)


def refuted_and_costly(index: ResultIndex, units: Units) -> Cases:
    """Look whether a method that a test refutes would gain by recalibrating."""
    for unit in units:
        for part, _, p in _calibrations(index, unit):
            if p is not None and p < REFUTED:
                yield Case(unit.data, part > TIE)


def less_calibrated_and_worse(index: ResultIndex, units: Units) -> Cases:
    """Compare two methods' miscalibration and Brier loss."""
    for unit in units:
        methods = combinations(_calibrations(index, unit), 2)
        for (part, loss, _), (other, other_loss, _) in methods:
            if abs(part - other) > TIE:
                yield Case(unit.data, (loss > other_loss) == (part > other))


def _calibrations(
    index: ResultIndex, unit: Unit
) -> list[tuple[float, float, float | None]]:
    """Return miscalibration, Brier loss and p-value of methods that split once."""
    results = (index.result(unit, method) for method in SPLIT_ONCE)
    return [
        (r.miscalibration, r.brier_loss, r.miscalibration_p)
        for r in results
        if r is not None and r.miscalibration is not None
    ]


# From one ratio to another, and the column `all`.


def _panels(index: ResultIndex, tasks: Tasks) -> Iterator[Panel]:
    """Go through tasks and those of the paper's algorithms that were run on them."""
    for task in tasks:
        for algorithm in index.algorithms(task):
            if algorithm in OF_PAPER:
                yield task, algorithm


def _line(index: ResultIndex, panel: Panel, method: str, kind: str) -> dict[str, float]:
    """Return the loss of a method at each ratio that has one, infinities included."""
    task, algorithm = panel
    return _known(
        {
            ratio: index.loss(Unit(task, algorithm, ratio), method, kind)
            for ratio in index.ratios(task)
        }
    )


def _columns(
    index: ResultIndex, panel: Panel, method: str, kind: str
) -> tuple[list[float], float | None]:
    """Return the losses at the ratios in order, and that of the column `all`."""
    losses_at = _line(index, panel, method, kind)
    at_all = losses_at.pop(ALL, None)
    return list(losses_at.values()), at_all


def _ranges(index: ResultIndex, tasks: Tasks) -> Iterator[tuple[str, dict[str, float]]]:
    """Go through panels and losses; return the range of each method."""
    for panel in _panels(index, tasks):
        for kind in LOSSES:
            lines = {
                method: _columns(index, panel, method, kind)[0]
                for method in ("CVAP", *SPLIT_ONCE)
            }
            yield (
                panel[0],
                {
                    method: math.inf if math.inf in split else max(split) - min(split)
                    for method, split in lines.items()
                    if len(split) > 1
                },
            )


def cvap_moves_less(index: ResultIndex, tasks: Tasks) -> Cases:
    """Compare the ranges of CVAP and IVAP where both are finite."""
    for task, ranges in _ranges(index, tasks):
        cvap, ivap = (ranges.get(method, math.inf) for method in ("CVAP", "IVAP"))
        if math.isfinite(cvap + ivap):
            yield Case(task, cvap <= ivap + TIE)


def moves_less_than_others(index: ResultIndex, tasks: Tasks) -> Cases:
    """Compare the ranges of IVAP and CVAP with the larger of the others'."""
    for _, ranges in _ranges(index, tasks):
        others = [ranges[method] for method in EXISTING if method in ranges]
        for method in ("IVAP", "CVAP"):
            if method in ranges and others:
                yield Case(method, ranges[method] <= max(others) + TIE)


def ranges(index: ResultIndex, tasks: Tasks) -> Cases:
    """List the finite ranges of each method."""
    for _, by_method in _ranges(index, tasks):
        for method, value in by_method.items():
            yield Case(method, so=True, value=value)


def all_no_larger(
    index: ResultIndex, tasks: Tasks, methods: Collection[str], than: str
) -> Cases:
    """Compare the Brier loss at `all` with the median or least of the others."""
    picks: dict[str, Callable[[list[float]], float]] = {"median": median, "least": min}
    for panel in _panels(index, tasks):
        for method in methods:
            split, at_all = _columns(index, panel, method, "brier_loss")
            if at_all is not None and split:
                yield Case(panel[0], at_all <= picks[than](split) + TIE)


def all_worst_for_bagging(index: ResultIndex, tasks: Tasks) -> Cases:
    """Look where the losses of bagged trees are largest at `all`."""
    for task in tasks:
        for method in SPLIT_ONCE:
            for kind in LOSSES:
                split, at_all = _columns(index, (task, BAGGING), method, kind)
                if at_all is None or not split or max(split) == math.inf:
                    continue  # `all` cannot be worse than an infinite loss
                step = at_all - split[-1] if kind == "brier_loss" else math.nan
                yield Case(task, at_all > max(split) + TIE, step)


def all_far(index: ResultIndex, tasks: Tasks) -> Cases:
    """Look where the step of the Brier loss to `all` exceeds the other columns."""
    for panel in _panels(index, tasks):
        for method in SPLIT_ONCE:
            split, at_all = _columns(index, panel, method, "brier_loss")
            if at_all is not None and len(split) > 1:
                step = at_all - split[-1]
                far = abs(step) > max(split) - min(split)
                where = f"{signed(step)} at worst ({method}, {', '.join(panel)})"
                yield Case(panel[0], far, step, where)


def all_improved(index: ResultIndex, tasks: Tasks) -> Cases:
    """Count the steps to `all` that are improvements."""
    for case in all_far(index, tasks):
        yield Case(case.place, case.value < 0)


def _changes(
    index: ResultIndex, panel: Panel, method: str, ratios: tuple[str, str]
) -> Iterator[tuple[str, float]]:
    """Go through the losses; return their names and changes between two ratios."""
    before, after = ratios
    for kind, name in LOSSES.items():
        losses_at = _line(index, panel, method, kind)
        if before in losses_at and after in losses_at:
            yield name, losses_at[after] - losses_at[before]


def ten_folds(index: ResultIndex, tasks: Tasks) -> Cases:
    """Compare CVAP's losses with 5 and with 10 folds, by algorithm."""
    for panel in _panels(index, tasks):
        for loss, change in _changes(index, panel, "CVAP", ("4:1", "9:1")):
            text = f"{panel[1]} {loss} {signed(change)}"
            yield Case(panel[1], abs(change) <= CLOSE, text=text)


def deteriorates(index: ResultIndex, tasks: Tasks) -> Cases:
    """Look whether logistic regression gets worse with more training rows."""
    for task in tasks:
        for method in ("Platt", "IVAP", "CVAP"):
            panel = (task, "logistic")
            for loss, change in _changes(index, panel, method, ("1:1", "9:1")):
                text = f"{method} {loss} {signed(change)}"
                yield Case(method, change > TIE, text=text)


def file_order(index: ResultIndex, task: str) -> Cases:
    """Compare a set in the order of its file with the same set permuted."""
    in_order = f"{task}-file-order"
    for algorithm in index.algorithms(in_order):
        ordered, permuted = (
            index.loss(Unit(name, algorithm, "4:1"), "CVAP", "log_loss")
            for name in (in_order, task)
        )
        if ordered is not None and permuted is not None:
            text = f"{algorithm} {ordered:.3f} and {permuted:.3f}"
            yield Case(task, ordered > permuted + AWFUL, text=text)


# The width of the bounds.


def narrower(index: ResultIndex, tasks: Tasks, end: int = 0) -> Cases:
    """Compare mean widths at the most (0) and the fewest (-1) calibration rows."""
    for task, algorithm in _panels(index, tasks):
        ratios = [r for r in WIDE_RATIOS if r in index.ratios(task)]
        results = [index.result(Unit(task, algorithm, r), "IVAP") for r in ratios]
        wide = [r.width_mean for r in results if r and r.width_mean is not None]
        if len(wide) > 1:  # ratios are in order of ever fewer calibration rows
            yield Case(task, wide[0] <= wide[-1], wide[end])


def almost_precise(index: ResultIndex, units: Units) -> Cases:
    """Look where the bounds are almost precise."""
    for unit in units:
        result = index.result(unit, "IVAP")
        if result is not None and result.width_mean is not None:
            yield Case("", result.width_mean <= ALMOST, result.width_mean)


# Underlying algorithms.


def _together(units: Units) -> Iterator[list[Unit]]:
    """Go through the units of several algorithms on the same rows."""
    places: dict[tuple[str, str], list[Unit]] = {}
    for unit in units:
        places.setdefault((unit.data, unit.ratio), []).append(unit)
    yield from (several for several in places.values() if len(several) > 1)


def bagging_best(index: ResultIndex, units: Units) -> Cases:
    """Look where bagged trees have the lowest loss of the algorithms."""
    for several in _together(units):
        for kind in LOSSES:
            for method in ("Platt", "IVAP", "CVAP"):
                by_algorithm = _known(
                    {u.algorithm: index.loss(u, method, kind) for u in several}
                )
                if BAGGING in by_algorithm:
                    least = min(by_algorithm.values())
                    yield Case(method, by_algorithm[BAGGING] <= least + TIE)


def same_order(index: ResultIndex, units: Units) -> Cases:
    """Compare two algorithms by their Brier losses, and by those of their CVAPs."""
    for several in _together(units):
        pairs = index.pairs(several, "brier_loss", "underlying", "CVAP")
        for pair, other in combinations(pairs, 2):
            gaps = pair.first - other.first, pair.second - other.second
            yield Case(several[0].data, gaps[0] * gaps[1] >= 0)


def overhead(index: ResultIndex, units: Units) -> Cases:
    """Compare the time of CVAP's calibration and prediction with that to train."""
    for unit in units:
        result = index.result(unit, "CVAP")
        if result is not None and result.training:
            part = result.seconds / result.training
            yield Case(unit.algorithm, part <= SHARE, part)


def best_not_probabilistic(index: ResultIndex, units: Units) -> Cases:
    """Look whether trees or machines, calibrated, have the lowest loss of all."""
    for several in _together(units):
        for kind in LOSSES:
            values = {
                (unit.algorithm, method): loss
                for unit in several
                for method in METHODS
                if (loss := index.loss(unit, method, kind)) is not None
            }
            algorithm, method = min(values, key=lambda names: values[names])
            so = algorithm not in PROBABILISTIC and method != "underlying"
            yield Case(several[0].data, so, text=f"{algorithm} by {method}")


def large_log_loss(
    index: ResultIndex, units: Units, *, infinite: bool = False
) -> Cases:
    """Look where the log loss of an algorithm is large but the Brier loss is not."""
    for unit in units:
        log, brier = (index.loss(unit, "underlying", kind) for kind in LOSSES)
        if log is not None and brier is not None:
            large = math.isinf(log) if infinite else log > NOTHING > brier
            yield Case(unit.algorithm, large)


# The studies, and what needs no data.


def _p_values(checked: Iterable[Validity]) -> str:
    return ", ".join(f"{p_value(run.p_value)} (k = {run.k:,})" for run in checked)


def valid(index: ResultIndex) -> Cases:
    """Look whether Proposition 1 withstands a test on real rows."""
    for run in index.studies.validity:
        if run.how == "exchangeable":
            yield Case("", run.p_value > REFUTED, run.n_draws, _p_values([run]))


def broken(index: ResultIndex) -> Cases:
    """Look whether what the proposition does not promise is detected."""
    for how in dict.fromkeys(run.how for run in index.studies.validity):
        checked = [run for run in index.studies.validity if run.how == how]
        if how != "exchangeable":
            so = min(run.p_value for run in checked) < CERTAIN
            yield Case(how, so, text=f"{how}: {_p_values(checked)}")


def more_miscalibrated(index: ResultIndex) -> Cases:
    """Compare settings chosen on calibrating folds and by cross-validation."""
    tuned = {
        (run.data, run.algorithm, run.method, run.arm): run
        for run in index.studies.tuned
    }
    for (data, algorithm, method, arm), run in tuned.items():
        other = tuned.get((data, algorithm, method, "inner cross-validation"))
        if arm == "calibrating folds" and other is not None:
            change = run.miscalibration - other.miscalibration
            yield Case(method, change > CLOSE, change)


def tuned_and_refuted(index: ResultIndex) -> Cases:
    """Look whether Proposition 1 is refuted if each calibration set chooses."""
    if checked := index.studies.tuned_validity:
        so = any(run.p_value < CERTAIN for run in checked)
        yield Case("", so, text=_p_values(checked))


def near_limits(_: ResultIndex) -> Cases:
    """Compare the losses of Bayes and of the best sigmoid with the printed ones."""
    limit = sigmoid_limit()
    for value, printed in ((limit.bayes, BAYES), (limit.sigmoid, SIGMOID)):
        yield Case("", abs(value - printed) <= TIE, value)


def sigmoid_stays_behind(index: ResultIndex) -> Cases:
    """Compare IVAP with a sigmoid once the margins have gathered at -1 and 1."""
    for run in index.studies.machines[-1:]:
        if run.near_one >= GATHERED:
            platt, ivap = run.platt - run.bayes, run.ivap - run.bayes
            near = f"{run.n_train:,} training rows: {run.near_one:.0%} of margins"
            excess = f"excess over Bayes: Platt {platt:.4f} bits, IVAP {ivap:.4f}"
            yield Case("half", ivap < platt / 2, text=f"{near} near ±1; {excess}")
            yield Case("less", ivap < platt)


def time_growth(index: ResultIndex) -> Cases:
    """Look how the times to fit and to answer a query grow with ten times the data."""
    timings = index.studies.timings
    if len(timings) < 2:
        return
    decades = math.log10(timings[-1].k / timings[0].k)

    def growth(field: str) -> float:
        last, first = (getattr(timing, field) for timing in (timings[-1], timings[0]))
        return float((last / first) ** (1 / decades))

    sort, fit = growth("sort"), growth("fit_ivap")
    ordered, query = growth("fit_sorted"), growth("query")
    text = f"fit {fit:.1f} times as long (np.sort {sort:.1f})"
    yield Case("fit", fit <= GROWTH * sort, text=text)
    text = f"fit of sorted scores {ordered:.1f}"
    yield Case("sorted", ordered <= GROWTH * 10, text=text)
    yield Case("query", query <= DOUBLED, text=f"query {query:.2f}")


def times(index: ResultIndex) -> Cases:
    """List times at the largest and the smallest size."""
    if not index.studies.timings:
        return
    first, last = index.studies.timings[0], index.studies.timings[-1]
    yield Case("", so=True, text=f"from {first.k:,} to {last.k:,} scores")
    yield Case("", so=True, text=_times(last))
    if first.naive_query is not None:
        text = f"{1e3 * first.naive_query:.2g} ms with {first.k:,} scores"
        yield Case(
            "", so=True, text=f"by two isotonic regressions a query takes {text}"
        )


def _times(timing: Timing) -> str:
    fit, sort = (f"{1e3 * t:.3g} ms" for t in (timing.fit_ivap, timing.sort))
    query = f"a query takes {1e9 * timing.query:.2g} ns"
    return f"{timing.k:,} scores are fitted in {fit} (np.sort {sort}), {query}"


def between_ginis(_: ResultIndex) -> Cases:
    """Look whether Shannon's entropy is between the Gini index and its root."""
    gini, root, shannon = entropies(np.linspace(0, 1, 1001)[1:-1]).values()
    inside = (gini <= shannon + 1e-12) & (shannon <= root + 1e-12)
    return (Case("", bool(so)) for so in inside)


def half_costs_one(_: ResultIndex) -> Cases:
    """Look what constant predictions cost at worst."""
    for p in np.linspace(0, 1, 1001)[1:-1]:
        for loss in (losses.paper_log_loss, losses.paper_brier_loss):
            worst = max(loss([label], [p]) for label in (0, 1))
            yield Case("", worst == 1 if p == HALF else worst > 1)


def tiny(index: ResultIndex, method: str) -> Cases:
    """Compare a method with isotonic regression on tiny sets."""
    for run in index.studies.tiny:
        yield Case(run.data, getattr(run, method) <= run.isotonic + TIE)


def tiny_clearly(index: ResultIndex) -> Cases:
    """Look where IVAP is clearly better than isotonic regression."""
    for run in index.studies.tiny:
        yield Case(run.data, run.ivap < run.isotonic - ERRORS * run.error)


def width_correlates(index: ResultIndex, low: str, value: str) -> Cases:
    """Look where the correlation of width and distance is positive."""
    for run in index.studies.widths:
        yield Case(run.data, getattr(run, low) > 0, getattr(run, value))


def rejected_by_width(index: ResultIndex) -> Cases:
    """Compare leaving out the widest rows with leaving out those near 1/2."""
    for run in index.studies.widths:
        yield Case("", run.by_width[-1] <= run.by_middle[-1])


def many_classes(index: ResultIndex) -> Cases:
    """Compare CVAP with IVAP and the algorithm itself, by scheme and loss."""
    runs = {
        (run.data, run.algorithm, run.method, run.multiclass): run
        for run in index.studies.classes
    }
    schemes = {"ovo": "one-vs-one", "ovr": "one-vs-rest"}
    for (data, algorithm, method, scheme), ours in runs.items():
        if method == "CVAP":
            for other, how in (("underlying", ""), ("IVAP", scheme)):
                theirs = runs[data, algorithm, other, how]
                for kind, name in LOSSES.items():
                    first, second = (getattr(run, kind) for run in (ours, theirs))
                    place = f"{schemes[scheme]}, {other}: {name}"
                    infinite = "an infinite loss" if second == math.inf else ""
                    yield Case(place, first <= second + TIE, text=infinite)
