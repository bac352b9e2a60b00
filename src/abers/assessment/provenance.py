"""Provenance: which rows, which rule, which versions; and if the rows are fresh."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from abers.assessment.answers import Answers
    from abers.core.diagram import Diagram
    from abers.core.rule import Rule

LEAST_QUANTILES = 20  # that must differ, to tell rows by them
MOST_CHANCE = 0.25  # of a fresh score to be among those judged
OWN_ROWS = 0.5  # share of the quantiles, or of the rows, that makes rows not fresh
FEW = 3  # quantiles that may be found by chance, and times more than chance has it


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the numbers come from."""

    data_hash: str  # SHA-256 of the scores and labels: little-endian doubles, bytes
    rule_hash: str | None  # SHA-256 of the arrays and counts of all rules
    rule_observations: float | None  # total weight that the rules were fitted to
    rule_positives: float | None
    versions: dict[str, str]


def provenance_of(answers: Answers, fitted: int) -> Provenance:
    """Describe the rows, and the rules; the first `fitted` of them share no row."""
    column = answers.probabilities if answers.scores is None else answers.scores
    sha = hashlib.sha256(np.ascontiguousarray(column, dtype="<f8").data)
    sha.update(np.ascontiguousarray(answers.labels).view(np.uint8).data)
    rules, own = answers.rules, answers.rules[:fitted]
    return Provenance(
        data_hash=sha.hexdigest(),
        rule_hash=_hash_of(rules) if rules else None,
        rule_observations=sum(r.n_observations for r in own) if own else None,
        rule_positives=sum(rule.n_positives for rule in own) if own else None,
        versions={
            "abers": version("abers"),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    )


class Overlap(NamedTuple):
    """How many of a rule's score quantiles are among the scores judged."""

    found: int
    known: int  # distinct quantiles
    chance: float  # of a fresh score to be among those judged

    @property
    def share(self) -> float | None:
        """The share that is found; None if it tells nothing."""
        if self.known < LEAST_QUANTILES or self.chance > MOST_CHANCE:
            return None
        return self.found / self.known


def overlap_of(rule: Rule, rows: Diagram) -> Overlap:
    """Look for a rule's score quantiles among the scores judged, one by row.

    The chance of a fresh score to be found is one minus the share of the rows whose
    score nobody else has (Good and Turing).
    """
    known = np.unique(rule.score_quantiles)
    place = np.searchsorted(rows.scores, known)
    found = rows.scores[np.minimum(place, rows.scores.size - 1)] == known
    counts = rows.counts
    alone = np.count_nonzero(counts == 1) / float(counts.sum())
    return Overlap(int(found.sum()), known.size, 1 - alone)


def are_own_rows(rule: Rule, scores: Diagram, n_rows: int, overlap: Overlap) -> bool:
    """Tell whether the rows judged look like those that the rule was fitted to.

    So they do if many quantiles are found; if those found stand for many of the rows
    judged, and chance does not explain them (a part of the rows of the fit); or if
    all counts and quantiles are the same (scores that are tied too often for that).
    """
    if overlap.share is not None:
        by_chance = overlap.chance * overlap.known
        stands_for = overlap.share * rule.n_observations
        if overlap.share >= OWN_ROWS or (
            overlap.found >= FEW + FEW * by_chance and stands_for >= OWN_ROWS * n_rows
        ):
            return True
    return bool(
        rule.n_observations == scores.n_observations
        and rule.n_positives == scores.n_positives
        and np.array_equal(rule.score_quantiles, scores.score_quantiles)
    )


def _hash_of(rules: Sequence[Rule]) -> str:
    sha = hashlib.sha256()
    for rule in rules:
        facts = (rule.n_observations, rule.n_positives, rule.increasing)
        arrays = (rule.thresholds, rule.lower, rule.upper, rule.score_quantiles)
        for array in (*arrays, facts):
            sha.update(np.ascontiguousarray(array, dtype="<f8").data)
    return sha.hexdigest()
