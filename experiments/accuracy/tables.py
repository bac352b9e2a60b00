"""The tables of the study of accuracy, and what it decides.

A cell is a data set and a classifier; its loss in a column is the mean over the splits.
The excess of a column is its loss less that of the best column of the cell. Two columns
are compared on the same splits: their difference is "clear" if it is more than two
standard errors of its mean over the splits.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.accuracy.columns import COMMON, MANY_CLASSES, TWO_CLASSES
from experiments.accuracy.sets import MODELS, SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

LOSSES = ("log loss", "Brier loss")
FOLDS = 5
SHARE = 0.6  # of the cells, in which a new default must be better
SUMMARISED = (*COMMON, "minimax", "pooled")
ORDER = {
    (sample.name, model): (s, m)
    for s, sample in enumerate(SAMPLES)
    for m, model in enumerate(MODELS)
}


@dataclass
class Cell:
    """A data set and a classifier: losses by column and split."""

    name: str
    model: str
    about: dict[str, int]  # classes, train, test, least pair, folds
    losses: dict[str, dict[str, np.ndarray]]  # by loss and column
    impossible: dict[str, int]  # test rows whose class was given probability 0

    @property
    def many(self) -> bool:
        """Whether there are more than two classes."""
        return self.about["classes"] > 2

    def mean(self, loss: str, column: str) -> float:
        """Return the mean over the splits."""
        return float(self.losses[loss][column].mean())

    def best(self, loss: str) -> float:
        """Return the loss of the best column."""
        return min(self.mean(loss, column) for column in self.losses[loss])

    def excess(self, loss: str, column: str) -> float:
        """Return how much a column is worse than the best."""
        return self.mean(loss, column) - self.best(loss)

    def difference(self, loss: str, column: str, other: str) -> tuple[float, float]:
        """Return the mean paired difference of two columns and its standard error."""
        paired = self.losses[loss][column] - self.losses[loss][other]
        if len(paired) < 2:
            return float(paired.mean()), np.nan
        return float(paired.mean()), float(paired.std(ddof=1) / np.sqrt(len(paired)))


def cells(records: Sequence[dict[str, Any]]) -> list[Cell]:
    """Put the splits of each cell together."""
    found: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for r in sorted(records, key=lambda r: r["split"]):
        found.setdefault((r["set"], r["model"], r["folds"]), []).append(r)
    together = [
        Cell(
            name,
            model,
            {k: of[0][k] for k in ("classes", "train", "test", "least pair", "folds")},
            {
                loss: {c: np.array([r[loss][c] for r in of]) for c in of[0][loss]}
                for loss in LOSSES
            },
            {c: sum(r["impossible"][c] for r in of) for c in of[0]["impossible"]},
        )
        for (name, model, _), of in found.items()
    ]
    return sorted(together, key=lambda cell: ORDER[cell.name, cell.model])


def choose(found: Sequence[Cell], least: float) -> None:
    """Add the columns that are called minimax and pooled for any number of classes.

    With many classes minimax compares pairs if the smallest pair has at least `least`
    rows, else classes with the rest; pooled has weight 1/(C-1).
    """
    for cell in found:
        if not cell.many:
            continue
        pairs = cell.about["least pair"] >= least
        chosen = {
            "minimax": "minimax ovo" if pairs else "minimax ovr",
            "pooled": "pooled ovr 1/(C-1)",
        }
        for name, column in chosen.items():
            cell.impossible[name] = cell.impossible[column]
            for losses in cell.losses.values():
                losses[name] = losses[column]


def threshold(found: Sequence[Cell]) -> float:
    """Return the least number of rows of a pair from which ovo is chosen.

    Of all numbers that occur, and infinity, the one with the smallest mean log loss
    of minimax over the cells with many classes; of equals the largest.
    """
    many = [cell for cell in found if cell.many]

    def total(least: float) -> float:
        return sum(
            cell.mean(
                "log loss",
                "minimax ovo" if cell.about["least pair"] >= least else "minimax ovr",
            )
            for cell in many
        )

    candidates = sorted({cell.about["least pair"] for cell in many} | {np.inf})
    return min(reversed(candidates), key=total)


def groups(found: Sequence[Cell]) -> dict[str, list[Cell]]:
    """Part the cells by the number of classes; all of them come last."""
    parts = {
        "two classes": [cell for cell in found if not cell.many],
        "many classes": [cell for cell in found if cell.many],
    }
    known = {name: part for name, part in parts.items() if part}
    return known | {"all": list(found)} if len(known) > 1 else known


def lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table."""
    for row in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(row) + " |"


def summary(found: Sequence[Cell], loss: str, columns: Sequence[str]) -> Iterator[str]:
    """Yield the excesses of columns over the best one of each cell."""
    parts = groups(found)
    head = ["column"]
    for name, part in parts.items():
        head += [f"{name} ({len(part)}): mean", "largest"]
    head += ["in", "best in", "probability 0 in"]
    rows = []
    for column in columns:
        row = [column]
        for part in parts.values():
            excess = [cell.excess(loss, column) for cell in part]
            row += [f"{np.mean(excess):.4f}", f"{max(excess):.3f}"]
        worst = max(found, key=lambda cell: cell.excess(loss, column))
        best = sum(cell.excess(loss, column) == 0 for cell in found)
        never = sum(cell.impossible[column] > 0 for cell in found)
        rows.append([*row, f"{worst.name}, {worst.model}", f"{best}", f"{never}"])
    return lines(head, rows)


def against(found: Sequence[Cell], loss: str, ours: str) -> Iterator[str]:
    """Yield in how many cells a column is better than each other one."""
    parts = groups(found)
    head = [f"{ours} against", *parts, "mean difference"]
    rows = []
    for other in SUMMARISED:
        if other == ours:
            continue
        counts = []
        for part in parts.values():
            paired = [cell.difference(loss, ours, other) for cell in part]
            clear = [d for d, error in paired if abs(d) > 2 * error]
            counts.append(
                f"{sum(d < 0 for d, _ in paired)} of {len(part)} "
                f"({sum(d < 0 for d in clear)} : {sum(d > 0 for d in clear)})"
            )
        mean = np.mean([d for d, _ in paired])  # the last part is all cells
        rows.append([other, *counts, f"{mean:+.4f}"])
    return lines(head, rows)


def by_kind(found: Sequence[Cell]) -> Iterator[str]:
    """Yield mean excesses of log loss by classifier and by number of rows."""
    small, large = 700, 4_000  # rows to train
    kinds = {
        model: [cell for cell in found if cell.model == model] for model in MODELS
    } | {
        f"up to {small} rows": [c for c in found if c.about["train"] <= small],
        "1,000 to 2,000 rows": [c for c in found if small < c.about["train"] < large],
        "8,000 rows": [c for c in found if c.about["train"] >= large],
    }
    rows = [
        [
            f"{kind} ({len(of)})",
            *(
                f"{np.mean([cell.excess('log loss', column) for cell in of]):.4f}"
                for column in SUMMARISED
            ),
        ]
        for kind, of in kinds.items()
        if of
    ]
    return lines(["", *SUMMARISED], rows)


def decision(found: Sequence[Cell]) -> str:
    """Decide which `merge` to recommend: the rule was fixed before the run.

    The merge with the smaller mean excess of log loss over all cells, if it is also
    better in 60 % of them; else minimax.
    """
    excess = {
        name: np.mean([cell.excess("log loss", name) for cell in found])
        for name in ("pooled", "minimax")
    }
    better = sum(
        cell.mean("log loss", "pooled") < cell.mean("log loss", "minimax")
        for cell in found
    )
    wins = excess["pooled"] < excess["minimax"] and better >= SHARE * len(found)
    return (
        f"Mean excess over the best column: pooled {excess['pooled']:.4f}, minimax "
        f"{excess['minimax']:.4f}; pooled is better in {better} of {len(found)} cells "
        f"({better / len(found):.0%}; {SHARE:.0%} are asked for). **The "
        f'`merge` to choose is "{"pooled" if wins else "minimax"}".**'
    )


def by_folds(found: Sequence[Cell]) -> Iterator[str]:
    """Yield the log losses by number of folds."""
    folded = {(c.name, c.model) for c in found if c.about["folds"] != FOLDS}
    numbers = sorted({cell.about["folds"] for cell in found})
    shown = ("minimax", "pooled", "temperature", "mean of models")
    rows = []
    for name, model in sorted(folded, key=lambda cell: ORDER[cell]):
        at = {c.about["folds"]: c for c in found if (c.name, c.model) == (name, model)}
        row = [f"{name}, {model}"]
        for column in shown:
            row += [
                f"{at[k].mean('log loss', column):.4f}" if k in at else ""
                for k in numbers
            ]
        rows.append(row)
    head = [f"{column}, K = {k}" for column in shown for k in numbers]
    return lines(["", *head], rows)


def pairs_or_rest(found: Sequence[Cell], least: float) -> Iterator[str]:
    """Yield ovo against ovr by the number of rows of the smallest pair."""
    many = sorted(
        (cell for cell in found if cell.many), key=lambda c: c.about["least pair"]
    )
    rows = []
    for cell in many:
        size = cell.about["least pair"]
        row = [f"{size:,}{' *' if size >= least else ''}", cell.name, cell.model]
        for merge, weight in (("minimax", ""), ("pooled", " 1")):
            ovo, ovr = f"{merge} ovo{weight}", f"{merge} ovr{weight}"
            d, error = cell.difference("log loss", ovo, ovr)
            row += [f"{cell.mean('log loss', c):.4f}" for c in (ovr, ovo)]
            row.append(f"{d:+.4f} ± {error:.4f}")
        rows.append(row)
    head = ["rows of the least pair", "set", "classifier"]
    for merge in ("minimax", "pooled, weight 1"):
        head += [f"{merge}: ovr", "ovo", "ovo - ovr"]
    return lines(head, rows)


def losses(found: Sequence[Cell], loss: str) -> Iterator[str]:
    """Yield a table for each data set; the best in bold."""
    for name in dict.fromkeys(cell.name for cell in found):
        of = [cell for cell in found if cell.name == name]
        about = of[0].about
        columns = MANY_CLASSES if of[0].many else TWO_CLASSES
        rows = []
        for cell in of:
            row = [cell.model]
            for column in columns:
                value = cell.mean(loss, column)
                text = f"{value:.4f}"
                text = f"**{text}**" if value == cell.best(loss) else text
                row.append(text + (" (0)" if cell.impossible[column] else ""))
            rows.append(row)
        yield f"\n#### {name}\n"
        yield (
            f"{about['classes']} classes, {about['train']:,} rows to train, "
            f"{about['test']:,} to test, {len(of[0].losses[loss]['IVAP'])} splits.\n"
        )
        yield from lines(["", *columns], rows)


def page(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the page."""
    everything = cells(records)
    found = [cell for cell in everything if cell.about["folds"] == FOLDS]
    least = threshold(found)
    choose(everything, least)
    hours = sum(r["seconds"] for r in records) / 3600
    yield (
        f"Measured with abers {version('abers')}, scikit-learn "
        f"{version('scikit-learn')}, LightGBM {version('lightgbm')}: {len(found)} "
        f"cells with five folds, {len(records):,} runs, {hours:.1f} hours of one core."
    )
    yield f"\n### Decision\n\n{decision(found)}"
    for loss in LOSSES:
        yield f"\n### Excess over the best column, {loss}\n"
        yield from summary(found, loss, SUMMARISED)
        many = groups(found).get("many classes", [])
        if many:
            yield "\nOnly the cells with many classes:\n"
            own = [c for c in MANY_CLASSES if c not in COMMON]
            yield from summary(many, loss, own)
        for ours in ("pooled", "minimax"):
            yield (
                f"\n### {ours.capitalize()} cell by cell, {loss}\n\nCells in which it "
                "is better, and in brackets clearly better : clearly worse.\n"
            )
            yield from against(found, loss, ours)
    yield "\n### Mean excess by classifier and by number of rows, log loss\n"
    yield from by_kind(found)
    yield "\n### Number of folds, log loss\n"
    yield from by_folds(everything)
    yield (
        "\n### Pairs of classes (ovo) or classes against the rest (ovr), log loss\n\n"
        f"The rule gives m = {least}; `*` marks the cells from there on.\n"
    )
    yield from pairs_or_rest(found, least)
    yield "\n### Log loss of every cell"
    yield from losses(found, "log loss")
