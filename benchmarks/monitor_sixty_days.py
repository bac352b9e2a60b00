"""Follow sixty days by the shell, as cron would, with everything that goes wrong.

`python benchmarks/monitor_sixty_days.py [seed]...` prints what happened. From day 31 on
the odds are 1.8 times what they were. A monitor with full information sees each day's
rows with their labels; the one in operation gets labels a day later, shuffled and in
two parts, and meets a lost label, a lost file of labels, a lost file of rows, days that
are exported again, empty days, two commands at once, and kills. Each command starts
from the file of the state. It fails if the alarm is late or early, if a command is
silent while labels stall, or if a row or a label is lost.
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
LOST_ROWS = 27  # a day whose labels come, but not its rows
TWICE = 18  # a day on which two commands run at once
DAYS_LATE = 3  # at most, after a monitor with full information
MAX_WAIT = 600
SETTINGS = {"alpha": 0.01, "increasing": True, "seed": 0, "score_bits": 10}
ALARM = 3  # the exit code
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
        if day != LOST_ROWS:
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
    settings = SETTINGS | {"max_wait": MAX_WAIT, "has_ids": False}
    monitor = FileMonitor.begin(*calibration, **settings)
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


def kill_some(
    folder: Path, rng: np.random.Generator, times: int, usual: float, *names: str
) -> None:
    """Start the command and kill it, so often; one that has ended does not count."""
    n_killed = 0
    while n_killed < times:
        with subprocess.Popen(  # noqa: S603
            [*COMMAND, *names],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ) as process:
            time.sleep(usual * rng.random())
            process.kill()
        n_killed += process.returncode < 0


def names_of(day: int) -> list[str]:
    """Return the files that the command of a day is given."""
    rows = [] if day == LOST_ROWS else [f"rows-{day:02}*.csv"]
    has_labels = day and day - 1 != LOST_LABELS
    return rows + ([f"labels-{day - 1:02}-*.csv"] if has_labels else [])


def follow(folder: Path, rng: np.random.Generator, usual: float) -> dict:
    """Run each day's commands; return codes, kills, the alarm and its sentences."""
    seen: dict = {"codes": {}, "alarm": None, "text": "", "mute": []}
    for day in range(N_DAYS):
        names, kills = names_of(day), KILLS // N_DAYS + (day < KILLS % N_DAYS)
        kill_some(folder, rng, kills, usual, *names)
        if day == TWICE:
            with subprocess.Popen(  # noqa: S603
                [*COMMAND, *names], cwd=folder, stdout=subprocess.DEVNULL
            ):
                code, text = call(folder, *names)
        else:
            code, text = call(folder, *names)
        seen["codes"].setdefault(code, []).append(day)
        is_stalled = abers.load(folder / "state.abers").stall is not None
        if is_stalled and (code not in {1, 3, 4} or "Stalled" not in text):
            seen["mute"].append(day)
        if code == ALARM and seen["alarm"] is None:
            seen["alarm"], seen["text"] = day, text
    return seen


def run(seed: int, folder: Path) -> tuple[str, str]:
    """Return a line on what happened, and what the command said at the alarm."""
    rng = np.random.default_rng(seed)
    calibration = draw(rng, 5_000)
    lines = [
        f"{s!r},{y}" for s, y in zip(*map(np.ndarray.tolist, calibration), strict=True)
    ]
    write(folder, "calibration.csv", 0, ["score,label", *lines])
    days = files(folder, rng)
    start = ("--start", "calibration.csv", "--id", "id", "--max-wait", str(MAX_WAIT))
    began = time.perf_counter()
    code, text = call(folder, *start)
    usual = time.perf_counter() - began
    if code:
        raise SystemExit(text)
    seen = follow(folder, rng, usual)
    facts = json.loads(call(folder, "--json")[1])
    n_rows = sum(len(s) for day, (s, _) in enumerate(days) if day != LOST_ROWS)
    n_done = facts["n_labels"] + facts["n_dropped"] + facts["n_waiting"]
    alone = full_information(calibration, days)
    codes = "; ".join(
        f"{code}: {len(at)}" for code, at in sorted(seen["codes"].items())
    )
    size = (folder / "state.abers").stat().st_size
    line = (
        f"| {seed} | {seen['alarm']} | {alone} | {codes} | "
        f"{facts['n_labels']:,} | {facts['n_dropped']} | {size:,} |"
    )
    if not (
        seen["alarm"] is not None
        and CHANGE <= seen["alarm"] <= (alone or 0) + DAYS_LATE
        and not seen["mute"]
        and facts["n_rows"] == n_done == n_rows
    ):
        msg = f"{line}\nrows {facts['n_rows']} of {n_rows}, {n_done}; {seen['mute']}"
        raise AssertionError(msg)
    return line, seen["text"]


def main(seeds: list[int]) -> None:
    """Print a table, and what the command said at the first alarm."""
    print(
        "| seed | alarm on day | with full information | exit codes: days | labels "
        "used | rows dropped | bytes |\n|---|---|---|---|---|---|---|"
    )
    texts = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as name:
            line, text = run(seed, Path(name))
        print(line, flush=True)
        texts.append(text)
    print(texts[0])


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]] or [0])
