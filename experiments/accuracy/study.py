"""The study of accuracy: run it, keep its numbers, write its page.

Fixed before the run: sources, classifiers, sizes, methods, measures. Nothing is tuned
and every set is reported. Small sets are split more than once, and their splits
averaged. A run is resumed where it was stopped: predictions are kept in the folder
`--cache`, and each measurement is a line of the journal there.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import json
import sys
import time
import warnings
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from abers.evaluation import expected_calibration_error
from experiments.accuracy import tables
from experiments.accuracy.methods import LIBRARIES, PROTOCOLS, methods
from experiments.accuracy.predictions import MODELS, CrossFit, PostHoc, kept
from experiments.accuracy.sources import sources, table
from experiments.paper.journal import add_entry, read_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from abers.validation import FloatArray, IntArray
    from experiments.accuracy.methods import Cell, Method

HERE = Path(__file__).parent
RESULTS = HERE / "results.csv.gz"
PAGE = HERE / "ACCURACY.md"
MARK = "<!-- measured -->"
CACHE = HERE.parents[1] / "build" / "accuracy"
SMALL = 2_000  # sets with fewer rows are split so often:
SPLITS_OF_SMALL = 2
ECE_BINS = 15


@dataclass(frozen=True)
class Measurement:
    """What a method made of one classifier on one split of a source."""

    protocol: str
    source: str
    classes: int
    model: str
    split: int
    rows: int  # that calibrate
    method: str
    log_loss: float
    brier: float
    ece: float
    zeros: int  # test rows whose class was given probability 0
    failed: bool  # the method raised or gave NaN: the model's own probabilities count
    seconds: float  # of one core, to fit and to predict

    @property
    def key(self) -> tuple[Any, ...]:
        """What was measured."""
        cell = (self.protocol, self.source, self.model, self.split, self.rows)
        return (*cell, self.method)


def cells(
    protocol: str, source: str, model: str, split: int, cache: Path
) -> Iterator[tuple[int, Cell]]:
    """Yield the number of calibration rows, and the predictions."""
    rows = table(source)
    if protocol == "post hoc":
        path = cache / protocol / source / f"{model} {split}.npz"
        cell = kept(path, lambda: PostHoc.trained(rows, model, split), PostHoc)
        yield from ((size, cell.first(size)) for size in cell.sizes())
        return
    for size in CrossFit.sizes(rows):
        path = cache / protocol / source / f"{model} {size} {split}.npz"

        def trained(size: int = size) -> CrossFit:
            return CrossFit.trained(rows, model, split, size)

        yield size, kept(path, trained, CrossFit)


def measured(method: Method, cell: Cell) -> dict[str, Any]:
    """Calibrate, and return the measures."""
    start = time.process_time()
    failed = False
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with few rows, settings of the peers
        try:
            p = np.asarray(method.predict(cell), float)
        except Exception as error:  # whatever a peer raises
            if method.library != "probmetrics":
                raise  # a mistake of the study must not pass for one of theirs
            print(f"{method.predict}: {error!r}", file=sys.stderr)
            failed = True
    seconds = time.process_time() - start
    if failed or not np.isfinite(p).all():
        failed = True
        p = cell.p_test if isinstance(cell, PostHoc) else cell.of_test().mean(axis=0)
    return measures(cell.y_test, p) | {"failed": failed, "seconds": round(seconds, 4)}


def measures(y: IntArray, p: FloatArray) -> dict[str, Any]:
    """Return the losses; what is not quite a probability is made one first."""
    p = np.clip(p, 0, 1)
    p /= p.sum(axis=1, keepdims=True)
    of_label = p[np.arange(len(y)), y]
    brier = ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1)
    top = p.argmax(axis=1)
    ece = expected_calibration_error(top == y, p.max(axis=1), bins=ECE_BINS)
    return {
        # As scikit-learn does it: 36 for an event that was given probability 0.
        "log_loss": round(float(-np.log(of_label.clip(np.finfo(float).eps)).mean()), 6),
        "brier": round(float(brier.mean()), 6),
        "ece": round(float(ece), 5),
        "zeros": int((of_label == 0).sum()),
    }


def run(
    cache: Path,
    names: Sequence[str],
    models: Sequence[str] = MODELS,
    libraries: Sequence[str] = LIBRARIES,
) -> list[Measurement]:
    """Measure what the journal lacks; return what is asked for."""
    cache.mkdir(parents=True, exist_ok=True)
    journal = cache / "journal.jsonl"
    entries = read_entries(
        journal, lambda line: Measurement(**json.loads(line)), "a measurement"
    )
    done = {entry.key: entry for entry in entries}
    wanted = []
    for number, name in enumerate(names, start=1):
        start = time.perf_counter()
        source = sources()[name]
        splits = SPLITS_OF_SMALL if source.rows < SMALL else 1
        for protocol in PROTOCOLS:
            offered = {
                method: of
                for method, of in methods(protocol, source.classes).items()
                if of.library in libraries
            }
            for model in models:
                for split in range(splits):
                    for size, cell in cells(protocol, name, model, split, cache):
                        where = (protocol, name, source.classes, model, split, size)
                        for method, of in offered.items():
                            key = (protocol, name, model, split, size, method)
                            if key not in done:
                                entry = Measurement(
                                    *where, method, **measured(of, cell)
                                )
                                add_entry(journal, json.dumps(asdict(entry)))
                                done[key] = entry
                            wanted.append(done[key])
        seconds = time.perf_counter() - start
        print(f"{number}/{len(names)} {name}: {seconds:.0f} s", file=sys.stderr)
    return wanted


def write_results(results: Sequence[Measurement], path: Path) -> None:
    """Keep the numbers; equal numbers give equal bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(field.name for field in fields(Measurement))
    for entry in results:
        row = asdict(entry) | {"failed": int(entry.failed)}
        writer.writerow(row.values())
    path.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


def read_results(path: Path = RESULTS) -> list[Measurement]:
    """Read what was measured."""
    text = gzip.decompress(path.read_bytes()).decode()
    kinds: dict[str, Callable[[str], Any]] = {
        "str": str,
        "int": int,
        "float": float,
        "bool": lambda value: value == "1",
    }
    readers = {field.name: kinds[str(field.type)] for field in fields(Measurement)}
    return [
        Measurement(**{name: readers[name](value) for name, value in row.items()})
        for row in csv.DictReader(io.StringIO(text))
    ]


def main() -> None:
    """Run what was asked for, and print the page or keep it."""
    parser = argparse.ArgumentParser(description="Compare ways to calibrate.")
    parser.add_argument("--cache", type=Path, default=CACHE, help="a folder")
    parser.add_argument("--sources", nargs="+", default=[*sources()])
    parser.add_argument("--models", nargs="+", default=MODELS)
    parser.add_argument("--libraries", nargs="+", default=LIBRARIES)
    parser.add_argument("--write", action="store_true", help="keep numbers and page")
    options = parser.parse_args()
    results = run(options.cache, options.sources, options.models, options.libraries)
    if options.write:
        write_results(results, RESULTS)
        head, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
        page = f"{head}{MARK}\n\n{tables.page(results)}"
        PAGE.write_text(page, encoding="utf-8")
    else:
        print(tables.page(results))
