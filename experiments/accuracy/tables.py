"""The page of the study of accuracy, made of its measurements alone.

An experiment is a source, a classifier, a split and a number of calibration rows. The
win rate of a method is the share of the other methods that it beats there, as CalArena
counts; its excess is its loss less that of the best peer, so that a method of ours may
be below 0. Means are taken over the experiments of a source, then over the sources;
standard errors are those of the second mean.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from experiments.accuracy.methods import PROTOCOLS, methods
from experiments.accuracy.predictions import MODELS
from experiments.accuracy.sources import sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from abers.validation import FloatArray
    from experiments.accuracy.study import Measurement

UNIT = 1e-4  # of losses in the tables
LOSSES = {"log_loss": "log loss", "brier": "Brier loss"}
RECOMMENDED = {"post hoc": "stacked", "K models": "CalibratedClassifier"}
BEFORE = {"post hoc": "IVAP", "K models": "CVAP, pooled"}  # ours without a stack
KINDS = {True: "two classes", False: "many classes"}
SIZES = (100, 500, 2_000, 5_000, 20_000)  # last number of calibration rows of a band
CLASSES = ((3, 4), (5, 9), (10, 20))
LEVEL = 0.02  # win rates this close count as level


class Estimate(NamedTuple):
    """A mean over sources and its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean / UNIT:+.1f} ± {self.error / UNIT:.1f}"


@dataclass(frozen=True, eq=False)
class Field:
    """The experiments of a protocol with two classes, or with more: (E, M) arrays."""

    protocol: str
    two: bool
    methods: list[str]
    is_peer: NDArray[np.bool_]  # (M,)
    sources: NDArray[np.str_]  # (E,)
    models: NDArray[np.str_]
    rows: NDArray[np.int64]
    classes: NDArray[np.int64]
    measures: dict[str, FloatArray]  # by measure

    @classmethod
    def of(cls, results: Sequence[Measurement], protocol: str, *, two: bool) -> Field:
        """Collect the experiments."""
        experiments: dict[tuple[str, ...], dict[str, Measurement]] = defaultdict(dict)
        for entry in results:
            if entry.protocol == protocol and (entry.classes == 2) == two:
                experiments[entry.key[:-1]][entry.method] = entry
        rows = list(experiments.values())
        offered = {
            name: method
            for name, method in methods(protocol, 2 if two else 3).items()
            if any(name in row for row in rows)
        }
        first = [next(iter(row.values())) for row in rows]
        names = ("log_loss", "brier", "ece", "zeros", "failed", "seconds")
        return cls(
            protocol,
            two,
            [*offered],
            np.array([method.library != "abers" for method in offered.values()]),
            np.array([entry.source for entry in first]),
            np.array([entry.model for entry in first]),
            np.array([entry.rows for entry in first]),
            np.array([entry.classes for entry in first]),
            {
                name: np.array(
                    [[float(getattr(row[m], name)) for m in offered] for row in rows]
                )
                for name in names
            },
        )

    def only(self, keep: NDArray[np.bool_]) -> Field:
        """Return some of the experiments."""
        return Field(
            self.protocol,
            self.two,
            self.methods,
            self.is_peer,
            self.sources[keep],
            self.models[keep],
            self.rows[keep],
            self.classes[keep],
            {name: values[keep] for name, values in self.measures.items()},
        )

    @property
    def n_sources(self) -> int:
        """Number of sources."""
        return len(np.unique(self.sources))

    def column(self, values: FloatArray, method: str) -> FloatArray:
        """Return the column of a method."""
        return values[:, self.methods.index(method)]

    def over_sources(self, values: FloatArray) -> Estimate:
        """Average over the experiments of each source, then over the sources."""
        _, where = np.unique(self.sources, return_inverse=True)
        means = np.bincount(where, values) / np.bincount(where)
        spread = means.std(ddof=1) if len(means) > 1 else np.nan
        return Estimate(float(means.mean()), float(spread / np.sqrt(len(means))))

    def wins(self, loss: str) -> FloatArray:
        """Return the share of the other methods that each one beats."""
        values = self.measures[loss]
        beaten = values[:, :, None] < values[:, None, :]
        return beaten.sum(axis=2) / (len(self.methods) - 1)

    def excess(self, loss: str) -> FloatArray:
        """Return losses less that of the best peer."""
        values = self.measures[loss]
        return values - values[:, self.is_peer].min(axis=1, keepdims=True)

    def difference(self, loss: str, ours: str, other: str) -> Estimate:
        """Return the mean paired difference of two methods."""
        values = self.measures[loss]
        return self.over_sources(self.column(values, ours) - self.column(values, other))

    def groups(self) -> dict[str, Field]:
        """Part the experiments by classifier, size and number of classes."""
        masks = {model: self.models == model for model in MODELS}
        for least, most in zip((0, *SIZES), SIZES, strict=False):
            masks[f"{least + 1:,} to {most:,} rows"] = (self.rows > least) & (
                self.rows <= most
            )
        if not self.two:
            for least, most in CLASSES:
                masks[f"{least} to {most} classes"] = (self.classes >= least) & (
                    self.classes <= most
                )
        parts = {name: self.only(mask) for name, mask in masks.items() if mask.any()}
        return {f"{name} ({part.n_sources})": part for name, part in parts.items()}


def lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a table; columns that begin with a number stand to the right."""
    body = list(rows)
    first = body[0] if body else head
    rule = ["--:" if cell.strip("*+-")[:1].isdigit() else "---" for cell in first]
    for row in (head, rule, *body):
        yield "| " + " | ".join(row) + " |"


def shown(field: Field, method: str) -> str:
    """Return the name of a method, ours in bold."""
    peer = field.is_peer[field.methods.index(method)]
    return method if peer else f"**{method}**"


def summary(field: Field) -> Iterator[str]:
    """Yield what each method does, the smallest mean excess of log loss first."""
    rows = []
    for method in ranked(field):
        row = [shown(field, method)]
        for loss in LOSSES:
            excess = field.column(field.excess(loss), method)
            win = field.over_sources(field.column(field.wins(loss), method))
            row += [f"{win.mean:.3f}", str(field.over_sources(excess))]
            row.append(f"{excess.max() / UNIT:,.0f}")
        ece = field.over_sources(field.column(field.measures["ece"], method))
        zeros = field.column(field.measures["zeros"], method)
        failed = field.column(field.measures["failed"], method)
        seconds = np.median(field.column(field.measures["seconds"], method))
        row += [f"{ece.mean:.4f}", f"{(zeros > 0).mean():.0%}", f"{failed.sum():.0f}"]
        rows.append([*row, f"{1000 * seconds:.1f}"])
    head = ["method"]
    for loss in LOSSES.values():
        head += [f"{loss}: win rate", "mean excess", "largest"]
    return lines([*head, "ECE", "infinite", "failed", "ms"], rows)


def ranked(field: Field) -> list[str]:
    """Return the methods, the smallest mean excess of log loss first."""
    excess = field.excess("log_loss")
    return sorted(
        field.methods,
        key=lambda name: field.over_sources(field.column(excess, name)).mean,
    )


def paired(field: Field) -> Iterator[str]:
    """Yield the differences of the recommended method to each other one."""
    ours = RECOMMENDED[field.protocol]
    rows = []
    for other in ranked(field):
        if other == ours:
            continue
        row = [shown(field, other)]
        for loss in LOSSES:
            values = field.measures[loss]
            better = field.column(values, ours) < field.column(values, other)
            row.append(str(field.difference(loss, ours, other)))
            row.append(f"{field.over_sources(better.astype(float)).mean:.2f}")
        rows.append(row)
    head = [f"{ours} against"]
    for loss in LOSSES.values():
        head += [loss, "better in"]
    return lines(head, rows)


def by_group(field: Field, loss: str) -> Iterator[str]:
    """Yield win rate and mean excess by classifier, size and number of classes."""
    groups = field.groups()
    rows = []
    for method in ranked(field):
        row = [shown(field, method)]
        for part in groups.values():
            win = part.over_sources(part.column(part.wins(loss), method)).mean
            excess = part.over_sources(part.column(part.excess(loss), method)).mean
            row.append(f"{win:.2f} / {excess / UNIT:.0f}")
        rows.append(row)
    return lines(["win rate / mean excess", *groups], rows)


def against_before(field: Field) -> Iterator[str]:
    """Yield, group by group, what the stack changes, and what the best peer has."""
    ours, before = RECOMMENDED[field.protocol], BEFORE[field.protocol]
    rows = []
    for name, part in field.groups().items():
        best = next(m for m in ranked(part) if part.is_peer[part.methods.index(m)])
        row = [name]
        row += [str(part.difference(loss, ours, before)) for loss in LOSSES]
        row += [best, *(str(part.difference(loss, ours, best)) for loss in LOSSES)]
        rows.append(row)
    head = [f"{ours} against", f"{before}: log loss", "Brier loss"]
    return lines([*head, "its best peer", "log loss", "Brier loss"], rows)


def claims(fields: Sequence[Field]) -> Iterator[str]:
    """Yield what the study was to show, and whether it does."""
    rows = []
    for field in fields:
        for loss, name in LOSSES.items():
            where = f"{field.protocol}, {KINDS[field.two]}, {name}"
            stated = ahead if field.protocol == "post hoc" else clearly_better
            rows += [[where, *claim] for claim in stated(field, loss)]
    return lines(["", "claim", "seen", "numbers"], rows)


def ahead(field: Field, loss: str) -> Iterator[list[str]]:
    """Yield whether the recommended method is ahead of every peer."""
    ours = RECOMMENDED[field.protocol]
    slack = 0.0 if field.two else LEVEL
    least = "above every peer" if field.two else f"at most {LEVEL} below the best peer"
    for what, values, sign, allowed in (
        ("mean excess below every peer", field.excess(loss) / UNIT, 1, 0.0),
        (f"win rate {least}", field.wins(loss), -1, slack),
    ):
        means = {
            method: field.over_sources(field.column(values, method)).mean
            for method in field.methods
        }
        peers = [m for m in field.methods if field.is_peer[field.methods.index(m)]]
        rival = min(peers, key=lambda method: sign * means[method])
        seen = sign * (means[ours] - means[rival]) < allowed
        digits = 1 if sign > 0 else 3
        numbers = f"{ours} {means[ours]:.{digits}f}, {rival} {means[rival]:.{digits}f}"
        yield [what, yes(seen), numbers]


def clearly_better(field: Field, loss: str) -> Iterator[list[str]]:
    """Yield whether the recommended method is better than ours without a stack."""
    ours, before = RECOMMENDED[field.protocol], BEFORE[field.protocol]
    change = field.difference(loss, ours, before)
    seen = change.mean < -2 * change.error
    what = f"{ours} better than {before} by more than 2 standard errors"
    yield [what, yes(seen), str(change)]


def yes(seen: bool) -> str:  # noqa: FBT001 (one thing to say)
    """Return a word."""
    return "yes" if seen else "**no**"


def worst(field: Field, count: int = 8) -> Iterator[str]:
    """Yield where the recommended method loses most to the best peer of a cell."""
    ours = RECOMMENDED[field.protocol]
    excess = field.column(field.excess("log_loss"), ours)
    peers = np.array(field.methods)[field.is_peer]
    best = field.measures["log_loss"][:, field.is_peer].argmin(axis=1)
    rows = [
        [
            f"{field.sources[i]}, {field.models[i]}",
            f"{field.rows[i]:,}",
            f"{excess[i] / UNIT:.0f}",
            str(peers[best[i]]),
        ]
        for i in np.argsort(-excess, kind="stable")[:count]
    ]
    return lines(["source and classifier", "rows", "excess", "best peer"], rows)


def every_source(fields: Sequence[Field]) -> Iterator[str]:
    """Yield the mean log losses of every source."""
    by_kind = {(field.protocol, field.two): field for field in fields}
    rows = []
    for source in sources().values():
        row = [source.name, f"{source.rows:,}", f"{source.features}"]
        row.append(f"{source.classes}")
        for protocol in PROTOCOLS:
            field = by_kind.get((protocol, source.classes == 2))
            keep = field.sources == source.name if field else np.zeros(0, bool)
            if field is None or not keep.any():
                row += [""] * 4
                continue
            means = field.measures["log_loss"][keep].mean(axis=0)
            of = dict(zip(field.methods, means, strict=True))
            best = means[field.is_peer].min()
            ours, before = of[RECOMMENDED[protocol]], of[BEFORE[protocol]]
            plain = of[
                "uncalibrated" if protocol == "post hoc" else "mean of the models"
            ]
            text = f"**{ours:.4f}**" if ours < best else f"{ours:.4f}"
            row += [f"{plain:.4f}", f"{before:.4f}", text, f"{best:.4f}"]
        rows.append(row)
    head = ["source", "rows", "features", "classes"]
    for protocol in PROTOCOLS:
        head += [f"{protocol}: not calibrated", BEFORE[protocol]]
        head += [RECOMMENDED[protocol], "best peer"]
    return lines(head, rows)


def page(results: Sequence[Measurement]) -> str:
    """Return the measured part of the page."""
    fields = [
        field
        for protocol in PROTOCOLS
        for two in KINDS
        if len((field := Field.of(results, protocol, two=two)).rows)
    ]
    counts = {
        two: len({e.source for e in results if (e.classes == 2) == two})
        for two in KINDS
    }
    experiments = sum(len(field.rows) for field in fields)
    size = (
        f"{experiments:,} experiments on {counts[True]} sources with two classes and "
        f"{counts[False]} with more.\n"
    )
    text = [
        size,
        "## What it was to show\n",
        *claims(fields),
    ]
    for field in fields:
        title = f"{field.protocol[0].upper()}{field.protocol[1:]}, {KINDS[field.two]}"
        text += [
            f"\n## {title}\n",
            f"{len(field.rows):,} experiments, {field.n_sources} sources.\n",
            *summary(field),
            f"\n### {title}: differences\n",
            *paired(field),
            f"\n### {title}: by model and size\n",
            "In brackets the number of sources.\n",
            *against_before(field),
        ]
        for loss, name in LOSSES.items():
            text += [
                f"\n### {title}: {name} of all methods by model and size\n",
                *by_group(field, loss),
            ]
        text += [f"\n### {title}: the largest losses to a peer\n", *worst(field)]
    text += ["\n## Every source, mean log loss\n", *every_source(fields)]
    return "\n".join(text) + "\n"
