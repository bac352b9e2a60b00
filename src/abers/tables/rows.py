"""Rows: what a table says of scores and labels, checked, a batch at a time.

To calibrate, rows are handed on batch by batch. To judge a rule, all are looked at
at once, several times, so they are held: 8 bytes a row for scores, 1 for labels, 8 for
each of weights, groups and probabilities before. To sort and count them takes about ten
times as much.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.core.diagram import Diagram
from abers.errors import InvalidParameter, InvalidScores, InvalidTable, InvalidWeights
from abers.tables.columns import (
    ABSENT,
    USUAL,
    Gaps,
    Groups,
    Labels,
    column,
    masses,
    numbers,
)
from abers.tables.sources import Scratch
from abers.tables.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from abers.tables.sources import StrPath
    from abers.tables.table import Batch, Progress
    from abers.validation import FloatArray, IntArray

    Mask = NDArray[np.bool_]

SEED = 0  # of samples: the same rows in each run


class Rows(NamedTuple):
    """Calibration rows: observations, or counts of them."""

    scores: FloatArray
    positives: Mask | FloatArray  # labels of observations, or how many of the counts
    counts: FloatArray | None = None
    groups: IntArray | None = None  # codes

    def where(self, mask: Mask | IntArray) -> Rows:
        """Return some of the rows."""
        some: Any = (None if column is None else column[mask] for column in self)
        return Rows(*some)

    def diagram(self) -> Diagram:
        """Count the rows, whatever their group."""
        if self.counts is None:
            return Diagram.from_observations(self.scores, self.positives)
        return Diagram.from_counts(self.scores, self.counts, self.positives)


def joined(parts: Sequence[Rows]) -> Rows:
    """Put rows together."""
    columns: Any = (
        None if column[0] is None else np.concatenate(column)
        for column in zip(*parts, strict=True)
    )
    return Rows(*columns)


@dataclass(frozen=True, slots=True)
class Columns:
    """Which columns hold what."""

    score: str
    label: str | None = None
    weight: str | None = None
    count: str | None = None
    positives: str | None = None
    group: str | None = None

    @property
    def names(self) -> list[str]:
        """The columns to read."""
        every = (getattr(self, role) for role in self.__slots__)
        return list(dict.fromkeys(name for name in every if name is not None))


def chosen(
    table: Table,
    *,
    score: str | None,
    label: str | None,
    weight: str | None,
    count: str | None,
    positives: str | None,
    by: str | None,
) -> Columns:
    """Find the columns of a fit: those named, and the usual ones for the rest."""
    if (count is None) != (positives is None):
        msg = "--count and --positives must come together; got one of them."
        raise InvalidParameter(msg)
    if count is not None and (label is not None or weight is not None):
        msg = "--count and --positives must stand instead of --label and --weight."
        raise InvalidParameter(msg)
    named = {"weight": weight, "count": count, "positives": positives, "group": by}
    return Columns(
        score=column(table, score, "score"),
        label=column(table, label, "label") if count is None else None,
        **{
            role: None if name is None else column(table, name, role)
            for role, name in named.items()
        },
    )


@dataclass(slots=True)
class CalibrationRows:
    """The rows of a table to calibrate with; iterate once, then ask what was seen."""

    table: Table
    columns: Columns
    positive: str | None = None
    drop_missing: bool = False
    progress: Progress | None = None
    n_rows: int = 0
    n_missing: int = 0  # rows that lack a value
    groups: Groups | None = None
    _labels: Labels | None = None
    _gaps: Gaps = field(default_factory=Gaps)

    def __post_init__(self) -> None:
        if self.columns.label is not None:
            self._labels = Labels(self.columns.label, self.positive)
        if self.columns.group is not None:
            self.groups = Groups(self.columns.group)

    def __iter__(self) -> Iterator[tuple[IntArray, Rows]]:
        """Yield rows that lack nothing, with their numbers in the table, from 0."""
        for batch in self.table.batches(self.columns.names, progress=self.progress):
            self.n_rows += len(batch)
            lacking = np.zeros(len(batch), dtype=np.bool_)
            rows = self._read(batch, lacking)
            self.n_missing += int(lacking.sum())
            kept = ~lacking
            if rows.counts is not None:
                kept &= rows.counts > 0  # as if they were not there
            row_numbers = batch.row_number + np.flatnonzero(kept)
            yield row_numbers, rows if kept.all() else rows.where(kept)
        if not self.drop_missing:
            self._gaps.refuse(self.n_rows, "fit")
        if self._labels:
            self._labels.check_seen()

    def _read(self, batch: Batch, lacking: Mask) -> Rows:
        """Read a batch; mark the rows that lack something."""
        scores = self._numbers(batch, self.columns.score, lacking) + 0.0  # one zero
        groups = None
        if self.groups:
            groups = self.groups.codes(batch)
            self._gaps.note(batch, self.groups.column, groups == ABSENT, lacking)
        if self._labels is None:
            counts = self._masses(batch, self.columns.count, lacking)
            positives = self._masses(batch, self.columns.positives, lacking)
            self._check_shares(batch, counts, positives)
            return Rows(scores, positives, counts, groups)
        codes = self._labels.codes(batch)
        self._gaps.note(batch, self._labels.column, codes == ABSENT, lacking)
        ones = codes == 1
        if self.columns.weight is None:
            return Rows(scores, ones, None, groups)
        weights = self._masses(batch, self.columns.weight, lacking)
        return Rows(scores, np.where(ones, weights, 0.0), weights, groups)

    def _numbers(self, batch: Batch, name: str, lacking: Mask) -> FloatArray:
        values = numbers(batch, name)
        self._gaps.note(batch, name, np.isnan(values), lacking)
        return values

    def _masses(self, batch: Batch, name: str | None, lacking: Mask) -> FloatArray:
        """Return weights or counts, 0 where they are missing."""
        assert name is not None  # noqa: S101 (chosen() has seen to it)
        values = masses(batch, name)
        missing = np.isnan(values)
        self._gaps.note(batch, name, missing, lacking)
        return np.where(missing, 0.0, values)

    def _check_shares(
        self, batch: Batch, counts: FloatArray, positives: FloatArray
    ) -> None:
        if (positives > counts).any():
            row = int((positives > counts).argmax())
            msg = (
                f"column {self.columns.positives!r} must not exceed column "
                f"{self.columns.count!r}; got {positives[row].item()!r} of "
                f"{counts[row].item()!r} in {batch.place(row)}."
            )
            raise InvalidWeights(msg)


class Fitted(NamedTuple):
    """What a rule remembers of the table that it was fitted to."""

    score: str | None = None
    label: str | None = None
    positive: str | None = None  # of the labels in that column


@dataclass(frozen=True, slots=True, eq=False)
class LoadedRows:
    """Columns of a table, without the rows that lack a value.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        Scores, or probabilities if these were asked for.
    labels : ndarray of bool of shape (n,), or None
        None if the table has none and may have none.
    weights, before : ndarray of shape (n,), or None
        Weights, and probabilities before calibration, if asked for.
    groups : list or None
        The group of each row, None where it is missing; if asked for.
    n_rows : int
        Rows of the table, before any were left out.
    n_missing : int
        Rows left out because they lack a value.
    """

    scores: FloatArray
    labels: Mask | None
    weights: FloatArray | None
    before: FloatArray | None
    groups: Any
    n_rows: int
    n_missing: int


def load_rows(
    files: StrPath | Sequence[StrPath],
    *,
    score: str | None = None,
    fitted: Fitted | None = None,
    probability: str | None = None,
    label: str | None = None,
    needs_label: bool = True,
    positive: str | None = None,
    weight: str | None = None,
    before: str | None = None,
    by: str | None = None,
    drop_missing: bool = False,
    progress: Progress | None = None,
) -> LoadedRows:
    r"""Read scores and labels, all rows of them, into memory.

    Parameters
    ----------
    files : path-like or sequence of path-like
        As for `fit_table`.
    score, label : str, default=None
        Columns; found by their usual names if only one has such a name.
    fitted : Fitted, default=None
        The columns when the rule was fitted: taken if none is named.
    probability : str, default=None
        Column of probabilities, which then stand instead of scores.
    needs_label : bool, default=True
        Whether a table without a column of labels is an error.
    positive : str, default=None
        The positive label, if labels are not 0 and 1 or true and false.
    weight, before, by : str, default=None
        Columns of weights, of probabilities before calibration, and of groups.
    drop_missing : bool, default=False
        Leave out rows that lack a value; without it they are an error. A row without a
        group lacks nothing: such rows are a group, too.
    progress : callable, default=None
        Called with the number of rows read, and of how many or None.

    Returns
    -------
    LoadedRows
        The columns.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from abers.tables.rows import load_rows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "scores.csv")
    ...     _ = path.write_text("score,label\n1,0\n,1\n3,1\n")
    ...     rows = load_rows(path, drop_missing=True)
    >>> rows.scores, rows.labels, rows.n_missing
    (array([1., 3.]), array([False,  True]), 1)
    """
    with Scratch() as scratch:
        table = Table(files, scratch)
        fitted = fitted or Fitted()
        if probability is None:
            scores = column(table, score, "score", fitted=fitted.score)
        else:
            scores = column(table, probability, "probability")
        labels = None
        if label is not None or needs_label or _has_labels(table, fitted):
            name = column(table, label, "label", fitted=fitted.label)
            if positive is None and name == fitted.label:
                positive = fitted.positive
            labels = Labels(name, positive)
        loader = _Loader(
            scores=scores,
            are_probabilities=probability is not None,
            labels=labels,
            weight=weight and column(table, weight, "weight"),
            before=before and column(table, before, "before"),
            groups=Groups(column(table, by, "group")) if by else None,
        )
        for batch in table.batches(loader.columns, progress=progress):
            loader.read(batch)
        if not drop_missing:
            loader.gaps.refuse(loader.n_rows, "judge")
        if labels:
            labels.check_seen()
        loaded = loader.loaded()
        if not loaded.scores.size:
            why = "all its rows lack a value" if loaded.n_rows else "it has none"
            msg = f"{table.name} must have rows to judge; {why}."
            raise InvalidScores(msg)
        return loaded


def sampled(n_rows: int, most: int) -> IntArray:
    """Draw at most so many rows at random, by a fixed seed; ascending."""
    if n_rows <= most:
        return np.arange(n_rows)
    drawn = np.random.default_rng(SEED).choice(n_rows, most, replace=False)
    return np.sort(drawn)


def _has_labels(table: Table, fitted: Fitted) -> bool:
    usual = {fitted.label, *USUAL["label"]}
    return any(name in usual or name.casefold() in usual for name in table.columns)


@dataclass(slots=True)
class _Loader:
    """Parts of columns, batch by batch."""

    scores: str
    are_probabilities: bool
    labels: Labels | None
    weight: str | None
    before: str | None
    groups: Groups | None
    n_rows: int = 0
    n_missing: int = 0
    gaps: Gaps = field(default_factory=Gaps)
    parts: dict[str, list[NDArray[Any]]] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The columns to read."""
        encoded = [each.column for each in (self.labels, self.groups) if each]
        plain = [name for name in (self.scores, self.weight, self.before) if name]
        return list(dict.fromkeys([*plain, *encoded]))

    def read(self, batch: Batch) -> None:
        """Take the rows of a batch that lack nothing."""
        lacking = np.zeros(len(batch), dtype=np.bool_)
        found: dict[str, NDArray[Any]] = {}
        found["scores"] = numbers(batch, self.scores) + 0.0  # one kind of zero
        if self.are_probabilities:
            _check_range(batch, self.scores, found["scores"])
        if self.weight:
            found["weights"] = masses(batch, self.weight)
        if self.before:
            found["before"] = numbers(batch, self.before)
            _check_range(batch, self.before, found["before"])
        names = {"scores": self.scores, "weights": self.weight, "before": self.before}
        for key, values in found.items():
            self.gaps.note(batch, str(names[key]), np.isnan(values), lacking)
        if self.labels:
            codes = self.labels.codes(batch)
            self.gaps.note(batch, self.labels.column, codes == ABSENT, lacking)
            found["labels"] = codes == 1
        if self.groups:
            found["groups"] = self.groups.codes(batch)
        self.n_rows += len(batch)
        self.n_missing += int(lacking.sum())
        for key, values in found.items():
            kept = values[~lacking] if lacking.any() else values
            self.parts.setdefault(key, []).append(kept)

    def loaded(self) -> LoadedRows:
        """Put the parts together, a column at a time."""
        whole: dict[str, Any] = {
            key: np.concatenate(self.parts.pop(key)) for key in list(self.parts)
        }
        groups = None
        if self.groups and "groups" in whole:
            # -1, the code of no group, takes the last name.
            names = np.array([*self.groups.names, None], dtype=np.object_)
            groups = names[whole["groups"]].tolist()
        return LoadedRows(
            scores=whole.get("scores", np.empty(0)),
            labels=whole.get("labels"),
            weights=whole.get("weights"),
            before=whole.get("before"),
            groups=groups,
            n_rows=self.n_rows,
            n_missing=self.n_missing,
        )


def _check_range(batch: Batch, name: str, values: FloatArray) -> None:
    bad = (values < 0) | (values > 1)
    if bad.any():
        row = int(bad.argmax())
        msg = (
            f"column {name!r} must hold probabilities, from 0 to 1; "
            f"got {values[row].item()!r} in {batch.place(row)}."
        )
        raise InvalidTable(msg)
