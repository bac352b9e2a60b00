"""Comparison text: a comparison in sentences and tables."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

import numpy as np

from abers.evaluation.calibration_tests import two_sided_p, z_score
from abers.formatting import change, cost, label_name
from abers.losses import SCORING_LOSSES
from abers.report.document import Document, Section, cut, dated
from abers.thresholds import SIGNIFICANCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from abers.comparison import Comparison, Difference
    from abers.formatting import Table


def document(
    comparison: Comparison,
    *,
    title: str | None = None,
    facts: Mapping[str, object] | None = None,
) -> Document:
    """Describe a comparison."""
    name = label_name(comparison.pos_label)
    meaning = f", that is {name}" if name else ""
    rows = f"{comparison.n_rows:,} of {len(comparison.classes)} classes"
    if comparison.n_positives is not None:
        rows = f"{comparison.n_rows:,} ({comparison.n_positives:,} positive{meaning})"
    own = [
        ("rows", rows),
        ("SHA-256 of labels and predictions", _hash_of(comparison)),
    ]
    return Document(
        "Methods compared" if title is None else cut(title),
        [],
        "",
        summary(comparison),
        [
            Section(
                "Methods compared",
                tables=tables(comparison),
                notes=infinite_note(comparison),
            ),
            Section("Figures", figures="figures"),
        ],
        dated(facts, own),
    )


def _hash_of(comparison: Comparison) -> str:
    """Return the SHA-256 of the labels and of every method's predictions."""
    sha = hashlib.sha256(np.ascontiguousarray(comparison.labels, dtype="<i8").data)
    for name in sorted(comparison.probabilities):
        sha.update(np.ascontiguousarray(comparison.probabilities[name], "<f8").data)
    return sha.hexdigest()


def summary(comparison: Comparison) -> list[str]:
    """Name the best method, its lead, and how certain it is."""
    best, *others = comparison.methods
    text = f"{best.name} has the smallest log loss, {cost(best.log_loss)}"
    if others:
        text += f"; {others[-1].name} the largest, {cost(others[-1].log_loss)}"
    return [f"{text}.{_as_good(comparison)}", _lead(comparison), comparison.how]


def _as_good(comparison: Comparison) -> str:
    """Name the methods that are not significantly worse than the best one."""
    names = [
        method.name
        for method in comparison.ranked("log")
        if method.from_best is not None and not _differs(method.from_best)
    ]
    if not names:
        return ""
    return f" Not significantly worse: {', '.join(names)}."


def _differs(difference: Difference) -> bool:
    z = z_score(difference.mean, difference.standard_error)
    return math.isinf(difference.mean) or two_sided_p(z) < SIGNIFICANCE


def _lead(comparison: Comparison) -> str:
    best = comparison.methods[0]
    if best.name == comparison.reference:
        return f"No method is better than {comparison.reference}, the reference."
    difference = best.log_difference
    text = change(difference.mean, difference.standard_error)
    certainty = "significant" if _differs(difference) else "not significant"
    if math.isinf(difference.mean):
        certainty = "the reference has an infinite loss"
    elif math.isnan(difference.standard_error):
        certainty = "one row has no standard error"
    return f"Its difference from {comparison.reference} is {text} ({certainty})."


def tables(comparison: Comparison) -> list[Table]:
    """Return a table of the methods for each loss, best first."""
    return [comparison.table(loss) for loss in SCORING_LOSSES]


def infinite_note(comparison: Comparison) -> list[str]:
    """Explain infinite losses, if there are any."""
    names = [m.name for m in comparison.methods if math.isinf(m.log_loss)]
    if not names:
        return []
    text = (
        f"An infinite log loss ({', '.join(names)}) means that a label was observed "
        "to which the method had given probability 0."
    )
    return [text]
