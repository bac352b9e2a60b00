"""Kill `abers monitor` at random: the state is always the old one or the new one.

`python benchmarks/monitor_kills.py [times]` counts which of the two was there.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np


def table(rng: np.random.Generator, size: int) -> str:
    """Return rows of scores and labels as CSV."""
    scores = rng.normal(size=size)
    labels = rng.random(size) < 1 / (1 + np.exp(-scores))
    rows = (f"{s},{y:d}" for s, y in zip(scores.tolist(), labels.tolist(), strict=True))
    return "score,label\n" + "\n".join(rows) + "\n"


def killed(folder: Path, times: int, *, size: int = 20_000, seed: int = 0) -> Counter:
    """Kill the command so often; count what is left, and fail if it is neither state.

    A command that had ended before it could be killed does not count.
    """
    rng = np.random.default_rng(seed)
    state = folder / "state.abers"
    for name in ("calibration.csv", "new.csv"):
        (folder / name).write_text(table(rng, size))
    _start(folder, "--start", "calibration.csv").wait()
    old = state.read_bytes()
    began = time.perf_counter()
    _start(folder, "new.csv").wait()
    usual = time.perf_counter() - began
    new = state.read_bytes()
    found: Counter = Counter()
    while found["killed"] < times:
        state.write_bytes(old)
        process = _start(folder, "new.csv")
        if rng.random() < 0.5:
            time.sleep(usual * rng.random())
        else:  # most of the time is spent before the file is written: wait for that
            while process.poll() is None and not any(folder.glob(".*.tmp")):
                time.sleep(0.0002)
            time.sleep(0.01 * rng.random())
        process.kill()
        was_killed = process.wait() < 0
        left = state.read_bytes()
        if left not in (old, new):
            msg = f"the state must be the old or the new one; it has {len(left)} bytes."
            raise AssertionError(msg)
        found["killed" if was_killed else "too late"] += 1
        if was_killed:
            found["new state" if left == new else "old state"] += 1
        for temporary in folder.glob(".*.tmp"):
            found["temporary files left"] += 1
            temporary.unlink()
    return found


def _start(folder: Path, *arguments: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "abers.cli", "monitor", "state.abers", *arguments]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(dict(killed(Path(made), int(sys.argv[1]) if sys.argv[1:] else 200)))
