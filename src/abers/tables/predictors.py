"""Predictors: the columns that a rule or a calibrator reads and adds.

A predictor is whatever `abers.load` returns that has `probability`, and usually
`bounds`. It adds the same columns to tables and to Spark and Dask frames.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from abers import validation
from abers.core.log_odds import are_probabilities
from abers.core.merging import LOSSES, MINIMAX
from abers.core.prior import adjusted, base_rate
from abers.core.rule import Rule
from abers.core.rule_set import POOLED, REST, RuleSet, bounds_at, places_of
from abers.errors import InvalidData, InvalidParameter, InvalidType
from abers.tables.columns import (
    GROUP_TAG,
    PROBABILITIES,
    SCORE_TAG,
    Groups,
    Numbers,
    chosen_texts,
    column,
    doubles,
)
from abers.tables.files import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from abers.choices import LossName
    from abers.tables.columns import Allowed
    from abers.tables.decide import ActionColumns
    from abers.tables.files import Batch, InputTable
    from abers.validation import FloatArray, IntArray

    Mask = NDArray[np.bool_]

ADDED = ("lower", "upper", "probability")
TWO = 2


@dataclass(frozen=True, slots=True)
class Shape:
    """How many scores a predictor reads, and what it returns for them.

    >>> import abers
    >>> Shape.of(abers.fit_rule([1, 2, 3], [0, 1, 0])).n_scores
    1
    """

    n_models: int
    classes: tuple[Any, ...]
    has_bounds: bool
    is_merged: bool  # the probability is a merge of the bounds, for a loss

    @staticmethod
    def of(predictor: Any) -> Shape:
        """Inspect a predictor; raise if it does not predict probabilities."""
        if isinstance(predictor, RuleSet):
            predictor = predictor.pooled
        probability = getattr(predictor, "probability", None)
        if not callable(probability) or isinstance(predictor, type):
            msg = (
                "rule must be a rule or a calibrator, as abers.load returns it; got a "
                f"{type(predictor).__name__}."
            )
            raise InvalidType(msg)
        numbers = ("n_models", "n_folds", "n_scores")
        given = (getattr(predictor, name, None) for name in numbers)
        return Shape(
            n_models=next((number for number in given if number is not None), 1),
            classes=tuple(getattr(predictor, "classes", (0, 1))),
            has_bounds=callable(getattr(predictor, "bounds", None)),
            is_merged="loss" in inspect.signature(probability).parameters,
        )

    @property
    def is_binary(self) -> bool:
        """Whether a single probability describes a row."""
        return len(self.classes) == TWO

    @property
    def n_scores(self) -> int:
        """Number of columns of scores: by model, then by class with more than two."""
        return self.n_models * (1 if self.is_binary else len(self.classes))

    @property
    def new_columns(self) -> list[str]:
        """Names of the added columns; with more than two classes, class by class."""
        added = ADDED if self.has_bounds else ADDED[-1:]
        if self.is_binary:
            return list(added)
        return [f"{name}_{label}" for label in self.classes for name in added]


class ScoreColumns:
    """The columns of scores that a predictor reads from a table."""

    def __init__(
        self, predictor: Any, names: Sequence[str], allowed: Allowed | None = None
    ) -> None:
        self.names = list(names)
        self._is_single = predictor is None or is_rule(predictor)
        self._n_added = 1  # number of columns that must add up to 1
        if getattr(predictor, "reads", None) == "probability":
            allowed, shape = PROBABILITIES, Shape.of(predictor)
            # Several columns per model are the probabilities of all classes.
            self._n_added = len(shape.classes) if len(names) > shape.n_models else 1
        self.roles = {
            f"score {i}": Numbers(name, allowed) for i, name in enumerate(names)
        }

    @staticmethod
    def of_table(predictor: Any, table: InputTable, named: Any) -> ScoreColumns:
        """Find the columns: those named, those of the fit, or the usual one."""
        if predictor is None or is_rule(predictor):
            tags = {} if predictor is None else predictor.metadata
            names = [column(table, named, "score", fitted=tags.get(SCORE_TAG))]
        else:
            wanted = [named] if isinstance(named, str) else named
            names = _columns_to_read(predictor, table, wanted)
        return ScoreColumns(predictor, names)

    def scores(
        self, values: Mapping[str, Any], place: Callable[[int], str] | None = None
    ) -> FloatArray:
        """Return the scores that were read, in the form that the predictor takes.

        With `place`, which names a row, probabilities must add up to 1.
        """
        if self._is_single:
            single: FloatArray = values["score 0"]
            return single
        scores = np.column_stack([values[role] for role in self.roles])
        if place is not None and self._n_added > 1:
            check_sums(scores, self.names, self._n_added, place)
        return scores


def is_rule(predictor: Any) -> bool:
    """Return whether this is a rule or a rule set, not a calibrator."""
    return isinstance(predictor, Rule | RuleSet)


def matching_columns(table: InputTable, wanted: Sequence[str]) -> list[str]:
    """Return the columns that are named or match a pattern, each once."""
    names: list[str] = []
    for pattern in wanted:
        own = [pattern] if table.has(pattern) else []
        own = own or [name for name in table.columns if fnmatchcase(name, pattern)]
        if not own:
            column(table, pattern, "score")  # raises
        names += own
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        msg = f"columns of scores must be named once; got {twice!r} again."
        raise InvalidParameter(msg)
    return names


def _columns_to_read(
    predictor: Any, table: InputTable, named: Sequence[str] | None
) -> list[str]:
    """Return the columns that are named, or those of the fit; check their number."""
    shape, fitted = Shape.of(predictor), getattr(predictor, "columns", ())
    wanted = len(fitted) or shape.n_scores
    if named is None and not fitted:
        msg = (
            f"the columns of scores must be named with --scores: {wanted} of them, "
            "those of the first model first; the file of the calibrator has no names."
        )
        raise InvalidParameter(msg)
    names = matching_columns(table, named or fitted)
    if len(names) not in (wanted, shape.n_models * len(shape.classes)):
        msg = (
            f"the calibrator reads {wanted} columns of scores; got {len(names)}, "
            f"{listed(names)}."
        )
        raise InvalidData(msg)
    return names


def check_sums(
    scores: FloatArray,
    names: Sequence[str],
    n_classes: int,
    place: Callable[[int], str],
) -> None:
    """Raise if the probabilities of all classes from one model do not add up to 1."""
    complete = ~np.isnan(scores).any(axis=1)
    for first in range(0, len(names), n_classes):
        table = scores[:, first : first + n_classes]
        bad = ~are_probabilities(table) & complete
        if bad.any():
            row = int(bad.argmax())
            msg = (
                f"columns {listed(names[first : first + n_classes])} must add up to 1 "
                f"in each row; got {table[row].sum().item():.6g} in {place(row)}. "
                "Divide each row by its sum."
            )
            raise InvalidData(msg)


def group_column(predictor: Any, given: str | None, option: str = "--by") -> str | None:
    """Return the column of groups that a rule set needs: as given or fitted."""
    if not isinstance(predictor, RuleSet):
        if given is not None:
            what = "rule" if isinstance(predictor, Rule) else "calibrator"
            msg = f"{option} must go with rules for groups; got one {what} for all."
            raise InvalidParameter(msg)
        return None
    name = given if given is not None else predictor.metadata.get(GROUP_TAG)
    if name is None:
        msg = f"rules for groups need the column of groups; name it with {option}."
        raise InvalidParameter(msg)
    return str(name)


def groups_of(rules: RuleSet, name: str) -> Groups:
    """Return a reader of groups, which have the type of the fit."""
    return Groups(name, type(next(iter(rules))))


def rates_of(rule: Rule | RuleSet, prior: float) -> tuple[float, float]:
    """Return the base rate of a rule, over all its groups, and the new one.

    The odds of all groups change by one factor, that of the overall rates: the ratio of
    positives to negatives is multiplied by the same number in each group.
    """
    whole = rule.pooled if isinstance(rule, RuleSet) else rule
    new = validation.as_rate(prior, "prior")
    return base_rate(rule.metadata, whole.n_positives, whole.n_rows), new


@dataclass(slots=True)
class PredictionCounts:
    """How many rows were predicted, and by which rules.

    Attributes
    ----------
    n_rows : int
        Rows read and written.
    n_missing : int
        Rows without a score; their probabilities are null.
    n_rest : int
        Rows predicted by the rule for small groups.
    n_pooled : int
        Rows predicted by the rule of all rows: their group is unseen, missing, or small
        and without a shared rule.
    """

    n_rows: int = 0
    n_missing: int = 0
    n_rest: int = 0
    n_pooled: int = 0


class AddedColumns:
    """What a predictor adds to a table: bounds and probability, for each class if many.

    >>> import abers
    >>> columns = AddedColumns(abers.fit_rule([1, 2, 3], [0, 1, 0]))
    >>> lower, upper, probability = columns.arrays(np.array([2, np.nan]))
    >>> lower.to_pylist(), upper.to_pylist()
    ([0.3333333333333333, None], [0.6666666666666666, None])
    """

    def __init__(
        self,
        predictor: Any,
        *,
        loss: LossName = "log",
        prior: float | None = None,
        actions: ActionColumns | None = None,
    ) -> None:
        validation.check_choice(loss, LOSSES, "loss")
        self.shape = Shape.of(predictor)
        self.counts = PredictionCounts()
        self._predictor = predictor
        self._actions = actions
        self._merge = MINIMAX[loss] if self.shape.is_merged else None
        refused = {
            "prior": prior is not None and not is_rule(predictor),
            "loss": loss != "log" and self._merge is None,
        }
        for option in (name for name, is_refused in refused.items() if is_refused):
            kind = type(predictor).__name__
            msg = (
                f"{option} must go with a rule; got a {kind}. Leave it out, or fit a "
                "rule, in a shell with --method venn-abers."
            )
            raise InvalidParameter(msg)
        self._rates = None if prior is None else rates_of(predictor, prior)

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The type of each column, by name."""
        types = dict.fromkeys(self.shape.new_columns, pa.float64())
        if not self.shape.is_binary:
            types["prediction"] = pa.string()
        return types if self._actions is None else types | self._actions.types

    def find(
        self, table: InputTable, score: str | Sequence[str] | None, by: str | None
    ) -> list[str]:
        """Find the columns to read, and return their names."""
        group = group_column(self._predictor, by)
        scores = ScoreColumns.of_table(self._predictor, table, score)
        if group is not None:
            group = column(table, group, "group")
        return self.read(scores.names, group)

    def read(self, scores: Sequence[str], group: str | None) -> list[str]:
        """Set the names of the columns to read, and return them in one list."""
        self._scores = ScoreColumns(self._predictor, scores)
        self._groups = None if group is None else groups_of(self._predictor, group)
        return [*scores, *([] if group is None else [group])]

    def arrays_of(self, batch: Batch, *, is_complete: bool = False) -> list[pa.Array]:
        """Return the columns for some rows; `is_complete` refuses missing scores."""
        values = {role: r.values(batch) for role, r in self._scores.roles.items()}
        if is_complete:
            for role, numbers in self._scores.roles.items():
                _check_complete(values[role], batch, numbers.column)
        places = None if self._groups is None else self._places(self._groups, batch)
        return self.arrays(self._scores.scores(values, batch.place), places)

    def arrays(
        self, scores: FloatArray, places: IntArray | None = None
    ) -> list[pa.Array]:
        """Return the columns, null where a score is NaN.

        A rule set needs the place of each row's rule; see `places_of`.
        """
        missing: Mask = np.isnan(scores)
        if missing.ndim > 1:
            missing = missing.max(axis=1)
        self.counts.n_rows += missing.size
        self.counts.n_missing += int(missing.sum())
        if missing.any():
            new = np.zeros((len(self.shape.new_columns), missing.size))
            kept_places = None if places is None else places[~missing]
            new[:, ~missing] = self._values(scores[~missing], kept_places)
        else:
            new = self._values(scores, places)
        arrays = [doubles(values, missing) for values in new]
        n_added = len(ADDED) if self.shape.has_bounds else 1
        if not self.shape.is_binary:
            best = new[n_added - 1 :: n_added].argmax(axis=0)
            arrays.append(chosen_texts([*map(str, self.shape.classes)], best, missing))
        if self._actions is not None:
            # Without bounds, both bounds are the probability.
            ends = new[0::n_added], new[(1 if self.shape.has_bounds else 0) :: n_added]
            bounds = np.stack([end.T for end in ends], axis=-1)
            one = bounds[:, 0] if self.shape.is_binary else bounds
            arrays += self._actions.arrays(one, missing)
        return arrays

    def _values(self, scores: FloatArray, places: IntArray | None) -> FloatArray:
        """Return the new columns of complete rows, end to end."""
        parts = []
        if isinstance(self._predictor, RuleSet):
            at = np.empty(0, np.int64) if places is None else places
            parts = [bounds_at(self._predictor, at, scores)]
        elif self.shape.has_bounds:
            parts = [self._predictor.bounds(scores)]
        if self._rates is not None:
            parts = [adjusted(parts[0], *self._rates)]
        if parts and self._merge is not None:
            probability = self._merge(*np.moveaxis(parts[0], -1, 0))
        else:
            probability = self._predictor.probability(scores)
        parts.append(probability[..., np.newaxis])
        table = np.concatenate(parts, axis=-1)
        return table.reshape(len(scores), len(self.shape.new_columns)).T

    def _places(self, groups: Groups, batch: Batch) -> IntArray:
        """Return the place of each row's rule, and count the rows without one."""
        codes, rules = groups.values(batch), self._predictor
        names = [*groups.names, None]  # -1 is the code of no group
        kinds = rules.kind_of(names)
        self.counts.n_rest += int((kinds == REST)[codes].sum())
        self.counts.n_pooled += int((kinds == POOLED)[codes].sum())
        return places_of(rules, names)[codes]


def _check_complete(scores: FloatArray, batch: Batch, name: str) -> None:
    """Raise if a score is missing."""
    missing = np.isnan(scores)
    if missing.any():
        row = int(missing.argmax())
        msg = (
            f"column {name!r} must not be empty, null or NaN; "
            f"it is in {batch.place(row)}. Fill it in, or say missing=null."
        )
        raise InvalidData(msg)
