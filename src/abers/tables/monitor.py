"""A monitor of files: a state on disk, to which each file of new rows is added once."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from abers.errors import InvalidData, InvalidFile, InvalidParameter
from abers.online.monitor import UNKNOWN, Monitor
from abers.storage.atomic import claiming, replacing
from abers.storage.container import sha256_of
from abers.storage.files import encoded, load
from abers.tables.columns import LABEL_TAG, POS_LABEL_TAG, SCORE_TAG, Labels
from abers.tables.files import STDIN, InputTable, Scratch, is_pipe, named_files
from abers.tables.rows import FittedColumns, RowReader, find_roles, has_labels, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from abers.online.monitor import MonitorState
    from abers.tables.files import Dialect, Progress
    from abers.validation import FloatArray, IntArray


class StreamLabels(Labels):
    """Labels of new rows, among which there may be no positive one."""

    def check_seen(self) -> None:
        """Accept that."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How the files of a stream are read; None where the state knows."""

    score: str | None = None
    label: str | None = None
    pos_label: str | None = None
    drop_missing: bool = False
    dialect: Dialect | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StreamRows:
    """The rows of files; the label is -1 where it is not known."""

    scores: FloatArray
    labels: NDArray[np.int8]
    n_missing: int = 0  # rows left out, for they have no score
    columns: dict[str, str] | None = None  # tags that name them


class Stall(NamedTuple):
    """Why a run could hardly test labels: one holds back the others, or rows left."""

    reason: Literal["held back", "dropped"]
    row: int  # of the stream: the one without a label, or the first that was dropped
    n_rows: int  # that are held back, or were dropped
    n_others: int  # labels that could be used, or rows that the run brought


class MonitorFile:
    """A monitor and the file that it is kept in; nothing is written before `save`."""

    def __init__(self, path: str, monitor: Monitor, digest: str | None) -> None:
        self.path = path
        self.monitor = monitor
        self.tags: dict[str, str] = {}
        self.n_new = 0
        self.n_missing = 0
        self.stall: Stall | None = None  # of this run
        self._digest = digest  # of the file as it was read; None: there was none

    @classmethod
    def start(
        cls, path: str, files: Sequence[str], options: StreamOptions, **settings: Any
    ) -> MonitorFile:
        """Begin with calibration rows, which the files hold."""
        names, digests = _digested(files, ())
        rows = _read(names, {}, options, needs_labels=True)
        started = cls(path, Monitor(rows.scores, rows.labels, **settings), None)
        started.monitor.mark_read(digests)
        started.tags = rows.columns or {}
        started.n_missing = rows.n_missing
        return started

    @classmethod
    def load(cls, path: str) -> MonitorFile:
        """Go on with a state."""
        if not Path(path).exists():
            msg = (
                f"{path!r} must be the state of a monitor; there is no such file. "
                "Begin one with --start CALIBRATION."
            )
            raise InvalidFile(msg)
        digest = sha256_of(path)
        monitor = load(path)
        if not isinstance(monitor, Monitor):
            msg = f"{path!r} must be a monitor; it is a {monitor.KIND}. Check the path."
            raise InvalidFile(msg)
        return cls(path, monitor, digest)

    def follow(self, files: Sequence[str], options: StreamOptions) -> None:
        """Take the rows of files that were not read before."""
        names, digests = _digested(files, self.monitor.digests)
        rows = _read(names, self.monitor.metadata | self.tags, options)
        has_label = rows.labels != UNKNOWN
        before = self.monitor.state
        # At once: a label that comes with its row has not waited.
        self.monitor.update(rows.scores, rows.labels, known=has_label)
        dropped = self.monitor.dropped.rows[before.n_dropped :]
        self.stall = self._stall(before, has_label, dropped)
        self.n_new += rows.scores.size
        self.n_missing += rows.n_missing
        self.monitor.mark_read(digests)

    def save(self, *, force: bool) -> None:
        """Write the state, whole or not at all; refuse if another run was faster."""
        replace = force or self._digest is not None
        with ExitStack() as stack, replacing(self.path, force=replace) as file:
            file.writelines(encoded(self.monitor, self.tags))
            # From here until the file has its name, nobody else may replace it.
            is_mine = stack.enter_context(claiming(self.path))
            if not is_mine or self._has_changed():
                msg = (
                    f"{self.path!r} must not change while it is in use; another "
                    "command has written it. Run this one again."
                )
                raise InvalidData(msg)

    def _stall(
        self, before: MonitorState, has_label: NDArray[np.bool_], dropped: IntArray
    ) -> Stall | None:
        """Judge a run by the labels that it brought and the rows that were dropped."""
        state, unlabelled = self.monitor.state, self.monitor.waiting.rows
        n_used = state.n_labels - before.n_labels
        n_held_back = state.n_waiting - unlabelled.size
        if has_label.any() and n_used < n_held_back:
            return Stall("held back", int(unlabelled[0]), n_held_back, n_used)
        if 2 * dropped.size > has_label.size:
            return Stall("dropped", int(dropped[0]), dropped.size, has_label.size)
        return None

    def _has_changed(self) -> bool:
        """Whether the state is no longer the one that was read."""
        return self._digest is not None and sha256_of(self.path) != self._digest


def _read(
    names: Sequence[str],
    tags: dict[str, Any],
    options: StreamOptions,
    *,
    needs_labels: bool = False,
) -> StreamRows:
    """Read scores and labels; where labels may be unknown, -1 stands for them."""
    fitted = FittedColumns.of(tags)
    with Scratch() as scratch:
        # A label may come late, in the file as in time.
        table = InputTable(names, scratch, options.dialect, whole=True)
        named = {"score": options.score}
        if needs_labels or options.label is not None or has_labels(table, fitted):
            named["label"] = options.label
        roles = find_roles(table, named, pos_label=options.pos_label, fitted=fitted)
        labels = roles.get("label")
        if not needs_labels and isinstance(labels, Labels):
            roles["label"] = StreamLabels(labels.column, labels.pos_label)
        reader = RowReader(
            table,
            roles,
            purpose="monitor",
            optional=None if needs_labels else "label",
            drop_missing=options.drop_missing,
            progress=options.progress,
        )
        parts = [rows.values for rows in reader]
        reader.check_any("monitor")
    values = joined(parts)
    scores = values["score"] + 0.0
    columns = {SCORE_TAG: roles["score"].column}
    if "label" in roles:
        columns[LABEL_TAG] = roles["label"].column
    if options.pos_label is not None:
        columns[POS_LABEL_TAG] = options.pos_label
    unknown = np.full(scores.size, UNKNOWN, dtype=np.int8)
    return StreamRows(scores, values.get("label", unknown), reader.n_missing, columns)


def _digested(files: Sequence[str], seen: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of files and their checksums; refuse one that was read."""
    names: list[str] = []
    digests: list[str] = []
    for name in named_files(files):
        if name == STDIN or is_pipe(name):
            msg = (
                "new rows must come in files, because a monitor remembers which ones "
                f"it has read; got {'standard input' if name == STDIN else repr(name)}."
            )
            raise InvalidParameter(msg)
        digest = sha256_of(name)
        if digest in {*seen, *digests}:
            msg = (
                f"{name!r} must hold new rows; a file with the same contents "
                "(SHA-256) was read before. Nothing was changed."
            )
            raise InvalidData(msg)
        names.append(name)
        digests.append(digest)
    return names, digests
