"""The study of partial orders: run it, `--write` puts its tables into POSET.md.

Two models, or three, whose scores are combined by their partial order, against each
model alone and against a logistic regression on their scores. ABERS_DATA names the
folder of the paper's data.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import abers
from experiments.paper import data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Method = tuple[str, ...]  # what it does, and with which models

PAGE = Path(__file__).parent / "POSET.md"
MARK = "<!-- measured -->"
MODELS = {"lr": "logistic regression", "nb": "naive Bayes", "rf": "random forest"}
MODELS["gb"] = "gradient boosting"
GROUPS = [*combinations(MODELS, 2), ("lr", "rf", "gb")]
FURTHEST = 1e-3  # probabilities are kept that far from 0 and 1 before a stack sees them


@dataclass(frozen=True)
class Setting:
    """A data set, the rows of each split, and the number of splits."""

    source: str
    train: int
    calibrate: int
    test: int
    splits: int

    @property
    def name(self) -> str:
        """What the tables call it."""
        return f"{self.source}, {self.calibrate:,} calibration rows"


SETTINGS = (
    Setting("german", 400, 300, 300, 40),
    Setting("adult", 2_000, 500, 2_000, 20),
    Setting("adult", 2_000, 2_000, 2_000, 20),
    Setting("bank", 8_000, 2_000, 4_000, 15),
    Setting("spambase", 1_500, 1_000, 2_000, 20),
)


def model(name: str, nominal: list[int], seed: int) -> Any:
    """Return a classifier with default settings, in one thread."""
    if name == "nb":
        return GaussianNB()
    if name == "rf":
        return RandomForestClassifier(random_state=seed, n_jobs=1)
    if name == "gb":
        return HistGradientBoostingClassifier(random_state=seed)
    levels = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((levels, nominal), remainder=StandardScaler())
    return make_pipeline(columns, LogisticRegression(max_iter=1000))


def losses_of_split(
    X: Floats, y: Floats, nominal: list[int], s: Setting, seed: int
) -> tuple[dict[Method, float], dict[Method, float]]:
    """Return the log loss of every method on the test rows of one split, and widths."""
    rows = np.random.default_rng(seed).permutation(len(y))
    rows = rows[: s.train + s.calibrate + s.test]
    train, calibrate, test = np.split(rows, np.cumsum((s.train, s.calibrate)))
    scores = {}
    for name in MODELS:
        fitted = model(name, nominal, seed).fit(X[train], y[train])
        p = fitted.predict_proba(X[rows])[:, 1]
        p = np.clip(p, FURTHEST, 1 - FURTHEST) if name == "rf" else p
        with np.errstate(divide="ignore"):
            scores[name] = np.log(p) - np.log1p(-p)
    old = slice(s.train, s.train + s.calibrate)
    new = slice(s.train + s.calibrate, None)
    losses: dict[Method, float] = {}
    widths: dict[Method, float] = {}

    def keep(method: Method, rule: Any, asked: Floats) -> None:
        bounds = rule.bounds(asked)
        losses[method] = log_loss(y[test], abers.rules.log_minimax(*bounds.T))
        widths[method] = float(np.mean(bounds[:, 1] - bounds[:, 0]))

    labels = y[calibrate]
    for name in MODELS:
        rule = abers.fit_rule(scores[name][old], labels)
        keep(("alone", name), rule, scores[name][new])
    for group in GROUPS:
        both = np.column_stack([scores[name] for name in group])
        keep(
            ("poset", *group), abers.rules.fit_poset_rule(both[old], labels), both[new]
        )
        finite = np.clip(both, -10, 10)
        half = s.calibrate // 2
        stack = LogisticRegression().fit(finite[old][:half], labels[:half])
        stacked = stack.decision_function(finite)
        rule = abers.fit_rule(stacked[old][half:], labels[half:])
        keep(("stack, rule", *group), rule, stacked[new])
        stack = LogisticRegression().fit(finite[old], labels)
        p = stack.predict_proba(finite[new])[:, 1]
        losses["stack", *group] = log_loss(y[test], p)
    return losses, widths


def log_loss(y: Floats, p: Floats) -> float:
    """Return the mean natural-log loss."""
    return float(-np.log(np.where(y == 1, p, 1 - p)).mean())


def difference(of: Floats, other: Floats) -> str:
    """Show a mean difference with its standard error; bold beyond two of these."""
    d = of - other
    error = d.std(ddof=1) / np.sqrt(d.size)
    shown = f"{d.mean():+.4f} ± {error:.4f}"
    return f"**{shown}**" if abs(d.mean()) > 2 * error else shown


def table_of(s: Setting) -> Iterator[str]:
    """Run the splits of a setting, and yield the lines of its table."""
    read = data.load(s.source, os.environ["ABERS_DATA"])
    X = np.stack([np.asarray(c.values, float) for c in read.columns], axis=1)
    nominal = [i for i, c in enumerate(read.columns) if len(c.levels) > 2]
    X = np.where(np.isnan(X), -1.0, X)
    found = []
    for seed in range(s.splits):
        started = time.perf_counter()
        found.append(losses_of_split(X, read.labels.astype(float), nominal, s, seed))
        print(s.name, seed, f"{time.perf_counter() - started:.1f} s", flush=True)
    loss = {m: np.array([losses[m] for losses, _ in found]) for m in found[0][0]}
    width = {m: np.mean([widths[m] for _, widths in found]) for m in found[0][1]}
    yield f"\n### {s.source.capitalize()}: {s.calibrate:,} calibration rows\n"
    yield f"{s.train:,} training rows, {s.test:,} test rows, {s.splits} splits.\n"
    alone = (f"{loss['alone', m].mean():.4f} ({m})" for m in MODELS)
    yield f"Each model alone: {', '.join(alone)}.\n"
    yield (
        "| models | alone, the better | partial order | stack, then rule | stack | "
        "minus alone | minus stack, rule | minus stack | width, alone | width |"
    )
    yield "| --- |" + " --- |" * 9
    for group in GROUPS:
        better = min(group, key=lambda m: loss["alone", m].mean())
        ours = loss["poset", *group]
        others = [
            loss["alone", better],
            loss["stack, rule", *group],
            loss["stack", *group],
        ]
        means = [x.mean() for x in (others[0], ours, *others[1:])]
        cells = [
            *(f"{mean:.4f}" for mean in means),
            *(difference(ours, other) for other in others),
            f"{width['alone', better]:.3f}",
            f"{width['poset', *group]:.3f}",
        ]
        cells[0] += f" ({better})"
        yield f"| {' + '.join(group)} | " + " | ".join(cells) + " |"


def counted(lines: list[str]) -> Iterator[str]:
    """Count the differences that are more than two standard errors from 0."""
    rows = [line.split("|")[6:9] for line in lines if " ± " in line]
    names = ("the better model alone", "stack, then rule", "stack")
    for name, column in zip(names, zip(*rows, strict=True), strict=True):
        bold = [cell.strip() for cell in column if "**" in cell]
        better = sum(cell.startswith("**-") for cell in bold)
        yield (
            f"- against {name}: better in {better} of {len(rows)} rows, worse in "
            f"{len(bold) - better}, neither in {len(rows) - len(bold)}"
        )


def main() -> None:
    """Print the tables; keep them if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if not os.environ.get("ABERS_DATA"):
        msg = "ABERS_DATA must name the folder of the paper's data."
        raise SystemExit(msg)
    names = ", ".join(f"{short}: {name}" for short, name in MODELS.items())
    lines = [f"{names}. Bold: more than two standard errors from 0."]
    for setting in SETTINGS:
        lines += table_of(setting)
    lines[1:1] = ["\nThe partial order, by differences in bold:\n", *counted(lines)]
    print("\n".join(lines))
    if options.write:
        kept = PAGE.read_text().split(MARK)[0]
        PAGE.write_text(kept + MARK + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
