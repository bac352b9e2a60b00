"""External sort: rows become counts, in memory while they fit, else sorted on disk.

A run is a diagram in a file. Runs overlap, so they are read together, a range of scores
at a time: each range is a part of the whole diagram that fits into memory, no score is
in two parts, and the parts ascend. That is what `abers.core.blocks` asks for.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.core.diagram import Diagram, trusted_diagram
from abers.tables.columns import rows_by_code
from abers.validation import LARGEST_EXACT_INTEGER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from abers.tables.sources import Scratch
    from abers.validation import FloatArray, IntArray

    Mask = NDArray[np.bool_]

# Bytes that a row takes at the peak of counting it and of fitting to the counts.
OBSERVATION_BYTES = 60
COUNT_BYTES = 130
DIAGRAM_BYTES = 24  # of each score: itself, its negatives, its positives
PART_BYTES = 400  # of each score of a part while its piece of the rule is fitted
PART_ROWS = (2**12, 2**18)  # at least, at most
SCORE = np.dtype(np.float64)
SAMPLES_PER_PART = 1024  # so many runs can be read together


class CalibrationRows(NamedTuple):
    """Rows to calibrate with: observations, or counts of them."""

    scores: FloatArray
    positives: Mask | FloatArray  # labels of observations, or how many of the counts
    counts: FloatArray | None = None
    groups: IntArray | None = None  # codes

    def where(self, mask: Mask | IntArray) -> CalibrationRows:
        """Return some of the rows."""
        some: Any = (None if column is None else column[mask] for column in self)
        return CalibrationRows(*some)

    def diagram(self) -> Diagram:
        """Count the rows, whatever their group."""
        if self.counts is None:
            return Diagram.from_observations(self.scores, self.positives)
        return Diagram.from_counts(self.scores, self.counts, self.positives)


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
        self._waiting: list[CalibrationRows] = []
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

    def add(self, rows: CalibrationRows) -> None:
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
        columns: Any = (
            None if column[0] is None else np.concatenate(column)
            for column in zip(*self._waiting, strict=True)
        )
        rows = CalibrationRows(*columns)
        self._waiting, self._n_waiting = [], 0
        if rows.groups is None:
            self._diagrams.setdefault(0, []).append(rows.diagram())
            return
        for code, own in rows_by_code(rows.groups):
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


class Run(NamedTuple):
    """A diagram on disk: its scores, its negatives, its positives, end to end."""

    path: Path
    size: int
    dtype: np.dtype[Any]  # of the weights
    samples: FloatArray  # every so manieth score, from the first

    def read(self, start: int, stop: int) -> Diagram:
        """Return a range of the rows."""
        scores = self.scores(start, stop)
        ends = [self.size * (SCORE.itemsize + i * self.dtype.itemsize) for i in (0, 1)]
        wide: Any = np.float64 if self.dtype.kind == "f" else np.int64
        weights: Any = (
            np.fromfile(
                self.path,
                self.dtype,
                count=stop - start,
                offset=end + start * self.dtype.itemsize,
            ).astype(wide)
            for end in ends
        )
        return trusted_diagram(scores, *weights)

    def scores(self, start: int, stop: int) -> FloatArray:
        """Return a range of the scores."""
        return np.fromfile(
            self.path, SCORE, count=stop - start, offset=start * SCORE.itemsize
        )


class Runs:
    """All runs of a calibration set."""

    def __init__(self, folder: Path, part_rows: int) -> None:
        self._folder = folder
        self._part_rows = part_rows
        self._stride = max(1, part_rows // SAMPLES_PER_PART)
        self._runs: list[Run] = []
        self._total = 0.0

    @property
    def is_exact(self) -> bool:
        """Whether all weights are integers, and so is each quotient of their sums."""
        whole = all(run.dtype.kind == "u" for run in self._runs)
        return whole and self._total < LARGEST_EXACT_INTEGER

    def add(self, diagram: Diagram) -> None:
        """Write a diagram as a run."""
        self._total += diagram.n_observations
        weights = (diagram.negatives, diagram.positives)
        dtype = np.dtype(np.float64)
        if diagram.is_exact:  # counts of one or two need no eight bytes
            dtype = np.min_scalar_type(max(int(w.max()) for w in weights))
        path = self._folder / f"run-{len(self._runs)}"
        try:
            with path.open("xb") as file:
                file.write(diagram.scores.data)
                for each in weights:
                    file.write(np.ascontiguousarray(each, dtype=dtype).data)
        except OSError as cause:
            what = f"{cause.strerror}, while rows were sorted on disk"
            raise OSError(cause.errno, what, str(self._folder)) from cause
        samples = diagram.scores[:: self._stride].copy()
        self._runs.append(Run(path, diagram.scores.size, dtype, samples))

    def parts(self) -> Iterator[Diagram]:
        """Yield the parts of the sum of all runs, ascending and without overlap."""
        starts = [0] * len(self._runs)
        for stops in self._cuts():
            ranges = zip(self._runs, starts, stops, strict=True)
            pieces = [run.read(a, b) for run, a, b in ranges if a < b]
            if pieces:
                yield Diagram.sum(pieces)
            starts = stops

    def _cuts(self) -> Iterator[list[int]]:
        """Yield where in each run a part ends.

        Between two samples of a run lie fewer than `stride` rows, so a part that spans
        m samples has fewer than (m + number of runs) * stride rows.
        """
        samples = np.sort(np.concatenate([run.samples for run in self._runs]))
        step = max(1, self._part_rows // self._stride - len(self._runs))
        for score in np.unique(samples[step::step]):
            yield [self._end(run, score) for run in self._runs]
        yield [run.size for run in self._runs]

    def _end(self, run: Run, score: float) -> int:
        """Return how many scores of a run do not exceed this one."""
        block = int(np.searchsorted(run.samples, score, side="right")) - 1
        if block < 0:
            return 0
        start = block * self._stride
        near = run.scores(start, min(start + self._stride, run.size))
        return start + int(np.searchsorted(near, score, side="right"))
