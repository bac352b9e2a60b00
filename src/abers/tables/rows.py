"""Rows: the columns of a table by their role, without incomplete rows.

One reader serves every purpose. To fit, rows are passed on batch by batch; to evaluate
or to train, all are held: 8 bytes per row for scores, 1 for labels, and 8 each for
weights, groups and probabilities before calibration.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from abers.core.rule_set import RuleSet
from abers.errors import InvalidData, InvalidParameter
from abers.tables.columns import (
    ABSENT,
    LABEL_TAG,
    NEG_LABELS_TAG,
    POS_LABEL_TAG,
    PROBABILITIES,
    SCORE_TAG,
    USUAL,
    WEIGHTS,
    ClassLabels,
    Groups,
    Labels,
    Numbers,
    column,
    label_text,
)
from abers.tables.files import InputTable, Scratch, listed
from abers.tables.predictors import ScoreColumns, group_column, groups_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from abers.tables.files import Batch, Dialect, Progress, StrPath
    from abers.validation import FloatArray, IntArray

    Mask = NDArray[np.bool_]

SAMPLE_SEED = 0  # of samples, so that each run uses the same rows
ALLOWED = {  # by role; others may be any numbers
    **dict.fromkeys(("weight", "count", "positives"), WEIGHTS),
    **dict.fromkeys(("probability", "before"), PROBABILITIES),
}


class RoleColumn(Protocol):
    """A column with a role, read as numbers or as codes."""

    column: str

    def values(self, batch: Batch) -> NDArray[Any]:
        """Return a value for each row: NaN or the code -1 where it is missing."""


class KeptRows(NamedTuple):
    """The complete rows of a batch."""

    batch: Batch
    places: IntArray  # of the rows in the batch
    values: dict[str, NDArray[Any]]  # by role

    @property
    def row_numbers(self) -> IntArray:
        """Row numbers in the table, from 0."""
        return self.batch.row_number + self.places

    def place(self, row: int) -> str:
        """Name one of these rows by its place in the file."""
        return self.batch.place(int(self.places[row]))


class RowReader:
    """The complete rows of a table; iterate once, then ask what was left out.

    Columns are read in the order of their roles, and a message names the first that has
    a gap. Optional roles may have missing values.
    """

    def __init__(
        self,
        table: InputTable,
        roles: Mapping[str, RoleColumn],
        *,
        purpose: str,
        optional: str | None = None,
        drop_missing: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.table = table
        self.roles = roles
        self.n_rows = 0
        self.n_missing = 0  # incomplete rows
        self._purpose = purpose
        self._optional = optional
        self._drop_missing = drop_missing
        self._progress = progress
        self.gaps: dict[str, list[Any]] = {}  # by column: how many, and the first

    def __iter__(self) -> Iterator[KeptRows]:
        """Yield the complete rows."""
        names = dict.fromkeys(role.column for role in self.roles.values())
        for batch in self.table.batches(list(names), progress=self._progress):
            self.n_rows += len(batch)
            yield self._kept(batch)
        if self.gaps and not self._drop_missing:
            name, (count, first) = next(iter(self.gaps.items()))
            msg = (
                f"column {name!r} must not be empty, null or NaN to {self._purpose}; "
                f"it is in {count} of {self.n_rows} rows, first in {first}. "
                "Fill it in, or leave such rows out with --drop-missing."
            )
            raise InvalidData(msg)
        for role in self.roles.values():
            if isinstance(role, Labels):
                role.check_seen()

    def check_any(self, purpose: str) -> None:
        """Raise if no row of the table is left."""
        if self.n_missing == self.n_rows:
            why = "all its rows lack a value" if self.n_rows else "it has none"
            msg = f"{self.table.name} must have rows to {purpose}; {why}."
            raise InvalidData(msg)

    def _kept(self, batch: Batch) -> KeptRows:
        values_by_role = {}
        lacking = np.zeros(len(batch), dtype=np.bool_)
        for role, reader in self.roles.items():
            values_by_role[role] = values = reader.values(batch)
            missing = np.isnan(values) if values.dtype.kind == "f" else values == ABSENT
            if role != self._optional and missing.any():
                first = batch.place(int(missing.argmax()))
                gap = self.gaps.setdefault(reader.column, [0, first])
                gap[0] += int(missing.sum())
                lacking |= missing
        places = np.flatnonzero(~lacking)
        if places.size < len(batch):
            self.n_missing += len(batch) - places.size
            values_by_role = {
                role: values[places] for role, values in values_by_role.items()
            }
        return KeptRows(batch, places, values_by_role)


def joined(parts: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Concatenate batches column by column, dropping the parts as it goes."""
    return {
        role: np.concatenate([part.pop(role) for part in parts])
        for role in list(parts[0])
    }


class FittedColumns(NamedTuple):
    """What a rule knows about the table that it was fitted to."""

    score: str | None = None
    label: str | None = None
    pos_label: str | None = None  # of the labels in that column
    neg_labels: tuple[str, ...] | None = None  # all others, if they are few

    @staticmethod
    def of(tags: Mapping[str, Any]) -> FittedColumns:
        """Read the tags of a rule."""
        score, label, positive = (
            None if tag is None else str(tag)
            for tag in map(tags.get, (SCORE_TAG, LABEL_TAG, POS_LABEL_TAG))
        )
        negatives = tags.get(NEG_LABELS_TAG)
        others = None if negatives is None else tuple(json.loads(negatives))
        return FittedColumns(score, label, positive, others)

    def labels(self, name: str, pos_label: str | None) -> Labels:
        """Return a column of labels, to be read as in the fit if it is the same one."""
        if pos_label is None and name == self.label:
            return Labels(name, self.pos_label, self.neg_labels)
        return Labels(name, pos_label)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedRows:
    """Columns of a table, without incomplete rows."""

    scores: FloatArray  # or probabilities: (n,), of a calibrator (n, columns)
    n_rows: int  # of the table, before rows were left out
    n_missing: int
    # Whether labels are positive, or their classes; None if the table may lack them.
    labels: Mask | list[Any] | None = None
    weights: FloatArray | None = None
    before: FloatArray | None = None  # probabilities before calibration
    groups: list[Any] | None = None  # None for a row without a group
    pos_label: Any = None  # the class to evaluate, if labels are classes
    notes: tuple[str, ...] = ()  # how labels were read, where that is not obvious


def find_roles(
    table: InputTable,
    named: Mapping[str, str | None],
    *,
    pos_label: str | None = None,
    fitted: FittedColumns | None = None,
) -> dict[str, RoleColumn]:
    """Return the column of each role.

    If scores and labels are not named, those of the fit are used, else the usual ones.
    Other roles are left out.
    """
    fitted = fitted or FittedColumns()
    fitted_columns = fitted._asdict()
    roles: dict[str, RoleColumn] = {}
    for role, given in named.items():
        if given is None and role not in USUAL:
            continue
        name = column(table, given, role, fitted=fitted_columns.get(role))
        if role == "label":
            roles[role] = fitted.labels(name, pos_label)
        elif role == "group":
            roles[role] = Groups(name)
        else:
            roles[role] = Numbers(name, ALLOWED.get(role))
    return roles


def check_counts(named: Mapping[str, str | None], *, mark: str = "--") -> None:
    """Raise if columns of counts are named with others, or without each other.

    `mark` is the prefix of options, for the message.
    """
    given = {role for role, name in named.items() if name is not None}
    if not (counted := given & {"count", "positives"}):
        return
    both = f"{mark}count and {mark}positives"
    if len(counted) == 1:
        msg = f"{both} must come together; got one of them."
        raise InvalidParameter(msg)
    if given & {"label", "weight"}:
        msg = f"{both} must stand instead of {mark}label and {mark}weight."
        raise InvalidParameter(msg)


def load_rows(
    files: StrPath | Sequence[StrPath],
    rule: Any = None,
    *,
    score: str | Sequence[str] | None = None,
    probability: str | None = None,
    weight: str | None = None,
    before: str | None = None,
    label: str | None = None,
    needs_label: bool = True,
    by: str | None = None,
    pos_label: str | None = None,
    drop_missing: bool = False,
    dialect: Dialect | None = None,
    progress: Progress | None = None,
) -> LoadedRows:
    """Read into memory all rows on which to evaluate a rule or a calibrator.

    Columns are those of its fit unless others are named; without a rule, a column of
    scores or of probabilities is evaluated. Labels are the classes of a calibrator;
    they may be missing if they are not needed. Rows without a group form their own
    group.
    """
    classes = getattr(rule, "classes", None)  # of a calibrator
    for option, given in (("--before", before), ("--probability", probability)):
        if given is not None and classes is not None:
            msg = f"{option} must go with a rule; got a calibrator. Leave it out."
            raise InvalidParameter(msg)
    with Scratch() as scratch:
        table = InputTable(files, scratch, dialect)
        if probability is None:
            read = ScoreColumns.of_table(rule, table, score)
        else:
            name = column(table, probability, "probability")
            read = ScoreColumns(None, [name], PROBABILITIES)
        fitted = FittedColumns.of({} if rule is None else rule.metadata)
        named = {"weight": weight, "before": before}
        if label is not None or needs_label or has_labels(table, fitted):
            named["label"] = label
        roles: dict[str, RoleColumn] = {**read.roles}
        roles |= find_roles(table, named, pos_label=pos_label, fitted=fitted)
        if "label" in roles and classes not in (None, (0, 1)):
            roles["label"] = ClassLabels(roles["label"].column, classes)
        groups = _groups(rule, table, by)
        if groups is not None:
            roles["group"] = groups
        reader = RowReader(
            table,
            roles,
            purpose="judge",
            optional="group",
            drop_missing=drop_missing,
            progress=progress,
        )
        parts = []
        for rows in reader:
            read.scores(rows.values, rows.place)  # checks them
            parts.append(rows.values)
        reader.check_any("judge")
    values = joined(parts)
    return LoadedRows(
        scores=read.scores(values),
        n_rows=reader.n_rows,
        n_missing=reader.n_missing,
        labels=_labels(values, classes),
        weights=values.get("weight"),
        before=values.get("before"),
        groups=None if groups is None else groups.names_of(values["group"]),
        pos_label=_class_named(classes, pos_label),
        notes=notes_of(roles),
    )


def _groups(rule: Any, table: InputTable, by: str | None) -> Groups | None:
    """Return the column of groups, in the type of the rule set if there is one."""
    if isinstance(rule, RuleSet):
        return groups_of(rule, column(table, group_column(rule, by), "group"))
    return None if by is None else Groups(column(table, by, "group"))


def _labels(
    values: Mapping[str, NDArray[Any]], classes: Sequence[Any] | None
) -> Mask | list[Any] | None:
    """Return whether labels are positive, or the classes of a calibrator."""
    if "label" not in values:
        return None
    is_one: Mask = values["label"] == 1
    return is_one if classes is None else [classes[code] for code in values["label"]]


def _class_named(classes: Sequence[Any] | None, pos_label: str | None) -> Any:
    """Return the class to evaluate; None if the table shows which labels are 1."""
    if pos_label is None or classes in (None, (0, 1)):
        return None
    named = {label_text(label): label for label in classes}
    if pos_label not in named:
        msg = (
            f"--pos-label must be one of the classes {listed([*named])}; got "
            f"{pos_label!r}."
        )
        raise InvalidParameter(msg)
    return named[pos_label]


def notes_of(roles: Mapping[str, RoleColumn]) -> tuple[str, ...]:
    """Return how labels were interpreted, where that is not obvious."""
    label = roles.get("label")
    note = label.understood if isinstance(label, Labels) else None
    return () if note is None else (note,)


def sampled(n_rows: int, most: int) -> IntArray:
    """Draw at most this many rows at random, with a fixed seed; ascending."""
    if n_rows <= most:
        return np.arange(n_rows)
    drawn = np.random.default_rng(SAMPLE_SEED).choice(n_rows, most, replace=False)
    return np.sort(drawn)


def has_labels(table: InputTable, fitted: FittedColumns | None) -> bool:
    """Return whether a table has a column with a usual name for labels."""
    usual = {*USUAL["label"], fitted and fitted.label}
    return any(name in usual or name.casefold() in usual for name in table.columns)
