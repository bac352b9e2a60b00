"""Count false alarms of a monitor of files, with labels late, shuffled and lost.

`python benchmarks/monitor_null_streams.py [streams]` prints the share of streams with
an alarm, beside alpha plus three standard errors. Nothing changes in these streams:
twenty days of 300 rows, after 1,000 calibration rows. Labels come a day later, in two
files of random order; a label and a whole file of labels are lost.
"""

from __future__ import annotations

import sys

import numpy as np

from abers.online.file_monitor import FileMonitor
from abers.online.ledger import FileFacts

N_DAYS, ROWS, N_CALIBRATION, MAX_WAIT = 20, 300, 1_000, 600
LOST_LABEL, LOST_LABELS = (3, 7), (8, 1)  # day and row, day and part
GROUPS = np.array(["north", "south", "west"])
CASES = {"alpha .1": (0.1, False), "alpha .01": (0.01, False), "--by": (0.1, True)}


def draw(rng: np.random.Generator, n: int) -> tuple:
    """Return scores with ties, labels, and groups whose scores differ."""
    group = rng.integers(len(GROUPS), size=n)
    scores = (rng.normal(size=n) + 0.3 * group).round(2)
    return scores, (rng.random(n) < 1 / (1 + np.exp(-scores))).astype(int), group


def has_alarm(seed: int, alpha: float, *, by: bool) -> bool:
    """Follow one stream; return whether there is ever an alarm."""
    rng = np.random.default_rng([seed, by])
    scores, labels, group = draw(rng, N_CALIBRATION)
    settings = {"alpha": alpha, "increasing": True, "seed": seed, "score_bits": 10}
    names = GROUPS[group].tolist() if by else None
    monitor = FileMonitor.begin(
        *(scores, labels, names), max_wait=MAX_WAIT, has_ids=True, **settings
    )
    monitor.note_calibration(FileFacts("calibration", "", ""), [])
    late: list[tuple[FileFacts, list[str], np.ndarray]] = []
    for day in range(N_DAYS):
        scores, labels, group = draw(rng, ROWS)
        ids = [f"{day}-{row}" for row in range(ROWS)]
        names = GROUPS[group].tolist() if by else None
        unknown = np.full(ROWS, -1)
        monitor.add_rows(FileFacts(f"r{day}", "", ""), scores, unknown, ids, names)
        for brought in late:
            monitor.add_labels(*brought)
        late = []
        for part, some in enumerate(np.array_split(rng.permutation(ROWS), 2)):
            rows = [row for row in some.tolist() if (day, row) != LOST_LABEL]
            if (day, part) != LOST_LABELS:
                file = FileFacts(f"l{day}-{part}", "", "")
                late.append((file, [ids[row] for row in rows], labels[rows]))
    return bool(monitor.alarms)


def main(n_streams: int) -> None:
    """Print a table."""
    print("| case | alarms | at most |\n|---|---|---|")
    for name, (alpha, by) in CASES.items():
        share = np.mean([has_alarm(seed, alpha, by=by) for seed in range(n_streams)])
        most = alpha + 3 * (alpha * (1 - alpha) / n_streams) ** 0.5
        print(f"| {name} | {share:.3f} | {most:.3f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 1_000)
