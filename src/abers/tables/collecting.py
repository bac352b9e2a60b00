"""Collecting: rows become counts, in memory while they fit, else on disk."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from abers.core.diagram import Diagram
from abers.tables.rows import joined
from abers.tables.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abers.tables.rows import Rows
    from abers.tables.sources import Scratch

# Bytes that a row takes at the peak of counting it and of fitting to the counts.
OBSERVATION_BYTES = 60
COUNT_BYTES = 130
DIAGRAM_BYTES = 24  # of each score: itself, its negatives, its positives
PART_BYTES = 400  # of each score of a part while its piece of the rule is fitted
PART_ROWS = (2**12, 2**18)  # at least, at most


class Collector:
    """Diagrams of rows, one for each group.

    Rows wait until counting them would take seven eighths of the memory; then they are
    counted. The diagrams stay if they fit into the last eighth, as they do for scores
    that repeat; if not, they go to disk as sorted runs. Diagrams of groups always stay:
    a rule set holds them.
    """

    def __init__(self, memory: int, scratch: Scratch, *, grouped: bool) -> None:
        self._memory = memory
        self._grouped = grouped
        self._scratch = scratch
        self._waiting: list[Rows] = []
        self._n_waiting = 0
        self._diagrams: dict[int, list[Diagram]] = {}
        self._runs: Runs | None = None

    @property
    def is_on_disk(self) -> bool:
        """Whether the rows did not fit into memory."""
        return self._runs is not None

    @property
    def is_exact(self) -> bool:
        """Whether parts on disk have integer weights, and so give an exact rule."""
        return self._runs is not None and self._runs.is_exact

    def add(self, rows: Rows) -> None:
        """Take some rows."""
        if rows.scores.size:
            self._waiting.append(rows)
            self._n_waiting += rows.scores.size
            cost = OBSERVATION_BYTES if rows.counts is None else COUNT_BYTES
            if self._n_waiting * cost > self._memory * 7 // 8:
                self._count()
                self._make_room()

    def finish(self) -> None:
        """Count what still waits."""
        self._count()
        if self._runs:
            self._spill(self._runs)

    def parts(self) -> Iterator[Diagram]:
        """Yield the diagram of all rows in ascending parts; none if it is empty."""
        if self._runs:
            yield from self._runs.parts()
        elif diagrams := [d for own in self._diagrams.values() for d in own]:
            yield Diagram.sum(diagrams)

    def by_group(self) -> dict[int, Diagram]:
        """Return the diagram of each group, by its code."""
        for code, own in self._diagrams.items():
            self._diagrams[code] = [Diagram.sum(own)]
        return {code: own[0] for code, own in self._diagrams.items()}

    def _count(self) -> None:
        if not self._waiting:
            return
        rows = joined(self._waiting)
        self._waiting, self._n_waiting = [], 0
        if rows.groups is None:
            self._diagrams.setdefault(0, []).append(rows.diagram())
            return
        order = np.argsort(rows.groups, kind="stable")
        codes, first = np.unique(rows.groups[order], return_index=True)
        for code, own in zip(codes.tolist(), np.split(order, first[1:]), strict=True):
            self._diagrams.setdefault(code, []).append(rows.where(own).diagram())

    def _make_room(self) -> None:
        size = sum(d.scores.size for own in self._diagrams.values() for d in own)
        if self._grouped or size * DIAGRAM_BYTES <= self._memory // 8:
            return
        if self._runs is None:
            rows = self._memory // 2 // PART_BYTES
            part_rows = min(max(rows, PART_ROWS[0]), PART_ROWS[1])
            folder = tempfile.mkdtemp(prefix="runs-", dir=self._scratch.folder)
            self._runs = Runs(Path(folder), part_rows)
        self._spill(self._runs)

    def _spill(self, runs: Runs) -> None:
        for diagram in self._diagrams.pop(0, []):
            runs.add(diagram)
