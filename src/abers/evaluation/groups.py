"""Groups: the metrics of each group of rows, one by one or all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from abers import validation
from abers.core.rule_set import as_groups, rows_by_group
from abers.evaluation.calibration_tests import are_few, holm, two_sided_p, z_score
from abers.evaluation.counts import effective_rows
from abers.evaluation.drift import population_stability_index, stability_noise
from abers.evaluation.metrics import auc, bin_of
from abers.formatting import group_name, p_value
from abers.losses import row_losses
from abers.thresholds import ECE_BINS, LARGE_DRIFT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from abers.core.rule import Rule
    from abers.core.rule_set import Group, RuleSet
    from abers.evaluation.predictor import Answers
    from abers.validation import FloatArray, IntArray

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
        `evaluation`, `reliability` or `bands` that takes rows (drift with its
        reference, by `functools.partial`).
    groups : array-like of shape (n,)
        The group of each row: text, integers, floats or booleans, all of one type; or
        categories. Rows without a group are one, too: None.
    *columns : array-like of length n
        The columns that the function takes, say labels and probabilities.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows, passed on if given; groups without weight are left out.
    **options : dict
        Passed on as they are.

    Returns
    -------
    dict
        What the function returns, by group; groups in ascending order, None last.

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
    found = {}
    rows_of = rows_by_group(names)
    for name in sorted(rows_of, key=_place):
        rows = rows_of[name]
        chosen = dict(options)
        if weights is not None:
            rows = rows[weights[rows] > 0]
            chosen["sample_weight"] = weights[rows]
        if rows.size:
            found[name] = function(*(array[rows] for array in arrays), **chosen)
    return found


def _place(name: Group | None) -> tuple[bool, Any]:
    """Sort names among themselves, and None after them."""
    return name is None, 0 if name is None else name


@dataclass(frozen=True, slots=True)
class GroupEvaluation:
    """The metrics of one group."""

    name: Group | None  # None: rows without a group
    n_rows: int
    n_positives: int
    mean_prediction: float
    observed_rate: float
    difference: float  # mean prediction - observed rate
    standard_error: float  # of the difference, if all probabilities are right
    p_value: float  # of the difference, corrected for the number of groups (Holm)
    log_loss: float
    brier_loss: float
    calibration_error: float  # with 10 bins
    auc: float  # of the single score, else of the probabilities; NaN with one class
    drift: float | None  # from its rule's scores; None if unknown, or rows too few
    mean_width: float  # of the bounds; NaN if there are none
    mean_prediction_before: float  # NaN if there is nothing before, here and below
    log_loss_before: float
    brier_loss_before: float
    rule: str | None  # which one of a rule set was applied: "own", "rest" or "pooled"
    small: bool  # fewer than five events or non-events expected and observed

    @property
    def z(self) -> float:
        """The difference in standard errors."""
        return z_score(self.difference, self.standard_error)


class GroupStyle(NamedTuple):
    """How a table of groups is written."""

    longest: int  # characters of a name
    probability: Callable[[float], str]
    loss: Callable[[float], str]
    z: Callable[[float], str]
    # With the difference a table has what was before calibration, and more losses.
    difference: Callable[[float], str] | None = None


def group_table(
    groups: Sequence[GroupEvaluation], style: GroupStyle
) -> list[list[str]]:
    """Return a table of groups as text, a row for each and its head first."""
    columns = _table_columns(groups, style)
    rows = [[str(write(group)) for write in columns.values()] for group in groups]
    return [list(columns), *rows]


def _table_columns(
    groups: Sequence[GroupEvaluation], style: GroupStyle
) -> dict[str, Callable[[GroupEvaluation], str | None]]:
    """Return what each column says of a group, by its name."""
    share, loss, difference = style.probability, style.loss, style.difference
    before = difference is not None and any(
        not math.isnan(group.mean_prediction_before) for group in groups
    )
    columns: dict[str, Callable[[GroupEvaluation], str | None]] = {
        "group": lambda g: group_name(g.name, style.longest) + " (few rows)" * g.small,
        "rows": lambda g: f"{g.n_rows:,}",
        "positives": lambda g: f"{g.n_positives:,}",
    }
    if before:
        columns["mean before"] = lambda g: share(g.mean_prediction_before)
    columns["mean prediction"] = lambda g: share(g.mean_prediction)
    columns["observed rate"] = lambda g: share(g.observed_rate)
    if difference is not None:
        columns["difference"] = lambda g: difference(g.difference)
    columns["z"] = lambda g: style.z(g.z)
    columns["p"] = lambda g: p_value(g.p_value)
    if before:
        columns["log loss before"] = lambda g: loss(g.log_loss_before)
    columns["log loss"] = lambda g: loss(g.log_loss)
    if difference is not None:
        columns["Brier loss"] = lambda g: loss(g.brier_loss)
        columns["ECE"] = lambda g: loss(g.calibration_error)
    if any(group.rule is not None for group in groups):
        columns["rule"] = lambda g: g.rule
    return columns


def evaluate_groups(
    names: Sequence[Group | None],
    answers: Answers,
    weights: FloatArray | None,
    *,
    rule_set: RuleSet | None,
) -> tuple[GroupEvaluation, ...]:
    """Evaluate each group; the largest |z| first, small groups after all others."""
    rows_of = rows_by_group(names)
    codes = np.empty(len(names), np.int64)
    for code, rows in enumerate(rows_of.values()):
        codes[rows] = code
    columns = _columns(codes, len(rows_of), answers, weights)
    whole = answers.rules[0] if answers.rules else None
    every: Any = list(rows_of)
    kinds = [None] * len(every) if rule_set is None else rule_set.kind_of(every)
    groups = []
    for code, (name, rows) in enumerate(rows_of.items()):
        rule = whole if rule_set is None else rule_set[name]
        groups.append(
            GroupEvaluation(
                name=name,
                rule=kinds[code],
                **{key: column[code].item() for key, column in columns.items()},
                **_of_scores(rows, answers, weights, rule),
            )
        )
    return tuple(sorted(groups, key=lambda g: (g.small, -abs(g.z), -g.n_rows)))


def _of_scores(
    rows: IntArray, answers: Answers, weights: FloatArray | None, rule: Rule | None
) -> dict[str, Any]:
    """Return the AUC and the drift of one group."""
    part = answers.taken(rows)
    w = None if weights is None else weights[rows]
    if part.scores is None or rule is None:
        p = validation.as_scores(part.probabilities)
        return {"auc": auc(p, part.labels, sample_weight=w), "drift": None}
    effective = rows.size if w is None else effective_rows(w)
    index = None
    if stability_noise(effective, rule.n_observations) <= LARGE_DRIFT:
        index = population_stability_index(
            rule.score_quantiles, part.scores, sample_weight=w
        )
    return {"auc": auc(part.scores, part.labels, sample_weight=w), "drift": index}


def _columns(
    codes: IntArray, size: int, answers: Answers, weights: FloatArray | None
) -> dict[str, NDArray[Any]]:
    """Return a column for each number, a row for each group."""
    y, p = answers.labels, validation.as_scores(answers.probabilities)
    w = np.ones(y.size) if weights is None else weights

    def add_up(values: FloatArray) -> FloatArray:
        sums = np.bincount(codes, weights=values, minlength=size)
        return np.asarray(sums, dtype=np.float64)

    def means(q: FloatArray) -> dict[str, FloatArray]:
        zeros, ones = w * ~y, w * y
        each = {
            "mean_prediction": w * q,
            "log_loss": row_losses(q, zeros, ones, "log"),
            "brier_loss": row_losses(q, zeros, ones, "brier"),
        }
        return {name: add_up(column) / total for name, column in each.items()}

    total = add_up(w)
    after = means(p)
    before = dict.fromkeys(after, np.full(size, np.nan))
    if answers.before is not None:
        before = means(answers.before)
    mean, rate = after["mean_prediction"], add_up(w * y) / total
    cell = codes * ECE_BINS + bin_of(p)
    gaps = np.bincount(cell, weights=w * (y - p), minlength=size * ECE_BINS)
    n_rows = np.bincount(codes, minlength=size)
    n_positives = add_up(y.astype(np.float64))
    width = np.full(y.size, np.nan)
    if answers.bounds is not None:
        width = answers.bounds[:, 1] - answers.bounds[:, 0]
    errors = np.sqrt(add_up(w**2 * p * (1 - p))) / total
    z = map(z_score, (mean - rate).tolist(), errors.tolist())
    return {
        "n_rows": n_rows,
        "n_positives": n_positives.astype(np.int64),
        "observed_rate": rate,
        "difference": mean - rate,
        "standard_error": errors,
        "p_value": holm([two_sided_p(value) for value in z]),
        "calibration_error": abs(gaps).reshape(size, ECE_BINS).sum(axis=1) / total,
        "mean_width": add_up(w * width) / total,
        "small": are_few(n_rows, n_positives, mean),
        **after,
        **{f"{name}_before": column for name, column in before.items()},
    }
