"""Measure abers against its targets and its peers; every figure is a ratio in one run.

`make bench` prints the tables; `--write` also puts them into benchmarks/README.md,
`--quick` leaves out ten million scores and the slow peers.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

import classifiers
import numpy as np
import online_sets
import peers
import pooled
import posets
import stacked
from kinds import KINDS, normal, rare, tied
from timing import best_times, shown

import abers
from abers.tables import fit_table

if TYPE_CHECKING:
    from collections.abc import Iterator

README = Path(__file__).with_name("README.md")
MARK = "<!-- measured -->"
Row = tuple[str, str, str, bool]


def ratio_row(what: str, ratio: float, target: float, *, at_least: bool = False) -> Row:
    """Set a measured ratio beside its target."""
    good = ratio >= target if at_least else ratio <= target
    sign = ">=" if at_least else "<="
    return what, f"{ratio:.3g} x", f"{sign} {target:g} x", good


def fitting(rng: np.random.Generator, *, quick: bool) -> Iterator[Row]:
    """Fit against np.sort of the scores."""
    cases = [
        (normal, 10**5, 3.0),
        (normal, 10**6, 1.6),
        (normal, 10**7, 1.4),
        (tied, 10**6, 3.0),
        (rare, 10**6, 5.0),
    ]
    for kind, size, target in cases:
        if quick and size > 10**6:
            continue
        scores, labels = kind(rng, size)
        ours, sort = best_times(
            [lambda: abers.fit_rule(scores, labels), lambda: np.sort(scores)],  # noqa: B023
            seconds=4,
        )
        what = f"fit_rule / np.sort, {kind.__name__}, {size:.0e}"
        yield ratio_row(what, ours / sort, target)
    scores, labels = normal(rng, 1000)
    (ours,) = best_times([lambda: abers.fit_rule(scores, labels)])
    yield "fit_rule, normal, 1e+03", shown(ours), "<= 60 µs", ours <= 60e-6


def predicting(rng: np.random.Generator) -> Iterator[Row]:
    """Bounds against copying them, and against what numpy would do."""
    size = 10**6
    scores, labels = normal(rng, size)
    new, _ = normal(rng, size)
    rule = abers.fit_rule(scores, labels)
    out = rule.bounds(new)
    keys = np.unique(scores)
    ours, copy = best_times([lambda: rule.bounds(new), out.copy], seconds=3)
    yield ratio_row("bounds / copy of the bounds, normal, 1e+06", ours / copy, 5.0)
    ours, dense = best_times(
        [
            lambda: rule.bounds(new),
            lambda: (keys.searchsorted(new), keys.searchsorted(new, side="right")),
        ]
    )
    yield ratio_row(
        "two searchsorted on dense keys / bounds", dense / ours, 100, at_least=True
    )
    scores, labels = rare(rng, size)
    new, _ = rare(rng, size)
    rare_rule = abers.fit_rule(scores, labels)
    ours, steps = best_times(
        [lambda: rare_rule.bounds(new), lambda: rare_rule.thresholds.searchsorted(new)],
        seconds=3,
    )
    yield ratio_row("bounds / searchsorted on the steps, rare", ours / steps, 0.25)
    one = new[:1]
    (single,) = best_times([lambda: rule.bounds(one)], most=5000)
    yield "bounds of one score", shown(single), "<= 10 µs", single <= 10e-6


def folds(rng: np.random.Generator) -> Iterator[Row]:
    """K rules fitted, looked up and merged, against scikit-learn's isotonic way."""
    size, k = 10**5, 5
    parts = [normal(rng, size // k) for _ in range(k)]
    new = [normal(rng, size)[0] for _ in range(k)]
    ours, theirs = best_times(
        [lambda: peers.our_folds(parts, new), lambda: peers.isotonic_folds(parts, new)],
        seconds=3,
    )
    yield ratio_row(
        "5 rules fitted, read, merged / sklearn isotonic", ours / theirs, 0.2
    )


def resources() -> Iterator[Row]:
    """Measure memory and import time, each in a process of its own."""
    for kind in ("normal", "rare"):
        used = float(_child("memory", kind))
        yield ratio_row(f"memory of a fit / scores, {kind}, 1e+07", used, 4.0)
    times = {
        name: min(float(_child("import", name)) for _ in range(7))
        for name in ("numpy", "abers.core.fit")  # `import abers` itself loads nothing
    }
    ratio = times["abers.core.fit"] / times["numpy"]
    yield ratio_row("import abers and fit_rule / import numpy", ratio, 1.5)
    yield start_up()


def reading(rng: np.random.Generator) -> Iterator[Row]:
    """Fit to JSON lines and to CSV of the same rows, in CPU time."""
    scores, labels = (values.tolist() for values in normal(rng, 10**6))
    with tempfile.TemporaryDirectory() as folder:
        lines, delimited = Path(folder, "rows.jsonl"), Path(folder, "rows.csv")
        rows = list(enumerate(zip(scores, labels, strict=True)))
        with lines.open("w") as file:
            file.writelines(
                f'{{"id": {i}, "score": {score!r}, "label": {int(label)}}}\n'
                for i, (score, label) in rows
            )
        with delimited.open("w") as file:
            file.write("id,score,label\n")
            file.writelines(
                f"{i},{score!r},{int(label)}\n" for i, (score, label) in rows
            )
        times = [[cpu_of_fit(path) for path in (lines, delimited)] for _ in range(5)]
    ours, csv = np.min(times, axis=0)
    what = "CPU of a fit to JSON lines, 1e+06 rows"
    yield what, shown(ours), "<= 1 s", bool(ours <= 1)
    yield f"{what} / to CSV", f"{ours / csv:.3g} x", "", True


def cpu_of_fit(path: Path) -> float:
    """Measure the CPU time of fitting to a table."""
    start = process_time()
    fit_table(path)
    return process_time() - start


def start_up() -> Row:
    """Compare predicting a small table with importing numpy and pyarrow alone."""
    with tempfile.TemporaryDirectory() as folder:
        rule, table = Path(folder, "rule.abers"), Path(folder, "new.csv")
        abers.fit_rule([1, 2, 3], [0, 1, 0]).save(rule)
        table.write_text("id,score\n1,0.5\n2,1\n3,1.5\n4,2\n5,9\n")
        commands = (
            ["-c", "import numpy, pyarrow"],
            ["-m", "abers.cli", "predict", str(rule), str(table)],
        )
        times = [[_cpu_time(command) for command in commands] for _ in range(11)]
    imports, predicts = np.min(times, axis=0)
    what = "CPU of abers predict, 5 rows / import numpy, pyarrow"
    return ratio_row(what, predicts / imports, 1.6)


def _cpu_time(arguments: list[str]) -> float:
    """Return the CPU time of Python with these arguments, of system and user."""
    command = [sys.executable, *arguments]
    # As installed: the first of several runs leaves bytecode for the others.
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=env) as process:  # noqa: S603
        _, code, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime


def growth(rng: np.random.Generator, *, quick: bool) -> Iterator[str]:
    """Time of twice the data over time of the data."""
    yield "| kind | " + " | ".join(f"{n:.0e}" for n in _sizes(quick=quick)) + " |"
    yield "|---|" + "---|" * len(_sizes(quick=quick))
    for name, kind in KINDS.items():
        cells = []
        for size in _sizes(quick=quick):
            one, two = kind(rng, size), kind(rng, 2 * size)
            a, b = best_times(
                [lambda: abers.fit_rule(*one), lambda: abers.fit_rule(*two)]  # noqa: B023
            )
            cells.append(f"{b / a:.2f}")
        yield f"| {name} | " + " | ".join(cells) + " |"


def _sizes(*, quick: bool) -> list[int]:
    return [10**e for e in range(3, 7 if quick else 8)]


def _child(*arguments: str) -> str:
    script = Path(__file__).with_name("child.py")
    return subprocess.run(  # noqa: S603
        [sys.executable, str(script), *arguments],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def tables(*, quick: bool) -> Iterator[str]:
    """Yield the lines of the report as they are measured."""
    rng = np.random.default_rng(2015)
    yield f"Measured {dt.datetime.now(tz=dt.UTC):%Y-%m-%d} on {_cpu()}."
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    vectors = ", ".join(found) or "none"
    yield f"Python {platform.python_version()}, numpy {np.__version__}."
    yield f"Vector instructions that numpy found: {vectors}."
    yield "\n## Targets\n"
    yield "| what | measured | target | |"
    yield "|---|---|---|---|"
    groups = (
        fitting(rng, quick=quick),
        predicting(rng),
        folds(rng),
        pooled.targets(rng, quick=quick),
        posets.targets(rng),
        stacked.targets(rng),
        online_sets.targets(rng, quick=quick),
        classifiers.targets(),
        resources(),
        reading(rng),
    )
    for group in groups:
        for what, measured, target, good in group:
            verdict = ("met" if good else "missed") if target else ""
            yield f"| {what} | {measured} | {target} | {verdict} |"
    yield "\n## Growth: time(2k) / time(k) of fit_rule\n"
    yield from growth(rng, quick=quick)
    yield "\n## Growth: a row of pooled bounds, K = 5, by calibration rows\n"
    yield from pooled.growth(rng, quick=quick)
    yield "\n## Partially ordered scores: a row of bounds, and a fit in brackets\n"
    yield from posets.table(rng)
    yield "\n## Online: add, remove, bounds; bytes per row; by size\n"
    yield from online_sets.growth(rng, quick=quick)
    yield "\n## Cross predictors: 10^5 rows, 20 features, 5 folds, naive Bayes\n"
    yield from classifiers.table()
    yield "\n## Peers\n"
    yield "Fit and predict as many new scores; in brackets, times np.sort."
    yield "A dash: more than the limit was expected.\n"
    yield from peers.table(rng, _sizes(quick=quick), quick=quick)


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def main() -> None:
    """Print the tables; keep them if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = []
    for line in tables(quick=options.quick):
        print(line, flush=True)
        lines.append(line)
    if options.write:
        kept = README.read_text().split(MARK)[0]
        README.write_text(kept + MARK + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
