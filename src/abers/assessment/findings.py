"""Findings: what a check of a rule has found, test by test."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

HOLDS, HOLDS_NOT, UNKNOWN = "holds", "does not hold", "cannot be told"
AT_MOST, AT_LEAST = "at most", "at least"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one test has found.

    Attributes
    ----------
    name : str
        "psi", "ece", "mean", "spiegelhalter", "auc" or "band".
    what : str
        The same in words.
    value, limit : float
        What was found, and what may be.
    kind : str
        What the limit is: "at most" or "at least".
    verdict : str
        "holds", "does not hold" or "cannot be told".
    why : str
        Why it cannot be told; empty otherwise.
    by_chance : float
        What chance alone can make of a right rule; NaN if that is not known.
    """

    name: str
    what: str
    value: float
    limit: float
    kind: str
    verdict: str
    why: str = ""
    by_chance: float = math.nan


@dataclass(frozen=True, slots=True)
class Check:
    """Whether a rule is still right.

    Attributes
    ----------
    findings : tuple of Finding
        One for each test.
    n_rows : int
        Rows that have weight.
    n_positives : int or None
        Those of them labelled 1; None without labels.
    said, happened : float or None
        The mean probability, and the mean label; None without labels.
    judges_own_rows : bool
        Whether the rows look like those that the rule was fitted to.
    """

    findings: tuple[Finding, ...]
    n_rows: int
    n_positives: int | None = None
    said: float | None = None
    happened: float | None = None
    judges_own_rows: bool = False

    @property
    def holds(self) -> bool:
        """Whether no test has failed; one that cannot tell does not fail."""
        return all(found.verdict != HOLDS_NOT for found in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return all as plain types; what is not a number is NaN.

        Returns
        -------
        dict
            With a list of the findings.
        """
        return {"holds": self.holds, **asdict(self)} | {
            "findings": [asdict(found) for found in self.findings]
        }
