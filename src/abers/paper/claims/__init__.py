"""Claims: each statement of the paper, judged by the numbers of a run.

Every claim says what must be so for it to hold, in how many cases it is, and by how
much. A claim fails as openly as it holds.
"""

from __future__ import annotations

import csv
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from abers.paper.claims import ordering, others, ratios, reasons
from abers.paper.claims.verdicts import FAILS, HOLDS, MIXED, NOT_RUN, VERDICTS, Claim

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    from abers.paper.results import ResultIndex
    from abers.paper.studies import Studies

__all__ = [
    "FAILS",
    "HOLDS",
    "MIXED",
    "NOT_RUN",
    "VERDICTS",
    "Claim",
    "judge",
    "write_csv",
]


def judge(index: ResultIndex, studies: Studies) -> list[Claim]:
    """Judge every claim.

    Parameters
    ----------
    index : ResultIndex
        The results of a run.
    studies : Studies
        What was done beside it.

    Returns
    -------
    list of Claim
        Those on losses, on ratios and bounds, on reasons, and on the rest; what was
        not run says so.
    """
    by_index = [*ordering.JUDGES, *ratios.JUDGES, *reasons.JUDGES]
    return [of(index) for of in by_index] + [of(studies) for of in others.JUDGES]


def write_csv(claims: Iterable[Claim], path: str | os.PathLike[str]) -> None:
    """Write claims as a table.

    Parameters
    ----------
    claims : iterable of Claim
        In the order to write.
    path : path-like
        The file; an existing one is replaced.
    """
    names = [field.name for field in fields(Claim)]
    with open(path, "w", newline="", encoding="utf-8") as file:  # noqa: PTH123
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(claim) for claim in claims)
