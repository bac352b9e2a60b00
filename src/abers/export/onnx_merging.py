"""What the rules of a classifier tell, merged by the nodes of a graph.

With one fold and two classes there is nothing to compute: bounds and probabilities are
columns. Folds and classes are merged as core/merging.py does, to a few ulps, since the
exponentials of a runtime are its own.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from abers.core.merging import MINIMAX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from abers.export.baking import RawSteps
    from abers.export.onnx_graph import Graph
    from abers.validation import FloatArray

    Table = tuple[RawSteps, str]  # steps, and the number of each row's step


def two_classes(graph: Graph, folds: Sequence[Table], loss: str) -> dict[str, str]:
    """Return bounds (rows,) and probabilities (rows, 2), by name."""
    if len(folds) == 1:
        ((_, bounds), steps) = folds[0]
        p0, p1 = bounds.T
        merged = MINIMAX[loss](p0, p1)
        columns = (np.minimum(p0, merged), np.maximum(p1, merged), 1 - merged, merged)
        lower, upper, *both = (graph.read(values, steps) for values in columns)
        return {
            "lower": lower,
            "upper": upper,
            "probabilities": side_by_side(graph, both),
        }
    probability = _log_probability if loss == "log" else _brier_probability
    p = probability(graph, folds)
    lower, upper = _merged_bounds(graph, folds, loss)
    fold_lower, fold_upper = (
        side_by_side(graph, [graph.read(t.bounds[:, k], steps) for t, steps in folds])
        for k in range(2)
    )
    return {
        # In exact arithmetic p lies between; rounding must not tell otherwise.
        "lower": graph.add("Min", lower, p),
        "upper": graph.add("Max", upper, p),
        "probabilities": side_by_side(
            graph, [graph.add("Sub", graph.constant(1.0), p), p]
        ),
        "fold_lower": fold_lower,
        "fold_upper": fold_upper,
    }


def many_classes(
    graph: Graph, problems: Sequence[Sequence[Table]], loss: str
) -> dict[str, str]:
    """Return bounds and probabilities (rows, C) of classes against the rest."""
    pairs = [_merged_bounds(graph, folds, loss) for folds in problems]
    lower, upper = (side_by_side(graph, each) for each in zip(*pairs, strict=True))
    term = _log_term if loss == "log" else _brier_term
    terms = side_by_side(graph, [term(graph, folds) for folds in problems])
    merged = _normalised if loss == "log" else _nearest_in_simplex
    probabilities = merged(graph, terms, len(problems))
    return {"lower": lower, "upper": upper, "probabilities": probabilities}


def side_by_side(graph: Graph, columns: Sequence[str]) -> str:
    """Return columns (rows,) as one table."""
    axis = graph.constant([1])
    upright = [graph.add("Unsqueeze", column, axis) for column in columns]
    return graph.add("Concat", *upright, axis=1)


def _mean(
    graph: Graph, folds: Sequence[Table], value: Callable[[FloatArray], FloatArray]
) -> str:
    """Return the mean over the folds of a value of their bounds."""
    columns = [graph.read(value(table.bounds), steps) for table, steps in folds]
    total = graph.add("Sum", *columns)
    return graph.add("Div", total, graph.constant(float(len(folds))))


def _merged_bounds(graph: Graph, folds: Sequence[Table], loss: str) -> tuple[str, str]:
    """Return lower and upper probability, merged over the folds."""
    if len(folds) == 1:
        ((_, bounds), steps) = folds[0]
        return graph.read(bounds[:, 0], steps), graph.read(bounds[:, 1], steps)
    if loss == "brier":
        return (
            _mean(graph, folds, lambda bounds: bounds[:, 0]),
            _mean(graph, folds, lambda bounds: bounds[:, 1]),
        )
    with np.errstate(divide="ignore"):
        zeros = graph.add("Exp", _mean(graph, folds, lambda b: np.log1p(-b[:, 0])))
        ones = graph.add("Exp", _mean(graph, folds, lambda b: np.log(b[:, 1])))
    lower = graph.add("Sub", graph.constant(1.0), zeros)
    # They come reversed where folds disagree.
    return graph.add("Min", lower, ones), graph.add("Max", lower, ones)


def _log_probability(graph: Graph, folds: Sequence[Table]) -> str:
    """Return 1 / (1 + r), r the K-th root of the ratio of the folds' products.

    As in kernel/merging.hpp the products keep their exponents apart, which here are
    columns: no number of folds can underflow, and the root of a power of two is looked
    up, since the exponent K of a root is no double.
    """
    count = len(folds)
    zeros, of_zeros = _product(graph, folds, lambda bounds: 1 - bounds[:, 0])
    ones, of_ones = _product(graph, folds, lambda bounds: bounds[:, 1])
    exponent = graph.add("Sub", of_zeros, of_ones)
    k = graph.constant(np.int64(count))
    whole = graph.add("Div", exponent, k)  # towards 0
    rest = graph.add("Sub", exponent, graph.add("Mul", whole, k))
    roots = graph.constant(np.exp2(np.arange(1 - count, count) / count))
    place = graph.add("Add", rest, graph.constant(np.int64(count - 1)))
    root = graph.add("Pow", graph.add("Div", zeros, ones), graph.constant(1 / count))
    root = graph.add("Mul", root, graph.add("Gather", roots, place))
    power = graph.add("Pow", graph.constant(2.0), graph.cast(whole, np.float64))
    ratio = graph.add("Mul", root, power)
    one, nothing = graph.constant(1.0), graph.constant(0.0)
    p = graph.add("Div", one, graph.add("Add", one, ratio))
    neither = graph.add(
        "And", graph.add("Equal", zeros, nothing), graph.add("Equal", ones, nothing)
    )
    return graph.add("Where", neither, graph.constant(0.5), p)


def _brier_probability(graph: Graph, folds: Sequence[Table]) -> str:
    """Return the mean of the folds, by Kahan's sum, as in kernel/merging.hpp."""
    total, lost = graph.constant(0.0), graph.constant(0.0)
    for table, steps in folds:
        term = graph.read(MINIMAX["brier"](*table.bounds.T), steps)
        term = graph.add("Sub", term, lost)
        following = graph.add("Add", total, term)
        lost = graph.add("Sub", graph.add("Sub", following, total), term)
        total = following
    return graph.add("Div", total, graph.constant(float(len(folds))))


def _product(
    graph: Graph, folds: Sequence[Table], value: Callable[[FloatArray], FloatArray]
) -> tuple[str, str]:
    """Return the product over the folds, as a number near 1 and an exponent of 2."""
    factors, exponents = [], []
    for table, steps in folds:
        mantissa, exponent = np.frexp(value(table.bounds))
        factors.append(graph.read(mantissa, steps))
        exponents.append(graph.read(exponent.astype(np.int64), steps))
    return (
        reduce(lambda a, b: graph.add("Mul", a, b), factors),
        reduce(lambda a, b: graph.add("Add", a, b), exponents),
    )


def _log_term(graph: Graph, folds: Sequence[Table]) -> str:
    with np.errstate(divide="ignore"):
        return _mean(graph, folds, lambda bounds: np.log(bounds[:, 1]))


def _brier_term(graph: Graph, folds: Sequence[Table]) -> str:
    return _mean(graph, folds, lambda bounds: MINIMAX["brier"](*bounds.T))


def _normalised(graph: Graph, logs: str, _n_classes: int) -> str:
    largest = graph.add("ReduceMax", logs, axes=[1], keepdims=1)
    upper = graph.add("Exp", graph.add("Sub", logs, largest))
    total = graph.add("ReduceSum", upper, graph.constant([1]), keepdims=1)
    return graph.add("Div", upper, total)


def _nearest_in_simplex(graph: Graph, points: str, n_classes: int) -> str:
    """Shift each row until it sums to 1, cut off at 0; as in core/merging.py."""
    descending = graph.add(
        "TopK", points, graph.constant([n_classes]), axis=1, unused_outputs=1
    )
    summed = graph.add("CumSum", descending, graph.constant(np.int64(1)))
    ranks = graph.constant(np.arange(1.0, n_classes + 1))
    shifts = graph.add("Div", graph.add("Sub", summed, graph.constant(1.0)), ranks)
    is_kept = graph.cast(graph.add("Greater", descending, shifts), np.int64)
    kept = graph.add("ReduceSum", is_kept, graph.constant([1]), keepdims=1)
    place = graph.add("Sub", kept, graph.constant(np.int64(1)))
    shift = graph.add("GatherElements", shifts, place, axis=1)
    shifted, nothing = graph.add("Sub", points, shift), graph.constant(0.0)
    below = graph.add("Less", shifted, nothing)
    return graph.add("Where", below, nothing, shifted)  # which keeps NaN
