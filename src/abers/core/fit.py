"""Fit a rule: from scores and labels, or from a diagram of them.

::

    scores, labels ──> split by label, sort each class
                                  │
               points that can matter               kernel/relevance.hpp
    counts ──> all points of the diagram            kernel/diagram.hpp
    runs ────> merged to one diagram                kernel/runs.hpp
    parts ───> points of a part, corners around it  kernel/blocks.hpp
                                  v
               corners of the minorant              kernel/minorant.hpp
                                  v
               records of f1 and, mirrored, of f0   kernel/records.hpp
                                  v
               one table: thresholds, pairs         kernel/rule.hpp

A *point* is a pair (rows labelled 0, rows labelled 1) among the scores so far, a
*record* a gap between scores at which a bound changes. `relevance.hpp` proves which
scores can be neither; the dense pass over a diagram is what it is tested against.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from abers import _kernel, validation
from abers.core.auc import (
    mann_whitney,
    mann_whitney_of_classes,
    mann_whitney_of_diagram,
)
from abers.core.cells import (
    cell_cuts,
    cells_of_classes,
    cells_of_diagram,
    cells_of_weights,
    cut_ranks,
)
from abers.core.diagram import (
    Diagram,
    diagram_of_classes,
    diagram_of_rows,
    percentile_ranks,
    sorted_classes,
    weighted_rows,
)
from abers.core.effective_sizes import effective_size, effective_sizes
from abers.core.inverted import may_be_inverted, warn_if_inverted
from abers.core.own_weight import with_diagram
from abers.core.rule import Rule
from abers.core.units import magnitudes, scale_for, units

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from abers.core.auc import MannWhitney
    from abers.core.diagram import Classes


def fit_rule(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    increasing: bool = True,
    keep_diagram: bool = False,
) -> Rule:
    """Fit an inductive Venn-Abers predictor to calibration scores and labels.

    Parameters
    ----------
    scores : array-like of shape (n,)
        Any real numbers that order the rows, ±inf allowed. A column of a pandas,
        polars or pyarrow table will do.
    labels : array-like of shape (n,)
        0 or 1, or bool.
    sample_weight : array-like of shape (n,), default=None
        A row of weight w counts as w rows, a new case as one: pass numbers of rows if
        you have them, else scale weights to a mean of 1. Weights that are not all whole
        are rounded once, to multiples of a power of two; the rule is exact after that.
        The guarantee of the bounds is for unit weights, or for new cases with weights
        of their own (`keep_diagram`).
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.
    keep_diagram : bool, default=False
        Whether the rule, and its file, keep the weights at each distinct score. Then
        `bounds` and `probability` accept a weight for each new case, and `interval`
        returns confidence intervals.

    Returns
    -------
    Rule
        The two step functions; see `Rule` for what its bounds are.

    Warns
    -----
    InvertedScoresWarning
        If the scores run the other way, significantly (p < 0.001); the rule is then
        nearly flat. Real weights count by their effective number.

    Examples
    --------
    >>> import abers
    >>> rule = abers.fit_rule([1, 2, 3], [0, 1, 0])
    >>> rule.bounds([0, 1, 2, 3, 4])  # 0 and 4 lie outside
    array([[0.        , 0.5       ],
           [0.        , 0.5       ],
           [0.33333333, 0.66666667],
           [0.33333333, 0.66666667],
           [0.33333333, 1.        ]])
    """
    keep_diagram = validation.as_flag(keep_diagram, "keep_diagram")
    rule, test = fitted_rule(
        scores,
        labels,
        sample_weight,
        increasing=increasing,
        keep_diagram=keep_diagram,
    )
    warn_if_inverted(test, increasing=increasing)
    return rule


def fitted_rule(
    scores: ArrayLike,
    labels: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    increasing: bool = True,
    keep_diagram: bool = False,
) -> tuple[Rule, MannWhitney | None]:
    """Fit a rule; also return a test for inverted scores, or None if none is needed."""
    if sample_weight is not None:
        rule, diagram, test = _fitted_to_weights(
            scores, labels, sample_weight, increasing=increasing
        )
        return with_diagram(rule, diagram) if keep_diagram else rule, test
    increasing = validation.as_flag(increasing, "increasing")
    classes = sorted_classes(scores, labels)
    rule = rule_of_classes(classes, increasing=increasing)
    test = mann_whitney_of_classes(classes) if is_nearly_flat(rule) else None
    if keep_diagram:
        rule = with_diagram(rule, diagram_of_classes(classes))
    return rule, test


def _fitted_to_weights(
    scores: ArrayLike, labels: ArrayLike, sample_weight: ArrayLike, *, increasing: bool
) -> tuple[Rule, Diagram, MannWhitney | None]:
    """Fit a rule to weighted rows, and count them with squared weights."""
    s, one, w = weighted_rows(scores, labels, sample_weight)
    scale = scale_for(magnitudes(w))
    diagram = diagram_of_rows(s, one, w, scale)
    rule = rule_of_diagram(diagram, increasing=increasing)
    test = None
    if is_nearly_flat(rule):
        sizes = None if diagram.is_exact else effective_sizes(one, w)
        test = mann_whitney_of_diagram(diagram, sizes)
    if (w != 1).any():
        n_rows = None if diagram.is_exact else effective_size(w)
        rounded = np.ldexp(units(w, scale), -scale)
        rule = rule.with_cells(cells_of_weights(diagram, s, rounded, n_rows))
    return rule, diagram, test


def fit_rule_from_diagram(diagram: Diagram, *, increasing: bool = True) -> Rule:
    """Fit a rule to a diagram; it equals the rule of the rows, bit for bit.

    Parameters
    ----------
    diagram : Diagram
        Counts per distinct score.
    increasing : bool, default=True
        Whether a higher score means a higher probability of label 1.

    Returns
    -------
    Rule
        Exact.

    Warns
    -----
    InvertedScoresWarning
        If the scores run the other way, significantly (p < 0.001); the rule is then
        nearly flat. Real weights are not tested, since a diagram does not show how many
        rows they come from.

    Examples
    --------
    >>> import abers
    >>> diagram = abers.rules.Diagram.from_counts([1, 2], [10, 10], positives=[2, 8])
    >>> rule = abers.rules.fit_rule_from_diagram(diagram)
    >>> rule.bounds([1, 2])  # 2/11, 3/11; 8/11, 9/11
    array([[0.18181818, 0.27272727],
           [0.72727273, 0.81818182]])
    """
    rule = rule_of_diagram(diagram, increasing=increasing)
    warn_if_inverted(mann_whitney_if_flat(rule, diagram), increasing=increasing)
    return rule


def mann_whitney_if_flat(
    rule: Rule, diagram: Diagram, sizes: tuple[float, float] | None = None
) -> MannWhitney | None:
    """Test for inverted scores; None if the rule has too many pieces to be flat."""
    return mann_whitney_of_diagram(diagram, sizes) if is_nearly_flat(rule) else None


def warn_of_inverted_rule(
    rule: Rule, auc: float, sizes: tuple[float, float] | None = None
) -> None:
    """Warn if the AUC shows that the scores of a rule are inverted.

    `sizes` are the effective numbers of zeros and ones, if weights are not row counts.
    """
    if is_nearly_flat(rule):
        positives = rule.n_positives
        zeros, ones = sizes or (rule.n_rows - positives, positives)
        test = mann_whitney(auc * zeros * ones, zeros, ones)
        warn_if_inverted(test, increasing=rule.increasing)


def is_nearly_flat(rule: Rule) -> bool:
    """Return whether a rule has so few pieces that its scores may be inverted."""
    zeros = rule.n_rows - rule.n_positives
    return may_be_inverted(rule.lower.size, zeros, rule.n_positives)


def rule_of_classes(classes: Classes, *, increasing: bool = True) -> Rule:
    """Fit a rule to the sorted scores of both classes, without a warning."""
    total = classes.zeros.size + classes.ones.size
    ranks = cut_ranks(total)
    ordered = _kernel.order_statistics(*classes, ranks)
    quantiles = ordered[ranks.searchsorted(percentile_ranks(total))]
    return Rule(
        _kernel.fit_classes(*classes, quantiles, increasing),
        n_rows=total,
        n_positives=classes.ones.size,
        increasing=increasing,
        cells=cells_of_classes(cell_cuts(ordered), classes),
    )


def rule_of_diagram(diagram: Diagram, *, increasing: bool = True, row: int = 1) -> Rule:
    """Fit a rule to a diagram, without a warning; a row and a new case weigh `row`."""
    increasing = validation.as_flag(increasing, "increasing")
    validation.check_type(diagram, Diagram, "diagram")
    negatives, positives, scale = diagram.units
    return Rule(
        _kernel.fit_diagram(
            diagram.scores,
            negatives,
            positives,
            diagram.score_quantiles,
            increasing,
            row << scale,
        ),
        n_rows=diagram.n_rows / row if row > 1 else diagram.n_rows,
        n_positives=diagram.n_positives / row if row > 1 else diagram.n_positives,
        increasing=increasing,
        cells=cells_of_diagram(diagram) if row == 1 else None,
    )
