"""Calibrators of several columns, fitted to tables.

A rule reads one column of scores in batches, within a limit on memory. The calibrators
here read one column per class or model, and all rows are held in memory.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from abers import validation
from abers.core.log_odds import kind_of
from abers.errors import InvalidData, InvalidParameter
from abers.storage.fingerprint import TAG, fingerprint_of
from abers.tables.columns import (
    LABEL_TAG,
    PROBABILITIES,
    ClassLabels,
    Groups,
    Labels,
    Numbers,
    check_tags,
    column,
)
from abers.tables.files import InputTable, Scratch, listed
from abers.tables.predictors import check_sums, matching_columns
from abers.tables.rows import RowReader, find_roles, joined

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
    calibrator : Calibrator
        Equal to a fit of the same rows in Python, bit for bit.
    method : str
        The method of the fit.
    n_rows, n_missing, n_fitted : int
        Rows of the table, those left out because of missing values, and the others.
    n_by_class : dict
        How many rows each class has; of diagrams, the weight of each.
    notes : tuple of str
        How columns and labels were interpreted, where that is not obvious.
    metadata : dict
        Tags to save with it.
    """

    calibrator: Calibrator
    method: str
    n_rows: int
    n_missing: int
    n_fitted: int
    n_by_class: dict[Any, float]
    notes: tuple[str, ...]
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The complete rows of a table, by the role of their columns."""

    scores: FloatArray  # (n,) or (n, C), in the order of the classes
    kind: str  # of the scores
    labels: IntArray  # class number of each row
    classes: tuple[Any, ...]
    columns: tuple[str, ...]  # of the scores
    folds: IntArray | None
    weights: FloatArray | None
    n_rows: int  # of the table
    n_missing: int
    notes: tuple[str, ...]  # how columns and labels were interpreted
    metadata: dict[str, str]  # the column of labels, and the positive one


def fit_calibrator(
    files: StrPath | Sequence[StrPath],
    *,
    method: str | None = None,
    fold: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    **reading: Any,
) -> CalibratorFit:
    """Fit a calibrator to files with one or several columns of scores.

    Parameters
    ----------
    files : path-like or sequence of path-like
        As for `fit_table`.
    method : str, default=None
        "stacked", "venn-abers", "pooled", "beta", "temperature", "platt" or "isotonic".
        None: "stacked" for probabilities and with `fold`, else "venn-abers".
    fold : str, default=None
        Column of folds: each row is scored by the model that was trained without its
        fold. The calibrator then reads the scores of all models.
    metadata : mapping, default=None
        Tags to save with the calibrator.
    **reading
        The other options of `load_sample`: `columns`, `kind`, `label` and so on.

    Returns
    -------
    CalibratorFit
        The calibrator, with facts about its fit.
    """
    if method is not None:
        validation.check_choice(method, METHODS, "method")
        _check_method(method, fold)
    check_tags(metadata)
    sample = load_sample(files, fold=fold, **reading)
    if method is None:
        is_stacked = sample.kind == "probability" or fold is not None
        method = "stacked" if is_stacked else "venn-abers"
    calibrator = _fitted(sample, method)
    counts = np.bincount(sample.labels, minlength=len(sample.classes)).tolist()
    return CalibratorFit(
        calibrator=calibrator,
        method=method,
        n_rows=sample.n_rows,
        n_missing=sample.n_missing,
        n_fitted=sample.labels.size,
        n_by_class=dict(zip(sample.classes, counts, strict=True)),
        notes=sample.notes,
        metadata={
            **(metadata or {}),
            **sample.metadata,
            **_fingerprint(calibrator, sample),
        },
    )


def _fingerprint(calibrator: Calibrator, sample: Sample) -> dict[str, str]:
    """Return a fingerprint tag of the calibration rows, for a single rule."""
    by_fold = calibrator.predictions(sample.scores).by_fold if _is_one(sample) else ()
    if not by_fold or len(by_fold[0].scores) > 1:
        return {}
    return {TAG: fingerprint_of(by_fold[0].scores[0], sample.labels == 1).to_text()}


def _is_one(sample: Sample) -> bool:
    """Return whether a single model scored two classes."""
    return len(sample.classes) == TWO and sample.folds is None


def load_sample(
    files: StrPath | Sequence[StrPath],
    *,
    columns: Sequence[str] | None,
    kind: str | None = None,
    label: str | None = None,
    pos_label: str | None = None,
    weight: str | None = None,
    fold: str | None = None,
    purpose: str = "fit",
    drop_missing: bool = False,
    dialect: Dialect | None = None,
    temp: StrPath | None = None,
    progress: Progress | None = None,
) -> Sample:
    """Read one or several columns of scores, and labels, all rows, into memory.

    `columns` are names or patterns: one for two classes, else one per class; None is
    the usual column of scores. A column whose name ends with a label belongs to that
    class; if no name does, they belong to the classes in ascending order. `kind` says
    what they hold. Without it, they hold probabilities if all rows look like
    probabilities, else margins. Messages say that rows are for the `purpose`; the other
    options are those of `fit_table`.
    """
    if kind is not None:
        validation.check_choice(kind, KINDS, "kind")
    with Scratch(temp) as scratch:
        table = InputTable(files, scratch, dialect)
        if columns is None:
            columns = [column(table, None, "score")]
        names = matching_columns(table, columns)
        roles = _roles(table, names, kind, label, pos_label)
        roles |= find_roles(table, {"weight": weight})
        if fold is not None:
            roles["fold"] = Groups(column(table, fold, "fold"))
        reader = RowReader(
            table, roles, purpose=purpose, drop_missing=drop_missing, progress=progress
        )
        parts = []
        for rows in reader:
            if kind == "probability" and len(names) > 1:
                scores = [rows.values[f"score {k}"] for k in range(len(names))]
                check_sums(np.column_stack(scores), names, len(names), rows.place)
            parts.append(rows.values)
        reader.check_any(purpose)
    return _sample(reader, names, kind, joined(parts))


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
    kind: str | None,
    label: str | None,
    pos_label: str | None,
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
    return roles


def _sample(
    reader: RowReader, names: Sequence[str], kind: str | None, values: dict[str, Any]
) -> Sample:
    """Arrange scores by class; also return how they were interpreted."""
    roles, labels = reader.roles, values["label"].astype(np.int64)
    of_labels, metadata = roles["label"], {LABEL_TAG: roles["label"].column}
    notes: list[str | None] = []
    by_column = [values[f"score {place}"] for place in range(len(names))]
    classes: tuple[Any, ...] = (0, 1)
    if isinstance(of_labels, ClassLabels):
        classes, labels = of_labels.sorted_classes(labels)
        order, note = columns_of_classes(names, classes)
        notes.append(note)
        by_column = [by_column[place] for place in order]
        names = [names[place] for place in order]
    elif isinstance(of_labels, Labels):
        notes.append(of_labels.understood)
        metadata |= of_labels.tags
    scores = np.column_stack(by_column)
    if kind is None:
        kind = kind_of(scores, "auto")
        what = "probabilities" if kind == "probability" else "margins"
        notes.append(f"The scores are taken for {what}; --kind overrides that.")
    return Sample(
        scores=scores[:, 0] if len(names) == 1 else scores,
        kind=kind,
        labels=labels,
        classes=classes,
        columns=tuple(names),
        folds=_folds(roles.get("fold"), values),
        weights=values.get("weight"),
        n_rows=reader.n_rows,
        n_missing=reader.n_missing,
        notes=tuple(note for note in notes if note is not None),
        metadata=metadata,
    )


def _folds(of_folds: RoleColumn | None, values: Mapping[str, Any]) -> IntArray | None:
    """Return the fold number of each row, in ascending order of names."""
    if not isinstance(of_folds, Groups):
        return None
    places = {code: k for k, code in enumerate(_ascending(of_folds.names))}
    if len(places) < TWO:
        msg = f"column {of_folds.column!r} must hold at least two folds; got one."
        raise InvalidData(msg)
    return np.array([places[code] for code in values["fold"]], dtype=np.int64)


def _ascending(names: Sequence[Any]) -> list[int]:
    """Return the codes of folds in ascending order of names; 10 comes after 9."""

    def key(code: int) -> tuple[bool, float, str]:
        text = str(names[code])
        is_number = re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?", text) is not None
        return not is_number, float(text) if is_number else 0.0, text

    return sorted(range(len(names)), key=key)


def columns_of_classes(
    names: Sequence[str], classes: Sequence[Any]
) -> tuple[list[int], str | None]:
    """Return the column of each class, and a note if names do not show it."""
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


def _fitted(sample: Sample, method: str) -> Calibrator:
    if method == "stacked":
        from abers.core.stacked_fit import fit_stacked_rule

        options: Any = {"kind": sample.kind}
        made: Calibrator = fit_stacked_rule(
            sample.scores,
            sample.labels,
            **options,
            folds=sample.folds,
            sample_weight=sample.weights,
        )
    elif method == "pooled":
        made = as_calibrator(_pooled(sample))
    else:
        made = _by_estimator(sample, method)
    made = made.with_classes(sample.classes)
    # After a fit to folds the columns of the models have other names.
    return made if sample.folds is not None else made.with_columns(sample.columns)


def as_calibrator(fitted: Calibrator | PooledRule) -> Calibrator:
    """Return a pooled rule as a calibrator of its K columns."""
    from abers.core.pooled import PooledRule

    if not isinstance(fitted, PooledRule):
        return fitted
    from abers.core.venn_abers_calibrator import VennAbersCalibrator

    return VennAbersCalibrator(
        [fitted],
        (0, 1),
        reads="score",
        merge="pooled",
        is_cross=True,
        metadata=fitted.metadata,
    )


def _pooled(sample: Sample) -> PooledRule:
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


def _by_estimator(sample: Sample, method: str) -> Calibrator:
    from abers.estimators import calibrators

    names = {
        "beta": "BetaCalibrator",
        "isotonic": "IsotonicCalibrator",
        "platt": "PlattCalibrator",
        "temperature": "TemperatureCalibrator",
        "venn-abers": "IVAPCalibrator",
    }
    estimator: Callable[..., Any] = getattr(calibrators, names[method])
    scores = "margin" if sample.kind == "log-odds" else sample.kind
    fitted = estimator(scores=scores).fit(sample.scores, sample.labels, sample.weights)
    made: Calibrator = fitted.calibrator_
    return made
