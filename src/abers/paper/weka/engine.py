"""The engine: hand rows and a list of work to Java, read scores back."""

from __future__ import annotations

import shutil
import subprocess
import zlib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

import numpy as np

from abers.errors import InvalidFile, MissingExtra
from abers.paper.scores import Candidate, PairScores, of_probability
from abers.paper.weka.arff import to_arff, to_ranges
from abers.paper.weka.classifiers import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from abers.paper.columns import Table
    from abers.paper.splits import Pair
    from abers.validation import FloatArray, IntArray

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
        self, table: Table, algorithm: str, pairs: Sequence[Pair], test: IntArray
    ) -> list[Candidate]:
        """Train on each pair with each setting; score calibration and test rows.

        Parameters
        ----------
        table : Table
            All rows.
        algorithm : str
            One of those of the paper.
        pairs : sequence of Pair
            Rows that train and rows that calibrate.
        test : ndarray of int
            Test rows.

        Returns
        -------
        list of Candidate
            One for each setting of the grid; scores are probabilities of label 1, in
            double precision.
        """
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
        source = resources.files("abers.paper.weka").joinpath("Scores.java")
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


def _work(commands: Iterable[str], pairs: Sequence[Pair], test: IntArray) -> str:
    lines = [f"test {to_ranges(test)}"]
    lines += [
        f"pair {to_ranges(pair.train)} {to_ranges(pair.calibrate)}" for pair in pairs
    ]
    lines += [f"classifier {command}" for command in commands]
    return "\n".join(lines)


def _candidates(
    lines: list[FloatArray], settings: tuple[str, ...], pairs: Sequence[Pair]
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
