"""Bounds: claims on how far apart they are, and on what merging costs."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from abers.paper.claims.grades import (
    ALWAYS,
    CONSISTENTLY,
    Claim,
    Tally,
    signed,
    together,
)
from abers.paper.claims.places import PERMUTED, in_figures, in_tables, of_sets, panels
from abers.paper.plans import WIDE
from abers.paper.records import Unit
from abers.paper.splits import WIDE_RATIOS
from abers.paper.tasks import SIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.paper.ledger import Ledger


@of_sets(SIX)
def bounds_shrink(ledger: Ledger) -> Claim:
    """Judge whether bounds are narrower where more rows calibrate."""
    cases, widths = [], []
    for task, algorithm in panels(ledger, *SIX, WIDE):
        ratios = [r for r in WIDE_RATIOS if r in ledger.ratios(task)]
        found = [ledger.result(Unit(task, algorithm, r), "IVAP") for r in ratios]
        wide = [r.width_mean for r in found if r and r.width_mean is not None]
        if len(wide) > 1:  # ratios are in order of ever fewer calibration rows
            cases.append((task, wide[0] <= wide[-1]))
            widths.append((wide[0], wide[-1]))
    tally = Tally.of(cases)
    told = ""
    if widths:
        many, few = (median(side) for side in zip(*widths, strict=True))
        told = (
            f"From the most to the fewest calibration rows the mean width of IVAP's "
            f"bounds grows in {tally.text}; medians {many:.4f} and {few:.4f}. "
            f"{tally.by_place}."
        )
    says = "Bounds shrink as calibration rows grow in number."
    verdict = tally.judge(CONSISTENTLY)
    return Claim("width of the bounds", says, CONSISTENTLY.words, verdict, told)


@of_sets(SIX)
def deficiency_is_small(ledger: Ledger) -> Claim:
    """Judge log2(GM(1-p0) + GM(p1)), which the paper asks to look at.

    It is said of each prediction, so a mean above 0 proves nothing: rows are judged.
    Only the end at 0 can be crossed, since neither geometric mean exceeds 1.
    """
    means, rows, verdicts = [], [], []
    units = in_tables(ledger) + in_figures(ledger, (*SIX, PERMUTED))
    for method in ("IVAP", "CVAP"):
        results = [r for unit in units if (r := ledger.result(unit, method))]
        found = [r.deficiency for r in results if r.deficiency is not None]
        shares = [
            r.deficiency_negative for r in results if r.deficiency_negative is not None
        ]
        verdicts.append(Tally.of(("", not share) for share in shares).judge(ALWAYS))
        if found:
            spread = f"{signed(min(found))} to {signed(max(found))}"
            means.append(f"{method} {spread}, median {signed(median(found))}")
        if shares:
            rows.append(f"{method} {_negative(shares)}")
    told = [f"Means over test rows, in bits: {'; '.join(means)}."] if means else []
    if rows:
        told.append(f"Cases with negative rows: {'; '.join(rows)}.")
    elif means:
        told.append("These records do not say how many rows are negative.")
    says = "The deficiency log2(GM(1-p0) + GM(p1)) is in [0, 1]; how small is it?"
    words = "no test row is outside [0, 1]"
    return Claim("deficiency", says, words, together(verdicts), " ".join(told))


def _negative(shares: Sequence[float]) -> str:
    """Count the cases with negative rows, and say how many rows: folds disagree."""
    some = Tally.of(("", share > 0) for share in shares)
    if not some.yes:
        return some.text
    rows = f"{median(shares):.1%} of rows in the middle, {max(shares):.1%} at most"
    return f"{some.text} ({rows})"


JUDGES = (bounds_shrink, deficiency_is_small)
