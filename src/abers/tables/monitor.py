"""A monitor of files: a state on disk, to which each file is added once."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from abers.core.fitted import noun_of
from abers.errors import AbersError, InvalidFile, InvalidParameter
from abers.online.file_monitor import FileMonitor
from abers.online.ledger import FileFacts
from abers.online.monitor import UNKNOWN
from abers.storage.container import sha256_of
from abers.storage.files import load, save
from abers.tables.columns import (
    GROUP_TAG,
    ID_TAG,
    LABEL_TAG,
    NEG_LABELS_TAG,
    POS_LABEL_TAG,
    SCORE_TAG,
    Groups,
    Labels,
    column,
    label_text,
)
from abers.tables.files import (
    Dialect,
    InputTable,
    Scratch,
    named_format,
    sources_of,
)
from abers.tables.rows import FittedColumns, RowReader, find_roles, has_labels, joined
from abers.tables.writing import table_writer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from abers.tables.files import Progress
    from abers.tables.rows import RoleColumn
    from abers.validation import FloatArray


PROTECTED = "protected"  # the column of protected probabilities


class StreamLabels(Labels):
    """Labels of new rows, possibly none of them positive."""

    def check_seen(self) -> None:
        """Accept that the positive value did not occur."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How to read the files of a stream; None where the state decides."""

    score: str | None = None
    label: str | None = None
    pos_label: str | None = None
    id: str | None = None
    by: str | None = None
    drop_missing: bool = False
    dialect: Dialect | None = None
    progress: Progress | None = None
    protect: str | None = None  # file for protected probabilities


@dataclass(frozen=True, slots=True, eq=False)
class StreamRows:
    """The rows of a file; an unknown label is -1."""

    scores: FloatArray | None  # None: only labels, of rows in other files
    labels: NDArray[np.int64]
    ids: list[str]
    groups: list[str] | None
    n_missing: int  # rows left out because of missing values
    columns: dict[str, str]  # tags with their names


class IssuedRows(NamedTuple):
    """Protected probabilities of the rows of a file."""

    ids: list[str]  # empty if rows have no ids
    scores: FloatArray
    probabilities: FloatArray


class Refusal(NamedTuple):
    """A file that was refused as a whole."""

    file: str
    sentence: str


@dataclass(slots=True)
class RunFacts:
    """What a run has done with its files."""

    read: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)  # read before
    refused: list[Refusal] = field(default_factory=list)
    n_rows: int = 0
    n_labels: int = 0  # of waiting rows
    n_missing: int = 0  # rows left out because of missing values
    n_other_groups: int = 0  # rows left out, in groups without calibration rows
    n_late_labels: int = 0  # of rows already tested or dropped
    issued: list[IssuedRows] = field(default_factory=list)  # one per file of rows
    written: str | None = None  # the file of protected probabilities


class MonitorFile:
    """A monitor and the file of its state; nothing is written before `save`."""

    def __init__(self, path: str, monitor: FileMonitor, *, is_new: bool) -> None:
        self.path = path
        self.monitor = monitor
        self.is_changed = self._is_new = is_new
        self.run = RunFacts()

    @classmethod
    def start(
        cls, path: str, files: Sequence[str], options: StreamOptions, **settings: Any
    ) -> MonitorFile:
        """Start from files of calibration rows."""
        names = _files(files)
        tables = [_read(name, {}, options, calibrates=True) for name in names]
        columns = tables[0].columns
        groups = [group for table in tables for group in table.groups or ()]
        monitor = FileMonitor.begin(
            np.concatenate(
                [table.scores for table in tables if table.scores is not None]
            ),
            np.concatenate([table.labels for table in tables]),
            None if options.by is None else groups,
            has_ids=options.id is not None,
            **settings,
        )
        if len(tables) > 1:  # in the first there may not be all labels
            columns.pop(NEG_LABELS_TAG, None)
        monitor.metadata = columns
        for name, table in zip(names, tables, strict=True):
            monitor.note_calibration(_facts_of(name), table.ids)
        monitored = cls(path, monitor, is_new=True)
        monitored.run.n_missing = sum(table.n_missing for table in tables)
        return monitored

    @classmethod
    def load(cls, path: str) -> MonitorFile:
        """Continue from a saved state."""
        check_state(path)
        monitor = load(path)
        if not isinstance(monitor, FileMonitor):
            msg = (
                f"{path!r} must be a state that `abers monitor --start` has begun; it "
                f"is a {noun_of(monitor)}. Check the path."
            )
            raise InvalidFile(msg)
        return cls(path, monitor, is_new=False)

    def follow(self, files: Sequence[str], options: StreamOptions) -> None:
        """Add each new file, completely or not at all."""
        if options.protect is not None:
            self.monitor.check_protects()
        n_before = len(self.monitor.ledger)
        seen = self.monitor.digests()
        for name in _files(files):
            try:
                file = _facts_of(name)
                if file.digest in seen:
                    self.run.skipped.append(name)
                    continue
                self._take(file, options)
            except (AbersError, OSError) as error:
                self.run.refused.append(Refusal(name, _sentence(error, name)))
                continue
            seen.add(file.digest)
            self.run.read.append(name)
            self.is_changed = True
        self.monitor.judge(n_before)

    def wait(self, max_wait: int) -> None:
        """From now on, wait this many rows for a label."""
        self.monitor.set_max_wait(max_wait)
        self.is_changed = True

    def write_protected(
        self, path: str, options: StreamOptions, *, force: bool
    ) -> None:
        """Write what was issued; nothing if there were no files with rows.

        This comes before the state is saved: after a failure between the two, the same
        rows get the same numbers again.
        """
        if not self.run.issued:
            return
        tags, parts = self.monitor.metadata, self.run.issued
        scores = np.concatenate([part.scores for part in parts])
        columns = {tags[SCORE_TAG]: pa.array(scores)}
        if self.monitor.has_ids:
            ids = [one for part in parts for one in part.ids]
            columns = {tags[ID_TAG]: pa.array(ids, pa.string())}
        if PROTECTED in columns:
            msg = f"rows must have no column {PROTECTED!r} to be protected; rename it."
            raise InvalidParameter(msg)
        columns[PROTECTED] = pa.array(
            np.concatenate([part.probabilities for part in parts])
        )
        rows = pa.table(columns)
        form, dialect = named_format(path)[0] or "csv", options.dialect or Dialect()
        with table_writer(path, form, rows.schema, dialect, force=force) as writer:
            for batch in rows.to_batches():
                writer.write(batch)
        self.run.written = path

    def save(self, *, force: bool) -> None:
        """Write the state atomically."""
        save(self.monitor, self.path, force=force or not self._is_new)

    def _take(self, file: FileFacts, options: StreamOptions) -> None:
        rows = _read(file.name, self.monitor.metadata, options)
        if rows.scores is None:
            late = self.monitor.add_labels(file, rows.ids, rows.labels)
            self.run.n_late_labels += late
        else:
            taken = self.monitor.add_rows(
                *(file, rows.scores, rows.labels, rows.ids, rows.groups),
                protect=options.protect is not None,
            )
            self.run.n_other_groups += taken.n_left_out
            if taken.issued is not None:
                issued = IssuedRows(rows.ids, rows.scores, taken.issued)
                self.run.issued.append(issued)
        counts = self.monitor.ledger[-1].counts
        self.run.n_rows += counts.n_rows
        self.run.n_labels += counts.n_labels
        self.run.n_missing += rows.n_missing
        self.monitor.metadata |= {
            tag: name
            for tag, name in rows.columns.items()
            if tag not in self.monitor.metadata
        }


def check_state(path: str) -> None:
    """Raise if there is no state."""
    if not Path(path).exists():
        msg = (
            f"{path!r} must be the state of a monitor; there is no such file. "
            "Begin one with --start CALIBRATION."
        )
        raise InvalidFile(msg)


def _read(
    name: str,
    tags: Mapping[str, Any],
    options: StreamOptions,
    *,
    calibrates: bool = False,
) -> StreamRows:
    """Read the rows of a file, or its labels alone."""
    fitted = FittedColumns.of(tags)
    with Scratch() as scratch:
        # A label may come later in the file, or in a later file.
        table = InputTable([name], scratch, options.dialect, whole=True)
        roles = _roles(table, tags, options, fitted, calibrates=calibrates)
        reader = RowReader(
            table,
            roles,
            purpose="monitor",
            optional=None if calibrates else "label",
            drop_missing=options.drop_missing,
            progress=options.progress,
        )
        parts = [rows.values for rows in reader]
        if calibrates:
            reader.check_any("monitor")
    values = joined(parts) if parts else {}
    scores = values.get("score", np.empty(0)) + 0.0 if "score" in roles else None
    n = reader.n_rows - reader.n_missing
    tags_of_roles = {"score": SCORE_TAG, "label": LABEL_TAG, "group": GROUP_TAG}
    columns = {
        tag: roles[role].column for role, tag in tags_of_roles.items() if role in roles
    }
    if options.id is not None:
        columns[ID_TAG] = options.id
    if options.pos_label is not None:
        columns[POS_LABEL_TAG] = options.pos_label
        if calibrates and isinstance(label := roles["label"], Labels):
            columns |= label.tags
    return StreamRows(
        scores,
        values.get("label", np.full(n, UNKNOWN)).astype(np.int64),
        _texts(roles, "id", values) or [],
        _texts(roles, "group", values),
        reader.n_missing,
        columns,
    )


def _roles(
    table: InputTable,
    tags: Mapping[str, Any],
    options: StreamOptions,
    fitted: FittedColumns,
    *,
    calibrates: bool,
) -> dict[str, RoleColumn]:
    """Return the column of each role; without scores if the file has labels only."""
    ids = options.id if options.id is not None else tags.get(ID_TAG)
    groups = options.by if options.by is not None else tags.get(GROUP_TAG)
    with_labels = options.label is not None or has_labels(table, fitted)
    score = options.score if options.score is not None else fitted.score
    named: dict[str, str | None] = {}
    brings_labels = (
        with_labels
        and ids is not None
        and table.has(ids)
        and not (score is not None and table.has(score))
    )
    if calibrates or not brings_labels:
        named["score"] = options.score
    if calibrates or with_labels:
        named["label"] = options.label
    roles = find_roles(table, named, pos_label=options.pos_label, fitted=fitted)
    labels = roles.get("label")
    if not calibrates and isinstance(labels, Labels):
        roles["label"] = StreamLabels(
            labels.column, labels.pos_label, labels.neg_labels
        )
    if ids is not None and (not calibrates or table.has(ids)):
        roles["id"] = Groups(column(table, ids, "id"))
    if groups is not None and "score" in roles:
        roles["group"] = Groups(column(table, groups, "group"))
    return roles


def _texts(
    roles: Mapping[str, RoleColumn], role: str, values: Mapping[str, NDArray[Any]]
) -> list[str] | None:
    """Return ids or groups as text; None if there are none."""
    reader = roles.get(role)
    if not isinstance(reader, Groups):
        return None
    codes = values.get(role, np.empty(0, dtype=np.int64))
    return list(map(label_text, reader.names_of(codes)))


def _files(files: Sequence[str]) -> list[str]:
    """Return the distinct files."""
    sources = sources_of(files)
    for source in sources:
        if source.is_pipe or not source.is_local:
            msg = (
                "new rows must come in files of this machine, because a monitor "
                f"remembers which ones it has read; got {source.name}."
            )
            raise InvalidParameter(msg)
    return [source.path for source in sources]


def _facts_of(name: str) -> FileFacts:
    """Return the name, the date and the SHA-256 of a file."""
    changed = datetime.fromtimestamp(Path(name).stat().st_mtime, UTC)
    return FileFacts(name, f"{changed:%Y-%m-%d}", sha256_of(name))


def _sentence(error: Exception, name: str) -> str:
    """Return the reason why a file was refused."""
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {name!r}."
    return str(error)
