"""The intervals of `estimate_performance` beside nannyml's CBPE, on the same rows.

nannyml runs in an environment of its own (pandas, nannyml and statsmodels), given by
the path of its Python: `.venv/bin/python benchmarks/performance_nannyml.py PYTHON`. The
same file runs there, with `--cbpe`. Its interval is the estimate ± 3 sampling errors,
cut to [0, 1]; ± 1.96 of them has the nominal level of ours.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

METRICS = {"accuracy": "accuracy", "auc": "roc_auc"}
CELLS = (0, 7, 24, 35, 40, 48, 49, 52)  # of performance.py
RUNS = 40
Z = 1.96


def estimated_by_nannyml(file: str) -> list[dict[str, list[float]]]:
    """Estimate the metrics of a fixed model, chunk by chunk: (value, error)."""
    import nannyml
    import pandas as pd

    runs = np.load(file)
    found = []
    for run in range(len(runs["labels"])):
        p, y, new = runs["p"][run], runs["labels"][run], runs["new"][run]
        reference = pd.DataFrame({"p": p, "class": (p > 0.5).astype(int), "y": y})
        recent = pd.DataFrame({"p": new, "class": (new > 0.5).astype(int)})
        estimator = nannyml.CBPE(
            y_pred_proba="p",
            y_pred="class",
            y_true="y",
            problem_type="classification_binary",
            metrics=list(METRICS.values()),
            chunk_number=1,
        )
        table = estimator.fit(reference).estimate(recent)
        table = table.filter(period="analysis").to_df()
        found.append(
            {
                name: [
                    float(table[theirs, "value"].iloc[0]),
                    float(table[theirs, "sampling_error"].iloc[0]),
                ]
                for name, theirs in METRICS.items()
            }
        )
    return found


def compared(python: str) -> None:
    """Print a line per cell: coverages and mean half-widths."""
    import performance as study

    import abers
    from abers.evaluation import estimate_performance

    heads = [f"{name}, {what}" for name in METRICS for what in ("abers", "nannyml")]
    print(f"| curve | rows | new | shift | {' | '.join(heads)} |")
    print(f"|---|--:|--:|--:|{'--:|' * len(heads)}")
    cells = list(study.cells())
    for number in CELLS:
        cell = cells[number]
        rng = np.random.default_rng([study.SEED, 99, number])
        kept: dict[str, list[np.ndarray]] = {"p": [], "labels": [], "new": []}
        ours, truths = [], []
        for _ in range(RUNS):
            scores = rng.normal(size=cell.rows)
            labels = (rng.random(cell.rows) < cell.curve(scores)).astype(int)
            new = rng.normal(cell.shift, 1, cell.new_rows)
            y = (rng.random(new.size) < cell.curve(new)).astype(int)
            before, p = (study.model_of(cell.curve, s) for s in (scores, new))
            rule = abers.fit_rule(scores, labels)
            ours.append(estimate_performance(rule, new, probabilities=p))
            truths.append(study.realised(y, p))
            for name, column in (("p", before), ("labels", labels), ("new", p)):
                kept[name].append(column)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "runs.npz"
            np.savez(file, **{name: np.array(rows) for name, rows in kept.items()})
            command = [python, __file__, "--cbpe", str(file)]
            run = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        theirs = json.loads(run.stdout.splitlines()[-1])
        shown = []
        for name in METRICS:
            truth = np.array([each[name] for each in truths])
            own = np.array([each[name] for each in ours])
            value, error = np.array([each[name] for each in theirs]).T
            for lower, upper in (
                (own[:, 1], own[:, 2]),
                (value - Z * error, np.minimum(value + Z * error, 1)),
            ):
                hit = np.mean((lower <= truth) & (truth <= upper))
                shown.append(f"{hit:.2f}, ± {np.mean(upper - lower) / 2:.3f}")
        print(
            f"| {cell.title} | {cell.rows:,} | {cell.new_rows:,} | {cell.shift:g} | "
            f"{' | '.join(shown)} |",
            flush=True,
        )


def main() -> None:
    """Compare, or be the part that runs beside nannyml."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="of an environment with nannyml; or the file")
    parser.add_argument("--cbpe", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.cbpe:
        sys.stdout.write(json.dumps(estimated_by_nannyml(options.python)) + "\n")
    else:
        compared(options.python)


if __name__ == "__main__":
    main()
