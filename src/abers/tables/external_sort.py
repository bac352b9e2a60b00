"""External sort: counts that do not fit into memory are kept on disk as sorted runs.

A run is a diagram in a file. Runs overlap, so they are read together, one range of
scores at a time: each range is a part of the whole diagram that fits into memory, no
score is in two parts, and the parts ascend, as `abers.core.blocks` requires.

Rows that cannot be counted yet are kept on disk in their order.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from abers.core.blocks import WeightedRows
from abers.core.diagram import Diagram, trusted_diagram
from abers.core.units import Units, canonical

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from abers.validation import FloatArray

PART_BYTES = 400  # for each score of a part while its piece is fitted
PART_ROWS = (2**12, 2**18)  # at least, at most
SCORE = np.dtype(np.float64)
SAMPLES_PER_PART = 1024  # the number of runs that can be read together


class Run(NamedTuple):
    """A diagram on disk: scores, negatives and positives, end to end."""

    path: Path
    size: int
    dtype: np.dtype[Any]  # of the units
    scale: int
    samples: FloatArray  # every `stride`-th score, from the first

    def read(self, start: int, stop: int) -> Diagram:
        """Return a range of the rows."""
        scores = self.scores(start, stop)
        ends = [self.size * (SCORE.itemsize + i * self.dtype.itemsize) for i in (0, 1)]
        negatives, positives = (
            np.fromfile(
                self.path,
                self.dtype,
                count=stop - start,
                offset=end + start * self.dtype.itemsize,
            ).astype(np.int64)
            for end in ends
        )
        masses = canonical(Units(negatives, positives, self.scale))
        return trusted_diagram(scores, *masses)

    def scores(self, start: int, stop: int) -> FloatArray:
        """Return a range of the scores."""
        return np.fromfile(
            self.path, SCORE, count=stop - start, offset=start * SCORE.itemsize
        )


def rows_per_part(memory: int) -> int:
    """Return how many rows a part may have, given the bytes to fit it in."""
    least, most = PART_ROWS
    return min(max(memory // 2 // PART_BYTES, least), most)


@contextmanager
def _explained_failure(folder: Path, doing: str) -> Iterator[None]:
    """Explain a full or failing disk by what was being done."""
    try:
        yield
    except OSError as cause:
        what = f"{cause.strerror}, while rows {doing} on disk"
        raise OSError(cause.errno, what, str(folder)) from cause


class WaitingRows:
    """Rows with their groups, kept on disk until the scale of all weights is known."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: list[tuple[int, Path]] = []

    def add(self, group: int, rows: WeightedRows) -> None:
        """Write rows of one group."""
        path = self._folder / f"rows-{len(self._files)}.npy"
        columns = np.stack((rows.scores, rows.counts, rows.positives))
        with _explained_failure(self._folder, "waited"):
            np.save(path, columns)
        self._files.append((group, path))

    def taken(self) -> Iterator[tuple[int, WeightedRows]]:
        """Yield all rows in their order, and remove them from the disk."""
        for group, path in self._files:
            yield group, WeightedRows(*np.load(path))
            path.unlink()
        self._files.clear()


class Runs:
    """All runs of a calibration set."""

    def __init__(self, folder: Path, part_rows: int) -> None:
        self._folder = folder
        self._part_rows = part_rows
        self._stride = max(1, part_rows // SAMPLES_PER_PART)
        self._runs: list[Run] = []

    def add(self, diagram: Diagram) -> None:
        """Write a diagram as a run."""
        *masses, scale = diagram.units
        # Small counts do not need eight bytes.
        dtype = np.min_scalar_type(max(int(mass.max()) for mass in masses))
        path = self._folder / f"run-{len(self._runs)}"
        with (
            _explained_failure(self._folder, "were sorted"),
            path.open("xb") as file,
        ):
            file.write(diagram.scores.data)
            for mass in masses:
                file.write(np.ascontiguousarray(mass, dtype=dtype).data)
        samples = diagram.scores[:: self._stride].copy()
        self._runs.append(Run(path, diagram.scores.size, dtype, scale, samples))

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
        """Yield where a part ends in each run.

        Between two samples of a run lie fewer than `stride` rows, so a part that spans
        m samples has fewer than (m + number of runs) * stride rows.
        """
        samples = np.sort(np.concatenate([run.samples for run in self._runs]))
        step = max(1, self._part_rows // self._stride - len(self._runs))
        for score in np.unique(samples[step::step]):
            yield [self._end(run, score) for run in self._runs]
        yield [run.size for run in self._runs]

    def _end(self, run: Run, score: float) -> int:
        """Return how many scores of a run are at most this one."""
        block = int(np.searchsorted(run.samples, score, side="right")) - 1
        if block < 0:
            return 0
        start = block * self._stride
        near = run.scores(start, min(start + self._stride, run.size))
        return start + int(np.searchsorted(near, score, side="right"))
