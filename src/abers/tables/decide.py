"""Decide: a table in, the same table with an action for each row out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from abers import validation
from abers.core.decisions import CRITERIA, as_cost, as_costs, decide
from abers.errors import InvalidData, InvalidParameter
from abers.tables.columns import (
    POS_LABEL_TAG,
    Groups,
    Numbers,
    chosen_texts,
    column,
    doubles,
    label_text,
)
from abers.tables.files import InputTable, Scratch, listed
from abers.tables.predict import predict_table
from abers.tables.rows import RowReader, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.choices import Criterion
    from abers.core.calibrator import Calibrator
    from abers.core.pooled import PooledRule
    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet
    from abers.tables.files import Dialect, StrPath
    from abers.tables.predictors import Mask, PredictionCounts
    from abers.validation import FloatArray

REFERRED = "refer"
BINARY = ("refuse", "act")  # the actions between which costs of errors decide


class CostTable(NamedTuple):
    """The cost of each action for each class."""

    actions: tuple[str, ...]
    costs: FloatArray  # (actions, classes)


@dataclass(slots=True)
class DecisionCounts:
    """How many rows were decided, and how.

    Attributes
    ----------
    predicted : PredictionCounts
        Rows read and written, and those without a score, which have no action.
    n_by_action : dict of str to int
        Number of rows for each action.
    n_undetermined : int
        Rows for which different probabilities within the bounds have different best
        actions.
    """

    predicted: PredictionCounts
    n_by_action: dict[str, int]
    n_undetermined: int


class ActionColumns:
    """An action for each row, and its worst cost within the bounds."""

    def __init__(
        self, table: CostTable, *, criterion: Criterion, refer: float | None
    ) -> None:
        self._costs = table.costs
        self._options: dict[str, Any] = {"criterion": criterion, "refer": refer}
        self._names = [*table.actions, REFERRED]  # index -1 is the last one
        self._counts = np.zeros(len(self._names), dtype=np.int64)
        self.n_undetermined = 0

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The type of each column, by name."""
        return {"action": pa.string(), "worst_cost": pa.float64()}

    @property
    def n_by_action(self) -> dict[str, int]:
        """Number of rows for each action."""
        return dict(zip(self._names, self._counts.tolist(), strict=True))

    def arrays(self, bounds: FloatArray, missing: Mask) -> list[pa.Array]:
        """Return the columns for some rows, null where the score is missing."""
        decisions = decide(bounds, self._costs, **self._options)
        places = decisions.action % len(self._names)
        self._counts += np.bincount(places[~missing], minlength=len(self._names))
        self.n_undetermined += int((decisions.undetermined & ~missing).sum())
        return [
            chosen_texts(self._names, places, missing),
            doubles(decisions.worst_cost, missing),
        ]


def decide_table(
    rule: Rule | RuleSet | Calibrator | PooledRule,
    files: StrPath | Sequence[StrPath],
    to: StrPath,
    *,
    cost_fp: float | None = None,
    cost_fn: float | None = None,
    costs: StrPath | None = None,
    refer: float | None = None,
    criterion: Criterion = "cost",
    prior: float | None = None,
    **options: Any,
) -> DecisionCounts:
    """Add an action to each row of a table.

    The columns of `predict_table` come before the action, and its worst cost after it.

    Parameters
    ----------
    rule : Rule, RuleSet, Calibrator or PooledRule
        The predictor.
    files : path-like or sequence of path-like
        As for `fit_table`.
    to : path-like
        The file to write; `-` writes to standard output.
    cost_fp : float, default=None
        The cost of a false positive: acting on a 0. With two classes, the actions are
        "refuse" and "act", which means to treat the case as a 1.
    cost_fn : float, default=None
        The cost of a false negative: not acting on a 1.
    costs : path-like, default=None
        Alternatively, for any number of classes: a table with one row per action, its
        name in the column `action`, and one column of costs per class, with the name of
        the class.
    refer : float, default=None
        The price of referring a case. With None, no case is referred.
    criterion : {"cost", "regret"}, default="cost"
        What to minimise in the worst case; see `abers.decide`.
    prior : float, default=None
        The share of positives among these rows, if it differs from that of the
        calibration rows.
    **options
        The other options of `predict_table`, except `loss` and `actions`.

    Returns
    -------
    DecisionCounts
        How many rows there were, in total and for each action.
    """
    validation.check_choice(criterion, CRITERIA, "criterion")
    price = None if refer is None else as_cost(refer, "refer")
    table = _cost_table(
        rule,
        costs,
        cost_fp,
        cost_fn,
        options.get("dialect"),
        is_referred=refer is not None,
    )
    actions = ActionColumns(table, criterion=criterion, refer=price)
    counts = predict_table(rule, files, to, prior=prior, actions=actions, **options)
    return DecisionCounts(counts, actions.n_by_action, actions.n_undetermined)


def _cost_table(
    rule: Any,
    path: StrPath | None,
    cost_fp: float | None,
    cost_fn: float | None,
    dialect: Dialect | None,
    *,
    is_referred: bool,
) -> CostTable:
    """Return the costs, which are given in one of two ways."""
    errors = {"--cost-fp": cost_fp, "--cost-fn": cost_fn}
    given = [name for name, cost in errors.items() if cost is not None]
    if (path is None) != (len(given) == len(errors)) or (path and given):
        got = " and ".join(given + (["--costs"] if path else [])) or "none of them"
        msg = (
            "costs must be named by --costs FILE, or of two classes by --cost-fp and "
            f"--cost-fn; got {got}."
        )
        raise InvalidParameter(msg)
    classes = getattr(rule, "classes", (0, 1))
    if path is not None:
        table = load_costs(path, _class_names(rule, classes), dialect)
        if is_referred and REFERRED in table.actions:
            msg = f"an action of --costs must not be {REFERRED!r} if --refer is given."
            raise InvalidParameter(msg)
        return table
    if len(classes) > len(BINARY):
        msg = (
            "--cost-fp and --cost-fn must go with two classes; got a calibrator of "
            f"{len(classes)}. Name a table of costs with --costs."
        )
        raise InvalidParameter(msg)
    false_positive = as_cost(cost_fp, "cost_fp", positive=True)
    false_negative = as_cost(cost_fn, "cost_fn", positive=True)
    costs = np.array([[0, false_negative], [false_positive, 0]])
    return CostTable(BINARY, costs)


def _class_names(rule: Any, classes: Sequence[Any]) -> list[str]:
    """Return the names of the columns of costs; "" may be any other name."""
    positive = rule.metadata.get(POS_LABEL_TAG)
    if positive is not None and classes == (0, 1):
        return ["", str(positive)]
    return [*map(label_text, classes)]


def load_costs(
    path: StrPath, classes: Sequence[str], dialect: Dialect | None = None
) -> CostTable:
    """Read a table of costs: one row per action, one column per class."""
    with Scratch() as scratch:
        table = InputTable(path, scratch, dialect)
        of_actions = Groups(column(table, "action", "action"))
        others = [name for name in table.columns if name != of_actions.column]
        names = list(classes)
        if "" in names and len(others) == len(names):
            free = [name for name in others if name not in names]
            names[names.index("")] = free[0] if free else ""
        if set(others) != set(names):
            msg = (
                f"{table.name} must have the column 'action' and one for each class, "
                f"{listed([name or 'the other label' for name in names])}; its columns "
                f"are {listed(table.columns)}."
            )
            raise InvalidData(msg)
        reader = RowReader(
            table,
            {"action": of_actions} | {name: Numbers(name) for name in names},
            purpose="decide",
        )
        parts = [rows.values for rows in reader]
        reader.check_any("decide")
    values = joined(parts)
    actions = [str(name) for name in of_actions.names_of(values["action"])]
    if len(set(actions)) < len(actions):
        twice = next(name for name in actions if actions.count(name) > 1)
        msg = f"{table.name} must have one row for each action; got {twice!r} again."
        raise InvalidData(msg)
    costs = np.column_stack([values[name] for name in names])
    return CostTable(tuple(actions), as_costs(costs, len(names)))
