"""Cases: what the claims count, from the results and the studies of a run."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from abers import losses
from abers.formatting import p_value
from experiments.paper.claims.judges import (
    ERRORS,
    EXAMPLE,
    HOLDS,
    LARGE_SETS,
    TENDS,
    TIE,
    Case,
    anywhere,
    by_data,
    in_figures,
    named,
    no_larger,
    of_paper,
    signed,
    with_permuted,
)
from experiments.paper.results import LOSSES
from experiments.paper.run import TABLES, WIDE, Unit
from experiments.paper.sklearn_engine import OF_PAPER
from experiments.paper.studies.artificial_data import entropies, sigmoid_limit
from experiments.paper.tasks import ALL, IN_FILE_ORDER, RATIOS, SIX, WIDE_RATIOS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from experiments.paper.claims.judges import Cases, Units
    from experiments.paper.results import ResultIndex
    from experiments.paper.studies.validity import Validity

    Panel = tuple[str, str]  # a task and an algorithm

PAPER = ("underlying", "Platt", "isotonic", "IVAP", "CVAP")  # its figures' methods
EXISTING = ("Platt", "isotonic")
ONCE = ("Platt", "isotonic", "IVAP")  # calibrated by the same scores, row for row
BAGGING, NETWORK, GERMAN = "bagging", "neural network", "german"
PROBABILISTIC = ("logistic", "naive Bayes", NETWORK)  # they predict probabilities
CLOSE = 0.002  # losses this close are called virtually the same
SHARE = 0.1  # of the time to train that calibration may take
REFUTED = 0.01  # a p-value that speaks against calibration
CERTAIN = 0.001  # one that proves a break
ALMOST = 0.02  # a mean width of the bounds that is called almost precise
AWFUL = 0.05  # bits
BAYES, SIGMOID = 0.7213, 0.8113  # printed in section 5.1
HALF = 0.5  # the probability of who knows nothing


# Losses in one place.


def infinite(
    method: str,
    units: Units,
    by: Callable[[Unit], str] = by_data,
    so: Callable[[float], bool] = math.isinf,
) -> Cases:
    """Look where a method's log loss is infinite."""

    def cases(index: ResultIndex) -> Iterator[Case]:
        for unit in units(index):
            loss = index.loss(unit, method, "log_loss")
            if loss is not None:
                yield Case(by(unit), so(loss))

    return cases


def curves_of_example(algorithm: str | None = None) -> Units:
    """Return what lists the places of Figure 1, of one algorithm or all."""

    def units(index: ResultIndex) -> list[Unit]:
        found = of_paper(index.units((EXAMPLE,), RATIOS))
        return [u for u in found if algorithm in (None, u.algorithm)]

    return units


def close_to_isotonic(index: ResultIndex) -> Iterator[Case]:
    """Compare the Brier losses of IVAP and isotonic regression on large sets."""
    units = in_figures(*LARGE_SETS)(index)
    for pair in index.pairs(units, "brier_loss", "IVAP", "isotonic"):
        gap = abs(pair.difference)
        yield Case(pair.unit.data, gap <= CLOSE, gap, named(pair.unit))


def mergings_close(index: ResultIndex) -> Iterator[Case]:
    """Compare bounds merged for log loss and for Brier loss."""
    for unit in with_permuted(index):
        for method in ("IVAP", "CVAP"):
            for kind in LOSSES:
                log, brier = (
                    index.loss(unit, method, kind, merging)
                    for merging in ("log", "brier")
                )
                if log is not None and brier is not None:
                    gap = abs(brier - log)
                    yield Case(unit.data, gap <= CLOSE, gap, f"{method}: {named(unit)}")


def typical(*tasks: str) -> Cases:
    """Look on which sets CVAP's loss tends to be no larger than the others'."""

    def cases(index: ResultIndex) -> Iterator[Case]:
        for task in tasks:
            units = in_figures(task)(index)
            tally = no_larger(
                pair
                for kind in LOSSES
                for name in (*EXISTING, "IVAP")
                for pair in index.pairs(units, kind, "CVAP", name)
            )
            if tally.cases:
                so = tally.judge(TENDS) == HOLDS
                yield Case(task, so, text=f"{task} {tally}")

    return cases


def steps_of_brier(step: int) -> Cases:
    """Look how the Brier loss changes: by regularisation (0), by crossing (1)."""

    def cases(index: ResultIndex) -> Iterator[Case]:
        for unit in in_figures(*LARGE_SETS)(index):
            once, ivap, cvap = (
                index.loss(unit, method, "brier_loss")
                for method in ("isotonic", "IVAP", "CVAP")
            )
            if once is not None and ivap is not None and cvap is not None:
                steps = abs(ivap - once), abs(cvap - ivap)
                yield Case(unit.data, steps[0] <= steps[1], steps[step])

    return cases


def machines(*, by_order: bool = False) -> Cases:
    """Compare Platt on probabilities and on margins, for support vector machines.

    Methods that see the order of the scores alone are the same on both.
    """

    def cases(index: ResultIndex) -> Iterator[Case]:
        units = [unit for unit in anywhere(index) if unit.algorithm == "SVM"]
        for kind, name in LOSSES.items():
            for pair in index.pairs(units, kind, "Platt", "Platt log-odds"):
                yield Case(name, by_order or abs(pair.difference) <= TIE)

    return cases


# Calibration.


def refuted(method: str, units: Units = anywhere) -> Cases:
    """Look where a test refutes that a method is calibrated."""

    def cases(index: ResultIndex) -> Iterator[Case]:
        for unit in units(index):
            result = index.result(unit, method)
            if result is not None and result.miscalibration_p is not None:
                yield Case(unit.data, result.miscalibration_p < REFUTED)

    return cases


def refuted_and_costly(index: ResultIndex) -> Iterator[Case]:
    """Look whether a method that a test refutes would gain by recalibrating."""
    for unit, results in _calibrated_once(index):
        for part, _, p in results:
            if p is not None and p < REFUTED:
                yield Case(unit.data, part > TIE)


def less_calibrated_and_worse(index: ResultIndex) -> Iterator[Case]:
    """Compare two methods' miscalibration and Brier loss."""
    for unit, results in _calibrated_once(index):
        for (part, loss, _), (other, other_loss, _) in combinations(results, 2):
            if abs(part - other) > TIE:
                yield Case(unit.data, (loss > other_loss) == (part > other))


def _calibrated_once(
    index: ResultIndex,
) -> Iterator[tuple[Unit, list[tuple[float, float, float | None]]]]:
    """Go through places; return miscalibration, Brier loss and p of each method."""
    for unit in anywhere(index):
        results = [r for method in ONCE if (r := index.result(unit, method))]
        yield (
            unit,
            [
                (r.miscalibration, r.brier_loss, r.miscalibration_p)
                for r in results
                if r.miscalibration is not None
            ],
        )


# From one ratio to another, and the column `all`.


def panels(index: ResultIndex, *tasks: str) -> Iterator[Panel]:
    """Go through tasks and those of the paper's algorithms that were run on them."""
    for task in tasks:
        for algorithm in index.algorithms(task):
            if algorithm in OF_PAPER:
                yield task, algorithm


def line(index: ResultIndex, panel: Panel, method: str, kind: str) -> dict[str, float]:
    """Return the loss of a method at each ratio that has one, infinities too."""
    task, algorithm = panel
    losses_at = {
        ratio: index.loss(Unit(task, algorithm, ratio), method, kind)
        for ratio in index.ratios(task)
    }
    return {ratio: loss for ratio, loss in losses_at.items() if loss is not None}


def columns(
    index: ResultIndex, panel: Panel, method: str, kind: str
) -> tuple[list[float], float | None]:
    """Return the losses at the ratios in order, and that of the column `all`."""
    losses_at = line(index, panel, method, kind)
    at_all = losses_at.pop(ALL, None)
    return list(losses_at.values()), at_all


def _ranges(index: ResultIndex, *tasks: str) -> Iterator[tuple[str, dict[str, float]]]:
    """Go through panels and losses; return the range of each method."""
    for panel in panels(index, *tasks):
        for kind in LOSSES:
            lines = {m: columns(index, panel, m, kind)[0] for m in ("CVAP", *ONCE)}
            yield (
                panel[0],
                {
                    method: math.inf if math.inf in split else max(split) - min(split)
                    for method, split in lines.items()
                    if len(split) > 1
                },
            )


def cvap_moves_less(index: ResultIndex) -> Iterator[Case]:
    """Compare the ranges of CVAP and IVAP where both are finite."""
    for task, ranges in _ranges(index, *SIX, WIDE):
        cvap, ivap = (ranges.get(method, math.inf) for method in ("CVAP", "IVAP"))
        if math.isfinite(cvap + ivap):
            yield Case(task, cvap <= ivap + TIE)


def german_moves_less(index: ResultIndex) -> Iterator[Case]:
    """Compare the ranges of IVAP and CVAP with the larger of the others'."""
    for _, ranges in _ranges(index, GERMAN):
        others = [ranges[method] for method in EXISTING if method in ranges]
        for method in ("IVAP", "CVAP"):
            if method in ranges and others:
                yield Case(method, ranges[method] <= max(others) + TIE)


def ranges_of(*tasks: str, infinite: bool = False) -> Cases:
    """List the ranges of each method."""

    def cases(index: ResultIndex) -> Iterator[Case]:
        for _, ranges in _ranges(index, *tasks):
            for method, value in ranges.items():
                if infinite or math.isfinite(value):
                    yield Case(method, so=True, value=value)

    return cases


def at_all_no_larger(
    pick: Callable[[list[float]], float], methods: Collection[str], *tasks: str
) -> Cases:
    """Compare the Brier loss at `all` with the median or least of the others."""

    def cases(index: ResultIndex) -> Iterator[Case]:
        for panel in panels(index, *tasks):
            for method in methods:
                split, at_all = columns(index, panel, method, "brier_loss")
                if at_all is not None and split:
                    yield Case(panel[0], at_all <= pick(split) + TIE)

    return cases


def at_all_worst(*tasks: str) -> Cases:
    """Look where the losses of bagged trees are largest at `all`."""

    def cases(index: ResultIndex) -> Iterator[Case]:
        for task in tasks:
            for method in ONCE:
                for kind in LOSSES:
                    split, at_all = columns(index, (task, BAGGING), method, kind)
                    if at_all is None or not split or max(split) == math.inf:
                        continue  # `all` cannot be worse than an infinite loss
                    step = at_all - split[-1] if kind == "brier_loss" else math.nan
                    yield Case(task, at_all > max(split) + TIE, step)

    return cases


def at_all_far(index: ResultIndex) -> Iterator[Case]:
    """Look where the step of the Brier loss to `all` exceeds the other columns."""
    for panel in panels(index, *SIX):
        for method in ONCE:
            split, at_all = columns(index, panel, method, "brier_loss")
            if at_all is not None and len(split) > 1:
                step = at_all - split[-1]
                far = abs(step) > max(split) - min(split)
                where = f"{signed(step)} at worst ({method}, {', '.join(panel)})"
                yield Case(panel[0], far, step, where)


def at_all_improved(index: ResultIndex) -> Iterator[Case]:
    """Count the steps to `all` that are improvements."""
    for case in at_all_far(index):
        yield Case(case.place, case.value < 0)


def changes(
    panels_of: Callable[[ResultIndex], Iterable[Panel]],
    methods: Collection[str],
    ratios: tuple[str, str],
    so: Callable[[float], bool],
    name: Callable[[str, str], str],
) -> Cases:
    """Look how losses change from one ratio to another.

    A case is named by its algorithm and method.
    """
    before, after = ratios

    def cases(index: ResultIndex) -> Iterator[Case]:
        for panel in panels_of(index):
            for method in methods:
                place = name(panel[1], method)
                for kind, loss in LOSSES.items():
                    losses_at = line(index, panel, method, kind)
                    if before in losses_at and after in losses_at:
                        change = losses_at[after] - losses_at[before]
                        text = f"{place} {loss} {signed(change)}"
                        yield Case(place, so(change), text=text)

    return cases


def file_order(index: ResultIndex) -> Iterator[Case]:
    """Compare covertype in the order of its file, which is not exchangeable."""
    for algorithm in index.algorithms(IN_FILE_ORDER):
        ordered, drawn = (
            index.loss(Unit(task, algorithm, "4:1"), "CVAP", "log_loss")
            for task in (IN_FILE_ORDER, "covertype")
        )
        if ordered is not None and drawn is not None:
            text = f"{algorithm} {ordered:.3f} and {drawn:.3f}"
            yield Case(algorithm, ordered > drawn + AWFUL, text=text)


# The width of the bounds.


def narrower(end: int) -> Cases:
    """Compare mean widths at the most (0) and the fewest (-1) calibration rows."""

    def cases(index: ResultIndex) -> Iterator[Case]:
        for task, algorithm in panels(index, *SIX, WIDE):
            ratios = [r for r in WIDE_RATIOS if r in index.ratios(task)]
            results = [index.result(Unit(task, algorithm, r), "IVAP") for r in ratios]
            wide = [r.width_mean for r in results if r and r.width_mean is not None]
            if len(wide) > 1:  # ratios are in order of ever fewer calibration rows
                yield Case(task, wide[0] <= wide[-1], wide[end])

    return cases


def almost_precise(index: ResultIndex) -> Iterator[Case]:
    """Look where the bounds are almost precise on large sets."""
    for unit in in_figures(*LARGE_SETS)(index):
        result = index.result(unit, "IVAP")
        if result is not None and result.width_mean is not None:
            yield Case("", result.width_mean <= ALMOST, result.width_mean)


# Underlying algorithms.


def _places(index: ResultIndex, *tasks: str) -> Iterator[list[Unit]]:
    """Go through sets and ratios; return the units of the paper's algorithms there."""
    for task in tasks:
        for ratio in index.ratios(task):
            units = of_paper(index.units((task,), (ratio,)))
            if ratio != ALL and len(units) > 1:
                yield units


def lowest(index: ResultIndex, units: Iterable[Unit], kind: str) -> dict[Unit, str]:
    """Return which of the paper's methods has the lowest loss in each place."""
    best = {}
    for unit in units:
        known = {m: x for m in PAPER if (x := index.loss(unit, m, kind)) is not None}
        if known:
            best[unit] = min(known, key=lambda name: known[name])
    return best


def bagging_best(index: ResultIndex) -> Iterator[Case]:
    """Look where bagged trees have the lowest loss of the algorithms, on adult."""
    for units in _places(index, EXAMPLE):
        for kind in LOSSES:
            for method in ("Platt", "IVAP", "CVAP"):
                known = {
                    unit.algorithm: loss
                    for unit in units
                    if (loss := index.loss(unit, method, kind)) is not None
                }
                if BAGGING in known:
                    best = min(known.values())
                    yield Case(method, known[BAGGING] <= best + TIE)


def same_order(index: ResultIndex) -> Iterator[Case]:
    """Compare two algorithms by their Brier losses, and by those of their CVAPs."""
    for units in _places(index, TABLES, *SIX):
        pairs = index.pairs(units, "brier_loss", "underlying", "CVAP")
        for one, other in combinations(pairs, 2):
            gaps = one.first - other.first, one.second - other.second
            yield Case(units[0].data, gaps[0] * gaps[1] >= 0)


def overhead(index: ResultIndex) -> Iterator[Case]:
    """Compare the time of CVAP's calibration and prediction with that to train."""
    for unit in anywhere(index):
        result = index.result(unit, "CVAP")
        if result is not None and result.training:
            part = result.seconds / result.training
            yield Case(unit.algorithm, part <= SHARE, part)


def best_not_probabilistic(index: ResultIndex) -> Iterator[Case]:
    """Look whether trees or machines, calibrated, have the lowest loss of all."""
    for units in _places(index, TABLES, *SIX):
        for kind in LOSSES:
            known = {
                (unit.algorithm, method): loss
                for unit in units
                for method in PAPER
                if (loss := index.loss(unit, method, kind)) is not None
            }
            algorithm, method = min(known, key=lambda names: known[names])
            so = algorithm not in PROBABILISTIC and method != "underlying"
            yield Case(units[0].data, so, text=f"{algorithm} by {method}")


def uncalibrated(so: Callable[[float, float], bool]) -> Cases:
    """Look at the log loss and the Brier loss of the underlying algorithms."""

    def cases(index: ResultIndex) -> Iterator[Case]:
        for unit in anywhere(index):
            log, brier = (index.loss(unit, "underlying", kind) for kind in LOSSES)
            if log is not None and brier is not None:
                yield Case(unit.algorithm, so(log, brier))

    return cases


# The studies, and what needs no data.


def p_values(checked: Iterable[Validity]) -> str:
    """Write p-values with their numbers of calibration rows."""
    return ", ".join(f"{p_value(one.p_value)} (k = {one.k:,})" for one in checked)


def valid(index: ResultIndex) -> Iterator[Case]:
    """Look whether Proposition 1 withstands, on real rows."""
    for one in index.studies.validity:
        if one.how == "exchangeable":
            so = one.p_value > REFUTED
            yield Case("", so, one.n_draws, p_values([one]))


def broken(index: ResultIndex) -> Iterator[Case]:
    """Look whether what the proposition does not promise is detected."""
    for how in dict.fromkeys(one.how for one in index.studies.validity):
        checked = [one for one in index.studies.validity if one.how == how]
        if how != "exchangeable":
            so = min(one.p_value for one in checked) < CERTAIN
            yield Case(how, so, text=f"{how}: {p_values(checked)}")


def near_limits(_: ResultIndex) -> Iterator[Case]:
    """Compare the losses of Bayes and of the best sigmoid with the printed ones."""
    limit = sigmoid_limit()
    for value, printed in ((limit.bayes, BAYES), (limit.sigmoid, SIGMOID)):
        yield Case("", abs(value - printed) <= TIE, value)


def between_ginis(_: ResultIndex) -> Iterator[Case]:
    """Look whether Shannon's entropy is between the Gini index and its root."""
    gini, root, shannon = entropies(np.linspace(0, 1, 1001)[1:-1]).values()
    inside = (gini <= shannon + 1e-12) & (shannon <= root + 1e-12)
    return (Case("", bool(so)) for so in inside)


def half_costs_one(_: ResultIndex) -> Iterator[Case]:
    """Look what constant predictions cost at worst."""
    for p in np.linspace(0, 1, 1001)[1:-1]:
        for loss in (losses.paper_log_loss, losses.paper_brier_loss):
            worst = max(loss([label], [p]) for label in (0, 1))
            yield Case("", worst == 1 if p == HALF else worst > 1)


def tiny(method: str) -> Cases:
    """Compare a method with isotonic regression on tiny sets."""
    return lambda index: (
        Case(one.data, getattr(one, method) <= one.isotonic + TIE)
        for one in index.studies.tiny
    )


def tiny_clearly(index: ResultIndex) -> Iterator[Case]:
    """Look where IVAP is clearly better than isotonic regression."""
    for one in index.studies.tiny:
        yield Case(one.data, one.ivap < one.isotonic - ERRORS * one.error)


def width_tells(low: str, value: str) -> Cases:
    """Look where the correlation of width and distance is positive."""
    return lambda index: (
        Case(one.data, getattr(one, low) > 0, getattr(one, value))
        for one in index.studies.widths
    )


def rejected_by_width(index: ResultIndex) -> Iterator[Case]:
    """Compare leaving out the widest rows with leaving out those near 1/2."""
    for one in index.studies.widths:
        yield Case("", one.by_width[-1] <= one.by_middle[-1])
