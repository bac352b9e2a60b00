"""The study of accuracy: run it, `--write` puts its tables into ACCURACY.md.

Written down before the first full run, and nothing of it was chosen by looking at the
losses:

- data sets, sizes, splits and classifiers: `sets`;
- columns: `columns`, all of a cell from one set of K classifiers;
- five random splits a cell, five stratified and shuffled folds; for the sets of
  `FOLDED` also 3, 10 and 20;
- the decision: `tables.decision`.

A run is resumed where it was stopped: each (set, classifier, split, folds) is one line
of the journal. `--check` compares two cells with scikit-learn's own class.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import brier_score_loss, log_loss
from threadpoolctl import threadpool_limits

from experiments.accuracy import tables
from experiments.accuracy.columns import Cell, columns, shuffled
from experiments.accuracy.sets import (
    MODELS,
    SAMPLES,
    Sample,
    classifier,
    split,
    table,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[2]
JOURNAL = ROOT / "build" / "accuracy.jsonl"
PAGE = Path(__file__).with_name("ACCURACY.md")
MARK = "<!-- measured -->"
SPLITS = 5
FOLDS = 5
FOLDED = {"breast cancer", "spambase 2,000", "adult 2,000", "digits"}
OTHER_FOLDS = (3, 10, 20)
CHECKED = (("breast cancer", "logistic regression"), ("digits", "naive Bayes"))

Task = tuple[Sample, str, int, int]  # set, classifier, split, folds


def tasks() -> list[Task]:
    """List what is to be done: a split of all sets after the other, small ones first.

    Other numbers of folds come last.
    """
    five = itertools.product(SAMPLES, MODELS, range(SPLITS), (FOLDS,))
    folded = [sample for sample in SAMPLES if sample.name in FOLDED]
    others = itertools.product(folded, MODELS, range(SPLITS), OTHER_FOLDS)
    size = {sample: sample.rows or 0 for sample in SAMPLES}
    return sorted(
        (*five, *others), key=lambda task: (task[3] != FOLDS, task[2], size[task[0]])
    )


def key(sample: str, model: str, seed: int, folds: int) -> str:
    """Name a task in the journal."""
    return f"{sample}, {model}, split {seed}, {folds} folds"


def measured(task: Task) -> dict[str, Any]:
    """Train, calibrate in all ways, and return the losses."""
    sample, model, seed, folds = task
    start = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        # A class with fewer rows than folds; features without names.
        warnings.simplefilter("ignore")
        cell, y = trained(*task)
        p = {name: f(cell) for name, f in columns(cell.n_classes, folds).items()}
    return {
        "set": sample.name,
        "model": model,
        "split": seed,
        "folds": folds,
        "classes": cell.n_classes,
        "train": len(cell.labels),
        "test": len(y),
        "least pair": cell.least_pair(),
        "log loss": {
            name: log_loss(y, of, labels=range(cell.n_classes))
            for name, of in p.items()
        },
        "Brier loss": {name: brier(y, of) for name, of in p.items()},
        "impossible": {name: impossible(y, of) for name, of in p.items()},
        "seconds": round(time.perf_counter() - start, 2),
    }


def trained(sample: Sample, model: str, seed: int, folds: int) -> tuple[Cell, Any]:
    """Train the classifiers of a cell; return the labels of the test rows, too."""
    X, new, y, y_new = split(sample, seed)
    asked = classifier(model, sample.source, seed)
    return Cell.trained(asked, X, y, new, shuffled(folds, seed)), y_new


def brier(y: np.ndarray, p: np.ndarray) -> float:
    """Return the plain Brier loss; with many classes the sum over them."""
    two = p.shape[1] == 2
    known = range(p.shape[1])
    return brier_score_loss(y, p[:, 1]) if two else brier_score_loss(y, p, labels=known)


def impossible(y: np.ndarray, p: np.ndarray) -> int:
    """Count the rows whose class was given probability 0."""
    return int((p[np.arange(len(y)), y] == 0).sum())


def journal(path: Path) -> list[dict[str, Any]]:
    """Read what was measured; a last line that was cut off is dropped."""
    if not path.exists():
        return []
    text = path.read_text()
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole)
    return [json.loads(line) for line in whole.splitlines()]


def run(asked: Iterable[Task], path: Path, jobs: int) -> None:
    """Measure what the journal lacks."""
    done = {key(r["set"], r["model"], r["split"], r["folds"]) for r in journal(path)}
    left = [t for t in asked if key(t[0].name, *t[1:]) not in done]
    path.parent.mkdir(exist_ok=True)
    workers = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")
    found = workers(joblib.delayed(measured)(task) for task in left)
    with path.open("a") as lines:
        for number, record in enumerate(found, start=1):
            lines.write(json.dumps(record) + "\n")
            lines.flush()
            name = key(*(record[k] for k in ("set", "model", "split", "folds")))
            seconds = record["seconds"]
            print(f"{number}/{len(left)} {name}: {seconds} s", file=sys.stderr)


def check() -> None:
    """Compare with CalibratedClassifierCV as everybody calls it."""
    by_name = {sample.name: sample for sample in SAMPLES}
    for name, model in CHECKED:
        sample = by_name[name]
        X, new, y, _ = split(sample, 0)
        with threadpool_limits(1):
            cell, _ = trained(sample, model, 0, FOLDS)
            offered = columns(cell.n_classes, FOLDS)
            for column, method, ensemble in (
                ("isotonic", "isotonic", True),
                ("sigmoid", "sigmoid", True),
                ("temperature", "temperature", True),
                ("temperature, refitted", "temperature", False),
            ):
                theirs = CalibratedClassifierCV(
                    classifier(model, sample.source, 0),
                    method=method,
                    ensemble=ensemble,
                    cv=shuffled(FOLDS, 0),
                )
                gap = theirs.fit(X, y).predict_proba(new) - offered[column](cell)
                print(f"{name}, {model}, {column}: differ by {abs(gap).max():.1e}")


def main() -> None:
    """Run what was asked for, and print the tables or keep them."""
    parser = argparse.ArgumentParser(description="Compare ways to calibrate.")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--journal", type=Path, default=JOURNAL)
    parser.add_argument("--fresh", action="store_true", help="forget the journal")
    parser.add_argument("--sets", nargs="+", help="only these data sets")
    parser.add_argument("--models", nargs="+", help="only these classifiers")
    parser.add_argument("--splits", type=int, default=SPLITS, help="only the first")
    parser.add_argument("--write", action="store_true", help="put them in ACCURACY.md")
    parser.add_argument("--check", action="store_true", help="hold it against sklearn")
    options = parser.parse_args()
    if options.check:
        check()
        return
    if options.fresh:
        options.journal.unlink(missing_ok=True)
    asked = [
        task
        for task in tasks()
        if task[0].name in (options.sets or [task[0].name])
        and task[1] in (options.models or MODELS)
        and task[2] < options.splits
    ]
    for source in {task[0].source for task in asked}:
        table(source)  # what is missing is said before anything is run
    run(asked, options.journal, options.jobs)
    lines = "\n".join(tables.page(journal(options.journal)))
    if options.write:
        head = PAGE.read_text().split(MARK)[0]
        PAGE.write_text(f"{head}{MARK}\n\n{lines}\n")
    else:
        print(lines)
