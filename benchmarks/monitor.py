"""The study of the monitor: run it, `--write` puts its tables into MONITOR.md.

`--part level`, `power` or `few` runs one of the three; `--runs` sets the streams.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

import abers
from abers.evaluation.drift import population_stability_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    Rows = tuple[np.ndarray, np.ndarray]

PAGE = Path(__file__).parent / "MONITOR.md"
MARK = "<!-- measured -->"
SEED = 1_117
LONG, STEP = 10_000, 250  # rows of a quiet stream, and of each draw
QUIET, CHANGED = 1_000, 3_000
WINDOW, LARGE = 500, 0.2  # of the PSI
TESTS = ("scores", "labels", "slope")


@dataclass(frozen=True)
class Drift:
    """A changed world."""

    odds: float = 1.0
    slope: float = 1.0
    shift: float = 0.0
    grows_to: float = 1.0

    def rows(self, rng: np.random.Generator, size: int) -> Rows:
        """Draw rows."""
        scores = rng.integers(0, 2, size) + rng.standard_normal(size) + self.shift
        growth = np.linspace(0, math.log(self.grows_to), size)
        log_odds = self.slope * (scores - 0.5) + math.log(self.odds) + growth
        return scores, (rng.random(size) < expit(log_odds)).astype(np.int64)


NONE = Drift()
DRIFTS = {
    "none": NONE,
    "odds": Drift(odds=1.65),
    "slope": Drift(slope=0.6),
    "scores": Drift(shift=0.5),
    "both": Drift(odds=1.3, shift=0.2),
    "gradual": Drift(grows_to=3),
}


def level(runs: int) -> Iterator[str]:
    """Count false alarms."""
    yield "## False alarms\n"
    yield "| k | alpha | alarms | at most | by scores | rate | slope |"
    yield "|---|---|---|---|---|---|---|"
    for k in (100, 300, 2_000):
        highest = np.array([_quiet_stream(k, run) for run in range(runs)])
        for alpha in (0.01, 0.1):
            reached = highest >= math.log(3 / alpha)
            share = reached.any(axis=1).mean()
            most = alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)
            verdict = "" if share <= most else " **exceeded**"
            shown = " | ".join(f"{cell:.3f}" for cell in reached.mean(axis=0))
            yield f"| {k:,} | {alpha} | {share:.3f}{verdict} | {most:.3f} | {shown} |"
    yield ""


def _quiet_stream(k: int, run: int) -> list[float]:
    """Return the logarithm of the highest capital of each test."""
    rng = np.random.default_rng([SEED, k, run])
    monitor = abers.Monitor(*NONE.rows(rng, k), random_state=run)
    for _ in range(LONG // STEP):
        monitor.update(*NONE.rows(rng, STEP))
    paths = monitor.capital_paths()
    return [paths[test][1].max() for test in TESTS]


def power(runs: int) -> Iterator[str]:
    """Measure how soon a change is found."""
    yield "## Power\n"
    for k in (300, 2_000, 5_000):
        yield f"### {k:,} calibration rows\n"
        head = [f"{name}: before, found, rows" for name in DRIFTS]
        yield "| detector | " + " | ".join(head) + " |"
        yield "|---|" + "---|" * len(DRIFTS)
        found = {name: _alarms(k, drift, runs) for name, drift in DRIFTS.items()}
        for detector in found["none"]:
            cells = [_cell(np.array(found[name][detector])) for name in DRIFTS]
            yield f"| {detector} | " + " | ".join(cells) + " |"
        yield ""


def few(runs: int) -> Iterator[str]:
    """Measure what the monitor finds if the first row of the stream has changed."""
    yield "## Changed from the first row on\n"
    names = [name for name in DRIFTS if name != "none"]
    yield "| k | " + " | ".join(f"{name}: found, rows" for name in names) + " |"
    yield "|---|" + "---|" * len(names)
    for k in (100, 300, 1_000, 5_000):
        cells = []
        for name in names:
            rows = np.array([_first_alarm(k, DRIFTS[name], run) for run in range(runs)])
            found = np.isfinite(rows)
            median = f", {np.median(rows[found]) + 1:,.0f}" if found.any() else ""
            cells.append(f"{found.mean():.0%}{median}")
        yield f"| {k:,} | " + " | ".join(cells) + " |"
    yield ""


def _first_alarm(k: int, drift: Drift, run: int) -> float:
    rng = np.random.default_rng([SEED, k, run, 2])
    monitor = abers.Monitor(*NONE.rows(rng, k), random_state=run)
    row = monitor.update(*drift.rows(rng, CHANGED)).since_row
    return math.inf if row is None else row


def _cell(rows: np.ndarray) -> str:
    """Show when alarms came: before the change, after it, and how soon."""
    late = rows[rows >= QUIET]
    found = np.isfinite(late)
    shown = f"{(rows < QUIET).mean():.0%}, "
    shown += f"{found.mean():.0%}" if late.size else "-"
    if found.any():
        shown += f", {np.median(late[found]) - QUIET + 1:,.0f}"
    return shown


def _alarms(k: int, drift: Drift, runs: int) -> dict[str, list[float]]:
    """Return the row of the first alarm of each detector; infinite without one."""
    alarms: dict[str, list[float]] = {}
    for run in range(runs):
        rng = np.random.default_rng([SEED, k, run, 1])
        calibration, quiet = NONE.rows(rng, k), NONE.rows(rng, QUIET)
        changed = drift.rows(rng, CHANGED)
        stream = tuple(np.concatenate(two) for two in zip(quiet, changed, strict=True))
        for name, row in _detectors(calibration, stream, run).items():
            alarms.setdefault(name, []).append(row)
    return alarms


def _detectors(calibration: Rows, stream: Rows, run: int) -> dict[str, float]:
    state = abers.Monitor(*calibration, random_state=run).update(*stream)
    scores = np.concatenate([calibration[0], stream[0]])
    labels = np.concatenate([calibration[1], stream[1]])
    brier = (labels - abers.fit_rule(*calibration).probability(scores)) ** 2
    k = calibration[0].size
    return {
        "monitor": math.inf if state.since_row is None else state.since_row,
        **{f"… {test}": state.alarms.get(test, math.inf) for test in TESTS},
        "PSI": _psi(calibration[0], stream[0]),
        "ADWIN, scores": _river("ADWIN", scores, k),
        "ADWIN, losses": _river("ADWIN", brier, k),
        "Page-Hinkley, scores": _river("PageHinkley", scores, k),
        "Page-Hinkley, losses": _river("PageHinkley", brier, k),
    }


def _psi(calibration: np.ndarray, stream: np.ndarray) -> float:
    for start in range(0, stream.size - WINDOW + 1, WINDOW):
        recent = stream[start : start + WINDOW]
        if population_stability_index(calibration, recent) > LARGE:
            return start + WINDOW - 1
    return math.inf


def _river(name: str, values: np.ndarray, k: int) -> float:
    from river import drift

    detector: Any = getattr(drift, name)()
    for row, value in enumerate(values.tolist()):
        detector.update(value)
        if row >= k and detector.drift_detected:
            return row - k
    return math.inf


def main() -> None:
    """Run the parts, and print or write their tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=("level", "power", "few"), action="append")
    parser.add_argument("--runs", type=int, help="streams (1,000, 100 and 100)")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    parts = {"level": (level, 1_000), "power": (power, 100), "few": (few, 100)}
    lines = []
    for name in options.part or parts:
        part, usual = parts[name]
        for line in part(options.runs or usual):
            print(line, flush=True)
            lines.append(line)
    if options.write:
        head = PAGE.read_text().partition(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n\n" + "\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main()
