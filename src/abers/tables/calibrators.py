"""Calibrators of several columns: fitted to tables, and given what they read.

A rule reads one column of scores in batches, and its fit needs no more memory than it
is given. What is made here reads a column per class or per model, and all rows are
held in memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.errors import InvalidData, InvalidParameter
from abers.tables.columns import (
    LABEL_TAG,
    POS_LABEL_TAG,
    PROBABILITIES,
    WEIGHTS,
    ClassLabels,
    Groups,
    Labels,
    Numbers,
    column,
)
from abers.tables.files import InputTable, Scratch, listed
from abers.tables.rows import RowReader, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from abers.core.calibrator import Calibrator
    from abers.core.pooled import PooledRule
    from abers.tables.files import Dialect, Progress, StrPath
    from abers.tables.rows import RoleColumn
    from abers.validation import FloatArray, IntArray

METHODS = (
    *("stacked", "venn-abers", "pooled"),
    *("beta", "temperature", "platt", "isotonic"),
)
KINDS = ("probability", "log-odds", "margin")
TWO = 2


@dataclass(frozen=True, slots=True)
class CalibratorFit:
    """A calibrator, and what it was fitted to.

    Attributes
    ----------
    calibrator : Calibrator or PooledRule
        To the last bit what the same rows give in Python.
    n_rows, n_missing, n_fitted : int
        Rows of the table, those left out because they lack a value, and the others.
    n_by_class : dict
        How many rows each class has.
    notes : tuple of str
        How columns and labels were understood, where that is not obvious.
    metadata : dict
        Tags to save with it.
    """

    calibrator: Calibrator | PooledRule
    n_rows: int
    n_missing: int
    n_fitted: int
    n_by_class: dict[Any, int]
    notes: tuple[str, ...]
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Sample:
    """The rows of a table that lack nothing, by the role of their columns."""

    scores: FloatArray  # (n,) or (n, C), in the order of the classes
    labels: IntArray  # the place of each in the classes
    classes: tuple[Any, ...]
    columns: tuple[str, ...]  # of the scores
    folds: IntArray | None
    weights: FloatArray | None


def fit_calibrator(
    files: StrPath | Sequence[StrPath],
    *,
    columns: Sequence[str],
    kind: str,
    method: str = "stacked",
    label: str | None = None,
    pos_label: str | None = None,
    weight: str | None = None,
    fold: str | None = None,
    drop_missing: bool = False,
    dialect: Dialect | None = None,
    metadata: Mapping[str, Any] | None = None,
    temp: StrPath | None = None,
    progress: Progress | None = None,
) -> CalibratorFit:
    """Fit a calibrator to files with one or several columns of scores.

    Parameters
    ----------
    files : path-like or sequence of path-like
        As for `fit_table`.
    columns : sequence of str
        Columns of scores, or patterns: one for two classes, else one per class. Those
        that end with a label belong to it; if none does, they belong to the classes in
        ascending order.
    kind : str
        What the columns hold: "probability", "log-odds" or "margin".
    method : str, default="stacked"
        "stacked", "venn-abers", "pooled", "beta", "temperature", "platt" or
        "isotonic".
    label, pos_label, weight : str, default=None
        As for `fit_table`.
    fold : str, default=None
        Column of folds: each row has the scores of the model that was trained without
        its fold. The calibrator reads the scores of all models.
    drop_missing : bool, default=False
        As for `fit_table`.
    dialect : Dialect, default=None
        As for `fit_table`.
    metadata : mapping, default=None
        Tags to save with the calibrator.
    temp : path-like, default=None
        As for `fit_table`.
    progress : callable, default=None
        As for `fit_table`.

    Returns
    -------
    CalibratorFit
        The calibrator, and what to know about it.
    """
    validation.check_choice(method, METHODS, "method")
    validation.check_choice(kind, KINDS, "kind")
    _check_method(method, fold)
    with Scratch(temp) as scratch:
        table = InputTable(files, scratch, dialect)
        names = matching_columns(table, columns)
        roles = _roles(table, names, kind, label, pos_label, weight=weight, fold=fold)
        reader = RowReader(
            table, roles, purpose="fit", drop_missing=drop_missing, progress=progress
        )
        parts = [rows.values for rows in reader]
        reader.check_any("fit")
    sample, notes = _sample(roles, names, joined(parts))
    calibrator = _fitted(sample, method, kind)
    tags = dict(metadata or {}) | {LABEL_TAG: roles["label"].column}
    if isinstance(roles["label"], Labels) and (found := roles["label"].positive):
        tags[POS_LABEL_TAG] = found
    counts = np.bincount(sample.labels, minlength=len(sample.classes)).tolist()
    return CalibratorFit(
        calibrator=calibrator,
        n_rows=reader.n_rows,
        n_missing=reader.n_missing,
        n_fitted=sample.labels.size,
        n_by_class=dict(zip(sample.classes, counts, strict=True)),
        notes=tuple(notes),
        metadata=tags,
    )


def matching_columns(table: InputTable, wanted: Sequence[str]) -> list[str]:
    """Return the columns that are named, or that match a pattern, each once."""
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


def _check_method(method: str, fold: str | None) -> None:
    if fold is not None and method not in {"stacked", "pooled"}:
        msg = f"--fold must go with --method stacked or pooled; got {method!r}."
        raise InvalidParameter(msg)
    if fold is None and method == "pooled":
        msg = "--method pooled must go with --fold, the column of folds; got none."
        raise InvalidParameter(msg)


def _roles(
    table: InputTable,
    names: Sequence[str],
    kind: str,
    label: str | None,
    pos_label: str | None,
    **others: str | None,
) -> dict[str, RoleColumn]:
    """Return the column of each role."""
    allowed = PROBABILITIES if kind == "probability" else None
    roles: dict[str, RoleColumn] = {
        f"score {place}": Numbers(name, allowed) for place, name in enumerate(names)
    }
    name = column(table, label, "label")
    many = len(names) > 1
    roles["label"] = ClassLabels(name) if many else Labels(name, pos_label)
    if many and pos_label is not None:
        msg = (
            "--pos-label must go with one column of scores; got "
            f"{len(names)}, one per class."
        )
        raise InvalidParameter(msg)
    if (weight := others["weight"]) is not None:
        roles["weight"] = Numbers(column(table, weight, "weight"), WEIGHTS)
    if (fold := others["fold"]) is not None:
        roles["fold"] = Groups(column(table, fold, "fold"))
    return roles


def _sample(
    roles: Mapping[str, RoleColumn], names: Sequence[str], values: dict[str, Any]
) -> tuple[_Sample, list[str]]:
    """Put scores into the order of the classes; also say how they were understood."""
    reader, labels = roles["label"], values["label"].astype(np.int64)
    notes: list[str] = []
    by_column = [values[f"score {place}"] for place in range(len(names))]
    classes: tuple[Any, ...] = (0, 1)
    if isinstance(reader, ClassLabels):
        classes, labels = reader.sorted_classes(labels)
        order, note = columns_of_classes(names, classes)
        notes += [note] if note else []
        by_column = [by_column[place] for place in order]
        names = [names[place] for place in order]
    elif isinstance(reader, Labels):
        notes += [reader.understood] if reader.understood else []
    folds = None
    if isinstance(fold := roles.get("fold"), Groups):
        places = {code: k for k, code in enumerate(_ascending(fold.names))}
        folds = np.array([places[code] for code in values["fold"]], dtype=np.int64)
        if len(places) < TWO:
            msg = f"column {fold.column!r} must hold at least two folds; got one."
            raise InvalidData(msg)
    scores = by_column[0] if len(names) == 1 else np.column_stack(by_column)
    sample = _Sample(scores, labels, classes, tuple(names), folds, values.get("weight"))
    return sample, notes


def _ascending(names: Sequence[Any]) -> list[int]:
    """Return the codes of folds in the order of their names; 10 comes after 9."""

    def key(code: int) -> tuple[bool, float, str]:
        text = str(names[code])
        is_number = re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?", text) is not None
        return not is_number, float(text) if is_number else 0.0, text

    return sorted(range(len(names)), key=key)


def columns_of_classes(
    names: Sequence[str], classes: Sequence[Any]
) -> tuple[list[int], str | None]:
    """Return the column of each class, and a note if names do not tell it."""
    if len(names) != len(classes):
        msg = (
            f"there must be a column of scores for each class; got "
            f"{listed(names)} for the {len(classes)} labels {listed(classes)}."
        )
        raise InvalidData(msg)
    order = []
    for label in map(str, classes):
        ends = re.compile(rf"(.*[^0-9A-Za-z])?{re.escape(label)}")
        order.append([i for i, name in enumerate(names) if ends.fullmatch(name)])
    places = [own[0] for own in order if len(own) == 1]
    if len(set(places)) == len(names):
        return places, None
    pairs = ", ".join(
        f"{name} is {label}" for name, label in zip(names, classes, strict=True)
    )
    return [
        *range(len(names))
    ], f"Columns belong to classes in ascending order: {pairs}."


def _fitted(sample: _Sample, method: str, kind: str) -> Calibrator | PooledRule:
    if sample.scores.ndim > 1 and kind == "probability":
        validation.as_class_probabilities(sample.scores, "scores")
    if method == "stacked":
        from abers.core.stacked_fit import fit_stacked_rule

        options: Any = {"kind": kind}
        made: Calibrator = fit_stacked_rule(
            sample.scores,
            sample.labels,
            **options,
            folds=sample.folds,
            sample_weight=sample.weights,
        )
    elif method == "pooled":
        return _pooled(sample)
    else:
        made = _by_estimator(sample, method, kind)
    if made.n_classes > TWO:
        made = made.with_classes(sample.classes)
    # After a fit to folds the columns of the models have other names.
    return made if sample.folds is not None else made.with_columns(sample.columns)


def _pooled(sample: _Sample) -> PooledRule:
    from abers.core.pooled import fit_pooled_rule

    if sample.scores.ndim > 1:
        msg = (
            "--method pooled must go with one column of scores; got "
            f"{len(sample.columns)}. Leave it out: the stacked calibrator takes them."
        )
        raise InvalidParameter(msg)
    if sample.weights is not None:
        msg = "--method pooled takes no --weight. Leave it out, or say stacked."
        raise InvalidParameter(msg)
    folds: Any = sample.folds
    return fit_pooled_rule(sample.scores, sample.labels, folds)


def _by_estimator(sample: _Sample, method: str, kind: str) -> Calibrator:
    from abers.estimators import calibrators

    names = {
        "beta": "BetaCalibrator",
        "isotonic": "IsotonicCalibrator",
        "platt": "PlattCalibrator",
        "temperature": "TemperatureCalibrator",
        "venn-abers": "IVAPCalibrator",
    }
    estimator: Callable[..., Any] = getattr(calibrators, names[method])
    scores = "margin" if kind == "log-odds" else kind
    fitted = estimator(scores=scores).fit(sample.scores, sample.labels, sample.weights)
    made: Calibrator = fitted.calibrator_
    return made


class CalibratorInput:
    """The columns of a table that a calibrator reads."""

    def __init__(
        self,
        calibrator: Calibrator | PooledRule,
        table: InputTable,
        columns: Sequence[str] | None,
    ) -> None:
        self.names = columns_to_read(calibrator, table, columns)
        reads = getattr(calibrator, "reads", "margin")
        allowed = PROBABILITIES if reads == "probability" else None
        self._numbers = [Numbers(name, allowed) for name in self.names]

    @property
    def roles(self) -> dict[str, RoleColumn]:
        """The columns as roles of rows."""
        return {f"score {i}": numbers for i, numbers in enumerate(self._numbers)}

    def scores(self, values: Mapping[str, Any]) -> FloatArray:
        """Return the scores of roles that were read, as the calibrator takes them."""
        return np.column_stack([values[role] for role in self.roles])


def columns_to_read(
    calibrator: Calibrator | PooledRule,
    table: InputTable,
    columns: Sequence[str] | None,
) -> list[str]:
    """Return the columns that are named, or those of the fit; refuse another number."""
    own = list(getattr(calibrator, "columns", ()))
    wanted = getattr(calibrator, "n_columns", None) or calibrator.n_folds  # type: ignore[union-attr]
    if columns is None and not own:
        msg = (
            f"the columns of scores must be named with --scores: {wanted} of them, "
            "those of the first model first; the calibrator was fitted by folds."
        )
        raise InvalidParameter(msg)
    names = matching_columns(table, own if columns is None else columns)
    if len(names) != wanted:
        msg = (
            f"the calibrator reads {wanted} columns of scores; got {len(names)}, "
            f"{listed(names)}."
        )
        raise InvalidData(msg)
    return names


@dataclass(frozen=True, slots=True, eq=False)
class ClassRows:
    """Rows with the labels of several classes, for an evaluation."""

    scores: FloatArray
    labels: list[Any]
    weights: FloatArray | None
    n_rows: int
    n_missing: int


def load_class_rows(
    calibrator: Calibrator | PooledRule,
    files: StrPath | Sequence[StrPath],
    *,
    columns: Sequence[str] | None = None,
    label: str | None = None,
    pos_label: str | None = None,
    weight: str | None = None,
    drop_missing: bool = False,
    dialect: Dialect | None = None,
    progress: Progress | None = None,
) -> ClassRows:
    """Read what a calibrator is judged by, all rows, into memory."""
    tags = calibrator.metadata
    fitted = tags.get(LABEL_TAG)
    with Scratch() as scratch:
        table = InputTable(files, scratch, dialect)
        read = CalibratorInput(calibrator, table, columns)
        name = column(table, label, "label", fitted=fitted)
        classes = getattr(calibrator, "classes", (0, 1))
        of_labels: ClassLabels | Labels = ClassLabels(name, classes)
        if len(classes) == TWO:
            same = tags.get(POS_LABEL_TAG) if name == fitted else None
            of_labels = Labels(name, same if pos_label is None else pos_label)
        roles = {**read.roles, "label": of_labels}
        if weight is not None:
            roles["weight"] = Numbers(column(table, weight, "weight"), WEIGHTS)
        reader = RowReader(
            table, roles, purpose="judge", drop_missing=drop_missing, progress=progress
        )
        parts = [rows.values for rows in reader]
        reader.check_any("judge")
    values = joined(parts)
    codes = values["label"].tolist()
    return ClassRows(
        scores=read.scores(values),
        labels=[classes[code] for code in codes],
        weights=values.get("weight"),
        n_rows=reader.n_rows,
        n_missing=reader.n_missing,
    )
