"""Decide: a table in, the same table with an action for each row out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from abers import validation
from abers.core.decisions import CRITERIA, REFER, as_cost, decide
from abers.tables.columns import doubles
from abers.tables.predict import Probabilities, add_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from abers.core.rule import Rule
    from abers.core.rule_set import RuleSet
    from abers.tables.files import Dialect, Progress, StrPath
    from abers.tables.predict import PredictionCounts
    from abers.validation import FloatArray

ACTIONS = ("refuse", "act", "refer")  # what the file calls actions 0, 1 and -1


@dataclass(slots=True)
class DecisionCounts:
    """What was decided.

    Attributes
    ----------
    predicted : PredictionCounts
        Rows read and written, and those without a score, which have no action.
    n_act, n_refuse, n_refer : int
        Rows by their action.
    n_undetermined : int
        Rows where one action is best for some probabilities within the bounds, and the
        other for others.
    """

    predicted: PredictionCounts
    n_act: int = 0
    n_refuse: int = 0
    n_refer: int = 0
    n_undetermined: int = 0


class _Actions:
    """The bounds and probability, an action, and what it costs at worst."""

    def __init__(
        self, costs: list[list[float]], criterion: str, refer: float | None
    ) -> None:
        self._costs = costs
        self._criterion = criterion
        self._refer = refer
        self._probabilities = Probabilities()
        self.counts = np.zeros(len(ACTIONS), dtype=np.int64)
        self.n_undetermined = 0

    @property
    def fields(self) -> dict[str, pa.DataType]:
        """Those of a prediction, action and worst cost."""
        more = {"action": pa.string(), "worst_cost": pa.float64()}
        return {**self._probabilities.fields, **more}

    def of(self, bounds: FloatArray, missing: NDArray[np.bool_]) -> list[pa.Array]:
        """Return them, null where the score is missing; and count the actions."""
        found = decide(
            bounds, self._costs, criterion=self._criterion, refer=self._refer
        )
        codes = np.where(found.action == REFER, ACTIONS.index("refer"), found.action)
        self.counts += np.bincount(codes[~missing], minlength=len(ACTIONS))
        self.n_undetermined += int((found.undetermined & ~missing).sum())
        return [
            *self._probabilities.of(bounds, missing),
            _named(doubles(codes.astype(float), missing)),
            doubles(found.worst_cost, missing),
        ]


def _named(codes: pa.Array) -> pa.Array:
    """Return the names of actions."""
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
    criterion: str = "cost",
    score: str | None = None,
    by: str | None = None,
    prefix: str = "",
    prior: float | None = None,
    missing: str = "null",
    format: str | None = None,  # noqa: A002 (it is what users call it)
    dialect: Dialect | None = None,
    force: bool = False,
    temp: StrPath | None = None,
    progress: Progress | None = None,
) -> DecisionCounts:
    """Add an action to each row of a table: act, refuse or refer.

    To act is to treat the case as a 1. All else is as in `predict_table`, whose columns
    are added, too.

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
    score : str, default=None
        Column of scores; the one of the fit, or found by its usual name if the rule
        does not remember one.
    by : str, default=None
        Column of groups, for a rule set; the one of the fit.
    prefix : str, default=""
        What the names of the new columns begin with.
    prior : float, default=None
        The share of positives among these rows, if it is another than among the
        calibration rows.
    missing : {"null", "error"}, default="null"
        What a row without a score gives.
    format : {"csv", "tsv", "parquet", "arrow", "json"}, default=None
        The format to write, if the name does not tell.
    dialect : Dialect, default=None
        How CSV and TSV are written.
    force : bool, default=False
        Whether an existing file may be replaced.
    temp : path-like, default=None
        Folder for what must wait on disk; the system's own if None.
    progress : callable, default=None
        Called with the number of rows read, and of how many or None.

    Returns
    -------
    DecisionCounts
        How many rows there were, and how many have which action.
    """
    validation.check_choice(criterion, CRITERIA, "criterion")
    false_positive = as_cost(cost_fp, "cost_fp", positive=True)
    false_negative = as_cost(cost_fn, "cost_fn", positive=True)
    price = None if refer is None else as_cost(refer, "refer")
    actions = _Actions([[0, false_negative], [false_positive, 0]], criterion, price)
    predicted = add_columns(
        rule,
        files,
        to,
        actions,
        score=score,
        by=by,
        prefix=prefix,
        prior=prior,
        missing=missing,
        format=format,
        dialect=dialect,
        force=force,
        temp=temp,
        progress=progress,
    )
    refused, acted, referred = actions.counts.tolist()
    return DecisionCounts(predicted, acted, refused, referred, actions.n_undetermined)
