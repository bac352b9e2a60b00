"""The collector: calibration rows of tables, counted within a limit on memory.

Diagrams that were saved earlier are added up instead of being counted again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.core.blocks import WeightedRows
from abers.core.diagram import Diagram
from abers.core.units import Magnitudes, magnitudes, scale_for
from abers.errors import InvalidData, InvalidParameter
from abers.storage.fingerprint import (
    TAG as FINGERPRINT_TAG,
    Fingerprint,
    fingerprint_of_counts,
    mixed,
)
from abers.tables.columns import (
    GROUP_TAG,
    LABEL_TAG,
    SCORE_TAG,
    WEIGHT_TAG,
    Groups,
    Labels,
    rows_by_code,
)
from abers.tables.diagrams import saved_diagrams, summed
from abers.tables.external_sort import Runs, WaitingRows, rows_per_part
from abers.tables.files import InputTable
from abers.tables.rows import RowReader, check_counts, find_roles, notes_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from abers.tables.files import Dialect, Progress, Scratch, StrPath
    from abers.tables.rows import KeptRows, RoleColumn
    from abers.validation import FloatArray, IntArray

    Mask = NDArray[np.bool_]

# Peak bytes per row while rows are counted, and while a rule is fitted.
ROW_BYTES = 60
COUNT_BYTES = 130
DIAGRAM_BYTES = 24  # of each score: itself, negatives and positives


class CalibrationRows(NamedTuple):
    """Calibration rows: single ones, or counts of equal ones."""

    scores: FloatArray
    positives: Mask | FloatArray  # labels of rows, or number of positives in counts
    counts: FloatArray | None = None
    groups: IntArray | None = None  # codes

    @staticmethod
    def joined(parts: Sequence[CalibrationRows]) -> CalibrationRows:
        """Concatenate rows with the same columns."""
        columns: Any = (
            None if column[0] is None else np.concatenate(column)
            for column in zip(*parts, strict=True)
        )
        return CalibrationRows(*columns)

    def where(self, mask: Mask | IntArray) -> CalibrationRows:
        """Return some of the rows."""
        some: Any = (None if column is None else column[mask] for column in self)
        return CalibrationRows(*some)

    @property
    def magnitudes(self) -> Magnitudes:
        """What determines the scale of the weights."""
        if self.counts is None:
            return Magnitudes({}, 0)  # rows of weight one are whole
        return magnitudes(self.counts, np.asarray(self.positives, np.float64))

    def weighted(self) -> WeightedRows:
        """Return the rows of all groups, each with a weight."""
        counts = np.ones(self.scores.size) if self.counts is None else self.counts
        return WeightedRows(self.scores, counts, np.asarray(self.positives, np.float64))

    def diagram(self, scale: int) -> Diagram:
        """Count the rows of all groups in units of 2**-scale."""
        if self.counts is None:
            return Diagram.from_rows(self.scores, self.positives)
        return self.weighted().diagram(scale)


class Collector:
    """Diagrams of rows, one for each group.

    Rows are collected until counting them would take seven eighths of the memory; then,
    or when diagrams are requested, they are counted. Diagrams stay in memory if they
    fit into the last eighth, as with repeated scores; otherwise they go to disk as
    sorted runs. Diagrams of groups always stay in memory, since a rule set holds them.
    The scale of real weights depends on all of them, so their rows are kept on disk
    until all have been read.
    """

    def __init__(
        self, memory: int, scratch: Scratch, *, grouped: bool, weights: str
    ) -> None:
        self._memory = memory
        self._grouped = grouped
        self._scratch = scratch
        self._weights = weights  # their name in messages
        self._waiting: list[CalibrationRows] = []
        self._n_waiting = 0
        self._magnitudes = Magnitudes()
        self._waiting_on_disk: WaitingRows | None = None
        self._diagrams: dict[int, list[Diagram]] = {}
        self._runs: Runs | None = None
        self.are_probabilities = True  # all scores so far

    @property
    def is_on_disk(self) -> bool:
        """Whether the rows did not fit into memory."""
        return self._runs is not None or self._waiting_on_disk is not None

    def add(self, rows: CalibrationRows) -> None:
        """Add rows."""
        if rows.scores.size:
            self._look_at(rows.scores)
            self._magnitudes += rows.magnitudes
            self._waiting.append(rows)
            self._n_waiting += rows.scores.size
            cost = ROW_BYTES if rows.counts is None else COUNT_BYTES
            if self._n_waiting * cost > self._memory * 7 // 8:
                if self._magnitudes.whole_total is None:
                    self._put_rows_on_disk()
                else:
                    self._count(self._scale())
                    self._make_room()

    def add_diagram(self, diagram: Diagram) -> None:
        """Add rows that are counted already, instead of any others."""
        self._look_at(diagram.scores)
        masses: Any = diagram.counts, diagram.positives
        self._magnitudes += magnitudes(*masses)
        self._add_diagram(0, diagram)

    def _look_at(self, scores: FloatArray) -> None:
        if self.are_probabilities:
            self.are_probabilities = bool(scores.min() >= 0 and scores.max() <= 1)

    def take_rows(self) -> CalibrationRows | None:
        """Hand over all rows, if they are single rows that were not counted yet."""
        if self._grouped or self._diagrams or self._runs or not self._waiting:
            return None
        return None if self._waiting[0].counts is not None else self._taken()

    def take_weighted_rows(self) -> CalibrationRows | None:
        """Hand over all rows, if their weights are real and they fit into memory."""
        if self._magnitudes.whole_total is not None or self.is_on_disk:
            return None
        return self._taken() if self._waiting else None

    def count(self) -> int:
        """Count all rows, once there are no more; return the scale of all units."""
        scale = self._scale()
        if self._waiting_on_disk is not None:
            self._put_rows_on_disk()
            for code, rows in self._waiting_on_disk.taken():
                self._add_diagram(code, rows.diagram(scale))
                self._make_room()
        self._count(scale)
        return scale

    def parts(self) -> Iterator[Diagram]:
        """Yield the diagram of all rows in ascending parts; none if it is empty."""
        if self._runs:
            self._spill(self._runs)
            yield from self._runs.parts()
        elif diagrams := [d for own in self._diagrams.values() for d in own]:
            yield Diagram.sum(diagrams)

    def by_group(self) -> dict[int, Diagram]:
        """Return the diagram of each group, by its code."""
        for code, own in self._diagrams.items():
            self._diagrams[code] = [Diagram.sum(own)]
        return {code: own[0] for code, own in self._diagrams.items()}

    def _scale(self) -> int:
        """Return the scale of the weights so far, or raise."""
        return scale_for(self._magnitudes, self._weights)

    def _count(self, scale: int) -> None:
        """Count the rows that are in memory."""
        for code, rows in self._taken_by_group():
            self._add_diagram(code, rows.diagram(scale))

    def _put_rows_on_disk(self) -> None:
        if self._waiting_on_disk is None:
            self._waiting_on_disk = WaitingRows(self._new_folder())
        for code, rows in self._taken_by_group():
            self._waiting_on_disk.add(code, rows.weighted())

    def _add_diagram(self, code: int, diagram: Diagram) -> None:
        if diagram.scores.size:  # all weights may be negligible next to other rows'
            self._diagrams.setdefault(code, []).append(diagram)

    def _taken_by_group(self) -> list[tuple[int, CalibrationRows]]:
        if not self._waiting:
            return []
        rows = self._taken()
        if rows.groups is None:
            return [(0, rows)]
        return [(code, rows.where(own)) for code, own in rows_by_code(rows.groups)]

    def _taken(self) -> CalibrationRows:
        """Return the uncounted rows, and forget them."""
        rows = CalibrationRows.joined(self._waiting)
        self._waiting, self._n_waiting = [], 0
        return rows

    def _make_room(self) -> None:
        size = sum(d.scores.size for own in self._diagrams.values() for d in own)
        if self._grouped or size * DIAGRAM_BYTES <= self._memory // 8:
            return
        if self._runs is None:
            self._runs = Runs(self._new_folder(), rows_per_part(self._memory))
        self._spill(self._runs)

    def _new_folder(self) -> Path:
        folder = self._scratch.new_path()
        folder.mkdir()
        return folder

    def _spill(self, runs: Runs) -> None:
        for diagram in self._diagrams.pop(0, []):
            runs.add(diagram)


@dataclass(slots=True)
class Collected:
    """What was read: the rows to fit, those held out, and facts about the table."""

    kept: Collector
    held: Collector
    n_rows: int = 0  # of the table
    n_missing: int = 0
    n_kept: int = 0
    n_held_out: int = 0
    groups: list[Any] | None = None  # their names, by code
    score: str | None = None  # the column, if known
    weight: str | None = None  # the column of weights, which need not be counts
    tags: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    n_by_label: FloatArray = field(default_factory=lambda: np.zeros(2))
    weights: FloatArray = field(default_factory=lambda: np.zeros((2, 2)))

    @property
    def effective_sizes(self) -> tuple[float, float]:
        """The effective numbers of zeros and of ones (Kish); 0 if unknown."""
        zeros, ones = (
            weight / squares * weight if 0 < squares < np.inf else 0.0
            for weight, squares in self.weights.tolist()
        )
        return zeros, ones

    def add(self, rows: CalibrationRows, *, counted: bool) -> None:
        """Add rows to fit: single ones, perhaps weighted, or counts of equal ones."""
        self.kept.add(rows)
        self.n_kept += rows.scores.size
        ones = rows.positives > 0
        if counted:
            counts: Any = rows.counts
            self.n_by_label += (counts - rows.positives).sum(), rows.positives.sum()
            return
        self.n_by_label += (~ones).sum(), ones.sum()
        if rows.counts is not None:
            for label, own in enumerate((rows.counts[~ones], rows.counts[ones])):
                self.weights[label] += own.sum(), own @ own


def collected(
    files: StrPath | Sequence[StrPath],
    scratch: Scratch,
    *,
    memory: int,
    score: str | None = None,
    label: str | None = None,
    pos_label: str | None = None,
    weight: str | None = None,
    count: str | None = None,
    positives: str | None = None,
    by: str | None = None,
    holdout: float = 0.0,
    drop_missing: bool = False,
    dialect: Dialect | None = None,
    progress: Progress | None = None,
) -> Collected:
    """Read all rows of tables once, or add up saved diagrams; see `fit_table`."""
    named = {"score": score, "weight": weight, "group": by}
    named |= {"count": count, "positives": positives, "label": label}
    check_counts(named)
    if diagrams := saved_diagrams(files, scratch):
        options = {"by": by, "holdout": holdout or None, "pos-label": pos_label}
        options |= {"drop-missing": drop_missing or None}
        options |= {name: own for name, own in named.items() if name != "group"}
        _refuse_options_of_tables(options, dialect)
        return _added_up(diagrams, memory, scratch)
    if count is not None:
        del named["label"]  # or one would be searched for
    table = InputTable(files, scratch, dialect)
    roles = find_roles(table, named, pos_label=pos_label)
    reader = RowReader(
        table, roles, purpose="fit", drop_missing=drop_missing, progress=progress
    )
    return _read(reader, holdout, memory, scratch)


def _read(
    reader: RowReader, holdout: float, memory: int, scratch: Scratch
) -> Collected:
    """Read all rows once: to fit, or to evaluate the rule."""
    share = int(memory * holdout)
    options: Any = {
        "grouped": "group" in reader.roles,
        "weights": f"column {_weights_column(reader)!r}",
    }
    read = Collected(
        Collector(memory - share, scratch, **options),
        Collector(max(1, share), scratch, **options),
    )
    fingerprint, counted = Fingerprint(), "count" in reader.roles
    for rows in reader:
        row_numbers, counted_rows = calibration_rows(rows, reader.roles)
        if holdout:
            held = is_held_out(row_numbers, holdout)
            read.held.add(counted_rows.where(held))
            read.n_held_out += int(held.sum())
            counted_rows = counted_rows.where(~held)
        read.add(counted_rows, counted=counted)
        fingerprint = with_fitted_rows(fingerprint, counted_rows, counted=counted)
    if not read.n_kept:
        why = _why_none_is_left(reader, read.n_held_out, holdout)
        msg = f"{reader.table.name} must have rows to fit; {why}"
        raise InvalidData(msg)
    groups = reader.roles.get("group")
    read.n_rows, read.n_missing = reader.n_rows, reader.n_missing
    read.groups = groups.names if isinstance(groups, Groups) else None
    read.score = reader.roles["score"].column
    read.weight = weight.column if (weight := reader.roles.get("weight")) else None
    read.tags = own_tags(reader.roles, fingerprint)
    read.notes = notes_of(reader.roles)
    return read


def _added_up(
    diagrams: Mapping[str, Diagram], memory: int, scratch: Scratch
) -> Collected:
    """Return what saved diagrams have counted."""
    diagram, tags = summed(diagrams)
    options: Any = {"grouped": False, "weights": "the weights of the diagrams"}
    read = Collected(
        Collector(memory, scratch, **options), Collector(1, scratch, **options)
    )
    read.kept.add_diagram(diagram)
    positives = diagram.n_positives
    read.n_by_label += diagram.n_rows - positives, positives
    read.n_rows = read.n_kept = int(diagram.n_rows)
    read.score, read.weight = tags.get(SCORE_TAG), tags.pop(WEIGHT_TAG, None)
    read.tags = tags
    return read


def _refuse_options_of_tables(
    options: Mapping[str, Any], dialect: Dialect | None
) -> None:
    """Raise for options that say how to read a table."""
    given = [f"--{name}" for name, value in options.items() if value is not None]
    given += [] if dialect is None else dialect.options
    if given:
        msg = (
            f"{given[0]} must go with tables; got diagrams, whose rows are counted "
            "already. Leave it out."
        )
        raise InvalidParameter(msg)


def calibration_rows(
    rows: KeptRows, roles: Mapping[str, RoleColumn]
) -> tuple[IntArray, CalibrationRows]:
    """Return row numbers and rows; rows of weight 0 are ignored."""
    values = rows.values
    counts: Any = values.get("weight", values.get("count"))
    if "label" in values:
        ones = values["label"] == 1
        positives = ones if counts is None else np.where(ones, counts, 0.0)
    else:
        positives = values["positives"]
        if (positives > counts).any():
            row = int((positives > counts).argmax())
            msg = (
                f"column {roles['positives'].column!r} must not exceed column "
                f"{roles['count'].column!r}; got {positives[row].item()!r} of "
                f"{counts[row].item()!r} in {rows.batch.place(int(rows.places[row]))}."
            )
            raise InvalidData(msg)
    counted_rows = CalibrationRows(
        values["score"], positives, counts, values.get("group")
    )
    if counts is None or counts.all():
        return rows.row_numbers, counted_rows
    return rows.row_numbers[counts > 0], counted_rows.where(counts > 0)


def _why_none_is_left(reader: RowReader, n_held_out: int, holdout: float) -> str:
    """Explain why no rows are left, and what to do."""
    if n_held_out:
        return f"--holdout {holdout:g} took all {n_held_out:,} of them. Hold out fewer."
    if not reader.n_rows:
        return "it has none."
    if reader.n_missing == reader.n_rows:
        return f"all its {reader.n_rows:,} rows lack a value. Fill some in."
    return (
        f"column {_weights_column(reader)!r} is 0 in all "
        f"{reader.n_rows - reader.n_missing:,} of them."
    )


def _weights_column(reader: RowReader) -> str | None:
    """Return the column of weights; None if all rows have the same weight."""
    roles = reader.roles.get("weight"), reader.roles.get("count")
    return next((role.column for role in roles if role is not None), None)


def is_held_out(row_numbers: IntArray, share: float) -> Mask:
    """Return a mask of held-out rows: those whose number, from 0, has a small hash."""
    odd = np.uint64(0x9E3779B97F4A7C15)
    hashes = mixed((row_numbers.astype(np.uint64) + np.uint64(1)) * odd)
    return hashes < np.uint64(min(int(share * 2**64), 2**64 - 1))


def with_fitted_rows(
    fingerprint: Fingerprint, rows: CalibrationRows, *, counted: bool
) -> Fingerprint:
    """Add rows to a fingerprint; a count is added as the rows it stands for."""
    counts, positives = rows.counts, rows.positives
    if counts is None or not counted or (counts % 1 + positives % 1).any():
        return fingerprint.with_rows(rows.scores, positives > 0)
    return fingerprint + fingerprint_of_counts(rows.scores, counts, positives)


def own_tags(
    roles: Mapping[str, RoleColumn], fingerprint: Fingerprint
) -> dict[str, str]:
    """Return the tags that predicting and evaluating need."""
    names = {SCORE_TAG: "score", LABEL_TAG: "label", GROUP_TAG: "group"}
    tags = {t: roles[role].column for t, role in names.items() if role in roles}
    if isinstance(label := roles.get("label"), Labels):
        tags |= label.tags
    return tags | {FINGERPRINT_TAG: fingerprint.to_text()}
