"""Groups: the metrics of each group of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from abers import validation
from abers.core.auc import auc_of
from abers.core.group_names import as_groups, rows_by_group
from abers.errors import InvalidData
from abers.evaluation.calibration_tests import are_few, holm, two_sided_p, z_score
from abers.evaluation.counts import counted, diagram_of
from abers.evaluation.drift import drift_of
from abers.evaluation.metrics import auc, calibration_error_of
from abers.formatting import group_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from abers.core.diagram import Diagram
    from abers.core.group_names import Group
    from abers.core.predictions import Predictions
    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet
    from abers.evaluation.counts import Counted
    from abers.validation import FloatArray

Value = TypeVar("Value")


def by_group(
    function: Callable[..., Value],
    groups: ArrayLike,
    *columns: ArrayLike,
    sample_weight: ArrayLike | None = None,
    **options: Any,
) -> dict[Group | None, Value]:
    """Evaluate each group of rows on its own.

    Parameters
    ----------
    function : callable
        Takes columns, and `sample_weight` if weights are given: any function of
        `abers.evaluation` that takes rows (for drift, pass the reference with
        `functools.partial`).
    groups : array-like of shape (n,)
        The group of each row: text, integers, floats or booleans, all of one type; or
        categories. Rows without a group form the group None.
    *columns : array-like of length n
        The arguments of the function, say labels and probabilities.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows, passed on if given; groups without weight are left out.
    **options : dict
        Passed on unchanged.

    Returns
    -------
    dict
        The function's result for each group, in ascending order, None last.

    Examples
    --------
    >>> from abers import evaluation
    >>> y, p = [0, 1, 1], [0.5, 0.5, 1.0]
    >>> evaluation.by_group(evaluation.brier_loss, ["web", "web", "shop"], y, p)
    {'shop': 0.0, 'web': 0.25}
    """
    names = as_groups(groups)
    arrays = [np.asarray(column) for column in columns]
    for place, array in enumerate(arrays):
        length = len(array) if array.ndim else 0
        validation.check_length(length, len(names), f"column {place + 1}", "groups")
    weights = None
    if sample_weight is not None:
        weights = validation.as_weights(sample_weight, len(names))
    values = {}
    rows_of = rows_by_group(names)
    for name in sorted(rows_of, key=_place):
        rows = rows_of[name]
        chosen = dict(options)
        if weights is not None:
            rows = rows[weights[rows] > 0]
            chosen["sample_weight"] = weights[rows]
        if rows.size:
            values[name] = function(*(array[rows] for array in arrays), **chosen)
    return values


def _place(name: Group | None) -> tuple[bool, Any]:
    """Sort names among themselves, with None after them."""
    return name is None, 0 if name is None else name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartEvaluation:
    """The metrics that groups and classes have in common.

    Numbers before calibration are NaN if unknown.
    """

    name: Any
    n_rows: int
    mean_prediction: float
    observed_rate: float
    difference: float  # mean prediction - observed rate
    standard_error: float  # of the difference, if all probabilities are right
    p_value: float  # of the difference, corrected for the number of parts (Holm)
    log_loss: float
    brier_loss: float
    calibration_error: float  # with 10 bins
    auc: float  # NaN with one class
    mean_prediction_before: float
    log_loss_before: float
    brier_loss_before: float
    calibration_error_before: float
    small: bool  # fewer than five events or non-events expected and observed

    @property
    def label(self) -> str:
        """The name as people read it."""
        return group_name(self.name)

    @property
    def z(self) -> float:
        """The difference in standard errors."""
        return z_score(self.difference, self.standard_error)

    @classmethod
    def of(
        cls,
        name: Any,
        predictions: Predictions,
        weights: FloatArray | None,
        diagram: Diagram,
        **own: Any,
    ) -> Self:
        """Compute the common metrics; `own` are the fields of the subclass."""
        labels, p = predictions.column()
        w = np.ones(labels.size) if weights is None else weights
        mean, rate = mean_of(p, w), mean_of(labels, w)
        error = math.sqrt((w**2 * p * (1 - p)).sum()) / float(w.sum())
        mean_before = log_before = brier_before = ece_before = math.nan
        if (earlier := predictions.earlier) is not None:
            before = earlier.column()
            mean_before = mean_of(before.probabilities, w)
            log_before = mean_of(earlier.row_losses("log"), w)
            brier_before = mean_of(earlier.row_losses("brier"), w)
            ece_before = calibration_error_of(diagram_of(*before, weights))
        return cls(
            name=name,
            mean_prediction=mean,
            observed_rate=rate,
            difference=mean - rate,
            standard_error=error,
            p_value=two_sided_p(z_score(mean - rate, error)),
            log_loss=mean_of(predictions.row_losses("log"), w),
            brier_loss=mean_of(predictions.row_losses("brier"), w),
            calibration_error=calibration_error_of(diagram),
            mean_prediction_before=mean_before,
            log_loss_before=log_before,
            brier_loss_before=brier_before,
            calibration_error_before=ece_before,
            small=bool(are_few(labels.size, labels.sum(), mean)),
            **own,
        )


def mean_of(column: NDArray[Any], weights: FloatArray) -> float:
    """Return the weighted mean of a column."""
    return float(np.average(column, weights=weights))


Part = TypeVar("Part", bound=PartEvaluation)


def ordered(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Correct the p-values, and sort: largest |z| first, small parts last."""
    p_values = holm([part.p_value for part in parts]).tolist()
    corrected = [
        replace(part, p_value=p) for part, p in zip(parts, p_values, strict=True)
    ]
    return tuple(
        sorted(corrected, key=lambda part: (part.small, -abs(part.z), -part.n_rows))
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupEvaluation(PartEvaluation):
    """The metrics of one group.

    With more than two classes, probabilities are those of the top label (the most
    probable class), positives are rows where it is right, and losses are over all
    classes.

    Attributes
    ----------
    name : str, int, float, bool or None
        None for rows without a group.
    n_rows, n_positives : int
        All rows, and those labelled 1.
    mean_prediction, observed_rate, difference : float
        The mean probability, the mean label, and the former minus the latter.
    standard_error : float
        Standard error of the difference, if all probabilities are right.
    p_value : float
        For the difference, corrected for the number of groups (Holm).
    log_loss, brier_loss, calibration_error : float
        The mean losses, and the ECE with 10 bins.
    auc : float
        AUC of the single score, else of the probabilities; NaN with one class.
    drift : float or None
        Population stability index of the scores; None if unknown, or with too few rows.
    mean_width : float
        Mean width of the bounds; NaN without bounds.
    mean_prediction_before, observed_rate_before : float
        Before calibration, NaN if unknown; the observed rate changes only for the top
        label.
    log_loss_before, brier_loss_before, calibration_error_before : float
        Before calibration, NaN if unknown.
    rule : str or None
        Which rule of a rule set was applied: "own", "rest" or "pooled".
    small : bool
        Fewer than five events or non-events expected and observed.
    column : str or None
        The column of the group, if columns have names.
    """

    n_positives: int
    observed_rate_before: float
    drift: float | None
    mean_width: float
    rule: str | None = None
    column: str | None = None

    @property
    def label(self) -> str:
        """The name as people read it, after that of its column if that has one."""
        name = group_name(self.name)
        return name if self.column is None else f"{self.column} = {name}"


class CountedGroup(NamedTuple):
    """The probabilities of a group, counted like a whole column."""

    name: Any  # None: rows without a group
    diagram: Diagram
    scatter: FloatArray | None


def columns_of_groups(groups: Any) -> dict[str | None, list[Group | None]]:
    """Return the group of each row in each column; a single one has no name."""
    if isinstance(groups, Mapping):
        named = groups
    elif hasattr(groups, "columns"):  # a data frame
        named = {column: groups[column] for column in groups.columns}
    else:
        return {None: as_groups(groups)}
    if not named:
        msg = "groups must have at least one column; got none."
        raise InvalidData(msg)
    return {str(column): as_groups(values) for column, values in named.items()}


def evaluate_groups(
    columns: Mapping[str | None, Sequence[Group | None]],
    predictions: Predictions,
    weights: FloatArray | None = None,
    *,
    rule_set: RuleSet | None = None,
) -> tuple[tuple[GroupEvaluation, ...], tuple[CountedGroup, ...]]:
    """Evaluate and count each group; the largest |z| first, small groups come last.

    The first column has the groups of the rule set.
    """
    groups: list[GroupEvaluation] = []
    counts: dict[Any, Counted] = {}
    for place, (column, names) in enumerate(columns.items()):
        rows_of = rows_by_group(names)
        rules = rule_set if place == 0 else None
        every: Any = list(rows_of)
        kinds = [None] * len(every) if rules is None else rules.kind_of(every)
        for (name, rows), kind in zip(rows_of.items(), kinds, strict=True):
            part = predictions.taken(rows)
            w = None if weights is None else weights[rows]
            counts[column, name] = column_counts = counted(*part.column(), w)
            rule = predictions.column_rule() if rules is None else rules[name]
            diagram = column_counts.diagram
            group = _evaluated(name, part, w, diagram, rule)
            groups.append(replace(group, rule=kind, column=column))
    worst = ordered(groups)
    return worst, tuple(
        CountedGroup(
            group.name if group.column is None else group.label,
            *counts[group.column, group.name][:2],
        )
        for group in worst
    )


def _evaluated(
    name: Group | None,
    part: Predictions,
    weights: FloatArray | None,
    diagram: Diagram,
    rule: Rule | None,
) -> GroupEvaluation:
    """Evaluate one group, its probabilities counted."""
    labels, scores = part.column().labels, part.column_scores()
    area, drift = auc_of(diagram), None
    if scores is not None and rule is not None and part.shown is not None:
        area = auc(scores, labels, sample_weight=weights)
        drift = drift_of(rule, scores, weights)
    w = np.ones(labels.size) if weights is None else weights
    rate_before = width = math.nan
    if (earlier := part.earlier) is not None:
        rate_before = mean_of(earlier.column().labels, w)
    if (bounds := part.column_bounds()) is not None:
        width = mean_of(bounds[:, 1] - bounds[:, 0], w)
    return GroupEvaluation.of(
        name,
        part,
        weights,
        diagram,
        n_rows=labels.size,
        n_positives=int(labels.sum()),
        observed_rate_before=rate_before,
        auc=area,
        drift=None if drift is None else drift.psi,
        mean_width=width,
    )
