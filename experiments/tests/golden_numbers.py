"""Golden numbers of the miniature.

`python -m experiments.tests.golden_numbers` writes them; ABERS_DATA names the folder of
the data sets.
"""

import csv
import os
from pathlib import Path

from experiments.paper.run import MINIATURE, run_plan

PATH = Path(__file__).with_name("golden") / "miniature.csv"
NAMES = ("data", "algorithm", "ratio", "method", "merging", "setting")
LOSSES = ("log_loss", "brier_loss")


def results(folder):
    finished = run_plan(MINIATURE, folder)
    return [result for unit in finished for result in unit.results]


def write(found):
    with PATH.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow((*NAMES, *LOSSES))
        for result in found:
            names = [getattr(result, name) for name in NAMES]
            writer.writerow([*names, *(f"{getattr(result, n):.6f}" for n in LOSSES)])


def read():
    with PATH.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


if __name__ == "__main__":
    write(results(os.environ["ABERS_DATA"]))
