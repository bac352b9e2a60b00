"""Decide: a table in, the same table with an action for each row out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from abers import validation
from abers.core.decisions import CRITERIA, REFER, as_cost, decide
from abers.tables.columns import doubles
from abers.tables.predict import Probabilities, add_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.choices import Criterion
    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet
    from abers.tables.files import StrPath
    from abers.tables.predict import Mask, PredictionCounts
    from abers.validation import FloatArray

ACTIONS = ("refuse", "act", "refer")  # what the file calls actions 0, 1 and -1


@dataclass(slots=True)
class DecisionCounts:
    """How many rows were decided, and how.

    Attributes
    ----------
    predicted : PredictionCounts
        Rows read and written, and rows without a score, which have no action.
    n_act, n_refuse, n_refer : int
        Rows by their action.
    n_undetermined : int
        Rows whose best action depends on where within the bounds the probability is.
    """

    predicted: PredictionCounts
    n_act: int = 0
    n_refuse: int = 0
    n_refer: int = 0
    n_undetermined: int = 0


class DecisionColumns(Probabilities):
    """The bounds and the probability of scores, an action, and its worst cost."""

    def __init__(
        self,
        rule: Rule | RuleSet,
        costs: list[list[float]],
        *,
        criterion: Criterion,
        refer: float | None,
        prior: float | None,
    ) -> None:
        super().__init__(rule, prior=prior)
        self._costs = costs
        self._criterion = criterion
        self._refer = refer
        self.n_by_action = np.zeros(len(ACTIONS), dtype=np.int64)
        self.n_undetermined = 0

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The type of each column, by name."""
        return {**super().types, "action": pa.string(), "worst_cost": pa.float64()}

    def _arrays(self, bounds: FloatArray, missing: Mask) -> list[pa.Array]:
        decisions = decide(
            bounds, self._costs, criterion=self._criterion, refer=self._refer
        )
        is_referred = decisions.action == REFER
        codes = np.where(is_referred, ACTIONS.index("refer"), decisions.action)
        self.n_by_action += np.bincount(codes[~missing], minlength=len(ACTIONS))
        self.n_undetermined += int((decisions.undetermined & ~missing).sum())
        return [
            *super()._arrays(bounds, missing),
            _action_names(doubles(codes.astype(float), missing)),
            doubles(decisions.worst_cost, missing),
        ]


def _action_names(codes: pa.Array) -> pa.Array:
    names = pc.cast(codes, pa.string())
    for code, action in enumerate(ACTIONS):
        names = pc.replace_substring(names, str(code), action)
    return names


def decide_table(
    rule: Rule | RuleSet,
    files: StrPath | Sequence[StrPath],
    to: StrPath,
    *,
    cost_fp: float,
    cost_fn: float,
    refer: float | None = None,
    criterion: Criterion = "cost",
    prior: float | None = None,
    **options: Any,
) -> DecisionCounts:
    """Add an action to each row of a table: act, refuse or refer.

    To act is to treat the case as a 1. The columns that `predict_table` adds come
    before the action, its worst cost comes after it.

    Parameters
    ----------
    rule : Rule or RuleSet
        What predicts.
    files : path-like or sequence of path-like
        As for `fit_table`.
    to : path-like
        The file to write; `-` writes to standard output.
    cost_fp : float
        The cost of a false positive: of acting on a 0.
    cost_fn : float
        The cost of a false negative: of not acting on a 1.
    refer : float, default=None
        The price of referring a case; None: no case is referred.
    criterion : {"cost", "regret"}, default="cost"
        What is made least in the worst case; see `abers.decide`.
    prior : float, default=None
        The share of positives among these rows, if it differs from that of the
        calibration rows.
    **options
        The other options of `predict_table`, except `loss`.

    Returns
    -------
    DecisionCounts
        How many rows there were, and how many have which action.
    """
    validation.check_choice(criterion, CRITERIA, "criterion")
    false_positive = as_cost(cost_fp, "cost_fp", positive=True)
    false_negative = as_cost(cost_fn, "cost_fn", positive=True)
    decisions = DecisionColumns(
        rule,
        [[0, false_negative], [false_positive, 0]],
        criterion=criterion,
        refer=None if refer is None else as_cost(refer, "refer"),
        prior=prior,
    )
    add_columns(decisions, files, to, **options)
    n_refuse, n_act, n_refer = decisions.n_by_action.tolist()
    return DecisionCounts(
        decisions.counts, n_act, n_refuse, n_refer, decisions.n_undetermined
    )
