"""Weka as an engine: its own classifiers, run by the system's Java."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

import numpy as np

from abers.errors import InvalidFile, MissingExtra
from experiments.paper.sklearn_engine import Candidate, PairScores, of_probability

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from abers.validation import FloatArray, IntArray
    from experiments.paper.data import Attribute, DataTable
    from experiments.paper.tasks import RowPair


# Weka's classifiers: the options that the paper tuned, and the grids tried here.

CONFIDENCES = tuple(round(0.05 * i, 2) for i in range(1, 11))  # of J48's pruning
RIDGES = (1e-8, 1e-4, 1e-2, 0.1, 1, 10, 100, 1000)
CONSTANTS = (0.01, 0.1, 1, 3, 10)
RATES = (0.0003, 0.001, 0.003, 0.01, 0.3)
MOMENTA = (0.2,)  # Weka's own: a second one would double the hour that five rates take

J48 = "weka.classifiers.trees.J48"

# For each algorithm its settings as text, and the command line that each stands for.
COMMANDS: dict[str, dict[str, str]] = {
    "tree": {f"C={c:g}": f"{J48} -C {c:g}" for c in CONFIDENCES},
    "bagging": {
        f"C={c:g}": f"weka.classifiers.meta.Bagging -W {J48} -- -C {c:g}"
        for c in CONFIDENCES
    },
    "logistic": {
        f"R={r:g}": f"weka.classifiers.functions.Logistic -R {r:g}" for r in RIDGES
    },
    "naive Bayes": {"": "weka.classifiers.bayes.NaiveBayes"},
    "neural network": {
        f"L={rate:g} M={momentum:g}": (
            "weka.classifiers.functions.MultilayerPerceptron "
            f"-L {rate:g} -M {momentum:g}"
        )
        for rate, momentum in product(RATES, MOMENTA)
    },
    "SVM": {
        f"C={c:g}": f"weka.classifiers.functions.SMO -M -C {c:g}" for c in CONSTANTS
    },
}


# ARFF: a table as Weka reads it.


def to_arff(table: DataTable) -> str:
    """Write a table in Weka's format, the label last."""
    columns = table.columns
    kinds = [
        f"{{{','.join(map(_quoted, c.levels))}}}" if c.is_nominal else "numeric"
        for c in columns
    ]
    header = [
        f"@attribute {_quoted(c.name)} {kind}"
        for c, kind in zip(columns, kinds, strict=True)
    ]
    classes = ",".join(str(label) for label in range(max(2, table.labels.max() + 1)))
    texts = [*(_texts(c) for c in columns), map(str, table.labels.tolist())]
    rows = [",".join(row) for row in zip(*texts, strict=True)]
    lines = ["@relation data", *header, f"@attribute class {{{classes}}}", "@data"]
    return "\n".join(lines + rows)


def to_ranges(rows: IntArray) -> str:
    """Write rows as ranges, the end of each not included.

    Examples
    --------
    >>> import numpy as np
    >>> from experiments.paper.weka import to_ranges
    >>> to_ranges(np.array([0, 1, 2, 7, 8]))
    '0:3,7:9'
    """
    cuts = np.flatnonzero(np.diff(rows) != 1) + 1
    runs = np.split(rows, cuts)
    return ",".join(f"{run[0]}:{run[-1] + 1}" for run in runs)


def _texts(column: Attribute) -> list[str]:
    if column.is_nominal:
        names = [*map(_quoted, column.levels), "?"]  # -1, the last, is missing
        return [names[value] for value in column.values.astype(np.int64)]
    return ["?" if value != value else repr(value) for value in column.values.tolist()]  # noqa: PLR0124


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


# The engine: hand rows and a list of work to Java, read scores back.

NEED_JAVA = (
    "Weka needs Java 17 or newer with its compiler; {found}. "
    'On Debian, "apt-get install default-jdk-headless" brings it.'
)
VERSION = "weka/core/version.txt"  # where Weka itself looks, too


@dataclass(frozen=True, slots=True)
class Weka:
    """Weka's algorithms, from its jar and the system's Java."""

    jar: str
    java: str = "java"

    @property
    def name(self) -> str:
        """Weka, and the version that the jar says."""
        return f"Weka {_version(self.jar)}"

    def check(self) -> str:
        """Return the path of Java; raise if it or the jar is not there."""
        _version(self.jar)
        java = shutil.which(self.java)
        if java is None:
            raise MissingExtra(NEED_JAVA.format(found=f"{self.java!r} was not found"))
        return java

    def settings(self, algorithm: str) -> tuple[str, ...]:
        """Return the grid of an algorithm as text."""
        return tuple(COMMANDS[algorithm])

    def score(
        self, table: DataTable, algorithm: str, pairs: Sequence[RowPair], test: IntArray
    ) -> list[Candidate]:
        """Train on each pair with each setting; score calibration and test rows."""
        with TemporaryDirectory() as folder:
            place = Path(folder)
            (place / "data.arff").write_text(to_arff(table), encoding="utf-8")
            work = _work(COMMANDS[algorithm].values(), pairs, test)
            (place / "work.txt").write_text(work, encoding="utf-8")
            self._run(place)
            with (place / "scores.csv").open(encoding="utf-8") as file:
                lines = [np.fromstring(line, sep=",") for line in file]
        return _candidates(lines, self.settings(algorithm), pairs)

    def _run(self, place: Path) -> None:
        """Start Java on a source file: it compiles in memory and runs."""
        java = self.check()
        source = resources.files("experiments.paper").joinpath("Scores.java")
        with resources.as_file(source) as path:
            command = [java, "-Djava.awt.headless=true", "-cp", self.jar, str(path)]
            files = [place / name for name in ("data.arff", "work.txt", "scores.csv")]
            done = subprocess.run(  # noqa: S603 (the user chose the program)
                [*command, *map(str, files)],
                check=False,
                capture_output=True,
                text=True,
            )
        if done.returncode:
            said = " ".join(done.stderr.split())[-300:] or "nothing"
            if "jdk.compiler" in said or "no compiler" in said:
                raise MissingExtra(NEED_JAVA.format(found="this one has no compiler"))
            msg = f"Weka must end without an error; Java said: {said}"
            raise InvalidFile(msg)


@cache
def _version(jar: str) -> str:
    if not Path(jar).is_file():
        msg = (
            f"the jar of Weka must be a file; {jar!r} is none. It is inside the source "
            "distribution of python-weka-wrapper3."
        )
        raise InvalidFile(msg)
    try:
        with ZipFile(jar) as archive:
            text = archive.read(VERSION).decode("ascii")
    except (BadZipFile, KeyError, OSError, ValueError, zlib.error) as damage:
        msg = (
            f"the jar of Weka must say its version in {VERSION}; {jar!r} does not "
            f"({damage})."
        )
        raise InvalidFile(msg) from damage
    return text.strip().replace("-", ".")  # "3-9-7"


def _work(commands: Iterable[str], pairs: Sequence[RowPair], test: IntArray) -> str:
    lines = [f"test {to_ranges(test)}"]
    lines += [
        f"pair {to_ranges(pair.train)} {to_ranges(pair.calibrate)}" for pair in pairs
    ]
    lines += [f"classifier {command}" for command in commands]
    return "\n".join(lines)


def _candidates(
    lines: list[FloatArray], settings: tuple[str, ...], pairs: Sequence[RowPair]
) -> list[Candidate]:
    found = iter(lines)
    candidates = []
    for setting in settings:
        scores = []
        for pair in pairs:
            calibration, test = np.split(next(found), [pair.calibrate.size])
            scores.append(PairScores(of_probability(calibration), of_probability(test)))
        candidates.append(Candidate(setting, tuple(scores)))
    return candidates
