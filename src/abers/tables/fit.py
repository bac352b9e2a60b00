"""Fit: from a table of scores and labels to a rule, within a limit on memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers import validation
from abers.core.auc import RunningAuc, mann_whitney_of_classes
from abers.core.blocks import WeightedRows, fit_rule_from_parts
from abers.core.diagram import Diagram, sorted_classes
from abers.core.fit import (
    rule_of_classes,
    rule_of_diagram,
    warn_of_inverted_rule,
)
from abers.core.fitted import RESERVED
from abers.core.own_weight import with_diagram
from abers.core.rule import Rule
from abers.core.rule_set import RuleSet, warn_of_inverted_groups
from abers.core.units import Magnitudes, magnitudes, scale_for
from abers.errors import InvalidData, InvalidParameter
from abers.losses import row_losses
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
    Groups,
    Labels,
    rows_by_code,
)
from abers.tables.external_sort import Runs, WaitingRows, rows_per_part
from abers.tables.files import InputTable, Scratch
from abers.tables.memory_limit import usual_memory
from abers.tables.rows import RowReader, check_counts, find_roles, notes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from abers.tables.files import Dialect, Progress, StrPath
    from abers.tables.rows import KeptRows, RoleColumn
    from abers.validation import FloatArray, IntArray

    Mask = NDArray[np.bool_]

GIGABYTE = 10**9
# Peak bytes per row while rows are counted, and while a rule is fitted.
ROW_BYTES = 60
COUNT_BYTES = 130
DIAGRAM_BYTES = 24  # of each score: itself, negatives and positives


@dataclass(frozen=True, slots=True)
class Losses:
    """Mean losses over rows: natural log loss and plain Brier loss."""

    log_loss: float
    brier_loss: float


@dataclass(frozen=True, slots=True)
class HoldoutResult:
    """A rule's losses on rows that were held out of its fit."""

    n_rows: float  # by weight
    n_positives: float
    rule: Losses
    scores: Losses | None  # of the scores, if they are probabilities


@dataclass(frozen=True, slots=True)
class Fit:
    """A rule, or a rule for each group, and facts about its fit.

    Attributes
    ----------
    rule : Rule or RuleSet
        Equal to the result of `fit_rule` or `fit_rules`, bit for bit.
    n_rows : int
        Rows of the table, before any were left out.
    n_missing : int
        Rows left out because of missing values.
    n_held_out : int
        Rows held out of the fit.
    n_fitted : int
        Rows that the rule was fitted to; those of weight 0 do not count.
    auc : float
        Area under the ROC curve of the calibration rows; below one half, the scores run
        the wrong way.
    on_disk : bool
        Whether the rows did not fit into memory.
    held_out : HoldoutResult or None
        The rule's losses on the held-out rows.
    metadata : dict
        Tags to save with the rule.
    notes : tuple of str
        How labels other than 0 and 1 were interpreted.
    """

    rule: Rule | RuleSet
    n_rows: int
    n_missing: int
    n_held_out: int
    n_fitted: int
    auc: float
    on_disk: bool
    held_out: HoldoutResult | None
    metadata: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def total_weight(self) -> float:
        """Total weight of the calibration rows; their number if all weigh 1."""
        return self._whole.n_rows

    @property
    def n_positives(self) -> float:
        """Total weight of the positive calibration rows."""
        return self._whole.n_positives

    @property
    def _whole(self) -> Rule:
        return self.rule.pooled if isinstance(self.rule, RuleSet) else self.rule

    def save(self, path: StrPath) -> None:
        """Write the rule, with its tags.

        Parameters
        ----------
        path : path-like
            Any name; the usual extension is `.abers`.
        """
        self.rule.save(path, self.metadata)


def fit_table(
    files: StrPath | Sequence[StrPath],
    *,
    score: str | None = None,
    label: str | None = None,
    pos_label: str | None = None,
    weight: str | None = None,
    count: str | None = None,
    positives: str | None = None,
    by: str | None = None,
    minimum: int = 30,
    increasing: bool = True,
    keep_diagram: bool = False,
    holdout: float = 0.0,
    drop_missing: bool = False,
    dialect: Dialect | None = None,
    metadata: Mapping[str, Any] | None = None,
    memory: int | None = None,
    temp: StrPath | None = None,
    progress: Progress | None = None,
) -> Fit:
    r"""Fit a rule to files of scores and labels, of any size.

    Parameters
    ----------
    files : path-like or sequence of path-like
        Tables, such as CSV or Parquet, compressed or not; folders, patterns, URIs of
        object stores; `-` for standard input. All must have the same columns; folders
        named key=value add one.
    score, label : str, default=None
        Columns; by default found by their usual names, if only one matches. A dot
        selects a field of a struct, as in model.score.
    pos_label : str, default=None
        The positive label, if labels are not 0 and 1, no and yes, false and true, or
        negative and positive.
    weight : str, default=None
        Column of weights.
    count, positives : str, default=None
        Columns of a table of counts, instead of label and weight: the number of rows at
        each score, and of positive rows.
    by : str, default=None
        Column of groups: fit a rule to each.
    minimum : int, default=30
        Smallest number of negatives and of positives for a group's own rule.
    increasing : bool, default=True
        Whether a higher score means a higher probability.
    keep_diagram : bool, default=False
        Whether the rule, and its file, keep the weights at each distinct score, all of
        which are then held in memory.
    holdout : float, default=0.0
        Share of rows to evaluate the rule on instead of fitting it. The choice depends
        only on row numbers in the table.
    drop_missing : bool, default=False
        Whether to leave out rows with missing values, which otherwise raise an error.
    dialect : Dialect, default=None
        How CSV and TSV are written: delimiter, decimal mark, encoding.
    metadata : mapping, default=None
        Tags to save with the rule.
    memory : int, default=None
        Bytes for the rows; None is 10**9, or half of the container's memory if that is
        less. Rows that do not fit are kept on disk. The rule itself and Python need
        memory in addition.
    temp : path-like, default=None
        Folder for temporary files; None is the system's.
    progress : callable, default=None
        Called with the number of rows read, and the total or None.

    Returns
    -------
    Fit
        The rule, with facts about its fit.

    Warns
    -----
    InvertedScoresWarning
        If the scores run the other way, significantly (p < 0.001 divided by the number
        of rules). Groups with real weights are not tested.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from abers.tables import fit_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "scores.csv")
    ...     _ = path.write_text("score,label\n1,0\n2,1\n3,0\n")
    ...     fit = fit_table(path)
    >>> fit.rule.bounds([2])
    array([[0.33333333, 0.66666667]])
    >>> fit.auc  # one (0, 1) pair in order, the other not
    0.5
    """
    if memory is None:
        memory = usual_memory(GIGABYTE)
    _check_options(holdout, memory, metadata)
    named = {"score": score, "weight": weight, "group": by}
    named |= {"count": count, "positives": positives, "label": label}
    check_counts(named)
    if count is not None:
        del named["label"]  # or one would be searched for
    with Scratch(temp) as scratch:
        table = InputTable(files, scratch, dialect)
        roles = find_roles(table, named, pos_label=pos_label)
        reader = RowReader(
            table, roles, purpose="fit", drop_missing=drop_missing, progress=progress
        )
        read = _collected(reader, holdout, memory, scratch)
        groups = roles.get("group")
        names = groups.names if isinstance(groups, Groups) else None
        rule, auc, scale = _fitted(
            read,
            names,
            minimum=minimum,
            increasing=increasing,
            keep_diagram=validation.as_flag(keep_diagram, "keep_diagram"),
            # The variance of weights within a cell is not collected.
            has_cells=weight is None,
        )
        held_out = _evaluated(rule, read.held, names) if read.n_held_out else None
    tags = own_tags(roles, read.fingerprint)
    if isinstance(rule, Rule):
        warn_of_inverted_rule(rule, auc, read.effective_sizes if scale else None)
    return Fit(
        rule=rule,
        n_rows=reader.n_rows,
        n_missing=reader.n_missing,
        n_held_out=read.n_held_out,
        n_fitted=read.n_kept,
        auc=auc if increasing else 1 - auc,
        on_disk=read.kept.is_on_disk,
        held_out=held_out,
        metadata=dict(metadata or {}) | tags,
        notes=notes_of(roles),
    )


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

    @property
    def is_on_disk(self) -> bool:
        """Whether the rows did not fit into memory."""
        return self._runs is not None or self._waiting_on_disk is not None

    def add(self, rows: CalibrationRows) -> None:
        """Add rows."""
        if rows.scores.size:
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

    def take_rows(self) -> CalibrationRows | None:
        """Hand over all rows, if they are single rows that were not counted yet."""
        if self._grouped or self._diagrams or self._runs or not self._waiting:
            return None
        return None if self._waiting[0].counts is not None else self._taken()

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
class _Collected:
    """The result of reading all rows."""

    kept: Collector
    held: Collector
    n_kept: int = 0
    n_held_out: int = 0
    fingerprint: Fingerprint = field(default_factory=Fingerprint)
    weights: FloatArray = field(default_factory=lambda: np.zeros((2, 2)))

    def weigh(self, rows: CalibrationRows) -> None:
        """Sum weights and their squares, separately for zeros and ones."""
        weights: Any = rows.counts
        ones = rows.positives > 0
        for label, own in enumerate((weights[~ones], weights[ones])):
            self.weights[label] += own.sum(), own @ own

    @property
    def effective_sizes(self) -> tuple[float, float]:
        """Return the effective numbers of zeros and of ones (Kish)."""
        zeros, ones = (
            weight / squares * weight if 0 < squares < np.inf else 0.0
            for weight, squares in self.weights.tolist()
        )
        return zeros, ones


def _collected(
    reader: RowReader, holdout: float, memory: int, scratch: Scratch
) -> _Collected:
    """Read all rows once: to fit, or to evaluate the rule."""
    share = int(memory * holdout)
    options: Any = {
        "grouped": "group" in reader.roles,
        "weights": f"column {_weights_column(reader)!r}",
    }
    read = _Collected(
        Collector(memory - share, scratch, **options),
        Collector(max(1, share), scratch, **options),
    )
    for rows in reader:
        row_numbers, counted_rows = calibration_rows(rows, reader.roles)
        if holdout:
            held = is_held_out(row_numbers, holdout)
            read.held.add(counted_rows.where(held))
            read.n_held_out += int(held.sum())
            counted_rows = counted_rows.where(~held)
        read.kept.add(counted_rows)
        if "weight" in reader.roles:
            read.weigh(counted_rows)
        read.n_kept += counted_rows.scores.size
        counted = "count" in reader.roles
        read.fingerprint = with_fitted_rows(
            read.fingerprint, counted_rows, counted=counted
        )
    if not read.n_kept:
        why = _why_none_is_left(reader, read.n_held_out, holdout)
        msg = f"{reader.table.name} must have rows to fit; {why}"
        raise InvalidData(msg)
    return read


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


def _fitted(
    read: _Collected,
    names: list[Any] | None,
    *,
    minimum: int,
    increasing: bool,
    keep_diagram: bool,
    has_cells: bool,
) -> tuple[Rule | RuleSet, float, int]:
    """Fit to the collected rows, by group if groups have names, and warn about groups.

    Also returns the AUC, and the scale of the weights: 0 if they are whole.
    """
    auc, collector = RunningAuc(), read.kept
    increasing = validation.as_flag(increasing, "increasing")
    if names is not None:
        scale = collector.count()
        diagrams = {names[code]: d for code, d in collector.by_group().items()}
        rule_set = RuleSet(
            diagrams, minimum=minimum, increasing=increasing, keep_diagram=keep_diagram
        )
        warn_of_inverted_groups(rule_set, diagrams, {})
        Diagram.sum(auc.watch(collector.parts()))
        return rule_set, auc.value, scale
    if not keep_diagram and (rows := collector.take_rows()) is not None:
        # All rows are in memory, and need not be counted first.
        classes = sorted_classes(rows.scores, rows.positives)
        rule = rule_of_classes(classes, increasing=increasing)
        return rule, mann_whitney_of_classes(classes).auc, 0
    scale = collector.count()
    if keep_diagram or not collector.is_on_disk:
        diagram = Diagram.sum(auc.watch(collector.parts()))
        rule = rule_of_diagram(diagram, increasing=increasing)
        rule = rule if has_cells else rule.with_cells(None)
        return with_diagram(rule, diagram) if keep_diagram else rule, auc.value, scale
    passes: Iterator[Any] = iter([auc.watch, iter])  # the first pass counts pairs
    rule = fit_rule_from_parts(
        lambda: next(passes)(collector.parts()), scale=scale, increasing=increasing
    )
    return rule if has_cells else rule.with_cells(None), auc.value, scale


def own_tags(
    roles: Mapping[str, RoleColumn], fingerprint: Fingerprint
) -> dict[str, str]:
    """Return the tags that predicting and evaluating need."""
    names = {SCORE_TAG: "score", LABEL_TAG: "label", GROUP_TAG: "group"}
    tags = {t: roles[role].column for t, role in names.items() if role in roles}
    if isinstance(label := roles.get("label"), Labels):
        tags |= label.tags
    return tags | {FINGERPRINT_TAG: fingerprint.to_text()}


def _check_options(
    holdout: float, memory: int, metadata: Mapping[str, Any] | None
) -> None:
    if not 0 <= holdout < 1:
        msg = f"holdout must be a share from 0 to below 1; got {holdout!r}."
        raise InvalidParameter(msg)
    if memory <= 0:
        msg = f"memory must be a positive number of bytes; got {memory!r}."
        raise InvalidParameter(msg)
    check_tags(metadata)


def check_tags(metadata: Mapping[str, Any] | None) -> None:
    """Raise for tags that look like our own."""
    if reserved := [tag for tag in metadata or () if str(tag).startswith(RESERVED)]:
        msg = f"tags must not begin with {RESERVED!r}; got {reserved[0]!r}."
        raise InvalidParameter(msg)


def _evaluated(
    rule: Rule | RuleSet, held: Collector, names: list[Any] | None
) -> HoldoutResult:
    """Evaluate a rule, or the rule of each group, on the held-out rows."""
    held.count()
    pairs: Iterable[tuple[Rule, Diagram]]
    if isinstance(rule, RuleSet):
        pairs = ((rule[(names or [])[c]], own) for c, own in held.by_group().items())
    else:
        pairs = ((rule, part) for part in held.parts())
    weight, positives, are_probabilities = 0.0, 0.0, True
    of_rule, of_scores = np.zeros(2), np.zeros(2)
    for own_rule, part in pairs:
        weight += float(part.n_rows)
        positives += float(part.n_positives)
        of_rule += _losses(part, own_rule.probability(part.scores))
        are_probabilities &= bool(part.scores[0] >= 0 and part.scores[-1] <= 1)
        if are_probabilities:
            of_scores += _losses(part, part.scores)
    return HoldoutResult(
        n_rows=weight,
        n_positives=positives,
        rule=Losses(*(of_rule / weight).tolist()),
        scores=Losses(*(of_scores / weight).tolist()) if are_probabilities else None,
    )


def _losses(part: Diagram, p: FloatArray) -> FloatArray:
    """Sum the losses of a probability over rows."""
    each = (
        row_losses(p, part.negatives, part.positives, loss) for loss in ("log", "brier")
    )
    return np.array([losses.sum() for losses in each])
