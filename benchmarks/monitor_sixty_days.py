"""Follow sixty days by the shell, as cron would, with everything that goes wrong.

`python benchmarks/monitor_sixty_days.py [seed]` prints what happened. From day 31 on
the odds are 1.8 times what they were. A monitor with full information sees each day's
rows with their labels; the one in operation gets labels a day later, shuffled and in
two parts, and meets a lost label, a lost file of labels, days that are exported again,
empty days, two commands at once, and kills.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import abers
from abers.online.file_monitor import FileMonitor
from abers.online.ledger import FileFacts

N_DAYS, CHANGE, ROWS, KILLS = 60, 31, 300, 200
EMPTY, EXPORTED_AGAIN, LOST_LABELS, LOST_LABEL = (9, 23), (12, 20), 15, 5
TWICE = 18  # a day on which two commands run at once
SETTINGS = {"alpha": 0.01, "increasing": True, "seed": 0, "score_bits": 10}
COMMAND = (sys.executable, "-m", "abers.cli", "monitor", "state.abers")


def draw(rng: np.random.Generator, n: int, odds: float = 1.0) -> tuple:
    """Return scores and labels."""
    scores = rng.normal(size=n)
    return scores, (rng.random(n) < odds / (odds + np.exp(-2 * scores))).astype(int)


def write(folder: Path, name: str, day: int, lines: list[str]) -> None:
    """Write a file as of a day."""
    (folder / name).write_text("\n".join(lines) + "\n")
    when = time.mktime((2026, 1, day + 1, 12, 0, 0, 0, 0, 0))
    os.utime(folder / name, (when, when))


def files(folder: Path, rng: np.random.Generator) -> list[tuple]:
    """Write the files of all days; return scores and labels."""
    days = []
    for day in range(N_DAYS):
        n = 0 if day in EMPTY else ROWS
        scores, labels = draw(rng, n, 1.8 if day >= CHANGE else 1.0)
        days.append((scores, labels))
        ids = [f"{day}-{row}" for row in range(n)]
        rows = [f"{one},{s!r}" for one, s in zip(ids, scores.tolist(), strict=True)]
        write(folder, f"rows-{day:02}.csv", day, ["id,score", *rows])
        if day in EXPORTED_AGAIN:
            write(folder, f"rows-{day:02}b.csv", day, ["id,score", *rows[::-1]])
        known = [row for row in range(n) if (day, row) != (LOST_LABEL, 3)]
        order = rng.permutation(known)
        if day == LOST_LABELS:
            continue
        for part, some in enumerate(np.array_split(order, 2)):
            lines = [f"{ids[row]},{labels[row]}" for row in some]
            write(folder, f"labels-{day:02}-{part}.csv", day + 1, ["id,label", *lines])
    return days


def full_information(calibration: tuple, days: list[tuple]) -> int | None:
    """Return the day of the alarm if each day's labels come with its rows."""
    monitor = FileMonitor.begin(*calibration, max_wait=600, has_ids=False, **SETTINGS)
    monitor.note_calibration(FileFacts("calibration", "", ""), [])
    for day, rows in enumerate(days):
        monitor.add_rows(FileFacts(str(day), "", str(day)), *rows)
        if monitor.alarms:
            return day
    return None


def call(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the command to its end."""
    done = subprocess.run(  # noqa: S603
        [*COMMAND, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def kill_some(folder: Path, rng: np.random.Generator, times: int, *names: str) -> int:
    """Start the command so often, and kill it; return how many were killed."""
    n_killed = 0
    for _ in range(times):
        with subprocess.Popen(  # noqa: S603
            [*COMMAND, *names],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            time.sleep(0.9 * rng.random())
            process.kill()
        n_killed += process.returncode < 0
    return n_killed


def follow(folder: Path, rng: np.random.Generator) -> dict:
    """Run each day's commands; return codes, kills and the day of the alarm."""
    seen: dict = {"codes": {}, "killed": 0, "alarm": None}
    for day in range(N_DAYS):
        kills = KILLS // N_DAYS + (day < KILLS % N_DAYS)
        names = [f"rows-{day:02}*.csv"]
        if day and day - 1 != LOST_LABELS:
            names.append(f"labels-{day - 1:02}-*.csv")
        seen["killed"] += kill_some(folder, rng, kills, *names)
        if day == TWICE:
            with subprocess.Popen(  # noqa: S603
                [*COMMAND, *names], cwd=folder, stdout=subprocess.DEVNULL
            ):
                code, text = call(folder, *names)
        else:
            code, text = call(folder, *names)
        seen["codes"].setdefault(code, []).append(day)
        if code == 3 and seen["alarm"] is None:
            seen["alarm"] = day
            print(text)
    return seen


def main(seed: int) -> None:
    """Print what happened."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        calibration = draw(rng, 5_000)
        lines = [
            f"{s!r},{y}"
            for s, y in zip(*map(np.ndarray.tolist, calibration), strict=True)
        ]
        write(folder, "calibration.csv", 0, ["score,label", *lines])
        days = files(folder, rng)
        start = ("--start", "calibration.csv", "--id", "id", "--max-wait", "600")
        code, text = call(folder, *start)
        if code:
            raise SystemExit(text)
        seen = follow(folder, rng)
        size = (folder / "state.abers").stat().st_size
        found = json.loads(call(folder, "--json")[1])
        monitor = abers.load(folder / "state.abers")
        n_lost = sum(len(s) for s, _ in days) - monitor.n_rows
        print(f"alarm on day {seen['alarm']}, with full information on day", end=" ")
        print(full_information(calibration, days))
        print(f"killed {seen['killed']}; exit codes: ")
        for code, when in sorted(seen["codes"].items()):
            print(f"  {code}: days {when}")
        print(
            f"rows lost {n_lost}; labels used {found['n_labels']:,}, dropped", end=" "
        )
        print(f"{found['n_dropped']:,}, waiting {found['n_waiting']:,}; {size:,} bytes")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 0)
